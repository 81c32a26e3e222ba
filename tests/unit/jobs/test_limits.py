"""Jobs that wishes rule out. An advert that does not mention a subject is not ruled out by it."""

import random
import re
from typing import Any

import pytest

from qwestly_agent.domain.job import Advert, JobWishes, Pay
from qwestly_agent.jobs.wishes import excluding_wish, without_excluded


def advert(**changes: Any) -> Advert:
    told = {
        "id": "a1",
        "title": "Backend Engineer",
        "company": "Kestrel Labs",
        "place": "Berlin, DE",
        "country": "DE",
        "areas": ("Berlin",),
    }
    return Advert(**{**told, "board": "adzuna", "text": "We build services in Python.", "language": "en", **changes})


EUROS = Pay(lowest=60_000, highest=70_000, currency="EUR")


@pytest.mark.parametrize(
    ("wishes", "changes"),
    [
        ({"places": ("Lisbon",)}, {}),
        ({"places": ("Berlin",)}, {"place": "Berlingen, CH", "country": "CH", "areas": ("Berlingen",)}),
        ({"places": ("Belgium",)}, {"place": "Ghent, KY, US", "country": "US", "areas": ("Ghent", "KY")}),
        ({"places": ("Canada",)}, {"place": "Pasadena, CA, US", "country": "US", "areas": ("Pasadena", "CA")}),
        ({"places": ("Ghent, Belgium",)}, {"place": "Ghent, KY, US", "country": "US", "areas": ("Ghent", "KY")}),
        ({"places": ("Cork, Ireland",)}, {"place": "Dublin, IE", "country": "IE", "areas": ("Dublin",)}),
        ({"places": ("Graz",)}, {"country": "AT", "areas": ("Linz", "Oberösterreich")}),
        ({"remote": "only"}, {"way": "on_site"}),
        ({"remote": "only"}, {"way": "hybrid"}),
        ({"remote": "no"}, {"way": "remote"}),
        ({"pay_from": 80_000}, {"pay": EUROS}),
        ({"pay_from": 80_000, "pay_currency": "EUR"}, {"pay": EUROS}),
        ({"pay_from": 80_000}, {"pay": Pay(highest=30, per="hour")}),
        ({"languages": ("de",)}, {}),
        ({"never": ("Kestrel",)}, {}),
        ({"never": ("python",)}, {}),
        ({"never": ("ai",)}, {"text": "We build AI."}),
        ({"never": ("Go",)}, {"text": "Services in Go and Rust."}),
        ({"never": ("C++",)}, {"text": "Five years of C++."}),
        ({"never": (".NET",)}, {"text": "A .NET shop, ASP.NET first."}),
        ({"never": ("R",)}, {"text": "We use R and SQL."}),
        ({"never": ("销售",)}, {"text": "我们招聘销售经理。"}),
        ({"never": ("営業",)}, {"text": "法人営業職を募集します。"}),
        ({"never": ("banks",)}, {"text": "A bank with a heart."}),
        ({"never": ("kestrel labs",)}, {"company": "KESTREL LABS GmbH"}),
        ({"work_permits": ("Germany",)}, {"country": "GB", "visa": "not_sponsored"}),
        ({"work_permits": ("EU",)}, {"country": "US", "visa": "not_sponsored"}),
        ({"work_permits": ("Portugal",)}, {"visa": "not_sponsored"}),
    ],
)
def test_a_wish_rules_out_this_advert(wishes: dict[str, Any], changes: dict[str, Any]) -> None:
    assert excluding_wish(advert(**changes), JobWishes(**wishes))


@pytest.mark.parametrize(
    ("wishes", "changes"),
    [
        ({}, {}),
        ({"places": ("Berlin",)}, {}),
        ({"places": ("Deutschland",)}, {}),
        ({"places": ("München", "berlin")}, {}),
        ({"places": ("Lisbon",)}, {"place": "", "country": "", "areas": ()}),
        ({"places": ("Ireland",)}, {"place": "Cork, IE", "country": "IE", "areas": ("Cork",)}),
        ({"places": ("Cork, Ireland",)}, {"place": "Cork, IE", "country": "IE", "areas": ("Cork",)}),
        ({"places": ("Sweden",)}, {"country": "SE", "areas": ("Göteborg",)}),
        ({"places": ("Gothenburg, Sweden",)}, {"country": "SE", "areas": ("Göteborg",)}),
        ({"places": ("Linz, Austria",)}, {"country": "AT", "areas": ("Linz", "Traun")}),
        ({"places": ("Brussels",)}, {"country": "BE", "areas": ("Bruxelles",)}),
        ({"places": ("Mexico City",)}, {"country": "MX", "areas": ("Ciudad de México",)}),
        ({"places": ("European Union",)}, {"country": "BE", "areas": ("Ghent",)}),
        ({"places": ("Scotland",)}, {"country": "GB", "areas": ("Leith",)}),
        ({"places": ("Lisbon",)}, {"way": "remote", "country": ""}),
        ({"remote": "only"}, {"way": "remote"}),
        ({"remote": "only"}, {}),
        ({"remote": "no"}, {}),
        ({"pay_from": 65_000, "pay_currency": "EUR"}, {"pay": EUROS}),
        ({"pay_from": 80_000}, {}),
        ({"pay_from": 80_000, "pay_currency": "USD"}, {"pay": EUROS}),
        ({"pay_from": 50_000}, {"pay": Pay(highest=30, per="hour")}),
        ({"pay_from": 50_000}, {"pay": Pay(highest=450, per=None)}),
        ({"languages": ("EN",)}, {}),
        ({"languages": ("de",)}, {"language": ""}),
        ({"never": ("script",)}, {"text": "We write TypeScript."}),
        ({"never": ("Go",)}, {"text": "Let's go!"}),
        ({"never": ("C++",)}, {"text": "Grade C or above in maths."}),
        ({"never": ("C",)}, {"text": "We write C++ and C#."}),
        ({"never": (".NET",)}, {"text": "The net salary is paid monthly."}),
        ({"never": ("R",)}, {"text": "You report to R. Smith in R&D."}),
        ({"never": ("crypto",)}, {"text": "We study cryptography."}),
        ({"work_permits": ("UK",)}, {"country": "GB", "visa": "not_sponsored"}),
        ({"work_permits": ("European Union",)}, {"visa": "not_sponsored"}),
        ({"work_permits": ("Germany",)}, {"country": "", "visa": "not_sponsored"}),
        ({"work_permits": ("Portugal",)}, {}),
    ],
)
def test_no_wish_rules_out_this_advert(wishes: dict[str, Any], changes: dict[str, Any]) -> None:
    assert excluding_wish(advert(**changes), JobWishes(**wishes)) is None


def test_the_number_of_jobs_each_wish_rules_out_is_reported() -> None:
    places = ("Berlin, DE", "Ghent, BE", "Ghent, BE")
    adverts = [advert(id=str(number), country=place[-2:], areas=(place[:-4],)) for number, place in enumerate(places)]
    fits, reported = without_excluded(adverts, JobWishes(places=("Berlin",)))
    assert [each.id for each in fits] == ["0"]
    assert reported == ("3 jobs found; your wish for Berlin ruled out 2.",)
    assert without_excluded(adverts[:1], JobWishes()) == (adverts[:1], ())


def test_a_wish_that_rules_out_every_job_is_reported() -> None:
    adverts = [advert(id=str(number), country="BE", areas=("Ghent",)) for number in range(2)]
    wishes = JobWishes(places=("Berlin",))
    assert without_excluded(adverts, wishes) == ([], ("2 jobs found; your wish for Berlin ruled out all 2.",))
    assert without_excluded(adverts[:1], wishes) == ([], ("1 job found; your wish for Berlin ruled out 1.",))


def test_each_of_200_searches_counts_found_jobs_and_those_hidden_by_each_wish() -> None:
    chance = random.Random(3)
    towns = (("Berlin", "DE"), ("Porto", "PT"), ("Leeds", "GB"), ("Austin", "US"))
    for _ in range(200):
        adverts = [
            advert(id=str(number), country=country, areas=(town,), way=chance.choice(("on_site", "remote", None)))
            for number, (town, country) in enumerate(chance.choices(towns, k=chance.randint(1, 12)))
        ]
        wishes = JobWishes(
            places=tuple(town for town, _ in chance.sample(towns, chance.randint(0, 2))),
            remote=chance.choice(("any", "only", "no")),
            never=chance.choice(((), ("Kestrel",))),
        )
        fits, told = without_excluded(adverts, wishes)
        hidden = len(adverts) - len(fits)
        assert sum(map(int, re.findall(r"ruled out (?:all )?(\d+)", " ".join(told)))) == hidden
        assert not hidden or told[0].startswith(f"{len(adverts)} job")
