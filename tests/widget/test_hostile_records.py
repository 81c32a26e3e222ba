"""Untrusted markup in a stored record stays text in every view: nothing runs, nothing foreign is loaded."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from starlette.responses import JSONResponse

from qwestly_agent.base.clock import to_iso
from tests.local_page import look_at
from tests.widget import test_interview, test_jobs, test_learning
from tests.widget.backend import EVIL, ScriptedBackend
from tests.widget.test_approvals import approval
from tests.widget.test_elements import briefing, event, view
from tests.widget.test_resume import FILE
from tests.widget.test_widget import answered, asked, ready

HOSTILE = f"{EVIL}<script>window.hacked = 1</script><a href='javascript:window.hacked=1'>a</a>"
FOREIGN = "<img src='https://foreign.example/x.png'>![x](https://foreign.example/y.png)"
WORDS = f"{HOSTILE}{FOREIGN}"
MADE_OF_TEXT = """() => {
    const found = [];
    const walk = root => {
        for (const node of root.querySelectorAll("*")) {
            if (["script", "img", "iframe", "object", "base"].includes(node.localName)) found.push(node.outerHTML);
            if (/^javascript:/i.test(node.getAttribute("href") ?? "")) found.push(node.outerHTML);
            if ([...node.attributes].some(({ name }) => name.startsWith("on"))) found.push(node.outerHTML);
            if (node.shadowRoot) walk(node.shadowRoot);
        }
    };
    for (const element of document.querySelectorAll("main > *")) if (element.shadowRoot) walk(element.shadowRoot);
    for (const element of document.querySelectorAll("main > div > *")) if (element.shadowRoot) walk(element.shadowRoot);
    return found;
}"""

Visit = Callable[[Page, ScriptedBackend], Locator]


def hostile(record: Any, *kept: str) -> Any:
    """Return the record with every text replaced, except those under these keys."""
    if isinstance(record, dict):
        return {key: value if key in kept else hostile(value, *kept) for key, value in record.items()}  # type: ignore[misc]
    if isinstance(record, list):
        return [hostile(each, *kept) for each in record]  # type: ignore[misc]
    return WORDS if isinstance(record, str) else record


def unfolded(place: Locator) -> Locator:
    place.evaluate("""element => {
        const open = root => {
            for (const details of root.querySelectorAll("details")) details.open = true;
            for (const { shadowRoot } of root.querySelectorAll("*")) if (shadowRoot) open(shadowRoot);
        };
        open(element.shadowRoot);
    }""")
    return place


def _memories(page: Page, backend: ScriptedBackend) -> Locator:
    known = {"id": "mem_1", "content": WORDS, "type": WORDS, "status": "active", "sure": WORDS, "count": 2}
    backend.memories["active"] = [known]
    before = [{"content": WORDS, "superseded_at": None}]
    why = {"quote": WORDS, "question": WORDS, "said_on": "2026-01-01", "conversation": WORDS, "before": before}
    place = view(page, "Memories")
    expect(place.get_by_role("listitem")).to_have_count(1)
    backend.answer("GET /api/memories/mem_1", JSONResponse(why))
    place.get_by_text("Why", exact=True).click()
    expect(place).to_contain_text(f"Before that: “{WORDS}”")
    return place


def _conversations(page: Page, backend: ScriptedBackend) -> Locator:
    backend.keep("c1", WORDS, asked("m1", WORDS), answered("Hello."))
    page.reload()
    widget = ready(page)
    page.get_by_role("searchbox", name="Search conversations").fill("foreign")
    expect(widget.rows.locator("mark").first).to_have_text("foreign")
    return page.locator("qwestly-chat")


def _resume_notice(page: Page, backend: ScriptedBackend) -> Locator:
    read = {"id": "r1", "name": WORDS, "status": "failed", "label": WORDS, "approval_id": None}
    backend.answer("POST /api/resumes", JSONResponse(read, 202))
    chat = view(page, "Chat")
    chat.locator("input[type=file]").set_input_files([FILE])  # type: ignore[list-item]
    expect(chat.locator(".resume")).to_contain_text(WORDS)
    return chat


def _approvals(page: Page, backend: ScriptedBackend) -> Locator:
    quote = {"source": "s", "before": "b", "quote": "q", "after": "a"}
    claims = [{"text": "t", "quotes": [quote], "marks": ["t"], "unchecked": True}]
    preview: dict[str, Any] = {"title": "t", "difference": ["d"], "left_out": [{"text": "t", "why": ["w"]}]}
    preview["changes"] = [{"name": "n", "before": "b", "after": "a", "evidence": ["e"], "quotes": [quote]}]
    preview["sections"] = [{"heading": "h", "kind": "experience", "claims": claims}]
    more = {"wish": "w", "alternatives": ["a"], "link": "javascript:window.hacked=1", "conversation_id": None}
    told = {"line": WORDS, "source": WORDS}
    waits = told | approval(
        preview=hostile(preview), args={"value": WORDS}, rationale=WORDS, wish=WORDS, conversation_id=None
    )
    done = approval("ap_2", status="done", decided_by="queue", outcome=WORDS, reason=WORDS, preview=hostile(preview))
    backend.approvals = {"ap_1": waits | {"alternatives": [WORDS]}, "ap_2": done | more | {"wish": WORDS}}
    place = view(page, "Approvals")
    expect(place.get_by_role("group", name="Approval: ")).to_have_count(1)
    place.get_by_role("button", name="History").click()
    lines = place.locator(".folded > summary")
    expect(lines).to_have_count(2)
    place.locator(".folded").evaluate_all(
        "all => all.forEach((each) => { each.removeAttribute('name'); each.open = true; })"
    )
    expect(place.get_by_role("group", name="Approval: ")).to_have_count(2)
    return place


def _settings(page: Page, backend: ScriptedBackend) -> Locator:
    kind = {"tool": "t", "title": WORDS, "means": WORDS, "record": WORDS, "is_earned": True}
    backend.earned = [kind]
    return view(page, "Settings")


def _jobs(page: Page, backend: ScriptedBackend) -> Locator:
    test_jobs.fill(backend)
    backend.jobs.matches = {"j1": hostile(test_jobs.match(), "id", "status", "posted_at", "found_at")}
    place = view(page, "Jobs")
    expect(place.get_by_role("listitem").first).to_be_visible()
    return place


def _documents(page: Page, backend: ScriptedBackend) -> Locator:
    backend.jobs.documents["d1"] = hostile(test_jobs.document(), "id", "kind", "status", "met", "created_at")
    place = view(page, "Jobs")
    look_at(page, "Documents")
    place.get_by_role("button", name="Open: ").click()
    expect(place.get_by_role("article", name="The document")).to_contain_text("foreign")
    return place


def _applications(page: Page, backend: ScriptedBackend) -> Locator:
    kept = hostile(test_jobs.application(), "id", "status", "next_at", "applied_at", "updated_at")
    backend.jobs.applications = {"app_1": kept | {"job": kept["job"] | {"id": "j1"}}}
    page.reload()  # the element asks only once whether there are applications
    ready(page)
    place = view(page, "Jobs")
    look_at(page, "Applications")
    place.get_by_role("button", name="Edit: ").click()
    return place


def _learning(page: Page, backend: ScriptedBackend) -> Locator:
    test_learning.fill(backend)
    kept = ("lesson_id", "status", "state", "due_at", "id", "module_id")
    backend.learning = hostile(backend.learning, *kept)
    backend.lessons["les_1"] = hostile(backend.lessons["les_1"], *kept)
    place = view(page, "Learning")
    expect(unfolded(place)).to_contain_text(WORDS)
    assert_harmless(page)
    place.get_by_role("button", name="Read ").first.click()
    return place


def _briefing(page: Page, backend: ScriptedBackend) -> Locator:
    line = {
        "text": WORDS,
        "topic": "needs_you",
        "source": WORDS,
        "records": [WORDS],
        "at": to_iso(time.time()),
        "when": WORDS,
        "why": WORDS,
        "now": WORDS,
        "action": {"label": WORDS, "place": WORDS, "id": WORDS},
    }
    sources = [{"name": WORDS, "label": WORDS, "why": WORDS, "as_of": to_iso(time.time())}]
    backend.briefings = [briefing(lines=[line], summary=WORDS, sources=sources, read_at=to_iso(1.0))]
    backend.events = [event("e1", WORDS, why=WORDS, role=WORDS, type=WORDS, data={"draft_id": WORDS})]
    place = view(page, "Activity")
    page.get_by_text("Your briefing", exact=True).first.click()
    expect(place).to_contain_text(WORDS)
    return page.locator("qwestly-briefing")


def _interview(page: Page, backend: ScriptedBackend) -> Locator:
    kept = hostile(test_interview.interview(version=1), "id", "role", "phase", "status")
    backend.interviews["c1"] = kept
    place = view(page, "Interview")
    expect(place).to_contain_text(WORDS)
    return place


VIEWS: dict[str, Visit] = {
    "memories": _memories,
    "conversations": _conversations,
    "résumé notice": _resume_notice,
    "approvals": _approvals,
    "settings": _settings,
    "jobs": _jobs,
    "documents": _documents,
    "applications": _applications,
    "learning": _learning,
    "briefing": _briefing,
    "interview": _interview,
}


def assert_harmless(page: Page) -> None:
    assert page.evaluate(MADE_OF_TEXT) == []
    assert page.evaluate("window.hacked") is None


@pytest.mark.nightly
@pytest.mark.thorough
def test_no_stored_field_of_any_view_runs_a_script_or_loads_anything(page: Page, backend: ScriptedBackend):
    foreign: list[str] = []
    page.on("request", lambda request: foreign.append(request.url) if is_foreign(request.url) else None)
    page.goto("/#chat")
    ready(page)
    for name, visit in VIEWS.items():
        expect(unfolded(visit(page, backend)), name).to_contain_text(WORDS)
        assert_harmless(page)
    assert foreign == []


def is_foreign(url: str) -> bool:
    """True for other hosts, and for `/x`, the address of the image in `EVIL`."""
    return ("127.0.0.1" not in url and not url.startswith(("blob:", "data:"))) or url.endswith("/x")
