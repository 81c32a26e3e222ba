"""Events of a stored memory, in both protocols and after a reload."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.memory.service import UNDO_SECONDS
from tests.functions.test_remembering import LISBON, compared, undo
from tests.functions.test_tools import call, calls
from tests.servers import Client, Event, user_says

SAID = "I live in Lisbon now."


def of(events: Sequence[Event], name: str) -> list[Any]:
    return [event.data for event in events if event.name == name]


def parts_of(client: Client, conversation_id: str) -> list[dict[str, Any]]:
    """Return the last answer's `data-memory` parts, as `useChat` reads them."""
    last = client.get(f"/api/conversations/{conversation_id}?as=ui")["messages"][-1]
    return [part for part in last["parts"] if part["type"] == "data-memory"]


def memories_of(client: Client, conversation_id: str) -> list[list[dict[str, Any]]]:
    """Return the memories of each answer, as the conversation's route returns them."""
    messages = client.get(f"/api/conversations/{conversation_id}")["messages"]
    return [each["memories"] for each in messages if each["role"] == "assistant"]


def test_a_memory_is_sent_in_the_stream_before_its_call_ends(client: Client, model: ModelServer) -> None:
    model.script_chat(calls(call("remember", **LISBON)), Reply(text="So."))
    answer = client.say(SAID)
    [memory] = client.get("/api/memories")["items"]
    assert of(answer.events, "memory") == [{each: memory[each] for each in ("id", "content", "status", "undo_until")}]
    assert answer.names[1:4] == ["tool_call", "memory", "tool_result"]
    left = datetime.fromisoformat(memory["undo_until"]) - datetime.now().astimezone()
    assert timedelta(0) < left <= timedelta(seconds=UNDO_SECONDS)


def test_an_ai_sdk_client_gets_a_memory_as_a_part_with_its_id(client: Client, model: ModelServer) -> None:
    model.script_chat(calls(call("remember", **LISBON)), Reply(text="So."))
    [part] = of(client.say_ai_sdk("c1", user_says(SAID)), "data-memory")
    [memory] = client.get("/api/memories")["items"]
    assert (part["id"], part["data"]["content"], part["data"]["status"]) == (memory["id"], "Lives in Lisbon", "active")
    assert part["data"]["undo_until"] == memory["undo_until"]
    assert part.get("transient") is None
    assert parts_of(client, "c1") == [part]


def test_a_correction_is_sent_and_the_replaced_memory_is_no_longer_shown(client: Client, model: ModelServer) -> None:
    model.script_chat(calls(call("remember", **LISBON)), Reply(text="So."))
    first = client.say(SAID)
    [lisbon] = of(first.events, "memory")
    porto = {"memory_id": lisbon["id"], "text": "Lives in Porto", "quote": "I live in Porto"}
    model.script(
        calls(call("correct_memory", **porto)),
        *compared("contradicts", "Lives in Lisbon"),
        Reply(text="So.", streams=True),
    )
    [told] = of(client.say("No, I live in Porto.", first.conversation_id).events, "memory")
    assert told["content"] == "Lives in Porto"
    assert memories_of(client, first.conversation_id) == [[], [told]]
    assert undo(client, told["id"]).status_code == 200
    assert memories_of(client, first.conversation_id) == [[lisbon], []]


@pytest.mark.thorough
def test_an_unjudged_memory_is_sent_as_unchecked(client: Client, model: ModelServer) -> None:
    model.script(
        Reply(tool_calls=[call("remember", **LISBON)], streams=True),
        *[Reply(fault=503, streams=False)] * 9,
        Reply(text="So.", streams=True),
    )
    answer = client.say(SAID)
    [told] = of(answer.events, "memory")
    assert (told["content"], told["status"]) == ("Lives in Lisbon", "unchecked")
    assert memories_of(client, answer.conversation_id) == [[told]]


def test_an_undone_or_pending_memory_is_not_listed_with_the_answer(client: Client, model: ModelServer) -> None:
    model.script_chat(calls(call("remember", **LISBON)), Reply(text="So."))
    answer = client.say(SAID)
    [told] = of(answer.events, "memory")
    undo(client, told["id"])
    sensitive = {"type": "fact", "text": "Has diabetes", "quote": "I have diabetes", "sensitive": True}
    model.script_chat(calls(call("remember", **sensitive)), Reply(text="So."))
    asked = client.say("I have diabetes.", answer.conversation_id)
    assert of(asked.events, "memory") == []
    assert len(of(asked.events, "approval_required")) == 1
    assert memories_of(client, answer.conversation_id) == [[], []]
    assert parts_of(client, answer.conversation_id) == []


def test_a_rejected_memory_is_not_sent(client: Client, model: ModelServer) -> None:
    model.script_chat(calls(call("remember", **(LISBON | {"quote": "I live in Porto"}))), Reply(text="So."))
    answer = client.say(SAID)
    assert of(answer.events, "memory") == []
    assert memories_of(client, answer.conversation_id) == [[]]
