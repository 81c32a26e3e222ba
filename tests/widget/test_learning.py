"""<qwestly-learning>: due questions, the goal, the path, and a lesson with its citations."""

import os
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.widget.backend import ScriptedBackend
from tests.widget.test_axe import WIDTHS, violations
from tests.widget.test_elements import EVIL, event, view
from tests.widget.test_widget import Widget, answered, asked, ready

# The results depend only on the widget's sources and its scripted backend.
pytestmark = pytest.mark.thorough

SECOND = "Hear what is not said"
TITLE = "Listen to understand before you answer"


def question(number: int, **more: Any) -> dict[str, Any]:
    due = datetime.fromtimestamp(time.time() + 86_400, UTC).isoformat()
    asked = {"lesson_id": "les_1", "number": number, "text": f"What does it say of {number}?", "due_at": due}
    asked |= {"options": [f"It agrees {EVIL}", "It does not agree", "Nothing"]}
    return asked | {"answers": 0, "right_answers": 0} | more


def fill(backend: ScriptedBackend) -> None:
    quote = {"module_id": "a/b", "title": TITLE, "text": f"A summary is not agreement {EVIL}", "source": ""}
    summary = {"lesson_id": "les_1", "title": TITLE, "topic": "Active listening", "subject": "Leadership"}
    summary |= {"stage": "learned", "label": "Your lesson is ready"}
    module = {"id": "a/b", "title": TITLE, "summary": "Hold back.", "state": "learned", "lesson_id": "les_1"}
    modules = [module, module | {"id": "a/c", "title": "Hear what is not said", "state": "open", "lesson_id": None}]
    asked = {"job_id": "job_1", "requirement": "hiring", "quote": f"We ask for hiring {EVIL}"}
    gap: dict[str, Any] = {
        "asked": asked,
        "title": "Hiring",
        "need": "Leaders hire.",
        "need_quote": quote,
        "have": "",
        "have_quotes": [],
    }
    backend.learning = {
        "progress": {
            "goal": "Head of Product",
            "goals": [{"text": "Lead a team", "quote": "I want to lead a team", "source": "memory:m1"}],
            "gaps": [gap | {"topic": "Active listening"}],
            "due": 1,
            "unread": 0,
            "next": {"topic": "Active listening", "module": "Hear what is not said", "why": "You have begun with it."},
        },
        "path": [{"subject": "Leadership", "topics": [{"topic": "Active listening", "modules": modules}]}],
        "due": [question(0)],
        "lessons": [summary],
    }
    sentences = [
        {"point": 0, "text": "A summary is not agreement.", "quotes": [quote]},
        {"point": 1, "text": f"Many books treat it {EVIL}.", "quotes": []},
    ]
    backend.lessons["les_1"] = summary | {
        "outline": ["What it is for", "How it is done"],
        "sentences": sentences,
        "questions": [question(number) for number in range(3)],
        "left_out": 1,
        "general": 1,
        "checked": False,
    }


@pytest.mark.nightly
def test_an_answered_question_says_when_it_returns(page: Page, backend: ScriptedBackend):
    fill(backend)
    learning = view(page, "Learning")
    due = learning.get_by_role("group", name="What does it say of 0?")
    due.get_by_role("button", name="It agrees").click()
    backend.wait_for(1, "POST", "/api/lessons/les_1/questions/0")
    expect(due.get_by_role("status")).to_have_text("Not quite. A summary is not agreement. We’ll ask again tomorrow.")
    expect(due.get_by_role("button", name="It does not agree")).to_be_disabled()
    assert page.evaluate("window.hacked") is None


def test_a_lesson_shows_its_citations_and_marks_unchecked_sentences(page: Page, backend: ScriptedBackend):
    fill(backend)
    learning = view(page, "Learning")
    learning.get_by_role("button", name=f"Read {TITLE}").first.click()
    expect(learning.get_by_role("heading", name=TITLE)).to_be_focused()
    expect(learning).to_contain_text("1 of its 2 sentences is general knowledge we haven’t checked")
    expect(learning).to_contain_text("One sentence was left out because our library doesn’t")
    expect(learning.locator(".unchecked")).to_have_text(f"Many books treat it {EVIL}. (general knowledge)")
    learning.get_by_text("What the library says").click()
    expect(learning.get_by_text(f"“A summary is not agreement {EVIL}”")).to_be_visible()
    expect(learning.get_by_role("group", name="What does it say")).to_have_count(3)
    last = learning.get_by_role("group", name="of 2?")
    last.get_by_role("button", name="Hard").click()
    last.get_by_role("button", name="It does not agree").click()
    expect(learning.get_by_role("status")).to_contain_text("That’s right.")
    [posted] = backend.asked("POST", "/api/lessons/les_1/questions/2")
    assert posted.body == {"option": 1, "answers": 0, "felt": "hard"}
    learning.get_by_role("button", name="Back").click()
    expect(learning.get_by_role("button", name=f"Read {TITLE}").first).to_be_focused()
    assert page.evaluate("window.hacked") is None


def test_a_goal_can_be_chosen_and_shows_its_gaps(page: Page, backend: ScriptedBackend):
    fill(backend)
    learning = view(page, "Learning")
    field = learning.get_by_role("combobox", name="Your goal")
    expect(field).to_have_value("Head of Product")
    expect(learning.get_by_role("list", name="What you still need")).to_contain_text("Leaders hire.")
    learning.get_by_role("list", name="What you still need").get_by_text("Why").click()
    expect(learning).to_contain_text(f"The job posting asks for it:“We ask for hiring {EVIL}”")
    field.fill("Lead a team")
    learning.get_by_role("button", name="Save").click()
    backend.wait_for(1, "PUT", "/api/learning/goal")
    expect(learning).to_contain_text("What you still need for Lead a team")


@pytest.mark.parametrize("place", ["gap", "next", "library", "field"])
def test_the_chosen_module_is_written_at_once_and_becomes_ready_without_a_reload(
    page: Page, backend: ScriptedBackend, place: str
):
    fill(backend)
    learning = view(page, "Learning")
    if place == "field":
        learning.get_by_role("textbox", name="What do you want to learn?").fill(f"{SECOND.lower()} ")
        learning.get_by_role("textbox", name="What do you want to learn?").press("Enter")
    else:
        starts = learning.get_by_role("button", name=f"Start lesson: {SECOND}")
        expect(starts).to_have_count(3)
        starts.nth(["gap", "next", "library"].index(place)).click()
    [posted] = backend.wait_for(1, "POST", "/api/lessons")
    assert posted.body["module"].lower() == SECOND.lower()
    expect(learning.get_by_role("status").first).to_contain_text("We’re writing", timeout=1_000)
    backend.learning["lessons"][0] |= {"stage": "reading", "title": SECOND}
    backend.learning["progress"]["unread"] = 1
    expect(learning.get_by_role("button", name=f"Read {SECOND}").first).to_be_visible(timeout=4_000)
    tab = page.get_by_role("navigation", name="Views").get_by_role("button", name="Work")
    expect(tab).to_contain_text("1 to answer, 1 to read", use_inner_text=True)


def test_a_topic_outside_the_library_opens_a_learning_conversation(page: Page, backend: ScriptedBackend):
    fill(backend)
    backend.keep("c1", "Mine", asked("m1", "Hello"), answered("Hi."))
    page.goto("/#chat")
    ready(page).rows.get_by_role("button", name="Mine").first.click()
    learning = view(page, "Learning")
    backend.stream("c2").begin().done("Shall we begin with “Active listening”?")
    learning.get_by_role("textbox", name="What do you want to learn?").fill("to hear people out")
    learning.get_by_role("button", name="Start lesson", exact=True).click()
    expect(Widget(page).words).to_have_text("Shall we begin with “Active listening”?")
    backend.stream("c2").begin().done("It is being written.")
    Widget(page).say("Yes")
    [first, second] = [call.body for call in backend.wait_for(2, "POST", "/api/chat")]
    assert (first["message"], first["role"]) == ("to hear people out", "learning")
    assert "conversation_id" not in first
    assert (second["conversation_id"], "role" in second) == ("c2", False)
    page.get_by_role("button", name="New conversation").first.click()
    backend.stream("c3").begin().done("Hello.")
    Widget(page).say("Hello")
    assert "role" not in backend.wait_for(3, "POST", "/api/chat")[2].body


def test_a_wrong_answer_is_explained_and_can_be_explained_again(page: Page, backend: ScriptedBackend):
    fill(backend)
    learning = view(page, "Learning")
    learning.get_by_role("button", name="Nothing").click()
    explained = learning.get_by_role("group", name="Explanation")
    expect(explained).to_contain_text(f"Many books treat it {EVIL}.")
    explained.get_by_role("button", name="An example from my work").click()
    expect(explained).to_contain_text(f"In other words {EVIL}.You: “My words {EVIL}”")
    [posted] = backend.asked("POST", "/api/lessons/les_1/questions/0/explanation")
    assert posted.body == {"how": "example"}
    assert page.evaluate("window.hacked") is None


def test_a_button_under_an_answer_opens_a_learning_conversation(page: Page, backend: ScriptedBackend):
    page.goto("/#chat")
    widget = ready(page)
    talk = backend.stream("c1").begin()
    talk.send("handover", role="learning", words=f"Teach me to negotiate {EVIL}")
    talk.done("Your learning guide goes on with it.")
    widget.say("I want to negotiate")
    backend.stream("c2").begin().done("Shall we begin with “Salary negotiation”?")
    page.get_by_role("button", name=f"Teach me to negotiate {EVIL}").click()
    expect(widget.words).to_have_text("Shall we begin with “Salary negotiation”?")
    second = backend.wait_for(2, "POST", "/api/chat")[1].body
    assert (second["message"], second["role"]) == (f"Teach me to negotiate {EVIL}", "learning")
    assert page.evaluate("window.hacked") is None


def test_the_chat_announces_a_ready_lesson_and_opens_it(page: Page, backend: ScriptedBackend):
    fill(backend)
    page.goto("/#chat")
    ready(page)
    backend.wait_for(1, "GET", "/api/updates")
    told = event("les_1:ready", "Your lesson is ready", type="lesson.ready", data={"lesson_id": "les_1"})
    backend.happen("activity", "les_1:ready", told)
    page.locator("qwestly-chat").evaluate("chat => chat.refresh()")
    page.get_by_role("button", name="Open the lesson").click()
    expect(page.locator("qwestly-learning").get_by_role("heading", name=TITLE)).to_be_visible()


def test_a_rejected_answer_says_why(page: Page, backend: ScriptedBackend):
    fill(backend)
    learning = view(page, "Learning")
    backend.refuse(503, "unavailable", "Please try again.", on="POST /api/lessons/les_1/questions/0")
    learning.get_by_role("button", name="Nothing").click()
    expect(learning.get_by_role("alert")).to_have_text("We couldn’t save your answer. Please try again.")
    expect(learning.get_by_role("button", name="Nothing")).to_be_enabled()


@pytest.mark.nightly
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_path_and_lesson_have_no_accessibility_violations(
    page: Page, backend: ScriptedBackend, scheme: Any, width: str
):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": WIDTHS[width], "height": 800})
    fill(backend)
    learning = view(page, "Learning")
    expect(learning.get_by_role("heading", name="Due today")).to_be_visible()
    found = violations(page)
    picture(page, f"path-{scheme}-{width}")
    learning.get_by_role("button", name="Nothing").click()
    expect(learning.get_by_role("group", name="Explanation")).to_be_visible()
    found += violations(page)
    learning.get_by_role("button", name=f"Read {TITLE}").first.click()
    expect(learning.get_by_role("heading", name=TITLE)).to_be_visible()
    found += violations(page)
    picture(page, f"lesson-{scheme}-{width}")
    assert found == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def picture(page: Page, name: str) -> None:
    """Take a screenshot if the environment asks for one."""
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)
