"""The demo user is the same person in every tier."""

from datetime import date

import pytest

from infra.local.demo import person

RESUME, INTERVIEW = (text for _, _, text in person.DOCUMENTS)
INTERVIEWED = date(2026, 9, 14)


def month(text: str) -> date:
    return date.fromisoformat(f"{text}-01")


def months(start: str, end: str | None) -> int:
    last = month(end) if end else INTERVIEWED
    return (last.year - month(start).year) * 12 + last.month - month(start).month + 1


@pytest.mark.parametrize("stint", person.EMPLOYMENT, ids=lambda stint: stint["company"])
def test_the_demo_resume_and_profile_agree_on_each_employer(stint: dict[str, str | None]) -> None:
    company, title, place = (str(stint[name]) for name in ("company", "title", "location"))
    until = f"{month(stint['end_date']):%B %Y}" if stint["end_date"] else "today"
    begun = f"{month(str(stint['start_date'])):%B %Y}"
    assert f"{company.upper()}, {place}. {title}, {begun} to {until}." in RESUME


def test_the_demo_persons_years_match_her_employers() -> None:
    worked = sum(months(each["start_date"], each["end_date"]) for each in person.EMPLOYMENT)
    assert worked // 12 == person.CANDIDATE["years_of_experience"]
    assert "years" not in person.CANDIDATE["summary"]  # a résumé has both in one line


def test_the_demo_person_has_one_degree_one_home_and_one_current_job() -> None:
    [degree], now = person.CANDIDATE["education"], person.EMPLOYMENT[0]
    assert f"{degree['degree']}, {degree['school']}, {degree['year']}." in RESUME
    assert int(degree["year"]) < min(month(each["start_date"]).year for each in person.EMPLOYMENT)
    assert person.CANDIDATE["location"].startswith(now["location"])
    assert RESUME.startswith(f"MAYA OKAFOR. {now['title']}. {person.CANDIDATE['location']}.")
    assert [each["company"] for each in person.EMPLOYMENT if each["is_current"]] == [now["company"]]
    assert person.LINKEDIN["headline"] == f"{now['title']} at {now['company']}"


def test_the_demo_persons_wishes_and_skills_agree_everywhere() -> None:
    told = " ".join(each.content for each in (*person.MEMORIES, person.BEFORE))
    assert "remote-first" in told
    assert person.PREFERENCES["work_mode"].startswith("remote first")
    assert "Wants to become a staff engineer" in told
    assert "staff engineer. That has passed" in INTERVIEW
    assert "climate" in told
    assert "Climate" in person.PREFERENCES["industries"]
    assert "since the years in Berlin" in told
    assert "Berlin" in {each["location"] for each in person.EMPLOYMENT}
    for text in (told, INTERVIEW):
        assert "our junior product managers" in text
    assert "a team of eight" in person.EMPLOYMENT[0]["description"]
    assert "two designers and six engineers" in RESUME
