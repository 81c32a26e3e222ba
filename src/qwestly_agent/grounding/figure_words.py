"""Closed tables of words in and around figures: months, fractions, and words of approximation, decrease and rate.

They cover the languages of `units`.
"""

from collections.abc import Mapping

from qwestly_agent.grounding.units import UNITS, Unit, spellings

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

SPELLINGS: Mapping[str, Mapping[str, str]] = {
    "de": {"fuenf": "fünf", "zwoelf": "zwölf"},
    "es": {
        "dieciseis": "dieciséis", "veintidos": "veintidós", "veintitres": "veintitrés", "veintiseis": "veintiséis",
        "veintiún": "veintiuno",
    },
    "pt": {"tres": "três"},
}  # fmt: skip
"""Alternative spellings of number words."""

NUMBER_LANGUAGES = frozenset({"en", "de", "fr", "es", "pt", "it", "nl"})
"""Languages whose number words `text2num` parses."""

FRACTIONS = (
    r"half|halves|quarters?|dreiviertel|quarti|quartos?|thirds?|(?:fif|six|seven|eigh|nin|ten|twentie|hundred|thousand)ths|halbe?[nrsm]?"
    r"|viertel|drittel|(?:fünf|sechs|sieb|ach|neun|zehn|zwanzigs|hunderts|tausends)tel|demi\w?|quarts?|tiers|medi[oa]"
    r"|cuartos?|tercios?"
    r"|mei[oa]|terços?|mezz[oa]|terzi"
)
"""Words that form one figure with the number or unit next to them; the figure is never parsed in part."""
COMPOUNDS = (
    r"(?:an?|one)[\s-](?:fif|six|seven|eigh|nin|ten|twentie|hundred|thousand)th|(?:a|one|by\s+a)[\s-]third|third\s+of"
    r"|(?:une?|deux|trois|quatre)\s(?:cinqu|six|sept|huit|neuv|dix|vingt|cent|mill)ièmes?"
    r"|(?:un|dos|tres|cuatro|uma?|dois|três|quatro|due|tre|quattro)\s(?:quint|sext|séptim|sétim|octav|oitav|noven"
    r"|non|d[éeè]cim)[oi]s?"
    r"|(?:terc(?:er|eir)|cuart|quart|quint|sext|d[ée]cim|cent[ée]sim|mil[ée]sim)a\s+parte"
    r"|(?:d[ée]cim|cent[ée]sim|mil[ée]sim)[oa]s?\s+de"
    r"|(?:drei)?viertel(?:stunde|jahr|tag)\w*|halb(?:stunde|stünd|tag)\w*|\w*(?:einhalb|anderthalb)\w*|anderhalve?|dozens?|dutzend\w*"
    r"|(?:dou|di|hui|quin|ving|tren|quaran|cinquan|soixan|cen)[tz]?aines?|milliers?"
    r"|(?:do|de|quin|veint|treint)c?enas?|centenar\w*|millar\w*"
    r"|dúzias?|(?:de|quin|vint)z?enas?|lustros?|centenas?|milhares|dozzin[ae]|centinai[oa]|migliai[oa]|dozijn\w*"
)
"""Single words that are figures, and that code does not parse."""
MULTIPLES = (
    r"half(?:(?=\s*(?:[.,;)\n]|$))|\s(?:of|the|that|my|our|his|her|its|their))|twice|doubl\w+|tripl\w+|quadrupl\w+|halv\w+|(?:ver)?(?:doppel|dreifach|vierfach|halbier)\w*|triple\w*|dobl\w+"
    r"|dobr\w+"
    r"|raddopp\w+|verdubbel\w*|hälfte|moitié|mitad|metade|metà|helft"
)
"""Words that may express a percentage or a factor."""

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
"""Ordinals before the word for a quarter of a year."""

PARTS: Mapping[str, int] = {
    **dict.fromkeys(("tenth", "zehntel", "dixième", "décimo", "décima", "decimo", "tiende"), 10),
    **dict.fromkeys(("hundredth", "hundertstel", "centième", "centésimo", "centésima", "centesimo", "honderdste"), 100),
    **dict.fromkeys(
        ("thousandth", "tausendstel", "millième", "milésimo", "milésima", "millesimo", "duizendste"), 1_000
    ),
}
"""Parts of a unit: "a tenth of a second"."""

ABOUT = (
    r"about|around|nearly|almost|roughly|approximately|approx\.?|some|over|above|under|below|(?:more|less|fewer) than"
    r"|close to|just|at least|up to|ca\.?|circa|~|≈|>|<|rund|etwa|ungefähr|fast|knapp|gut|gute[nr]?|über|unter|nahezu"
    r"|beinahe"
    r"|mehr als|weniger als|mindestens|bis zu|gegen|environ|près (?:de|d['’])|presque|quasi(?:ment)?"
    r"|(?:plus|moins) (?:de|d['’])|à peu près|quelque|autour de|jusqu['’]à|au moins|unos|unas|casi|cerca de"
    r"|alrededor de|(?:más|mas|menos|mais) del?|mais d[oae]s?|menos d[oa]s?|aproximadamente|al menos|hasta|uns|umas"
    r"|quase|perto de|à volta de"
    r"|pelo menos|até|oltre|(?:più|meno) di|almeno|fino a|ongeveer|bijna|ruim|(?:meer|minder) dan|zowat"
    r"|(?:pass|exceed|surpass|topp|cross)ed|exceeds|dépass\w+|super(?:ó|a|ou|aron|aram)|ultrapass\w+|übertr[aio]f\w*"
    r"|überschr\w+|mitte|anfang|ende|mid|early|late|début|fin|mediados de|principios de|finales de"
)
"""Words before a figure that mark it as approximate."""
ABOUT_BEHIND = r"\+|\s(?:or so|or more|plus|odd|environ|à peu près|ou plus|o más|ou mais|aproximadamente|circa|o più)"

FALLING = (
    r"f[ae]ll\w*|cut\w*|reduc\w+|réduc\w+|dropp?\w*|lower\w*|declin\w+|decreas\w+|shr[aiu]nk\w*|sav(?:ed|ing)\w*"
    r"|trimm\w+"
    r"|down|less|fewer|senk\w*|gesenkt|sank|sinkt|gesunken|fiel\w*|gefallen|reduzier\w+|verringer\w+|verkürz\w+|weniger"
    r"|rückgang|kürz\w+|niedriger|spar\w+|gespart|baiss\w+|diminu\w+|dimin\w+|rédui\w+|recul\w+|chut\w+|moins"
    r"|baj\w+|reduj\w+|reduz\w+|disminuy\w+|descen\w+|desce\w+|cay\w+|ca[ií]\w*|rebaj\w+|recort\w+|menos|baix\w+"
    r"|cort\w+|queda|calat\w+|ridott\w+|ridu\w+|meno|daal\w+|gedaald|verlaag\w+|minder"
)
"""Words of a decrease: with one of them, a percentage is the amount lost rather than the amount left."""
RISING = (
    r"up|increas\w+|rais\w+|rise[ns]?|rose|rising|gr[oe]w\w*|boost\w*|\w*steiger\w*|stieg\w*|gestiegen|erhöh\w*|wuchs\w*"
    r"|gewachsen|wächst|zugenommen|augment\w+|hauss\w+|cr[uû]|croissance|accr\w+|aument\w+|sub(?:i|ió|iu|ieron|iram|ida)"
    r"|crec\w+|cresc\w+|increment\w+|sal(?:ito|ita|iti|ì)|gestegen|steeg|verhoog\w*|gegroeid"
)
"""Words of an increase."""
LEFT = r"to|only|from|auf|von|à|a|para|pra|até|al|desde|dal|tot|naar|van"
"""Words before a percentage that make it the amount before or after a change. The words of `OF` after it do the
same."""
OF = r"of|von|vom|der|des|de|du|d['’]|do|da|dos|das|del|di|van"

OTHERS = (
    r"and (?:i|me|myself)|(?:i|me|myself) and|und ich|ich und|et moi|moi et|y yo|yo y|e eu|eu e|ed? io|io e|en ik|ik en"
    r"|others?|another|more|plus|mehr|más|mais|colleagues?|ander[en]+|weiter[en]+|kolleg\w+|autres?|collègues?"
    r"|otr[oa]s?|compañer[oa]s?|and an?|and one|und ein\w{0,2}|et une?|y un[oa]?|e uma?|ed? un[oa]?|en een"
    r"|colegas?|outr[oa]s?|altr[iaeo]|collegh?i|collega['’]?s?"
)
"""Words for other people, who may be counted together with the user."""
SMALL = (
    r"one|first|second|erste[nrsm]?|zweite[nrsm]?|premi(?:er|ère)s?|deuxième|primer[oa]?|segund[oa]|primeir[oa]|prim[oa]"
    r"|second[oa]|eerste|tweede|third|once|acht|neufs?|sei"
)
"""Number words that are often other words; they are marked for the judge if they were not parsed and are not in the
quotes."""
PART_OF = (
    r"of (?:which|whom|them|these|those)|includ\w+|davon|darunter|einschließlich|inklusive|dont|compris\w*|inclu\w*"
    r"|de (?:los|las) (?:que|cuales)|d[oa]s quais|d[eo]ll?[ei] quali|waarvan|ervan|total\w*|altogether|overall|in all"
    r"|insgesamt|gesamt|en tout|en total|ao todo|in totale|in totaal"
)
"""Words that make a figure a part or the total of another."""
PRESENT = (
    r"present|now|today|current(?:ly)?|ongoing|to date|heute|jetzt|laufend|aujourd['’]hui|présent|actuellement|en cours"
    r"|actualidad|presente|hoy|ahora|actual(?:mente)?|hoje|atual(?:mente)?|presente|oggi|presente|attuale|heden|nu|vandaag"
)
"""Words for a period that has not ended."""
RELATIVE = (
    r"last|next|this|previous|before|after|later|ago|yr|letzt\w+|vorig\w+|nächst\w+|darauf|später|davor|vorher|heuer"
    r"|dernier|dernière|prochain\w*|suivant\w*|avant|plus tard|passé\w*|pasad[oa]|próxim[oa]|siguiente|después|antes"
    r"|hace|que vem|q vem|que viene|qui vient|kommend\w*|upcoming|coming|turn(?:s|ing)?|werde|cumplo|faço|prochaines?"
    r"|anterior|passad[oa]|seguinte|depois|há|atrás|scorso|prossimo|dopo|fa|vorig|volgend|later|geleden"
)
"""Words that make a time relative to another one, or to the time of writing."""

OFTEN: Mapping[str, Unit] = {
    r"hourly|stündlich\w*|par heure": UNITS["hour"],
    r"daily|nightly|täglich\w*|diari[oa]s?|diári[oa]s?|quotidien\w*|giornalier[oaie]|dagelijks\w*": UNITS["day"],
    r"weekly|wöchentlich\w*|semanal(?:es)?|semanais|hebdomadaires?|settimanal[ei]|wekelijks\w*": UNITS["week"],
    r"monthly|monatlich\w*|mensual(?:es)?|mensa(?:l|is)|mensuel\w*|mensil[ei]|maandelijks\w*": UNITS["month"],
    r"yearly|annual(?:ly)?|p\.?\s?a\.?|jährlich\w*|anual(?:es)?|anuais|annuel\w*|annu[oi]|annual[ei]"
    r"|jaarlijks\w*": UNITS["year"],
}
"""Words that give the period of a rate."""

ADJECTIVES = (
    r"(?:jährig|monatig|wöchig|tägig|stündig|minütig|köpfig|teilig|stufig|sprachig|seitig|bändig)(?:e[mnrs]?)?"
    r"|mal(?:ig(?:e[mnrs]?)?)?"
)
"""German suffixes that form one word with a number."""
