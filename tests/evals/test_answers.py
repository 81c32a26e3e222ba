"""Another model judges a sample of the day's answers; numbers are stored, and no user text."""

from datetime import date
from typing import Any

import pytest
from pymongo import MongoClient

from evals.answers import judge, weeks
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.base.settings import Settings
from qwestly_agent.domain.rollout import AnswerDay
from qwestly_agent.stores import measures, messages
from tests.collector import Collector
from tests.servers import API_SECRET, SECRET, ChatServer, Client

JUDGE = "You judge one answer"
pytestmark = pytest.mark.anyio


def verdict(**more: Any) -> Reply:
    given = {"intent": "ask", "answered": True, "confused": False, "satisfied": "unclear", **more}
    return Reply(tool_calls=[{"name": "final_result", "arguments": given}], to=JUDGE)


@pytest.fixture
def environment(chat: ChatServer, model: ModelServer) -> dict[str, str]:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        for name in (messages.COLLECTION, measures.ANSWER_DAYS):
            mongo[chat.settings.mongodb_database][name].delete_many({})  # of other tests
    return {
        "MONGODB_URI": chat.settings.mongodb_uri,
        "MONGODB_DATABASE": chat.settings.mongodb_database,
        "QWESTLY_AGENT_SHARED_SECRET": SECRET,
        "QWESTLY_CANDIDATE_API_SECRET": API_SECRET,
        "MODEL_BASE_URL": model.base_url,
        "EMBEDDINGS_BASE_URL": model.base_url,
        "LOG_LEVEL": "CRITICAL",
    }


def answered(client: Client, model: ModelServer, said: str, answer: str) -> str:
    model.script(Reply(text=answer))
    return client.say(said).events[0].data["run_id"]


@pytest.mark.thorough
async def test_a_sample_is_judged_by_another_model_and_scored_on_traces(
    client: Client, model: ModelServer, environment: dict[str, str]
) -> None:
    first = answered(client, model, "What is my title in Hamm?", "You are a pilot.")
    second = answered(client, model, "No, what is it?", "The sky is blue.")
    client.request("POST", f"/api/messages/msg_{second}/feedback", json={"thumb": "down"}).raise_for_status()
    trouble = client.say("I want to kill myself.")  # in fixed words: nothing of it is read
    model.script(Reply(text="I am glad."))
    client.say("I called them, what is next?", trouble.conversation_id)
    model.forget_requests()
    model.script(*[verdict(answered=False, confused=True, satisfied="no")] * 3)
    with Collector() as collector:
        day = await judge(Settings.from_env({**environment, "TRACES_URL": collector.url}), 50, 1.0)
        scored = {span.attributes.get("qwestly.answered") for span in collector.spans if span.name == "score"}
        assert len([span for span in collector.spans if span.name == "score"]) == 3
    assert scored == {False}
    assert (day.answers, day.errors, day.thumbs_down) == (4, 0, 1)
    assert (day.judged, day.unjudged, day.answered, day.confused, day.dissatisfied) == (3, 0, 0, 3, 3)
    assert (day.intents, day.judge) == ({"ask": 3}, "deepseek:deepseek-v4-pro")
    assert day.cost_usd > 0
    asked = [each.json for each in model.requests if "chat" in each.path]
    assert {each["model"] for each in asked} == {"deepseek-v4-pro"}
    assert not any("kill" in str(each) for each in asked)
    assert not any(words in day.model_dump_json() for words in ("Hamm", "pilot", first, client.user_id))


async def test_a_forgotten_message_is_not_sent_to_a_judge(
    chat: ChatServer, client: Client, model: ModelServer, environment: dict[str, str]
) -> None:
    answered(client, model, "I was at Kestrel.", "I see.")
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        here = {"user_id": client.user_id, "role": "user"}
        mongo[chat.settings.mongodb_database][messages.COLLECTION].update_many(here, {"$set": {"withheld": True}})
    day = await judge(Settings.from_env(environment), 50, 1.0)
    assert (day.answers, day.judged, day.unjudged) == (1, 0, 0)


async def test_nothing_is_judged_under_the_brake_or_over_the_ceiling(
    client: Client, model: ModelServer, environment: dict[str, str]
) -> None:
    answered(client, model, "What is my title?", "You are a pilot.")
    poor = await judge(Settings.from_env(environment), 50, 0.0)
    assert (poor.judged, poor.unjudged) == (0, 1)
    client.request("POST", "/api/brake").raise_for_status()
    model.forget_requests()
    braked = await judge(Settings.from_env(environment), 50, 1.0)
    assert (braked.answers, braked.judged, braked.unjudged) == (1, 0, 0)
    assert [each for each in model.requests if "chat" in each.path] == []


async def test_a_sample_is_bounded_and_a_failing_judge_does_not_end_the_run(
    client: Client, model: ModelServer, environment: dict[str, str]
) -> None:
    for number in range(4):
        answered(client, model, f"Question {number}?", "Yes.")
    model.script(Reply(fault=400, to=JUDGE), verdict(), verdict())
    day = await judge(Settings.from_env(environment), 3, 1.0)
    assert (day.answers, day.judged, day.unjudged, day.answered) == (4, 2, 1, 2)


async def test_trial_answers_are_judged_additionally_and_counted_once_per_variant(
    chat: ChatServer, client: Client, model: ModelServer, environment: dict[str, str]
) -> None:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        database = mongo[chat.settings.mongodb_database]
        for number in range(4):
            run_id = answered(client, model, f"Question {number}?", "Yes.")
            tag = f"t1:0:{'brief' if number else 'base'}"
            database[messages.COLLECTION].update_one({"run_id": run_id, "role": "assistant"}, counted_under(tag))
        model.script(*[verdict(answered=False)] * 6)
        await judge(Settings.from_env(environment), 2, 1.0)
        day = await judge(Settings.from_env(environment), 2, 1.0)
        assert day.judged == 2, "the trend is that of everybody"
        [kept] = database[measures.ANSWER_DAYS].find({}, {"_id": 0})
        assert AnswerDay.model_validate(kept) == day, "a night that was run twice is kept once"
        found = {each["tag"]: each for each in database["agent_variant_counts"].find({"user_id": client.user_id})}
    assert {tag: (each["judged"], each["bad"]) for tag, each in found.items()} == {
        "t1:0:brief": (2, 2),
        "t1:0:base": (1, 1),
    }


def counted_under(tag: str) -> dict[str, Any]:
    return {"$set": {"receipt.counted_as": tag}}


def test_weeks_sum_their_days() -> None:
    one = AnswerDay(
        day=date(2026, 11, 22), judge="j", answers=10, errors=1, thumbs_up=2, thumbs_down=1, judged=4, answered=4
    )
    two = one.model_copy(update={"day": date(2026, 11, 23), "intents": {"ask": 3, "tell": 1}, "confused": 1})
    three = two.model_copy(update={"day": date(2026, 11, 24), "intents": {"ask": 1}, "answered": 2, "satisfied": 1})
    _, first, second = weeks([one, two, three]).splitlines()
    assert first.split()[:6] == ["2026-W47", "10", "10.0%", "4", "100.0%", "51.0–100.0"]
    assert second.split() == (
        ["2026-W48", "20", "10.0%", "8", "75.0%", "40.9–92.9", "25.0%", "12.5%", "4/2", "ask", "4,", "tell", "1"]
    )


def test_a_scripted_judge_gets_no_rates() -> None:
    day = AnswerDay(
        day=date(2026, 11, 22), judge="j", answers=50, errors=1, thumbs_up=2, thumbs_down=1, judged=50, satisfied=50
    )
    _, week, note = weeks([day], scripted=True).splitlines()
    assert week.split() == ["2026-W47", "50", "2.0%", "0", "–", "–", "–", "–", "2/1"]
    assert note == "The judge is scripted: what it says of answers means nothing, and is left out."
