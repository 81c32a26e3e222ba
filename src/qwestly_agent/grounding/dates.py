"""Dates as people write them: ISO, with points or slashes, by a month's name, quarters, spans of years, '17."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from qwestly_agent.grounding.units import MONTHS_BY_NAME


@dataclass(frozen=True)
class Day:
    """A date, as far as it is told."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    quarter: int | None = None

    def says(self, other: "Day") -> bool:
        """Whether all that the other one tells is told here, too."""
        told = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        mine = self.quarter or (self.month and (self.month + 2) // 3)
        return all(b is None or a == b for a, b in (*told, (mine, other.quarter)))


_MONTH = "|".join(sorted(map(re.escape, MONTHS_BY_NAME), key=len, reverse=True))
_YEAR = r"(?:['’‘](?P<yy>\d\d)(?!\d)|(?P<yyyy>(?:19|20)\d\d)(?!\d))"
DATES = re.compile(
    rf"""(?ix) (?<![\w.,]) (?:
      (?P<iso>(?:19|20)\d\d)-(?P<iso_month>0[1-9]|1[0-2])(?:-(?P<iso_day>[0-3]\d))?(?![\d-])
    | (?P<one>[0-3]?\d)[./](?P<two>[0-3]?\d)[./](?P<any_year>(?:19|20)\d\d)(?!\d)
    | (?P<only_month>0?[1-9]|1[0-2])[/.](?P<month_year>(?:19|20)\d\d)(?!\d)
    | (?:(?P<day>[0-3]?\d)(?:\.|st|nd|rd|th|er|º|ª)?\s+(?:of\s+|de\s+|d['’])?)?
      (?:(?P<month_before>{_MONTH})\.?\s*(?:[-–—/]|to|bis|a|à|au|até)\s*)?
      (?P<month>{_MONTH})\.?(?:\s+(?P<day_behind>[0-3]?\d)(?:st|nd|rd|th)?,)?
      [\s-]*(?:de\s+|del\s+|of\s+|,\s*)?{_YEAR}
    | (?:q|t|quarter\s+|quartal\s+|trimestre\s+)(?P<quarter>[1-4])(?!\d)(?:[\s/-]*(?:of\s+|de\s+)?
      (?:['’‘](?P<quarter_yy>\d\d)(?!\d)|(?P<quarter_year>(?:19|20)\d\d)(?!\d)))?
    | (?P<from>(?:19|20)\d\d)\s?[-–—/]\s?(?P<to>\d\d)(?![\d%])
    ) | (?<!\w)['’‘](?P<short>\d\d)(?![\d\w])
    """
)


def days_of(match: re.Match[str]) -> Iterator[Day]:
    """Each date that a match of `DATES` may mean or, where it is a span, holds."""
    if match["iso"]:
        yield Day(int(match["iso"]), int(match["iso_month"]), _int(match["iso_day"]))
        if not match["iso_day"] and int(match["iso_month"]) > int(match["iso"][2:]):  # "2008-10" is a span as well
            yield Day(int(match["iso"]))
            yield Day(int(match["iso"][:2] + match["iso_month"]))
    elif match["any_year"]:
        one, two, year = int(match["one"]), int(match["two"]), int(match["any_year"])
        orders = [(one, two)] if "." in match[0] else [(one, two), (two, one)]  # with points the day comes first
        yield from (Day(year, month, day) for day, month in orders if 1 <= month <= 12 and day)
    elif match["month_year"]:
        yield Day(int(match["month_year"]), int(match["only_month"]))
    elif match["month"]:
        month, day = MONTHS_BY_NAME[match["month"].lower()], _int(match["day"] or match["day_behind"])
        for year in _years(match["yy"], match["yyyy"]):
            yield Day(year, month, day)
            if match["month_before"]:
                yield Day(year, MONTHS_BY_NAME[match["month_before"].lower()])
    elif match["quarter"]:
        years = _years(match["quarter_yy"], match["quarter_year"]) or [None]
        yield from (Day(year, quarter=int(match["quarter"])) for year in years)
    elif match["from"]:
        yield Day(int(match["from"]))
        yield Day(int(match["from"][:2] + match["to"]))
    else:
        yield from (Day(year) for year in _years(match["short"], None))


def _years(two_digits: str | None, four_digits: str | None) -> list[int]:
    if four_digits:
        return [int(four_digits)]
    return [2000 + int(two_digits), 1900 + int(two_digits)] if two_digits else []


def _int(digits: str | None) -> int | None:
    return int(digits) if digits else None
