"""The local database returns the types and values that were written, as MongoDB does."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from bson import ObjectId
from bson.binary import Binary, BinaryVectorDtype
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.timestamp import Timestamp
from pymongo import InsertOne, MongoClient, ReturnDocument, UpdateOne
from pymongo.collection import Collection
from pymongo.errors import PyMongoError

VALUES: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "int": -7,
    "more than a double holds": Int64(2**53 + 1),
    "longest": 2**63 - 1,
    "sixteen digits": 1.1000000000000001 / 3,
    "whole": 4.0,
    "largest": 1.7976931348623157e308,
    "smallest": 5e-324,
    "minus zero": -0.0,
    "text": "quote ' \" \\ é \x00 😀",
    "digits": "0012",
    "text like an id": "65a1b2c3d4e5f60718293a4b",
    "text like a date": "2031-05-06T07:08:09Z",
    "text like JSON": '{"a": [true]}',
    "date": datetime(2031, 5, 6, 7, 8, 9, 10_000, tzinfo=UTC).replace(tzinfo=None),
    "old date": datetime(1931, 5, 6, tzinfo=UTC).replace(tzinfo=None),
    "bytes": b"\x00\xfe",
    "uuid": Binary(bytes(range(16)), 4),
    "vector": Binary.from_vector([0.5, -1.25], BinaryVectorDtype.FLOAT32),
    "id": ObjectId(),
    "empty list": [],
    "empty document": {},
}
NESTED: dict[str, Any] = {
    f"{name} {form}": value
    for name, plain in VALUES.items()
    for form, value in (
        ("", plain),
        ("in documents", {"x": {"y": plain}}),
        ("in lists", [plain, [plain], {"z": plain}]),
    )
}
Things = Collection[dict[str, Any]]
WRITES: dict[str, Callable[[Things, str, Any], object]] = {
    "insert": lambda things, key, value: things.insert_one({"_id": key, "v": value}),
    "set": lambda things, key, value: (
        things.insert_one({"_id": key, "v": 1}),
        things.update_one({"_id": key}, {"$set": {"v": value}}),
    ),
    "set a part": lambda things, key, value: (
        things.insert_one({"_id": key, "v": {"part": 1}}),
        things.update_one({"_id": key}, {"$set": {"v.part": value}}),
        things.update_one({"_id": key}, {"$rename": {"v": "w"}}),
        things.update_one({"_id": key}, {"$set": {"v": value}, "$unset": {"w": ""}}),
    ),
    "push": lambda things, key, value: (
        things.insert_one({"_id": key, "v": value}),
        things.update_one({"_id": key}, {"$push": {"seen.all": value, "some": {"$each": [value], "$slice": -1}}}),
    ),
    "upsert": lambda things, key, value: things.update_one(
        {"_id": key}, {"$set": {"v": value}, "$setOnInsert": {"once": value}}, upsert=True
    ),
    "find and upsert": lambda things, key, value: things.find_one_and_update(
        {"_id": key}, {"$setOnInsert": {"v": value}}, upsert=True
    ),
    "bulk": lambda things, key, value: things.bulk_write(
        [InsertOne({"_id": key}), UpdateOne({"_id": key}, {"$set": {"v": value}, "$inc": {"times.n": 1}})]
    ),
    "change another": lambda things, key, value: (
        things.insert_one({"_id": key, "v": value, "w": 1}),
        things.update_one({"_id": key}, {"$unset": {"w": ""}, "$inc": {"n": 1}, "$max": {"m": 2}}),
    ),
}


@pytest.fixture(scope="module")
def things(mongodb_uri: str) -> Iterator[Things]:
    with MongoClient[dict[str, Any]](mongodb_uri, directConnection=True) as client:
        yield client["types"]["things"]
        client.drop_database("types")


@pytest.fixture(autouse=True)
def _empty(things: Things) -> None:
    things.drop()


def exact(value: Any) -> Any:
    """A value with its types; `==` alone takes 1 for True and for 1.0."""
    match value:
        case dict():
            return [(name, exact(each)) for name, each in value.items()]
        case list():
            return [exact(each) for each in value]
        case bool():
            return repr(value)
        case int():
            return int(value)
        case _:
            return type(value), repr(value)


def differences(read: dict[str, Any]) -> list[str]:
    return [name for name, value in NESTED.items() if exact(read.get(name, "missing")) != exact(value)]


@pytest.mark.parametrize("write", WRITES)
def test_each_type_is_read_as_it_was_written(things: Things, write: str) -> None:
    for name, value in NESTED.items():
        WRITES[write](things, name, value)
    plain = things.aggregate([{"$match": {"_id": {"$gt": ""}}}])
    shown = things.aggregate([{"$sort": {"_id": 1}}, {"$limit": 500}, {"$project": {"v": 1, "none": 1}}])
    unset = things.aggregate([{"$match": {"none": None}}, {"$unset": "w"}])
    grouped = things.aggregate([{"$group": {"_id": "$_id", "v": {"$last": "$v"}, "all": {"$push": "$v"}}}])
    for found in (things.find(), things.find({}, {"v": 1}), plain, shown, unset, grouped):
        assert differences({each["_id"]: each["v"] for each in found}) == []


def test_values_keep_their_type_when_pushed_or_read_concurrently(things: Things) -> None:
    read = dict[str, Any]()
    for name, value in NESTED.items():
        things.insert_one({"_id": name, "a": []})
        things.update_one({"_id": name}, {"$push": {"a": value}})
        change = {"$set": {"touched": True}}
        after = things.find_one_and_update({"_id": name}, change, return_document=ReturnDocument.AFTER)
        assert after
        assert after["touched"] is True
        [read[name]] = after["a"]
    assert differences(read) == []


def test_distinct_lists_values_by_type(things: Things) -> None:
    things.insert_many([{"v": value} for value in VALUES.values()])
    things.insert_many([{"v": [True, 1, "1", 1.5]}, {"v": True}, {"w": "has no v"}])
    expected = [value for value in VALUES.values() if value != []] + [1, "1", 1.5]
    assert sorted(map(repr, map(exact, things.distinct("v")))) == sorted(repr(exact(value)) for value in expected)


def test_documents_are_found_by_their_ids(things: Things) -> None:
    ids = [ObjectId(), ObjectId(), "text", "65a1b2c3d4e5f60718293a4b", 5]
    things.insert_many([{"_id": each, "id": str(each), "of": each, "all": [each]} for each in ids])
    for each in ids:
        for query in ({"_id": each}, {"_id": {"$in": [each]}}, {"id": str(each)}, {"of": each}, {"all": each}):
            assert [found["_id"] for found in things.find(query)] == [each]
            if "all" not in query:  # the laptop's `$match` looks into no lists
                assert [found["_id"] for found in things.aggregate([{"$match": query}])] == [each]
    assert things.distinct("_id") == ids


def test_an_upsert_keeps_the_type_of_its_id(things: Things) -> None:
    one, two = ObjectId(), ObjectId()
    things.update_one({"_id": one}, {"$set": {"n": 1}}, upsert=True)
    things.find_one_and_update({"_id": two}, {"$set": {"n": 1}}, upsert=True)
    assert [each["_id"] for each in things.find()] == [one, two]


def test_an_aggregation_compares_dates(things: Things) -> None:
    things.insert_many([{"_id": day, "at": datetime(2031, 5, day, tzinfo=UTC)} for day in (1, 2, 3)])
    stages = [
        {"$match": {"at": {"$gte": datetime(2031, 5, 2, tzinfo=UTC)}}},
        {"$group": {"_id": None, "count": {"$sum": 1}}},
    ]
    assert list(things.aggregate(stages)) == [{"_id": None, "count": 2}]


def test_partial_updates_leave_the_rest_unchanged(things: Things) -> None:
    things.insert_one({"_id": 1, "a": {"b": {"n": 1, "gone": 2}}, "list": [{"x": 1}, {"x": 2}]})
    inner = {"$inc": {"a.b.n": 2, "new.n": 1.5}, "$unset": {"a.b.gone": "", "no.such": ""}, "$max": {"a.b.m": 4}}
    things.update_one({"_id": 1}, {**inner, "$set": {"list.1.x": False}, "$pull": {"no.list": 1}})
    things.update_one({"_id": 1, "list.x": 1}, {"$set": {"list.$.x": True}})
    changed = {"a": {"b": {"n": 3, "m": 4}}, "list": [{"x": True}, {"x": False}], "new": {"n": 1.5}}
    assert exact(things.find_one()) == exact({"_id": 1, **changed})


@pytest.mark.parametrize("value", [Decimal128("1.10"), Timestamp(5, 6), float("inf"), float("nan")])
def test_an_unsupported_type_is_rejected(things: Things, value: Any) -> None:
    things.insert_one({"_id": 1})
    for write in (lambda: things.insert_one({"v": value}), lambda: things.update_one({}, {"$set": {"v": [value]}})):
        with pytest.raises(PyMongoError):
            write()
    assert list(things.find()) == [{"_id": 1}]
