"""A function may do what it does, and next to nothing else: what each asks of AWS while everything runs with the real
handlers, against what its role in template.yaml grants."""

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
from infra.local.environment import ACCOUNT, FUNCTION, MACHINE, REGION, SCHEDULE, Template
from infra.local.job_boards import KEY, JobBoardsServer
from infra.local.model_embedding import embedding
from infra.local.model_server import ModelServer, Reply
from infra.mongo.roles import AGENT, OTHER_ROLES
from qwestly_agent import container
from qwestly_agent.approvals.decide import Decision, decide
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap, bootstrap_models, bootstrap_resumes
from qwestly_agent.container import Container
from qwestly_agent.domain.approval import LEFT_BEHIND_SECONDS, Verb
from qwestly_agent.domain.memory import Memory
from qwestly_agent.llm.embeddings import DIMENSIONS
from qwestly_agent.services import Services
from qwestly_agent.stores.conversations import SILENCE_SECONDS
from qwestly_agent.workflow import Workflow
from qwestly_agent.workflows import WORKFLOWS
from tests import servers
from tests.functions.approving import event_of
from tests.functions.talking import add_memory
from tests.infra.test_template import FOLLOWING
from tests.mongo_rule import Watch
from tests.servers import API_SECRET, SECRET, ChatServer, Client, FakeClock, seconds, until
from tests.statemachines.conftest import World, load_case

pytestmark = pytest.mark.thorough

T = TypeVar("T")
Grant = tuple[str, str]
"""An action, and the ARN that it is done to."""

MOST_GRANTED = 1.2
"""Times what is used."""
TEMPLATE = Template.load()
_WITH_BOARDS = {"JobBoards": "adzuna,jsearch,web", "AdzunaAppId": KEY}
TEMPLATE = replace(TEMPLATE, parameters={**TEMPLATE.parameters, **_WITH_BOARDS})
FUNCTIONS = TEMPLATE.of_type(FUNCTION)
BY_NAME = {TEMPLATE.name(logical_id): logical_id for logical_id in FUNCTIONS}
CHAT, API = "ChatFunction", "ApiFunction"
CALLER: ContextVar[str] = ContextVar("caller", default="")
"""The function in whose place something is done; empty for the tests, and for moto itself."""
ACTIONS = {
    **dict.fromkeys(("find", "aggregate", "count", "distinct"), "find"),
    "insert": "insert",
    "update": "update",
    "findAndModify": "update",
    "delete": "remove",
}
"""What MongoDB checks a command by; an upsert inserts besides."""
HALF_OF_THE_TIME_SECONDS = 84 * 3_600.0
"""After which somebody is reminded of a card."""
SENSITIVE = "I was diagnosed with diabetes in 2019."


# --- what is granted --------------------------------------------------------------------------------------------------


def text(value: Any) -> str:
    return TEMPLATE.text(value)


def granted(role: Any) -> set[Grant]:
    return set(TEMPLATE.grants(role))


# --- what is used -----------------------------------------------------------------------------------------------------


def used_by_lambda(function: str) -> set[Grant]:
    """What Lambda itself does with a function's role; no call of ours shows it."""
    properties = FUNCTIONS[function]
    group = text(("GetAtt", f"{properties['LoggingConfig']['LogGroup'][1]}.Arn"))
    used = {("logs:CreateLogStream", group), ("logs:PutLogEvents", group)}
    if properties["Tracing"] == "Active":
        used |= {("xray:PutTraceSegments", "*"), ("xray:PutTelemetryRecords", "*")}
    if "DeadLetterQueue" in properties:
        used |= {("sqs:SendMessage", text(properties["DeadLetterQueue"]["TargetArn"]))}
    return used


@dataclass
class Calls:
    """Of AWS, by the function that made them, as IAM sees them."""

    grants: dict[str, set[Grant]] = field(default_factory=lambda: defaultdict(set))
    of_the_database: dict[str, set[Grant]] = field(default_factory=lambda: defaultdict(set))
    """An action of MongoDB, and the collection that it is done to."""
    machines: dict[str, str] = field(default_factory=dict)
    """The ARNs of those that wait by a token: a call names the token alone."""

    def heard(self, service: str, operation: str, given: dict[str, Any]) -> None:
        if function := CALLER.get():
            self.grants[function] |= set(self._grants(service, operation, given))

    def heard_of_the_database(self, command: Mapping[str, Any]) -> None:
        name, collection = next(iter(command.items()))
        if (function := CALLER.get()) and name in ACTIONS:
            upserts = any(each.get("upsert") for each in (command, *command.get("updates", ())))
            done = {ACTIONS[name], *(["insert"] if upserts else [])}
            self.of_the_database[function] |= {(action, collection) for action in done}

    def _grants(self, service: str, operation: str, given: dict[str, Any]) -> list[Grant]:
        match service, operation:
            case "ssm", "GetParameters":
                arn = f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter"
                return [("ssm:GetParameters", f"{arn}{name}") for name in given["Names"]]
            case "lambda", "Invoke":
                arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{given['FunctionName']}"
                return [("lambda:InvokeFunction", arn)]
            case "kms", "Encrypt" | "Decrypt":
                assert given["KeyId"] == TEMPLATE.name("TaskTokenAlias")
                if operation == "Encrypt":
                    token = given["Plaintext"].decode()
                    self.machines.setdefault(token, machine_of_token(token))
                return [(f"kms:{operation}", TEMPLATE.arn("TaskTokenKey"))]
            case "stepfunctions", "StartExecution":
                return [("states:StartExecution", given["stateMachineArn"])]
            case "stepfunctions", "SendTaskSuccess":
                return [("states:SendTaskSuccess", self.machines[given["taskToken"]])]
            case "sesv2", "SendEmail":
                assert given["Content"].keys() == {"Raw"}
                domain = given["FromEmailAddress"].rpartition("@")[2].rstrip(">")
                ses = f"arn:aws:ses:{REGION}:{ACCOUNT}:"
                through = (f"{ses}identity/{domain}", f"{ses}configuration-set/{given['ConfigurationSetName']}")
                # SES checks the operation by its own name, and what is raw by its older one.
                return [(f"ses:{action}", arn) for action in ("SendEmail", "SendRawEmail") for arn in through]
        raise AssertionError(f"{service}:{operation} is a call that no role here was written for")


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
    """Somebody who wants a card, and says something sensitive."""

    world: "Everything"
    client: Client
    address: str

    def wants_a_card(self) -> dict[str, Any]:
        """What they are asked about it."""
        self.world.model.script(Reply(tool_calls=[{"name": "generate_qwestly_card", "arguments": {}}]))
        self.client.say("Please make my card.")
        return self.is_asked()

    def is_briefed(self) -> None:
        """At their hour, by mail, and once more as they ask for it; then they end the mails."""
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

    def decides_in_the_chat(self, asked: dict[str, Any]) -> None:
        body = {"decision": "approve", "args_digest": asked["args_digest"]}
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

    def asks_for_changes_by_the_link(self, asked: dict[str, Any]) -> None:
        self.decides_by_the_link(asked, "revise", "Shorter")

    def asks_for_changes_and_the_sweep_begins(self, asked: dict[str, Any]) -> None:
        self.decides_unheard(asked, "revise", "Shorter")
        self.world.clock.advance(LEFT_BEHIND_SECONDS + 1)
        self.world.invoke("ApproveClockFunction", {})

    def decides_unheard(self, asked: dict[str, Any], decision: Verb = "approve", reason: str | None = None) -> None:
        """It is recorded, and whoever should wake the execution dies."""
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
    """Who was handed a question, and what, the latest last."""

    def goes_through(self, workflow: Workflow) -> None:
        """By `case` of its tests. Its person begins by the services of the API, which has the rights of the chat, and
        decides by the function that may. A day later its sweep finds what is due."""
        self.model.reset()
        case = load_case(workflow.name)(self, self.model)
        before = CALLER.set(API)
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

    def invoke(self, function: str, event: dict[str, Any]) -> Any:
        answer = self.aws.invoke(TEMPLATE.name(function), event)
        assert not answer.failed, answer.payload
        return json.loads(answer.payload)

    def runs_to_its_end(self, machine: str, **given: str) -> str:
        """How it ended."""
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
                # Equal for code, though they were stored as two: no model has to say so.
                assert await services.memories.add("auth0|ada", memory, uuid.uuid4().hex, vector, self.clock())

        self.run(remember)


def everything_happens(world: Everything) -> None:
    for workflow in WORKFLOWS:
        world.goes_through(workflow)
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
    for asks_for_changes in (Person.asks_for_changes_by_the_link, Person.asks_for_changes_and_the_sweep_begins):
        person = world.somebody()
        with person.client:
            asks_for_changes(person, person.wants_a_headline())
            person.decides_in_the_chat(person.is_asked())
        world.all_executions_end()
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
    world.somebody().is_briefed()
    world.invoke("ApproveClockFunction", {"workflow": "rollout", "state": "advance", "given": {}})
    world.invoke("GenerateReaderFunction", {"workflow": "rollout", "state": "judge_day", "given": {}})
    assert world.runs_to_its_end("GenerateCardMachine", user_id="auth0|ada", draft_id="draft_gone") == "SUCCEEDED"


@pytest.fixture(scope="module")
def calls(mongodb_uri: str, _model_server: ModelServer) -> Calls:
    """All that was asked of AWS while everything happened once, in the place of each function."""
    calls, clock, name = Calls(), FakeClock(), f"qwestly_test_{uuid.uuid4().hex[:12]}"
    ran, questions = set[str](), list[dict[str, Any]]()
    secrets = {
        "MONGODB_URI": mongodb_uri,
        "QWESTLY_AGENT_SHARED_SECRET": SECRET,
        "QWESTLY_CANDIDATE_API_SECRET": API_SECRET,
        "DEEPSEEK_API_KEY": "sk-deepseek",
        "TRACES_HEADERS": "X-From=tests",
        "OPENAI_API_KEY": "sk-openai",
        **dict.fromkeys(("ADZUNA_APP_KEY", "JSEARCH_API_KEY", "SEARCH_API_KEY"), KEY),
        "MAIL_CONFIGURATION_SET": TEMPLATE.name("MailConfigurationSet"),
        "MAIL_FROM": TEMPLATE.environment("ApproveClockFunction")["MAIL_FROM"],
    }
    schema("Card")  # takes a second, which a write would spend waiting

    def environment_of(function: str) -> dict[str, str]:
        """That of the template, with secrets as references to Parameter Store."""
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
        calls.heard(self.meta.service_model.service_name, operation, given)
        return called(self, operation, given)

    def function_of_path(path: str) -> str:
        """Turns are the chat's; its URL answers every other route, too: of one that is called often, by turns."""
        return CHAT if path == "/api/chat" or (path.endswith("/end") and next(both)) else API

    def create_app(*given: Any) -> Any:
        app, starting = made(*given), next(servers_started, CHAT)

        async def in_place_of_the_function(scope: Any, receive: Any, send: Any) -> None:
            CALLER.set(function_of_path(scope["path"]) if "path" in scope else starting)
            await app(scope, receive, send)

        return in_place_of_the_function

    def sent(self: Watch, event: CommandStartedEvent) -> None:
        calls.heard_of_the_database(event.command)
        started(self, event)

    servers_started, both = iter((CHAT, API)), cycle((True, False))
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
        _model_server.reset()
        with ChatServer(settings_of(CHAT), clock) as chat, ChatServer(settings_of(API), clock):
            everything_happens(
                Everything(
                    aws, app, boards, clock, client[name], model=_model_server, chat=chat, ran=ran, questions=questions
                )
            )
        _model_server.reset()
        client.drop_database(name)
    assert ran == FUNCTIONS.keys() - {CHAT, API}
    return calls


def used(calls: Calls, function: str) -> set[Grant]:
    return calls.grants[function] | used_by_lambda(function)


@pytest.mark.sentinel
def test_whatever_a_function_does_its_role_allows(calls: Calls) -> None:
    missing = {name: used(calls, name) - granted(each["Role"]) for name, each in FUNCTIONS.items()}
    assert not {name: grants for name, grants in missing.items() if grants}


def test_roles_allow_next_to_nothing_that_is_not_done(calls: Calls) -> None:
    # Of what our own calls may do: what Lambda does by itself would only flatter the figure.
    allowed = {
        (name, *grant) for name, each in FUNCTIONS.items() for grant in granted(each["Role"]) - used_by_lambda(name)
    }
    done = {(name, *grant) for name in FUNCTIONS for grant in calls.grants[name]}
    assert len(allowed) / len(done) <= MOST_GRANTED, sorted(allowed - done)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_whatever_a_function_does_in_the_database_its_role_there_allows(calls: Calls, name: str) -> None:
    user = TEMPLATE.environment(name)["MONGODB_URI"].rpartition("/")[2]
    allowed = {f"mongodb-{name}-uri": role for name, role in OTHER_ROLES.items()}.get(user, AGENT).actions
    done = calls.of_the_database[name]
    assert done
    assert not {(action, collection) for action, collection in done if action not in allowed.get(collection, ())}


def test_the_machines_may_call_the_functions_of_their_states_and_no_other() -> None:
    machines = TEMPLATE.of_type(MACHINE)
    definitions = json.dumps([definition_of(TEMPLATE, each) for each in machines])
    [role] = {frozenset(granted(each["Role"])) for each in machines.values()}
    aliases = {text(("GetAtt", f"{name}.Alias")) for name in FUNCTIONS}
    called = {alias for alias in aliases if json.dumps(alias) in definitions}
    assert called
    assert {resource for action, resource in role if action == "lambda:InvokeFunction"} == called
    assert {action for action, resource in role if resource not in aliases} == FOLLOWING


def test_the_schedules_may_start_their_targets_and_leave_letters() -> None:
    targets = [each["Target"] for each in TEMPLATE.of_type(SCHEDULE).values()]
    [role] = {frozenset(granted(each["RoleArn"])) for each in targets}
    arns = [text(each["Arn"]) for each in targets]
    starts = {("lambda:InvokeFunction" if ":function:" in arn else "states:StartExecution", arn) for arn in arns}
    [letters] = {text(each["DeadLetterConfig"]["Arn"]) for each in targets}
    assert role == {*starts, ("sqs:SendMessage", letters)}
