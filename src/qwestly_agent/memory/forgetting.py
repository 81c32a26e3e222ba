"""How what was forgotten is known again without being kept: by its hash, its vector, and the hashes of its names."""

import hashlib
import re
from collections.abc import Iterable, Sequence

from qwestly_agent.cards.passages import bare
from qwestly_agent.memory.checking import hash_of, names_in, words_of
from qwestly_agent.stores.memories import Tombstone

NAMED_FROM = 0.35
"""The cosine from which a statement that names the same is the same matter."""
_AT = re.compile(r"\b(?:at|for|with|bei|chez)\s+(?:the\s+)?(?P<name>[A-ZÀ-Þ][\w&.'’-]*(?:\s+[A-ZÀ-Þ][\w&'’-]*)*)")
"""Employers and schools: whoever led a team at Acme worked at Acme."""


def was_forgotten(user_id: str, content: str, tombstones: Iterable[Tombstone], alike_from: float) -> bool:
    """Whether this says what its user had forgotten, in these words or in others."""
    names, places = hashed(user_id, names_in(content)), hashed(user_id, organisations_in(content))
    own = hash_of(content)
    return any(
        each.hash == own
        or each.cosine >= alike_from
        or (bool(each.names) and each.names <= names and (each.cosine >= NAMED_FROM or bool(each.names & places)))
        for each in tombstones
    )


def organisations_in(text: str) -> frozenset[str]:
    """The words that name whom somebody is with."""
    return names_in(text) & {bare(word) for found in _AT.finditer(text) for word in words_of(found["name"])}


def hashed(user_id: str, names: Iterable[str]) -> frozenset[str]:
    return frozenset(hashlib.sha256(f"{user_id}\0{name}".encode()).hexdigest()[:16] for name in names)


def names_to_keep(content: str, words: Sequence[str]) -> frozenset[str]:
    """Those that its user spoke of, where they spoke of any: who forgets that they worked at Acme, in Berlin, forgets
    Acme."""
    names = names_in(content)
    return names & frozenset(words) or names
