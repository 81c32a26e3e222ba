"""A page replaces strings of the elements: before they exist, and while they run."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.widget.backend import ScriptedBackend
from tests.widget.test_approvals import approval
from tests.widget.test_elements import view
from tests.widget.test_interview import interview
from tests.widget.test_widget import answered, asked, ready

# The results depend only on the widget's sources and its scripted backend.
pytestmark = pytest.mark.thorough


def replace(page: Page, strings: dict[str, Any], then: str = "") -> None:
    replacing = f"widget.setStrings({json.dumps(strings)}); {then}"
    page.evaluate(f"import('/widget/qwestly.js').then(widget => {{ {replacing} }})")


def adding(element: str) -> str:
    return f"document.body.insertAdjacentHTML('beforeend', '<{element} token-url=\"/token\"></{element}>')"


def test_an_element_shows_strings_replaced_before_its_creation(page: Page, backend: ScriptedBackend):
    page.goto("/local/status")
    replace(
        page, {"chat": {"heading": "Woran möchtest du arbeiten?"}, "shared": {"send": "Senden"}}, adding("qwestly-chat")
    )
    expect(page.get_by_role("heading", name="Woran möchtest du arbeiten?")).to_be_visible()
    expect(page.get_by_role("button", name="Senden")).to_be_visible()
    expect(page.get_by_label("Your message")).to_be_visible()


def test_a_chat_shows_strings_replaced_before_it_is_connected(page: Page, backend: ScriptedBackend):
    page.goto("/local/status")
    page.evaluate("import('/widget/qwestly.js')")
    page.evaluate("window.chat = document.createElement('qwestly-chat')")
    replace(page, {"chat": {"heading": "Woran möchtest du arbeiten?"}}, "document.body.append(window.chat)")
    expect(page.get_by_role("heading", name="Woran möchtest du arbeiten?")).to_be_visible()


def test_replacing_strings_keeps_the_conversation_and_the_typed_text(page: Page, backend: ScriptedBackend):
    page.goto("/host")
    widget = ready(page)
    backend.keep("c1", "My headline", asked("m1", "Better"), answered("A better one.", id="msg_run_1"))
    stream = backend.stream("c1").begin()
    widget.say("Hello")
    stream.text("A better one.").done("A better one.")
    expect(widget.send).to_be_visible()
    widget.box.fill("And shorter")
    replace(page, {"chat": {"yourMessage": "Deine Nachricht"}, "turn": {"copyAnswer": "Antwort kopieren"}})
    expect(page.get_by_label("Deine Nachricht")).to_have_value("And shorter")
    expect(page.get_by_role("heading", name="My headline")).to_be_visible()
    expect(page.get_by_role("button", name="Antwort kopieren")).to_be_visible()
    expect(widget.log.get_by_text("A better one.")).to_have_count(1)


def test_a_streaming_answer_continues_after_strings_are_replaced(page: Page, backend: ScriptedBackend):
    page.goto("/host")
    widget = ready(page)
    stream = backend.stream("c1").begin()
    widget.say("Hello")
    stream.text("A better ")
    expect(widget.log.get_by_text("A better")).to_be_visible()
    backend.keep("c1", "My headline", asked("m1", "Hello"), running=True)
    replace(page, {"chat": {"stop": "Anhalten"}})
    expect(page.get_by_role("button", name="Anhalten")).to_be_visible()


def test_an_element_shows_replaced_strings_at_once(page: Page, backend: ScriptedBackend):
    page.goto("/local/status")
    replace(page, {}, adding("qwestly-memories"))
    expect(page.get_by_role("heading", name="Memories")).to_be_visible()
    expect(page.get_by_text("Nothing remembered yet.")).to_be_visible()
    replace(page, {"memories": {"title": "Erinnerungen"}})
    expect(page.get_by_role("heading", name="Erinnerungen")).to_be_visible()
    expect(page.get_by_text("Nothing remembered yet.")).to_be_visible()


def test_approval_cards_show_replaced_strings_at_once(page: Page, backend: ScriptedBackend):
    backend.ask(approval())
    approvals = view(page, "Approvals")
    expect(approvals.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    replace(page, {"approval": {"approve": "Zustimmen"}})
    expect(approvals.get_by_role("button", name="Zustimmen", exact=True)).to_be_visible()
    expect(approvals.get_by_role("button", name="Decline", exact=True)).to_be_visible()


def test_a_running_interview_continues_after_strings_are_replaced(page: Page, backend: ScriptedBackend):
    room = view(page, "Interview")
    stream = backend.stream("c1")
    backend.interviews["c1"] = interview()
    room.get_by_role("button", name="Start an interview").click()
    backend.wait_for(1, "POST", "/api/chat")
    backend.keep("c1", "The move", asked("m1", "Interview me"), answered("How long did it take?", id="msg_run_1"))
    stream.begin().text("How long did it take?").done("How long did it take?")
    expect(room.get_by_text("Ada led six people.")).to_be_visible()
    replace(page, {"interview": {"finish": "Beenden"}, "chat": {"yourMessage": "Deine Nachricht"}})
    expect(room.get_by_role("button", name="Beenden")).to_be_visible()
    expect(room.get_by_label("Deine Nachricht")).to_be_visible()
    expect(room.get_by_role("log").get_by_text("How long did it take?")).to_be_visible()
    expect(room.get_by_text("Ada led six people.")).to_be_visible()
