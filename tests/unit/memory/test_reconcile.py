"""Rules for related memories: each is replaced by a verdict on exactly its pair, and one always stays."""

from itertools import combinations, permutations
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory.judges import Relation
from qwestly_agent.memory.reconcile import cap_of, replacements_of


def held(id: str, created: float = 0.0, said: float = 0.0, trust: str = "user_said", count: int = 1) -> Memory:
    moments = {"created_at": to_datetime(created), "last_seen": said + 1}
    return Memory(id=id, type="fact", content=id, trust=trust, count=count, **moments)


def test_the_most_trusted_then_most_confirmed_then_newest_memory_stays() -> None:
    best, older = held("best", count=2, created=2), held("older", count=2, created=1)
    others = (
        held("once"),
        held("inferred", trust="inferred", count=9),
        held("of a version to come", trust="?", count=99),
    )
    for order in permutations((best, older, *others)):
        gone = replacements_of((*pair, "same") for pair in combinations(order, 2))
        assert {(each.gone, each.by, each.status) for each in gone} == {
            (each.id, "best", "merged") for each in (older, *others)
        }


MEMORIES = st.builds(
    held,
    st.uuids().map(str),
    created=st.integers(0, 3).map(float),
    said=st.integers(0, 3).map(float),
    trust=st.sampled_from(["user_said", "inferred"]),
    count=st.integers(1, 2),
)


@given(st.lists(MEMORIES, min_size=2, max_size=6, unique_by=lambda each: each.id), st.data())
def test_any_judged_relations_replace_memories_consistently_and_keep_one(
    memories: list[Memory], data: st.DataObject
) -> None:
    word = {pair: data.draw(st.sampled_from(get_args(Relation))) for pair in combinations(range(len(memories)), 2)}
    found = replacements_of((memories[one], memories[other], word[one, other]) for one, other in word)
    at = {each.id: place for place, each in enumerate(memories)}
    gone = {each.gone for each in found}
    assert len(gone) == len(found) < len(memories)
    for each in found:
        one, other = sorted((at[each.gone], at[each.by]))
        older, newer = memories[at[each.gone]], memories[at[each.by]]
        assert word[one, other] == {"merged": "same", "superseded": "contradicts"}[each.status]
        assert (older.trust, newer.trust) != ("user_said", "inferred")
        assert each.by not in gone if each.status == "merged" else older.last_seen < newer.last_seen


@pytest.mark.parametrize(
    ("active", "most"), [(0, 1), (1, 1), (9, 1), (19, 1), (20, 2), (199, 19), (200, 20), (9_999, 20)]
)
def test_at_most_a_tenth_between_one_and_twenty_memories_may_be_replaced(active: int, most: int) -> None:
    assert cap_of(active) == most
