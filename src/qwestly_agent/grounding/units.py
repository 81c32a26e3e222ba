"""The closed tables of look 2: units, scales, months, and the words of figures that code does not read whole.

Seven languages: English, German, French, Spanish, Portuguese, Italian, Dutch. What is not in a table is not a unit, and
is for the judge.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Unit:
    dimension: str
    """Figures of two dimensions are never equal. Each currency is a dimension of its own, and so are days and months:
    no number of days is a month."""
    factor: Fraction = Fraction(1)
    """In the smallest unit of its dimension."""


def _units(dimension: str, factor: Fraction | int | str, words: str) -> dict[str, Unit]:
    return {word.replace("_", " "): Unit(dimension, Fraction(factor)) for word in words.split()}


PERCENT, TIMES = "percent", "times"
POUNDS = "pounds of money or of mass"
"""Until what they are compared with tells."""
MINUTES, MONTHS = "time in minutes", "time in months"

UNITS: Mapping[str, Unit] = {
    **_units(
        PERCENT, 1, "% percent per_cent pct prozent por_ciento por_cento pour_cent pour-cent per_cento percento procent"
    ),
    **_units(
        "percentage points",
        1,
        "percentage_points percentage_point prozentpunkte prozentpunkten prozentpunkt puntos_porcentuales"
        " points_de_pourcentage point_de_pourcentage pontos_percentuais punti_percentuali procentpunten pp",
    ),
    **_units(TIMES, 1, "x × times -fold fold fach -fach faches mal veces vezes fois volte keer"),
    # Currencies, behind the number
    **_units("EUR", 1, "€ eur euro euros"),
    **_units("EUR", 1_000, "k€ t€ teur"),
    **_units("EUR", 1_000_000, "m€ mio€ mio.€"),
    **_units("USD", 1, "$ us$ usd dollar dollars dólar dólares dollari"),
    **_units("GBP", 1, "£ gbp sterling pounds_sterling livres_sterling libras_esterlinas pfund_sterling"),
    **_units(POUNDS, 1, "pound pounds livre livres libra libras pfund sterline"),
    **_units("CHF", 1, "chf franken sfr fr. schweizer_franken francs_suisses francos_suíços francos_suizos"),
    **_units("BRL", 1, "r$ brl real reais"),
    **_units("JPY", 1, "¥ jpy yen"),
    **_units("PLN", 1, "zł pln złoty złotych"),
    **_units("INR", 1, "₹ inr rupees"),
    **_units("SEK", 1, "sek kronor"),
    # Time
    **_units(MINUTES, Fraction(1, 60), "s sec secs second seconds sekunde sekunden seconde secondes segundo segundos"),
    **_units(MINUTES, Fraction(1, 60_000), "ms millisecond milliseconds millisekunden"),
    **_units(MINUTES, 1, "min min. mins minute minutes minuten minuto minutos minuti minuut"),
    **_units(MINUTES, 60, "h hr hrs hour hours std std. stunde stunden heure heures hora horas ora ore uur uren"),
    **_units(MINUTES, 24 * 60, "d day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen"),
    **_units(
        MINUTES,
        7 * 24 * 60,
        "wk wks week weeks woche wochen semaine semaines semana semanas settimana settimane weken sem",
    ),
    **_units(MONTHS, 1, "mo mos month months monat monate monaten mois mes meses mês mese mesi maand maanden"),
    **_units(MONTHS, 3, "quarters trimestres trimestri quartale kwartalen"),
    **_units(
        MONTHS,
        12,
        "y yr yrs year years jahr jahre jahren an ans année années anno anni año años ano anos jaar jaren",
    ),
    **_units(
        MONTHS,
        120,
        "decade decades jahrzehnt jahrzehnte jahrzehnten décennie décennies década décadas decennio decenni",
    ),
    # Length
    **_units("length", 1, "mm millimeter millimetre millimetres millimeters"),
    **_units("length", 10, "cm centimeter centimetre centimeters centimetres zentimeter centímetros centimètres"),
    **_units("length", 1_000, "m meter metre meters metres metern mètre mètres metro metros metri"),
    **_units(
        "length",
        1_000_000,
        "km kms kilometer kilometers kilometre kilometres kilometern kilomètre kilomètres kilómetro kilómetros"
        " quilômetro quilômetros quilómetros chilometro chilometri",
    ),
    **_units("length", Fraction("1609344"), "mile miles mi meile meilen milla millas milha milhas miglia mijl"),
    **_units("length", Fraction("304.8"), "ft foot feet"),
    **_units("length", Fraction("914.4"), "yard yards yd"),
    **_units("length", Fraction("25.4"), "inch inches zoll pouces pulgadas polegadas pollici"),
    # Mass
    **_units("mass", Fraction(1, 1000), "mg milligram milligrams milligramm"),
    **_units("mass", 1, "g gram grams gramm gramme grammes gramo gramos grama gramas grammo grammi"),
    **_units(
        "mass",
        1_000,
        "kg kgs kilo kilos kilogram kilograms kilogramm kilogramme kilogrammes kilogramo kilogramos quilo quilos"
        " quilogramas chilo chili chilogrammi",
    ),
    **_units("mass", 1_000_000, "t tonne tonnes tonnen tonelada toneladas tonnellata tonnellate ton"),
    **_units("mass", Fraction("453.59237"), "lb lbs"),
}
"""By what stands behind a number, in lower case."""

CURRENCIES_BEFORE: Mapping[str, str] = {
    "€": "EUR", "eur": "EUR", "$": "USD", "us$": "USD", "usd": "USD", "£": "GBP", "gbp": "GBP", "chf": "CHF",
    "sfr": "CHF", "r$": "BRL", "brl": "BRL", "¥": "JPY", "jpy": "JPY", "pln": "PLN", "₹": "INR", "inr": "INR",
    "sek": "SEK",
}  # fmt: skip

_THOUSAND = "k tsd tsd. thousand tausend milliers mila duizend mil mille"
_MILLION = "mio mio. mln mn million millions millionen millón millones milhão milhões milione milioni miljoen"
_MILLIARD = "bn mrd mrd. md milliard milliards milliarde milliarden miliardo miliardi miljard"
SCALES: Mapping[str, int] = {
    **dict.fromkeys(_THOUSAND.split(), 1_000),
    **dict.fromkeys(_MILLION.split(), 1_000_000),
    **dict.fromkeys(_MILLIARD.split(), 10**9),
}
"""Behind digits. `M` is a million, `m` is one behind a currency; a billion is one in English only."""

_MONTHS_BY_LANGUAGE = (
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "jän feb mär apr mai jun jul aug sept okt nov dez",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "janv févr mars avr mai juin juil août sept oct nov déc",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "ene feb mar abr may jun jul ago set oct nov dic",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "jan fev mar abr mai jun jul ago set out nov dez",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "gen feb mar apr mag giu lug ago set ott nov dic",
    "januari februari maart april mei juni juli augustus september oktober november december",
)
MONTHS_BY_NAME: Mapping[str, int] = {
    name: number for names in _MONTHS_BY_LANGUAGE for number, name in enumerate(names.split(), 1)
}

NUMBER_LANGUAGES = frozenset({"en", "de", "fr", "es", "pt", "it", "nl"})
"""Those of which `text2num` reads the number words that we ask it for."""

FRACTIONS = (
    r"half|halves|quarters?|thirds?|halbe?[nrsm]?|viertel|drittel|demi\w?|quart|tiers|medi[oa]|cuartos?|tercios?"
    r"|mei[oa]|terços?|mezz[oa]|terzi"
)
"""Words that make a figure with the number or unit beside them, which is never read in part."""
COMPOUNDS = (
    r"\w*(?:einhalb|anderthalb)\w*|anderhalve?|dozens?|dutzend\w*"
    r"|(?:dou|quin|ving|tren|quaran|cinquan|soixan|cen)[tz]?aines?|milliers?|docenas?|centenar\w*|millar\w*"
    r"|dúzias?|centenas?|milhares|dozzin[ae]|centinai[oa]|migliai[oa]|dozijn\w*"
)
"""Figures in one word that nobody reads."""
MULTIPLES = (
    r"twice|doubl\w+|tripl\w+|quadrupl\w+|halv\w+|(?:ver)?(?:doppel|dreifach|vierfach|halbier)\w*|triple\w*|dobl\w+|dobr\w+"
    r"|raddopp\w+|verdubbel\w*|hälfte|moitié|mitad|metade|metà|helft"
)
"""Words that may say what a percentage or a factor says."""
