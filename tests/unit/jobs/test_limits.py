"""What a person's wishes rule out, and what they do not: an advert that says nothing of it is not ruled out."""

from typing import Any

import pytest

from qwestly_agent.domain.job import Advert, JobWishes, Pay
from qwestly_agent.jobs.wishes import exclusion_reason, without_excluded


def advert(**changes: Any) -> Advert:
    told = {"id": "a1", "title": "Backend Engineer", "company": "Kestrel Labs", "place": "Berlin, Germany"}
    return Advert(**{**told, "board": "adzuna", "text": "We build services in Python.", "language": "en", **changes})


EUROS = Pay(lowest=60_000, highest=70_000, currency="EUR")
DEMANDS = "You must have the right to work in the United Kingdom."


@pytest.mark.parametrize(
    ("wishes", "changes"),
    [
        ({"places": ("Lisbon",)}, {}),
        ({"places": ("Berlin",)}, {"place": "Berlingen, Switzerland"}),
        ({"places": ("Belgium",)}, {"place": "Ghent, KY, US", "country": "US"}),
        ({"places": ("Canada",)}, {"place": "Pasadena, CA, US", "country": "US"}),
        ({"places": ("Ghent, Belgium",)}, {"place": "Ghent, KY, US", "country": "US"}),
        ({"places": ("Cork, Ireland",)}, {"place": "Dublin, IE", "country": "IE"}),
        ({"places": ("Graz",)}, {"place": "Linz-Land, Oberösterreich", "country": "Österreich", "areas": ("Linz",)}),
        ({"remote": "only"}, {}),
        ({"remote": "no"}, {"is_remote": True}),
        ({"pay_from": 80_000}, {"pay": EUROS}),
        ({"pay_from": 80_000, "pay_currency": "EUR"}, {"pay": EUROS}),
        ({"pay_from": 80_000}, {"pay": Pay(highest=30, per="hour")}),
        ({"languages": ("de",)}, {}),
        ({"never": ("Kestrel",)}, {}),
        ({"never": ("python",)}, {}),
        ({"never": ("kestrel labs",)}, {"company": "KESTREL LABS GmbH"}),
        ({"work_permits": ("Germany",)}, {"place": "London", "text": DEMANDS}),
        ({"work_permits": ("EU",)}, {"place": "New York, United States", "text": "No visa sponsorship."}),
        ({"work_permits": ("Portugal",)}, {"text": "Eine gültige Arbeitserlaubnis ist nötig."}),
    ],
)
def test_is_ruled_out(wishes: dict[str, Any], changes: dict[str, Any]) -> None:
    assert exclusion_reason(advert(**changes), JobWishes(**wishes))


@pytest.mark.parametrize(
    ("wishes", "changes"),
    [
        ({}, {}),
        ({"places": ("Berlin",)}, {}),
        ({"places": ("Deutschland",)}, {}),
        ({"places": ("München", "berlin")}, {}),
        ({"places": ("Lisbon",)}, {"place": ""}),
        ({"places": ("Ireland",)}, {"place": "Cork, IE", "country": "IE"}),
        ({"places": ("Cork, Ireland",)}, {"place": "Cork, IE", "country": "IE"}),
        ({"places": ("Sweden",)}, {"place": "Göteborg", "country": "Sverige"}),
        ({"places": ("Gothenburg, Sweden",)}, {"place": "Göteborg, SE", "country": "SE"}),
        ({"places": ("Linz, Austria",)}, {"place": "Traun", "country": "Österreich", "areas": ("Linz",)}),
        ({"places": ("Brussels",)}, {"place": "Bruxelles, BE", "country": "BE"}),
        ({"places": ("Mexico City",)}, {"place": "Ciudad de México, MX", "country": "MX"}),
        ({"places": ("European Union",)}, {"place": "Ghent, BE", "country": "BE"}),
        ({"places": ("Scotland",)}, {"place": "Leith, GB", "country": "GB"}),
        ({"places": ("Lisbon",)}, {"is_remote": True}),
        ({"remote": "only"}, {"is_remote": True}),
        ({"remote": "no"}, {}),
        ({"pay_from": 65_000, "pay_currency": "EUR"}, {"pay": EUROS}),
        ({"pay_from": 80_000}, {}),
        ({"pay_from": 80_000, "pay_currency": "USD"}, {"pay": EUROS}),
        ({"pay_from": 50_000}, {"pay": Pay(highest=30, per="hour")}),
        ({"languages": ("EN",)}, {}),
        ({"languages": ("de",)}, {"language": ""}),
        ({"never": ("script",)}, {"text": "We write TypeScript."}),
        ({"work_permits": ("UK",)}, {"place": "London, United Kingdom", "text": DEMANDS}),
        ({"work_permits": ("European Union",)}, {"text": "Eine gültige Arbeitserlaubnis ist nötig."}),
        ({"work_permits": ("Germany",)}, {"place": "", "text": "You need work authorization."}),
        ({"work_permits": ("Portugal",)}, {}),
    ],
)
def test_is_not_ruled_out(wishes: dict[str, Any], changes: dict[str, Any]) -> None:
    assert exclusion_reason(advert(**changes), JobWishes(**wishes)) is None


def test_it_is_reported_what_the_wishes_ruled_out() -> None:
    places = ("Berlin, Germany", "Ghent, Belgium", "Ghent, Belgium")
    adverts = [advert(id=str(number), place=place) for number, place in enumerate(places)]
    fits, reported = without_excluded(adverts, JobWishes(places=("Berlin",)))
    assert [each.id for each in fits] == ["0"]
    assert reported == ("Your wishes ruled out 2 jobs that the boards have: It is in Ghent, Belgium.",)
    assert without_excluded(adverts[:1], JobWishes()) == (adverts[:1], ())
