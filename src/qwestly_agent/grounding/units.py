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
    """Figures of different dimensions are never equal. Each currency is a dimension of its own. So are days and months,
    since no number of days equals a month."""
    factor: Fraction = Fraction(1)
    """Size in the smallest unit of the dimension."""


def spellings(words: str) -> list[str]:
    """List each word with and without its accents."""
    plain = "".join(each for each in unicodedata.normalize("NFD", words) if not unicodedata.combining(each))
    return [*words.split(), *plain.split()]


def _units(dimension: str, factor: Fraction | int | str, words: str) -> dict[str, Unit]:
    return {word.replace("_", " "): Unit(dimension, Fraction(factor)) for word in spellings(words)}


PERCENT, TIMES = "percent", "times"
POUNDS = "pounds of money or of mass"
"""Dimension of "pound" until other figures show which one is meant."""
DOLLARS_OR_PESOS = "dollars or pesos"
PESOS = "pesos of any country"
DEGREES = "degrees of Celsius or of Fahrenheit"
MINUTES, MONTHS = "time in minutes", "time in months"
MEASURES = frozenset({"length", "mass", "area", "volume"})

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
    **_units("EUR", Fraction(1, 100), "cent ct centimes centime céntimos céntimo cêntimos cêntimo centesimi"),
    **_units("EUR", 1_000, "k€ t€ teur"),
    **_units("EUR", 1_000_000, "m€ mio€ mio.€"),
    **_units(
        "USD",
        1,
        "$ us$ $_us u$s usd dollar dollars dólar dólares dollari us_dollars us_dollar us-dollar dollars_américains"
        " dólares_estadounidenses dólares_americanos",
    ),
    **_units("CAD", 1, "cad ca$ $_ca canadian_dollars dollars_canadiens dólares_canadienses dólares_canadenses"),
    **_units("AUD", 1, "aud au$ australian_dollars dollars_australiens dólares_australianos"),
    **_units("USD", Fraction(1, 100), "cents ¢"),
    **_units("GBP", Fraction(1, 100), "pence p"),
    **_units("CHF", Fraction(1, 100), "rappen"),
    **_units("GBP", 1, "£ gbp quid sterling pounds_sterling livres_sterling libras_esterlinas pfund_sterling"),
    **_units(POUNDS, 1, "pound pounds livre livres libra libras pfund sterline"),
    **_units("CHF", 1, "chf franken sfr fr. schweizer_franken francs_suisses francos_suíços francos_suizos"),
    **_units("BRL", 1, "r$ brl real reais"),
    **_units("JPY", 1, "¥ jpy yen"),
    **_units("PLN", 1, "zł pln złoty złotych"),
    **_units("INR", 1, "₹ inr rs rupees"),
    **_units("SEK", 1, "sek kronor"),
    **_units("NOK", 1, "nok"),
    **_units("DKK", 1, "dkk"),
    **_units("SGD", 1, "sgd s$"),
    **_units("ZAR", 1, "zar rand"),
    **_units("NGN", 1, "ngn ₦ naira nairas"),
    **_units("GHS", 1, "ghs gh¢ gh₵ cedi cedis"),
    **_units("KES", 1, "kes ksh kenyan_shillings"),
    **_units("PHP", 1, "php ₱"),
    **_units("MAD", 1, "mad dh dhs dirham dirhams"),
    **_units("DZD", 1, "dzd da dinars_algériens"),
    **_units("XOF", 1, "fcfa cfa xof xaf francs_cfa f_cfa"),
    **_units("PEN", 1, "pen soles"),
    **_units("AOA", 1, "aoa kwanza kwanzas"),
    **_units("MZN", 1, "mzn metical meticais"),
    **_units("DEM", 1, "dm d-mark mark"),
    **_units(PESOS, 1, "peso pesos mxn clp cop ars uyu dop"),
    # Time
    **_units(
        MINUTES,
        Fraction(1, 60),
        "s sec secs second seconds sek. sekunde sekunden seconde secondes seconden segundo segundos secondi",
    ),
    **_units(
        MINUTES,
        Fraction(1, 60_000),
        "ms millisecond milliseconds millisekunde millisekunden milliseconde millisecondes"
        " milliseconden milisegundo milisegundos milissegundo milissegundos millisecondo millisecondi",
    ),
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
        "mo mos month months monat monate monaten mois mes meses mês mese mesi maand maanden mnd monatig"
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
        "decade decades jahrzehnt jahrzehnte jahrzehnten décennie décennies década décadas decennio decenni"
        " decennium decennia",
    ),
    # Length
    **_units(
        "length",
        1,
        "mm millimeter millimetre millimetres millimeters millimètre millimètres milímetro milímetros"
        " millimetro millimetri",
    ),
    **_units(
        "length",
        10,
        "cm centimeter centimetre centimeters centimetres zentimeter centímetro"
        " centímetros centimètre centimètres centimetro centimetri",
    ),
    **_units("length", 1_000, "m mts meter metre meters metres metern mètre mètres metro metros metri"),
    **_units(
        "length",
        1_000_000,
        "km kms kilometer kilometers kilometre kilometres kilometern kilomètre kilomètres kilómetro kilómetros"
        " quilômetro quilômetros quilómetros chilometro chilometri bornes",
    ),
    **_units("length", Fraction("1609344"), "mile miles mi meile meilen milla millas milha milhas miglio miglia mijl"),
    **_units("length", Fraction("304.8"), "ft foot feet pie pies pied pieds pé pés fuß piede piedi voet"),
    **_units("length", Fraction("914.4"), "yard yards yd yarda yardas jarda jardas iarda iarde"),
    **_units(
        "length", Fraction("25.4"), "inch inches zoll pouce pouces pulgada pulgadas polegada polegadas pollice pollici"
    ),
    # Mass
    **_units(
        "mass",
        Fraction(1, 1000),
        "mg milligram milligrams milligramm milligramme milligrammes miligramo miligramos miligrama miligramas"
        " milligrammo milligrammi",
    ),
    **_units("mass", 1, "g gram grams gramm gramme grammes gramo gramos grama gramas grammo grammi"),
    **_units(
        "mass",
        1_000,
        "kg kgs kilo kilos kilogram kilograms kilogramm kilogramme kilogrammes kilogramo kilogramos quilo quilos"
        " quilograma quilogramas chilo chili chilogrammo chilogrammi",
    ),
    **_units("mass", 1_000_000, "t tonne tonnes tonnen tonelada toneladas tonnellata tonnellate ton tonner tonners"),
    **_units("mass", 100_000, "quintal quintals quintaux quintales quintais doppelzentner dz"),
    **_units("mass", Fraction("453.59237"), "lb lbs libbra libbre"),
    **_units("mass", Fraction("28.349523125"), "oz ounce ounces onces onza onzas onça onças oncia unze unzen"),
    # Area
    **_units(
        "area",
        1,
        "m² m2 sqm qm square_meters square_metres square_meter square_metre quadratmeter quadratmetern mètres_carrés"
        " mètre_carré metros_cuadrados metro_cuadrado metros_quadrados metro_quadrado metro_quadrato"
        " metri_quadrati vierkante_meter",
    ),
    **_units("area", 100, "ares áreas"),
    **_units("area", 10_000, "ha hectare hectares hektar hektare hektaren hectárea hectáreas ettari ettaro"),
    **_units(
        "area",
        1_000_000,
        "km² km2 square_kilometer square_kilometers square_kilometres quadratkilometer quadratkilometern"
        " kilomètre_carré"
        " kilomètres_carrés kilómetro_cuadrado quilômetro_quadrado chilometro_quadrato kilómetros_cuadrados"
        " quilômetros_quadrados quilómetros_quadrados chilometri_quadrati vierkante_kilometer",
    ),
    **_units("area", Fraction("4046.8564224"), "acre acres acri"),
    **_units(
        "area", Fraction("0.09290304"), "ft² sq_ft square_feet square_foot pieds_carrés pies_cuadrados pés_quadrados"
    ),
    # Volume
    **_units(
        "volume",
        Fraction(1, 1000),
        "ml milliliter millilitre milliliters millilitres millilitros mililitro mililitros millilitro millilitri",
    ),
    **_units(
        "volume",
        Fraction(1, 100),
        "cl centiliter centiliters centilitre centilitres zentiliter centilitro centilitros centilitri",
    ),
    **_units("volume", 1, "l ltr liter litre liters litres litern litro litros litri"),
    **_units(
        "volume", 100, "hl hectolitre hectolitres hektoliter hectoliter hectolitro hectolitros ettolitro ettolitri"
    ),
    **_units(
        "volume",
        1_000,
        "m³ m3 cubic_meter cubic_meters cubic_metres kubikmeter mètre_cube mètres_cubes metro_cúbico metros_cúbicos"
        " metro_cubo metri_cubi kubieke_meter",
    ),
    **_units(
        "volume", Fraction("3.785411784"), "gal gallon gallons gallone gallonen galón galones galão galões galloni"
    ),
    **_units("volume", Fraction("0.56826125"), "pint pints"),
    # Speed, temperature, power, energy, tension, data
    **_units("speed", 1, "km/h kmh kph km/u"),
    **_units("speed", Fraction("1.609344"), "mph mi/h"),
    **_units("celsius", 1, "°c grad_celsius degrees_celsius degrés_celsius grados_centígrados graus_celsius"),
    **_units("fahrenheit", 1, "°f degrees_fahrenheit"),
    **_units(DEGREES, 1, "° degrees grad degrés grados graus gradi"),
    **_units("power", 1, "w watt watts vatios"),
    **_units("power", 1_000, "kw kwp kilowatt kilowatts kilovatio kilovatios quilowatt quilowatts"),
    **_units("power", 1_000_000, "mw mwp megawatt megawatts mégawatt mégawatts megavatio megavatios"),
    **_units("power", 1_000_000_000, "gw gwp gigawatt gigawatts"),
    **_units(
        "energy",
        1,
        "kwh kilowattstunde kilowattstunden kilowatt-hours kilowattheures kilowatt-heures kilovatios_hora"
        " quilowatts-hora"
        " chilowattora kilowattuur",
    ),
    **_units("energy", 1_000, "mwh megawattstunden megawatt-hours"),
    **_units("energy", 1_000_000, "gwh gigawattstunden gigawatt-hours"),
    **_units("tension", 1, "v volt volts voltios"),
    **_units("tension", 1_000, "kv kilovolt kilovolts"),
    **_units("data", 1, "mb megabyte megabytes mégaoctet mégaoctets"),
    **_units("data", 1_000, "gb gigabyte gigabytes gigaoctet gigaoctets"),
    **_units("data", 1_000_000, "tb terabyte terabytes téraoctet téraoctets"),
}
"""Units by the lower-case words that follow a number."""

OCCASIONS: Mapping[str, Unit] = {
    word: Unit(words.split()[0])
    for words in (
        "night nights nuit nacht noche noite notte",
        "shift shifts schicht turno plantão poste",
        "session sessions sitzung séance sesión sessão sessione",
        "season seasons saison spielzeit temporada época stagione",
        "visit visits besuch visite visita",
        "lesson lessons class unterrichtsstunde leçon cours clase aula lezione",
        "trip trips fahrt trajet viaje viagem",
    )
    for word in spellings(words)
}
"""Occasions that an amount may be given for, in addition to units of time: "33.80 a night"."""

ONLY_IN: Mapping[str, str] = {
    "y": "en", "an": "fr", "mi": "en", "sem": "fr es", "mal": "de", "real": "pt", "ora": "it", "ore": "it", "ton": "en",
    "mo": "en", "mos": "en", "fold": "en", "sec": "en fr", "tag": "de", "dia": "pt es",
    "ano": "pt es", "anos": "pt es", "ares": "fr es pt", "áreas": "es",
    "metro": "es pt it", "cent": "de", "p": "en", "sek": "en fr es pt it nl", "rand": "en",
    "mad": "fr", "dh": "fr", "da": "fr", "soles": "es", "mark": "de", "pen": "es", "cop": "es", "grad": "de",
    "bornes": "fr", "pie": "es", "rs": "en",
    "once": "fr", "onces": "fr",
}  # fmt: skip
"""Languages of units that are other words elsewhere: "2014 y 2019", "in 2019 an engineer"."""

CURRENCIES_BEFORE: Mapping[str, str] = {
    "€": "EUR", "eur": "EUR", "$": "USD", "us$": "USD", "usd": "USD", "£": "GBP", "gbp": "GBP", "chf": "CHF",
    "rs": "INR", "rs.": "INR", "sfr": "CHF", "r$": "BRL", "brl": "BRL", "¥": "JPY", "jpy": "JPY", "pln": "PLN",
    "₹": "INR", "inr": "INR", "sek": "SEK", "cad": "CAD", "ca$": "CAD", "c$": "CAD", "aud": "AUD", "au$": "AUD",
    "a$": "AUD", "u$s": "USD", "s$": "SGD", "sgd": "SGD", "gh¢": "GHS", "gh₵": "GHS", "ghs": "GHS", "₦": "NGN",
    "ngn": "NGN", "ksh": "KES", "kes": "KES", "₱": "PHP", "php": "PHP", "nok": "NOK", "dkk": "DKK", "zar": "ZAR",
    "r": "ZAR", "mad": "MAD", "fcfa": "XOF", "s/": "PEN", "mx$": PESOS, "mxn": PESOS,
}  # fmt: skip

_THOUSAND = "k tsd tsd. thousand tausend milliers mila duizend mil mille"
_MILLION = "mio mio. mln mn mi million millions millionen millón millones milhão milhões milione milioni miljoen"
_MILLIARD = "bn mrd mrd. md milliard milliards milliarde milliarden miliardo miliardi miljard"
SCALES: Mapping[str, int] = {
    **dict.fromkeys(spellings(_THOUSAND), 1_000),
    **dict.fromkeys(spellings(_MILLION), 1_000_000),
    **dict.fromkeys(spellings(_MILLIARD), 10**9),
    "lakh": 100_000,
    "lakhs": 100_000,
    "crore": 10_000_000,
    "crores": 10_000_000,
    "lpa": 100_000,
    "lucas": 1_000,
    "palos": 1_000_000,
}
"""Scale words after digits. `M` means million, and so does `m` with a currency; "billion" means 10⁹ in English only."""
