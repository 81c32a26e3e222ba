"""What each function requests from AWS and the database while everything runs with the real handlers. `infra.rights`
compares its AWS calls with its role in template.yaml."""

import json
import threading
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from contextlib import closing
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any, TypeVar

import pytest
from botocore.client import BaseClient
from pymongo import MongoClient
from pymongo.monitoring import CommandStartedEvent

from infra.local.aws import AwsServer, definition_of
from infra.local.aws_functions import Answer, Context, Function
from infra.local.aws_moto import machine_of_token
from infra.local.candidate_app import CandidateAppServer, schema
from infra.local.environment import FUNCTION, MACHINE, SCHEDULE, Template
from infra.local.job_boards import KEY, JobBoardsServer
from infra.local.model_embedding import embedding
from infra.local.model_server import ModelServer, Reply
from infra.mongo.roles import AGENT, OTHER_ROLES
from infra.rights.calls import asked
from infra.rights.policies import Call
from qwestly_agent import container
from qwestly_agent.approvals.ask import ProposalContext, create_approval
from qwestly_agent.approvals.decide import Decision, decide
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap, bootstrap_models, bootstrap_resumes, look_up
from qwestly_agent.container import Container
from qwestly_agent.documents.service import Documents
from qwestly_agent.domain.approval import LEFT_BEHIND_SECONDS, Verb
from qwestly_agent.domain.memory import Memory
from qwestly_agent.jobs.search import JobService
from qwestly_agent.llm.embeddings import DIMENSIONS
from qwestly_agent.memory.actions import forget_proposal
from qwestly_agent.services import Services
from qwestly_agent.stores.conversations import SILENCE_SECONDS
from qwestly_agent.workflow import Workflow
from qwestly_agent.workflows import WORKFLOWS
from tests import servers
from tests.functions.approving import event_of
from tests.functions.talking import add_memory
from tests.infra.test_template import FOLLOWING
from tests.mongo_rule import Watch
from tests.recorded_calls import compare
from tests.servers import API_SECRET, SECRET, ChatServer, Client, FakeClock, seconds, until
from tests.statemachines.conftest import World, load_case

pytestmark = pytest.mark.thorough

T = TypeVar("T")
TEMPLATE = Template.load()
_WITH_ALL = {"JobBoards": "adzuna,jsearch,web", "AdzunaAppId": KEY, "EventBus": "any-bus"}
TEMPLATE = replace(TEMPLATE, parameters={**TEMPLATE.parameters, **_WITH_ALL})
FUNCTIONS = TEMPLATE.of_type(FUNCTION)
BY_NAME = {TEMPLATE.name(logical_id): logical_id for logical_id in FUNCTIONS}
CHAT, API = "ChatFunction", "ApiFunction"
CALLER: ContextVar[str] = ContextVar("caller", default="")
"""The function on whose behalf something is done; empty for the tests, and for moto itself."""
ACTIONS = {
    **dict.fromkeys(("find", "aggregate", "count", "distinct"), "find"),
    "insert": "insert",
    "update": "update",
    "findAndModify": "update",
    "delete": "remove",
}
"""MongoDB's privileges by command; an upsert also inserts."""
BY_TURNS = ("/end", "/now", "/api/me")
"""Routes requested from both the chat and the API."""
HALF_OF_THE_TIME_SECONDS = 84 * 3_600.0
"""After which somebody is reminded of a card."""
SENSITIVE = "I was diagnosed with diabetes in 2019."


# --- what is used ----------------------------------------------------------------------------------------------------


@dataclass
class Calls:
    """Calls of AWS by function, as IAM sees them."""

    of_aws: dict[str, set[Call]] = field(default_factory=lambda: defaultdict(set))
    of_the_database: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))
    """An action of MongoDB, and the collection that it is done to."""
    machines: dict[str, str] = field(default_factory=dict)
    """The ARNs of machines that wait by a token: a call names only the token."""

    def heard(self, client: BaseClient, operation: str, given: dict[str, Any]) -> None:
        if function := CALLER.get():
            if operation == "Encrypt":
                token = given["Plaintext"].decode()
                self.machines.setdefault(token, machine_of_token(token))
            self.of_aws[function] |= asked(client, operation, given, self.machines.__getitem__)

    def heard_of_the_database(self, command: Mapping[str, Any]) -> None:
        name, collection = next(iter(command.items()))
        if (function := CALLER.get()) and name in ACTIONS:
            upserts = any(each.get("upsert") for each in (command, *command.get("updates", ())))
            done = {ACTIONS[name], *(["insert"] if upserts else [])}
            self.of_the_database[function] |= {(action, collection) for action in done}


class Containers:
    """One for each function, as on Lambda, and one for the tests."""

    def __init__(self, make_services: Callable[[str], Awaitable[Any]]) -> None:
        self._make_services, self._lock = make_services, threading.Lock()
        self._each: dict[str, Container[Any]] = {}

    def run(self, work: Callable[[Any], Awaitable[T]]) -> T:
        return self._mine().run(work)

    def start(self, work: Callable[[Any], Awaitable[T]]) -> "Future[T]":
        return self._mine().start(work)

    def close(self) -> None:
        for each in self._each.values():
            each.close()

    def _mine(self) -> Container[Any]:
        function = CALLER.get()
        with self._lock:
            if function not in self._each:
                self._each[function] = Container(lambda: self._make_services(function))
            return self._each[function]


# --- everything runs --------------------------------------------------------------------------------------------------


@dataclass
class Person:
    """A user who asks for a card and mentions something sensitive."""

    world: "Everything"
    client: Client
    address: str

    def wants_a_card(self) -> dict[str, Any]:
        """Ask for a card; returns the question about it."""
        self.world.model.script(Reply(tool_calls=[{"name": "generate_qwestly_card", "arguments": {}}]))
        self.client.say("Please make my card.")
        return self.is_asked()

    def is_briefed(self) -> None:
        """Get a briefing by mail at the chosen hour and another on request, then unsubscribe."""
        with self.client:
            self.client.request("PUT", "/api/briefings/settings", json={"on": True}).raise_for_status()
            at = seconds(self.client.get("/api/briefings/settings")["next"])
            self.world.run(lambda services: add_memory(services, self.client.user_id, self.world.clock()))
            self.world.clock.advance(at - self.world.clock())
            self.world.invoke("ApproveClockFunction", {"workflow": "brief", "state": "sweep", "given": {}})
            self.world.all_executions_end()
            [told] = self.client.get("/api/briefings")["items"]
            assert told["mailed"] == "sent"
            self.client.request("POST", "/api/briefings/now").raise_for_status()
            self.world.all_executions_end()
        link = self.world.aws.outbox[-1].text.partition("https://approve.test")[2].split()[0]
        self.world.invoke("ApprovePagesFunction", event_of("POST", link, b"List-Unsubscribe=One-Click"))

    def is_told_on_the_bus(self) -> None:
        """Publish the feed's events as the sweep does. The feed's times are the database's own."""

        async def put(services: Services) -> None:
            await services.event_bus.put(await services.activity.newest(self.client.user_id, 1))

        before = CALLER.set("ApproveClockFunction")
        self.world.run(put)
        CALLER.reset(before)

    def wants_something_forgotten(self) -> dict[str, Any]:
        """Ask the agent in a chat turn to forget something, and return its proposal."""
        user_id = self.client.user_id
        context = ProposalContext(user_id=user_id, run_id=uuid.uuid4().hex, level="L2")

        async def propose(services: Services) -> None:
            memory_id = await add_memory(services, user_id, self.world.clock())
            proposal = forget_proposal(user_id, await services.memories.get_many(user_id, [memory_id]))
            await create_approval(services, f"ap_{uuid.uuid4().hex}", proposal, context, "queue")

        self.world.run(propose)
        return self.is_asked()

    def leaves(self) -> None:
        """Erase the account in a process that erases for the first time."""
        self.world.chat.services.erasure_log._stream = ""
        self.client.request("DELETE", "/api/me").raise_for_status()

    def says_something_sensitive(self) -> dict[str, Any]:
        said = self.client.say(SENSITIVE)
        self.client.request("POST", f"/api/conversations/{said.conversation_id}/end").raise_for_status()
        return self.is_asked()

    def wants_a_headline(self) -> dict[str, Any]:
        value = "Head of Nursing, in Leeds"
        args = {"field": "headline", "value": value}
        asks = Reply(tool_calls=[{"name": "update_profile_field", "arguments": args}])
        self.world.model.script(asks, Reply(text="It waits for you."))
        self.client.say(f"Change my headline to {value}")
        self.world.invoke("ApproveClockFunction", {})
        return self.is_asked()

    def decides_in_the_conversation(self, asked: dict[str, Any]) -> None:
        self.world.model.script(Reply(text="It is changed."))
        decision = {"approval_id": asked["approval_id"], "decision": "approve", "args_digest": asked["args_digest"]}
        body = {"conversation_id": asked["conversation_id"], "decisions": [decision]}
        self.client.request("POST", "/api/chat", json=body).raise_for_status()

    def is_asked(self) -> dict[str, Any]:
        [asked] = until(lambda: self.client.get("/api/approvals")["items"], 60)
        return asked

    def decides_in_the_chat(self, asked: dict[str, Any], **decision: str) -> None:
        body = {"decision": "approve", "args_digest": asked["args_digest"], **decision}
        path = f"/api/approvals/{asked['approval_id']}/decision"
        self.client.request("POST", path, json=body).raise_for_status()

    def decides_by_the_link(self, asked: dict[str, Any], decision: str = "approve", reason: str = "") -> None:
        self.world.invoke("ApproveClockFunction", {})
        mail = until(lambda: [each for each in self.world.aws.outbox if self.address in each.to])[0]
        token = mail.text.partition("/approve/")[2].split()[0]
        form = f"decision={decision}&reason={reason}&args_digest={asked['args_digest']}"
        for event in (event_of("GET", f"/approve/{token}"), event_of("POST", f"/approve/{token}", form.encode())):
            answer = self.world.invoke("ApprovePagesFunction", event)
            assert answer["statusCode"] == 200, answer

    def asks_for_changes_in_the_chat(self, asked: dict[str, Any]) -> None:
        self.decides_in_the_chat(asked, decision="revise", reason="Shorter")

    def asks_for_changes_by_the_link(self, asked: dict[str, Any]) -> None:
        self.decides_by_the_link(asked, "revise", "Shorter")

    def asks_for_changes_and_the_sweep_begins(self, asked: dict[str, Any]) -> None:
        self.decides_unheard(asked, "revise", "Shorter")
        self.world.clock.advance(LEFT_BEHIND_SECONDS + 1)
        self.world.invoke("ApproveClockFunction", {})

    def decides_unheard(self, asked: dict[str, Any], decision: Verb = "approve", reason: str | None = None) -> None:
        """It is recorded, and the process that should notify the execution dies."""
        answer = Decision(decision=decision, args_digest=asked["args_digest"], reason=reason)
        user_id, approval_id = self.client.user_id, asked["approval_id"]
        before = CALLER.set("ActFunction")
        self.world.run(lambda services: decide(services, user_id, approval_id, answer, by="queue", where="the test"))
        CALLER.reset(before)

    def decides_and_the_sweep_tells(self, asked: dict[str, Any]) -> None:
        self.decides_unheard(asked)
        self.world.clock.advance(LEFT_BEHIND_SECONDS + 1)
        self.world.invoke("ApproveClockFunction", {})

    def decides_before_they_are_asked_again(self, asked: dict[str, Any]) -> None:
        self.decides_unheard(asked)
        self.world.invoke(**self.world.questions[-1])


@dataclass(kw_only=True)
class Everything(World):
    model: ModelServer
    chat: ChatServer
    ran: set[str]
    questions: list[dict[str, Any]]
    """Questions with their recipients, newest last."""

    def goes_through(self, workflow: Workflow, beginner: str) -> None:
        """By `case` of its tests. Its person begins by the services of the chat or the API, and decides by the function
        that may. A day later its sweep finds what is due."""
        self.model.reset()
        case = load_case(workflow.name)(self, self.model)
        before = CALLER.set(beginner)
        decided = case.answer

        def decide_by_act() -> None:
            caller = CALLER.set("ActFunction")
            try:
                decided()
            finally:
                CALLER.reset(caller)

        case = replace(case, answer=decide_by_act)
        try:
            assert case.runs().status == "SUCCEEDED", workflow.name
        finally:
            CALLER.reset(before)
        assert case.is_done(), workflow.name
        if workflow.sweep:
            self.clock.advance(86_400)
            swept = {"workflow": workflow.name, "state": workflow.load_sweep().name, "given": {}}
            self.invoke("ApproveClockFunction", swept)
        self.all_executions_end()

    def writes_a_document_for_a_job(self) -> None:
        """Write a document through the API's route, without a conversation."""
        [job, *_] = self.database["agent_job_matches"].find()
        user_id = job["user_id"]
        before = CALLER.set(API)
        self.run(
            lambda services: Documents(services, JobService(services, user_id), user_id, uuid.uuid4().hex).write(
                "resume", job["_id"]
            )
        )
        CALLER.reset(before)
        self.all_executions_end()

    def is_told_by_whom_requests_come(self, environment: Callable[[str], Mapping[str, str]]) -> None:
        """The functions behind the URLs start as they do behind the distribution."""
        for function in FUNCTIONS:
            if "ORIGIN_SECRET" in TEMPLATE.environment(function):
                before = CALLER.set(function)
                look_up([environment(function)["ORIGIN_SECRET"]])
                CALLER.reset(before)

    def invoke(self, function: str, event: dict[str, Any]) -> Any:
        answer = self.aws.invoke(TEMPLATE.name(function), event)
        assert not answer.failed, answer.payload
        return json.loads(answer.payload)

    def runs_to_its_end(self, machine: str, **given: str) -> str:
        """Run an execution to its end; returns its outcome."""
        return self.aws.run(TEMPLATE.name(machine), {"run_id": uuid.uuid4().hex, **given}).status

    def all_executions_end(self) -> None:
        until(lambda: not [each for each in self.aws.workflows() if each.status == "RUNNING"], 60)
        assert {each.status for each in self.aws.workflows()} == {"SUCCEEDED"}

    def somebody(self) -> Person:
        name = uuid.uuid4().hex
        user_id, address = f"auth0|{name}", f"{name}@example.com"
        education = [{"degree": "BSc Nursing", "school": "University of Leeds"}]
        known = {"_id": user_id, "user_id": user_id, "email": address, "education": education}
        self.database["candidates_enhanced"].insert_one(known)
        client = Client(self.chat.url, user_id, self.clock)
        client.request("PUT", "/api/autonomy", json={"level": "L2"}).raise_for_status()
        return Person(self, client, address)

    def remembers_the_same_twice(self) -> None:
        async def remember(services: Services) -> None:
            for content in ("Knows Python", "knows Python."):
                memory = Memory(id=uuid.uuid4().hex, type="skill", content=content)
                vector = embedding(content, DIMENSIONS)
                # Equal for code, although stored as two: no model has to confirm it.
                assert await services.memories.add("auth0|ada", memory, uuid.uuid4().hex, vector, self.clock())

        self.run(remember)


def everything_happens(world: Everything) -> None:
    for beginner in (CHAT, API):  # either answers every route
        for workflow in WORKFLOWS:
            world.goes_through(workflow, beginner)
    world.writes_a_document_for_a_job()
    world.model.reset()
    for how in (
        Person.decides_in_the_chat,
        Person.decides_by_the_link,
        Person.decides_and_the_sweep_tells,
        Person.decides_before_they_are_asked_again,
    ):
        for begins in (Person.wants_a_card, Person.says_something_sensitive):
            person = world.somebody()
            with person.client:
                how(person, begins(person))
            world.all_executions_end()
    for asks_for_changes in (
        Person.asks_for_changes_in_the_chat,
        Person.asks_for_changes_by_the_link,
        Person.asks_for_changes_and_the_sweep_begins,
    ):
        person = world.somebody()
        with person.client:
            asks_for_changes(person, person.wants_a_headline())
            person.decides_in_the_chat(person.is_asked())
        world.all_executions_end()
    for decides in (Person.decides_in_the_chat, Person.decides_and_the_sweep_tells):
        person = world.somebody()
        with person.client:
            decides(person, person.wants_something_forgotten())
            person.leaves()
    person = world.somebody()
    with person.client:
        person.decides_in_the_conversation(person.wants_a_headline())
    person = world.somebody()
    with person.client:
        person.wants_a_card()
        world.clock.advance(HALF_OF_THE_TIME_SECONDS)
        world.invoke("ApproveClockFunction", {})
        person.decides_in_the_chat(person.is_asked())
        world.all_executions_end()
        person.client.say("I live in Lisbon.")
    world.model.fault = Reply(fault="content_risk")
    world.clock.advance(SILENCE_SECONDS)
    assert world.runs_to_its_end("ExtractMemoriesMachine") == "SUCCEEDED"
    world.remembers_the_same_twice()
    assert world.runs_to_its_end("ConsolidateMachine") == "SUCCEEDED"
    for _ in (CHAT, API):
        briefed = world.somebody()
        briefed.is_briefed()
    briefed.is_told_on_the_bus()
    world.invoke("ApproveClockFunction", {"workflow": "rollout", "state": "advance", "given": {}})
    world.invoke("GenerateReaderFunction", {"workflow": "rollout", "state": "judge_day", "given": {}})
    assert world.runs_to_its_end("GenerateCardMachine", user_id="auth0|ada", draft_id="draft_gone") == "SUCCEEDED"


@pytest.fixture(scope="module")
def calls(mongodb_uri: str, _model_server: ModelServer) -> Calls:
    """All AWS calls while everything happened once, on behalf of each function."""
    calls, clock, name = Calls(), FakeClock(), f"qwestly_test_{uuid.uuid4().hex[:12]}"
    ran, questions = set[str](), list[dict[str, Any]]()
    secrets = {
        "MONGODB_URI": mongodb_uri,
        "QWESTLY_AGENT_SHARED_SECRET": SECRET,
        "QWESTLY_CANDIDATE_API_SECRET": API_SECRET,
        "DEEPSEEK_API_KEY": "sk-deepseek",
        "TRACES_HEADERS": "X-From=tests",
        "ORIGIN_SECRET": "of-the-distribution",
        "ERASURE_KEY": "a-key-of-the-tests-that-is-in-no-database",
        "OPENAI_API_KEY": "sk-openai",
        **dict.fromkeys(("ADZUNA_APP_KEY", "JSEARCH_API_KEY", "SEARCH_API_KEY"), KEY),
        "MAIL_CONFIGURATION_SET": TEMPLATE.name("MailConfigurationSet"),
        "MAIL_FROM": TEMPLATE.environment("ApproveClockFunction")["MAIL_FROM"],
    }
    schema("Card")  # takes a second, which a write would spend waiting

    def environment_of(function: str) -> dict[str, str]:
        """Return the template's environment, with secrets as references to Parameter Store."""
        given = TEMPLATE.environment(function or CHAT)
        here = {
            "MONGODB_DATABASE": name,
            "CANDIDATE_API_URL": app.url,
            "MODEL_BASE_URL": _model_server.base_url,
            "EMBEDDINGS_BASE_URL": _model_server.base_url,
            "JOB_BOARDS_URL": boards.url,
            "APPROVE_URL": "https://approve.test/approve",
            "LOG_LEVEL": "CRITICAL",
            "TRACES_URL": "http://127.0.0.1:9/v1/traces",  # nobody there, but the headers are read
        }
        swapped = {"MODEL_BASE_URL", "EMBEDDINGS_BASE_URL", "JOB_BOARDS_URL"}
        return {**given, **{key: here[key] for key in here.keys() & (given.keys() | swapped)}}

    def settings_of(function: str) -> Settings:
        return Settings.from_env(environment_of(function))

    async def make_services(function: str) -> Any:
        return await bootstrap(settings_of(function), clock=clock)

    async def make_model_services(function: str) -> Any:
        return await bootstrap_models(settings_of(function), clock=clock)

    async def make_resume_services(function: str) -> Any:
        return await bootstrap_resumes(settings_of(function), clock=clock)

    def answer(self: Function, payload: bytes, context: Context) -> Answer:
        logical_id = BY_NAME[self.name]
        ran.add(logical_id)
        if b'"ask_approval"' in payload:
            questions.append({"function": logical_id, "event": json.loads(payload)})
        before = CALLER.set(logical_id)
        try:
            return answered(self, payload, context)
        finally:
            CALLER.reset(before)

    def call(self: BaseClient, operation: str, given: dict[str, Any]) -> Any:
        calls.heard(self, operation, given)
        return called(self, operation, given)

    def function_of_path(path: str) -> str:
        """Turns are the chat's; its URL answers every other route, too: of one that is called often, by turns."""
        return CHAT if path == "/api/chat" or (path.endswith(BY_TURNS) and next(both[path[-4:]])) else API

    def create_app(*given: Any) -> Any:
        app, starting = made(*given), next(servers_started, CHAT)

        async def in_place_of_the_function(scope: Any, receive: Any, send: Any) -> None:
            CALLER.set(function_of_path(scope["path"]) if "path" in scope else starting)
            await app(scope, receive, send)

        return in_place_of_the_function

    def sent(self: Watch, event: CommandStartedEvent) -> None:
        calls.heard_of_the_database(event.command)
        started(self, event)

    servers_started, both = iter((CHAT, API)), defaultdict[str, Any](lambda: cycle((True, False)))
    answered, called, made = Function.answer, BaseClient._make_api_call, servers.create_app  # type: ignore[attr-defined]
    started = Watch.started
    with (
        CandidateAppServer(mongodb_uri, name, API_SECRET, clock) as app,
        JobBoardsServer() as boards,
        MongoClient(mongodb_uri) as client,
        AwsServer(TEMPLATE, secrets, hurried=True) as aws,
        pytest.MonkeyPatch.context() as patch,
        closing(Containers(make_services)) as services,
        closing(Containers(make_model_services)) as model_services,
        closing(Containers(make_resume_services)) as resume_services,
    ):
        for variable, value in {**environment_of(CHAT), **aws.variables}.items():
            patch.setenv(variable, value)
        patch.setattr(Function, "answer", answer)
        patch.setattr(BaseClient, "_make_api_call", call)
        patch.setattr(servers, "create_app", create_app)
        patch.setattr(Watch, "started", sent)
        patch.setattr(container, "services", services)
        patch.setattr(container, "model_services", model_services)
        patch.setattr(container, "resume_services", resume_services)
        aws.client("events").create_event_bus(Name=TEMPLATE.parameters["EventBus"])
        _model_server.reset()
        with ChatServer(settings_of(CHAT), clock) as chat, ChatServer(settings_of(API), clock):
            world = Everything(
                aws, app, boards, clock, client[name], model=_model_server, chat=chat, ran=ran, questions=questions
            )
            everything_happens(world)
            world.is_told_by_whom_requests_come(environment_of)
        _model_server.reset()
        client.drop_database(name)
    assert ran == FUNCTIONS.keys() - {CHAT, API}
    return calls


@pytest.mark.sentinel
def test_each_functions_calls_are_in_the_table_of_rights(calls: Calls) -> None:
    compare({name: calls.of_aws[name] for name in FUNCTIONS})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_functions_database_role_allows_its_commands(calls: Calls, name: str) -> None:
    user = TEMPLATE.environment(name)["MONGODB_URI"].rpartition("/")[2]
    allowed = {f"mongodb-{name}-uri": role for name, role in OTHER_ROLES.items()}.get(user, AGENT).actions
    done = calls.of_the_database[name]
    assert done
    assert not {(action, collection) for action, collection in done if action not in allowed.get(collection, ())}


def test_the_machines_may_invoke_only_the_functions_of_their_states() -> None:
    machines = TEMPLATE.of_type(MACHINE)
    definitions = json.dumps([definition_of(TEMPLATE, each) for each in machines])
    [role] = {frozenset(TEMPLATE.grants(each["Role"])) for each in machines.values()}
    text = TEMPLATE.text
    aliases = {text(("GetAtt", f"{name}.Alias")) for name in FUNCTIONS}
    called = {alias for alias in aliases if json.dumps(alias) in definitions}
    assert called
    assert {resource for action, resource in role if action == "lambda:InvokeFunction"} == called
    assert {action for action, resource in role if resource not in aliases} == FOLLOWING


def test_the_schedules_may_start_their_targets_and_use_dead_letter_queues() -> None:
    targets = [each["Target"] for each in TEMPLATE.of_type(SCHEDULE).values()]
    [role] = {frozenset(TEMPLATE.grants(each["RoleArn"])) for each in targets}
    text = TEMPLATE.text
    arns = [text(each["Arn"]) for each in targets]
    starts = {("lambda:InvokeFunction" if ":function:" in arn else "states:StartExecution", arn) for arn in arns}
    [letters] = {text(each["DeadLetterConfig"]["Arn"]) for each in targets}
    assert role == {*starts, ("sqs:SendMessage", letters)}
