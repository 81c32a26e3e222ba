import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, ViewportSize, expect, sync_playwright

from tests.widget.backend import RunningBackend, ScriptedBackend

PATIENCE_MILLISECONDS = 20_000
DESK: ViewportSize = {"width": 1100, "height": 720}
NOON = 1_750_000_000  # seconds; where the virtual clock starts
CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Clock:
    """The time of the page and the backend, which passes only when a test says so."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.now = NOON
        # Installed earlier than it is paused: until then the clock runs, and it cannot be paused in its past.
        page.clock.install(time=self.now - 3_600)
        page.clock.pause_at(self.now)

    def run(self, seconds: int) -> None:
        self.now += seconds
        self.page.clock.run_for(seconds * 1000)


# Not for the whole session: while Playwright runs, its event loop counts as running, and asyncio.run() fails.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None and os.environ.get("CI"):
        pytest.fail("chromium is missing")
    if CHROMIUM is None:
        pytest.skip("chromium is missing: install it to test the widget")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[str, ScriptedBackend]]:
    with RunningBackend() as running:
        yield running


@pytest.fixture
def backend(running: tuple[str, ScriptedBackend]) -> ScriptedBackend:
    running[1].reset()
    return running[1]


@contextmanager
def tab_of(browser: Browser, address: str, **more: Any) -> Iterator[Page]:
    context = browser.new_context(**{"base_url": address, "viewport": DESK, "locale": "en-GB"} | more)
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    expect.set_options(timeout=PATIENCE_MILLISECONDS)
    yield context.new_page()
    context.close()


# A new renderer for each test costs more than most of these tests do.


@pytest.fixture(scope="module")
def shared(browser: Browser, running: tuple[str, ScriptedBackend]) -> Iterator[Page]:
    """One page for all tests in which time passes by itself."""
    with tab_of(browser, running[0]) as page:
        yield page


@pytest.fixture(scope="module")
def ticking(browser: Browser, running: tuple[str, ScriptedBackend]) -> Iterator[Clock]:
    """One page for all tests that advance the time, which continues from test to test."""
    with tab_of(browser, running[0]) as page:
        yield Clock(page)


@pytest.fixture
def clock(ticking: Clock, backend: ScriptedBackend) -> Clock:
    backend.now = lambda: ticking.now
    return ticking


@pytest.fixture
def page(request: pytest.FixtureRequest, backend: ScriptedBackend) -> Iterator[Page]:
    """A fresh page; time stands still for a test that uses the clock. A script error or a content security policy
    violation fails the test."""
    moves_time = "clock" in request.fixturenames
    page: Page = request.getfixturevalue("ticking").page if moves_time else request.getfixturevalue("shared")
    with uncomplaining(page):
        yield page
        leave(page)


@pytest.fixture
def phone(browser: Browser, running: tuple[str, ScriptedBackend]) -> Iterator[Page]:
    """A page on a small touch screen."""
    viewport: ViewportSize = {"width": 360, "height": 640}
    small = tab_of(browser, running[0], viewport=viewport, has_touch=True, is_mobile=True)
    with small as page, uncomplaining(page):
        yield page


def leave(page: Page) -> None:
    """Open a page of the same origin without a widget, which would poll during the next test."""
    page.goto("/local/status")
    page.evaluate("sessionStorage.clear(); localStorage.clear()")
    page.set_viewport_size(DESK)
    page.emulate_media(color_scheme="null", reduced_motion="null")
    page.mouse.move(0, 0)


@contextmanager
def uncomplaining(page: Page) -> Iterator[None]:
    complaints: list[str] = []

    def hear(what: Error | ConsoleMessage) -> None:
        if isinstance(what, Error) or is_complaint(what.text):
            complaints.append(str(what) if isinstance(what, Error) else what.text)

    page.on("pageerror", hear)
    page.on("console", hear)
    yield
    page.remove_listener("pageerror", hear)
    page.remove_listener("console", hear)
    assert complaints == [], complaints


def is_complaint(text: str) -> bool:
    """Chromium also logs each failed request, which these tests cause on purpose."""
    return "Content Security Policy" in text or "Error:" in text
