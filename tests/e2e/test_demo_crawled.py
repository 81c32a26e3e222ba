"""Every button, link and chip of the demo user's page is pressed once: each does something, without errors."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, Response, expect

from tests.e2e.page import PATIENCE_MILLISECONDS
from tests.e2e.processes import Stack, running_stack
from tests.local_page import look_at
from tests.servers import mongo_server
from tests.widget.conftest import is_complaint

pytestmark = [pytest.mark.thorough, pytest.mark.nightly]

VIEWS = ("Home", "Approvals", "Activity", "Chat", "Jobs", "Applications", "Documents", "Interview", "Learning")
VIEWS += ("Memories", "Settings")
PRESSED = "button, a[href], summary, [role=button]"
EACH_AT_MOST = 2
"""Maximum buttons of one kind that are pressed in a view, such as "Save" of the first two jobs."""
SETTLED_MILLISECONDS, CLICK_MILLISECONDS = 700, 5_000
NOT_PRESSED = frozenset({"Add your résumé", "Add a résumé"})
"""They open a dialog of the browser."""
LEAVES_THE_LAPTOP = re.compile(r"^https?://(?!127\.0\.0\.1|localhost)")
FAILURE = re.compile(r"couldn’t|went wrong|cannot be|Did you mean|I’m not sure what you mean", re.IGNORECASE)
NAME = "node => (node.getAttribute('aria-label') || node.innerText || node.title || '').trim().replace(/\\s+/g, ' ')"
SEEN = """const seen = (look) => {
    const walk = (root) => {
        for (const node of root.querySelectorAll("*")) {
            if (node.shadowRoot) walk(node.shadowRoot);
            if (node.checkVisibility()) look(node);
        }
    };
    walk(document);
};
const words = (node) => [...node.childNodes].filter((each) => each instanceof Text).map((each) => each.data);
"""
STATE = f"""() => {{
    {SEEN}
    const parts = [location.href, document.activeElement.shadowRoot?.activeElement?.outerHTML];
    const told = ["aria-pressed", "aria-expanded", "aria-current", "aria-selected", "open", "class"];
    seen((node) => {{
        parts.push(node.tagName, node.value, node.checked, ...words(node));
        parts.push(...told.map((name) => node.getAttribute(name)));
    }});
    return parts.join("\\n");
}}"""
"""The visible state of the page, which changes if a button does something."""
WORDS = f"""() => {{
    {SEEN}
    const all = [];
    seen((node) => all.push(...words(node)));
    return all.join(" ");
}}"""


@dataclass
class Watched:
    """A page and its errors."""

    page: Page
    wrong: list[str] = field(default_factory=list)
    popups: list[Page] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("pageerror", lambda error: self.wrong.append(f"script: {error}"))
        self.page.on("console", lambda said: self.wrong.append(said.text) if is_complaint(said.text) else None)
        self.page.on("response", self._hear)
        self.page.on("popup", lambda popup: self.popups.append(popup))

    def _hear(self, response: Response) -> None:
        if response.status >= 400:
            self.wrong.append(f"{response.request.method} {urlsplit(response.url).path}: {response.status}")


@pytest.fixture(scope="module")
def demo() -> Iterator[Stack]:
    """Its own stack, because pressing buttons changes the demo user."""
    with mongo_server() as (uri, _), running_stack(uri) as stack:
        yield stack


def opened(page: Page, stack: Stack, view: str) -> None:
    page.goto(f"{stack.url}/")
    page.wait_for_load_state("networkidle")
    look_at(page, view)
    page.wait_for_timeout(SETTLED_MILLISECONDS)


def names_in(page: Page) -> list[str]:
    return [each.evaluate(NAME) for each in page.locator("main").locator(PRESSED).all() if each.is_visible()]


def kind_of(name: str) -> str:
    return re.sub(r"\d+", "0", name.partition(":")[0])


def find(page: Page, name: str, nth: int) -> Locator | None:
    found = [
        each
        for each in page.locator("main").locator(PRESSED).all()
        if each.is_visible() and each.is_enabled() and each.evaluate(NAME) == name
    ]
    return found[nth] if nth < len(found) else None


def press(watched: Watched, target: Locator) -> str:
    """Return the problem; empty if the control does something without errors."""
    page = watched.page
    if LEAVES_THE_LAPTOP.match(target.get_attribute("href") or ""):
        return ""
    before, failures = page.evaluate(STATE), Counter(FAILURE.findall(page.evaluate(WORDS)))
    if target.get_attribute("class") == "skip":  # it is visible only to the keyboard
        target.press("Enter")
    else:
        target.click(timeout=CLICK_MILLISECONDS)
    page.wait_for_timeout(SETTLED_MILLISECONDS)
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_hidden(timeout=PATIENCE_MILLISECONDS)
    for popup in watched.popups:
        popup.wait_for_load_state()
        popup.close()
    if watched.wrong:
        return "; ".join(watched.wrong)
    if said := Counter(FAILURE.findall(page.evaluate(WORDS))) - failures:
        return f"says {dict(said)}"
    return "" if watched.popups or page.evaluate(STATE) != before else "does nothing"


@pytest.mark.parametrize("view", VIEWS)
def test_every_control_of_the_demo_does_something_without_errors(demo: Stack, browser: Browser, view: str) -> None:
    context = browser.new_context(base_url=demo.url, locale="en-GB")
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    first = context.new_page()
    opened(first, demo, view)
    kinds = Counter[str]()
    listed = Counter[str]()
    wrong = dict[str, str]()
    for name in names_in(first):
        kinds[kind_of(name)] += 1
        nth, listed[name] = listed[name], listed[name] + 1
        if kinds[kind_of(name)] > EACH_AT_MOST or name in NOT_PRESSED:
            continue
        watched = Watched(context.new_page())
        opened(watched.page, demo, view)
        target = find(watched.page, name, nth)
        if target and (problem := press(watched, target)):
            wrong[name] = problem
        if name.startswith("Pause"):  # further presses are rejected until the pause ends
            watched.page.get_by_role("button", name="Resume").first.click()
            watched.page.wait_for_timeout(SETTLED_MILLISECONDS)
        watched.page.close()
    context.close()
    assert listed
    assert wrong == {}
