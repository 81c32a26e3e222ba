"""Publish the approved card."""

from qwestly_agent.approvals.execute import STOPPED, execute
from qwestly_agent.base.errors import Braked
from qwestly_agent.cards.card_state import CardState, PublishingFailed, update_progress
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import OutcomeUnknown, state


@state(CardState, ignores_brake=True)
async def publish(services: Services, card: CardState) -> CardState:
    """Execute the approval, and return the state with the outcome.

    Raises `OutcomeUnknown` while the outcome is unknown, `PublishingFailed`, and `Braked` if the brake was on before
    the execution started: `execute` checks it, and a started execution is not interrupted.
    """
    approval = await execute(services, card.user_id, card.approval_id or "")
    match approval.status:
        case "done":
            status, label = ("published", "Published") if approval.effect == "outward" else ("drafted", "Done")
            await update_progress(services.drafts, services.clock, card, status=status, label=label)
            return card.model_copy(update={"outcome": "published"})
        case "changed":
            return card.model_copy(update={"outcome": "changed", "revises": approval.id})
        case "failed" if approval.outcome == STOPPED:
            raise Braked
        case "failed":
            raise PublishingFailed
        case _:
            raise OutcomeUnknown
