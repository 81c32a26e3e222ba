"""What a message names, what agrees, and what is not taught: the closed tables."""

import pytest

from qwestly_agent.learning.prompts import not_taught
from qwestly_agent.learning.tree import agrees, extract_name


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("physics please", "physics"),
        ("teach me quantum mechanics", "quantum mechanics"),
        ("I want to learn chemistry", "chemistry"),
        ("No, I meant physics.", "physics"),
        ("Actually, astrophysics", "astrophysics"),
        ("chemistry instead", "chemistry"),
        ("Could you please teach me how rivers form?", "how rivers form"),
        ("Ich möchte Verhandeln lernen", "verhandeln"),
        ("enséñame química, por favor", "química"),
        ("beginner maths", "beginner maths"),
        ("learning to let go", "learning to let go"),
        ("new product development", "new product development"),
        ("The next economy", "next economy"),
    ],
)
def test_what_is_said_around_a_name_is_no_part_of_it(said: str, name: str) -> None:
    assert extract_name(said) == name


@pytest.mark.parametrize(
    "said",
    [
        *(
            "learn something new",
            "let's try something else",
            "I want to learn something different",
            "pick something new",
        ),
        *(
            "show me other topics",
            "Continue",
            "ok",
            "yes",
            "",
            "…",
            "please",
            "anything",
            "Etwas Neues lernen",
            "weiter",
        ),
        *("algo nuevo", "Quelque chose de nouveau", "outra coisa", "Surprise me!", "I'd like to learn", "no"),
    ],
)
def test_what_names_nothing_names_nothing(said: str) -> None:
    assert extract_name(said) == ""


@pytest.mark.parametrize(
    "said",
    [
        *("yes", "Yes, please!", "it is", "sounds great", "that's correct", "perfect", "That’s right.", "Ja, genau"),
        *("Sí, claro", "Oui, parfait", "ok, thanks", "Sure, go ahead."),
    ],
)
def test_short_words_of_agreement_say_yes(said: str) -> None:
    assert agrees(said)


@pytest.mark.parametrize(
    "said",
    [
        *("no", "yes?", "no, yes", "yes, but shorter", "something new", "perfect competition", "please", "thanks", ""),
        *("right of way", "is that correct?", "not ok", "sure thing is boring"),
    ],
)
def test_anything_else_says_no_yes_by_itself(said: str) -> None:
    assert not agrees(said)


@pytest.mark.parametrize(
    "said", ["self-harm", "Self harm", "selfharm", "teach me suicide", "Selbstverletzung", "sucide"]
)
def test_harm_to_oneself_is_not_taught(said: str) -> None:
    found = not_taught(said)
    assert found
    assert found.kind == "self_harm"


@pytest.mark.parametrize(
    "said",
    [
        *("self-help", "self-defense", "harm reduction in public health policy and how it is paid for by cities"),
        *("hiring", "Dick's job", "classic literature", "Scunthorpe", "suits", "retarded potentials", "cutting costs"),
    ],
)
def test_ordinary_topics_are_taught(said: str) -> None:
    assert not_taught(said) is None
