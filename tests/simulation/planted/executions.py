"""Mistakes with executions that wait for a person."""

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from qwestly_agent.approvals import ask_for_workflow, end
from qwestly_agent.clients.aws import Workflows
from qwestly_agent.domain.approval import Approval
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


PLANTS: tuple[Plant, ...] = (
    _execution_told_too_early,
    _execution_never_told,
    _execution_told_again,
    _token_of_another,
)
