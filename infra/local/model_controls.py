"""Test controls of the scripted model server: next replies, faults, releases, recorded requests."""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from typing_extensions import TypedDict

from infra.local.model_faults import FaultStatus, Reply
from infra.local.model_wire import Json


class _Script(TypedDict):
    steps: list[Reply]


SCRIPT = TypeAdapter(_Script)
REPLY_OR_NONE = TypeAdapter[Reply | None](Reply | None)
STATUS_OR_NONE = TypeAdapter[FaultStatus | None](FaultStatus | None)

RECORDED_REQUESTS = 2_000
BESIDE = "You name a conversation"
"""The first words of the instructions of a side request, such as naming a conversation. Steps without `to` skip
these."""


@dataclass(frozen=True)
class RecordedRequest:
    """A received request. `order` counts from 1; `json` is None if the body is not JSON."""

    order: int
    method: str
    path: str
    authorization: str | None
    body: bytes
    json: Json


class Controls:
    """The controls. Can be used from any thread; `control` offers the same over HTTP."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held: set[asyncio.Future[None]] = set()
        self._forget()

    def _forget(self) -> None:
        self._requests: deque[RecordedRequest] = deque(maxlen=RECORDED_REQUESTS)
        self._arrived = 0
        self._script: deque[Reply] = deque()
        self.fault: Reply | None = None
        """The answer to every chat request until cleared; the script is suspended."""
        self.embeddings_fault: FaultStatus | None = None
        """The status of every embeddings response until cleared."""
        self.in_danger: tuple[str, ...] = ()
        """Words that the moderation endpoint flags as intent of self-harm."""
        self.moderation_fault: FaultStatus | None = None
        """The status of every moderation response until cleared."""
        self.moderation_seconds = 0.0
        """The duration of a moderation request."""
        self.keys: frozenset[str] = frozenset()
        """Accepted keys; chat and embeddings requests without one get a 401. If empty, no key is required."""

    @property
    def requests(self) -> list[RecordedRequest]:
        """The last 2,000 requests on the providers' routes, oldest first, without side requests."""
        with self._changed:
            return [each for each in self._requests if not _is_beside(each.json)]

    @property
    def beside(self) -> list[RecordedRequest]:
        """The last side requests."""
        with self._changed:
            return [each for each in self._requests if _is_beside(each.json)]

    def forget_requests(self) -> None:
        with self._changed:
            self._requests.clear()
            self._arrived = 0

    def script(self, *steps: Reply) -> None:
        """Answer the next chat requests with these steps in order, replacing the previous script."""
        with self._changed:
            self._script = deque(steps)

    def script_chat(self, *steps: Reply) -> None:
        """Answer the next streaming chat requests; requests that tools make to other models get default answers."""
        self.script(*(replace(step, streams=True) for step in steps))

    def release(self) -> int:
        """Release all held answers, and return their number."""
        with self._changed:
            held, self._held = self._held, set()
        for future in held:
            future.get_loop().call_soon_threadsafe(_let_go, future)
        return len(held)

    def reset(self) -> None:
        """Reset to the initial state, except for the ids, which never repeat."""
        with self._changed:
            self._forget()
        self.release()

    def wait_until_held(self, timeout: float = 5.0, count: int = 1) -> None:
        """Wait until this many answers are held. Raises `TimeoutError`."""
        self._wait(lambda: len(self._held) >= count, timeout, lambda: f"{len(self._held)} of {count} answers are held")

    def wait_until_none_held(self, timeout: float = 5.0) -> None:
        """Wait until no answer is held, because it was released or its client disconnected. Raises `TimeoutError`."""
        self._wait(lambda: not self._held, timeout, lambda: f"{len(self._held)} answers are still held")

    def _wait(self, condition: Callable[[], bool], timeout: float, state: Callable[[], str]) -> None:
        with self._changed:
            if not self._changed.wait_for(condition, timeout):
                raise TimeoutError(f"{state()} after {timeout:g} s.")

    async def control(self, request: Request) -> Response:
        body = await request.body()
        match request.method, request.path_params["name"]:
            case "GET", "requests":
                return JSONResponse([{**asdict(r), "body": r.body.decode("utf-8", "replace")} for r in self.requests])
            case "DELETE", "requests":
                self.forget_requests()
            case "POST", "script":
                self.script(*SCRIPT.validate_json(body)["steps"])
            case "POST", "fault":
                self.fault = REPLY_OR_NONE.validate_json(body)
            case "POST", "embeddings_fault":
                self.embeddings_fault = STATUS_OR_NONE.validate_json(body)
            case "POST", "release":
                return JSONResponse({"released": self.release()})
            case "POST", "reset":
                self.reset()
            case _:
                raise HTTPException(404)
        return JSONResponse({"status": "ok"})

    # Called by the server

    async def recorded(self, request: Request) -> Json:
        """Record a request, and return its body as JSON or None."""
        raw = await request.body()
        try:
            parsed = json.loads(raw)
        except ValueError:
            parsed = None
        authorization = request.headers.get("authorization")
        with self._changed:
            self._arrived += 1
            self._requests.append(
                RecordedRequest(self._arrived, request.method, request.url.path, authorization, raw, parsed)
            )
            self._changed.notify_all()
        return parsed

    def takes_key_of(self, request: Request) -> bool:
        return not self.keys or request.headers.get("authorization", "").removeprefix("Bearer ") in self.keys

    def next_reply(self, body: Json) -> Reply:
        """Return the fault, or the first step of the script that matches the request, or an empty reply."""
        instructions = str(body["messages"][0].get("content"))
        with self._changed:
            if self.fault:
                return self.fault
            for step in self._script:
                is_for_it = bool(step.to) or not _is_beside(body)
                if is_for_it and step.streams in (None, bool(body.get("stream"))) and instructions.startswith(step.to):
                    self._script.remove(step)
                    return step
        return Reply()

    async def hold(self) -> None:
        """Wait until released."""
        future = asyncio.get_running_loop().create_future()
        with self._changed:
            self._held.add(future)
            self._changed.notify_all()
        try:
            await future
        finally:
            with self._changed:
                self._held.discard(future)
                self._changed.notify_all()


def _is_beside(body: Json) -> bool:
    messages = body.get("messages") if isinstance(body, dict) else None
    return bool(messages) and isinstance(messages[0], dict) and str(messages[0].get("content")).startswith(BESIDE)


def _let_go(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
