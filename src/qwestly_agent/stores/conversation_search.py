"""Search a user's conversations by words and by meaning, and set their titles.

A search word matches the beginning of a word, because results appear while the user types; a text index would match
only whole words. Patterns are therefore compared in a limited number of messages, found through the existing indexes
(`user_last_used`, `order`).
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.domain.conversation import SaidBefore
from qwestly_agent.platform.collection import Document, Store
from qwestly_agent.stores import messages
from qwestly_agent.stores.conversations import COLLECTION, SUMMARY, key_query, make_title
from qwestly_agent.stores.messages import unfinished_turns
from qwestly_agent.stores.search import Match, Searchable, TokenCounts, bm25_scores, join, to_int8

BATCH = 50
"""Number of conversations compared at a time."""
MOST_COMPARED = 500
"""Maximum number of conversations compared for one page."""


@dataclass(frozen=True)
class SearchHit:
    conversation: Document
    message: Document | None
    """The newest message (`id`, `content`) that contains all the words, excluding forgotten messages; None if the title
    contains them."""


@dataclass(frozen=True)
class SearchPage:
    found: Sequence[SearchHit]
    next: float | None
    """Pass it as `before` for the next page, in seconds since the epoch; None at the end."""


NEUTRAL_TITLE = "Conversation"
"""Replaces a title with forgotten content."""
VECTOR_INDEX = "agent_messages_vector_index"
MOST_MESSAGES_COMPARED = 2_000
"""Number of the user's newest messages that are compared by words."""


class ConversationSearch(Store):
    async def find_conversations(
        self, user_id: str, words: Sequence[str], limit: int, before: float | None = None
    ) -> SearchPage:
        """List conversations that contain all the words in the title or in one message, most recently used first."""
        found: list[SearchHit] = []
        for _ in range(MOST_COMPARED // BATCH):
            batch = await self._last_used(user_id, before)
            said = await self._said(user_id, [each["id"] for each in batch], words)
            for each in batch:
                in_title = all(
                    re.search(word_start_pattern(word), each.get("title", ""), re.IGNORECASE) for word in words
                )
                if not in_title and each["id"] not in said:
                    continue
                if len(found) == limit:
                    return SearchPage(found, found[-1].conversation["last_used"])
                found.append(SearchHit(each, None if in_title else said[each["id"]]))
            if len(batch) < BATCH:
                return SearchPage(found, None)
            before = batch[-1]["last_used"]
        return SearchPage(found, before)

    def __init__(self, database: AsyncDatabase[Document]) -> None:
        super().__init__(database)
        self.searchable = Searchable(
            database[messages.COLLECTION], VECTOR_INDEX, messages.VECTOR, "content", encode=to_int8
        )

    async def find_messages(
        self, user_id: str, words: str, vector: Sequence[float] | None, limit: int
    ) -> list[tuple[SaidBefore, bool]]:
        """Search messages of all conversations by words (BM25; newer messages first among equals) and the user's own
        messages by meaning, and join both results. Returns each message with True if it contains any of the words."""
        mine = {"user_id": user_id, "withheld": False}
        found = self.database[messages.COLLECTION].find({"user_id": user_id, **_IN_PROMPTS}, _OF_SAID)
        compared, near = await asyncio.gather(
            found.sort("created_at", -1).limit(MOST_MESSAGES_COMPARED).to_list(),
            _none() if vector is None else self.searchable.find_nearest({**mine, "role": "user"}, "", vector, limit),
        )
        scores = bm25_scores(words, [TokenCounts.of(each["content"]) for each in compared])
        best = sorted((at for at, score in enumerate(scores) if score > 0), key=lambda at: -scores[at])
        by_words = {compared[at]["id"]: compared[at] for at in best}
        near = [each for each in near if not each.document.get("in_trouble")]
        by_meaning = {each.document["id"]: each.document for each in near}
        places = join(
            {compared[at]["id"]: scores[at] for at in best}, {each.document["id"]: each.place.total for each in near}
        )
        best_first = sorted(places, key=lambda each: -places[each].total)[:limit]
        return [(_said({**by_meaning, **by_words}[each]), each in by_words) for each in best_first]

    async def first_messages(self, user_id: str, conversation_id: str, limit: int) -> list[SaidBefore]:
        """List the first messages of a conversation, oldest first."""
        query = {"user_id": user_id, "conversation_id": conversation_id, **_IN_PROMPTS}
        found = self.database[messages.COLLECTION].find(query, _OF_SAID)
        return [_said(each) for each in await found.sort("seq", 1).limit(limit).to_list()]

    async def rename(self, user_id: str, conversation_id: str, title: str) -> bool:
        """Set the title that the user chose. Returns False if there is no such conversation."""
        changed = await self.database[COLLECTION].update_one(
            key_query(user_id, conversation_id),
            {"$set": {"title": title, "title_chosen": True}, "$unset": {"title_from": ""}},
        )
        return changed.matched_count == 1

    async def retitle(self, user_id: str, conversation_id: str, title: str, message_id: str) -> None:
        """Set a title that was generated from this message, unless the user chose one."""
        generated = {**key_query(user_id, conversation_id), "title_chosen": None}
        await self.database[COLLECTION].update_one(generated, {"$set": {"title": title, "title_from": message_id}})

    async def forget_titles(self, user_id: str, contains_forgotten: Callable[[str], bool]) -> None:
        """Replace titles with a neutral one if `contains_forgotten` matches them, or if they were copied or generated
        from a message that is excluded from prompts."""
        withheld = {"user_id": user_id, "role": "user", "withheld": True}
        found = self.database[messages.COLLECTION].find(withheld, {"conversation_id": 1, "id": 1, "content": 1})
        said = {
            (each["conversation_id"], name)
            async for each in found
            for name in (each["id"], make_title(each["content"]))
        }
        mine: Document = {"user_id": user_id}
        async for each in self.database[COLLECTION].find(mine, {"id": 1, "title": 1, "title_from": 1, "turns": 1}):
            title = each.get("title", "")
            of_turns = {make_title(turn.text or "") for turn in unfinished_turns(each) if turn.withheld}
            if title and (
                contains_forgotten(title)
                or not said.isdisjoint((each["id"], name) for name in (title, each.get("title_from")))
                or title in of_turns
            ):
                held = {**mine, "_id": each["_id"], "title": title}
                change = {"$set": {"title": NEUTRAL_TITLE}, "$unset": {"title_chosen": "", "title_from": ""}}
                await self.database[COLLECTION].update_one(held, change)

    async def _last_used(self, user_id: str, before: float | None) -> list[Document]:
        query: Document = {"user_id": user_id} | ({} if before is None else {"last_used": {"$lt": before}})
        return await self.database[COLLECTION].find(query, SUMMARY).sort("last_used", -1).limit(BATCH).to_list()

    async def _said(self, user_id: str, conversation_ids: list[str], words: Sequence[str]) -> dict[str, Document]:
        """Return the newest message that contains all the words, by conversation."""
        has_words = [{"content": {"$regex": word_start_pattern(word), "$options": "i"}} for word in words]
        mine = {"user_id": user_id, "withheld": {"$ne": True}}
        stages = [
            {"$match": {**mine, "conversation_id": {"$in": conversation_ids}, "$and": has_words}},
            {"$sort": {"conversation_id": 1, "seq": 1}},
            {"$group": {"_id": "$conversation_id", "id": {"$last": "$id"}, "content": {"$last": "$content"}}},
        ]
        cursor = await self.database[messages.COLLECTION].aggregate(stages)
        return {each["_id"]: each async for each in cursor}


async def _none() -> list[Match]:
    return []


_IN_PROMPTS: Document = {"withheld": False, "in_trouble": {"$ne": True}, "content": {"$ne": ""}}
"""Excludes forgotten messages, which are kept only in the transcript."""
_OF_SAID = {"_id": 0, "id": 1, "conversation_id": 1, "role": 1, "content": 1, "created_at": 1}


def _said(document: Document) -> SaidBefore:
    return SaidBefore(**{name: document[name] for name in ("id", "conversation_id", "role", "content", "created_at")})


def word_start_pattern(word: str) -> str:
    """Return a pattern for words that begin with `word`. A word that begins with a sign, such as ".NET", matches
    anywhere."""
    return (r"(?<![A-Za-z0-9])" if word[0].isalnum() else "") + re.escape(word)
