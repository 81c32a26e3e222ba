"""The command that measures finding reads the public set's format and fails if our search is worse."""

import json
from pathlib import Path
from typing import Any

import pytest

from evals import finding
from evals.judge import CONFIGURES
from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply

PEOPLE = ("Ada", "Grace")
TOLD = ["I play the oboe", "We moved to Porto in May", "My dog is called Rex", "I run marathons", "It rains a lot here"]


def a_sample() -> dict[str, Any]:
    turns = [
        {"speaker": PEOPLE[n % 2], "dia_id": f"D1:{n}", "text": TOLD[n] if n < len(TOLD) else f"Nothing new on day {n}"}
        for n in range(30)
    ]
    observations = [[turn["text"], turn["dia_id"]] for turn in turns[:28]] + [["Ada plays and runs", ["D1:0", "D1:3"]]]
    return {
        "conversation": {"speaker_a": "Ada", "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": turns},
        "observation": {"session_1_observation": {"Ada": observations}},
        "qa": [
            {"question": "Who plays the oboe?", "answer": "Ada", "evidence": ["D1:0"], "category": 1},
            {"question": "Where did they move to, and who is Rex?", "answer": "Porto", "evidence": ["D1:1; D1:2"]},
            {"question": "Nobody knows?", "evidence": [], "category": 5},
        ],
    }


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "locomo10.json"
    file.write_text(json.dumps([a_sample()]))
    return file


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*finding.CONCERNING, *CONFIGURES):
        monkeypatch.delenv(name, raising=False)


def test_the_recall_of_each_search_is_printed_for_turns_and_observations(file: Path) -> None:
    said = list[str]()
    assert finding.main([str(file), "--share", "0.5", "--answers", "0"], said.append) == 0
    assert [line.split("  ")[0] for line in said] == [
        "recall@10",
        "BM25",
        "cosine",
        "ours, 0.3",
        "ours, 0.5",
        "questions",
    ]
    assert said[1].split()[1:] == ["1.000", "1.000"]
    assert said[-1].split()[1:] == ["2", "2"]


def test_a_share_is_chosen_on_one_half_of_the_questions_and_reported_on_the_other(file: Path) -> None:
    said = list[str]()
    for half in ("even", "odd"):
        assert finding.main([str(file), "--half", half], said.append) == 0
    assert [line.split()[1:] for line in said if line.startswith("questions")] == [["1", "1"], ["1", "1"]]


def test_a_recall_below_that_of_words_alone_fails(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "join", lambda words, meaning, share: {})
    assert finding.main([str(file)], lambda _: None) == 1


@pytest.mark.parametrize(("number", "told"), [("all", "1 of 2 right"), ("1", "1 of 1 right")])
def test_the_configured_model_answers_questions_and_the_judge_compares(
    file: Path, number: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = list[str]()
    with ModelServer() as provider:
        monkeypatch.setenv("MODEL_BASE_URL", provider.base_url)
        answers = [("You answer a question", {"answer": "Ada"})] * 2
        compared = [("You compare an answer", {"is_right": right}) for right in (True, False)]
        calls = [(to, ToolCall(name="final_result", arguments=given)) for to, given in (*answers, *compared)]
        provider.script(*(Reply(tool_calls=[call], to=to) for to, call in calls))
        assert finding.main([str(file), "--answers", number], said.append) == 0
        asked = [str(each.json["messages"][-1]) for each in provider.requests if each.path.endswith("completions")]
    assert said[-1] == f"answers: {told}, 0 without a verdict"
    assert "Ada: I play the oboe" in asked[0]


def test_without_a_model_only_recall_is_reported(file: Path) -> None:
    said = list[str]()
    assert finding.main([str(file)], said.append) == 0
    assert said[-1].startswith("answers: no model is configured")
