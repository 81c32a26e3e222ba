"""Whether the evidence gives the quantities that a claim gives."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise

from qwestly_agent.memory.rules.dates import dates_in, durations, years_at
from qwestly_agent.memory.rules.lexicon import (
    CLASSES,
    CURRENCIES,
    LANGUAGES,
    LEARNERS,
    OCCASIONS,
    OTHER_PEOPLE,
    RATES,
    UNITS,
)
from qwestly_agent.memory.rules.passages import Passage, bare, canonical, stem
from qwestly_agent.memory.rules.quantities import (
    SHARE_STEMS,
    STAFF,
    Quantity,
    derived,
    quantities,
    risen_in,
    with_derived,
)

ROUNDED = 0.05
"""How far a rounded number may be from what the evidence says, besides rounding to the digits it shows."""
ABOUT = 0.10
"""The same where the claim itself says "about" or "nearly"."""

_IN_ALL = re.compile(
    r"\b(?:experience|experienced|career|total|altogether|background|combined|in all|practice|years in)\b",
    re.IGNORECASE,
)
_ANYBODY = STAFF | {stem(word) for word in OTHER_PEOPLE}
_LEARNERS = frozenset(map(stem, LEARNERS))
_TAUGHT = _LEARNERS | frozenset(map(stem, CLASSES))
_OCCASIONS = frozenset(map(stem, OCCASIONS))
_PERSON = frozenset({stem("person")})
_HEDGES = {"exact": "", "over": "more than ", "under": "at most ", "nearly": "nearly ", "about": "about "}

Known = Sequence[tuple[Quantity, Passage]]


def check_numbers(claim: Passage, evidence: Sequence[Passage], today: date) -> Iterator[str]:
    if not (asked := quantities(claim)):
        return
    known = [(quantity, passage) for passage in evidence for quantity in with_derived(passage)]
    # From 58 % to 74 % are 16 points wherever the 58 and the 74 are from: they are looked up by themselves.
    own = list(derived(asked))
    ends = {end for pair in pairwise(asked) if pair[0].from_here for end in pair}
    for wanted in asked:
        # What it went from and to must be said; by how much may be reckoned.
        fit = [passage for found, passage in known if (found.text or wanted not in ends) and _supports(found, wanted)]
        if any(_same_rate(wanted, passage) for passage in fit):
            continue
        if (wanted not in ends and any(_supports(found, wanted) for found in own)) or _counted(wanted, evidence):
            continue
        if wanted.value == 0 and any(passage.voice == "denies" for passage in evidence):
            continue
        lasted: list[float] = []
        if wanted.unit == "months" and not _said_nearer(claim, known):
            lasted = durations(_words_around(wanted, claim), bool(_IN_ALL.search(claim.text)), evidence, today)
            lasted += _between_values(asked, evidence)
        if not any(_lasted(months, wanted) for months in lasted):
            yield _why(wanted, [found for found, _ in known], lasted)


def _counted(wanted: Quantity, evidence: Sequence[Passage]) -> bool:
    """Whether what the claim counts is told one by one: two internships, each in a line of its own."""
    if stem("language") in wanted.nouns:
        return wanted.value == len(_languages(evidence))
    if wanted.unit or wanted.how != "exact" or not wanted.nouns or not 2 <= wanted.value <= 9:
        return False
    told = [passage.stems for passage in evidence if passage.voice == "says" and wanted.nouns <= passage.stems]
    apart = [stems for index, stems in enumerate(told) if not any(stems <= other for other in told[:index])]
    return len(apart) == wanted.value


def _languages(evidence: Sequence[Passage]) -> frozenset[str]:
    keys = frozenset[str]().union(*(passage.keys for passage in evidence))
    return keys & frozenset(canonical(language) for language in LANGUAGES)


def _between_values(asked: Sequence[Quantity], evidence: Sequence[Passage]) -> list[float]:
    """Months from the year of one value that the claim gives to the year of another: 58 % in 2016, 74 % in 2018."""
    found: list[float] = []
    for passage in evidence:
        known = quantities(passage)
        if len(dates_in(passage).solo) < 2 or len(known) < 2:
            continue
        others = [wanted for wanted in asked if wanted.unit != "months"]
        years = years_at(passage, [quantity.start for quantity in known])
        risen = any(_supports(change, wanted) for change in risen_in(passage) for wanted in others)
        told = [
            year
            for quantity, year in zip(known, years, strict=True)
            if year and (risen or any(_supports(quantity, wanted) for wanted in others))
        ]
        found += [12.0 * (max(told) - min(told))] if len(set(told)) > 1 else []
    return found


def _words_around(wanted: Quantity, claim: Passage) -> frozenset[str]:
    """Of "head of finance since 2021, after nine years at Globex", the part with the nine years."""
    parts = [Passage(part, claim.voice).stems for part in re.split(r"[,;()]", claim.text) if wanted.text in part]
    return next((stems for stems in parts if len(stems) > 2), claim.stems)


def _said_nearer(claim: Passage, known: Known) -> bool:
    """Whether how long it took is said where most of the claim's words are, so that no dates need be counted."""
    said = [
        len(claim.stems & passage.stems) for found, passage in known if found.unit == "months" and found.value >= 12
    ]
    dated = [len(claim.stems & passage.stems) for _, passage in known if dates_in(passage).spans]
    return max(said, default=0) > max(dated, default=0) + 1


def _supports(found: Quantity, wanted: Quantity) -> bool:
    if found.unit == "change":
        return _of_change(found.value, wanted)
    if {found.unit, wanted.unit} == {"share", "percent"}:
        return _same_value(found, wanted)
    if wanted.unit == "times" and not found.unit and found.nouns & _OCCASIONS:
        return _same_value(found, wanted)  # three editions, three times
    if wanted.unit in ("times", "percent") and found.unit in ("times", "percent") and found.unit != wanted.unit:
        times = found.value if found.unit == "times" else wanted.value
        percent = wanted.value if found.unit == "times" else found.value
        return abs(abs(times - 1) * 100 - percent) <= 1
    return _same_unit(found, wanted) and _same_value(found, wanted)


def _of_change(times: float, wanted: Quantity) -> bool:
    if wanted.unit == "times":
        return min(abs(times - wanted.value), abs(1 / times - wanted.value)) <= ROUNDED * wanted.value
    if wanted.unit in ("share", "left"):
        return abs(times * 100 - wanted.value) <= wanted.step / 2
    return wanted.unit == "percent" and abs(abs(times - 1) * 100 - wanted.value) <= max(0.5, wanted.step / 2)


def _same_unit(found: Quantity, wanted: Quantity) -> bool:
    if wanted.unit != found.unit:
        if wanted.unit == "percent" and not found.unit and not found.nouns:
            return bool(found.near & wanted.near & SHARE_STEMS)  # "accuracy was 97.1"
        # "4.5 million in revenue" says less than "€4.5m".
        return not wanted.unit and not wanted.nouns and found.unit in set(CURRENCIES.values())
    if wanted.unit:
        return True
    if not wanted.nouns or not found.nouns | found.near:
        return True
    return _same_nouns(found, wanted)


def _same_nouns(found: Quantity, wanted: Quantity) -> bool:
    said = found.nouns | found.near
    if wanted.nouns & said:
        return True
    if (wanted.nouns & _LEARNERS and not said & _TAUGHT) or (found.nouns & _LEARNERS and not wanted.nouns & _TAUGHT):
        return False
    if wanted.nouns & _PERSON or found.nouns & _PERSON:
        return bool(wanted.nouns & _ANYBODY and said & _ANYBODY)
    return bool(wanted.nouns & STAFF) and (bool(said & STAFF) or (not found.nouns and found.step >= 1))


def _same_value(found: Quantity, wanted: Quantity) -> bool:
    value, aim = found.value, wanted.value
    if wanted.how == "over":
        return value > aim * 0.999 and (found.how in ("exact", "over") or value > aim)
    if wanted.how == "under":
        return (aim * (1 - ROUNDED) if found.how == "under" else aim / 2) <= value <= aim
    if wanted.how in ("nearly", "about"):
        return abs(value - aim) <= ABOUT * aim and not (wanted.how == "nearly" and value > aim * 1.001)
    if found.how in ("nearly", "under"):
        return False
    return abs(value - aim) <= min(wanted.step / 2, ROUNDED * aim) or abs(value - aim) < 1e-6 * aim


def _same_rate(wanted: Quantity, passage: Passage) -> bool:
    if not wanted.rate:
        return True
    return any(RATES.get(bare(token.text)) == wanted.rate for token in passage.tokens)


def _lasted(months: float, wanted: Quantity) -> bool:
    """Whether what lasted so many months is so many decades, years, half years or months long."""
    size = 12 if wanted.value % 12 == 0 else 6 if wanted.value % 6 == 0 else 1
    if wanted.how == "over":
        return months >= wanted.value
    if wanted.how in ("nearly", "about"):
        return 0.85 * wanted.value <= months <= wanted.value * (1.0 if wanted.how == "nearly" else 1.1)
    if wanted.scale == UNITS["decade"][1]:
        return wanted.value * 0.95 <= months < wanted.value * 1.2
    return wanted.value in (months // size * size, round(months / size) * size)


def _why(wanted: Quantity, known: Sequence[Quantity], lasted: Sequence[float]) -> str:
    alike = [found for found in known if found.text and _of_one_kind(found, wanted)]
    if wanted.unit == "months" and not alike and lasted:
        return f"The cited dates do not make {wanted.text}: the longest is {max(lasted) / 12:.1f} years."
    nearest = min(alike, key=lambda found: abs(found.value - wanted.value), default=None)
    if nearest is None or (_same_value(nearest, wanted) and not wanted.rate):
        return f"No cited source says {wanted.text}."
    if _same_value(nearest, wanted):
        return f"No cited source says {wanted.text} per {wanted.rate}."
    return f"The evidence says {_HEDGES[nearest.how]}{nearest.text}, not {_HEDGES[wanted.how]}{wanted.text}."


def _of_one_kind(found: Quantity, wanted: Quantity) -> bool:
    """Whether the two measure or count the same, so that the one may be quoted against the other."""
    if wanted.unit or found.unit:
        return wanted.unit == found.unit
    return _same_nouns(found, wanted) if wanted.nouns else not found.nouns and bool(found.near & wanted.near)
