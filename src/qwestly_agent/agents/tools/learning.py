"""Find something to learn, order a lesson, and store the person's decisions."""

from typing import Annotated, Any

from pydantic import StringConstraints
from pydantic_ai import RunContext

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.design import DesignEvent
from qwestly_agent.agents.tools.base import QueryText, list_result, tool
from qwestly_agent.agents.tools.confirm import CONFIRM
from qwestly_agent.domain.learning import DecisionKind

Words = Annotated[str, StringConstraints(min_length=1, max_length=300, strip_whitespace=True)]
Wish = Annotated[str, StringConstraints(max_length=300, strip_whitespace=True)]

NOT_IN_THE_LIBRARY = (
    "The library has nothing of this name or near it. A lesson on it would be general knowledge that nobody checked."
)


async def search_topics(ctx: RunContext[AgentDeps], query: QueryText) -> dict[str, Any]:
    """Search the library for topics, five at the most: `exact` ones have the name, the others are near it.

    Args:
        query: What to look for, without what is said around it.
    """
    found = await ctx.deps.learning.search(query)
    topics = [
        {"topic": each.topic, "subject": each.subject, "modules": list(each.modules), "exact": each.exact}
        for each in found
    ]
    return list_result("topics", topics, NOT_IN_THE_LIBRARY)


async def detect_granularity(ctx: RunContext[AgentDeps], phrase: QueryText) -> dict[str, Any]:
    """Classify something to learn as a subject, a topic or a module, with the reason. Offer a topic; of a subject
    ask which one, of a module offer its parent topic.

    Args:
        phrase: What they want to learn, in their words.
    """
    learning = ctx.deps.learning
    found = await learning.detect(phrase)
    topics = (await learning.tree()).subjects.get(found.understood_as, ()) if found.granularity == "subject" else ()
    return {**found.model_dump(), **({"topics": list(topics)} if topics else {})}


async def get_learning_progress(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
    """Read their goals, what is between them and the chosen one, what they learnt, what is due, and what comes next."""
    return (await ctx.deps.learning.progress()).model_dump(mode="json")


async def generate_content(ctx: RunContext[AgentDeps], wish: Wish = "") -> dict[str, Any]:
    """Have the lesson written that you offered with confirm_with_user and that they just said yes to.

    Args:
        wish: How they would like it, if they said so.
    """
    lesson = await ctx.deps.learning.generate(wish)
    values = {"lesson_id": lesson.id, "title": lesson.title, "topic": lesson.topic}
    await ctx.emit(DesignEvent(kind="lesson", values=values))
    checked = "" if lesson.module_id else " It will be general knowledge that nobody checked: say so."
    note = f"It is being written, which takes a minute; they are told. Do not write it yourself.{checked}"
    return {**values, "status": lesson.status, "note": note}


async def store_decision(ctx: RunContext[AgentDeps], kind: DecisionKind, text: Words, quote: Words) -> dict[str, Any]:
    """Keep what they decided about their learning. A `goal` also tells what is between them and it.

    Args:
        kind: goal (what they want to reach), next (learn this soon), later (not now) or never (no interest).
        text: The goal, or the topic, by its name; of a job's goal as get_learning_progress has it.
        quote: Their words in this message that say so, copied letter for letter.
    """
    return dict(await ctx.deps.learning.decide(kind, text, quote))


TOOLS = [
    tool(search_topics, effect="read", label="Looking through the library…"),
    tool(detect_granularity, effect="read", label="Seeing how broad that is…"),
    tool(get_learning_progress, effect="read", label="Looking at what you learnt…", is_untrusted=True),
    tool(generate_content, effect="draft", label="Having your lesson written…"),
    CONFIRM,
    tool(store_decision, effect="draft", label="Keeping your decision…", timeout=50.0),
]
