"""A page loads messages and pending approvals: an AG-UI client by a post without new messages, `useChat` by a read."""

from dataclasses import replace
from typing import Any

import pytest

from infra.local.candidate_app import CandidateAppServer
from infra.local.model_server import ModelServer, Reply
from tests.servers import Client, user_says

CHANGE = {"field": "headline", "value": "Head of Product", "rationale": "You asked for it."}
RUN: dict[str, Any] = {"runId": "r1", "state": {}, "tools": [], "context": []}


def run(client: Client, **more: Any) -> list[dict[str, Any]]:
    """Return the events of an AG-UI run."""
    return [each.data for each in client.post({"threadId": "c1", "messages": [], **RUN, **more})]


def say(client: Client, text: str) -> list[dict[str, Any]]:
    return run(client, messages=[{"id": "m1", "role": "user", "content": text}])


def snapshot(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    [found] = [each["messages"] for each in events if each["type"] == "MESSAGES_SNAPSHOT"]
    return found


def wants(model: ModelServer, *then: Reply) -> None:
    model.script(Reply(tool_calls=[{"name": "update_profile_field", "arguments": CHANGE, "id": "call_1"}]), *then)


def test_a_loaded_thread_has_its_messages_and_its_pending_approval(
    client: Client, app: CandidateAppServer, model: ModelServer
) -> None:
    wants(model, Reply(text="It is changed."))
    asked = say(client, "Make me head of product")
    loaded = run(client)
    assert [each["type"] for each in loaded] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert loaded[-1]["outcome"] == asked[-1]["outcome"]
    user, call, question = snapshot(loaded)
    assert (user["id"], user["content"]) == ("m1", "Make me head of product")
    assert [each["id"] for each in call["toolCalls"]] == ["call_1"]
    [*_, named] = [each for each in asked if each["type"] == "TEXT_MESSAGE_START"]
    assert (question["id"], question["role"]) == (named["messageId"], "assistant")
    [interrupt] = loaded[-1]["outcome"]["interrupts"]
    answer = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    run(client, messages=snapshot(loaded), resume=[answer])
    after = run(client)
    assert "outcome" not in after[-1] or after[-1]["outcome"]["type"] == "success"
    *_, result, _, last = snapshot(after)
    assert (result["role"], '"status": "done"' in result["content"]) == ("tool", True)
    assert last["content"] == "It is changed."


def test_a_frozen_approval_is_not_shown_again(client: Client, app: CandidateAppServer, model: ModelServer) -> None:
    wants(model)
    say(client, "Make me head of product")
    client.request("POST", "/api/brake").raise_for_status()
    assert run(client)[-1].get("outcome", {"type": "success"})["type"] == "success"


@pytest.mark.thorough
def test_a_queued_approval_is_shown_again(client: Client, app: CandidateAppServer, model: ModelServer) -> None:
    client.request("PUT", "/api/autonomy", json={"level": "L2"}).raise_for_status()
    wants(model, Reply(text="It is in your queue."))
    say(client, "Make me head of product")
    loaded = run(client)
    [shown] = [each["value"] for each in loaded if each["type"] == "CUSTOM"]
    assert (shown["status"], shown["args"]["value"]) == ("pending", "Head of Product")
    assert [each["role"] for each in snapshot(loaded)] == ["user", "assistant", "tool", "assistant"]


def test_a_new_thread_is_empty_in_both_protocols_and_unknown_to_other_routes(client: Client) -> None:
    loaded = run(client)
    assert (snapshot(loaded), loaded[-1]["type"]) == ([], "RUN_FINISHED")
    assert client.get("/api/conversations/c1?as=ui")["messages"] == []
    assert client.request("GET", "/api/conversations/c1").status_code == 404
    assert client.get("/api/conversations")["items"] == []


def test_another_users_thread_cannot_be_loaded(client: Client, model: ModelServer) -> None:
    say(client, "Hello")
    stranger = replace(client, user_id="auth0|stranger")
    assert snapshot(run(stranger)) == []
    assert stranger.get("/api/conversations/c1?as=ui")["messages"] == []


@pytest.mark.thorough
def test_a_thread_is_loaded_with_its_running_answer(client: Client, model: ModelServer) -> None:
    model.script(Reply(text=["Half of ", "it."], hold_after=1))
    body = {"threadId": "c1", "messages": [{"id": "m1", "role": "user", "content": "Tell me"}], **RUN}
    with client.open(body) as first:
        while "Half of" not in str(next(first).data):
            pass
        with client.open({"threadId": "c1", "messages": [], **RUN}) as again:
            model.release()
            loaded = [each.data for each in again]
        list(first)
    assert [each["content"] for each in snapshot(loaded)] == ["Tell me"]
    assert "".join(each["delta"] for each in loaded if each["type"] == "TEXT_MESSAGE_CONTENT") == "Half of it."


def metadata_of(events: list[Any]) -> dict[str, Any]:
    """Return a stream's metadata as `useChat` reads it."""
    seen: dict[str, Any] = {}
    for each in events:
        seen |= each.data.get("messageMetadata", {}) if isinstance(each.data, dict) else {}
    return seen


@pytest.mark.parametrize(
    "reply", [Reply(text="Hello."), Reply(text=["Hel", "lo."], fault="cut")], ids=["whole", "failed"]
)
def test_a_reloaded_answer_has_the_same_metadata(client: Client, model: ModelServer, reply: Reply) -> None:
    model.script(reply)
    live = metadata_of(client.say_ai_sdk("c1", user_says("Hello")))
    assert live == client.get("/api/conversations/c1?as=ui")["messages"][-1]["metadata"]
    assert live["created_at"]


def test_a_message_posted_again_gets_the_metadata_of_its_answer(client: Client, model: ModelServer) -> None:
    model.script(Reply(text="Hello."))
    first, again = (metadata_of(client.say_ai_sdk("c1", user_says("Hello"))) for _ in range(2))
    assert again == first
