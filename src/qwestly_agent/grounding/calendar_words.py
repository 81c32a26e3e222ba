"""Compare weekdays and the seasons, halves and parts of a year. They are as exact as dates, and translate
unambiguously."""

import re
from collections.abc import Iterator, Sequence

from qwestly_agent.base.patterns import pattern
from qwestly_agent.grounding.quotes import FoundQuote

_WEEKDAYS = (
    r"mondays?|montags?|lundis?|lunes|segundas?-feiras?|lunedì|maandags?",
    r"tuesdays?|dienstags?|mardis?|martes|terças?(?:-feiras?)?|martedì|dinsdags?",
    r"wednesdays?|mittwochs?|mercredis?|mi[ée]rcoles|quartas?-feiras?|mercoledì|woensdags?",
    r"thursdays?|donnerstags?|jeudis?|jueves|quintas?-feiras?|giovedì|donderdags?",
    r"fridays?|freitags?|vendredis?|viernes|sextas?-feiras?|venerdì|vrijdags?",
    r"saturdays?|samstags?|sonnabends?|samedis?|s[áa]bados?|sabato|zaterdags?",
    r"sundays?|sonntags?|dimanches?|domingos?|domenica|zondags?",
)
_SEASONS = (
    r"spring|frühlings?|frühjahrs?|printemps|primavera|lente|voorjaar",
    r"summer|sommers?|été|verano|verão|estate|zomer",
    r"autumn|fall|herbst(?:es)?|automne|otoño|outono|autunno|herfst",
    r"winters?|hiver|invierno|inverno",
)
_PARTS_OF_A_YEAR = (
    r"early|beginning|start|anfang|beginn|début|inicios?|principios?|comienzos|início|começo|inizio",
    r"mid(?:dle)?|mitte|mi|mitad|mediados|meados|metade|metà",
    r"late|end|ende|fin|final(?:es|zinho)?|fim|finzinho|fine",
)
_HALVES = (
    r"(?:first|1st) (?:half|semester)|h1|(?:erste[ns]?|1\.) (?:halbjahre?s?|semesters?|hj\.?)"
    r"|(?:premier|1er) sem(?:estre|\.)?|(?:prim(?:ero?|eiro)|1\.?[ºo°]|1er\.?) ?sem(?:estre|\.)?",
    r"(?:second|2nd) (?:half|semester)|h2|(?:zweite[ns]?|2\.) (?:halbjahre?s?|semesters?|hj\.?)"
    r"|(?:second|deuxième|2e|2nd) sem(?:estre|\.)?|(?:segundo|2\.?[ºo°]) ?sem(?:estre|\.)?",
)
_OF_A_YEAR = r"(?:\s+of|\s+del?|\s+d[aeo]s?)?[\s-]+(?:d['’])?(?:(?:19|20)|['’])(?P<year>\d\d)(?!\d)"
_KINDS = (
    tuple(pattern(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE) for words in _WEEKDAYS),
    tuple(pattern(rf"(?<!\w)(?:{words}){_OF_A_YEAR}", re.IGNORECASE) for words in _SEASONS),
    tuple(pattern(rf"(?<!\w)(?:{words}){_OF_A_YEAR}", re.IGNORECASE) for words in _PARTS_OF_A_YEAR),
    tuple(pattern(rf"(?<!\w)(?:{words}){_OF_A_YEAR}", re.IGNORECASE) for words in _HALVES),
)


def calendar_words(text: str, quotes: Sequence[FoundQuote]) -> Iterator[tuple[str, bool]]:
    """Yield each calendar word that the quotes lack, with True if they name exactly one other word of its kind (for the
    same year). If they name none or several (perhaps a range), only the judge can decide."""
    for kind in _KINDS:
        for each in kind:
            if said := each.search(text):
                quoted = [_named(other, said, quotes) for other in kind]
                if not quoted[kind.index(each)]:
                    yield said[0].strip(), sum(quoted) == 1


def _named(word: re.Pattern[str], said: re.Match[str], quotes: Sequence[FoundQuote]) -> bool:
    matches = (match for found in quotes for match in word.finditer(found.text))
    return any(match.groupdict() == said.groupdict() for match in matches)
