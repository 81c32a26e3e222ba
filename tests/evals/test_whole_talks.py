"""Whole talks are played to their end with answers of the scripted model; errors fail by name."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from evals.stage import Stage, run_stage
from evals.talks import FOLDER, Answers, Step, load_answers
from evals.whole_talks import Case, Talk, load, manner_of, play_whole_talks, problems_of
from qwestly_agent.domain.interview import Aspect, DraftSentence, Interview, Said, Topic

GOOD = load_answers(FOLDER / "interviews/whole-good.yaml")
WRITER = "You write the draft of an interview"


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with run_stage({}) as stage:
        yield stage


def problems(stage: Stage, answers: Answers) -> dict[str, tuple[str, ...]]:
    return {each.case: each.problems for each in play_whole_talks(stage, 1, answers).outcomes}


def changed(case: str, change: Callable[[Step], Step]) -> Answers:
    """The good answers, each turned into a bad one."""
    [steps] = GOOD[case]
    return {case: [[change(each) for each in steps]]}


def saying(text: str, since: int = 1) -> Callable[[Step], Step]:
    """Replace the texts shown to the person since a turn."""
    turn = count(1)
    return lambda step: {"streams": True, "text": text} if step.get("streams") and next(turn) >= since else step


def writing(statement: dict[str, Any]) -> Callable[[Step], Step]:
    def change(step: Step) -> Step:
        if not str(step.get("to", "")).startswith(WRITER):
            return step
        [call] = step["tool_calls"]
        written = [{**each, **statement} for each in call["arguments"]["statements"]]
        return {**step, "tool_calls": [{**call, "arguments": {"statements": written}}]}

    return change


@pytest.mark.nightly
@pytest.mark.thorough
def test_talks_with_good_answers_pass_without_a_model_call(stage: Stage) -> None:
    played = play_whole_talks(stage, 1, GOOD)
    assert {each.case: each.problems for each in played.outcomes} == dict.fromkeys(GOOD, ())
    assert {each.source for each in played.outcomes} == {"replayed"}
    assert {each.group for each in played.outcomes} == {"interview", "onboarding", "learning"}
    assert list(played.wanting) == [f"whole talks: {each.case}" for each in load() if each.case not in GOOD]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (saying("I see. Go on."), "asked 0 questions in turn 1"),
        (saying("What was the hardest part?", since=4), "asked for hard in turn 4, which was told"),
        (
            writing({"quotes": [{"message_id": "m1", "text": "I led nobody"}]}),
            "the draft does not say “eight”",
        ),
        (writing({"text": "Won an award."}), "the draft says “award”"),
        (lambda step: step if step.get("streams") else {**step, "to": "nobody"}, "the draft of turn 1 was not written"),
    ],
    ids=["asks nothing", "asks again", "invents a quote", "bends a quote", "writes no draft"],
)
def test_talks_with_bad_answers_fail_by_name(stage: Stage, change: Callable[[Step], Step], problem: str) -> None:
    found = problems(stage, changed("payroll", change))["payroll"]
    assert [each for each in found if each.startswith(problem)], found


@pytest.mark.thorough
def test_a_guide_that_asks_for_the_same_yes_again_fails_without_a_lesson(stage: Stage) -> None:
    again = saying("Shall we begin with giving feedback?")
    found = problems(stage, changed("feedback", again))["feedback"]
    assert "asked for confirmed in turn 2, which was told" in found
    assert any(each.startswith("did not end") for each in found)
    assert found[-1] == "3 of 5 answers with an opening of before"


@pytest.mark.thorough
def test_a_talk_whose_answers_run_out_fails(stage: Stage) -> None:
    [steps] = GOOD["payroll"]
    assert "the draft of turn 2 was not written: ModelRefused" in problems(stage, {"payroll": [steps[:7]]})["payroll"]


# --- what the product itself prevents ---------------------------------------------------------------------------------

CASE = Case.model_validate(
    {
        "case": "a", "opens": "I led eight people.", "otherwise": "No.", "ends": ["covered"],
        "tells": [{"name": "when", "to": "when", "says": ["In 2021."]}],
    }
)  # fmt: skip
TALK = Talk(
    said=["I led eight people.", "In 2021."],
    answers=["“Eight?” When was that?", "We stop here: “In 2021.”"],
    covered=[frozenset(), frozenset({"when"})],
    ended="covered",
    interview=Interview(
        topics=(Topic(title="Acme", aspects=(Aspect(name="when", status="covered"),)),),
        statements=(
            DraftSentence(
                topic="Acme", aspects=("when",), text="In 2021.", since=1, quotes=(Said(message_id="m", text="2021"),)
            ),
        ),
    ),
)


def test_a_good_talk_has_no_problems() -> None:
    assert problems_of(CASE, TALK) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"answers": ["Who? When?", TALK.answers[1]]}, "asked 2 questions in turn 1"),
        ({"answers": [TALK.answers[0], "“In 2021.” When?"]}, "asked after its end"),
        ({"ended": ""}, "did not end in 2 turns"),
        ({"ended": "tired"}, "ended as tired instead of covered"),
        ({"answers": [TALK.answers[0], "We stop here: “In 1999.”"]}, "ended without a quote of what was told"),
        ({"said": ["I led eight people.", "No."]}, "the draft quotes what was not said: “2021”"),
    ],
)
def test_each_checked_problem_fails_by_name(change: dict[str, Any], problem: str) -> None:
    assert problem in problems_of(CASE, replace(TALK, **change))


def test_praise_exclamation_marks_and_repeated_openings_of_a_guide_are_counted() -> None:
    said = ["Great choice! What draws you to it?", "What would help you most?", "What would help you most, then?"]
    told = (
        "1 of 3 answers with praise, 1 of 3 answers with an exclamation mark, 1 of 3 answers with an opening of before"
    )
    assert manner_of(said) == told
    assert manner_of(["Great leaders listen.", "Which part of it?"]) == ""
    guide, answers = CASE.model_copy(update={"role": "learning"}), ["Perfect. When was that?", TALK.answers[1]]
    assert "1 of 2 answers with praise" in problems_of(guide, replace(TALK, answers=answers))
