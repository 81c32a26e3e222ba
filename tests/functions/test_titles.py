"""A conversation gets a title in the words of its first message, from a model called concurrently with the answer."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from infra.local.model_controls import BESIDE
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.stores import memories, messages, usage
from qwestly_agent.stores.conversation_search import NEUTRAL_TITLE
from tests.counts import everyday
from tests.servers import ChatServer, Client

Stored = Database[dict[str, Any]]
SAID = "I would love to know which roles in product management might suit me, and what they pay in Berlin."
TITLE = "Product management roles in Berlin"


def named(title: str) -> Reply:
    return Reply(to=BESIDE, tool_calls=[{"name": "final_result", "arguments": {"title": title}}])


def title_of(client: Client, conversation_id: str) -> str:
    return client.get(f"/api/conversations/{conversation_id}")["title"]


@pytest.fixture
def database(chat: ChatServer, mongodb_uri: str) -> Iterator[Stored]:
    with MongoClient[dict[str, Any]](mongodb_uri) as mongo:
        yield mongo[chat.settings.mongodb_database]


@pytest.fixture
def talk(client: Client, model: ModelServer, database: Stored) -> Callable[..., str]:
    """Send the message; the answer continues once the title request has been paid for."""

    def told(message: str, *replies: Reply) -> str:
        model.script(Reply(text=["Let me ", "see."], hold_after=1), *replies)
        with client.open({"message": message}) as events:
            conversation_id = next(events).data["conversation_id"]
            model.wait_until_held()
            until = time.monotonic() + 10
            while not (database[usage.COLLECTION].find_one({"_id": client.user_id}) or {}).get("days"):
                assert time.monotonic() < until
                time.sleep(0.01)
            model.release()
            assert [event.name for event in events][-1] == "done"
        return conversation_id

    return told


def test_a_long_first_message_is_shortened_to_a_title_in_its_own_words(
    client: Client, model: ModelServer, talk: Callable[..., str]
) -> None:
    conversation_id = talk(SAID, named(f" {TITLE}. "))
    assert title_of(client, conversation_id) == TITLE
    [asked] = model.beside
    assert SAID in asked.json["messages"][1]["content"]
    model.script(Reply(text="They do."))
    client.say(f"Never mind, {SAID}", conversation_id)
    assert len(model.beside) == 1, "a conversation is named once"
    assert title_of(client, conversation_id) == TITLE


@pytest.mark.parametrize(
    "answer", everyday(2, ["Become a millionaire in Berlin", "[roles](https://evil.example)", "", "x" * 61])
)
def test_a_title_with_other_words_is_rejected(client: Client, talk: Callable[..., str], answer: str) -> None:
    begins = title_of(client, talk(SAID, named(answer)))
    assert SAID.startswith(begins.removesuffix("…"))


def test_a_short_message_is_its_own_title(client: Client, model: ModelServer) -> None:
    model.script(Reply(text="Gladly."))
    assert title_of(client, client.say("Draft my card").conversation_id) == "Draft my card"
    assert model.beside == []


def test_an_answer_neither_waits_for_its_title_nor_fails_with_it(client: Client, model: ModelServer) -> None:
    model.script(Reply(text="Gladly."), Reply(to=BESIDE, text="{", hold_after=0))
    first = client.say(SAID)
    assert first.events[-1].name == "done"
    model.script(Reply(text="Gladly."), *[Reply(to=BESIDE, fault=503)] * 9)
    second = client.say(SAID)
    assert second.events[-1].name == "done"
    for each in (first, second):
        assert SAID.startswith(title_of(client, each.conversation_id).removesuffix("…"))


def test_a_title_is_forgotten_with_its_message(
    client: Client, model: ModelServer, database: Stored, talk: Callable[..., str]
) -> None:
    conversation_id = talk(SAID, named(TITLE))
    lisbon = {"type": "fact", "text": "Lives in Lisbon", "quote": "I live in Lisbon"}
    model.script_chat(Reply(tool_calls=[{"name": "remember", "arguments": lisbon}]), Reply(text="Noted."))
    client.say("I live in Lisbon.", conversation_id)
    [memory] = database[memories.COLLECTION].find({"user_id": client.user_id})
    database[messages.COLLECTION].update_many({"content": SAID}, {"$set": {"withheld": True}})
    client.request("DELETE", f"/api/memories/{memory['_id']}").raise_for_status()
    assert title_of(client, conversation_id) == NEUTRAL_TITLE
