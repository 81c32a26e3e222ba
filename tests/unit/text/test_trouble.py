"""Explicit statements by people in trouble, and others. The sentences are in `evals/trouble.tsv.gz`."""

import random
import re
from dataclasses import asdict
from typing import Any

import pytest

from evals import trouble
from qwestly_agent.text.trouble import PHRASES, Trouble
from qwestly_agent.text.user_text import trouble_in

LEAST_FOUND = 0.95
MOST_ALARMS = 0.01
MOST_PHRASES = 25
MOST_WORDS = 791
"""The number of words before phrases had alternatives; each alternative and each list counts."""


def test_a_language_has_at_most_twenty_five_phrases() -> None:
    for language, phrases in PHRASES.items():
        listed = [" ".join(each.split()) for kind in (phrases.self_harm, phrases.violence) for each in kind.split(",")]
        assert len(set(listed)) == len(listed) <= MOST_PHRASES, language
    lists = (value for phrases in PHRASES.values() for value in asdict(phrases).values())
    assert sum(len(re.findall(r"[^\s,|]+", each)) for each in lists) <= MOST_WORDS


def test_explicit_statements_of_trouble_are_found_with_their_language() -> None:
    said = [each for each in trouble.load("plain", "plain-2") if each.label == "e"]
    found = [(each, trouble_in(each.text)) for each in said]
    missed = [each.text for each, one in found if one is None]
    assert len(missed) <= (1 - LEAST_FOUND) * len(said), missed
    assert [(each.text, one) for each, one in found if one and one.language != each.language] == []


@pytest.mark.parametrize("name", ["plain", "plain-2", "unseen", "first-rounds"])
def test_messages_on_work_others_or_the_past_alarm_in_at_most_1_percent(name: str) -> None:
    said = [each.text for each in trouble.load(name) if each.label == "p"]
    assert len(said) >= 300
    alarms = [each for each in said if trouble_in(each)]
    assert len(alarms) <= MOST_ALARMS * len(said), alarms


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("I WANT TO DIEEEE!!!", Trouble("self_harm", "en")),
        ("I don’t want to live anymore", Trouble("self_harm", "en")),
        ("Honestly? Want to die.", Trouble("self_harm", "en")),
        ("I want to diet", None),
        ("I don't want to live in Berlin anymore", None),
        ("Ich möchte einfach nur noch sterben", Trouble("self_harm", "de")),
        ("Je ne veux plus vivre", Trouble("self_harm", "fr")),
        ("Mein Mann schlägt mich", Trouble("violence", "de")),
        ("My husband beats me at chess", None),
        ("I can't go on like this in my current role, I need a change", None),
        ("A caller told me they want to die, and I stayed on the line.", None),
        ("", None),
        # A new clause starts at "and", at punctuation and at a first person.
        ("They fired me and I want to die", Trouble("self_harm", "en")),
        ("they all say no i want to die", Trouble("self_harm", "en")),
        ("I used to love this job, and now I want to die.", Trouble("self_harm", "en")),
        ("My students have suicidal thoughts", None),
        ("A client told me I want to die and I stayed", None),
        ("Eine Klientin sagte mir, ich will sterben, und ich blieb", None),
        ("ich kann nicht mehr und will nicht mehr leben", Trouble("self_harm", "de")),
        ("Sie haben mich entlassen und ich will sterben", Trouble("self_harm", "de")),
        ("ils m'ont viré et je veux mourir", Trouble("self_harm", "fr")),
        ("me echaron y quiero morirme", Trouble("self_harm", "es")),
        ("ele me demitiu e quero morrer", Trouble("self_harm", "pt")),
        # Someone who does not want to live somewhere wants to move.
        ("Ich will nicht mehr in München leben", None),
        ("Ich will nicht mehr vom Ersparten leben", None),
        ("Je ne veux plus vivre à Paris", None),
        ("Ya no quiero vivir en Madrid", None),
        ("Não quero mais viver em Lisboa", None),
        ("I'm not suicidal, only tired", None),
        ("I want to die of embarrassment", None),
        ("My boss threatened to kill me", Trouble("violence", "en")),
        ("mein Chef droht mir, dass er mich umbringt", Trouble("violence", "de")),
    ],
)
def test_spelling_does_not_affect_detecting_trouble_but_its_subject_does(said: str, found: Any) -> None:
    assert trouble_in(said) == found


def test_phrases_and_two_other_signals_together_find_nearly_everybody() -> None:
    """The other two are scripted: each of them detects three of four, independently of the others."""
    chance = random.Random(74)

    def share(label: str) -> float:
        said = [each for each in trouble.load("plain", "plain-2") if each.label == label]
        found = [any((one, chance.random() < 0.75, chance.random() < 0.75)) for one in trouble.by_phrases(said)]
        return sum(found) / len(said)

    assert share("e") >= 0.97
    assert share("i") >= 0.7
