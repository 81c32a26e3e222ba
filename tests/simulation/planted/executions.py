"""Mistakes with executions that wait for a person."""

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from qwestly_agent.approvals import ask_for_workflow, end
from qwestly_agent.clients.aws import Workflows
from qwestly_agent.domain.approval import Approval
from qwestly_agent.stores.drafts import Drafts
from tests.simulation.planted.plant import Plant


def _execution_told_too_early() -> AbstractContextManager[Any]:
    """An execution continues before anybody has decided."""

    async def without_forgotten(services: Any, approval: Approval) -> Approval:
        approval = await original(services, approval)
        token = await services.workflows.opened(approval.task_token, approval.id)
        await services.workflows.answer(token, {"approval_id": approval.id, "status": approval.status})
        return approval

    original = ask_for_workflow.without_forgotten
    return patch.object(ask_for_workflow, "without_forgotten", without_forgotten)


def _execution_never_told() -> AbstractContextManager[Any]:
    """An execution is recorded as notified although it was not."""

    async def answer(*_: Any) -> bool:
        return True

    return patch.object(Workflows, "answer", answer)


def _execution_told_again() -> AbstractContextManager[Any]:
    """A notified execution is not recorded as notified."""

    async def note_notified(_: Any, approval: Approval, **__: Any) -> Approval:
        return approval

    return patch.object(end, "note_notified", note_notified)


def _token_of_another() -> AbstractContextManager[Any]:
    """A token is not bound to its approval."""
    tokens = list[str]()

    async def seal(self: Workflows, task_token: str, approval_id: str) -> str:
        tokens.append(await original(self, task_token, "any"))
        return tokens[-1]

    async def opened(self: Workflows, sealed: str, approval_id: str) -> str:
        return await unsealed(self, tokens[-1], "any")

    original, unsealed = Workflows.seal, Workflows.opened
    return patch.multiple(Workflows, seal=seal, opened=opened)


def _first_token_kept() -> AbstractContextManager[Any]:
    """A state that asks again leaves the token of its first attempt."""

    async def kept_newest(_: Any, approval: Approval, __: Any) -> Approval:
        return approval

    return patch.object(ask_for_workflow, "_kept_newest", kept_newest)


def _draft_left_waiting() -> AbstractContextManager[Any]:
    """The draft of what was declined does not say so."""

    async def update(self: Drafts, *given: Any, **changes: Any) -> Any:
        is_declined = changes.get("status") == "rejected"
        return await original(self, *given, **({"label": "Waiting"} if is_declined else changes))

    original = Drafts.update
    return patch.object(Drafts, "update", update)


def _never_given_up() -> AbstractContextManager[Any]:
    """An execution that waits no more counts as notified, and nobody does what it would have done."""

    async def give_up(services: Any, approval: Approval) -> Approval:
        return await end.note_notified(services.approvals, approval)

    return patch.object(end, "give_up", give_up)


def _draft_waits_again() -> AbstractContextManager[Any]:
    """A state that asks has the draft wait, whatever became of it meanwhile."""

    async def update_unless_moved(self: Drafts, known: Any, now: float, **fields: Any) -> None:
        await self.update(known.user_id, known.id, now, **fields)

    return patch.object(Drafts, "update_unless_moved", update_unless_moved)


PLANTS: tuple[Plant, ...] = (
    _draft_waits_again,
    _never_given_up,
    _first_token_kept,
    _draft_left_waiting,
    _execution_told_too_early,
    _execution_never_told,
    _execution_told_again,
    _token_of_another,
)
