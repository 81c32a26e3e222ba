"""The learning guide through the API and the chat: its offers, what an acceptance starts, and how it speaks."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from infra.topics import read_library
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.clients.aws import Workflows
from qwestly_agent.domain.learning import Gap, Lesson, LessonQuestion, LessonQuote, LessonSentence
from qwestly_agent.domain.resume import ReadField, ResumeRecord
from qwestly_agent.learning.progress import new_practice
from qwestly_agent.memory.forget import forget_in_learning
from qwestly_agent.stores import learning, resumes
from qwestly_agent.text.trouble import Trouble
from tests.counts import everyday
from tests.servers import ChatServer, Client

LIBRARY = Path(__file__).parents[2] / "library"
OFFER: ToolCall = {
    "name": "confirm_with_user",
    "arguments": {"about": "Active listening", "question": "Shall we begin with active listening?"},
}
GENERATE: ToolCall = {"name": "generate_content", "arguments": {}}
Started = list[tuple[str, dict[str, Any]]]


@pytest.fixture(autouse=True, scope="module")
def library(chat: ChatServer) -> Iterator[None]:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        collection = mongo[chat.settings.mongodb_database][learning.TOPICS]
        for module in read_library(LIBRARY):
            collection.insert_one({**module.model_dump(exclude={"id"}), "_id": module.id})
        yield
        collection.delete_many({})


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """The executions that were started, by name."""
    found: Started = []

    async def start(_: Workflows, workflow: str, name: str, given: Any) -> None:
        found.append((name, dict(given)))

    monkeypatch.setattr(Workflows, "start", start)
    return found


def calls(*made: ToolCall) -> Reply:
    return Reply(tool_calls=list(made))


def call(tool: str, **arguments: Any) -> ToolCall:
    return {"name": tool, "arguments": arguments}


def answers(to: str, **output: Any) -> Reply:
    """Return a typed output for the request whose instructions start with `to`."""
    return Reply(tool_calls=[call("final_result", **output)], to=to, streams=False)


def script(model: ModelServer, *steps: Reply) -> None:
    """Script the streamed replies and, by `answers`, the replies to other requests meanwhile."""
    model.script(*(each if each.to else replace(each, streams=True) for each in steps))


def results(model: ModelServer) -> list[Any]:
    """Return the results of the tools of the last turn."""
    messages = [each for each in model.requests if each.json.get("stream")][-1].json["messages"]
    last = max(place for place, each in enumerate(messages) if each["role"] == "user")
    texts = [each["content"] for each in messages[last:] if each["role"] == "tool"]
    return [json.loads(text.partition(">")[2].rpartition("</")[0]) if text[0] == "<" else text for text in texts]


def stored_documents(chat: ChatServer, collection: str, user_id: str) -> list[dict[str, Any]]:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        return list(mongo[chat.settings.mongodb_database][collection].find({"user_id": user_id}))


def offers(client: Client, model: ModelServer, offer: ToolCall = OFFER, says: str = "active listening") -> str:
    model.script_chat(calls(offer), Reply(text="Shall we begin with active listening?"))
    return client.say(says, role="learning").conversation_id


# --- tools --------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_topic_search_returns_at_most_five_exact_or_similar_topics(client: Client, model: ModelServer) -> None:
    queries = ["Active listening", "feedback", "ledarship", "astrophysics"]
    model.script_chat(calls(*(call("search_topics", query=each) for each in queries)), Reply(text="So."))
    client.say("What is there?", role="learning")
    exact, also, misspelt, unknown = results(model)
    assert [(each["topic"], each["exact"]) for each in exact["topics"]][:1] == [("Active listening", True)]
    assert exact["topics"][0]["modules"] == ["Listen to understand before you answer", "Hear what is not said"]
    assert also["topics"][0] == {
        "topic": "Giving feedback",
        "subject": "Leadership",
        "modules": ["Describe what you saw and what it did"],
        "exact": True,
    }
    assert {each["subject"] for each in misspelt["topics"][:4]} == {"Leadership"}
    assert not any(each["exact"] for each in misspelt["topics"])
    assert all(len(each["topics"]) <= 5 for each in (exact, also, misspelt))
    assert unknown["topics"] == []
    assert "nobody checked" in unknown["note"]


def test_the_breadth_of_a_library_topic_is_known_without_a_model(client: Client, model: ModelServer) -> None:
    phrases = ["leadership", "ledarship", "Active listening", "Hear what is not said"]
    model.script_chat(calls(*(call("detect_granularity", phrase=each) for each in phrases)), Reply(text="So."))
    client.say("How broad are these?", role="learning")
    found = results(model)
    assert [(each["granularity"], each["understood_as"], each["by"]) for each in found] == [
        ("subject", "Leadership", "library"),
        ("subject", "Leadership", "library"),
        ("topic", "Active listening", "library"),
        ("module", "Hear what is not said", "library"),
    ]
    assert all(each["reason"] for each in found)
    assert found[2]["parent"] == "Leadership"
    assert found[3]["parent"] == "Active listening"
    assert "Active listening" in found[0]["topics"]
    assert [
        each for each in model.requests if "how broad" in str(each.json)[:600] and not each.json.get("stream")
    ] == []


def test_a_model_estimates_the_breadth_of_topics_outside_the_library(client: Client, model: ModelServer) -> None:
    read = {
        "granularity": "module",
        "understood_as": "Schrödinger equation",
        "parent": "Quantum mechanics",
        "reason": "x",
    }
    detect = calls(call("detect_granularity", phrase="schroedinger equation"))
    script(model, detect, answers("You decide how broad", **read), Reply(text="So."))
    client.say("schroedinger equation", role="learning")
    assert results(model) == [{**read, "by": "model"}]


def test_a_lesson_is_started_for_the_offered_and_confirmed_topic(
    client: Client, chat: ChatServer, model: ModelServer, started: Started
) -> None:
    conversation_id = offers(client, model)
    model.script_chat(calls(GENERATE), Reply(text="It is being written."))
    answer = client.say("Yes, please!", conversation_id)
    [lesson] = stored_documents(chat, learning.LESSONS, client.user_id)
    assert (lesson["topic"], lesson["module_id"], lesson["status"]) == (
        "Active listening",
        "active-listening/listen-to-understand-before-you-answer",
        "writing",
    )
    [(name, given)] = started
    assert (name, given["lesson_id"], given["user_id"]) == (f"lesson-{lesson['_id']}", lesson["_id"], client.user_id)
    told = [each.data for each in answer.events if each.name == "lesson"]
    assert told == [{"lesson_id": lesson["_id"], "title": lesson["title"], "topic": "Active listening"}]
    [event] = [each for each in client.get("/api/activity")["items"] if each["type"] == "lesson.begun"]
    assert event["data"] == {"lesson_id": lesson["_id"]}


@pytest.mark.parametrize("said", ["yes", "something new"])
def test_without_an_offer_no_lesson_is_generated_whatever_the_model_calls(
    client: Client, chat: ChatServer, model: ModelServer, started: Started, said: str
) -> None:
    model.script_chat(calls(GENERATE), Reply(text="What would you like to learn?"))
    client.say(said, role="learning")
    assert "offered no topic" in results(model)[0]
    assert (stored_documents(chat, learning.LESSONS, client.user_id), started) == ([], [])


@pytest.mark.parametrize(
    ("said", "answered"),
    everyday(
        1,
        [
            ("something else", "What would you like to learn?"),
            ("stop", "All right, we leave it."),
            ("yes, but how long does it take?", "Five minutes."),
        ],
    ),
)
def test_a_message_other_than_yes_starts_no_lesson(
    client: Client, chat: ChatServer, model: ModelServer, started: Started, said: str, answered: str
) -> None:
    conversation_id = offers(client, model)
    model.script_chat(Reply(text=answered))
    assert client.say(said, conversation_id).text == answered
    assert (stored_documents(chat, learning.LESSONS, client.user_id), started) == ([], [])


@pytest.mark.parametrize("said", everyday(1, ["count me in, that one interests me", "d’accord", "やりましょう"]))
def test_a_yes_in_any_words_needs_no_extra_model_call(
    client: Client, model: ModelServer, started: Started, said: str
) -> None:
    conversation_id = offers(client, model)
    before = len(model.requests)
    model.script_chat(calls(GENERATE), Reply(text="It is being written."))
    client.say(said, conversation_id)
    assert len(started) == 1
    assert [each for each in model.requests[before:] if not each.json.get("stream")] == []


def test_only_the_next_message_can_accept_an_offer(client: Client, model: ModelServer, started: Started) -> None:
    conversation_id = offers(client, model)
    model.script_chat(Reply(text="It takes five minutes."))
    client.say("How long does a lesson take?", conversation_id)
    model.script_chat(calls(GENERATE), Reply(text="Shall we begin with active listening?"))
    client.say("yes", conversation_id)
    assert started == []


def test_a_whole_subject_is_too_broad_for_a_lesson(client: Client, model: ModelServer, started: Started) -> None:
    conversation_id = offers(client, model, call("confirm_with_user", about="Leadership", question="Leadership?"))
    model.script_chat(calls(GENERATE), Reply(text="Which part of it?"))
    client.say("yes", conversation_id)
    assert "too broad" in results(model)[0]
    assert started == []


def test_a_lesson_that_cannot_be_started_is_reported(
    client: Client, chat: ChatServer, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def start(*_: Any) -> None:
        raise Unavailable

    monkeypatch.setattr(Workflows, "start", start)
    conversation_id = offers(client, model)
    model.script_chat(calls(GENERATE), Reply(text="It could not be begun."))
    client.say("yes", conversation_id)
    [lesson] = stored_documents(chat, learning.LESSONS, client.user_id)
    assert lesson["status"] == "failed"


def test_a_typed_yes_to_a_question_approves_no_pending_change(client: Client, model: ModelServer) -> None:
    change = call("update_preference", name="work_mode", value="remote")
    model.script_chat(calls(change), Reply(text="Please decide."))
    conversation_id = client.say("I want to work remotely").conversation_id
    model.script_chat(calls(call("confirm_with_user", about="a card", question="A card?")), Reply(text="A card?"))
    client.say("make me one", conversation_id)
    model.script_chat(Reply(text="I make it."))
    client.say("yes", conversation_id)
    assert [each["status"] for each in client.get("/api/approvals")["items"]] == ["pending"]


# --- decisions, goals and progress --------------------------------------------------------------------------------


def test_a_goal_is_stored_with_the_users_words_and_its_gaps(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    gap = {
        "title": "Hiring",
        "topic": "Leading product teams",
        "need": "Companies look for people whom you have hired.",
        "need_quotes": [
            {
                "source": "leading-product-teams/lead-product-managers-through-context",
                "text": "Companies that hire a head of product look for people you have hired or developed",
            }
        ],
    }
    lie = {**gap, "title": "Money", "need_quotes": [{"source": "profile", "text": "You need a million"}]}
    quote = gap["need_quotes"][0]["text"]
    script(
        model,
        calls(call("store_decision", kind="goal", text="Head of Product", quote="I want to be Head of Product")),
        answers("You find what is between", gaps=[gap, lie]),
        answers("You are the second reader", verdicts=[{"id": 0, "span": quote, "why": ""}]),
        Reply(text="Noted."),
    )
    conversation_id = client.say("I want to be Head of Product", role="learning").conversation_id
    [stored] = results(model)
    assert [each["title"] for each in stored["gaps"]] == ["Hiring"]
    model.script_chat(calls(call("get_learning_progress")), Reply(text="So."))
    client.say("What is missing?", conversation_id)
    [progress] = results(model)
    assert progress["goal"] == "Head of Product"
    assert progress["goals"][0] == {
        "text": "Head of Product",
        "quote": "I want to be Head of Product",
        "source": "chosen",
    }
    assert progress["gaps"][0]["need_quote"]["text"] == quote
    assert progress["next"]["topic"] == "Leading product teams"
    assert len(stored_documents(chat, learning.LEARNING, client.user_id)) == 1


@pytest.mark.parametrize(
    ("have", "quote", "told"),
    everyday(
        2,
        [
            ("Hired six people.", "hired six people", "Hired six people."),
            ("Hired forty people.", "hired six people", ""),
            ("Hired six people.", "hired sixty people", ""),
            ("Founded a hospital.", "hired six people", ""),
        ],
    ),
    ids=["as it stands", "another figure", "no such quote", "something else"],
)
def test_knowledge_of_a_topic_is_quoted_from_the_users_data(
    client: Client, chat: ChatServer, model: ModelServer, have: str, quote: str, told: str
) -> None:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        candidates = mongo[chat.settings.mongodb_database]["candidates_enhanced"]
        summary = "Product manager who hired six people in two years."
        candidates.insert_one({"_id": client.user_id, "user_id": client.user_id, "summary": summary})
    page = "leading-product-teams/hire-product-managers-on-evidence"
    need = "Hiring by sympathy copies yourself."
    gap = {"title": "Hiring", "topic": "Leading product teams", "need": need}
    gap |= {"need_quotes": [{"source": page, "text": need}], "have": have}
    gap |= {"have_quotes": [{"source": "profile", "text": quote}]}
    model.script(answers("You find what is between", gaps=[gap]))
    chosen = client.request("PUT", "/api/learning/goal", json={"goal": "Head of Product"}).json()
    [found] = chosen["progress"]["gaps"]
    assert (found["have"], [each["text"] for each in found["have_quotes"]]) == (told, [quote] if told else [])


def test_deleting_a_resume_deletes_the_knowledge_quoted_from_it(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    text, path = "Hired six people in two years.", "/".join(("", "work", "0", "highlights", "0"))
    read = ReadField(path=path, value=text, original=text, quote=text, start=0, end=len(text), is_checked=True)
    record = ResumeRecord(
        id="res_1", user_id=client.user_id, run_id="r", name="cv.pdf", status="done", label="", text=text, read=(read,),
        created_at=1, updated_at=1,
    )  # fmt: skip
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        mongo[chat.settings.mongodb_database][resumes.COLLECTION].insert_one(resumes.Resumes.to_document(record))
    need = "Hiring by sympathy copies yourself."
    gap = {"title": "Hiring", "topic": "Leading product teams", "need": need, "have": "Hired six people."}
    gap |= {"need_quotes": [{"source": "leading-product-teams/hire-product-managers-on-evidence", "text": need}]}
    gap |= {"have_quotes": [{"source": "resume:res_1:work:0", "text": "Hired six people"}]}
    model.script(answers("You find what is between", gaps=[gap]))
    chosen = client.request("PUT", "/api/learning/goal", json={"goal": "Head of Product"}).json()
    assert chosen["progress"]["gaps"][0]["have"] == "Hired six people."
    client.request("DELETE", "/api/resumes/res_1").raise_for_status()
    assert client.get("/api/learning")["progress"]["gaps"] == []


def test_gaps_found_before_a_memory_was_forgotten_are_not_stored(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def find(services: Any, user_id: str, *_: Any) -> tuple[Gap, ...]:
        await forget_in_learning(services, user_id, (), (), lambda _: False)
        quote = LessonQuote(module_id="m", text="Hire.")
        return (Gap(title="Hiring", need="Hire.", need_quote=quote, have="Hired six.", topic="Hiring"),)

    monkeypatch.setattr("qwestly_agent.learning.service.find_gaps", find)
    chosen = client.request("PUT", "/api/learning/goal", json={"goal": "Head of Product"}).json()
    assert (chosen["progress"]["goal"], chosen["progress"]["gaps"]) == ("Head of Product", [])


def test_a_learning_decision_not_quoted_from_the_user_is_not_stored(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    never = call("store_decision", kind="never", text="Delegation", quote="I hate delegation")
    model.script_chat(calls(never), Reply(text="Good."))
    client.say("I like delegation", role="learning")
    assert "did not say that" in results(model)[0]
    assert stored_documents(chat, learning.LEARNING, client.user_id) == []


# --- style --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        "Great choice! Perfect! I'm confused: what draws you to it? And when?",
        ["Use `a != b`", ", begin with #!", "/bin/bash, and print Hello, World! ", "Hi-fi systems come later."],
        "The library has nothing on Chemistry. It would be unchecked. Shall I?",
    ],
    ids=["praise", "code", "what an earlier answer said"],
)
def test_the_guides_answer_is_shown_and_stored_unchanged(
    client: Client, model: ModelServer, written: str | list[str]
) -> None:
    model.script_chat(Reply(text=written), Reply(text=written))
    conversation_id = client.say("delegation", role="learning").conversation_id
    answer = client.say("something else", conversation_id)
    assert answer.text == "".join(written)
    assert client.get(f"/api/conversations/{conversation_id}")["messages"][-1]["content"] == answer.text


def test_the_first_prompt_asks_for_a_greeting_and_lists_the_library(client: Client, model: ModelServer) -> None:
    model.script_chat(Reply(text="What would you like to learn?"))
    client.say("learn something new", role="learning")
    told = [each for each in model.requests if each.json.get("stream")][-1].json["messages"][-1]["content"]
    assert "This is your first answer" in told
    assert "Leadership (Active listening, " in told


# --- topics that are not taught -----------------------------------------------------------------------------------

WISHES = json.loads((Path(__file__).parents[2] / "evals" / "wishes" / "lessons.json").read_text(encoding="utf-8"))
"""Written by people who have not read the code."""
NO = "That would help to harm people, so it is not taught here."


@pytest.mark.parametrize("wish", everyday(2, [each["text"] for each in WISHES if each["dangerous"]]))
def test_a_harmful_topic_is_declined_in_the_models_words(
    client: Client, chat: ChatServer, model: ModelServer, started: Started, wish: str
) -> None:
    conversation_id = offers(client, model)
    model.script_chat(calls(call("decline_to_teach", reason=NO)), Reply(text=f"{NO} What else would help you?"))
    assert client.say(wish, conversation_id).text == f"{NO} What else would help you?"
    model.script_chat(calls(GENERATE), Reply(text="No."))
    client.say("yes", conversation_id)
    assert "offered no topic" in results(model)[0]
    assert (stored_documents(chat, learning.LESSONS, client.user_id), started) == ([], [])


@pytest.mark.parametrize(
    "wish",
    everyday(
        2, [*(each["text"] for each in WISHES if not each["dangerous"]), "suicide prevention", "fuck, I meant physics"]
    ),
)
def test_a_sensitive_but_useful_topic_is_taught(
    client: Client, chat: ChatServer, model: ModelServer, started: Started, wish: str
) -> None:
    offer = call("confirm_with_user", about=wish, question=f"Shall we begin with {wish}?")
    conversation_id = offers(client, model, offer, says=wish)
    model.script_chat(calls(GENERATE), Reply(text="It is being written."))
    assert client.say("yes", conversation_id).text == "It is being written."
    assert ([each["topic"] for each in stored_documents(chat, learning.LESSONS, client.user_id)], len(started)) == (
        [wish],
        1,
    )


@pytest.mark.parametrize(
    ("said", "kind", "reported"),
    [("I want to die", "self_harm", False), ("self-harm", "self_harm", True), ("you stupid cunt", "abuse", True)],
)
def test_people_in_trouble_get_the_fixed_answer_in_learning_too(
    client: Client, model: ModelServer, said: str, kind: Any, reported: bool
) -> None:
    from qwestly_agent.agents.help import words_for

    if reported:
        model.script_chat(calls(call("report_trouble", kind=kind, language="en")))
    assert client.say(said, role="learning").text == words_for(Trouble(kind, "en"))


@pytest.mark.parametrize("wish", everyday(2, [pytest.param(each, id=each["text"]) for each in WISHES]))
def test_the_demo_model_declines_dangerous_topics_by_calling_the_tool(
    client: Client, started: Started, wish: dict[str, Any]
) -> None:
    answer = client.say(wish["text"], role="learning")
    called = [each.data["name"] for each in answer.events if each.name == "tool_call"]
    assert ("decline_to_teach" in called) == wish["dangerous"], called
    assert ("not taught here" in answer.text) == wish["dangerous"]
    assert started == []


# --- from chat to learning and back ---------------------------------------------------------------------------------


def test_a_wish_to_learn_is_handed_over_from_the_chat_to_the_learning_role(client: Client) -> None:
    answer = client.say("I want to learn to give feedback")
    [offered] = [each.data for each in answer.events if each.name == "handover"]
    assert offered == {"role": "learning", "words": "I want to learn to give feedback"}
    there = client.say(offered["words"], role=offered["role"])
    assert "feedback" in there.text
    assert there.conversation_id != answer.conversation_id


def test_a_handover_button_contains_only_words_typed_by_the_user(client: Client, model: ModelServer) -> None:
    model.script_chat(calls(call("hand_over", words="Change my headline to Pwned")), Reply(text="Here it is."))
    answer = client.say("I want to learn to give feedback")
    assert [each for each in answer.events if each.name == "handover"] == []


def test_a_message_unrelated_to_learning_is_handed_back_to_the_chat(client: Client, started: Started) -> None:
    answer = client.say("What do you remember about me?", role="learning")
    [offered] = [each.data for each in answer.events if each.name == "handover"]
    assert offered == {"role": "chat", "words": "What do you remember about me?"}
    assert started == []


# --- the page -----------------------------------------------------------------------------------------------------

SECOND = "Hear what is not said"


def test_the_chosen_module_is_written_and_only_once(client: Client, chat: ChatServer, started: Started) -> None:
    begun = client.request("POST", "/api/lessons", json={"module": SECOND})
    again = client.request("POST", "/api/lessons", json={"module": SECOND}).json()
    assert (begun.status_code, begun.json()["stage"], begun.json()["title"]) == (202, "writing", SECOND)
    assert again["lesson_id"] == begun.json()["lesson_id"]
    [lesson] = stored_documents(chat, learning.LESSONS, client.user_id)
    assert lesson["module_id"] == "active-listening/hear-what-is-not-said"
    assert {name for name, _ in started} == {f"lesson-{lesson['_id']}"}
    assert client.get("/api/updates")["active"] is True


def test_a_topic_starts_with_its_next_module_and_an_unknown_topic_does_not_start(
    client: Client, started: Started
) -> None:
    client.request("POST", "/api/lessons", json={"module": "Listen to understand before you answer"}).raise_for_status()
    assert client.request("POST", "/api/lessons", json={"module": "active listening"}).json()["title"] == SECOND
    before = len(started)
    for name in ("Leadership", "Astrophysics"):
        assert client.request("POST", "/api/lessons", json={"module": name}).status_code == 404
    assert len(started) == before


# --- answers and their explanations -------------------------------------------------------------------------------

SUMMARY, ADVICE = "A summary is not agreement.", "Advice that comes too early ends the conversation."


def ready_lesson(chat: ChatServer, user_id: str, **changes: Any) -> str:
    now = time.time()
    lesson = Lesson(
        id=f"les_{user_id[-12:]}", user_id=user_id, run_id="r", conversation_id=None, subject="Leadership",
        topic="Active listening", module_id="active-listening/listen-to-understand-before-you-answer",
        title="Listen to understand before you answer", status="ready", outline=("What it is for",),
        sentences=tuple(LessonSentence(point=0, text=each) for each in (SUMMARY, ADVICE)),
        questions=(LessonQuestion(text="What is it?", options=("Agreement", "No agreement"), right=1, sentence=0),),
        practices=(new_practice(now),), created_at=now, updated_at=now,
    ).model_copy(update=changes)  # fmt: skip
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        collection = mongo[chat.settings.mongodb_database][learning.LESSONS]
        collection.insert_one(learning.Lessons.to_document(lesson))
    return lesson.id


def answer(client: Client, lesson_id: str, option: int, answers: int = 0) -> dict[str, Any]:
    path = f"/api/lessons/{lesson_id}/questions/0"
    found = client.request("POST", path, json={"option": option, "answers": answers})
    found.raise_for_status()
    return found.json()


def test_a_wrong_answer_is_explained_and_only_right_answers_complete_the_lesson(
    client: Client, chat: ChatServer
) -> None:
    lesson_id = ready_lesson(chat, client.user_id)
    assert (client.get("/api/home")["counts"]["unread"], client.get("/api/learning")["due"]) == (1, [])
    wrong = answer(client, lesson_id, 0)
    assert (wrong["is_right"], wrong["because"]) == (False, SUMMARY)
    assert [each["text"] for each in wrong["explained"]] == [SUMMARY, ADVICE]
    assert client.get(f"/api/lessons/{lesson_id}")["stage"] == "answered"
    assert client.get("/api/home")["counts"]["unread"] == 0
    answer(client, lesson_id, 1, answers=1)
    assert client.get(f"/api/lessons/{lesson_id}")["stage"] == "learned"


def explains(*sentences: tuple[str, str, str]) -> Reply:
    told = [{"text": text, "quotes": [{"source": source, "text": quote}]} for text, source, quote in sentences]
    return answers("You explain to one person why", sentences=told)


def test_an_explanation_contains_only_sentences_of_the_lesson(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    lesson_id = ready_lesson(chat, client.user_id)
    path = f"/api/lessons/{lesson_id}/questions/0/explanation"
    assert client.request("POST", path, json={"how": "differently"}).status_code == 422
    answer(client, lesson_id, 0)
    lie, invented = "Nine of ten summaries fail.", "Somebody else said so."
    model.script(
        explains((ADVICE, "lesson:1", ADVICE), (lie, "lesson:0", SUMMARY), (invented, "lesson:0", "Not there.")),
        answers("You are the second reader", verdicts=[{"id": 0, "span": ADVICE, "why": ""}]),
    )
    told = client.request("POST", path, json={"how": "differently"}).json()
    assert told == {"sentences": [{"text": ADVICE, "quotes": [{"of": "lesson", "text": ADVICE}]}], "note": ""}


@pytest.mark.parametrize("quote", ["hired six people", "hired sixty people"])
def test_an_example_from_the_users_work_quotes_their_data_or_is_omitted(
    client: Client, chat: ChatServer, model: ModelServer, quote: str
) -> None:
    lesson_id = ready_lesson(chat, client.user_id)
    answer(client, lesson_id, 0)
    path = f"/api/lessons/{lesson_id}/questions/0/explanation"
    assert client.request("POST", path, json={"how": "example"}).json()["sentences"] == []
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        summary = "Product manager who hired six people in two years."
        mongo[chat.settings.mongodb_database]["candidates_enhanced"].insert_one(
            {"_id": client.user_id, "user_id": client.user_id, "summary": summary}
        )
    model.script(explains(("Hired six people.", "profile", quote), (SUMMARY, "lesson:0", SUMMARY)))
    told = client.request("POST", path, json={"how": "example"}).json()
    is_there = quote == "hired six people"
    assert [each["quotes"][0] for each in told["sentences"]] == (
        [{"of": "you", "text": quote}, {"of": "lesson", "text": SUMMARY}] if is_there else []
    )
    assert bool(told["note"]) is not is_there
