"""Sources under an answer: chips that open the passage, live and after a reload."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.widget.backend import ScriptedBackend
from tests.widget.test_approvals import visit
from tests.widget.test_elements import EVIL
from tests.widget.test_widget import Widget, answered, asked


def source(number: int, title: str = "", text: str = "A passage.") -> dict[str, Any]:
    return {"id": f"document:d{number}", "kind": "document", "title": title or f"Document {number}", "text": text}


def step(*sources: dict[str, Any]) -> dict[str, Any]:
    return {"id": "s1", "name": "look", "label": "Looking…", "ok": True, "sources": list(sources)}


@pytest.fixture
def widget(page: Page) -> Widget:
    return visit(page)


@pytest.mark.nightly
@pytest.mark.thorough
def test_a_source_chip_opens_its_passage(widget: Widget, backend: ScriptedBackend, page: Page):
    named = source(1, f"Résumé {EVIL}", f"Led six people. {EVIL}")
    answer = backend.stream().begin().call("s1", "Looking…")
    answer.text("Six.").send("sources", sources=[named, named]).done("Six.")
    widget.say("How many did I lead?")
    chips = widget.answer.get_by_role("group", name="Sources")
    expect(chips.locator("summary")).to_have_text([f"Résumé {EVIL}"])
    expect(chips.get_by_text("Led six people.")).to_be_hidden()
    chips.locator("summary").press("Enter")
    expect(chips.get_by_text(f"Led six people. {EVIL}")).to_be_visible()
    expect(chips.get_by_text("From your documents")).to_be_visible()
    assert page.evaluate("window.hacked") is None


@pytest.mark.thorough
def test_a_stored_answer_shows_its_first_six_sources(page: Page, backend: ScriptedBackend):
    many = [source(number) for number in range(9)]
    backend.keep("c1", "Mine", asked("m1", "Search"), answered("Found.", steps=[step(*many)]))
    widget = visit(page)
    widget.rows.get_by_role("button", name="Mine").first.click()
    chips = widget.answer.get_by_role("group", name="Sources")
    expect(chips.locator("summary:visible")).to_have_count(6)
    chips.get_by_role("button", name="3 more").click()
    expect(chips.locator("summary:visible")).to_have_count(9)
    expect(chips.locator("summary").nth(6)).to_be_focused()


@pytest.mark.thorough
def test_an_answer_without_sources_shows_none(widget: Widget, backend: ScriptedBackend):
    backend.stream().begin().text("Hello.").done("Hello.")
    widget.say("Hello")
    expect(widget.words).to_have_text("Hello.")
    expect(widget.answer.get_by_role("group", name="Sources")).to_be_hidden()
