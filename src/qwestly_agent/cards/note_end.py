"""Store a draft's final status and message for the user."""

from typing import Literal

from qwestly_agent.base.errors import NotFound
from qwestly_agent.cards.card_state import CardState, Overtaken, PublishingFailed, update_progress
from qwestly_agent.domain.card import NOT_DRAFTED, NOT_DRAFTED_ANEW, NOT_WRITTEN
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.drafts import TAILORED, Draft
from qwestly_agent.workflow_state import state

TRY_AGAIN = "It could not be finished. Please try again"
_OF_PUBLISHING = ("PublishingFailed", "OutcomeUnknown")


@state(CardState, ignores_brake=True)
async def note_end(services: Services, card: CardState) -> CardState:
    """It also runs under the brake, because nothing else records the stop."""
    try:
        draft = await services.drafts.get(card.user_id, card.draft_id)
    except NotFound:  # the user deleted it: there is nothing to record
        return card.model_copy(update={"end": "stopped"})
    end, label = await _end_of(services.approvals, draft, card)
    await update_progress(services.drafts, services.clock, card, status=end, label=label)
    return card.ended(end)


async def _end_of(
    approvals: Approvals, draft: Draft, card: CardState
) -> tuple[Literal["failed", "stopped", "drafted"], str]:
    error = card.error_kind
    if error == "Braked":
        return "stopped", card.message("")
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
    return "failed", card.message(not_drafted if nothing_was else TRY_AGAIN)
