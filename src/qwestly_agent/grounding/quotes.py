"""Step 1: check that a quote is in its source.

Letters and digits are compared, regardless of case and Unicode compatibility (NFKC). White space and punctuation are
ignored: a model may add a full stop, or write "9 600" for "9.600". But "15" is not "1.5", and "resigned" is not
"re-signed". A quote may not begin or end inside a word: "Porto" is not found in "Portofino".
"""

import html
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from qwestly_agent.base.patterns import pattern
from qwestly_agent.grounding.model import Quote, QuotedSource

_NAME_SIGNS = "+#"
_SIGNS = "€$£₹%°.!?"
_INVISIBLE = "\u00ad\u200b\u2060\ufeff"
_HYPHEN = pattern(r"[-\u2010-\u2015\u2212](?:[^\S\n]*\n\s*)?")
QUOTATION_MARKS = "\"'`´‘’‚‛“”„‟«»‹›′″＂＇"
_SENTENCE_END = pattern(r"(?<=[.!?…。！？])\s+|\s*\n\s*")
AROUND_CHARACTERS = 240
"""Maximum length of the text that a sentence has before and after a quote."""


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
        """The text before and after the quote in these sentences."""
        ends = [0, *(end for mark in _SENTENCE_END.finditer(self.source.text) for end in mark.span())]
        ends.append(len(self.source.text))
        first = max((end for end in ends if end <= self.start), default=0)
        last = min((end for end in ends if end >= self.end), default=len(self.source.text))
        first, last = max(first, self.start - AROUND_CHARACTERS), min(last, self.end + AROUND_CHARACTERS)
        return self.source.text[first : self.start].lstrip(), self.source.text[self.end : last].rstrip()


def quoted_words(found: Iterable[FoundQuote]) -> str:
    """Return the quoted words as they occur in their sources, on one line: "I led a team … of eight"."""
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
        wanted, _ = _folded(html.unescape(words), is_kept)
        plain, origins = _folded(text, is_kept_there)
        at = plain.find(wanted) if any(map(str.isalnum, wanted)) else -1
        while at >= 0:
            start, end = origins[at][0], origins[at + len(wanted) - 1][1]
            if not _cuts_a_word(text, start) and not _cuts_a_word(text, end):
                return _with_signs(words, text, start, end)
            at = plain.find(wanted, at + 1)
    return None


def _with_signs(words: str, text: str, start: int, end: int) -> tuple[int, int]:
    """Extend the span to include signs at the beginning and end of the words, if they occur there, too: "£", "%"."""
    letters = [place for place, character in enumerate(words) if character.isalnum()]
    for sign in reversed(words[: letters[0]]):
        if sign not in _SIGNS or text[start - 1 : start] != sign:
            break
        start -= 1
    for sign in words[letters[-1] + 1 :]:
        if sign not in _SIGNS or text[end : end + 1] != sign:
            break
        end += 1
    return start, end


@lru_cache(maxsize=256)  # many quotes are looked up in the same text
def _folded(text: str, is_hyphen_kept: bool) -> tuple[str, Sequence[tuple[int, int]]]:
    """Return the text's letters and digits, each with its start and end in the original.

    A hyphen inside a word is kept, and a gap between two digits becomes one sign. `is_hyphen_kept` chooses whether a
    hyphen at the end of a line belongs to the word ("front-end") or divides it.
    """
    read: list[tuple[str, int, int]] = []
    for character, start, end in _characters(text):
        if read:
            gap = text[read[-1][2] : start].strip(_INVISIBLE)
            if gap and read[-1][0].isdigit() and character.isdigit():
                read.append((" ", start, start))
            elif _HYPHEN.fullmatch(gap) and (is_hyphen_kept or "\n" not in gap):
                read.append(("-", start, start))
        read.append((character, start, end))
    return "".join(character for character, *_ in read), [(start, end) for _, start, end in read]


def _characters(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the letters and digits, and "+" and "#" after a letter: "C" is not "C++"."""
    for start, end in _clusters(text):
        folded = unicodedata.normalize("NFKC", text[start:end].replace("œ", "oe").replace("Œ", "OE")).casefold()
        yield from (
            (character, start, end)
            for character in folded
            if character.isalnum() or (character in _NAME_SIGNS and _follows_a_letter(text, start))
        )


def _follows_a_letter(text: str, at: int) -> bool:
    return text[:at].rstrip(_NAME_SIGNS)[-1:].isalpha()


def _clusters(text: str) -> list[tuple[int, int]]:
    """Return the span of each character including its combining marks, which NFKC composes."""
    starts = [i for i, character in enumerate(text) if i == 0 or not unicodedata.combining(character)]
    return list(zip(starts, [*starts[1:], len(text)], strict=True)) if text else []


def _cuts_a_word(text: str, at: int) -> bool:
    before, behind = text[:at].rstrip(_INVISIBLE)[-1:], text[at:].lstrip(_INVISIBLE)[:1]
    if not before or not behind:
        return False
    # Scripts without case or spaces between words (Chinese, Japanese, Thai) have no word boundaries to check.
    spaced = "Lo" not in (unicodedata.category(before), unicodedata.category(behind))
    is_name = behind in _NAME_SIGNS and before.isalpha()
    return spaced and ((before.isalnum() and behind.isalnum()) or is_name)
