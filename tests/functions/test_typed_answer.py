"""A typed yes or no decides the one card of the answer it references, if code asked about it there, and only if the
change is reversible and private."""

from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.chat.turn_approvals import USE_THE_CARD
from qwestly_agent.stores import candidate_data
from tests.counts import everyday
from tests.functions.test_approvals import HEADLINE, asked, profile_of, wants
from tests.servers import Answer, ChatServer, Client, user_says


@pytest.fixture
def person(chat: ChatServer, client: Client) -> Client:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        database: Database[dict[str, Any]] = mongo[chat.settings.mongodb_database]
        database[candidate_data.CANDIDATES].insert_one(
            {"user_id": client.user_id, "headline": "Before", "skills": ["SQL"]}
        )
        card = {"user_id": client.user_id, "card_id": "one", "headline": "Product", "sections": [], "active": False}
        database[candidate_data.CARDS].insert_one(card)
    return client


def state_of(person: Client) -> list[tuple[str, str | None]]:
    return [(each["status"], each["decided_by"]) for each in person.get("/api/approvals?state=all")["items"]]


def says(person: Client, model: ModelServer, words: str, first: Answer, *replies: Reply) -> Answer:
    model.forget_requests()
    model.script(*(replies or [Reply(text="So be it.")]))
    return person.say(words, first.conversation_id, answers=first.id)


@pytest.mark.parametrize(
    ("words", "status"),
    everyday(
        3,
        [
            ("Yes.", "done"),
            ("👍🏽", "done"),
            ("Ja, bitte!", "done"),
            ("¡sí!", "done"),
            ("NO", "rejected"),
            ("Não", "rejected"),
        ],
    ),
)
def test_a_typed_yes_or_no_decides_the_card_before_it(
    chat: ChatServer, person: Client, model: ModelServer, words: str, status: str
) -> None:
    model.script(wants())
    answer = says(person, model, words, person.say("A better headline?"))
    assert state_of(person) == [(status, "words")]
    assert profile_of(chat, person)["headline"] == (HEADLINE if status == "done" else "Before")
    [decided] = [event.data for event in answer.events if event.name == "approval_decided"]
    assert decided["status"] == status
    [request] = model.requests
    assert f"The user said {'yes' if status == 'done' else 'no'} to" in request.json["messages"][-1]["content"]


@pytest.mark.parametrize(
    "words",
    everyday(
        2,
        [
            "Yes, but shorter",
            "yes?",
            "yes and no",
            "I said yes to the job",
            "no idea",
            "nothing",
            "Yes!\n> no",
            "“yes”",
        ],
    ),
)
def test_any_other_answer_leaves_the_card_pending(person: Client, model: ModelServer, words: str) -> None:
    model.script(wants())
    says(person, model, words, person.say("A better headline?"))
    assert state_of(person) == [("pending", None)]


@pytest.mark.parametrize("words", ["yes", "no"])
@pytest.mark.parametrize("tool", ["save_card_as_active", "delete_card"])
def test_a_public_or_irreversible_change_is_decided_only_on_its_card(
    person: Client, model: ModelServer, tool: str, words: str
) -> None:
    model.script(Reply(tool_calls=[{"name": tool, "arguments": {"card_id": "one"}}]))
    first = person.say("Do something with my card")
    for _ in range(2):  # also when repeated
        answer = says(person, model, words, first)
        assert (answer.text, model.requests) == (USE_THE_CARD, [])
        assert asked(answer)["approval_id"] == asked(first)["approval_id"]
        assert state_of(person) == [("pending", None)]
    says(person, model, "Why?", first)
    assert USE_THE_CARD in str(model.requests[0].json["messages"])


def test_a_typed_yes_decides_only_the_single_card_that_ended_the_previous_answer(
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


def test_a_yes_posted_again_decides_nothing_else(person: Client, model: ModelServer) -> None:
    model.script(wants(), wants("skills", ["SQL", "Go"], call_id="call_2"), Reply(text="Waits."))
    first = person.say("A better headline?")
    where = {"conversation_id": first.conversation_id, "answers": first.id}
    body = {"message": "yes", "message_id": "m_yes", **where}
    asked_next = Answer(person.post(body))
    assert "approval_required" in asked_next.names, "the model asks for more at once"
    person.post(body)
    assert state_of(person) == [("pending", None), ("done", "words")]


def test_an_ai_sdk_client_gets_the_card_again_with_a_sentence(person: Client, model: ModelServer) -> None:
    model.script(Reply(tool_calls=[{"name": "delete_card", "arguments": {"card_id": "one"}}]))
    person.say_ai_sdk("talk", user_says("Delete my card", "m1"))
    events = person.say_ai_sdk("talk", user_says("yes", "m2"))
    assert [event.data["data"]["status"] for event in events if (event.data or {}).get("type") == "data-approval"] == [
        "pending"
    ]
    assert USE_THE_CARD in "".join((event.data or {}).get("delta", "") for event in events)


# --- the referenced answer --------------------------------------------------------------------------------------------


QUESTION = f"Change your headline to {HEADLINE}? You can answer yes or no."


def waits_for_its_button(answer: Answer, card: Answer, model: ModelServer) -> bool:
    """True if this answer is the other one's card again with the sentence about its buttons, without a model call."""
    is_shown = asked(answer)["approval_id"] == asked(card)["approval_id"] and answer.text == USE_THE_CARD
    return is_shown and not model.requests


def test_the_question_under_a_card_is_written_by_code_and_stored(person: Client, model: ModelServer) -> None:
    model.script(wants())
    first = person.say("A better headline?")
    assert (first.text, first.last.data["content"]) == (QUESTION, QUESTION)
    assert first.names[-3:-1] == ["text_delta", "activity"]
    page = f"/api/conversations/{first.conversation_id}"
    assert person.get(page)["messages"][-1]["content"] == QUESTION
    [*_, said] = person.get(f"{page}?as=ui")["messages"][-1]["parts"][:-1]
    assert said["text"] == QUESTION
    says(person, model, "Why?", first)
    assert model.requests[0].json["messages"][-2] == {"role": "assistant", "content": QUESTION}


def test_a_yes_from_a_tab_with_another_last_answer_decides_nothing(
    chat: ChatServer, person: Client, model: ModelServer
) -> None:
    model.script(Reply(text="Do you like Lisbon?"))
    tab_b = person.say("Hello")
    model.script(wants())
    tab_a = person.say("A better headline?", tab_b.conversation_id)
    for named in (tab_b.id, "msg_unknown", None):
        model.forget_requests()
        more = {"answers": named} if named else {}
        assert waits_for_its_button(person.say("yes", tab_a.conversation_id, **more), tab_a, model)
    assert state_of(person) == [("pending", None)]
    assert profile_of(chat, person)["headline"] == "Before"
    says(person, model, "yes", tab_a)
    assert state_of(person) == [("done", "words")]


def test_a_yes_after_later_answers_shows_its_card_again(person: Client, model: ModelServer) -> None:
    model.script(wants(), Reply(text="Do you like Lisbon?"))
    first = person.say("A better headline?")
    later = person.say("Wait.", first.conversation_id)
    assert waits_for_its_button(says(person, model, "yes", first), first, model)
    assert says(person, model, "yes", later).text == "So be it."
    assert state_of(person) == [("pending", None)]


@pytest.mark.parametrize("after", ["Shall I tell you its name?", "Please decide on it there."])
def test_a_card_shown_again_by_a_model_is_not_decided_by_a_typed_yes(
    person: Client, model: ModelServer, after: str
) -> None:
    model.script(wants(), *[Reply(text="Lisbon is a city.")] * 3)
    first = person.say("A better headline?")
    for _ in range(3):
        person.say("And Lisbon?", first.conversation_id)
    arguments = {"approval_id": asked(first)["approval_id"]}
    model.script(Reply(tool_calls=[{"name": "show_approval", "arguments": arguments}]), Reply(text=after))
    shown = person.say("Go on", first.conversation_id)
    assert waits_for_its_button(says(person, model, "yes", shown), first, model)
    assert state_of(person) == [("pending", None)]


@pytest.mark.parametrize("text", ["Do you like Lisbon?", "¿Te gusta Lisboa", "你喜欢里斯本吗？"])
def test_a_card_below_a_question_from_the_model_is_not_decided_by_a_typed_yes(
    person: Client, model: ModelServer, text: str
) -> None:
    model.script(Reply(text=text, tool_calls=wants().tool_calls))
    first = person.say("A better headline?")
    assert first.text == text
    assert waits_for_its_button(says(person, model, "yes", first), first, model)
    assert state_of(person) == [("pending", None)]


def test_a_typed_yes_decides_no_older_card_above_a_newer_one(
    chat: ChatServer, person: Client, model: ModelServer
) -> None:
    model.script(wants())
    first = person.say("A better headline?")
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:  # as a workflow proposes, after the answer
        records = mongo[chat.settings.mongodb_database]["agent_approvals"]
        [below] = records.find({"user_id": person.user_id})
        newer = {"_id": f"{below['_id']}2", "run_id": "workflow", "created_at": below["created_at"] + 1}
        records.insert_one({**below, **newer})
    says(person, model, "yes", first)
    assert state_of(person) == [("pending", None)] * 2


@pytest.mark.parametrize("history", everyday(3, ["whole", "named", "cut off", "ends before the card", "newest alone"]))
def test_a_use_chat_request_references_the_last_assistant_message(
    person: Client, model: ModelServer, history: str
) -> None:
    model.script(Reply(text="Hello."), wants())
    person.say_ai_sdk("talk", user_says("Hi", "m1"))
    start, *_ = person.say_ai_sdk("talk", user_says("A better headline?", "m2"))
    card = {"id": start.data["messageId"], "role": "assistant", "parts": [], "metadata": {"output_tokens": 1}}
    before = {**card, "id": "msg_before"}
    seen, more = [user_says("Hi", "m1"), before, user_says("A better headline?", "m2"), card], {}
    match history:
        case "named":
            seen, more = [], {"answers": card["id"]}
        case "cut off":
            seen[-1] = {**card, "metadata": {"pydantic_ai": {"timestamp": "2026-11-22T10:00:00Z"}}}
        case "ends before the card":
            seen = seen[:2]
        case "newest alone":
            seen = []
        case _:
            pass
    person.say_ai_sdk("talk", *seen, user_says("yes", "m3"), **more)
    assert state_of(person) == [("done", "words") if history in ("whole", "named") else ("pending", None)]


@pytest.mark.parametrize("shown", ["all", "but the question"])
def test_an_ag_ui_request_references_the_message_with_the_question(
    person: Client, model: ModelServer, shown: str
) -> None:
    model.script(Reply(text="I would be bolder.", tool_calls=wants().tool_calls))
    run: dict[str, Any] = {"threadId": "c1", "runId": "r1", "state": {}, "tools": [], "context": []}
    hello = {"id": "m1", "role": "user", "content": "A better headline?"}
    events = person.post({**run, "messages": [hello]})
    texts: dict[str, str] = {}
    for event in (each.data for each in events):
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
    assert list(texts.values()) == ["I would be bolder.", QUESTION]
    answers = [{"id": each, "role": "assistant", "content": text} for each, text in texts.items()]
    seen = answers if shown == "all" else answers[:1]
    person.post({**run, "messages": [hello, *seen, {"id": "m2", "role": "user", "content": "yes"}]})
    assert state_of(person) == [("done", "words") if shown == "all" else ("pending", None)]
