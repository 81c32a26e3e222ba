"""One running stack for all of these tests, and the published AI SDK client."""

import signal
from collections.abc import Iterator

import pytest

from tests.e2e.processes import Stack, alive, descendants, running_stack
from tests.servers import mongo_server
from tests.widget.conftest import browser as browser


@pytest.fixture(scope="package")
def stack_database() -> Iterator[str]:
    with mongo_server() as (uri, _):
        yield uri


@pytest.fixture(scope="package")
def stack(stack_database: str) -> Iterator[Stack]:
    with running_stack(stack_database) as stack:
        yield stack
        parts = descendants(stack.process.popen.pid)
        assert stack.process.end(signal.SIGTERM) == 0, stack.process.said
        assert alive(parts) == []
