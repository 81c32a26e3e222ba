"""Forgotten content is recognized by hashes and a signature that do not reveal it."""

import random
from math import sqrt

import pytest

from qwestly_agent.domain.memory import DIMENSIONS, Tombstone, folded, hashes_of, is_telling, signature_of, stem_hashes


def pair(chance: random.Random, cosine: float) -> tuple[list[float], list[float]]:
    """Two vectors of length one with this cosine."""
    one, other = ([chance.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in range(2))
    length = sqrt(sum(x * x for x in one))
    one = [x / length for x in one]
    along = sum(x * y for x, y in zip(one, other, strict=True))
    across = [y - along * x for x, y in zip(one, other, strict=True)]
    length = sqrt(sum(x * x for x in across))
    rest = sqrt(1 - cosine * cosine)
    return one, [cosine * x + rest * y / length for x, y in zip(one, across, strict=True)]


def stone(vector: list[float]) -> Tombstone:
    return Tombstone("t", "u", frozenset(), signature_of(vector), len(vector))


@pytest.mark.parametrize("cosine", [-0.2, 0.0, 0.3, 0.6, 0.75, 0.9, 0.99])
def test_the_cosine_is_estimated_from_signatures(cosine: float) -> None:
    chance = random.Random(7)
    errors = [stone(one).cosine(other) - cosine for one, other in (pair(chance, cosine) for _ in range(20))]
    assert abs(sum(errors) / len(errors)) < 0.06
    assert sqrt(sum(each * each for each in errors) / len(errors)) < 0.12


def test_a_vector_has_the_same_signature_in_every_process_and_version() -> None:
    signature = signature_of([1.0, -2.0, 0.5])
    assert (len(signature), signature.hex()[:16]) == (32, "666f7da8d4d36d91")
    assert stone([1.0, -2.0, 0.5]).cosine([2.0, -4.0, 1.0]) == 1.0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Lives in Porto.", "lives  in\nPORTO", True),
        ("“Lives in Porto”", "Lives in Porto!", True),
        ("Lives in Porto", "Lived in Porto", False),
        ("Lives in Porto", "Lives in Portó", False),
        ("Manages 8 people", "Manages 80 people", False),
        ("Earns 1.5 million", "Earns 15 million", False),
    ],
)
def test_a_hash_ignores_blanks_case_quotation_marks_and_final_punctuation(one: str, other: str, same: bool) -> None:
    assert (folded(one) == folded(other)) == same
    assert (hashes_of("u", one, "") == hashes_of("u", other, "")) == same
    assert hashes_of("u", one, "").isdisjoint(hashes_of("v", one, ""))


@pytest.mark.parametrize(
    ("quote", "telling"),
    [("Yes", False), ("in Lisbon", False), ("I have diabetes", True), ("はい", False), ("我住在里斯本市", True)],
)
def test_a_short_quote_has_no_tombstone_hash_of_its_own(quote: str, telling: bool) -> None:
    assert is_telling(quote) == telling
    assert len(hashes_of("u", "Said something.", quote)) == 1 + telling


def test_a_text_without_a_shared_content_stem_is_not_a_retelling() -> None:
    stems = stem_hashes("u", "Worked as a nurse in Porto", "I was a nurse in Porto")
    tombstone = Tombstone("t", "u", frozenset(), stems=stems)
    assert tombstone.may_share_stem("Three years of nursing and nurses")
    assert not tombstone.may_share_stem("Has two children")
    assert all(len(each) == 3 for each in stems), "too short to tell a word"
    assert Tombstone("old", "u", frozenset()).may_share_stem("Has two children")
