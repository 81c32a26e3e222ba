"""The tools of the roles besides the chat: interview, onboarding and learning."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints
from pydantic_ai import RunContext
from pydantic_ai.exceptions import ToolFailed

from qwestly_agent.action import to_json_types
from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.design import DesignEvent
from qwestly_agent.agents.guardrails import ApprovalRequested
from qwestly_agent.agents.tools.base import CONFIRM, QueryText, list_result, proposal_tool, tool
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.approvals.propose import Proposer
from qwestly_agent.approvals.view import approval_view, format_value
from qwestly_agent.base.errors import AgentError
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.domain.approval import ShownQuote, Status
from qwestly_agent.domain.learning import DecisionKind
from qwestly_agent.grounding.ground import check
from qwestly_agent.grounding.model import Quote, QuotedSource, Statement
from qwestly_agent.grounding.quotes import find_quote
from qwestly_agent.interviews.prompts import task_of
from qwestly_agent.interviews.service import AGENDA, SAID, InterviewService, KnownField, learnt_fields
from qwestly_agent.interviews.view import covered_so_far, draft_text
from qwestly_agent.learning.service import LearningService
from qwestly_agent.profile import UPDATE_PROFILE, ChangedField, Value
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.language import language_of
from qwestly_agent.text.user_text import typed_in

# --- interview --------------------------------------------------------------------------------------------------------
# The interview's tools: they pass on the user's explicit wishes; code decides what happens next.


Sentence = Annotated[str, StringConstraints(min_length=1, max_length=5_000)]


async def go_on(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
    """The person wants to go on with the interview, which is over."""
    return {"now": task_of(await ctx.deps.feature(InterviewService).go_on())}


async def strike_statement(ctx: RunContext[AgentDeps], text: Sentence) -> dict[str, Any]:
    """The person wants a sentence out of the draft ("strike that", "that is wrong, take it out"). It stays out.

    Args:
        text: The sentence as show_draft has it, letter for letter.
    """
    if not await ctx.deps.feature(InterviewService).strike(text):
        return {"note": "No sentence of the draft reads like that: look at show_draft."}
    return {"note": "It is struck out. Say so in one sentence."}


async def show_draft(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
    """Read what was written of the interview so far ("show me what we have")."""
    interview = ctx.deps.feature(InterviewService).latest
    if interview.draft:
        behind = interview.drafted_to < interview.counted_to
        note = {"note": "Their newest answers are not in it yet; it is being written."} if behind else {}
        return {"version": interview.version, "draft": draft_text(interview), **note}
    return {"note": "Nothing is written yet; the first draft is on its way.", "covered": covered_so_far(interview)}


TOOLS = [
    tool(go_on, effect="draft", label="Going on…"),
    tool(strike_statement, effect="draft", label="Striking that out…"),
    tool(show_draft, effect="read", label="Looking at your draft…"),
]


# --- onboarding -------------------------------------------------------------------------------------------------------
# Propose all of a collected profile, field by field, with the person's words.


CALL_ID = "onboarding"
"""Id of the tool call that code makes on the model's behalf."""
MOST_APPROVALS = 50
PROPOSED_ANEW: frozenset[Status] = frozenset({"revised", "expired", "changed"})
_ALL = "said"

PersonsWords = Annotated[str, StringConstraints(min_length=1, max_length=600)]


class LearntField(BaseModel):
    field: ChangedField
    value: Value
    """The whole new value: text for headline, location, summary, work_mode and availability; a list of texts for
    skills, languages, roles, locations (where they want to work), industries and company_sizes; a number for
    years_of_experience; a list of {school, degree, year} for education. Limits of the job search: `never` is a list of
    companies and words of adverts that they rule out; `remote` is "only" or "no", where they rule out the other; `pay`
    is the least a year, as "60000 EUR"."""
    quotes: Annotated[list[PersonsWords], Field(min_length=1, max_length=6)]
    """The person's words that say so, letter for letter."""


async def propose_profile(
    ctx: RunContext[AgentDeps], fields: Annotated[list[LearntField], Field(min_length=1, max_length=16)]
) -> Proposal:
    """Propose the collected profile, with their wishes and limits, once, at the end of the conversation. The
    person decides on each field.

    Args:
        fields: Those that they told you of, each once.
    """
    if await _is_proposed(ctx.deps):
        raise ToolFailed("It is proposed already. They decide on it there.")
    said = "\n".join(map(typed_in, ctx.deps.turn.user_messages))
    sources = {_ALL: QuotedSource(id=_ALL, text=quoted(said), language=language_of(said))}
    told = (each for each in fields if not _lies(each, sources))
    learnt = [
        KnownField(each.field, to_json_types(each.value), found) for each in told if (found := _quotes(each, sources))
    ]
    drafted = learnt_fields(ctx.deps.feature(InterviewService).latest)
    if not (proposed := await _with_known(ctx.deps, [*learnt, *drafted])):
        raise ToolFailed("They said none of that in these words. Quote them letter for letter.")
    return _proposal(proposed)


async def propose_learnt_profile(deps: AgentDeps) -> ApprovalRequested | None:
    """Propose what the draft contains for each field, once per conversation. Returns None if nothing was learnt, or if
    the profile was already proposed, was refused or cannot be proposed."""
    if await _is_proposed(deps):
        return None
    learnt = await _with_known(deps, learnt_fields(deps.feature(InterviewService).latest))
    if not learnt:
        return None
    try:
        _, approval = await deps.feature(Proposer).submit(_proposal(learnt), CALL_ID)
    except AgentError as error:  # the answer was already sent, and must not fail
        deps.turn.logger.warning(Event.TOOL_FAILED, extra=cause_of(error))
        return None
    if approval is None or approval.answer == "run":
        return None
    return ApprovalRequested(approval=approval_view(approval), call_id=CALL_ID, ends_the_turn=False)


async def _with_known(deps: AgentDeps, learnt: Iterable[KnownField]) -> list[KnownField]:
    """Combine the learned fields with those that only the résumé contains, each field once. Values that the profile
    already contains are left out."""
    known = await deps.feature(InterviewService).known()
    each_once = {each.field: each for each in (*known.resume.values(), *reversed(list(learnt)))}
    return [each for each in each_once.values() if each.value != known.profile.get(each.field)]


async def _is_proposed(deps: AgentDeps) -> bool:
    """True if this conversation's profile proposal is pending or decided. After a revision, an expiry or a change in
    the data, it may be proposed again."""
    asked = await deps.feature(Approvals).list_of_conversation(
        deps.user_id, deps.feature(InterviewService).conversation_id, MOST_APPROVALS
    )
    return any(each.tool == UPDATE_PROFILE.tool and each.status not in PROPOSED_ANEW for each in asked)


def _proposal(learnt: Iterable[KnownField]) -> Proposal:
    order = [field for aspects in AGENDA.values() for field in aspects.values()]
    listed = sorted(learnt, key=lambda each: order.index(each.field) if each.field in order else len(order))
    changes = [{"field": each.field, "value": each.value} for each in listed]
    quotes = {each.field: [quote.model_dump() for quote in each.quotes] for each in listed}
    return Proposal(UPDATE_PROFILE, {"changes": changes, "quotes": quotes}, "From what you told me.")


def _quotes(each: LearntField, sources: dict[str, QuotedSource]) -> tuple[ShownQuote, ...]:
    found = (find_quote(Quote(source=_ALL, text=words), sources) for words in each.quotes)
    return tuple(ShownQuote(source=SAID, before="", quote=words.text, after="") for words in found if words)


def _lies(each: LearntField, sources: dict[str, QuotedSource]) -> bool:
    """True if the value has a figure or a date that its quotes do not contain."""
    quotes = tuple(Quote(source=_ALL, text=words) for words in each.quotes)
    statement = Statement(text=format_value(to_json_types(each.value)), quotes=quotes)
    return not check(statement, sources).has_all_figures


ONBOARDING_TOOLS = [proposal_tool(propose_profile, UPDATE_PROFILE, label="Putting your profile together…")]


# --- learning ---------------------------------------------------------------------------------------------------------
# Find something to learn, order a lesson, and store the person's decisions.


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
    found = await ctx.deps.feature(LearningService).search(query)
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
    learning = ctx.deps.feature(LearningService)
    found = await learning.detect(phrase)
    topics = (
        (await learning.tree()).topics_by_subject.get(found.understood_as, ()) if found.granularity == "subject" else ()
    )
    return {**found.model_dump(), **({"topics": list(topics)} if topics else {})}


async def get_learning_progress(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
    """Read their goals, what is between them and the chosen one, what they learnt, what is due, and what comes next."""
    return (await ctx.deps.feature(LearningService).progress()).model_dump(mode="json")


async def generate_content(ctx: RunContext[AgentDeps], wish: Wish = "") -> dict[str, Any]:
    """Have the lesson written that you offered with confirm_with_user, if their newest message says yes to it.

    Args:
        wish: How they would like it, if they said so.
    """
    lesson = await ctx.deps.feature(LearningService).generate(wish)
    values = {"lesson_id": lesson.id, "title": lesson.title, "topic": lesson.topic}
    await ctx.emit(DesignEvent(kind="lesson", values=values))
    checked = "" if lesson.module_id else " It will be general knowledge that nobody checked: say so."
    note = f"It is being written, which takes a minute; they are told. Do not write it yourself.{checked}"
    return {**values, "status": lesson.status, "note": note}


async def decline_to_teach(ctx: RunContext[AgentDeps], reason: Words) -> dict[str, str]:  # noqa: ARG001
    """Decline what they want to learn, because it would help to hurt, threaten, deceive or demean people. Not for work
    that prevents, treats, moderates or studies such things.

    Args:
        reason: Why, in one sentence to them.
    """
    return {"declined": reason, "note": "Say so in your own words, and ask what else they would like to learn."}


async def store_decision(ctx: RunContext[AgentDeps], kind: DecisionKind, text: Words, quote: Words) -> dict[str, Any]:
    """Keep what they decided about their learning. A `goal` also tells what is between them and it.

    Args:
        kind: goal (what they want to reach), next (learn this soon), later (not now) or never (no interest).
        text: The goal, or the topic, by its name; of a job's goal as get_learning_progress has it.
        quote: Their words in this message that say so, copied letter for letter.
    """
    return dict(await ctx.deps.feature(LearningService).decide(kind, text, quote))


LEARNING_TOOLS = [
    tool(search_topics, effect="read", label="Looking through the library…"),
    tool(detect_granularity, effect="read", label="Seeing how broad that is…"),
    tool(get_learning_progress, effect="read", label="Looking at what you learnt…", is_untrusted=True),
    tool(generate_content, effect="draft", label="Having your lesson written…"),
    CONFIRM,
    tool(decline_to_teach, effect="read", label="Reading carefully…"),
    tool(store_decision, effect="draft", label="Keeping your decision…", timeout=50.0),
]
