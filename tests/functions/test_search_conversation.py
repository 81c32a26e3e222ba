"""Older turns, found by the agent in this conversation and earlier ones."""

import json
import uuid
from typing import Any

import pytest
from pymongo import MongoClient

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from tests.servers import Answer, ChatServer, Client


def looked_up(
    client: Client,
    model: ModelServer,
    query: str,
    conversation_id: str | None = None,
    says: str = "What did we say about that?",
) -> list[dict[str, Any]]:
    """Return the result of a search, as the model received it."""
    call: ToolCall = {"name": "query_user_knowledge", "arguments": {"only": "messages", "query": query}}
    model.script(Reply(tool_calls=[call]), Reply(text="That."))
    client.say(says, conversation_id)
    [told] = [m["content"] for m in model.requests[-1].json["messages"] if m["role"] == "tool"][-1:]
    return json.loads(told.split(">", 1)[1].rsplit("<", 1)[0])["messages"]


@pytest.mark.thorough
def test_older_turns_are_found_by_words_in_every_conversation(client: Client, model: ModelServer) -> None:
    model.script(Reply(text="Granite is a rock."))
    earlier = client.say("What is granite?").conversation_id
    here = client.say("And what about basalt?").conversation_id
    [answer, question] = sorted(looked_up(client, model, "granite", here), key=lambda each: each["by"], reverse=True)
    assert (answer["by"], answer["text"], answer["in"]) == ("you", "Granite is a rock.", "an earlier conversation")
    assert (question["by"], question["text"]) == ("the user", "What is granite?")
    assert [each["in"] for each in looked_up(client, model, "granite", earlier)] == ["this conversation"] * 2
    [found] = looked_up(client, model, "basalt", here)
    assert (found["text"], found["in"]) == ("And what about basalt?", "this conversation")
    assert looked_up(client, model, "obsidian") == []


def test_the_current_question_is_not_found(client: Client, model: ModelServer) -> None:
    said = client.say("I like obsidian.").conversation_id
    found = looked_up(client, model, "obsidian", said, says="When did I speak of obsidian?")
    assert [each["text"] for each in found if each["by"] == "the user"] == ["I like obsidian."]
    again = looked_up(client, model, "obsidian", said, says="And of obsidian before?")
    assert "And of obsidian before?" not in [each["text"] for each in again]
    last = client.get(f"/api/conversations/{said}")["messages"][-1]["id"]
    call: ToolCall = {"name": "query_user_knowledge", "arguments": {"only": "messages", "query": "obsidian"}}
    model.script(Reply(tool_calls=[call]), Reply(text="That."))
    Answer(client.post({"conversation_id": said, "replaces": last}))  # regenerated
    [told] = [m["content"] for m in model.requests[-1].json["messages"] if m["role"] == "tool"][-1:]
    assert ("When did I speak of obsidian?" in told, "And of obsidian before?" in told) == (True, False)


@pytest.mark.thorough
def test_other_users_messages_and_excluded_ones_are_not_found(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    with Client(chat.url, f"auth0|{uuid.uuid4().hex}") as somebody:
        somebody.say("My secret is feldspar")
    client.say("My own secret is feldspar too")
    assert len(looked_up(client, model, "feldspar")) == 1
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        kept = mongo[chat.settings.mongodb_database]["agent_messages"]
        kept.update_many({"user_id": client.user_id}, {"$set": {"withheld": True}})
    assert looked_up(client, model, "feldspar") == []


@pytest.mark.nightly
@pytest.mark.thorough
def test_after_120_turns_the_first_question_is_still_found_at_no_higher_cost(
    client: Client, model: ModelServer
) -> None:
    conversation_id, costs = client.say("Is a lighthouse keeper still a job?").conversation_id, list[float]()
    for turn in range(119):
        done = client.say(f"Thanks, and here is thought {turn}", conversation_id).last
        costs.append(done.data["usage"]["cost_usd"])
    once, twice = sum(costs[39:79]), sum(costs[79:])
    assert twice <= once * 1.1, "a window's length of turns costs what the one before it did"
    answer = client.say("What did I ask first?", conversation_id)
    assert "Is a lighthouse keeper still a job?" in answer.text
    said = [m["content"] for m in model.requests[-1].json["messages"] if m["role"] == "user"]
    assert "Is a lighthouse keeper still a job?" not in said, "it fell out of the window"
