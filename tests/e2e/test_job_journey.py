"""From a résumé to a follow-up, in a browser, on the running stack with its scripted model and job boards."""

import io
import re
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from pymongo import MongoClient

from infra.local.environment import DEMO_DATABASE
from tests.e2e.page import stranger
from tests.local_page import look_at
from tests.resume_files import MAYA, one_column
from tests.servers import until

pytestmark = pytest.mark.thorough

WORKFLOW_MILLISECONDS = 30_000
"""Time limit of a state machine behind the page."""


UNDER_HEADINGS = """page => Object.fromEntries([...page.querySelectorAll("h5")].map((heading) => {
    const parts = [...page.querySelectorAll("h5, ul")];
    const list = parts[parts.indexOf(heading) + 1];
    return [heading.textContent, list?.tagName === "UL" ? [...list.children].map((line) => line.textContent) : []];
}))"""
"""The lines below the heading of each position."""
KINDS = {"cover_letter": "Letter", "resume": "Résumé"}
ASKED_NO_MORE = ("Work", "Skills", "Education")


@pytest.mark.nightly
@pytest.mark.parametrize("delivers", [True, False])
def test_a_resume_leads_to_a_profile_documents_an_application_and_its_follow_up(
    open_page: Callable[..., Page], stack_database: str, delivers: bool
) -> None:
    user = stranger()
    page = open_page(user)
    jobs = page.locator("qwestly-jobs")
    look_at(page, "Your résumé")
    cv = {"name": "cv.pdf", "mimeType": "application/pdf", "buffer": one_column(MAYA)}
    jobs.get_by_label("Add a résumé").set_input_files(cv)  # type: ignore[arg-type]
    jobs.get_by_role("button", name="Review the changes").click(timeout=WORKFLOW_MILLISECONDS)
    approve(page, "Change your profile", MAYA.jobs[0].lines[0])
    with MongoClient[dict[str, Any]](stack_database) as mongo:
        stints = list(mongo[DEMO_DATABASE]["employment_stints_enhanced"].find({"user_id": user}))
    assert {(each["company"], each["start_date"], each["description"]) for each in stints} == {
        (each.company, each.start, "\n".join(each.lines)) for each in MAYA.jobs
    }

    look_at(page, "Interview")
    page.locator("qwestly-interview").get_by_role("button", name="Set up my profile").click()
    interview = until(lambda: interview_of(stack_database, user))
    topics = {each["title"]: each for each in interview["topics"]}
    assert {name: topics[name]["status"] for name in ASKED_NO_MORE} == dict.fromkeys(ASKED_NO_MORE, "completed")
    [years] = [each for each in topics["Work"]["aspects"] if each["name"] == "years of experience"]
    assert {each["text"] for each in years["quotes"]} >= {each.dates for each in MAYA.jobs}

    look_at(page, "What you want")
    jobs.get_by_label("Job titles").fill("Product Manager")
    jobs.get_by_role("button", name="Save").click()
    expect(jobs.get_by_role("status")).to_have_text("Saved.")
    look_at(page, "Jobs")
    jobs.get_by_role("button", name="Search now").click()
    board = "Jobs by Adzuna" if delivers else "Via "
    found = jobs.get_by_role("list", name="Jobs").get_by_role("listitem").filter(has_text="Why it fits")
    job = found.filter(has_text=board).first
    expect(job).to_be_visible(timeout=WORKFLOW_MILLISECONDS)
    title = job.get_by_role("heading", level=3).inner_text()

    job.get_by_role("button", name=f"Write a résumé: {title}").click()
    document = jobs.get_by_role("article", name="The document")
    expect(document).to_contain_text(MAYA.summary, timeout=WORKFLOW_MILLISECONDS)
    under = document.evaluate(UNDER_HEADINGS)
    for position in MAYA.jobs:
        lines = under[f"{position.title}, {position.company}"]
        assert lines
        assert all(any(line.rstrip(".") in told for told in position.lines) for line in lines)
    expect(document).not_to_contain_text("Also")
    jobs.get_by_role("button", name="Edit the text").click()
    latest = jobs.get_by_role("group", name=f"{MAYA.jobs[0].title}, {MAYA.jobs[0].company}")
    latest.get_by_label("Sentence 1", exact=True).fill("I own the API that merchants build on.")
    jobs.get_by_role("group", name="Summary").get_by_label("Sentence 1", exact=True).fill("I build what I plan.")
    jobs.get_by_role("button", name="Save").click()
    expect(document).to_contain_text("I own the API that merchants build on.")
    expect(document).to_contain_text("I build what I plan.")

    look_at(page, "Jobs")
    job = jobs.get_by_role("list", name="Jobs").get_by_role("listitem", name=title).filter(has_text=board).first
    job.get_by_role("button", name=f"More: {title}").click()
    job.get_by_role("button", name=f"Write a letter: {title}").click()
    expect(document).to_contain_text("Kind regards", timeout=WORKFLOW_MILLISECONDS)
    expect(document).to_contain_text(MAYA.name)
    look_at(page, "Jobs")
    job.get_by_role("button", name=f"Apply: {title}").click()
    jobs.get_by_label(f"Email: {MAYA.email}").check()
    jobs.get_by_label(f"Phone: {MAYA.phone}").check()
    if delivers:
        expect(jobs.get_by_text("Qwestly delivers it to the employer.")).to_be_visible()
        for each in jobs.get_by_role("group", name="What to send").get_by_role("checkbox").all():
            each.check()
        jobs.get_by_role("button", name="Continue").click()
        asked = page.locator("qwestly-approvals").get_by_role("group", name=f"Approval: Apply: {title}")
        shown = {kind: asked.get_by_role("article", name=name).inner_text() for kind, name in KINDS.items()}
        approve(page, f"Apply: {title}", "Written by you")
        [sent] = sent_by(stack_database, user)
        texts = {each["kind"]: each["text"] for each in sent["documents"]}
        for kind, text in texts.items():
            assert words_of(text) == words_of(shown[kind])
            assert MAYA.email in text
            assert MAYA.phone in text
        assert "I own the API that merchants build on." in texts["resume"]
    else:
        expect(jobs.get_by_text("Nobody delivers applications for this job board.")).to_be_visible()
        expect(jobs.get_by_role("link", name="Open posting")).to_be_visible()
        with page.expect_download() as downloading:
            jobs.get_by_role("button", name="Download Résumé, version 1").click()
        with zipfile.ZipFile(io.BytesIO(downloading.value.path().read_bytes())) as made:
            xml = made.read("word/document.xml").decode()
        assert "I own the API that merchants build on." in xml
        assert MAYA.phone in xml
        jobs.get_by_role("button", name="I sent it").click()
        assert sent_by(stack_database, user) == []

    look_at(page, "Applications")
    applied = jobs.get_by_role("region", name="Applied").get_by_role("listitem", name=title)
    expect(applied).to_contain_text("Ask how it stands")
    applied.get_by_role("button", name="Edit").click()
    applied.get_by_label("By").fill(f"{datetime.now(UTC) - timedelta(days=2):%Y-%m-%d}")
    applied.get_by_role("button", name="Save").click()
    expect(applied).to_contain_text("since")
    page.get_by_role("button", name="Backstage").click()
    page.get_by_role("button", name="Run scout sweep now").click()
    look_at(page, "Activity")
    expect(page.locator("qwestly-activity")).to_contain_text("The step that you planned is due")


def words_of(text: str) -> list[str]:
    """Return the words without Markdown marks."""
    return re.findall(r"[^\W_]+", text)


def sent_by(mongodb_uri: str, user: str) -> list[dict[str, Any]]:
    with MongoClient[dict[str, Any]](mongodb_uri) as mongo:
        return list(mongo[DEMO_DATABASE]["candidate_app_applications"].find({"user_id": user}))


def interview_of(mongodb_uri: str, user: str) -> dict[str, Any] | None:
    with MongoClient[dict[str, Any]](mongodb_uri) as mongo:
        found = mongo[DEMO_DATABASE]["agent_conversations"].find_one({"user_id": user, "interview.topics": {"$ne": []}})
    return (found or {}).get("interview")


def approve(page: Page, what: str, says: str) -> None:
    asked = page.locator("qwestly-approvals").get_by_role("group", name=f"Approval: {what}")
    expect(asked).to_contain_text(says)
    asked.get_by_role("button", name="Approve", exact=True).click()
    expect(asked).to_contain_text("Approved · done", timeout=WORKFLOW_MILLISECONDS)
