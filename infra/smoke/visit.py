"""Requests to a deployed chat, and the errors that report a wrong answer."""

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
import jwt

TOKEN_SECONDS = 300
TURNS = "/api/chat"


class Failed(Exception):
    """A step failed; carries a sentence for the operator."""


class NotTried(Exception):
    """A step was skipped, because an earlier one failed or was not requested."""


@dataclass(frozen=True)
class Place:
    """The URLs of the stage, and the claims that its tokens need."""

    chat: str
    api: str
    """URL for everything but turns; the same if one URL serves both."""
    approve: str
    origin: str
    secret: str = field(repr=False)
    """The shared secret, or a private key (PEM)."""
    claims: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The distribution's secret, needed to call the stage's own URLs directly."""

    def url(self, path: str) -> str:
        return f"{self.chat if path == TURNS or path.startswith(f'{TURNS}/') else self.api}{path}"


@dataclass
class Visit:
    place: Place
    http: httpx2.Client
    spend: bool
    user_id: str = field(default_factory=lambda: f"smoke|{uuid.uuid4().hex}")
    conversation_id: str = ""

    def ask(self, method: str, path: str, expected: int = 200, **more: Any) -> Any:
        """Send a request and return the JSON of the response. Raises `Failed` for another status."""
        response = self.http.request(method, self.place.url(path), **{"headers": self.headers, **more})
        if response.status_code != expected:
            raise Failed(f"{method} {path} answers {response.status_code}, not {expected}")
        return response.json()

    @property
    def headers(self) -> dict[str, str]:
        now = int(time.time())
        claims = {"user_id": self.user_id, "iat": now, "exp": now + TOKEN_SECONDS, **self.place.claims}
        algorithm = "ES256" if self.place.secret.startswith("-----BEGIN") else "HS256"
        return {"Authorization": f"Bearer {jwt.encode(claims, self.place.secret, algorithm=algorithm)}"}


def demand(holds: object, otherwise: str) -> None:
    if not holds:
        raise Failed(otherwise)


# --- a stream ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Event:
    name: str
    data: Any
    piece: int
    """Number of the chunk in which the event ended."""
    seconds: float
    """Time since the request."""


def streamed(visit: Visit, body: Mapping[str, Any], last: str) -> list[Event]:
    """Return the events of `POST /api/chat`. Raises `Failed` if the last one is not `last`, and `NotTried` without
    --spend."""
    if not visit.spend:
        raise NotTried("it costs some cents: --spend")
    started = time.perf_counter()
    with visit.http.stream("POST", visit.place.url(TURNS), headers=visit.headers, json=body) as response:
        if response.status_code != 200:
            raise Failed(f"it answers {response.status_code}")
        events = [Event(name, data, piece, time.perf_counter() - started) for name, data, piece in _events(response)]
    if last not in [each.name for each in events]:
        ended = " ".join([events[-1].name, json.dumps(events[-1].data)]) if events else "nothing"
        raise Failed(f"it ended with {ended}, not with {last}")
    return events


def _events(response: httpx2.Response) -> Iterator[tuple[str, Any, int]]:
    """Yield each event's name and data, and the number of the chunk in which it ended."""
    rest, name = "", ""
    for piece, text in enumerate(response.iter_text()):
        *lines, rest = (rest + text).split("\n")
        for line in lines:
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: {"):
                data = json.loads(line.removeprefix("data: "))
                yield name or data["type"], data, piece


@dataclass(frozen=True)
class Turn:
    """An answer in a new conversation."""

    conversation_id: str
    events: list[Event]

    @property
    def content(self) -> str:
        return self.events[-1].data["content"]

    @property
    def called(self) -> list[str]:
        """Return the names of the called tools."""
        return [each["name"] for each in self.all("tool_call")]

    @property
    def cost(self) -> str:
        cost = self.events[-1].data["usage"]["cost_usd"]
        return "at an unknown price" if cost is None else f"${cost:.4f}"

    def all(self, name: str) -> list[Any]:
        return [each.data for each in self.events if each.name == name]

    def must_have_called(self, *tools: str) -> None:
        """Raise `Failed` unless each of these tools returned a result."""
        worked = {each["name"] for each in self.all("tool_result") if each["ok"]}
        missing = [tool for tool in tools if tool not in worked]
        told = ", ".join(self.called) or "nothing"
        demand(not missing, f"expected a result of {', '.join(missing)}; the model called {told}")


def say(visit: Visit, message: str) -> Turn:
    """Send a message in a new conversation. Raises `Failed` and `NotTried`."""
    events = streamed(visit, {"message": message}, "done")
    return Turn(events[0].data["conversation_id"], events)
