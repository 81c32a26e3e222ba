"""The elements besides the chat, on the local page: approvals, activity, settings."""

import json
import re
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from qwestly_agent.base.clock import to_iso
from tests.local_page import look_at
from tests.widget.backend import EVIL, ScriptedBackend
from tests.widget.test_approvals import Card, approval, expect_decided, visit
from tests.widget.test_widget import answered, asked, ready

# The results depend only on the widget's sources and its scripted backend.
pytestmark = pytest.mark.thorough


def event(key: str, title: str, **more: Any) -> dict[str, Any]:
    told = {
        "id": key,
        "at": to_iso(time.time()),
        "type": "approval.done",
        "role": "chat",
        "severity": "info",
        "title": title,
    }
    return told | {"why": "You decided this in your queue.", "run_id": None, "data": {}, "undo_until": None} | more


def tomorrow() -> str:
    return datetime.fromtimestamp(time.time() + 86_400, UTC).isoformat()


def view(page: Page, name: str) -> Locator:
    if page.url == "about:blank" or not page.url.endswith("/#chat"):
        page.goto("/#chat")
        ready(page)
    look_at(page, name)
    return page.locator(f"qwestly-{name.lower()}")


@pytest.mark.nightly
@pytest.mark.parametrize(("place", "name"), [("approvals/ap_1", "Approvals"), ("applications/app_1", "Jobs")])
def test_a_link_in_a_mail_opens_its_target(page: Page, backend: ScriptedBackend, place: str, name: str):
    backend.ask(approval("ap_1"))
    page.goto(f"/#{place}")
    expect(page.locator(f"qwestly-{name.lower()}")).to_be_visible()
    if name == "Approvals":
        expect(page.locator("qwestly-approvals section[tabindex='-1']")).to_be_focused()


@pytest.mark.sentinel
def test_a_chat_that_starts_hidden_is_usable_once_shown(page: Page, backend: ScriptedBackend):
    held: list[Route] = []
    page.route("**/widget/qwestly.js", lambda route: held.append(route), times=1)
    page.goto("/#chat")
    views = page.get_by_role("navigation", name="Views")
    views.get_by_role("button", name="Memory").click()
    expect(views.get_by_role("button", name="Memory")).to_have_attribute("aria-current", "page")
    held[0].continue_()
    expect(page.locator("qwestly-memories")).to_contain_text("Nothing remembered yet.")
    views.get_by_role("button", name="Chat").click()
    expect(page.get_by_label("Your message")).to_be_visible()


# ── activity ──


def test_the_feed_shows_events_with_reasons_and_can_undo_them(page: Page, backend: ScriptedBackend):
    backend.approvals["ap_1"] = approval("ap_1")
    backend.events = [
        event("ap_1:done", f"Changed your headline {EVIL}", undo_until=tomorrow()),
        event("e2", "A mail was refused", severity="warning", why="", role="new_role"),
    ]
    feed = view(page, "Activity")
    rows = feed.get_by_role("listitem")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text(f"Changed your headline {EVIL}")
    expect(rows.first).to_contain_text("You decided this in your queue.")
    expect(rows.first).to_contain_text("Your agent")
    expect(rows.last).to_contain_text("New role")
    expect(rows.last.get_by_role("button")).to_have_count(0)
    rows.first.get_by_role("button", name="Undo").click()
    backend.wait_for(1, "POST", "/api/activity/ap_1:done/undo")
    expect(rows.first).to_contain_text("Undone")
    expect(rows.first.get_by_role("button")).to_have_count(0)
    feed.get_by_role("button", name="Problems").click()
    expect(rows).to_have_text([re.compile("A mail was refused")])
    assert page.evaluate("window.hacked") is None


def test_an_action_in_an_answer_is_an_event_on_the_page(page: Page, backend: ScriptedBackend):
    widget = visit(page)
    page.evaluate("addEventListener('activity', ({ detail }) => (window.happened = detail))")
    did = event("e1", "Changed your headline")
    backend.stream().begin().text("Done.").send("activity", **did).done("Done.")
    widget.say("Change my headline")
    expect(widget.words).to_have_text("Done.")
    assert page.evaluate("window.happened") == did


def test_a_change_and_its_undo_are_two_rows_despite_clock_skew(page: Page, backend: ScriptedBackend):
    steps = [  # newest first, by clocks of which one is a second ahead
        ("ap_2", "done", "user", "Undone"),
        ("ap_2", "asked", "user", "You asked to undo this"),
        ("ap_1", "approved", "user", "You approved this"),
        ("ap_1", "done", "chat", "Done"),
        ("ap_1", "asked", "chat", "Your approval is asked for"),
    ]
    about = "Change your location to Lisbon"
    backend.events = [
        event(
            f"{key}:{at}",
            f"{words}: {about}",
            about=about,
            type=f"approval.{step}",
            role=role,
            at=to_iso(time.time() - at),
            data={"approval_id": key} | ({"undoes": "ap_1"} if key == "ap_2" else {}),
        )
        for at, (key, step, role, words) in enumerate(steps)
    ]
    rows = view(page, "Activity").get_by_role("listitem").filter(has=page.locator(".title"))
    expect(rows.locator(".title")).to_have_text([f"Undone: {about}", f"Done: {about}"])
    expect(rows.locator(".foot")).to_contain_text(["You", "Your agent"])
    expect(rows.locator("summary")).to_have_text(["2 steps", "3 steps"])


def test_a_rejected_undo_says_why(page: Page, backend: ScriptedBackend):
    backend.events = [event("ap_9:done", "Changed your headline", undo_until=tomorrow())]
    feed = view(page, "Activity")
    backend.refuse(409, "changed", "Somebody changed this since.", on="POST /api/activity/ap_9:done/undo")
    feed.get_by_role("button", name="Undo").click()
    expect(feed.get_by_role("alert")).to_have_text("We couldn’t undo that. Somebody changed this since.")
    feed.evaluate("element => element.refresh()")
    expect(feed.get_by_role("alert")).to_have_text("We couldn’t undo that. Somebody changed this since.")
    expect(feed.get_by_role("button", name="Undo")).to_be_visible()


def test_an_empty_feed_explains_what_will_appear_there(page: Page, backend: ScriptedBackend):
    expect(view(page, "Activity")).to_contain_text("Nothing yet.")


# ── the briefing ──


def briefing(**more: Any) -> dict[str, Any]:
    def line(text: str, source: str, place: str, label: str, why: str, **more: Any) -> dict[str, Any]:
        action = {"label": label, "place": place, "id": f"{place}_1"}
        given = {"text": text, "topic": "needs_you", "source": source, "records": ["r"], "when": "today at 8:05 AM"}
        return given | {"at": to_iso(time.time()), "why": why, "now": "", "action": action} | more

    lines = [
        line(f"Publish your card {EVIL}", "approvals", "approvals", "Review", "It waits."),
        line("Ask how it stands", "follow_ups", "applications", "Open", "It waits.", when="due since Monday"),
        line("Your headline was changed", "activity", "activity", "See what was done", "You asked.", topic="done"),
    ]
    told = {"id": "b1", "day": "2026-11-23", "kind": "full", "at": to_iso(time.time()), "summary": "1 thing needs you."}
    labels = {"approvals": "what waits for you", "matches": "jobs", "memories": "what was remembered"}
    sources: list[dict[str, Any]] = [
        {"name": name, "label": label, "why": "", "as_of": to_iso(time.time())} for name, label in labels.items()
    ]
    sources[-1]["as_of"] = None
    told |= {"lines": lines, "sources": sources}
    return told | {"missing": [], "read_at": None, "mailed": "no"} | more


def test_the_newest_briefing_shows_open_tasks_and_is_marked_as_read(page: Page, backend: ScriptedBackend):
    backend.briefings = [briefing()]
    page.goto("/#chat")
    ready(page)
    assert not backend.asked("POST", "/api/briefings/b1/read")  # nobody has read it yet
    view(page, "Activity")
    told = page.get_by_role("article", name="Briefing")
    expect(told).to_be_hidden()
    page.get_by_text("Your briefing", exact=True).first.click()
    expect(told).to_contain_text("1 thing needs you.")
    rows = told.get_by_role("listitem")
    expect(rows).to_have_count(3)
    expect(rows.last).to_contain_text("Today at 8:05 AM · You asked.")
    expect(rows.nth(1)).to_contain_text("Due since Monday · It waits.")
    expect(told).to_contain_text(re.compile(r"As of (today|yesterday) at .+: what waits for you, jobs\."))
    expect(told).to_contain_text(f"Publish your card {EVIL}")
    backend.wait_for(1, "POST", "/api/briefings/b1/read")
    backend.approvals["approvals_1"] = approval("approvals_1", conversation_id=None)
    told.get_by_role("button", name="Review").click()
    expect(page.get_by_role("heading", name="Approvals")).to_be_visible()
    expect(page.locator("qwestly-approvals").get_by_role("group", name="Approval: ")).to_be_focused()
    backend.jobs.applications = {}
    view(page, "Activity")
    told.get_by_role("button", name="Open").click()
    expect(page.locator("qwestly-jobs")).to_contain_text("No applications yet.")
    assert page.evaluate("window.hacked") is None


def test_an_older_briefing_can_be_opened_from_the_feed(page: Page, backend: ScriptedBackend):
    old = briefing(id="b0", summary="2 things need you.", at=to_iso(time.time() - 2 * 86_400), read_at=to_iso(1.0))
    backend.briefings = [briefing(read_at=1.0), old]
    backend.events = [event("b0:told", "Your briefing is here", type="briefing.told", data={"briefing_id": "b0"})]
    view(page, "Activity").get_by_role("button", name="Open briefing").click()
    told = page.get_by_role("article", name="Briefing")
    expect(told).to_contain_text("2 things need you.")
    expect(told).to_contain_text("2 days ago")
    told.get_by_role("button", name="Show the newest").click()
    expect(told).to_contain_text("1 thing needs you.")


def test_a_new_briefing_adds_a_line_to_the_chat_and_a_badge_to_its_view(page: Page, backend: ScriptedBackend):
    backend.active = True  # it polls every two seconds
    page.goto("/#chat")
    ready(page)
    backend.wait_for(1, "GET", "/api/updates")
    backend.briefings = [briefing(read_at=None)]
    told = event("b1:told", "Your briefing is here", type="briefing.told", data={"briefing_id": "b1"})
    backend.happen("activity", "b1:told", told)
    tab = page.locator(".tabs [data-view=activity]")
    expect(tab).to_contain_text("1 new briefing")
    page.locator("qwestly-chat").get_by_role("button", name="Open briefing").click()
    expect(page.get_by_role("article", name="Briefing")).to_contain_text("1 thing needs you.")
    expect(tab.get_by_text("new briefing")).to_be_hidden()


def test_earlier_briefings_are_listed_in_pages(page: Page, backend: ScriptedBackend):
    backend.briefings = [
        briefing(id=f"b{number}", summary=f"Morning {number}.", read_at=1.0, at=to_iso(1.0)) for number in range(3)
    ]
    view(page, "Activity")
    page.get_by_text("Your briefing", exact=True).first.click()
    told = page.get_by_role("article", name="Briefing")
    for number in (1, 2):
        told.get_by_role("button", name="Show the one before").click()
        expect(told).to_contain_text(f"Morning {number}.")
    told.get_by_role("button", name="Show the one before").click()
    expect(told.get_by_role("button", name="Show the one before")).to_have_count(0)
    told.get_by_role("button", name="Show the newest").click()
    expect(told).to_contain_text("Morning 0.")


def test_the_settings_schedule_briefings_and_turn_off_each_kind_of_mail(page: Page, backend: ScriptedBackend):
    card = view(page, "Settings")
    card.get_by_label("Brief me").check()
    card.get_by_role("textbox", name="At UTC").fill("07:30")
    card.get_by_role("textbox", name="At UTC").blur()
    card.get_by_role("checkbox", name="Sun").uncheck()
    card.get_by_role("checkbox", name="Briefings").uncheck()
    expect(card.get_by_role("checkbox", name="Sun")).not_to_be_checked()
    backend.wait_for(4, "PUT", "/api/briefings/settings")
    chosen = {name: backend.plan[name] for name in ("on", "hour", "minute", "days", "mail")}
    assert chosen == {"on": True, "hour": 7, "minute": 30, "days": [0, 1, 2, 3, 4, 5], "mail": False}
    card.get_by_label("A reminder of each at half of its time").uncheck()
    expect(card.get_by_role("status")).to_have_text("Saved.")
    assert backend.settings["mail_reminders"] is False
    assert "mail_questions" not in backend.settings


def test_a_stale_response_does_not_revert_a_setting(page: Page, backend: ScriptedBackend):
    card = view(page, "Settings")
    expect(card.get_by_label("Brief me")).not_to_be_checked()
    held = backend.hold("GET /api/autonomy")
    asked = len(backend.asked("GET", "/api/briefings/settings"))
    view(page, "Activity")
    view(page, "Settings")  # reloads, and gets the plan without the other settings
    backend.wait_for(asked + 1, "GET", "/api/briefings/settings")
    with page.expect_response(lambda answer: answer.request.method == "PUT") as saved:
        card.get_by_label("Brief me").check()
    saved.value.finished()
    held.raw(json.dumps({"kinds": []}).encode()).end()
    card.get_by_label("A reminder of each at half of its time").uncheck()
    expect(card.get_by_role("status")).to_have_text("Saved.")
    assert card.get_by_label("Brief me").is_checked()  # not only after a reload


# ── settings ──


def test_settings_default_to_the_browser_and_are_kept_once_chosen(page: Page, backend: ScriptedBackend):
    settings = view(page, "Settings")
    expect(settings.get_by_role("radio", name="Assist")).to_be_checked()
    assert backend.settings["language"] == "en-GB"
    zone = backend.settings["time_zone"].replace("_", " ")
    assert settings.get_by_label("Time zone").evaluate("list => list.selectedOptions[0].label") == zone
    settings.get_by_role("radio", name="Suggest").check()
    expect(settings.get_by_role("status")).to_have_text("Saved: Suggest.")
    settings.get_by_label("Time zone").select_option("Europe/Lisbon")
    expect(settings.get_by_role("status")).to_have_text("Saved.")
    assert (backend.settings["level"], backend.settings["time_zone"]) == ("L0", "Europe/Lisbon")


def test_an_earned_level_is_shown_up_to_its_ceiling_and_ended_by_a_chosen_one(page: Page, backend: ScriptedBackend):
    record = "Your agent earned this."
    kind = {"tool": "update_preference", "title": "A preference", "record": record}
    backend.earned = [{**kind, "means": "It waits in your approvals.", "is_earned": True}]
    settings = view(page, "Settings")
    expect(settings.get_by_role("listitem")).to_have_text(
        re.compile(f"A preference {record}\\s+It waits in your approvals.\\s+Ask me again")
    )
    settings.get_by_role("button", name="Ask me again").click()
    expect(settings.get_by_role("status")).to_have_text("Your agent asks you again: A preference.")
    expect(settings.get_by_role("listitem")).to_have_text(f"A preference {record}")
    earn = settings.get_by_label("Can it earn more freedom?")
    expect(earn).to_have_value("L1")
    assert earn.locator("option").all_inner_texts() == ["No", "Up to Supervised", "Up to Autonomous"]
    earn.select_option("Up to Autonomous")
    expect(settings.get_by_role("status")).to_have_text("Saved.")
    assert backend.settings["ceiling"] == "L3"
    settings.get_by_role("radio", name="Supervised").check()
    expect(earn).to_have_value("L2")
    settings.get_by_role("radio", name="Autonomous").check()
    expect(earn).to_have_count(0)


@pytest.mark.parametrize(("zone", "sent"), [("Etc/Unknown", None), ("UTC", "UTC")])
def test_an_unknown_time_zone_is_not_sent(page: Page, backend: ScriptedBackend, zone: str, sent: str | None):
    page.add_init_script(
        "const options = Intl.DateTimeFormat.prototype.resolvedOptions;"
        "Intl.DateTimeFormat.prototype.resolvedOptions = function () "
        f"{{ return {{ ...options.call(this), timeZone: '{zone}' }}; }};"
    )
    settings = view(page, "Settings")
    expect(settings.get_by_role("radio", name="Assist")).to_be_checked()
    assert (backend.settings["time_zone"], bool(backend.settings["language"])) == (sent, True)


def test_a_setting_that_cannot_be_saved_is_reverted_and_reported(page: Page, backend: ScriptedBackend):
    settings = view(page, "Settings")
    expect(settings.get_by_role("radio", name="Assist")).to_be_checked()
    backend.refuse(503, "unavailable", "Not now.", on="PUT /api/settings")
    settings.get_by_role("radio", name="Autonomous").click()
    expect(settings.get_by_role("alert")).to_have_text("We couldn’t save that. Not now.")
    expect(settings.get_by_role("radio", name="Assist")).to_be_checked()


def test_everything_can_be_paused_downloaded_and_erased_after_confirmation(page: Page, backend: ScriptedBackend):
    backend.keep("c1", "Mine", asked("m1", "Hello"), answered("Hi."))
    page.goto("/#chat")
    widget = ready(page)
    widget.rows.get_by_role("button", name="Mine").first.click()
    widget.box.fill("Half a sentence")
    settings = view(page, "Settings")
    settings.get_by_role("button", name="Pause everything").click()
    expect(settings).to_contain_text("Everything has been paused since")
    settings.get_by_role("button", name="Resume").click()
    expect(settings.get_by_role("button", name="Pause everything")).to_be_visible()
    with page.expect_download() as download:
        settings.get_by_role("button", name="Download my data").click()
    assert download.value.suggested_filename == "qwestly-agent.json"
    settings.get_by_role("button", name="Erase everything").click()
    question = page.get_by_role("dialog", name="Erase everything?")
    question.get_by_role("button", name="Cancel").click()
    assert not backend.asked("DELETE", "/api/me")
    settings.get_by_role("button", name="Erase everything").click()
    question.get_by_role("button", name="Erase everything").click()
    backend.wait_for(1, "DELETE", "/api/me")
    expect(settings.get_by_role("status")).to_have_text("Everything was erased.")
    view(page, "Chat")
    expect(page.get_by_text("What would you like to work on?")).to_be_visible()
    expect(page.get_by_label("Your message")).to_have_value("")


# ── approvals ──


def test_the_queue_keeps_decided_approvals_visible_and_has_a_history(page: Page, backend: ScriptedBackend):
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
    expect(queue.locator(".folded > summary")).to_have_count(2)
    expect(queue.locator(".folded > summary").first).to_contain_text("Approved · done")


def test_the_queue_lists_opens_and_bulk_decides_approvals_of_one_kind(page: Page, backend: ScriptedBackend):
    for number in range(3):
        backend.ask(approval(f"ap_{number}", conversation_id=None, tool="update_preference", effect="write"))
    backend.ask(approval("ap_9", conversation_id=None, tool="delete_card", effect="destructive"))
    queue = view(page, "Approvals")
    lines = queue.locator(".folded > summary")
    expect(lines).to_have_count(4)
    expect(queue.get_by_role("group", name="Approval:")).to_have_count(1)
    for each in lines.all():
        expect(each).to_contain_text("→ Senior Product Manager")
        expect(each).to_contain_text("ends in ")
    lines.nth(1).click()
    expect(queue.get_by_role("group", name="Approval:")).to_have_count(1)
    queue.get_by_role("button", name="Approve: all 3").click()
    expect(lines.filter(has_text="Approved · done")).to_have_count(3)
    decided = [call for call in backend.calls if call.method == "POST" and call.path.endswith("/decision")]
    assert [(call.body["decision"], "opened" in call.body) for call in decided] == [("approve", False)] * 3
    expect(queue.get_by_role("button", name="all")).to_have_count(0)


@pytest.mark.parametrize(
    "name",
    ["Memories", "Approvals", "Activity", "Settings"],
)
def test_an_element_that_fails_to_load_says_so(page: Page, backend: ScriptedBackend, name: str):
    page.goto("/#chat")
    ready(page)
    element = page.locator(f"qwestly-{name.lower()}")
    element.evaluate("element => element.refresh()")  # all of its reads are over then
    page.route("**/api/**", lambda route: route.abort())
    alert = view(page, name).get_by_role("alert").first
    expect(alert).to_contain_text("We can’t reach Qwestly.")
    page.unroute("**/api/**")
    element.evaluate("element => element.refresh()")
    expect(alert).to_be_hidden()
