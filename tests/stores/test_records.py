"""The methods of every store of records, shown on one."""

import json
from datetime import timedelta
from typing import Any

import pytest
from pymongo.asynchronous.collection import AsyncCollection

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound, Unavailable
from qwestly_agent.domain.job import Application
from qwestly_agent.platform.records import TRIES, compare_and_set
from qwestly_agent.stores.jobs import APPLICATION_RETENTION, APPLICATIONS, Applications

pytestmark = pytest.mark.anyio
USER, NOW = "auth0|tester", 1_800_000_000.0


@pytest.fixture
def applications(database: Any) -> Applications:
    return Applications(database)


def nurse(**fields: Any) -> Application:
    about: dict[str, Any] = {"id": "app_1", "user_id": USER, "job_id": "job_1", "created_at": NOW, "updated_at": NOW}
    return Application(**{**about, "title": "Nurse", **fields})


async def test_a_record_is_added_once_with_its_event(applications: Applications, database: Any) -> None:
    assert await applications.add(nurse())
    assert not await applications.add(nurse(title="Another"))
    assert (await applications.get(USER, "app_1")).title == "Nurse"
    [told] = await database["agent_activity"].find({"user_id": USER}).to_list()
    assert told["type"] == "application.preparing"
    with pytest.raises(NotFound, match="no such application"):
        await applications.get("auth0|stranger", "app_1")


async def test_a_record_deleted_while_its_event_is_copied_leaves_no_event(
    applications: Applications, database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = AsyncCollection.bulk_write

    async def deleted_before(collection: Any, *args: Any, **more: Any) -> Any:
        await database[APPLICATIONS].delete_many({"user_id": USER})
        return await copy(collection, *args, **more)

    monkeypatch.setattr(AsyncCollection, "bulk_write", deleted_before)
    await applications.add(nurse())
    assert await database["agent_activity"].find({"user_id": USER}).to_list() == []


async def test_nested_data_is_stored_as_text_and_retention_starts_at_its_date(
    applications: Applications, database: Any
) -> None:
    await applications.add_or_get(nurse())
    await applications.change(USER, "app_1", NOW + 60, status="applied")
    document = await database[APPLICATIONS].find_one({"_id": "app_1"})
    assert [each["status"] for each in json.loads(document["history"])] == ["preparing", "applied"]
    assert document["expires_at"] == to_datetime(NOW + 60) + APPLICATION_RETENTION
    assert document["due_at"] == NOW + 60 + timedelta(days=7).total_seconds()
    assert document["revision"] == 1


async def test_a_document_from_an_earlier_version_is_read(applications: Applications, database: Any) -> None:
    old = {"_id": "app_1", "user_id": USER, "job_id": "job_1", "title": "Nurse", "history": "[]", "gone": 1}
    await database[APPLICATIONS].insert_one({**old, "created_at": NOW, "updated_at": NOW})
    assert await applications.get(USER, "app_1") == nurse()


async def test_a_revision_is_replaced_once(applications: Applications) -> None:
    await applications.add(nurse())
    before = await applications.get(USER, "app_1")
    assert await applications.replace(before, before.after({"notes": "first"}, NOW))
    assert await applications.replace(before, before.after({"notes": "second"}, NOW)) is None
    assert (await applications.get(USER, "app_1")).notes == "first"


async def test_a_conflicting_change_is_retried_on_the_current_version() -> None:
    versions, conflicts = [1], [7]

    async def read() -> int:
        return versions[-1]

    async def write(before: int, after: int) -> int | None:
        if conflicts[0]:
            conflicts[0] -= 1
            versions.append(before + 1)
            return None
        return after

    assert await compare_and_set(read, lambda each: each * 10, write) == (80, True)
    assert await compare_and_set(read, lambda _: None, write) == (8, False)
    assert await compare_and_set(read, lambda each: each, write) == (8, False)


async def test_a_change_that_always_conflicts_fails_after_ten_tries() -> None:
    tries: list[int] = []

    async def read() -> int:
        return 1

    async def write(before: int, after: int) -> None:
        tries.append(after)

    with pytest.raises(Unavailable):
        await compare_and_set(read, lambda each: each + 1, write)
    assert len(tries) == TRIES == 10
