"""One running stack for all of these tests, and fixtures shared by the tests of the published clients."""

import signal
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from infra.local.candidate_app import CandidateAppServer
from tests.e2e.page import PATIENCE_MILLISECONDS
from tests.e2e.processes import Stack, alive, descendants, running_stack
from tests.e2e.profile import Profile
from tests.servers import ChatServer, Client, mongo_server
from tests.widget.conftest import browser as browser
from tests.widget.conftest import is_complaint


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


@pytest.fixture
def profile(chat: ChatServer, client: Client, app: CandidateAppServer) -> Profile:
    """The user's profile in the candidate app."""
    return Profile(chat, client.user_id)


@pytest.fixture
def open_page(browser: Browser, stack: Stack) -> Iterator[Callable[..., Page]]:
    """Open the page for a user; a script error or a content security policy violation fails the test."""
    stack.model("reset", now=True)
    complaints: list[str] = []
    contexts: list[BrowserContext] = []

    def open_for(user: str, **context: object) -> Page:
        made = browser.new_context(base_url=stack.url, locale="en-GB", **context)  # type: ignore[arg-type]
        made.set_default_timeout(PATIENCE_MILLISECONDS)
        contexts.append(made)
        return complained_of(made.new_page(), user)

    def complained_of(page: Page, user: str) -> Page:
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if is_complaint(message.text) else None)
        page.goto(f"/?user={user}#chat")
        return page

    expect.set_options(timeout=PATIENCE_MILLISECONDS)
    yield open_for
    for context in contexts:
        context.close()
    assert complaints == []
