"""Every fault of a model server, through the chat handler: the stream ends once, in time and with our sentence; the
text so far is stored; the next turn is answered. All in the AI SDK's protocol, and each kind of ending in the plain
protocol."""

import json
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import httpx2
import pytest
from pymongo import MongoClient

from infra.local.model_answers import ToolCall
from infra.local.model_controls import RecordedRequest
from infra.local.model_faults import Fault
from infra.local.model_server import ModelServer, Reply
from qwestly_agent import model_calls
from qwestly_agent.base.errors import DeadlineExceeded, ModelUnavailable
from qwestly_agent.chat.routers.turns import RESERVE_SECONDS
from qwestly_agent.llm import models
from tests.servers import ChatServer, Client, Event, free_port, settings_for, user_says

Protocol: TypeAlias = Literal["plain", "ai_sdk"]

KEY = "sk-a-key-that-nobody-may-see"
NOBODY_MAY_READ = (
    *(KEY, "scripted", "Bad gateway", "The model failed", "Traceback", ".py", "Errno", "Error:", "status_code"),
    *("127.0.0.1", "model.invalid", "httpx", "openai", "pydantic.dev", "deepseek", "gpt-"),
    *("DSML", "｜", "profileget", "call a tool", "markup"),
)

CALL: ToolCall = {"name": "get_user_profile", "arguments": {}}
LOOKS_UP = Reply(tool_calls=[CALL])
HALF = ["Half of ", "it."]
CALL_IN_WORDS = 'DSML｜function_calls>\n<｜DSML｜invoke name="get_user_profile">\n</｜DSML｜invoke>'
MORE = "…"
"""Stands for any number of repetitions, which depends on the clock."""
SOON = "in a moment"
DEADLINE = DeadlineExceeded.sentence
SHORT = 1.0
"""Seconds to a deadline that expires: enough to reach the fault on a busy machine."""


@dataclass(frozen=True)
class Case:
    replies: tuple[Reply, ...]
    """Replies to the requests of the turn, in order."""
    sentence: str | None
    """The error shown to the user; None if the turn is answered."""
    said: str = ""
    """The answer, as shown and stored."""
    requests: int = 1
    seconds: float = 4.0
    """Seconds from the turn's start to its deadline."""
    steps: int = 0

    @property
    def code(self) -> str:
        return DeadlineExceeded.code if self.sentence == DEADLINE else ModelUnavailable.code


def answers(*replies: Reply, said: str, requests: int = 1, steps: int = 0) -> Case:
    return Case(replies, None, said, requests, steps=steps)


def refuses(status: Fault, sentence: str, *, retry_after: float | None = None) -> Case:
    return Case((Reply(fault=status, retry_after=retry_after),), sentence)


def fails_twice(status: Fault, sentence: str, *, retry_after: float | None = 0.01) -> Case:
    return Case((Reply(fault=status, retry_after=retry_after),) * 2, sentence, requests=2)


def breaks_off(fault: Fault, sentence: str = model_calls.BROKE_OFF, **more: Any) -> Case:
    return Case((Reply(HALF, fault=fault),), sentence, "Half of ", **more)


def deltas_of(*calls: tuple[int, str, str, str]) -> list[dict[str, Any]]:
    """Return deltas of tool calls from (index, id, name, arguments)."""
    return [
        {"tool_calls": [{"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}]}
        for index, call_id, name, arguments in calls
    ]


def in_the_second_step(case: Case) -> Case:
    return Case((LOOKS_UP, *case.replies), case.sentence, case.said, case.requests + 1, case.seconds, 1)


BUSY, DOWN = model_calls.BUSY.format(when=SOON), model_calls.DOWN.format(when=SOON)

CASES: dict[str, Case] = {
    # instead of an answer
    "429": fails_twice(429, BUSY, retry_after=None),
    "429, come back in a moment": fails_twice(429, BUSY),
    "429, come back in two minutes": refuses(429, model_calls.BUSY.format(when="in 2 minutes"), retry_after=120),
    "503, come back in 45 seconds": refuses(503, model_calls.DOWN.format(when="in 45 seconds"), retry_after=45),
    "500": fails_twice(500, DOWN),
    "502": fails_twice(502, DOWN),
    "503": fails_twice(503, DOWN),
    "504": fails_twice(504, DOWN),
    "408": fails_twice(408, DOWN),
    "409": fails_twice(409, DOWN),
    "400": refuses(400, model_calls.NOT_FOR_US),
    "400, for what is said": refuses("content_risk", model_calls.REFUSED),
    "422": refuses(422, model_calls.NOT_FOR_US),
    "401, the key is refused": refuses(401, model_calls.NOT_FOR_US),
    "402, the account is empty": refuses(402, model_calls.NOT_FOR_US),
    "403": refuses(403, model_calls.NOT_FOR_US),
    "404, there is no such model": refuses(404, model_calls.NOT_FOR_US),
    "reset": fails_twice("reset", DOWN),
    "429 once": answers(Reply(fault=429, retry_after=0.01), Reply(HALF), said="Half of it.", requests=2),
    "500 once": answers(Reply(fault=500, retry_after=0.01), Reply(HALF), said="Half of it.", requests=2),
    "reset once": answers(Reply(fault="reset"), Reply(HALF), said="Half of it.", requests=2),
    "no first byte": Case((Reply(fault="slow"),), DEADLINE, seconds=SHORT),
    "nothing with 200": refuses("refuse_body", model_calls.UNUSABLE),
    "an HTML page with 200": refuses("html", model_calls.UNUSABLE),
    "half an object with 200": refuses("bad_json", model_calls.UNUSABLE),
    "an error object at once": Case((Reply(HALF, fault="error_in_stream", fault_after=0),), DOWN),
    "JSON of another shape at once": Case((Reply(HALF, fault="other_shape", fault_after=0),), model_calls.UNUSABLE),
    "an answer without a word": Case((Reply([]), Reply([])), model_calls.UNUSABLE, requests=2),
    "too long before the first word": Case((Reply(HALF, fault="length", fault_after=0),), model_calls.TOO_LONG),
    "declined": Case((Reply(HALF, fault="content_filter", fault_after=0),), model_calls.DECLINED),
    # in the middle of it
    "cut": breaks_off("cut"),
    "cut in a line": breaks_off("cut_mid_line"),
    "reset in the middle": breaks_off("reset_midway"),
    "half a character": breaks_off("half_utf8"),
    "an end that is none": breaks_off("no_finish"),
    "stalls": breaks_off("stall", DEADLINE, seconds=SHORT),
    "an error object in the stream": breaks_off("error_in_stream"),
    "a line that is no JSON": breaks_off("bad_json_line"),
    "a line of another shape": breaks_off("other_shape"),
    "a line of 10 MB": breaks_off("huge_line"),
    "too long": breaks_off("length", model_calls.TOO_LONG),
    "declined in the middle": breaks_off("content_filter", model_calls.DECLINED_THE_REST),
    "out of machines": Case(
        (Reply(HALF, finish_reason="insufficient_system_resource"),), model_calls.BROKE_OFF, "Half of it."
    ),
    "no end in sight": Case((Reply(["Half of ", *MORE * 99], chunk_delay=0.1),), DEADLINE, "Half of ", seconds=SHORT),
    # unusual, but still an answer
    "no [DONE]": answers(Reply(HALF, fault="no_done"), said="Half of it."),
    "ids, names, times to wait and comments": answers(Reply(HALF, fault="other_lines"), said="Half of it."),
    "empty choices": answers(Reply(HALF, fault="empty_choices"), said="Half of it."),
    "two calls with swapped indices": answers(
        Reply(tool_calls=[CALL, {"name": "list_capabilities", "arguments": {}}], fault="swapped_indices"),
        Reply(HALF),
        said="Half of it.",
        requests=2,
        steps=2,
    ),
    "an unknown tool": answers(Reply(fault="unknown_tool"), Reply(HALF), said="Half of it.", requests=2, steps=1),
    "arguments that are no JSON": answers(
        Reply(tool_calls=[CALL], fault="bad_tool_arguments"), Reply(HALF), said="Half of it.", requests=2, steps=1
    ),
    "the name of a tool in every delta": answers(
        Reply(deltas=deltas_of((0, "a", "get_user_profile", ""), (0, "a", "get_user_profile", "{}"))),
        Reply(HALF),
        said="Half of it.",
        requests=2,
        steps=1,
    ),
    "two calls under one index": answers(
        Reply(deltas=deltas_of((0, "a", "get_user_profile", "{}"), (0, "b", "list_capabilities", "{}"))),
        Reply(HALF),
        said="Half of it.",
        requests=2,
        steps=2,
    ),
    "a call in words": answers(
        Reply(["Let me look. <", "｜", CALL_IN_WORDS]), Reply(HALF), said="Let me look. \n\nHalf of it.", requests=2
    ),
    "calls in words alone": Case((Reply([f"<｜{CALL_IN_WORDS}"]),) * 2, model_calls.UNUSABLE, requests=2),
    "calls in words, twice": Case(
        (Reply(["So: ", f"<｜{CALL_IN_WORDS}"]),) * 2, model_calls.BROKE_OFF, "So: \n\nSo: ", requests=2
    ),
    "the end of an answer in words": answers(Reply([*HALF, "<｜end▁of▁", "sentence｜>"]), said="Half of it."),
    "a thought in words": answers(Reply(["<think>Who", "?</think>\n", *HALF]), said="Half of it."),
    "half a character in each delta": answers(Reply(["Half \ud83d", "\ude00."]), said="Half 😀."),
    # after a tool was called
    "503 in the second step": in_the_second_step(fails_twice(503, DOWN)),
    "500 once in the second step": in_the_second_step(
        answers(Reply(fault=500, retry_after=0.01), Reply(HALF), said="Half of it.", requests=2)
    ),
    "cut in the second step": in_the_second_step(breaks_off("cut")),
    "503 in the second step, after a word": Case(
        (Reply(["Let me look."], tool_calls=[CALL]), *(Reply(fault=503, retry_after=0.01),) * 2),
        model_calls.BROKE_OFF,
        "Let me look.",
        requests=3,
        steps=1,
    ),
}


ENDINGS = (
    "503",  # rejected before the first word
    "500 once",  # rejected, then answered
    "no first byte",  # at the deadline
    "stalls",  # at the deadline, after a word
    "cut",  # broken off by the provider
    "too long",  # truncated, which the library does not report
    "no [DONE]",  # unusual, but answered
    "the name of a tool in every delta",
    "a call in words",
    "calls in words, twice",
    "503 in the second step, after a word",
)
"""Faults with the same outcome, one of each kind: the outcome does not depend on the protocol."""


@pytest.mark.parametrize(
    ("name", "protocol"),
    [
        *((name, "ai_sdk") for name in ENDINGS),
        *(pytest.param(name, "ai_sdk", marks=pytest.mark.thorough) for name in CASES if name not in ENDINGS),
        *(pytest.param(name, "plain", marks=pytest.mark.thorough) for name in ENDINGS),
    ],
)
def test_each_fault_ends_the_turn_once_in_time_with_our_sentence(
    faulty: ChatServer, model: ModelServer, name: str, protocol: Protocol
) -> None:
    with a_user_of(faulty) as user:
        happens(user, model, CASES[name], protocol)


def test_an_unreachable_provider_ends_the_turn_with_our_sentence(gone: ChatServer, model: ModelServer) -> None:
    with a_user_of(gone) as user:
        happens(user, model, Case((), DOWN, requests=0), "ai_sdk", next_is_answered=False)


def test_a_provider_whose_name_does_not_resolve_ends_the_turn_with_our_sentence(
    nowhere: ChatServer, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up: Callable[..., Any] = socket.getaddrinfo
    asked: list[object] = []

    def fails_for_one(host: object, *more: Any, **options: Any) -> Any:
        if host not in ("model.invalid", b"model.invalid"):
            return look_up(host, *more, **options)
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fails_for_one)
    with a_user_of(nowhere) as user:
        happens(user, model, Case((), DOWN, requests=0), "ai_sdk", next_is_answered=False)
    assert len(asked) == 2


SLOW_CASES = {
    "no first byte": Case((Reply(fault="slow"),), model_calls.TOO_SLOW),
    "a head without a body": Case((Reply(HALF, hold_after=0),), model_calls.TOO_SLOW),
    "stalls": breaks_off("stall"),
}


@pytest.mark.sentinel
@pytest.mark.thorough
@pytest.mark.parametrize("case", SLOW_CASES.values(), ids=list(SLOW_CASES))
def test_a_silent_provider_times_out_long_before_the_deadline(
    impatient: ChatServer, model: ModelServer, case: Case
) -> None:
    with a_user_of(impatient) as user:
        happens(user, model, case, "ai_sdk")


GOES_DOWN = [Reply(fault=503, retry_after=0.01)] * 8


@pytest.mark.thorough
@pytest.mark.parametrize("steps_before", [0, 1, 2])
def test_a_provider_that_is_down_gets_two_requests_per_turn(
    faulty: ChatServer, model: ModelServer, steps_before: int
) -> None:
    model.script(*[Reply(tool_calls=[CALL, SEARCHES[step]]) for step in range(steps_before)], *GOES_DOWN)
    with a_user_of(faulty) as user:
        assert user.say("Who am I?").last.data["message"] == DOWN
    assert len(asked_for_an_answer(model)) == steps_before + 2


SEARCHES: list[ToolCall] = [{"name": "query_qwestly_docs", "arguments": {"query": word}} for word in ("cards", "plans")]
FIRST, SECOND = "deepseek-flash", "gpt-4.1-mini"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("replies", "asked", "end"),
    [
        ([*GOES_DOWN[:2], LOOKS_UP, Reply(tool_calls=SEARCHES), Reply(HALF)], [FIRST] * 2 + [SECOND] * 3, "done"),
        ([LOOKS_UP, *GOES_DOWN[:2], Reply(tool_calls=SEARCHES), Reply(HALF)], [FIRST] * 3 + [SECOND] * 2, "done"),
        ([*GOES_DOWN[:2], LOOKS_UP, *GOES_DOWN], [FIRST] * 2 + [SECOND] * 3, "error"),
        (GOES_DOWN, [FIRST] * 2 + [SECOND] * 2, "error"),
        ([Reply(fault=401), Reply(HALF)], [FIRST, SECOND], "done"),
        ([Reply(fault=429, retry_after=120), Reply(HALF)], [FIRST, SECOND], "done"),
        ([Reply(fault="html"), Reply(HALF)], [FIRST, SECOND], "done"),
        ([Reply(HALF, fault="cut", fault_after=0), Reply(HALF)], [FIRST, SECOND], "done"),
        ([Reply(HALF, fault="cut"), Reply(HALF)], [FIRST], "error"),
    ],
    ids=[
        "down from the first of three steps",
        "down from the second",
        "both down, the other one later",
        "both down",
        "its key is refused",
        "it is busy for long",
        "it answers a page",
        "it breaks off before the first word",
        "it breaks off after the first word",
    ],
)
def test_the_fallback_provider_takes_over_before_the_first_word_for_the_whole_turn(
    doubled: ChatServer, model: ModelServer, replies: list[Reply], asked: list[str], end: str
) -> None:
    model.script(*replies)
    with a_user_of(doubled) as user:
        answer = user.say("Who am I?")
        assert answer.last.name == end
        assert [request.json["model"] for request in asked_for_an_answer(model)] == asked
        model.reset()
        model.script(Reply("Here again."))
        assert user.say("And now?", answer.conversation_id).text == "Here again."
        assert [request.json["model"] for request in model.requests] == [FIRST]  # a short outage moves nobody for good


@pytest.mark.thorough
def test_two_failing_providers_report_the_shorter_wait(doubled: ChatServer, model: ModelServer) -> None:
    model.script(Reply(fault=429, retry_after=120), Reply(fault=401))
    with a_user_of(doubled) as user:
        assert user.say("Hello").last.data["message"] == model_calls.BUSY.format(when="in 2 minutes")


@pytest.mark.thorough
def test_nothing_from_a_failed_provider_is_stored(doubled: ChatServer, model: ModelServer) -> None:
    model.script(*GOES_DOWN[:2], LOOKS_UP, Reply(HALF))
    with a_user_of(doubled) as user, MongoClient(doubled.settings.mongodb_uri) as mongo:
        conversation_id = user.say("Who am I?").conversation_id
        database = mongo[doubled.settings.mongodb_database]
        mine = {"user_id": user.user_id, "conversation_id": conversation_id}
        kept = [list(database[name].find(mine)) for name in database.list_collection_names()]
    assert "get_user_profile" in str(kept)
    assert "scripted" not in str(kept)


# --- a turn and its invariants ------------------------------------------------------------------------------------


@dataclass
class InAHurry(Client):
    """A user whose turns have a short deadline, as set by the function's adapter."""

    # On loopback nothing is encrypted, and loading the certificates takes as long as a turn.
    http: httpx2.Client = field(default_factory=lambda: httpx2.Client(timeout=20, verify=False))
    seconds: float = 4.0

    def headers(self) -> dict[str, str]:
        ends = time.time() + self.seconds + RESERVE_SECONDS
        return {**super().headers(), "x-amzn-lambda-context": json.dumps({"deadline": ends * 1000})}


@pytest.fixture(scope="module")
def faulty(mongodb_uri: str, _model_server: ModelServer) -> Iterator[ChatServer]:
    with ChatServer(settings_for(mongodb_uri, _model_server.base_url, deepseek_api_key=KEY)) as server:
        yield server


@pytest.fixture(scope="module")
def impatient(mongodb_uri: str, _model_server: ModelServer) -> Iterator[ChatServer]:
    """A chat whose time limits are a hundredth of the real ones."""
    settings: dict[str, Any] = {**models.TIER_SETTINGS["fast"]}
    settings["first_event_timeout"] /= 100
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(models.TIER_SETTINGS, "fast", settings)
        patch.setitem(models.SILENCE_SECONDS, "fast", models.SILENCE_SECONDS["fast"] / 100)
        with ChatServer(settings_for(mongodb_uri, _model_server.base_url)) as server:
            yield server


@pytest.fixture(scope="module")
def doubled(mongodb_uri: str, _model_server: ModelServer) -> Iterator[ChatServer]:
    more = {"model_fallback": f"openai:{SECOND}", "deepseek_api_key": KEY, "openai_api_key": KEY}
    with ChatServer(settings_for(mongodb_uri, _model_server.base_url, **more)) as server:
        yield server


@pytest.fixture(scope="module")
def gone(mongodb_uri: str) -> Iterator[ChatServer]:
    with ChatServer(settings_for(mongodb_uri, f"http://127.0.0.1:{free_port()}/v1")) as server:
        yield server


@pytest.fixture(scope="module")
def nowhere(mongodb_uri: str) -> Iterator[ChatServer]:
    with ChatServer(settings_for(mongodb_uri, "http://model.invalid/v1")) as server:
        yield server


@contextmanager
def a_user_of(server: ChatServer) -> Iterator[InAHurry]:
    user = InAHurry(server.url, f"auth0|{uuid.uuid4().hex}")
    with user:
        yield user


def happens(
    user: InAHurry, model: ModelServer, case: Case, protocol: Protocol, *, next_is_answered: bool = True
) -> None:
    """Held replies are never released: a turn that waited for one would exceed the client's timeout."""
    model.script(*case.replies)
    user.seconds = case.seconds
    conversation_id, events = say(user, protocol, "Who am I?")
    assert len(asked_for_an_answer(model)) == case.requests

    VALID[protocol](events)
    words = shown(events)
    assert words.rstrip(MORE) == case.said
    assert told(events) == case.sentence
    read = json.dumps([[event.name, event.data] for event in events], ensure_ascii=False)
    assert [word for word in NOBODY_MAY_READ if word in read] == []

    kept = user.get(f"/api/conversations/{conversation_id}")
    asked, answered = kept["messages"]
    problem = {"code": case.code, "message": case.sentence} if case.sentence else None
    assert kept["running"] is False
    assert (asked["role"], asked["content"], asked["status"]) == ("user", "Who am I?", "complete")
    assert (answered["content"], answered["error"], len(answered["steps"])) == (words, problem, case.steps)
    assert answered["status"] == ("failed" if problem else "complete")
    assert [step for step in answered["steps"] if step["label"] in (step["name"], "")] == []
    as_ui = json.dumps(user.get(f"/api/conversations/{conversation_id}?as=ui"), ensure_ascii=False)
    assert [word for word in NOBODY_MAY_READ if word in as_ui] == []

    if next_is_answered:
        model.reset()
        model.fault = Reply("Here again.")  # also for a late request of the failed turn
        user.seconds = 15
        _, events = say(user, protocol, "And now?", conversation_id, "m2")
        VALID[protocol](events)
        assert (shown(events), told(events)) == ("Here again.", None)
        assert "DSML" not in json.dumps(model.requests[-1].json, ensure_ascii=False)
        assert calls_without_a_result(model.requests[-1]) == []


def say(
    user: Client, protocol: Protocol, words: str, conversation_id: str = "", message_id: str = "m1"
) -> tuple[str, list[Event]]:
    if protocol == "ai_sdk":
        return "chat-1", user.say_ai_sdk("chat-1", user_says(words, message_id))
    answer = user.say(words, conversation_id or None)
    return answer.conversation_id, answer.events


def shown(events: Sequence[Event]) -> str:
    """Return the text of the answer; a new text part begins a paragraph."""
    if events[0].name == "conversation":
        return "".join(event.data["content"] for event in events if event.name == "text_delta")
    texts: dict[str, str] = {}
    for event in events:
        if event.name == "text-delta":
            texts[event.data["id"]] = texts.get(event.data["id"], "") + event.data["delta"]
    return "\n\n".join(texts.values())


def told(events: Sequence[Event]) -> str | None:
    """Return the sentence of an error; None if the turn was answered."""
    [error] = [event.data for event in events if event.name == "error"] or [{}]
    return error.get("message") or error.get("errorText")


def asked_for_an_answer(model: ModelServer) -> list[RecordedRequest]:
    return [request for request in model.requests if request.path.endswith("/chat/completions")]


def calls_without_a_result(request: RecordedRequest) -> list[str]:
    """Providers reject a prompt that contains one, and every later turn with it."""
    messages = request.json["messages"]
    answered = {message["tool_call_id"] for message in messages if message["role"] == "tool"}
    calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    return [call for call in calls if call not in answered]


# --- the protocols ------------------------------------------------------------------------------------------------


def valid_plain(events: Sequence[Event]) -> None:
    names = [event.name for event in events]
    assert names[0] == "conversation"
    assert names.count("conversation") == 1
    assert names[-1] in ("done", "error")
    assert sum(name in ("done", "error") for name in names) == 1
    called: list[str] = []
    for event in events:
        if event.name == "tool_call":
            called.append(event.data["id"])
        elif event.name == "tool_result":
            assert event.data["id"] in called
    if names[-1] == "done":
        assert events[-1].data["content"] == shown(events)
    else:
        assert events[-1].data.keys() == {"code", "message"}


def valid_ai_sdk(events: Sequence[Event]) -> None:
    """Check the events with the AI SDK's own reader, which drops a stream that violates its rules."""
    names = [event.name for event in events]
    assert names[0] == "start"
    assert names.count("start") == 1
    assert names[-1] == "[DONE]"
    assert names[-2] in ("finish", "error", "abort")
    assert sum(name in ("finish", "error", "abort") for name in names) == 1
    open_texts: set[str] = set()
    seen: dict[str, str] = {}
    for name, data in ((event.name, event.data or {}) for event in events):
        match name:
            case "text-start":
                assert data["id"] not in open_texts
                open_texts.add(data["id"])
            case "text-delta":
                assert data["id"] in open_texts
            case "text-end":
                open_texts.remove(data["id"])
            case "tool-input-start":
                assert data["toolCallId"] not in seen
                seen[data["toolCallId"]] = "streams"
            case "tool-input-delta":
                assert seen[data["toolCallId"]] == "streams"
            case "tool-input-available" | "tool-input-error":
                assert seen.get(data["toolCallId"], "streams") == "streams"
                seen[data["toolCallId"]] = "is called"
            case "tool-output-available" | "tool-output-error":
                assert seen[data["toolCallId"]] == "is called"
                seen[data["toolCallId"]] = "is answered"
            case _:
                pass
    assert not open_texts
    assert "streams" not in seen.values()


VALID: dict[Protocol, Callable[[Sequence[Event]], None]] = {"plain": valid_plain, "ai_sdk": valid_ai_sdk}
