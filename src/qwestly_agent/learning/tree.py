"""The library's tree, and the phrases around a name in a message."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from qwestly_agent.domain.learning import Granularity, Module
from qwestly_agent.stores.search import TokenCounts, bm25_scores

# --- phrases ----------------------------------------------------------------------------------------------------------
# Phrases around a name ("teach me …, please"), short expressions of agreement, and words that name nothing.
#
# The tables are closed and decide only clear cases. Everything else is left to a model.


_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CLAUSE = re.compile(r"[,;.!…–—\n]+")

_BEFORE = tuple(
    each.split()
    for each in (
        *("i want to learn", "i would like to learn", "i'd like to learn", "i wanna learn", "i want to know", "learn"),
        *("i want to", "i would like to", "i'd like to", "can you", "could you", "would you", "please", "teach me"),
        *(
            "tell me about",
            "tell me more about",
            "teach",
            "let's try",
            "let us try",
            "let's do",
            "let's",
            "try",
            "pick",
        ),
        *("show me", "give me", "how about", "what about", "about", "no i meant", "i meant", "i mean", "actually"),
        *("rather", "no", "help me with", "help me learn", "a lesson on", "a lesson about", "start", "some", "the"),
        *("ich möchte", "ich will", "bitte", "zeig mir", "erklär mir", "lass uns", "eigentlich", "über", "nein"),
        *("je veux apprendre", "je voudrais apprendre", "apprends-moi", "montre-moi", "plutôt", "non"),
        *("quiero aprender", "me gustaría aprender", "enséñame", "muéstrame", "mejor", "por favor"),
        *("quero aprender", "gostaria de aprender", "ensina-me", "mostra-me", "não"),
    )
)
_BEHIND = tuple(
    each.split()
    for each in (
        *("please", "instead", "then", "now", "today", "thanks", "thank you", "rather"),
        *("bitte", "lernen", "stattdessen", "s'il te plaît", "por favor", "en su lugar", "em vez disso"),
    )
)
_NOTHING = frozenset(
    """
    anything|something|else|new|next|more|continue|go on|go ahead|carry on|again|start over|start again|restart|begin
    something new|something else|something different|something other|something fresh|a new one|another|another one
    other topics|another topic|different topics|a different topic|new topics|a new topic|topics|other things|what else
    surprise me|whatever|you choose|you decide|i don't know|not sure|nothing|hello|hi|hey|thanks|thank you|lesson
    etwas neues|etwas anderes|was neues|was anderes|andere themen|ein anderes thema|weiter|irgendwas|etwas neues lernen
    quelque chose de nouveau|autre chose|d'autres sujets|un autre sujet|continue|continuer
    algo nuevo|otra cosa|algo diferente|otros temas|otro tema|continuar|sigue|algo novo|outra coisa|outros temas
    """.replace("\n", "|").split("|")
)
_YES = frozenset(
    """
    yes|yes please|yeah|yep|yup|sure|of course|certainly|absolutely|definitely|exactly|correct|right|ok|okay|fine|great
    it is|that is it|that's it|that is right|that's right|that is correct|that's correct|that is the one|that's the one
    sounds good|sounds great|sounds perfect|sounds right|perfect|please do|go ahead|do it|let's do it|let's go|i do
    please|thanks|thank you|yes i do|yes it is|that works|works for me|good|very good|all right|alright|go for it
    ja|ja bitte|genau|richtig|stimmt|gerne|gern|klar|passt|perfekt|einverstanden|in ordnung
    oui|oui s'il te plaît|d'accord|exactement|c'est ça|parfait|bien sûr|volontiers|merci
    sí|si|sí por favor|claro|exacto|correcto|perfecto|de acuerdo|vale|eso es|gracias
    sim|sim por favor|certo|isso|isso mesmo|perfeito|claro que sim|está bem|obrigado|obrigada
    """.replace("\n", "|").split("|")
)
_NO_BY_THEMSELVES = frozenset({"please", "thanks", "thank you", "merci", "gracias", "obrigado", "obrigada"})
_NOTHING_NAMED, _AGREED = (frozenset(each.strip() for each in table) - {""} for table in (_NOTHING, _YES))


def folded(text: str) -> str:
    """Return the words in lower case, without punctuation."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    return " ".join(_WORDS.findall(plain))


def extract_name(text: str) -> str:
    """Return the name in a message, folded, without the phrases around it; empty if it names nothing."""
    words = folded(text).split()
    while words:
        left = _without(words)
        if left == words:
            break
        if not left or " ".join(words) in _NOTHING_NAMED:
            return ""
        words = left
    name = " ".join(words)
    return "" if name in _NOTHING_NAMED or name in _AGREED else name


def _without(words: list[str]) -> list[str]:
    for each in sorted(_BEFORE, key=len, reverse=True):
        if words[: len(each)] == each:
            return words[len(each) :]
    for each in sorted(_BEHIND, key=len, reverse=True):
        if words[-len(each) :] == each:
            return words[: -len(each)]
    return words


def agrees(text: str) -> bool:
    """True if the message only agrees, and asks nothing."""
    if "?" in text:
        return False
    clauses = [clause for each in _CLAUSE.split(text) if (clause := folded(each))]
    return any(each not in _NO_BY_THEMSELVES for each in clauses) and all(each in _AGREED for each in clauses)


# --- tree -------------------------------------------------------------------------------------------------------------
# The library's tree: find subjects, topics and modules by exact or similar names.


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
