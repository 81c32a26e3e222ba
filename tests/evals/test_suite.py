"""Runs of evals: their tables, their page, the differences between two, and the thresholds of a release."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from evals import gate, suite
from evals.compare import compare
from evals.outcomes import Outcome, Run
from evals.page import page
from evals.rates import table
from evals.statistics import mcnemar

Suite: TypeAlias = Callable[..., tuple[int, str]]
GOOD = str(Path(__file__).parents[2] / "evals/edge_cases/answers-good.yaml")


def outcome(case: str, passed: bool, **more: Any) -> Outcome:
    given: dict[str, Any] = {"dataset": "talks", "source": "live", "problems": () if passed else ("asked nothing",)}
    return Outcome(case=case, passed=passed, **{**given, **more})


def a_run(*outcomes: Outcome, **more: Any) -> Run:
    return Run(name="a", date="2026-11-23", outcomes=outcomes, **more)


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Suite:
    def say(*arguments: str) -> tuple[int, str]:
        code = suite.main(arguments)
        return code, capsys.readouterr().out

    return say


@pytest.mark.parametrize(
    ("lost", "won", "p"), [(0, 0, 1.0), (1, 0, 1.0), (6, 0, 0.03125), (2, 10, 0.0386), (5, 5, 1.0), (9, 21, 0.0428)]
)
def test_the_paired_test_is_exact(lost: int, won: int, p: float) -> None:
    """Two-sided binomial probabilities at 1/2, as tables have them."""
    assert mcnemar(lost, won) == mcnemar(won, lost) == pytest.approx(p, abs=5e-5)


def test_a_case_counts_once_in_a_comparison_by_its_samples_majority() -> None:
    before = a_run(
        *(outcome(str(case), True, sample=sample) for case in range(8) for sample in range(3)), outcome("never", False)
    )
    now = a_run(
        *(outcome(str(case), case > 5 or sample == 0, sample=sample) for case in range(8) for sample in range(3)),
        outcome("never", False),
        outcome("new", False),
    )
    [compared] = compare(before, now)
    assert (compared.both, compared.lost, compared.won) == (9, ("0", "1", "2", "3", "4", "5"), ())
    assert (compared.p, compared.verdict) == (0.03125, "worse")
    [back] = compare(now, before)
    assert back.verdict == "better"
    assert next(compare(before, before)).verdict == "no difference that is sure"


def test_a_table_shows_cost_time_and_model_with_the_rate() -> None:
    told = table(
        a_run(
            outcome("1", True, model="small", cost_usd=0.001, first_text_ms=100, design="default"),
            outcome("2", False, model="large", cost_usd=0.003, first_text_ms=300, design="default"),
            wanting={"other: 3": "the role learning"},
        )
    )
    whole, large, small = told.splitlines()[3:6]
    assert whole.split() == ["talks", "2", "2", "50.0%", "9.5–90.5", "0.00200", "300", "ms", "live"]
    assert large.split()[:5] == ["model", "large", "1", "1", "0.0%"]
    assert small.split()[:5] == ["model", "small", "1", "1", "100.0%"]
    assert "  2: asked nothing" in told
    assert told.endswith("other: 3: was not run, it wants the role learning")


def test_the_page_is_self_contained_and_shows_its_input_as_text() -> None:
    bad = outcome("<script>alert(1)</script>", False, problems=('said "<img src=x>"',), cost_usd=0.002)
    html = page(a_run(outcome("1", True), bad), list(compare(a_run(outcome("1", False)), a_run(outcome("1", True)))))
    assert "<svg" in html
    assert "&lt;script&gt;" in html
    assert re.findall(r"<script|<img|<link|@import|url\(|https?:|src=\"|href=", html) == []


def test_a_threshold_can_be_missed_by_rate_number_name_cost_or_time() -> None:
    run = a_run(
        *(outcome(str(case), case != 3, cost_usd=0.02, first_text_ms=900) for case in range(4)),
        wanting={"talks: 7": "the role learning", "talking: 1": "nothing that is asked for"},
    )
    strict = gate.Threshold(least=0.9, cases=5, always=("3", "1"), most_usd=0.01, most_ms=500)
    assert list(gate.missed_thresholds(run, {"talks": strict})) == [
        "talks: 4 of at least 5 cases were run",
        "talks: 75.0 % hold, at least 90 % must",
        "talks: 3 must always hold",
        "talks: a turn costs $0.0200, at most $0.01 is allowed",
        "talks: first text at p95 takes 900 ms, at most 500 is allowed",
        "talks: 7: was not run, it wants the role learning",
    ]
    easy = {"talks": gate.Threshold(least=0.7)}
    assert list(gate.missed_thresholds(a_run(*run.outcomes), easy)) == []
    assert list(gate.missed_thresholds(a_run(), {"talks": gate.Threshold(least=0)})) == [
        "talks: 0 of at least 1 cases were run"
    ]


@pytest.mark.thorough
def test_each_threshold_belongs_to_an_existing_dataset() -> None:
    judged = {each.dataset for name in suite.JUDGED for each in suite.JUDGED[name](1)}
    assert set(gate.load()) <= {*suite.PLAYED, *judged}


@pytest.mark.nightly
@pytest.mark.thorough
def test_a_run_is_stored_compared_and_gated(say: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evals.played.MOST_FIRST_TEXT_MS", float("inf"))  # case 31, on a busy machine
    easy = tmp_path / "easy.yaml"
    easy.write_text("edge cases: {least: 1, cases: 33, most_usd: 0.01}\n")
    out = tmp_path / "out"
    code, told = say("edge cases", "--replay", GOOD, "--out", str(out), "--gate", "--thresholds", str(easy))
    assert code == 0
    assert told.endswith("Every threshold is reached.\n")
    assert "replayed: no model was asked" in told
    kept = json.loads((out / "run.json").read_text())
    assert (kept["answers"], len(kept["outcomes"])) == ("answers-good.yaml", 33)
    assert "Every threshold is reached." in (out / "report.html").read_text()
    code, told = say("--read", str(out / "run.json"), "--compare", str(out / "run.json"), "--gate")
    assert code == 1
    assert "no difference that is sure" in told
    assert "Not reached: injections: 0 of at least 10 cases were run" in told


def test_without_a_model_talks_are_not_run_and_meet_no_threshold(
    say: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in suite.CONFIGURES:
        monkeypatch.delenv(name, raising=False)
    easy = tmp_path / "easy.yaml"
    easy.write_text("injections: {least: 0}\n")
    code, told = say("injections", "--gate", "--thresholds", str(easy))
    assert code == 1
    assert "injections: was not run, it wants a model" in told


@pytest.mark.parametrize(
    "wrong", [["nothing"], ["--samples", "0"], ["--record", "x.yaml"], ["claims", "--record", "x.yaml"]]
)
def test_wrong_usage_runs_nothing(say: Suite, wrong: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        say(*wrong)
