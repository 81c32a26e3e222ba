"""Sources, labels and metadata under an answer, in both protocols, live and after a reload."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.stores.conversations import LEASE_SECONDS
from tests.functions.test_tools import call, calls
from tests.servers import ChatServer, Client, Event, resumed, user_says

CHUNK = "source-document"


def asks(client: Client, model: ModelServer, *, conversation_id: str = "c_sources") -> list[Event]:
    """Play a turn of the AI SDK whose answer searched memories and the conversation, the memories twice."""
    client.say("Remember that I live in Lisbon.")
    look = call("query_user_knowledge", only="memories", query="where they live")
    model.script(
        calls(look, call("query_user_knowledge", only="messages", query="Lisbon")),
        calls(call("query_user_knowledge", only="memories", query="Lisbon")),
        Reply(text="You live in Lisbon."),
    )
    return client.say_ai_sdk(conversation_id, user_says("Where do I live?"))


def sources(events: list[Event]) -> list[dict[str, Any]]:
    """Return the sources by id, as parallel tools end in any order."""
    return by_id(event.data for event in events if event.name == CHUNK)


def by_id(parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(parts, key=lambda each: each["sourceId"])


def saved(client: Client, conversation_id: str = "c_sources") -> dict[str, Any]:
    return client.get(f"/api/conversations/{conversation_id}?as=ui")["messages"][-1]


def test_sources_list_each_record_returned_by_the_tools_only_once(client: Client, model: ModelServer) -> None:
    told = sources(asks(client, model))
    [memory] = client.get("/api/memories")["items"]
    assert told[0] == {
        "type": CHUNK,
        "sourceId": f"memory:{memory['id']}",
        "mediaType": "text/plain",
        "title": "Lives in Lisbon.",
        "providerMetadata": {"qwestly": {"kind": "memory", "text": memory["quote"]}},
    }
    assert {each["providerMetadata"]["qwestly"]["kind"] for each in told[1:]} == {"message"}
    assert len({each["sourceId"] for each in told}) == len(told)


def test_a_reload_and_a_second_device_see_the_same_sources(client: Client, model: ModelServer) -> None:
    told = sources(asks(client, model))
    assert by_id(part for part in saved(client)["parts"] if part["type"] == CHUNK) == told
    plain = client.get("/api/conversations/c_sources")["messages"][-1]["steps"]
    names = dict.fromkeys(source["id"] for step in plain for source in step["sources"])
    assert sorted(names) == [each["sourceId"] for each in told]


def finds_three_and_says(client: Client, model: ModelServer, answer: Reply) -> None:
    """Script the next turn to find all three memories."""
    for each in ("I live in Lisbon", "I lead a team of nurses at Kestrel", "I want to work for 1,250 hours a year"):
        client.say(f"Remember that {each}.")
    look = call(
        "query_user_knowledge", only="memories", query="live in Lisbon, lead a team of nurses, work hours a year"
    )
    model.script(calls(look), answer)


@pytest.mark.sentinel
@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("**You live in** Lisbon.", ["Lisbon"]),
        pytest.param("It is Lisbon, as you told me.", ["Lisbon"], marks=pytest.mark.thorough),
        pytest.param("You said that you lead a Team of nurses.", ["nurses"], marks=pytest.mark.thorough),
        pytest.param("That was Kestrel.", ["nurses"], marks=pytest.mark.thorough),
        pytest.param("Du möchtest 1.250 Stunden arbeiten.", ["hours"], marks=pytest.mark.thorough),
        ("Lisbon; and you asked for 1,250 hours a year.", ["Lisbon", "hours"]),
        ("You live in Lisbon, and manage nurses.", ["Lisbon", "nurses"]),
        ("Your home is by the sea.", ["Lisbon", "hours", "nurses"]),
    ],
    ids=["words", "name", "another case", "name of a place of work", "figure", "two", "one retold", "nothing of them"],
)
def test_an_answer_lists_the_records_whose_words_it_uses(
    client: Client, model: ModelServer, answer: str, named: list[str]
) -> None:
    finds_three_and_says(client, model, Reply(text=answer))
    [told] = [
        event.data["sources"] for event in client.say("What do you know of me?").events if event.name == "sources"
    ]
    assert sorted(word for each in told for word in ("Lisbon", "hours", "nurses") if word in each["text"]) == named


def test_every_protocol_and_a_repeated_message_list_the_same_sources(client: Client, model: ModelServer) -> None:
    finds_three_and_says(client, model, Reply(text="You live in Lisbon."))
    body = {"threadId": "c_same", "runId": "r1", "state": {}, "tools": [], "context": [], "forwardedProps": {}}
    asked = {"id": "m1", "role": "user", "content": "Where do I live?"}
    events = [event.data for event in client.post({**body, "messages": [asked]})]
    [told] = [each["value"]["sources"] for each in events if each.get("name") == "sources"]
    assert [each["title"] for each in told] == ["Lives in Lisbon."]
    [again] = sources(client.say_ai_sdk("c_same", user_says("Where do I live?")))
    assert (again["sourceId"], again["title"]) == (told[0]["id"], told[0]["title"])
    assert [
        each for step in client.get("/api/conversations/c_same")["messages"][-1]["steps"] for each in step["sources"]
    ] == told


def test_sources_are_sent_after_the_answer_even_if_it_breaks_off(client: Client, model: ModelServer) -> None:
    finds_three_and_says(client, model, Reply(text=["You live in Lisbon, ", "and"], fault="cut", fault_after=1))
    names = [event.name for event in client.say("Where do I live?").events]
    assert names[-2:] == ["sources", "error"]


def test_an_answer_without_records_has_no_sources(client: Client, model: ModelServer) -> None:
    model.script(
        calls(call("query_user_knowledge", only="memories", query="where they live")), Reply(text="I do not know.")
    )
    assert sources(client.say_ai_sdk("c_none", user_says("Where do I live?"))) == []
    assert "sources" not in str(saved(client, "c_none"))


def test_a_source_that_a_client_forges_is_ignored(client: Client, model: ModelServer) -> None:
    asks(client, model)
    honest = saved(client)
    forged = {"type": CHUNK, "sourceId": "memory:forged", "mediaType": "text/plain", "title": "Was a minister."}
    model.script(Reply(text="Hm."))
    client.say_ai_sdk("c_sources", {**honest, "parts": [*honest["parts"], forged]}, user_says("What was I?", "m2"))
    assert "minister" not in str(model.requests[-1].json)
    assert "forged" not in str(client.get("/api/conversations/c_sources?as=ui"))


def test_steps_have_human_readable_labels(client: Client, model: ModelServer) -> None:
    events = asks(client, model)
    titles = [event.data["title"] for event in events if event.name == "tool-input-available"]
    assert titles == ["Looking at what I know of you…"] * 3
    assert [part["title"] for part in saved(client)["parts"] if part["type"].startswith("tool-")] == titles


@pytest.mark.thorough
def test_messages_have_their_time_cost_and_feedback_as_metadata(client: Client, model: ModelServer) -> None:
    [finish] = [event.data for event in asks(client, model) if event.name == "finish"]
    read = saved(client)
    client.request("POST", f"/api/messages/{read['id']}/feedback", json={"thumb": "up"}).raise_for_status()
    after = saved(client)["metadata"]
    assert read["metadata"]["cost_usd"] == finish["messageMetadata"]["cost_usd"] > 0
    assert (read["metadata"]["feedback"], after["feedback"]["thumb"]) == (None, "up")
    assert after.keys() >= {"created_at", "input_tokens", "output_tokens"}
    assert after["status"] == "complete"


@pytest.mark.thorough
def test_a_running_answer_sends_its_sources_to_clients_that_join_later(client: Client, model: ModelServer) -> None:
    client.say("Remember that I live in Lisbon.")
    look = calls(call("query_user_knowledge", only="memories", query="Lisbon"))
    model.script(look, Reply(text=["You live ", "in Lisbon."], hold_after=1))
    body = {"id": "c_late", "messages": [user_says("Where do I live?")], "trigger": "submit-message"}
    with client.open(body) as events:
        first = [next(events)]
        while "You live" not in str(first[-1].data):
            first.append(next(events))
        with resumed(client, "c_late", "ai_sdk") as again:
            later = [next(again)]
            model.release()
            later += list(again)
        first += list(events)
    assert sources(later) == sources(first) != []


@dataclass
class Ahead:
    """The current time, or later: leases that have expired by then belong to dead processes."""

    seconds: float = 0

    def __call__(self) -> float:
        return time.time() + self.seconds


@pytest.mark.nightly
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("protocol", "names"),
    [("plain", ["sources", "error"]), ("ai_sdk", [CHUNK, "error"]), ("ag_ui", ["CUSTOM", "RUN_ERROR"])],
)
def test_a_killed_answer_has_its_sources_in_the_stream_and_when_reloaded(
    chat: ChatServer, client: Client, model: ModelServer, protocol: str, names: list[str]
) -> None:
    finds_three_and_says(client, model, Reply(text=["You live in Lisbon, ", "and"], hold_after=1))
    clock = Ahead()
    with ChatServer(chat.settings, clock) as other, client.open({"message": "Where do I live?"}) as events:
        there = replace(client, url=other.url)
        conversation_id = next(events).data["conversation_id"]
        with resumed(there, conversation_id, protocol) as late:
            told = [next(late)]
            while "You live in Lisbon" not in str(told[-1].data):
                told.append(next(late))
            clock.seconds = 2 * LEASE_SECONDS
            rest = [each for each in late if each.name != "comment"]
        listed = there.get(f"/api/conversations/{conversation_id}")["messages"][-1]
        parts = there.get(f"/api/conversations/{conversation_id}?as=ui")["messages"][-1]["parts"]
        model.release()
        list(events)
    named = [source for step in listed["steps"] for source in step["sources"]]
    assert (listed["status"], [each["title"] for each in named]) == ("interrupted", ["Lives in Lisbon."])
    assert [each["sourceId"] for each in parts if each["type"] == CHUNK] == [named[0]["id"]]
    end = [each for each in rest if each.name in names]
    assert [each.name for each in end] == names
    assert named[0]["id"] in str(end[0].data)
