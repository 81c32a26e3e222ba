"""The handlers that are not servers, each in Lambda's own runtime: awslambdaric behind the emulator of the SAM CLI,
with only the layer, configured by template.yaml and called by the same callers as in AWS."""

import json
import os
import platform
import re
import signal
import subprocess
import threading
import time
import uuid
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from pymongo import MongoClient

from infra.local.aws import AwsServer
from infra.local.aws_moto import Mail
from infra.local.candidate_app import CandidateAppServer
from infra.local.environment import ROOT, Template
from infra.local.job_boards import JobBoardsServer
from infra.local.model_embedding import embedding
from infra.local.model_server import ModelServer
from infra.mongo.indexes import INDEXES
from qwestly_agent import container
from qwestly_agent.bootstrap import bootstrap, bootstrap_models
from qwestly_agent.domain.memory import Memory
from qwestly_agent.llm.embeddings import DIMENSIONS
from qwestly_agent.services import ModelServices, Services
from tests.functions.approving import ERASURES
from tests.functions.talking import Talk
from tests.infra.conftest import Layer
from tests.servers import API_SECRET, SECRET, FakeClock, free_port, settings_for, until, wait_for_port
from tests.statemachines.conftest import Person, World

pytestmark = pytest.mark.thorough

TEMPLATE = Template.load()
HANDLERS = TEMPLATE.python_functions()
APPROVE_URL = "https://approve.test/approve"
AN_HOUR = 3600.0
EMULATOR = f"aws-lambda-rie-{ {'aarch64': 'arm64'}.get(platform.machine(), platform.machine()) }"
RUNTIME = ("awslambdaric==", "simplejson==", "snapshot-restore-py==")
"""Packages in Lambda's /var/runtime."""


@dataclass
class Sandbox:
    """One environment of one function: it lives from its first call on, and is called by one at a time."""

    logical_id: str
    command: list[str | Path]
    environment: Mapping[str, str]
    _port: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _busy: Any = field(default_factory=threading.Lock)

    def __call__(self, event: Any, context: object = None) -> Any:
        """Call the function as the laptop's Lambda does: its error is raised again by name."""
        answer = self.invoke(event)
        if isinstance(answer, dict) and "errorType" in answer:
            raise type(answer["errorType"], (Exception,), {})(answer["errorMessage"])
        return answer

    def invoke(self, event: Any) -> Any:
        """Answer as Lambda's API; a timeout is a sentence."""
        with self._busy:
            self._process = self._process or self._start()
            url = f"http://127.0.0.1:{self._port}/2015-03-31/functions/function/invocations"
            answered = httpx2.post(url, content=json.dumps(event).encode(), timeout=60)
        return answered.json() if answered.text.startswith(("{", "[", '"', "null")) else answered.text

    def _start(self) -> subprocess.Popen[bytes]:
        self._port = free_port()
        emulator, *runtime = self.command
        addresses = [f"--runtime-interface-emulator-address=127.0.0.1:{self._port}"]
        addresses += [f"--runtime-api-address=127.0.0.1:{free_port()}"]
        function = HANDLERS[self.logical_id]
        folder = TEMPLATE.folder / function["CodeUri"]
        told = {
            "LAMBDA_TASK_ROOT": str(folder),
            "AWS_LAMBDA_FUNCTION_NAME": TEMPLATE.name(self.logical_id),
            "AWS_LAMBDA_FUNCTION_TIMEOUT": str(TEMPLATE.timeout(self.logical_id)),
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": TEMPLATE.text(function["MemorySize"]),
        }
        process = subprocess.Popen(
            [emulator, *addresses, *runtime, function["Handler"]],
            cwd=folder,
            env={**told, **self.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for_port(self._port, process)
        return process

    def end(self) -> None:
        if self._process:
            self._process.send_signal(signal.SIGTERM)  # on which it ends the runtime
            self._process.wait(timeout=20)


@dataclass
class Cloud:
    """Functions in their sandboxes, and what they are called by."""

    world: World
    sandboxes: dict[str, Sandbox]

    def invoke(self, logical_id: str, event: Any) -> Any:
        return self.sandboxes[logical_id].invoke(event)

    def browse(self, method: str, token: str, form: Mapping[str, str] | None = None) -> "Shown":
        answer = self.invoke("ApprovePagesFunction", event_of(method, f"/approve/{token}", form))
        return Shown(answer["statusCode"], answer["headers"], answer["body"])

    def sweep(self) -> None:
        [schedule] = [each for each in self.world.aws.schedules.values() if each.name.endswith("approve-sweep")]
        swept = self.world.aws.fire(schedule, time.time())
        assert not swept.failed, swept.payload

    def mail_to(self, address: str) -> Mail:
        """The last one, once it is there."""
        return until(lambda: [mail for mail in self.world.aws.outbox if address in mail.to], 60)[-1]


@dataclass(frozen=True)
class Shown:
    """An answer as a function URL returns it."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def digest(self) -> str:
        return self.text.partition('name="args_digest" value="')[2].partition('"')[0]


def event_of(method: str, path: str, form: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the event of a function URL, payload format 2.0."""
    body = b64encode(urlencode(form).encode()).decode() if form is not None else None
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "cookies": ["seen=1", "theme=dark"],
        "headers": {
            "host": "approve.test",
            "user-agent": "Mozilla/5.0",
            "accept": "text/html,application/xhtml+xml",
            "x-forwarded-for": "203.0.113.7",
            "x-forwarded-port": "443",
            "x-forwarded-proto": "https",
            "x-amzn-tls-version": "TLSv1.3",
            "x-amzn-trace-id": "Root=1-69208f2e-0a0a0a0a0a0a0a0a0a0a0a0a",
            **({"content-type": "application/x-www-form-urlencoded", "content-length": "99"} if body else {}),
        },
        "requestContext": {
            "accountId": "anonymous",
            "apiId": "abcdefghij",
            "domainName": "abcdefghij.lambda-url.eu-west-1.on.aws",
            "domainPrefix": "abcdefghij",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "203.0.113.7",
                "userAgent": "Mozilla/5.0",
            },
            "requestId": str(uuid.uuid4()),
            "routeKey": "$default",
            "stage": "$default",
            "time": "21/Nov/2026:21:00:00 +0000",
            "timeEpoch": 1795294800000,
        },
        **({"body": body} if body is not None else {}),
        "isBase64Encoded": body is not None,
    }


@pytest.fixture(scope="module")
def emulator() -> Path:
    found = [*ROOT.glob(f".venv-sam/lib/python*/site-packages/samcli/local/rapid/{EMULATOR}")]
    if not found and "CI" not in os.environ:
        pytest.skip("the emulator comes with the SAM CLI, which `make build` installs into .venv-sam")
    [path] = found
    return path


@pytest.fixture(scope="module")
def runtime(emulator: Path, layer: Layer, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str | Path], str]:
    """Start a function with the layer's packages before the runtime's, as Lambda does."""
    folder = tmp_path_factory.mktemp("runtime")
    pins = re.findall(r"^\S.*(?:\n .*)*", (ROOT / "requirements" / "dev.txt").read_text(), re.MULTILINE)
    (folder / "pins.txt").write_text("\n".join(pin for pin in pins if pin.startswith(RUNTIME)))
    pip = [layer.python, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
    subprocess.run([*pip, "--requirement", folder / "pins.txt", "--target", folder / "var"], check=True)
    # An environment without a single package, so that whatever a function imports can only be of these two.
    subprocess.run([layer.python, "-m", "venv", "--without-pip", folder / "bare"], check=True)
    command = [emulator, folder / "bare" / "bin" / "python", "-m", "awslambdaric"]
    return command, os.pathsep.join([str(layer.packages), str(folder / "var")])


@pytest.fixture(scope="module")
def cloud(mongodb_uri: str, _model_server: ModelServer, runtime: tuple[list[str | Path], str]) -> Iterator[Cloud]:
    name = f"qwestly_test_{uuid.uuid4().hex[:12]}"
    # What happens in a test begins an hour ago; the sandboxes read the real clock.
    clock = FakeClock(time.time() - AN_HOUR)
    secrets = {
        "MONGODB_URI": mongodb_uri,
        "QWESTLY_AGENT_SHARED_SECRET": SECRET,
        "QWESTLY_CANDIDATE_API_SECRET": API_SECRET,
        "ERASURE_KEY": ERASURES["erasure_key"],
        "DEEPSEEK_API_KEY": "none",
        "OPENAI_API_KEY": "none",
    }
    with ExitStack() as closing:
        sandboxes: dict[str, Sandbox] = {}
        handlers = {}
        app = closing.enter_context(CandidateAppServer(mongodb_uri, name, API_SECRET))
        boards = closing.enter_context(JobBoardsServer())
        mongo = closing.enter_context(MongoClient(mongodb_uri))
        closing.callback(mongo.drop_database, name)
        local = {
            "MONGODB_DATABASE": name,
            "CANDIDATE_API_URL": app.url,
            "APPROVE_URL": APPROVE_URL,
            "MODEL_BASE_URL": _model_server.base_url,
            "EMBEDDINGS_BASE_URL": _model_server.base_url,
        }
        for logical_id in HANDLERS:
            sandboxes[logical_id] = Sandbox(logical_id, runtime[0], {})
            handlers[TEMPLATE.name(logical_id)] = sandboxes[logical_id]
            closing.callback(sandboxes[logical_id].end)
        sender = TEMPLATE.environment("GenerateWriterFunction")["MAIL_FROM"]
        aws = closing.enter_context(AwsServer(TEMPLATE, secrets | {"MAIL_FROM": sender}, handlers, hurried=True))
        machine = {"PATH": "/usr/bin:/bin", "PYTHONPATH": runtime[1], "PYTHONDONTWRITEBYTECODE": "1"}
        for logical_id, sandbox in sandboxes.items():
            own = TEMPLATE.environment(logical_id)
            filled_in = {name: value for name, value in local.items() if name in own or name.endswith("_BASE_URL")}
            sandbox.environment = {**own, **filled_in, **aws.variables, **machine}
        for collection, indexes in INDEXES.items():
            mongo[name][collection].create_indexes(indexes)
        patch = closing.enter_context(pytest.MonkeyPatch.context())
        settings = settings_for(mongodb_uri, _model_server.base_url, name)

        async def services() -> Services:
            return await bootstrap(settings, clock=clock)

        async def model_services() -> ModelServices:
            return await bootstrap_models(settings, clock=clock)

        patch.setattr(container, "services", container.Container(services))
        patch.setattr(container, "model_services", container.Container(model_services))
        closing.callback(container.model_services.close)
        closing.callback(container.services.close)
        yield Cloud(World(aws, app, boards, clock, mongo[name]), sandboxes)


@pytest.fixture
def ada(cloud: Cloud, model: ModelServer) -> Person:
    """A nurse, whose card has one section."""
    ada = Person(cloud.world, f"auth0|{uuid.uuid4().hex}", f"draft_{uuid.uuid4().hex}")
    degree = {"degree": "BSc Nursing", "school": "University of Leeds"}
    ada.has("candidates_enhanced", email=f"{ada.draft_id}@example.com", name="Ada", education=[degree])
    return ada


@pytest.mark.nightly
@pytest.mark.parametrize("logical_id", HANDLERS)
def test_each_handler_is_found_and_answers_an_invalid_event_with_an_error_type(cloud: Cloud, logical_id: str) -> None:
    answer = cloud.invoke(logical_id, ["nonsense"])
    if logical_id == "ApproveClockFunction":
        assert "errorType" not in answer
    elif logical_id == "ActFunction":
        assert answer["error"] == "Invalid"
    else:
        assert answer.keys() == {"errorType", "errorMessage", "requestId", "stackTrace"}
        assert answer["errorType"] in ("ValidationError", "TypeError", "RuntimeError")


@pytest.mark.sentinel
def test_a_card_is_drafted_approved_by_a_mailed_link_and_published(cloud: Cloud, ada: Person) -> None:
    ada.is_at("L2")
    ada.wants_a_card()
    ada.is_asked()
    cloud.sweep()
    mail = cloud.mail_to(f"{ada.draft_id}@example.com")
    token = mail.text.partition(f"{APPROVE_URL}/")[2].split()[0]

    page = cloud.browse("GET", token)
    assert page.status == 200
    assert "BSc Nursing" in page.text
    assert (page.headers["content-type"], page.headers["cache-control"]) == ("text/html; charset=utf-8", "no-store")
    head = cloud.browse("HEAD", token)
    assert (head.status, head.text) == (200, "")
    assert cloud.browse("GET", "x" * 43).status == 404
    assert ada.asked().status == "pending"

    form = {"decision": "approve", "args_digest": page.digest, "reason": ""}
    assert "You approved this" in cloud.browse("POST", token, form).text
    assert ada.asked().audit[-1]
    assert ada.outcome() == ("SUCCEEDED", "published")
    assert ada.published()
    assert ada.asked().status == "done"
    assert "203.0.113.7" in " ".join(ada.asked().audit)
    assert "You approved this" in cloud.browse("POST", token, form | {"decision": "reject"}).text, (
        "the first one counts"
    )


@pytest.mark.nightly
def test_a_conversations_memories_are_extracted_and_merged_in_lambdas_runtime(cloud: Cloud, ada: Person) -> None:
    async def talked(services: ModelServices) -> None:
        talk = Talk(services, cloud.world.clock, None, ada.user_id)  # type: ignore[arg-type]
        await talk.says("I live in Leeds and work as a nurse.", conversation_id=ada.draft_id)

    container.model_services.run(talked)
    read = cloud.world.aws.run(TEMPLATE.name("ExtractMemoriesMachine"), {"run_id": "swept"}, 40)
    assert (read.status, read.error) == ("SUCCEEDED", None)
    remembered = [each["content"] for each in cloud.world.database["user_memories"].find({"user_id": ada.user_id})]
    assert any("Leeds" in each for each in remembered)

    async def remember(services: Services) -> None:
        for content in ("Knows Python", "knows Python."):
            memory = Memory(id=uuid.uuid4().hex, type="skill", content=content)
            vector = embedding(content, DIMENSIONS)
            # Equal for code, though they were stored as two: no model has to say so.
            await services.memories.add(ada.user_id, memory, uuid.uuid4().hex, vector, time.time())

    container.services.run(remember)
    night = cloud.world.aws.run(TEMPLATE.name("ConsolidateMachine"), {"run_id": "night of today"}, 40)
    assert night.status == "SUCCEEDED"
    merged = {"user_id": ada.user_id, "status": "merged"}
    assert cloud.world.database["user_memories"].count_documents(merged) == 1


def test_the_clock_mails_an_unanswered_question(cloud: Cloud, ada: Person) -> None:
    ada.is_at("L1")
    ada.wants_a_card()
    asked = ada.is_asked()
    long_ago = {"$set": {"mail_at": 1.0, "due_at": 1.0}}
    assert not [mail for mail in cloud.world.aws.outbox if ada.draft_id in mail.to]
    cloud.world.database["agent_approvals"].update_one({"_id": asked.id}, long_ago)
    cloud.sweep()
    assert APPROVE_URL in cloud.mail_to(f"{ada.draft_id}@example.com").text


def test_the_brakes_error_has_the_name_the_state_machine_expects(cloud: Cloud, ada: Person) -> None:
    ada.wants_a_card()
    ada.is_asked()
    ada.pulls_the_brake()
    given = {"user_id": ada.user_id, "draft_id": ada.draft_id, "run_id": "run1"}
    gather = {"workflow": "generate_card", "state": "gather_evidence", "given": given}
    assert cloud.invoke("GenerateReaderFunction", gather)["errorType"] == "Braked"
    ada.releases_the_brake()
    assert cloud.invoke("GenerateReaderFunction", gather)["sections"], "the container is none the worse for it"


@pytest.mark.nightly
def test_an_unreachable_database_raises_the_error_name_that_is_retried(cloud: Cloud) -> None:
    given = {"user_id": "auth0|ada", "draft_id": "draft_1", "run_id": "run1"}
    keep = {"workflow": "generate_card", "state": "keep_draft", "given": given}
    answer = invoked_with(cloud, "GenerateWriterFunction", keep, MONGODB_URI="mongodb://127.0.0.1:1")
    assert answer["errorType"] == "Unavailable"


def test_a_call_that_exceeds_its_timeout_is_ended_from_outside(cloud: Cloud) -> None:
    given = {"user_id": "auth0|ada", "draft_id": "draft_1", "run_id": "run1"}
    keep = {"workflow": "generate_card", "state": "keep_draft", "given": given}
    gone = {"MONGODB_URI": "mongodb://127.0.0.1:1", "AWS_LAMBDA_FUNCTION_TIMEOUT": "1"}
    assert invoked_with(cloud, "GenerateWriterFunction", keep, **gone) == "Task timed out after 1.00 seconds"


def invoked_with(cloud: Cloud, logical_id: str, event: Any, **environment: str) -> Any:
    """Return the event that reaches the function called by another one."""
    own = cloud.sandboxes[logical_id]
    other = replace(own, environment={**own.environment, **environment}, _process=None, _busy=threading.Lock())
    try:
        return other.invoke(event)
    finally:
        other.end()
