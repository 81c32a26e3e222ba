"""Store the evidence about the user in the draft, and plan the sections."""

from qwestly_agent.cards.card_state import CardState, NothingToTell, update_progress
from qwestly_agent.cards.evidence import gather, sections_for
from qwestly_agent.cards.forget import drop_forgotten
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import GATHERING, TAILORED
from qwestly_agent.workflow_state import state


@state(CardState)
async def gather_evidence(services: Services, card: CardState) -> CardState:
    """Store the evidence, and return the state with the planned sections. Raises `NothingToTell` if there is none."""
    draft = await services.drafts.get(card.user_id, card.draft_id)
    plan = tuple(draft.parts.get("plan", ()))
    if not plan:
        await update_progress(services.drafts, services.clock, card, label=GATHERING)
        found = await gather(services, card.user_id)
        plan = (draft.parts["section"],) if "section" in draft.parts else sections_for(found, draft.kind)
        if not plan:
            raise NothingToTell
        # A new round starts with the user's own words as evidence.
        said = draft.parts.get("evidence", ())
        evidence = [*(each.evidence.model_dump(mode="json") for each in found), *said]
        wishes = [each.evidence.id for each in found if each.is_wish]
        await services.drafts.save_parts(card.user_id, card.draft_id, evidence=evidence, plan=plan, wishes=wishes)
        await drop_forgotten(services, card.user_id, card.draft_id)
        await update_progress(services.drafts, services.clock, card, label=f"Drafting 1 of {_sections(len(plan))}")
    return card.model_copy(update={"sections": plan, "is_tailored": draft.kind in TAILORED})


def _sections(count: int) -> str:
    return f"{count} section{'' if count == 1 else 's'}"
