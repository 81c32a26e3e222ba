"""A pipeline asks its user: the record is made, the token by which the execution waits is sealed in it, a mail is due.

Delivered twice, it asks once. Raises `NotAllowed` where the user's level lets the agent ask for nothing, `Braked`, and
`NotFound` where nothing is left to ask about.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from qwestly_agent import container
from qwestly_agent.approvals import pause
from qwestly_agent.approvals.decide import Asker, Proposal, ask
from qwestly_agent.approvals.end import still_proposed, tell, without_forgotten
from qwestly_agent.approvals.forget_in_drafts import drop_forgotten
from qwestly_agent.approvals.gate import gate
from qwestly_agent.approvals.mail import mail_if_due
from qwestly_agent.approvals.memory_approval import id_of_question, remember_proposal
from qwestly_agent.base.errors import AgentError
from qwestly_agent.cards.card_state import MOST_ROUNDS
from qwestly_agent.cards.publication import publication_of
from qwestly_agent.domain.approval import Answer, Approval, Level, sha256_hex
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.drafts import Draft, Drafts
from qwestly_agent.stores.memories import Memories

WAITING = "Waiting for your approval"
LAST_ROUND = "It was drafted as often as it can be in one go: publish it like this, or ask for another card."


class NotAllowed(AgentError):
    code, http_status, sentence = "not_allowed", 403, "The user lets the agent suggest, and change nothing."


@dataclass(frozen=True)
class Question:
    id: str
    """The same however often it is delivered."""
    proposal: Proposal
    answer: Answer
    conversation_id: str | None
    draft_id: str | None = None


def handler(event: dict[str, Any], context: object) -> dict[str, str]:  # noqa: ARG001
    approval = container.services.run(lambda services: request(services, event))
    return {"approval_id": approval.id, "status": approval.status}


async def request(services: Services, given: dict[str, Any]) -> Approval:
    user_id, task_token = given["user_id"], given["task_token"]
    level, _ = await asyncio.gather(services.autonomy.level(user_id), pause.check(services.signals, user_id))
    about_draft = "draft_id" in given
    question = await (
        _about_draft(services.memories, services.drafts, given, level)
        if about_draft
        else _about_memories(services.memories, services.approvals, given)
    )
    asker = Asker(
        user_id=user_id,
        run_id=given["run_id"],
        level=level,
        conversation_id=question.conversation_id,
        draft_id=question.draft_id,
        task_token=await services.workflows.seal(task_token, question.id),
        revises=given.get("revises"),
    )
    approval = await ask(services, question.id, question.proposal, asker, question.answer)
    approval = await _kept_newest(services.approvals, approval, asker)
    approval = await without_forgotten(services, approval)
    if approval.status != "pending":  # decided while this was delivered again
        return await tell(services, approval, task_token)
    if approval.draft_id:
        told = {"status": "waiting", "label": WAITING, "approval_id": approval.id}
        await services.drafts.tell(user_id, approval.draft_id, services.clock(), **told)
    return await mail_if_due(services, approval)


async def _about_draft(memories: Memories, drafts: Drafts, given: dict[str, Any], level: Level) -> Question:
    draft = await drop_forgotten(memories, drafts, given["user_id"], given["draft_id"])
    proposal = publication_of(draft)
    if draft.round >= MOST_ROUNDS:
        proposal = replace(proposal, rationale=f"{proposal.rationale} {LAST_ROUND}", revisable=False)
    allowed = gate(proposal.action.effect, level).answer
    if allowed == "refuse":
        raise NotAllowed
    # There is no inverse of what others have seen: at no level does this run by itself.
    answer = "queue" if allowed == "queue" else "ask"
    approval_id = id_of_round(draft, given.get("revises"))
    return Question(approval_id, proposal, answer, draft.conversation_id, draft.id)


def id_of_round(draft: Draft, revises: str | None) -> str:
    """The same for the same round of the same draft."""
    return f"ap_{sha256_hex(draft.id, str(draft.round), revises or '')[:32]}"


async def _about_memories(memories: Memories, approvals: Approvals, given: dict[str, Any]) -> Question:
    user_id, memory_ids, approval_id = given["user_id"], given["memory_ids"], id_of_question(given["batch_id"])
    proposed = await still_proposed(memories, user_id, memory_ids)
    if not proposed:
        await approvals.get(user_id, approval_id)  # decided already, or there is nothing to ask about
    # Its user may not be there: it stands in the queue, whatever the level.
    proposal = remember_proposal(proposed, memory_ids, given["conversation_id"])
    return Question(approval_id, proposal, "queue", given["conversation_id"])


async def _kept_newest(approvals: Approvals, approval: Approval, asker: Asker) -> Approval:
    """With the token of this delivery: an execution that repeats its state waits by the new one alone."""

    def renewed(record: Approval) -> Approval | None:
        if record.status != "pending" or record.task_token == asker.task_token:
            return None
        return record.model_copy(update={"task_token": asker.task_token, "told_execution": False})

    return (await approvals.change(approval, renewed))[0]
