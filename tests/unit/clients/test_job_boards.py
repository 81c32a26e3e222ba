"""Adverts as boards write them, and what they may carry to a person."""

from typing import Any, cast

import httpx2
import pytest

from qwestly_agent.base.settings import Secrets
from qwestly_agent.clients.job_boards import Adzuna, JSearch, _advert
from qwestly_agent.domain.job import Advert

NOW = 1_800_000_000.0
JOB = {"job_id": "j1", "job_title": "Cellist", "job_city": "Cork", "job_state": None, "job_country": "IE"}


def told(board: type[Adzuna] | type[JSearch], advert: dict[str, Any]) -> Advert:
    raw = Adzuna._advert if board is Adzuna else JSearch._advert
    made = Adzuna(cast(httpx2.AsyncClient, None), cast(Secrets, None), "ie") if board is Adzuna else None
    return cast(Any, raw)(made or JSearch(cast(httpx2.AsyncClient, None), cast(Secrets, None)), advert, NOW)


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
def test_an_advert_ends_when_its_board_says_so(more: dict[str, Any], ended: bool) -> None:
    assert told(JSearch, JOB | more).has_ended(NOW) is ended


def test_the_place_is_kept_as_each_board_names_it() -> None:
    jsearch = told(JSearch, JOB)
    assert (jsearch.place, jsearch.country, jsearch.areas) == ("Cork, IE", "IE", ())
    area = ["Éire", "Munster", "Cork"]
    place = {"id": 1, "title": "Cellist", "location": {"display_name": "Douglas, Cork", "area": area}}
    adzuna = told(Adzuna, place)
    assert (adzuna.place, adzuna.country, adzuna.areas) == ("Douglas, Cork", "Éire", ("Munster", "Cork"))
    assert told(Adzuna, {"id": 1, "title": "Cellist", "location": {"display_name": "Cork"}}).country == "ie"


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
def test_a_link_is_a_web_address_without_a_user_name(url: str | None, kept: bool) -> None:
    advert = _advert("adzuna", id="1", title="Baker", text="We bake.", url=url, now=0.0)
    assert advert.url == (url if kept else "")
