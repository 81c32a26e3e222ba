"""Fixtures of all tests. Nothing reaches beyond loopback, and only the scripted model answers."""

import gc
import os
import ssl
import uuid
from collections.abc import Iterator
from functools import cache, partial

import pytest
from botocore.loaders import create_loader
from pymongo import MongoClient

from infra.local.candidate_app import CandidateAppServer
from infra.local.environment import DEMO_DATABASE
from infra.local.model_server import ModelServer
from qwestly_agent.stores.mongo_client import RenewingMongoClient
from tests.mongo_rule import Watch
from tests.servers import API_SECRET, ChatServer, Client, mongo_server, settings_for
from tests.touched import select


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--since", metavar="COMMIT", help="thorough tests of what changed since then, and the sentinel")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (since := config.getoption("since")) is not None:
        select(config, items, since)


def pytest_report_header() -> str:
    where = "the server of" if os.environ.get("MONGODB_URI") else "the laptop's database, and on a mongod if given its"
    return f"stores: on {where} MONGODB_URI"


def pytest_collection_finish() -> None:
    """Freeze the collected tests and imports, so that the garbage collector skips them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _read_once() -> Iterator[None]:
    """Files that each AWS and HTTP client reads again: a process of the product creates one client, the tests create
    hundreds. A quarter of the time of all tests was spent on it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.session.create_loader", cache(create_loader))
        patch.setattr("ssl.create_default_context", cache(ssl.create_default_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def _retries_at_once() -> Iterator[None]:
    """Remove the half second that the OpenAI client waits if a provider names no time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
        yield


@pytest.fixture(scope="session", autouse=True)
def _asks_no_machine_for_credentials() -> Iterator[None]:
    """Keep botocore from looking for credentials beyond loopback."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture(scope="session", autouse=True)
def watch() -> Iterator[Watch]:
    """Records everything that the package sends to its database, and checks what was sent since the last test."""
    watch = Watch()
    with pytest.MonkeyPatch.context() as patch:
        made = partial(RenewingMongoClient, event_listeners=[watch])
        patch.setattr("qwestly_agent.bootstrap.RenewingMongoClient", made)
        yield watch
    watch.check()


@pytest.fixture(autouse=True)
def _asks_for_one_user(watch: Watch) -> Iterator[None]:
    yield
    watch.check()


@pytest.fixture(scope="session")
def mongodb_uri() -> Iterator[str]:
    with mongo_server() as (uri, _):
        yield uri


@pytest.fixture
def database_name(mongodb_uri: str) -> Iterator[str]:
    name = f"qwestly_test_{uuid.uuid4().hex[:12]}"
    yield name
    with MongoClient(mongodb_uri) as client:
        client.drop_database(name)


@pytest.fixture(scope="session")
def _model_server() -> Iterator[ModelServer]:
    with ModelServer(more_models=["gpt-4.1-mini"]) as server:  # the fallback of some tests
        yield server


@pytest.fixture
def model(_model_server: ModelServer) -> Iterator[ModelServer]:
    _model_server.reset()
    yield _model_server
    _model_server.reset()


@pytest.fixture(scope="session")
def _candidate_app_server(mongodb_uri: str) -> Iterator[CandidateAppServer]:
    with CandidateAppServer(mongodb_uri, DEMO_DATABASE, API_SECRET) as server:
        yield server


@pytest.fixture
def app(_candidate_app_server: CandidateAppServer) -> Iterator[CandidateAppServer]:
    """The candidate app that the chat handler asks for changes, with the same database."""
    yield _candidate_app_server
    _candidate_app_server.misbehave()
    _candidate_app_server.api.release()


@pytest.fixture(scope="session")
def chat(
    mongodb_uri: str, _model_server: ModelServer, _candidate_app_server: CandidateAppServer
) -> Iterator[ChatServer]:
    settings = settings_for(mongodb_uri, _model_server.base_url, candidate_api_url=_candidate_app_server.url)
    with ChatServer(settings) as server:
        yield server


@pytest.fixture
def client(chat: ChatServer, model: ModelServer) -> Iterator[Client]:
    """A user of only this test, who has no data from other tests."""
    with Client(chat.url, f"auth0|{uuid.uuid4().hex}") as user:
        yield user
