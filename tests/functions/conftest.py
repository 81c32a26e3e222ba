"""Fixtures of approvals: local AWS, and separate services for each test."""

from collections.abc import Iterator

import pytest

from infra.local.aws import AwsServer
from tests.functions.approving import World, a_world, local_aws


@pytest.fixture(scope="module")
def aws() -> Iterator[AwsServer]:
    with local_aws() as aws:
        yield aws


@pytest.fixture
def world(aws: AwsServer, mongodb_uri: str, database_name: str) -> Iterator[World]:
    with a_world(aws, mongodb_uri, database_name) as world:
        yield world


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """With thousands of concurrent calls, do not mistake a briefly slow database for a dead one."""
    monkeypatch.setattr("qwestly_agent.bootstrap.DATABASE_ANSWERS_WITHIN_SECONDS", 60)
