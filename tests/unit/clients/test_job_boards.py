"""Adverts as boards write them, and what of them may be shown to a user."""

from typing import Any

import pytest

from qwestly_agent.clients.job_adverts import from_adzuna, from_jsearch
from qwestly_agent.clients.job_boards import Adzuna, JSearch
from qwestly_agent.domain.job import Advert

NOW = 1_800_000_000.0
JOB = {"job_id": "j1", "job_title": "Cellist", "job_city": "Cork", "job_state": None, "job_country": "IE"}


def told(board: type[Adzuna] | type[JSearch], advert: dict[str, Any]) -> Advert:
    return from_adzuna(advert, "ie", NOW) if board is Adzuna else from_jsearch(advert, NOW)


@pytest.mark.parametrize(
    ("more", "ended"),
    [
        ({}, False),
        ({"job_offer_expiration_timestamp": NOW - 1}, True),
        ({"job_offer_expiration_timestamp": NOW + 1}, False),
        ({"job_offer_expiration_datetime_utc": "2001-05-01T00:00:00.000Z"}, True),
        ({"job_offer_expiration_datetime_utc": "2101-05-01T00:00:00Z"}, False),
        ({"job_offer_expiration_datetime_utc": "soon", "job_offer_expiration_timestamp": None}, False),
    ],
)
def test_an_advert_expires_when_its_board_says_so(more: dict[str, Any], ended: bool) -> None:
    assert told(JSearch, JOB | more).has_ended(NOW) is ended


def test_a_place_is_kept_as_its_board_names_it() -> None:
    jsearch = told(JSearch, JOB)
    assert (jsearch.place, jsearch.country, jsearch.areas) == ("Cork, IE", "IE", ("Cork",))
    area = ["Éire", "Munster", "Cork"]
    place = {"id": 1, "title": "Cellist", "location": {"display_name": "Douglas, Cork", "area": area}}
    adzuna = told(Adzuna, place)
    assert (adzuna.place, adzuna.country, adzuna.areas) == ("Douglas, Cork", "IE", ("Munster", "Cork"))
    assert told(Adzuna, {"id": 1, "title": "Cellist", "location": {"display_name": "Cork"}}).country == "IE"


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://jobs.example/1?a=b", True),
        ("http://jobs.example:8080/1", True),
        ("http://qwestly.com@evil.example/", False),
        ("https://user:pass@evil.example/1", False),
        ("https://evil.example\\@jobs.example/", False),
        ("https:///1", False),
        ("https://[::1", False),
        ("javascript:alert(1)", False),
        (None, False),
    ],
)
def test_a_link_must_be_a_web_address_without_a_user_name(url: str | None, kept: bool) -> None:
    advert = told(Adzuna, {"id": "1", "title": "Baker", "description": "We bake.", "redirect_url": url})
    assert advert.url == (url if kept else "")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("<p>We bake.</p><p>You rest.</p>", "We bake.\nYou rest."),
        ("&lt;p&gt;We bake.&lt;/p&gt;&lt;ul&gt;&lt;li&gt;Rye&lt;/li&gt;&lt;/ul&gt;", "We bake.\nRye"),
        ("&amp;lt;strong&amp;gt;Rye&amp;lt;/strong&amp;gt; &amp;amp; wheat", "Rye & wheat"),
        ("With <5 years or >2 of List<String> in C++", "With <5 years or >2 of List<String> in C++"),
        ("Salary &lt; 50k, hours &gt; 30", "Salary < 50k, hours > 30"),
        ("<style>p { color: red }</style>Rye<!-- no wheat -->", "Rye"),
    ],
)
def test_tags_are_removed_even_if_escaped_and_text_stays(sent: str, kept: str) -> None:
    assert told(JSearch, JOB | {"job_description": sent}).text == kept


@pytest.mark.parametrize(
    ("more", "period"),
    [
        ({"salary_min": 40_000, "salary_max": 45_000}, "year"),
        ({"salary_min": 450, "salary_max": 500}, None),
        ({"salary_min": 40_000, "salary_is_predicted": "1"}, "no pay"),
        ({"salary_min": 40_000, "salary_is_predicted": "0"}, "year"),
        ({"salary_max": 1_000_000_000}, "no pay"),
    ],
)
def test_pay_without_a_known_period_is_not_taken_as_yearly(more: dict[str, Any], period: str | None) -> None:
    pay = told(Adzuna, {"id": 1, "title": "Cellist", **more}).pay
    assert (pay.per if pay else "no pay") == period


@pytest.mark.parametrize(
    ("title", "text", "flag", "way", "within"),
    [
        ("Cellist", "Play with us.", False, "on_site", ()),
        ("Cellist", "Play with us.", None, None, ()),
        ("Cellist (Remote)", "Play with us.", None, "remote", ()),
        ("Cellist (hybrid)", "Two days at home.", None, "hybrid", ()),
        ("Cellist", "Travail hybride, deux jours par semaine.", False, "hybrid", ()),
        ("Cellist", "A hybrid cloud, and a hybrid car.", False, "on_site", ()),
        ("Cellist", "Remote within the United States.", True, "remote", ("United States",)),
        ("Cellist", "Candidates must reside in the United States.", True, "remote", ("United States",)),
        ("Cellist (Remote, UK)", "Play with us.", None, "remote", ("UK",)),
        ("IT Support (Remote - IT)", "We are based in Germany.", True, "remote", ()),
        ("Violoncelista", "Trabajo 100 % remoto desde España.", True, "remote", ("España",)),
        ("Cellist", "Wohnsitz in Deutschland erforderlich.", True, "remote", ("Deutschland",)),
        ("Violoncelle", "Télétravail partout en France.", True, "remote", ("France",)),
        ("Violoncelista", "Trabalho remoto a partir de Portugal.", True, "remote", ("Portugal",)),
        ("Cellist", "Work from anywhere in the world.", True, "remote", ("anywhere",)),
    ],
)
def test_a_way_of_working_is_recognized_if_clear(
    title: str, text: str, flag: bool | None, way: str | None, within: tuple[str, ...]
) -> None:
    advert = told(JSearch, JOB | {"job_title": title, "job_description": text, "job_is_remote": flag})
    assert (advert.way, advert.remote_within) == (way, within)


@pytest.mark.parametrize(
    ("text", "visa"),
    [
        ("We offer visa sponsorship.", "sponsored"),
        ("Visa sponsorship is available for this role.", "sponsored"),
        ("Wir unterstützen dich beim Visum für diese position.", "sponsored"),
        ("We are unable to sponsor visas.", "not_sponsored"),
        ("No visa sponsorship.", "not_sponsored"),
        ("You must have the right to work in the UK.", "not_sponsored"),
        ("Candidates must be able to work without visa sponsorship.", "not_sponsored"),
        ("Eine gültige Arbeitserlaubnis ist nötig.", "not_sponsored"),
        ("Permiso de trabajo imprescindible.", "not_sponsored"),
        ("Permis de travail valable requis.", "not_sponsored"),
        ("Autorização de trabalho válida é obrigatória.", "not_sponsored"),
        ("A work permit is not required.", None),
        ("You find sponsors for our festival.", None),
        ("We help you to get a work permit, it is required here.", None),
        ("We sponsor visas for this position. We do not sponsor visas for students in this role.", None),
    ],
)
def test_a_clear_statement_about_work_permits_is_recognized(text: str, visa: str | None) -> None:
    assert told(JSearch, JOB | {"job_description": text}).visa == visa
