"""Memories stored with an undo, approvals before forgetting, and the page's list."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from qwestly_agent.base.clock import to_iso
from tests.widget.backend import ScriptedBackend
from tests.widget.conftest import Clock
from tests.widget.test_approvals import NOTHING, Card, approval, expect_decided, visit
from tests.widget.test_widget import Widget, answered, asked, assert_no_sideways_scrolling, contrast, focused, ready

UNDO = "/api/memories/mem_1/undo"
LISBON = "Remembered: “Lives in Lisbon.”"
DAY = 86_400


def memory(content: str = "Lives in Lisbon.", key: str = "mem_1", **more: Any) -> dict[str, Any]:
    """Return a memory stored just now, by the machine's clock."""
    until = datetime.fromtimestamp(time.time() + DAY, UTC).isoformat()
    return {"id": key, "content": content, "status": "active", "undo_until": until} | more


def line(widget: Widget) -> Locator:
    return widget.answer.locator(".remembered")


def expect_line(widget: Widget, *texts: str) -> None:
    """Expect a line by its visible text."""
    expect(line(widget)).to_have_text(list(texts), use_inner_text=True)


def undo(widget: Widget, content: str = "Lives in Lisbon.") -> Locator:
    return widget.answer.get_by_role("button", name=f"Undo: “{content}”", exact=True)


def tells(backend: ScriptedBackend, widget: Widget, *memories: dict[str, Any]) -> None:
    """Play a turn of conversation c1 that stored these memories."""
    stream = backend.stream("c1").begin()
    for each in memories:
        backend.replaced[each["id"]] = []
        stream.send("memory", **each)
    stream.done("I’ll keep that in mind.")
    widget.say("I live in Lisbon now.")
    expect(widget.send).to_be_visible()


def reopened(page: Page, backend: ScriptedBackend, *memories: dict[str, Any], **more: Any) -> Widget:
    """Reload conversation c1 with the memories of its answer."""
    answer = answered("Noted.", memories=list(memories), **more)
    backend.keep("c1", "Lisbon", asked("m1", "I live in Lisbon now."), answer)
    widget = visit(page)
    widget.rows.get_by_role("button", name="Lisbon").first.click()
    expect(widget.words).to_have_text("Noted.")
    return widget


@pytest.fixture
def widget(page: Page) -> Widget:
    return visit(page)


# ── undo ──


@pytest.mark.sentinel
@pytest.mark.thorough
def test_a_memory_is_shown_under_the_answer_announced_and_can_be_undone(widget: Widget, backend: ScriptedBackend):
    tells(backend, widget, memory())
    expect_line(widget, f"{LISBON} · Undo")
    expect(widget.page.locator("qwestly-chat .spoken[aria-live]")).to_have_text(LISBON)
    undo(widget).press("Enter")
    backend.wait_for(1, "POST", UNDO)
    expect_line(widget, "Undone.")
    expect(widget.announced).to_have_text("Undone.")
    assert focused(widget.page) == "Undone."


@pytest.mark.thorough
def test_undoing_a_correction_names_the_restored_memory(widget: Widget, backend: ScriptedBackend):
    tells(backend, widget, memory())
    backend.replaced["mem_1"] = [memory("Lives in Berlin.", "mem_0")]
    undo(widget).click()
    expect_line(widget, "Undone. Back to: “Lives in Berlin.”")


@pytest.mark.thorough
def test_an_unchecked_memory_is_shown_as_unchecked(widget: Widget, backend: ScriptedBackend):
    tells(backend, widget, memory(status="unchecked"))
    expect_line(widget, "Noted, not checked yet: “Lives in Lisbon.” · Undo")


@pytest.mark.thorough
def test_a_repeated_memory_has_one_line(widget: Widget, backend: ScriptedBackend):
    tells(backend, widget, memory(), memory())
    expect(line(widget)).to_have_count(1)


@pytest.mark.thorough
def test_a_memory_can_still_be_undone_after_a_reload(page: Page, backend: ScriptedBackend):
    backend.replaced["mem_1"] = []
    widget = reopened(page, backend, memory())
    expect_line(widget, f"{LISBON} · Undo")
    undo(widget).click()
    expect_line(widget, "Undone.")


@pytest.mark.thorough
def test_a_stale_poll_does_not_revert_an_undo(page: Page, backend: ScriptedBackend):
    backend.replaced["mem_1"] = []
    widget = reopened(page, backend, memory())
    undo(widget).click()
    expect_line(widget, "Undone.")
    backend.conversations["c1"]["messages"][-1]["content"] = "Noted again."
    widget.rows.get_by_role("button", name="Lisbon").first.click()
    expect(widget.words).to_have_text("Noted again.")
    expect_line(widget, "Undone.")


@pytest.mark.thorough
def test_a_memory_cannot_be_undone_after_a_day(page: Page, backend: ScriptedBackend, clock: Clock):
    until = datetime.fromtimestamp(clock.now + 20, UTC).isoformat()
    backend.active = True
    widget = reopened(page, backend, memory(undo_until=until), memory("Likes trains.", "mem_2", undo_until=None))
    expect_line(widget, f"{LISBON} · Undo", "Remembered: “Likes trains.”")
    with page.expect_event("requestfinished", lambda request: "/api/updates" in request.url):
        clock.run(22)
    expect(undo(widget)).to_be_hidden()
    expect_line(widget, LISBON, "Remembered: “Likes trains.”")


@pytest.mark.thorough
def test_a_late_undo_offers_alternatives(widget: Widget, backend: ScriptedBackend):
    tells(backend, widget, memory())
    too_late = "This cannot be undone any more. You can correct it, or have it forgotten."
    backend.refuse(422, "invalid", too_late, on=f"POST {UNDO}")
    undo(widget).press("Enter")
    expect(line(widget)).to_contain_text(too_late)
    expect(widget.announced).to_have_text(too_late)
    expect(undo(widget)).to_be_hidden()
    assert focused(widget.page) == LISBON


@pytest.mark.thorough
def test_a_forgotten_memory_has_no_undo(widget: Widget, backend: ScriptedBackend):
    tells(backend, widget, memory())
    backend.replaced.clear()
    undo(widget).click()
    expect_line(widget, "This isn’t remembered anymore, so there’s nothing to undo.")


@pytest.mark.thorough
def test_a_failed_undo_says_why_and_can_be_retried(widget: Widget, backend: ScriptedBackend):
    tells(backend, widget, memory())
    backend.refuse(423, "braked", "The agent is paused.", on=f"POST {UNDO}")
    undo(widget).press("Enter")
    expect(line(widget)).to_contain_text("We couldn’t undo that. The agent is paused.")
    expect(undo(widget)).to_be_focused()
    undo(widget).press("Enter")
    expect_line(widget, "Undone.")


@pytest.mark.thorough
def test_an_undo_is_sent_once(widget: Widget, backend: ScriptedBackend):
    tells(backend, widget, memory())
    answer = backend.hold(f"POST {UNDO}")
    undo(widget).dblclick()
    answer.raw(b'{"undone": "mem_1", "restored": []}').end()
    expect_line(widget, "Undone.")
    assert len(backend.asked("POST", UNDO)) == 1


# ── cards ──

FORGET = "Forget these 2 for good"
FORGET_NOTE = "Exactly this goes from what your agent remembers, and cannot be brought back."
GOING = [
    {"name": "Fact", "before": "Lives in Lisbon.", "after": None, "evidence": []},
    {"name": "Preference", "before": "Likes <b>trains</b>.", "after": None, "evidence": []},
]
STAYING = {"name": "Fact", "before": None, "after": "Has diabetes.", "evidence": ["You said: “I have diabetes.”"]}
OF_MEMORY = {"kind": "memory", "effect": "memory", "editable": [], "revisable": False}


def forgetting(**more: Any) -> dict[str, Any]:
    preview = NOTHING | {"title": FORGET, "changes": GOING}
    hour = to_iso(time.time() + 3_600)
    return approval(
        **OF_MEMORY | {"tool": "forget_memory", "preview": preview, "rationale": FORGET_NOTE, "expires_at": hour} | more
    )


def is_asked(backend: ScriptedBackend, widget: Widget, view: dict[str, Any]) -> Card:
    backend.ask(view)
    backend.stream("c1").begin().send("approval_required", **view).done("")
    widget.say("Forget where I live.")
    expect(widget.send).to_be_visible()
    return Card(widget.log, view["preview"]["title"])


@pytest.mark.thorough
def test_a_forget_card_lists_the_memories_with_none_preselected(widget: Widget, backend: ScriptedBackend):
    card = is_asked(backend, widget, forgetting())
    expect(card.group).to_match_aria_snapshot(f"""
      - 'group "Approval: {FORGET}"':
        - paragraph: Can’t be undone
        - heading "{FORGET}" [level=3]
        - group:
          - paragraph: {FORGET_NOTE}
          - heading "Will be forgotten" [level=4]
          - list:
            - listitem:
              - deletion: Lives in Lisbon.
              - text: Fact
            - listitem:
              - deletion: Likes <b>trains</b>.
              - text: Preference
        - paragraph: /Without your answer, this ends in (60|59) minutes, and nothing changes./
        - button "Forget"
        - button "Keep"
    """)
    expect(card.buttons).to_have_text(["Forget", "Keep"])
    expect(card.words).to_be_hidden()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("button", "decision", "status", "outcome"),
    [("Forget", "approve", "done", "Forgotten"), ("Keep", "reject", "rejected", "Kept")],
)
def test_a_forget_card_shows_its_outcome(
    widget: Widget, backend: ScriptedBackend, button: str, decision: str, status: str, outcome: str
):
    view = forgetting()
    card = is_asked(backend, widget, view)
    backend.stream("c1").begin().done("Done.")
    card.press(button)
    [_, body] = [call.body for call in backend.wait_for(2, "POST", "/api/chat")]
    assert [each["decision"] for each in body["decisions"]] == [decision]
    expect_decided(card, outcome)
    assert backend.approvals["ap_1"]["status"] == status
    expect(card.group.get_by_text("Lisbon")).to_have_count(0)


@pytest.mark.thorough
def test_a_forget_card_for_a_memory_already_gone_is_not_shown_as_approved(page: Page, backend: ScriptedBackend):
    gone = forgetting(status="changed", decided_by="nobody", outcome="It was forgotten meanwhile.")
    expect_decided(Card(reopened(page, backend, approvals=[gone]).log, FORGET), "No longer asked")


@pytest.mark.thorough
def test_an_approval_of_memories_has_its_own_wording(page: Page, backend: ScriptedBackend):
    title = "Remember something sensitive"
    preview = NOTHING | {"title": title, "changes": [STAYING]}
    view = approval(**OF_MEMORY, tool="keep_memories", preview=preview, conversation_id=None)
    backend.ask(view)
    widget = visit(page)
    widget.button("Approvals 1 waiting").click()
    card = Card(widget.page, title)
    expect(card.buttons).to_have_text(["Remember", "Don’t remember"])
    expect(card.group.get_by_text("Remembered only if you say yes")).to_be_visible()
    expect(card.group.get_by_role("list").first).to_contain_text("Has diabetes.")
    card.group.get_by_text("Evidence (1)").click()
    expect(card.group.get_by_text("You said: “I have diabetes.”")).to_be_visible()
    backend.ask(view | {"preview": NOTHING | {"title": title}, "rationale": ""})
    card.press("Don’t remember")
    expect_decided(card, "Not remembered")
    expect(card.group.get_by_text("What was asked")).to_be_hidden()
    expect(card.group.get_by_text("diabetes")).to_have_count(0)


# ── appearance ──


@pytest.mark.thorough
def test_on_a_phone_lines_and_cards_fit_and_can_be_touched(phone: Page, backend: ScriptedBackend):
    long = "w" * 300
    preview = NOTHING | {"title": FORGET, "changes": [GOING[0] | {"before": long, "name": long}]}
    widget = visit(phone)
    tells(backend, widget, memory(long))
    assert_no_sideways_scrolling(widget)
    button = undo(widget, long).bounding_box()
    assert button
    assert min(button["width"], button["height"]) >= 44
    is_asked(backend, widget, forgetting(preview=preview))
    card = Card(phone.get_by_role("dialog", name="Your decision"), FORGET)
    expect(card.buttons).to_have_text(["Forget", "Keep"])
    assert_no_sideways_scrolling(widget)
    sizes = card.buttons.evaluate_all("nodes => nodes.map(node => node.getBoundingClientRect().height)")
    assert min(sizes) >= 44


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_and_cards_are_readable_in_light_and_dark(page: Page, backend: ScriptedBackend, scheme: Any):
    page.emulate_media(color_scheme=scheme)
    widget = visit(page)
    view = backend.ask(forgetting())
    backend.stream("c1").begin().send("memory", **memory()).send("approval_required", **view).done("")
    widget.say("I live in Lisbon now.")
    card = Card(widget.log, FORGET)
    texts = [line(widget).locator(".words"), undo(widget)]
    texts += [card.group.locator(part).first for part in ("del", ".type", "h4")]
    assert [text for text in texts if contrast(text) < 4.5] == []


# ── the page's list ──

KNOWN = {"type": "fact", "trust": "user_said", "sure": "sure", "quote": "I live in Lisbon", "question": ""}
KNOWN |= {"since": None, "said_at": "2025-03-01T09:00:00Z", "count": 1, "score": None, "undo_until": None}


def rows_of(page: Page) -> Locator:
    return page.get_by_role("list", name="Memories").get_by_role("listitem")


@pytest.fixture
def desk(page: Page, backend: ScriptedBackend) -> Page:
    page.set_viewport_size({"width": 1280, "height": 800})
    backend.memories["active"] = [KNOWN | {"id": "mem_1", "content": "Lives in Lisbon.", "status": "active"}]
    backend.memories["unchecked"] = [KNOWN | {"id": "mem_2", "content": "Likes trains.", "status": "unchecked"}]
    page.goto("/#chat")
    ready(page).button("Memory").click()
    return page


@pytest.mark.thorough
def test_the_page_lists_unchecked_memories_as_such(desk: Page):
    expect(rows_of(desk)).to_contain_text(["Likes trains. Not checked yet", "Lives in Lisbon."])
    expect(rows_of(desk).first).not_to_contain_text(" · sure")
    expect(rows_of(desk).last).not_to_contain_text("Not checked")
    expect(rows_of(desk).last).to_contain_text(" · sure")


@pytest.mark.parametrize(
    ("found_by", "said"),
    [
        ("words", "so these were found by their words alone."),
        ("salience", "Nothing has these words"),
        ("words_and_meaning", None),
    ],
)
@pytest.mark.thorough
def test_a_search_says_when_it_matched_words_only(desk: Page, backend: ScriptedBackend, found_by: str, said: str):
    backend.found_by = found_by
    expect(rows_of(desk)).to_have_count(2)
    desk.get_by_role("searchbox", name="Search memories").fill("where I live")
    desk.get_by_role("searchbox", name="Search memories").press("Enter")
    expect(rows_of(desk)).to_have_count(1)  # unchecked memories are not found by a search
    expect(rows_of(desk)).to_contain_text("Lives in Lisbon.")
    if said:
        expect(desk.locator("qwestly-memories")).to_contain_text(said)
    else:
        expect(desk.locator("qwestly-memories")).not_to_contain_text("by meaning")
