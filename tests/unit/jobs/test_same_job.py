"""One entry per job, across boards and days."""

from typing import Any

import pytest

from infra.local.adverts import postings
from qwestly_agent.domain.job import Advert, Pay
from qwestly_agent.jobs.search import is_same, merge_duplicates

TEXT = (
    "We look for a backend engineer who builds services in Python on AWS and owns the database. You will be on call "
    "one week in six, with a team that sleeps well, and you will talk with the people who use what you build."
)
OTHER = (
    "A different role altogether: run the warehouse at night, plan the shifts of twenty colleagues and keep the "
    "forklifts in order. You speak with drivers from all over the country, and you count what came in and went out."
)


def advert(number: int = 1, **changes: Any) -> Advert:
    told = {"title": "Backend Engineer", "company": "Kestrel Labs", "place": "Berlin, DE", "text": TEXT}
    told |= {"country": "DE"}
    return Advert(**{"id": f"adzuna:{number}", "board": "adzuna", **told, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"company": "KESTREL LABS GmbH"},
        {"title": "Backend Engineer (m/w/d)"},
        {"title": "BACKEND ENGINEER (f/m/x)"},
        {"text": TEXT[:170]},
        {"place": ""},
        {"place": "Berlin"},
        {"title": "Backend Engineer (w/m/d)"},
        {"title": "Backend Engineer - m/w/d"},
        {"title": "Backend Engineer (all genders)"},
        {"title": "Backend Engineer – Berlin"},
        {"title": "Backend Engineer (Berlin)"},
        {"place": "Kreuzberg, Berlin", "country": "DE", "areas": ("Berlin", "Kreuzberg")},
        {"company": ""},
        {"text": ""},
    ],
    ids=str,
)
def test_adverts_of_the_same_job_are_recognized(changes: dict[str, Any]) -> None:
    assert is_same(advert(1), advert(2, **changes))
    assert is_same(advert(2, **changes), advert(1))


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Senior Backend Engineer"},
        {"title": "Backend Engineer – Payments"},
        {"country": "US", "way": "remote"},
        {"company": "Almanac Software"},
        {"place": "Munich, Germany"},
        {"text": OTHER},
        {"company": "", "text": ""},
    ],
    ids=str,
)
def test_adverts_of_different_jobs_are_kept_apart(changes: dict[str, Any]) -> None:
    assert not is_same(advert(1, **changes), advert(2, **{name: "" for name in changes if changes[name] == ""}))


def test_facts_of_either_duplicate_are_kept() -> None:
    short = advert(1, text=TEXT[:170], attribution="Jobs by Adzuna", posted_at=20.0)
    whole = advert(2, pay=Pay(lowest=1.0), attribution="Via LinkedIn", posted_at=10.0)
    [both] = merge_duplicates([short, whole])
    assert (both.id, both.text, both.pay, both.posted_at) == ("adzuna:1", TEXT, Pay(lowest=1.0), 10.0)
    assert both.attribution == "Jobs by Adzuna · Via LinkedIn"


def test_the_demo_adverts_have_no_duplicates() -> None:
    told = [
        Advert(id=f"adzuna:{each.number}", board="adzuna", title=each.title, company=each.company, place=each.place,
               text=each.text)
        for each in postings()
    ]  # fmt: skip
    once = merge_duplicates(told)
    assert len(told) - len(once) >= 20
    assert merge_duplicates(once) == once
