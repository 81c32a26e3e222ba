"""The edge cases of the learning guide, played with answers written by hand: they prove the wiring, and nothing about a
model."""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from evals.outcomes import Outcome
from evals.played import DATASETS, Played, play
from evals.relay import Upstream
from evals.stage import Stage, run_stage
from evals.talks import ANY, FOLDER, Answers, any_of, load, load_answers, problems_of
from infra.local.model_controls import SCRIPT
from infra.local.model_faults import Reply
from infra.local.model_server import ModelServer
from qwestly_agent.agents.tools import catalog, roles
from tests.counts import everyday, sample

EDGE = FOLDER / "edge_cases"
NAME = "edge cases"
HELD_BY_CODE = ["31", "32"]
"""Cases that pass with a model that disobeys in every case."""


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the limit of the time to first text, which no test asserts."""
    monkeypatch.setattr("evals.played.MOST_FIRST_TEXT_MS", float("inf"))


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with run_stage({}) as stage:
        yield stage


def answers(name: str) -> Answers:
    return load_answers(EDGE / f"answers-{name}.yaml")


def passed(played: Played) -> list[str]:
    return [each.case for each in played.outcomes if each.passed]


def problems_by_case(outcomes: list[Outcome]) -> Mapping[str, tuple[str, ...]]:
    return {each.case: each.problems for each in outcomes if not each.passed}


def test_the_first_30_of_33_cases_have_variants_with_a_typo_and_another_language() -> None:
    assert [each.case for each in load(EDGE / "cases.yaml")] == [str(number) for number in range(1, 34)]
    assert all(each.listed and each.expected for each in load(EDGE / "cases.yaml"))
    variants = load(EDGE / "variants.yaml")
    for number in range(1, 31):
        of_case = [each for each in variants if re.fullmatch(rf"{number}[a-h]", each.case)]
        assert {"other", "typo", "language"} <= {each.group for each in of_case}, number
    said = [each.said for each in (*variants, *load(EDGE / "cases.yaml")) if each.said]
    assert len(set(said)) >= len(said) - 1, "only “physics” stands twice"


@pytest.mark.nightly
@pytest.mark.thorough
def test_good_answers_pass_all_33_cases_without_a_model(stage: Stage) -> None:
    played = play(stage, NAME, 1, answers("good"))
    assert problems_by_case(played.outcomes) == {}
    assert len(passed(played)) == 33
    assert {each.source for each in played.outcomes} == {"replayed"}


@pytest.mark.thorough
def test_a_slow_first_text_fails_by_name(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evals.played.MOST_FIRST_TEXT_MS", 0.0)
    problems = problems_by_case(play(stage, NAME, 1, answers("good"), only=("30", "31")).outcomes)
    assert list(problems) == ["31"]
    assert problems["31"][0].startswith("p95 of our own first text is ")


@pytest.mark.nightly
@pytest.mark.thorough
def test_bad_answers_fail_every_case_not_ensured_by_code(stage: Stage) -> None:
    played = play(stage, NAME, 1, answers("bad"))
    assert passed(played) == HELD_BY_CODE
    problems = problems_by_case(played.outcomes)
    assert problems["1"] == ("called search_topics", "called detect_granularity", "asked nothing")
    assert problems["6"] == ("did not call generate_content()",)
    assert problems["30"] == ("did not say “leadership|führung|liderazgo”", "said “ledarship”")


@pytest.mark.parametrize("said", everyday(2, ["27", "28", "27a", "27b", "27c", "28a", "28b", "28c"]))
def test_an_untaught_case_passes_if_the_model_reports_or_declines_it(stage: Stage, said: str) -> None:
    [case] = [each for name in ("cases", "variants") for each in load(EDGE / f"{name}.yaml") if each.case == said]
    good, _ = stage.play(case, answers("good")[said[:2]][0])
    assert problems_of(case.expect, good) == []
    bad, _ = stage.play(case, answers("bad")[said[:2]][0])
    assert "called generate_content" in problems_of(case.expect, bad)


def test_a_case_without_a_role_or_an_answer_is_never_passed(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    played = play(stage, NAME, 1, {"1": answers("good")["1"]}, only=("1", "2"))
    assert (passed(played), played.wanting) == (["1"], {f"{NAME}: 2": "an answer that can be played"})
    monkeypatch.setattr(Stage, "roles", frozenset({"chat"}))
    played = play(stage, NAME, 1, answers("good"))
    assert played.outcomes == []
    assert set(played.wanting.values()) == {"the role learning"}
    assert len(played.wanting) == 30


class Provider(ModelServer):
    """Answers from recorded answers, turn by turn, as a provider would at its address."""

    def __init__(self, recorded: Answers) -> None:
        super().__init__()
        self._turns = deque(each for [each] in recorded.values())

    def next_reply(self, body: Any) -> Reply:
        if body.get("stream") and body["messages"][-1]["role"] == "user":
            self.script(*SCRIPT.validate_python({"steps": self._turns.popleft()})["steps"])
        return super().next_reply(body)


@pytest.mark.nightly
@pytest.mark.thorough
def test_at_any_address_good_answers_pass_bad_ones_fail_and_recordings_replay() -> None:
    for name, holds in sample([("bad", HELD_BY_CODE), ("good", [str(number) for number in range(1, 34)])], 1):
        with Provider(answers(name)) as provider:
            there = Upstream(provider.base_url, "")
            with run_stage({"deepseek-flash": there, "deepseek-v4-pro": there}) as stage:
                live = play(stage, NAME, 1, None)
                assert {each.source for each in live.outcomes} == {"live"}
                assert passed(live) == holds
                again = play(stage, NAME, 1, live.answers)
        assert passed(again) == holds
        assert {each.source for each in again.outcomes} == {"replayed"}
        assert problems_by_case(again.outcomes) == problems_by_case(live.outcomes)


@pytest.mark.parametrize("name", DATASETS)
def test_each_dataset_names_existing_tools_and_no_duplicate_cases(name: str) -> None:
    cases = load(DATASETS[name])
    assert len({each.case for each in cases}) == len(cases) > 0
    there = {each.name for each in (*catalog.TOOLS, *roles.LEARNING_TOOLS, *roles.TOOLS, *roles.ONBOARDING_TOOLS)} | {
        ANY
    }
    wanted = {one.tool for case in cases for each in case.expect.must for one in any_of(each)}
    assert wanted | {tool for case in cases for tool in case.expect.must_not} <= there


@pytest.mark.nightly
@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in DATASETS if name != NAME])
def test_each_case_can_be_played_to_its_end(stage: Stage, name: str) -> None:
    said = {each.case: [[{"streams": True, "text": "What else? And what for?"}]] for each in load(DATASETS[name])}
    played = play(stage, name, 1, said)
    assert len(played.outcomes) == len(said)
    assert [each for each in played.outcomes if any("the turn ended" in problem for problem in each.problems)] == []
    assert name == "injections" or not all(each.passed for each in played.outcomes), "words alone pass too much"


@pytest.mark.thorough
def test_cases_about_jobs_applications_and_approvals_have_their_tools_and_records(
    stage: Stage,
) -> None:
    cases = {each.case: each for each in load(EDGE.parent / "tools" / "cases.yaml")}
    for name, arguments, is_found in (
        ("jobs-company", {"query": "Kestrel Labs"}, True),
        ("jobs-read", {"job_id": "1"}, False),
        ("applications-list", {}, True),
        ("approval-where", {"approval_id": "1"}, False),
    ):
        case = cases[name]
        [wanted] = any_of(case.expect.must[0])
        called = {"streams": True, "tool_calls": [{"name": wanted.tool, "arguments": arguments}]}
        turn, _ = stage.play(case, [called, {"streams": True, "text": "There."}])
        assert (problems_of(case.expect, turn), [call.ok for call in turn.calls]) == ([], [is_found]), name
    turn, _ = stage.play(cases["approval-yes"], [{"streams": True, "text": "Done."}])
    assert problems_of(cases["approval-yes"].expect, turn) == [], "a typed yes is the decision"
