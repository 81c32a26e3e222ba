"""Mistakes in what nights merge and replace, and in taking that apart."""

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from qwestly_agent.chat.routers import memories as pages
from qwestly_agent.memory import changes, forget, reconcile
from qwestly_agent.stores.memories import COLLECTION, Memories
from qwestly_agent.stores.memory_work import Merges
from tests.simulation.planted.plant import Plant, nothing


def _merged_into_what_is_gone() -> AbstractContextManager[Any]:
    """Nobody looks whether what took the place of others still holds."""

    async def is_current(*_: Any) -> bool:
        return True

    return patch.object(Merges, "is_current", is_current)


def _merged_and_not_counted() -> AbstractContextManager[Any]:
    return patch.object(Merges, "absorb", nothing)


def _merged_and_counted_twice() -> AbstractContextManager[Any]:
    """What was merged is counted however often the state is repeated."""

    async def absorb(self: Merges, user_id: str, by_id: str, gone_id: str) -> None:
        taken_in = {"_id": by_id, "user_id": user_id, "took_in": gone_id}
        await self.database[COLLECTION].update_one(taken_in, {"$inc": {"count": 1}})
        await original(self, user_id, by_id, gone_id)

    original = Merges.absorb
    return patch.object(Merges, "absorb", absorb)


def _taken_apart_and_still_counted() -> AbstractContextManager[Any]:
    return patch.object(Merges, "_give_back", nothing)


def _merged_with_what_is_only_alike() -> AbstractContextManager[Any]:
    async def find_relations(*given: Any) -> dict[int, Any]:
        found = await original(*given)
        return {at: [(known, "same") for known, _ in related] for at, related in found.items()}

    original = reconcile.find_relations
    return patch.object(reconcile, "find_relations", find_relations)


def _taken_apart_in_vain() -> AbstractContextManager[Any]:
    async def undo_replacement(*_: Any) -> bool:
        return True

    return patch.object(Merges, "undo_replacement", undo_replacement)


def _replaced_in_the_middle_of_an_undo() -> AbstractContextManager[Any]:
    """An undo restores only what had been replaced when it began."""

    async def restore_replaced(memories: Memories, user_id: str, memory_id: str) -> Any:
        found = await memories.get_many(user_id, [memory_id])
        return await original(memories, user_id, memory_id) if found and found[0].status == "active" else []

    original = changes._restore_replaced
    return patch.object(changes, "_restore_replaced", restore_replaced)


def _merged_in_the_middle_of_a_forgetting() -> AbstractContextManager[Any]:
    """A forgetting does not look again for what else goes with what it has forgotten."""

    async def forget_once(services: Any, user_id: str, memory_ids: Any) -> forget.Forgotten:
        left = [each.id for each in await services.memories.find_lineage(user_id, memory_ids)]
        return await forget.forget_exactly(services, user_id, left)

    return patch.object(pages, "forget", forget_once)


PLANTS: tuple[Plant, ...] = (
    _merged_into_what_is_gone,
    _merged_and_not_counted,
    _merged_and_counted_twice,
    _taken_apart_and_still_counted,
    _merged_with_what_is_only_alike,
    _taken_apart_in_vain,
    _replaced_in_the_middle_of_an_undo,
    _merged_in_the_middle_of_a_forgetting,
)
