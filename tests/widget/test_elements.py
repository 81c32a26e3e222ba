"""The elements beside the chat, on the local page: approvals, activity, settings."""

import re
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.widget.backend import ScriptedBackend
from tests.widget.test_approvals import Card, approval, expect_decided
from tests.widget.test_widget import ready

EVIL = "<img src=x onerror='window.hacked = 1'>"


def event(key: str, title: str, **more: Any) -> dict[str, Any]:
    told = {"id": key, "at": time.time(), "type": "approval.done", "role": "chat", "severity": "info", "title": title}
    return told | {"why": "You decided this in your queue.", "run_id": None, "data": {}, "undo_until": None} | more


def tomorrow() -> str:
    return datetime.fromtimestamp(time.time() + 86_400, UTC).isoformat()


def view(page: Page, name: str) -> Locator:
    if page.url == "about:blank" or not page.url.endswith("/"):
        page.goto("/")
        ready(page)
    page.get_by_role("navigation", name="Views").get_by_role("button", name=name).click()
    return page.locator(f"qwestly-{name.lower()}")


# ── activity ──


def test_the_feed_tells_what_happened_why_and_undoes_what_can_be_undone(page: Page, backend: ScriptedBackend):
    backend.approvals["ap_1"] = approval("ap_1")
    backend.events = [
        event("ap_1:done", f"Changed your headline {EVIL}", undo_until=tomorrow()),
        event("e2", "A mail was refused", severity="warning", why=""),
    ]
    feed = view(page, "Activity")
    rows = feed.get_by_role("listitem")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text(f"Changed your headline {EVIL}")
    expect(rows.first).to_contain_text("You decided this in your queue.")
    expect(rows.last.get_by_role("button")).to_have_count(0)
    rows.first.get_by_role("button", name="Undo").click()
    backend.wait_for(1, "POST", "/api/activity/ap_1:done/undo")
    expect(rows.first).to_contain_text("Undone")
    expect(rows.first.get_by_role("button")).to_have_count(0)
    feed.get_by_role("button", name="Problems").click()
    expect(rows).to_have_text([re.compile("A mail was refused")])
    assert page.evaluate("window.hacked") is None


def test_an_undo_that_is_refused_says_why(page: Page, backend: ScriptedBackend):
    backend.events = [event("ap_9:done", "Changed your headline", undo_until=tomorrow())]
    feed = view(page, "Activity")
    backend.refuse(409, "changed", "Somebody changed this since.", on="POST /api/activity/ap_9:done/undo")
    feed.get_by_role("button", name="Undo").click()
    expect(feed.get_by_role("alert")).to_have_text("Not undone. Somebody changed this since.")
    feed.evaluate("element => element.refresh()")
    expect(feed.get_by_role("alert")).to_have_text("Not undone. Somebody changed this since.")
    expect(feed.get_by_role("button", name="Undo")).to_be_visible()


def test_an_empty_feed_says_what_will_be_there(page: Page, backend: ScriptedBackend):
    expect(view(page, "Activity")).to_contain_text("Nothing happened yet.")


# ── the briefing ──


def briefing(**more: Any) -> dict[str, Any]:
    lines = [
        {
            "text": f"Publish your card {EVIL}",
            "topic": "needs_you",
            "records": ["ap_1"],
            "at": time.time(),
            "why": "It waits.",
        },
        {"text": "Your headline was changed", "topic": "done", "records": ["ap_2"], "at": time.time(), "why": "Done."},
    ]
    told = {"id": "b1", "day": "2026-11-23", "kind": "full", "at": time.time(), "summary": "1 thing needs you."}
    return told | {"lines": lines, "missing": [], "as_of": {}, "read_at": None, "mailed": "no"} | more


def test_the_newest_briefing_says_what_needs_the_user_and_is_noted_as_read(page: Page, backend: ScriptedBackend):
    backend.briefings = [briefing()]
    page.goto("/")
    ready(page)
    assert not backend.asked("POST", "/api/briefings/b1/read")  # nobody has seen it yet
    view(page, "Activity")
    told = page.get_by_role("article", name="Briefing")
    expect(told).to_contain_text("1 thing needs you.")
    expect(told.get_by_role("listitem")).to_have_count(2)
    expect(told).to_contain_text(f"Publish your card {EVIL}")
    backend.wait_for(1, "POST", "/api/briefings/b1/read")
    told.get_by_role("button", name="Decide").click()
    expect(page.get_by_role("heading", name="Approvals")).to_be_visible()
    assert page.evaluate("window.hacked") is None


def test_briefings_are_turned_on_for_an_hour_and_days(page: Page, backend: ScriptedBackend):
    view(page, "Activity")
    card = page.locator("qwestly-briefing")
    card.get_by_text("Get one every day").click()
    card.get_by_label("Brief me").check()
    card.get_by_role("textbox", name="At UTC").fill("07:30")
    card.get_by_role("textbox", name="At UTC").blur()
    card.get_by_label("Sun").uncheck()
    card.get_by_label("By e-mail, too").uncheck()
    expect(card.get_by_label("Sun")).not_to_be_checked()
    backend.wait_for(4, "PUT", "/api/briefings/settings")
    chosen = {name: backend.plan[name] for name in ("on", "hour", "minute", "days", "mail")}
    assert chosen == {"on": True, "hour": 7, "minute": 30, "days": [0, 1, 2, 3, 4, 5], "mail": False}


# ── settings ──


def test_settings_are_first_taken_from_the_browser_and_kept_as_chosen(page: Page, backend: ScriptedBackend):
    settings = view(page, "Settings")
    expect(settings.get_by_role("radio", name="Assist")).to_be_checked()
    assert backend.settings["language"] == "en-GB"
    assert backend.settings["time_zone"]
    settings.get_by_role("radio", name="Suggest").check()
    expect(settings.get_by_role("status")).to_have_text("Saved: Suggest.")
    settings.get_by_label("Time zone").select_option("Europe/Lisbon")
    expect(settings.get_by_role("status")).to_have_text("Saved.")
    assert (backend.settings["level"], backend.settings["time_zone"]) == ("L0", "Europe/Lisbon")


def test_a_choice_that_is_not_saved_goes_back_and_says_so(page: Page, backend: ScriptedBackend):
    settings = view(page, "Settings")
    expect(settings.get_by_role("radio", name="Assist")).to_be_checked()
    backend.refuse(503, "unavailable", "Not now.", on="PUT /api/settings")
    settings.get_by_role("radio", name="Autonomous").click()
    expect(settings.get_by_role("alert")).to_have_text("Not saved. Not now.")
    expect(settings.get_by_role("radio", name="Assist")).to_be_checked()


def test_everything_can_be_paused_downloaded_and_erased_after_a_question(page: Page, backend: ScriptedBackend):
    settings = view(page, "Settings")
    settings.get_by_role("button", name="Pause everything").click()
    expect(settings).to_contain_text("Everything has been paused since")
    settings.get_by_role("button", name="Resume").click()
    expect(settings.get_by_role("button", name="Pause everything")).to_be_visible()
    with page.expect_download() as download:
        settings.get_by_role("button", name="Download my data").click()
    assert download.value.suggested_filename == "qwestly-agent.json"
    settings.get_by_role("button", name="Erase everything").click()
    asked = page.get_by_role("dialog", name="Erase everything?")
    asked.get_by_role("button", name="Cancel").click()
    assert not backend.asked("DELETE", "/api/me")
    settings.get_by_role("button", name="Erase everything").click()
    asked.get_by_role("button", name="Erase everything").click()
    backend.wait_for(1, "DELETE", "/api/me")
    expect(settings.get_by_role("status")).to_have_text("Everything was erased.")


# ── approvals ──


def test_the_queue_decides_keeps_what_was_decided_in_sight_and_has_a_history(page: Page, backend: ScriptedBackend):
    backend.approvals["ap_0"] = approval("ap_0", status="done", decided_by="queue")
    backend.ask(approval(conversation_id=None))
    queue = view(page, "Approvals")
    expect(page).to_have_title("(1) Qwestly")
    card = Card(queue)
    card.press("Approve")
    expect_decided(card, "Approved · done")
    expect(page).to_have_title("Qwestly")
    queue.get_by_role("button", name="Waiting for you").click()
    expect(queue).to_contain_text("You’re all caught up.")
    queue.get_by_role("button", name="History").click()
    expect(queue.get_by_role("group", name="Approval:")).to_have_count(2)


@pytest.mark.parametrize("name", ["Approvals", "Memories", "Activity", "Settings"])
def test_what_cannot_be_loaded_says_so(page: Page, backend: ScriptedBackend, name: str):
    page.goto("/")
    ready(page)
    page.route("**/api/**", lambda route: route.abort())
    alert = view(page, name).get_by_role("alert").first
    expect(alert).to_contain_text("Qwestly cannot be reached.")
    page.unroute("**/api/**")
    page.locator(f"qwestly-{name.lower()}").evaluate("element => element.refresh()")
    expect(alert).to_be_hidden()
