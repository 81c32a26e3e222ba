"""A benchmark's results, as rows of one table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

OFF_PEAK_TURNS = "ten turns, off-peak"
"""The row of `prompts` from which `costs` computes the cost of a turn."""


@dataclass(frozen=True)
class Target:
    """A limit for a figure."""

    of: str
    """The compared figure: `ratio` is ours divided by plain's."""
    found: float
    at_most: float | None = None
    at_least: float | None = None

    @property
    def holds(self) -> bool:
        return (self.at_most is None or self.found <= self.at_most) and (
            self.at_least is None or self.found >= self.at_least
        )

    def __str__(self) -> str:
        bound = f"≤ {self.at_most:g}" if self.at_least is None else f"≥ {self.at_least:g}"
        return f"{self.of} {self.found:.3g} {bound} {'holds' if self.holds else 'DOES NOT HOLD'}"


@dataclass(frozen=True)
class Row:
    what: str
    unit: str
    ours: float
    plain: float | None = None
    target: Target | None = None

    @property
    def ratio(self) -> float | None:
        return self.ours / self.plain if self.plain else None


def compared(what: str, unit: str, ours: float, plain: float, at_most: float | None = None) -> Row:
    target = None if at_most is None else Target("ratio", ours / plain, at_most=at_most)
    return Row(what, unit, ours, plain, target)


def table(title: str, rows: Sequence[Row]) -> str:
    return "\n".join([title, f"  {'':58}{'plain':>10}{'ours':>10}{'ratio':>8}", *_lines(rows)])


def _lines(rows: Iterable[Row]) -> Iterable[str]:
    for row in rows:
        plain = f"{row.plain:10,.4g}" if row.plain is not None else f"{'':10}"
        ratio = f"{row.ratio:8.2f}" if row.ratio is not None else f"{'':8}"
        line = f"  {f'{row.what}, {row.unit}':58}{plain}{_short(row.ours):>10}{ratio}  {row.target or ''}"
        yield line.rstrip()


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
