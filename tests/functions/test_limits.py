"""Limits of users, checked before any cost, and the costs."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import AutoReconnect

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.stores.conversations import LEASE_SECONDS, Conversations
from qwestly_agent.stores.usage import Usage
from tests.servers import ChatServer, Client, FakeClock, until, user_says

CALL: ToolCall = {"name": "query_qwestly_docs", "arguments": {"query": "prices"}}
USAGE = {"prompt_tokens": 100_000, "completion_tokens": 50_000, "total_tokens": 150_000, "prompt_cache_hit_tokens": 0,
         "prompt_tokens_details": {"cached_tokens": 0}}  # fmt: skip
USAGE_USD = 0.1 * 0.30 + 0.05 * 1.20
"""The cost at `FakeClock`'s time, a Friday at 08:00 UTC: peak hours."""


@contextmanager
def limited(chat: ChatServer, client: Client, clock: FakeClock | None = None, **settings: Any) -> Iterator[Client]:
    """The same user on a server with these settings."""
    clock = clock or FakeClock()
    with (
        ChatServer(replace(chat.settings, **settings), clock=clock) as server,
        Client(server.url, client.user_id, clock=clock) as user,
    ):
        yield user


def refusal(client: Client, message: str = "Hello", **more: Any) -> tuple[int, str, str, str | None]:
    response = client.request("POST", "/api/chat", json={"message": message, **more})
    error = response.json()["error"]
    return response.status_code, error["code"], error["message"], response.headers.get("retry-after")


def spending_of(chat: ChatServer, client: Client) -> dict[str, Any]:
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        return mongo[chat.settings.mongodb_database]["agent_usage"].find_one({"user_id": client.user_id}) or {}


@pytest.mark.thorough
def test_too_many_messages_in_a_minute_are_rejected_until_it_is_over(
    chat: ChatServer, client: Client, model: ModelServer
) -> None:
    clock = FakeClock()
    with limited(chat, client, clock, messages_a_minute=3) as user:
        for _ in range(3):
            user.say("Hello")
            clock.advance(10)
        asked = len(model.requests)
        status, code, message, retry_after = refusal(user)
        assert (status, code, retry_after) == (429, "too_many_turns", "30")
        assert message == "That is more than 3 messages in a minute. Please wait a moment."
        assert refusal(user)[1] == "too_many_turns"
        assert len(model.requests) == asked
        assert len(user.get("/api/conversations")["items"]) == 3, "the refused message left nothing behind"
        clock.advance(31)
        assert user.say("Hello").last.name == "done", "refused messages do not count"


def test_a_rejected_message_leaves_its_conversation_unchanged(chat: ChatServer, client: Client) -> None:
    with limited(chat, client, messages_a_minute=1) as user:
        conversation_id = user.say("First").conversation_id
        assert refusal(user, "Second", conversation_id=conversation_id)[1] == "too_many_turns"
        conversation = user.get(f"/api/conversations/{conversation_id}")
        assert [message["content"] for message in conversation["messages"] if message["role"] == "user"] == ["First"]
        assert conversation["running"] is False


def test_a_rejected_message_keeps_the_first_message_of_a_killed_turn(
    chat: ChatServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, create = FakeClock(), Conversations.create

    async def dies_then(*args: Any) -> None:
        await create(*args)
        raise AutoReconnect

    with limited(chat, client, clock, messages_a_minute=1) as user:
        body = {"id": "chat-1", "messages": [user_says("First")], "trigger": "submit-message"}
        with monkeypatch.context() as patch:
            patch.setattr(Conversations, "create", dies_then)
            assert user.request("POST", "/api/chat", json=body).status_code == 503
        clock.advance(LEASE_SECONDS + 1)
        user.say("Elsewhere")
        assert refusal(user, "Second", conversation_id="chat-1")[1] == "too_many_turns"
        clock.advance(61)
        user.say("Third", "chat-1")
        messages = user.get("/api/conversations/chat-1")["messages"]
        assert [each["content"] for each in messages if each["role"] == "user"] == ["First", "Third"]


def test_a_fourth_concurrent_turn_is_rejected_until_one_of_three_ends(client: Client, model: ModelServer) -> None:
    model.script(*[Reply(text="Slowly.", hold_after=0)] * 3)
    with ExitStack() as open_turns:
        for n in range(3):
            next(open_turns.enter_context(client.open({"message": f"Turn {n}"})))
            model.wait_until_held(count=n + 1)
        status, code, message, _ = refusal(client)
        assert (status, code) == (429, "too_many_turns")
        assert message == "3 of your messages are being answered already. Please wait for one of them."
        model.release()
        until(lambda: not any(item["running"] for item in client.get("/api/conversations")["items"]))
        assert client.say("And now?").last.name == "done"


def test_only_three_of_many_concurrent_messages_are_answered(client: Client, model: ModelServer) -> None:
    client.say("Hello")
    model.script(*[Reply(text="Slowly.", hold_after=0)] * 3)
    outcomes: list[int] = []

    def post(n: int) -> None:
        with Client(client.url, client.user_id) as user:
            body = {"message": f"Turn {n}"}
            with user.http.stream("POST", f"{user.url}/api/chat", headers=user.headers(), json=body) as response:
                outcomes.append(response.status_code)
                response.read()

    posts = [threading.Thread(target=post, args=(n,)) for n in range(8)]
    for each in posts:
        each.start()
    until(lambda: len(outcomes) == 8)
    model.wait_until_held(count=3)
    model.release()
    for each in posts:
        each.join()
    assert sorted(outcomes) == [200] * 3 + [429] * 5


def test_turns_of_a_dead_process_soon_stop_counting(chat: ChatServer, client: Client, model: ModelServer) -> None:
    clock = FakeClock()
    with limited(chat, client, clock, running_turns=1) as user:
        user.say("Hello")
        with MongoClient(chat.settings.mongodb_uri) as mongo:
            usage = mongo[chat.settings.mongodb_database]["agent_usage"]
            usage.update_one({"user_id": user.user_id}, {"$set": {"running.killed": clock.now}})
        assert refusal(user)[1] == "too_many_turns"
        clock.advance(LEASE_SECONDS + 1)
        assert user.say("Hello again").last.name == "done"
        assert "killed" not in spending_of(chat, user)["running"]


def test_a_turn_that_reached_its_cost_limit_makes_no_more_model_calls(
    chat: ChatServer, client: Client, model: ModelServer
) -> None:
    model.script(Reply(text="Let me see.", tool_calls=[CALL], usage=USAGE), Reply(text="Never asked."))
    with limited(chat, client, turn_ceiling_usd=0.02) as user:
        answer = user.say("Think hard")
        assert (answer.last.name, answer.last.data["code"]) == ("error", "over_budget")
        assert answer.last.data["message"].startswith("This answer took more work than one answer may cost.")
        kept = user.get(f"/api/conversations/{answer.conversation_id}")["messages"][-1]
        assert (kept["content"], kept["status"], kept["error"]["code"]) == ("Let me see.", "failed", "over_budget")
    assert len([request for request in model.requests if "chat" in request.path]) == 1


def test_a_used_up_daily_budget_is_reported_before_anything_is_spent(
    chat: ChatServer, client: Client, model: ModelServer
) -> None:
    clock = FakeClock()
    model.script(Reply(text="Dear.", usage=USAGE))
    with limited(chat, client, clock, day_ceiling_usd=USAGE_USD / 2, turn_ceiling_usd=1) as user:
        user.say("Hello")
        asked = len(model.requests)
        status, code, message, retry_after = refusal(user)
        assert (status, code) == (429, "over_budget")
        assert message == "You’ve hit today’s limit. Come back tomorrow."
        assert int(retry_after or 0) == 86_400 - clock.now % 86_400
        assert len(model.requests) == asked
        clock.advance(86_400)
        assert user.say("Good morning").last.name == "done"


def test_a_turn_may_cost_at_most_the_rest_of_the_daily_budget(
    chat: ChatServer, client: Client, model: ModelServer
) -> None:
    model.script(Reply(text="One.", usage=USAGE), Reply(text="Two.", tool_calls=[CALL], usage=USAGE))
    with limited(chat, client, day_ceiling_usd=USAGE_USD * 1.5, turn_ceiling_usd=1) as user:
        user.say("Hello")
        assert user.say("Again").last.data["code"] == "over_budget"


def test_no_turn_starts_after_the_stages_daily_budget_is_spent(
    chat: ChatServer, client: Client, model: ModelServer
) -> None:
    clock = FakeClock()
    clock.advance(400 * 86_400)  # a day on which no other test spends anything
    model.script(Reply(text="Dear.", usage=USAGE))
    with limited(chat, client, clock, stage_day_ceiling_usd=USAGE_USD / 4, turn_ceiling_usd=1) as user:
        assert user.say("Hello").last.name == "done"
        asked = len(model.requests)
        clock.advance(61)
        with Client(user.url, f"{user.user_id}-neighbour", clock=clock) as neighbour:
            status, code, message, retry_after = refusal(neighbour)
        assert (status, code) == (429, "over_budget")
        assert message == "Our AI has reached its limit for today. Please come back tomorrow."
        assert int(retry_after or 0) == 86_400 - clock.now % 86_400
        assert len(model.requests) == asked
        clock.advance(86_400)
        assert user.say("Good morning").last.name == "done"


def test_without_a_daily_budget_for_the_stage_its_spending_is_not_read(
    chat: ChatServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Usage, "stage_spent_today", None)
    assert client.say("Hello").last.name == "done"


@pytest.mark.thorough
def test_the_daily_spending_of_the_stage_is_read_once_a_minute(
    chat: ChatServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, clock = list[float](), FakeClock()

    async def spent_today(_: Usage, now: float) -> float:
        read.append(now)
        return 0.0

    monkeypatch.setattr(Usage, "stage_spent_today", spent_today)
    with limited(chat, client, clock, stage_day_ceiling_usd=1.0) as user:
        for _ in range(4):
            user.say("Hello")
            clock.advance(25)
    assert len(read) == 2


@pytest.mark.thorough
def test_costs_are_summed_by_answer_conversation_and_day(chat: ChatServer, client: Client, model: ModelServer) -> None:
    cached = {**USAGE, "prompt_cache_hit_tokens": 90_000, "prompt_tokens_details": {"cached_tokens": 90_000}}
    cached_usd = 0.01 * 0.30 + 0.09 * 0.006 + 0.05 * 1.20
    model.script(Reply(text="One.", usage=USAGE), Reply(text="Two.", usage=cached))
    with limited(chat, client) as user:
        first = user.say("Hello")
        user.say("Again", first.conversation_id)
        conversation = user.get(f"/api/conversations/{first.conversation_id}")
    one, two = (m["receipt"] for m in conversation["messages"] if m["role"] == "assistant")
    assert one["cost_usd"] == pytest.approx(USAGE_USD)
    assert two["cost_usd"] == pytest.approx(cached_usd)
    assert two["cached_tokens"] == 90_000
    assert conversation["cost_usd"] == pytest.approx(USAGE_USD + cached_usd)
    [day] = spending_of(chat, client)["days"].values()
    assert day["cost_usd"] == pytest.approx(USAGE_USD + cached_usd)
    assert (day["turns"], day["output_tokens"], day["cached_tokens"]) == (2, 100_000, 90_000)


@pytest.mark.thorough
def test_a_stopped_answer_is_charged_by_estimate(client: Client, model: ModelServer) -> None:
    model.script(Reply(text=["word " * 100, "never"], hold_after=1))
    with client.open({"message": "Tell me everything"}) as events:
        conversation_id = next(events).data["conversation_id"]
        assert next(events).name == "text_delta"
        client.request("POST", f"/api/conversations/{conversation_id}/stop")
        assert list(events)[-1].data["stopped"] is True
    receipt = client.get(f"/api/conversations/{conversation_id}")["messages"][-1]["receipt"]
    assert receipt["estimated"] is True
    assert receipt["output_tokens"] == 125
    assert receipt["input_tokens"] > 500
    assert receipt["cost_usd"] > 0


@pytest.mark.thorough
def test_usage_of_long_past_days_is_deleted(chat: ChatServer, client: Client) -> None:
    clock = FakeClock()
    with limited(chat, client, clock) as user:
        for _ in range(3):
            user.say("Hello")
            clock.advance(20 * 86_400)
    assert len(spending_of(chat, client)["days"]) == 2


def test_ai_sdk_clients_get_a_rejection_as_an_http_error(chat: ChatServer, client: Client) -> None:
    with limited(chat, client, messages_a_minute=1) as user:
        user.say_ai_sdk("chat-1", user_says("Hello"))
        body = {"id": "chat-2", "messages": [user_says("Again", "m2")], "trigger": "submit-message"}
        assert user.request("POST", "/api/chat", json=body).status_code == 429
        assert user.request("GET", "/api/conversations/chat-2").status_code == 404


@pytest.mark.thorough
def test_tool_results_count_towards_the_estimate(chat: ChatServer, client: Client, model: ModelServer) -> None:
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        chunk = {"user_id": client.user_id, "title": "CV", "source_type": "resume", "text": "word " * 2_000}
        mongo[chat.settings.mongodb_database]["knowledge_chunk"].insert_one(chunk)
    look_up: ToolCall = {"name": "query_user_knowledge", "arguments": {"query": "word"}}
    model.script(Reply(tool_calls=[look_up]), Reply(text=["Well", "never"], hold_after=1))
    with client.open({"message": "Tell me"}) as events:
        conversation_id = next(events).data["conversation_id"]
        model.wait_until_held()
        client.request("POST", f"/api/conversations/{conversation_id}/stop")
        list(events)
    receipt = client.get(f"/api/conversations/{conversation_id}")["messages"][-1]["receipt"]
    assert receipt["input_tokens"] > 10_000 / 4


def test_no_token_count_from_a_provider_makes_the_cost_negative(
    chat: ChatServer, client: Client, model: ModelServer
) -> None:
    absurd = {"cached_tokens": 10**9}
    usage = {"prompt_tokens": 10, "prompt_cache_hit_tokens": 10**9, "prompt_tokens_details": absurd}
    model.script(Reply(text="Cheap.", usage={**USAGE, **usage}))
    assert client.say("Hello").last.name == "done"
    [day] = spending_of(chat, client)["days"].values()
    assert day.get("cost_usd", 0) >= 0


@pytest.mark.thorough
def test_a_rejected_message_does_not_move_its_conversation_to_the_top(chat: ChatServer, client: Client) -> None:
    clock = FakeClock()
    with limited(chat, client, clock, messages_a_minute=2) as user:
        older = user.say("First").conversation_id
        clock.advance(1)
        newer = user.say("Second").conversation_id
        clock.advance(1)
        assert refusal(user, "Third", conversation_id=older)[1] == "too_many_turns"
        assert [item["id"] for item in user.get("/api/conversations")["items"]] == [newer, older]
