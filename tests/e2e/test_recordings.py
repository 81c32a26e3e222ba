"""The recordings of the demo (Maya's two weeks, the tour) match what the real stack does today."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from infra.local.demo import record, snapshot
from infra.tour import __main__ as tour
from qwestly_agent.stores import approvals, briefings, drafts, jobs, memories
from tests.e2e.page import PATIENCE_MILLISECONDS
from tests.widget.conftest import is_complaint

pytestmark = [pytest.mark.thorough, pytest.mark.nightly]

SUMMARIES: dict[str, Callable[[dict[str, Any], float], object]] = {
    approvals.COLLECTION: lambda each, _: (each["tool"], each["status"]),
    briefings.BRIEFINGS: lambda each, ended: (datetime.fromtimestamp(ended, UTC).date() - _day(each["day"])).days,
    drafts.COLLECTION: lambda each, _: (each["kind"], each["status"]),
    jobs.APPLICATIONS: lambda each, _: each["status"],
    jobs.JOB_MATCHES: lambda each, _: (json.loads(each["advert"])["title"], each["status"]),
    memories.COLLECTION: lambda each, _: (each["content"], each["status"]),
}


def _day(text: str) -> Any:
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()


def summary_of(kept: dict[str, Any]) -> dict[str, list[str]]:
    found = {
        name: sorted(str(summary(each, kept["ended_at"])) for each in kept["documents"][name])
        for name, summary in SUMMARIES.items()
    }
    return found | {"mails": [each["subject"] for each in kept["mails"]]}


def test_replaying_the_demo_weeks_gives_the_stored_recording() -> None:
    now = datetime.now(UTC).replace(hour=record.HOUR, minute=5, second=0, microsecond=0).timestamp()
    assert summary_of(snapshot.unpacked(record.record(now))) == summary_of(snapshot.read())


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tour") / "tour.html"
    file.write_text(tour.page_of(*tour.record()), "utf-8")
    return file


SEEN = {
    "Her morning": "Needs you",
    "What is known of her": "Maya Okafor",
    "A card that exaggerates": "Left out",
    "Jobs, with reasons": "Why it fits",
    "A résumé for one of them": "Résumé, version 1",
    "An answered application": "Interview with Ana Ribeiro",
    "What is due to learn": "Due today",
    "What is remembered, and why": "Can travel at most two days a month.",
}


def test_the_tour_works_without_a_server(file: Path, browser: Browser) -> None:
    page: Page = browser.new_page(viewport={"width": 1_280, "height": 900})
    page.set_default_timeout(PATIENCE_MILLISECONDS)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if is_complaint(said.text) else None)
    page.on("request", lambda asked: complaints.append(asked.url) if asked.url.startswith("http") else None)
    page.goto(file.as_uri())
    stops = page.get_by_role("navigation", name="Tour").get_by_role("button")
    assert [each.inner_text() for each in stops.all()] == list(SEEN)
    home = page.locator("qwestly-home")
    home.get_by_role("button", name="Approve", exact=True).click()
    expect(home).to_contain_text("Done: Change your headline", timeout=PATIENCE_MILLISECONDS)
    for name, seen in SEEN.items():
        stops.get_by_text(name, exact=True).click()
        words = page.get_by_text(seen).locator("visible=true").first
        expect(words).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    assert complaints == []
    page.close()
