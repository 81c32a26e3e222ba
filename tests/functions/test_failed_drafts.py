"""A failed draft is reported to its user everywhere, and once in a turn."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from pymongo import AsyncMongoClient

from infra.local.model_server import ModelServer
from qwestly_agent.base.clock import to_iso
from qwestly_agent.cards.writer import TRY_AGAIN
from qwestly_agent.stores.drafts import Draft, Drafts
from tests.servers import ChatServer, Client, user_says

Fails = Callable[..., Draft]


@pytest.fixture
def fails(chat: ChatServer, client: Client) -> Fails:
    """Store a failed card of this conversation that was started by this run."""

    def fail(conversation_id: str, run_id: str = "run1", user_id: str = client.user_id) -> Draft:
        now = chat.clock()
        draft = Draft(
            id=f"card_{uuid.uuid4().hex}",
            user_id=user_id,
            run_id=run_id,
            conversation_id=conversation_id,
            style="standard",
            status="failed",
            label=TRY_AGAIN,
            news=True,
            created_at=now,
            updated_at=now,
        )
        asyncio.run(add(draft))
        return draft

    async def add(draft: Draft) -> None:
        async with AsyncMongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
            await Drafts(mongo[chat.settings.mongodb_database]).add(draft)

    return fail


def shown(draft: Draft) -> dict[str, Any]:
    return {
        "draft_id": draft.id,
        "kind": "card",
        "style": "standard",
        "status": "failed",
        "label": "It could not be finished. Please try again",
        "stage": None,
        "conversation_id": draft.conversation_id,
        "approval_id": None,
        "flagged": False,
    }


def test_a_failed_card_is_reported_outside_turns(client: Client, fails: Fails) -> None:
    cursor = client.get("/api/updates")["cursor"]
    draft = fails("c1")
    [item] = [each for each in client.get(f"/api/updates?after={cursor}")["items"] if each["type"] == "draft"]
    assert item == {"type": "draft", "id": draft.id, "at": to_iso(draft.updated_at), "draft": shown(draft)}


@pytest.mark.thorough
def test_a_failed_card_is_shown_at_the_answer_that_started_it(client: Client, fails: Fails) -> None:
    begun = client.say("Hello")
    draft = fails(begun.conversation_id, run_id=begun.events[0].data["run_id"])
    client.say("And now?", begun.conversation_id)
    told = client.get(f"/api/conversations/{begun.conversation_id}")["messages"]
    assert [each["drafts"] for each in told] == [[], [shown(draft)], [], []]
    told = client.get(f"/api/conversations/{begun.conversation_id}?as=ui")["messages"]
    parts = [[part for part in each["parts"] if part["type"] == "data-draft"] for each in told]
    assert parts == [[], [{"type": "data-draft", "id": draft.id, "data": shown(draft)}], [], []]


def test_the_next_turn_reports_a_failed_card_once(client: Client, fails: Fails, model: ModelServer) -> None:
    conversation_id = client.say("Hello").conversation_id
    draft = fails(conversation_id)
    told = client.say("Is it done?", conversation_id)
    progress = [event.data["label"] for event in told.events if event.name == "progress"]
    assert progress == ["Your card: It could not be finished. Please try again"]
    assert told.last.name == "done"
    assert f"({draft.id}) failed: “{TRY_AGAIN}”" in model.requests[-1].body.decode()
    assert "progress" not in client.say("And now?", conversation_id).names


def test_the_next_ai_sdk_turn_has_a_part_for_a_failed_card(client: Client, fails: Fails) -> None:
    client.say_ai_sdk("c1", user_says("Hello", "m1"))
    draft = fails("c1")
    events = client.say_ai_sdk("c1", user_says("Is it done?", "m2"))
    [part] = [event.data for event in events if event.name == "data-draft"]
    assert part == {"type": "data-draft", "id": draft.id, "data": shown(draft)}
    assert events[-2].name == "finish"


def test_a_failed_card_is_reported_to_no_other_conversation_or_user(
    client: Client, chat: ChatServer, fails: Fails
) -> None:
    client.say_ai_sdk("c1", user_says("Hello"))
    fails("c1", user_id="auth0|somebody-else")
    fails("c2")
    events = client.say_ai_sdk("c1", user_says("Is it done?", "m2"))
    assert "data-draft" not in {event.name for event in events}
