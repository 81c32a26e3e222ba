"""Compare a run with the thresholds of a release (`thresholds.yaml`)."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from evals.outcomes import Run, percentile
from infra.local.environment import SafeLoader

FILE = Path(__file__).parent / "thresholds.yaml"


class Threshold(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    least: float = Field(ge=0, le=1)
    """Minimum share of samples that must hold."""
    cases: int = Field(default=1, ge=1)
    """Minimum number of cases that must have run: a dataset that was skipped has not held."""
    always: tuple[str, ...] = ()
    """Cases in which no sample may fail."""
    most_usd: float | None = None
    """Maximum mean cost of a turn."""
    most_ms: float | None = None
    """Maximum 95th percentile of our own time to first text."""


Thresholds = Mapping[str, Threshold]
_THRESHOLDS = TypeAdapter[Thresholds](Thresholds)


def load(file: Path = FILE) -> Thresholds:
    return _THRESHOLDS.validate_python(yaml.load(file.read_text(encoding="utf-8"), SafeLoader))  # noqa: S506


def missed_thresholds(run: Run, thresholds: Thresholds) -> Iterator[str]:
    """Yield each threshold that the run misses. A case that could not run counts as missed."""
    for name, threshold in thresholds.items():
        yield from (f"{name}: {each}" for each in _missed(run, name, threshold))
    for what, wants in run.wanting.items():
        if what.partition(":")[0] in thresholds:
            yield f"{what}: was not run, it wants {wants}"


def _missed(run: Run, name: str, threshold: Threshold) -> Iterator[str]:
    these = run.of(name)
    cases = len({each.case for each in these})
    if cases < threshold.cases:
        yield f"{cases} of at least {threshold.cases} cases were run"
    if not these:
        return
    rate = sum(each.passed for each in these) / len(these)
    if rate < threshold.least:
        yield f"{100 * rate:.1f} % hold, at least {100 * threshold.least:g} % must"
    for case in sorted({each.case for each in these if not each.passed} & set(threshold.always)):
        yield f"{case} must always hold"
    costs = [each.cost_usd for each in these if each.cost_usd is not None]
    if threshold.most_usd is not None and costs and sum(costs) / len(costs) > threshold.most_usd:
        yield f"a turn costs ${sum(costs) / len(costs):.4f}, at most ${threshold.most_usd:g} is allowed"
    times = [each.first_text_ms for each in these if each.first_text_ms is not None]
    if threshold.most_ms is not None and times and percentile(times, 0.95) > threshold.most_ms:
        yield f"first text at p95 takes {percentile(times, 0.95):.0f} ms, at most {threshold.most_ms:g} is allowed"
