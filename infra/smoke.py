"""A walk through a deployed chat, as a user who is nobody: `python -m infra.smoke URL | STAGE [--spend]`.

With a stage of samconfig.toml the addresses are its stack's outputs, and the secret is read in Parameter Store. With a
URL the secret is QWESTLY_AGENT_SHARED_SECRET, a value or a reference; `--approve-url` and `--origin` say the rest.
`--spend` also says something in both protocols, which the real model answers for a fraction of a cent.

Prints a line a step with its milliseconds, erases what it left, and exits with 1 where a step failed.
"""

import argparse
import json
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
import jwt
from botocore.exceptions import BotoCoreError, ClientError

from infra.stages import NoSuchStage, Stage
from qwestly_agent.bootstrap import AWS, look_up
from qwestly_agent.errors import InvalidSettings
from qwestly_agent.settings import is_reference

PATIENCE_SECONDS = 60.0
TOKEN_SECONDS = 300
QUESTION = "In three sentences: what can you help me with?"
LOCAL_ORIGIN = "http://localhost:3000"


class Failed(Exception):
    """With a sentence for whoever looks on."""


class NotTried(Exception):
    """Since something before it failed, or was not asked for."""


@dataclass(frozen=True)
class Place:
    """Where the stage is, and what it demands of a token."""

    chat: str
    approve: str
    origin: str
    secret: str = field(repr=False)
    claims: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Visit:
    place: Place
    http: httpx2.Client
    spend: bool
    user_id: str = field(default_factory=lambda: f"smoke|{uuid.uuid4().hex}")
    conversation_id: str = ""

    def ask(self, method: str, path: str, expected: int = 200, **more: Any) -> Any:
        """The JSON that is answered. Raises `Failed` for another status."""
        response = self.http.request(method, f"{self.place.chat}{path}", **{"headers": self.headers, **more})
        if response.status_code != expected:
            raise Failed(f"{method} {path} answers {response.status_code}, not {expected}")
        return response.json()

    @property
    def headers(self) -> dict[str, str]:
        now = int(time.time())
        claims = {"user_id": self.user_id, "iat": now, "exp": now + TOKEN_SECONDS, **self.place.claims}
        return {"Authorization": f"Bearer {jwt.encode(claims, self.place.secret, algorithm='HS256')}"}


Step = Callable[[Visit], str | None]
"""It may have something to say."""


def demand(holds: object, otherwise: str) -> None:
    if not holds:
        raise Failed(otherwise)


# --- the steps --------------------------------------------------------------------------------------------------------


def health(visit: Visit) -> None:
    demand(visit.ask("GET", "/healthz", headers={}) == {"ok": True}, "it is not ready")


def nobody_without_a_token(visit: Visit) -> None:
    for headers in ({}, {"Authorization": "Bearer of nothing"}):
        refused = visit.ask("GET", "/api/conversations", 401, headers=headers)
        demand(refused["error"]["code"] == "unauthorized", "an error of another shape")


def preflight(visit: Visit) -> None:
    def allowed(origin: str) -> str | None:
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        answer = visit.http.options(f"{visit.place.chat}/api/chat", headers=asked)
        return answer.headers.get("access-control-allow-origin")

    demand(allowed(visit.place.origin) == visit.place.origin, f"{visit.place.origin} may not call it")
    demand(allowed("https://evil.example") is None, "a page of anybody may call it")


def a_turn(visit: Visit) -> str:
    told = streamed(visit, {"message": QUESTION}, words="text_delta", last="done")
    visit.conversation_id = told.first["conversation_id"]
    return told.summary


def a_turn_of_the_ai_sdk(visit: Visit) -> str:
    said = {"id": uuid.uuid4().hex, "role": "user", "parts": [{"type": "text", "text": QUESTION}]}
    body = {"id": uuid.uuid4().hex, "messages": [said], "trigger": "submit-message"}
    return streamed(visit, body, words="text-delta", last="finish").summary


def its_conversation(visit: Visit) -> None:
    conversation = visit.ask("GET", f"/api/conversations/{_conversation(visit)}")
    said = [message["role"] for message in conversation["messages"]]
    demand(said == ["user", "assistant"], f"it holds {said}")


def stop(visit: Visit) -> None:
    stopping = visit.ask("POST", f"/api/conversations/{_conversation(visit)}/stop")
    demand(stopping == {"stopping": False}, "something still runs")


def end(visit: Visit) -> None:
    visit.ask("POST", f"/api/conversations/{_conversation(visit)}/end")


def memories(visit: Visit) -> None:
    demand(visit.ask("GET", "/api/memories")["items"] == [], "somebody new is remembered")


def export(visit: Visit) -> None:
    exported = visit.ask("GET", "/api/me/export")
    demand(exported["complete"] and exported["user_id"] == visit.user_id, "it is not complete")


def brake(visit: Visit) -> None:
    try:
        demand(visit.ask("POST", "/api/brake")["state"] == "paused", "it did not hold")
        visit.ask("POST", "/api/chat", 423, json={"message": QUESTION})
    finally:
        released = visit.ask("DELETE", "/api/brake")
    demand(released["state"] == "running", "it cannot be released (is everybody's on?)")


def a_link_that_leads_nowhere(visit: Visit) -> None:
    if not visit.place.approve:
        raise NotTried("no address of the approval pages was given")
    page = visit.http.get(f"{visit.place.approve}/{uuid.uuid4().hex}")
    demand(page.status_code == 404, f"it answers {page.status_code}, not 404")
    demand("text/html" in page.headers["content-type"], "it is no page")
    demand(page.headers.get("cache-control") == "no-store", "it may be kept")


def leaving(visit: Visit) -> str:
    erased = visit.ask("DELETE", "/api/me")["erased"]
    left = {name: count for name, count in visit.ask("GET", "/api/me/export")["counts"].items() if count}
    demand(not left, f"it leaves {left}")
    return f"{sum(erased.values())} documents erased, none left"


STEPS: Mapping[str, Step] = {
    "health": health,
    "401 without a token": nobody_without_a_token,
    "CORS": preflight,
    "a turn": a_turn,
    "a turn of the AI SDK": a_turn_of_the_ai_sdk,
    "its conversation": its_conversation,
    "stop": stop,
    "end": end,
    "memories": memories,
    "export": export,
    "brake on and off": brake,
    "a wrong link": a_link_that_leads_nowhere,
    # Always the last one: it takes away what the others left.
    "leaving": leaving,
}


def _conversation(visit: Visit) -> str:
    if not visit.conversation_id:
        raise NotTried("there was no turn")
    return visit.conversation_id


# --- a stream ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """A stream that came to its end."""

    first: Any
    summary: str


def streamed(visit: Visit, body: Mapping[str, Any], words: str, last: str) -> Told:
    """Raises `Failed` where words and end came in one piece: whatever is between us and the model then buffers."""
    if not visit.spend:
        raise NotTried("it costs a fraction of a cent: --spend")
    started = time.perf_counter()
    seen: list[tuple[str, Any, int, float]] = []
    with visit.http.stream("POST", f"{visit.place.chat}/api/chat", headers=visit.headers, json=body) as response:
        if response.status_code != 200:
            raise Failed(f"it answers {response.status_code}")
        seen.extend((name, data, piece, time.perf_counter() - started) for name, data, piece in _events(response))
    names = [name for name, *_ in seen]
    demand(last in names, f"it ended with {names[-1:]}, not with {last}")
    demand(words in names, "nothing was said")
    first_words, end = seen[names.index(words)], seen[names.index(last)]
    demand(first_words[2] < end[2], "its words came all at once: it does not stream")
    return Told(seen[0][1], f"first words after {first_words[3] * 1000:.0f} ms")


def _events(response: httpx2.Response) -> Iterator[tuple[str, Any, int]]:
    """Each event's name and data, and the number of the piece of the answer in which it came to its end."""
    rest, name = "", ""
    for piece, text in enumerate(response.iter_text()):
        *lines, rest = (rest + text).split("\n")
        for line in lines:
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: {"):
                data = json.loads(line.removeprefix("data: "))
                yield name or data["type"], data, piece


# --- walking ----------------------------------------------------------------------------------------------------------


def walk(visit: Visit, tell: Callable[[str], None] = print) -> bool:
    """Whether no step failed."""
    failures = [name for name, step in STEPS.items() if not _taken(visit, name, step, tell)]
    return not failures


def _taken(visit: Visit, name: str, step: Step, tell: Callable[[str], None]) -> bool:
    started = time.perf_counter()
    try:
        mark, said = "ok", step(visit) or ""
    except NotTried as why:
        mark, said = "not tried", str(why)
    except Failed as why:
        mark, said = "FAILED", str(why)
    except (httpx2.HTTPError, ValueError, LookupError, TypeError) as error:  # no answer, or one of another shape
        mark, said = "FAILED", type(error).__name__
    tell(f"{mark:9}  {name:20}  {(time.perf_counter() - started) * 1000:6.0f} ms  {said}".rstrip())
    return mark != "FAILED"


def place_of_stage(stage: Stage, aws: Callable[[str], Any]) -> Place:
    [stack] = aws("cloudformation").describe_stacks(StackName=stage.stack)["Stacks"]
    outputs = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
    claims = {"aud": stage.parameter("JwtAudience"), "iss": stage.parameter("JwtIssuer")}
    return Place(
        chat=outputs["ChatUrl"].rstrip("/"),
        approve=f"{outputs['ApproveUrl'].rstrip('/')}/approve",
        origin=stage.parameter("AllowedOrigins").split(",")[0],
        secret=_current(look_up(f"ssm:{stage.parameter('ConfigurationPath')}/shared-secret")),
        claims={name: value for name, value in claims.items() if value},
    )


def place_of_url(url: str, approve: str, origin: str, environment: Mapping[str, str]) -> Place:
    """Raises `InvalidSettings`."""
    secret = environment.get("QWESTLY_AGENT_SHARED_SECRET", "")
    if not secret:
        raise InvalidSettings("Missing in the environment: QWESTLY_AGENT_SHARED_SECRET.")
    claims = {"aud": environment.get("QWESTLY_JWT_AUDIENCE"), "iss": environment.get("QWESTLY_JWT_ISSUER")}
    return Place(
        chat=url.rstrip("/"),
        approve=approve.rstrip("/"),
        origin=origin,
        secret=_current(look_up(secret) if is_reference(secret) else secret),
        claims={name: value for name, value in claims.items() if value},
    )


def _current(secrets: str) -> str:
    """The first, where several are accepted."""
    return secrets.split(",")[0].strip()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m infra.smoke", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("where", help="a URL, or a stage of samconfig.toml")
    parser.add_argument("--approve-url", default="", help="of the approval pages, with /approve")
    parser.add_argument("--origin", default=LOCAL_ORIGIN, help=f"of a page that may call it ({LOCAL_ORIGIN})")
    parser.add_argument("--spend", action="store_true", help="let the model answer, in both protocols")
    given = parser.parse_args()
    try:
        if "://" in given.where:
            place = place_of_url(given.where, given.approve_url, given.origin, os.environ)
        else:
            place = place_of_stage(Stage.load(given.where), AWS().client)
    except (NoSuchStage, InvalidSettings) as error:
        parser.error(str(error))
    except (ClientError, BotoCoreError, LookupError) as error:
        parser.error(f"The stack's outputs cannot be read: {type(error).__name__}")
    with httpx2.Client(timeout=PATIENCE_SECONDS) as http:
        return 0 if walk(Visit(place, http, given.spend)) else 1


if __name__ == "__main__":
    sys.exit(main())
