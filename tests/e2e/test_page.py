"""The page of the running stack in a real browser, as a newcomer sees it."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.page import stranger
from tests.e2e.processes import Stack
from tests.local_page import look_at
from tests.widget.test_widget import Widget

pytestmark = pytest.mark.thorough

DEMO_QUESTION = "What do we know about me?"
STEPS = ["Looking up your profile…", *["Looking at what I know of you…"] * 2]


@pytest.mark.nightly
def test_the_demo_question_shows_three_steps_and_then_a_growing_answer(
    open_page: Callable[..., Page], stack: Stack
) -> None:
    page = open_page("")
    widget = Widget(page)
    page.get_by_role("button", name="Backstage").click()
    expect(page.locator("#who")).to_contain_text("A script answers here.")
    calls = [{"name": name, "arguments": arguments} for name, arguments in CALLS]
    silent = {"text": "A moment.", "hold_after": 0}
    stack.model("script", steps=[{"tool_calls": calls}, silent])
    widget.say(DEMO_QUESTION)
    expect(widget.steps.get_by_role("listitem")).to_have_count(3)
    for step, label in zip(widget.steps.get_by_role("listitem").all(), STEPS, strict=True):
        expect(step).to_contain_text(label)
    expect(widget.stop).to_be_visible()
    stack.release()
    expect(widget.send).to_be_visible()
    stack.model("script", steps=[{"text": ["You are ", "**Maya Okafor**."], "hold_after": 1}])
    widget.say("And who is that?")
    expect(widget.words).to_have_text("You are")
    stack.release()
    expect(widget.words).to_have_text("You are Maya Okafor.")
    expect(widget.send).to_be_visible()


CALLS = [
    ("get_user_profile", {}),
    ("query_user_knowledge", {"query": "goals"}),
    ("query_user_knowledge", {"query": "career"}),
]


@pytest.mark.sentinel
def test_the_answer_combines_three_tiers(open_page: Callable[..., Page]) -> None:
    page = open_page("")
    widget = Widget(page)
    expect(widget.box).to_be_visible()  # before the widget is there, a suggestion is only a button
    page.get_by_role("button", name="What do you know about me?", exact=True).click()
    expect(widget.said).to_have_text(["What do you know about me?"])
    for quoted in ("Maya Okafor", "climate company", "2,300 merchants"):
        expect(widget.words).to_contain_text(quoted)
    expect(widget.send).to_be_visible()


@pytest.mark.sentinel
def test_after_a_reload_the_conversation_is_listed_and_can_be_continued(
    open_page: Callable[..., Page], stack: Stack
) -> None:
    page = open_page(stranger())
    widget = Widget(page)
    stack.model("script", steps=[{"text": "Hello Ada."}, {"text": "Trains, noted."}])
    widget.say("My name is Ada.")
    expect(widget.words).to_have_text("Hello Ada.")
    expect(widget.send).to_be_visible()
    page.reload()
    expect(widget.rows).to_have_count(1)
    widget.rows.get_by_text("My name is Ada.").click()
    expect(widget.words).to_have_text("Hello Ada.")
    widget.say("And I like trains.")
    expect(widget.words).to_have_text("Trains, noted.")
    expect(widget.send).to_be_visible()
    expect(widget.said).to_have_count(2)
    expect(widget.rows).to_have_count(1)
    [*_, newest] = stack.model("requests")
    assert [m["content"] for m in newest["json"]["messages"] if m["role"] == "user"] == [
        "My name is Ada.",
        "And I like trains.",
    ]


@pytest.mark.sentinel
def test_two_tabs_share_conversations_and_one_waits_while_the_other_is_answered(
    open_page: Callable[..., Page], stack: Stack
) -> None:
    user = stranger()
    one, two = Widget(open_page(user)), Widget(open_page(user))
    one.say("Hello")
    expect(one.send).to_be_visible()
    two.page.reload()
    two.rows.get_by_text("Hello").click()
    expect(two.said).to_have_text(["Hello"])

    stack.model("script", steps=[{"text": ["Half of ", "it."], "hold_after": 1}])
    one.say("Tell me")
    expect(one.words).to_have_text("Half of")
    two.say("Are you busy?")
    expect(two.answer.get_by_text("Waiting for the last answer to finish…")).to_be_visible()
    stack.release()
    expect(one.words).to_have_text("Half of it.")


def test_the_page_works_at_phone_width(open_page: Callable[..., Page]) -> None:
    page = open_page(stranger(), viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    widget = Widget(page)
    widget.say("Hello")
    expect(widget.send).to_be_visible()
    expect(widget.words).to_contain_text("career agent")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = widget.box.bounding_box()
    assert box
    assert box["y"] + box["height"] <= 640


def test_an_unknown_user_is_answered_without_invented_data(open_page: Callable[..., Page]) -> None:
    page = open_page(stranger())
    widget = Widget(page)
    widget.say(DEMO_QUESTION)
    expect(widget.send).to_be_visible()
    expect(widget.words).to_contain_text("I don't know anything about you yet.")
    expect(widget.words).not_to_contain_text("Maya")
    expect(widget.rows).to_have_count(1)


@pytest.mark.sentinel
def test_an_approval_decided_on_the_page_stays_decided(open_page: Callable[..., Page], stack: Stack) -> None:
    page = open_page("")
    widget = Widget(page)
    change = {"name": "update_profile_field", "arguments": {"field": "headline", "value": "Lead Product Manager"}}
    stack.model(
        "script", steps=[{"tool_calls": [change], "streams": True}, {"text": "Fine, it stays.", "streams": True}]
    )
    widget.say("Change my headline")
    card = widget.log.get_by_role("group", name="Approval: Change your headline")
    expect(card.get_by_role("insertion")).to_have_text("Lead Product Manager")
    card.get_by_role("button", name="Decline", exact=True).click()
    card.get_by_role("textbox", name="Why not? (optional)").fill("It stays.")
    card.get_by_role("button", name="Decline", exact=True).click()
    expect(card).to_contain_text("Declined")
    expect(widget.words).to_have_text("Fine, it stays.")
    expect(widget.send).to_be_visible()
    page.reload()
    expect(card).to_contain_text("Declined")
    expect(card.get_by_role("button")).to_have_count(0)
    expect(widget.said).to_have_text(["Change my headline"])


@pytest.mark.nightly
def test_a_library_lesson_is_started_by_its_button(open_page: Callable[..., Page]) -> None:
    page = open_page(stranger())
    look_at(page, "Learning")
    learning = page.locator("qwestly-learning")
    learning.get_by_text("Leadership", exact=True).click()
    start = learning.get_by_role("button", name="Start lesson: ").first
    lesson = (start.get_attribute("aria-label") or "").removeprefix("Start lesson: ")
    assert lesson
    start.click()
    expect(learning.get_by_role("button", name=f"Read {lesson}").first).to_be_visible()  # it was written


@pytest.mark.sentinel
def test_background_work_is_shown_beside_the_chat(open_page: Callable[..., Page]) -> None:
    page = open_page("")
    page.get_by_role("button", name="Backstage").click()
    schedules = page.get_by_role("list", name="Schedules")
    expect(schedules.get_by_role("button").first).to_have_text("Run now")
    expect(page.get_by_text("Could not be read")).to_have_count(0)


# --- memories ---------------------------------------------------------------------------------------------------------


def memories_on(page: Page) -> Locator:
    return page.locator("qwestly-memories")


def test_a_memory_shows_its_quote_its_date_and_its_history(open_page: Callable[..., Page]) -> None:
    page = open_page("")
    look_at(page, "Memories")
    section = memories_on(page)
    goal = section.get_by_role("listitem").filter(has_text="Wants to lead a product team")
    expect(goal).to_contain_text(re.compile(r"goal · you said it on .+ · sure"))
    goal.get_by_text("Why").click()
    expect(goal).to_contain_text("“within a year I want to lead a product team at a climate company”")
    expect(goal).to_contain_text(re.compile(r"You wrote this on \w+ \d+, 20\d\d"))
    expect(goal).to_contain_text("Before that: “Wants to become a staff engineer.”")


@pytest.mark.sentinel
def test_a_memory_made_in_the_chat_can_be_searched_corrected_and_forgotten_on_the_page(
    open_page: Callable[..., Page],
) -> None:
    page = open_page(stranger())
    section, widget = memories_on(page), Widget(page)
    look_at(page, "Memories")
    expect(section).to_contain_text("Nothing remembered yet.")
    look_at(page, "Chat")
    for wish in ("Remember that I live in Lisbon.", "Remember that I like night trains."):
        widget.say(wish)
        expect(widget.send).to_be_visible()
    look_at(page, "Memories")
    rows = section.get_by_role("list", name="Memories").get_by_role("listitem")
    expect(rows).to_have_count(2)

    section.get_by_role("button", name="Correct: Lives in Lisbon.").click()
    section.get_by_role("textbox", name="What’s true instead").fill("Lives in Porto.")
    section.get_by_role("button", name="Save").click()
    home = rows.filter(has_text="Lives in Porto.")
    expect(home).to_be_visible()
    expect(rows.filter(has_text="Lives in Lisbon.")).to_have_count(0)
    home.get_by_text("Why").click()
    expect(home).to_contain_text("Before that: “Lives in Lisbon.”")

    section.get_by_role("searchbox").fill("trains")
    section.get_by_role("searchbox").press("Enter")
    expect(rows.first).to_contain_text("Likes night trains.")
    section.get_by_role("searchbox").fill("")
    section.get_by_role("button", name="Forget: Lives in Porto.").click()
    asked = section.get_by_role("group", name="Forget this for good?")
    expect(asked).to_contain_text("You can’t undo this.")
    asked.get_by_role("button", name="Forget for good").click()
    expect(section.get_by_role("status")).to_contain_text("forgotten for good")
    expect(rows).to_have_count(1)
    page.reload()
    look_at(page, "Memories")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Likes night trains.")


@pytest.mark.nightly
def test_a_fact_mentioned_in_passing_is_remembered_after_the_conversation_ends(open_page: Callable[..., Page]) -> None:
    page = open_page(stranger())
    section, widget = memories_on(page), Widget(page)
    widget.say("I moved from Berlin to Lisbon in March 2024. I have diabetes.")
    expect(widget.send).to_be_visible()
    page.get_by_role("button", name="Backstage").click()
    page.get_by_role("button", name="End the last conversation").click()
    look_at(page, "Memories")
    rows = section.get_by_role("list", name="Memories").get_by_role("listitem")
    expect(rows).to_contain_text(["Lives in Lisbon."], timeout=30_000)
    expect(section).to_contain_text("One more is waiting for your approval")
    section.get_by_role("button", name="Show approvals").click()
    queue = page.locator("qwestly-approvals")
    queue.get_by_role("button", name="Remember", exact=True).click(timeout=30_000)
    expect(queue.get_by_text("Remembered", exact=True)).to_be_visible()
    look_at(page, "Memories")
    expect(rows).to_contain_text(["Has diabetes.", "Lives in Lisbon."], timeout=30_000)


@pytest.mark.nightly
def test_memories_can_be_kept_and_forgotten_by_keyboard_on_a_phone(open_page: Callable[..., Page]) -> None:
    page = open_page(stranger(), viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    widget = Widget(page)
    widget.say("Remember that I live in Lisbon.")
    expect(widget.send).to_be_visible()
    page.get_by_role("navigation", name="Views").get_by_role("button", name="Memory").press("Enter")
    section = memories_on(page)
    search, row = section.get_by_role("searchbox").bounding_box(), section.get_by_role("listitem").bounding_box()
    assert search
    assert row
    assert search["y"] < row["y"]
    section.get_by_role("button", name="Forget: Lives in Lisbon.").press("Enter")
    expect(section.get_by_role("button", name="Keep")).to_be_focused()
    page.keyboard.press("Escape")
    expect(section.get_by_role("button", name="Correct: Lives in Lisbon.")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(section).to_contain_text("Nothing remembered yet.")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.nightly
def test_memories_that_fail_to_load_say_so_and_recover(open_page: Callable[..., Page]) -> None:
    page = open_page("")
    look_at(page, "Memories")
    section = memories_on(page)
    expect(section.get_by_role("listitem").first).to_be_visible()
    gone = {"error": {"code": "unavailable", "message": "Your data cannot be reached right now.", "request_id": "r"}}
    page.route("**/api/memories**", lambda route: route.fulfill(status=503, json=gone))
    expect(section).to_contain_text("We couldn’t load this. Your data cannot be reached right now.")
    page.unroute("**/api/memories**")
    expect(section).not_to_contain_text("We couldn’t load")
