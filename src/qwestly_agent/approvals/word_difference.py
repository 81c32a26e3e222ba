"""Compare two texts word by word, for the user who decides on the change."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST_WORDS = 2_000
LEAST_ALIKE = 0.3
"""Similarity below which differences are not marked, because nearly everything would be."""
HALF = 0.5
_WORDS = re.compile(r"\S+\s*")


@dataclass(frozen=True)
class DifferencePart:
    text: str
    differs: bool


def diff_words(before: str, after: str) -> tuple[list[DifferencePart], list[DifferencePart]]:
    """Return the parts of both texts in order; parts in only one text differ."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > MOST_WORDS:
        return [DifferencePart(before, differs=False)], [DifferencePart(after, differs=False)]
    compared = SequenceMatcher(None, [each.strip() for each in old], [each.strip() for each in new], autojunk=False)
    if compared.ratio() < LEAST_ALIKE:
        return [DifferencePart(before, differs=False)], [DifferencePart(after, differs=False)]
    steps = compared.get_opcodes()
    return (
        list(_parts(("".join(old[a:b]), step != "equal") for step, a, b, _, _ in steps)),
        list(_parts(("".join(new[a:b]), step != "equal") for step, _, _, a, b in steps)),
    )


def most_similar(text: str, others: Sequence[str]) -> str | None:
    """Return the text with the most words in common; None if none has half of them."""
    words = text.split()[:MOST_WORDS]
    alike = {each: SequenceMatcher(None, each.split()[:MOST_WORDS], words, autojunk=False).ratio() for each in others}
    best = max(alike, key=lambda each: alike[each], default=None)
    return best if best is not None and alike[best] >= HALF else None


def _parts(found: Iterator[tuple[str, bool]]) -> Iterator[DifferencePart]:
    """Drop empty parts; the blank after a differing part belongs to the next part."""
    for text, differs in found:
        words = text.rstrip() if differs else text
        if words:
            yield DifferencePart(words, differs)
        if blank := text[len(words) :]:
            yield DifferencePart(blank, differs=False)
