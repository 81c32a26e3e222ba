"""A user asks in the chat to have something remembered, corrected or explained.

Mostly with the unchanged scripted model, so that the results are the same as when a person tries it by hand.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from infra.local.model_server import ModelServer, Reply
from tests.functions.test_tools import call, calls, results_of, steps_of
from tests.servers import ChatServer, Client


@pytest.fixture
def database(chat: ChatServer) -> Iterator[Database[dict[str, Any]]]:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        yield mongo[chat.settings.mongodb_database]


def remembered(client: Client, status: str = "active") -> list[str]:
    return [each["content"] for each in client.get(f"/api/memories?status={status}")["items"]]


def told(model: ModelServer) -> dict[str, Any]:
    """Return the result of the only call, without its fence."""
    [result] = results_of(model)
    return json.loads(result[result.index("{") : result.rindex("}") + 1])


def instructions_of(model: ModelServer) -> str:
    """Return the instructions of the last prompt, with the user's context."""
    return "\n".join(each["content"] for each in model.requests[-1].json["messages"] if each["role"] == "system")


# --- on request -------------------------------------------------------------------------------------------------------


def test_the_agent_remembers_something_at_once_on_request(client: Client) -> None:
    answer = client.say("Remember that I live in Lisbon.")
    assert remembered(client) == ["Lives in Lisbon."]
    assert answer.text == "I will remember: Lives in Lisbon."
    [step] = steps_of(client, answer)
    assert (step["name"], step["effect"], step["label"], step["ok"]) == (
        "remember",
        "memory",
        "Remembering that…",
        True,
    )


@pytest.mark.thorough
def test_a_memory_is_known_in_the_next_conversation(client: Client, model: ModelServer) -> None:
    client.say("Remember that I live in Lisbon.")
    client.say("Hello")
    assert re.search(r"- Lives in Lisbon\. \(fact, told on \w+, \w+ \d+, \d{4}, sure\)", instructions_of(model))
    assert "Lives in Lisbon" in client.say("Where do I live?").text


@pytest.mark.thorough
def test_the_agent_corrects_a_memory_on_request_and_keeps_its_history(client: Client) -> None:
    client.say("Remember that I live in Berlin.")
    answer = client.say("That you think I live in Berlin is wrong, I live in Lisbon.")
    assert answer.text.endswith("I will remember: Lives in Lisbon.")
    assert [step["name"] for step in steps_of(client, answer)] == ["query_user_knowledge", "correct_memory"]
    assert remembered(client) == ["Lives in Lisbon."]
    assert remembered(client, "superseded") == ["Lives in Berlin."]
    asked = client.say("Where do I live?").text
    assert "Lives in Lisbon" in asked
    assert "Before that: “Lives in Berlin.”" in asked


def test_the_agent_explains_a_memory_with_its_quote_and_date(client: Client, model: ModelServer) -> None:
    client.say("Remember that I live in Lisbon.")
    answer = client.say("Why do you know that I live in Lisbon?")
    assert "“Remember that I live in Lisbon”" in answer.text
    assert re.search(r"On \w+, \w+ \d+, \d{4} you wrote", answer.text)
    # The title of the memory's source is left out too, as it may mention forgotten content.
    assert told(model)["memories"][0].keys() == {"id", "type", "content", "told_on", "how_sure", "quote", "said_on"}
    [step] = steps_of(client, answer)
    assert (step["name"], step["effect"]) == ("explain_memory", "read")


def test_the_agent_says_so_if_asked_to_explain_an_unknown_memory(client: Client) -> None:
    assert client.say("Why do you know that I have a yacht?").text == "Nothing is remembered about that."


# --- limits of the model ----------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_correction_the_user_did_not_say_is_rejected(client: Client, model: ModelServer) -> None:
    client.say("Remember that I live in Lisbon.")
    [memory] = client.get("/api/memories")["items"]
    lie = call("correct_memory", memory_id=memory["id"], text="Lives in Berlin.", quote="That is right")
    model.script(calls(lie), Reply(text="Sorry."))
    client.say("That is wrong.")
    assert "error" in told(model)
    assert remembered(client) == ["Lives in Lisbon."]


# --- results for the model --------------------------------------------------------------------------------------------


def test_a_found_memory_has_its_reason_its_date_and_its_history(client: Client, model: ModelServer) -> None:
    client.say("Remember that I live in Berlin.")
    [older] = client.get("/api/memories")["items"]
    client.request("PATCH", f"/api/memories/{older['id']}", json={"content": "Lives in Lisbon."})
    model.script(calls(call("query_user_knowledge", only="memories", query="where they live")), Reply(text="So."))
    client.say("Where do I live?")
    [found] = told(model)["memories"]
    assert (found["content"], found["how_sure"], found["type"]) == ("Lives in Lisbon.", "sure", "fact")
    assert found["score"].keys() == {"meaning", "words", "salience", "total"}
    assert found["told_on"] == found["before"][0]["until"]
    assert "since" not in found  # since when a corrected memory is true is unknown
    assert found["before"][0]["content"] == "Lives in Berlin."
    assert "id" in found


@pytest.mark.parametrize(
    ("query", "by_salience"), [("Lisbon", False), ("the oboe", True)], ids=["a word matches", "none does"]
)
@pytest.mark.thorough
def test_a_search_without_embeddings_or_matching_words_returns_the_most_salient(
    client: Client, model: ModelServer, query: str, by_salience: bool
) -> None:
    client.say("Remember that I live in Lisbon.")
    model.embeddings_fault = 503
    model.script(calls(call("query_user_knowledge", only="memories", query=query)), Reply(text="So."))
    client.say("What do you know?")
    assert [each["content"] for each in told(model)["memories"]] == ["Lives in Lisbon."]
    assert "searched by words alone" in told(model)["note"]
    assert ("most important ones" in told(model)["note"]) == by_salience


@pytest.mark.thorough
def test_another_users_memory_is_not_explained_corrected_or_forgotten(
    chat: ChatServer, client: Client, model: ModelServer
) -> None:
    client.say("Remember that I live in Lisbon.")
    [memory] = client.get("/api/memories")["items"]
    with Client(chat.url, f"{client.user_id}-stranger") as stranger:
        for made in (
            call("explain_memory", about=memory["id"]),
            call("correct_memory", memory_id=memory["id"], text="Lives in Lisbon.", quote="I live in Lisbon"),
            call("forget_memory", memory_ids=[memory["id"]]),
        ):
            model.script(calls(made), Reply(text="So."))
            stranger.say("Forget it, it is wrong: I live in Lisbon.")
            answered = told(model)
            assert "error" in answered or answered["memories"] == []
    assert remembered(client) == ["Lives in Lisbon."]
