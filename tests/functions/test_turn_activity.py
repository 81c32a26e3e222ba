"""Events that a turn adds to the activity feed are also sent in its stream."""

from typing import Any

import pytest

from infra.local.model_server import ModelServer, Reply
from tests.functions.test_approvals import asked, wants
from tests.functions.test_approvals import person as person
from tests.functions.test_tools import call, calls
from tests.servers import Answer, Client, user_says


def feed(client: Client) -> list[dict[str, Any]]:
    """Return the feed, oldest first."""
    return client.get("/api/activity")["items"][::-1]


def activity_of(answer: Answer) -> list[dict[str, Any]]:
    return [event.data for event in answer.events if event.name == "activity"]


@pytest.mark.parametrize("protocol", ["plain", "ai_sdk", "ag_ui"])
def test_a_turns_activity_is_sent_at_its_end_in_every_protocol(client: Client, protocol: str) -> None:
    words = "Remember that I live in Lisbon."
    match protocol:
        case "plain":
            answer = client.say(words)
            told = activity_of(answer)
            assert answer.names[-2:] == ["activity", "done"]
        case "ai_sdk":
            parts = [event.data for event in client.say_ai_sdk("c1", user_says(words)) if event.name == "data-activity"]
            assert [(part["id"], part["transient"]) for part in parts] == [(part["data"]["id"], True) for part in parts]
            told = [part["data"] for part in parts]
        case _:
            run = {"threadId": "c1", "runId": "r1", "state": {}, "tools": [], "context": [], "forwardedProps": {}}
            events = client.post({**run, "messages": [{"id": "m1", "role": "user", "content": words}]})
            told = [event.data["value"] for event in events if event.data.get("name") == "activity"]
    assert [each["type"] for each in told] == ["memory.remembered"]
    assert told == feed(client)


def test_a_change_approved_and_executed_in_a_turn_is_sent_in_that_turn(person: Client, model: ModelServer) -> None:
    model.script(wants())
    answer = person.say("Make me head of product")
    assert [each["type"] for each in activity_of(answer)] == ["approval.asked"]
    approval = asked(answer)
    model.script(Reply(text="It is changed."))
    decision = {"approval_id": approval["approval_id"], "decision": "approve", "args_digest": approval["args_digest"]}
    decided = Answer(person.post({"conversation_id": answer.conversation_id, "decisions": [decision]}))
    assert [each["type"] for each in activity_of(decided)] == [
        "approval.approved",
        "approval.executing",
        "approval.done",
    ]
    assert activity_of(answer) + activity_of(decided) == feed(person)


def test_a_workflow_started_by_a_turn_is_sent_in_its_stream(client: Client, model: ModelServer) -> None:
    model.script(calls(call("generate_qwestly_card")), Reply(text="I am on it."))
    begun, *_ = activity_of(client.say("Draft my card"))
    assert (begun["type"], begun["role"]) == ("draft.started", "cards")
    assert begun in feed(client)


def test_a_read_only_turn_sends_no_activity(client: Client, model: ModelServer) -> None:
    client.say("Remember that I live in Lisbon.")
    model.script(calls(call("query_user_knowledge", only="memories", query="Lisbon")), Reply(text="In Lisbon."))
    assert activity_of(client.say("Where do I live?")) == []


def test_an_event_from_another_conversation_is_not_sent(client: Client, model: ModelServer) -> None:
    model.script(calls(call("generate_qwestly_card")), Reply(text=["I am ", "on it."], hold_after=1))
    with client.open({"message": "Draft my card"}) as events:
        seen = [next(events)]
        while seen[-1].name != "text_delta":
            seen.append(next(events))
        client.say("Remember that I live in Lisbon.")
        model.release()
        seen += list(events)
    assert {each["type"].split(".")[0] for each in activity_of(Answer(seen))} == {"draft"}
    assert "memory.remembered" in [each["type"] for each in feed(client)]
