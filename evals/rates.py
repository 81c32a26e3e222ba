"""Compute the rates of a run by dataset, model, prompt and design, and print them as a table."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from evals.compare import Compared
from evals.outcomes import Outcome, Run, Source, failed, percentile
from evals.statistics import wilson

MARKS: Mapping[Source, str] = {
    "live": "live",
    "replayed": "replayed: no model was asked",
    "code": "code: no model was asked",
}


@dataclass(frozen=True)
class Rate:
    name: str
    source: str
    cases: int
    samples: int
    held: int
    usd: float | None
    """Mean cost of a turn."""
    first_text_ms: float | None
    """95th percentile."""
    total_ms: float | None
    """Mean time of a turn, or of a claim."""

    @property
    def share(self) -> float:
        return self.held / self.samples

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.held, self.samples)


By: TypeAlias = Callable[[Outcome], str]
WAYS: Mapping[str, By] = {
    "model": lambda each: each.model,
    "prompt version": lambda each: each.prompt_version,
    "design": lambda each: each.design,
}
"""Fields by which a dataset's rate is broken down, if they differ within it."""


def rates(run: Run) -> Iterator[Rate]:
    """Yield one row per dataset, followed by a row for each model, prompt version and design if there are several."""
    for dataset in run.datasets:
        these = run.of(dataset)
        yield _rate(dataset, these)
        for way, by in WAYS.items():
            values = sorted({by(each) for each in these if by(each)})
            if len(values) > 1 or (values and way == "model"):
                yield from (
                    _rate(f"  {way} {value}", [each for each in these if by(each) == value]) for value in values
                )


def _rate(name: str, these: Sequence[Outcome]) -> Rate:
    costs, times, totals = (
        [value for each in these if (value := read(each)) is not None]
        for read in (lambda each: each.cost_usd, lambda each: each.first_text_ms, lambda each: each.total_ms)
    )
    return Rate(
        name=name,
        source="; ".join(sorted({MARKS[each.source] for each in these})),
        cases=len({each.case for each in these}),
        samples=len(these),
        held=sum(each.passed for each in these),
        usd=_mean(costs),
        first_text_ms=percentile(times, 0.95) if times else None,
        total_ms=_mean(totals),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def table(run: Run) -> str:
    return "\n".join(_lines(run))


def _lines(run: Run) -> Iterator[str]:
    yield f"{run.name}, {run.date}" + (f"; answers of {run.answers}" if run.answers else "")
    yield ""
    yield f"{'':34}{'cases':>6}{'samples':>9}{'held':>8}  {'95 % (Wilson)':15}{'$ a turn':>10}{'text p95':>10}  answers"
    for each in rates(run):
        low, high = (f"{100 * end:.1f}" for end in each.interval)
        held, times = f"{100 * each.share:.1f}%", _told(each.first_text_ms, ".0f", " ms")
        counted = f"{each.name[:33]:34}{each.cases:6}{each.samples:9}{held:>8}  {f'{low}–{high}':15}"
        yield f"{counted}{_told(each.usd, '.5f'):>10}{times:>10}  {each.source}"
    yield from _failures(run)
    yield from (f"{what}: was not run, it wants {wants}" for what, wants in run.wanting.items())


def _failures(run: Run) -> Iterator[str]:
    for dataset in run.datasets:
        told = [(case, problems) for case, problems in failed(run.of(dataset)) if problems]
        if told and not dataset.startswith(("claims", "memories")):
            yield f"\n{dataset}, what failed:"
            yield from (f"  {case}: {'; '.join(problems)}" for case, problems in told)


def compared_table(compared: Iterable[Compared]) -> str:
    lines = [f"{'':34}{'cases':>6}{'lost':>6}{'won':>6}{'p':>9}  (McNemar, exact)"]
    for each in compared:
        lines.append(
            f"{each.dataset[:33]:34}{each.both:6}{len(each.lost):6}{len(each.won):6}{each.p:9.4f}  {each.verdict}"
        )
        lines += [f"  {word}: {', '.join(cases)}" for word, cases in (("lost", each.lost), ("won", each.won)) if cases]
    return "\n".join(lines)


def _told(value: float | None, form: str, unit: str = "") -> str:
    return "–" if value is None else f"{value:{form}}{unit}"
