"""Mistakes with what people may read, with answers that nobody gave, and with trials."""

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest.mock import patch

from qwestly_agent.approvals import end, execute, seal
from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.rollout import Rollout, Trial
from qwestly_agent.rollout import writer
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.user_data import UserData
from tests.simulation.planted.plant import Plant


def _exported_with_others() -> AbstractContextManager[Any]:
    async def iterate(self: UserData, _: str, collection: str) -> AsyncIterator[Any]:
        async for document in self.database[collection].find({}):
            yield document

    return patch.object(UserData, "iterate", iterate)


def _read_by_its_id_alone() -> AbstractContextManager[Any]:
    """An approval is found for any user."""

    async def find(self: Approvals, user_id: str, record_id: str, /) -> Approval | None:
        found = await self.database["agent_approvals"].find_one({"_id": record_id})
        return self.from_document(found) if found else None

    return patch.object(Approvals, "find", find)


def _forged_yes_counts() -> AbstractContextManager[Any]:
    """The seal of a yes is not checked."""

    async def end_unsealed(_: Any, approval: Approval) -> Approval:
        return approval

    stack = ExitStack()
    stack.enter_context(patch.object(end, "end_unsealed", end_unsealed))
    stack.enter_context(patch.object(execute, "end_unsealed", end_unsealed))
    return stack


def _seal_of_another_yes() -> AbstractContextManager[Any]:
    """A seal belongs to no approval."""
    return patch.object(seal, "_yes_of", lambda _: ("yes",))


def _finding_on_another_trial() -> AbstractContextManager[Any]:
    """A finding is applied whatever has become of the trial since."""

    def apply_finding(rollout: Rollout, seen: Trial, *given: Any) -> Rollout | None:
        return original(rollout.model_copy(update={"trial": seen}), seen, *given)

    original = writer.apply_finding
    return patch.object(writer, "apply_finding", apply_finding)


PLANTS: tuple[Plant, ...] = (
    _exported_with_others,
    _read_by_its_id_alone,
    _forged_yes_counts,
    _seal_of_another_yes,
    _finding_on_another_trial,
)
