"""Read the figures in a text: numbers, dates, weekdays and seasons, each with an adjacent unit and rate.

Digits are read in every language, with a comma or a dot for thousands and decimals; number words by `text2num`, in its
languages. What cannot be read ("half a million") is no figure: the judge reads it.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from text_to_num import text2num

from qwestly_agent.base.patterns import pattern
from qwestly_agent.grounding.dates import DATES, Day, days_of

NUMBER_LANGUAGES = frozenset({"en", "de", "fr", "es", "pt", "it", "nl"})
"""Languages whose number words `text2num` reads."""
MOST_WORDS = 6
"""Longest number in words."""
LEAST_WORD = 2
"""Smaller numbers in words are often articles or pronouns."""
MOST_DIGITS = 30


@dataclass(frozen=True)
class Figure:
    start: int
    end: int
    """Start and end of the number itself."""
    text: str
    """As written, with its unit and rate."""
    numbers: frozenset[Fraction] = frozenset()
    """As written. More than one if the digits are ambiguous ("1.200"); empty for a date, and for what
    cannot be read ("three and a half", "a couple of dozen")."""
    factor: Fraction = Fraction(1)
    """The unit's size in the smallest one of its dimension."""
    dimension: str = ""
    """Empty without a unit."""
    days: tuple[Day, ...] = ()
    """The dates that it may denote, or the two ends of a range."""
    thing: str = ""
    """The first letters of the word behind a figure without a unit: "nurse" in "12 nurses"."""
    rate: str = ""
    """The period of a rate: "a week" in "40 hours a week"."""
    is_about: bool = False
    """True for an approximate figure: "nearly 300"."""

    @property
    def values(self) -> frozenset[Fraction]:
        """The numbers in the smallest unit of the dimension."""
        return frozenset(number * self.factor for number in self.numbers)

    @property
    def year(self) -> int | None:
        """The year, if this is a number without a unit between 1900 and 2100."""
        value = next(iter(self.numbers)) if len(self.numbers) == 1 and not self.dimension else Fraction(0)
        return int(value) if value.denominator == 1 and 1900 <= value <= 2100 else None


def is_same(figure: Figure, known: Figure) -> bool:
    """True if the known figure says all that this one says: value, unit and rate."""
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
    """Return the figures of the text, in order. Number words of a text whose language is unknown are left unread."""
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
        if scale and (scale != "m" or currency or match["scale"] == "M"):  # "5 m" are metres
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
    first; last, the beginning of a compound: "three-year"."""
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
    """True if the word is a number from 2 in some language."""
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
    """Return the word in lower case without its accents."""
    parts = unicodedata.normalize("NFD", word.translate({0x17F: "s", 0x131: "i", 0x130: "i", 0x3BC: "\u00b5"}).lower())
    return "".join(each for each in parts if not unicodedata.combining(each))


def _table(rows: Sequence[tuple[str, Fraction | int | str, str]]) -> Mapping[str, tuple[str, Fraction]]:
    return {key(word.replace("_", " ")): (name, Fraction(size)) for name, size, words in rows for word in words.split()}


def _any(words: Sequence[str]) -> str:
    """Return a pattern of the words, with and without their accents."""
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
