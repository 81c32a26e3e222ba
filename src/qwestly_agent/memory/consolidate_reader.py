"""The state of `consolidate` that calls models: find memories to merge or supersede."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from qwestly_agent.domain.memory import DIMENSIONS, rank
from qwestly_agent.memory.find import embed_missing
from qwestly_agent.memory.judges import Pair, Relation, compare
from qwestly_agent.memory.model import YEAR, ConsolidationState, end
from qwestly_agent.memory.notes import hash_of
from qwestly_agent.model_calls import ContentRefused
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.memory_work import ComparedMemory, ConsolidationRun, Merges, ReplacedMemory, find_unfinished
from qwestly_agent.workflow_state import state

# --- duplicates -------------------------------------------------------------------------------------------------------
# Find similar memories of one user, and decide which are replaced once their relations are known.


MOST_NEW = 200
"""Maximum new memories compared per run."""
MOST_PAIRS = 180
"""Maximum pairs compared by a model per run."""
NEAREST = 5
"""Candidates per memory by vector, and as many by words."""
LEAST_SHARED = 0.5
"""Minimum share of the shorter memory's words for a candidate by words."""
BLOCK = 64
"""Number of memories compared with all others at once: 2.5 MB of cosines for ten thousand memories."""

Floats: TypeAlias = NDArray[np.float32]
Places: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True)
class NearPair:
    """Indexes of two memories that may agree or contradict each other; `newer` was said last."""

    older: int
    newer: int
    cosine: float


@dataclass(frozen=True)
class Candidates:
    """The pairs of one run."""

    equal: tuple[NearPair, ...]
    """Pairs that code found equal."""
    asked: tuple[NearPair, ...]
    """Pairs to compare with a model."""
    compared: tuple[str, ...]
    """Ids of the new memories all of whose pairs are included; the others are left for the next run."""


# --- find near pairs --------------------------------------------------------------------------------------------------


def vectors_of(floats: bytearray, rows: int) -> Floats:
    """Return the vectors normalized in place to length 1 (0 if missing). For ten thousand memories they take 60 MB."""
    vectors = np.frombuffer(floats, np.float32).reshape(rows, -1) if rows else np.zeros((0, 1), np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(lengths == 0, 1, lengths)
    return vectors


def candidates_of(
    held: Sequence[ComparedMemory], vectors: Floats, grey_from: float, apart: AbstractSet[frozenset[str]] = frozenset()
) -> Candidates:
    """Return pairs of new memories with all others, within the limits of a run. New memories are taken in the order of
    their nearest pair, each with all of its pairs or none.

    `apart` are pairs whose merge was undone.
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
    held: Sequence[ComparedMemory],
    vectors: Floats,
    new: Sequence[int],
    grey_from: float,
    apart: AbstractSet[frozenset[str]],
) -> Iterator[tuple[int, dict[int, float]]]:
    """Yield for each new memory its index, and the cosines of similar ones by index."""
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


def _places_apart(held: Sequence[ComparedMemory], apart: AbstractSet[frozenset[str]]) -> Mapping[int, list[int]]:
    place_of = {each.id: place for place, each in enumerate(held)}
    found = defaultdict[int, list[int]](list)
    for one, other in map(tuple, apart):
        if one in place_of and other in place_of:
            found[place_of[one]].append(place_of[other])
            found[place_of[other]].append(place_of[one])
    return found


def _shared(words: AbstractSet[str], places_of: Mapping[str, Places], size: int) -> NDArray[np.int64]:
    """Return for each memory how many of these words it contains."""
    places = [places_of[word] for word in words]
    return np.bincount(np.concatenate(places), minlength=size) if places else np.zeros(size, np.int64)


def _best(scores: NDArray[np.floating], among: NDArray[np.bool_]) -> Places:
    places = np.flatnonzero(among)
    return places[np.argsort(-scores[places], kind="stable")[:NEAREST]]


def _pairs(held: Sequence[ComparedMemory], place: int, near: Mapping[int, float]) -> Iterator[NearPair]:
    for other, cosine in near.items():
        older, newer = sorted((place, other), key=lambda each: _age(held[each]))
        yield NearPair(older, newer, cosine)


def _key(pair: NearPair) -> frozenset[int]:
    return frozenset((pair.older, pair.newer))


def _are_equal(held: Sequence[ComparedMemory], pair: NearPair) -> bool:
    return hash_of(held[pair.older].content) == hash_of(held[pair.newer].content)


def _age(held: ComparedMemory) -> tuple[float, float, str]:
    """Sort key: least recently said first."""
    return held.said, held.created, held.id


# --- decide which are replaced ----------------------------------------------------------------------------------------


def replacements_of(
    held: Sequence[ComparedMemory], related: Iterable[tuple[NearPair, Relation]]
) -> list[ReplacedMemory]:
    """Return all possible replacements in order, before the cap: contradicted memories, oldest first, then duplicates,
    nearest first.

    A memory is replaced only by one that code or model found equal to it, or contradicting it, for exactly this pair.
    """
    related = list(related)
    contradicted = [pair for pair, relation in related if relation == "contradicts"]
    gone = dict[int, ReplacedMemory]()
    for pair in sorted(contradicted, key=lambda pair: (_age(held[pair.newer]), _age(held[pair.older]))):
        older, newer = held[pair.older], held[pair.newer]
        # If both were said at the same time, neither is newer.
        if pair.older not in gone and older.said < newer.said and rank(newer.trust) <= rank(older.trust):
            gone[pair.older] = ReplacedMemory(gone=older.id, by=newer.id, status="superseded")
    return [*gone.values(), *_merges(held, [pair for pair, relation in related if relation == "same"], set(gone))]


def _merges(held: Sequence[ComparedMemory], same: Sequence[NearPair], gone: set[int]) -> list[ReplacedMemory]:
    """Merge greedily: the best remaining memory absorbs its duplicates, then the next best absorbs its own."""
    duplicates = defaultdict[int, dict[int, float]](dict)
    for pair in same:
        duplicates[pair.older][pair.newer] = duplicates[pair.newer][pair.older] = pair.cosine
    merges = list[tuple[float, ReplacedMemory]]()
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
                merges.append((cosine, ReplacedMemory(gone=held[other].id, by=held[place].id, status="merged")))
    return [merge for _, merge in sorted(merges, key=lambda each: (-each[0], each[1].by, each[1].gone))]


def cap_of(active: int) -> int:
    """Return the maximum replacements in one run: a tenth of the active memories, between one and twenty."""
    return min(20, max(1, active // 10))


def _best_first(held: ComparedMemory) -> tuple[int, int, float, str]:
    """Sort key: most trusted, then most often confirmed, then newest."""
    return rank(held.trust), -held.count, -held.created, held.id


def _loses_nothing(survivor: ComparedMemory, member: ComparedMemory) -> bool:
    """True if each date of `member` (start, end) is missing or the same in `survivor`."""
    return member.valid_from in (None, survivor.valid_from) and member.valid_until in (None, survivor.valid_until)


# --- plan -------------------------------------------------------------------------------------------------------------
# Find memories to merge or supersede, and let a model compare pairs that code cannot decide.


COMPARE_SECONDS = 45.0
VECTOR_BYTES = DIMENSIONS * 4
LITTLE_IMPORTANCE = 0.3
MOST_OUTDATED = 10


@state(ConsolidationState)
async def plan(services: ModelServices, given: ConsolidationState) -> ConsolidationState:
    """Write the replacements into the journal, by the verdicts of code and model.

    An unfinished earlier run comes first. A repeated state finds the run and calls no model; only a crash between the
    model's answer and the journal causes a second request. Raises what `structured_output` raises, except
    `ContentRefused`.
    """
    runs = await services.journal.list_all(given.user_id)
    run = find_unfinished(runs) or next((run for run in runs if run.run_id == given.run_id), None)
    if run is None:
        run = await _planned(services, given, runs)
        if not await services.journal.add(run):
            run = await services.journal.get(given.user_id, given.run_id)
    begun, questions = len(run.replacements), int(bool(run.outdated))
    if run.status == "planned" and not begun and not questions:
        await end(services.merges, services.journal, run, services.clock())
    told = {"run_id": run.run_id, "planned": begun + run.left, "begun": begun, "questions": questions}
    return given.model_copy(update=told)


async def _planned(
    services: ModelServices, given: ConsolidationState, runs: Sequence[ConsolidationRun]
) -> ConsolidationRun:
    apart = frozenset[frozenset[str]]().union(*(run.pairs_kept_apart for run in runs if run.status == "undone"))
    await embed_missing(services, given.user_id)
    held, floats = await _held(services.merges, given.user_id)
    # In a thread, so that the brake can be checked meanwhile.
    found = await asyncio.to_thread(
        candidates_of, held, vectors_of(floats, len(held)), services.settings.memory_grey_from, apart
    )
    replacements = replacements_of(held, await _related(services, given.user_id, held, found))
    cap, now = cap_of(len(held)), services.clock()
    left = {memory_id for each in replacements[cap:] for memory_id in (each.gone, each.by)}
    gone = {each.gone for each in replacements[:cap]}
    return ConsolidationRun(
        user_id=given.user_id,
        run_id=given.run_id,
        created=now,
        replacements=tuple(replacements[:cap]),
        left=len(replacements[cap:]),
        compared=tuple(memory_id for memory_id in found.compared if memory_id not in left),
        outdated=tuple(find_outdated((each for each in held if each.id not in gone), now)),
    )


async def _held(merges: Merges, user_id: str) -> tuple[list[ComparedMemory], bytearray]:
    """Return the active memories, and their vectors in order: zeros for a missing vector or another model's."""
    held, floats = list[ComparedMemory](), bytearray()
    async for each, vector in merges.iterate_compared(user_id):
        held.append(each)
        floats += vector if len(vector) == VECTOR_BYTES else bytes(VECTOR_BYTES)
    return held, floats


async def _related(
    services: ModelServices, user_id: str, held: Sequence[ComparedMemory], found: Candidates
) -> list[tuple[NearPair, Relation]]:
    equal: list[tuple[NearPair, Relation]] = [(pair, "same") for pair in found.equal]
    pairs = [Pair(known=held[each.older].content, new=held[each.newer].content) for each in found.asked]
    try:
        return [*equal, *zip(found.asked, await compare(services, user_id, pairs, COMPARE_SECONDS), strict=True)]
    except ContentRefused:  # the provider would reject them every night, so they stay unchanged
        return equal


def find_outdated(held: Iterable[ComparedMemory], now: float) -> list[str]:
    """Return memories that may be outdated: those whose end has passed, earliest end first, then unimportant ones not
    said for a year. Excludes those that the user was asked about within a year."""
    ended, unsaid = list[tuple[float, str]](), list[tuple[float, str]]()
    for each in held:
        if each.asked is not None and each.asked > now - YEAR:
            continue
        if each.valid_until is not None and each.valid_until.timestamp() <= now:
            ended.append((each.valid_until.timestamp(), each.id))
        elif each.said <= now - YEAR and each.importance <= LITTLE_IMPORTANCE:
            unsaid.append((each.said, each.id))
    return [memory_id for _, memory_id in (*sorted(ended), *sorted(unsaid))[:MOST_OUTDATED]]
