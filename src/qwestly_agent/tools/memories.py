"""Tier 2: what the user told in earlier conversations, and what of it they want kept, corrected or forgotten.

The permission to write is the user's own sentence in this turn: `memory.remembering` looks for it, whatever a model
passes here.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import StringConstraints
from pydantic_ai import RunContext

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.clock import to_datetime
from qwestly_agent.memory.finding import find_something
from qwestly_agent.memory.model import Found, Memory
from qwestly_agent.memory.view import Sentence, sureness_and_origin
from qwestly_agent.tools.base import Query, by_words_alone, listed, tool, vector_of

if TYPE_CHECKING:
    from qwestly_agent.memory.remembering import Explanation

LIMIT = 10
MOST_SALIENT_INSTEAD = "No memory has one of these words: these are the most important ones, whatever they are about."

MemoryId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]


async def search_user_memories(ctx: RunContext[AgentDeps], query: Query) -> dict[str, Any]:
    """Search what the user told in earlier conversations: facts, preferences, goals, decisions, constraints; each with
    since when it holds, how sure it is, and what was so before.

    Args:
        query: What to look for, in a few words.
    """
    vector = await vector_of(ctx, query)
    findings = await find_something(ctx.deps.memories, ctx.deps.user_id, query, vector, LIMIT, ctx.deps.clock())
    found = findings.found
    replaced = await ctx.deps.memories.replaced_by(ctx.deps.user_id, [each.memory.id for each in found])
    memories = [_found(each, [old for old in replaced if old.superseded_by == each.memory.id]) for each in found]
    notes = [*by_words_alone(vector), *([MOST_SALIENT_INSTEAD] if found and findings.by == "salience" else [])]
    return listed("memories", memories, "Nothing is remembered about that.", *notes)


async def remember(ctx: RunContext[AgentDeps], text: Sentence) -> dict[str, Any]:
    """Remember something that the user asks you to remember in the message that you are answering.

    Args:
        text: What they want remembered, in their words, as one short sentence without a subject: "Lives in Lisbon."
    """
    memory = await ctx.deps.remembering.remember(text)
    return {"remembered": _told(memory), "note": "It is remembered from now on."}


async def forget_memory(ctx: RunContext[AgentDeps], about: Query) -> dict[str, Any]:
    """Forget for good what the user asks you to forget in the message that you are answering.

    Args:
        about: What they want forgotten, in their words, or a memory's id.
    """
    forgotten = await ctx.deps.remembering.forget(about)
    return {
        "forgotten": list(forgotten.gone),
        "still_remembered": list(forgotten.left),
        "note": "Gone from memory for good, and in no prompt from now on. Say that their words stay in the "
        "conversations in which they wrote them until they delete those. What is still remembered is only like it: ask "
        "whether that shall go, too.",
    }


async def correct_memory(ctx: RunContext[AgentDeps], memory_id: MemoryId, text: Sentence) -> dict[str, Any]:
    """Put what the user says in the message that you are answering in the place of a memory that is wrong or no longer
    so.

    Args:
        memory_id: Of the memory, as search_user_memories lists it.
        text: What holds instead, in their words, as one short sentence without a subject: "Lives in Porto."
    """
    memory = await ctx.deps.remembering.correct(memory_id, text)
    return {"remembered": _told(memory), "note": "It holds from now on. What it replaced is kept as what was before."}


async def explain_memory(ctx: RunContext[AgentDeps], about: Query) -> dict[str, Any]:
    """Explain why something about the user is remembered: their own words, the day on which they wrote them, and what
    was remembered before.

    Args:
        about: What is asked about, in a few words, or a memory's id.
    """
    explained = await ctx.deps.remembering.explain(about)
    return listed("memories", [_explained(each) for each in explained], "Nothing is remembered about that.")


def _found(found: Found, before: Sequence[Memory]) -> dict[str, Any]:
    return {**_told(found.memory, before), "score": found.score.model_dump()}


def _explained(explanation: "Explanation") -> dict[str, Any]:
    # Not the conversation's title, which may name what was forgotten.
    said_on = {"said_on": _day(explanation.said_on)}
    return _without_nothing({**_told(explanation.memory, explanation.before), **said_on})


def _told(memory: Memory, before: Sequence[Memory] = ()) -> dict[str, Any]:
    return _without_nothing(
        {
            "id": memory.id,
            "type": memory.type,
            "content": memory.content,
            "since": _day(memory.valid_from),
            "told_on": _day(memory.created_at),
            "how_sure": sureness_and_origin(memory),
            "quote": memory.quote,
            "question": memory.question,
            "before": [_replaced(each) for each in before],
        }
    )


def _replaced(memory: Memory) -> dict[str, Any]:
    until = to_datetime(memory.superseded_at) if memory.superseded_at else None
    return _without_nothing({"content": memory.content, "since": _day(memory.valid_from), "until": _day(until)})


def _without_nothing(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _day(moment: date | None) -> str | None:
    return f"{moment:%Y-%m-%d}" if moment else None


TOOLS = [
    tool(search_user_memories, effect="read", label="Searching your memories…", outside=True),
    tool(remember, effect="draft", label="Remembering that…"),
    tool(forget_memory, effect="draft", label="Forgetting that…"),
    tool(correct_memory, effect="draft", label="Correcting a memory…"),
    tool(explain_memory, effect="read", label="Looking up why I know that…", outside=True),
]
