"""Join a model's deltas in the HTTP transport, before they are processed.

A model sends a few letters at a time, and each delta costs a parse, a validated model, an agent event, an encoded chunk
and a write to a socket. Joining the deltas that arrive within a short window saves that cost.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
from pydantic_core import from_json, to_json

LONGEST_LINE_BYTES = 1024 * 1024
LONGEST_STREAM_BYTES = 16 * 1024 * 1024
"""Also the limit of data buffered for a slow reader; beyond it, nothing more is read from the provider."""

_LINE_END = re.compile(rb"\r\n|\r|\n")


class CoalescingTransport(httpx2.AsyncBaseTransport):
    """Joins consecutive content deltas of streamed chat completions. All other data is passed on unchanged and in
    order.

    Only an event's data lines are passed on: the openai client treats a blank line after `id:`, `retry:` or `event:` as
    an event with invalid JSON, and ends the stream with an error.

    The first delta is passed on immediately. Each later one opens a window; all deltas within it are sent as one at its
    end, so text is delayed by at most one window. A window of 0 disables joining.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, window_seconds: float) -> None:
        self._inner = inner
        self._window_seconds = window_seconds

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if _is_event_stream(response):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _JoinedStream(response.stream, self._window_seconds)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


def _is_event_stream(response: httpx2.Response) -> bool:
    media_type, _, _ = response.headers.get("content-type", "").partition(";")
    return (
        response.status_code == 200
        and media_type.strip().lower() == "text/event-stream"
        and "content-encoding" not in response.headers
    )


class _JoinedStream(httpx2.AsyncByteStream):
    """Reads in a separate task, because waiting for the end of a window must not stop reading from the provider.

    It is its own iterator, because the openai client iterates a second time to drain the data after `[DONE]`.
    """

    def __init__(self, inner: httpx2.AsyncByteStream, window_seconds: float) -> None:
        self._inner = inner
        self._window_seconds = window_seconds
        self._events = _Events()
        self._ready = bytearray()
        self._held: _Held | None = None
        self._armed = False
        self._ended = False
        self._error: Exception | None = None
        self._pump: asyncio.Task[None] | None = None
        self._reader: asyncio.Future[None] | None = None

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        loop = asyncio.get_running_loop()
        if self._pump is None:
            self._pump = loop.create_task(self._run())
        while not self._ready:
            if self._ended:
                error, self._error = self._error, None
                raise error or StopAsyncIteration
            self._reader = loop.create_future()
            await self._reader
        ready, self._ready = self._ready, bytearray()
        return bytes(ready)

    async def aclose(self) -> None:
        if self._pump:
            if not self._ended:  # otherwise it is closing, and interrupting that would lose a pooled connection
                self._pump.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([self._pump])
        if not self._ended:  # nothing has been read yet
            self._ended = True
            self._error = _closed()
            self._wake()
            await self._inner.aclose()
        elif self._pump and not self._pump.cancelled():
            self._pump.result()

    async def _run(self) -> None:
        chunks = aiter(self._inner)
        try:
            async for chunk in chunks:
                for event, lines in self._events.of(chunk):
                    self._take(event, lines)
                if self._ready:
                    self._wake()
        except asyncio.CancelledError:
            self._error = _closed()
            raise
        except Exception as error:  # raised once the reader has received all data before it
            self._error = error
        finally:
            self._let_go()
            self._ready += self._events.rest
            self._ended = True
            self._wake()
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()
            await self._inner.aclose()

    def _take(self, event: bytes, lines: int) -> None:
        if lines != 1 or not event.startswith(b"data:") or not event[5:].strip():
            event, lines = _data_of(event, lines)
        if not lines:
            return
        joins = self._window_seconds > 0 and lines == 1
        data = _content_delta(event) if joins else None
        if data is None or not self._armed:
            self._armed = data is not None or self._armed
            if self._held:
                self._let_go()
            self._ready += event
            return
        if not self._held:
            window = asyncio.get_running_loop().call_later(self._window_seconds, self._end_window)
            self._held = _Held(event, data, [], window)
        self._held.texts.append(data["choices"][0]["delta"]["content"])

    def _end_window(self) -> None:
        self._let_go()
        self._wake()

    def _let_go(self) -> None:
        if self._held:
            self._held.window.cancel()
            self._ready += self._held.joined()
            self._held = None

    def _wake(self) -> None:
        if self._reader and not self._reader.done():
            self._reader.set_result(None)


def _closed() -> httpx2.ReadError:
    return httpx2.ReadError("The response was closed while it was read.")


@dataclass
class _Held:
    """The deltas in the current window: the first event, and the text of each."""

    event: bytes
    data: dict[str, Any]
    texts: list[str]
    window: asyncio.TimerHandle

    def joined(self) -> bytes:
        if len(self.texts) == 1:
            return self.event
        self.data["choices"][0]["delta"]["content"] = "".join(self.texts)
        return b"data: %b\n\n" % to_json(self.data)


class _Events:
    """Splits a stream into its server-sent events, each including the blank line that ends it. Accepts all three kinds
    of line endings."""

    def __init__(self) -> None:
        self._read = 0
        self._lines = 0
        """Lines of the current event."""
        self._line_bytes = 0
        """Bytes of the current line."""
        self._after_cr = False
        self.rest = bytearray()
        """Bytes of an incomplete event."""

    def of(self, chunk: bytes) -> Iterator[tuple[bytes, int]]:
        """Yield the events that end in this chunk, each with its number of lines."""
        self._read += len(chunk)
        if self._read > LONGEST_STREAM_BYTES:
            raise self._too_long("stream", LONGEST_STREAM_BYTES)
        begin = line = 0
        if self._after_cr and chunk.startswith(b"\n"):  # one line ending split across two chunks
            line = 1
            if not self.rest:
                begin = 1
                yield b"\n", 0
        for end in _LINE_END.finditer(chunk, line):
            length = self._line_bytes + end.start() - line
            if length > LONGEST_LINE_BYTES:
                raise self._too_long("line", LONGEST_LINE_BYTES)
            line = end.end()
            self._line_bytes = 0
            if length:
                self._lines += 1
                continue
            yield bytes(self.rest + chunk[begin:line]) if self.rest else chunk[begin:line], self._lines
            self.rest.clear()
            self._lines = 0
            begin = line
        self._line_bytes += len(chunk) - line
        if self._line_bytes > LONGEST_LINE_BYTES:
            raise self._too_long("line", LONGEST_LINE_BYTES)
        self.rest += chunk[begin:]
        self._after_cr = chunk.endswith(b"\r") or (self._after_cr and not chunk)

    def _too_long(self, what: str, limit: int) -> httpx2.RemoteProtocolError:
        self.rest.clear()
        return httpx2.RemoteProtocolError(f"The provider sent a {what} of more than {limit:,} bytes.")


def _data_of(event: bytes, lines: int) -> tuple[bytes, int]:
    """Return only the data lines of the event, and their number."""
    data = [line for line in event.splitlines() if line.startswith(b"data:") and line[5:].strip()]
    if len(data) == lines:
        return event, lines
    return b"\n".join([*data, b"", b""]), len(data)


_OF_EVERY_CHUNK = {"id", "object", "created", "model", "system_fingerprint", "service_tier", "choices", "obfuscation"}
_OF_EVERY_DELTA = {"role", "content"}


def _content_delta(event: bytes) -> dict[str, Any] | None:
    """Return the event's data if it contains only text of one choice, so that it can be joined without loss."""
    if not event.startswith(b"data:") or b'"content"' not in event:
        return None
    try:
        data = from_json(event[5:])
        [choice] = data["choices"]
        delta = choice["delta"]
        bare = (
            choice["index"] == 0
            and not any(map(data.get, data.keys() - _OF_EVERY_CHUNK))
            and not any(map(choice.get, choice.keys() - {"delta"}))
            and not any(map(delta.get, delta.keys() - _OF_EVERY_DELTA))
        )
        return data if bare and delta["content"] and isinstance(delta["content"], str) else None
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
