"""The state of `write_draft` that has effects: apply the decision and the new statements."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from qwestly_agent.domain.interview import DraftSentence, Interview, Said
from qwestly_agent.grounding.model import Quote, QuotedSource
from qwestly_agent.grounding.quotes import find_quote
from qwestly_agent.interviews.model import (
    MOST_MESSAGES,
    DraftState,
    NewMessage,
    NextMove,
    apply_draft,
    hear,
    newest_message,
    sources_of,
    still_remembered,
    transcript_of,
    with_evaded,
)
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import state

# --- change -----------------------------------------------------------------------------------------------------------
# Change an interview. When an onboarding ends, turn on the user's briefings.


async def change(
    services: Services,
    user_id: str,
    conversation_id: str,
    changed: Callable[[Interview], Interview],
    known: Interview | None = None,
) -> Interview:
    """Like `Interviews.change`. Briefings are turned on before the end is stored, so that after a crash in between both
    steps are repeated."""

    async def turn_briefings_on() -> None:
        await services.briefing_plans.turn_on(user_id, services.clock())

    return await services.interviews.change(
        user_id, conversation_id, changed, known, now=services.clock(), before_end=turn_briefings_on
    )


# --- keep -------------------------------------------------------------------------------------------------------------
# Apply the decision and the new statements to the interview, once, unless they belong to another version of the draft.


@dataclass(frozen=True)
class RunFindings:
    """The results of a run."""

    message: NewMessage
    """The message that started the run."""
    version: int
    """The version of the draft that the results belong to."""
    decision: NextMove | None = None
    """None if the turn already made the decision."""
    statements: Sequence[DraftSentence] = ()
    dropped: Sequence[int] = ()


@state(DraftState)
async def keep(services: Services, given: DraftState) -> DraftState:
    """Apply the run's results. Raises `NotFound`."""
    user_id, conversation_id = given.user_id, given.conversation_id
    work = await services.interviews.get_work(user_id, conversation_id, given.run_id)
    if work is None:
        return given.model_copy(update={"overtaken": True})
    decision = NextMove.model_validate(work["decision"]) if "decision" in work else None
    recent = await services.messages.list_recent(user_id, conversation_id, MOST_MESSAGES, before=given.seq + 1)
    sources = sources_of(transcript_of(recent))
    statements = [DraftSentence.model_validate(each) for each in work.get("statements", [])]
    quotes = [quote for each in statements for quote in each.quotes]
    remembered = await still_remembered(services.memories, user_id, {each.message_id for each in quotes})

    def stands(quote: Said) -> bool:
        return (
            quote.message_id in remembered
            or find_quote(Quote(source=quote.message_id, text=quote.text), sources) is not None
        )

    found = RunFindings(
        message=newest_message(recent) or NewMessage("", given.seq, 0),
        version=work["version"],
        decision=decision,
        # Messages that have since been changed or excluded from prompts are no longer evidence.
        statements=[each for each in statements if all(map(stands, each.quotes))],
        dropped=work.get("dropped", []),
    )
    now = services.clock()
    await change(services, user_id, conversation_id, lambda interview: brought(interview, found, sources, now))
    return given


def brought(interview: Interview, found: RunFindings, said: Mapping[str, QuotedSource], now: float) -> Interview:
    """Apply a run's results. Does nothing if the draft already covers the run's answer. If the draft's version has
    changed meanwhile, the answer counts as covered and the results are dropped."""
    if found.message.seq <= interview.drafted_to:
        return interview
    if found.decision:
        interview = hear(interview, found.decision, found.message, said, now, asked="")
    heard = interview.model_copy(update={"drafted_to": found.message.seq})
    if heard.version != found.version:
        return heard
    drafted = apply_draft(heard, found.statements, found.dropped, now, idle=_is_idle(heard, found.message.id))
    return with_evaded(drafted, said.keys())


def _is_idle(interview: Interview, message_id: str) -> bool:
    """True if the message should have contributed something: it is an answer that closed no aspect."""
    closed = (each for topic in interview.topics for each in topic.aspects if each.status == "closed")
    closed_by = {quote.message_id for each in closed for quote in each.quotes}
    return message_id not in {*interview.untold, *closed_by}
