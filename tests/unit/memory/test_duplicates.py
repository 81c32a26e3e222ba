"""The pairs of a night: the nearest by meaning and by words, exactly; and what goes once each pair is compared."""

from dataclasses import replace
from itertools import count, permutations
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from infra.local.model_embedding import embedding
from qwestly_agent.base.settings import Settings
from qwestly_agent.memory.consolidate_reader import (
    BLOCK,
    MOST_NEW,
    MOST_PAIRS,
    NEAREST,
    Candidates,
    Floats,
    NearPair,
    candidates_of,
    cap_of,
    replacements_of,
    vectors_of,
)
from qwestly_agent.memory.judges import Relation
from qwestly_agent.stores.memory_work import ComparedMemory

MATTERS = yaml.safe_load((Path(__file__).parent / "matters.yaml").read_text())
GREY_FROM = Settings("mongodb://127.0.0.1", "none").memory_grey_from
DIMENSIONS = 256
_numbers = count()


def held(content: str, **more: Any) -> ComparedMemory:
    fields: dict[str, Any] = {"trust": "user_said", "count": 1, "created": 0.0, "said": 0.0, "importance": 0.5}
    fields |= {"valid_from": None, "valid_until": None, "new": True}
    return ComparedMemory(**{"id": f"m{next(_numbers):05}", "content": content, **fields, **more})


def of_words(*memories: ComparedMemory) -> Floats:
    """As the scripted model has them."""
    floats = np.array([embedding(each.content, DIMENSIONS) for each in memories], np.float32).tobytes()
    return vectors_of(bytearray(floats), len(memories))


def by_chance(number: int, alike: float = 0.0) -> Floats:
    chance = np.random.default_rng(number)
    shared, own = chance.standard_normal((1, DIMENSIONS)), chance.standard_normal((number, DIMENSIONS))
    return vectors_of(bytearray((own + alike * 10 * shared).astype(np.float32).tobytes()), number)


def without_vectors(number: int) -> Floats:
    return vectors_of(bytearray(number * DIMENSIONS * 4), number)


def ids(memories: list[ComparedMemory], found: tuple[NearPair, ...]) -> set[frozenset[str]]:
    return {frozenset((memories[pair.older].id, memories[pair.newer].id)) for pair in found}


def candidates(*memories: ComparedMemory, vectors: Floats | None = None, **more: Any) -> Candidates:
    return candidates_of(memories, of_words(*memories) if vectors is None else vectors, GREY_FROM, **more)


def replaced(*memories: ComparedMemory, relation: Relation) -> set[tuple[str, str, str]]:
    """What goes, what holds in its place, and how it goes, where all pairs relate so."""
    places = sorted(range(len(memories)), key=lambda place: (memories[place].said, memories[place].created))
    pairs = [NearPair(one, other, 0.5) for at, one in enumerate(places) for other in places[at + 1 :]]
    return {(each.gone, each.by, each.status) for each in replacements_of(memories, [(p, relation) for p in pairs])}


# --- which are near ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), MATTERS["same"] + MATTERS["changed"])
def test_what_may_be_one_matter_is_asked_about(one: str, other: str) -> None:
    assert len(candidates(held(one), held(other)).asked) == 1


@pytest.mark.parametrize(("one", "other"), MATTERS["apart"])
def test_what_is_plainly_another_matter_is_not(one: str, other: str) -> None:
    assert candidates(held(one), held(other)).asked == ()


def test_the_five_nearest_of_all_are_found_in_however_many_batches() -> None:
    vectors, new = by_chance(3 * BLOCK, alike=0.02), {*range(0, 3 * BLOCK, 7)}
    memories = [held(f"w{place}", id=f"m{place:05}", new=place in new) for place in range(3 * BLOCK)]
    cosines = vectors @ vectors.T
    expected = set[frozenset[str]]()
    for place in new:
        others = sorted(set(range(len(memories))) - {place}, key=lambda other: -cosines[place, other])[:NEAREST]
        expected |= {frozenset((memories[place].id, memories[each].id)) for each in others}
    assert len(expected) <= MOST_PAIRS
    assert ids(memories, candidates_of(memories, vectors, -1.0).asked) == expected


def test_those_that_share_half_of_the_shorter_ones_words_are_found_without_vectors() -> None:
    memories = [
        held("Leads a team of nurses"),
        held("A TEAM: leads"),
        held("leads nothing"),
        held("Leads the choir of St Mary"),
        held("带领团队", new=False),
    ]
    found = candidates_of(memories, without_vectors(5), GREY_FROM)
    one, other, third = memories[:3]
    assert ids(memories, found.asked) == {
        frozenset(pair)
        for pair in ((one.id, other.id), (one.id, third.id), (other.id, third.id), (third.id, memories[3].id))
    }


def test_of_many_that_share_words_five_are_asked_about() -> None:
    memories = [held("Speaks Dutch"), *(held(f"Speaks w{place}", new=False) for place in range(20))]
    assert len(candidates_of(memories, without_vectors(21), GREY_FROM).asked) == NEAREST


def test_what_was_compared_before_is_not_compared_again_among_itself() -> None:
    assert candidates(held("Lives in Porto", new=False), held("Lives in Lisbon", new=False)).asked == ()
    assert len(candidates(held("Lives in Porto", new=False), held("Lives in Lisbon")).asked) == 1


def test_what_is_sensitive_or_was_taken_apart_is_compared_with_nothing_but_is_done() -> None:
    one, other = held("Lives in Porto"), held("Lives in Lisbon")
    apart = frozenset({frozenset((one.id, other.id))})
    for found in (candidates(one, replace(other, sensitive=True)), candidates(one, other, apart=apart)):
        assert (found.asked, set(found.compared)) == ((), {one.id, other.id})


def test_a_night_has_room_for_so_many_new_ones_the_oldest_first() -> None:
    memories = [held(f"w{place}", said=float(-place)) for place in range(MOST_NEW + 10)]
    found = candidates_of(memories, by_chance(len(memories)), 1.0)
    assert set(found.compared) == {each.id for each in memories[10:]}


def test_each_new_one_is_asked_about_with_all_of_its_pairs_or_none_and_the_nearest_first() -> None:
    near, far = by_chance(60, alike=1.0), by_chance(60, alike=0.1)
    memories = [held(f"w{place}", id=f"m{place:05}", new=place % 2 == 0) for place in range(120)]
    vectors = np.concatenate([far, near])
    found = candidates_of(memories, vectors, -1.0)
    assert len(found.asked) <= MOST_PAIRS < 5 * 60
    asked = ids(memories, found.asked)
    cosines = vectors @ vectors.T
    for memory_id in found.compared:
        place = int(memory_id[1:])
        others = sorted(set(range(120)) - {place}, key=lambda other: -cosines[place, other])[:NEAREST]
        assert {frozenset((memory_id, memories[each].id)) for each in others} <= asked
    assert {memories[place].id for place in range(60, 120, 2)} <= set(found.compared), "the near ones"
    assert len(found.compared) < 60


def test_nobody_has_no_pairs() -> None:
    assert candidates_of([], vectors_of(bytearray(), 0), GREY_FROM) == Candidates((), (), ())


# --- which of them go -------------------------------------------------------------------------------------------------


def test_the_most_trusted_stays_then_the_most_confirmed_then_the_newest() -> None:
    inferred = held("inferred", trust="inferred", count=9, created=9)
    unheard = held("of a version to come", trust="of a version to come", count=99)
    older, newer = held("older", count=2, created=1), held("newer", count=2, created=2)
    once = held("once", created=3)
    for order in permutations((inferred, unheard, older, newer, once)):
        assert replaced(*order, relation="same") == {
            (each.id, newer.id, "merged") for each in (inferred, unheard, older, once)
        }


MEMORIES = st.builds(
    held,
    st.just("text"),
    trust=st.sampled_from(["user_said", "inferred"]),
    count=st.integers(1, 2),
    created=st.integers(0, 3).map(float),
    said=st.integers(0, 3).map(float),
)


@given(st.lists(MEMORIES, min_size=2, max_size=6), st.data())
def test_whatever_is_said_of_them_each_goes_by_a_word_of_its_own_and_something_stays(
    memories: list[ComparedMemory], data: st.DataObject
) -> None:
    related = list[tuple[NearPair, Relation]]()
    for one in range(len(memories)):
        for other in range(one):
            older, newer = sorted((one, other), key=lambda place: (memories[place].said, memories[place].created))
            related.append((NearPair(older, newer, 0.5), data.draw(st.sampled_from(get_args(Relation)))))
    says = {(memories[pair.older].id, memories[pair.newer].id): relation for pair, relation in related}
    found = replacements_of(memories, related)
    gone = {each.gone: each for each in found}
    assert len(gone) == len(found) < len(memories)
    by_id = {each.id: each for each in memories}
    for each in found:
        word = says.get((each.gone, each.by)) or says[each.by, each.gone]
        assert word == {"merged": "same", "superseded": "contradicts"}[each.status]
        if each.status == "merged":
            assert each.by not in gone, "what stays stays"
        else:
            assert by_id[each.gone].said < by_id[each.by].said
            assert (by_id[each.gone].trust, by_id[each.by].trust) != ("user_said", "inferred")


def test_the_nearest_come_first() -> None:
    memories = [held("one", count=2), held("far"), held("near")]
    found = replacements_of(memories, [(NearPair(0, 1, 0.5), "same"), (NearPair(0, 2, 0.9), "same")])
    assert [each.gone for each in found] == [memories[2].id, memories[1].id]


@pytest.mark.parametrize(
    ("active", "most"), [(0, 1), (1, 1), (9, 1), (19, 1), (20, 2), (199, 19), (200, 20), (9_999, 20)]
)
def test_a_tenth_may_go_one_at_the_least_and_twenty_at_the_most(active: int, most: int) -> None:
    assert cap_of(active) == most
