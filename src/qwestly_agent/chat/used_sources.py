"""Find the records in tool results that an answer used: those whose own words it contains.

No model is used and no language is assumed, so a fully paraphrased record is not found; if no record is found, all are
returned. `tests/evals/test_used_sources.py` has error rates.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from pydantic_ai.messages import CapabilityEvent

from qwestly_agent.agents.tools.catalog import SourceRecord
from qwestly_agent.domain.conversation import Source
from qwestly_agent.stores.messages import Step, sources_of
from qwestly_agent.text.language import tokens_of

RUN = 5
"""Number of consecutive words that identify their record."""
LETTERS = 5
"""Minimum number of letters of a word that identifies its record."""
DIGITS = 3
"""Minimum number of digits of a figure that identifies its record."""

_WORD = re.compile(r"[^\W_]+")
_FIGURE = re.compile(r"\d[\d.,]*\d")
_YEAR = re.compile(r"(19|20)\d\d")
_WITHIN_A_SENTENCE = re.compile(r"[^.!?:;\n\"“„«»(•*#|-]+")
"""Characters allowed between two words of the same sentence."""


@dataclass(kw_only=True)
class SourcesNamed(CapabilityEvent, namespace="qwestly"):
    """Sent once, at the end of an answer."""

    sources: list[Source]


def source_events(steps: Iterable[Step]) -> list[SourcesNamed]:
    """Return the event with the sources of an answer, if it has any."""
    sources = sources_of(steps)
    return [SourcesNamed(sources=sources)] if sources else []


@dataclass(frozen=True)
class _Signs:
    """Features of a text by which it is recognized in another text."""

    text: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(tokens_of(self.text))

    @cached_property
    def figures(self) -> frozenset[str]:
        found = set[str]()
        for figure in _FIGURE.findall(self.text):
            digits = re.sub(r"\D", "", figure)
            if len(digits) >= DIGITS and not _YEAR.fullmatch(digits):
                found.add(digits)
        return frozenset(found)

    @cached_property
    def names(self) -> frozenset[str]:
        """Words that begin with a capital within a sentence, and words with more than one capital."""
        found, end = set[str](), 0
        for word in _WORD.finditer(self.text):
            between, end = self.text[end : word.start()], word.end()
            if word[0].islower():
                continue
            capitals = sum(map(str.isupper, word[0]))
            if capitals > 1 or (word[0][0].isupper() and len(word[0]) > 1 and _WITHIN_A_SENTENCE.fullmatch(between)):
                found.add(word[0])
        return frozenset(found)

    @cached_property
    def spelled(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.text))

    @cached_property
    def long_words(self) -> frozenset[str]:
        return frozenset([word for word in self.words if len(word) >= LETTERS])

    @cached_property
    def runs(self) -> frozenset[tuple[str, ...]]:
        return frozenset(zip(*[self.words[at:] for at in range(RUN)], strict=False))


@dataclass(frozen=True)
class ReturnedRecord:
    """A record that a tool returned, with its features."""

    source: Source
    named: str
    signs: _Signs

    @classmethod
    def of(cls, record: SourceRecord) -> "ReturnedRecord":
        return cls(record.source, record.name, _Signs(f"{record.name}\n{record.text}"))

    @cached_property
    def name(self) -> tuple[str, ...]:
        return tuple(tokens_of(self.named))

    def is_quoted_in(self, answer: _Signs) -> bool:
        """True if the answer contains the record's name, or several consecutive words of the record."""
        return self._is_named_in(answer.words) or not self.signs.runs.isdisjoint(answer.runs)

    def figures_and_names_in(self, answer: _Signs) -> frozenset[str]:
        return self.signs.figures & answer.figures | self.signs.names & answer.spelled

    def shared_words(self, answer: _Signs) -> frozenset[str]:
        return self.signs.long_words & answer.long_words

    def _is_named_in(self, words: tuple[str, ...]) -> bool:
        size = len(self.name)
        return size > 0 and any(
            words[at : at + size] == self.name for at, each in enumerate(words) if each == self.name[0]
        )


def used_sources(returned: Iterable[ReturnedRecord], answer: str) -> frozenset[str]:
    """Return the ids of the records that the answer used; all ids if none is found in it.

    A figure or a name is ignored if more than half of the records contain it, and any other word if a second record
    contains it.
    """
    records = {each.source.id: each for each in returned}
    if len(records) < 2:
        return frozenset(records)
    said = _Signs(answer)
    quoted = {source_id for source_id, each in records.items() if each.is_quoted_in(said)}
    names = {source_id: each.figures_and_names_in(said) for source_id, each in records.items()}
    words = {source_id: each.shared_words(said) for source_id, each in records.items()}
    used = quoted | _told_by(names, len(records) / 2) | _told_by(words, 1)
    return frozenset(used or records)


def _told_by(shared: Mapping[str, frozenset[str]], most: float) -> set[str]:
    """Return the ids of records that share a feature with the answer, where at most `most` records have that
    feature."""
    had_by = Counter(chain.from_iterable(shared.values()))
    return {source_id for source_id, signs in shared.items() if any(had_by[sign] <= most for sign in signs)}
