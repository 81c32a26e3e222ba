"""The only layer that retries: once, if it helps, and never for longer than somebody waits."""

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import openai
import pytest
from openai._constants import INITIAL_RETRY_DELAY

from qwestly_agent.llm.client import CONNECT_SECONDS, SILENCE_SECONDS, make_openai_client

pytestmark = pytest.mark.anyio

ADDRESS = "http://127.0.0.1:1/v1"
Answer = Callable[[httpx2.Request], httpx2.Response]


@pytest.fixture(autouse=True)
def _waits_as_the_client_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", INITIAL_RETRY_DELAY)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts in seconds; they do not really happen."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("openai._base_client.anyio.sleep", sleep)
    return waited


async def attempts(answer: Answer, **more: Any) -> list[httpx2.Request]:
    """The requests received by a provider that always responds like this."""
    asked: list[httpx2.Request] = []

    def answer_and_count(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return answer(request)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer_and_count)) as http:
        client = make_openai_client(api_key="k", base_url=ADDRESS, key_needed_for=None, http=http, **more)
        with pytest.raises(openai.OpenAIError):
            await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "Hello"}], stream=True
            )
    return asked


def status(code: int, headers: Mapping[str, str] | None = None) -> Answer:
    return lambda _: httpx2.Response(code, headers=headers, json={"error": {"message": "No."}})


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_a_transient_failure_is_retried_once(code: int, waits: list[float]) -> None:
    assert len(await attempts(status(code))) == 2
    [waited] = waits
    assert 0.3 < waited <= 0.5


@pytest.mark.parametrize("code", [400, 401, 402, 403, 404, 413, 422])
@pytest.mark.parametrize("headers", [{}, {"x-should-retry": "true"}, {"retry-after": "1"}], ids=str)
async def test_a_rejected_request_is_never_retried(code: int, headers: dict[str, str], waits: list[float]) -> None:
    assert len(await attempts(status(code, dated(headers)))) == 1


@pytest.mark.parametrize(("keys", "sent"), [(["new"], ["Bearer old", "Bearer new"]), (["old"], ["Bearer old"])])
async def test_a_rejected_key_is_reread_and_the_request_sent_once_more(keys: list[str], sent: list[str]) -> None:
    asked: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.headers["authorization"])
        return httpx2.Response(200 if asked[-1] == "Bearer new" else 401, json={"object": "list", "data": []})

    async def renewed_key() -> str:
        return keys[0]

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
        client = make_openai_client(
            api_key="old", base_url=ADDRESS, key_needed_for=None, http=http, renewed_key=renewed_key
        )
        for _ in range(2):
            with suppress(openai.AuthenticationError):
                await client.models.list()
    # Then it begins with what it was told.
    assert asked == [*sent, sent[-1]]


async def test_a_provider_that_forbids_a_retry_gets_none(waits: list[float]) -> None:
    assert len(await attempts(status(500, {"x-should-retry": "false"}))) == 1


def dated(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers with dates in place of seconds from now."""
    now = datetime.now(UTC)

    def date(meant: re.Match[str]) -> str:
        return format_datetime(now + timedelta(seconds=int(meant[1])), usegmt=True)

    return {name: re.sub(r"a date in (-?\d+) s", date, value) for name, value in headers.items()}


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"retry-after": "3"}, 3, 3),
        ({"retry-after": "10"}, 10, 10),
        ({"retry-after": "0.25"}, 0.25, 0.25),
        ({"retry-after-ms": "1500"}, 1.5, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "7200"}, 1.5, 1.5),
        ({"retry-after": "a date in 9 s"}, 0.1, 9),
        ({"retry-after": "soon"}, 0.3, 0.5),
        ({"retry-after": "-5"}, 0.3, 0.5),
        ({"retry-after": "nan"}, 0.3, 0.5),
        ({"retry-after": "a date in -60 s"}, 0.3, 0.5),
    ],
    ids=str,
)
@pytest.mark.parametrize("code", [429, 503])
async def test_a_short_retry_after_is_waited_for(
    code: int, headers: dict[str, str], least: float, most: float, waits: list[float]
) -> None:
    assert len(await attempts(status(code, dated(headers)))) == 2
    [waited] = waits
    assert least <= waited <= most


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after": "11"},
        {"retry-after": "120"},
        {"retry-after": "86400"},
        {"retry-after": "inf"},
        {"retry-after": "1e999"},
        {"retry-after-ms": "60000"},
        {"retry-after": "a date in 120 s"},
        {"retry-after": "60", "x-should-retry": "true"},
    ],
    ids=str,
)
@pytest.mark.parametrize("code", [429, 503])
async def test_a_long_retry_after_is_reported_at_once(code: int, headers: dict[str, str], waits: list[float]) -> None:
    assert len(await attempts(status(code, dated(headers)))) == 1
    assert waits == []


async def test_a_caller_may_shorten_the_longest_wait(waits: list[float]) -> None:
    assert len(await attempts(status(429, {"retry-after": "2"}), longest_wait_seconds=1)) == 1


async def test_an_unreachable_provider_is_retried_once(waits: list[float]) -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    assert len(await attempts(refuse)) == 2


class BreaksOff(httpx2.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b'{"error": '
        raise httpx2.RemoteProtocolError("cut")


@pytest.mark.parametrize(("code", "count"), [(500, 2), (429, 2), (400, 1)])
async def test_a_truncated_error_page_raises_the_error_of_its_status(code: int, count: int, waits: list[float]) -> None:
    assert len(await attempts(lambda _: httpx2.Response(code, stream=BreaksOff()))) == count


async def test_the_connect_timeout_is_seconds_and_the_read_timeout_a_minute(waits: list[float]) -> None:
    [asked] = await attempts(status(400))
    assert asked.extensions["timeout"] == {"connect": CONNECT_SECONDS, "pool": SILENCE_SECONDS} | dict.fromkeys(
        ("read", "write"), SILENCE_SECONDS
    )
    [asked] = await attempts(status(400), silence_seconds=120)
    assert asked.extensions["timeout"]["read"] == 120


async def test_a_request_equals_the_librarys_own() -> None:
    said: list[dict[str, Any]] = []

    def note(request: httpx2.Request) -> httpx2.Response:
        said.append({"body": json.loads(request.content), "extra": request.headers["X-Extra"]})
        return httpx2.Response(200, json={"choices": []})

    function = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}}
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asked: dict[str, Any] = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": "Nothing."},
        ],
        "tools": [{"type": "function", "function": function}],
        "stream": False,
        "stop": openai.omit,
        "seed": openai.not_given,
        "temperature": 0.3,
        "timeout": 5,
        "extra_headers": {"X-Extra": "e"},
        "extra_body": {"thinking": {"type": "disabled"}},
    }
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(note)) as http:
        theirs = openai.AsyncOpenAI(api_key="k", base_url=ADDRESS, http_client=http)
        ours = make_openai_client(api_key="k", base_url=ADDRESS, key_needed_for=None, http=http)
        for client in (theirs, ours):
            await client.chat.completions.create(**asked)
    assert said[0] == said[1]
