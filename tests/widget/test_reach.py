"""At 200 % zoom, on a tablet and on a phone nothing scrolls sideways, and the keyboard reaches every control."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.local_page import look_at
from tests.widget import test_interview, test_jobs, test_learning
from tests.widget.backend import ScriptedBackend
from tests.widget.test_approvals import PUBLICATION, Card, approval
from tests.widget.test_elements import view
from tests.widget.test_widget import answered, asked, ready

WIDTHS = {"half of 1440": 720, "tablet": 768, "phone": 360}
MOST_PRESSES = 160
# The controls that can be pressed or typed into now; the keyboard stops at one of a group of radio buttons.
CONTROLS = """name => {
    const found = [];
    const walk = root => {
        for (const node of root.querySelectorAll("*")) {
            const isControl = node.matches("button, input, select, textarea, summary, a[href]");
            if (isControl && node.checkVisibility({ visibilityProperty: true }) && !node.disabled && !node.inert
                && !(node.type === "radio" && !node.checked)) found.push(node);
            if (node.shadowRoot) walk(node.shadowRoot);
        }
    };
    walk(document.querySelector(name).shadowRoot);
    window.controls = found;
    return found.length;
}"""
FOCUSED = """() => {
    let node = document.activeElement;
    while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
    return window.controls.indexOf(node);
}"""
NAMES = "missed => missed.map(at => window.controls[at].outerHTML.slice(0, 120))"


def _chat(page: Page, backend: ScriptedBackend) -> Iterator[str]:
    question = backend.ask(approval(preview=PUBLICATION, effect="outward"))
    backend.keep("c1", "Mine", asked("m1", "Format this"), answered("So.", id="msg_a", approvals=[question]))
    page.reload()
    widget = ready(page)
    yield "qwestly-chat"
    page.evaluate("document.querySelector('qwestly-chat').shadowRoot.querySelector('.open').click()")
    expect(widget.answer).to_be_visible()
    yield "qwestly-chat"


def _approvals(page: Page, backend: ScriptedBackend) -> Iterator[str]:
    backend.ask(approval(preview=PUBLICATION, effect="outward"))
    expect(view(page, "Approvals").get_by_role("button", name="Approve", exact=True)).to_be_visible()
    yield "qwestly-approvals"


View = Callable[[Page, ScriptedBackend], Iterator[str]]


def _settings(page: Page, _: ScriptedBackend) -> Iterator[str]:
    expect(view(page, "Settings").get_by_role("radio", name="Assist")).to_be_checked()
    yield "qwestly-settings"


def _jobs(page: Page, _: ScriptedBackend) -> Iterator[str]:
    jobs = view(page, "Jobs")
    for part in ("Jobs", "Applications", "Documents", "Your résumé", "What you want"):
        look_at(page, part)
        if part == "Jobs":
            jobs.get_by_role("button", name=f"Apply: {test_jobs.TITLE}").first.click()
        if part == "Applications":
            jobs.get_by_role("button", name="Edit").first.click()
        if part == "Documents":
            jobs.get_by_role("button", name="Open: ").click()
        expect(jobs.locator("[data-part]").get_by_role("button").first).to_be_visible()
        yield "qwestly-jobs"


def _learning(page: Page, _: ScriptedBackend) -> Iterator[str]:
    learning = view(page, "Learning")
    expect(learning.get_by_role("button", name="Start lesson", exact=True)).to_be_visible()
    yield "qwestly-learning"
    learning.get_by_role("button", name="Read ").first.click()
    expect(learning.get_by_role("button", name="Back")).to_be_visible()
    yield "qwestly-learning"


def _interview(page: Page, backend: ScriptedBackend) -> Iterator[str]:
    room = test_interview.opened(page, backend)
    if room.get_by_role("button", name="Draft", exact=True).is_visible():
        yield "qwestly-interview"
        room.get_by_role("button", name="Draft", exact=True).click()
    expect(room.get_by_role("button", name="Add a topic")).to_be_visible()
    yield "qwestly-interview"


@pytest.mark.nightly
@pytest.mark.thorough
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["chat", "approvals", "settings", "jobs", "learning", "interview"])
def test_no_view_scrolls_sideways_and_each_control_is_reachable(
    page: Page, backend: ScriptedBackend, name: str, width: str
):
    page.set_viewport_size({"width": WIDTHS[width], "height": 800})
    test_jobs.fill(backend)
    test_learning.fill(backend)
    page.goto("/#chat")
    ready(page)
    views: dict[str, View] = {
        "chat": _chat,
        "approvals": _approvals,
        "settings": _settings,
        "jobs": _jobs,
        "learning": _learning,
        "interview": _interview,
    }
    for element in views[name](page, backend):
        assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width]
        assert unreached(page, element) == []


def unreached(page: Page, element: str) -> list[str]:
    """Return the controls that the keyboard does not reach on its way through the page."""
    missing = set(range(page.evaluate(CONTROLS, element)))
    assert missing
    page.get_by_role("navigation", name="Views").get_by_role("button").first.focus()
    for _ in range(MOST_PRESSES):
        page.keyboard.press("Tab")
        missing.discard(page.evaluate(FOCUSED))
        if not missing:
            break
    return page.evaluate(NAMES, sorted(missing))


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1440, 360])
def test_an_approval_can_be_requested_and_decided_by_keyboard_alone(page: Page, backend: ScriptedBackend, width: int):
    page.set_viewport_size({"width": width, "height": 740})
    page.goto("/#chat")
    widget = ready(page)
    expect(widget.box).to_be_focused()
    page.keyboard.type("Change my headline")
    stream = backend.stream("c1").begin()
    page.keyboard.press("Enter")
    stream.send("approval_required", **backend.ask(approval(preview=PUBLICATION))).done("")
    within = page.get_by_role("dialog") if width == 360 else widget.log
    card = Card(within, "Publish this card")
    expect(card.button("Approve")).to_be_visible()
    expect(widget.send).to_be_attached()
    for _ in range(MOST_PRESSES):
        page.keyboard.press("Tab" if width == 360 else "Shift+Tab")
        if card.button("Approve").evaluate("node => node.getRootNode().activeElement === node"):
            break
    backend.stream("c1").begin().done("Thank you.")
    page.keyboard.press("Enter")
    backend.become("ap_1", "done", decided_by="chat")
    outcome = Card(widget.log, "Publish this card").outcome
    expect(outcome).to_have_text("Approved · done")
    expect(outcome).to_be_focused()


@pytest.mark.thorough
def test_the_first_tab_stop_skips_to_the_content(page: Page, backend: ScriptedBackend):
    page.goto("/#chat")
    widget = ready(page)
    page.get_by_role("link", name="Skip to the content").focus()
    expect(page.get_by_role("link", name="Skip to the content")).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    expect(widget.box).to_be_focused()
    widget.button("Skip to your message").focus()
    page.keyboard.press("Enter")
    expect(widget.box).to_be_focused()
