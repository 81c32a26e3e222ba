"""The closed tables of look 2: units, scales, months, the words of figures that code does not read whole, and the words
beside a figure that change what it says.

Seven languages: English, German, French, Spanish, Portuguese, Italian, Dutch. What is not in a table is not a unit, and
is for the judge.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


def key(word: str) -> str:
    """The word as the tables have it: a pattern that ignores case takes ſ for s, and ı and İ for i."""
    return word.translate({0x17F: "s", 0x131: "i", 0x130: "i", 0x3BC: "\u00b5"}).lower()


@dataclass(frozen=True)
class Unit:
    dimension: str
    """Figures of two dimensions are never equal. Each currency is a dimension of its own, and so are days and months:
    no number of days is a month."""
    factor: Fraction = Fraction(1)
    """In the smallest unit of its dimension."""


def _spellings(words: str) -> list[str]:
    """Each word, and as people type it who leave out the accents."""
    plain = "".join(each for each in unicodedata.normalize("NFD", words) if not unicodedata.combining(each))
    return [*words.split(), *plain.split()]


def _units(dimension: str, factor: Fraction | int | str, words: str) -> dict[str, Unit]:
    return {word.replace("_", " "): Unit(dimension, Fraction(factor)) for word in _spellings(words)}


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
"""By what stands behind a number, in lower case."""

ONLY_IN: Mapping[str, str] = {
    "y": "en", "an": "fr", "mi": "en", "sem": "fr es", "mal": "de", "real": "pt", "ora": "it", "ore": "it", "ton": "en",
    "mo": "en", "mos": "en", "fold": "en", "sec": "en fr", "tag": "de", "dia": "pt es",
    "ano": "pt es", "anos": "pt es", "metro": "es pt it", "once": "fr", "onces": "fr",
}  # fmt: skip
"""Units that are other words elsewhere: "2014 y 2019", "in 2019 an engineer"."""

CURRENCIES_BEFORE: Mapping[str, str] = {
    "€": "EUR", "eur": "EUR", "$": "USD", "us$": "USD", "usd": "USD", "£": "GBP", "gbp": "GBP", "chf": "CHF",
    "sfr": "CHF", "r$": "BRL", "brl": "BRL", "¥": "JPY", "jpy": "JPY", "pln": "PLN", "₹": "INR", "inr": "INR",
    "sek": "SEK",
}  # fmt: skip

_THOUSAND = "k tsd tsd. thousand tausend milliers mila duizend mil mille"
_MILLION = "mio mio. mln mn million millions millionen millón millones milhão milhões milione milioni miljoen"
_MILLIARD = "bn mrd mrd. md milliard milliards milliarde milliarden miliardo miliardi miljard"
SCALES: Mapping[str, int] = {
    **dict.fromkeys(_spellings(_THOUSAND), 1_000),
    **dict.fromkeys(_spellings(_MILLION), 1_000_000),
    **dict.fromkeys(_spellings(_MILLIARD), 10**9),
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
    "enero febrero marzo abril mayo junio julio agosto setiembre octubre noviembre diciembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "jan fev mar abr mai jun jul ago set out nov dez",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "gen feb mar apr mag giu lug ago set ott nov dic",
    "januari februari maart april mei juni juli augustus september oktober november december",
)
MONTHS_BY_NAME: Mapping[str, int] = {
    spelt: number
    for names in _MONTHS_BY_LANGUAGE
    for number, name in enumerate(names.split(), 1)
    for spelt in _spellings(name)
}

SPELLINGS: Mapping[str, Mapping[str, str]] = {
    "de": {"fuenf": "fünf", "zwoelf": "zwölf"},
    "es": {
        "dieciseis": "dieciséis", "veintidos": "veintidós", "veintitres": "veintitrés", "veintiseis": "veintiséis",
        "veintiún": "veintiuno",
    },
    "pt": {"tres": "três"},
}  # fmt: skip
"""Of number words, as people type them too."""

NUMBER_LANGUAGES = frozenset({"en", "de", "fr", "es", "pt", "it", "nl"})
"""Those of which `text2num` reads the number words that we ask it for."""

FRACTIONS = (
    r"half|halves|quarters?|thirds?|(?:fif|six|seven|eigh|nin|ten|twentie|hundred|thousand)ths|halbe?[nrsm]?"
    r"|viertel|drittel|(?:fünf|sechs|sieb|ach|neun|zehn|zwanzigs|hunderts|tausends)tel|demi\w?|quart|tiers|medi[oa]"
    r"|cuartos?|tercios?"
    r"|mei[oa]|terços?|mezz[oa]|terzi"
)
"""Words that make a figure with the number or unit beside them, which is never read in part."""
COMPOUNDS = (
    r"(?:an?|one)[\s-](?:fif|six|seven|eigh|nin|ten|twentie|hundred|thousand)th|(?:a|one|by\s+a)[\s-]third|third\s+of"
    r"|(?:une?|deux|trois|quatre)\s(?:cinqu|six|sept|huit|neuv|dix|vingt|cent|mill)ièmes?"
    r"|(?:un|dos|tres|cuatro|uma?|dois|três|quatro|due|tre|quattro)\s(?:quint|sext|séptim|sétim|octav|oitav|noven"
    r"|non|d[éeè]cim)[oi]s?"
    r"|(?:terc(?:er|eir)|cuart|quart|quint|sext|d[ée]cim|cent[ée]sim|mil[ée]sim)a\s+parte"
    r"|(?:d[ée]cim|cent[ée]sim|mil[ée]sim)[oa]s?\s+de"
    r"|\w*(?:einhalb|anderthalb)\w*|anderhalve?|dozens?|dutzend\w*"
    r"|(?:dou|di|hui|quin|ving|tren|quaran|cinquan|soixan|cen)[tz]?aines?|milliers?"
    r"|(?:do|de|quin|veint|treint)c?enas?|centenar\w*|millar\w*"
    r"|dúzias?|(?:de|quin|vint)z?enas?|lustros?|centenas?|milhares|dozzin[ae]|centinai[oa]|migliai[oa]|dozijn\w*"
)
"""Figures in one word that nobody reads."""
MULTIPLES = (
    r"twice|doubl\w+|tripl\w+|quadrupl\w+|halv\w+|(?:ver)?(?:doppel|dreifach|vierfach|halbier)\w*|triple\w*|dobl\w+"
    r"|dobr\w+"
    r"|raddopp\w+|verdubbel\w*|hälfte|moitié|mitad|metade|metà|helft"
)
"""Words that may say what a percentage or a factor says."""

DECADES: Mapping[str, int] = {
    "sixties": 60, "seventies": 70, "eighties": 80, "nineties": 90,
    "sechziger": 60, "siebziger": 70, "achtziger": 80, "neunziger": 90,
    "soixante": 60, "soixante-dix": 70, "quatre-vingt": 80, "quatre-vingts": 80, "quatre-vingt-dix": 90,
    "sesenta": 60, "setenta": 70, "ochenta": 80, "noventa": 90, "sessenta": 60, "oitenta": 80,
    "sessanta": 60, "settanta": 70, "ottanta": 80, "novanta": 90, "zestig": 60, "zeventig": 70, "tachtig": 80,
    "negentig": 90,
}  # fmt: skip

QUARTERS: Mapping[str, int] = {
    **dict.fromkeys(
        (
            "1st",
            "first",
            "1.",
            "erste",
            "ersten",
            "erstes",
            "1er",
            "premier",
            "primer",
            "primeiro",
            "primo",
            "1º",
            "1.º",
            "eerste",
        ),
        1,
    ),
    **dict.fromkeys(
        (
            "2nd",
            "second",
            "2.",
            "zweite",
            "zweiten",
            "zweites",
            "2e",
            "deuxième",
            "second",
            "segundo",
            "secondo",
            "2º",
            "2.º",
            "tweede",
        ),
        2,
    ),
    **dict.fromkeys(
        (
            "3rd",
            "third",
            "3.",
            "dritte",
            "dritten",
            "drittes",
            "3e",
            "troisième",
            "tercer",
            "terceiro",
            "terzo",
            "3º",
            "3.º",
            "derde",
        ),
        3,
    ),
    **dict.fromkeys(
        (
            "4th",
            "fourth",
            "4.",
            "vierte",
            "vierten",
            "viertes",
            "4e",
            "quatrième",
            "cuarto",
            "quarto",
            "4º",
            "4.º",
            "vierde",
        ),
        4,
    ),
}
"""Before the word for three months of a year."""

PARTS: Mapping[str, int] = {
    **dict.fromkeys(("tenth", "zehntel", "dixième", "décimo", "décima", "decimo", "tiende"), 10),
    **dict.fromkeys(("hundredth", "hundertstel", "centième", "centésimo", "centésima", "centesimo", "honderdste"), 100),
    **dict.fromkeys(
        ("thousandth", "tausendstel", "millième", "milésimo", "milésima", "millesimo", "duizendste"), 1_000
    ),
}
"""Of one unit: "a tenth of a second"."""

ABOUT = (
    r"about|around|nearly|almost|roughly|approximately|approx\.?|some|over|above|under|below|(?:more|less|fewer) than"
    r"|close to|just|at least|up to|ca\.?|circa|~|≈|>|<|rund|etwa|ungefähr|fast|knapp|gut|gute[nr]?|über|unter|nahezu"
    r"|beinahe"
    r"|mehr als|weniger als|mindestens|bis zu|gegen|environ|près (?:de|d['’])|presque|quasi(?:ment)?"
    r"|(?:plus|moins) (?:de|d['’])|à peu près|quelque|autour de|jusqu['’]à|au moins|unos|unas|casi|cerca de"
    r"|alrededor de|(?:más|mas|menos|mais) del?|mais d[oae]s?|menos d[oa]s?|aproximadamente|al menos|hasta|uns|umas"
    r"|quase|perto de|à volta de"
    r"|pelo menos|até|oltre|(?:più|meno) di|almeno|fino a|ongeveer|bijna|ruim|(?:meer|minder) dan|zowat"
    r"|mitte|anfang|ende|mid|early|late|début|fin|mediados de|principios de|finales de"
)
"""Words before a figure that say it is not exact."""
ABOUT_BEHIND = r"\+|\s(?:or so|or more|plus|odd|environ|à peu près|ou plus|o más|ou mais|aproximadamente|circa|o più)"

FALLING = (
    r"f[ae]ll\w*|cut\w*|reduc\w+|réduc\w+|dropp?\w*|lower\w*|declin\w+|decreas\w+|shr[aiu]nk\w*|sav(?:ed|ing)\w*"
    r"|trimm\w+"
    r"|down|less|fewer|senk\w*|gesenkt|sank|sinkt|gesunken|fiel\w*|gefallen|reduzier\w+|verringer\w+|verkürz\w+|weniger"
    r"|rückgang|kürz\w+|niedriger|spar\w+|gespart|baiss\w+|diminu\w+|dimin\w+|rédui\w+|recul\w+|chut\w+|moins"
    r"|baj\w+|reduj\w+|reduz\w+|disminuy\w+|descen\w+|desce\w+|cay\w+|ca[ií]\w*|rebaj\w+|recort\w+|menos|baix\w+"
    r"|cort\w+|queda|calat\w+|ridott\w+|ridu\w+|meno|daal\w+|gedaald|verlaag\w+|minder"
)
"""Words of a change downwards: with them a percentage is what went, not what is left."""
LEFT = r"to|only|auf|à|a|para|até|al|tot|naar"
"""Right before a percentage, what is left after all; so are those of `OF` behind it."""
OF = r"of|von|vom|der|des|de|du|d['’]|do|da|dos|das|del|di|van"

OTHERS = (
    r"and (?:i|me|myself)|(?:i|me|myself) and|und ich|ich und|et moi|moi et|y yo|yo y|e eu|eu e|ed? io|io e|en ik|ik en"
    r"|others?|another|more|plus|mehr|más|mais|colleagues?|ander[en]+|weiter[en]+|kolleg\w+|autres?|collègues?"
    r"|otr[oa]s?|compañer[oa]s?"
    r"|colegas?|outr[oa]s?|altr[iaeo]|collegh?i|collega['’]?s?"
)
"""Those beside somebody, who may be counted with them."""
RELATIVE = (
    r"last|next|this|previous|before|after|later|ago|yr|letzt\w+|vorig\w+|nächst\w+|darauf|später|davor|vorher|heuer"
    r"|dernier|dernière|prochain\w*|suivant\w*|avant|plus tard|passé\w*|pasad[oa]|próxim[oa]|siguiente|después|antes"
    r"|hace"
    r"|anterior|passad[oa]|seguinte|depois|há|atrás|scorso|prossimo|dopo|fa|vorig|volgend|later|geleden"
)
"""Words that place a time by another one, or by when they were said."""

OFTEN: Mapping[str, Unit] = {
    r"hourly|stündlich\w*|par heure": UNITS["hour"],
    r"daily|nightly|täglich\w*|diari[oa]s?|diári[oa]s?|quotidien\w*|giornalier[oaie]|dagelijks\w*": UNITS["day"],
    r"weekly|wöchentlich\w*|semanal(?:es)?|semanais|hebdomadaires?|settimanal[ei]|wekelijks\w*": UNITS["week"],
    r"monthly|monatlich\w*|mensual(?:es)?|mensa(?:l|is)|mensuel\w*|mensil[ei]|maandelijks\w*": UNITS["month"],
    r"yearly|annual(?:ly)?|p\.?\s?a\.?|jährlich\w*|anual(?:es)?|anuais|annuel\w*|annu[oi]|annual[ei]"
    r"|jaarlijks\w*": UNITS["year"],
}
"""Words that say by which time something is counted."""

IMPLIED: Mapping[int, str] = {
    0: r"no|none|without|never|nobody|kein\w*|ohne|nie|niemand|aucune?|sans|jamais|sin|ning[uú]n\w*|nunca|sem|nenhuma?"
    r"|nessun\w*|senza|mai|geen|zonder|nooit",
    1: r"an?|one|single|once|only|sole|first|alone|myself|ein\w{0,2}|einzig\w*|erst\w+|allein\w*|une?|seule?"
    r"|premi[eè]re?"
    r"|un[oa]?"
    r"|únic[oa]|sol[oa]|primer[oa]?|uma?|primeir[oa]|sozinh[oa]|prim[oa]|een|eerste",
    2: r"both|second|twice|couple|pair|twins?|double|duo|beide\w*|zweit\w+|zweimal|paar|zwilling\w*|doppel\w*|deuxième"
    r"|seconde?"
    r"|paire|jumelles|jumeaux|amb[oa]s|segund[oa]|par|pareja|dos veces|dupla|entramb[ie]|second[oa]|tweede|beide",
    3: r"third|thrice|trio|triple|triplets|dritt\w+|dreimal|troisième|trío|tercer\w*|terceir[oa]|terz[oa]|derde",
    4: r"fourth|quartett?|quatrième|cuarto|cuarteto|quarteto|vierde",
    5: r"weekdays|mon(?:day)?s?\s?(?:-|–|to|through)\s?fri(?:day)?s?|mo\w*\.?\s?(?:-|–|bis)\s?fr(?:eitags?)?"
    r"|lunes a viernes"
    r"|lundi au vendredi|segunda a sexta|lunedì a venerdì|quintett?o?|quinteto",
    6: r"sei",
    8: r"acht",
    9: r"neufs?",
    12: r"noon|midday|midnight|mittags?|mitternacht|midi|minuit|mediod[ií]a|medianoche|meio-dia|meia-noite",
}
"""Words that may say a small number without counting."""

ADJECTIVES = (
    r"(?:jährig|monatig|wöchig|tägig|stündig|minütig|köpfig|teilig|stufig|sprachig|seitig|bändig)(?:e[mnrs]?)?"
    r"|mal(?:ig(?:e[mnrs]?)?)?"
)
"""What German puts behind a number in one word."""
