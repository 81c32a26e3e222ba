"""Closed tables of units and scales in seven languages: English, German, French, Spanish, Portuguese, Italian, Dutch.

A word that is in no table is not a unit, and is left to the judge.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


def key(word: str) -> str:
    """Normalize a word to its key in the tables: a case-insensitive pattern matches ſ as s, and ı and İ as i."""
    return word.translate({0x17F: "s", 0x131: "i", 0x130: "i", 0x3BC: "\u00b5"}).lower()


@dataclass(frozen=True)
class Unit:
    dimension: str
    """Figures of two dimensions are never equal. Each currency is a dimension of its own, and so are days and months:
    no number of days equals a month."""
    factor: Fraction = Fraction(1)
    """Size in the smallest unit of its dimension."""


def spellings(words: str) -> list[str]:
    """List each word with and without its accents."""
    plain = "".join(each for each in unicodedata.normalize("NFD", words) if not unicodedata.combining(each))
    return [*words.split(), *plain.split()]


def _units(dimension: str, factor: Fraction | int | str, words: str) -> dict[str, Unit]:
    return {word.replace("_", " "): Unit(dimension, Fraction(factor)) for word in spellings(words)}


PERCENT, TIMES = "percent", "times"
POUNDS = "pounds of money or of mass"
"""Dimension of "pound" until the other figures show which one it is."""
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
    # Currencies after the number
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
    **_units(
        MINUTES,
        1,
        "min min. mins minute minutes minuten minuto minutos minuti minuut"
        " minütig minütige minütigen minütiger minütiges",
    ),
    **_units(
        MINUTES,
        60,
        "h hr hrs hour hours std std. stunde stunden heure heures hora horas ora ore uur uren stündig stündige"
        " stündigen stündiger stündiges",
    ),
    **_units(
        MINUTES,
        24 * 60,
        "d day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen tägig"
        " tägige tägigen tägiger tägiges",
    ),
    **_units(
        MINUTES,
        7 * 24 * 60,
        "wk wks week weeks woche wochen semaine semaines semana semanas settimana settimane weken sem"
        " wöchig wöchige wöchigen wöchiger wöchiges",
    ),
    **_units(
        MONTHS,
        1,
        "mo mos month months monat monate monaten mois mes meses mês mese mesi maand maanden monatig"
        " monatige monatigem monatigen monatiger monatiges",
    ),
    **_units(MONTHS, 3, "quarters trimestre trimestres trimestri quartal quartale kwartalen"),
    **_units(MONTHS, 6, "semester semesters semestre semestres semestri halbjahr halbjahre halbjahren"),
    **_units(MINUTES, 14 * 24 * 60, "fortnight fortnights"),
    **_units(
        MONTHS,
        12,
        "y yr yrs year years jahr jahre jahren an ans année années anno anni año años ano anos jaar jaren"
        " jährig jährige jährigem jährigen jähriger jähriges",
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
    **_units("mass", Fraction("28.349523125"), "oz ounce ounces onces onzas onças unze unzen"),
    # Area
    **_units(
        "area",
        1,
        "m² m2 sqm qm square_meters square_metres square_meter square_metre quadratmeter quadratmetern mètres_carrés"
        " mètre_carré metros_cuadrados metro_cuadrado metros_quadrados metro_quadrado metri_quadrati vierkante_meter",
    ),
    **_units("area", 10_000, "ha hectare hectares hektar hektare hektaren hectárea hectáreas ettari ettaro"),
    **_units(
        "area",
        1_000_000,
        "km² km2 square_kilometers square_kilometres quadratkilometer quadratkilometern kilomètres_carrés"
        " kilómetros_cuadrados quilômetros_quadrados quilómetros_quadrados chilometri_quadrati vierkante_kilometer",
    ),
    **_units("area", Fraction("4046.8564224"), "acre acres"),
    **_units("area", Fraction("0.09290304"), "ft² sq_ft square_feet square_foot"),
    # Volume
    **_units("volume", Fraction(1, 1000), "ml milliliter millilitre milliliters millilitres millilitros mililitros"),
    **_units("volume", Fraction(1, 100), "cl"),
    **_units("volume", 1, "l ltr liter litre liters litres litern litro litros litri"),
    **_units("volume", 100, "hl hectolitre hectolitres hektoliter hectolitros ettolitri"),
    **_units("volume", 1_000, "m³ m3 cubic_meters cubic_metres kubikmeter mètres_cubes metros_cúbicos metri_cubi"),
    **_units("volume", Fraction("3.785411784"), "gal gallon gallons gallonen galones galões galloni"),
    **_units("volume", Fraction("0.56826125"), "pint pints"),
    # Speed, temperature, power, energy, tension, data
    **_units("speed", 1, "km/h kmh kph"),
    **_units("speed", Fraction("1.609344"), "mph"),
    **_units("celsius", 1, "°c grad_celsius degrees_celsius degrés_celsius grados_centígrados graus_celsius"),
    **_units("fahrenheit", 1, "°f degrees_fahrenheit"),
    **_units("power", 1, "w watt watts vatios"),
    **_units("power", 1_000, "kw kilowatt kilowatts kilovatios quilowatts"),
    **_units("power", 1_000_000, "megawatt megawatts megavatios"),
    **_units("energy", 1, "kwh kilowattstunden kilowatt-hours kilowattheures"),
    **_units("energy", 1_000, "mwh megawattstunden megawatt-hours"),
    **_units("tension", 1, "v volt volts voltios"),
    **_units("tension", 1_000, "kv kilovolt kilovolts"),
    **_units("data", 1, "mb megabyte megabytes"),
    **_units("data", 1_000, "gb gigabyte gigabytes"),
    **_units("data", 1_000_000, "tb terabyte terabytes"),
}
"""Units by their lower-case words after a number."""

ONLY_IN: Mapping[str, str] = {
    "y": "en", "an": "fr", "mi": "en", "sem": "fr es", "mal": "de", "real": "pt", "ora": "it", "ore": "it", "ton": "en",
    "mo": "en", "mos": "en", "fold": "en", "sec": "en fr", "tag": "de", "dia": "pt es",
    "ano": "pt es", "anos": "pt es", "metro": "es pt it", "once": "fr", "onces": "fr",
}  # fmt: skip
"""Languages of units that are other words elsewhere: "2014 y 2019", "in 2019 an engineer"."""

CURRENCIES_BEFORE: Mapping[str, str] = {
    "€": "EUR", "eur": "EUR", "$": "USD", "us$": "USD", "usd": "USD", "£": "GBP", "gbp": "GBP", "chf": "CHF",
    "sfr": "CHF", "r$": "BRL", "brl": "BRL", "¥": "JPY", "jpy": "JPY", "pln": "PLN", "₹": "INR", "inr": "INR",
    "sek": "SEK",
}  # fmt: skip

_THOUSAND = "k tsd tsd. thousand tausend milliers mila duizend mil mille"
_MILLION = "mio mio. mln mn million millions millionen millón millones milhão milhões milione milioni miljoen"
_MILLIARD = "bn mrd mrd. md milliard milliards milliarde milliarden miliardo miliardi miljard"
SCALES: Mapping[str, int] = {
    **dict.fromkeys(spellings(_THOUSAND), 1_000),
    **dict.fromkeys(spellings(_MILLION), 1_000_000),
    **dict.fromkeys(spellings(_MILLIARD), 10**9),
}
"""Scale words after digits. `M` means million, and so does `m` with a currency; "billion" means 10⁹ in English only."""
