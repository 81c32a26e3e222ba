"""The smoke test of a deployed stage, run against the local stack: it passes on a working stack and detects each
fault."""

import base64
import io
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from infra.local.aws import AwsServer
from infra.smoke import paths, routes
from infra.smoke.command import LOCAL_ORIGIN, STEPS, place_of_stage, walk
from infra.smoke.visit import Failed, Place, Visit
from infra.stages import Stage
from qwestly_agent.base.clock import system_clock
from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.base.settings import Settings
from qwestly_agent.clients.aws import AWS
from qwestly_agent.clients.user_tokens import verify_token
from tests.e2e.processes import Stack, python, started
from tests.recorded_calls import compare, recording
from tests.servers import SECRET

pytestmark = pytest.mark.thorough

WALK_SECONDS = 300
"""Time limit on a busy machine; ten seconds suffice on an idle one."""


@dataclass
class Walked:
    ok: bool
    lines: list[str]

    def marks(self) -> dict[str, str]:
        found = (re.fullmatch(r"(ok|not tried|FAILED) +(.+?) +\d+ ms.*", line) for line in self.lines)
        return {line[2]: line[1] for line in found if line}


def walked(place: Place, transport: httpx2.BaseTransport | None = None, *, spend: bool = False) -> Walked:
    printed = io.StringIO()
    with httpx2.Client(transport=transport, timeout=20) as http, redirect_stdout(printed):
        ok = walk(Visit(place, http, spend))
    return Walked(ok, printed.getvalue().splitlines())


@pytest.fixture
def place(stack: Stack) -> Place:
    stack.model("reset", now=True)
    return Place(stack.url, stack.url, f"{stack.url}/approve", LOCAL_ORIGIN, SECRET)


@pytest.mark.nightly
def test_a_working_stack_passes_every_smoke_step_and_nothing_is_left_behind(stack: Stack) -> None:
    arguments = (stack.url, "--spend", "--approve-url", f"{stack.url}/approve")
    with started(*python("infra", "smoke", *arguments)) as smoke:
        assert smoke.wait(WALK_SECONDS) == 0, smoke.said
    assert Walked(True, smoke.said.splitlines()).marks() == dict.fromkeys(STEPS, "ok")
    assert re.search(r"leaving .* documents erased, none left", smoke.said)
    assert re.search(r"a card .*; asked, and answered with a no", smoke.said)
    assert len(re.findall(r"\$0\.\d{4}", smoke.said)) >= len(PATHS) + 1
    assert SECRET not in smoke.said


PATHS = ("the three tiers", "remember and recall", "a card", "an About section", "a no")


def test_the_smoke_test_spends_nothing_unless_requested(stack: Stack, place: Place) -> None:
    seen = walked(place)
    assert seen.ok
    assert {name for name, mark in seen.marks().items() if mark == "not tried"} == {
        "a turn",
        "a turn of the AI SDK",
        "its conversation",
        "stop",
        "end",
        *PATHS,
    }
    # The stack's own schedules run too, such as the nightly comparison of memories.
    assert [each for each in stack.model("requests") if "notes about one person" not in each["body"]] == []


def test_a_failed_smoke_step_exits_with_one_and_the_others_still_run(stack: Stack) -> None:
    with started(*python("infra", "smoke", stack.url, "--origin", "https://other.example")) as smoke:
        assert smoke.wait(WALK_SECONDS) == 1
    marks = Walked(False, smoke.said.splitlines()).marks()
    assert [name for name, mark in marks.items() if mark == "FAILED"] == ["CORS"]
    assert marks["leaving"] == "ok"


class Buffering(httpx2.BaseTransport):
    """A proxy that forwards a response only once it is complete."""

    def __init__(self) -> None:
        self.inner = httpx2.HTTPTransport()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = self.inner.handle_request(request)
        whole = answer.read()
        answer.close()
        return httpx2.Response(answer.status_code, headers=answer.headers, content=whole, request=request)

    def close(self) -> None:
        self.inner.close()


@pytest.mark.nightly
def test_an_answer_sent_all_at_once_is_not_a_stream(place: Place) -> None:
    seen = walked(place, Buffering(), spend=True)
    assert not seen.ok
    failed = {name for name, mark in seen.marks().items() if mark == "FAILED"}
    assert failed == {"a turn", "a turn of the AI SDK"}
    assert any("does not stream" in line for line in seen.lines)


@dataclass
class Otherwise(Buffering):
    """Answers one request wrongly."""

    method: str
    path: str
    status: int
    body: object
    inner: httpx2.HTTPTransport = field(default_factory=httpx2.HTTPTransport)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if (request.method, request.url.path) == (self.method, self.path):
            return httpx2.Response(self.status, json=self.body, request=request)
        return super().handle_request(request)


@pytest.mark.parametrize(
    ("step", "otherwise"),
    [
        ("health", Otherwise("GET", "/healthz", 502, {})),
        ("401 without a token", Otherwise("GET", "/api/conversations", 200, {"items": []})),
        ("memories", Otherwise("GET", "/api/memories", 200, {"items": [{"content": "of somebody else"}]})),
        ("export", Otherwise("GET", "/api/me/export", 200, {"complete": False, "user_id": "", "counts": {}})),
        ("brake on and off", Otherwise("POST", "/api/brake", 200, {"state": "partial"})),
        ("brake on and off", Otherwise("POST", "/api/chat", 200, {})),
        ("leaving", Otherwise("DELETE", "/api/me", 200, {"erased": {}})),
        ("leaving", Otherwise("DELETE", "/api/me", 500, {})),
    ],
)
def test_each_smoke_step_detects_its_fault(place: Place, step: str, otherwise: Otherwise) -> None:
    seen = walked(place, otherwise)
    assert not seen.ok
    assert [name for name, mark in seen.marks().items() if mark == "FAILED"] == [step]


class WelcomingAnybody(Buffering):
    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "OPTIONS":
            return httpx2.Response(200, headers={"Access-Control-Allow-Origin": request.headers["origin"]})
        return super().handle_request(request)


def test_a_chat_callable_from_any_origin_is_detected(place: Place) -> None:
    seen = walked(place, WelcomingAnybody())
    assert [name for name, mark in seen.marks().items() if mark == "FAILED"] == ["CORS"]


def test_another_page_is_not_accepted_as_the_approval_page(stack: Stack, place: Place) -> None:
    seen = walked(Place(place.chat, place.api, f"{stack.url}/page.js", place.origin, SECRET))
    assert [name for name, mark in seen.marks().items() if mark == "FAILED"] == ["a wrong link"]


def test_a_wrong_secret_fails_the_smoke_test(place: Place) -> None:
    seen = walked(Place(place.chat, place.api, place.approve, place.origin, "another-secret-of-32-bytes-or-more"))
    assert seen.marks()["memories"] == "FAILED"
    assert any("answers 401, not 200" in line for line in seen.lines)


# --- user paths -------------------------------------------------------------------------------------------------------


def test_an_unexpected_model_choice_fails_each_path_with_the_expected_one(
    stack: Stack, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "MEMORY_SECONDS", 0)
    stack.model("fault", text="All is well.")
    seen = walked(place, spend=True)
    stack.model("reset", now=True)
    assert {name for name, mark in seen.marks().items() if mark == "FAILED"} == {*PATHS}
    for name in PATHS:
        [line] = [line for line in seen.lines if re.match(rf"FAILED +{name} ", line)]
        assert "expected" in line
        assert name == "a card" or "called nothing" in line
    assert seen.marks()["leaving"] == "ok"


@pytest.fixture
def visit(place: Place) -> Iterator[Visit]:
    with httpx2.Client(timeout=20) as http:
        visit = Visit(place, http, spend=True)
        yield visit
        routes.leaving(visit)


@pytest.mark.nightly
def test_too_little_knowledge_for_a_card_is_not_a_failure(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "WORK", "I want to lead a team.")
    assert "; not enough for a card: " in paths.a_card_to_its_question(visit)


def test_a_failed_card_fails_with_the_message_users_read(stack: Stack, visit: Visit) -> None:
    answers = [{}, {}, {}, {}, {}]  # for the memory, its judge, and the request
    stack.model("script", steps=[*answers, *[{"fault": 400}] * 20])
    with pytest.raises(Failed, match="expected a question; it ended as failed: We’re fixing a problem on our side"):
        paths.a_card_to_its_question(visit)
    stack.model("reset", now=True)


def test_a_rejection_stored_as_an_approval_is_detected(place: Place) -> None:
    class Deaf(Buffering):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            if request.url.path.endswith("/decision"):
                return httpx2.Response(200, json={"status": "approved"}, request=request)
            return super().handle_request(request)

    with httpx2.Client(transport=Deaf(), timeout=20) as http:
        visit = Visit(place, http, spend=True)
        with pytest.raises(Failed, match="expected a no to be kept as rejected; it is approved"):
            paths.a_no(visit)
        routes.leaving(visit)


def test_the_smoke_test_detects_a_change_despite_a_rejection(place: Place, stack: Stack) -> None:
    class Disobedient(Buffering):
        """Sends an approval where the user rejects, and claims the rejection."""

        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            if not request.url.path.endswith("/decision"):
                return super().handle_request(request)
            said = request.content.replace(b"reject", b"approve")
            headers = {**request.headers, "content-length": str(len(said))}
            super().handle_request(httpx2.Request(request.method, request.url, headers=headers, content=said))
            return httpx2.Response(200, json={"status": "rejected"}, request=request)

    with httpx2.Client(transport=Disobedient(), timeout=20) as http:
        visit = Visit(place, http, spend=True)
        with pytest.raises(Failed, match="it was changed despite the no"):
            paths.a_no(visit)
        routes.leaving(visit)


def test_the_smoke_test_detects_a_forgotten_memory_that_still_exists(place: Place) -> None:
    class Faithful(Buffering):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            if request.method == "DELETE" and "/api/memories/" in request.url.path:
                return httpx2.Response(200, json={}, request=request)
            return super().handle_request(request)

    with httpx2.Client(transport=Faithful(), timeout=20) as http:
        visit = Visit(place, http, spend=True)
        with pytest.raises(Failed, match="answers 200, not 404"):
            paths.remember_and_recall(visit)
        routes.leaving(visit)


# --- find a stage -----------------------------------------------------------------------------------------------------

STACK = {
    "Resources": {"Any": {"Type": "AWS::SQS::Queue"}},
    "Outputs": {
        "ChatUrl": {"Value": "https://chat.lambda-url.eu-west-1.on.aws/"},
        "ApiUrl": {"Value": "https://api.lambda-url.eu-west-1.on.aws/"},
        "ApproveUrl": {"Value": "https://approve.lambda-url.eu-west-1.on.aws/"},
    },
}


@pytest.fixture
def staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Stage, AwsServer]]:
    stage = Stage.load("staging")
    secret = {"QWESTLY_AGENT_SHARED_SECRET": f"{SECRET},the-one-that-is-rotated-out-of-32-bytes"}
    with AwsServer(stage.template.without("AWS::Serverless::StateMachine"), secret) as aws:
        for name, value in aws.variables.items():
            monkeypatch.setenv(name, value)
        aws.client("cloudformation").create_stack(StackName=stage.stack, TemplateBody=json.dumps(STACK))
        yield stage, aws


def test_the_smoke_test_signs_with_a_private_key_if_tokens_use_public_keys(
    staging: tuple[Stage, AwsServer], tmp_path: Path
) -> None:
    stage, aws = staging
    own = ec.generate_private_key(ec.SECP256R1())
    public = own.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    keys = {"JwtPublicKeys": base64.b64encode(public).decode()}
    stage = replace(stage, template=replace(stage.template, parameters={**stage.template.parameters, **keys}))
    with pytest.raises(InvalidSettings, match="SMOKE_PRIVATE_KEY"):
        place_of_stage(stage, aws.client)
    (tmp_path / "key.pem").write_bytes(
        own.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    )
    visit = Visit(place_of_stage(stage, aws.client, str(tmp_path / "key.pem")), httpx2.Client(), spend=False)
    settings = Settings("mongodb://none", "db", qwestly_jwt_public_keys=keys["JwtPublicKeys"])
    token = visit.headers["Authorization"].removeprefix("Bearer ")
    assert verify_token(token, settings, system_clock) == visit.user_id


def test_the_smoke_tests_aws_calls_are_in_the_table_of_rights(
    staging: tuple[Stage, AwsServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, aws = staging
    origin = f"{stage.parameter('ConfigurationPath')}/origin-secret"
    aws.client("ssm").put_parameter(Name=origin, Value=SECRET, Type="SecureString")
    parameters = {**stage.template.parameters, "BehindDistribution": "1"}
    with recording() as calls:
        place_of_stage(replace(stage, template=replace(stage.template, parameters=parameters)), AWS().client)
    compare({"smoke": calls})


def test_a_stage_is_found_by_its_stack_outputs_and_its_secret_in_parameter_store(
    staging: tuple[Stage, AwsServer],
) -> None:
    stage, aws = staging
    assert place_of_stage(stage, aws.client) == Place(
        chat="https://chat.lambda-url.eu-west-1.on.aws",
        api="https://api.lambda-url.eu-west-1.on.aws",
        approve="https://approve.lambda-url.eu-west-1.on.aws/approve",
        origin="https://staging.qwestly.com",
        secret=SECRET,
        claims={},
    )
