"""The user edits their last message or regenerates the last answer; earlier proposals and changes are reported
honestly."""

from typing import Any

import pytest
from pymongo import MongoClient

from infra.local.candidate_app import CandidateAppServer
from infra.local.model_server import ModelServer, Reply
from tests.functions.talking import wishes
from tests.servers import ChatServer, Client, until, user_says

WISH = "Please change my headline to Head of Product."
HEADLINE = {"field": "headline", "value": "Head of Product", "rationale": "It says more."}


@pytest.fixture
def person(chat: ChatServer, client: Client, app: CandidateAppServer) -> Client:
    """A user who exists in the candidate app."""
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        profile = {"_id": client.user_id, "user_id": client.user_id, "headline": "Product Manager"}
        mongo[chat.settings.mongodb_database]["candidates_enhanced"].insert_one(profile)
    return client


def wants() -> Reply:
    return Reply(tool_calls=[{"name": "update_profile_field", "arguments": HEADLINE, "id": "call_1"}])


def prompts(model: ModelServer) -> str:
    return "\n".join(str(each["content"]) for each in model.requests[-1].json["messages"] if each["role"] == "user")


def said(client: Client, conversation_id: str) -> list[str]:
    return [each["content"] for each in client.get(f"/api/conversations/{conversation_id}")["messages"]]


def asked_last(client: Client, conversation_id: str) -> str:
    messages = client.get(f"/api/conversations/{conversation_id}")["messages"]
    return [each["id"] for each in messages if each["role"] == "user"][-1]


def replace(client: Client, conversation_id: str, replaces: str, message: str | None = None) -> Any:
    body = {"conversation_id": conversation_id, "replaces": replaces, **({"message": message} if message else {})}
    return client.request("POST", "/api/chat", json=body)


def test_an_edited_message_sent_twice_replaces_the_last_one_once(client: Client, model: ModelServer) -> None:
    model.script(Reply(text="Berlin is rainy."))
    talk = client.say("I live in Berlin").conversation_id
    message_id = asked_last(client, talk)
    model.script(Reply(text="Lisbon is sunny."))
    first = replace(client, talk, message_id, "I live in Lisbon")
    second = replace(client, talk, message_id, "I live in Lisbon")
    assert "Lisbon is sunny." in second.text
    assert first.status_code == second.status_code == 200
    assert said(client, talk) == ["I live in Lisbon", "Lisbon is sunny."]
    assert asked_last(client, talk) == message_id
    assert "Berlin" not in model.requests[-1].body.decode()
    assert client.get("/api/conversations")["items"][0]["title"] == "I live in Lisbon"


def test_a_title_set_by_the_user_survives_the_replaced_message(client: Client) -> None:
    talk = client.say("I live in Berlin").conversation_id
    client.request("PATCH", f"/api/conversations/{talk}", json={"title": "I live in Berlin"})
    assert replace(client, talk, asked_last(client, talk), "I live in Lisbon").status_code == 200
    assert client.get("/api/conversations")["items"][0]["title"] == "I live in Berlin"


def test_a_regeneration_requested_twice_runs_once(client: Client, model: ModelServer) -> None:
    model.script(Reply(text="First try."), Reply(text="Second try."))
    answer = client.say("Hello")
    answer_id = f"msg_{answer.events[0].data['run_id']}"
    assert replace(client, answer.conversation_id, answer_id).status_code == 200
    again = replace(client, answer.conversation_id, answer_id)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "changed")
    assert said(client, answer.conversation_id) == ["Hello", "Second try."]


def test_only_the_last_message_and_answer_can_be_replaced(client: Client) -> None:
    first = client.say("One")
    early = asked_last(client, first.conversation_id)
    client.say("Two", first.conversation_id)
    before = said(client, first.conversation_id)
    for replaces, message in (
        (early, "Other"),
        ("unheard-of", "Other"),
        (f"msg_{first.events[0].data['run_id']}", None),
    ):
        refused = replace(client, first.conversation_id, replaces, message)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "changed")
    assert said(client, first.conversation_id) == before


@pytest.mark.parametrize("more", [{"conversation_id": None}, {"message_id": "m9"}, {"replaces": "$where"}])
def test_an_ambiguous_replacement_is_rejected(client: Client, more: dict[str, Any]) -> None:
    body = {"conversation_id": "c1", "replaces": "m1", "message": "Other", **more}
    refused = client.request("POST", "/api/chat", json={name: value for name, value in body.items() if value})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")


def test_an_edit_in_the_ai_sdk_protocol_keeps_the_message_id(client: Client, model: ModelServer) -> None:
    client.say_ai_sdk("chat-1", user_says("I live in Berlin", "m1"))
    model.script(Reply(text="Lisbon, then."))
    client.say_ai_sdk("chat-1", user_says("I live in Lisbon", "m2"), messageId="m1")
    assert said(client, "chat-1") == ["I live in Lisbon", "Lisbon, then."]
    assert asked_last(client, "chat-1") == "m1"


def test_an_approval_from_a_replaced_message_is_closed_as_changed(client: Client, model: ModelServer) -> None:
    model.script(wants())
    talk = client.say("Make me head of product").conversation_id
    model.script(Reply(text="As you like."))
    assert replace(client, talk, asked_last(client, talk), "Leave my headline").status_code == 200
    assert client.get("/api/approvals")["items"] == []
    [ended] = client.get("/api/approvals?state=all")["items"]
    assert (ended["status"], ended["outcome"]) == (
        "changed",
        "You replaced the message that led to it. Nothing was done.",
    )
    [shown] = client.get(f"/api/conversations/{talk}")["messages"][-1]["approvals"]
    assert (shown["approval_id"], shown["status"]) == (ended["approval_id"], "changed")
    body = {"decision": "approve", "args_digest": ended["args_digest"]}
    late = client.request("POST", f"/api/approvals/{ended['approval_id']}/decision", json=body)
    assert late.json()["status"] == "changed"


def test_a_message_sent_again_after_a_lost_response_keeps_its_approval(client: Client, model: ModelServer) -> None:
    model.script(wants())
    with client.open({"message": WISH, "message_id": "m1"}) as events:
        talk = next(events).data["conversation_id"]
    until(lambda: not client.get(f"/api/conversations/{talk}")["running"])
    [asked] = client.get("/api/approvals")["items"]
    again = client.say(WISH, talk, message_id="m1")
    assert again.last.name == "done"
    [kept] = client.get("/api/approvals?state=all")["items"]
    assert (kept["approval_id"], kept["status"]) == (asked["approval_id"], "pending")
    [shown] = client.get(f"/api/conversations/{talk}")["messages"][-1]["approvals"]
    assert (shown["approval_id"], shown["status"]) == (asked["approval_id"], "pending")


@pytest.mark.thorough
def test_a_regenerated_answer_may_propose_the_same_change(client: Client, model: ModelServer) -> None:
    model.script(wants(), wants())
    answer = client.say("Make me head of product")
    replace(client, answer.conversation_id, f"msg_{answer.events[0].data['run_id']}")
    assert [each["status"] for each in client.get("/api/approvals?state=all")["items"]] == ["pending", "changed"]
    assert len(client.get("/api/approvals")["items"]) == 1
    model.script(Reply(text="As you like."))
    last = client.get(f"/api/conversations/{answer.conversation_id}")["messages"][-1]
    assert replace(client, answer.conversation_id, last["id"]).status_code == 200
    last = client.get(f"/api/conversations/{answer.conversation_id}")["messages"][-1]
    assert [each["status"] for each in last["approvals"]] == ["changed", "changed"]


def test_an_executed_change_stays_and_is_reported_to_the_replacing_answer(person: Client, model: ModelServer) -> None:
    model.script(wants())
    answer = person.say("Make me head of product")
    [approval] = person.get("/api/approvals")["items"]
    body = {"decision": "approve", "args_digest": approval["args_digest"]}
    person.request("POST", f"/api/approvals/{approval['approval_id']}/decision", json=body)
    model.script(Reply(text="It is done already."))
    talk = answer.conversation_id
    assert replace(person, talk, asked_last(person, talk), "Make me a director").status_code == 200
    assert "The user said yes to" in model.requests[-1].body.decode()
    [shown] = person.get(f"/api/conversations/{talk}")["messages"][-1]["approvals"]
    assert (shown["approval_id"], shown["status"]) == (approval["approval_id"], "done")
    parts = person.get(f"/api/conversations/{talk}?as=ui")["messages"][-1]["parts"]
    assert [each["id"] for each in parts if each["type"] == "data-approval"] == [approval["approval_id"]]


def test_a_change_without_approval_is_reported_to_the_replacing_answer(person: Client, model: ModelServer) -> None:
    person.request("PUT", "/api/settings", json={"level": "L3"})
    model.script(wants(), wishes("change my headline to Head of Product"), Reply(text="Changed."))
    talk = person.say(WISH).conversation_id
    [done] = person.get("/api/approvals?state=all")["items"]
    assert done["status"] == "done"
    model.script(Reply(text="It is done already."))
    replace(person, talk, asked_last(person, talk), "Make me a director")
    assert "The user said yes to “Change your headline”" in prompts(model)
    assert prompts(model).count(done["approval_id"]) == 1


def test_an_undone_change_needs_approval_in_a_regenerated_answer(person: Client, model: ModelServer) -> None:
    person.request("PUT", "/api/settings", json={"level": "L3"})
    model.script(wants(), wishes("change my headline to Head of Product"), Reply(text="Changed."))
    answer = person.say(WISH)
    [done] = [each for each in person.get("/api/activity")["items"] if each["type"] == "approval.done"]
    assert person.request("POST", f"/api/activity/{done['id']}/undo").json()["by"]["status"] == "done"
    model.script(wants())
    replace(person, answer.conversation_id, f"msg_{answer.events[0].data['run_id']}")
    statuses = [each["status"] for each in person.get("/api/approvals?state=all")["items"]]
    assert statuses == ["pending", "done", "done"]


@pytest.mark.thorough
def test_a_memory_from_a_replaced_answer_is_kept_and_shown(client: Client, model: ModelServer) -> None:
    remember = {"type": "fact", "text": "Lives in Lisbon", "quote": "I live in Lisbon"}
    model.script(Reply(tool_calls=[{"name": "remember", "arguments": remember}]), Reply(text="Noted."))
    answer = client.say("I live in Lisbon.")
    model.script(Reply(text="Lovely."))
    replace(client, answer.conversation_id, f"msg_{answer.events[0].data['run_id']}")
    model.script(Reply(text="Lovely again."))
    last = client.get(f"/api/conversations/{answer.conversation_id}")["messages"][-1]["id"]
    replace(client, answer.conversation_id, last)
    shown = client.get(f"/api/conversations/{answer.conversation_id}")["messages"][-1]
    assert shown["content"] == "Lovely again."
    assert [each["content"] for each in shown["memories"]] == ["Lives in Lisbon"]
