"""axe-core finds nothing wrong on any view of the local page."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.counts import sample
from tests.widget.backend import ROOT, ScriptedBackend
from tests.widget.test_approvals import PUBLICATION, approval
from tests.widget.test_comforts import TABLE
from tests.widget.test_elements import event, tomorrow, view
from tests.widget.test_interview import interview
from tests.widget.test_memories import KNOWN
from tests.widget.test_widget import answered, asked, ready

AXE = Path(ROOT, "widget/node_modules/axe-core/axe.min.js")
WIDTHS = {"desk": 1440, "tablet": 768, "phone": 360}
SCREENS = [
    ("light", "desk"),
    ("dark", "tablet"),
    ("light", "phone"),
    ("dark", "phone"),
    ("dark", "desk"),
    ("light", "tablet"),
]
each_screen = pytest.mark.parametrize(("scheme", "width"), sample(SCREENS, 3))
"""Usually each width once, and both schemes: width and scheme are independent."""


@pytest.mark.nightly
@pytest.mark.thorough
@each_screen
def test_no_view_has_accessibility_violations(page: Page, backend: ScriptedBackend, scheme: Any, width: str):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": WIDTHS[width], "height": 800})
    question = backend.ask(approval(preview=PUBLICATION, effect="outward"))
    backend.keep("c1", "Mine", asked("m1", "Format this"), answered(TABLE, id="msg_a", approvals=[question]))
    backend.memories["active"] = [KNOWN | {"id": "mem_1", "content": "Lives in Lisbon.", "status": "active"}]
    backend.events = [
        event("ap_1:done", "Changed your headline", undo_until=tomorrow()),
        event("e2", "A mail was refused", severity="warning"),
        event("e3", "Your approval is asked for", severity="action_required"),
    ]
    wrong: dict[str, list[str]] = {}
    page.goto("/#chat")
    widget = ready(page)
    wrong["Empty"] = violations(page)
    if width == "phone":
        widget.button("Conversations").click()
        wrong["Drawer"] = violations(page)
    widget.rows.get_by_role("button", name="Mine").first.click()
    expect(widget.answer.get_by_role("table")).to_be_visible()
    wrong["Chat"] = violations(page)
    if width == "phone":
        widget.button("Review").click()
        expect(page.get_by_role("dialog", name="Your decision")).to_be_visible()
        wrong["Question"] = violations(page)
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
    for name in ("Approvals", "Memories", "Activity", "Settings"):
        expect(view(page, name).get_by_role("heading", name=name)).to_be_visible()
        wrong[name] = violations(page)
    backend.interviews["c1"] = interview()
    room = view(page, "Interview")
    expect(room.get_by_role("heading", name="Interviews")).to_be_visible()
    wrong["Interviews"] = violations(page)
    room.get_by_role("button", name="Continue").click()
    if width == "phone":
        wrong["Conversation"] = violations(page)
        room.get_by_role("button", name="Draft", exact=True).click()
    room.get_by_role("button", name="Add a topic").click()
    wrong["Draft"] = violations(page)
    page.get_by_role("button", name="Backstage").click()
    wrong["Backstage"] = violations(page)
    assert "\n".join(f"{name}: {each}" for name, found in wrong.items() for each in found) == ""


def violations(page: Page) -> list[str]:
    """Run axe outside the page's content security policy, which would block a test's script, and return the
    violations."""
    found = page.evaluate(f"async () => {{ {AXE.read_text()}; return (await axe.run()).violations; }}")
    return [
        f"{each['id']}: {node['html'][:200]} {node['failureSummary'][:300]}" for each in found for node in each["nodes"]
    ]
