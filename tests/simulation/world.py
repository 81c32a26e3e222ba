"""The world around approvals: services for each process, and the candidate app, over one in-memory database.

Our stores, the client of the candidate app and the laptop's candidate app are the real ones. Only the database, the
wires and the models are stood in for. The world remembers what happened, for the checks.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import httpx2
import jwt
from pymongo.errors import AutoReconnect, NetworkTimeout
from starlette.applications import Starlette

from infra.local.candidate_app import OPERATIONS, WriteApi
from infra.local.environment import API_PATH
from qwestly_agent.approvals.act import answer_act
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import build_stores
from qwestly_agent.clients.candidate_app import CandidateApp
from qwestly_agent.domain.approval import Level
from qwestly_agent.domain.candidate import CANDIDATES, PREFERENCES
from qwestly_agent.stores import approvals, conversations, user_settings
from qwestly_agent.stores.candidate_data import Knowledge
from qwestly_agent.workflows import ACTIONS
from tests.simulation.database import Database, Document, Tables, at_once
from tests.simulation.scheduler import (
    BUSY,
    FAULTS,
    LATE,
    LATE_AND_DEAD,
    SLOW_BEFORE,
    TWICE,
    Choices,
    Kind,
    Process,
    Scheduler,
)

T = TypeVar("T")

USER, CONVERSATION = "auth0|ada", "conversation"
BEGINS = 1_800_000_000.0
SHARED_SECRET = "a-shared-secret-of-the-tests-with-32-bytes-or-more"
TOKEN_SECONDS, ACT_SECONDS = 600.0, 30.0
SECRET = "the-secret-which-signs-towards-the-candidate-app"
APP_SKEWS = (0.0, 0.0, 2.0, -2.0, 20.0, -20.0)
"""The contract has it allow for 30 seconds."""
FIRST_VALUES = {"headline": "Nurse", "location": "Porto", "roles": ["Nurse"]}

DATABASE = Kind(error=lambda: NetworkTimeout("no answer"), refused=lambda: AutoReconnect("no server"), patience=3.0)
APP = Kind(
    error=lambda: httpx2.ReadError("lost"),
    refused=lambda: httpx2.ConnectError("refused"),
    slow=(0.05, 8.0, 15.0, 40.0, 59.0, 61.0, 65.0, 80.0),
    weight=12,
    faults=(*FAULTS, SLOW_BEFORE, LATE, LATE_AND_DEAD, TWICE, BUSY, BUSY),
    busy=lambda: _response(429, b'{"error": {"code": "too_many_requests", "message": "Please wait."}}'),
)
WORKFLOWS = Kind(error=Unavailable, refused=Unavailable, slow=(0.5, 5.0))
INVOKE = Kind(error=Unavailable, refused=Unavailable, slow=(0.05, 2.0, 20.0), patience=65.0)
MODEL = Kind(error=Unavailable, refused=Unavailable, slow=(0.5, 2.9))


@dataclass(frozen=True)
class Sent:
    """A write that was sent to the candidate app."""

    at: float
    act: str
    key: str
    body: bytes
    process: Process[Any] | None


@dataclass(frozen=True)
class Effect:
    """A write that the candidate app did."""

    at: float
    act: str
    before: Document
    """The user's fields."""
    after: Document

    def changed(self, name: str) -> bool:
        return self.before[name] != self.after[name]


@dataclass
class World:
    choices: Choices
    scheduler: Scheduler = field(init=False)
    tables: Tables = field(init=False)
    records: dict[str, list[tuple[float, Document]]] = field(default_factory=dict[str, list[tuple[float, Document]]])
    """All versions of each approval, and when each was written."""
    brakes: list[tuple[float, bool]] = field(default_factory=lambda: [(0.0, False)])
    levels: list[tuple[float, Level]] = field(default_factory=list[tuple[float, Level]])
    sent: list[Sent] = field(default_factory=list[Sent])
    effects: list[Effect] = field(default_factory=list[Effect])
    elsewhere: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    """When which field was changed by others."""
    started: list[str] = field(default_factory=list[str])
    """Names of executions."""
    logged: list[str] = field(default_factory=list[str])
    """Kinds of errors that were logged."""

    def __post_init__(self) -> None:
        self.scheduler = Scheduler(self.choices)
        self.tables = Tables(lambda: self.time, self._noted)
        skew = self.choices.one(APP_SKEWS)
        self.api = WriteApi(cast(Any, Database(self.tables, at_once)), SECRET, lambda: self.time + skew)
        self.app = Starlette(routes=self.api.routes())
        self.http = httpx2.AsyncClient(transport=_Wire(self), trust_env=False)
        self._before: Document = {}
        fields = {name: FIRST_VALUES[name] for name in ("headline", "location")}
        self.tables.put(CANDIDATES, {"_id": USER, "user_id": USER, "version": 1, **fields})
        self.tables.put(PREFERENCES, {"_id": USER, "user_id": USER, "version": 1, "roles": FIRST_VALUES["roles"]})
        here = conversations.key_query(USER, CONVERSATION)
        self.tables.put(conversations.COLLECTION, {**here, "user_id": USER, "id": CONVERSATION, "lease_until": 0.0})

    @property
    def time(self) -> float:
        return BEGINS + self.scheduler.now

    @property
    def fields(self) -> Document:
        """The user's fields, as the candidate app has them."""
        found = {**self.tables.documents[CANDIDATES][USER], **self.tables.documents[PREFERENCES][USER]}
        return {name: found.get(name) for name in FIRST_VALUES}

    def change_elsewhere(self, **values: Any) -> None:
        """As the user does in the candidate app."""
        self.elsewhere += [(self.scheduler.now, name) for name in values]
        self.tables.update(CANDIDATES, {"_id": USER}, {"$set": values, "$inc": {"version": 1}})

    def say(self, run_id: str, message: str) -> None:
        """As a turn stores what its user typed."""
        turn = {"message_id": f"m {run_id}", "text": message, "started_at": self.time}
        here = conversations.key_query(USER, CONVERSATION)
        self.tables.update(conversations.COLLECTION, here, {"$set": {f"turns.{run_id}": turn}})

    def set_level(self, level: Level) -> None:
        self.tables.put(user_settings.AUTONOMY, {"_id": USER, "user_id": USER, "level": level, "ceiling": level})

    def services(self, process: Process[Any]) -> Any:
        """The services of one process."""

        def call(name: str, effect: Callable[[], Any], *, writes: bool) -> Any:
            return self.scheduler.call(name, effect, DATABASE, writes=writes)

        def clock() -> float:
            return round(self.time + process.skew, 5)

        def log(_: Any, extra: Document) -> None:
            self.logged.append(extra["cause"][0])

        async def invoke(_: str, event: Document) -> Document:
            return await self._invoke(process, event)

        async def renew() -> Settings:
            return SETTINGS

        database = cast(Any, Database(self.tables, call))
        ids = (f"{process.number}-{number}" for number in range(10_000))
        return SimpleNamespace(
            settings=SETTINGS,
            secrets=SimpleNamespace(settings=SETTINGS, renew=renew),
            clock=clock,
            new_id=lambda: next(ids),
            logger=SimpleNamespace(warning=log, error=log, info=log),
            traces=None,
            judges=None,
            **build_stores(database),
            knowledge=Knowledge.of(database),
            actions=ACTIONS,
            workflows=SimpleNamespace(start=self._start, invoke=invoke),
            candidate_app=CandidateApp(self.http, f"https://app.example{API_PATH}", SECRET, clock, lambda: next(ids)),
        )

    def token(self) -> str:
        """The user's own, for as long as it may live."""
        return jwt.encode({"user_id": USER, "exp": self.time + TOKEN_SECONDS}, SHARED_SECRET, algorithm="HS256")

    async def _invoke(self, caller: Process[Any], event: Document) -> Document:
        """`act` is a process of its own: it goes on if who asked dies, and dies alone."""
        begun: list[Process[Any]] = []

        def begin() -> None:
            async def work(process: Process[Any]) -> Document:
                return await answer_act(self.services(process), event)

            begun.append(self.scheduler.start(f"act for {caller.name}", work, limit=ACT_SECONDS))

        await self.scheduler.call("invoke act", begin, INVOKE)
        while not begun[0].task.done():
            if begun[0].is_dead:
                raise Unavailable
            await asyncio.sleep(0.01)
        if (answer := begun[0].result) is None:  # it raised what it should not
            raise Unavailable
        return await self.scheduler.call("answer of act", lambda: answer, INVOKE)

    async def judged(self, *_: Any) -> bool:
        """In place of the model that judges whether a message asks for a change: it always does."""
        return await self.scheduler.call("judge", lambda: True, MODEL, writes=False)

    async def _start(self, workflow: str, name: str, given: Document) -> None:
        def effect() -> None:
            if name not in self.started:
                self.started.append(name)

        await self.scheduler.call(f"start {name}", effect, WORKFLOWS)

    def _noted(self, collection: str, document: Document) -> None:
        now = self.scheduler.now
        match collection:
            case approvals.COLLECTION:
                versions = self.records.setdefault(document["_id"], [])
                if not versions or versions[-1][1]["status"] != document["status"]:
                    self.scheduler.note(f"        {document['_id'][:9]} is {document['status']}")
                versions.append((now, document))
            case user_settings.SIGNALS:
                self.brakes.append((now, bool(document.get("brake_since"))))
            case user_settings.AUTONOMY:
                self.levels.append((now, document["level"]))
            case _ if collection == OPERATIONS and document["status"] == "done":
                act = next(each.act for each in self.sent if each.key == document["key"])
                self.scheduler.note(f"        the candidate app has done {act[:9]}")
                self.effects.append(Effect(now, act, self._before, self.fields))

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        """The candidate app's answer, all in one step."""
        self._before = self.fields
        messages: list[Document] = []

        async def receive() -> Document:
            return {"type": "http.request", "body": request.content, "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        url = request.url
        headers = [(name.lower(), value) for name, value in request.headers.raw]
        scope = {"type": "http", "method": request.method, "path": url.path, "query_string": b"", "headers": headers}
        scope |= {"scheme": "https", "server": ("app.example", 443), "root_path": "", "state": {}}
        _at_once(self.app(scope, receive, send))
        return _response(messages[0]["status"], b"".join(each.get("body", b"") for each in messages[1:]))


@dataclass(frozen=True)
class _Wire(httpx2.AsyncBaseTransport):
    world: World

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        world, is_write = self.world, request.method != "GET"
        if is_write:
            token = request.headers["authorization"].removeprefix("Bearer ")
            act = jwt.decode(token, options={"verify_signature": False})["act"]["sub"]
            now, key = world.scheduler.now, request.headers["idempotency-key"]
            world.sent.append(Sent(now, act, key, request.content, world.scheduler.running))
        name = f"{request.method} {request.url.path.removeprefix(API_PATH)}"
        return await world.scheduler.call(name, lambda: world.answer(request), APP, writes=is_write)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, content: bytes) -> None:
        self.content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.content


def _response(status: int, content: bytes) -> httpx2.Response:
    return httpx2.Response(status, stream=_Body(content))


def _at_once(work: Coroutine[Any, Any, T]) -> None:
    """Run what never waits."""
    try:
        work.send(None)
    except StopIteration:
        return
    raise AssertionError("the candidate app waits")


SETTINGS = Settings(
    mongodb_uri="mongodb://127.0.0.1:9",
    mongodb_database="simulated",
    qwestly_agent_shared_secret=SHARED_SECRET,
    act_function="approve-act:live",
    model_base_url="http://127.0.0.1:9/v1",
    embeddings_base_url="http://127.0.0.1:9/v1",
    qwestly_candidate_api_secret=SECRET,
    candidate_api_url=f"https://app.example{API_PATH}",
)
