"""The state machines in execution: their real handlers, the database, the candidate app and a scripted model."""

import threading
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

import pytest
from pymongo import MongoClient

from infra.local.aws import AwsServer
from infra.local.aws_functions import Handler, load_handler
from infra.local.aws_moto import Outcome
from infra.local.candidate_app import CandidateAppServer, schema
from infra.local.demo import person
from infra.local.environment import API, Template
from infra.local.job_boards import KEY, JobBoardsServer
from infra.local.model_server import ModelServer
from infra.template_parts import functions
from qwestly_agent import container
from qwestly_agent.approvals.decide import Decision, decide, decide_and_follow_up
from qwestly_agent.approvals.execute import execute
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap, bootstrap_models, bootstrap_resumes
from qwestly_agent.domain.approval import LEFT_BEHIND_SECONDS, Approval, Level, Verb
from qwestly_agent.platform.collection import Document
from qwestly_agent.resumes.reader import ResumeServices
from qwestly_agent.services import ModelServices, Services
from qwestly_agent.stores import runs, user_settings
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.user_data import user_collections
from qwestly_agent.workflow import Side, Workflow
from qwestly_agent.workflow_state import StateFunction
from qwestly_agent.workflows import WORKFLOWS
from tests.servers import API_SECRET, FakeClock, until
from tests.statemachines.second_interpreter import PYTHON, LocalStackServer
from tests.statemachines.slots import Slots

T = TypeVar("T")

Exited = type("Runtime.ExitError", (Exception,), {})
TEMPLATE = Template.load()
TEMPLATE = replace(TEMPLATE, parameters={**TEMPLATE.parameters, "ReserveConcurrency": "false"})
"""Only `World.slots` rejects invocations here."""
MACHINE = TEMPLATE.name("GenerateCardMachine")
BY_NAME = {each.name: each for each in WORKFLOWS}


def states_of(workflow: str, side: Side) -> dict[str, StateFunction[Any, Any]]:
    """A workflow's states in a function, including the one that asks."""
    states = container.states_of(BY_NAME[workflow].functions, side)
    return {name: state for (of, name), state in states.items() if of == workflow}


def function_of(folder: str, module: str) -> str:
    """Return the logical id of the function that runs this module."""
    handlers = {name: (each["CodeUri"], each["Handler"]) for name, each in TEMPLATE.python_functions().items()}
    [logical_id] = [name for name, each in handlers.items() if each == (f"functions/{folder}/", f"{module}.handler")]
    return logical_id


@dataclass
class World:
    aws: AwsServer
    app: CandidateAppServer
    boards: JobBoardsServer
    clock: FakeClock
    database: Any
    """A synchronous database of pymongo."""
    replaced: dict[tuple[str, str], Handler] = field(default_factory=dict)
    """The handlers of single states, by their workflow and their name."""
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)
    """Held by a state or by a deciding user, if a test compares the resulting data."""

    def run(self, work: Callable[[Services], Awaitable[T]]) -> T:
        return container.services.run(work)

    def runs(self, execution: str) -> bool:
        name = execution.rpartition(":")[2]
        return any((each.name, each.status) == (name, "RUNNING") for each in self.aws.workflows())

    @contextmanager
    def instead_of(
        self, state: str, wrapped: Callable[[Handler], Handler], folder: str = "generate_card"
    ) -> Iterator[None]:
        """Another handler, wrapped around a state's own."""
        self._put(state, folder, wrapped)
        yield
        self._put(state, folder, None)

    @contextmanager
    def before(self, state: str, happens: Callable[[], Any], folder: str = "generate_card") -> Iterator[None]:
        """Do something before each invocation of a state."""

        def wrapped(own: Handler) -> Handler:
            def handler(event: Any, context: Any) -> Any:
                happens()
                return own(event, context)

            return handler

        with self.instead_of(state, wrapped, folder):
            yield

    @contextmanager
    def around(
        self, workflow: Workflow, wrapped: Callable[[StateFunction[Any, Any], Handler], Handler]
    ) -> Iterator[None]:
        """Another handler for each state of a workflow."""
        with ExitStack() as closing:
            for name, state in (each for side in workflow.sides for each in workflow.load_states(side).items()):
                closing.enter_context(self.instead_of(name, partial(wrapped, state), workflow.name))
            yield

    def left_of(self, user_id: str) -> dict[str, list[Document]]:
        """The user's documents by collection, without fields that mark running work."""
        named = [each for each in user_collections() if each not in (runs.COLLECTION, user_settings.SIGNALS)]
        return {name: [*self.database[name].find({"user_id": user_id}).sort("_id")] for name in named}

    @contextmanager
    def slots(self, logical_id: str, count: int, *, crowded: bool = False) -> Iterator[Slots]:
        """The function runs so many times concurrently, and is throttled beyond; a call takes 20 s on its own clock."""
        name, slots = TEMPLATE.name(logical_id), Slots(20, crowded)
        function = self.aws.functions.find(name)
        assert function
        own = function.handler
        with pytest.MonkeyPatch.context() as patch, ExitStack() as closing:
            if isinstance(self.aws, LocalStackServer):
                self.aws.sleep_at(closing.enter_context(slots.served()))
                closing.callback(self.aws.sleep_at, "")
            else:
                patch.setattr("moto.stepfunctions.parser.asl.component.common.retry.retrier_decl.time", slots)
            self.aws.register(name, slots.limited(own, count))
            yield slots
            self.aws.register(name, own)

    def let_time_pass_between_tries(self) -> None:
        """Retries of publishing take no time, and an effect counts as abandoned after a minute."""
        self._put("publish", "generate_card", None)

    def _put(self, state: str, folder: str, wrapped: Callable[[Handler], Handler] | None) -> None:
        """Replace a state's handler; None restores it."""
        sides = functions(BY_NAME[folder])
        [function] = [each for side, each in sides.items() if state in states_of(folder, side)]
        properties = TEMPLATE.python_functions()[function]
        own = load_handler(TEMPLATE.folder / properties["CodeUri"], properties["Handler"])

        def of_the_state(given: Any, context: Any) -> Any:
            return own({"workflow": folder, "state": state, "given": given}, context)

        def of_the_function(event: Any, context: Any) -> Any:
            handler = self.replaced.get((event["workflow"], event["state"]))
            return handler(event["given"], context) if handler else own(event, context)

        paced = self._paced(of_the_state) if state == "publish" else of_the_state
        self.replaced[folder, state] = wrapped(paced) if wrapped else paced
        self.aws.register(TEMPLATE.name(function), of_the_function)

    def _paced(self, own: Handler) -> Handler:
        tried = set[str]()

        def handler(event: Any, context: Any) -> Any:
            if event["approval_id"] in tried:
                self.clock.advance(LEFT_BEHIND_SECONDS)
            tried.add(event["approval_id"])
            return own(event, context)

        return handler


@dataclass
class Case:
    """A user with the data that a workflow needs, for `test_conformance.py` and `tests/infra/test_grants.py`."""

    world: World
    user_id: str
    begin: Callable[[], str]
    """Request the work, any number of times; returns the execution."""
    is_done: Callable[[], bool]
    """True once the requested work is done."""
    answer: Callable[[], None] = lambda: None
    """Answer questions asked in the meantime."""
    told: Callable[[], str] | None = None
    """The sentence that the user reads if the work failed; None if nobody waits for it and it is done later."""
    unreached: frozenset[str] = frozenset()
    """States that are not on the usual path, besides `note_end`."""

    def runs(self) -> Outcome:
        execution = self.begin()
        self.answer()
        return self.world.aws.outcome(execution, 60)


MakeCase = Callable[[World, ModelServer], Case]


def load_case(name: str) -> MakeCase:
    """Import and return `case` of a workflow's tests."""
    return import_module(f"tests.statemachines.test_{name}").case


@dataclass
class Person:
    """A user of only one test, and the card drafted for them."""

    world: World
    user_id: str
    draft_id: str
    execution: str = ""

    # What is known of them

    def has(self, collection: str, **fields: Any) -> None:
        self.world.database[collection].insert_one({"_id": uuid.uuid4().hex, "user_id": self.user_id, **fields})

    def has_a_career(self) -> None:
        self.has("candidates_enhanced", **person.CANDIDATE)
        for stint in person.EMPLOYMENT:
            self.has("employment_stints_enhanced", **stint)
        self.has("preferences_enhanced", **person.PREFERENCES)
        for title, kind, text in person.DOCUMENTS:
            self.has("knowledge_chunk", title=title, source_type=kind, text=text)

    def said(self, quote: str, kind: str = "experience", **more: Any) -> None:
        fields = {"type": kind, "content": quote, "quote": quote, "status": "active", "salience": 1.0, **more}
        self.has("user_memories", **fields)

    # What happens

    def wants_a_card(self, *, wish: str = "", **given: Any) -> None:
        draft = Draft(
            id=self.draft_id,
            user_id=self.user_id,
            run_id="run1",
            conversation_id=None,
            style="standard",
            label="Beginning",
            created_at=self.world.clock(),
            updated_at=self.world.clock(),
            parts={"wish": wish} if wish else {},
        )
        self.world.run(lambda services: services.drafts.add(draft))
        ids = {"user_id": self.user_id, "draft_id": self.draft_id, "run_id": "run1", **given}
        self.execution = self.world.aws.start(MACHINE, ids, f"card-{self.draft_id}")

    def decides(self, decision: Verb, reason: str | None = None) -> Approval:
        return self._decides(decide_and_follow_up, decision, reason)

    def decides_unheard(self, decision: Verb) -> None:
        """It is recorded, and the process that should notify the execution dies."""
        self._decides(decide, decision)

    def _decides(self, how: Callable[..., Awaitable[T]], decision: Verb, reason: str | None = None) -> T:
        asked = self.asked()
        self.world.clock.advance(1)
        answer = Decision(decision=decision, args_digest=asked.args_digest, reason=reason)
        return self.world.run(
            lambda services: how(services, self.user_id, asked.id, answer, by="queue", where="the test")
        )

    def is_executed(self) -> Approval:
        """Execute the approval as far as the sweeps can now."""
        approval_id = self.asked().id
        return self.world.run(lambda services: execute(services, self.user_id, approval_id))

    def waits_no_longer(self) -> None:
        """The state's wait of a week is over."""
        asked = self.asked()
        sealed = asked.task_token or ""
        self.world.aws.let_time_out(self.world.run(lambda services: services.workflows.opened(sealed, asked.id)))

    def pulls_the_brake(self) -> None:
        self.world.run(lambda services: services.signals.turn_brake_on(self.user_id, self.world.clock()))

    def releases_the_brake(self) -> None:
        self.world.run(lambda services: services.signals.turn_brake_off(self.user_id, self.world.clock()))

    def is_at(self, level: Level) -> None:
        now = to_datetime(self.world.clock())
        self.world.run(lambda services: services.autonomy.set_level(self.user_id, level, now))

    def is_asked(self, times: int = 1) -> Approval:
        """Wait for this number of questions, and return the newest."""

        def asked() -> bool:
            self.still_runs()
            found = self.approvals()
            return len(found) == times and self.draft().approval_id == found[-1].id and self.draft().status == "waiting"

        until(asked, 60)
        return self.approvals()[-1]

    def still_runs(self) -> None:
        [mine] = [each for each in self.world.aws.workflows() if each.name == f"card-{self.draft_id}"]
        assert mine.status == "RUNNING", (mine, self.states(), self.draft().label)

    def is_asked_or_it_ended(self) -> bool:
        """True once a question waits, False once the execution has ended."""

        def seen() -> list[bool]:
            if not self.world.runs(self.execution):
                return [False]
            draft, found = self.draft(), self.approvals()
            waits = draft.status == "waiting" and found and draft.approval_id == found[-1].id
            return [True] if waits and found[-1].status == "pending" else []

        return until(seen, 60)[0]

    # What became of it

    def states(self) -> list[str]:
        return self.world.aws.states(self.execution)

    def outcome(self) -> tuple[str, str]:
        """The execution's status, and the state in which it ended."""
        ended = self.world.aws.outcome(self.execution)
        return ended.status, ended.states[-1]

    def draft(self) -> Draft:
        return self.world.run(lambda services: services.drafts.get(self.user_id, self.draft_id))

    def approvals(self) -> list[Approval]:
        """Oldest first."""
        return self.world.run(lambda services: services.approvals.list_all(self.user_id, 20))[::-1]

    def asked(self) -> Approval:
        return self.approvals()[-1]

    def published(self) -> Document | None:
        """The card, as others read it."""
        card = self.world.database["qc_sections"].find_one({"user_id": self.user_id, "card_id": self.draft_id})
        return card and {name: card[name] for name in ("style", "headline", "sections") if card[name] is not None}

    def publications(self) -> int:
        """Return the number of requests to publish."""
        path = f"/cards/{self.draft_id}"
        sent = [each for each in self.world.app.api.requests if each["path"].endswith(path)]
        return len([each for each in sent if each["method"] == "PUT"])


@pytest.fixture(scope="module")
def world(mongodb_uri: str, _model_server: ModelServer) -> Iterator[World]:
    name, clock = f"qwestly_test_{uuid.uuid4().hex[:12]}", FakeClock()
    secrets = {
        "MONGODB_URI": mongodb_uri,
        "MONGODB_DATABASE": name,
        "QWESTLY_CANDIDATE_API_SECRET": API_SECRET,
        "MODEL_BASE_URL": _model_server.base_url,
        "EMBEDDINGS_BASE_URL": _model_server.base_url,
        "TASK_TOKEN_KEY": TEMPLATE.name("TaskTokenAlias"),
        "MACHINE_ARN_PREFIX": TEMPLATE.environment(API)["MACHINE_ARN_PREFIX"],
        **dict.fromkeys(("ADZUNA_APP_ID", "ADZUNA_APP_KEY", "JSEARCH_API_KEY", "SEARCH_API_KEY"), KEY),
        "APPROVE_URL": "http://127.0.0.1:9/approve",
        "MAIL_FROM": "Qwestly <agent@qwestly.example>",
        "LOG_LEVEL": "CRITICAL",
    }

    # Reading the contract takes a second, which a write would spend waiting.
    schema("Card")

    async def services() -> Services:
        return await bootstrap(Settings.from_env(), clock=clock)

    async def model_services() -> ModelServices:
        return await bootstrap_models(Settings.from_env(), clock=clock)

    async def resume_services() -> ResumeServices:
        return await bootstrap_resumes(Settings.from_env(), clock=clock)

    with (
        CandidateAppServer(mongodb_uri, name, API_SECRET, clock) as app,
        JobBoardsServer() as boards,
        MongoClient(mongodb_uri) as client,
        pytest.MonkeyPatch.context() as patch,
    ):
        with (LocalStackServer if PYTHON else AwsServer)(TEMPLATE, secrets, hurried=True) as aws:
            own = {"CANDIDATE_API_URL": app.url, "JOB_BOARDS_URL": boards.url}
            for variable, value in {**secrets, **aws.variables, **own}.items():
                patch.setenv(variable, value)
            patch.setattr(container, "services", container.Container(services))
            patch.setattr(container, "model_services", container.Container(model_services))
            patch.setattr(container, "resume_services", container.Container(resume_services))
            world = World(aws, app, boards, clock, client[name])
            world.let_time_pass_between_tries()
            yield world
        # Not before AWS is closed: a state of a running execution would open one again.
        container.services.close()
        container.model_services.close()
        container.resume_services.close()
        client.drop_database(name)


@pytest.fixture
def someone(world: World, model: ModelServer) -> Person:
    world.app.misbehave()
    return Person(world, f"auth0|{uuid.uuid4().hex}", f"draft_{uuid.uuid4().hex}")


@pytest.fixture
def maya(someone: Person) -> Person:
    someone.has_a_career()
    return someone


@pytest.fixture
def ada(someone: Person) -> Person:
    """A person whose card has one section, for tests of other things."""
    someone.has("candidates_enhanced", education=[{"degree": "BSc Nursing", "school": "University of Leeds"}])
    return someone
