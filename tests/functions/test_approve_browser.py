"""The page behind a link in a real browser: of a person, and of a scanner of mail."""

import threading
from collections.abc import Callable, Iterator

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect

from functions.approve import pages
from tests.functions.approving import CARD, World
from tests.servers import free_port, wait_for_port
from tests.widget.conftest import browser as browser
from tests.widget.conftest import is_complaint

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a server of the pages."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(pages.app, port=port, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for_port(port)
    yield f"http://127.0.0.1:{port}/approve"
    server.should_exit = True
    thread.join()


@pytest.fixture
def open_link(browser: Browser, world: World, address: str) -> Iterator[Callable[..., Page]]:
    """Opens the link of a card that waits. What breaks the page's own policy fails the test."""
    complaints: list[str] = []
    contexts = []

    def open_link(width: int = 390, **context: bool) -> Page:
        world.ask(proposal=CARD)
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, locale="en-GB", **context))  # type: ignore[arg-type]
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(message.text) if is_complaint(message.text) else None)
        page.goto(f"{address}/{world.link()}")
        return page

    yield open_link
    for context in contexts:
        context.close()
    assert complaints == []


def test_a_scanner_that_clicks_and_sends_all_there_is_changes_nothing(
    open_link: Callable[..., Page], world: World
) -> None:
    page = open_link()
    link, before = page.url, world.dump()
    for number in range(page.locator("button, summary, a").count()):
        page.goto(link)
        page.locator("button, summary, a").nth(number).click()
        page.wait_for_load_state()
    for number in range(page.locator("form").count()):
        page.goto(link)
        with page.expect_navigation():
            page.evaluate("number => document.forms[number].submit()", number)
        expect(page.get_by_role("alert")).to_contain_text("Nothing was decided.")
    assert world.dump() == before


def test_a_person_decides_without_any_script(open_link: Callable[..., Page], world: World) -> None:
    page = open_link(java_script_enabled=False)
    page.get_by_text("Where this comes from").first.click()
    expect(page.get_by_text("led a team of five")).to_be_visible()
    page.get_by_role("radio", name="Change it").check()
    page.get_by_role("button", name="Send my decision").click()
    expect(page.get_by_role("alert")).to_have_text(
        "Please say in a few words what should be different. Nothing was decided."
    )
    page.get_by_role("radio", name="Change it").check()
    page.get_by_label("In your own words").fill("Shorter, please")
    page.get_by_role("button", name="Send my decision").click()
    expect(page.get_by_role("heading", name="You asked for something else")).to_be_visible()
    page.goto(page.url)
    expect(page.get_by_text("Shorter, please")).to_be_visible()
    assert world.approval().status == "revised"


def test_it_can_be_decided_by_keys_alone(open_link: Callable[..., Page], world: World) -> None:
    page = open_link()
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "radio":
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("ArrowUp")  # from none to the last one
    page.keyboard.press("Tab")
    page.keyboard.type("No, thanks")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="You said no")).to_be_visible()
    assert world.approval().reason == "No, thanks"


@pytest.mark.parametrize("width", [320, 390, 1000])
def test_it_reads_well_at_the_width_of_a_phone_and_of_a_desk(open_link: Callable[..., Page], width: int) -> None:
    page = open_link(width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("getComputedStyle(document.body).fontSize") == "16px"
    widest = max(each["width"] for each in (p.bounding_box() for p in page.locator("section").all()) if each)
    assert widest <= 42 * 16
    small = [each for each in page.locator("label.choice, button").all() if (each.bounding_box() or {})["height"] < 44]
    assert small == [], "too small for a finger"
