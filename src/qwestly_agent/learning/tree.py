"""The library's tree: find subjects, topics and modules by exact or similar names."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from qwestly_agent.domain.learning import Granularity, Module
from qwestly_agent.stores.search import TokenCounts, bm25_scores

_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
NEAR = 0.8
"""Minimum similarity for a name to count as a misspelling of another."""
SHORTEST_NEAR = 5
"""Minimum length of a misspelled name; in shorter names, one letter makes a different word."""


def folded(text: str) -> str:
    """Return the words in lower case, without punctuation."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return " ".join(_WORDS.findall(plain))


@dataclass(frozen=True)
class Node:
    """A subject, a topic or a module."""

    granularity: Granularity
    name: str
    subject: str
    topic: str = ""
    module_id: str = ""


@dataclass(frozen=True)
class FoundTopic:
    topic: str
    subject: str
    modules: tuple[str, ...]
    exact: bool


@dataclass(frozen=True)
class Tree:
    modules: Sequence[Module]

    @cached_property
    def topics_by_subject(self) -> Mapping[str, tuple[str, ...]]:
        """The topics of each subject."""
        found: dict[str, dict[str, None]] = {}
        for each in self.modules:
            found.setdefault(each.subject, {})[each.topic] = None
        return {subject: tuple(topics) for subject, topics in found.items()}

    @cached_property
    def _by_name(self) -> Mapping[str, Node]:
        return dict(reversed([*self._names()]))

    def _names(self) -> Iterator[tuple[str, Node]]:
        for each in self.modules:
            yield folded(each.subject), Node("subject", each.subject, each.subject)
            topic = Node("topic", each.topic, each.subject, each.topic)
            yield from ((folded(name), topic) for name in (each.topic, *each.also))
            yield folded(each.title), Node("module", each.title, each.subject, each.topic, each.id)

    def find(self, name: str) -> Node | None:
        """Find the entry with this name."""
        return self._by_name.get(folded(name))

    def near(self, name: str) -> Node | None:
        """Find the entry whose name this is a misspelling of."""
        wanted = folded(name)
        if len(wanted) < SHORTEST_NEAR:
            return None
        rated = [(SequenceMatcher(None, wanted, each).ratio(), each) for each in self._by_name]
        best, nearest = max(rated, default=(0.0, ""))
        return self._by_name[nearest] if best >= NEAR else None

    def search(self, query: str, limit: int) -> list[FoundTopic]:
        """Return topics: first those named in the query, then those with similar words."""
        exact = self.find(query)
        first = exact or self.near(query)
        named_topics = self._topics_of(first) if first else []
        others = [topic for topic in self._by_words(query) if topic not in named_topics]
        return [
            FoundTopic(topic, self._subject_of(topic), self._titles(topic), exact is not None and topic in named_topics)
            for topic in [*named_topics, *others][:limit]
        ]

    def _topics_of(self, node: Node) -> list[str]:
        return list(self.topics_by_subject[node.subject]) if node.granularity == "subject" else [node.topic]

    def _by_words(self, query: str) -> list[str]:
        texts = [
            TokenCounts.of(f"{each.subject} {each.topic} {' '.join(each.also)} {each.title} {each.summary}")
            for each in self.modules
        ]
        scores = dict[str, float]()
        for each, score in zip(self.modules, bm25_scores(query, texts), strict=True):
            scores[each.topic] = max(score, scores.get(each.topic, 0.0))
        return sorted((topic for topic, score in scores.items() if score > 0), key=lambda topic: -scores[topic])

    def _subject_of(self, topic: str) -> str:
        return next(each.subject for each in self.modules if each.topic == topic)

    def _titles(self, topic: str) -> tuple[str, ...]:
        return tuple(each.title for each in self.modules if each.topic == topic)
