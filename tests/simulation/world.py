"""The world of a schedule: two people, services for each process, and the candidate app, over one in-memory database.

Our stores and clients and the laptop's candidate app are the real ones. Only the database, the wires and the models are
stood in for. The world remembers what happened, for the checks.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar, cast

import httpx2
import jwt
from pymongo.errors import AutoReconnect, NetworkTimeout
from starlette.applications import Starlette

from infra.local.candidate_app import OPERATIONS, WriteApi
from infra.local.environment import API_PATH
from qwestly_agent.agents.design import AgentTurn
from qwestly_agent.approvals.act import answer_act
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import build_stores
from qwestly_agent.chat.services import TurnRegistry
from qwestly_agent.clients.aws import ErasureLog, Mail, Workflows
from qwestly_agent.clients.candidate_app import CandidateApp
from qwestly_agent.domain.approval import Approval, Level
from qwestly_agent.domain.candidate import CANDIDATES, CARDS, PREFERENCES
from qwestly_agent.model_calls import record_cost
from qwestly_agent.platform.work import Work
from qwestly_agent.services import AnyAction
from qwestly_agent.stores import approvals, conversations, measures, memories, messages, usage, user_settings
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.candidate_data import Knowledge
from qwestly_agent.stores.conversations import LEASE_SECONDS
from qwestly_agent.stores.usage import StageDay, Usage
from qwestly_agent.workflows import ACTIONS
from tests.simulation.agent import Agent, AnyPlan, Embeddings, PromptSeen, in_one_wording
from tests.simulation.aws import Aws
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
from tests.simulation.settings import CHAT_SETTINGS, MOST_UNASKED, SECRET, SETTINGS, SHARED_SECRET, TIGHT

T = TypeVar("T")


@dataclass(frozen=True)
class Person:
    name: str

    @property
    def id(self) -> str:
        return f"auth0|{self.name.lower()}"

    @property
    def address(self) -> str:
        return f"{self.name.lower()}@example.org"


ADA, BEN = PEOPLE = (Person("Ada"), Person("Ben"))
CONVERSATIONS = ("morning", "evening")
"""Both conversations have one of each id."""
BEGINS = 1_800_057_000.0
"""Ten minutes before midnight."""
TOKEN_SECONDS, ACT_SECONDS = 600.0, 30.0
APP_SKEWS = (0.0, 0.0, 2.0, -2.0, 20.0, -20.0)
"""The contract has it allow for 30 seconds."""
FIRST_VALUES = {"headline": "Nurse", "location": "Porto", "roles": ["Nurse"]}
WATCHED = (
    approvals.COLLECTION,
    conversations.COLLECTION,
    memories.COLLECTION,
    messages.COLLECTION,
    user_settings.SIGNALS,
    user_settings.AUTONOMY,
    user_settings.COLLECTION,
    measures.ROLLOUT,
)

DATABASE = Kind(error=lambda: NetworkTimeout("no answer"), refused=lambda: AutoReconnect("no server"), patience=3.0)
APP = Kind(
    error=lambda: httpx2.ReadError("lost"),
    refused=lambda: httpx2.ConnectError("refused"),
    slow=(0.05, 8.0, 15.0, 40.0, 59.0, 61.0, 65.0, 80.0),
    weight=12,
    faults=(*FAULTS, SLOW_BEFORE, LATE, LATE_AND_DEAD, TWICE, BUSY, BUSY),
    busy=lambda: _response(429, b'{"error": {"code": "too_many_requests", "message": "Please wait."}}'),
)
LOOKUP = replace(
    APP,
    faults=(*APP.faults, *[BUSY] * 8),
    busy=lambda: _response(404, b'{"error": {"code": "not_found", "message": "There is no such page."}}'),
)
"""Of outcomes: now and then a server answers that does not know the route yet."""
JUDGE_USD = 0.001
MODEL = Kind(error=Unavailable, refused=Unavailable, slow=(0.5, 2.9), patience=60.0)


@dataclass(frozen=True)
class Sent:
    """A write that was sent to the candidate app."""

    at: float
    user_id: str
    act: str
    key: str
    body: bytes
    process: Process[Any] | None


@dataclass(frozen=True)
class Effect:
    """A write that the candidate app did."""

    at: float
    user_id: str
    act: str
    before: Document
    """The user's fields."""
    after: Document

    def changed(self, name: str) -> bool:
        return self.before[name] != self.after[name]


class Version(NamedTuple):
    """A document as it was written."""

    at: float
    document: Document | None
    """None once it was deleted."""
    process: Process[Any] | None


@dataclass
class World:
    choices: Choices
    scheduler: Scheduler = field(init=False)
    tables: Tables = field(init=False)
    aws: Aws = field(init=False)
    versions: dict[str, dict[str, list[Version]]] = field(
        default_factory=lambda: {each: {} for each in WATCHED},
    )
    """All versions of each document of the collections that are watched."""
    written_by: dict[tuple[str, str], Version] = field(default_factory=dict[tuple[str, str], Version])
    """The last write of each document."""
    removed_by: list[tuple[str, Version]] = field(default_factory=list[tuple[str, Version]])
    """Deleted documents with their last version."""
    sent: list[Sent] = field(default_factory=list[Sent])
    effects: list[Effect] = field(default_factory=list[Effect])
    never_arrived: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """When the candidate app said that it had never seen a key."""
    replaced: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """What a text takes the place of, both in one wording."""
    elsewhere: list[tuple[float, str, str]] = field(default_factory=list[tuple[float, str, str]])
    """Changes by others: time, user and field."""
    prompts: list[PromptSeen] = field(default_factory=list[PromptSeen])
    judged_for: list[str] = field(default_factory=list[str])
    """The user of each request to a judge, which costs `JUDGE_USD`."""
    unjudged: list[Any] = field(default_factory=list[Any])
    """Processes in which the judge of notes did not answer."""
    logged: list[str] = field(default_factory=list[str])
    """Kinds of errors that were logged."""
    serving: dict[int, Any] = field(default_factory=dict[int, Any])
    """The services of each process, by its number."""

    def __post_init__(self) -> None:
        self.scheduler = Scheduler(self.choices)
        self.tables = Tables(lambda: self.time, self._noted, self._removed, lambda: self.scheduler.is_in_dead)
        self.aws = Aws(self.scheduler, self._invoke)
        skew = self.choices.one(APP_SKEWS)
        self.api = WriteApi(cast(Any, Database(self.tables, at_once)), SECRET, lambda: self.time + skew)
        self.app = Starlette(routes=self.api.routes())
        self.http = httpx2.AsyncClient(transport=_Wire(self), trust_env=False)
        self.people = PEOPLE
        self._known: dict[tuple[str, int], tuple[Document, Approval]] = {}
        self._before: Document = {}
        limits = self.choices.number(4)
        self.chat_settings = replace(CHAT_SETTINGS, **TIGHT) if limits == 1 else CHAT_SETTINGS
        is_bounded = limits in (1, 2)
        self.actions: Any = {tool: bounded(each) for tool, each in ACTIONS.items()} if is_bounded else ACTIONS
        for each in PEOPLE:
            self._settle(each)

    def _settle(self, person: Person) -> None:
        mine = {"_id": person.id, "user_id": person.id}
        fields = {name: FIRST_VALUES[name] for name in ("headline", "location")}
        self.tables.put(CANDIDATES, {**mine, "version": 1, "name": person.name, "email": person.address, **fields})
        self.tables.put(PREFERENCES, {**mine, "version": 1, "roles": FIRST_VALUES["roles"]})

    @property
    def time(self) -> float:
        return BEGINS + self.scheduler.now

    @property
    def records(self) -> dict[str, list[Version]]:
        """All versions of each approval."""
        return self.versions[approvals.COLLECTION]

    @property
    def approvals(self) -> list[Approval]:
        """The approvals as they are now."""
        return [self._parsed(each) for each in self.table(approvals.COLLECTION).values()]

    def _parsed(self, document: Document) -> Approval:
        key = document["_id"], document["revision"]
        if self._known.get(key, (None, None))[0] is not document:
            self._known[key] = document, Approvals.from_document(document)
        return self._known[key][1]

    def table(self, name: str) -> dict[str, Document]:
        return self.tables.documents.get(name, {})

    def fields(self, user_id: str) -> Document:
        """The user's fields, as the candidate app has them."""
        found = {**self.table(CANDIDATES)[user_id], **self.table(PREFERENCES)[user_id]}
        cards = {each["card_id"]: each for each in self.table(CARDS).values() if each["user_id"] == user_id}
        return {**{name: found.get(name) for name in FIRST_VALUES}, "cards": cards}

    def change_elsewhere(self, user_id: str, **values: Any) -> None:
        """Change fields as the user does in the candidate app."""
        self.elsewhere += [(self.scheduler.now, user_id, name) for name in values]
        self.tables.update(CANDIDATES, {"_id": user_id}, {"$set": values, "$inc": {"version": 1}})

    def say(self, user_id: str, conversation_id: str, run_id: str, message: str) -> None:
        """Store the user's message as a turn does."""
        turn = {"message_id": f"m-{run_id}", "text": message, "started_at": self.time}
        here = conversations.key_query(user_id, conversation_id)
        first = {"id": conversation_id, "lease_until": 0.0, "design": "default", "last_used": self.time}
        update = {"$set": {f"turns.{run_id}": turn}, "$setOnInsert": first}
        self.tables.update(conversations.COLLECTION, here, update, upsert=True)

    def set_level(self, user_id: str, level: Level, ceiling: Level) -> None:
        self.tables.put(
            user_settings.AUTONOMY, {"_id": user_id, "user_id": user_id, "level": level, "ceiling": ceiling}
        )

    # --- services ---

    def services(self, process: Process[Any], settings: Settings | None = None, plan: AnyPlan = None) -> Any:
        """The services of one process. `settings` are those of its function, by default of one without models; `plan`
        is what the agent of its turn does."""
        given = settings or SETTINGS

        def call(name: str, effect: Callable[[], Any], *, writes: bool) -> Any:
            return self.scheduler.call(name, effect, DATABASE, writes=writes)

        def clock() -> float:
            return round(self.time + process.skew, 5)

        def log(_: Any, extra: Document | None = None) -> None:
            if (cause := (extra or {}).get("cause")) and not self.scheduler.is_over:
                self.logged.append(cause[0])

        def note_prompt(turn: AgentTurn, text: str) -> None:
            user_id, run_id = turn.deps.user_id, turn.run_id
            counted = self.table(usage.COLLECTION).get(user_id, {"recent": []})
            entered = [each.partition(":")[2] for each in counted["recent"]]
            running = counted.get("running", {})
            since = running.get(run_id, 0.0)
            earlier = entered[: entered.index(run_id)] if run_id in entered else []
            before = [each for each in earlier if running.get(each, 0.0) > since - LEASE_SECONDS]
            shown = text, turn.prompt, turn.context
            self.prompts.append(PromptSeen(self.scheduler.now, user_id, *shown, process, run_id, len(before)))

        async def renew() -> Settings:
            return given

        database = cast(Any, Database(self.tables, call))
        ids = (f"{process.number}-{number}" for number in range(10_000))
        agent = Agent(plan, note_prompt)
        made = self.serving[process.number] = _Services(
            database=database,
            settings=given,
            secrets=SimpleNamespace(settings=given, renew=renew),
            clock=clock,
            new_id=lambda: next(ids),
            logger=SimpleNamespace(warning=log, error=log, info=log, thread_safe_append_keys=lambda **_: None),
            traces=None,
            judges={"fast": None},
            models={"fast": None},
            knowledge=Knowledge.of(database),
            stage_day=StageDay(Usage(database), 0.0),
            actions=self.actions,
            workflows=Workflows(self.aws.client, given.task_token_key, "machine:"),
            mail=Mail(self.aws.client, given.mail_from),
            event_bus=None,
            erasure_log=ErasureLog(self.aws.client, "erasures", ("a-key-of-the-tests",), clock),
            candidate_app=CandidateApp(
                self.http, f"https://app.example{API_PATH}", given.signing_secret, clock, lambda: next(ids)
            ),
            embeddings=Embeddings(),
            moderation=SimpleNamespace(start_check=lambda _: None),
            designs=SimpleNamespace(
                variants=(),
                choose=lambda design, role: ("default", "chat"),
                find=lambda design, role: agent,
                find_variant=lambda agents, role: agent,
            ),
            sleep=partial(self.scheduler.sleep_of, process),
        )
        return made

    def token(self, user_id: str, lives: float = TOKEN_SECONDS) -> str:
        """The user's own; one that expired `-lives` seconds ago if that is negative."""
        return jwt.encode({"user_id": user_id, "exp": self.time + lives}, SHARED_SECRET, algorithm="HS256")

    async def _invoke(self, event: Document) -> Document:
        """`act` is a process of its own: it goes on if who asked dies, and dies alone."""
        caller = self.scheduler.running

        async def work(process: Process[Any]) -> Document:
            return await answer_act(self.services(process), event)

        name = f"act for {caller.name if caller else 'nobody'}"
        begun = self.scheduler.start(name, work, limit=ACT_SECONDS)
        begun.caller = caller
        await begun.over
        if (answer := begun.result) is None:  # it died, or raised what it should not
            raise Unavailable
        return answer

    async def judged(self, services: Any, user_id: str, *_: Any) -> bool:
        """Replaces the model that judges whether a message asks for a change: always true."""
        return await self.asked_model(services, user_id, "judge", lambda: True)

    async def judged_note(self, service: Any, note: Any) -> Any:
        """Replaces the model that judges whether the user's words support a note: true if it answers."""
        checked = note.model_copy(update={"is_checked": self.has_judge()})
        return await self.asked_model(service.services, service.user_id, "judge", lambda: checked)

    def has_judge(self) -> bool:
        """Whether the judge of notes answers."""
        has_answer = self.choices.number(8) != 1
        if not has_answer:
            self.unjudged.append(self.scheduler.running)
        return has_answer

    async def titled(self, services: Any, user_id: str, *_: Any) -> str:
        """Replaces the model that makes titles."""
        return await self.asked_model(services, user_id, "title", lambda: "A title")

    async def compared(self, services: Any, user_id: str, pairs: Sequence[Any], **_: Any) -> list[str]:
        """Replaces the model that compares a correction with what it corrects: only one of both holds."""
        return await self.asked_model(services, user_id, "compare", lambda: ["contradicts"] * len(pairs))

    async def related(self, services: Any, user_id: str, pairs: Sequence[Any], _: float) -> list[str]:
        """Replaces the model that compares what was read with what is known."""
        relations = [self.relation(each.known, each.new) for each in pairs]
        return await self.asked_model(services, user_id, "compare", lambda: relations)

    def relation(self, known: str, new: str) -> str:
        known, new = in_one_wording(known), in_one_wording(new)
        return "same" if known == new else "contradicts" if known in self.replaced.get(new, ()) else "other"

    async def asked_model(self, services: Any, user_id: str, name: str, answer: Callable[[], T]) -> T:
        """The answer of a model, if it comes."""
        try:
            return await self.scheduler.call(name, answer, MODEL, writes=False)
        finally:
            self.judged_for.append(user_id)
            await record_cost(services, user_id, JUDGE_USD)

    # --- what happens ---

    def _noted(self, collection: str, document: Document) -> None:
        version = Version(self.scheduler.now, document, self.scheduler.running)
        self.written_by[collection, document["_id"]] = version
        if collection in self.versions:
            before = self.versions[collection].setdefault(document["_id"], [])
            if collection == approvals.COLLECTION:
                was = before[-1].document if before else None
                if not was or was["status"] != document["status"]:
                    self.scheduler.note(f"        {document['_id'][:9]} is {document['status']}")
            before.append(version)
        elif collection == OPERATIONS and document["status"] == "done":
            act = next(each.act for each in self.sent if each.key == document["key"])
            user_id = document["user_id"]
            self.scheduler.note(f"        the candidate app has done {act[:9]}")
            self.effects.append(Effect(version.at, user_id, act, self._before, self.fields(user_id)))

    def _removed(self, collection: str, document: Document) -> None:
        version = Version(self.scheduler.now, None, self.scheduler.running)
        self.removed_by.append((collection, version._replace(document=document)))
        self.written_by.pop((collection, document["_id"]), None)
        if collection in self.versions:
            self.versions[collection][document["_id"]].append(version)

    def answer(self, request: httpx2.Request, user_id: str) -> httpx2.Response:
        """The candidate app's answer, all in one step."""
        self._before = self.fields(user_id)
        found: list[Document] = []

        async def receive() -> Document:
            return {"type": "http.request", "body": request.content, "more_body": False}

        async def send(message: Any) -> None:
            found.append(message)

        url = request.url
        headers = [(name.lower(), value) for name, value in request.headers.raw]
        scope = {"type": "http", "method": request.method, "path": url.path, "query_string": b"", "headers": headers}
        scope |= {"scheme": "https", "server": ("app.example", 443), "root_path": "", "state": {}}
        _at_once(self.app(scope, receive, send))
        body = b"".join(each.get("body", b"") for each in found[1:])
        if found[0]["status"] == 404 and "unknown_operation" in body.decode():
            self.never_arrived.setdefault(url.path.rpartition("/")[2], []).append(self.scheduler.now)
        return _response(found[0]["status"], body)


def bounded(action: AnyAction) -> AnyAction:
    bounded = replace(action, most_unasked_a_day=MOST_UNASKED)
    bounded.__dict__["schema_digest"] = action.schema_digest  # takes a millisecond
    return bounded


class _Services(SimpleNamespace):
    """With each store, and the registry of running turns, once it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name == "running":
            registry = TurnRegistry(self.signals, self.conversations, self.clock, self.logger, self.sleep, self.sleep)
            setattr(self, name, registry)
        elif name == "works":
            self.works = [getattr(self, each) for each, kind in STORES.items() if issubclass(kind, Work)]
        elif name in STORES:
            setattr(self, name, STORES[name].of(self.database))
        else:
            raise AttributeError(name)
        return getattr(self, name)


STORES = {name: type(store) for name, store in build_stores(cast(Any, Database(Tables(float), at_once))).items()}


@dataclass(frozen=True)
class _Wire(httpx2.AsyncBaseTransport):
    world: World

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        world, is_write = self.world, request.method != "GET"
        token = request.headers["authorization"].removeprefix("Bearer ")
        claims = jwt.decode(token, options={"verify_signature": False})
        if is_write:
            act, now, key = claims["act"]["sub"], world.scheduler.now, request.headers["idempotency-key"]
            world.sent.append(Sent(now, claims["sub"], act, key, request.content, world.scheduler.running))
        name = f"{request.method} {request.url.path.removeprefix(API_PATH).partition('/cards/')[0] or '/cards'}"
        kind = LOOKUP if "/operations/" in request.url.path else APP
        return await world.scheduler.call(name, lambda: world.answer(request, claims["sub"]), kind, writes=is_write)


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
