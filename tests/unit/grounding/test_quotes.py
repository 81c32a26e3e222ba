"""Look 1: what counts as a source's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwestly_agent.grounding.model import Quote, QuotedSource
from qwestly_agent.grounding.quotes import find_quote, find_span

CHAT = QuotedSource(id="s1", text="i run the bar at “Night Owl”.\nMoved  to Porto in 2019! Dad’s café was next door")


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        ("I run the bar", "i run the bar"),
        ('at "night owl"', "at “Night Owl"),
        ("moved to porto", "Moved  to Porto"),
        ("“Dad's cafe\u0301 was next door”", "Dad’s café was next door"),
        ("bar at “Night Owl”. Moved", "bar at “Night Owl”.\nMoved"),
    ],
)
def test_quotes_ignore_case_blanks_quotation_marks_and_compatibility_forms(quote: str, stands: str) -> None:
    found = find_quote(Quote(source="s1", text=quote), {"s1": CHAT})
    assert found
    assert found.text == stands


SET = QuotedSource(
    id="s1",
    text="Led the develop-\nment of 2016–2021 plans − twice.\n• Chef de cœur\n- re-signed in 2019\n"
    "S K I L L S: jazz\n* a–z\nH e a d  o f  S a l e s\n"
    "front-\nend, 2011-\n2014 • Co\u00adop\u200ber\u00ad\nation\nTours\n– 2014\n➢ d´or",
)


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        ("led the development of 2016-2021 plans", "Led the develop-\nment of 2016–2021 plans"),
        ("plans – twice. Chef de coeur", "plans − twice.\n• Chef de cœur"),
        ("Chef de cœur re\u2010signed in 2019", "Chef de cœur\n- re-signed in 2019"),
        ("skills: jazz", "S K I L L S: jazz"),
        ("jazz a-z", "jazz\n* a–z"),
        ("head of sales", "H e a d  o f  S a l e s"),
        ("Front-end, 2011–2014 cooperation", "front-\nend, 2011-\n2014 • Co\u00adop\u200ber\u00ad\nation"),
        ("2014 • cooperation", "2014 • Co\u00adop\u200ber\u00ad\nation"),
        ("Tours – 2014 d'or", "Tours\n– 2014\n➢ d´or"),
        ("• Chef de cœur", "Chef de cœur"),
        ("2016-2022", None),
        ("20112014", None),
        ("20162021", None),
        ("resigned in 2019", None),
        ("development-of", None),
    ],
)
def test_typography_does_not_affect_quotes(quote: str, stands: str | None) -> None:
    found = find_quote(Quote(source="s1", text=quote), {"s1": SET})
    assert (found and found.text) == stands


@pytest.mark.parametrize("quote", ["I ran the bar", "the ba", "orto in 2019", "in 201", "", "  ", "“”", "bar … Owl"])
def test_other_words_and_parts_of_words_are_not_found(quote: str) -> None:
    assert find_quote(Quote(source="s1", text=quote), {"s1": CHAT}) is None


def test_a_missing_source_contains_no_quote() -> None:
    assert find_quote(Quote(source="s2", text="i run the bar"), {"s1": CHAT}) is None


def test_the_whole_sentence_around_a_quote_is_shown() -> None:
    found = find_quote(Quote(source="s1", text="porto"), {"s1": CHAT})
    assert found
    assert found.sentence == "Moved  to Porto in 2019!"


def test_a_quote_in_a_script_without_blanks_can_start_anywhere() -> None:
    assert find_span("東京で働", "私は東京で働いています")


@given(st.text(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_any_excerpt_of_a_text_is_found_or_rejected(text: str, start: int, end: int) -> None:
    span = find_span(text[start:end], text)
    assert span is None or 0 <= span[0] < span[1] <= len(text)


@given(st.text(alphabet="abé '“”\n", max_size=30))
def test_a_whole_text_is_found_in_itself(text: str) -> None:
    assert (find_span(text, text) is None) == (not text.strip(" '“”\n"))
