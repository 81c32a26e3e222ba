"""The answers of a day, across users."""

from datetime import UTC, datetime

import pytest
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.platform.collection import Document
from qwestly_agent.stores.measures import Answers, GivenAnswer
from tests.stores.conftest import Sent
from tests.stores.test_across_users import is_served

pytestmark = pytest.mark.anyio

SINCE = datetime(2026, 11, 23, 7, 41, tzinfo=UTC)


async def test_a_days_answers_are_found_by_an_index_without_their_text(
    database: AsyncDatabase[Document], sent: Sent
) -> None:
    for name, role, hour in (("old", "assistant", 6), ("new", "assistant", 8), ("asked", "user", 9)):
        of = {"user_id": "u", "conversation_id": "c", "run_id": name, "seq": hour, "content": "Words"}
        more = {"feedback": {"thumb": "up"}, "receipt": {"counted_as": "t1:0:brief"}, "status": "complete"}
        at = SINCE.replace(hour=hour)
        await database["agent_messages"].insert_one({"_id": name, "role": role, "created_at": at, **of, **more})
    sent.commands.clear()
    [found] = await Answers(database).list_since(SINCE.timestamp())
    assert found == GivenAnswer("u", "c", "new", 8, "complete", "up", "t1:0:brief")
    [read] = sent.named("find")
    assert is_served(read)
    assert "content" not in read["projection"]
