"""Mistakes in what is remembered and forgotten."""

from contextlib import AbstractContextManager, ExitStack
from copy import copy
from dataclasses import replace
from itertools import count
from typing import Any
from unittest.mock import patch

from qwestly_agent.chat.prompt import FirstTurnContext
from qwestly_agent.chat.routers import memories as pages
from qwestly_agent.domain.approval import KEEPS_MEMORIES, Approval
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory import actions, changes, extract_writer, forget, reconcile, service
from qwestly_agent.platform.collection import Store
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.memories import COLLECTION, WITHOUT_VECTORS, Memories, Tombstones, memories_of
from qwestly_agent.stores.messages import COLLECTION as MESSAGES
from qwestly_agent.stores.messages import Messages
from qwestly_agent.workflows import ACTIONS
from tests.simulation.planted.plant import Plant, nothing


def _earlier_versions_stay() -> AbstractContextManager[Any]:
    """Keep the earlier versions of a forgotten memory."""

    async def find_lineage(self: Memories, user_id: str, memory_ids: Any, *_: Any) -> list[Memory]:
        return await self.get_many(user_id, [*memory_ids])

    return patch.object(Memories, "find_lineage", find_lineage)


def _forgotten_words_stay_in_prompts() -> AbstractContextManager[Any]:
    stack = ExitStack()
    stack.enter_context(patch.object(Messages, "exclude_from_prompts", nothing))
    stack.enter_context(patch.object(Messages, "exclude_run_from_prompts", nothing))
    stack.enter_context(patch.object(Conversations, "drop_contexts", nothing))
    return stack


def _forgotten_words_are_kept() -> AbstractContextManager[Any]:
    """A tombstone has the text of what it stands for."""
    return patch.object(Tombstones, "end", nothing)


def _sensitive_without_a_yes() -> AbstractContextManager[Any]:
    async def write_memory(services: Any, user_id: str, memory: Memory, *given: Any, **more: Any) -> Any:
        active = memory.model_copy(update={"status": "active"})
        return await original(services, user_id, active, *given, **more)

    original = service.write_memory
    return patch.object(service, "write_memory", write_memory)


def _memories_of_everybody() -> AbstractContextManager[Any]:
    async def most_salient(self: Memories, user_id: str, limit: int) -> list[Memory]:
        found = self.database[COLLECTION].find({"status": "active"}, WITHOUT_VECTORS)
        return memories_of(await found.sort("salience", -1).limit(limit).to_list())

    return patch.object(Memories, "most_salient", most_salient)


def _anybody_may_forget() -> AbstractContextManager[Any]:
    """A memory is found by its id alone."""

    async def begin(self: Tombstones, user_id: str, memory_ids: Any, *given: Any) -> dict[str, str]:
        found = await self.database[COLLECTION].find({"_id": {"$in": [*memory_ids]}}, {"user_id": 1}).to_list()
        return await original(self, found[0]["user_id"] if found else user_id, memory_ids, *given)

    async def find_lineage(self: Memories, user_id: str, memory_ids: Any, *given: Any) -> list[Memory]:
        found = await self.database[COLLECTION].find({"_id": {"$in": [*memory_ids]}}, {"user_id": 1}).to_list()
        return await lineage(self, found[0]["user_id"] if found else user_id, memory_ids, *given)

    original, lineage, stack = Tombstones.begin, Memories.find_lineage, ExitStack()
    stack.enter_context(patch.object(Tombstones, "begin", begin))
    stack.enter_context(patch.object(Memories, "find_lineage", find_lineage))
    return stack


def _corrected_and_still_there() -> AbstractContextManager[Any]:
    async def supersede(*_: Any, **__: Any) -> bool:
        return True

    return patch.object(Memories, "supersede", supersede)


def _remembered_twice() -> AbstractContextManager[Any]:
    numbers = count()

    async def add(self: Memories, user_id: str, memory: Memory, hash: str, *given: Any, **more: Any) -> bool:
        return await original(self, user_id, memory, f"{hash}{next(numbers)}", *given, **more)

    original = Memories.add
    return patch.object(Memories, "add", add)


def _discarded_by(name: str, store: type[Store]) -> AbstractContextManager[Any]:
    """What a question was about is discarded with this store in place of the real one."""

    async def discard(services: Any, approval: Approval) -> None:
        services = copy(services)
        setattr(services, name, store.of(services.database))
        await original(services, approval)

    original, stack = actions.discard, ExitStack()
    stack.enter_context(patch.object(extract_writer, "discard", discard))
    keep = replace(ACTIONS[KEEPS_MEMORIES], on_ended=discard)
    stack.enter_context(patch.dict(ACTIONS._by_tool, {KEEPS_MEMORIES: keep}))
    return stack


def _declined_without_a_trace() -> AbstractContextManager[Any]:
    """What its person declined is deleted as if it had not been found."""

    class NoTombstones(Tombstones):
        async def begin(self, user_id: str, memory_ids: Any, now: float, event: Any = None) -> dict[str, str]:
            await Memories.of(self.database).delete_proposed(user_id, memory_ids)
            return {}

    return _discarded_by("tombstones", NoTombstones)


def _kept_without_a_yes() -> AbstractContextManager[Any]:
    """What is sensitive in a conversation is kept at once."""

    def memory(new_id: str, decision: Any) -> Memory:
        return original(new_id, decision.model_copy(update={"ask": False}))

    original = extract_writer._memory
    return patch.object(extract_writer, "_memory", memory)


def _approved_in_vain() -> AbstractContextManager[Any]:
    """What its person approved waits on."""
    return patch.object(Memories, "activate_proposed", nothing)


def _deleted_with_a_joined_question() -> AbstractContextManager[Any]:
    """A question that ends takes with it what a newer one asks about."""

    class NoneWaits(Approvals):
        async def list_pending(self, user_id: str, tool: str) -> list[Any]:
            return []

    return _discarded_by("approvals", NoneWaits)


def _undone_in_vain() -> AbstractContextManager[Any]:
    async def undo(services: Any, user_id: str, memory_id: str) -> list[Memory]:
        return [await services.memories.get(user_id, memory_id)]

    return patch.object(pages, "undo", undo)


def _undone_with_its_earlier_version() -> AbstractContextManager[Any]:
    """What the undone memory had replaced does not hold again."""

    async def restore(*_: Any) -> bool:
        return True

    return patch.object(Memories, "restore", restore)


def _remembered_in_vain() -> AbstractContextManager[Any]:
    """A memory is told to be remembered, and is not written."""

    async def keep(_: Any, __: str, memory: Memory, *___: Any) -> Memory:
        return memory

    return patch.object(service, "keep", keep)


def _learnt_again_in_other_words() -> AbstractContextManager[Any]:
    """What was undone or declined is known by its words alone."""

    def match(*given: Any, **more: Any) -> Any:
        found = original(*given, **more)
        return found if found and found.is_exact else None

    original, stack = forget.match_tombstones, ExitStack()
    for module in (forget, reconcile):
        stack.enter_context(patch.object(module, "match_tombstones", match))
    return stack


def _counted_at_every_delivery() -> AbstractContextManager[Any]:
    async def reinforce(
        self: Memories, user_id: str, memory_id: str, message_ids: Any, *given: Any, **more: Any
    ) -> Any:
        for number in range(3):
            await original(self, user_id, memory_id, [f"{each}-{number}" for each in message_ids], *given, **more)

    original = Memories.reinforce
    return patch.object(Memories, "reinforce", reinforce)


def _corrected_and_still_known() -> AbstractContextManager[Any]:
    """A conversation keeps what it knew at its begin, whatever has been corrected since."""
    return patch.object(FirstTurnContext, "is_still_valid", lambda *_: True)


def _holds_before_it_replaces() -> AbstractContextManager[Any]:
    """What was approved holds at once, and then takes the place of others."""

    async def activate_proposed(self: Memories, user_id: str, memory_ids: Any, now: float) -> None:
        query = {"user_id": user_id, "_id": {"$in": list(memory_ids)}, "status": "proposed"}
        await self.database[COLLECTION].update_many(query, {"$set": {"status": "active"}})
        await original(self, user_id, memory_ids, now)

    original = Memories.activate_proposed
    return patch.object(Memories, "activate_proposed", activate_proposed)


def _sources_of_withheld_answers_stay() -> AbstractContextManager[Any]:
    async def exclude_from_prompts(self: Messages, user_id: str, *given: Any) -> None:
        mine = {"user_id": user_id, "role": "assistant"}
        before = await self.database[MESSAGES].find(mine, {"steps": 1}).to_list()
        await original(self, user_id, *given)
        for each in before:
            await self.database[MESSAGES].update_one({"_id": each["_id"]}, {"$set": {"steps": each.get("steps", [])}})

    original = Messages.exclude_from_prompts
    return patch.object(Messages, "exclude_from_prompts", exclude_from_prompts)


def _replaced_before_a_yes() -> AbstractContextManager[Any]:
    """A repetition that its person must approve replaces others at once."""

    async def count_repetition(
        memories: Any, clock: Any, user_id: str, memory_id: str, said: Memory, *more: Any
    ) -> Any:
        unasked = said.model_copy(update={"status": "active"})
        return await original(memories, clock, user_id, memory_id, unasked, *more)

    original, stack = extract_writer.count_repetition, ExitStack()
    for module in (changes, extract_writer):
        stack.enter_context(patch.object(module, "count_repetition", count_repetition))
    return stack


def _two_in_a_turn() -> AbstractContextManager[Any]:
    """That a turn has remembered something is noted only afterwards."""

    async def once(self: service.MemoryService, find: Any, known: Memory | None, *, ask: bool) -> Any:
        if self.is_done:
            return await original(self, find, known, ask=ask)
        written = await self._write(await find(), known, ask=ask)
        self.is_done = True
        return written

    original = service.MemoryService._once
    return patch.object(service.MemoryService, "_once", once)


def _learnt_from_what_is_deleted() -> AbstractContextManager[Any]:
    """Nobody looks whether a conversation is still there after what it said was stored."""
    return patch.object(extract_writer, "check_still_exists", nothing)


def _undone_without_a_line_in_the_log() -> AbstractContextManager[Any]:
    """A restore does not know what was undone."""
    return patch.object(changes, "log_forgetting", nothing)


PLANTS: tuple[Plant, ...] = (
    _learnt_from_what_is_deleted,
    _undone_without_a_line_in_the_log,
    _holds_before_it_replaces,
    _sources_of_withheld_answers_stay,
    _replaced_before_a_yes,
    _two_in_a_turn,
    _corrected_and_still_known,
    _approved_in_vain,
    _deleted_with_a_joined_question,
    _undone_in_vain,
    _undone_with_its_earlier_version,
    _remembered_in_vain,
    _learnt_again_in_other_words,
    _counted_at_every_delivery,
    _declined_without_a_trace,
    _kept_without_a_yes,
    _earlier_versions_stay,
    _forgotten_words_stay_in_prompts,
    _forgotten_words_are_kept,
    _sensitive_without_a_yes,
    _memories_of_everybody,
    _anybody_may_forget,
    _corrected_and_still_there,
    _remembered_twice,
)
