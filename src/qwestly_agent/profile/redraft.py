"""Draft a profile text again when the user asks for changes: start the workflow that drafts it from the evidence and
the change request, and asks again.

The draft's id is derived from the approval, so that following up a decision twice starts one execution. For the
workflow, the approval is the first round.
"""

from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.card import CheckedCard, Claim, Evidence, Section, SectionDraft, person_said
from qwestly_agent.grounding.model import GroundingVerdict
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import Draft, DraftKind, Drafts, pipeline_id_of
from qwestly_agent.stores.messages import Messages
from qwestly_agent.text.clean import is_pasted

ROUND = 2


async def start_redraft(services: Services, approval: Approval, section: str) -> None:
    """Start the workflow that drafts this section again. Raises `Unavailable`."""
    draft = await _draft(services, approval, approval.redraft_id or "", section)
    await services.drafts.add(draft)
    given = {"user_id": draft.user_id, "draft_id": draft.id, "run_id": draft.run_id}
    await services.workflows.start(
        "generate_card", pipeline_id_of(draft.id), {**given, "round": ROUND, "revises": approval.id}
    )


async def _draft(services: Services, approval: Approval, draft_id: str, section: str) -> Draft:
    kind: DraftKind = "about" if section == "about" else "profile_text"
    earlier, now = await _earlier(services.drafts, approval), services.clock()
    before = _before(earlier, approval, section)
    return Draft(
        id=draft_id,
        user_id=approval.user_id,
        run_id=approval.run_id,
        conversation_id=approval.conversation_id,
        kind=kind,
        style=earlier.style if earlier else "standard",
        label="Drafting it as you want it",
        round=ROUND,
        created_at=now,
        updated_at=now,
        parts={
            "evidence": [each.model_dump(mode="json") for each in await _said(services.messages, approval)],
            "revisions": [approval.id],
            "section": section,
            f"section_{section}": before.model_dump(mode="json"),
        },
    )


async def _earlier(drafts: Drafts, approval: Approval) -> Draft | None:
    try:
        return await drafts.get(approval.user_id, approval.draft_id or "")
    except NotFound:  # drafts expire earlier, and many proposals have none
        return None


def _before(earlier: Draft | None, approval: Approval, kind: str) -> SectionDraft:
    """Return the text that the user saw, with quotes if it was drafted."""
    if earlier and "card" in earlier.parts:
        claims = CheckedCard.model_validate(earlier.parts["card"]["checked"]).card.claims
    else:
        value = approval.arguments.get("text") or approval.arguments.get("value") or ""
        claims = tuple(Claim(text=each) for each in ([value] if isinstance(value, str) else value))
    section = Section(kind=kind, heading="", claims=claims)
    return SectionDraft(section=section, verdicts=(GroundingVerdict(outcome="supported"),) * len(claims), done=True)


async def _said(messages: Messages, approval: Approval) -> list[Evidence]:
    """Return the user's original request and their change request."""
    message = await messages.find_question_of_run(approval.user_id, approval.run_id)
    said = []
    if message and message.content and not message.withheld and not is_pasted(message.content):
        said.append(person_said(1, message.content, "your message"))
    return [*said, person_said(ROUND, approval.reason or "")]
