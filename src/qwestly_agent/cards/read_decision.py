"""Read the user's decision from the record, or note that there is none.

Only the record is trusted, not the input that resumed the execution.
"""

from qwestly_agent.approvals.end import DRAFT_ENDS, REPLACED
from qwestly_agent.cards.card_state import CardState, update_progress
from qwestly_agent.cards.forget import drop_forgotten
from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.card import person_said
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.workflow_state import expire_if_pending, state


@state(CardState, ignores_brake=True)
async def read_decision(services: Services, card: CardState) -> CardState:
    """Read the decision, or expire the approval. Under the brake a decision is only recorded, and its time keeps
    running."""
    draft = await services.drafts.get(card.user_id, card.draft_id)
    approval_id = (card.decided and card.decided.approval_id) or draft.approval_id or ""
    approval = await expire_if_pending(services.approvals, services.clock, card.user_id, approval_id)
    card = card.model_copy(update={"approval_id": approval.id})
    match approval.status:
        case "rejected" | "expired" as decision:
            status, label = DRAFT_ENDS[decision]
            await update_progress(services.drafts, services.clock, card, status=status, label=label)
            return card.model_copy(update={"decision": decision})
        case "revised":
            return await _begin_round(services, card, draft, approval)
        case "changed" if approval.outcome == REPLACED:
            await update_progress(services.drafts, services.clock, card, status="drafted", label=REPLACED)
            return card.model_copy(update={"decision": "rejected"})
        case "changed" if approval.decided_by == "nobody":  # its evidence was forgotten
            return await _begin_round(
                services,
                card,
                draft,
                approval,
                "Drafting it again without what you had forgotten",
            )
        case _:
            return card.model_copy(update={"decision": "approved"})


async def _begin_round(
    services: Services,
    card: CardState,
    draft: Draft,
    approval: Approval,
    label: str = "Drafting it as you want it",
) -> CardState:
    """Add the user's words as evidence, and plan the sections to draft again."""
    answered: list[str] = list(draft.parts.get("revisions", ()))
    if approval.id not in answered:
        answered.append(approval.id)
    number = answered.index(approval.id) + 2
    if draft.round < number:
        wished = [person_said(number, approval.reason).model_dump(mode="json")] if approval.reason else []
        evidence = [*draft.parts["evidence"], *wished]
        # At this point the evidence contains nothing forgotten; a later forgetting flags the draft again.
        await update_progress(
            services.drafts, services.clock, card, status="running", round=number, label=label, flagged=False
        )
        await services.drafts.save_parts(card.user_id, card.draft_id, evidence=evidence, revisions=answered)
        await drop_forgotten(services, card.user_id, card.draft_id)
    return card.model_copy(
        update={
            "decision": "revised",
            "revises": approval.id,
            "round": number,
            "sections": tuple(draft.parts["plan"]),
        }
    )
