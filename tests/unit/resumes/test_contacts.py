"""What is masked in a résumé before a model reads it, and what is not."""

import pytest

from qwestly_agent.resumes.contacts import without_contacts


@pytest.mark.parametrize(
    ("text", "masked", "kind", "found"),
    [
        ("maya@example.org, Lisbon", "[email], Lisbon", "email", "maya@example.org"),
        ("+351 912 345 678 | Lisbon", "[phone] | Lisbon", "phone", "+351 912 345 678"),
        ("See https://maya.dev/work?a=1.", "See [url].", "url", "https://maya.dev/work?a=1"),
        ("linkedin.com/in/maya-lopes · Lisbon", "[url] · Lisbon", "url", "linkedin.com/in/maya-lopes"),
        ("de.linkedin.com/in/maya", "[url]", "url", "de.linkedin.com/in/maya"),
        ("github.com/maya, www.maya.dev", "[url], [url]", "url", "github.com/maya"),
        ("Date of birth: 4 May 1990", "Date of birth: [birth date]", "birth date", "4 May 1990"),
        ("born on May 4, 1990 in Porto", "born on [birth date] in Porto", "birth date", "May 4, 1990"),
        ("geb. 04.05.1990", "geb. [birth date]", "birth date", "04.05.1990"),
        ("Geburtsdatum: 04.05.1990", "Geburtsdatum: [birth date]", "birth date", "04.05.1990"),
        (
            "Fecha de nacimiento: 4 de mayo de 1990",
            "Fecha de nacimiento: [birth date]",
            "birth date",
            "4 de mayo de 1990",
        ),
        ("12 Harbour View Road, Leeds LS1 4AB", "[street], Leeds LS1 4AB", "street", "12 Harbour View Road"),
        ("Torstraße 12a, 10119 Berlin", "[street], 10119 Berlin", "street", "Torstraße 12a"),
        ("Alte Schönhauser Str. 5, Berlin", "[street], Berlin", "street", "Alte Schönhauser Str. 5"),
        ("Calle de Alcalá 45, Madrid", "[street], Madrid", "street", "Calle de Alcalá 45"),
        ("14 rue de Rivoli, Paris", "[street], Paris", "street", "14 rue de Rivoli"),
    ],
)
def test_contact_details_are_masked_and_kept(text: str, masked: str, kind: str, found: str) -> None:
    got, kept = without_contacts(text)
    assert got == masked
    assert kept[kind][0] == found


@pytest.mark.parametrize(
    "text",
    [
        "Built services in Node.js, ASP.NET and Vue.js for amazon.com",
        "2015 - 2019 and 2019-2023, 04/2021 – today",
        "Led 12 engineers on Wall Street and 3 at Kestrel Labs",
        "Born leader of 5 teams since 1990",
        "From 04.05.2019 to 06.07.2021 at Meridian Rail",
        "Version 1.2.3 of github flavoured tooling",
        "Worked 10 Road shows a year",
        "Raised 45 million in Avenue A",
    ],
)
def test_what_is_no_contact_stays_as_it_is(text: str) -> None:
    assert without_contacts(text) == (text, {})


@pytest.mark.parametrize("hostile", ["A", "A ", "Aa.", "1 A ", "www.", "a-", "Rue A ", "A, ", "born 1", "Straße"])
def test_a_text_made_to_be_slow_is_read_all_the_same(hostile: str) -> None:
    """With a search that tries every way, this test would not end."""
    without_contacts(hostile * (100_000 // len(hostile)))
