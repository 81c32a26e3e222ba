"""Step 1: check that a quote is in its source.

Typography is ignored: white space, case, quotation marks, the length of a dash, œ, Unicode compatibility (NFKC),
invisible characters, hyphenation at a line's end, bullets, and letter-spacing. Any other difference counts. A quote may
not begin or end inside a word: "Porto" is not found in "Portofino".
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from qwestly_agent.base.patterns import pattern
from qwestly_agent.grounding.model import Quote, QuotedSource

QUOTATION_MARKS = "\"'`´‘’‚‛“”„‟«»‹›′″＂＇"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_TO_ONE_MARK = str.maketrans(
    {**dict.fromkeys(QUOTATION_MARKS, "'"), **dict.fromkeys(_DASHES, "-"), "œ": "oe", "Œ": "OE"}
)
_CUT = pattern(r"(?<=[^\W\d_])[-\u00ad][^\S\n]*\n\s*(?=[^\W\d_])|[\u00ad\u200b\u2060\ufeff]")
_BULLET = pattern(r"(?:^|(?<=\s))[•·▪‣◦●○■►▶➢➤✓✔❖](?=\s)")
_DASH = pattern(r"(?:^|(?<=\n))[^\S\n]*[*-](?=\s)")
_AFTER_HYPHEN = pattern(r"\u00ad[^\S\n]*\n\s*|(?<=\w-)[^\S\n]*\n\s*(?=\w)|[\u00ad\u200b\u2060\ufeff]")
_SPACED_OUT = pattern(r"(?<!\w)(?:[^\W\d_] {1,3}){3,}[^\W\d_](?!\w)")
_ONE_BLANK = pattern(r"(?<! ) (?! )")
_EDGES = f" \t\r\n{QUOTATION_MARKS}"
_SENTENCE_END = pattern(r"(?<=[.!?…。！？])\s+|\s*\n\s*")
AROUND_CHARACTERS = 240
"""Maximum length of the sentence's text before and after a quote."""


@dataclass(frozen=True)
class FoundQuote:
    """A quote in its source: `source.text[start:end]`."""

    source: QuotedSource
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def sentence(self) -> str:
        """The sentences or lines around the quote, shortened if they are long."""
        before, behind = self.around
        return f"{before}{self.text}{behind}".strip()

    @property
    def around(self) -> tuple[str, str]:
        """The text of these sentences before and after the quote."""
        ends = [0, *(end for mark in _SENTENCE_END.finditer(self.source.text) for end in mark.span())]
        ends.append(len(self.source.text))
        first = max((end for end in ends if end <= self.start), default=0)
        last = min((end for end in ends if end >= self.end), default=len(self.source.text))
        first, last = max(first, self.start - AROUND_CHARACTERS), min(last, self.end + AROUND_CHARACTERS)
        return self.source.text[first : self.start].lstrip(), self.source.text[self.end : last].rstrip()


def quoted_words(found: Iterable[FoundQuote]) -> str:
    """Return the quoted words as they stand in their sources, in one line: "I led a team … of eight"."""
    texts = (" · ".join(filter(None, (line.strip() for line in each.text.splitlines()))) for each in found)
    return " … ".join(dict.fromkeys(texts))


def find_quote(quote: Quote, sources: Mapping[str, QuotedSource]) -> FoundQuote | None:
    """Find the quote in the source that it names; None if it is not there."""
    source = sources.get(quote.source)
    span = find_span(quote.text, source.text) if source else None
    return FoundQuote(source, *span) if source and span else None


def find_span(words: str, text: str) -> tuple[int, int] | None:
    """Return start and end of the first occurrence of the words as whole words."""
    for is_kept, is_kept_there in product((False, True), repeat=2):
        wanted = _folded(words.strip(_EDGES), is_kept)[0].strip()
        folded, origins = _folded(text, is_kept_there)
        at = folded.find(wanted) if any(map(str.isalnum, wanted)) else -1
        while at >= 0:
            end = at + len(wanted)
            if not _cuts_a_word(folded, at) and not _cuts_a_word(folded, end):
                return origins[at][0], origins[end - 1][1]
            at = folded.find(wanted, at + 1)
    return None


@lru_cache(maxsize=128)  # many quotes are searched in the same text
def _folded(text: str, is_hyphen_kept: bool) -> tuple[str, Sequence[tuple[int, int]]]:
    """Normalize the text for comparison. Returns it with the start and end of each character in the original.

    A hyphen at a line's end may divide a word or belong to it ("front-end"), and a dash at a line's beginning may be a
    bullet. `is_hyphen_kept` chooses the interpretation.
    """
    read = [
        (character, start, end)
        for start, end in _clusters(text)
        for character in unicodedata.normalize("NFKC", text[start:end].translate(_TO_ONE_MARK))  # NFKC splits ´
        .translate(_TO_ONE_MARK)
        .casefold()
    ]
    plain, left_out = "".join(character for character, *_ in read), set[int]()
    for each in (_AFTER_HYPHEN, _BULLET) if is_hyphen_kept else (_CUT, _BULLET, _DASH):
        left_out.update(at for match in each.finditer(plain) for at in range(*match.span()))
    for match in _SPACED_OUT.finditer(plain):
        left_out.update(blank.start() for blank in _ONE_BLANK.finditer(plain, *match.span()))
    characters: list[str] = []
    origins: list[tuple[int, int]] = []
    for at, (character, start, end) in enumerate(read):
        if at in left_out:
            continue
        if character.isspace() and characters and characters[-1] == " ":
            origins[-1] = (origins[-1][0], end)
            continue
        characters.append(" " if character.isspace() else character)
        origins.append((start, end))
    return "".join(characters), origins


def _clusters(text: str) -> list[tuple[int, int]]:
    """Return the span of each character with its combining marks, which NFKC composes."""
    starts = [i for i, character in enumerate(text) if i == 0 or not unicodedata.combining(character)]
    return list(zip(starts, [*starts[1:], len(text)], strict=True)) if text else []


def _cuts_a_word(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    before, behind = text[at - 1], text[at]
    # Scripts without case or spaces between words (Chinese, Japanese, Thai) have no word boundaries to check.
    spaced = "Lo" not in (unicodedata.category(before), unicodedata.category(behind))
    return spaced and before.isalnum() and behind.isalnum()
