"""`agent_adverts`: adverts of job boards, one document per job, shared by all users. `agent_advert_queries`: cached
answers to queries, and request counts. Neither holds user data."""

import json
from collections.abc import Collection, Sequence
from datetime import timedelta

from pymongo import ReturnDocument, UpdateOne

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.job import Advert, Pay
from qwestly_agent.platform.collection import Document, Expires, MongoCollection, Store

LONGEST_TEXT = 12_000
RETENTION = timedelta(days=30)
"""Counted from the last time a board listed the advert."""
CACHE_SECONDS = 3_600.0
LONGEST_CACHE_SECONDS = 86_400.0
"""Maximum age of an answer that is used after a board's daily quota is exhausted."""
COLLECTION = MongoCollection(
    "agent_adverts",
    Expires(RETENTION, since="after a board listed it last"),
    no_user_reason="Postings of job boards, independent of who searched.",
    reader="find",
)
"""`_id` (board and its id), the advert, `seen_at`, `expires_at`."""
ANSWERS = MongoCollection(
    "agent_advert_queries",
    Expires(timedelta(seconds=LONGEST_CACHE_SECONDS)),
    no_user_reason="Boards' answers to a query, independent of who searched.",
    reader="find",
)
"""`_id` (hash of board and query), `adverts` (their ids, a JSON text), `at`, `expires_at`."""
MINUTE_SECONDS, DAY_SECONDS = 60, 86_400


class Adverts(Store):
    async def save(self, adverts: Sequence[Advert]) -> None:
        """Add adverts. For a known advert only the time it was last seen is updated; its first text is kept."""
        if not adverts:
            return
        writes: list[UpdateOne] = []
        for each in adverts:
            seen = {"seen_at": each.seen_at, "expires_at": to_datetime(each.seen_at) + RETENTION}
            first = {name: value for name, value in _document(each).items() if name not in seen}
            writes.append(UpdateOne({"_id": each.id}, {"$set": seen, "$setOnInsert": first}, upsert=True))
        await self.database[COLLECTION].bulk_write(writes, ordered=False)

    async def get_many(self, ids: Collection[str]) -> dict[str, Advert]:
        found = self.database[COLLECTION].find({"_id": {"$in": list(ids)}})
        return {each["_id"]: _advert(each) async for each in found}

    async def find_existing(self, ids: Collection[str]) -> set[str]:
        """Return those of these ids that a board listed within `RETENTION`."""
        found = self.database[COLLECTION].find({"_id": {"$in": list(ids)}}, {"_id": 1})
        return {each["_id"] async for each in found}

    async def cached_answer(self, query: str, now: float, within: float = CACHE_SECONDS) -> tuple[str, ...] | None:
        """Return the ids in a board's cached answer to this query, if it is at most `within` seconds old; otherwise
        None."""
        found = await self.database[ANSWERS].find_one({"_id": query, "at": {"$gt": now - within}})
        return tuple(json.loads(found["adverts"])) if found else None

    async def count_request(self, board: str, now: float, a_minute: int, a_day: int) -> float:
        """Count a request to a board, for all users together. Returns 0 or, if the quota is exhausted, the seconds
        until the next request is allowed; that request is not counted."""
        counted: list[str] = []
        for seconds, most in ((DAY_SECONDS, a_day), (MINUTE_SECONDS, a_minute)):
            begins = now - now % seconds
            name, ends = f"questions {board} {seconds} {begins:.0f}", to_datetime(begins + seconds)
            change = {"$inc": {"questions": 1}, "$set": {"expires_at": ends}}
            after = await self.database[ANSWERS].find_one_and_update(
                {"_id": name}, change, upsert=True, return_document=ReturnDocument.AFTER
            )
            counted.append(name)
            if after and after["questions"] > most:
                await self.database[ANSWERS].update_many({"_id": {"$in": counted}}, {"$inc": {"questions": -1}})
                return begins + seconds - now
        return 0.0

    async def cache_answer(self, query: str, ids: Sequence[str], now: float) -> None:
        answer = {"at": now, "adverts": json.dumps(ids), "expires_at": to_datetime(now + LONGEST_CACHE_SECONDS)}
        await self.database[ANSWERS].update_one({"_id": query}, {"$set": answer}, upsert=True)


def _document(advert: Advert) -> Document:
    flat = advert.model_dump(mode="json", exclude={"id", "pay"})
    return {**flat, "pay": advert.pay.model_dump_json() if advert.pay else None}


def _advert(document: Document) -> Advert:
    pay = Pay.model_validate_json(document["pay"]) if document.get("pay") else None
    return Advert.model_validate({**document, "id": document["_id"], "pay": pay})
