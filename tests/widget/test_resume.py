"""A résumé is chosen or dropped in the chat; its progress is shown, and the result leads to the pending approval."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.responses import JSONResponse

from tests.widget.backend import ScriptedBackend, error
from tests.widget.test_approvals import NOTHING, Card, approval, expect_decided, visit
from tests.widget.test_widget import Widget

FILE = {"name": "cv.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7"}
CHANGES = [
    {"field": "headline", "value": "Head of Product"},
    {"field": "skills", "value": ["SQL", "Pricing"]},
    {"field": "education", "value": [{"school": "ETH"}]},
    {"field": "positions", "value": [{"title": "Head", "lines": ["Led."]}, {"title": "PM", "company": "Acme"}]},
]
QUOTE = {"source": "cv.pdf", "before": "Since 2021 ", "quote": "Head of Product", "after": "."}


def several(**more: Any) -> dict[str, Any]:
    shown = [
        {"name": "Headline", "before": "PM", "after": "Head of Product", "quotes": [QUOTE]},
        {"name": "Skills", "before": None, "after": "SQL; Pricing"},
        {"name": "Education", "before": None, "after": "ETH"},
        {"name": "Positions", "before": None, "after": "Head\n• Led.\n\nPM, Acme"},
    ]
    preview = NOTHING | {"title": "Change your profile", "changes": shown}
    args = {"changes": CHANGES, "quotes": {}}
    told = {"tool": "update_profile", "conversation_id": None, "revisable": False, "editable": ["changes"]}
    return approval(args=args, preview=preview, **told, **more)


def resume(status: str, label: str = "Opening the file") -> JSONResponse:
    return JSONResponse({"id": "res_1", "name": "cv.pdf", "status": status, "label": label, "approval_id": None}, 202)


@pytest.fixture
def widget(page: Page) -> Widget:
    return visit(page)


def choose(widget: Widget) -> None:
    widget.page.locator("input[type=file]").set_input_files([FILE])  # type: ignore[list-item]


@pytest.mark.sentinel
@pytest.mark.thorough
def test_an_uploaded_resume_is_read_and_its_changes_can_be_approved_in_part(widget: Widget, backend: ScriptedBackend):
    backend.answer("POST /api/resumes", resume("reading"))
    backend.answer("GET /api/resumes/res_1", resume("proposed", "Ready for your decision"))
    choose(widget)
    expect(widget.page.get_by_text("Opening the file…")).to_be_visible()
    backend.ask(several())
    widget.button("Review the changes").click()
    card = Card(widget.page, "Change your profile")
    expect(card.group.locator("q").first).to_have_text("Since 2021 Head of Product.")
    card.press("Edit")
    card.group.get_by_label("Take skills").uncheck()
    card.group.get_by_label("Take PM, Acme").uncheck()
    card.group.get_by_label("Headline", exact=True).fill("Chief Product Officer")
    card.press("Approve as edited")
    expect_decided(card, "Approved · done")
    [decided] = backend.asked("POST", "/api/approvals/ap_1/decision")
    positions = {"field": "positions", "value": [{"title": "Head", "lines": ["Led."]}]}
    taken = [{"field": "headline", "value": "Chief Product Officer"}, CHANGES[2], positions]
    assert (decided.body["decision"], decided.body["args"]) == ("edit", {"changes": taken})


@pytest.mark.thorough
def test_an_unreadable_resume_says_why(widget: Widget, backend: ScriptedBackend):
    backend.answer("POST /api/resumes", resume("failed", "This file is protected by a password."))
    choose(widget)
    expect(widget.page.get_by_text("This file is protected by a password.")).to_be_visible()
    backend.answer("POST /api/resumes", error(423, "braked", "Everything is paused."))
    choose(widget)
    expect(widget.page.get_by_text("This file is protected by a password.")).to_have_count(0)
    widget.button("Close").click()


@pytest.mark.thorough
def test_a_file_can_be_dropped_anywhere_on_the_chat(widget: Widget, backend: ScriptedBackend):
    backend.answer("POST /api/resumes", resume("done", "Read. There is nothing new for your profile."))
    widget.page.evaluate("""() => {
        const files = new DataTransfer();
        files.items.add(new File(["Ada"], "cv.txt"));
        const main = document.querySelector("qwestly-chat").shadowRoot.querySelector(".main");
        main.dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
    }""")
    expect(widget.page.get_by_text("Read. There is nothing new for your profile.")).to_be_visible()
    [posted] = backend.asked("POST", "/api/resumes")
    assert posted.query == "name=cv.txt"
