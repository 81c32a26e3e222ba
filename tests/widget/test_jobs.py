"""<qwestly-jobs>: matches with their reasons, documents with their quotes, applications, the résumé, and wishes."""

import os
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from qwestly_agent.base.clock import to_iso
from tests.local_page import look_at
from tests.widget.backend import EVIL, ScriptedBackend
from tests.widget.test_approvals import approval
from tests.widget.test_axe import WIDTHS, each_screen, violations
from tests.widget.test_elements import tomorrow, view
from tests.widget.test_widget import ready

# The results depend only on the widget's sources and its scripted backend.
pytestmark = pytest.mark.thorough

TITLE, OTHER = "Head of Product", "Product Lead"
TEXT = "Ada Pereira\nHead of Product, Voltbank, since 2021\nShe led six people.\nLisbon"


def reason(text: str, person: str | None = "I led six people") -> dict[str, Any]:
    source = "résumé.pdf" if person else None
    return {"text": text, "advert_quote": "leads a team", "person_quote": person, "person_source": source}


def match(key: str = "j1", **more: Any) -> dict[str, Any]:
    pay = {"lowest": 60_000.0, "highest": 80_000.0, "currency": "EUR", "per": "year"}
    job = {"id": key, "title": TITLE, "company": "Hemlock", "place": "Lisbon", "is_remote": True, "pay": pay}
    job |= {"posted_at": "2026-11-20T00:00:00Z", "url": "https://jobs.example/1", "source": "adzuna"}
    job |= {"attribution": "Jobs by Adzuna", "is_closed": False, "status": "new", "verdict": None}
    job |= {"reasons_for": [reason("You have led a team.")], "reasons_against": [reason("They want French.", None)]}
    return (
        job
        | {"application_id": None, "found_at": "2026-11-21T03:00:00Z", "text": "We look for you.\nHe leads a team."}
        | more
    )


def quote(text: str, source: str = "résumé.pdf") -> dict[str, Any]:
    return {"source": source, "before": "There ", "quote": text, "after": "."}


def chosen_heads(backend: ScriptedBackend) -> list[Any]:
    """Return the chosen heads of documents."""
    puts = [call.body for call in backend.asked("PUT", "/api/settings")]
    return [each for each in puts if any(name.startswith("document_") for name in each)]


def document(**more: Any) -> dict[str, Any]:
    made = {"id": "d1", "kind": "resume", "job_id": "j1", "status": "ready", "label": "It is ready", "version": 2}
    made |= {
        "head": {"name": "Ada Pereira", "phone": "+351 912 345 678"},
        "chosen_head": ["location"],
        "flagged": False,
        "created_at": "2026-11-21T09:00:00Z",
        "job": f"{TITLE}, Hemlock",
        "parts": [],
        "revision": 1,
        "can_undo": False,
    }
    met = {
        "requirement": "Leads a team",
        "met": "met",
        "advert_quote": "leads a team",
        "quotes": [quote("I led six people")],
    }
    missed = met | {"requirement": "Speaks French", "met": "not_met", "quotes": []}
    made |= {"markdown": "# Ada Pereira\n\n## Voltbank\n\n- Led six people.\n", "coverage": [met, missed]}
    made |= {"sentences": [{"text": "Led six people.", "quotes": [quote("I led six people")], "marks": ["six"]}]}
    return made | {"left_out": [{"text": "Led sixty people.", "why": ["Nothing you said says so."]}]} | more


def application(key: str = "app_1", **more: Any) -> dict[str, Any]:
    job = {"id": "j1", "title": TITLE, "company": "Hemlock", "url": "https://jobs.example/1"}
    kept = {"id": key, "job": job, "status": "applied", "next_step": "Follow up", "next_at": "2026-01-02T09:00:00Z"}
    kept |= {"applied_at": "2025-12-26T09:00:00Z", "due_at": None, "notes": "Ask for Rui", "document_ids": []}
    asked = {"approval_id": None, "approval_status": None, "can_apply": False}
    return kept | asked | {"history": [], "updated_at": "2025-12-26T09:00:00Z"} | more


def resume(**more: Any) -> dict[str, Any]:
    def found(words: str) -> dict[str, Any]:
        start = TEXT.index(words)
        return {"quote": words, "original": words, "start": start, "end": start + len(words), "is_checked": True}

    read = {
        "id": "r1",
        "name": "cv.pdf",
        "status": "proposed",
        "label": "Ready for your decision",
        "approval_id": "ap_1",
    }
    read |= {"text": TEXT, "resume": {"work": [{"position": TITLE, "startDate": "2021"}]}, "unread": ["Lisbon"]}
    at = "/".join(("", "work", "0"))
    fields = {f"{at}/position": found(TITLE), f"{at}/startDate": found("since 2021")}
    left_out = [{"path": "/basics/phone", "why": "It does not stand there."}]
    return (
        read
        | {
            "approval_id": "ap_1",
            "created_at": to_iso(1.0),
            "updated_at": to_iso(1.0),
            "fields": fields,
            "left_out": left_out,
        }
        | more
    )


def opened(page: Page, part: str | None = None) -> Locator:
    jobs = view(page, "Jobs")
    if part:
        look_at(page, part)
    return jobs


def with_tabs(jobs: Locator) -> Locator:
    """Return the element as on a page without tabs for its parts."""
    jobs.evaluate("node => { node.noTabs = false; }")
    return jobs


def test_a_match_shows_its_reasons_and_quotes_them_on_demand(page: Page, backend: ScriptedBackend):
    backend.jobs.matches["j1"] = match()
    backend.jobs.search |= {"missing": ["JSearch could not be reached."]}
    jobs = opened(page)
    row = jobs.get_by_role("listitem", name=TITLE)
    expect(row).to_contain_text("Hemlock · Lisbon · Remote · €60,000 – €80,000 a year · posted Nov 20, 2026")
    expect(row).to_contain_text("Jobs by Adzuna")
    expect(row.get_by_role("link", name="View original posting")).to_have_attribute("rel", "noopener noreferrer")
    expect(jobs).to_contain_text("JSearch could not be reached.")
    expect(row.get_by_text("“I led six people”")).to_be_hidden()
    row.get_by_text("You have led a team.").click()
    expect(row.get_by_text("“I led six people”")).to_be_visible()
    row.get_by_text("They want French.").click()
    expect(row.get_by_text("“leads a team”")).to_have_count(2)
    row.locator(".advert summary").click()
    expect(row).to_contain_text("We look for you.")


def test_a_match_can_be_hidden_restored_saved_and_rated(page: Page, backend: ScriptedBackend):
    backend.jobs.matches["j1"] = match()
    jobs = opened(page)
    row = jobs.get_by_role("listitem", name=TITLE)
    expect(row.get_by_role("button")).to_have_text(["Write a résumé", "Save", "More"])
    row.get_by_role("button", name=f"More: {TITLE}").press("Enter")
    expect(row.get_by_role("button")).to_have_count(8)
    jobs.get_by_role("button", name=f"Hide: {TITLE}").click()
    undo = jobs.get_by_role("button", name=f"Undo: {TITLE}")
    expect(undo).to_be_focused()
    page.keyboard.press("Enter")
    expect(jobs.get_by_role("heading", name=TITLE)).to_be_focused()
    assert [call.body for call in backend.asked("PUT", "/api/jobs/j1")] == [{"status": "hidden"}, {"status": "new"}]

    for name, verdict in (("More like this", "up"), ("Not this kind", "not_this_kind"), ("Not this kind", None)):
        jobs.get_by_role("button", name=name).click()
        expect(jobs.get_by_role("button", name=name)).to_have_attribute(
            "aria-pressed", str(verdict is not None).lower()
        )
    judged = [call.body["verdict"] for call in backend.asked("POST", "/api/jobs/j1/verdict")]
    assert judged == ["up", "not_this_kind", None]

    jobs.get_by_role("button", name=f"Save: {TITLE}").click()
    expect(jobs.get_by_role("button", name=f"Undo: {TITLE}")).to_be_focused()
    jobs.get_by_role("button", name="Saved").click()
    expect(jobs.get_by_role("listitem", name=TITLE)).to_be_visible()


def test_a_fixed_field_explains_why_it_cannot_be_changed(page: Page, backend: ScriptedBackend):
    backend.jobs.matches["j1"] = match()
    jobs = opened(page)
    backend.refuse(423, "braked", "Everything is paused.", on="POST /api/jobs/j1/documents")
    jobs.get_by_role("button", name=f"Write a résumé: {TITLE}").click()
    expect(jobs.get_by_role("alert").filter(has_text="We couldn’t start that. Everything is paused.")).to_be_visible()
    backend.refuse(422, "invalid", "No job board is connected.", on="POST /api/jobs/search")
    jobs.get_by_role("button", name="Search now").click()
    expect(jobs.get_by_role("alert").filter(has_text="We couldn’t search. No job board is connected.")).to_be_visible()


@pytest.mark.sentinel
def test_a_search_on_demand_shows_its_results(page: Page, backend: ScriptedBackend):
    jobs = opened(page)
    expect(jobs).to_contain_text("No new jobs yet.")
    jobs.get_by_role("button", name="Search now").click()
    expect(jobs.get_by_role("button", name="Searching…")).to_be_disabled()
    backend.jobs.search |= {"is_searching": False, "searched_at": "2026-11-24T08:00:00Z", "has_wishes": True}
    expect(jobs).to_contain_text("Nothing new fits what you want right now.")
    expect(jobs.get_by_role("button", name="Change what you want")).to_be_visible()
    backend.jobs.matches["j1"] = match()
    jobs.get_by_role("button", name="Search now").click()
    backend.wait_for(2, "POST", "/api/jobs/search")
    backend.jobs.search |= {"is_searching": False}
    expect(jobs.get_by_role("listitem", name=TITLE)).to_be_visible()
    expect(jobs.get_by_role("button", name="Search now")).to_be_enabled()


@pytest.mark.nightly
def test_a_document_is_written_with_quotes_and_can_be_downloaded(page: Page, backend: ScriptedBackend):
    backend.jobs.matches["j1"] = match()
    nothing = {"markdown": None, "sentences": [], "left_out": [], "coverage": None}
    backend.jobs.documents["d1"] = document(status="writing", label="Reading the job posting…", **nothing)
    jobs = opened(page)
    jobs.get_by_role("button", name=f"Write a résumé: {TITLE}").click()
    [posted] = backend.wait_for(1, "POST", "/api/jobs/j1/documents")
    assert posted.body == {"kind": "resume"}
    expect(jobs.get_by_role("status")).to_have_text("Reading the job posting…")
    backend.jobs.documents["d1"] = document()
    paper = jobs.get_by_role("article", name="The document")
    expect(paper.get_by_role("listitem")).to_have_text("Led six people.")

    for place in (paper, jobs.locator(".sentences")):
        expect(place.locator("u")).to_have_text("six")
    expect(jobs.get_by_text("We didn’t find the underlined words")).to_be_visible()
    expect(jobs.get_by_text("There I led six people.").first).to_be_visible()
    expect(jobs.get_by_text("Speaks French")).to_contain_text("Not met")
    jobs.get_by_text("What I left out, and why (1)").click()
    expect(jobs.get_by_text("Nothing you said says so.")).to_be_visible()
    jobs.get_by_label("Phone").click()
    expect(jobs.get_by_label("Phone")).to_be_enabled()
    jobs.get_by_label("Name").fill("Ada P.")
    jobs.get_by_label("Name").blur()
    expect(jobs.get_by_label("Place")).to_have_count(0)
    with page.expect_download() as download:
        jobs.get_by_role("button", name="Word (DOCX)").click()
    assert download.value.suggested_filename == "d1.docx"
    [asked] = backend.asked("GET", "/api/documents/d1/download")
    assert asked.query == "format=docx"
    assert chosen_heads(backend) == [{"document_head": ["location", "phone"]}, {"document_name": "Ada P."}]
    jobs.get_by_role("button", name="All documents").click()
    expect(jobs.get_by_role("button", name="Open: Résumé, version 2")).to_be_focused()


def test_a_document_can_be_edited_on_the_page_and_reverted(page: Page, backend: ScriptedBackend):
    lines = {
        "key": "positions:e1",
        "heading": "Head of Product, Voltbank",
        "sentences": ["Led six people.", "Cut costs."],
    }
    backend.jobs.documents["d1"] = document(
        parts=[{"key": "summary", "heading": "Summary", "sentences": ["I plan."]}, lines]
    )
    jobs = opened(page, "Documents")
    jobs.get_by_role("button", name="Open: Résumé, version 2").click()
    expect(jobs.get_by_role("button", name="Undo my last change")).to_have_count(0)
    jobs.get_by_role("button", name="Edit the text").click()
    summary, position = (jobs.get_by_role("group", name=name) for name in ("Summary", lines["heading"]))
    summary.get_by_role("button", name="Remove: Sentence 1").click()
    summary.get_by_role("button", name="Add a sentence").click()
    summary.get_by_label("Sentence 1", exact=True).fill("I build what I plan.")
    position.get_by_role("button", name="Move up: Sentence 2").click()
    position.get_by_role("button", name="Add a sentence").click()
    jobs.get_by_role("button", name="Save").click()
    expect(jobs.get_by_role("article", name="The document")).to_be_visible()
    [put] = backend.asked("PUT", "/api/documents/d1")
    wanted = [["I build what I plan."], ["Cut costs.", "Led six people."]]
    assert [each["sentences"] for each in put.body["parts"]] == wanted
    assert (put.body["parts"][1]["key"], put.body["revision"]) == ("positions:e1", 1)
    jobs.get_by_role("button", name="Undo my last change").click()
    [_, undone] = backend.wait_for(2, "PUT", "/api/documents/d1")
    assert undone.body == {"parts": None, "revision": 2}


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_change_request_shows_what_changed_or_that_nothing_did(
    page: Page, backend: ScriptedBackend, is_followed: bool
):
    backend.jobs.documents["d1"] = first = document(version=1)
    jobs = opened(page, "Documents")
    jobs.get_by_role("button", name="Open: Résumé, version 1").click()
    jobs.get_by_label("What should be different").fill("Lead with payments")
    text = "Led the payments of six people." if is_followed else first["sentences"][0]["text"]
    backend.jobs.documents = {"d2": first | {"id": "d2", "version": 2, "sentences": [{"text": text}]}, "d1": first}
    jobs.get_by_role("button", name="Ask for changes").click()
    [posted] = backend.wait_for(1, "POST", "/api/jobs/j1/documents")
    assert posted.body == {"kind": "resume", "wish": "Lead with payments"}
    expect(jobs.get_by_text("What changed since version 1")).to_be_visible()
    said = [f"New: “{text}”", "Gone: “Led six people.”"] if is_followed else ["That didn’t change anything."]
    for each in said:
        expect(jobs.get_by_text(each)).to_be_visible()


def test_applying_with_documents_moves_the_application_on_the_board(page: Page, backend: ScriptedBackend):
    backend.jobs.matches["j1"] = match()
    backend.jobs.documents["d1"] = document(chosen_head=None)
    backend.jobs.applications = {}
    jobs = opened(page)
    jobs.get_by_role("button", name=f"Apply: {TITLE}").click()
    expect(jobs.get_by_role("checkbox", name="Résumé, version 2")).to_be_focused()
    jobs.get_by_label("Note to the company").fill("Through Rui")
    jobs.get_by_label("Phone").check()
    backend.approvals["ap_1"] = approval("ap_1", conversation_id=None)
    jobs.get_by_role("button", name="Continue").click()
    [posted] = backend.wait_for(1, "POST", "/api/jobs/j1/apply")
    assert chosen_heads(backend) == [{"document_name": "Ada Pereira", "document_head": ["phone"]}]
    assert posted.body == {"document_ids": ["d1"], "note": "Through Rui", "head": ["phone"]}
    expect(page.get_by_role("heading", name="Approvals")).to_be_visible()
    expect(page.locator("qwestly-approvals").get_by_role("group", name="Approval: ")).to_be_focused()

    backend.jobs.applications = {"app_1": application()}
    jobs = opened(page, "Applications")
    row = jobs.get_by_role("region", name="Applied").get_by_role("listitem", name=TITLE)
    expect(row).to_contain_text("Follow up since Jan 2, 2026")
    row.get_by_label("Status of").select_option("Interview")
    row = jobs.get_by_role("region", name="Interview").get_by_role("listitem", name=TITLE)
    expect(row.get_by_label("Status of")).to_be_focused()
    row.get_by_role("button", name="Edit").click()
    row.get_by_label("Next step").fill("Prepare the case")
    row.get_by_label("By").fill("2031-03-01")
    row.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("Prepare the case on Mar 1, 2031 at 9:00 AM")
    expect(jobs.get_by_role("status")).to_have_text(f"{TITLE}: saved.")
    [_, saved] = backend.asked("PATCH", "/api/applications/app_1")
    assert set(saved.body) == {"next_step", "next_at"}


def test_a_job_without_delivery_says_so_and_the_user_can_apply_themselves(page: Page, backend: ScriptedBackend):
    backend.jobs.matches["j1"] = match(delivers=False)
    backend.jobs.documents["d1"] = document(chosen_head=None)
    backend.jobs.applications = {"app_1": application(status="preparing", applied_at=None, can_apply=True)}
    jobs = opened(page)
    jobs.get_by_role("button", name=f"Apply: {TITLE}").click()
    expect(jobs.get_by_text("Nobody delivers applications for this job board.")).to_be_visible()
    expect(jobs.get_by_role("link", name="Open posting")).to_have_attribute("href", "https://jobs.example/1")
    expect(jobs.get_by_label("Note to the company")).to_have_count(0)
    jobs.get_by_label("Phone: +351 912 345 678").check()
    with page.expect_download() as downloading:
        jobs.get_by_role("button", name="Download Résumé, version 2").click()
    assert downloading.value.suggested_filename == "d1.docx"
    assert chosen_heads(backend) == [{"document_name": "Ada Pereira", "document_head": ["phone"]}]
    jobs.get_by_role("button", name="I sent it").click()
    expect(jobs.get_by_role("status").get_by_text("Applied")).to_be_visible()
    [patched] = backend.asked("PATCH", "/api/applications/app_1")
    assert patched.body == {"status": "applied"}
    assert not backend.asked("POST", "/api/jobs/j1/apply")


def test_an_application_the_user_sent_can_be_marked_with_one_press(page: Page, backend: ScriptedBackend):
    backend.jobs.applications = {"app_1": application(status="preparing", applied_at=None, can_apply=True)}
    jobs = opened(page, "Applications")
    jobs.get_by_role("button", name=f"I sent it: {TITLE}").click()
    [marked] = backend.wait_for(1, "PATCH", "/api/applications/app_1")
    assert marked.body == {"status": "applied"}


def test_unchanged_fields_of_an_application_are_not_sent(page: Page, backend: ScriptedBackend):
    suggested = {"next_step": "Ask how it stands", "next_at": None, "due_at": "2031-01-09T09:00:00Z", "notes": ""}
    talk = application("app_2", status="interview", next_step="", next_at="2031-02-03T14:30:00Z")
    backend.jobs.applications = {"app_1": application(**suggested), "app_2": talk}
    jobs = opened(page, "Applications")
    sent = jobs.get_by_role("region", name="Applied").get_by_role("listitem", name=TITLE)
    expect(sent).to_contain_text("Ask how it stands by Jan 9, 2031")
    sent.get_by_role("button", name="Edit").click()
    sent.get_by_label("Notes").fill("They are slow.")
    sent.get_by_role("button", name="Save").click()
    expect(sent.get_by_label("Status of")).to_be_focused()
    talk = jobs.get_by_role("region", name="Interview").get_by_role("listitem", name=TITLE)
    talk.get_by_role("button", name="Edit").click()
    talk.get_by_label("By").fill("2031-02-04")
    talk.get_by_role("button", name="Save").click()
    expect(talk.get_by_label("Status of")).to_be_focused()
    moved = [backend.asked("PATCH", f"/api/applications/app_{number}")[0].body for number in (1, 2)]
    assert moved == [{"notes": "They are slow."}, {"next_at": "2031-02-04T14:30:00.000Z"}]


def test_an_application_in_preparation_can_be_sent_from_list_and_board(page: Page, backend: ScriptedBackend):
    backend.jobs.matches["j1"] = match(application_id="app_1")
    asked = {"approval_id": "ap_1", "approval_status": "pending"}
    backend.jobs.applications = {"app_1": application(status="preparing", next_step="", **asked)}
    backend.approvals["ap_1"] = approval("ap_1", conversation_id=None)
    jobs = opened(page)
    jobs.get_by_role("button", name=f"Review and send: {TITLE}").click()
    expect(page.locator("qwestly-approvals").get_by_role("group", name="Approval: ")).to_be_focused()

    backend.jobs.applications["app_1"] |= {"approval_status": "expired", "can_apply": True}
    jobs = opened(page)
    jobs.get_by_role("button", name=f"Apply: {TITLE}").click()
    expect(jobs).to_contain_text("You need a résumé or a letter for this job first.")
    expect(jobs.get_by_role("button", name="Continue")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(jobs.get_by_role("button", name=f"Apply: {TITLE}")).to_be_focused()
    backend.jobs.documents["d1"] = document()
    opened(page, "Applications").get_by_role("button", name=f"Apply: {TITLE}").click()
    jobs.get_by_role("checkbox", name="Résumé, version 2").uncheck()
    jobs.get_by_role("button", name="Continue").click()
    expect(jobs.get_by_role("alert").filter(has_text="Choose at least one document to send.")).to_be_visible()
    jobs.get_by_role("checkbox", name="Résumé, version 2").check()
    jobs.get_by_role("button", name="Continue").click()
    backend.wait_for(1, "POST", "/api/jobs/j1/apply")


PREPARED = {"status": "preparing", "applied_at": None, "next_step": "", "approval_id": "ap_1"}
STANDS = {
    "waits": ({"approval_status": "pending"}, "Waiting for your approval", ["Review and send"]),
    "is being sent": ({"approval_status": "executing"}, "Approved. It’s being sent.", []),
    "was sent": ({"approval_status": "done", "applied_at": "2026-01-02T09:00:00Z"}, "Sent Jan 2, 2026", []),
    "expired": ({"approval_status": "expired", "can_apply": True}, "Your last request expired.", ["Apply"]),
    "failed": ({"approval_status": "failed", "can_apply": True}, "The last request couldn’t be sent.", ["Apply"]),
}


@pytest.mark.parametrize("case", STANDS)
def test_a_job_shows_the_status_of_its_application(page: Page, backend: ScriptedBackend, case: str):
    asked, says, buttons = STANDS[case]
    backend.jobs.matches["j1"] = match(application_id="app_1")
    backend.jobs.applications = {"app_1": application(**{**PREPARED, **asked})}
    for part in ("Jobs", "Applications"):
        row = opened(page, part).get_by_role("listitem", name=TITLE)
        expect(row).to_contain_text(says)
        expect(row.locator("button.apply")).to_have_text(buttons)


def test_a_job_whose_application_ended_says_how_to_apply_again(page: Page, backend: ScriptedBackend):
    backend.jobs.matches = {"j1": match(application_id="app_1"), "j2": match("j2", title=OTHER, application_id="app_2")}
    withdrawn = application(status="withdrawn", applied_at=None)
    backend.jobs.applications = {"app_1": withdrawn, "app_2": application("app_2")}
    jobs = opened(page)
    expect(jobs.get_by_role("listitem", name=TITLE)).to_contain_text(
        "Marked “Withdrawn”. To apply, set it back to “Preparing”."
    )
    expect(jobs.get_by_role("listitem", name=OTHER)).to_contain_text("You applied Dec 26, 2025")
    expect(jobs.locator("button.apply")).to_have_count(0)


def test_without_applications_on_the_server_the_jobs_element_offers_none(page: Page, backend: ScriptedBackend):
    backend.jobs.matches["j1"] = match()
    jobs = with_tabs(opened(page))
    expect(jobs.get_by_role("button", name=f"Save: {TITLE}")).to_be_visible()
    expect(jobs.get_by_role("button", name="Documents")).to_be_visible()
    expect(jobs.get_by_role("button", name=re.compile("Appl"))).to_have_count(0)


def test_the_jobs_element_does_not_shift_when_a_response_arrives(page: Page, backend: ScriptedBackend):
    held: list[Route] = []
    page.route("**/api/applications", lambda route: held.append(route))
    jobs = with_tabs(opened(page))
    applications = jobs.get_by_role("button", name="Applications")
    others = jobs.get_by_role("navigation").get_by_role("button").filter(has_not_text="Applications")
    expect(applications).to_be_visible()
    before = [each.bounding_box() for each in others.all()]
    for each in held:
        each.fulfill(status=404, json={"error": {"code": "not_found", "message": "There is no such route."}})
    expect(applications).to_have_count(0)
    assert [each.bounding_box() for each in others.all()] == before
    page.unroute("**/api/applications")


def test_a_resume_field_links_to_its_line_and_back(page: Page, backend: ScriptedBackend):
    backend.jobs.resumes["r1"] = resume()
    jobs = opened(page, "Your résumé")
    found = jobs.get_by_role("region", name="What we found")
    text = jobs.get_by_role("region", name="Your résumé")
    found.get_by_role("button", name=f"Position {TITLE}").click()
    line = text.get_by_role("button", name=f"{TITLE}, found as Position")
    expect(line).to_be_focused()
    expect(line).to_have_attribute("aria-pressed", "true")
    text.get_by_role("button", name="since 2021").click()
    expect(found.get_by_role("button", name="Start date 2021 (written “since 2021”)")).to_be_focused()
    found.get_by_text("Left out (1)").click()
    expect(found).to_contain_text("Phone It does not stand there.")
    jobs.get_by_role("button", name="Review the changes").click()
    expect(page.get_by_role("heading", name="Approvals")).to_be_visible()


def test_jobs_can_be_filtered_and_sorted_and_a_warning_quotes_the_posting(page: Page, backend: ScriptedBackend):
    hourly = {"lowest": 40.0, "highest": 50.0, "currency": "EUR", "per": "hour"}
    unknown = {"lowest": None, "highest": 450.0, "currency": "EUR", "per": None}
    quoted = {"kind": "fee", "text": "It asks you to pay before you start.", "quote": "Pay a 49 EUR fee."}
    backend.jobs.matches |= {
        "j1": match(fit="stretch", posted_at="2026-11-22T00:00:00Z", way="hybrid"),
        "j2": match("j2", title="Second", fit="strong", pay=hourly, posted_at="2026-11-10T00:00:00Z"),
        "j3": match(
            "j3", title="Third", fit="good", pay=unknown, warnings=[quoted], way="remote", remote_within=["US"]
        ),
    }
    jobs = opened(page)
    titles = jobs.locator(".job h3")
    expect(titles).to_have_text([TITLE, "Second", "Third"])
    jobs.get_by_label("Sort by").select_option("Fit")
    expect(titles).to_have_text(["Second", "Third", TITLE])
    jobs.get_by_label("Sort by").select_option("Pay")
    expect(titles).to_have_text(["Second", TITLE, "Third"])
    jobs.get_by_label("Sort by").select_option("Age")
    expect(titles).to_have_text([TITLE, "Third", "Second"])
    third = jobs.get_by_role("listitem", name="Third")
    expect(third).to_contain_text("Remote within US · €450, period not stated")
    expect(third).to_contain_text("Be careful: It asks you to pay before you start.")
    expect(third).to_contain_text("“Pay a 49 EUR fee.”")
    expect(jobs.get_by_role("listitem", name=TITLE)).to_contain_text("Hybrid")
    jobs.get_by_label("Show").select_option("Strong fit")
    expect(titles).to_have_text(["Second"])


def test_wishes_are_prefilled_from_the_profile_and_from_statements(page: Page, backend: ScriptedBackend):
    backend.jobs.settings["suggestions"] = [
        {"wish": "titles", "value": "Head of Product", "because": ""},
        {"wish": "never", "value": "banks", "because": "No banks any more."},
    ]
    jobs = opened(page, "What you want")
    expect(jobs.get_by_label("Job titles")).to_have_value("Head of Product")
    expect(jobs.get_by_text("Suggested from your profile. Save to keep it.")).to_have_count(1)
    expect(jobs.get_by_label("Never")).to_have_value("")
    expect(jobs.get_by_text("You said: “No banks any more.”")).to_be_visible()
    jobs.get_by_role("button", name="Add “banks” to Never").click()
    jobs.get_by_role("button", name="Save").click()
    expect(jobs.get_by_role("status")).to_have_text("Saved.")
    [saved] = backend.asked("PUT", "/api/jobs/settings")
    assert (saved.body["wishes"]["titles"], saved.body["wishes"]["never"]) == (["Head of Product"], ["banks"])


def test_wishes_are_saved_and_learned_weights_can_be_reset(page: Page, backend: ScriptedBackend):
    backend.jobs.taught = ["More jobs at hemlock"]
    jobs = opened(page, "What you want")
    jobs.get_by_label("Job titles").fill("Product Manager,  Head of Product ,")
    jobs.get_by_label("Minimum pay per year").fill("60000")
    jobs.get_by_label("Currency").fill("eur")
    jobs.get_by_label("Remote").select_option("Remote only")
    jobs.get_by_role("checkbox").check()
    jobs.get_by_role("button", name="Save").click()
    expect(jobs.get_by_role("status")).to_have_text("Saved.")
    [saved] = backend.asked("PUT", "/api/jobs/settings")
    assert saved.body["is_on"] is True
    wished = {key: value for key, value in saved.body["wishes"].items() if value}
    assert wished == {
        "titles": ["Product Manager", "Head of Product"],
        "remote": "only",
        "pay_from": 60_000,
        "pay_currency": "EUR",
    }
    jobs.get_by_role("button", name="Forget all of this").click()
    expect(jobs.get_by_text("More jobs at hemlock")).to_have_count(0)


def test_no_field_of_a_job_runs_a_script_or_loads_anything(page: Page, backend: ScriptedBackend):
    foreign: list[str] = []
    page.on("request", lambda request: foreign.append(request.url) if "127.0.0.1" not in request.url else None)
    why = [reason(EVIL, EVIL) | {"advert_quote": EVIL, "person_source": EVIL}]
    words = {"title": EVIL, "company": EVIL, "place": EVIL, "attribution": EVIL, "text": EVIL}
    pay = {"lowest": 1.0, "highest": None, "currency": EVIL, "per": EVIL}
    bad = match(url="javascript:window.hacked=1", pay=pay, reasons_for=why, reasons_against=why, **words)
    backend.jobs.matches["j1"] = bad
    backend.jobs.search |= {"missing": [EVIL]}
    wishes: dict[str, Any] = {key: [EVIL] for key in ("titles", "places", "languages", "work_permits", "never")}
    backend.jobs.settings |= {
        "wishes": backend.jobs.settings["wishes"] | wishes | {"pay_currency": EVIL},
        "boards": [EVIL],
    }
    backend.jobs.taught = [EVIL]
    said = quote(EVIL, EVIL) | {"before": EVIL, "after": EVIL}
    met = {"requirement": EVIL, "met": "met", "advert_quote": EVIL, "quotes": [said]}
    sentence = {"text": EVIL, "quotes": [said]}
    left_out = [{"text": EVIL, "why": [EVIL]}]
    more = {"label": EVIL, "status": "failed", "coverage": [met], "sentences": [sentence], "left_out": left_out}
    backend.jobs.documents["d1"] = document(job=EVIL, markdown=f"# {EVIL}\n\n[x](javascript:hacked=1)\n", **more)
    job = {"id": "j1", "title": EVIL, "company": EVIL, "url": "javascript:window.hacked=1"}
    backend.jobs.applications = {"app_1": application(job=job, next_step=EVIL, notes=EVIL)}
    found = {"quote": EVIL, "original": EVIL, "start": 0, "end": 9, "is_checked": False}
    read = {"text": EVIL * 2, "resume": {EVIL: EVIL}, "fields": {f"/{EVIL}": found, "/__proto__/x": found}}
    read |= {"unread": [EVIL], "left_out": [{"path": f"/{EVIL}", "why": EVIL}]}
    backend.jobs.resumes["r1"] = resume(name=EVIL, label=EVIL, **read)

    jobs = opened(page)
    row = jobs.get_by_role("listitem").filter(has=page.get_by_role("heading", name="img"))
    expect(row.locator("summary")).to_have_count(3)
    for summary in row.locator("summary").all():
        summary.click()
    expect(row.locator(".advert")).to_contain_text(EVIL)
    expect(row.get_by_role("link")).to_have_count(0)
    for part in ("Applications", "Your résumé", "What you want", "Documents"):
        look_at(page, part)
        expect(jobs.locator("[data-part]")).to_contain_text("<img" if part != "Documents" else "version 2")
    jobs.get_by_role("button", name="Open: ").click()
    expect(jobs.get_by_role("article", name="The document")).to_contain_text(EVIL)
    assert jobs.locator("[data-part] img").count() == 0
    assert page.evaluate("window.hacked") is None
    assert foreign == []


def test_on_a_phone_jobs_fit_the_screen(phone: Page, backend: ScriptedBackend):
    fill(backend)
    phone.goto("/#chat")
    ready(phone)
    jobs = opened(phone)
    for part in ("Jobs", "Applications", "Documents", "Your résumé", "What you want"):
        look_at(phone, part)
        expect(jobs.locator("[data-part]")).to_be_visible()
        assert phone.evaluate("document.documentElement.scrollWidth") <= 360


def fill(backend: ScriptedBackend) -> None:
    backend.jobs.matches = {"j1": match(), "j2": match("j2", title="Product Lead", is_closed=True, verdict="up")}
    backend.jobs.documents["d1"] = document()
    later = application("app_2", status="interview", next_step="Prepare the case", next_at=tomorrow(), notes=None)
    backend.jobs.applications = {"app_1": application(), "app_2": later}
    backend.jobs.resumes["r1"] = resume()
    backend.jobs.taught = ["More jobs at hemlock"]


@pytest.mark.nightly
@each_screen
def test_the_jobs_element_has_no_accessibility_violations(
    page: Page, backend: ScriptedBackend, scheme: Any, width: str
):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": WIDTHS[width], "height": 800})
    fill(backend)
    jobs = opened(page)
    jobs.get_by_text("You have led a team.").first.click()
    jobs.get_by_role("button", name=f"Apply: {TITLE}").click()
    expect(jobs.get_by_role("checkbox", name="Résumé, version 2")).to_be_visible()
    found = violations(page)
    picture(page, f"jobs-{scheme}-{width}")
    for part in ("Applications", "Your résumé", "What you want", "Documents"):
        look_at(page, part)
        if part == "Documents":
            jobs.get_by_role("button", name="Open: ").click()
        if part == "Your résumé":
            jobs.get_by_role("button", name=f"Position {TITLE}").click()
        if part == "Applications":
            jobs.get_by_role("button", name="Edit").first.click()
        expect(jobs.locator("[data-part]").get_by_role("button").first).to_be_visible()
        found += violations(page)
        picture(page, f"{part}-{scheme}-{width}")
    assert found == []


def picture(page: Page, name: str) -> None:
    """Take a screenshot if the environment asks for one."""
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)
