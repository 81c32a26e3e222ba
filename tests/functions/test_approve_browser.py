"""The page behind a mail's link in a real browser, opened by a person and by a mail scanner."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect

from functions.approve import pages
from qwestly_agent.approvals.links import hash_of
from qwestly_agent.approvals.mail import UNSUBSCRIBE
from tests.functions.approving import CARD, DAY, TWO, World
from tests.servers import USER, free_port, wait_for_port
from tests.widget.conftest import browser as browser
from tests.widget.conftest import tab_of, uncomplaining
from tests.widget.test_axe import WIDTHS, each_screen, violations

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Return the address of a server of the pages."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(pages.app, port=port, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for_port(port)
    yield f"http://127.0.0.1:{port}/approve"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def shared(browser: Browser, address: str) -> Iterator[Page]:
    """One page for all tests that do not need their own: a new renderer costs more than most of them."""
    with tab_of(browser, address) as page:
        yield page


@pytest.fixture
def page(shared: Page, world: World, address: str) -> Iterator[Page]:
    """The page of a pending card. A violation of the page's own content security policy fails the test."""
    with uncomplaining(shared):
        yield opened(shared, world, address)


@pytest.fixture
def page_without_script(browser: Browser, world: World, address: str) -> Iterator[Page]:
    with tab_of(browser, address, java_script_enabled=False) as page, uncomplaining(page):
        yield opened(page, world, address)


def opened(page: Page, world: World, address: str) -> Page:
    world.ask(proposal=CARD)
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/{world.link()}")
    return page


def test_a_mail_scanner_that_clicks_and_submits_everything_changes_nothing(page: Page, world: World) -> None:
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


def test_a_person_can_decide_without_javascript(page_without_script: Page, world: World) -> None:
    page = page_without_script
    quote = page.get_by_text("led a team of five")
    expect(quote).to_be_visible()
    page.get_by_label("Evidence 1").click()
    expect(quote).to_be_hidden()
    page.get_by_role("radio", name="Ask for changes").check()
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_have_text(
        "Please say in a few words what should be different. Nothing was decided."
    )
    page.get_by_role("radio", name="Ask for changes").check()
    page.get_by_label("In your own words").fill("Shorter, please")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading", name="You asked for changes")).to_be_visible()
    page.goto(page.url)
    expect(page.get_by_text("Shorter, please")).to_be_visible()
    assert world.approval().status == "revised"


def test_the_approve_page_works_by_keyboard_alone(page: Page, world: World) -> None:
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "radio":
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("ArrowUp")  # from no choice to the last one
    page.keyboard.press("Tab")
    page.keyboard.type("No, thanks")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="You declined")).to_be_visible()
    assert world.approval().reason == "No, thanks"


def test_the_approve_page_fits_a_phone_and_a_desktop(page: Page) -> None:
    for width in (320, 390, 1000):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("getComputedStyle(document.body).fontSize") == "16px"
        wide = "nodes => Math.max(...nodes.map(node => node.getBoundingClientRect().width))"
        assert page.locator("section").evaluate_all(wide) <= 42 * 16
        low = "nodes => nodes.filter(node => node.getBoundingClientRect().height < 44).map(node => node.textContent)"
        assert page.locator("label.choice, button").evaluate_all(low) == [], "too small for a finger"


@pytest.mark.nightly
@each_screen
def test_the_approve_pages_have_no_accessibility_violations(
    shared: Page, world: World, address: str, scheme: Any, width: str
) -> None:
    shared.emulate_media(color_scheme=scheme)
    shared.set_viewport_size({"width": WIDTHS[width], "height": 800})
    wrong: dict[str, list[str]] = {}

    def look(name: str, url: str, *, says: str) -> None:
        shared.goto(url)
        expect(shared.locator("main")).to_contain_text(says)
        wrong[name] = violations(shared)

    world.ask(proposal=CARD)
    card = f"{address}/{world.link()}"
    look("Card", card, says="Publish this card")
    shared.get_by_label("Evidence 1").click()
    wrong["Quotes"] = violations(shared)
    shared.get_by_role("button", name="Send").click()
    expect(shared.get_by_role("alert")).to_be_visible()
    wrong["Without a choice"] = violations(shared)
    world.ask(TWO)
    change = f"{address}/{world.link(TWO)}"
    look("Change", change, says="Product Manager")
    shared.get_by_role("radio", name="Decline").check()
    shared.get_by_role("button", name="Send").click()
    expect(shared.get_by_role("heading", name="You declined")).to_be_visible()
    wrong["Decided"] = violations(shared)
    world.pull_brake()
    look("Paused", card, says="Everything is paused")
    world.release_brake()
    world.clock.advance(30 * DAY)
    look("Expired", card, says="This wasn’t decided in time")
    look("Broken", f"{address}/{'x' * 43}", says="This link has expired or isn’t valid.")
    token = "u" * 43
    world.database["agent_briefings"].insert_one({"_id": "b1", "user_id": USER, "unsubscribe": hash_of(token)})
    look("Unsubscribe", f"{address}/{UNSUBSCRIBE}/{token}", says="End these mails")
    assert "\n".join(f"{name}: {each}" for name, found in wrong.items() for each in found) == ""
