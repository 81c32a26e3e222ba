"""A briefing's mail links each item that needs its user to the place where it is decided."""

import random
import re
from datetime import UTC, datetime
from typing import get_args

import pytest

from qwestly_agent.base.settings import Settings
from qwestly_agent.briefings.mail import message_of
from qwestly_agent.briefings.view import Current, briefing_view, lines_of, summary_of
from qwestly_agent.domain.briefing import Briefing, BriefingSettings, Gathered, Item, Topic
from qwestly_agent.stores.briefings import BriefingPlan

APP, HOSTILE = "https://app.example/career", 'ap_2"/><x>'
PLAN = BriefingPlan(
    user_id="u", settings=BriefingSettings(), zone="UTC", next=None, last_day=None, marks={}, changed_at=None
)  # only its time zone is used


def item(source: str, record: str, topic: Topic = "needs_you") -> Item:
    return Item(id=f"{source}:{record}", source=source, topic=topic, at=1.0, title=f"A {source}", records=(record,))


def mail_of(items: tuple[Item, ...], app_url: str = APP) -> tuple[Briefing, tuple[str, str, str]]:
    briefing = Briefing(
        id="b",
        user_id="u",
        run_id="r",
        day="2026-11-24",
        created_at=2e9,
        since=None,
        gathered=Gathered(items=items),
        lines=tuple(lines_of(items)),
    )
    settings = Settings("mongodb://x", "test", approve_url="https://x.example/a", app_url=app_url)
    unsubscribe = "https://x.example/a/unsubscribe/t"
    return briefing, message_of(briefing, settings, "Maya", unsubscribe, PLAN, is_first=False)


def links(app_url: str) -> tuple[list[str], list[str]]:
    """Return the links to single records, in the text and in the HTML."""
    items = (item("approvals", "ap_1"), item("questions", HOSTILE), item("follow_ups", "app_3"), item("matches", "j"))
    _, (_, text, html) = mail_of(items, app_url)
    led = re.findall(r'<a href="([^"]*)"[^>]*>(?:Review|Answer|Open|See the job)</a>', html)
    return re.findall(r"(?:Review|Answer|Open|See the job): (\S+)", text), led


def test_text_and_html_link_to_the_approval_the_question_and_the_follow_up() -> None:
    named = ("approvals/ap_1", "approvals/ap_2%22%2F%3E%3Cx%3E", "applications/app_3", "jobs/j")
    text, html = links(APP)
    assert sorted(text) == sorted(html) == sorted(f"{APP}#{each}" for each in named)


@pytest.mark.parametrize(("app_url", "led"), [("", []), (f"{APP}#/home", [f"{APP}#/home"] * 4)])
def test_an_app_without_an_address_is_not_linked_and_a_fragment_is_kept(app_url: str, led: list[str]) -> None:
    assert links(app_url) == (led, led)


def test_a_due_step_shows_its_due_date_in_the_app_and_in_the_mail() -> None:
    due = datetime(2026, 11, 23, 23, 30, tzinfo=UTC).timestamp()
    step = item("follow_ups", "app_3").model_copy(update={"title": "Cook at Inn: Bring the menu", "due_at": due})
    briefing, (_, text, html) = mail_of((step,))
    [line] = briefing_view(briefing, "Asia/Tokyo", Current()).lines
    assert (line.text, line.when) == ("Cook at Inn: Bring the menu", "due since Tuesday, November 24, 2026")
    assert "Bring the menu (due since Monday, November 23, 2026)" in text
    assert "(due since Monday, November 23, 2026)" in html


def test_an_upcoming_interview_shows_its_day_and_time() -> None:
    ahead = item("applications", "app_3", "changed").model_copy(update={"due_at": 2e9 + 3 * 86_400})
    briefing, (_, text, _) = mail_of((ahead,))
    [line] = briefing_view(briefing, "Asia/Tokyo", Current()).lines
    assert line.when == "on Saturday, May 21 at 12:33 PM"
    assert "(on Saturday, May 21 at 3:33 AM)" in text


@pytest.mark.parametrize("seed", range(50))
def test_subject_summary_and_lines_agree_on_counts(seed: int) -> None:
    chance = random.Random(seed)
    items = tuple(
        item(chance.choice(("approvals", "questions", "matches")), f"r{number}", chance.choice(get_args(Topic)))
        for number in range(chance.randrange(1, 60))
    )
    items = tuple(each.model_copy(update={"title": f"Title {chance.randrange(9)}"}) for each in items)
    briefing, (subject, text, _) = mail_of(items)
    for topic, count in briefing.counts.items():
        named = [record for line in briefing.lines if line.topic == topic for record in line.records]
        assert len(named) == len(set(named)) == count
    waiting, first = briefing.counts.get("needs_you", 0), summary_of(briefing, "UTC").partition(";")[0].rstrip(".")
    assert subject == f"Your briefing: {first}"
    assert not waiting or re.search(rf"^{waiting} things? needs? you", text, re.MULTILINE)
    for line in briefing.lines:
        if counted := re.fullmatch(r"(?:And )?(\d+) (?:more )?\D+", line.text):
            assert int(counted[1]) == len(line.records)
