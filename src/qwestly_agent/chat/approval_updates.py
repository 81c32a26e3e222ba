"""Approvals and drafts in a turn: decisions posted with it, and ends that the model is told, once each."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_ai.framing import wrap
from pydantic_ai.messages import CapabilityEvent

from qwestly_agent.approvals.decide import Decision, settle
from qwestly_agent.approvals.messages import draft_line, outcome_line
from qwestly_agent.base.errors import ChangedMeanwhile, NotFound
from qwestly_agent.chat.draft_view import DraftView
from qwestly_agent.chat.turn_request import PostedDecision
from qwestly_agent.domain.approval import Approval
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.prompt_tags import APPROVAL_NEWS


@dataclass(frozen=True)
class Settled:
    """A decision posted with this turn, and the record after it."""

    decided: PostedDecision
    approval: Approval


@dataclass(frozen=True)
class TurnApprovals:
    """Approvals and ended drafts that concern a turn."""

    settled: tuple[Settled, ...]
    unreported: Sequence[Approval]
    """Outcomes that the model is told."""
    ended: Sequence[Draft] = ()
    """Drafts that ended, of which the model was not told yet."""
    pointed_at: Approval | None = None
    """The card that a typed yes or no meant and did not decide."""

    @property
    def told(self) -> Sequence[Draft]:
        """Ended drafts, without those whose approval is reported."""
        return [each for each in self.ended if each.approval_id not in {approval.id for approval in self.unreported}]


async def settle_all(
    services: Services,
    user_id: str,
    conversation_id: str,
    decisions: Sequence[PostedDecision],
    *,
    ours_alone: bool,
    where: str,
) -> tuple[Settled, ...]:
    """Settle those of these decisions that are about records of this conversation.

    With `ours_alone`, a decision about any other record is an error; otherwise it is skipped, as a client may repeat it
    from an old message. Raises `NotFound`, `Braked`, `Changed` and `Invalid`; earlier decisions in the list stay
    decided.
    """
    settled: list[Settled] = []
    repeated = await services.approvals.get_many(user_id, {each.approval_id for each in decisions if each.earlier})
    pending = {each.id for each in repeated if each.status == "pending"}
    for decided in decisions:
        if decided.earlier and decided.approval_id not in pending:
            continue
        try:
            before = await services.approvals.get(user_id, decided.approval_id)
            if before.conversation_id != conversation_id:
                raise NotFound("There is no such approval.")
        except NotFound:
            if ours_alone:
                raise
            continue
        decision = Decision(
            decision=decided.verb,
            args_digest=before.args_digest if decided.args_digest is None else decided.args_digest,
            args=decided.args,
            reason=decided.reason,
        )
        approval = await settle(services, user_id, decided.approval_id, decision, by="chat", where=where)
        settled.append(Settled(decided, approval))
    return tuple(settled)


@dataclass(kw_only=True)
class DraftEnded(CapabilityEvent, namespace="qwestly"):
    draft: DraftView


def note_of(approvals: TurnApprovals, under_way: Sequence[str]) -> str:
    """Return the note before the user's words; `under_way` are lines on what waits and runs."""
    lines = [outcome_line(each) for each in approvals.unreported]
    lines += [draft_line(each) for each in approvals.told]
    lines += under_way
    return wrap(APPROVAL_NEWS, "\n".join(f"- {quoted(line)}" for line in lines)) if lines else ""


def nothing_new(settled: Sequence[Settled]) -> ChangedMeanwhile:
    """The error for decisions that were all made, and told to the model, before."""
    outcomes = " ".join(filter(None, (each.approval.outcome for each in settled)))
    return ChangedMeanwhile(f"That was answered already. {outcomes}".strip())
