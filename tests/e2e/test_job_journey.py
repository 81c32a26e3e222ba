"""From a résumé to a follow-up, in a browser, on the running stack with its scripted model and job boards."""

import io
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.page import stranger
from tests.local_page import look_at
from tests.resume_files import MAYA, one_column

pytestmark = pytest.mark.thorough

WORKFLOW_MILLISECONDS = 30_000
"""For what a state machine does behind the page."""


@pytest.mark.nightly
def test_a_resume_leads_to_a_job_a_document_an_application_and_its_follow_up(open_page: Callable[..., Page]) -> None:
    page = open_page(stranger())
    look_at(page, "Jobs")
    jobs = page.locator("qwestly-jobs")

    open_part(jobs, "Résumé")
    cv = {"name": "cv.pdf", "mimeType": "application/pdf", "buffer": one_column(MAYA)}
    jobs.get_by_label("Add a résumé").set_input_files(cv)  # type: ignore[arg-type]
    jobs.get_by_role("button", name="Review the changes").click(timeout=WORKFLOW_MILLISECONDS)
    approve(page, "Change your profile", MAYA.headline)

    look_at(page, "Jobs")
    open_part(jobs, "What I want")
    jobs.get_by_label("Job titles").fill("Product Manager")
    jobs.get_by_role("button", name="Save").click()
    expect(jobs.get_by_role("status")).to_have_text("Saved.")
    open_part(jobs, "Jobs")
    jobs.get_by_role("button", name="Search now").click()
    job = jobs.get_by_role("list", name="Jobs").get_by_role("listitem", name="Product Manager").first
    expect(job).to_contain_text("Why it fits", timeout=WORKFLOW_MILLISECONDS)
    title = job.get_by_role("heading", level=3).inner_text()

    job.get_by_role("button", name=f"Write a résumé: {title}").click()
    document = jobs.get_by_role("article", name="The document")
    expect(document).to_contain_text(MAYA.summary, timeout=WORKFLOW_MILLISECONDS)
    with page.expect_download() as downloading:
        jobs.get_by_role("button", name="Word (DOCX)").click()
    with zipfile.ZipFile(io.BytesIO(downloading.value.path().read_bytes())) as made:
        assert MAYA.summary in made.read("word/document.xml").decode()

    open_part(jobs, "Jobs")
    jobs.get_by_role("button", name=f"Apply: {title}").first.click()
    jobs.get_by_role("button", name="Continue").click()
    approve(page, f"Apply: {title}", MAYA.summary)

    look_at(page, "Jobs")
    open_part(jobs, "Applications")
    applied = jobs.get_by_role("region", name="Applied").get_by_role("listitem", name=title)
    expect(applied).to_contain_text("Ask how it stands")
    applied.get_by_role("button", name="Edit").click()
    applied.get_by_label("By").fill(f"{datetime.now(UTC) - timedelta(days=2):%Y-%m-%d}")
    applied.get_by_role("button", name="Save").click()
    expect(applied).to_contain_text("since")
    page.get_by_role("button", name="Backstage").click()
    page.get_by_role("button", name="Run scout sweep now").click()
    look_at(page, "Activity")
    expect(page.locator("qwestly-activity")).to_contain_text("A step of an application is due")


def open_part(jobs: Locator, part: str) -> None:
    jobs.get_by_role("navigation", name="Parts of jobs").get_by_role("button", name=part, exact=True).click()


def approve(page: Page, what: str, says: str) -> None:
    asked = page.locator("qwestly-approvals").get_by_role("group", name=f"Approval: {what}")
    expect(asked).to_contain_text(says)
    asked.get_by_role("button", name="Approve", exact=True).click()
    expect(asked).to_contain_text("Approved · done", timeout=WORKFLOW_MILLISECONDS)
