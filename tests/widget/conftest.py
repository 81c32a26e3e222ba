import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

from tests.widget.backend import RunningBackend, ScriptedBackend

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


# Not for the whole session: while playwright runs, its event loop counts as running, and asyncio.run() refuses to.
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


@pytest.fixture
def context(browser: Browser, running: tuple[str, ScriptedBackend]) -> Iterator[BrowserContext]:
    context = browser.new_context(base_url=running[0], viewport={"width": 1100, "height": 720}, locale="en-GB")
    context.set_default_timeout(5000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """The widget on a host page; a script error or a broken content security policy fails the test."""
    yield from uncomplaining(context)


@pytest.fixture
def phone(browser: Browser, running: tuple[str, ScriptedBackend]) -> Iterator[Page]:
    """A page on a small screen that is touched."""
    viewport: ViewportSize = {"width": 360, "height": 640}
    context = browser.new_context(base_url=running[0], viewport=viewport, has_touch=True, is_mobile=True)
    context.set_default_timeout(5000)
    yield from uncomplaining(context)
    context.close()


def uncomplaining(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if is_complaint(message.text) else None)
    yield page
    assert complaints == []


def is_complaint(text: str) -> bool:
    """Chromium also logs each failed request, which these tests bring about on purpose."""
    return "Content Security Policy" in text or "Error:" in text
