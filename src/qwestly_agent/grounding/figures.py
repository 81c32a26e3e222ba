"""Read the figures and dates in a text, with unit and rate."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from text_to_num import text2num

from qwestly_agent.base.patterns import pattern

# --- dates ------------------------------------------------------------------------------------------------------------
# Parse dates as people write them: ISO, with dots or slashes, month names, quarters, decades, ranges, '17.


def month_key(word: str) -> str:
    """Normalize a word to its key in the tables, since a case-insensitive pattern matches ſ as s, and ı and İ as i."""
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
        """True if this date has every part of the other date, with the same value."""
        told = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        mine = self.quarter or (self.month and (self.month + 2) // 3)
        decade = self.decade or (self.year and self.year // 10 * 10)
        return all(b is None or a == b for a, b in (*told, (mine, other.quarter), (decade, other.decade)))


_MONTH = "|".join(sorted(map(re.escape, MONTHS_BY_NAME), key=len, reverse=True))
ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii")
_WHOLE_MONTH = "|".join(name for name in MONTHS_BY_NAME if len(name) > 4 and name not in ("march", "marzo"))
_WHOLE_MONTH += "|june|july|juni|juli|juin|août|aout"
_SHORT_MONTH = "may|march|mai|märz|mars|mayo|marzo|maio|março"
"""Words that also have other meanings; they are months only after a preposition of time."""
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
    """Yield every date that a match of `DATES` may denote, or both ends of the range."""
    # With dots the day comes first; also with slashes and hyphens, except in English.
    month_first = language in ("en", "") and ("/" in match[0] or match["sign"] == "-")
    if decade := match["decade_word"] or match["decade_name"] or match["decade_end"]:
        yield Day(decade=1900 + DECADES[month_key(decade)])
    elif match["decade"]:
        yield Day(decade=int(match["decade"]))
    elif decade := match["decade_s"] or match["decade_er"] or match["decade_of"]:
        yield Day(decade=int(decade) + (2000 if match["century"] or 0 < int(decade) < 30 else 1900))
    elif match["nth"]:
        years = _years(match["nth_yy"], match["nth_year"]) or [None]
        yield from (Day(year, quarter=QUARTERS[month_key(match["nth"])]) for year in years)
    elif match["quarter_first"]:
        years = _years(match["first_yy"], match["first_year"])
        yield from (Day(year, quarter=int(match["quarter_first"])) for year in years)
    elif match["mm"] or match["short_month"]:
        month = _int(match["mm"]) or MONTHS_BY_NAME[month_key(match["short_month"])]
        yield from (Day(year, month) for year in _years(match["mm_yy"] or match["short_yy"], None))
    elif match["yearless_month"]:
        yield Day(month=MONTHS_BY_NAME[month_key(match["yearless_month"])], day=int(match["yearless_day"]))
    elif match["placed_month"]:
        yield Day(month=MONTHS_BY_NAME[month_key(match["placed_month"])])
    elif match["bare_month"]:
        yield Day(month=MONTHS_BY_NAME[month_key(match["bare_month"])], day=_int(match["bare_day"]))
    elif match["iso"]:
        yield Day(int(match["iso"]), int(match["iso_month"]), _int(match["iso_day"]))
        if not match["iso_day"] and int(match["iso_month"]) > int(match["iso"][2:]):  # "2008-10" is also a span
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
        month, day = MONTHS_BY_NAME[month_key(match["month"])], _int(match["day"] or match["day_behind"])
        for year in _years(match["yy"], match["yyyy"]):
            yield Day(year, month, day)
            if match["month_before"]:
                yield Day(year, MONTHS_BY_NAME[month_key(match["month_before"])])
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


# --- figures ----------------------------------------------------------------------------------------------------------
# Read the figures in a text: numbers, dates, weekdays and seasons, each with an adjacent unit and rate.
#
# Digits are read in every language, with a comma or a dot for thousands and decimals; number words are read by
# `text2num`, in the languages that it knows. An expression that cannot be read ("half a million") is not a figure: it
# is left to the judge.


NUMBER_LANGUAGES = frozenset({"en", "de", "fr", "es", "pt", "it", "nl"})
"""Languages whose number words `text2num` reads."""
MOST_WORDS = 6
"""Maximum number of words in a number."""
LEAST_WORD = 2
"""Smaller numbers written as words are often articles or pronouns."""
MOST_DIGITS = 30


@dataclass(frozen=True)
class Figure:
    start: int
    end: int
    """Start and end of the number itself."""
    text: str
    """As written, including unit and rate."""
    numbers: frozenset[Fraction] = frozenset()
    """As written. More than one if the digits are ambiguous ("1.200"); empty for a date, and for numbers that cannot be
    read ("three and a half", "a couple of dozen")."""
    factor: Fraction = Fraction(1)
    """The unit's size in the smallest unit of its dimension."""
    dimension: str = ""
    """Empty if there is no unit."""
    days: tuple[Day, ...] = ()
    """The dates that the figure may denote, or the two ends of a range."""
    thing: str = ""
    """The first letters of the word after a figure without a unit: "nurse" in "12 nurses"."""
    rate: str = ""
    """The period of a rate: "a week" in "40 hours a week"."""
    is_about: bool = False
    """True for an approximate figure: "nearly 300"."""

    @property
    def values(self) -> frozenset[Fraction]:
        """The numbers, converted to the smallest unit of the dimension."""
        return frozenset(number * self.factor for number in self.numbers)

    @property
    def year(self) -> int | None:
        """The year, if this is a number without a unit between 1900 and 2100."""
        value = next(iter(self.numbers)) if len(self.numbers) == 1 and not self.dimension else Fraction(0)
        return int(value) if value.denominator == 1 and 1900 <= value <= 2100 else None


def is_same(figure: Figure, known: Figure) -> bool:
    """True if the known figure includes everything that this one states: value, unit and rate."""
    if figure.days:
        days = known.days or ((Day(known.year),) if known.year else ())
        return any(told.says(day) for told in days for day in figure.days)
    if figure.year and figure.year in {day.year for day in known.days}:
        return True
    if figure.rate and figure.rate != known.rate:
        return False
    if not figure.dimension:
        return not figure.numbers.isdisjoint(known.numbers)
    return figure.dimension == known.dimension and not figure.values.isdisjoint(known.values)


@lru_cache(maxsize=512)
def figures(text: str, language: str = "") -> tuple[Figure, ...]:
    """Return the figures in the text, in order. If the language is unknown, number words are not read."""
    taken, found = bytearray(len(text)), list[Figure]()

    def take(figure: Figure) -> None:
        end = max(figure.end, figure.start + len(figure.text))
        taken[figure.start : end] = b"\1" * (end - figure.start)
        found.append(figure)

    for figure in _dates(text, language):
        take(figure)
    for start, end, values, currency in (*_digits(text), *_words(text, language)):
        if not any(taken[start:end]):
            take(_with_unit(text, start, end, values, currency))
    return tuple(sorted(found, key=lambda each: each.start))


def _dates(text: str, language: str) -> Iterator[Figure]:
    for match in DATES.finditer(text):
        if days := tuple(days_of(match, language)):
            yield Figure(*match.span(), match[0], days=days)
    for dimension, words in _CALENDAR.items():
        for match in words.finditer(text):
            yield Figure(*match.span(), match[0], frozenset({Fraction(match.lastindex or 0)}), dimension=dimension)


def _digits(text: str) -> Iterator[tuple[int, int, set[Fraction], str]]:
    for match in _NUMBER.finditer(text):
        if len(match["digits"]) > MOST_DIGITS:
            continue
        values, end, currency = _values(match["digits"]), match.end("digits"), key(match["currency"] or "")
        scale = key(match["scale"] or "")
        if scale and (scale != "m" or currency or match["scale"] == "M"):  # "5 m" means metres
            values, end = {value * _SCALES[scale] for value in values}, match.end("scale")
        is_name = text[end : end + 1].isalpha() and not _unit_after(text, end)[0]  # "3D"
        if not is_name:
            yield match.start("currency") if currency else match.start("digits"), end, values, currency


def _values(digits: str) -> set[Fraction]:
    """Return the possible values: "1.200" is 1200 in some countries and 1.2 in others."""
    plain = re.sub(r"['’ \u00a0\u202f\u2009]", "", digits)
    signs, groups = re.findall(r"[.,]", plain), re.split(r"[.,]", plain)
    values = set[Fraction]()
    if len(set(signs)) <= 1 and all(len(group) == 3 for group in groups[1:]):
        values.add(Fraction("".join(groups)))
    if signs and signs.count(signs[-1]) == 1:
        values.add(Fraction(f"{''.join(groups[:-1])}.{groups[-1]}"))
    return values or {Fraction("".join(groups))}


def _words(text: str, language: str) -> Iterator[tuple[int, int, set[Fraction], str]]:
    if not language:
        yield from ((*word.span(), set(), "") for word in _WORD.finditer(text) if is_number_word(word[0]))
    words = [*_WORD.finditer(text)] if language in NUMBER_LANGUAGES else []
    at = 0
    while at < len(words):
        run = next((run for run in _runs(words[at : at + MOST_WORDS], text, language)), None)
        if run:
            end, value = run
            yield words[at].start(), end, {Fraction(value)} if value is not None else set(), ""
            at = next((number for number in range(at, len(words)) if words[number].start() >= end), len(words))
        else:
            at += 1


def _runs(words: Sequence[re.Match[str]], text: str, language: str) -> Iterator[tuple[int, int | None]]:
    """Yield the end and the value (None if it cannot be read) of each run of these words that is a number, the longest
    first; finally the first part of a compound: "three-year"."""
    start = words[0].start()
    for last in reversed(words):
        run = text[start : last.end()]
        if key(run) in _SCALES and len(run) > 2:
            yield last.end(), None  # "a couple of dozen", "over a million"
        elif (value := _number(run, language)) is not None and value >= LEAST_WORD:
            yield last.end(), value
    head, hyphen, _ = words[0][0].partition("-")
    if hyphen and (value := _number(head, language)) and value >= LEAST_WORD:
        yield start + len(head), value


def is_number_word(word: str) -> bool:
    """True if the word is a number of at least 2 in some language."""
    return any((_number(word, each) or 0) >= LEAST_WORD for each in NUMBER_LANGUAGES)


@lru_cache(maxsize=4096)
def _number(words: str, language: str) -> int | None:
    if not _ONLY_WORDS.fullmatch(words):
        return None
    try:
        return int(text2num(" ".join(words.lower().split()), language))
    except (ValueError, OverflowError):
        return None


def _with_unit(text: str, start: int, end: int, values: set[Fraction], currency: str) -> Figure:
    if currency:
        dimension, factor, unit_end = _UNITS[currency][0], Fraction(1), end
    else:
        dimension, factor, unit_end = _unit_after(text, end)
    rate = None if not dimension and any(1900 <= each <= 2100 for each in values) else _RATE.match(text, unit_end)
    half = _AND_A_HALF.match(text, end)
    period = next((_PERIODS[key(word)] for word in (rate.groups() if rate else ()) if word), "")
    return Figure(
        start,
        end,
        text[start : half.end() if half else rate.end() if rate else unit_end],
        frozenset(value + Fraction(1, 2) for value in values if half[1]) if half else frozenset(values),
        factor,
        dimension,
        thing="" if dimension or not (thing := _THING.match(text, end)) else key(thing[1]),
        rate=period,
        is_about=bool(_ABOUT.search(text, max(0, start - 24), start)),
    )


def _unit_after(text: str, end: int) -> tuple[str, Fraction, int]:
    match = _UNIT.match(text, end)
    return (*_UNITS[key(match["unit"])], match.end()) if match else ("", Fraction(1), end)


# --- closed tables ----------------------------------------------------------------------------------------------------


def key(word: str) -> str:
    """Return the word in lower case, without accents."""
    parts = unicodedata.normalize("NFD", word.translate({0x17F: "s", 0x131: "i", 0x130: "i", 0x3BC: "\u00b5"}).lower())
    return "".join(each for each in parts if not unicodedata.combining(each))


def _table(rows: Sequence[tuple[str, Fraction | int | str, str]]) -> Mapping[str, tuple[str, Fraction]]:
    return {key(word.replace("_", " ")): (name, Fraction(size)) for name, size, words in rows for word in words.split()}


def _any(words: Sequence[str]) -> str:
    """Return a pattern that matches the words with and without their accents."""
    accented = {word for each in words for word in (each, key(each))}
    return "|".join(sorted(map(re.escape, accented), key=len, reverse=True))


_UNIT_ROWS: Sequence[tuple[str, Fraction | int | str, str]] = (
    ("percent", 1, "% percent per_cent prozent pct por_ciento por_cento pour_cent per_cento procent"),
    ("points", 1, "percentage_points prozentpunkte points_de_pourcentage puntos pontos_percentuais"),
    ("EUR", 1, "€ eur euro euros"),
    ("EUR", "1/100", "cent cents céntimos cêntimos"),
    ("GBP", 1, "£ gbp quid"),
    ("USD", 1, "$ us$ usd dollar dollars dólar dólares"),
    ("CHF", 1, "chf franken francs fr."),
    ("BRL", 1, "r$ reais brl"),
    ("peso", 1, "pesos pesetas peso"),
    ("DM", 1, "dm mark"),
    ("INR", 1, "₹ rs inr rupees"),
    ("time", "1/60", "s sec second seconds sek sekunden secondes segundos secondi"),
    ("time", 1, "min mins minute minutes minuten minutos minuti"),
    ("time", 60, "h hr hrs hour hours std stunde stunden heure heures hora horas ora ore uur"),
    ("days", 1, "day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen"),
    ("days", 7, "week weeks wks woche wochen semaine semaines semana semanas settimana settimane weken"),
    ("months", 1, "month months monat monate monaten mois mes meses mês mese mesi maand maanden"),
    ("months", 12, "year years yr yrs jahr jahre jahren an ans année années año años ano anos anno anni jaar jaren"),
    ("length", "1/1000", "mm"),
    ("length", "1/100", "cm"),
    ("length", 1, "m metre metres meter meters metern mètre mètres metro metros mts metri"),
    ("length", 1000, "km kilometre kilometres kilometer kilometers kilometern kilomètres kilómetros quilômetros"),
    ("length", "0.3048", "ft foot feet pies pés"),
    ("length", "1609.344", "mile miles meile meilen milla millas milha milhas"),
    ("area", 1, "m² qm sqm square_metres square_meters quadratmeter"),
    ("area", 100, "ares"),
    ("area", 4047, "acres acre"),
    ("area", 10_000, "ha hectare hectares hektar hectáreas"),
    ("area", 1_000_000, "km²"),
    ("mass", "1/1000", "g gram grams gramm"),
    ("mass", 1, "kg kilo kilos"),
    ("mass", 1000, "t tonne tonnes tonnen tons toneladas tonneau"),
    ("mass", "0.45359237", "lb lbs pounds libras"),
    ("volume", "1/1000", "ml"),
    ("volume", 1, "l litre litres liter liters litros"),
    ("volume", 100, "hl"),
    ("power", 1, "kw kwp"),
    ("power", 1000, "mw mwp"),
    ("horsepower", 1, "hp ps cv cavalos"),
    ("bytes", 1, "mb"),
    ("bytes", 1000, "gb"),
    ("bytes", 1_000_000, "tb"),
    ("celsius", 1, "°c"),
    ("fahrenheit", 1, "°f"),
    ("times", 1, "x times fois vezes veces volte"),
)
_UNITS = _table(_UNIT_ROWS)
_SCALE_WORDS: Mapping[int, str] = {
    12: "dozen",
    10**3: "k thousand tausend tsd mil mille mila duizend",
    10**5: "lakh",
    10**6: "m mn mio mi million millions millionen millones millón milhões milhão milioni miljoen",
    10**7: "crore",
    10**9: "bn mrd milliarden milliards",
}
_SCALES: Mapping[str, int] = {key(word): factor for factor, words in _SCALE_WORDS.items() for word in words.split()}
_NOUNS: Mapping[str, str] = {
    "minute": "minute minuto",
    "hour": "hour stunde heure hora ora",
    "day": "day tag jour día dia giorno night nacht nuit noche noite",
    "week": "week woche semaine semana settimana",
    "month": "month monat mois mes mês mese",
    "year": "year jahr an année año ano anno",
}
_ADVERBS: Mapping[str, str] = {
    "hour": "hourly stündlich",
    "day": "daily täglich quotidien diario diário",
    "week": "weekly wöchentlich hebdo hebdomadaire semanal semanales semanais",
    "month": "monthly monatlich mensuel mensuels mensual mensuales mensal mensais",
    "year": "yearly annual annually jährlich annuel anual anuales anuais annui",
}
_PERIODS: Mapping[str, str] = {
    key(word): period for table in (_NOUNS, _ADVERBS) for period, words in table.items() for word in words.split()
}
_CALENDAR: Mapping[str, re.Pattern[str]] = {
    name: pattern(rf"(?<!\w)(?:{'|'.join(f'({words})' for words in kinds)})(?!\w)", re.IGNORECASE)
    for name, kinds in {
        "weekday": (
            "mondays?|montags?|lundis?|lunes|segundas?-feiras?|lunedì",
            "tuesdays?|dienstags?|mardis?|martes|terças?-feiras?|martedì",
            "wednesdays?|mittwochs?|mercredis?|mi[ée]rcoles|quartas?-feiras?|mercoledì",
            "thursdays?|donnerstags?|jeudis?|jueves|quintas?-feiras?|giovedì",
            "fridays?|freitags?|vendredis?|viernes|sextas?-feiras?|venerdì",
            "saturdays?|samstags?|samedis?|s[áa]bados?|sabato",
            "sundays?|sonntags?|dimanches?|domingos?|domenica",
        ),
        "season": (
            r"spring(?= (?:of )?\d)|frühlings?|frühjahrs?|printemps|primavera",
            r"summer(?= (?:of )?\d)|sommers?|été(?= \d)|verano|verão|estate",
            r"autumn|fall (?:of )?(?=\d)|herbst|automne|otoño|outono|autunno",
            r"winters?|hiver|invierno|inverno",
        ),
    }.items()
}
_SCALE_PATTERN = _any(" ".join(_SCALE_WORDS.values()).split())
_WORD = pattern(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_AND_A_HALF = pattern(
    r"(?:\s[^\W\d_]+)?\s(?:and|et|y|e|und|en)\s(?:(?:an?|une?|una|uma|eine?n?)\s)?"
    rf"(?:(half|demie?|medi[oa]|mei[oa]|mezz[oa]|halb\w*|halve)(?!\s+(?:{_SCALE_PATTERN})\b)|half|quarter)(?![^\W_])",
    re.IGNORECASE,
)
_THING = pattern(r"\s([^\W\d_]{4,5})")
_ONLY_WORDS = pattern(r"[^\W\d_]+(?:[\s-][^\W\d_]+)*")
_CURRENCY = r"us\$|r\$|[€£$₹]"
_NUMBER = pattern(
    rf"(?<![\w.,])(?P<currency>{_CURRENCY})?\s?"
    r"(?P<digits>\d{1,3}(?:[.,'’ \u00a0\u202f\u2009]\d{3}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,]\d+)*)(?!\d)"
    rf"(?:\s?(?P<scale>{_SCALE_PATTERN})(?![^\W\d_]))?",
    re.IGNORECASE,
)
_UNIT = pattern(
    r"(?:[ \u00a0\u202f\u2009-]{0,2}|\s\(|\s(?:(?:de|di)\s|d['’]))"
    rf"(?P<unit>{_any([word.replace('_', ' ') for *_, words in _UNIT_ROWS for word in words.split()])})"
    r"(?!['’]?[^\W\d_])",
    re.IGNORECASE,
)
_RATE = pattern(
    r"(?:[\s-]+(?!(?:and|und|et|y|e)\b)[^\W\d_]+){0,2}?(?:"
    r"(?:\s?/\s?|\s+(?:per|an?|each|every|pro|je|jede[nrms]?|par|chaque|por|cada|al|ao|à la|am|im|l['’])\s?)"
    rf"({_any(' '.join(_NOUNS.values()).split())})|\s+({_any(' '.join(_ADVERBS.values()).split())}))(?![^\W\d_])",
    re.IGNORECASE,
)
_ABOUT = pattern(
    r"(?<![^\W_])(?:about|around|approx\w*\.?|roughly|nearly|almost|some|over|above|more than|at least|up to|under"
    r"|less than|circa|ca\.?|rund|etwa|ungefähr|knapp|fast|über|mehr als|mindestens|environ|près de|presque|plus de"
    r"|au moins|un[oa]s|casi|más de|alrededor de|cerca de|quase|mais de|umas"
    r"|quasi|oltre|più di|ongeveer|bijna|meer dan|[~≈<>])"
    r"\s*(?:(?:the|an?|die|der|de|les|l[oa]s|os|as)\s)?[€£$]?\s*$",
    re.IGNORECASE,
)
