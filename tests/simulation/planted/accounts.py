"""Mistakes with accounts: erasure, brakes, and what is earned."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from qwestly_agent import account
from qwestly_agent.approvals import autonomy
from qwestly_agent.domain.approval import Approval, Grant, Level, Standing
from qwestly_agent.stores.user_data import UserData, user_collections
from qwestly_agent.stores.user_settings import Autonomy
from tests.simulation.planted.plant import Plant


def _erased_but_for_drafts() -> AbstractContextManager[Any]:
    left = tuple(each for each in user_collections() if each != "agent_drafts")
    return patch.object(account, "user_collections", lambda: left)


def _erased_with_others() -> AbstractContextManager[Any]:
    async def erase(self: UserData, user_id: str, collection: str) -> int:
        return (await self.database[collection].delete_many({})).deleted_count

    return patch.object(UserData, "erase", erase)


def _offered_for_any_yes() -> AbstractContextManager[Any]:
    """Days are counted whatever was decided on them."""

    def days_of_yes(records: Iterable[Approval], *_: Any) -> int:
        return len(list(records))

    return patch.object(autonomy, "days_of_yes", days_of_yes)


def _a_no_ends_nothing() -> AbstractContextManager[Any]:
    """A grant stays valid whatever its user said since."""
    return patch.object(autonomy, "is_standing", lambda grant, *_: grant.ended_at is None)


def _earned_above_the_ceiling() -> AbstractContextManager[Any]:
    def with_grant(self: Standing, grant: Grant | None) -> Level:
        return grant.level if grant else self.level

    return patch.object(Standing, "with_grant", with_grant)


def _ceiling_before_the_level() -> AbstractContextManager[Any]:
    """A level that is set with its ceiling takes the ceiling with it."""

    async def set_ceiling(self: Autonomy, user_id: str, ceiling: Level, at: Any) -> None:
        await original(self, user_id, ceiling, at)
        standing = await self.get(user_id)
        if standing.level != ceiling:
            await original(self, user_id, standing.level, at)

    original = Autonomy.set_ceiling
    return patch.object(Autonomy, "set_ceiling", set_ceiling)


def _days_before_it_was_taken_back() -> AbstractContextManager[Any]:
    """Days from before a grant was taken back count towards the next one."""

    async def days(services: Any, user_id: str, standing: Standing, tool: str) -> tuple[int, Approval | None]:
        grants = tuple(each.model_copy(update={"ended_at": None}) for each in standing.grants)
        return await original(services, user_id, replace(standing, grants=grants), tool)

    original = autonomy._days
    return patch.object(autonomy, "_days", days)


PLANTS: tuple[Plant, ...] = (
    _ceiling_before_the_level,
    _days_before_it_was_taken_back,
    _erased_but_for_drafts,
    _erased_with_others,
    _offered_for_any_yes,
    _a_no_ends_nothing,
    _earned_above_the_ceiling,
)
