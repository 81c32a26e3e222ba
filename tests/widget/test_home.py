"""<qwestly-home> on the local page: open tasks, news, the user's goal, and an input line."""

import time
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from qwestly_agent.base.clock import to_iso
from tests.counts import everyday
from tests.widget.backend import ScriptedBackend
from tests.widget.test_approvals import Card, approval
from tests.widget.test_jobs import match
from tests.widget.test_widget import ready


def line(text: str, topic: str, place: str, record: str = "r1", **more: Any) -> dict[str, Any]:
    action = {"label": "Open", "place": place, "id": record}
    told = {"text": text, "topic": topic, "source": "", "records": [record], "at": to_iso(time.time())}
    return told | {"when": "yesterday at 6:30 PM", "why": "You asked for it.", "now": "", "action": action} | more


def of_maya(backend: ScriptedBackend) -> None:
    view = backend.ask(approval())
    backend.home |= {
        "name": "Maya",
        "summary": "2 things need you.",
        "counts": {"needs_you": 2, "waiting": 1},
        "first": view,
        "needs_you": [line("Change your headline", "needs_you", "approvals", "ap_1"), DUE],
        "new": [line("Interview at Adyen", "changed", "applications", "app_1")],
        "jobs": [match("j1", title="Head of Product", company="Gridwise")],
        "going": {
            "goal": "Lead a product team",
            "step": {
                "application_id": "app_1",
                "job": "Head of Product at Adyen",
                "step": "Interview",
                "at": to_iso(time.time()),
            },
            "lesson": {"subject": "", "topic": "Discovery", "module": "m1", "why": "The next gap."},
        },
    }


STEP = {"application_id": "app_1", "job": "Head of Product at Adyen", "step": "Interview", "at": to_iso(time.time())}
DUE = line("2 questions about Discovery", "needs_you", "lessons", "m1", when="due since Monday, November 23")


@pytest.fixture
def home(page: Page, backend: ScriptedBackend) -> Locator:
    of_maya(backend)
    page.goto("/")
    home = page.locator("qwestly-home")
    expect(home.get_by_role("region", name="Needs you")).to_be_visible()
    return home


def test_home_opens_with_open_tasks_and_one_approval_expanded(page: Page, home: Locator):
    expect(home.get_by_role("heading", name="Good morning, Maya")).to_be_visible()
    needs = home.get_by_role("region", name="Needs you")
    expect(Card(needs).button("Approve")).to_be_visible()
    assert needs.locator("li").all_inner_texts() == [
        "2 questions about Discovery\nYou asked for it. Due since Monday, November 23.\nOpen"
    ]
    expect(home.get_by_role("region", name="New")).to_contain_text("Head of Product, Gridwise")
    expect(home.get_by_role("region", name="Where you’re going")).to_contain_text("Interview: Head of Product at Adyen")
    expect(page.get_by_role("navigation", name="Views").get_by_role("button", name="Home")).to_contain_text(
        "2 need you"
    )
    expect(page).to_have_title("(2) Qwestly")


def test_an_approval_decided_at_home_is_no_longer_counted(page: Page, home: Locator, backend: ScriptedBackend):
    backend.home_once_decided = {"first": None, "needs_you": [DUE], "counts": {"needs_you": 1, "waiting": 0}}
    Card(home).press("Approve")
    backend.wait_for(1, "POST", "/api/approvals/ap_1/decision")
    expect(page).to_have_title("(1) Qwestly")


@pytest.mark.parametrize(
    ("button", "shown"),
    everyday(
        1,
        [
            ("Open: 2 questions about Discovery", "qwestly-learning"),
            ("Open: Interview at Adyen", "qwestly-jobs-applications"),
            ("See the job: Head of Product", "qwestly-jobs-matches"),
            ("Learn: Discovery", "qwestly-learning"),
        ],
    ),
)
def test_each_line_at_home_opens_its_view(page: Page, home: Locator, button: str, shown: str):
    home.get_by_role("button", name=button).click()
    expect(page.locator(shown)).to_be_visible()


def test_a_message_written_at_home_is_sent_in_the_chat(page: Page, home: Locator, backend: ScriptedBackend):
    backend.stream("c1").begin().done("You live in Lisbon.")
    home.get_by_label("Ask or tell your agent anything").fill("Where do I live?")
    page.keyboard.press("Enter")
    expect(page.locator("qwestly-chat")).to_contain_text("You live in Lisbon.")
    assert backend.chats()[-1]["message"] == "Where do I live?"


def test_a_new_user_can_start_with_one_press(page: Page, backend: ScriptedBackend):
    page.goto("/")
    home = page.locator("qwestly-home")
    expect(home).to_contain_text("Where would you like to start?")
    home.get_by_role("button", name="Add it").click()
    expect(page.locator("qwestly-jobs").get_by_label("Add a résumé")).to_be_attached()


def test_home_names_the_parts_it_could_not_load(page: Page, backend: ScriptedBackend):
    backend.home |= {"missing": ["jobs", "drafts"]}
    page.goto("/")
    expect(page.locator("qwestly-home")).to_contain_text("We couldn’t read everything. Not counted: jobs, drafts.")


def test_a_message_typed_in_the_chat_is_kept_while_home_is_open(page: Page, backend: ScriptedBackend):
    page.goto("/#chat")
    widget = ready(page)
    widget.box.fill("Half a thought")
    views = page.get_by_role("navigation", name="Views")
    views.get_by_role("button", name="Home").click()
    views.get_by_role("button", name="Chat").click()
    expect(widget.box).to_have_value("Half a thought")
