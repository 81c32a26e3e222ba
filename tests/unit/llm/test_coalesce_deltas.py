"""A provider's stream arrives complete and in order, in fewer pieces, within one window."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import anyio
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import APIConnectionError, APITimeoutError, AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.deepseek import DeepSeekProvider

from infra.local.model_faults import Fault
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.base.errors import ModelUnavailable
from qwestly_agent.llm.coalesce_deltas import LONGEST_LINE_BYTES, LONGEST_STREAM_BYTES, CoalescingTransport
from qwestly_agent.model_calls import failure_of

pytestmark = pytest.mark.anyio

NEVER_ENDS = 3600.0
"""A window that no test waits for: held text is sent for another reason."""
SHORT = 0.01
PIECE = 64 * 1024

Step: TypeAlias = bytes | asyncio.Event | Exception
"""Bytes that come in, something to wait for, a connection that breaks."""


@dataclass
class Provider(httpx2.AsyncBaseTransport, httpx2.AsyncByteStream):
    """Answers every request with these steps, and records how far it was read."""

    steps: Iterable[Step]
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream; charset=utf-8"})
    read_bytes: int = 0
    left: bool = False
    """True once its iterator ended or was closed."""
    closed: bool = False
    closing_fails: bool = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(self.status, headers=self.headers, stream=self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            for step in self.steps:
                match step:
                    case bytes():
                        self.read_bytes += len(step)
                        yield step
                    case asyncio.Event():
                        await step.wait()
                    case Exception():
                        raise step
        finally:
            self.left = True

    async def aclose(self) -> None:
        await asyncio.sleep(0)
        self.closed = True
        if self.closing_fails:
            raise httpx2.CloseError("It would not close.")


def event(data: Any, end: str = "\n") -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}{end}{end}".encode()


def chunk(delta: dict[str, Any], end: str = "\n", **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None, **more}
    return event({"id": "c1", "model": "m", "choices": [choice], "usage": None}, end)


def says(text: str, end: str = "\n") -> bytes:
    return chunk({"content": text}, end)


OPENING = chunk({"role": "assistant", "content": ""})
FINISH = chunk({}, finish_reason="stop")
DONE = b"data: [DONE]\n\n"


def response_of(provider: Provider, window_seconds: float = NEVER_ENDS) -> Any:
    """The streamed answer, to be entered."""
    client = httpx2.AsyncClient(transport=CoalescingTransport(provider, window_seconds))
    return client.stream("GET", "http://provider.test/")


async def pieces_of(provider: Provider, window_seconds: float = NEVER_ENDS) -> list[bytes]:
    async with response_of(provider, window_seconds) as response:
        return [piece async for piece in response.aiter_bytes()]


async def body_of(provider: Provider, window_seconds: float = NEVER_ENDS) -> bytes:
    return b"".join(await pieces_of(provider, window_seconds))


async def broken(provider: Provider, window_seconds: float = NEVER_ENDS) -> tuple[bytes, Exception]:
    """Return the text of a broken stream, and its error."""
    read = b""
    try:
        async with response_of(provider, window_seconds) as response:
            async for piece in response.aiter_bytes():
                read += piece
    except Exception as error:
        return read, error
    raise AssertionError("it did not break")


def meaning(body: bytes) -> list[str | tuple[str]]:
    """The events that a reader gets: a tuple for text, however many deltas it came in, and all others unchanged."""
    lines = re.sub(r"\r\n|\r", "\n", body.decode("utf-8", "backslashreplace"))
    blocks = filter(None, map(data_of, lines.split("\n\n")))
    found: list[str | list[str]] = []
    for block in blocks:
        text = text_of(block)
        if text is None:
            found.append(block)
        elif found and isinstance(found[-1], list):
            found[-1].append(text)
        else:
            found.append([text])
    return [each if isinstance(each, str) else ("".join(each),) for each in found]


def data_of(block: str) -> str:
    return "\n".join(line for line in block.split("\n") if line.startswith("data:") and line[5:].strip())


def text_of(block: str) -> str | None:
    """Return the text of a content delta, None for anything else."""
    try:
        data = json.loads(block.removeprefix("data:"))
        text = data["choices"][0]["delta"]["content"]
        return (
            text if isinstance(text, str) and text and data == json.loads(says(text).removeprefix(b"data:")) else None
        )
    except (ValueError, LookupError, TypeError):
        return None


async def test_deltas_within_a_window_are_joined() -> None:
    provider = Provider([OPENING, *(says(word) for word in ("A", "few ", "words", " – ", "naïve 👋")), FINISH, DONE])
    body = await body_of(provider)
    joined = body.removeprefix(OPENING + says("A")).removesuffix(FINISH + DONE)
    assert json.loads(joined.removeprefix(b"data: ")) == json.loads(
        says("few words – naïve 👋").removeprefix(b"data: ")
    )


async def test_a_single_delta_in_a_window_is_unchanged() -> None:
    odd = b'data:{ "choices":[{"delta":{"content":"B\\u0301"},"index":0}] , "created":1.0}\r\n\r\n'
    assert await body_of(Provider([says("A"), odd])) == says("A") + odd


async def test_a_joined_delta_keeps_the_other_fields_of_the_first() -> None:
    first = chunk({"role": "assistant", "content": "b", "refusal": None, "tool_calls": []})
    provider = Provider([says("a"), first, chunk({"content": "c", "role": None})])
    kept = json.loads((await body_of(provider)).removeprefix(says("a")).removeprefix(b"data: "))
    expected = json.loads(first.removeprefix(b"data: "))
    expected["choices"][0]["delta"]["content"] = "bc"
    assert kept == expected


OTHERS = {
    "an opening": OPENING,
    "a tool call": chunk({"tool_calls": [{"index": 0, "function": {"arguments": '"content"'}}]}),
    "a tool call beside text": chunk({"content": "x", "tool_calls": [{"index": 0}]}),
    "reasoning": chunk({"reasoning_content": "Hm."}),
    "reasoning beside text": chunk({"content": "x", "reasoning_content": "Hm."}),
    "a refusal beside text": chunk({"content": "x", "refusal": "No."}),
    "text that ends": chunk({"content": "x"}, finish_reason="stop"),
    "text with its probabilities": chunk({"content": "x"}, logprobs={"content": []}),
    "text that is no text": chunk({"content": ["x"]}),
    "text of nobody": event({"choices": [{"delta": {"content": "x"}}]}),
    "text of the second choice": chunk({"content": "x"}, index=1),
    "two choices": event({"choices": [{"index": i, "delta": {"content": "x"}} for i in (0, 1)]}),
    "no choices": event({"choices": [], "content": "x"}),
    "usage beside text": event({"choices": [{"index": 0, "delta": {"content": "x"}}], "usage": {"total_tokens": 1}}),
    "an error beside text": event({"choices": [{"index": 0, "delta": {"content": "x"}}], "error": {"code": 1}}),
    "something new beside text": event({"choices": [{"index": 0, "delta": {"content": "x"}}], "citations": ["u"]}),
    "an error": event({"error": {"message": "content"}}),
    "an array": event([{"content": "x"}]),
    "the end": DONE,
    "data in two lines": b'data: {"choices": [{"index": 0,\ndata: "delta": {"content": "x"}}]}\n\n',
    "a delta that is text": event({"choices": [{"index": 0, "delta": "content"}]}),
    "half an object": b'data: {"choices": [{"index": 0, "delta": {"content"\n\n',
    "half a character": says("é").replace("é".encode(), "é".encode()[:1]),
    "half of a pair": chunk({"content": "x"}).replace(b'"x"', b'"\\ud83d"'),
    "no number": chunk({"content": "x"}, probability=1).replace(b"1}]", b"NaN}]"),
}


NO_DATA = {
    "a comment": b": still here\n\n",
    "an id": b"id: 7\n\n",
    "a time to wait": b"retry: 3000\n\n",
    "a name": b"event: ping\n\n",
    "data that are empty": b"data\ndata:\ndata: \n\n",
    "a field without a name": says("x").replace(b"data:", b"dat:"),
}
BESIDE_DATA = {
    "a named event": b"event: x\n" + says("x"),
    "a name after the data": says("x").replace(b"\n\n", b"\nevent: x\n\n"),
    "an id before and a comment after": b"id: 7\n" + says("x").replace(b"\n\n", b"\n: x\n\n"),
    "all of them": b": x\nretry: 1\nid\ndata:\n" + says("x"),
}


@pytest.mark.parametrize("other", NO_DATA.values(), ids=list(NO_DATA))
async def test_an_event_without_data_is_dropped_and_does_not_end_the_window(other: bytes) -> None:
    provider = Provider([other, OPENING, other, says("a"), other, says("b"), other, says("c"), other, FINISH, other])
    assert await body_of(provider) == await body_of(Provider([OPENING, *map(says, "abc"), FINISH]))


@pytest.mark.parametrize("other", BESIDE_DATA.values(), ids=list(BESIDE_DATA))
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
async def test_only_an_events_data_is_forwarded(other: bytes, end: bytes) -> None:
    provider = Provider([other.replace(b"\n", end), says("a"), other.replace(b"\n", end), FINISH])
    assert await body_of(provider) == await body_of(Provider([says("x"), says("a"), says("x"), FINISH]))


@pytest.mark.parametrize("other", OTHERS.values(), ids=list(OTHERS))
async def test_other_events_pass_unchanged_after_earlier_text(other: bytes) -> None:
    provider = Provider([OPENING, says("a"), says("b"), other, says("c"), other, FINISH])
    assert await body_of(provider) == OPENING + says("a") + says("b") + other + says("c") + other + FINISH


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
async def test_events_are_found_with_any_line_end_and_read_boundary(end: str, size: int) -> None:
    other = BESIDE_DATA["a name after the data"].replace(b"\n", end.encode())
    body = b"".join([*(says(word, end) for word in "abcd"), other, *(says(word, end) for word in "efg")])
    pieces = [[body[start : start + size], b""] for start in range(0, len(body), size)]
    read = await body_of(Provider([each for piece in pieces for each in piece]))
    assert meaning(read) == meaning(body)
    assert len(read) < len(body)


async def test_blank_lines_are_ignored() -> None:
    events = [says(word) for word in "abc"]
    assert meaning(await body_of(Provider([b"\n" + b"\n".join(events)]))) == meaning(b"".join(events))
    assert len(await body_of(Provider([b"\r".join(events)]))) < len(b"".join(events))


BLOCKS = st.one_of(
    st.text(min_size=1, max_size=5, alphabet=st.characters(codec="utf-8")).map(says),
    st.sampled_from([says("a", "\r\n"), says("b", "\r"), b"\n", b"\r", *(OTHERS | NO_DATA | BESIDE_DATA).values()]),
)


@pytest.mark.thorough
@given(st.lists(BLOCKS, max_size=12), st.lists(st.integers(1, 400)), st.sampled_from([b"", b"data: {", b"data: x\r"]))
def test_no_text_is_lost_or_reordered(blocks: list[bytes], cuts: list[int], rest: bytes) -> None:
    body = b"".join(blocks) + rest
    ends = sorted({cut for cut in cuts if cut < len(body)} | {len(body)})
    pieces = [body[start:end] for start, end in pairwise([0, *ends])]
    assert meaning(asyncio.run(body_of(Provider(pieces)))) == meaning(body)


async def test_nothing_before_the_first_text_waits_for_a_window() -> None:
    more = asyncio.Event()
    async with response_of(Provider([OPENING, more, says("a"), asyncio.Event()])) as response:
        pieces = response.aiter_bytes()
        assert await anext(pieces) == OPENING
        more.set()
        assert await anext(pieces) == says("a")


async def test_a_burst_is_sent_when_its_window_ends_even_if_the_provider_is_silent() -> None:
    provider = Provider([says("a"), says("b"), says("c"), asyncio.Event()])
    async with response_of(provider, SHORT) as response:
        pieces = response.aiter_bytes()
        assert await anext(pieces) == says("a")
        assert meaning(await anext(pieces)) == meaning(says("bc"))


async def test_each_window_starts_with_its_first_delta() -> None:
    more = [asyncio.Event(), asyncio.Event()]
    provider = Provider([says("a"), says("b"), more[0], says("c"), says("d"), more[1], says("e"), asyncio.Event()])
    async with response_of(provider, SHORT) as response:
        pieces = response.aiter_bytes()
        assert await anext(pieces) == says("a")
        for text, gate in (("b", more[0]), ("cd", more[1])):
            assert meaning(await anext(pieces)) == meaning(says(text))
            gate.set()
        assert await anext(pieces) == says("e")


@pytest.mark.parametrize("after", [FINISH, DONE, OTHERS["a tool call"]])
async def test_an_event_after_text_does_not_wait_for_the_window(after: bytes) -> None:
    async with response_of(Provider([says("a"), says("b"), after, asyncio.Event()])) as response:
        pieces, read = response.aiter_bytes(), b""
        while not read.endswith(after):
            read += await anext(pieces)
        assert read == says("a") + says("b") + after


async def test_no_timer_remains_of_a_window_that_ended_early(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, windows = asyncio.get_running_loop(), []
    call_later = loop.call_later

    def noted(delay: float, *what: Any, **more: Any) -> asyncio.TimerHandle:
        handle = call_later(delay, *what, **more)
        if delay == NEVER_ENDS:
            windows.append(handle)
        return handle

    monkeypatch.setattr(loop, "call_later", noted)
    await body_of(Provider([says("a"), says("b"), FINISH, says("c"), says("d")]))
    assert [window.cancelled() for window in windows] == [True, True]


async def test_without_a_window_nothing_is_joined() -> None:
    body = OPENING + b"".join(says(word) for word in "abc") + FINISH + DONE
    assert await body_of(Provider([body]), window_seconds=0) == body


@pytest.mark.parametrize(
    "error", [httpx2.ReadTimeout("It said no more."), httpx2.ReadError("It is gone."), OSError("Who knows.")]
)
async def test_a_broken_stream_delivers_its_text_before_its_own_error(error: Exception) -> None:
    read, raised = await broken(Provider([says("a"), says("b"), says("c"), b"data: {", error]))
    assert raised is error
    assert meaning(read) == meaning(says("abc") + b"data: {")


LINES = {
    "in one piece": [b"data: " + b"x" * LONGEST_LINE_BYTES + b"\n\n"],
    "in many": [b"data: ", *[b"x" * PIECE] * 1_000],
    "after a short one": [b": short\n" + b"x" * LONGEST_LINE_BYTES, b"x", *[b"x" * PIECE] * 1_000],
}


@pytest.mark.parametrize("window_seconds", [0, NEVER_ENDS])
@pytest.mark.parametrize("pieces", LINES.values(), ids=list(LINES))
async def test_an_overlong_line_ends_the_stream_after_the_preceding_text(
    pieces: list[bytes], window_seconds: float
) -> None:
    before = says("a") + says("b")
    provider = Provider([before, *pieces])
    read, error = await broken(provider, window_seconds)
    assert isinstance(error, httpx2.RemoteProtocolError)
    assert "line of more than 1,048,576 bytes" in str(error)
    assert read == before
    assert provider.read_bytes <= LONGEST_LINE_BYTES + 2 * PIECE
    assert provider.left
    assert provider.closed


@pytest.mark.thorough
@pytest.mark.parametrize("window_seconds", [0, NEVER_ENDS])
async def test_an_overlong_stream_ends_even_if_nobody_reads_it(window_seconds: float) -> None:
    word = says("x" * 4_000)
    provider = Provider([word] * (2 * LONGEST_STREAM_BYTES // len(word)))
    read, error = await broken(provider, window_seconds)
    assert isinstance(error, httpx2.RemoteProtocolError)
    assert "stream of more than 16,777,216 bytes" in str(error)
    assert provider.read_bytes <= LONGEST_STREAM_BYTES + len(word)
    assert meaning(read) == [("x" * 4_000 * (LONGEST_STREAM_BYTES // len(word)),)]


async def test_a_line_of_the_maximum_length_passes() -> None:
    longest = says("x" * (LONGEST_LINE_BYTES - len(says("")) + len(b"\n\n")))
    assert await body_of(Provider([longest, longest])) == longest * 2


UNTOUCHED = {
    "an error": (500, {"content-type": "text/event-stream"}),
    "a whole answer": (200, {"content-type": "application/json"}),
    "no type": (200, {}),
    "a compressed stream": (200, {"content-type": "text/event-stream", "content-encoding": "br"}),
}


@pytest.mark.parametrize(("status", "headers"), UNTOUCHED.values(), ids=list(UNTOUCHED))
async def test_a_response_other_than_a_plain_event_stream_is_unchanged(status: int, headers: dict[str, str]) -> None:
    provider = Provider([says("a"), says("b"), says("c"), b"x" * (LONGEST_LINE_BYTES + 1)], status, headers)
    response = await CoalescingTransport(provider, NEVER_ENDS).handle_async_request(
        httpx2.Request("GET", "http://x.test")
    )
    assert response.stream is provider


async def test_the_transport_closes_the_wrapped_one() -> None:
    provider = Provider([])
    async with httpx2.AsyncClient(transport=CoalescingTransport(provider, NEVER_ENDS)):
        pass
    assert provider.closed


# --- Who reads ----------------------------------------------------------------------------------------------------


async def read_all(response: httpx2.Response) -> None:
    async for _ in response.aiter_bytes():
        pass


async def cancelled(response: httpx2.Response) -> None:
    reader = asyncio.create_task(read_all(response))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    reader.cancel()
    await asyncio.gather(reader, return_exceptions=True)


async def given_up(response: httpx2.Response) -> None:
    with anyio.move_on_after(SHORT):
        await read_all(response)


async def closed_at_once(response: httpx2.Response) -> None:
    await response.aclose()


async def closed_after_a_piece(response: httpx2.Response) -> None:
    await anext(response.aiter_bytes())
    await response.aclose()


async def closed_under_its_reader(response: httpx2.Response) -> None:
    reader = asyncio.create_task(read_all(response))
    await asyncio.sleep(0)
    await response.aclose()
    async with asyncio.timeout(1):
        await asyncio.gather(reader, return_exceptions=True)


@pytest.mark.parametrize("leave", [cancelled, given_up, closed_at_once, closed_after_a_piece, closed_under_its_reader])
async def test_a_reader_that_stops_early_closes_the_stream_and_its_task(
    leave: Callable[[httpx2.Response], Awaitable[None]],
) -> None:
    before = asyncio.all_tasks()
    provider = Provider([says("a"), says("b"), asyncio.Event()])
    transport = CoalescingTransport(provider, NEVER_ENDS)
    async with httpx2.AsyncClient(transport=transport) as client:
        response = await client.send(client.build_request("GET", "http://provider.test"), stream=True)
        await leave(response)
        assert provider.closed
        assert asyncio.all_tasks() == before


async def test_closing_a_response_raises_a_read_error_in_its_reader() -> None:
    async with response_of(Provider([says("a"), asyncio.Event()])) as response:
        pieces = response.aiter_bytes()
        await anext(pieces)
        reader = asyncio.ensure_future(anext(pieces))
        await asyncio.sleep(0)
        await response.aclose()
        with pytest.raises(httpx2.ReadError):
            await reader


async def test_a_stream_that_was_read_to_its_end_is_closed() -> None:
    before, provider = asyncio.all_tasks(), Provider([says("a")])
    await body_of(provider)
    assert provider.closed
    assert asyncio.all_tasks() == before


@pytest.mark.parametrize("steps", [[says("a")], [says("a"), asyncio.Event()]], ids=["at its end", "before it"])
async def test_a_failing_close_raises_in_its_caller(steps: Sequence[Step]) -> None:
    provider = Provider(steps, closing_fails=True)
    async with httpx2.AsyncClient(transport=CoalescingTransport(provider, NEVER_ENDS)) as client:
        response = await client.send(client.build_request("GET", "http://provider.test"), stream=True)
        pieces = response.aiter_bytes()
        assert await anext(pieces) == says("a")
        with pytest.raises(httpx2.CloseError):
            await response.aclose()
        provider.closing_fails = False


# --- The client that it is made for -------------------------------------------------------------------------------


@dataclass
class Connected:
    """The openai client over a joining transport and a real socket."""

    openai: AsyncOpenAI
    ports: list[int]
    """Our end of the connection of each answer."""

    async def stream(self) -> list[str]:
        """Return the text of each chunk."""
        stream = await self.openai.chat.completions.create(
            model="deepseek-flash", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        return [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]


@pytest.fixture
async def connected(model: ModelServer) -> AsyncIterator[Connected]:
    ports: list[int] = []

    async def note_port(response: httpx2.Response) -> None:
        ports.append(response.extensions["network_stream"].get_extra_info("client_addr")[1])

    transport = CoalescingTransport(httpx2.AsyncHTTPTransport(), NEVER_ENDS)
    async with httpx2.AsyncClient(transport=transport, event_hooks={"response": [note_port]}, timeout=5) as http:
        yield Connected(AsyncOpenAI(api_key="none", base_url=model.base_url, http_client=http, max_retries=0), ports)


WORDS = [f"word{number} " for number in range(50)]


async def test_the_client_reads_the_same_text_in_three_chunks(connected: Connected, model: ModelServer) -> None:
    model.script(Reply(text=WORDS))
    said = await connected.stream()
    assert [text for text in said if text] == [WORDS[0], "".join(WORDS[1:])]


@pytest.mark.parametrize("window_seconds", [0, NEVER_ENDS])
async def test_the_client_reads_a_stream_with_every_kind_of_event_field(
    model: ModelServer, window_seconds: float
) -> None:
    model.script(Reply(text=WORDS, fault="other_lines"))
    async with httpx2.AsyncClient(transport=CoalescingTransport(httpx2.AsyncHTTPTransport(), window_seconds)) as http:
        openai = AsyncOpenAI(api_key="none", base_url=model.base_url, http_client=http, max_retries=0)
        assert "".join(await Connected(openai, []).stream()) == "".join(WORDS)


async def test_a_connection_is_reused(connected: Connected, model: ModelServer) -> None:
    model.script(*[Reply(text=WORDS)] * 3)
    before = asyncio.all_tasks()
    for _ in range(3):
        await connected.stream()
    assert len(set(connected.ports)) == 1
    assert asyncio.all_tasks() == before


async def test_a_provider_cut_off_mid_stream_is_a_connection_error(connected: Connected, model: ModelServer) -> None:
    model.script(Reply(text=WORDS, fault="cut", fault_after=10))
    with pytest.raises(APIConnectionError):
        await connected.stream()


async def test_a_provider_that_falls_silent_is_a_timeout(connected: Connected, model: ModelServer) -> None:
    model.script(Reply(text=WORDS, fault="stall", fault_after=10))
    connected.openai = connected.openai.with_options(timeout=httpx2.Timeout(5, read=0.1))
    with pytest.raises(APITimeoutError):
        await connected.stream()


@pytest.mark.parametrize("fault", ["huge_line", "cut", "cut_mid_line", "error_in_stream"])
async def test_a_broken_stream_is_an_unreachable_model(connected: Connected, model: ModelServer, fault: Fault) -> None:
    model.script(Reply(text=WORDS, fault=fault, fault_after=10))
    provider = DeepSeekProvider(openai_client=connected.openai)
    agent = Agent(OpenAIChatModel("deepseek-flash", provider=provider))
    read = ""

    async def answer() -> None:
        nonlocal read
        async with agent.run_stream("Hi") as run:
            async for text in run.stream_text(delta=True, debounce_by=None):
                read += text

    with pytest.raises(ModelAPIError) as raised:
        await answer()
    assert read == "".join(WORDS[:10])
    assert isinstance(failure_of(raised.value), ModelUnavailable)
