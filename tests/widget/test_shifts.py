"""No view of the local page shifts while loading."""

import pytest
from playwright.sync_api import Page

from tests.widget import test_home, test_jobs, test_learning
from tests.widget.backend import ScriptedBackend
from tests.widget.test_approvals import approval
from tests.widget.test_elements import event
from tests.widget.test_memories import KNOWN

MOST_SHIFT = 0.02
"""Cumulative layout shift while loading: a fifth of what counts as good."""
SETTLED_MILLISECONDS = 500
PLACES = ["", "approvals", "activity", "chat", "jobs", "applications", "documents", "interviews", "lessons", "memories"]
PLACES += ["resumes", "wishes"]
WATCH = """
    window.shift = 0;
    window.shifted = [];
    new PerformanceObserver((list) => {
        for (const { value, hadRecentInput, sources } of list.getEntries()) {
            if (hadRecentInput) continue;
            window.shift += value;
            window.shifted.push(...sources.map(({ node }) => `${node?.nodeName} ${node?.textContent?.slice(0, 40)}`));
        }
    }).observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.thorough
@pytest.mark.nightly
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (360, 740)])
def test_no_view_shifts_while_loading(page: Page, backend: ScriptedBackend, width: int, height: int):
    test_home.of_maya(backend)
    test_jobs.fill(backend)
    test_learning.fill(backend)
    backend.ask(approval("ap_2", conversation_id=None))
    backend.memories["active"] = [KNOWN | {"id": "mem_1", "content": "Lives in Lisbon.", "status": "active"}]
    backend.events = [event("e1", "Changed your headline"), event("e2", "A mail was refused", severity="warning")]
    page.set_viewport_size({"width": width, "height": height})
    page.add_init_script(WATCH)
    jumped = dict[str, object]()
    for place in PLACES:
        page.goto("about:blank")
        page.goto(f"/#{place}")
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(SETTLED_MILLISECONDS)
        shift, nodes = page.evaluate("[window.shift, window.shifted]")
        print(f"{width} {place or 'home'}: {shift:.4f}")
        if shift > MOST_SHIFT:
            jumped[place] = (shift, nodes)
    assert jumped == {}
