"""Parse dates as people write them: ISO, with dots or slashes, month names, quarters, decades, ranges, '17."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from qwestly_agent.base.patterns import pattern


def key(word: str) -> str:
    """Normalize a word to its key in the tables: a case-insensitive pattern matches ſ as s, and ı and İ as i."""
    return word.translate({0x17F: "s", 0x131: "i", 0x130: "i", 0x3BC: "\u00b5"}).lower()


def spellings(words: str) -> list[str]:
    """List each word with and without its accents."""
    plain = "".join(each for each in unicodedata.normalize("NFD", words) if not unicodedata.combining(each))
    return [*words.split(), *plain.split()]


_MONTHS_BY_LANGUAGE = (
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "jänner feber märz april mai juni juli august september oktober november dezember",
    "jän feb mär apr mai jun jul aug sept okt nov dez",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "janv févr mars avr mai juin juil août sept oct nov déc",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "ene feb mar abr may jun jul ago set oct nov dic",
    "enero febrero marzo abril mayo junio julio agosto setiembre octubre noviembre diciembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "jan fev mar abr mai jun jul ago set out nov dez",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "gen feb mar apr mag giu lug ago set ott nov dic",
    "januari februari maart april mei juni juli augustus september oktober november december",
    "jan feb mrt apr mei jun jul aug sep okt nov dec",
)
MONTHS_BY_NAME: Mapping[str, int] = {
    spelt: number
    for names in _MONTHS_BY_LANGUAGE
    for number, name in enumerate(names.split(), 1)
    for spelt in spellings(name)
}

DECADES: Mapping[str, int] = {
    "sixties": 60, "seventies": 70, "eighties": 80, "nineties": 90,
    "sechziger": 60, "siebziger": 70, "achtziger": 80, "neunziger": 90,
    "soixante": 60, "soixante-dix": 70, "quatre-vingt": 80, "quatre-vingts": 80, "quatre-vingt-dix": 90,
    "sesenta": 60, "setenta": 70, "ochenta": 80, "noventa": 90, "sessenta": 60, "oitenta": 80,
    "sessanta": 60, "settanta": 70, "ottanta": 80, "novanta": 90, "zestig": 60, "zeventig": 70, "tachtig": 80,
    "negentig": 90,
}  # fmt: skip

QUARTERS: Mapping[str, int] = {
    word: number
    for number, words in {
        1: "1st first 1. erste ersten erstes 1er premier primer primeiro primo 1º 1.º eerste",
        2: "2nd second 2. zweite zweiten zweites 2e deuxième segundo secondo 2º 2.º tweede",
        3: "3rd third 3. dritte dritten drittes 3e troisième tercer terceiro terzo 3º 3.º derde",
        4: "4th fourth 4. vierte vierten viertes 4e quatrième cuarto quarto 4º 4.º vierde",
    }.items()
    for word in words.split()
}


@dataclass(frozen=True)
class Day:
    """A date that may be incomplete."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    quarter: int | None = None
    decade: int | None = None
    """First year of the decade."""

    def says(self, other: "Day") -> bool:
        """True if every part of the other date is known here and has the same value."""
        told = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        mine = self.quarter or (self.month and (self.month + 2) // 3)
        decade = self.decade or (self.year and self.year // 10 * 10)
        return all(b is None or a == b for a, b in (*told, (mine, other.quarter), (decade, other.decade)))


_MONTH = "|".join(sorted(map(re.escape, MONTHS_BY_NAME), key=len, reverse=True))
ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
_WHOLE_MONTH = "|".join(name for name in MONTHS_BY_NAME if len(name) > 4 and name not in ("march", "marzo"))
_WHOLE_MONTH += "|june|july|juni|juli|juin|août|aout"
_SHORT_MONTH = "may|march|mai|märz|mars|mayo|marzo|maio|março"
"""Words with other meanings, too; they are months only after a preposition of time."""
_TO = r"[-–—/]|to|and|bis|und|a|à|au|et|al|y|e|até"
_DECADE = "|".join(sorted(DECADES, key=len, reverse=True))
_NTH = "|".join(sorted(map(re.escape, QUARTERS), key=len, reverse=True))
_YEAR = r"(?:['’‘](?P<yy>\d\d)(?!\d)|(?P<yyyy>(?:19|20)\d\d)(?!\d))"
DATES = pattern(
    rf"""(?ix) (?<![\w.,]) (?:
      (?P<decade>(?:19|20)\d0)(?:['’]?s|ern?|er[\s-]?jahre\w?)(?!\w)
    | (?:the\s+['’]?|['’])(?P<decade_s>[1-9]0)['’]?s(?!\w) | (?P<decade_er>[1-9]0)er(?:[\s-]?jahren?)?(?!\w)
    | (?:années|años|anos|anni|jaren|d[ée]cada\s+de(?:\s+los)?)\s+
      (?:['’]?(?:19(?=\d0)|(?P<century>20)(?=\d0))?(?P<decade_of>\d0)|(?P<decade_word>{_DECADE}))(?!\w)
    | (?:the|early|late|mid|die|der|den)[\s-]+(?P<decade_name>{_DECADE})(?:n|jahren?)?(?!\w)
    | los\s+(?P<decade_end>{_DECADE})(?=\s*(?:[.,;)]|$))
    | (?P<nth>{_NTH})\s+(?:quarter|quartal\w?|trim(?:estre|\.)|kwartaal)(?!\w)(?:\s*(?:of|de|del|do|des?)?\s*
      (?:['’‘](?P<nth_yy>\d\d)(?!\d)|(?P<nth_year>(?:19|20)\d\d)(?!\d)))?
    |
      (?P<iso>(?:19|20)\d\d)[-/](?P<iso_month>0[1-9]|1[0-2])(?:-(?P<iso_day>[0-3]\d))?(?![\d/-])
    | (?P<dotted>(?:19|20)\d\d)\.(?P<dotted_month>0[1-9]|1[0-2])(?![\d./,%])
    | (?P<one>[0-3]?\d)(?P<sign>[./-])(?P<two>[0-3]?\d)(?P=sign)(?P<any_year>(?:19|20)\d\d)(?!\d)
    | (?P<roman_day>[0-3]?\d)[./-](?P<roman>{"|".join(ROMAN)})[./-](?P<roman_year>(?:19|20)\d\d)(?!\d)
    | (?P<d>[0-3]?\d)(?P<dot>[./])(?P<m>[0-3]?\d)(?P=dot)(?P<d_yy>\d\d)(?![\d/.,])
    | (?P<only_month>0?[1-9]|1[0-2])[/.](?P<month_year>(?:19|20)\d\d)(?!\d)
    | (?:(?P<day>[0-3]?\d)(?:\.|st|nd|rd|th|er|º|ª)?[^\S\n]+(?:of\s+|de\s+|d['’])?)?
      (?:(?P<month_before>{_MONTH})\.?\s*(?:{_TO})\s*)?
      (?P<month>{_MONTH})\.?(?:\s+(?P<day_behind>[0-3]?\d)(?:st|nd|rd|th)?,)?
      [\s/-]*(?:de\s+|del\s+|of\s+|,\s*)?{_YEAR}
    | (?P<quarter_first>[1-4])\.?\s?[qt](?:rim\.?)?\s?/?\s?['’]?
      (?:(?P<first_year>(?:19|20)\d\d)|(?P<first_yy>\d\d))(?!\d)
    | (?P<mm>0[1-9]|1[0-2](?=/\d\d\s?[-–—]\s?[01]\d/))/(?P<mm_yy>\d\d)(?![\d/.,%])
    | (?P<short_month>{_MONTH})[./-]\s?(?P<short_yy>\d\d)(?![\d\w.,:%])
    | (?:q|t|quarter\s+|quartal\s+|trimestre\s+)(?P<quarter>[1-4])(?!\d)(?:[\s/-]*(?:of\s+|de\s+)?
      (?:['’‘/-]?(?P<quarter_yy>\d\d)(?![\d\w.,:%])|(?P<quarter_year>(?:19|20)\d\d)(?!\d)))?
    | (?P<yearless_day>[0-3]?\d)(?:\.|st|nd|rd|th|er|º)?[^\S\n]+(?:of\s+|de\s+|d['’])?
      (?P<yearless_month>{_WHOLE_MONTH})(?!\w)
    | (?:in|im|en|em|since|seit|ab|desde|depuis|dès|until|bis|hasta|até)\s+(?P<placed_month>{_SHORT_MONTH})
      (?!\w|[\s,/–-]*(?:de\s+|del\s+|of\s+)?['’‘]?\d|\s*(?:{_TO})\s*(?:{_MONTH}))
    | (?P<bare_month>{_WHOLE_MONTH})(?!\w)(?:\s+(?P<bare_day>[0-3]?\d)(?:st|nd|rd|th)(?!\w))?
    | (?P<from>(?:19|20)\d\d)[^\S\n]?[-–—/][^\S\n]?(?P<to>\d\d)(?![\d%]|[/.]\d)
    ) | (?<!\w)['’‘](?P<short>\d\d)(?![\d\w])
    """
)


def days_of(match: re.Match[str], language: str) -> Iterator[Day]:
    """Yield every date that a match of `DATES` may denote, or both ends of its range."""
    # With dots the day comes first; with slashes and hyphens too, except in English.
    month_first = language in ("en", "") and ("/" in match[0] or match["sign"] == "-")
    if decade := match["decade_word"] or match["decade_name"] or match["decade_end"]:
        yield Day(decade=1900 + DECADES[key(decade)])
    elif match["decade"]:
        yield Day(decade=int(match["decade"]))
    elif decade := match["decade_s"] or match["decade_er"] or match["decade_of"]:
        yield Day(decade=int(decade) + (2000 if match["century"] or 0 < int(decade) < 30 else 1900))
    elif match["nth"]:
        years = _years(match["nth_yy"], match["nth_year"]) or [None]
        yield from (Day(year, quarter=QUARTERS[key(match["nth"])]) for year in years)
    elif match["quarter_first"]:
        years = _years(match["first_yy"], match["first_year"])
        yield from (Day(year, quarter=int(match["quarter_first"])) for year in years)
    elif match["mm"] or match["short_month"]:
        month = _int(match["mm"]) or MONTHS_BY_NAME[key(match["short_month"])]
        yield from (Day(year, month) for year in _years(match["mm_yy"] or match["short_yy"], None))
    elif match["yearless_month"]:
        yield Day(month=MONTHS_BY_NAME[key(match["yearless_month"])], day=int(match["yearless_day"]))
    elif match["placed_month"]:
        yield Day(month=MONTHS_BY_NAME[key(match["placed_month"])])
    elif match["bare_month"]:
        yield Day(month=MONTHS_BY_NAME[key(match["bare_month"])], day=_int(match["bare_day"]))
    elif match["iso"]:
        yield Day(int(match["iso"]), int(match["iso_month"]), _int(match["iso_day"]))
        if not match["iso_day"] and int(match["iso_month"]) > int(match["iso"][2:]):  # "2008-10" is a span as well
            yield Day(int(match["iso"]))
            yield Day(int(match["iso"][:2] + match["iso_month"]))
    elif match["dotted"]:
        yield Day(int(match["dotted"]), int(match["dotted_month"]))
    elif match["any_year"]:
        one, two, year = int(match["one"]), int(match["two"]), int(match["any_year"])
        orders = [(one, two), (two, one)] if month_first else [(one, two)]
        yield from (Day(year, month, day) for day, month in orders if 1 <= month <= 12 and day)
    elif match["roman"]:
        yield Day(int(match["roman_year"]), ROMAN.index(match["roman"].lower()) + 1, int(match["roman_day"]))
    elif match["d_yy"]:
        one, two = int(match["d"]), int(match["m"])
        orders = [(one, two), (two, one)] if month_first else [(one, two)]
        for year in _years(match["d_yy"], None):
            yield from (Day(year, month, day) for day, month in orders if 1 <= month <= 12 and day)
    elif match["month_year"]:
        yield Day(int(match["month_year"]), int(match["only_month"]))
    elif match["month"]:
        month, day = MONTHS_BY_NAME[key(match["month"])], _int(match["day"] or match["day_behind"])
        for year in _years(match["yy"], match["yyyy"]):
            yield Day(year, month, day)
            if match["month_before"]:
                yield Day(year, MONTHS_BY_NAME[key(match["month_before"])])
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
