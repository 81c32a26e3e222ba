"""Store a draft's final status and message for the user."""

from collections.abc import Mapping
from typing import Literal

from qwestly_agent.base.errors import NotFound, OverBudget, StageOverBudget
from qwestly_agent.cards.card_state import (
    CardState,
    NothingSupported,
    NothingToTell,
    Overtaken,
    PublishingFailed,
    update_progress,
)
from qwestly_agent.domain.card import NOT_DRAFTED, NOT_DRAFTED_ANEW, NOT_WRITTEN
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.drafts import TAILORED, Draft
from qwestly_agent.workflow_state import OVER_BUDGET, state

TRY_AGAIN = "It could not be finished. Please try again"
_SAID: Mapping[str, str] = {
    "NothingToTell": NothingToTell.sentence,
    "NothingSupported": NothingSupported.sentence,
    "OverBudget": OverBudget.sentence,
    "StageOverBudget": StageOverBudget.sentence,
    "ModelUnavailable": "Our AI couldn’t be reached. Please try again later",
    "DeadlineExceeded": "Our AI took too long. Please try again later",
    "ModelRefused": "We’re fixing a problem on our side. Please try again later",
    "ContentRefused": "Our AI couldn’t work with this. Please tell us, so that we can mend it",
}
"""Messages to the user, by type of error."""
_OF_PUBLISHING = ("PublishingFailed", "OutcomeUnknown")


@state(CardState, ignores_brake=True)
async def note_end(services: Services, card: CardState) -> CardState:
    """It also runs under the brake, because nothing else records the stop."""
    try:
        draft = await services.drafts.get(card.user_id, card.draft_id)
    except NotFound:  # the user deleted it: there is nothing to record
        return card.model_copy(update={"end": "stopped"})
    error = card.error.kind if card.error else ""
    end, label = await _end_of(services.approvals, draft, error)
    await update_progress(services.drafts, services.clock, card, status=end, label=label)
    return card.model_copy(update={"end": "over_budget" if error in OVER_BUDGET else end})


async def _end_of(
    approvals: Approvals, draft: Draft, error: str
) -> tuple[Literal["failed", "stopped", "drafted"], str]:
    if error == "Braked":
        return "stopped", "Stopped when you paused"
    if error == "NotAllowed":
        done = "published" if draft.kind == "card" else "changed"
        return "drafted", f"Drafted; at your level nothing is {done} for you"
    if error == "Overtaken":
        return "drafted", Overtaken.sentence
    approval = await approvals.get(draft.user_id, draft.approval_id) if draft.approval_id else None
    if error in _OF_PUBLISHING and approval:
        return "failed", approval.outcome or PublishingFailed.sentence
    # "Nothing was published" is only true if no approval may have been executed.
    nothing_was = approval is None or approval.status in ("pending", "revised", "failed", "changed")
    not_drafted = {"card": NOT_DRAFTED, **dict.fromkeys(TAILORED, NOT_WRITTEN)}.get(draft.kind, NOT_DRAFTED_ANEW)
    return "failed", _SAID.get(error, not_drafted if nothing_was else TRY_AGAIN)
