"""Detect the language of a text, and split it into tokens and stems."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

from qwestly_agent.base.patterns import pattern

# --- language ---------------------------------------------------------------------------------------------------------
# Detect the language of a text by its function words.


FEWEST_HITS = 2

_WORDS: Mapping[str, str] = {
    "en": (
        "the and of to a in is are was were for with on at by from that this it he she they we i my our his her"
        " their not but as an be been have has had who which when after before than into over per about also now"
        " all no did do does its then there them me us you your up out so since both each every during under s m"
    ),
    "de": (
        "der die das und in den dem des ein eine einen einem einer von zu zum zur mit auf für ist sind war waren"
        " nicht auch als an am im aus bei nach seit vor über um wie wir ich er sie es sich hat haben hatte wird"
        " wurde wurden noch nur oder aber dass mein meine unser unsere sein seine ihr ihre bis durch pro dann"
        " davon heute jetzt da so hab bin vom beim ins alle mehr habe man unter zwischen ohne"
    ),
    "fr": (
        "le la les l d un une des du de et à au aux en dans par pour sur avec est sont était a ont qui que qu ne"
        " pas plus se ce cette ces son sa ses mon ma mes notre nos leur leurs il elle ils elles on nous je j c s n"
        " y ou mais comme depuis chez sans sous entre après avant jusqu puis aussi été fait être tout tous"
    ),
    "es": (
        "el la los las un una unos unas de del y e a al en con por para que se su sus es son era fue ha han no lo"
        " le les mi mis nos nuestro nuestra yo pero como más o desde hasta entre sin sobre cuando también ya muy"
        " hace antes después donde este esta estos estas ser hay todo todos años cada hoy"
    ),
    "pt": (
        "o a os as um uma uns umas de do da dos das e em no na nos nas com por para pelo pela que se seu sua seus"
        " suas é são era foi há não ao à aos às mais mas como meu minha eu ele ela nós ou desde até entre sem"
        " sobre quando também já muito depois antes onde este esta isso ser tem tenho anos cada hoje num numa"
    ),
    "it": (
        "il lo la i gli le l un uno una di del della dei delle dello dal dalla da e ed a al alla in nel nella nei"
        " con per che si su sul sulla suo sua suoi sono è era ha hanno non mi mio mia noi io ma come più o anche"
        " ho tra fra dopo prima poi quando dove questo questa anni ogni oggi senza"
    ),
    "nl": (
        "de het een en van in op te dat die is was zijn met voor niet aan er om ook als bij nog uit door over"
        " naar dan maar heeft hebben had ik je hij ze we wij zij mijn haar tot sinds werd worden wordt deze dit"
        " geen jaar of alle per na toen nu"
    ),
}
_TABLES: Mapping[str, frozenset[str]] = {language: frozenset(words.split()) for language, words in _WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+")


def function_words(*languages: str) -> frozenset[str]:
    return frozenset().union(*(_TABLES[language] for language in languages))


def language_of(text: str) -> str:
    """Return the ISO 639-1 code of the language with the most function words, at least two; "" if this is unclear."""
    counted = Counter(
        language for word in _WORD.findall(text.lower()) for language, words in _TABLES.items() if word in words
    )
    (first, most), (_, next_most) = (*counted.most_common(2), ("", 0), ("", 0))[:2]
    return first if most >= FEWEST_HITS and most > next_most else ""


# --- stems ------------------------------------------------------------------------------------------------------------
# Tokens of a text, their stems, and function words.
#
# A word's stem is the same in every language, because notes are too short to detect their language. It is the shortest
# stem that the Snowball stemmers of five languages produce, applied until it no longer changes. On LoCoMo this finds as
# much as the English stemmer alone.


_LANGUAGES = ("english", "german", "french", "spanish", "portuguese")
_MORE_FUNCTION_WORDS = (
    "what where how which whom whose why would could should can may might having"
    " was wer wem wen wo wohin woher wann warum wieso welche welcher welches kann soll habt seid"
    " quoi quel quelle quels quelles quand comment pourquoi peut ai as avons avez suis êtes ça"
    " qué quién cuál cuáles cómo dónde cuándo cuánto puede tiene tienen está están estoy soy"
    " quem qual quais onde quando quanto porquê pode tem têm está estou sou"
)
_NEGATIONS = "not no nicht ne pas sans sin não sem ohne"
_NO_WORD = pattern(r"[\W_]")
_UNSPACED = pattern(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]+"
)
"""Text in scripts without spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, kana, Han."""


def tokens_of(text: str) -> list[str]:
    """Return the words in lower case after NFKC, without stemming or removing stop words; bigrams for scripts without
    spaces."""
    plain = _NO_WORD.sub(_mark_or_blank, unicodedata.normalize("NFKC", text).lower())
    if plain.isascii():
        return plain.split()
    return _UNSPACED.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", plain).split()


def stems_of(text: str) -> list[str]:
    """Return the stem of each token."""
    return [stem(token) for token in tokens_of(text)]


def indexed_words(text: str) -> str:
    """Return the stems under which a text is indexed."""
    return " ".join(stems_of(text))


def query_words(text: str) -> str:
    """Return the stems of a query, without function words unless there is nothing else."""
    return " ".join(content_stems(text) or stems_of(text))


def content_stems(text: str) -> list[str]:
    """Return the stems of the tokens that are not function words in any of five languages. Negations are kept."""
    return [stem(token) for token in tokens_of(text) if token not in _function_words()]


@lru_cache(maxsize=100_000)
def stem(token: str) -> str:
    while (shorter := min((each.stemWord(token) for each in _stemmers()), key=lambda each: (len(each), each))) != token:
        if len(shorter) < 2:
            break
        token = shorter
    return token


@cache
def _stemmers() -> tuple[Any, ...]:
    import Stemmer  # late, because most functions never use it

    return tuple(map(Stemmer.Stemmer, _LANGUAGES))


@cache
def _function_words() -> frozenset[str]:
    found = function_words("en", "de", "fr", "es", "pt") | frozenset(_MORE_FUNCTION_WORDS.split())
    return found - frozenset(_NEGATIONS.split())


def _mark_or_blank(found: re.Match[str]) -> str:
    # A Hindi or Thai vowel sign does not match `\w`, but is part of a word.
    return found[0] if unicodedata.category(found[0]).startswith("M") else " "


def _pairs(run: str) -> Iterable[str]:
    return ("".join(pair) for pair in pairwise(run)) if len(run) > 1 else run
