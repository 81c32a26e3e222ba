"""Memories in `user_memories` that wait for the judge."""

from collections.abc import Collection, Sequence

from pymongo.errors import DuplicateKeyError

from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.memory import Memory
from qwestly_agent.platform.collection import Store
from qwestly_agent.platform.outbox import copy_after_write, with_events
from qwestly_agent.stores.memories import COLLECTION, UNCHECKED, WITHOUT_VECTORS, memories_of
from qwestly_agent.stores.ranks import to_binary
from qwestly_agent.text.language import indexed_words


class Unchecked(Store):
    async def replace_judged(
        self,
        user_id: str,
        memory: Memory,
        hash: str,
        vector: Sequence[float],
        replaces: Sequence[str],
        events: Sequence[ActivityEvent] = (),
    ) -> bool:
        """Replace an unchecked memory with its judged version. Returns False if it is no longer unchecked, or if an
        equal memory exists."""
        fields = memory.model_dump(
            include={
                *("status", "content", "quote", "question", "trust"),
                *("sensitive", "about_writing", "retells", "valid_from"),
                *({"undo_until"} if memory.undo_until else ()),
            }
        )
        changes = {
            **fields,
            "hash": hash,
            "key": hash,
            "words": indexed_words(memory.content),
            "content_embedding": to_binary(vector) if vector else None,
            "consolidated": False,
            **({"replaces": list(replaces)} if replaces else {}),
        }
        gone = {"context": "", "tries": "", "is_doubtful": ""}
        query = {"_id": memory.id, "user_id": user_id, "status": UNCHECKED}
        try:
            update = with_events({"$set": changes, "$unset": gone}, *events)
            changed = await self.database[COLLECTION].update_one(query, update)
        except DuplicateKeyError:
            return False
        if events and changed.matched_count:
            await copy_after_write(self.database, COLLECTION, user_id, memory.id)
        return changed.matched_count == 1

    async def list_of_conversation(self, user_id: str, conversation_id: str) -> list[Memory]:
        """List the unchecked memories of a conversation, oldest first."""
        query = {"user_id": user_id, "status": UNCHECKED, "source.conversation_id": conversation_id}
        found = self.database[COLLECTION].find(query, WITHOUT_VECTORS).sort([("created", 1), ("_id", 1)])
        return memories_of(await found.to_list())

    async def delete(self, user_id: str, memory_ids: Collection[str]) -> None:
        """Delete whichever of these memories are still unchecked, because the judge rejected them or their conversation
        was deleted."""
        query = {"user_id": user_id, "_id": {"$in": list(memory_ids)}, "status": UNCHECKED}
        await self.database[COLLECTION].delete_many(query)

    async def set_tries(self, user_id: str, memory_id: str, tries: int) -> None:
        """Record the number of failed attempts to have the memory judged."""
        query = {"_id": memory_id, "user_id": user_id, "status": UNCHECKED}
        await self.database[COLLECTION].update_one(query, {"$set": {"tries": tries}})
