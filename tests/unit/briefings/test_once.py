"""A fact known to two sources is reported by only one of them."""

from types import SimpleNamespace
from typing import Any

import pytest

from qwestly_agent.briefings.sources import activity
from qwestly_agent.domain.activity import ActivityEvent

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("told", "data"),
    [
        (False, {"kind": "card", "draft_id": "card_1"}),  # by its draft: "Published: your career card"
        (False, {"kind": "application"}),
        (False, {"kind": "memory"}),
        (True, {"kind": "card"}),  # which card is shown first
        (True, {"kind": "profile", "draft_id": "redraft_1"}),
    ],
)
async def test_news_of_drafts_applications_and_memories_is_reported_once(told: bool, data: dict[str, str]) -> None:
    event = ActivityEvent(
        id="ap_1:done", user_id="u", at=2.0, type="approval.done", role="chat", title="Done: It", data=data
    )

    async def newest(*_: Any, **__: Any) -> list[ActivityEvent]:
        return [event]

    async def none(*_: Any) -> list[Any]:
        return []

    services: Any = SimpleNamespace(activity=SimpleNamespace(newest=newest), approvals=SimpleNamespace(get_many=none))
    assert [each.title for each in await activity(services, "u", 1.0)] == (["Done: It"] if told else [])
