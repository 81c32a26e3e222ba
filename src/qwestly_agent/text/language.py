"""Detect the language of a text by its function words."""

import re
from collections import Counter
from collections.abc import Mapping

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
    """Return the ISO 639-1 code of the language with the most function words, at least two; "" if it is unclear."""
    counted = Counter(
        language for word in _WORD.findall(text.lower()) for language, words in _TABLES.items() if word in words
    )
    (first, most), (_, next_most) = (*counted.most_common(2), ("", 0), ("", 0))[:2]
    return first if most >= FEWEST_HITS and most > next_most else ""
