"""Search of one user's conversations by words, and the title that the user gives one.

A word matches the beginnings of words, as people type them; a text index would match whole words only. So patterns are
compared, in messages that the existing indexes (`user_last_used`, `order`) lead to, and in a limited number of them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.stores import messages
from qwestly_agent.stores.conversations import COLLECTION, SUMMARY, key_of
from qwestly_agent.stores.search import Document

BATCH = 50
"""Conversations compared at a time."""
MOST_COMPARED = 500
"""Conversations compared for one page."""


@dataclass(frozen=True)
class Hit:
    conversation: Document
    message: Document | None
    """The newest message (`id`, `content`) with all the words; None if the title has them."""


@dataclass(frozen=True)
class Hits:
    found: Sequence[Hit]
    next: float | None
    """Older conversations were last used before this time (seconds since the epoch); None at the end."""


@dataclass(frozen=True)
class ConversationSearch:
    database: AsyncDatabase[Document]

    async def find(self, user_id: str, words: Sequence[str], limit: int, before: float | None = None) -> Hits:
        """Conversations with all the words in their title or in one message, the last used first."""
        found: list[Hit] = []
        for _ in range(MOST_COMPARED // BATCH):
            batch = await self._last_used(user_id, before)
            said = await self._said(user_id, [each["id"] for each in batch], words)
            for each in batch:
                in_title = all(re.search(pattern_of(word), each.get("title", ""), re.IGNORECASE) for word in words)
                if not in_title and each["id"] not in said:
                    continue
                if len(found) == limit:
                    return Hits(found, found[-1].conversation["last_used"])
                found.append(Hit(each, None if in_title else said[each["id"]]))
            if len(batch) < BATCH:
                return Hits(found, None)
            before = batch[-1]["last_used"]
        return Hits(found, before)

    async def rename(self, user_id: str, conversation_id: str, title: str) -> bool:
        """Set the title that the user chose; False if there is no such conversation."""
        changed = await self.database[COLLECTION].update_one(
            key_of(user_id, conversation_id), {"$set": {"title": title, "title_chosen": True}}
        )
        return changed.matched_count == 1

    async def retitle(self, user_id: str, conversation_id: str, title: str) -> None:
        """Set the title, unless the user chose one."""
        generated = {**key_of(user_id, conversation_id), "title_chosen": None}
        await self.database[COLLECTION].update_one(generated, {"$set": {"title": title}})

    async def _last_used(self, user_id: str, before: float | None) -> list[Document]:
        query: Document = {"user_id": user_id} | ({} if before is None else {"last_used": {"$lt": before}})
        return await self.database[COLLECTION].find(query, SUMMARY).sort("last_used", -1).limit(BATCH).to_list()

    async def _said(self, user_id: str, conversation_ids: list[str], words: Sequence[str]) -> dict[str, Document]:
        """The newest message with all the words, by conversation."""
        has_words = [{"content": {"$regex": pattern_of(word), "$options": "i"}} for word in words]
        stages = [
            {"$match": {"user_id": user_id, "conversation_id": {"$in": conversation_ids}, "$and": has_words}},
            {"$sort": {"conversation_id": 1, "seq": 1}},
            {"$group": {"_id": "$conversation_id", "id": {"$last": "$id"}, "content": {"$last": "$content"}}},
        ]
        cursor = await self.database[messages.COLLECTION].aggregate(stages)
        return {each["_id"]: each async for each in cursor}


def pattern_of(word: str) -> str:
    """The pattern of a word's beginning; of a sign, as in ".NET", wherever it stands."""
    return (r"(?<![A-Za-z0-9])" if word[0].isalnum() else "") + re.escape(word)
