"""Each secret is rotated in Parameter Store while users chat: no turn fails, and nothing is deployed."""

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from infra.local import aws_moto
from infra.local.aws import AwsServer
from infra.local.candidate_app import CandidateAppServer
from infra.local.job_boards import KEY, JobBoardsServer
from infra.local.model_server import ModelServer
from qwestly_agent.base import traces
from qwestly_agent.base.http import ORIGIN_HEADER
from qwestly_agent.base.settings import READ_AGAIN_AFTER_SECONDS
from tests.collector import Collector
from tests.functions.approving import ERASURES
from tests.functions.rotating import Stage, people
from tests.locked_database import LockedDatabase
from tests.servers import API_SECRET, SECRET, ChatServer, Client, FakeClock, settings_for, until

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
HEALTH_SECONDS = 4.0
FROM_OUTSIDE = {"x-amzn-request-context": "{}", ORIGIN_HEADER: "origin 1"}
NEW_SECRET = f"another {SECRET}"
SETTINGS = {
    "mongodb-uri": "mongodb_uri",
    "shared-secret": "qwestly_agent_shared_secret",
    "candidate-api-secret": "qwestly_candidate_api_secret",
    **{
        name: name.replace("-", "_")
        for name in ("deepseek-api-key", "openai-api-key", "traces-headers", "adzuna-app-key")
    },
    "jsearch-api-key": "jsearch_api_key",
    "search-api-key": "search_api_key",
    "origin-secret": "origin_secret",
    "erasure-key": "erasure_key",
}
"""The setting that refers to each parameter, in the functions of the chat."""


@pytest.fixture
def stage(aws: AwsServer, model: ModelServer, mongodb_uri: str, database_name: str) -> Iterator[Stage]:
    clock = FakeClock()
    users = {"app": "first", "chat": "first", "reader": "first", "opener": "first"}
    database = LockedDatabase(int(mongodb_uri.rpartition(":")[2]), users=users)
    with (
        database,
        CandidateAppServer(mongodb_uri, database_name, API_SECRET, clock) as app,
        JobBoardsServer() as boards,
        Collector({"authorization": "Basic 1"}) as collector,
    ):
        values = {
            "mongodb-uri": database.uri_of("app", "first"),
            "mongodb-chat-uri": database.uri_of("chat", "first"),
            "mongodb-reader-uri": database.uri_of("reader", "first"),
            "mongodb-opener-uri": database.uri_of("opener", "first"),
            "shared-secret": SECRET,
            "candidate-api-secret": API_SECRET,
            "deepseek-api-key": "deepseek 1",
            "openai-api-key": "openai 1",
            "traces-headers": "Authorization=Basic 1",
            "adzuna-app-key": KEY,
            "jsearch-api-key": KEY,
            "search-api-key": KEY,
            "origin-secret": "origin 1",
            "erasure-key": ERASURES["erasure_key"],
        }
        for name, value in values.items():
            aws_moto.put_parameter(f"/rotation/{name}", value)
        settings = replace(
            settings_for("", model.base_url, database_name, candidate_api_url=app.url, job_boards_url=boards.url),
            adzuna_app_id=KEY,
            traces_url=collector.url,
            behind_distribution=1,
            erasure_log=ERASURES["erasure_log"],
            **{setting: f"ssm:/rotation/{name}" for name, setting in SETTINGS.items()},
        )
        model.keys = frozenset({"deepseek 1", "openai 1"})
        stage = Stage(settings, clock, model, app, boards, collector, database)
        stage.chat = ChatServer(settings, clock=clock)
        with stage.chat:
            yield stage


def rotate_provider_key(stage: Stage, name: str) -> None:
    stage.put(f"{name}-api-key", f"{name} 2")
    stage.model.keys = (stage.model.keys - {f"{name} 1"}) | {f"{name} 2"}


def rotate_candidate_apps_secret(stage: Stage) -> None:
    stage.put("candidate-api-secret", f"another {API_SECRET},{API_SECRET}")
    stage.app.api.secret = f"another {API_SECRET}"


def rotate_shared_secret(stage: Stage) -> None:
    stage.put("shared-secret", f"{NEW_SECRET},{SECRET}")
    stage.signs_with = NEW_SECRET
    stage.put("shared-secret", NEW_SECRET)


def change_database_user(stage: Stage, parameter: str, name: str) -> None:
    stage.database.users[f"new {name}"] = "second"
    stage.put(parameter, stage.database.uri_of(f"new%20{name}", "second"))
    del stage.database.users[name]


def rotate_board_key(stage: Stage, parameter: str, board: str) -> None:
    stage.put(parameter, "another")
    stage.boards.api.keys[board] = "another"


def rotate_collector_headers(stage: Stage) -> None:
    stage.put("traces-headers", "Authorization=Basic 2")
    stage.collector.headers = {"authorization": "Basic 2"}


def rotate_origin_secret(stage: Stage) -> None:
    """Both secrets are accepted until the distribution's stack is deployed."""
    stage.put("origin-secret", "origin 2,origin 1")


ROTATIONS: dict[str, Callable[[Stage], None]] = {
    "deepseek-api-key": lambda stage: rotate_provider_key(stage, "deepseek"),
    "openai-api-key": lambda stage: rotate_provider_key(stage, "openai"),
    "candidate-api-secret": rotate_candidate_apps_secret,
    "shared-secret": rotate_shared_secret,
    "mongodb-uri": lambda stage: change_database_user(stage, "mongodb-uri", "app"),
    "mongodb-chat-uri": lambda stage: change_database_user(stage, "mongodb-chat-uri", "chat"),
    "mongodb-reader-uri": lambda stage: change_database_user(stage, "mongodb-reader-uri", "reader"),
    "mongodb-opener-uri": lambda stage: change_database_user(stage, "mongodb-opener-uri", "opener"),
    "traces-headers": rotate_collector_headers,
    "adzuna-app-key": lambda stage: rotate_board_key(stage, "adzuna-app-key", "adzuna"),
    "jsearch-api-key": lambda stage: rotate_board_key(stage, "jsearch-api-key", "jsearch"),
    "search-api-key": lambda stage: rotate_board_key(stage, "search-api-key", "web"),
    "origin-secret": rotate_origin_secret,
    # Nothing rejects the old key: a process continues with it, and it is still recognized.
    "erasure-key": lambda stage: stage.put(
        "erasure-key", f"another {ERASURES['erasure_key']},{ERASURES['erasure_key']}"
    ),
}


def test_the_drill_rotates_every_secret_of_the_template() -> None:
    declared = re.findall(r"ssm:\$\{ConfigurationPath\}/([\w-]+)", TEMPLATE.read_text(encoding="utf-8"))
    assert set(ROTATIONS) == set(declared)


@pytest.mark.nightly
@pytest.mark.thorough
def test_no_turn_fails_while_each_secret_is_rotated(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "FLUSH_SECONDS", 30)
    # A request on its way to the candidate app when the clock jumps does not expire.
    for name in ("qwestly_agent.clients.candidate_app.LIFE_SECONDS", "infra.local.candidate_app.AGENT_LIFE_SECONDS"):
        monkeypatch.setattr(name, 2 * READ_AGAIN_AFTER_SECONDS)
    with people(stage) as everyone:
        everyone.wait()
        for rotate in ROTATIONS.values():
            stage.clock.advance(READ_AGAIN_AFTER_SECONDS)
            rotate(stage)
            everyone.wait()
    assert not everyone.failed
    asked = {(each.path, each.authorization) for each in stage.model.requests[-20:]}
    assert asked == {("/v1/chat/completions", "Bearer deepseek 2"), ("/v1/embeddings", "Bearer openai 2")}
    assert not [each for each in stage.model.requests if b"did not answer as it should" in each.body]
    people_there = sum(everyone.people)
    until(lambda: sent(stage, "turn") == 4 * people_there)
    assert sent(stage, "read") == sent(stage, "parse") == people_there


def sent(stage: Stage, name: str) -> int:
    """Return the number of spans with this name at the collector."""
    return len([each for each in stage.collector.spans if each.name == name])


@pytest.fixture
def user(stage: Stage) -> Iterator[Client]:
    with Client(stage.chat.url, f"auth0|{uuid.uuid4().hex}", stage.clock) as user:
        yield user


def test_only_the_distribution_is_let_through_even_after_a_rotation(stage: Stage, user: Client) -> None:
    def status(**headers: str) -> int:
        given = {**user.headers(), **headers}
        return user.http.get(f"{stage.chat.url}/api/conversations", headers=given).status_code

    assert status() == 200, "the adapter itself, and the laptop"
    assert status(**{"x-amzn-request-context": "{}"}) == 404
    assert status(**{**FROM_OUTSIDE, ORIGIN_HEADER: "a guess"}) == 404
    assert status(**FROM_OUTSIDE) == 200
    stage.clock.advance(READ_AGAIN_AFTER_SECONDS)
    rotate_origin_secret(stage)
    assert [status(**{**FROM_OUTSIDE, ORIGIN_HEADER: f"origin {n}"}) for n in (2, 1)] == [200, 200]


@pytest.mark.thorough
def test_a_deleted_database_user_fails_no_turn(stage: Stage, user: Client) -> None:
    user.say("Hello")
    change_database_user(stage, "mongodb-uri", "app")
    assert user.say("Are you there?").last.name == "done"


@pytest.mark.thorough
def test_a_restored_environment_reads_secrets_rotated_since_its_snapshot(stage: Stage, user: Client) -> None:
    rotate_shared_secret(stage)
    assert user.http.post(f"{stage.chat.url}/after-restore").status_code == 200
    assert user.request("GET", "/api/conversations").status_code == 401
    headers = stage.headers(user.user_id)
    assert user.http.get(f"{stage.chat.url}/api/conversations", headers=headers).status_code == 200


def test_the_health_check_names_services_that_do_not_answer(stage: Stage, user: Client) -> None:
    def health(headers: dict[str, str]) -> httpx2.Response:
        return user.http.get(f"{stage.chat.url}/healthz", headers=headers)

    assert health(FROM_OUTSIDE).json() == {"ok": True}
    stage.clock.advance(READ_AGAIN_AFTER_SECONDS)
    stage.database.users.clear()
    stage.delete("openai-api-key")
    ill = health(FROM_OUTSIDE)
    assert ill.status_code == 503
    assert ill.json()["error"]["message"] == "Does not answer: database, secrets."
    assert health({}).json() == {"ok": True}  # the adapter checks in this way whether the server is up


@pytest.mark.nightly
@pytest.mark.thorough
def test_the_health_check_reports_a_hanging_database_in_time(stage: Stage, user: Client) -> None:
    stage.database.hold()
    try:
        answer = user.http.get(f"{stage.chat.url}/healthz", headers=FROM_OUTSIDE, timeout=HEALTH_SECONDS)
    finally:
        stage.database.release()
    assert answer.json()["error"]["message"] == "Does not answer: database."
