"""Places by the names that people and boards give them."""

import gzip
from importlib.resources import files

import pytest

from qwestly_agent.text.places import countries_of, country_of, home_countries, is_in, town_key

MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    ("wish", "country", "names", "is_there"),
    [
        ("Germany", "DE", (), True),
        ("Deutschland", "DE", ("München",), True),
        ("Alemania", "US", ("Austin", "TX"), False),
        ("Germany", "", ("Springfield",), None),
        ("Munich", "DE", ("München", "Bayern"), True),
        ("München", "DE", ("Augsburg", "Bayern"), False),
        ("Munich", "DE", ("Bayern",), None),
        ("Bavaria", "DE", ("Augsburg", "BY"), True),
        ("Bavaria", "DE", ("Kiel", "SH"), False),
        ("Bavaria", "DE", ("Augsburg",), None),
        ("Berlin, Germany", "DE", ("Berlin", "Kreuzberg"), True),
        ("Cambridge, MA", "US", ("Cambridge", "MA"), True),
        ("Cambridge, MA", "GB", ("Cambridge",), False),
        ("London, UK", "CA", ("London", "ON"), False),
        ("Vienna", "AT", ("1030 Wien",), True),
        ("India", "US", ("Bloomington", "IN"), False),
        ("European Union", "BE", ("Ghent",), True),
        ("European Union", "CH", ("Basel",), False),
        ("DACH", "CH", ("Basel",), True),
        ("Berlin", "CH", ("Berlingen",), False),
        ("The Valley of Nowhere", "US", ("Austin",), None),
    ],
)
def test_a_place_is_found_by_any_of_its_names_and_ambiguity_is_kept(
    wish: str, country: str, names: tuple[str, ...], is_there: bool | None
) -> None:
    assert is_in(country, names, wish) is is_there


def test_countries_have_codes_names_in_five_languages_and_groups() -> None:
    names = ("DE", "Germany", "Deutschland", "Alemania", "Allemagne", "Alemanha")
    assert {country_of(each) for each in names} == {"DE"}
    assert {country_of(each) for each in ("UK", "England, sort of", "GB")} == {"GB", ""}
    assert countries_of("Benelux") == {"BE", "NL", "LU"}
    assert home_countries(("Lisboa", "Berlin, Germany")) == {"PT", "DE"}
    assert home_countries(("Lisboa", "Nowhere")) == frozenset()


def test_a_town_has_one_key_for_all_its_names() -> None:
    assert town_key("Lisboa") == town_key("Lisbon") == town_key("lissabon, Portugal") != town_key("Porto")
    assert town_key("London, UK") != town_key("London, Ontario")


def test_the_loaded_places_table_is_at_most_a_megabyte() -> None:
    packed = files("qwestly_agent.text").joinpath("places.tsv.gz").read_bytes()
    assert len(gzip.decompress(packed)) <= MEGABYTE
