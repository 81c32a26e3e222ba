"""<qwestly-interview> on the local page: the conversation with the draft that grows from it."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from qwestly_agent.base.clock import to_iso
from tests.widget.backend import EVIL, ScriptedBackend
from tests.widget.test_elements import view
from tests.widget.test_widget import answered, asked, ready


def aspect(name: str, status: str = "open", *quotes: str) -> dict[str, Any]:
    return {"name": name, "status": status, "quotes": list(quotes), "known_from": ""}


def topic(title: str, status: str, *aspects: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "status": status, "priority": 0, "completeness": 0.5, "aspects": list(aspects)}


def sentence(text: str, *, is_new: bool = False, quote: str = "I led six people") -> dict[str, Any]:
    said = {"message_id": "m1", "text": quote}
    return {"topic": "The move", "text": text, "quotes": [said], "is_new": is_new}


def interview(**more: Any) -> dict[str, Any]:
    known = {
        "id": "c1",
        "title": "The move",
        "role": "interview",
        "last_used": to_iso(1_750_000_000.0),
        "phase": "deep_dive",
    }
    topics = [
        topic("The move", "active", aspect("Why", "covered", "It was too slow"), aspect("How long")),
        topic("The team", "backlog", aspect("Who")),
    ]
    known |= {"completeness": 0.4, "ended": None, "topics": topics, "draft": [sentence("Ada led six people.")]}
    return (
        known | {"version": 1, "is_writing": False, "why": "The move: How long", "minutes": None, "ended_by": ""} | more
    )


def opened(page: Page, backend: ScriptedBackend, **more: Any) -> Locator:
    backend.interviews["c1"] = interview(**more)
    backend.keep("c1", "The move", asked("m1", "I led six people"), answered("How long did it take?"))
    room = view(page, "Interview")
    room.get_by_role("button", name="Continue: ").click()
    return room


def side(room: Locator) -> Locator:
    return room.get_by_role("region", name="Draft and topics")


@pytest.mark.sentinel
@pytest.mark.thorough
def test_an_interview_starts_in_its_role_and_its_draft_grows_during_the_talk(page: Page, backend: ScriptedBackend):
    room = view(page, "Interview")
    expect(room).to_contain_text("No interviews yet.")
    backend.next_steps = [{"label": "Draft my Qwestly Card", "does": "say"}]
    stream = backend.stream("c1")
    room.get_by_role("button", name="Start an interview").click()
    [posted] = [call.body for call in backend.wait_for(1, "POST", "/api/chat")]
    assert posted["role"] == "interview"

    backend.interviews["c1"] = interview(draft=[], version=0, is_writing=True, why="You named a move.")
    stream.begin().text("What are you proud of?").done("What are you proud of?")
    expect(side(room)).to_contain_text("Writing…")
    expect(side(room)).to_contain_text("Why this question? You named a move.")

    backend.interviews["c1"] = interview(draft=[sentence("Ada led six people.", is_new=True)])
    expect(side(room).get_by_text("New", exact=True)).to_be_visible()
    expect(room.get_by_role("status").filter(has_text="Your draft grew by one sentence.")).to_have_count(1)

    backend.stream("c1").begin().done("And then?")
    room.get_by_label("Your message").fill("It took a year.")
    room.get_by_label("Your message").press("Enter")
    [_, second] = [call.body for call in backend.wait_for(2, "POST", "/api/chat")]
    assert second["conversation_id"] == "c1"
    assert "role" not in second
    expect(room.get_by_role("log").get_by_text("And then?")).to_be_visible()
    assert backend.asked("GET", "/api/suggestions") == [], "a click would be a word of the interview"


@pytest.mark.thorough
def test_a_sentence_can_be_struck_out_and_an_ended_interview_resumed(page: Page, backend: ScriptedBackend):
    room = opened(page, backend)
    backend.interviews["c1"] = interview(ended="asked", phase="end")
    side(room).get_by_role("button", name="Strike out: Ada led six people.").click()
    [struck] = backend.wait_for(1, "POST", "/api/interviews/c1/strike")
    assert struck.body == {"text": "Ada led six people."}
    stream = backend.stream("c1")
    side(room).get_by_role("button", name="Go on").click()
    backend.wait_for(1, "POST", "/api/interviews/c1/continue")
    [posted] = [call.body for call in backend.wait_for(1, "POST", "/api/chat")]
    assert posted["message"] == "Let’s go on."
    stream.begin().done("What came of it?")


@pytest.mark.thorough
def test_topics_and_aspects_can_be_edited_by_hand(page: Page, backend: ScriptedBackend):
    room = opened(page, backend)
    room.get_by_role("button", name="Add a topic").click()
    expect(room.get_by_label("Name of the topic")).to_be_focused()
    page.keyboard.type("The book")
    page.keyboard.press("Enter")
    [added] = backend.wait_for(1, "POST", "/api/interviews/c1/topics")
    assert added.body == {"title": "The book"}
    expect(room.get_by_role("button", name="Add a topic")).to_be_focused()

    room.get_by_role("button", name="Edit: How long").click()
    page.keyboard.press("Control+A")
    page.keyboard.type("How many months")
    page.keyboard.press("Enter")
    [edited] = backend.wait_for(1, "PUT", "/api/interviews/c1/aspects")
    assert edited.body == {"topic": "The move", "name": "How long", "to": "How many months"}

    room.get_by_text("The team").click()
    room.get_by_role("button", name="Talk about this now: The team").click()
    [_, chosen] = backend.wait_for(2, "POST", "/api/interviews/c1/topics")
    assert chosen.body == {"title": "The team", "now": True}

    room.get_by_label("Time").select_option("30 minutes")
    [limited] = backend.wait_for(1, "PUT", "/api/interviews/c1/time")
    assert limited.body == {"minutes": 30}


@pytest.mark.thorough
def test_waiting_topics_can_be_reordered_by_keyboard(page: Page, backend: ScriptedBackend):
    waiting = [topic(title, "backlog") | {"priority": rank} for rank, title in ((1, "The book"), (2, "The team"))]
    room = opened(page, backend, topics=[waiting[0], topic("The move", "active"), waiting[1]])
    topics = side(room).locator("[data-topic]")
    expect(topics).to_have_text([re.compile(title) for title in ("The move", "The team", "The book")])
    expect(topics.first.get_by_role("button", name="Move up")).to_have_count(0)
    expect(room.get_by_role("button", name="Move up: The team")).to_be_disabled()
    backend.interviews["c1"]["topics"][0]["priority"] = 3
    room.get_by_role("button", name="Move up: The book").press("Enter")
    [moved] = backend.wait_for(1, "PUT", "/api/interviews/c1/topics")
    assert moved.body == {"titles": ["The book", "The team"]}
    expect(topics).to_have_text([re.compile(title) for title in ("The move", "The book", "The team")])
    expect(room.get_by_role("button", name="Move down: The book")).to_be_focused()
    expect(room.get_by_role("status").filter(has_text="The book is now number 1 of 2.")).to_have_count(1)


@pytest.mark.thorough
def test_a_rejected_change_says_why(page: Page, backend: ScriptedBackend):
    room = opened(page, backend)
    expect(side(room)).to_contain_text("40% covered")
    backend.refuse(409, "changed", "This changed meanwhile.", on="POST /api/interviews/c1/finish")
    room.get_by_role("button", name="Finish").click()
    expect(side(room).get_by_role("alert")).to_have_text("We couldn’t change that. This changed meanwhile.")


@pytest.mark.thorough
def test_an_interview_can_be_finished_and_its_draft_downloaded(page: Page, backend: ScriptedBackend):
    room = opened(page, backend)
    expect(side(room)).to_contain_text("Ada led six people.")
    backend.interviews["c1"] = interview(phase="end", ended="asked", ended_by="that's enough")
    room.get_by_role("button", name="Finish").click()
    expect(side(room)).to_contain_text("You asked to stop here. “that's enough”")
    expect(room.get_by_role("button", name="Finish")).to_have_count(0)
    with page.expect_download() as download:
        room.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "interview.md"
    assert download.value.path().read_text() == "# The draft\n"


@pytest.mark.thorough
def test_an_onboarding_question_can_be_skipped(page: Page, backend: ScriptedBackend):
    room = opened(page, backend, role="onboarding")
    expect(room.get_by_role("heading", name="Agenda")).to_be_visible()
    expect(room.get_by_role("button", name="Add a topic")).to_have_count(0)
    expect(room.get_by_text("How long did it take?")).to_be_visible()
    backend.stream("c1").begin().done("Next: which skills?")
    room.get_by_role("button", name="Skip", exact=True).click()
    [posted] = backend.wait_for(1, "POST", "/api/chat")
    assert posted.body["message"] == "Skip this one."


@pytest.mark.thorough
def test_on_a_phone_conversation_and_draft_are_two_tabs(phone: Page, backend: ScriptedBackend):
    phone.goto("/#chat")
    ready(phone)
    room = opened(phone, backend)
    expect(room.get_by_text("How long did it take?")).to_be_visible()
    expect(side(room)).to_be_hidden()
    room.get_by_role("button", name="Draft", exact=True).click()
    expect(side(room)).to_contain_text("Ada led six people.")
    expect(room.get_by_label("Your message")).to_be_hidden()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.thorough
def test_no_field_of_an_interview_runs_a_script_or_loads_anything(page: Page, backend: ScriptedBackend):
    foreign: list[str] = []
    page.on("request", lambda request: foreign.append(request.url) if request.url.endswith("/x") else None)
    evil = topic(EVIL, "active", aspect(EVIL, "covered", EVIL))
    drafted = sentence(EVIL, quote=EVIL, is_new=True) | {"topic": EVIL}
    room = opened(page, backend, title=EVIL, topics=[evil], draft=[drafted], why=EVIL, minutes=20)
    expect(side(room)).to_contain_text(EVIL)
    room.get_by_text("Versions").click()
    expect(side(room)).to_contain_text(f"Old {EVIL}")
    assert page.evaluate("window.hacked") is None
    assert foreign == []
