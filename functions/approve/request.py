"""A pipeline asks its user: the record is made, the token by which the execution waits is sealed in it, a mail is due.

Delivered twice, it asks once. Raises `NotAllowed` where the user's level lets the agent ask for nothing, and `Braked`.
"""

import asyncio
from typing import Any

from qwestly_agent import container
from qwestly_agent.authority import brake
from qwestly_agent.authority.answering import tell
from qwestly_agent.authority.approvals import Asker, ask
from qwestly_agent.authority.gate import gate
from qwestly_agent.authority.mailing import mail_if_due
from qwestly_agent.authority.model import Approval, digest_of
from qwestly_agent.bootstrap import House
from qwestly_agent.cards.publication import publication_of
from qwestly_agent.errors import AgentError
from qwestly_agent.stores.drafts import Draft

WAITING = "Waiting for your approval"


class NotAllowed(AgentError):
    code, http_status, sentence = "not_allowed", 403, "The user lets the agent suggest, and change nothing."


def handler(event: dict[str, Any], context: object) -> dict[str, str]:  # noqa: ARG001
    approval = container.house.run(lambda house: request(house, event))
    return {"approval_id": approval.id, "status": approval.status}


async def request(house: House, given: dict[str, Any]) -> Approval:
    user_id, task_token, revises = given["user_id"], given["task_token"], given.get("revises")
    draft, level, _ = await asyncio.gather(
        house.drafts.get(user_id, given["draft_id"]),
        house.autonomy.level(user_id),
        brake.check(house.signals, user_id),
    )
    proposal = publication_of(draft)
    allowed = gate(proposal.act.effect, level)
    if allowed.answer == "refuse":
        raise NotAllowed
    approval_id = id_of_question(draft, revises)
    asker = Asker(
        user_id=user_id,
        run_id=given["run_id"],
        level=level,
        conversation_id=draft.conversation_id,
        draft_id=draft.id,
        task_token=await house.workflows.seal(task_token, approval_id),
        revises=revises,
    )
    # There is no inverse of what others have seen: at no level does this run by itself.
    approval = await ask(house, approval_id, proposal, asker, "queue" if allowed.answer == "queue" else "ask")
    approval = await _kept_newest(house, approval, asker)
    if approval.status != "pending":  # decided while this was delivered again
        return await tell(house, approval, task_token)
    await house.drafts.tell(user_id, draft.id, house.clock(), status="waiting", label=WAITING, approval_id=approval.id)
    return await mail_if_due(house, approval)


def id_of_question(draft: Draft, revises: str | None) -> str:
    """The same for the same round of the same draft, however often it is delivered."""
    return f"ap_{digest_of(draft.id, str(draft.round), revises or '')[:32]}"


async def _kept_newest(house: House, approval: Approval, asker: Asker) -> Approval:
    """With the token of this delivery: an execution that repeats its state waits by the new one alone."""
    while approval.status == "pending" and approval.task_token != asker.task_token:
        newer = approval.model_copy(update={"task_token": asker.task_token, "told_execution": False})
        approval = await house.approvals.put(approval, newer) or await house.approvals.get(asker.user_id, approval.id)
    return approval
