"""The stored results of a run: the outcome of each sample of each case."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

Source: TypeAlias = Literal["live", "replayed", "code"]
"""A model answered · recorded or written answers were replayed · code alone, without a model."""


class Outcome(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset: str
    case: str
    group: str = ""
    sample: int = 0
    source: Source
    passed: bool
    problems: tuple[str, ...] = ()
    cost_usd: float | None = None
    first_text_ms: float | None = None
    total_ms: float | None = None
    model: str = ""
    prompt_version: str = ""
    design: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.dataset, self.case


class Run(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    date: str
    answers: str = ""
    """The file whose answers were replayed."""
    outcomes: tuple[Outcome, ...]
    wanting: Mapping[str, str] = {}
    """Datasets and cases that could not run, each with what was missing; they are not counted."""

    def of(self, dataset: str) -> list[Outcome]:
        return [each for each in self.outcomes if each.dataset == dataset]

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(each.dataset for each in self.outcomes))


def save(run: Run, file: Path) -> None:
    file.write_text(run.model_dump_json(indent=1) + "\n", encoding="utf-8")


def read(file: Path) -> Run:
    return Run.model_validate_json(file.read_text(encoding="utf-8"))


def by_case(outcomes: Iterable[Outcome]) -> dict[tuple[str, str], bool]:
    """Return for each case whether more than half of its samples hold."""
    passed = dict[tuple[str, str], list[bool]]()
    for each in outcomes:
        passed.setdefault(each.key, []).append(each.passed)
    return {key: 2 * sum(these) > len(these) for key, these in passed.items()}


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile by nearest rank."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def failed(outcomes: Iterable[Outcome]) -> Iterator[tuple[str, list[str]]]:
    """Yield each case with a failed sample, and its problems, each once."""
    problems = dict[str, dict[str, None]]()
    for each in outcomes:
        if not each.passed:
            problems.setdefault(each.case, {}).update(dict.fromkeys(each.problems))
    for case, told in problems.items():
        yield case, list(told)
