"""A typed yes or no decides the one card before it, where what it asks can be undone and nobody else sees it."""

from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.chat.turn_approvals import USE_THE_CARD
from qwestly_agent.stores import profiles
from tests.functions.test_approvals import HEADLINE, asked, profile_of, wants
from tests.servers import Answer, ChatServer, Client, user_says


@pytest.fixture
def person(chat: ChatServer, client: Client) -> Client:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        database: Database[dict[str, Any]] = mongo[chat.settings.mongodb_database]
        database[profiles.CANDIDATES].insert_one({"user_id": client.user_id, "headline": "Before", "skills": ["SQL"]})
        card = {"user_id": client.user_id, "card_id": "one", "headline": "Product", "sections": [], "active": False}
        database[profiles.CARDS].insert_one(card)
    return client


def state_of(person: Client) -> list[tuple[str, str | None]]:
    return [(each["status"], each["decided_by"]) for each in person.get("/api/approvals?state=all")["items"]]


def says(person: Client, model: ModelServer, words: str, first: Answer, *replies: Reply) -> Answer:
    model.forget_requests()
    model.script(*(replies or [Reply(text="So be it.")]))
    return person.say(words, first.conversation_id)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("Yes.", "done"),
        ("👍🏽", "done"),
        ("Ja, bitte!", "done"),
        ("¡sí!", "done"),
        ("NO", "rejected"),
        ("Não", "rejected"),
    ],
)
def test_a_typed_yes_or_no_decides_the_card_before_it(
    chat: ChatServer, person: Client, model: ModelServer, words: str, status: str
) -> None:
    model.script(wants())
    answer = says(person, model, words, person.say("A better headline?"))
    assert state_of(person) == [(status, "chat")]
    assert profile_of(chat, person)["headline"] == (HEADLINE if status == "done" else "Before")
    [decided] = [event.data for event in answer.events if event.name == "approval_decided"]
    assert decided["status"] == status
    [request] = model.requests
    assert f"The user said {'yes' if status == 'done' else 'no'} to" in request.json["messages"][-1]["content"]


@pytest.mark.parametrize(
    "words",
    ["Yes, but shorter", "yes?", "yes and no", "I said yes to the job", "no idea", "nothing", "Yes!\n> no", "“yes”"],
)
def test_any_other_word_leaves_the_card_to_its_user(person: Client, model: ModelServer, words: str) -> None:
    model.script(wants())
    says(person, model, words, person.say("A better headline?"))
    assert state_of(person) == [("pending", None)]


@pytest.mark.parametrize("words", ["yes", "no"])
@pytest.mark.parametrize("tool", ["save_card_as_active", "delete_card"])
def test_what_others_see_or_cannot_be_undone_is_decided_on_its_card_alone(
    person: Client, model: ModelServer, tool: str, words: str
) -> None:
    model.script(Reply(tool_calls=[{"name": tool, "arguments": {"card_id": "one"}}]))
    first = person.say("Do something with my card")
    for _ in range(2):  # said again, too
        answer = says(person, model, words, first)
        assert (answer.text, model.requests) == (USE_THE_CARD, [])
        assert asked(answer)["approval_id"] == asked(first)["approval_id"]
        assert state_of(person) == [("pending", None)]
    says(person, model, "Why?", first)
    assert USE_THE_CARD in str(model.requests[0].json["messages"])


def test_a_typed_yes_decides_nothing_unless_one_card_ended_the_answer_before(
    chat: ChatServer, person: Client, model: ModelServer
) -> None:
    two = [wants(), wants("skills", ["SQL", "Go"], call_id="call_2")]
    model.script(Reply(tool_calls=[call for each in two for call in each.tool_calls]))
    first = person.say("A better profile?")
    says(person, model, "yes", first)
    assert state_of(person) == [("pending", None)] * 2, "two cards"
    model.script(wants("summary", "Builds.", call_id="call_3"))
    again = person.say("And a summary?")
    says(person, model, "Let me see.", again)
    says(person, model, "yes", again)
    assert state_of(person) == [("pending", None)] * 3, "not right after it"
    person.request("PUT", "/api/autonomy", json={"level": "L2"})
    model.script(wants("location", "Ulm", call_id="call_4"), Reply(text="Shall I look for jobs, too?"))
    queued = person.say("And a location?")
    says(person, model, "no", queued)
    assert state_of(person) == [("pending", None)] * 4, "the answer went on after it"
    assert profile_of(chat, person)["headline"] == "Before"


def test_a_yes_that_is_posted_again_decides_nothing_else(person: Client, model: ModelServer) -> None:
    model.script(wants(), wants("skills", ["SQL", "Go"], call_id="call_2"), Reply(text="Waits."))
    first = person.say("A better headline?")
    body = {"message": "yes", "message_id": "m_yes", "conversation_id": first.conversation_id}
    asked_next = Answer(person.post(body))
    assert "approval_required" in asked_next.names, "the model asks for more at once"
    person.post(body)
    assert state_of(person) == [("pending", None), ("done", "chat")]


def test_an_ai_sdk_client_sees_the_card_again_and_the_sentence(person: Client, model: ModelServer) -> None:
    model.script(Reply(tool_calls=[{"name": "delete_card", "arguments": {"card_id": "one"}}]))
    person.say_ai_sdk("talk", user_says("Delete my card", "m1"))
    events = person.say_ai_sdk("talk", user_says("yes", "m2"))
    assert [event.data["data"]["status"] for event in events if (event.data or {}).get("type") == "data-approval"] == [
        "pending"
    ]
    assert USE_THE_CARD in "".join((event.data or {}).get("delta", "") for event in events)
