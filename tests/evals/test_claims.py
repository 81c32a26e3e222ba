"""The labelled claims are well-formed, and the table of errors contains what its readers need."""

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
import yaml

from evals.__main__ import main
from evals.claims import EXACT_KINDS, FOLDER, MEANING_KINDS, TRUE_KINDS, Case, load
from evals.statistics import wilson
from infra.local.environment import SafeLoader
from infra.local.model_server import ModelServer, Reply, ToolCall
from qwestly_agent.grounding.quotes import find_quote
from tests.evals.billed_model import BilledModel

Run: TypeAlias = Callable[..., str]
NO_JUDGE = "\nNo judge is configured (DEEPSEEK_API_KEY, OPENAI_API_KEY or MODEL_BASE_URL): looks 1 and 2 alone.\n"

NURSE = """
- person: x-01
  trade: nurse
  sources:
    - {id: s1, kind: user_said, language: en, text: "I lead 9 nurses. I cut errors by 30%."}
  claims:
    - {text: Leads nine, language: en, label: true, kind: format, quotes: &q [{source: s1, text: I lead 9 nurses}]}
    - {text: Leads 20 nurses there, language: en, label: true, kind: paraphrase, quotes: *q}
    - {text: Leads 90 nurses, language: en, label: false, kind: digit, why: Nine., quotes: *q}
    - {text: Wants to lead 9 nurses, language: en, label: false, kind: tense, why: Leads them., quotes: *q}
"""
DRIVER = """
- person: x-02
  trade: Fahrer
  sources:
    - {id: s1, kind: resume, language: de, text: "Fahrer von 12 Tonnen bei Nordlicht, 2015-2018"}
  claims:
    - {text: Fuhr 44 Tonnen, language: de, label: true, kind: paraphrase, quotes: [{source: s1, text: von 12 Tonnen}]}
    - {text: Seit 2012, language: de, label: false, kind: date, why: 2015., quotes: [{source: s1, text: bei Südlicht}]}
"""
TABLE = """\
code: 6 claims, rates with their 95 % intervals

tuned on, 4 claims
  true                     claims  refused                     unread or unchecked         last run
    paraphrase                  1     1  100.0 %  (20.7–100.0)    0    0.0 %  (0.0–79.3)
    format                      1     0    0.0 %  (0.0–79.3)      0    0.0 %  (0.0–79.3)
    en                          2     1   50.0 %  (9.5–90.5)      0    0.0 %  (0.0–65.8)
    in all                      2     1   50.0 %  (9.5–90.5)      0    0.0 %  (0.0–65.8)
  false: an exact fact     claims  passed                      unread or unchecked         last run
    digit                       1     0    0.0 %  (0.0–79.3)      0    0.0 %  (0.0–79.3)
    en                          1     0    0.0 %  (0.0–79.3)      0    0.0 %  (0.0–79.3)
    in all                      1     0    0.0 %  (0.0–79.3)      0    0.0 %  (0.0–79.3)
  false: a meaning         claims  passed                      unread or unchecked         last run
    tense                       1     1  100.0 %  (20.7–100.0)    0    0.0 %  (0.0–79.3)
    en                          1     1  100.0 %  (20.7–100.0)    0    0.0 %  (0.0–79.3)
    in all                      1     1  100.0 %  (20.7–100.0)    0    0.0 %  (0.0–79.3)

kept aside, 2 claims
  true                     claims  refused                     unread or unchecked         last run
    paraphrase                  1     1  100.0 %  (20.7–100.0)    0    0.0 %  (0.0–79.3)
    de                          1     1  100.0 %  (20.7–100.0)    0    0.0 %  (0.0–79.3)
    in all                      1     1  100.0 %  (20.7–100.0)    0    0.0 %  (0.0–79.3)
  false: an exact fact     claims  passed                      unread or unchecked         last run
    date                        1     0    0.0 %  (0.0–79.3)      0    0.0 %  (0.0–79.3)
    de                          1     0    0.0 %  (0.0–79.3)      0    0.0 %  (0.0–79.3)
    in all                      1     0    0.0 %  (0.0–79.3)      0    0.0 %  (0.0–79.3)
"""


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return load()


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return the output for two people, one of each half."""
    folder, results = tmp_path / "claims", tmp_path / "results.json"
    folder.mkdir()
    (folder / "new.yaml").write_text(NURSE + DRIVER, encoding="utf-8")

    def run(*options: str) -> str:
        main(["--claims", str(folder), "--results", str(results), *options])
        return capsys.readouterr().out.replace(NO_JUDGE, "")

    return run


# --- the data ---------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_each_quote_is_in_its_source(cases: list[Case]) -> None:
    quotes = {(case.person, quote): case.sources for case in cases for quote in case.statement.quotes}
    assert [key for key, sources in quotes.items() if find_quote(key[1], sources) is None] == []
    assert [case.statement.text for case in cases if not case.statement.quotes] == []


def test_no_person_source_or_claim_is_duplicated() -> None:
    people = [person for file in FOLDER.glob("*.yaml") for person in yaml.load(file.read_text(), SafeLoader)]
    assert _twice(person["person"] for person in people) == []
    assert _twice((person["person"], source["id"]) for person in people for source in person["sources"]) == []
    assert _twice((person["person"], claim["text"]) for person in people for claim in person["claims"]) == []


def _twice(names: Iterable[Hashable]) -> list[Hashable]:
    return [name for name, times in Counter(names).items() if times > 1]


def test_a_false_claim_has_a_reason_and_a_true_one_has_none(cases: list[Case]) -> None:
    assert [case.statement.text for case in cases if bool(case.why) is case.true] == []


def test_the_kinds_match_the_readmes_table(cases: list[Case]) -> None:
    row = next(line for line in (FOLDER.parent / "README.md").read_text().splitlines() if "paraphrase," in line)
    told = [[kind.split(" (")[0].strip() for kind in cell.split(",")] for cell in row.strip("| ").split("|")]
    assert told == [list(TRUE_KINDS), list(EXACT_KINDS), list(MEANING_KINDS)]
    assert {case.kind for case in cases if case.true} == set(TRUE_KINDS)
    assert {case.kind for case in cases if not case.true} == {*EXACT_KINDS, *MEANING_KINDS}


def test_the_sample_has_the_promised_size(cases: list[Case]) -> None:
    assert min(Counter(case.true for case in cases).values()) >= 200
    assert {case.statement.language for case in cases} == {"de", "en", "es", "fr", "pt"}
    assert len({case.trade for case in cases}) >= 10
    assert {case.half for case in cases} == {"tuned", "kept"}


# --- the figures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "of", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_confidence_interval_matches_the_published_one(found: int, of: int, low: float, high: float) -> None:
    """Newcombe, Two-sided confidence intervals for the single proportion (1998), table I, method 3."""
    assert wilson(found, of) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    assert wilson(of - found, of) == (pytest.approx(1 - high, abs=5e-5), pytest.approx(1 - low, abs=5e-5))


def test_without_claims_any_rate_is_possible() -> None:
    assert wilson(0, 0) == (0, 1)


# --- the runner -------------------------------------------------------------------------------------------------------


def test_the_table_counts_errors_by_half_kind_and_language(run: Run) -> None:
    assert run() == TABLE


def test_each_total_is_shown_with_that_of_the_last_stored_run(run: Run, tmp_path: Path) -> None:
    run("--keep")
    kept = json.loads((tmp_path / "results.json").read_text())
    assert (set(kept), kept["judge"]) == ({"date", "judge", "looks"}, "none")
    (tmp_path / "claims" / "new.yaml").write_text(NURSE.replace("Leads 20 nurses there", "Is a nurse"))
    printed = run()
    assert printed.startswith(f"The last run that was kept is of {kept['date']}; its judge: none.\n\ncode: 4 claims")
    [total, *_] = [line for line in printed.splitlines() if "in all" in line]
    assert total.split()[2:6] == ["2", "0", "0.0", "%"]
    assert total.endswith("  50.0 %, 0.0 %")
    assert [line for line in printed.splitlines() if " paraphrase " in line and line.endswith("100.0 %, 0.0 %")] == []


def test_a_run_is_stored_only_on_request_and_only_if_complete(run: Run, tmp_path: Path) -> None:
    run()
    for part in (("--samples", "3"), ("--half", "tuned")):
        with pytest.raises(SystemExit):
            run("--keep", *part)
    assert not (tmp_path / "results.json").exists()


def test_a_displayed_case_is_never_from_the_held_out_half(run: Run) -> None:
    shown = run("--show").removeprefix(TABLE)
    assert shown == (
        "\nx-01, true, paraphrase: refused\n  Leads 20 nurses there\n  quotes s1: I lead 9 nurses\n"
        "  because: “20” stands in none of its quotes.\n"
    )
    for half in ("kept", "all"):
        printed = run("--half", half, "--show")
        assert not any(word in printed for word in ("44", "Nordlicht", "x-02", "2015", "2012", "Südlicht"))


def test_halves_and_samples_select_claims(run: Run) -> None:
    assert "\nkept aside, 2 claims\n" in run("--half", "kept")
    assert "tuned on" not in run("--half", "kept")
    assert run("--half", "tuned").startswith("code: 4 claims")
    assert run("--samples", "3").startswith("code: 3 claims")
    assert run("--samples", "70") == TABLE
    with pytest.raises(SystemExit):
        run("--samples", "0")


def test_figures_not_compared_are_neither_rejected_nor_passed(run: Run, tmp_path: Path) -> None:
    unread = NURSE.replace("Leads 90 nurses", "Leads a couple of dozen nurses")
    (tmp_path / "claims" / "new.yaml").write_text(unread)
    [digit] = [line for line in run().splitlines() if " digit " in line]
    assert digit.split() == ["digit", "1", "0", "0.0", "%", "(0.0–79.3)", "1", "100.0", "%", "(20.7–100.0)"]


@pytest.fixture(scope="module")
def _unscripted() -> Iterator[BilledModel]:
    provider = BilledModel()
    with provider:
        yield provider


@pytest.fixture
def judge(_unscripted: BilledModel) -> BilledModel:
    """A judge that does not report that it is scripted."""
    _unscripted.reset()
    return _unscripted


def test_a_configured_judge_is_called_and_counted_separately_from_code(
    run: Run, judge: BilledModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_BASE_URL", judge.base_url)
    verdicts = [{"id": 0, "span": "9 nurses"}, {"id": 1, "why": "Leads them."}]
    call: ToolCall = {"name": "final_result", "arguments": {"verdicts": [verdicts[0], {**verdicts[1], "id": 3}]}}
    judge.script(Reply(tool_calls=[call]))
    printed = run("--half", "tuned")
    code, _, both = printed.partition("code + judge: 4 claims")
    assert "tense                       1     1  100.0 %" in code
    assert "tense                       1     0    0.0 %" in both
    assert {each.json["model"] for each in judge.requests if each.json} == {"deepseek-flash"}
    assert "judge" not in code.partition("code:")[0]


def test_a_judge_that_does_not_answer_leaves_claims_open(
    run: Run, judge: BilledModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_BASE_URL", judge.base_url)
    judge.fault = Reply(fault=401)
    _, _, both = run("--half", "tuned").partition("code + judge")
    assert "tense                       1     0    0.0 %  (0.0–79.3)      1  100.0 %" in both


def test_a_scripted_judge_is_not_called_and_gets_no_rates(
    run: Run, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_BASE_URL", model.base_url)
    printed = run("--half", "tuned")
    assert "code + judge" not in printed
    assert printed.endswith("\nThe judge is scripted and reads nothing: looks 1 and 2 alone.\n")
    assert [each.path for each in model.requests] == ["/v1/models"]
