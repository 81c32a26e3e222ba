"""Recognize places by the names that people and job boards use, in five languages: countries, regions and towns.

The table next to this module is searched as text, because an index of it would take 20 MB and a quarter of a second.
"""

import gzip
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

_WORD = re.compile(r"[^\W_]+")
_PARTS = re.compile(r"[,/|;()]|\s[–—-]\s")


class _Row(NamedTuple):
    kind: str
    """`c` country, `r` region, `t` town, `g` group of countries."""
    code: str
    parent: str
    names: frozenset[str]

    @property
    def country(self) -> str:
        return self.code[:2]


def plain_place(text: str) -> str:
    """Return lower-case words without accents and punctuation."""
    bare = "".join(each for each in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(each))
    return " ".join(_WORD.findall(bare))


def parts_of(place: str) -> list[str]:
    """Return the parts of a place's name: "Kreuzberg, Berlin" has two."""
    return [part for each in _PARTS.split(place) if (part := each.strip())]


def country_of(name: str) -> str:
    """Return a country's code (ISO 3166-1 alpha-2) for its name or code; empty if unknown."""
    code = name.strip().upper()
    if len(code) == 2 and f"\nc\t{code}\t" in _table():
        return code
    return next((each.code for each in _rows(plain_place(name)) if each.kind == "c"), "")


def countries_of(name: str) -> frozenset[str]:
    """Return the codes of the countries that a name refers to: a country, or a group such as the European Union."""
    if code := country_of(name):
        return frozenset((code,))
    groups = [each for each in _rows(plain_place(name)) if each.kind == "g"]
    return frozenset(code for each in groups[:1] for code in each.parent.split())


def home_countries(places: Iterable[str]) -> frozenset[str]:
    """Return the countries of these places; empty if one of them is unknown."""
    found = frozenset[str]()
    for place in places:
        *_, last = parts_of(place) or [place]
        here = countries_of(last) or {each.country for each in (*_rows(plain_place(last)), *_regions_by_code(last))}
        if not here:
            return frozenset()
        found |= here
    return found


def is_in(country: str, names: Sequence[str], wish: str) -> bool | None:
    """Return whether a place is inside the wished-for one; None if this is unclear.

    `country` is a code or empty; `names` are the names of its town, district or region. A wish is a name such as
    "Berlin", "Bavaria", "Berlin, Germany", "Cambridge, MA" or "European Union".
    """
    *heads, last = parts_of(wish) or [wish]
    meant = _areas(last) if heads else _meanings(last)
    found = [_is_in_row(country, names, each) for each in meant]
    if False in [each for each, row in zip(found, meant, strict=True) if row.kind == "t" and row.country == country]:
        found = [each for each in found if each is not None]  # another town, given without its region
    if heads and found:  # now find the town in the area named after it
        if all(each is False for each in found):
            return False
        found = [_is_in_row(country, names, each) for each in _meanings(heads[0])] or [_is_named(names, heads[0])]
    found = found or [_is_named(names, wish)]
    return True if True in found else None if None in found else False


def same_town(one: str, other: str) -> bool:
    """True if the names are equal or denote the same town."""
    name = plain_place(other)
    return plain_place(one) == name or any(name in each.names for each in _rows(plain_place(one)) if each.kind == "t")


def town_key(place: str) -> str:
    """Return the same key for all names of a place, including its country if given: the key for "Lisboa" contains
    "lisbon"."""
    *heads, last = parts_of(place) or [place]
    name, country = plain_place(heads[0] if heads else last), country_of(last) if heads else ""
    towns = [each for each in _rows(name) if each.kind == "t" and country in ("", each.country)]
    if len(towns) == 1:
        return f"{towns[0].country} {min(towns[0].names)}"
    return f"{country or plain_place(last)} {name}"


def _is_in_row(country: str, names: Sequence[str], row: _Row) -> bool | None:
    if row.kind == "g":
        return country in row.parent.split() if country else None
    if country and country != row.country:
        return False
    told = [plain_place(each) for each in names]
    match row.kind:
        case "c":
            return True if country else None
        case "r":
            known = _regions_of(row.country, names)
            return True if row.code in known or row.names & {*told} else False if known else None
        case _:
            if any(_begins_with(each, row.names) for each in told):
                return True
            return False if any(not _is_region_only(row.country, each) for each in told) else None


def _begins_with(told: str, names: frozenset[str]) -> bool:
    """True if the text is a town's name, even with a postcode before it or a district after it."""
    bare = " ".join(each for each in told.split() if not each.isdigit())
    return bare in names or any(bare.startswith(f"{each} ") and len(each) > 5 for each in names)


def _is_named(names: Sequence[str], wish: str) -> bool | None:
    """True if an unknown place has the wish's name; otherwise None (unclear)."""
    return True if plain_place(wish) in map(plain_place, names) else None


def _is_region_only(country: str, name: str) -> bool:
    rows = [each for each in _rows(name) if each.country == country]
    regions = [each for each in rows if each.kind == "r"] or _regions_by_code(name, country)
    return bool(regions) and not any(each.kind == "t" for each in rows)


def _regions_of(country: str, names: Sequence[str]) -> frozenset[str]:
    """Return the codes of the regions with these names in this country, and of the regions that contain them."""
    rows = [each for name in names for each in _rows(plain_place(name)) if each.kind == "r" and each.country == country]
    rows += [each for name in names for each in _regions_by_code(name, country)]
    return frozenset(code for each in rows for code in (each.code, each.parent) if code)


def _meanings(name: str) -> list[_Row]:
    return _rows(plain_place(name)) or _areas(name)


def _areas(name: str) -> list[_Row]:
    """Return the countries, groups and regions that a name or a code refers to."""
    rows = [each for each in _rows(plain_place(name)) if each.kind != "t"]
    rows += [_Row("c", code, "", frozenset()) for code in (country_of(name),) if code and len(name.strip()) == 2]
    return rows + _regions_by_code(name)


@lru_cache(maxsize=4_096)
def _regions_by_code(name: str, country: str = "") -> list[_Row]:
    """Return the regions whose code ends with this one: "CA" in the United States, and in the other countries that use
    such codes."""
    code = name.strip().upper()
    if not 1 <= len(code) <= 3 or not code.isalnum():
        return []
    return [*_lines(*(f"\nr\t{each}-{code}\t" for each in ((country,) if country else ("US", "CA", "AU", "BR"))))]


@lru_cache(maxsize=4_096)
def _rows(name: str) -> list[_Row]:
    return [*_lines(f"|{name}|")] if name else []


def _lines(*wanted: str) -> Iterator[_Row]:
    table = _table()
    for each in wanted:
        at = table.find(each)
        while at >= 0:
            begins = table.rfind("\n", 0, at + 1) + 1
            ends = table.find("\n", begins)
            kind, code, parent, names = table[begins:ends].split("\t")
            yield _Row(kind, code, parent, frozenset(names.strip("|").split("|")))
            at = table.find(each, ends - 1)


@cache
def _table() -> str:
    return gzip.decompress(Path(__file__).with_name("places.tsv.gz").read_bytes()).decode()
