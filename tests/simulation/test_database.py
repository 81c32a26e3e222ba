"""The stand-in for the database does what the server of the other tests does; with MONGODB_URI, what MongoDB does."""

import os
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pymongo import AsyncMongoClient, ReturnDocument, UpdateOne
from pymongo.errors import DuplicateKeyError

from tests.simulation.database import Database, Tables, at_once

pytestmark = pytest.mark.anyio
OPERATIONS, KEYS = 400, "abcde"
BEGINS = datetime(2027, 1, 1, tzinfo=UTC)


def _where(chance: random.Random, number: int) -> dict[str, Any]:
    here = {"_id": chance.choice(KEYS), "user_id": "u"}
    return chance.choice(
        (
            here,
            {**here, "n": chance.randrange(4)},
            {**here, "n": {"$gt": chance.randrange(4)}},
            {**here, "off": None},
            {"user_id": "u", "n": {"$gte": 1, "$lte": 3}},
            {"user_id": "u", "n": {"$lt": 2}},
            {"user_id": "u", "word": {"$in": ["x", "y"]}},
            # Not of a field that may be missing: the laptop's database does not find it.
            {"user_id": "u", "_id": {"$nin": ["a"]}},
            {"user_id": "u", "_id": {"$ne": "a"}},
            {"user_id": "u", "word": {"$exists": chance.random() < 0.5}},
            {"user_id": "u", "at": {"$gt": BEGINS + timedelta(seconds=number - 9)}},
            {"user_id": "u", "$or": [{"n": 1}, {"word": "y", "n": {"$gt": 1}}]},
            {"user_id": "u", "inner.n": chance.randrange(3)},
        )
    )


def _update(chance: random.Random) -> dict[str, Any]:
    changes = {
        "$set": {"word": chance.choice("xyz"), "inner.n": chance.randrange(3)},
        "$inc": {"n": chance.choice((1, -1))},
        "$unset": {chance.choice(("off", "other")): ""},
        "$push": {"items": {"$each": [chance.randrange(9)], "$slice": -3}},
        "$setOnInsert": {"made": True},
    }
    names = chance.sample(list(changes), chance.randrange(1, len(changes)))
    return {name: changes[name] for name in names}


def _operation(chance: random.Random, number: int) -> Callable[[Any], Awaitable[Any]]:
    here = {"_id": chance.choice(KEYS), "user_id": "u"}
    where, update = _where(chance, number), _update(chance)
    # One at most, as the order without a sort is anybody's.
    one = where if "_id" in where else {**here, **where}

    async def find(collection: Any) -> Any:
        direction = chance_of_find
        return await collection.find(where, {"items": 0}).sort([("n", direction), ("_id", 1)]).limit(3).to_list()

    chance_of_find = chance.choice((1, -1))

    async def count(collection: Any) -> Any:
        return await collection.count_documents(where)

    async def insert(collection: Any) -> Any:
        # No date in an update: the laptop's database makes it a text there.
        at = BEGINS + timedelta(seconds=number)
        new = {**here, "n": number % 4, "items": (number,), "inner": {"n": 1}, "at": at}
        return (await collection.insert_one(new)).inserted_id

    async def change(collection: Any) -> Any:
        return (await collection.update_one(one, update)).matched_count

    async def put(collection: Any) -> Any:
        return (await collection.update_one(here, update, upsert=True)).matched_count

    async def change_all(collection: Any) -> Any:
        return (await collection.update_many(where, update)).matched_count

    async def take(collection: Any) -> Any:
        how = {"return_document": ReturnDocument.AFTER} if number % 2 else {}
        # The laptop's database ignores `$setOnInsert` here.
        changes = {"$inc": {"n": 1}, **{name: each for name, each in update.items() if name != "$setOnInsert"}}
        return await collection.find_one_and_update(here, changes, {"n": 1, "word": 1}, upsert=True, **how)

    async def write(collection: Any) -> Any:
        await collection.bulk_write([UpdateOne(here, {"$setOnInsert": {"n": number % 4}}, upsert=True)])

    async def delete(collection: Any) -> Any:
        return (await collection.delete_one(one)).deleted_count

    made = chance.choice((find, find, count, insert, change, change, put, change_all, take, write, delete))
    made.__doc__ = f"{number} {made.__name__}: {here}, {where}, {update}"
    return made


async def test_the_simulated_database_behaves_like_the_server(mongodb_uri: str, database_name: str) -> None:
    chance = random.Random(0)
    ours = Database(Tables(lambda: 0.0), at_once)["things"]
    async with AsyncMongoClient[dict[str, Any]](os.environ.get("MONGODB_URI") or mongodb_uri, tz_aware=True) as client:
        theirs = client[database_name]["things"]
        for number in range(OPERATIONS):
            operation = _operation(chance, number)
            answers = [await _answer(operation, collection) for collection in (theirs, ours)]
            assert answers[0] == answers[1], operation.__doc__
            documents = [await each.find({"user_id": "u"}).sort("_id", 1).to_list() for each in (theirs, ours)]
            assert documents[0] == documents[1], operation.__doc__


async def _answer(operation: Callable[[Any], Awaitable[Any]], collection: Any) -> Any:
    try:
        return await operation(collection)
    except DuplicateKeyError:
        return "a duplicate"
