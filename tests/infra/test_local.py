"""The local stack: which services it replaces, and a front that responds as the function URL does."""

import ast
import asyncio
import base64
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from infra.local import candidate_app, front, reset
from infra.local.__main__ import CHAT, CannotRun, Stack, is_demo, plan
from infra.local.environment import DEMO_DATABASE, DEMO_USER, VARIABLES, Template, aws_variables, is_local
from infra.local.tokens import mint
from qwestly_agent.base.settings import Settings, is_reference
from qwestly_agent.clients.user_tokens import verify_token
from tests.servers import API_SECRET, SECRET, FakeClock, free_port, wait_for_port

ROOT = Path(__file__).parents[2]
REMOTE = "mongodb+srv://user:password@cluster.example.net"
BOTH_KEYS = {"DEEPSEEK_API_KEY": "sk-deepseek", "OPENAI_API_KEY": "sk-openai"}


# --- the environment ----------------------------------------------------------------------------------------------


def test_the_function_gets_the_templates_environment_with_default_parameters() -> None:
    template = Template.load()
    environment = template.environment(CHAT)
    assert environment["AWS_LWA_INVOKE_MODE"] == "response_stream"
    assert environment["MONGODB_DATABASE"] == "candidate_portal"
    assert environment["LOG_LEVEL"] == "INFO"
    assert environment["QWESTLY_JWT_AUDIENCE"] == ""
    assert environment["MONGODB_URI"] == "ssm:/qwestly-agent/dev/mongodb-chat-uri"
    assert not [name for name, value in environment.items() if "${" in value or value.startswith("(")]
    assert (template.timeout(CHAT), template.cors(CHAT)["AllowMethods"][0]) == (300, "GET")


@pytest.mark.parametrize(
    ("uri", "database", "local"),
    [
        ("mongodb://127.0.0.1:27017", "anything", True),
        ("mongodb://localhost/?directConnection=true", "anything", True),
        ("mongodb://[::1]:27017", "anything", True),
        ("mongodb://user:password@127.0.0.1", "anything", True),
        (REMOTE, "qwestly_local", True),
        (REMOTE, "qwestly_local_ada", True),
        (REMOTE, "candidate_portal", False),
        (REMOTE, "my_qwestly_local", False),
        ("mongodb://localhost.example.net", "candidate_portal", False),
        ("mongodb://localhost@db.example.net", "candidate_portal", False),
        ("mongodb://10.0.0.7:27017", "candidate_portal", False),
        ("mongodb://127.0.0.1:27017,db.example.net:27017", "candidate_portal", False),
        ("ssm:/qwestly-agent/dev/mongodb-uri", "candidate_portal", False),
        ("", "candidate_portal", False),
    ],
)
def test_demo_data_goes_only_into_a_local_or_explicitly_allowed_database(uri: str, database: str, local: bool) -> None:
    assert is_local(uri, database) is local


# --- the plan -----------------------------------------------------------------------------------------------------


def parts(stack: Stack) -> set[str]:
    return {part.name for part in stack.parts}


def command_of(stack: Stack, name: str) -> list[str]:
    [part] = [part for part in stack.parts if part.name == name]
    return part.command


def test_every_service_has_a_stand_in_by_default() -> None:
    stack = plan({})
    assert parts(stack) == {"page", "chat function", "aws", "candidate app", "job boards", "model server", "database"}
    assert stack.environment["MONGODB_DATABASE"] == DEMO_DATABASE
    assert stack.environment["MODEL_BASE_URL"] == stack.environment["EMBEDDINGS_BASE_URL"]
    assert (stack.status["model"], stack.status["notes"]) == ("scripted", [])
    assert is_demo(stack)


@pytest.mark.parametrize(
    ("installed", "wanted", "embeddings"),
    [(True, "", "all-MiniLM-L6-v2"), (True, "scripted", "scripted"), (False, "", "scripted")],
)
def test_the_real_embedding_is_used_if_installed_and_not_overridden(
    monkeypatch: pytest.MonkeyPatch, *, installed: bool, wanted: str, embeddings: str
) -> None:
    monkeypatch.setattr("infra.local.model_minilm.is_installed", lambda: installed)
    stack = plan({"LOCAL_EMBEDDING": wanted})
    assert stack.status["embeddings"] == embeddings
    assert ("--embedding=minilm" in command_of(stack, "model server")) == (embeddings != "scripted")


def test_the_chat_function_can_start_in_the_planned_environment() -> None:
    environment = plan({}).environment
    settings = Settings.from_env(environment).resolve(lambda reference: pytest.fail(f"{reference} was looked up"))
    assert not [value for value in vars(settings).values() if is_reference(value)]


def test_local_secrets_are_kept_until_the_data_is_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def secrets() -> list[str]:
        environment = plan({}).environment
        return [environment["QWESTLY_AGENT_SHARED_SECRET"], environment["QWESTLY_CANDIDATE_API_SECRET"]]

    monkeypatch.setattr(reset, "KEPT", tmp_path / "kept")
    first = secrets()
    assert secrets() == first
    assert {each.stat().st_mode & 0o777 for each in (tmp_path / "kept/secrets").iterdir()} == {0o600}
    shutil.rmtree(tmp_path / "kept")
    assert len({*first, *secrets()}) == 4


def test_each_part_has_its_own_port() -> None:
    parts = plan({}).parts
    assert len({part.port for part in parts}) == len(parts)


GIVEN = {
    "PORT": "8123",
    "QWESTLY_AGENT_SHARED_SECRET": SECRET,
    "MONGODB_URI": "mongodb://127.0.0.1:1",
    "MONGODB_DATABASE": "qwestly_local_mine",
    "MODEL_BASE_URL": "http://127.0.0.1:1/v1",
    "EMBEDDINGS_BASE_URL": "http://127.0.0.1:2/v1",
    "DEEPSEEK_API_KEY": "sk-deepseek",
    "OPENAI_API_KEY": "sk-openai",
    "CANDIDATE_APP_URL": "http://127.0.0.1:3",
    "CANDIDATE_API_URL": "http://127.0.0.1:3/api/agent/v1",
    "QWESTLY_CANDIDATE_API_SECRET": API_SECRET,
    "ADZUNA_APP_ID": "1",
    "ADZUNA_APP_KEY": "2",
    "JSEARCH_API_KEY": "3",
    "SEARCH_API_KEY": "4",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:4",
    "AGENT_DESIGN": "another",
    "AGENT_DESIGN_PATHS": "examples",
    "AGENT_DESIGN_SETTINGS": "{}",
    "LAMBDA_CONCURRENCY": "10",
    "LOCAL_EMBEDDING": "scripted",
    "CLOCK_OFFSET": "60",
    "DEMO_WEEKS": "0",
}


def test_each_supported_variable_is_tested_here() -> None:
    assert GIVEN.keys() == VARIABLES.keys()


@pytest.mark.parametrize(("name", "value"), GIVEN.items())
def test_a_given_variable_overrides_the_default(name: str, value: str) -> None:
    wanted = str(ROOT / value) if name == "AGENT_DESIGN_PATHS" else value
    assert plan({name: value}).environment[name] == wanted


def test_design_folders_are_relative_to_the_folder_of_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environment = plan({"AGENT_DESIGN_PATHS": "mine, ../theirs,/all"}).environment
    assert environment["AGENT_DESIGN_PATHS"] == f"{tmp_path}/mine,{tmp_path.parent}/theirs,/all"


def test_unfinished_work_is_kept_for_the_next_start_with_the_same_database() -> None:
    def kept(**given: str) -> str:
        [aws] = [each.command for each in plan(given).parts if each.name == "aws"]
        return aws[aws.index("--executions") + 1]

    other, another = {"MONGODB_DATABASE": "qwestly_local_2"}, {"MONGODB_URI": "mongodb://127.0.0.1:1"}
    assert kept() == kept()
    assert len({kept(), kept(**other), kept(**another)}) == 3


@pytest.mark.thorough
@pytest.mark.parametrize("name", GIVEN)
def test_an_empty_variable_counts_as_unset(name: str) -> None:
    assert parts(plan({name: ""})) == parts(plan({}))


def test_the_scripted_model_accepts_the_openai_model_names_in_use() -> None:
    stack = plan({"MODEL_FAST": "deepseek:deepseek-v4-pro", "MODEL_FALLBACK": "openai:gpt-4.1-mini"})
    [server] = [part for part in stack.parts if part.name == "model server"]
    assert [each for each in server.command if each.startswith("--model")] == ["--model=gpt-4.1-mini"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("given", "gone"),
    [
        ({"MONGODB_URI": GIVEN["MONGODB_URI"]}, {"database"}),
        ({"CANDIDATE_APP_URL": GIVEN["CANDIDATE_APP_URL"]}, {"candidate app"}),
        ({"AWS_ENDPOINT_URL": GIVEN["AWS_ENDPOINT_URL"]}, {"aws"}),
        (BOTH_KEYS, {"model server"}),
        ({"MODEL_BASE_URL": "http://127.0.0.1:1/v1", "EMBEDDINGS_BASE_URL": "http://127.0.0.1:1/v1"}, {"model server"}),
        ({"DEEPSEEK_API_KEY": "sk-deepseek"}, set()),
        ({"OPENAI_API_KEY": "sk-openai"}, set()),
        ({"AGENT_DESIGN": "another"}, set()),
        ({"LAMBDA_CONCURRENCY": "10"}, set()),
    ],
    ids=lambda value: ", ".join(value) or "none",
)
def test_a_configured_service_has_no_stand_in(given: dict[str, str], gone: set[str]) -> None:
    assert parts(plan({})) - parts(plan(given)) == gone


def test_real_models_answer_if_keys_are_set_and_the_page_says_so() -> None:
    stack = plan(BOTH_KEYS)
    assert (stack.status["model"], stack.status["embeddings"]) == ("DeepSeek", "OpenAI")
    assert not {"MODEL_BASE_URL", "EMBEDDINGS_BASE_URL"} & stack.environment.keys()


def test_one_key_alone_enables_only_its_provider() -> None:
    stack = plan({"DEEPSEEK_API_KEY": "sk-deepseek", "LOCAL_EMBEDDING": "scripted"})
    assert (stack.status["model"], stack.status["embeddings"]) == ("DeepSeek", "scripted")
    assert "MODEL_BASE_URL" not in stack.environment


def test_a_configured_address_replaces_the_providers_and_still_gets_the_key() -> None:
    stack = plan({**BOTH_KEYS, "MODEL_BASE_URL": "http://127.0.0.1:1/v1"})
    assert (stack.status["model"], stack.environment["DEEPSEEK_API_KEY"]) == ("http://127.0.0.1:1/v1", "sk-deepseek")


def test_the_page_is_served_on_the_configured_port_and_knows_the_other_ports() -> None:
    stack = plan({"PORT": "8123", "CANDIDATE_APP_URL": "http://127.0.0.1:3"})
    page = stack.parts[0]
    [chat] = [part for part in stack.parts if part.name == "chat function"]
    assert (page.name, page.port, page.command[page.command.index("--port") + 1]) == ("page", 8123, "8123")
    assert page.command[page.command.index("--chat-url") + 1] == f"http://127.0.0.1:{chat.port}"
    assert page.command[page.command.index("--candidate-app-url") + 1] == "http://127.0.0.1:3"
    assert json.loads(page.command[page.command.index("--status") + 1]) == stack.status


def test_the_write_api_is_the_stub_unless_a_candidate_app_is_configured() -> None:
    environment = plan({}).environment
    assert environment["CANDIDATE_API_URL"] == environment["CANDIDATE_APP_URL"] + "/api/agent/v1"
    given = plan({"CANDIDATE_APP_URL": "https://staging.example/"}).environment
    assert given["CANDIDATE_API_URL"] == "https://staging.example/api/agent/v1"


def test_links_in_mails_use_the_common_origin() -> None:
    environment = plan({"PORT": "8123"}).environment
    assert environment["APPROVE_URL"] == "http://127.0.0.1:8123/approve"
    assert "@" in environment["MAIL_FROM"]


MACHINES_OWN = {
    "AWS_PROFILE": "work",
    "AWS_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "AKIAREAL",
    "AWS_SECRET_ACCESS_KEY": "real",
    "AWS_SESSION_TOKEN": "real",
    "AWS_ENDPOINT_URL_LAMBDA": "https://lambda.eu-west-1.amazonaws.com",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
}


def test_the_machines_aws_settings_never_bypass_the_local_server() -> None:
    stack = plan(MACHINES_OWN)
    [aws] = [part for part in stack.parts if part.name == "aws"]
    ours = {name: value for name, value in stack.environment.items() if name.startswith("AWS_") and "LWA" not in name}
    assert ours.pop("AWS_LAMBDA_EXEC_WRAPPER")
    assert ours == aws_variables(f"http://127.0.0.1:{aws.port}")


def test_the_settings_of_a_configured_aws_are_kept() -> None:
    environment = plan({**MACHINES_OWN, "AWS_ENDPOINT_URL": "http://127.0.0.1:4566"}).environment
    assert MACHINES_OWN.items() <= environment.items()
    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"


def test_no_secret_appears_on_a_command_line_or_in_the_page() -> None:
    stack = plan({**GIVEN, "MONGODB_URI": "mongodb://user:hunter2@127.0.0.1"})
    told = f"{[part.command for part in stack.parts]} {stack.status}"
    assert not [secret for secret in (SECRET, API_SECRET, "sk-deepseek", "sk-openai", "hunter2") if secret in told]


@pytest.mark.parametrize("keys", [{}, {"DEEPSEEK_API_KEY": "k"}, {"OPENAI_API_KEY": "k"}], ids=str)
def test_a_real_database_without_keys_cannot_run_and_says_why(keys: dict[str, str]) -> None:
    with pytest.raises(CannotRun, match=r"candidate_portal.*DEEPSEEK_API_KEY.*OPENAI_API_KEY"):
        plan({"MONGODB_URI": REMOTE, "MONGODB_DATABASE": "candidate_portal", **keys})


def test_a_real_database_with_keys_runs_without_demo_data_and_says_so() -> None:
    stack = plan({"MONGODB_URI": REMOTE, "MONGODB_DATABASE": "candidate_portal", **BOTH_KEYS})
    assert not is_demo(stack)
    assert parts(stack) == {"page", "chat function", "aws", "candidate app", "job boards"}
    [note] = stack.status["notes"]  # type: ignore[misc]
    assert "no demo data" in str(note)
    assert "no schedules" in str(note)


def test_a_separate_database_on_a_real_host_may_hold_demo_data() -> None:
    stack = plan({"MONGODB_URI": REMOTE, "MONGODB_DATABASE": "qwestly_local_ada"})
    assert is_demo(stack)
    assert "model server" in parts(stack)


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def start(**environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "infra.local"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=20,
    )


def test_a_port_in_use_is_reported_in_one_sentence() -> None:
    with taken_port() as port:
        refused = start(PORT=str(port))
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert refused.stderr.startswith(f"Port {port} is taken")
    assert refused.stderr.count("\n") == 1


@pytest.mark.thorough
@pytest.mark.parametrize("port", ["eight thousand", "70000"])
def test_an_invalid_port_is_reported_in_one_sentence(port: str) -> None:
    refused = start(PORT=port)
    assert refused.returncode == 1
    assert "PORT" in refused.stderr
    assert refused.stderr.count("\n") == 1


# --- what it is installed with ------------------------------------------------------------------------------------


def pins(name: str) -> dict[str, str]:
    """Return the versions of the distributions in a file of requirements/."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==(\S+)", text, re.MULTILINE))


def test_each_requirements_file_extends_the_previous_one_at_the_same_versions() -> None:
    layer, run, dev = pins("layer"), pins("run"), pins("dev")
    assert layer.items() < run.items() < dev.items()


@pytest.mark.nightly
@pytest.mark.thorough
def test_make_run_installs_everything_the_stack_imports() -> None:
    """The tests' own environment has more packages: a missing one would go unnoticed there."""
    folders = ("src", "functions", "infra/local", "infra/mongo")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    found = {name.partition(".")[0] for name in names} & packages_distributions().keys()
    assert {"moto", "yaml", "nx_27017", "fastapi"} <= found
    brought = {
        name: {re.sub(r"[-_.]+", "-", each.lower()) for each in packages_distributions()[name]} for name in found
    }
    assert not [name for name, each in brought.items() if not each & pins("run").keys()]


# --- the candidate app --------------------------------------------------------------------------------------------


def parts_of(token: str) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    """Header and claims, in their order."""
    header, claims, _ = token.split(".")
    return tuple(  # type: ignore[return-value]
        json.loads(base64.urlsafe_b64decode(part + "=="), object_pairs_hook=list) for part in (header, claims)
    )


def test_a_token_equals_one_signed_by_jsonwebtoken() -> None:
    header, claims = parts_of(mint(DEMO_USER, SECRET, 1_800_000_000.9))
    assert header == [("alg", "HS256"), ("typ", "JWT")]
    assert claims == [
        ("user_id", "auth0|demo"),
        ("email", "demo@example.com"),
        ("name", "Demo"),
        ("iat", 1_800_000_000),
        ("exp", 1_800_000_300),
    ]


def test_our_code_accepts_the_token() -> None:
    settings = Settings("mongodb://127.0.0.1:1", "qwestly_local", SECRET)
    assert verify_token(mint("user-7", SECRET, 1_800_000_000), settings, FakeClock()) == "user-7"


def test_the_stub_issues_uncached_tokens_for_the_requested_user() -> None:
    async def ask(**query: str) -> httpx2.Response:
        transport = httpx2.ASGITransport(candidate_app.create_app(SECRET, FakeClock()))
        async with httpx2.AsyncClient(transport=transport, base_url="http://candidate-app") as client:
            return await client.get("/api/agent/token", params=query)

    for query, user_id in (({}, DEMO_USER), ({"user": "auth0|ada"}, "auth0|ada")):
        answer = asyncio.run(ask(**query))
        claims = jwt.decode(answer.json()["token"], SECRET, ["HS256"], options={"verify_iat": False})
        assert claims["user_id"] == user_id
        assert answer.headers["cache-control"] == "no-store"


# --- the front ----------------------------------------------------------------------------------------------------


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_for_port(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@dataclass
class Chat:
    """The server behind the front, which records requests and streams as far as allowed."""

    go_on: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)

    def app(self) -> Starlette:
        app = Starlette(routes=[Route("/api/stream", self.stream), Route("/api/held", self.held, methods=["POST"])])
        app.router.default = self.echo
        return app

    async def echo(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        said = {
            "method": request.method,
            "path": request.scope["raw_path"].decode(),
            "query": request.url.query,
            "body": (await request.body()).decode(),
            "headers": dict(request.headers),
            "names": request.headers.getlist("x-name"),
        }
        await JSONResponse(said, 418, {"x-mine": "yes", "Retry-After": "2"})(scope, receive, send)

    async def held(self, _: Request) -> Response:
        """Respond late, like a decision with a slow effect."""
        self.asked.set()
        await asyncio.to_thread(self.go_on.wait, 5)
        return PlainTextResponse("data: café\n\n")

    async def stream(self, _: Request) -> Response:
        async def events() -> AsyncIterator[bytes]:
            yield b"data: caf\xc3"
            self.asked.set()
            await asyncio.to_thread(self.go_on.wait, 5)
            yield b"\xa9\n\n"

        return StreamingResponse(events(), media_type="text/event-stream", headers={"Cache-Control": "no-transform"})


class ClockLoop(asyncio.SelectorEventLoop):
    """A loop whose clock can be put forward."""

    skipped = 0.0

    def time(self) -> float:
        return super().time() + self.skipped


@pytest.mark.parametrize(("method", "path"), [("GET", "/api/stream"), ("POST", "/api/held")])
def test_twenty_five_silent_seconds_do_not_cut_off_a_response(method: str, path: str) -> None:
    chat = Chat()

    async def ask(chat_url: str) -> httpx2.Response:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ClockLoop)
        app = front.create_app(front.Front(chat_url, ""), dict(Template.load().cors(CHAT)), [ORIGIN])

        async def with_client(scope: Scope, receive: Receive, send: Send) -> None:
            await app({**scope, "state": state}, receive, send)

        async with (
            front.client_of(app) as state,
            httpx2.AsyncClient(transport=httpx2.ASGITransport(with_client), base_url="http://localhost") as http,
        ):
            asking = asyncio.ensure_future(http.request(method, path))
            await asyncio.to_thread(chat.asked.wait, 5)
            for _ in range(25):
                loop.skipped += 1
                await asyncio.sleep(0.002)  # lets the front read on, and give up
            chat.go_on.set()
            return await asking

    with served(chat.app()) as chat_url, asyncio.Runner(loop_factory=ClockLoop) as runner:
        answer = runner.run(ask(chat_url))
    assert (answer.status_code, answer.text) == (200, "data: café\n\n")


ORIGIN = "https://app.example"


@pytest.fixture(scope="module")
def chat() -> Chat:
    return Chat()


@pytest.fixture(scope="module")
def front_url(chat: Chat) -> Iterator[str]:
    cors = dict(Template.load().cors(CHAT))
    with served(chat.app()) as chat_url, served(candidate_app.create_app(SECRET, FakeClock())) as candidate_app_url:
        stub = front.Front(chat_url, candidate_app_url, {"model": "scripted"})
        with served(front.create_app(stub, cors, [ORIGIN])) as url:
            yield url


@pytest.fixture
def http(front_url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=front_url, timeout=5) as client:
        yield client


def test_requests_and_responses_are_passed_on_unchanged(http: httpx2.Client) -> None:
    answer = http.request(
        "DELETE", "/api/conversations/a-b?limit=2&as=ui", content='{"é": 1}', headers={"Authorization": "Bearer t"}
    )
    said = answer.json()
    assert (said["method"], said["path"], said["query"]) == ("DELETE", "/api/conversations/a-b", "limit=2&as=ui")
    assert (said["body"], said["headers"]["authorization"]) == ('{"é": 1}', "Bearer t")
    assert (answer.status_code, answer.headers["x-mine"], answer.headers["retry-after"]) == (418, "yes", "2")


UNUSUAL = ("a%3Fb%23c", "%E2%82%AC", "%00", "%01", "%7f", "%0a", "%zz", "%", 'a|b<c>"{}^`\\', "%2e%2e/x", "a//b", "a/")


@pytest.mark.parametrize(
    "path", [*(f"/api/{each}" for each in UNUSUAL), "/api", "/healthz%0a", "/nothing", "//evil/api"]
)
def test_a_path_reaches_the_function_unchanged(http: httpx2.Client, path: str) -> None:
    said = http.get("/", extensions={"target": path.encode()}).json()
    assert (said["path"], said["query"]) == (path, "")


def test_query_and_headers_reach_the_function_unchanged(http: httpx2.Client) -> None:
    twice = [(b"X-Name", b"caf\xe9"), (b"X-Name", b"\x80")]
    request = httpx2.Request("GET", http.base_url, headers=twice, extensions={"target": b'/api/x?q="%00+%C3|'})
    said = http.send(request).json()
    assert (said["query"], said["names"]) == ('q="%00+%C3|', ["caf\xe9", "\x80"])


@pytest.mark.parametrize("path", ["/widget/%00", "/widget/", f"/widget/{'a' * 300}", "/widget/nothing"])
def test_an_unknown_path_of_the_page_returns_the_common_error_format(http: httpx2.Client, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    refused = http.post("/local/status")
    assert (refused.status_code, refused.json()["error"]["code"]) == (405, "invalid")


@pytest.mark.parametrize("path", ["/local/status/", "/page.js/", "/widget", "/api/x/"])
def test_a_trailing_slash_causes_no_redirect(http: httpx2.Client, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.json()["path"]) == (418, path)


def test_a_client_cannot_override_the_functions_request_id_and_deadline(http: httpx2.Client) -> None:
    forged = {"x-amzn-request-context": '{"requestId": "FORGED"}', "x-amzn-lambda-context": '{"deadline": 1}'}
    first, second = (http.get("/api/x", headers=forged).json()["headers"] for _ in range(2))
    request_id = json.loads(first["x-amzn-request-context"])["requestId"]
    context = json.loads(first["x-amzn-lambda-context"])
    assert context["request_id"] == request_id != "FORGED"
    assert request_id != json.loads(second["x-amzn-request-context"])["requestId"]
    assert context["deadline"] > 1_700_000_000_000


def test_bytes_are_passed_on_as_they_come(http: httpx2.Client, chat: Chat) -> None:
    with http.stream("GET", "/api/stream") as answer:
        pieces = answer.iter_raw()
        assert next(pieces) == b"data: caf\xc3"
        chat.go_on.set()
        assert b"".join(pieces) == b"\xa9\n\n"
        assert (answer.headers["content-type"], answer.headers["cache-control"]) == (
            "text/event-stream; charset=utf-8",
            "no-transform",
        )


def preflight(http: httpx2.Client, origin: str, method: str = "POST") -> httpx2.Response:
    asking = {
        "Origin": origin,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    return http.options("/api/chat", headers=asking)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_the_url_answers_preflights_from_allowed_origins(http: httpx2.Client, method: str) -> None:
    answer = preflight(http, ORIGIN, method)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert method in answer.headers["access-control-allow-methods"]
    assert {"authorization", "content-type"} <= {
        name.strip().lower() for name in answer.headers["access-control-allow-headers"].split(",")
    }
    assert answer.headers["access-control-max-age"] == "7200"


def test_a_foreign_origin_gets_no_cors_headers(http: httpx2.Client) -> None:
    assert "access-control-allow-origin" not in preflight(http, "https://evil.example").headers
    answer = http.get("/api/x", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in answer.headers


def test_an_allowed_origin_may_read_the_response_and_is_named_once(http: httpx2.Client) -> None:
    answer = http.get("/api/x", headers={"Origin": ORIGIN})
    assert answer.headers.get_list("access-control-allow-origin") == [ORIGIN]


def test_the_page_its_script_and_the_widget_share_one_origin(http: httpx2.Client) -> None:
    for path in ("/", "/page.js", "/graphs.js", "/local/graphs", "/widget/qwestly.js", "/widget/tokens.css"):
        assert http.get(path).status_code == 200, path
    assert "default-src 'self'" in http.get("/").headers["content-security-policy"]
    for path in (b"/widget/../template.yaml", b"/widget/%2e%2e/template.yaml"):
        assert http.get("/", extensions={"target": path}).status_code == 404


def test_the_page_gets_the_user_and_the_model_in_use(http: httpx2.Client) -> None:
    assert http.get("/local/status").json() == {"user": DEMO_USER, "notes": [], "model": "scripted"}


def test_the_page_gets_its_token_from_the_candidate_app(http: httpx2.Client) -> None:
    answer = http.get("/local/token", params={"user": "auth0|ada"})
    _, claims = parts_of(answer.json()["token"])
    assert ("user_id", "auth0|ada") in claims
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.thorough
@pytest.mark.parametrize("path", ["/api/conversations", "/healthz", "/local/token"])
def test_a_removed_route_returns_the_common_error_format(path: str) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    cors = dict(Template.load().cors(CHAT))
    with served(front.create_app(front.Front(nowhere, nowhere), cors, [ORIGIN])) as url:
        answer = httpx2.get(f"{url}{path}", headers={"Origin": ORIGIN})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], set(error)) == (502, "unavailable", {"code", "message", "request_id"})
    assert answer.headers["access-control-allow-origin"] == ORIGIN


def test_dns_rebinding_gets_no_token(http: httpx2.Client) -> None:
    assert http.get("/local/token?user=somebody", headers={"Host": "rebound.example"}).status_code == 400
    assert http.get("/local/token?user=somebody").status_code == 200
