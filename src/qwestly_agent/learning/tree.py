"""The library's tree: find subjects, topics and modules by exact or similar names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from qwestly_agent.domain.learning import Granularity, Module
from qwestly_agent.learning.phrases import extract_name, folded
from qwestly_agent.stores.search import TokenCounts, bm25_scores

NEAR = 0.8
"""Minimum similarity at which a name counts as a misspelling of another."""
SHORTEST_NEAR = 5
"""Minimum length of a misspelled name: in shorter names, one letter makes a different word."""


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
    def subjects(self) -> Mapping[str, tuple[str, ...]]:
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

    def find(self, phrase: str) -> Node | None:
        """Find the entry with this name, with or without phrases around it."""
        return self._by_name.get(folded(phrase)) or self._by_name.get(extract_name(phrase))

    def near(self, phrase: str) -> Node | None:
        """Find the entry that this is a misspelling of."""
        wanted = extract_name(phrase)
        if len(wanted) < SHORTEST_NEAR:
            return None
        rated = [(SequenceMatcher(None, wanted, name).ratio(), name) for name in self._by_name]
        best, name = max(rated, default=(0.0, ""))
        return self._by_name[name] if best >= NEAR else None

    def search(self, query: str, limit: int) -> list[FoundTopic]:
        """Return topics: first those that the query names, then those with similar words."""
        exact = self.find(query)
        first = exact or self.near(query)
        named_topics = self._topics_of(first) if first else []
        others = [topic for topic in self._by_words(extract_name(query)) if topic not in named_topics]
        return [
            FoundTopic(topic, self._subject_of(topic), self._titles(topic), exact is not None and topic in named_topics)
            for topic in [*named_topics, *others][:limit]
        ]

    def _topics_of(self, node: Node) -> list[str]:
        return list(self.subjects[node.subject]) if node.granularity == "subject" else [node.topic]

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
