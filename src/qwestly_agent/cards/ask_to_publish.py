"""Ask for approval to publish a drafted card, or to use a profile text that was drafted again."""

import asyncio
from dataclasses import replace
from typing import Any

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.ask_for_workflow import ApprovalRequest, request_approval
from qwestly_agent.approvals.gate import gate
from qwestly_agent.base.errors import AgentError
from qwestly_agent.cards.card_state import MOST_ROUNDS
from qwestly_agent.cards.forget import drop_forgotten
from qwestly_agent.cards.profile_proposal import check_still_wanted, profile_proposal
from qwestly_agent.cards.publication import publication_of
from qwestly_agent.domain.approval import Approval, sha256_hex
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import Draft

LAST_ROUND = "It was drafted as often as it can be in one go: take it like this, or ask for another."


class NotAllowed(AgentError):
    code, http_status, sentence = "not_allowed", 403, "The user lets the agent suggest, and change nothing."


async def ask_to_publish(services: Services, given: dict[str, Any]) -> Approval:
    """Raises `NotAllowed` if the user's level allows only suggestions, `Overtaken` if the approval is no longer needed,
    and `Braked`."""
    user_id = given["user_id"]
    level, _ = await asyncio.gather(services.autonomy.level(user_id), pause.check(services.signals, user_id))
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
    allowed = gate(proposal.action.effect, level).answer
    if allowed == "refuse":
        raise NotAllowed
    # What others have seen cannot be undone, so this requires approval at every level.
    answer = "queue" if allowed == "queue" else "ask"
    question = ApprovalRequest(approval_id, proposal, answer, draft.conversation_id, draft.id)
    return await request_approval(services, given, level, question)


def _id_of_round(draft: Draft, revises: str | None) -> str:
    """Return an id that is deterministic for a round of a draft."""
    return f"ap_{sha256_hex(draft.id, str(draft.round), revises or '')[:32]}"
