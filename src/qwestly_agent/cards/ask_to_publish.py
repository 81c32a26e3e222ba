"""Ask for approval to publish a drafted card, or to use a profile text that was drafted again."""

from dataclasses import replace
from typing import Any

from qwestly_agent.approvals.ask_for_workflow import ApprovalRequest
from qwestly_agent.cards.card_state import MOST_ROUNDS
from qwestly_agent.cards.forget import drop_forgotten
from qwestly_agent.cards.profile_proposal import check_still_wanted, profile_proposal
from qwestly_agent.cards.publication import publication_of
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import Draft

LAST_ROUND = "It was drafted as often as it can be in one go: take it like this, or ask for another."


async def ask_to_publish(services: Services, given: dict[str, Any]) -> ApprovalRequest:
    """Raises `Overtaken` if the approval is no longer needed, and `NotFound`."""
    user_id = given["user_id"]
    draft = await drop_forgotten(services, user_id, given["draft_id"])
    approval_id = _id_of_round(draft, given.get("revises"))
    if draft.kind == "card":
        proposal = publication_of(draft)
    else:
        earlier = await services.approvals.get(user_id, given["revises"])
        proposal = profile_proposal(draft, earlier)
        await check_still_wanted(services, earlier, proposal, approval_id)
    if draft.round >= MOST_ROUNDS:
        proposal = replace(proposal, rationale=f"{proposal.rationale} {LAST_ROUND}", revisable=False)
    return ApprovalRequest(approval_id, proposal, draft.conversation_id, draft.id)


def _id_of_round(draft: Draft, revises: str | None) -> str:
    """Return an id that is deterministic for a round of a draft."""
    return f"ap_{sha256_hex(draft.id, str(draft.round), revises or '')[:32]}"
