"""Play the datasets of conversations, n samples of each case, and check each turn."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evals.outcomes import Outcome, Source, percentile
from evals.stage import Stage
from evals.talks import FOLDER, Answers, Case, Turn, load, problems_of

DATASETS: Mapping[str, Path] = {
    "edge cases": FOLDER / "edge_cases/cases.yaml",
    "variants of edge cases": FOLDER / "edge_cases/variants.yaml",
    "wordings of edge cases": FOLDER / "edge_cases/wordings.yaml",
    "tool choice": FOLDER / "tools/cases.yaml",
    "interviews": FOLDER / "interviews/cases.yaml",
    "injections": FOLDER / "injections/cases.yaml",
}
MOST_FIRST_TEXT_MS = 500
MOST_COST_USD = 0.01
CONFUSED = re.compile(r"\bI(?:['’]m| am) confused|\bI (?:did not|didn['’]t) understand", re.IGNORECASE)


@dataclass
class Played:
    outcomes: list[Outcome] = field(default_factory=list)
    answers: Answers = field(default_factory=dict)
    """The answers, in a format that can be replayed."""
    wanting: dict[str, str] = field(default_factory=dict)


def play(stage: Stage, dataset: str, samples: int, answers: Answers | None, only: Sequence[str] = ()) -> Played:
    """Play a dataset. With `answers` no model is called, and a case without answers is skipped."""
    played, turns, of_run = Played(), list[tuple[str, Turn]](), list[Case]()
    source: Source = "live" if answers is None else "replayed"
    for case in load(DATASETS[dataset]):
        if only and case.case not in only:
            continue
        if case.of_run:
            of_run.append(case)
        elif case.role not in stage.roles:
            played.wanting[f"{dataset}: {case.case}"] = f"the role {case.role}"
        elif answers is not None and case.case not in answers:
            played.wanting[f"{dataset}: {case.case}"] = "an answer that can be played"
        else:
            given = answers[case.case] if answers is not None else [()] * samples
            for sample, steps in enumerate(given[:samples]):
                turn, recorded = stage.play(case, steps)
                turns.append((case.case, turn))
                played.answers.setdefault(case.case, []).append(recorded or list(steps))
                problems = problems_of(case.expect, turn)
                played.outcomes.append(_outcome(dataset, case, sample, source, turn, problems))
    for case in of_run:
        if turns:
            problems = list(_of_run(case.of_run, turns, source))
            played.outcomes.append(
                Outcome(dataset=dataset, case=case.case, source=source, passed=not problems, problems=tuple(problems))
            )
    return played


def _outcome(dataset: str, case: Case, sample: int, source: Source, turn: Turn, problems: Sequence[str]) -> Outcome:
    receipt = turn.receipt
    return Outcome(
        dataset=dataset,
        case=case.case,
        group=case.group,
        sample=sample,
        source=source,
        passed=not problems,
        problems=tuple(problems),
        cost_usd=receipt.get("cost_usd"),
        first_text_ms=receipt.get("first_text_ms"),
        total_ms=receipt.get("total_ms"),
        model=", ".join(receipt.get("models", ())),
        prompt_version=receipt.get("prompt_version", ""),
        design=receipt.get("design", ""),
    )


def _of_run(measure: str, turns: Sequence[tuple[str, Turn]], source: Source) -> Iterator[str]:
    match measure:
        case "first_text_ms":
            times = list(_numbers(measure, (turn for _, turn in turns)))
            if source != "live" and times and percentile(times, 0.95) > MOST_FIRST_TEXT_MS:
                yield f"p95 of our own first text is {percentile(times, 0.95):.0f} ms"
        case "cost_usd":
            for case, turn in turns:
                if (turn.receipt.get(measure) or 0) >= MOST_COST_USD:
                    yield f"case {case} cost ${turn.receipt[measure]:.4f}"
        case "confused":
            for case, turn in turns:
                if CONFUSED.search(turn.text):
                    yield f"case {case} said “{turn.text[:80]}”"
        case unknown:
            raise ValueError(f"There is no measure {unknown!r}.")


def _numbers(name: str, turns: Iterable[Turn]) -> Iterator[float]:
    return (value for turn in turns if (value := turn.receipt.get(name)) is not None)
