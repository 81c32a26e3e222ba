"""Text as rules read it: passages that are said, denied or wished for, in words that compare.

"I did not lead it, but wrote the guide" is two passages: one denied, one said. What is denied or wished for supports
only a claim that denies or wishes the same.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, wraps
from itertools import pairwise
from typing import Any, Literal, TypeVar

from qwestly_agent.memory.rules.lexicon import ALIASES, IRREGULAR, STOP

Voice = Literal["says", "denies", "wishes"]
Fact = TypeVar("Fact")

_TOKEN = re.compile(r"\.NET\b|[^\W_]+(?:[.'’&][^\W_]+)*(?:\+\+|#)?", re.IGNORECASE)
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Za-z]|St|Dr|Mr|Mrs|Ms|Prof|Inc|Ltd|Co|Corp|No|Nr|ca|approx|incl|dept|Sc|Eng|Ed|Phil|vs|e\.g|i\.e|Jan|Feb|Mar"
    r"|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Univ|Str|bzw|z\.B))\.$"
)
_BREAK = re.compile(
    r"(?<=[.!?])[\"”’)]?\s+(?=[^\sa-z])|\s*(?=[•▪●])|;\s+(?!none\b)|\n\s*\n|\n(?=\s*(?:[^\sa-z]|[-*–]\s))"
)

_PHRASES = re.compile(
    r"\b(?:machine learning|amazon web services|google cloud|computer science|human resources|public relations"
    r"|quality assurance|user experience|user interface|information technology)\b"
)
_DENIES = re.compile(
    r"\b(?:none\b|(?:not|nicht)(?! only\b| just\b| least\b)|never|no(?! fewer\b| less\b|\.? ?\d)|nor|neither"
    r"|without|zero|hardly"
    r"|barely|lack(?:s|ed|ing)?|unable to|failed to|turned down|rather than|instead of|kein\w*|ohne|jamais|sans"
    r"|[a-z]+n['’]t)\b|\b[a-z]+-free\b",
    re.IGNORECASE,
)
_WISHES = re.compile(
    r"\b(?:would (?:like|love|want|prefer)|['’]d (?:like|love|prefer)|want(?:s|ed)? to"
    r"|wish(?:es)? to|hop(?:e|es|ing) to"
    r"|plan(?:s|ning)? (?:to|on)\b|intend(?:s|ing)? to|aspir\w+|dream\w* of|looking (?:to|for)|seek(?:s|ing)?"
    r"|interested in|(?:am|is|are|['’]m) going to|(?-i:will)|considering|might|open to|keen to|eager to|someday|one day"
    r"|my goals? (?:is|are)|my next step|ideally|thinking (?:of|about)|applied (?:for|to))\b",
    re.IGNORECASE,
)
_WISH_AHEAD = re.compile(
    r"(?:^|.*[;:—,]|.*\b(?:and|but|while)\b)(?P<topic>(?:(?!\b(?:At|In|As|at|in|as)\b).)*)$", re.DOTALL
)
_SCOPE_END = re.compile(
    r";|—|\s–\s|,?\s(?:but|however|although|though|yet|whereas|while)\b|,\s*(?:so|then|now|which|who|where)\b"
    r"|(?:,|,?\sand)\s+(?:then\s+)?(?=(?:I|we|she|he)\b|[a-z]{3,}ed\b|(?:led|built|wrote|taught|ran|sold|grew|made|won)\b)",
)
_SUFFIXES = [
    (end, len(end) + (3 if end in ("s", "ed", "ing", "er", "e", "y") else 4))
    for end in re.findall(
        r"\w+",
        "ations ation ators ator ating ated ates ate ements ement ments ment ships ship ings ing "
        "ers er ors or ions ion "
        "ies ive ed es ly s al e y",
    )
]
"""Endings, longest first, each with the length of the shortest word that may lose it."""


@dataclass(frozen=True)
class Token:
    text: str
    key: str
    """Without case, accents and possessive, and the same for words that mean the same."""
    stem: str
    start: int
    end: int


@dataclass(frozen=True)
class Passage:
    text: str
    voice: Voice
    subject: str = ""
    """The words before it in its sentence: who did it may stand there."""
    rest: str = ""
    """The words after it in its sentence: that it was never finished may stand there."""
    item: str = ""
    """Which of the cited sources it is from."""
    about: frozenset[str] = frozenset()
    """Words of the employer or school that it tells of, where that is known."""
    facts: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was found in it, by the name of what looked."""

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        return tuple(_tokens(self.text))

    @cached_property
    def keys(self) -> frozenset[str]:
        """Hyphenated and apart words also as one: e-commerce is ecommerce."""
        keys = [token.key for token in self.tokens]
        phrases = {canonical(phrase.replace(" ", "")) for phrase in _PHRASES.findall(self.plain)}
        return frozenset(keys) | phrases | {canonical(left + right) for left, right in pairwise(keys)}

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(token.stem for token in self.tokens if token.key not in STOP)

    @property
    def is_bullet(self) -> bool:
        return not self.subject and self.text.startswith(("•", "▪", "●", "·", "*", "-", "–"))

    @cached_property
    def plain(self) -> str:
        """Its words alone, for phrases: " team lead at globex "."""
        return " " + " ".join(bare(token.text) for token in self.tokens) + " "


def once(find: Callable[[Passage], Fact]) -> Callable[[Passage], Fact]:
    """Look once into each passage, and keep what was found with it: sixty claims read the same evidence."""

    name = find.__name__

    @wraps(find)
    def found(passage: Passage) -> Fact:
        facts = passage.facts
        if name not in facts:
            facts[name] = find(passage)
        return facts[name]

    return found


def passages(text: str, item: str = "") -> list[Passage]:
    return [part for sentence in _sentences(text) for part in _voices(sentence, item)]


@lru_cache(maxsize=8192)
def bare(word: str) -> str:
    """Lower case, without accents and possessive."""
    plain = unicodedata.normalize("NFKD", word.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return re.sub(r"['’]s$|['’]$", "", plain)


def canonical(key: str) -> str:
    return ALIASES.get(key, key)


@lru_cache(maxsize=8192)
def stem(key: str) -> str:
    """What "migration", "migrates" and "migrated" share. Coarse: for words of the language, not for names."""
    root = IRREGULAR.get(key, key)
    for _ in range(2):
        root = next(
            (root.removesuffix(end) for end, least in _SUFFIXES if root.endswith(end) and len(root) >= least), root
        )
    return root[:-1] if len(root) > 3 and root[-1] == root[-2] else root


def _tokens(text: str) -> Iterator[Token]:
    for found in _TOKEN.finditer(text):
        yield Token(found.group(), *_compared(found.group()), found.start(), found.end())


@lru_cache(maxsize=8192)
def _compared(word: str) -> tuple[str, str]:
    plain = bare(word)
    return canonical(plain), stem(plain)


def _sentences(text: str) -> Iterator[str]:
    text = re.sub(r"[^\S\n]+", " ", unicodedata.normalize("NFC", text).replace("\r", ""))
    start = 0
    for found in _BREAK.finditer(text):
        if _ABBREVIATION.search(text, max(start, found.start() - 12), found.start()) and "\n" not in found.group():
            continue
        if sentence := text[start : found.start()].strip():
            yield sentence
        start = found.end()
    if sentence := text[start:].strip():
        yield sentence


def _voices(sentence: str, item: str) -> Iterator[Passage]:
    at = 0
    while at < len(sentence):
        denied, wished = _DENIES.search(sentence, at), _WISHES.search(sentence, at)
        cue = min((found for found in (denied, wished) if found), key=lambda found: found.start(), default=None)
        if cue is None:
            break
        begin = cue.start()
        if cue is wished and (ahead := _WISH_AHEAD.match(sentence[at:begin])):
            begin = at + ahead.start("topic")
        end = _SCOPE_END.search(sentence, cue.end())
        stop = end.start() if end else len(sentence)
        yield from _passage(sentence, at, begin, "says", item)
        yield from _passage(sentence, begin, stop, "denies" if cue is denied else "wishes", item)
        at = stop
    yield from _passage(sentence, at, len(sentence), "says", item)


def _passage(sentence: str, start: int, end: int, voice: Voice, item: str) -> Iterator[Passage]:
    if re.search(r"\w", text := sentence[start:end]):
        yield Passage(text, voice, sentence[:start], sentence[end:], item)
