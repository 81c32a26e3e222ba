"""The learning routes: the path, due questions, lessons and answers, and what remains after deleting and forgetting."""

import time
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from infra.local.model_server import ModelServer, Reply
from infra.topics import read_library
from qwestly_agent.domain.learning import Lesson, LessonQuestion, LessonQuote, LessonSentence
from qwestly_agent.learning.progress import new_practice
from qwestly_agent.stores import learning
from qwestly_agent.stores.learning import Lessons
from tests.servers import ChatServer, Client

LIBRARY = read_library(Path(__file__).parents[2] / "library")
PAGE = "active-listening/listen-to-understand-before-you-answer"
DAY = 86_400


@pytest.fixture(autouse=True, scope="module")
def library(chat: ChatServer) -> Iterator[None]:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        collection = mongo[chat.settings.mongodb_database][learning.TOPICS]
        collection.insert_many({**module.model_dump(exclude={"id"}), "_id": module.id} for module in LIBRARY)
        yield
        collection.delete_many({})


def has_lesson(chat: ChatServer, user_id: str, **changes: Any) -> str:
    """Store a lesson as `write_lesson` leaves it."""
    now = time.time()
    lesson = Lesson(
        id=f"les_{uuid.uuid4().hex}",
        user_id=user_id,
        run_id="run",
        conversation_id="talk",
        subject="Leadership",
        topic="Active listening",
        module_id=PAGE,
        title="Listen to understand before you answer",
        status="ready",
        label="Your lesson is ready",
        outline=("What it is for",),
        sentences=(
            LessonSentence(
                point=0,
                text="A summary is not agreement.",
                quotes=(LessonQuote(module_id=PAGE, text="A summary is not agreement."),),
            ),
            LessonSentence(point=0, text="Many books treat it."),
        ),
        questions=tuple(
            LessonQuestion(text=f"Question {n}?", options=("A", "B", "C"), right=1, sentence=0) for n in range(3)
        ),
        practices=tuple(
            new_practice(now - 3 + n).model_copy(update={"answers": 1, "last_at": now - 2 * DAY}) for n in range(3)
        ),
        created_at=now,
        updated_at=now,
    ).model_copy(update=changes)
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        mongo[chat.settings.mongodb_database][learning.LESSONS].insert_one(Lessons.to_document(lesson))
    return lesson.id


def answers(client: Client, lesson_id: str, number: int, option: int, seen: int = 0, **more: Any) -> dict[str, Any]:
    body = {"option": option, "answers": seen, **more}
    return client.request("POST", f"/api/lessons/{lesson_id}/questions/{number}", json=body).json()


def seconds_until(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() - time.time()


def test_the_path_shows_learned_lessons_and_due_questions(client: Client, chat: ChatServer) -> None:
    lesson_id = has_lesson(chat, client.user_id)
    has_lesson(chat, client.user_id, module_id="active-listening/hear-what-is-not-said", status="failed", practices=())
    view = client.get("/api/learning")
    leadership = next(each for each in view["path"] if each["subject"] == "Leadership")
    [listening] = [each for each in leadership["topics"] if each["topic"] == "Active listening"]
    assert [(each["state"], each["lesson_id"]) for each in listening["modules"]] == [
        ("answered", lesson_id),
        ("open", None),
    ]
    assert [each["text"] for each in view["due"]] == ["Question 0?", "Question 1?", "Question 2?"]
    assert view["progress"]["due"] == 3
    assert view["progress"]["next"] == {
        "topic": "Active listening",
        "module": "Hear what is not said",
        "why": "You have begun with it.",
    }


def test_a_lesson_shows_the_citations_of_its_sentences_but_not_the_right_options(
    client: Client, chat: ChatServer
) -> None:
    lesson_id = has_lesson(chat, client.user_id)
    lesson = client.get(f"/api/lessons/{lesson_id}")
    cited, marked = lesson["sentences"]
    page = {"module_id": PAGE, "title": "Listen to understand before you answer"}
    page |= {"source": "written by the Qwestly team"}
    assert cited["quotes"] == [page | {"text": "A summary is not agreement."}]
    assert (marked["quotes"], lesson["checked"]) == ([], False)
    assert lesson["questions"][0].keys() == {
        "lesson_id",
        "number",
        "text",
        "options",
        "due_at",
        "answers",
        "right_answers",
    }
    assert [each["lesson_id"] for each in client.get("/api/lessons")["items"]] == [lesson_id]


def test_a_question_answered_right_returns_later_than_one_answered_wrong(client: Client, chat: ChatServer) -> None:
    lesson_id = has_lesson(chat, client.user_id)
    right, wrong = (answers(client, lesson_id, n, 1 - n, seen=1, felt="easy") for n in range(2))
    assert (right["is_right"], wrong["is_right"], wrong["right"]) == (True, False, 1)
    assert wrong["because"] == "A summary is not agreement."
    assert seconds_until(right["question"]["due_at"]) > DAY
    assert 0 < seconds_until(wrong["question"]["due_at"]) <= DAY
    assert [each["number"] for each in client.get("/api/learning")["due"]] == [2]


def test_an_answer_sent_twice_counts_once(client: Client, chat: ChatServer) -> None:
    lesson_id = has_lesson(chat, client.user_id)
    first, again = answers(client, lesson_id, 0, 1, seen=1), answers(client, lesson_id, 0, 1, seen=1)
    assert again == first
    assert first["question"]["answers"] == 2
    assert answers(client, lesson_id, 0, 1, seen=2)["question"]["answers"] == 3


def test_an_unknown_or_another_users_lesson_is_not_found(client: Client, chat: ChatServer) -> None:
    others = has_lesson(chat, "auth0|somebody-else")
    mine = has_lesson(chat, client.user_id)
    assert client.request("GET", f"/api/lessons/{others}").status_code == 404
    assert client.request("DELETE", f"/api/lessons/{others}").status_code == 404
    assert answers(client, others, 0, 0)["error"]["code"] == "not_found"
    assert answers(client, mine, 3, 0)["error"]["code"] == "not_found"
    assert answers(client, mine, 0, 3)["error"]["code"] == "invalid"


def test_a_lesson_is_deleted_with_its_questions(client: Client, chat: ChatServer) -> None:
    lesson_id = has_lesson(chat, client.user_id)
    for status in (204, 404):
        assert client.request("DELETE", f"/api/lessons/{lesson_id}").status_code == status
    told = [each["data"] for each in client.get("/api/activity")["items"] if each["type"] == "lesson.deleted"]
    assert told == [{"lesson_id": lesson_id}]
    assert client.get("/api/learning")["due"] == []


def test_a_lesson_is_kept_when_its_conversation_is_deleted(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    model.script_chat(Reply(text="What would you like to learn?"))
    conversation_id = client.say("hello", role="learning").conversation_id
    lesson_id = has_lesson(chat, client.user_id, conversation_id=conversation_id)
    client.request("DELETE", f"/api/conversations/{conversation_id}")
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        kept = mongo[chat.settings.mongodb_database][learning.LESSONS].find_one({"_id": lesson_id})
    assert kept
    assert kept["conversation_id"] is None


def test_an_abandoned_lesson_is_shown_as_failed(client: Client, chat: ChatServer) -> None:
    left = {"status": "writing", "practices": (), "sentences": ()}
    lesson_id = has_lesson(chat, client.user_id, **left, created_at=time.time() - DAY)
    assert client.get(f"/api/lessons/{lesson_id}")["status"] == "failed"
    view = client.get("/api/learning")
    assert [each["status"] for each in view["lessons"]] == ["failed"]
    [module, _] = next(
        topic["modules"] for each in view["path"] for topic in each["topics"] if topic["topic"] == "Active listening"
    )
    assert module["state"] == "open"


def test_a_goal_can_be_chosen_and_removed_by_hand(client: Client) -> None:
    chosen = client.request("PUT", "/api/learning/goal", json={"goal": "Head of Product"}).json()
    assert chosen["progress"]["goal"] == "Head of Product"
    gaps = chosen["progress"]["gaps"]
    assert 0 < len(gaps) <= 3
    pages = {each.id: each.text for each in LIBRARY}
    assert all(each["need_quote"]["text"] in pages[each["need_quote"]["module_id"]] for each in gaps)
    assert chosen["progress"]["next"]["topic"] == gaps[0]["topic"]
    left = client.request("PUT", "/api/learning/goal", json={"goal": ""}).json()
    assert (left["progress"]["goal"], left["progress"]["gaps"], left["progress"]["goals"]) == ("", [], [])


def test_no_goal_can_be_chosen_while_the_brake_is_on(client: Client) -> None:
    client.request("POST", "/api/brake")
    assert client.request("PUT", "/api/learning/goal", json={"goal": "Head of Product"}).status_code == 423


@pytest.mark.thorough
def test_forgetting_a_memory_also_removes_learning_decisions_and_wishes(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    secret = "I want to leave Northwind"
    remember = {"type": "goal", "text": "Wants to leave Northwind", "quote": secret}
    decide = {"kind": "goal", "text": "Leave Northwind", "quote": secret}
    model.script_chat(Reply(tool_calls=[{"name": "store_decision", "arguments": decide}]), Reply(text="Noted."))
    client.say(secret, role="learning")
    lesson_id = has_lesson(chat, client.user_id, wish=secret)
    model.script(
        Reply(tool_calls=[{"name": "remember", "arguments": remember}], streams=True), Reply(text="Ok.", streams=True)
    )
    client.say(secret)
    [memory] = client.get("/api/memories")["items"]
    assert client.request("DELETE", f"/api/memories/{memory['id']}").is_success
    progress = client.get("/api/learning")["progress"]
    assert (progress["goal"], progress["goals"]) == ("", [])
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        database = mongo[chat.settings.mongodb_database]
        kept = database[learning.LESSONS].find_one({"_id": lesson_id})
        talks = database["agent_conversations"].count_documents(
            {"user_id": client.user_id, "learning": {"$exists": True}}
        )
    assert kept
    assert (kept["wish"], talks) == ("", 0)
