"""Resume the stream of a running answer, from another client or another process."""

import asyncio
import uuid
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

import pytest

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from tests.mongo_rule import Watch
from tests.servers import ChatServer, Client, Event, resumed, until, user_says

LOOK: ToolCall = {"name": "get_user_profile", "arguments": {}}


@pytest.fixture(scope="module")
def second(chat: ChatServer) -> Iterator[ChatServer]:
    """Another process, which shares only the database with the first one."""
    with ChatServer(chat.settings) as server:
        yield server


@dataclass
class Naps:
    """The pause between two writes, which passes when the test says so."""

    begun: deque[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = field(default_factory=deque)
    seconds: set[float] = field(default_factory=set)

    async def __call__(self, seconds: float) -> None:
        nap = asyncio.Event()
        self.seconds.add(seconds)
        self.begun.append((asyncio.get_running_loop(), nap))
        await nap.wait()

    def end_one(self) -> None:
        until(lambda: self.begun)
        loop, nap = self.begun.popleft()
        loop.call_soon_threadsafe(nap.set)

    def pass_one(self) -> None:
        """Let a pause end, and wait until the next one begins: everything due is written."""
        self.end_one()
        until(lambda: self.begun)


def text_of(events: list[Event]) -> str:
    return "".join(event.data["content"] for event in events if event.name == "text_delta")


@pytest.mark.parametrize("place", ["the same process", "another process"])
def test_a_resumed_stream_sends_every_word_once_and_in_order(
    client: Client, second: ChatServer, model: ModelServer, place: str
) -> None:
    model.script(
        Reply(text=["Let me ", "look. "], tool_calls=[LOOK]), Reply(text=["You are ", "new ", "here."], hold_after=1)
    )
    elsewhere = replace(client, url=second.url) if place == "another process" else client
    with client.open({"message": "Who am I?"}) as first:
        begin = next(first)
        conversation = begin.data["conversation_id"]
        seen = [begin, *(next(first) for _ in range(2))]
        while "You are " not in text_of(seen):
            seen.append(next(first))
        with resumed(elsewhere, conversation) as again:
            told = [next(again)]
            while "You are " not in text_of(told):
                told.append(next(again))
            model.release()
            told += list(again)
        seen += list(first)
    assert told[0] == seen[0]
    assert text_of(told) == text_of(seen) == "Let me look. \n\nYou are new here."
    without_text = [each for each in told if each.name != "text_delta"]
    assert without_text == [each for each in seen if each.name != "text_delta"]
    assert [each.name for each in without_text] == ["conversation", "tool_call", "tool_result", "done"]


@pytest.mark.thorough
def test_a_resumed_ai_sdk_stream_yields_the_same_message(
    client: Client, second: ChatServer, model: ModelServer
) -> None:
    model.script(Reply(text=["Let me ", "look. "], tool_calls=[LOOK]), Reply(text=["You are ", "new."], hold_after=1))
    elsewhere = replace(client, url=second.url)
    body = {"id": "c1", "messages": [user_says("Who am I?")], "trigger": "submit-message"}
    with client.open(body) as first:
        seen = [next(first)]
        while "You are" not in str(seen[-1].data):
            seen.append(next(first))
        with resumed(elsewhere, "c1", "ai_sdk") as again:
            model.release()
            told = list(again)
        seen += list(first)

    assert (told[0], names_of(told), words_of(told)) == (seen[0], names_of(seen), "Let me look. You are new.")
    assert words_of(seen) == words_of(told)


@pytest.mark.thorough
def test_a_resumed_ag_ui_stream_sends_every_word_once_and_ends_the_run(
    client: Client, second: ChatServer, model: ModelServer
) -> None:
    model.script(Reply(text=["You are ", "new."], hold_after=1))
    with client.open({"id": "c1", "messages": [user_says("Who am I?")], "trigger": "submit-message"}) as first:
        seen = [next(first)]
        while "You are" not in str(seen[-1].data):
            seen.append(next(first))
        with resumed(replace(client, url=second.url), "c1", "ag_ui") as again:
            model.release()
            told = [each.data for each in again]
        list(first)
    assert "".join(each["delta"] for each in told if each["type"] == "TEXT_MESSAGE_CONTENT") == "You are new."
    assert (told[0]["type"], told[0]["threadId"], told[-1]["type"]) == ("RUN_STARTED", "c1", "RUN_FINISHED")


def names_of(chunks: list[Event]) -> list[str]:
    """Return the events' names, with repeated text deltas as one."""
    return [name for name, _ in groupby(each.name for each in chunks if each.name != "message-metadata")]


def words_of(chunks: list[Event]) -> str:
    return "".join(each.data["delta"] for each in chunks if each.name == "text-delta")


def test_without_a_running_answer_there_is_nothing_to_resume(client: Client) -> None:
    conversation = client.say("Hello").conversation_id
    for path in (conversation, "unknown"):
        answer = client.request("GET", f"/api/chat/{path}/stream")
        assert (answer.status_code, answer.content) == (204, b"")


def test_an_empty_stream_behind_the_lambda_adapter_has_a_body(client: Client) -> None:
    headers = {**client.headers(), "x-amzn-lambda-context": "{}"}
    answer = client.http.get(f"{client.url}/api/chat/unknown/stream", headers=headers)
    assert (answer.status_code, answer.text) == (200, "data: [DONE]\n\n")


def test_another_user_cannot_resume_a_stream(client: Client, model: ModelServer) -> None:
    model.script(Reply(text=["Half of ", "it."], hold_after=1))
    with client.open({"message": "Hello"}) as events, Client(client.url, f"auth0|{uuid.uuid4().hex}") as neighbour:
        conversation = next(events).data["conversation_id"]
        assert neighbour.request("GET", f"/api/chat/{conversation}/stream").status_code == 204
        assert client.http.get(f"{client.url}/api/chat/{conversation}/stream").status_code == 401
        next(event for event in events if event.name == "text_delta")  # so that the turn waits for the model
        model.release()
        assert list(events)[-1].name == "done"


@pytest.mark.thorough
def test_a_resumed_stream_counts_as_one_of_the_three_allowed(client: Client, model: ModelServer) -> None:
    model.script(Reply(text=["Half of ", "it."], hold_after=1))
    with client.open({"message": "Hello"}) as events:
        conversation = next(events).data["conversation_id"]
        with resumed(client, conversation), resumed(client, conversation):
            refused = client.request("GET", f"/api/chat/{conversation}/stream")
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_turns")
            other = client.http.post(f"{client.url}/api/chat", headers=client.headers(), json={"message": "And?"})
            assert other.status_code == 429

        def is_free() -> bool:
            with client.http.stream(
                "GET", f"{client.url}/api/chat/{conversation}/stream", headers=client.headers()
            ) as again:
                return again.status_code == 200

        until(is_free)
        model.release()
        assert list(events)[-1].name == "done"


@pytest.mark.thorough
@pytest.mark.parametrize("end", ["stopped", "failed"])
def test_a_resumed_stream_ends_like_the_first_one(
    client: Client, model: ModelServer, second: ChatServer, end: str
) -> None:
    model.script(Reply(text=["Half of ", "it."], hold_after=1, fault="cut" if end == "failed" else None))
    with client.open({"message": "Hello"}) as events:
        conversation = next(events).data["conversation_id"]
        next(events)
        with resumed(replace(client, url=second.url), conversation) as again:
            if end == "stopped":
                client.request("POST", f"/api/conversations/{conversation}/stop")
            else:
                model.release()
            told, seen = list(again), list(events)
    assert told[-1] == seen[-1]
    assert told[-1].name == ("done" if end == "stopped" else "error")


@pytest.mark.thorough
def test_a_conversation_includes_its_growing_answer(client: Client, model: ModelServer) -> None:
    model.script(Reply(text=["Half of ", "it."], hold_after=1))
    with client.open({"message": "Hello"}) as events:
        conversation = next(events).data["conversation_id"]

        def so_far() -> list[tuple[str, str, str]]:
            messages = client.get(f"/api/conversations/{conversation}")["messages"]
            return [(each["role"], each["content"], each["status"]) for each in messages]

        until(lambda: len(so_far()) == 2)
        assert so_far() == [("user", "Hello", "complete"), ("assistant", "Half of ", "running")]
        shown = client.get(f"/api/conversations/{conversation}?as=ui")["messages"]
        assert [each["role"] for each in shown] == ["user"], "the resumed stream tells the answer"
        model.release()
        assert list(events)[-1].name == "done"
    assert so_far() == [("user", "Hello", "complete"), ("assistant", "Half of it.", "complete")]


@pytest.mark.thorough
def test_a_growing_answer_is_stored_every_half_second_if_it_grew(
    chat: ChatServer, model: ModelServer, watch: Watch
) -> None:
    naps = Naps()
    model.script(Reply(text=["One, ", "two, ", "three, ", "four."], hold_after=3))
    with ChatServer(chat.settings) as server, Client(server.url, f"auth0|{uuid.uuid4().hex}") as user:
        server.services.running.sleep_to_keep = naps
        with user.open({"message": "Count"}) as events:
            write = f"turns.{next(events).data['run_id']}.partial"
            said = ""
            while "three, " not in said:
                said += next(events).data["content"]
            assert watch.count(write) == 0, "the first interval is not over"
            naps.pass_one()
            assert watch.count(write) == 1
            naps.pass_one()
            assert watch.count(write) == 1, "it did not grow"
            model.release()
            assert list(events)[-1].name == "done"
        naps.end_one()
    assert naps.seconds == {0.5}
    assert watch.count(write) == 1
