"""Every bullet of the README, played on the page of the running stack, including the approval it leads to."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from infra.local.environment import ROOT
from qwestly_agent.agents.tools.catalog import TOOLS
from tests.e2e.test_job_journey import WORKFLOW_MILLISECONDS, approve
from tests.local_page import look_at
from tests.resume_files import MAYA, one_column
from tests.widget.test_widget import Widget

pytestmark = pytest.mark.thorough

BULLETS = re.findall(
    r"^- (.+?)(?=^- |^$)", (ROOT / "README.md").read_text("utf-8").partition("Then try:")[2], re.M | re.S
)[:7]
DEMO, FIGURES = ROOT / "infra/local/demo", re.compile(r"\d+(?:[.,]\d+)*")
SAID = [sentence.rstrip(",") for each in BULLETS for sentence in re.findall(r'"(.+?)"', each)]
VIEWS = [name for each in BULLETS for name in re.findall(r"^\*\*(\w+)\*\*", each)]
NAMES = sorted(each.name for each in TOOLS if "_" in each.name)
ENUMS = "pending|executing|user_said|user_document|publish_card|not_allowed|outward|destructive|work_mode|L[0-3]"
UNFIT = re.compile(
    rf"not in it|can't help with that here|\b(?:card|about|headlines|draft|ap|msg|redraft)_[0-9a-f]{{6,}}"
    rf"|\b(?:{'|'.join(NAMES)}|{ENUMS})\b|approval_news|undefined|\[object"
)
# The visible words of a page and of its elements' shadow DOM.
VISIBLE = r"""() => {
    const walk = root => [...root.childNodes].flatMap(node => {
        if (node.nodeType === Node.TEXT_NODE) return [node.data];
        if (!(node instanceof Element) || node.matches("style, script")) return [];
        const isShown = node.checkVisibility() || node.localName === "slot";
        return isShown ? [...walk(node), ...(node.shadowRoot ? walk(node.shadowRoot) : []), "\n"] : [];
    });
    return walk(document.body).join("");
}"""


GIVEN = "".join((DEMO / each).read_text("utf-8") for each in ("person.py", "resume.txt", "transcript.txt"))


def strange_figures(text: str, *more: str) -> list[str]:
    """Return the figures in a text for others that are in nothing the user said or provided."""
    given = {figure for each in (GIVEN, *more) for figure in FIGURES.findall(each)}
    return [each for each in FIGURES.findall(text) if each not in given]


def unfit(page: Page) -> list[str]:
    """Return the visible texts that no user should see."""
    return UNFIT.findall(page.evaluate(VISIBLE))


@pytest.mark.nightly
def test_every_request_in_the_readme_works_including_its_approval(open_page: Callable[..., Page]) -> None:
    page = open_page("")
    widget = Widget(page)
    expect(widget.box).to_be_visible()
    assert "What would you like to work on?" in page.evaluate(VISIBLE)
    assert len(SAID) == 6
    headline = ""
    for sentence in SAID:
        widget.say(sentence)
        expect(widget.send).to_be_visible(timeout=WORKFLOW_MILLISECONDS)
        headline = (re.findall(r"headline to (.+)", sentence) or [headline])[0]
        if sentence.startswith(("Change", "Draft", "Forget")):
            asked = widget.log.get_by_role("group", name=re.compile("^Approval: ")).last
            answering = asked.locator(".answering")
            expect(answering).to_be_visible(timeout=WORKFLOW_MILLISECONDS)
            assert unfit(page) == []
            if sentence.startswith("Draft"):
                expect(asked.locator(".headline")).to_contain_text(headline)
                expect(asked.get_by_role("heading", name="Left out")).to_be_attached()
            answering.get_by_role("button").first.click()
            expect(asked.locator(".outcome")).to_contain_text(
                re.compile("done|Forgotten"), timeout=WORKFLOW_MILLISECONDS
            )
            expect(widget.send).to_be_visible(timeout=WORKFLOW_MILLISECONDS)
            if sentence.startswith("Draft"):
                with page.expect_popup() as opening:
                    asked.get_by_role("link", name="See it as others do").click()
                expect(opening.value.get_by_role("heading", level=1)).to_have_text("Maya Okafor")
                assert unfit(opening.value) == []
                published = opening.value.locator("body").inner_text()
                assert "38 percent" in published
                assert strange_figures(published) == []
        expect(widget.answer).to_contain_text(re.compile(r"\w{3}"))
        assert unfit(page) == [], sentence


@pytest.mark.nightly
def test_every_view_in_the_readme_works_as_described(open_page: Callable[..., Page]) -> None:
    page = open_page("")
    assert VIEWS == ["Interview", "Jobs", "Learning"]

    look_at(page, "Interview")
    room = page.locator("qwestly-interview")
    room.get_by_role("button", name="Start an interview").click()
    expect(room.get_by_role("group", name="Qwestly").last).to_contain_text("?", timeout=WORKFLOW_MILLISECONDS)
    expect(room.get_by_role("button", name="Send")).to_be_visible(timeout=WORKFLOW_MILLISECONDS)
    talk = room.get_by_label("Your message")
    talk.fill("I led the move to hourly settlement, which lowered tickets by 38 percent.")
    talk.press("Enter")
    expect(room.get_by_role("group", name="Qwestly").last).to_contain_text("?", timeout=WORKFLOW_MILLISECONDS)
    expect(room.get_by_text("lowered tickets by 38 percent").last).to_be_visible(timeout=WORKFLOW_MILLISECONDS)
    assert unfit(page) == []

    look_at(page, "Jobs")
    jobs = page.locator("qwestly-jobs")
    look_at(page, "Your résumé")
    cv = {"name": "cv.pdf", "mimeType": "application/pdf", "buffer": one_column(MAYA)}
    jobs.get_by_label("Add a résumé").set_input_files(cv)  # type: ignore[arg-type]
    expect(jobs.get_by_role("button", name="Review the changes")).to_be_visible(timeout=WORKFLOW_MILLISECONDS)
    assert unfit(page) == []
    look_at(page, "Jobs")
    jobs.get_by_role("button", name="Search now").click()
    found = jobs.get_by_role("list", name="Jobs").get_by_role("listitem").filter(has_text="Jobs by Adzuna")
    job = found.filter(has=page.get_by_role("button", name=re.compile("^Apply: "))).first  # she applied for another job
    expect(job).to_contain_text("Why it fits", timeout=WORKFLOW_MILLISECONDS)
    title = job.get_by_role("heading", level=3).inner_text()
    assert unfit(page) == []
    job.get_by_role("button", name=f"Write a résumé: {title}").click()
    document = jobs.get_by_role("article", name="The document")
    expect(document).to_contain_text("Northwind Pay", timeout=WORKFLOW_MILLISECONDS)
    assert unfit(page) == []
    assert strange_figures(document.inner_text(), str(MAYA)) == []
    look_at(page, "Jobs")
    job.get_by_role("button", name=f"Apply: {title}").click()
    jobs.get_by_role("button", name="Continue").click()
    approve(page, f"Apply: {title}", "Northwind Pay")
    assert unfit(page) == []

    look_at(page, "Learning")
    learning = page.locator("qwestly-learning")
    start = learning.get_by_role("button", name=re.compile("^Start lesson"))
    expect(start.or_(learning.get_by_role("button", name="Save")).first).to_be_visible()
    assert unfit(page) == []
    for name in ("Memories", "Activity", "Settings", "Approvals"):
        look_at(page, name)
        expect(page.get_by_role("heading", name=name, level=2)).to_be_visible()
        assert unfit(page) == [], name
