"""Which memories of one user are near each other, and which of them go when it is known how they relate."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from qwestly_agent.domain.memory import rank
from qwestly_agent.memory.compare import Relation
from qwestly_agent.memory.equality import hash_of
from qwestly_agent.stores.journal import Replacement
from qwestly_agent.stores.memories import Held

MOST_NEW = 200
"""New memories that are compared in one night."""
MOST_PAIRS = 180
"""Pairs that a model is asked about in one night."""
NEAREST = 5
"""Candidates of a memory by meaning, and as many by words."""
LEAST_SHARED = 0.5
"""Of the words of the shorter one, to be a candidate by words."""
BLOCK = 64
"""Memories that are compared with all others at once: of ten thousand 2.5 MB."""

Floats: TypeAlias = NDArray[np.float32]
Places: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True)
class NearPair:
    """Two memories that may say the same or contradict each other, by their places; the one last said is `newer`."""

    older: int
    newer: int
    cosine: float


@dataclass(frozen=True)
class Candidates:
    """The pairs of one night."""

    equal: tuple[NearPair, ...]
    """Equal for code."""
    asked: tuple[NearPair, ...]
    """To be compared by a model."""
    compared: tuple[str, ...]
    """The new memories whose pairs are all among these; the others are due the next night."""


# --- which are near ---------------------------------------------------------------------------------------------------


def vectors_of(floats: bytearray, rows: int) -> Floats:
    """Of length 1, or 0 for none; in the place of what is given, which for ten thousand is 60 MB."""
    vectors = np.frombuffer(floats, np.float32).reshape(rows, -1) if rows else np.zeros((0, 1), np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(lengths == 0, 1, lengths)
    return vectors


def candidates_of(
    held: Sequence[Held], vectors: Floats, grey_from: float, apart: AbstractSet[frozenset[str]] = frozenset()
) -> Candidates:
    """The pairs of new memories with all others, each new one with all of its pairs or none: the one with the nearest
    pair first, as far as the bounds of a night allow.

    `apart` are pairs that somebody took apart again.
    """
    new = sorted((place for place, each in enumerate(held) if each.new), key=lambda place: _age(held[place]))[:MOST_NEW]
    equal, asked, compared = dict[frozenset[int], NearPair](), dict[frozenset[int], NearPair](), list[str]()
    found = [(place, list(_pairs(held, place, near))) for place, near in _near(held, vectors, new, grey_from, apart)]
    for place, pairs in sorted(found, key=lambda each: -max((pair.cosine for pair in each[1]), default=0.0)):
        same = {_key(pair): pair for pair in pairs if _are_equal(held, pair)}
        others = {_key(pair): pair for pair in pairs if _key(pair) not in same}
        if len(asked | others) > MOST_PAIRS:
            break
        equal |= same
        asked |= others
        compared.append(held[place].id)
    return Candidates(tuple(equal.values()), tuple(asked.values()), tuple(compared))


def _near(
    held: Sequence[Held],
    vectors: Floats,
    new: Sequence[int],
    grey_from: float,
    apart: AbstractSet[frozenset[str]],
) -> Iterator[tuple[int, dict[int, float]]]:
    """Each new memory with the places and cosines of those near it."""
    words = [frozenset(re.findall(r"\w+", each.content.lower())) for each in held]
    sizes, places_of = np.array([max(1, len(each)) for each in words]), _places_by_word(words)
    open_to_all = np.array([not each.sensitive for each in held], np.bool_)
    kept_apart = _places_apart(held, apart)
    for block in (new[at : at + BLOCK] for at in range(0, len(new), BLOCK)):
        for place, cosines in zip(block, vectors[block] @ vectors.T, strict=True):
            others = open_to_all.copy() if open_to_all[place] else np.zeros(len(held), np.bool_)
            others[[place, *kept_apart[place]]] = False
            shared = _shared(words[place], places_of, len(held)) / np.minimum(sizes, sizes[place])
            by_meaning = _best(cosines, others & (cosines >= grey_from))
            by_words = _best(shared + cosines, others & (shared >= LEAST_SHARED))
            yield place, {int(other): float(cosines[other]) for other in (*by_meaning, *by_words)}


def _places_by_word(words: Sequence[AbstractSet[str]]) -> Mapping[str, Places]:
    places = defaultdict[str, list[int]](list)
    for place, each in enumerate(words):
        for word in each:
            places[word].append(place)
    return {word: np.array(each, np.intp) for word, each in places.items()}


def _places_apart(held: Sequence[Held], apart: AbstractSet[frozenset[str]]) -> Mapping[int, list[int]]:
    place_of = {each.id: place for place, each in enumerate(held)}
    found = defaultdict[int, list[int]](list)
    for one, other in map(tuple, apart):
        if one in place_of and other in place_of:
            found[place_of[one]].append(place_of[other])
            found[place_of[other]].append(place_of[one])
    return found


def _shared(words: AbstractSet[str], places_of: Mapping[str, Places], size: int) -> NDArray[np.int64]:
    """How many of these words each memory has."""
    places = [places_of[word] for word in words]
    return np.bincount(np.concatenate(places), minlength=size) if places else np.zeros(size, np.int64)


def _best(scores: NDArray[np.floating], among: NDArray[np.bool_]) -> Places:
    places = np.flatnonzero(among)
    return places[np.argsort(-scores[places], kind="stable")[:NEAREST]]


def _pairs(held: Sequence[Held], place: int, near: Mapping[int, float]) -> Iterator[NearPair]:
    for other, cosine in near.items():
        older, newer = sorted((place, other), key=lambda each: _age(held[each]))
        yield NearPair(older, newer, cosine)


def _key(pair: NearPair) -> frozenset[int]:
    return frozenset((pair.older, pair.newer))


def _are_equal(held: Sequence[Held], pair: NearPair) -> bool:
    return hash_of(held[pair.older].content) == hash_of(held[pair.newer].content)


def _age(held: Held) -> tuple[float, float, str]:
    """The one last said last."""
    return held.said, held.created, held.id


# --- which of them go -------------------------------------------------------------------------------------------------


def replacements_of(held: Sequence[Held], related: Iterable[tuple[NearPair, Relation]]) -> list[Replacement]:
    """All that could be replaced, in the order in which it may be done, before any cap: what is contradicted, the
    oldest first, then what is said twice, the nearest first.

    What goes is the same as what stays, or contradicted by it, by the word of code or model for just these two.
    """
    related = list(related)
    contradicted = [pair for pair, relation in related if relation == "contradicts"]
    gone = dict[int, Replacement]()
    for pair in sorted(contradicted, key=lambda pair: (_age(held[pair.newer]), _age(held[pair.older]))):
        older, newer = held[pair.older], held[pair.newer]
        # Of two that were said at the same moment neither is the newer one.
        if pair.older not in gone and older.said < newer.said and rank(newer.trust) <= rank(older.trust):
            gone[pair.older] = Replacement(gone=older.id, by=newer.id, status="superseded")
    return [*gone.values(), *_merges(held, [pair for pair, relation in related if relation == "same"], set(gone))]


def _merges(held: Sequence[Held], same: Sequence[NearPair], gone: set[int]) -> list[Replacement]:
    """The best of all that are left takes its own, then the best of what is left takes its own."""
    duplicates = defaultdict[int, dict[int, float]](dict)
    for pair in same:
        duplicates[pair.older][pair.newer] = duplicates[pair.newer][pair.older] = pair.cosine
    merges = list[tuple[float, Replacement]]()
    for place in sorted(duplicates, key=lambda place: _best_first(held[place])):
        if place in gone:
            continue
        for other, cosine in duplicates[place].items():
            if (
                other not in gone
                and _best_first(held[place]) < _best_first(held[other])
                and _loses_nothing(held[place], held[other])
            ):
                gone.add(other)
                merges.append((cosine, Replacement(gone=held[other].id, by=held[place].id, status="merged")))
    return [merge for _, merge in sorted(merges, key=lambda each: (-each[0], each[1].by, each[1].gone))]


def cap_of(active: int) -> int:
    """The most memories that may go in one run: a tenth, one at the least and twenty at the most."""
    return min(20, max(1, active // 10))


def _best_first(held: Held) -> tuple[int, int, float, str]:
    """The most trusted, then what was confirmed most, then the newest."""
    return rank(held.trust), -held.count, -held.created, held.id


def _loses_nothing(survivor: Held, member: Held) -> bool:
    """Since and until when something holds is told by the memory that stays, or by none."""
    return member.valid_from in (None, survivor.valid_from) and member.valid_until in (None, survivor.valid_until)
