"""Approvals in a real browser: cards and decisions, updates, the queue and the brake."""

import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from qwestly_agent.base.clock import to_iso
from tests.servers import until
from tests.widget.backend import RUNNING, ScriptedBackend
from tests.widget.conftest import Clock, leave
from tests.widget.test_widget import (
    Widget,
    answered,
    asked,
    assert_no_sideways_scrolling,
    contrast,
    focused,
    ready,
)

HEADLINE = "Change your headline"
DECIDE = "/api/approvals/ap_1/decision"
DIGEST = "a" * 64
BUTTONS = ["Approve", "Edit", "Ask for changes", "Decline"]
NOTHING = {"title": HEADLINE, "changes": [], "sections": [], "left_out": [], "difference": []}
CHANGE = {"name": "Headline", "before": "Product <b>Manager</b>", "after": "Senior Product Manager"}
PUBLICATION = {
    "title": "Publish this card",
    "person": "Maya <b>Rao</b>",
    "changes": [{"name": "Headline", "before": None, "after": "Builds teams"}],
    "sections": [
        {
            "heading": "Experience",
            "claims": [
                {
                    "text": "Led a team of five.",
                    "quotes": [{"source": "résumé.pdf", "before": "I ", "quote": "led a team of five", "after": "."}],
                    "marks": ["five"],
                    "unchecked": True,
                },
                {"text": "Cut failures <i>by half</i>.", "quotes": [], "confirmed": True},
            ],
        }
    ],
    "left_out": [{"text": "Promoted in 2019.", "why": ["No cited source says 2019."]}],
    "difference": ["Headline was “PM” and is “Product Manager” now."],
}


def approval(key: str = "ap_1", **more: Any) -> dict[str, Any]:
    """Return a proposal about the headline, pending in conversation c1."""
    now = time.time()
    return {
        "approval_id": key,
        "kind": "profile",
        "tool": "update_profile_field",
        "effect": "write",
        "status": "pending",
        "preview": NOTHING | {"changes": [CHANGE]},
        "args": {"field": "headline", "value": "Senior Product Manager"},
        "args_digest": DIGEST,
        "editable": ["value"],
        "rationale": "Recruiters search for the word.",
        "conversation_id": "c1",
        "created_at": to_iso(now),
        "expires_at": to_iso(now + 48 * 3600),
        "decided_at": None,
        "decided_by": None,
        "reason": None,
        "outcome": None,
        "revises": None,
        "revised_by": None,
    } | more


class Card:
    """One card, found as a user finds it."""

    def __init__(self, within: Page | Locator, title: str = HEADLINE) -> None:
        self.group = within.get_by_role("group", name=f"Approval: {title}", exact=True)
        self.buttons = self.group.locator(".answering").get_by_role("button")
        self.words = self.group.locator(".answering .box textarea")
        self.outcome = self.group.locator(".outcome")
        self.problem = self.group.get_by_role("status")

    def button(self, name: str) -> Locator:
        return self.group.get_by_role("button", name=name, exact=True)

    def press(self, name: str) -> None:
        self.button(name).click()

    def decline(self, why: str = "") -> None:
        """Decline with a reason; the first press asks for it."""
        self.press("Decline")
        self.words.fill(why)
        self.press("Decline")


def unfold(within: Page | Locator, title: str) -> None:
    """Open the card of this line, unless it is open already."""
    line = within.locator(".folded > summary").filter(has_text=title)
    if line.locator("..").get_attribute("open") is None:
        line.click()


@pytest.fixture
def widget(page: Page) -> Widget:
    return visit(page)


def visit(page: Page) -> Widget:
    page.goto("/host")
    return ready(page)


@pytest.fixture
def card(widget: Widget, backend: ScriptedBackend) -> Card:
    """The card of a turn in conversation c1 that ended with a proposal."""
    view = backend.ask(approval())
    backend.stream("c1").begin().text("Shall I?").send("approval_required", **view).done("Shall I?")
    backend.keep("c1", "My headline", asked("m1", "Better"), answered("Shall I?", id="msg_run_1", approvals=[view]))
    widget.say("Better")
    expect(widget.send).to_be_visible()
    return Card(widget.log)


@pytest.fixture
def opened(page: Page, backend: ScriptedBackend) -> Callable[..., Card]:
    """Open conversation c1 with these records pending, at a clock controlled by the test."""

    def open_with(*views: dict[str, Any]) -> Card:
        backend.active = True
        backend.keep("c1", "My headline", asked("m1", "Better"), answered("Shall I?", approvals=list(views)))
        # Until the first response no timer is set.
        with page.expect_event("requestfinished", lambda request: request.url.endswith(UPDATES)):
            widget = visit(page)
        widget.rows.get_by_role("button", name="My headline").first.click()
        expect(Widget(page).words).to_have_text("Shall I?")
        return Card(Widget(page).log)

    return open_with


def expect_decided(card: Card, outcome: str) -> None:
    expect(card.outcome).to_have_text(outcome)
    expect(card.buttons).to_have_count(0)


# ── the card ──


def test_a_streamed_approval_is_shown_in_full_with_nothing_preselected(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream("c1").begin().text("Shall I?")
    widget.say("Publish it")
    view = backend.ask(approval(preview=PUBLICATION, effect="outward"))
    stream.send("approval_required", **view)
    card = Card(widget.log, "Publish this card")
    expect(card.group).to_match_aria_snapshot("""
        - 'group "Approval: Publish this card"':
          - paragraph: Others will see this
          - heading "Publish this card" [level=3]
          - group:
            - list:
              - listitem: Headline was “PM” and is “Product Manager” now.
            - paragraph: Recruiters search for the word.
            - term: Headline
            - definition: "Before: empty"
            - definition:
              - text: "After:"
              - insertion: Builds teams
            - article "The text, as others will see it":
              - paragraph: Maya <b>Rao</b>
              - heading "Experience" [level=4]
              - list:
                - listitem:
                  - text: Led a team of
                  - button "five"
                  - text: . Your own words
                  - button "Evidence 1" [expanded]: "1"
                  - list:
                    - listitem: We didn’t find the underlined words in what you gave us. Compare them before you decide.
                    - listitem:
                      - text: I
                      - mark: led a team of five
                      - text: . — résumé.pdf
                - listitem: Cut failures <i>by half</i>. Your own words
            - heading "Left out" [level=4]
            - list:
              - listitem:
                - text: Promoted in 2019.
                - list:
                  - listitem: No cited source says 2019.
          - paragraph: /Without your answer, this ends in 2 days, on .+, and nothing changes./
          - button "Approve"
          - button "Edit"
          - button "Ask for changes"
          - button "Decline"
    """)
    expect(widget.box).to_be_focused()
    expect(card.group.get_by_text("I led a team of five. résumé.pdf")).to_be_visible()
    expect(card.group.locator("mark")).to_have_text("led a team of five")
    why = card.group.get_by_text("We didn’t find the underlined words in what you gave us")
    expect(why).to_be_visible()
    card.group.get_by_role("button", name="Evidence 1").click()
    expect(card.group.get_by_text("résumé.pdf")).to_be_hidden()
    underlined = card.group.get_by_role("button", name="five", exact=True)
    assert "underline" in underlined.evaluate("node => getComputedStyle(node).textDecorationLine")
    underlined.click()
    expect(why).to_be_visible()
    expect(card.group.get_by_text("Your own words")).to_have_count(2)
    sizes = "nodes => nodes.map(node => getComputedStyle(node).fontSize + node.offsetHeight)"
    assert len(set(card.buttons.evaluate_all(sizes))) == 1  # "Decline" is as easy to press
    expect(widget.page.locator("qwestly-chat .spoken[aria-live]")).to_have_text(
        "Needs your approval: Publish this card"
    )
    stream.done("Shall I?")
    expect(widget.send).to_be_visible()
    expect(card.buttons).to_have_count(4)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("button", "words", "posted", "outcome"),
    [
        ("Approve", "", {"decision": "approve"}, "Approved · done"),
        ("Decline", "", {"decision": "reject"}, "Declined"),
        ("Decline", "Not <b>yet</b>", {"decision": "reject", "reason": "Not <b>yet</b>"}, "Declined"),
        ("Ask for changes", "Shorter", {"decision": "revise", "reason": "Shorter"}, "You asked for changes"),
    ],
)
def test_a_decision_starts_a_turn_without_a_user_message(
    widget: Widget, backend: ScriptedBackend, card: Card, button: str, words: str, posted: dict[str, str], outcome: str
):
    stream = backend.stream("c1")
    expect(card.words).to_be_hidden()
    if button != "Approve":
        card.press(button)
        expect(card.words).to_be_focused()
        card.words.fill(words)
    card.press(button)
    expect(widget.stop).to_be_visible()
    expect(card.outcome).to_have_text("Sending…")
    stream.begin().text("Well then.")
    expect_decided(card, outcome)
    expect(card.outcome).to_be_focused()
    if words:
        expect(card.group.get_by_text(f"You said: “{words}”")).to_be_visible()
    expect(card.group.get_by_text("Recruiters search for the word.")).to_be_hidden()
    expect(widget.words).to_have_text("Well then.")
    stream.done("Well then.")
    expect(widget.send).to_be_visible()
    expect(widget.said).to_have_text(["Better"])
    assert backend.chats()[1:] == [
        {
            "conversation_id": "c1",
            "decisions": [{"approval_id": "ap_1", "args_digest": DIGEST, "opened": True, **posted}],
        }
    ]


@pytest.mark.thorough
def test_a_typed_yes_decides_the_card_or_moves_the_focus_to_it(
    widget: Widget, backend: ScriptedBackend, card: Card
) -> None:
    view = approval()
    backend.stream("c1").begin().send("approval_required", **view).text("Please decide on the card.").done("On it.")
    widget.say("yes")
    expect(card.group).to_be_focused()
    expect(card.group).to_have_count(1)
    done = {**view, "status": "done", "decided_by": "chat", "outcome": "Your profile is changed."}
    backend.stream("c1").begin().send("approval_decided", **done).text("Done.").done("Done.")
    widget.say("yes, really")
    expect_decided(card, "Approved · done")


def test_a_step_that_waits_for_a_decision_is_not_shown_as_failed(page: Page, backend: ScriptedBackend):
    widget = visit(page)
    view = backend.ask(approval())
    stream = backend.stream("c1").begin().call("1", "Looking…").result("1", ok=False).call("2", "Changing…")
    widget.say("Better")
    stream.send("approval_required", **view)
    steps = widget.steps.get_by_role("listitem")
    expect(steps).to_have_text(["Looking… (failed)", "Changing… (under way)"])
    stream.done("")
    expect(widget.steps.locator("summary")).to_have_text("2 steps, 1 failed")
    step = {"id": "2", "name": "x", "label": "Changing…", "ok": None}
    backend.keep("c1", "Mine", asked("m", "Better"), answered("", steps=[step], approvals=[view]))
    leave(page)
    widget = visit(page)
    widget.rows.get_by_role("button", name="Mine").first.click()
    widget.steps.get_by_text("1 step", exact=True).click()
    expect(steps).to_have_text(["Changing… (asked for your approval)"])


@pytest.mark.thorough
def test_a_change_request_needs_text_of_limited_length(widget: Widget, backend: ScriptedBackend, card: Card):
    card.press("Ask for changes")
    expect(card.words).to_be_focused()
    expect(card.buttons).to_have_text(["Ask for changes", "Cancel"])
    card.press("Ask for changes")
    expect(card.problem).to_have_text("Write what should be different, then press “Ask for changes” again.")
    expect(card.words).to_be_focused()
    card.words.fill("x" * 2_001)
    card.press("Ask for changes")
    expect(card.problem).to_have_text("Please keep it to 2,000 characters.")
    assert len(backend.chats()) == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("value", "typed", "sent"),
    [
        ("Senior PM", "Lead PM", "Lead PM"),
        (["Go", "SQL"], "Go\n\n Rust ", ["Go", "Rust"]),
        (7, "8.5", 8.5),
    ],
)
def test_an_edited_approval_keeps_its_kind_and_is_approved_as_edited(
    page: Page, backend: ScriptedBackend, value: Any, typed: str, sent: Any
):
    backend.keep(
        "c1", "Mine", asked("m", "Hi"), answered("Ho", approvals=[backend.ask(approval(args={"value": value}))])
    )
    widget = visit(page)
    widget.rows.get_by_role("button", name="Mine").first.click()
    card = Card(widget.log)
    card.press("Edit")
    field = card.group.get_by_label("Headline")
    expect(field).to_be_focused()
    expect(card.buttons).to_have_text(["Approve as edited", "Cancel"])
    field.press("Escape")
    expect(card.button("Edit")).to_be_focused()
    card.press("Edit")
    field.fill("")
    if not isinstance(value, list):
        card.press("Approve as edited")
        expect(card.problem).to_have_text("Headline is empty.")
    field.fill(typed)
    backend.stream("c1").begin().done("Done.")
    card.press("Approve as edited")
    expect_decided(card, "Approved · done")
    decision = {
        "approval_id": "ap_1",
        "decision": "edit",
        "args_digest": DIGEST,
        "opened": True,
        "args": {"value": sent},
    }
    assert backend.chats() == [{"conversation_id": "c1", "decisions": [decision]}]


@pytest.mark.thorough
def test_editing_offers_only_valid_values(page: Page, backend: ScriptedBackend):
    schools = [{"school": "ETH", "year": 2011}]
    backend.ask(approval(conversation_id=None, args={"value": schools}))
    backend.ask(approval("ap_2", conversation_id=None, editable=[], preview=NOTHING | {"title": "Delete it"}))
    widget = visit(page)
    widget.button("Approvals 2 waiting").click()
    for title in (HEADLINE, "Delete it"):
        unfold(widget.page, title)
        expect(Card(widget.page, title).buttons).to_have_text(["Approve", "Ask for changes", "Decline"])


@pytest.mark.thorough
def test_a_decision_is_sent_only_once(page: Page, backend: ScriptedBackend):
    view = backend.ask(approval(conversation_id=None))
    widget = visit(page)
    widget.button("Approvals 1 waiting").click()
    card = Card(widget.page)
    answer = backend.hold(f"POST {DECIDE}")
    card.button("Approve").dblclick()
    expect(card.outcome).to_have_text("Sending…")
    for name in BUTTONS:
        expect(card.button(name)).to_be_disabled()
    expect(card.words).to_be_disabled()
    answer.raw(json.dumps(view | {"status": "executing"}).encode()).end()
    expect_decided(card, "Approved · in progress…")
    assert len(backend.asked("POST", DECIDE)) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("where", ["a turn runs", "the conversation is busy elsewhere", "the day's limit is reached"])
def test_a_decision_is_posted_to_its_own_route_if_no_turn_can_start(
    widget: Widget, backend: ScriptedBackend, card: Card, where: str
):
    if where == "a turn runs":
        backend.stream("c1").begin().text("Once upon")
        widget.say("Tell me")
        expect(widget.words).to_have_text("Once upon")
    elif where == "the conversation is busy elsewhere":
        backend.refuse(409, "conversation_busy", "Still answering.", retry_after="60")
    else:
        backend.refuse(429, "over_budget", "Today's budget is used up.")
    card.decline("Not yet")
    expect_decided(card, "Declined")
    decision = {"decision": "reject", "args_digest": DIGEST, "opened": True, "reason": "Not yet"}
    assert [call.body for call in backend.asked("POST", DECIDE)] == [decision]
    assert len(backend.chats()) == 2, "where a turn runs here, no other one is tried"
    expect(widget.notice).to_be_hidden()
    expect(widget.retry).to_have_count(0)


@pytest.mark.thorough
def test_an_approval_changed_elsewhere_says_so_and_is_shown_again(widget: Widget, backend: ScriptedBackend, card: Card):
    now = approval(args_digest="b" * 64, preview=NOTHING | {"changes": [CHANGE | {"after": "Principal"}]})
    backend.approvals["ap_1"] = now
    backend.stream("c1")
    card.press("Approve")
    expect(card.problem).to_have_text("This isn’t what you saw. Please take another look.")
    expect(card.group.get_by_role("insertion")).to_have_text("Principal")
    expect(card.button("Approve")).to_be_focused()
    expect(widget.answer).to_contain_text("Shall I?")
    backend.scripted.clear()
    backend.stream("c1").begin().done("Done.")
    card.press("Approve")
    expect_decided(card, "Approved · done")
    expect(card.problem).to_be_hidden()
    assert [body["decisions"][0]["args_digest"][0] for body in backend.chats()[1:]] == ["a", "b"]


def be_braked(backend: ScriptedBackend, page: Page) -> str:
    backend.refuse(423, "braked", "The agent is paused.")
    return "The agent is paused."


def be_unreachable(backend: ScriptedBackend, page: Page) -> str:
    page.route("**/api/chat", lambda route: route.abort(), times=1)
    return "We can’t reach Qwestly. Check your connection and try again."


@pytest.mark.thorough
@pytest.mark.parametrize("fail", [be_braked, be_unreachable])
def test_a_failed_decision_is_reported_on_its_card_and_can_be_repeated(
    widget: Widget, backend: ScriptedBackend, card: Card, fail: Callable[[ScriptedBackend, Page], str]
):
    sentence = fail(backend, widget.page)
    card.decline("My reasons")
    expect(card.problem).to_have_text(sentence)
    expect(card.button("Decline")).to_be_focused()
    expect(card.words).to_have_value("My reasons")
    assert backend.asked("GET", "/api/approvals")[-1].query.startswith("state=all")
    expect(widget.answer).to_contain_text("Shall I?")
    backend.stream("c1").begin().done("Fine.")
    card.press("Decline")
    expect_decided(card, "Declined")


@pytest.mark.thorough
def test_a_second_decision_shows_the_first_outcome(widget: Widget, backend: ScriptedBackend, card: Card):
    # Replaced by another record: a response already being sent still has the old state.
    backend.approvals["ap_1"] = {**backend.approvals["ap_1"], "status": "rejected", "decided_by": "link"}
    backend.refuse(409, "changed", "There is nothing new in this.")
    card.press("Approve")
    expect_decided(card, "Declined (decided by email)")
    expect(card.problem).to_be_hidden()
    expect(card.group).to_have_attribute("aria-busy", "false")


@pytest.mark.thorough
def test_a_decision_on_a_deleted_approval_says_so(widget: Widget, backend: ScriptedBackend, card: Card):
    backend.approvals.clear()
    card.press("Approve")
    expect_decided(card, "This no longer exists")
    expect(widget.button("Approvals")).to_be_visible()
    expect(widget.said).to_have_text(["Better"])


@pytest.mark.thorough
def test_a_decision_stands_although_its_answer_breaks_off(widget: Widget, backend: ScriptedBackend, card: Card):
    backend.stream("c1").begin().text("Well").error("model_unavailable", "The model is away.")
    card.press("Approve")
    expect_decided(card, "Approved · done")
    expect(widget.answer.get_by_text("The model is away.")).to_be_visible()
    expect(widget.retry).to_have_count(0)


# ── between turns ──


@pytest.mark.thorough
def test_a_decision_made_elsewhere_is_shown_and_announced_within_one_poll(
    page: Page, backend: ScriptedBackend, clock: Clock, opened: Callable[..., Card]
):
    card = opened(backend.ask(approval(expires_at=to_iso(clock.now + 600))))
    expect(card.group.get_by_text("Without your answer, this ends in 10 minutes, and nothing changes.")).to_be_visible()
    backend.become("ap_1", "unknown", decided_by="link", reason="Go on")
    clock.run(2)
    expect_decided(card, "Approved · we’re checking that it was done (decided by email)")
    expect(card.group.get_by_text("You said: “Go on”")).to_be_visible()
    backend.become("ap_1", "done", outcome="Your profile is changed.")
    clock.run(2)
    expect_decided(card, "Approved · done (decided by email)")
    expect(card.group.get_by_text("Your profile is changed.")).to_be_visible()
    expect(page.locator("qwestly-chat .spoken[aria-live]")).to_contain_text(f"{HEADLINE}: Approved · done")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({"status": "expired", "decided_by": "nobody"}, "Expired"),
        ({"status": "failed", "decided_by": "queue"}, "Approved · we couldn’t do it"),
        ({"status": "done", "decided_by": "level", "reason": "L3"}, "Allowed by your level · done"),
    ],
)
def test_a_reloaded_conversation_shows_the_outcomes_of_its_approvals(
    page: Page, backend: ScriptedBackend, more: dict[str, Any], outcome: str
):
    view = approval(**more)
    decision = asked("m2", "")
    backend.keep(
        "c1", "Mine", asked("m1", "Better"), answered("Shall I?", approvals=[view]), decision, answered("Well.", id="b")
    )
    widget = visit(page)
    widget.rows.get_by_role("button", name="Mine").first.click()
    card = Card(widget.log)
    expect_decided(card, outcome)
    expect(card.group.get_by_text("L3")).to_have_count(0)
    card.group.get_by_text("What was asked").click()
    expect(card.group.get_by_text("Product <b>Manager</b>")).to_be_visible()
    expect(widget.said).to_have_text(["Better"])
    expect(widget.words).to_have_text("Well.")


@pytest.mark.thorough
def test_a_subject_changed_after_approval_says_so_and_is_proposed_again_below(
    page: Page, backend: ScriptedBackend, clock: Clock, opened: Callable[..., Card]
):
    other = approval("ap_9", preview=NOTHING | {"title": "Something else"})
    first = opened(backend.ask(approval()), backend.ask(other))
    again = NOTHING | {"title": "Change it after all", "difference": ["Headline was “A” and is “B” now."]}
    backend.become("ap_1", "changed", revised_by="ap_2", decided_by="queue")
    backend.ask(approval("ap_2", revises="ap_1", preview=again))
    clock.run(2)
    expect_decided(first, "Approved, but it had changed in the meantime, so you’re asked again")
    expect(Widget(page).answer.get_by_role("heading")).to_have_text([HEADLINE, "Change it after all", "Something else"])
    second = Card(page, "Change it after all")
    expect(second.group).to_contain_text("Headline was “A” and is “B” now.")
    expect(second.buttons).to_have_count(4)


@pytest.mark.thorough
def test_text_typed_in_a_card_survives_polls_and_reloads_of_the_conversation(
    page: Page, backend: ScriptedBackend, clock: Clock, opened: Callable[..., Card]
):
    view = backend.ask(approval())
    card = opened(view)
    card.press("Ask for changes")
    card.words.press_sequentially("Half a tho")
    backend.keep("c1", "My headline", asked("m1", "Better"), answered("Shall I indeed?", approvals=[view]))
    backend.ask(view)
    clock.run(2)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(Widget(page).words).to_have_text("Shall I indeed?")
    expect(card.words).to_be_focused()
    page.keyboard.type("ught")
    expect(card.words).to_have_value("Half a thought")


@pytest.mark.thorough
def test_a_stale_poll_does_not_revert_a_decision(widget: Widget, backend: ScriptedBackend, card: Card):
    pending = backend.approvals["ap_1"]
    backend.stream("c1").begin().done("Fine.")
    card.press("Approve")
    expect_decided(card, "Approved · done")
    backend.keep("c1", "My headline", asked("m1", "Better"), answered("Late", approvals=[pending]))
    widget.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(widget.words).to_have_text("Late")
    expect_decided(card, "Approved · done")


def draft(backend: ScriptedBackend, label: str, **more: Any) -> None:
    item = {"draft_id": "d1", "style": "story", "status": "running", "label": label, "conversation_id": "c1"}
    backend.happen("draft", more.get("draft_id", "d1"), item | more)


@pytest.mark.thorough
def test_a_draft_has_one_status_line_that_is_updated_in_place(
    page: Page, backend: ScriptedBackend, clock: Clock, opened: Callable[..., Card]
):
    draft(backend, "Drafting 1 of 6 sections…")
    draft(backend, "Another one…", draft_id="d2", conversation_id="c2")
    opened()
    line = Widget(page).answer.locator(".draft")
    expect(line).to_have_text(["Drafting 1 of 6 sections…"])
    for label, more in [("Drafting 3 of 6 sections…", {}), ("Published.", {"status": "published"})]:
        draft(backend, label, **more)
        clock.run(2)
        expect(line).to_have_text([label])
    expect(line.locator(".spinner")).to_have_count(0)
    page.reload()
    expect(Widget(page).words).to_have_text("Shall I?")
    expect(line).to_have_count(0)


@pytest.mark.thorough
def test_a_running_draft_shows_its_progress(
    page: Page, backend: ScriptedBackend, clock: Clock, opened: Callable[..., Card]
):
    draft(backend, "Drafting 1 of 6 sections", stage="writing")
    opened()
    stages = page.get_by_role("list", name="Progress").get_by_role("listitem")
    expect(stages).to_have_text(["Evidence", "Writing", "Your decision"])
    expect(stages.nth(1)).to_have_attribute("aria-current", "step")
    draft(backend, "Published", status="published", stage=None)
    clock.run(2)
    expect(stages).to_have_count(0)


NOT_DRAFTED = "Your card could not be drafted. Nothing was published. Please ask for it again."


@pytest.mark.thorough
def test_a_failed_draft_says_so_on_its_line_and_is_announced(
    page: Page, backend: ScriptedBackend, clock: Clock, opened: Callable[..., Card]
):
    draft(backend, "Drafting 1 of 6 sections…")
    opened()
    line = Widget(page).answer.locator(".draft")
    expect(line).to_have_text("Drafting 1 of 6 sections…")
    draft(backend, NOT_DRAFTED, status="failed")
    clock.run(2)
    expect(line).to_have_text([NOT_DRAFTED])
    expect(line.locator(".spinner")).to_have_count(0)
    expect(page.locator("qwestly-chat .spoken[aria-live]")).to_have_text(NOT_DRAFTED)
    page.reload()
    expect(Widget(page).words).to_have_text("Shall I?")
    expect(line).to_have_text([NOT_DRAFTED])
    expect(page.locator("qwestly-chat .spoken[aria-live]")).to_be_empty()


@pytest.mark.thorough
def test_a_draft_that_failed_before_it_was_shown_says_so_until_another_starts(
    page: Page, backend: ScriptedBackend, clock: Clock, opened: Callable[..., Card]
):
    opened()
    draft(backend, NOT_DRAFTED, status="failed")
    clock.run(2)
    line = Widget(page).answer.locator(".draft")
    expect(line).to_have_text([NOT_DRAFTED])
    draft(backend, "Drafting 1 of 6 sections…", draft_id="d2")
    page.reload()
    expect(Widget(page).words).to_have_text("Shall I?")
    expect(line).to_have_text(["Drafting 1 of 6 sections…"])


@pytest.mark.thorough
def test_a_draft_stopped_by_a_pause_can_be_restarted_from_its_line(
    page: Page, backend: ScriptedBackend, clock: Clock, opened: Callable[..., Card]
):
    draft(backend, "Drafting 1 of 6 sections…", kind="card")
    opened()
    line = Widget(page).answer.locator(".draft")
    expect(line.get_by_role("button")).to_have_count(0)
    draft(backend, "Stopped when you paused", kind="card", status="stopped")
    clock.run(2)
    page.reload()
    expect(Widget(page).words).to_have_text("Shall I?")
    expect(line).to_contain_text("Stopped when you paused")
    backend.stream("c1").begin().done("On it.")
    line.get_by_role("button", name="Draft it again").click()
    expect(Widget(page).words.last).to_have_text("On it.")
    assert backend.chats()[-1]["message"] == "Draft my Qwestly Card"


UPDATES = "/api/updates"


def polls(backend: ScriptedBackend) -> list[str]:
    return [call.query for call in backend.asked("GET", UPDATES)]


def hide(page: Page, hidden: bool) -> None:
    page.evaluate(
        """hidden => {
            Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


@pytest.mark.thorough
def test_updates_are_polled_every_2_s_while_active_and_visible_and_otherwise_every_30_s(
    page: Page, backend: ScriptedBackend, clock: Clock, opened: Callable[..., Card]
):
    draft(backend, "0")
    opened()
    line = Widget(page).answer.locator(".draft")

    def passes(seconds: int, label: str) -> None:
        """Assert that the label is polled after this time, and not a second earlier."""
        draft(backend, label)
        before = len(polls(backend))
        clock.run(seconds - 1)
        assert len(polls(backend)) == before
        clock.run(1)
        expect(line).to_have_text(label)

    expect(line).to_have_text("0")
    passes(2, "1")
    backend.active = False
    passes(2, "2")
    passes(30, "3")
    backend.active = True
    passes(30, "4")
    hide(page, True)
    passes(30, "5")
    draft(backend, "6")
    hide(page, False)
    expect(line).to_have_text("6")
    passes(2, "7")
    assert polls(backend)[0] == ""
    assert polls(backend)[-1] == "after=7"


@pytest.mark.thorough
def test_update_polls_never_overlap_and_slow_down_while_they_fail(
    page: Page, backend: ScriptedBackend, clock: Clock, opened: Callable[..., Card]
):
    draft(backend, "0")
    opened()
    expect(Widget(page).answer.locator(".draft")).to_have_text("0")
    held = backend.hold(f"GET {UPDATES}")
    page.evaluate(NOTE_DELAYS)
    clock.run(2)
    backend.wait_for(2, "GET", UPDATES)
    hide(page, True)
    hide(page, False)
    clock.run(20)
    assert len(polls(backend)) == 2
    backend.refuse(503, "unavailable", on=f"GET {UPDATES}")
    held.raw(json.dumps({"items": [], "cursor": "1", "active": True}).encode()).end()
    backend.wait_for(3, "GET", UPDATES)
    for count, seconds in enumerate((4, 8, 16, 30, 30), start=4):
        waits(page, seconds)
        backend.refuse(503, "unavailable", on=f"GET {UPDATES}")
        clock.run(seconds - 1)
        assert len(polls(backend)) == count - 1
        clock.run(1)
        backend.wait_for(count, "GET", UPDATES)
    waits(page, 30)
    draft(backend, "1")
    clock.run(30)
    expect(Widget(page).answer.locator(".draft")).to_have_text("1")


NOTE_DELAYS = """() => {
    const set = window.setTimeout;
    window.delays = [];
    window.setTimeout = (work, ms, ...rest) => { window.delays.push(ms); return set(work, ms, ...rest); };
}"""


def waits(page: Page, seconds: int) -> None:
    """Wait until the page has handled its last response and set its next timer to these seconds."""
    taken = "ms => { const at = window.delays.indexOf(ms); return window.delays.splice(0, at + 1).length > 0 }"
    until(lambda: page.evaluate(taken, seconds * 1000))


@pytest.mark.thorough
def test_updates_renew_a_rejected_token(
    page: Page, backend: ScriptedBackend, clock: Clock, opened: Callable[..., Card]
):
    draft(backend, "0")
    opened()
    expect(Widget(page).answer.locator(".draft")).to_have_text("0")
    backend.rejected.add(backend.calls[-1].token)
    draft(backend, "1")
    clock.run(2)
    expect(Widget(page).answer.locator(".draft")).to_have_text("1")
    assert backend.tokens_asked == 2


# ── the queue ──


@pytest.mark.thorough
def test_the_queue_lists_all_pending_approvals_and_decides_them_without_a_turn(page: Page, backend: ScriptedBackend):
    backend.page_size = 2
    for number, conversation in enumerate(["c1", "c2", None], start=1):
        backend.ask(
            approval(f"ap_{number}", conversation_id=conversation, preview=NOTHING | {"title": f"Question {number}"})
        )
    widget = visit(page)
    queue = widget.page.get_by_role("dialog", name="Waiting for you")
    widget.button("Approvals 3 waiting").click()
    backend.wait_for(2, "GET", "/api/approvals")
    lines = queue.locator(".folded > summary > strong")
    expect(lines).to_have_text(["Question 1", "Question 2", "Question 3"])
    unfold(queue, "Question 2")
    card = Card(queue, "Question 2")
    card.decline("No, thanks")
    expect_decided(card, "Declined")
    expect(card.outcome).to_be_focused()
    [call] = backend.asked("POST", "/api/approvals/ap_2/decision")
    assert call.body == {"decision": "reject", "args_digest": DIGEST, "opened": True, "reason": "No, thanks"}
    assert not backend.chats()
    widget.page.keyboard.press("Escape")
    expect(queue).to_be_hidden()
    expect(widget.button("Approvals 2 waiting")).to_be_focused()
    widget.page.keyboard.press("Enter")
    expect(lines).to_have_text(["Question 1", "Question 3"])


@pytest.mark.thorough
def test_a_new_approval_appears_in_the_open_queue_and_an_empty_queue_says_so(
    page: Page, backend: ScriptedBackend, clock: Clock, opened: Callable[..., Card]
):
    opened()
    widget = Widget(page)
    widget.button("Approvals").click()
    queue = page.get_by_role("dialog", name="Waiting for you")
    expect(queue.get_by_text("You’re all caught up.")).to_be_visible()
    backend.active = False  # nothing is running: a change proposed at night is pending now
    backend.ask(approval(conversation_id="c2"))
    for _ in range(10):  # an answer comes when it comes, and sets the next timer; in half a minute all would be asked
        clock.run(2)
        if Card(queue).buttons.count():
            break
    expect(Card(queue).buttons).to_have_count(4)
    expect(queue.get_by_text("You’re all caught up.")).to_have_count(0)
    queue.get_by_role("button", name="Close").click()
    expect(Card(widget.log).group).to_have_count(0)


@pytest.mark.thorough
def test_a_queue_that_fails_to_load_says_so(widget: Widget, backend: ScriptedBackend):
    backend.refuse(503, "unavailable", "The database is away.", on="GET /api/approvals")
    widget.button("Approvals").click()
    expect(widget.page.get_by_text("We couldn’t load all of it. The database is away.")).to_be_visible()


@pytest.mark.thorough
def test_escape_in_the_queue_does_not_stop_a_turn(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream("c1").begin().text("Once upon")
    widget.say("Tell me")
    expect(widget.words).to_have_text("Once upon")
    widget.button("Approvals").click()
    expect(widget.page.get_by_text("You’re all caught up.")).to_be_visible()
    widget.page.keyboard.press("Escape")
    expect(widget.page.get_by_role("dialog")).to_be_hidden()
    stream.text(" a time")
    expect(widget.words).to_have_text("Once upon a time")
    assert not backend.asked("POST", "/api/conversations/c1/stop")


@pytest.mark.thorough
def test_a_page_gets_the_number_of_pending_approvals_and_can_open_the_queue(widget: Widget, backend: ScriptedBackend):
    widget.page.evaluate("""() => {
        const chat = document.querySelector("qwestly-chat");
        window.counts = [];
        chat.addEventListener("approvalswaiting", ({ detail }) => window.counts.push(detail.count));
    }""")
    backend.ask(approval(conversation_id=None))
    widget.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(widget.button("Approvals 1 waiting")).to_be_visible()
    assert widget.page.evaluate("window.counts") == [1]
    widget.page.evaluate("document.querySelector('qwestly-chat').showApprovals()")
    expect(Card(widget.page).buttons).to_have_count(4)


# ── the brake ──


@pytest.mark.thorough
def test_the_brake_pauses_everything_shows_its_receipt_and_can_be_released(widget: Widget, backend: ScriptedBackend):
    receipt = {"stopped": ["run_1", "run_2"], "finished": ["run_3"], "unknown": ["ap_1"], "running": ["run_4"]}
    paused = widget.page.get_by_text(re.compile("Everything has been paused since"))
    held = backend.hold("POST /api/brake")
    widget.button("Pause everything").press("Enter")
    expect(widget.page.get_by_text("Pausing everything…")).to_be_visible()
    expect(widget.box).to_have_attribute("placeholder", "The agent is paused")
    brake = widget.button("Resume")
    brake.press("Enter")
    backend.brake = {"state": "partial", "since": to_iso(time.time()), "receipt": receipt, "everybody": False}
    held.raw(json.dumps(backend.brake).encode()).end()
    expect(paused).to_contain_text(
        "2 tasks stopped, 1 had already finished, 1 sent, outcome not known yet, 1 couldn’t be stopped yet."
    )
    assert not backend.asked("DELETE", "/api/brake"), "while it answers, nothing else is asked of it"
    expect(brake).to_be_focused()
    backend.refuse(503, "unavailable", "Not now.", on="DELETE /api/brake")
    brake.press("Enter")
    expect(widget.notice).to_contain_text("We couldn’t resume. Not now.")
    expect(paused).to_be_visible()
    brake.press("Enter")
    expect(paused).to_be_hidden()
    expect(widget.button("Pause everything")).to_be_focused()
    expect(widget.box).to_have_attribute("placeholder", "Write a message…")


@pytest.mark.thorough
def test_a_frozen_approval_says_so_and_can_be_decided_once_it_is_pending_again(
    backend: ScriptedBackend, clock: Clock, opened: Callable[..., Card]
):
    view = backend.ask(approval())
    card = opened(view)
    backend.become(view["approval_id"], "frozen")
    clock.run(2)
    expect(card.outcome).to_have_text("Paused. You can decide once you resume")
    expect(card.button("Approve")).to_be_hidden()
    backend.become(view["approval_id"], "pending")
    clock.run(2)
    expect(card.button("Approve")).to_be_visible()
    expect(card.outcome).to_be_hidden()


@pytest.mark.thorough
def test_the_widget_shows_a_brake_pulled_in_another_client_or_for_all_users(
    page: Page, backend: ScriptedBackend, clock: Clock, opened: Callable[..., Card]
):
    receipt = {"stopped": [], "finished": [], "unknown": [], "running": []}
    backend.brake = standing = {"state": "paused", "since": to_iso(clock.now), "receipt": receipt, "everybody": False}
    opened()
    expect(page.get_by_text("Nothing was running.")).to_be_visible()
    backend.brake = standing | {"everybody": True}
    clock.run(2)
    expect(page.get_by_text("Qwestly has paused its agent for everyone.")).to_be_visible()
    button = Widget(page).button("Resume")
    expect(button).to_have_attribute("aria-disabled", "true")
    button.click(force=True)
    backend.brake = RUNNING
    clock.run(2)
    expect(Widget(page).button("Pause everything")).to_be_visible()
    assert not backend.asked("DELETE", "/api/brake")


# ── details and accessibility of cards ──


def test_a_card_shows_that_its_mail_bounced(widget: Widget, backend: ScriptedBackend) -> None:
    said = "Your mail came back, so please decide here."
    view = backend.ask(approval(mail_problem=said))
    backend.stream("c1").begin().text("Shall I?").send("approval_required", **view).done("Shall I?")
    backend.keep("c1", "My headline", asked("m1", "Better"), answered("Shall I?", id="msg_run_1", approvals=[view]))
    widget.say("Better")
    expect(Card(widget.log).group).to_contain_text(said)


@pytest.mark.thorough
def test_a_card_can_be_decided_with_the_keyboard(widget: Widget, backend: ScriptedBackend, card: Card):
    keyboard = widget.page.keyboard
    card.button("Approve").focus()
    order = []
    for _ in BUTTONS:
        order.append(focused(widget.page))
        keyboard.press("Tab")
    assert order == BUTTONS
    card.button("Decline").press("Enter")
    expect(card.words).to_be_focused()
    keyboard.press("Escape")
    expect(card.button("Decline")).to_be_focused()
    keyboard.press("Enter")
    backend.stream("c1").begin().done("Fine.")
    keyboard.press("Tab")
    keyboard.press("Enter")
    expect_decided(card, "Declined")
    expect(card.outcome).to_be_focused()
    keyboard.press("Tab")
    assert focused(widget.page) != "New conversation", "the next Tab goes on from the card"


@pytest.mark.thorough
def test_on_a_phone_a_card_fits_and_its_buttons_can_be_touched(phone: Page, backend: ScriptedBackend):
    long = "w" * 300
    quote = {"source": long, "before": long, "quote": long, "after": long}
    claims = [{"text": long, "quotes": [quote], "marks": [long], "confirmed": True, "unchecked": True}]
    preview = {
        "title": long,
        "changes": [{"name": long, "before": long, "after": long}],
        "sections": [{"heading": long, "claims": claims}],
        "left_out": [{"text": long, "why": [long]}],
        "difference": [long],
    }
    view = backend.ask(approval(preview=preview, rationale=long, args={"value": long}))
    draft(backend, long)
    backend.keep("c1", "Mine", asked("m", "Hi"), answered("Ho", approvals=[view]))
    phone.goto("/host")
    widget = ready(phone)
    widget.button("Conversations").click()
    widget.rows.get_by_role("button", name="Mine").first.click()
    expect(widget.answer.locator(".draft")).to_be_attached()
    Card(widget.log, long).press("Review")
    sheet = phone.get_by_role("dialog", name="Your decision")
    card = Card(sheet, long)
    card.group.get_by_role("button", name="Evidence 1").click()
    assert_no_sideways_scrolling(widget)
    sizes = card.buttons.evaluate_all("nodes => nodes.map(node => node.getBoundingClientRect().height)")
    assert [size for size in sizes if size < 44] == []
    card.press("Edit")
    assert_no_sideways_scrolling(widget)
    card.press("Cancel")
    sheet.get_by_role("button", name="Close").click()
    widget.button("Approvals 1 waiting").click()
    queue = phone.get_by_role("dialog", name="Waiting for you")
    expect(Card(queue, long).buttons).to_have_count(4)
    assert queue.evaluate("node => node.scrollWidth - node.clientWidth") == 0
    assert_no_sideways_scrolling(widget)


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_cards_are_readable_in_light_and_dark(page: Page, backend: ScriptedBackend, scheme: Any):
    page.emulate_media(color_scheme=scheme)
    backend.ask(approval(conversation_id=None, effect="outward", preview=PUBLICATION))
    backend.refuse(423, "braked", "The agent is paused.", on=f"POST {DECIDE}")
    widget = visit(page)
    widget.button("Approvals 1 waiting").click()
    card = Card(widget.page, "Publish this card")
    card.decline()
    expect(card.problem).to_have_text("The agent is paused.")
    texts = [
        widget.page.locator(".folded > summary > strong"),
        *(
            card.group.locator(part)
            for part in (".effect", ".time", ".rationale", ".before", ".after", ".why", ".marked")
        ),
        *(card.group.locator(part) for part in (".difference", ".evidence-mark", "dt")),
        *card.buttons.all(),
        card.problem,
        widget.page.locator("qwestly-chat .count"),
    ]
    assert [text for text in texts if contrast(text) < 4.5] == []


def test_an_application_shows_its_documents_as_the_employer_reads_them(opened: Callable[..., Card]) -> None:
    quote = {"source": "cv.pdf", "before": "", "quote": "I led 8 nurses", "after": "."}
    document = {
        "heading": "Letter",
        "markdown": "# Ana Reis\n\n## Experience\n\n- Led \\*8\\* nurses on ward 9.\n",
        "claims": [{"text": "Led *8* nurses on ward 9.", "quotes": [quote], "marks": ["9"]}],
    }
    job = {"heading": "Job", "claims": [{"text": "Nurse"}, {"text": "Kestrel Clinic"}]}
    preview = NOTHING | {"title": "Apply: Nurse", "person": "Ana", "sections": [job, document]}
    view = approval(kind="application", tool="apply", preview=preview, editable=[])
    card = Card(opened(view).group.page, "Apply: Nurse")
    shown = card.group.get_by_role("article", name="Letter")
    expect(shown).to_have_text(re.compile(r"^Ana ReisExperience\s+Led \*8\* nurses on ward 9\.\s*$"))
    expect(shown.get_by_role("heading")).to_have_text(["Ana Reis", "Experience"])
    expect(shown.locator("u")).to_have_text("9")
    expect(card.group.get_by_text("I led 8 nurses")).to_be_visible()
    expect(card.group).not_to_contain_text("empty")


@pytest.mark.thorough
@pytest.mark.parametrize("place", [0, 2])
def test_a_card_shows_the_agents_confidence_and_a_choice_of_alternatives(
    opened: Callable[..., Card], backend: ScriptedBackend, place: int
) -> None:
    others = ["Head of <b>Product</b>", "Product Lead"]
    card = opened(backend.ask(approval(confidence="low", alternatives=others)))
    expect(card.group).to_contain_text("Your agent isn’t sure you want this.")
    offered = card.group.get_by_role("radiogroup", name="Which one").get_by_role("radio")
    value = approval()["args"]["value"]
    assert [each.input_value() for each in offered.all()] == [value, *others]
    expect(offered.first).to_be_checked()
    offered.nth(place).check()
    backend.stream("c1").begin().done("Done.")
    card.press("Approve")
    expect_decided(card, "Approved · done")
    expect(offered).to_have_count(0)
    [decision] = backend.chats()[-1]["decisions"]
    taken = {"decision": "edit", "args": {"value": others[1]}} if place else {"decision": "approve"}
    assert decision == {"approval_id": "ap_1", "args_digest": DIGEST, "opened": True, **taken}


@pytest.mark.thorough
def test_a_decision_records_that_its_details_were_collapsed(
    opened: Callable[..., Card], backend: ScriptedBackend
) -> None:
    backend.ask(approval())
    card = opened(approval())
    card.group.locator("details").evaluate("each => { each.open = false; }")
    backend.stream("c1").begin().done("Done.")
    card.press("Approve")
    expect_decided(card, "Approved · done")
    [decision] = backend.chats()[-1]["decisions"]
    assert decision["opened"] is False


@pytest.mark.thorough
def test_alternatives_that_cannot_be_radio_buttons_are_listed(opened: Callable[..., Card]) -> None:
    card = opened(approval(args={"value": ["Go"]}, alternatives=["Go, Rust"]))
    heading = card.group.get_by_role("heading", name="Other options")
    expect(heading.locator("xpath=following-sibling::ul/li")).to_have_text(["Go, Rust"])


# --- undo -------------------------------------------------------------------------------------------------------------


def unasked(*, seconds_left: float = 86_400) -> dict[str, Any]:
    """Return a change that was executed at once, as the user's level allows."""
    done = {"status": "done", "decided_by": "level", "outcome": "Your profile is changed."}
    return approval() | done | {"undo_until": to_iso(time.time() + seconds_left)}


@pytest.mark.thorough
def test_a_change_made_without_approval_is_shown_under_the_answer_with_an_undo(
    widget: Widget, backend: ScriptedBackend
) -> None:
    view = backend.ask(unasked())
    backend.stream("c1").begin().send("approval_decided", **view).text("Changed.").done("Changed.")
    widget.say("Change my headline to Senior Product Manager")
    card = Card(widget.log)
    expect(card.outcome).to_have_text("Allowed by your level · done")
    card.button("Undo").click()
    expect(card.outcome).to_have_text("Undone")
    expect(card.outcome).to_be_focused()
    expect(card.button("Undo")).to_be_hidden()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("status", "code", "sentence"), [(409, "changed", "It was changed again since."), (423, "braked", "All is paused.")]
)
def test_a_rejected_undo_says_why_and_keeps_its_button(
    opened: Callable[..., Card], backend: ScriptedBackend, status: int, code: str, sentence: str
) -> None:
    card = opened(unasked())
    backend.refuse(status, code, sentence, on="POST /api/activity/ap_1:done/undo")
    undo = card.button("Undo")
    undo.click()
    expect(card.problem).to_have_text(f"We couldn’t undo that. {sentence}")
    expect(undo).to_be_enabled()


@pytest.mark.thorough
def test_a_change_that_can_no_longer_be_undone_has_no_button(opened: Callable[..., Card]) -> None:
    card = opened(unasked(seconds_left=-1))
    expect(card.outcome).to_have_text("Allowed by your level · done")
    expect(card.button("Undo")).to_be_hidden()
