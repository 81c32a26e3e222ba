"""The state of `write_draft` that has effects: apply the decision and the new statements."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from qwestly_agent.domain.interview import DraftSentence, Interview, Said
from qwestly_agent.grounding.model import Quote, QuotedSource
from qwestly_agent.grounding.quotes import find_quote
from qwestly_agent.interviews.model import (
    MOST_MESSAGES,
    DraftState,
    NextMove,
    apply_decision,
    apply_draft,
    sources_of,
    still_remembered,
    transcript_of,
    with_evaded,
)
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import state

# --- change -----------------------------------------------------------------------------------------------------------
# Change an interview. The end of an onboarding turns the user's briefings on.


async def change(
    services: Services,
    user_id: str,
    conversation_id: str,
    changed: Callable[[Interview], Interview],
    known: Interview | None = None,
) -> Interview:
    """Like `Interviews.change`. Briefings are turned on before the end is stored, so that after a crash in between both
    are repeated."""

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

    seq: int
    """`seq` of the answer that started the run."""
    version: int
    """The version of the draft that they belong to."""
    decision: NextMove = field(default_factory=NextMove)
    statements: Sequence[DraftSentence] = ()
    dropped: Sequence[int] = ()


@state(DraftState)
async def keep(services: Services, given: DraftState) -> DraftState:
    """Apply the run's results. Raises `NotFound`."""
    user_id, conversation_id = given.user_id, given.conversation_id
    work = await services.interviews.get_work(user_id, conversation_id, given.run_id)
    if work is None:
        return given.model_copy(update={"overtaken": True})
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
        seq=given.seq,
        version=work["version"],
        decision=NextMove.model_validate(work.get("decision", {})),
        # Messages that were changed or excluded from prompts since are no longer evidence.
        statements=[each for each in statements if all(map(stands, each.quotes))],
        dropped=work.get("dropped", []),
    )
    now = services.clock()
    await change(services, user_id, conversation_id, lambda interview: brought(interview, found, sources, now))
    return given


def brought(interview: Interview, found: RunFindings, said: Mapping[str, QuotedSource], now: float) -> Interview:
    """Apply a run's results. Nothing happens if the draft already covers its answer. If the draft has another version
    by now, the answer counts as covered and the results are dropped."""
    if found.seq <= interview.drafted_to:
        return interview
    heard = interview.model_copy(update={"drafted_to": found.seq})
    if interview.version != found.version:
        return heard
    moved_on = apply_decision(heard, found.decision, said, now)
    closed = _closed(moved_on) > _closed(heard)
    return with_evaded(apply_draft(moved_on, found.statements, found.dropped, now, closed=closed), said.keys())


def _closed(interview: Interview) -> int:
    return sum(each.status == "closed" for topic in interview.topics for each in topic.aspects)
