"""Counts of the interviews of the first hour."""

from dataclasses import replace
from typing import Any

import pytest

from evals.first.interviews import Aside, Exchange, Person, Talk, outcomes_of, people
from qwestly_agent.domain.interview import DraftSentence, Interview, Said

PERSON = Person.model_validate(
    {
        "case": "a", "opens": "I led eight people.", "otherwise": "No.", "opening": ["size"], "stop": "Stop here.",
        "tells": [
            {"name": "size", "to": "how many", "says": ["Eight."]},
            {"name": "when", "to": "when", "says": ["In 2021."]},
        ],
    }
)  # fmt: skip
WHY = Aside(after=1, kind="asks", says="Why do you ask me that?")
NO = Aside(after=1, kind="refuses", says="I don't want to talk about that.")
NINE = Aside(after=1, kind="corrects", says="Sorry, we were nine.", gone="eight")


def draft(text: str, quote: str) -> Interview:
    said = (Said(message_id="m", text=quote),)
    return Interview(statements=(DraftSentence(topic="t", aspects=("when",), text=text, since=1, quotes=said),))


FIRST = Exchange("I led eight people.", "When was that?", frozenset({"size"}), None, True, Interview(), "")
LAST = Exchange("Stop here.", "Thank you.", frozenset({"size", "when"}), None, False, Interview(), "asked")


def wrong(*exchanges: Exchange, **more: Any) -> list[str]:
    talk = Talk(PERSON, list(exchanges), **more)
    return [f"{each.dataset} {each.case}" for each in outcomes_of(talk) if not each.passed]


def test_an_attentive_interviewer_has_no_problems() -> None:
    assert wrong(FIRST, replace(FIRST, answer="What came of it?", aside=None), LAST) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"answer": "How many were you?"}, "questions about something new a/1"),
        ({"answer": "When was that? And where?"}, "answers with one question a/1"),
        ({"ended": "nothing_new"}, "answers that end nothing a/1"),
        ({"aside": WHY, "is_news": False}, "questions back that are answered a/1"),
        (
            {"aside": WHY, "is_news": False, "answer": "To learn what you are proud of. When was that?"}
            | {"interview": draft("Asked why.", "Why do you ask me that")},
            "questions and refusals kept out of the draft a/1",
        ),
        (
            {"aside": NO, "is_news": False, "interview": draft("Avoids that.", "want to talk about that")},
            "questions and refusals kept out of the draft a/1",
        ),
        (
            {"aside": NINE, "is_news": False, "interview": draft("Led eight people.", "eight people")},
            "corrections that hold a/1",
        ),
    ],
)
def test_each_counted_interviewer_problem_fails_by_name(change: dict[str, Any], problem: str) -> None:
    assert wrong(replace(FIRST, **change)) == [problem]


def test_a_repeated_question_and_an_ignored_stop_fail() -> None:
    assert wrong(FIRST, replace(FIRST, answer="So: when was that?")) == []
    assert wrong(FIRST, FIRST) == ["questions asked once a/2"]
    assert wrong(FIRST, replace(LAST, ended="")) == ["stops that are heard a/2"]
    assert wrong(FIRST, problems=["turn 2 ended with error"]) == ["interviews without an error a/0"]


def test_an_unproposed_onboarding_answer_fails() -> None:
    onboarding = PERSON.model_copy(update={"role": "onboarding"})
    talk = Talk(onboarding, [replace(FIRST, said="In 2021.")], proposed="since 2021")
    assert all(each.passed for each in outcomes_of(talk))
    talk.proposed = "since 2012"
    assert [each.dataset for each in outcomes_of(talk) if not each.passed] == ["onboarding answers that are proposed"]


def test_the_set_has_twelve_people_and_an_onboarding() -> None:
    assert [each.role for each in people()] == [*["interview"] * 12, "onboarding"]
    assert all(each.stop for each in people()[:12])
