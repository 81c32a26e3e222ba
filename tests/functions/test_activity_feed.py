"""`GET /api/activity` and undo from it, as a user sees them."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import pytest
from pymongo import MongoClient

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from tests.servers import ChatServer, Client

LISBON = {"type": "fact", "text": "Lives in Lisbon", "quote": "I live in Lisbon"}


def feed(client: Client, query: str = "") -> list[dict[str, Any]]:
    return client.get(f"/api/activity{query}")["items"]


def types(events: Sequence[dict[str, Any]]) -> list[str]:
    return [each["type"] for each in events]


def undo(client: Client, event: dict[str, Any]) -> Any:
    return client.request("POST", f"/api/activity/{event['id']}/undo")


@pytest.fixture
def remembered(client: Client, model: ModelServer) -> str:
    """Return the conversation in which something was remembered."""
    model.script(Reply(tool_calls=[{"name": "remember", "arguments": LISBON}]), Reply(text="Noted."))
    return client.say("I live in Lisbon.").conversation_id


def test_a_memory_is_undone_from_the_feed_once(client: Client, remembered: str) -> None:
    [event] = feed(client)
    assert (event["type"], event["role"], event["data"]["conversation_id"]) == ("memory.remembered", "chat", remembered)
    [memory] = [each for status in ("active", "unchecked") for each in memories(client, status)]
    assert (event["undo_until"], event["about"]) == (memory["undo_until"], "Lives in Lisbon")
    assert undo(client, event).json() == {"undone": event["id"], "by": None}
    assert not [each for status in ("active", "unchecked") for each in memories(client, status)]
    undone, before = feed(client)
    assert (undone["type"], undone["role"], before["undo_until"]) == ("memory.undone", "user", None)
    assert undone["about"] == before["about"] == "", "what was taken back is shown nowhere"
    assert [undo(client, each).status_code for each in (event, undone)] == [404, 409]


def test_a_change_and_its_undo_are_two_actions_with_values_and_actors(client: Client, model: ModelServer) -> None:
    call: ToolCall = {"name": "update_profile_field", "arguments": {"field": "headline", "value": "Pilot"}}
    model.script(Reply(tool_calls=[call]), Reply(text="Asked."))
    conversation_id = client.say("My headline is Pilot").conversation_id
    [card] = client.get("/api/approvals")["items"]
    client.post(
        {
            "conversation_id": conversation_id,
            "decisions": [
                {"approval_id": card["approval_id"], "decision": "approve", "args_digest": card["args_digest"]}
            ],
        }
    )
    [done] = [each for each in feed(client) if each["type"] == "approval.done"]
    assert undo(client, done).status_code == 200
    told = feed(client)
    actions = {each["data"]["approval_id"] for each in told}
    assert len(actions) == 2
    change = [each for each in told if each["data"]["approval_id"] == card["approval_id"]]
    assert {each["about"] for each in change} == {"Change your headline to Pilot"}
    assert [(each["type"], each["role"]) for each in change][::-1] == [
        ("approval.asked", "chat"),
        ("approval.approved", "user"),
        ("approval.executing", "chat"),
        ("approval.done", "chat"),
    ]
    taken_back = [each for each in told if each not in change]
    assert {each["role"] for each in taken_back} == {"user"}
    assert taken_back[0]["title"].startswith("Undone: ")


def memories(client: Client, status: str) -> list[dict[str, Any]]:
    return client.get(f"/api/memories?status={status}")["items"]


def test_corrections_and_forgettings_through_the_api_are_in_the_feed(client: Client, remembered: str) -> None:
    memory_id = feed(client)[0]["data"]["memory_id"]
    correction = {"content": "Lives in Porto"}
    newer = client.request("PATCH", f"/api/memories/{memory_id}", json=correction).json()["id"]
    client.request("DELETE", f"/api/memories/{newer}")
    told = feed(client)
    assert types(told)[0] == "memory.forgotten"
    assert types(told)[-1] == "memory.remembered"
    assert "Porto" not in repr(told)
    assert "Lisbon" not in repr(told)


def test_an_irreversible_event_says_so_and_another_users_event_is_not_found(
    client: Client, remembered: str, chat: Any
) -> None:
    client.request("PUT", "/api/autonomy", json={"level": "L2"})
    level, event = feed(client)
    answer = undo(client, level)
    assert (answer.status_code, answer.json()["error"]["message"]) == (409, "This cannot be undone, or not any more.")
    with Client(chat.url, f"{client.user_id}-other") as stranger:
        assert undo(stranger, event).status_code == 404
        assert feed(stranger) == []
    assert undo(client, event).status_code == 200


def test_a_deleted_conversation_is_reported_once(client: Client, remembered: str) -> None:
    for status in (200, 404):
        assert client.request("DELETE", f"/api/conversations/{remembered}").status_code == status
    assert types(feed(client)).count("conversation.deleted") == 1


def test_simultaneous_events_are_all_listed_at_any_page_size(chat: ChatServer, client: Client) -> None:
    for level in ("L0", "L2", "L3", "L0", "L2"):
        client.request("PUT", "/api/autonomy", json={"level": level})
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        events = mongo[chat.settings.mongodb_database]["agent_activity"]
        events.update_many({"user_id": client.user_id}, {"$set": {"at": 1.5}})
    everything = feed(client)
    assert len(everything) == 5
    paged, after = list[Any](), ""
    while page := client.get(f"/api/activity?limit=2{after}"):
        paged += page["items"]
        if page["next"] is None:
            break
        after = f"&after={quote(page['next'])}"
    assert paged == everything


@pytest.mark.parametrize("after", ["nan", "soon", "~", "inf~ap_1"])
def test_a_cursor_from_another_list_is_rejected(client: Client, after: str) -> None:
    refused = client.request("GET", f"/api/activity?after={after}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")


def test_the_feed_is_paged_and_filtered(client: Client) -> None:
    for level in ("L0", "L2", "L3"):
        client.request("PUT", "/api/autonomy", json={"level": level})
    client.request("PUT", "/api/autonomy", json={"level": "L3"})  # changes nothing
    for method in ("POST", "POST", "DELETE", "DELETE"):
        client.request(method, "/api/brake")
    everything = feed(client)
    assert types(everything) == ["brake.off", "brake.on", *["autonomy.changed"] * 3]
    assert [each["data"].get("level") for each in everything[2:]] == ["L3", "L2", "L0"]
    first = client.get("/api/activity?limit=2")
    assert first["items"] == everything[:2]
    rest = client.get(f"/api/activity?limit=30&after={first['next']}")
    assert (rest["items"], rest["next"]) == (everything[2:], None)
    assert types(feed(client, "?type=brake.on&type=brake.off")) == ["brake.off", "brake.on"]
    assert feed(client, "?severity=warning") == []
    assert feed(client, "?severity=info") == everything
    assert feed(client, f"?since={everything[1]['at']}") == everything[:2]
    assert client.request("GET", "/api/activity?severity=bad").status_code == 422


BY_SUBJECT = {
    "application": ("applied", "closed", "due", "interview", "offer", "preparing", "rejected", "withdrawn"),
    "autonomy": ("ceiling", "taken_back"),
    "interview": ("drafted", "ended"),
    "jobs": ("failed", "found", "stopped"),
    "lesson": ("begun", "deleted", "failed", "ready", "stopped"),
    "resume": ("begun", "deleted", "done", "failed", "proposed", "stopped"),
}


def test_each_event_says_why_it_happened(chat: ChatServer, client: Client) -> None:
    names = [f"{subject}.{verb}" for subject, verbs in BY_SUBJECT.items() for verb in verbs]
    fields = {"role": "jobs", "severity": "info", "title": "So", "run_id": None, "data": "{}"}
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        events = mongo[chat.settings.mongodb_database]["agent_activity"]
        events.insert_many(
            {"_id": f"{client.user_id}:{name}", "user_id": client.user_id, "at": 1.0, "type": name, **fields}
            for name in names
        )
    told = {each["type"]: each["why"] for each in client.get("/api/activity?limit=50")["items"]}
    assert [*sorted(told)] == names
    assert all(told.values())


def test_the_end_of_an_interview_and_its_finished_draft_are_reported_once(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    model.script_chat(Reply(text="What did you do?"))
    conversation_id = client.say("About my work", role="interview").conversation_id
    for _ in range(2):
        client.request("POST", f"/api/interviews/{conversation_id}/finish").raise_for_status()
    [ended] = feed(client)
    assert (ended["type"], ended["role"], ended["title"]) == (
        "interview.ended",
        "interview",
        "Your interview with your agent has ended",
    )
    assert ended["data"] == {"conversation_id": conversation_id}
