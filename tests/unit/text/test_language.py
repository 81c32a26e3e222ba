"""The language of a text, told by its function words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwestly_agent.text.language import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I run the workshop with my sister", "en"),
        ("Ich leite die Werkstatt mit meiner Schwester", "de"),
        ("Je dirige l'atelier avec ma sœur", "fr"),
        ("Dirijo el taller con mi hermana", "es"),
        ("Dirijo a oficina com a minha irmã", "pt"),
        ("Dirigo il laboratorio con mia sorella", "it"),
        ("Ik leid het atelier met mijn zus", "nl"),
    ],
)
def test_function_words_determine_the_language(text: str, language: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize("text", ["", "Python, Kafka, 2019", "Hotel in Berlin", "de a", "The Ritz", "東京で働く"])
def test_too_few_or_mixed_words_determine_no_language(text: str) -> None:
    assert language_of(text) == ""


@given(st.text(max_size=60))
def test_no_text_raises(text: str) -> None:
    assert language_of(text) in ("en", "de", "fr", "es", "pt", "it", "nl", "")
