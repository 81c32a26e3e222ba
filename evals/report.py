"""Count the verdicts on claims, and print them as a table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from evals.claims import EXACT_KINDS, MEANING_KINDS, TRUE_KINDS
from evals.looks import Judged
from evals.statistics import wilson

HALVES: Mapping[str, str] = {"tuned": "tuned on", "kept": "kept aside"}
GROUPS: Mapping[str, tuple[str, str, Sequence[str]]] = {
    "true": ("true", "refused", TRUE_KINDS),
    "exact": ("false: an exact fact", "passed", EXACT_KINDS),
    "meaning": ("false: a meaning", "passed", MEANING_KINDS),
}
"""For each group: its title, the kind of error, and its kinds of claims."""
IN_ALL = "in all"


@dataclass(frozen=True)
class Tally:
    of: int
    wrong: int
    open: int


Tallies: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Tally]]]
"""By half, group, and row: a kind, a language, or `in all`."""


def tallies(judged: Sequence[Judged]) -> Tallies:
    found: dict[str, dict[str, dict[str, Tally]]] = {}
    for half in HALVES:
        for group, (_, _, kinds) in GROUPS.items():
            these = [each for each in judged if each.case.half == half and group_of(each) == group]
            languages = sorted({each.case.statement.language for each in these})
            rows = {kind: _tally(each for each in these if each.case.kind == kind) for kind in kinds}
            rows |= {to: _tally(each for each in these if each.case.statement.language == to) for to in languages}
            if these:
                whole = {IN_ALL: _tally(these)}
                found.setdefault(half, {})[group] = {row: tally for row, tally in rows.items() if tally.of} | whole
    return found


def group_of(judged: Judged) -> str:
    return "true" if judged.case.true else "exact" if judged.case.kind in EXACT_KINDS else "meaning"


def _tally(judged: Iterable[Judged]) -> Tally:
    these = list(judged)
    return Tally(len(these), sum(each.wrong for each in these), sum(each.fate == "open" for each in these))


def as_json(found: Tallies) -> dict[str, Any]:
    return {
        half: {group: {row: asdict(tally) for row, tally in rows.items()} for group, rows in groups.items()}
        for half, groups in found.items()
    }


def table(title: str, found: Tallies, last: Mapping[str, Any]) -> str:
    """Render the tallies. `last` is an earlier run in the format of `as_json`; its two rates are printed next to each
    total."""
    return "\n".join([title, *_lines(found, last)])


def _lines(found: Tallies, last: Mapping[str, Any]) -> Iterator[str]:
    for half, groups in found.items():
        yield ""
        yield f"{HALVES[half]}, {format_count(sum(rows[IN_ALL].of for rows in groups.values()))}"
        for group, rows in groups.items():
            name, wrong, _ = GROUPS[group]
            yield f"  {name:24}{'claims':>7}  {wrong:28}{'unread or unchecked':28}{'last run'}".rstrip()
            for row, tally in rows.items():
                before = last.get(half, {}).get(group, {}).get(row) if row == IN_ALL else None
                yield _line(row, tally, Tally(**before) if before else None)


def _line(row: str, tally: Tally, before: Tally | None) -> str:
    told = f"    {row:22}{tally.of:7,}  {_rate(tally.wrong, tally.of):28}{_rate(tally.open, tally.of):28}"
    return (told + (f"{_share(before.wrong, before.of)}, {_share(before.open, before.of)}" if before else "")).rstrip()


def format_count(claims: int) -> str:
    return f"{claims:,} claim{'' if claims == 1 else 's'}"


def _rate(found: int, of: int) -> str:
    low, high = wilson(found, of)
    return f"{found:4}  {_share(found, of):>7}  ({100 * low:.1f}–{100 * high:.1f})"


def _share(found: int, of: int) -> str:
    return f"{100 * found / of:.1f} %"
