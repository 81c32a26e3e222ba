"""Which of a user's memories say the same, found in the neighbourhood of the new ones and not by comparing all pairs.

Vectors are compared by the sides on which they lie of random planes through their middle: of vectors as near as ours
must be, nearly all these bits agree. Sorted by some of the bits, near ones stand beside each other in one order or
another, so that it is enough to look a few places ahead in each. What grows with the number of memories is how many
leading bits it takes to part strangers, its logarithm to the base of two; sorting does that by itself.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from qwestly_agent.memory.checking import meanings, says_the_same
from qwestly_agent.memory.model import rank
from qwestly_agent.memory.typed import words_of
from qwestly_agent.stores.memories import Held

LEAST_COSINE = 0.92
"""Of duplicates. Tuned on `tests/unit/memory/duplicates.yaml` with the embeddings of the scripted model, which follow
words and letters: it finds 8 of the 14 duplicates there, the others are at 0.74 to 0.84 or differ in order. No real
model was measured. What is wrongly merged depends on the words (`_same_fact`) and not on it: of the 20 look-alikes 8
are nearer."""

SEED = 17
"""Of the planes and orders: the same memories make the same plan, whoever asks."""
BITS = 256
"""Planes; no more new ones than that are compared with all, which costs no more than the planes, and misses nothing."""
ORDERS, PLACES, LEADING_BITS = 64, 8, 32
"""By so many of the bits memories are sorted in each order, and each is compared with so many that come next."""
MOST_DIFFERENT = 80
"""Of the bits: a cosine of 0.92 leaves 33 of them different, or 60 where half of all that they share is the middle;
strangers differ in 128, give or take 8."""
BLOCK = 1024
MOST_PAIRS = 50_000
"""So many are read word by word, half a minute's work: whoever has more of them is merged as far as the cap allows for
years."""

Vectors: TypeAlias = NDArray[np.float32]
Places: TypeAlias = NDArray[np.intp]
Near: TypeAlias = tuple[int, int, float]
"""Two places, the lower one first, and their cosine."""


@dataclass(frozen=True)
class Merge:
    """One memory that goes, and the one that stays as it is and says it too."""

    survivor: str
    member: str
    sureness: float
    """Their cosine; 1 where they have the same words."""


# --- which are near ---------------------------------------------------------------------------------------------------


def vectors_of(floats: bytearray, rows: int) -> Vectors:
    """Of length 1, or 0 for none; in the place of what is given, which for ten thousand is 60 MB."""
    vectors = np.frombuffer(floats, np.float32).reshape(rows, -1) if rows else np.zeros((0, 1), np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(lengths == 0, 1, lengths)
    return vectors


def near(vectors: Vectors, new: NDArray[np.bool_], least: float = LEAST_COSINE) -> Iterator[Near]:
    """The pairs of at least this cosine in which one is new."""
    if np.count_nonzero(new) <= BITS:
        yield from by_comparing(vectors, new, least)
        return
    ones, others = _candidates(_sides(vectors), new)
    for at in range(0, len(ones), BLOCK):
        one, other = ones[at : at + BLOCK], others[at : at + BLOCK]
        cosines = np.einsum("ij,ij->i", vectors[one], vectors[other])
        yield from _enough(one, other, cosines, least)


def by_comparing(vectors: Vectors, new: NDArray[np.bool_], least: float = LEAST_COSINE) -> Iterator[Near]:
    """The same by comparing each new one with all: exact, and as slow as that."""
    places = np.flatnonzero(new)
    for block in (places[at : at + BITS] for at in range(0, len(places), BITS)):
        cosines = vectors[block] @ vectors.T
        # Of two that are new, the lower one tells.
        cosines[(block[:, None] >= np.arange(len(vectors))) & new] = -np.inf
        rows, other = np.nonzero(cosines >= least)
        yield from _enough(block[rows], other, cosines[rows, other], least)


def _enough(one: Places, other: Places, cosines: Vectors, least: float) -> Iterator[Near]:
    lower, higher = np.minimum(one, other), np.maximum(one, other)
    for enough in np.flatnonzero(cosines >= least).tolist():
        yield int(lower[enough]), int(higher[enough]), float(cosines[enough])


def _sides(vectors: Vectors) -> NDArray[np.bool_]:
    """On which side of each plane. All that a person tells has something in common; without the middle it would put
    strangers on the same side."""
    planes = np.random.default_rng(SEED).standard_normal((vectors.shape[1], BITS), dtype=np.float32)
    return vectors @ planes > vectors.mean(axis=0) @ planes


def _candidates(sides: NDArray[np.bool_], new: NDArray[np.bool_]) -> tuple[Places, Places]:
    """Pairs that may be near, each once."""
    bits = np.ascontiguousarray(np.packbits(sides, axis=1)).view(np.uint64)
    chance = np.random.default_rng(SEED)
    found: list[NDArray[np.int64]] = []
    for _ in range(ORDERS):
        leading = np.packbits(sides[:, chance.permutation(BITS)[:LEADING_BITS]], axis=1)
        order = np.argsort(np.ascontiguousarray(leading).view(">u4")[:, 0], kind="stable")
        for ahead in range(1, PLACES + 1):
            one, other = order[:-ahead], order[ahead:]
            different = np.bitwise_count(bits[one] ^ bits[other]).sum(axis=1)
            likely = (different <= MOST_DIFFERENT) & (new[one] | new[other])
            one, other = one[likely], other[likely]
            found.append(np.minimum(one, other) * len(sides) + np.maximum(one, other))
    one, other = np.divmod(np.unique(np.concatenate(found)), len(sides))
    return one, other


# --- which are duplicates ---------------------------------------------------------------------------------------------


def merges_of(held: Sequence[Held], vectors: Vectors, apart: AbstractSet[frozenset[str]] = frozenset()) -> list[Merge]:
    """All that could be merged, the surest first, before any cap. Vectors are those of the first memories, the others
    have none; `apart` are pairs that somebody took apart again.

    The best of all that have duplicates takes its own, then the best of what is left takes its own: whatever goes is a
    duplicate of what stays, and not of something between them.
    """
    duplicates = _duplicates(held, vectors, apart)
    gone, merges = set[int](), list[Merge]()
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
                merges.append(Merge(held[place].id, held[other].id, cosine))
    return sorted(merges, key=lambda merge: (-merge.sureness, merge.survivor, merge.member))


def cap_of(active: int) -> int:
    """The most memories that may go in one run: a tenth, one at the least and twenty at the most."""
    return min(20, max(1, active // 10))


def _duplicates(
    held: Sequence[Held], vectors: Vectors, apart: AbstractSet[frozenset[str]]
) -> Mapping[int, dict[int, float]]:
    """By its place, those that each could be merged with, and how sure that is."""
    found = defaultdict[int, dict[int, float]](dict)
    new = np.array([each.new for each in held], dtype=np.bool_)
    meant = cache(lambda place: meanings(held[place].content))
    pairs = (
        pair
        for pair in chain(near(vectors, new[: len(vectors)]), _of_same_words(held))
        # What says the same says it in words that mean the same: of each memory they are read once, of each pair
        # all else would be, and a crowd that is all alike has millions.
        if meant(pair[0]) == meant(pair[1]) and frozenset((held[pair[0]].id, held[pair[1]].id)) not in apart
    )
    for one, other, sureness in islice(pairs, MOST_PAIRS):
        if _same_fact(held[one], held[other]):
            found[one][other] = found[other][one] = sureness
    return found


def _of_same_words(held: Sequence[Held]) -> Iterator[Near]:
    """The best of those that have the same words, with each of the others."""
    groups = defaultdict[tuple[str | bool, ...], list[int]](list)
    for place, each in enumerate(held):
        groups[each.type, each.sensitive, *sorted(_words(each.content))].append(place)
    for places in groups.values():
        best = min(places, key=lambda place: _best_first(held[place]))
        for place in places:
            if place != best and (held[place].new or held[best].new):
                yield min(best, place), max(best, place), 1.0


def _same_fact(one: Held, other: Held) -> bool:
    return (
        one.type == other.type and not (one.sensitive or other.sensitive) and says_the_same(one.content, other.content)
    )


def _best_first(held: Held) -> tuple[int, int, float, str]:
    """The most trusted, then what was confirmed most, then the newest."""
    return rank(held.trust), -held.count, -held.created, held.id


def _loses_nothing(survivor: Held, member: Held) -> bool:
    """Since when something holds is told by the memory that stays, or by none."""
    return member.valid_from in (None, survivor.valid_from)


def _words(text: str) -> list[str]:
    return [word.lower() for word in words_of(text)]
