"""The local database reads by index, and deletes expired documents as rarely as MongoDB does."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

import pytest
from neosqlite import Connection

from infra.local import database_patches
from infra.local.database_patches import PATCHES, PURGE_SECONDS, apply_patches


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    for owner, name, _ in PATCHES:
        monkeypatch.setattr(owner, name, getattr(owner, name))  # put back after the test
    apply_patches()
    connection = Connection(":memory:")
    yield connection
    connection.close()


def plans(connection: Connection, query: dict[str, object]) -> str:
    """Return SQLite's query plan."""
    sent: list[str] = []
    connection.db.set_trace_callback(sent.append)
    list(connection["things"].find(query))
    connection.db.set_trace_callback(None)
    [read] = [each for each in sent if each.startswith("SELECT id, _id")]
    return str(connection.db.execute(f"EXPLAIN QUERY PLAN {read}").fetchall())


def test_the_version_is_the_one_whose_private_methods_were_reviewed() -> None:
    assert version("neosqlite") == "1.17.2"
    assert version("nx-27017") == "0.8.1"


def test_an_equality_on_the_first_field_of_an_index_uses_it(connection: Connection) -> None:
    connection["things"].create_index([("user_id", 1), ("at", 1)])
    connection["things"].insert_one({"_id": "one", "user_id": "u", "at": 1})
    assert "USING INDEX idx_things_user_id_at" in plans(connection, {"user_id": "u"})


def test_expired_documents_are_deleted_once_a_minute(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(database_patches.time, "monotonic", lambda: now[0])
    things = connection["things"]
    things.create_index("expires_at", expireAfterSeconds=0)
    assert list(things.find({})) == []
    past = datetime.now(UTC) - timedelta(days=1)
    things.insert_one({"_id": "old", "expires_at": past})
    assert len(list(things.find({}))) == 1
    now[0] += PURGE_SECONDS
    assert list(things.find({})) == []


def test_server_side_dates_are_found_in_a_query_with_alternatives(connection: Connection) -> None:
    things = connection["things"]
    things.update_one({"_id": "one", "user_id": "u"}, {"$currentDate": {"at": True}}, upsert=True)
    now = datetime.now(UTC).replace(tzinfo=None)  # as the wire gives dates
    for moment, found in ((now - timedelta(minutes=1), ["one"]), (now + timedelta(minutes=1), [])):
        query = {"user_id": {"$in": ["u", "everybody"]}, "at": {"$gte": moment}}
        assert [each["_id"] for each in things.find(query)] == found


def test_server_side_dates_sort_correctly_among_client_dates(connection: Connection) -> None:
    things = connection["things"]
    now = datetime.now(UTC).replace(tzinfo=None)
    things.update_one({"_id": "own"}, {"$currentDate": {"at": True}}, upsert=True)
    things.insert_many([{"_id": day, "at": now + timedelta(days=day)} for day in (1, -1)])
    query = {"_id": {"$in": ["own", 1, -1]}, "at": {"$gte": now - timedelta(days=2)}}
    assert [each["_id"] for each in things.find(query).sort("at", 1)] == [-1, "own", 1]
