"""Years, months and spans: what a claim dates must be dated so by its evidence."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from qwestly_agent.memory.rules.lexicon import MONTHS, STOP
from qwestly_agent.memory.rules.passages import Passage, bare, once

_MONTH = "|".join([*MONTHS, "märz", "août", "février", "décembre"])
_YEAR = r"(?:19[4-9]\d|20[0-6]\d)"
_ANY_YEAR = re.compile(rf"{_YEAR}|\bFY ?['’]?\d\d")
_MENTION = re.compile(
    rf"(?:(?<![\w.,/€$£#])|(?<=\bFY)|(?<=\bFY['’]))(?:(?P<iso>{_YEAR})-(?P<iso_month>0[1-9]|1[0-2])(?:-\d\d)?|(?:\d\d?[./])?(?P<month>0?[1-9]|1[0-2])[/.](?P<year1>{_YEAR})"
    rf"|(?:\d\d?\.? )?(?P<name>{_MONTH})\.?,? (?:of )?(?P<year2>{_YEAR})"
    rf"|(?<=\bFY)[ '’]?(?P<fiscal>[0-6]\d)\b"
    rf"|(?P<year3>{_YEAR})(?=(?:s\b)?(?P<short>[-–/]\d\d\b(?!\d))?))(?![\d%€$£]|[.,]\d)",
    re.IGNORECASE,
)
_TO = re.compile(r"\s*(?:[-–—]+|to|until|till|through|up to|bis|à|and)\s*", re.IGNORECASE)
_OPEN = re.compile(
    r"\s*(?:[-–—]+|to|until|till|through|bis|à)\s*(?:the |to )?"
    r"(?:present|now|today|date|current(?:ly)?|ongoing|heute|aujourd['’]hui)\b",
    re.IGNORECASE,
)
_SINCE = re.compile(r"\b(?:since|seit|depuis)(?: \w+)?\s*$", re.IGNORECASE)
_NOW = re.compile(
    r"\b(?:currently|now|today|present|at the moment|heute|derzeit|actuellement|ongoing|since|seit|depuis)\b",
    re.IGNORECASE,
)
_CLAIMS_NOW = re.compile(r"\b(?:currently|at present|at the moment|nowadays)\b", re.IGNORECASE)

Moment = tuple[int, int | None]
"""A year, and its month where it is said."""


@dataclass(frozen=True)
class Span:
    start: Moment
    end: Moment | None
    """None: it goes on."""


@dataclass(frozen=True)
class Dates:
    mentions: tuple[Moment, ...]
    spans: tuple[Span, ...]
    solo: tuple[Moment, ...]
    """Mentioned in no span."""
    places: tuple[tuple[int, int], ...]
    """Where they stand in the text, for they are no quantities."""


@once
def dates_in(passage: Passage) -> Dates:
    text = passage.text
    if not _ANY_YEAR.search(text):
        return Dates((), (), (), ())
    found = list(_mentions(text))
    spans: list[Span] = []
    spanned: set[int] = set()
    for index, (moment, start, end) in enumerate(found):
        follower = found[index + 1] if index + 1 < len(found) else None
        if follower and _TO.fullmatch(text[end : follower[1]]) and moment[0] <= follower[0][0]:
            joined = text[end : follower[1]].strip().lower()
            if joined != "and" or re.search(r"\bbetween\b", text[max(0, start - 20) : start], re.IGNORECASE):
                spans.append(Span(moment, follower[0]))
                spanned |= {index, index + 1}
        elif _OPEN.match(text, end) or _SINCE.search(text, 0, start):
            spans.append(Span(moment, None))
            spanned.add(index)
    solo = tuple(moment for index, (moment, _, _) in enumerate(found) if index not in spanned)
    return Dates(tuple(f[0] for f in found), tuple(spans), solo, tuple((f[1], f[2]) for f in found))


def check_dates(claim: Passage, evidence: Sequence[Passage]) -> Iterator[str]:
    said = dates_in(claim)
    if not said.mentions and not _CLAIMS_NOW.search(claim.text):
        return
    known = [dates_in(passage) for passage in evidence]
    mentions = {moment for dates in known for moment in dates.mentions}
    years = {year for year, _ in mentions}
    for moment in dict.fromkeys(said.mentions):
        if moment[0] not in years:
            yield f"No cited source says {moment[0]}{_instead(years)}."
        elif moment[1] and moment not in mentions:
            yield f"The cited sources say {moment[0]}, but not {_shown(moment)}."
        elif _told_of_else(moment[0], claim, evidence):
            yield f"The cited sources do not say {moment[0]} of this."
        else:
            continue
        return
    spans = [span for dates in known for span in dates.spans]
    solo = {moment for dates in known for moment in dates.solo}
    for span in said.spans:
        if not _span_stands(span, spans, solo):
            yield f"No cited source gives the time {_shown_span(span)}{_other_spans(spans)}."
    if not spans or not _CLAIMS_NOW.search(claim.text):
        return
    if not any(span.end is None for span in spans) and not any(_NOW.search(passage.text) for passage in evidence):
        yield f"The cited sources do not say that it is so now ({_shown_span(spans[-1])})."


def years_at(passage: Passage, starts: Sequence[int]) -> list[int | None]:
    """The year that each of those places has: the next after it and before the next place, or the last before it."""
    dates = dates_in(passage)
    marks = [(place[0], moment[0]) for place, moment in zip(dates.places, dates.mentions, strict=True)]
    first_is_year = bool(marks and starts and marks[0][0] < starts[0])
    found: list[int | None] = []
    for index, start in enumerate(starts):
        until = starts[index + 1] if index + 1 < len(starts) else len(passage.text)
        since = starts[index - 1] if index else 0
        here = [year for at, year in marks if (since <= at < start if first_is_year else start < at < until)]
        found.append(here[0] if len(here) == 1 else None)
    return found


def _told_of_else(year: int, claim: Passage, evidence: Sequence[Passage]) -> bool:
    """Whether what the claim tells has another date, and the year stands where nothing else of the claim does."""
    digits = frozenset(stem for passage in (claim, *evidence) for stem in passage.stems if stem.isdigit())
    dated = [(len((claim.stems & p.stems) - digits), {y for y, _ in dates_in(p).mentions}) for p in evidence]
    elsewhere = max((shared for shared, years in dated if years and year not in years), default=0)
    return elsewhere >= 2 and not any(shared for shared, years in dated if year in years)


def durations(words: frozenset[str], in_all: bool, evidence: Sequence[Passage], today: date) -> list[float]:
    """Months that those spans last which share most of the words, and those that share any; in all: all of them."""
    dated: list[tuple[int, Span]] = []
    for index, passage in enumerate(evidence):
        above = evidence[index - 1] if index else None
        heading = above.stems if above and not above.is_bullet else frozenset[str]()
        for part in _stretches(passage):
            shared = len(words & part.stems) * 2 + len(words & heading)
            dated += [(shared, span) for span in dates_in(part).spans]
    best = max((shared for shared, _ in dated), default=0)
    lengths = [_months_of([span], today)[0] for shared, span in dated if shared == best]
    together = [span for shared, span in dated if shared or best == 0]
    if in_all or best == 0:
        together = [span for _, span in dated]
    return [length for length in lengths + _months_of(together, today) if length > 0]


@once
def _stretches(passage: Passage) -> tuple[Passage, ...]:
    """Of "reporter 2015-2018, editor 2018-now" each with its time; else the whole."""
    if len(dates_in(passage).spans) < 2:
        return (passage,)
    parts = [part for text in re.split(r"[,;]\s", passage.text) if dates_in(part := Passage(text, passage.voice)).spans]
    told = all(len(dates_in(part).spans) == 1 and any(not root.isdigit() for root in part.stems) for part in parts)
    return tuple(parts) if told and len(parts) == len(dates_in(passage).spans) else (passage,)


def _months_of(spans: Sequence[Span], today: date) -> list[float]:
    """What they cover, and what passed from the first day to the last."""
    stretches = sorted((_months(span.start, 1), _end(span, today)) for span in spans)
    covered, reached = 0.0, 0
    for start, end in stretches:
        covered += max(0, end - max(start, reached))
        reached = max(reached, end)
    return [covered, float(reached - stretches[0][0])] if stretches else []


def _mentions(text: str) -> Iterator[tuple[Moment, int, int]]:
    for found in _MENTION.finditer(text):
        written = found["iso"] or found["year1"] or found["year2"] or found["year3"]
        year = int(written or f"20{found['fiscal']}")
        month = found["iso_month"] or found["month"]
        number = int(month) if month else MONTHS[bare(found["name"])] if found["name"] else None
        fiscal = found["fiscal"] or re.search(r"\bFY ?['’]?$", text[: found.start()])
        if not number and not fiscal and _counts(text, found.start(), found.end()):
            continue
        yield (year, number), found.start(), found.end()
        if found["short"] and (short := int(found["short"][1:])) > year % 100:
            yield (year - year % 100 + short, None), found.end() + 1, found.end() + 3


def _counts(text: str, start: int, end: int) -> bool:
    """2000 in "2000 patients" is a number, in "in 2000" and "the 2000 season" a year."""
    after = re.match(r"\+| ([a-zà-ÿ]+)", text[end:])
    before = re.search(r"([\w–-]+)\W{0,2}$", text[:start])
    cue = before and before.group(1).lower() in _YEAR_CUES
    return (
        bool(after)
        and not cue
        and text[start - 1 : start] not in ("-", "–", "/", "(")
        and (after.group(1) or "+") not in STOP
        and int(text[start:end][:4]) % 10 == 0
    )


_YEAR_CUES = set(MONTHS) | set(
    re.findall(
        r"\w+",
        "in since from until till to by the of during early late mid summer spring autumn winter season after before "
        "between and around",
    )
)


def _span_stands(span: Span, spans: Sequence[Span], solo: set[Moment]) -> bool:
    def is_one(moment: Moment, moments: set[Moment]) -> bool:
        return moment in moments if moment[1] else moment[0] in {year for year, _ in moments}

    started = is_one(span.start, {other.start for other in spans} | solo)
    if span.end is None:
        open_starts = {other.start for other in spans if other.end is None} | solo
        return started and is_one(span.start, open_starts)
    return started and is_one(span.end, {other.end for other in spans if other.end} | solo)


def _months(moment: Moment, missing: int) -> int:
    return moment[0] * 12 + (moment[1] or missing)


def _end(span: Span, today: date) -> int:
    if span.end is None:
        return today.year * 12 + today.month
    # A month that is named was worked; of a bare year nobody knows how much.
    return _months(span.end, 1) + (1 if span.end[1] and span.start[1] else 0)


def _shown(moment: Moment) -> str:
    return f"{moment[0]}-{moment[1]:02}" if moment[1] else str(moment[0])


def _shown_span(span: Span) -> str:
    return f"{_shown(span.start)}–{_shown(span.end)}" if span.end else f"since {_shown(span.start)}"


def _instead(years: set[int]) -> str:
    return f"; they say {', '.join(str(year) for year in sorted(years)[:4])}" if years else ""


def _other_spans(spans: Sequence[Span]) -> str:
    return f"; they say {', '.join(dict.fromkeys(_shown_span(span) for span in spans[:4]))}" if spans else ""
