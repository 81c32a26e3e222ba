"""Whether the evidence gives the quantities that a claim gives."""

import re
from collections.abc import Iterator, Sequence
from datetime import date

from qwestly_agent.cards.dates import dates_in, durations
from qwestly_agent.cards.lexicon import CURRENCIES, LANGUAGES, ORDINALS, OTHER_PEOPLE, RATES, UNITS
from qwestly_agent.cards.passages import Passage, bare, canonical, stem
from qwestly_agent.cards.quantities import STAFF, Quantity, quantities, with_derived

ROUNDED = 0.05
"""How far a rounded number may be from what the evidence says, besides rounding to the digits it shows."""
ABOUT = 0.10
"""The same where the claim itself says "about" or "nearly"."""

_IN_ALL = re.compile(
    r"\b(?:experience|experienced|career|total|altogether|background|combined|in all|practice|years in)\b",
    re.IGNORECASE,
)
_ANYBODY = STAFF | {stem(word) for word in OTHER_PEOPLE}
_PERSON = frozenset({stem("person")})


def check_numbers(claim: Passage, evidence: Sequence[Passage], today: date) -> Iterator[str]:
    if not (asked := quantities(claim)):
        return
    known = [(quantity, passage) for passage in evidence for quantity in with_derived(passage)]
    for wanted in asked:
        if any(_supports(found, wanted) and _same_rate(wanted, passage) for found, passage in known):
            continue
        if wanted.unit == "rank" and any(ORDINALS.get(int(wanted.value), "-") in passage.keys for passage in evidence):
            continue
        if stem("language") in wanted.nouns and wanted.value == len(_languages(evidence)):
            continue
        if wanted.value == 0 and any(passage.voice == "denies" for passage in evidence):
            continue
        lasted: list[float] = []
        if wanted.unit == "months" and not _said_nearer(claim, known):
            lasted = durations(_words_around(wanted, claim), bool(_IN_ALL.search(claim.text)), evidence, today)
        if not any(_lasted(months, wanted) for months in lasted):
            yield _why(wanted, [found for found, _ in known], lasted)


def _languages(evidence: Sequence[Passage]) -> frozenset[str]:
    keys = frozenset[str]().union(*(passage.keys for passage in evidence))
    return keys & frozenset(canonical(language) for language in LANGUAGES)


def _words_around(wanted: Quantity, claim: Passage) -> frozenset[str]:
    """Of "head of finance since 2021, after nine years at Globex", the part with the nine years."""
    parts = [Passage(part, claim.voice).stems for part in re.split(r"[,;()]", claim.text) if wanted.text in part]
    return next((stems for stems in parts if len(stems) > 2), claim.stems)


def _said_nearer(claim: Passage, known: Sequence[tuple[Quantity, Passage]]) -> bool:
    """Whether how long it took is said where most of the claim's words are, so that no dates need be counted."""
    said = [
        len(claim.stems & passage.stems) for found, passage in known if found.unit == "months" and found.value >= 12
    ]
    dated = [len(claim.stems & passage.stems) for _, passage in known if dates_in(passage).spans]
    return max(said, default=0) > max(dated, default=0) + 1


def _supports(found: Quantity, wanted: Quantity) -> bool:
    if found.unit == "change":
        return _of_change(found.value, wanted)
    if wanted.unit in ("times", "percent") and found.unit in ("times", "percent") and found.unit != wanted.unit:
        times = found.value if found.unit == "times" else wanted.value
        percent = wanted.value if found.unit == "times" else found.value
        return abs(abs(times - 1) * 100 - percent) <= 1
    return _same_unit(found, wanted) and _same_value(found, wanted)


def _of_change(times: float, wanted: Quantity) -> bool:
    if wanted.unit == "times":
        return min(abs(times - wanted.value), abs(1 / times - wanted.value)) <= ROUNDED * wanted.value
    return wanted.unit == "percent" and abs(abs(times - 1) * 100 - wanted.value) <= 0.5


def _same_unit(found: Quantity, wanted: Quantity) -> bool:
    if wanted.unit != found.unit:
        # "4.5 million in revenue" says less than "€4.5m".
        return not wanted.unit and not wanted.nouns and found.unit in set(CURRENCIES.values())
    if wanted.unit:
        return True
    if not wanted.nouns or not found.nouns | found.near:
        return True
    said = found.nouns | found.near
    if wanted.nouns & said:
        return True
    if wanted.nouns & _PERSON or found.nouns & _PERSON:
        return bool(wanted.nouns & _ANYBODY and said & _ANYBODY)
    return bool(wanted.nouns & STAFF) and (bool(said & STAFF) or not found.nouns)


def _same_value(found: Quantity, wanted: Quantity) -> bool:
    value, aim = found.value, wanted.value
    if wanted.how == "over":
        return value > aim * 0.999 and (found.how in ("exact", "over") or value > aim)
    if wanted.how == "under":
        return aim / 2 <= value <= aim
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
    likely = [q for q in known if q.text and _same_unit(q, wanted)] or [
        q for q in known if q.text and q.value == wanted.value
    ]
    if wanted.unit == "months" and not likely and lasted:
        return f"The cited dates do not make {wanted.text}: the longest is {max(lasted) / 12:.1f} years."
    if likely:
        nearest = min(likely, key=lambda q: abs(q.value - wanted.value))
        hedge = "" if nearest.how == "exact" else f"{nearest.how} "
        return f"The evidence says {hedge}{nearest.text}, not {wanted.text}."
    return f"No cited source says {wanted.text}."
