"""Memories that code alone treats as equal, without a model."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwestly_agent.memory.notes import hash_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lives in Porto", "lives  in porto."),
        ("Leads “Team Blue”!", "leads Team Blue"),
        ("Doesn’t drive", "Doesn't drive"),
        ("Leads a team of 8.", "Leads a team of 8"),
        ("Wohnt in Köln", "Wohnt in Ko\u0308ln"),
        ("Speaks\u00a0Dutch…", "Speaks Dutch"),
    ],
)
def test_equality_ignores_case_blanks_quotation_marks_and_the_final_period(one: str, other: str) -> None:
    assert hash_of(one) == hash_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Writes C", "Writes C++"),
        ("Writes C", "Writes C#"),
        ("Works at -5 °C", "Works at 5 °C"),
        ("Earns 1.5 thousand", "Earns 15 thousand"),
        ("Is 5' tall", "Is 5 tall"),
        ("Studied '22", "Studied 22"),
        ("Knows 10² ways", "Knows 102 ways"),
        ("Trinkt in Maßen", "Trinkt in Massen"),
        ("Lived in Porto", "Lives in Porto"),
        ("Left Acme for Globex", "Left Globex for Acme"),
        ("Works for the union", "Works against the union"),
        ("Drives", "Doesn't drive"),
        ("Doesn't drive", "Doesnt drive"),
        ("5%", "5"),
    ],
)
def test_any_other_difference_makes_memories_distinct(one: str, other: str) -> None:
    assert hash_of(one) != hash_of(other)


WORDS = st.sampled_from(
    [
        "lives",
        "lived",
        "in",
        "from",
        "to",
        "not",
        "8",
        "80",
        "8.0",
        "C",
        "C++",
        "Porto",
        "Acme",
        "Globex",
        "for",
        "against",
        "no",
        "kein",
        "não",
        "-5",
        "5",
        "5%",
        "is",
        "was",
    ]
)


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=7), st.lists(WORDS, min_size=1, max_size=7))
def test_texts_with_other_words_or_another_order_are_never_equal(one: list[str], other: list[str]) -> None:
    assert (hash_of(" ".join(one)) == hash_of(" ".join(other))) == (
        [each.lower() for each in one] == [each.lower() for each in other]
    )
