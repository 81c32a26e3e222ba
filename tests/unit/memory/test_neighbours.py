"""What says the same is found among many, and what only sounds alike stays two."""

from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from infra.local.model_brain import embedding
from qwestly_agent.memory import neighbours
from qwestly_agent.memory.neighbours import (
    BITS,
    ORDERS,
    PLACES,
    Merge,
    Vectors,
    by_comparing,
    cap_of,
    merges_of,
    near,
    vectors_of,
)
from qwestly_agent.stores.memories import Held

PAIRS: dict[str, list[list[str]]] = yaml.safe_load((Path(__file__).parent / "duplicates.yaml").read_text())
DIMENSIONS = 256
_numbers = count()


def held(content: str, **more: Any) -> Held:
    fields: dict[str, Any] = {"type": "fact", "trust": "user_said", "count": 1, "created": 0.0, "valid_from": None}
    return Held(**{"id": f"m{next(_numbers)}", "content": content, "new": True, **fields, **more})


def of_words(*memories: Held) -> Vectors:
    """As the scripted model has them."""
    floats = np.array([embedding(each.content, DIMENSIONS) for each in memories], np.float32).tobytes()
    return vectors_of(bytearray(floats), len(memories))


def at(*degrees: float) -> Vectors:
    """Each so far from the first, all in one plane."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def merged(
    *memories: Held, vectors: Vectors | None = None, apart: frozenset[frozenset[str]] = frozenset()
) -> set[tuple[str, str]]:
    """What goes, after what it goes into."""
    found = merges_of(memories, of_words(*memories) if vectors is None else vectors, apart)
    return {(merge.survivor, merge.member) for merge in found}


def strangers(number: int, alike: float = 0.3, seed: int = 1) -> Vectors:
    """Vectors that share so much and nothing else, as all that one person tells shares something."""
    chance = np.random.default_rng(seed)
    shared, own = chance.standard_normal(DIMENSIONS * 4), chance.standard_normal((number, DIMENSIONS * 4))
    both = np.sqrt(alike) * shared / np.linalg.norm(shared) + np.sqrt(1 - alike) * own / np.linalg.norm(
        own, axis=1, keepdims=True
    )
    return vectors_of(bytearray(both.astype(np.float32).tobytes()), number)


def with_twins(vectors: Vectors, twins: int, most_noise: float = 0.45, seed: int = 2) -> Vectors:
    """The last of them are each near one of the first, some of them just near enough."""
    chance = np.random.default_rng(seed)
    noise = chance.standard_normal((twins, vectors.shape[1])).astype(np.float32)
    noise *= chance.uniform(most_noise / 9, most_noise, (twins, 1)) / np.linalg.norm(noise, axis=1, keepdims=True)
    near_them = vectors_of(bytearray((vectors[:twins] + noise).astype(np.float32).tobytes()), twins)
    return np.concatenate([vectors[:-twins], near_them])


# --- which are near ---------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("alike", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("number", [500, 4_000])
def test_nearly_all_that_brute_force_finds_is_found(number: int, alike: float) -> None:
    vectors, new = with_twins(strangers(number, alike), number // 5), np.ones(number, np.bool_)
    exact = {pair[:2] for pair in by_comparing(vectors, new)}
    found = {pair[:2] for pair in near(vectors, new)}
    assert len(exact) >= number // 10
    assert found <= exact
    assert len(found) >= 0.99 * len(exact)


@pytest.mark.thorough
def test_what_a_person_says_all_the_time_does_not_hide_what_they_say_twice() -> None:
    number = 4_000
    vectors, new = with_twins(strangers(number, alike=0.9), 800, most_noise=0.1), np.ones(number, np.bool_)
    exact = {pair[:2] for pair in by_comparing(vectors, new, 0.99)}
    assert len(exact) >= 800
    assert len({pair[:2] for pair in near(vectors, new, 0.99)}) >= 0.99 * len(exact)


@pytest.mark.thorough
def test_the_same_memories_have_the_same_neighbours_each_time() -> None:
    # So low that many are missed: others each time, if chance had a say in it.
    vectors, new = with_twins(strangers(4_000), 1_600, most_noise=1.1), np.ones(4_000, np.bool_)
    found = list(near(vectors, new, 0.7))
    assert 0 < len(found) < len(list(by_comparing(vectors, new, 0.7)))
    assert list(near(vectors, new, 0.7)) == found


@pytest.mark.thorough
@pytest.mark.parametrize("number", [BITS, BITS + 200], ids=["few", "many"])
def test_what_was_looked_at_is_compared_with_what_is_new_and_with_nothing_else(number: int) -> None:
    vectors, new = with_twins(strangers(2_000), 1_000), np.zeros(2_000, np.bool_)
    new[-number:] = True
    found = {pair[:2] for pair in near(vectors, new)}
    everybody = {pair[:2] for pair in by_comparing(vectors, np.ones(2_000, np.bool_))}
    assert found == {pair for pair in everybody if new[list(pair)].any()} < everybody


@pytest.mark.thorough
def test_a_crowd_that_is_all_alike_is_not_compared_each_with_each() -> None:
    number = 3_000
    vectors = with_twins(strangers(number, alike=0.99), 1)
    assert len(list(near(vectors, np.ones(number, np.bool_)))) <= number * ORDERS * PLACES < number * number / 2


def test_nobody_has_no_neighbours() -> None:
    assert not list(near(vectors_of(bytearray(), 0), np.zeros(0, np.bool_)))
    assert merges_of([], vectors_of(bytearray(), 0)) == []


def test_a_crowd_of_different_facts_is_told_apart_without_reading_each_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[str, str]] = []

    def says_the_same(one: str, other: str) -> bool:
        read.append((one, other))
        return True

    monkeypatch.setattr(neighbours, "says_the_same", says_the_same)
    crowd = [held(f"Ran the marathon number {number}") for number in range(1_000)]
    assert not merged(*crowd, vectors=with_twins(strangers(1_000, alike=0.99), 1))
    assert not read


# --- which are duplicates ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), PAIRS["duplicates"])
def test_what_says_the_same_is_merged(one: str, other: str) -> None:
    assert len(merged(held(one), held(other))) == 1


@pytest.mark.parametrize(("one", "other"), PAIRS["look_alikes"])
def test_what_only_sounds_alike_stays_two_however_near_it_is(one: str, other: str) -> None:
    assert not merged(held(one), held(other))
    assert not merged(held(one), held(other), vectors=at(0, 1))


@pytest.mark.parametrize(("one", "other"), PAIRS["missed"])
def test_in_doubt_two_stay_two(one: str, other: str) -> None:
    assert not merged(held(one), held(other))


def test_words_alone_do_not_do_where_the_vectors_are_far_apart() -> None:
    one, other = held("Lives in Berlin"), held("The user lives in Berlin")
    assert merged(one, other, vectors=at(0, 10))
    assert not merged(one, other, vectors=at(0, 40))


def test_what_has_the_same_words_needs_no_vectors() -> None:
    one, other = held("Speaks Spanish and English"), held("speaks English and Spanish.", new=False)
    assert merged(one, other, vectors=vectors_of(bytearray(), 0))


@pytest.mark.parametrize(
    "different",
    [{"type": "goal"}, {"sensitive": True}, {"valid_from": "a day"}],
    ids=["another type", "sensitive", "since when"],
)
def test_what_differs_in_more_than_words_stays_two(different: dict[str, Any]) -> None:
    best, other = held("Lives in Berlin", count=3), held("Lives in Berlin.")
    assert merged(best, other)
    assert not merged(best, replace(other, **different))


def test_what_was_looked_at_before_is_not_merged_among_itself() -> None:
    assert not merged(held("Lives in Berlin", new=False), held("Lives in Berlin.", new=False))


def test_the_most_trusted_stays_then_the_most_confirmed_then_the_newest() -> None:
    inferred = held("Lives in Berlin", trust="inferred", count=9, created=9)
    unheard = held("Lives in Berlin.", trust="of a version to come", count=99)
    older = held("Lives in: Berlin", count=2, created=1)
    newer = held("lives in Berlin!", count=2, created=2)
    once = held("Lives in Berlin?", created=3)
    assert merged(inferred, unheard, older, newer, once) == {
        (newer.id, each.id) for each in (inferred, unheard, older, once)
    }


def test_each_that_goes_is_a_duplicate_of_the_one_that_stays_and_not_of_one_between_them() -> None:
    first, between, last = (
        held("Lives in Berlin", count=3),
        held("The user lives in Berlin", count=2),
        held("Living in Berlin"),
    )
    assert merged(first, between, last, vectors=at(0, 20, 40)) == {(first.id, between.id)}
    between = replace(between, count=4)
    assert merged(first, between, last, vectors=at(0, 20, 40)) == {(between.id, first.id), (between.id, last.id)}


def test_what_was_taken_apart_stays_apart() -> None:
    one, other, third = held("Lives in Berlin", count=2), held("Lives in Berlin."), held("Lives in Berlin!")
    assert merged(one, other, third, apart=frozenset({frozenset({one.id, other.id})})) == {(one.id, third.id)}


def test_the_surest_come_first() -> None:
    one, near_it, far = held("Lives in Berlin", count=2), held("The user lives in Berlin"), held("Living in Berlin")
    found = merges_of((one, far, near_it), at(0, 20, 5), frozenset())
    assert [merge.member for merge in found] == [near_it.id, far.id]
    assert isinstance(found[0], Merge)
    assert found[0].sureness > 0.99 > found[1].sureness > 0.92


@pytest.mark.parametrize(
    ("active", "most"), [(0, 1), (1, 1), (9, 1), (19, 1), (20, 2), (199, 19), (200, 20), (9_999, 20)]
)
def test_a_tenth_may_go_one_at_the_least_and_twenty_at_the_most(active: int, most: int) -> None:
    assert cap_of(active) == most
