"""The first hour with a key: its page shows a model's known quality, its ceiling is kept, and a killed run resumes."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic_ai.usage import RequestUsage

from evals.first.gateway import Gateway, make_gateway
from evals.first.hour import PROVIDER, Hour, Step, Unit, play
from evals.first.journal import Found, InUse, Journal
from evals.first.page import Heading, page
from evals.first.recorded import Recorder, turns_in
from evals.judge import CONFIGURES
from evals.outcomes import Outcome
from evals.pseudonyms import Pseudonyms
from evals.relay import is_scripted
from evals.statistics import wilson
from infra.__main__ import main
from infra.local.model_answers import ToolCall
from infra.local.model_controls import SCRIPT
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.base.settings import Settings
from qwestly_agent.llm.models import ceiling_price_of
from tests.evals.billed_model import BilledModel
from tests.evals.known_model import KnownModel, Quality
from tests.servers import until

FAST = "deepseek-flash"
HEADING = Heading("a model", 5.0, is_scripted=False, is_complete=True, turns="a.turns.jsonl")
ROOT = Path(__file__).parents[2]


# --- the gateway ------------------------------------------------------------------------------------------------------


@pytest.fixture
def provider() -> Iterator[BilledModel]:
    provider = BilledModel()
    with provider:
        yield provider


@pytest.fixture
def gateway(provider: BilledModel, tmp_path: Path) -> Iterator[Gateway]:
    settings = Settings(
        mongodb_uri="mongodb://none",
        mongodb_database="none",
        model_base_url=provider.base_url,
        embeddings_base_url=provider.base_url,
    )
    recorder = Recorder(tmp_path / "turns.jsonl", "recorded today", Pseudonyms([{"name": "Maya Okafor"}]))
    with Journal(tmp_path / "a.journal.jsonl") as journal, make_gateway(settings, journal, recorder) as gateway:
        gateway.step, gateway.ceiling_usd = "judge", 1.0
        yield gateway


def ask(gateway: Gateway, said: str = "What is new?", **more: Any) -> httpx2.Response:
    body: dict[str, Any] = {"model": FAST, "max_tokens": 100, "messages": [{"role": "user", "content": said}]} | more
    return httpx2.post(f"{gateway.base_url}/chat/completions", json=body, timeout=20)


def billed(provider: BilledModel) -> float:
    """Return the bill of a provider with DeepSeek's prices."""

    def price(model: str, usage: Mapping[str, Any]) -> float:
        counted = RequestUsage(
            input_tokens=usage["prompt_tokens"],
            output_tokens=usage["completion_tokens"],
            cache_read_tokens=usage.get("prompt_cache_hit_tokens", 0),
        )
        return float(ceiling_price_of(f"deepseek:{model}", None, counted, NOON))

    return sum(price(*each) for each in provider.usages)


NOON = 1_795_694_400.0
"""A time outside of DeepSeek's peak hours."""


@pytest.fixture
def at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evals.first.gateway.time.time", lambda: NOON)


@pytest.mark.usefixtures("at_noon")
def test_the_eval_counts_what_the_provider_bills(gateway: Gateway, provider: BilledModel) -> None:
    assert ask(gateway).status_code == 200
    assert ask(gateway, stream=True, stream_options={"include_usage": True}).status_code == 200
    assert gateway.journal.spent_usd == pytest.approx(billed(provider), abs=1e-9)
    assert gateway.journal.spent_usd > 0
    assert gateway.journal.by_step == {"judge": gateway.journal.spent_usd}


def test_concurrent_requests_cannot_exceed_the_ceiling(gateway: Gateway, provider: BilledModel) -> None:
    gateway.ceiling_usd = 0.002

    async def all_at_once() -> list[int]:
        async with httpx2.AsyncClient(timeout=30) as http:
            body = {"model": FAST, "max_tokens": 1_000, "messages": [{"role": "user", "content": "What is new?"}]}
            asked = [http.post(f"{gateway.base_url}/chat/completions", json=body) for _ in range(40)]
            return [each.status_code for each in await asyncio.gather(*asked)]

    statuses = asyncio.run(all_at_once())
    assert set(statuses) == {200, 402}
    assert gateway.refused == statuses.count(402)
    assert billed(provider) <= gateway.journal.spent_usd * 1.000001 <= 0.002


def test_a_cut_off_answer_counts_its_maximum_cost(gateway: Gateway, provider: BilledModel) -> None:
    provider.script(Reply(text="So it is. " * 20, fault="cut"))
    with pytest.raises(httpx2.HTTPError):
        ask(gateway, stream=True)
    most = gateway.journal.spent_usd
    assert most > billed(provider)
    provider.script(Reply(fault=500))
    assert ask(gateway).status_code == 500
    assert gateway.journal.spent_usd == most, "an error is not billed"


def test_nothing_is_sent_after_the_time_limit(gateway: Gateway, provider: BilledModel) -> None:
    gateway.until = 0.0
    assert ask(gateway).status_code == 402
    assert provider.requests == []


def test_an_unconfigured_model_is_not_called(gateway: Gateway, provider: BilledModel) -> None:
    assert ask(gateway, model="gpt-none").status_code == 404
    assert provider.requests == []


def test_a_scripted_server_is_recognized(provider: BilledModel) -> None:
    def settings(url: str) -> Settings:
        return Settings(mongodb_uri="mongodb://none", mongodb_database="none", model_base_url=url)

    with ModelServer() as server:
        assert is_scripted(settings(server.base_url))
    assert not is_scripted(settings(provider.base_url))
    assert not is_scripted(settings("http://127.0.0.1:9/v1"))
    assert not is_scripted(settings(""))


# --- units ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def hour(gateway: Gateway) -> Hour:
    settings = Settings(mongodb_uri="mongodb://none", mongodb_database="none")
    return Hour(settings, gateway.journal, gateway, lambda _: None)


def asking(gateway: Gateway) -> Step:
    """A step of one unit: does the provider answer?"""

    def run() -> Found:
        return Found([outcome("tool choice", ask(gateway).status_code == 200)])

    return Step("tool choice", 1.0, lambda _: [Unit("tool choice/a", run)])


def test_a_unit_with_a_provider_error_is_not_counted_and_is_retried(
    hour: Hour, gateway: Gateway, provider: BilledModel
) -> None:
    provider.script(Reply(fault=500))
    play(hour, asking(gateway))
    assert (gateway.journal.units, gateway.journal.failed) == ({}, {"tool choice/a": PROVIDER})
    play(hour, asking(gateway))
    assert [each.passed for each in gateway.journal.units["tool choice/a"].outcomes] == [True]
    assert gateway.journal.failed == {}
    play(hour, asking(gateway))
    assert len(provider.requests) == 2, "what is finished is not asked again"


def test_a_unit_stopped_by_the_ceiling_is_not_counted(hour: Hour, gateway: Gateway, provider: BilledModel) -> None:
    gateway.ceiling_usd = 0.0
    play(hour, asking(gateway))
    assert (gateway.journal.units, gateway.journal.failed, provider.requests) == ({}, {}, [])


def test_a_failing_unit_ends_no_other(hour: Hour, gateway: Gateway) -> None:
    def fails() -> Found:
        raise ValueError("broken")

    units = [Unit("a", fails), Unit("b", lambda: Found([outcome("tool choice", True)]))]
    play(hour, Step("tool choice", 1.0, lambda _: units))
    assert gateway.journal.failed == {"a": "ValueError: broken"}
    assert list(gateway.journal.units) == ["b"]


def test_a_step_names_its_requirements(hour: Hour, gateway: Gateway) -> None:
    play(hour, Step("walk", 1.0, lambda _: "a key"))
    assert gateway.journal.wanting == {"walk": "a key"}
    play(hour, Step("walk", 1.0, lambda _: []))
    assert gateway.journal.wanting == {"walk": ""}


def test_cases_are_chosen_evenly_and_deterministically(hour: Hour) -> None:
    assert hour.some(range(10), 3) == [0, 3, 6]
    assert hour.some(range(2), 3) == [0, 1]
    hour.most_cases = 2
    assert hour.some(range(10), 3) == [0, 5]


# --- recorded turns ---------------------------------------------------------------------------------------------------


def test_a_recorded_turn_is_pseudonymized_and_replayed_unchanged(
    gateway: Gateway, provider: BilledModel, tmp_path: Path
) -> None:
    provider.script(Reply(text=["Hello M", "aya Oka", "for, you lead", " a team."]))
    ask(gateway, "I am Maya Okafor. Who am I?", stream=True)
    provider.script(
        Reply(text=["You lead", " a team."], tool_calls=[{"name": "remember", "arguments": {"quote": "a"}}])
    )
    ask(gateway, "And now?", stream=True)
    first, second = turns_in(tmp_path / "turns.jsonl")
    assert "Maya" not in (tmp_path / "turns.jsonl").read_text()
    assert first["source"] == "recorded today"
    assert first["asked"] == "I am Person A. Who am I?"
    assert [_streamed(provider, each["reply"]) for each in (first, second)] == [
        ("Hello Person A, you lead a team.", []),
        ("You lead a team.", ["remember"]),
    ]


def _streamed(server: ModelServer, reply: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return text and calls, as the demo's server streams the recorded reply."""
    server.script(*SCRIPT.validate_python({"steps": [reply]})["steps"])
    body = {"model": FAST, "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    answer = httpx2.post(f"{server.base_url}/chat/completions", json=body).text
    lines = [json.loads(line[6:]) for line in answer.splitlines() if line.startswith("data: {")]
    deltas = [choice["delta"] for line in lines for choice in line["choices"]]
    functions = [call["function"] for each in deltas for call in each.get("tool_calls") or ()]
    calls = [function["name"] for function in functions if "name" in function]
    return "".join(each.get("content") or "" for each in deltas), calls


# --- the journal ------------------------------------------------------------------------------------------------------


def outcome(dataset: str, passed: bool, case: str = "a", **more: Any) -> Outcome:
    return Outcome(dataset=dataset, case=case, source="live", passed=passed, **more)


def test_a_journal_is_read_up_to_an_incomplete_line(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    with Journal(file) as journal:
        answered, unanswered = journal.reserve("judge", 0.5, 5.0), journal.reserve("judge", 0.25, 5.0)
        assert (answered, unanswered) == (1, 2)
        assert journal.reserve("judge", 4.5, 5.0) is None
        journal.settle(1, 0.125)
        journal.finish("judge/1", Found([outcome("lies put to the judge", True)], ["A note."]))
        journal.fail("judge/2", "TimeoutError: ")
        journal.want("walk", "a key")
    with file.open("a") as torn:
        torn.write('{"unit": "judge/3", "outco')
    with Journal(file) as journal:
        assert journal.spent_usd == 0.375, "a request that nobody saw answered may have cost its highest price"
        assert list(journal.units) == ["judge/1"]
        assert journal.units["judge/1"] == Found([outcome("lies put to the judge", True)], ["A note."])
        assert (journal.failed, journal.wanting) == ({"judge/2": "TimeoutError: "}, {"walk": "a key"})
        assert journal.reserve("judge", 0.1, 5.0) == 3
        journal.finish("judge/2", Found())
    with Journal(file) as journal:
        assert (list(journal.units), journal.failed) == (["judge/1", "judge/2"], {})


def test_two_runs_cannot_write_to_one_journal(tmp_path: Path) -> None:
    with Journal(tmp_path / "a.jsonl"), pytest.raises(InUse), Journal(tmp_path / "a.jsonl"):
        pass
    with Journal(tmp_path / "a.jsonl"):
        pass


# --- the page ---------------------------------------------------------------------------------------------------------


def page_of(tmp_path: Path, outcomes: list[Outcome], heading: Heading = HEADING) -> str:
    with Journal(tmp_path / "page.jsonl") as journal:
        journal.begin("2026-11-26", "abc1234")
        journal.finish("a", Found(outcomes))
        return page(heading, journal)


def test_the_page_lists_kept_broken_and_unsure_promises_and_what_to_change_first(tmp_path: Path) -> None:
    told = page_of(
        tmp_path,
        [
            *(outcome("tool choice", at % 8 > 0, problems=() if at % 8 else ("took none",)) for at in range(480)),
            *(outcome("lies put to the judge", True) for _ in range(200)),
            *(outcome("true claims put to the judge", at > 0) for at in range(30)),
        ],
    )
    assert "**1 are kept, 1 are broken**; 1 cannot be told" in told
    assert "1. The agent takes a wrong tool, or none: 12.5 % of cases instead of at most 5 %." in told
    assert "2. The judge refuses a true claim: 3.3 % of cases instead of at most 2.4 % (suspected" in told
    assert (
        "| The agent takes a wrong tool, or none | 12.5 % (60 of 480) | 9.8–15.8 % | at most 5 % | **BROKEN** |" in told
    )
    assert "- a: took none" in told
    assert "Measured on 2026-11-26 (code abc1234) in 0 minutes, $0.00 of at most $5.00, 0 requests.\n" in told
    assert "- of cases that nobody reads: all 1" in told


def test_the_page_reports_code_changed_during_the_run(tmp_path: Path) -> None:
    with Journal(tmp_path / "page.jsonl") as journal:
        journal.begin("2026-11-26", "abc1234")
        journal.begin("2026-11-27", "def5678")
        told = page(HEADING, journal)
    assert "on 2026-11-26 (code abc1234), 2026-11-27 (code def5678) in" in told
    assert "The code changed in between: --again begins anew." in told


def test_a_scripted_model_gets_no_rates(tmp_path: Path) -> None:
    heading = Heading("a model", 5.0, is_scripted=True, is_complete=True, turns="a.turns.jsonl")
    told = page_of(tmp_path, [outcome("tool choice", False, problems=("took none",))], heading)
    assert "**A scripted model answered.**" in told
    assert re.findall(r"\d %|\*\*kept|broken|BROKEN|took none", told) == []


# --- the command ------------------------------------------------------------------------------------------------------


def run(provider: ModelServer, folder: Path, *more: str) -> subprocess.Popen[str]:
    address = dict.fromkeys(("MODEL_BASE_URL", "EMBEDDINGS_BASE_URL", "MODERATION_BASE_URL"), provider.base_url)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": "src:.", **address}
    command = [sys.executable, "-m", "infra", "evals", "first", "--folder", str(folder), *more]
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def whole_run(provider: ModelServer, folder: Path, *more: str) -> tuple[int, str]:
    process = run(provider, folder, *more)
    said, _ = process.communicate(timeout=3_000)
    assert "Traceback" not in said, said
    return process.returncode, said


def rates_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Return errors and cases of each line of the page, by what goes wrong."""
    [file] = folder.glob("*.md")
    lines = re.findall(r"^\| ([^|]+) \| [\d.]+ % \(([\d,]+) of ([\d,]+)\)", file.read_text(), re.MULTILINE)
    return {name: (int(wrong.replace(",", "")), int(of.replace(",", ""))) for name, wrong, of in lines}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (["--most-usd", "0"], "take numbers above 0"),
        (["--cases", "0"], "take numbers above 0"),
        (["--public-set", "no.json"], "There is no file no.json."),
        ([], "No model is configured"),
    ],
)
def test_wrong_usage_prints_one_sentence(
    wrong: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in CONFIGURES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "argv", ["qwestly-agent", "evals", "first", "--folder", str(tmp_path), *wrong])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert why in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.nightly
@pytest.mark.thorough
def test_the_page_finds_the_rates_of_a_model_of_known_quality(tmp_path: Path) -> None:
    provider = KnownModel(Quality(lies_passed_one_in=10, notes_lost_one_in=5, choices_wrong_one_in=8))
    with provider:
        code, said = whole_run(provider, tmp_path, "--only", "doctor", "judge", "tool choice", "memories")
        found = rates_of(tmp_path)
        assert code == 0, said
    wrong, of = map(sum, zip(*(found[name] for name in found if "The judge passes a" in name), strict=True))
    passed = [(wrong, of, 1 / 10), (*found["Something worth remembering is not noted"], 1 / 5)]
    # It copies whole quotes, which for 10 of the 412 true claims say more figures than their marks mean.
    refused = (*found["The judge refuses a true claim"], 10 / 412)
    for errors, cases, rate in [*passed, refused, (*found["The agent takes a wrong tool, or none"], 1 / 8)]:
        low, high = wilson(errors, cases)
        assert low <= rate <= high
        assert cases >= 48
    assert found["Something worth remembering is not noted"] == (len(provider.notes.wrong), len(provider.notes.asked))
    assert found["The agent takes a wrong tool, or none"] == (len(provider.choices.wrong), 48)
    assert found["A right note is refused"][0] == 0


@pytest.mark.nightly
@pytest.mark.thorough
def test_a_repeatedly_killed_run_resumes_with_the_same_result(tmp_path: Path) -> None:
    steps = ("--cases", "8", "--only", "doctor", "judge", "tool choice", "memories")
    quality = Quality(lies_passed_one_in=3, notes_lost_one_in=3, choices_wrong_one_in=3)
    provider = KnownModel(quality)
    with provider:
        for requests in (3, 200, 12, 20, 10):
            killed_after(provider, requests, run(provider, tmp_path / "killed", *steps))
        code, said = whole_run(provider, tmp_path / "killed", *steps)
        assert (code, "were finished before" in said) == (0, True), said
        # The model makes the same errors however often it is asked.
        provider.usages.clear()
        code, said = whole_run(provider, tmp_path / "whole", *steps)
        assert code == 0, said
    assert rates_of(tmp_path / "killed") == rates_of(tmp_path / "whole")


def killed_after(provider: KnownModel, requests: int, process: subprocess.Popen[str]) -> None:
    provider.forget_requests()
    with process, ThreadPoolExecutor() as reader:
        assert process.stdout
        reader.submit(process.stdout.read)
        until(lambda: len(provider.requests) >= requests or process.poll() is not None, 1_200)
        process.send_signal(signal.SIGKILL)


@pytest.mark.nightly
@pytest.mark.thorough
@pytest.mark.parametrize("most_usd", [0.002, 0.006])
def test_the_ceiling_ends_a_run_and_a_higher_one_resumes_it(most_usd: float, tmp_path: Path) -> None:
    steps = ("--cases", "30", "--only", "doctor", "judge", "tool choice")
    provider = KnownModel(Quality())
    with provider:
        code, said = whole_run(provider, tmp_path, *steps, "--most-usd", str(most_usd))
        assert (code, "is used up" in said) == (1, True), said
        assert billed(provider) <= most_usd
        [file] = tmp_path.glob("*.md")
        assert "The run is not complete" in file.read_text()
        assert whole_run(provider, tmp_path, *steps)[0] == 0
        assert rates_of(tmp_path)["The agent takes a wrong tool, or none"] == (0, 30)


LOCOMO = [
    {
        "conversation": {
            "session_1": [
                {"speaker": "Ada", "dia_id": f"D1:{at}", "text": text}
                for at, text in enumerate(["I play the oboe", "We moved to Porto in May", "My dog is called Rex"])
            ]
        },
        "observation": {},
        "qa": [
            {"question": "What does Ada play?", "answer": "the oboe", "evidence": ["D1:0"], "category": 1},
            {"question": "What is Ada's dog called?", "answer": "Rex", "evidence": ["D1:2"], "category": 1},
            {"question": "Who is Bob?", "adversarial_answer": "her dog", "evidence": ["D1:2"], "category": 5},
        ],
    }
]
LONGMEMEVAL = [
    {
        "question_id": "q1",
        "question": "What is my dog called?",
        "answer": "Rex",
        "haystack_dates": ["2026/01/01"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "My dog is called Rex", "has_answer": True},
                {"role": "assistant", "content": "Nice."},
            ]
        ],
    }
]


@pytest.mark.thorough
@pytest.mark.nightly
def test_public_question_sets_are_searched_answered_and_compared(tmp_path: Path) -> None:
    files = tmp_path / "locomo10.json", tmp_path / "longmemeval_s.json"
    for file, content in zip(files, (LOCOMO, LONGMEMEVAL), strict=True):
        file.write_text(json.dumps(content))
    provider = BilledModel()
    with provider:
        answers = [("You answer a question", {"answer": "Rex"})] * 3
        compared = [("You compare an answer", {"is_right": right}) for right in (True, False, True)]
        provider.script(*(_typed(to, arguments) for to, arguments in (*answers, *compared)))
        given = ("--only", "long conversations", "--public-set", *map(str, files))
        code, said = whole_run(provider, tmp_path / "out", *given)
        asked = [str(each.json["messages"][-1]) for each in provider.requests if each.path.endswith("completions")]
    assert code == 0, said
    found = rates_of(tmp_path / "out")
    assert found["Evidence in a long conversation is not found (LoCoMo)"] == (0, 2)
    assert found["Evidence in a long conversation is not found (LongMemEval)"] == (0, 1)
    answered = [
        found[f"A question about a long conversation is answered wrongly ({name})"]
        for name in ("LoCoMo", "LongMemEval")
    ]
    assert [sum(each) for each in zip(*answered, strict=True)] == [1, 3]
    assert any("We moved to Porto in May" in each for each in asked)
    assert not any("Who is Bob?" in each for each in asked)


def _typed(to: str, arguments: dict[str, Any]) -> Reply:
    return Reply(tool_calls=[ToolCall(name="final_result", arguments=arguments)], to=to)


@pytest.mark.nightly
@pytest.mark.thorough
def test_a_run_under_a_scripted_model_shows_no_rates(tmp_path: Path) -> None:
    with ModelServer() as provider:
        code, said = whole_run(provider, tmp_path, "--cases", "2", "--only", "judge", "tool choice")
    assert code == 0, said
    [file] = tmp_path.glob("*.md")
    assert "**A scripted model answered.**" in file.read_text()
    assert rates_of(tmp_path) == {}
