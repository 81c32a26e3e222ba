"""Fallback questions about what a person would like to learn. Used if nothing is left of an answer, or if it would
repeat an earlier question word for word."""

import re
from collections.abc import Collection, Mapping

OPENING_WORDS = 5
_WORD = re.compile(r"\w+")

_ASKS: Mapping[str, tuple[str, ...]] = {
    "en": (
        "What would you like to learn: a broad field, or one skill?",
        "Which skill would help you most this month?",
        "Is there something at work that you would like to do better?",
        "Name a field or a skill, and we start from there.",
    ),
    "de": (
        "Was möchtest du lernen: ein ganzes Gebiet oder eine einzelne Fähigkeit?",
        "Welche Fähigkeit würde dir in diesem Monat am meisten helfen?",
        "Gibt es etwas bei der Arbeit, das du besser können möchtest?",
        "Nenne ein Gebiet oder eine Fähigkeit, und wir beginnen dort.",
    ),
    "fr": (
        "Qu’aimeriez-vous apprendre : un domaine entier ou une compétence précise ?",
        "Quelle compétence vous aiderait le plus ce mois-ci ?",
        "Y a-t-il quelque chose au travail que vous aimeriez mieux faire ?",
        "Nommez un domaine ou une compétence, et nous partons de là.",
    ),
    "es": (
        "¿Qué te gustaría aprender: un campo entero o una habilidad concreta?",
        "¿Qué habilidad te ayudaría más este mes?",
        "¿Hay algo en el trabajo que te gustaría hacer mejor?",
        "Nombra un campo o una habilidad, y empezamos por ahí.",
    ),
    "pt": (
        "O que gostaria de aprender: uma área inteira ou uma competência concreta?",
        "Que competência lhe seria mais útil este mês?",
        "Há algo no trabalho que gostaria de fazer melhor?",
        "Diga uma área ou uma competência, e começamos por aí.",
    ),
}


def opening_of(text: str) -> str:
    """Return the first words of an answer, case-folded, for comparison."""
    return " ".join(_WORD.findall(text.casefold())[:OPENING_WORDS])


def choose_question(language: str, openings: Collection[str]) -> str:
    """Return a question that begins with none of `openings`, in this language or in English."""
    questions = _ASKS.get(language, _ASKS["en"])
    return next((each for each in questions if opening_of(each) not in openings), questions[0])
