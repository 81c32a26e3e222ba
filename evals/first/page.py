"""The page of a run: promises and measurements, what to change first, and what the run cost."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from evals import gate
from evals.first import measures
from evals.first.journal import Journal
from evals.first.measures import Measure
from evals.outcomes import Outcome
from evals.statistics import wilson

Verdict: TypeAlias = Literal["kept", "broken", "unsure", "not measured"]
MARKS: Mapping[Verdict, str] = {
    "kept": "**kept**",
    "broken": "**BROKEN**",
    "unsure": "not sure",
    "not measured": "not measured",
}
MOST_FAILURES = 8
LONGEST_PROBLEM = 160


@dataclass(frozen=True)
class Row:
    measure: Measure
    wrong: int
    of: int
    most: float
    """The promised maximum error rate."""

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.wrong, self.of)

    @property
    def verdict(self) -> Verdict:
        low, high = self.interval
        if not self.of:
            return "not measured"
        if high <= self.most or (self.most == 0 and not self.wrong):
            return "kept"
        return "broken" if low > self.most else "unsure"


@dataclass(frozen=True)
class Heading:
    models: str
    most_usd: float
    is_scripted: bool
    is_complete: bool
    turns: str
    """The name of the file with the recorded turns."""


def rows_of(outcomes: Sequence[Outcome]) -> list[Row]:
    bounds = gate.load()
    rows = list[Row]()
    for measure in measures.load():
        these = [each for each in outcomes if each.dataset == measure.dataset]
        least = bounds[measure.dataset].least if measure.least is None else measure.least
        rows.append(Row(measure, sum(not each.passed for each in these), len(these), round(1 - least, 6)))
    return rows


def page(heading: Heading, journal: Journal) -> str:
    outcomes = [each for found in journal.units.values() for each in found.outcomes]
    rows = rows_of(outcomes)
    shown = [] if heading.is_scripted else [*_proposals(journal), *_failures(outcomes)]
    return "\n".join([*_head(heading, journal, rows), *_costs(journal), *shown, *_foot(heading)])


def _head(heading: Heading, journal: Journal, rows: Sequence[Row]) -> Iterator[str]:
    yield f"# How good is {heading.models}?\n"
    state = "" if heading.is_complete else " The run is not complete: the same command goes on with it."
    if len(journal.revisions) > 1:
        state += " The code changed in between: --again begins anew."
    spent = f"{journal.minutes:.0f} minutes, ${journal.spent_usd:.2f} of at most ${heading.most_usd:.2f}"
    when = ", ".join(f"{date} (code {revision})" for revision, date in journal.revisions.items())
    yield f"Measured on {when} in {spent}, {journal.requests:,} requests.{state}\n"
    if heading.is_scripted:
        yield "**A scripted model answered.** It knows its script and judges nothing, so no rates are shown: this page"
        yield "proves that the command works, and says nothing about any model.\n"
        yield "| what | cases |\n|---|--:|"
        yield from (f"| {each.measure.says} | {each.of} |" for each in rows)
        return
    count = {verdict: sum(row.verdict == verdict for row in rows) for verdict in MARKS}
    yield (
        f"Of {len(rows)} promises **{count['kept']} are kept, {count['broken']} are broken**; {count['unsure']} cannot "
        f"be told from so few cases, and {count['not measured']} were not measured.\n"
    )
    yield from _first_changes(rows)
    yield "| what can go wrong | how often it did | true rate, 95 % sure | promised | |\n|---|--:|--:|--:|---|"
    yield from map(_line, rows)
    yield ""


def _first_changes(rows: Sequence[Row]) -> Iterator[str]:
    """Yield what to change: promises that are certainly broken before those that may be, in the order of the
    measures."""
    broken = [each for each in rows if each.verdict == "broken"]
    suspected = [each for each in rows if each.verdict == "unsure" and each.wrong > each.most * each.of]
    if not broken and not suspected:
        yield "**Change first:** nothing. No promise is broken as far as these cases show.\n"
        return
    yield "**Change first:**\n"
    for number, row in enumerate([*broken, *suspected][:3], 1):
        doubt = "" if row.verdict == "broken" else " (suspected: more cases are needed)"
        rate = f"{_percent(row.wrong / row.of)} of cases instead of {_most(row)}{doubt}"
        yield f"{number}. {row.measure.says}: {rate}. {row.measure.change}"
    yield ""


def _line(row: Row) -> str:
    if not row.of:
        return f"| {row.measure.says} | – | – | {_most(row)} | {MARKS[row.verdict]} |"
    low, high = row.interval
    told = f"{_percent(row.wrong / row.of)} ({row.wrong:,} of {row.of:,})"
    return f"| {row.measure.says} | {told} | {100 * low:.1f}–{100 * high:.1f} % | {_most(row)} | {MARKS[row.verdict]} |"


def _most(row: Row) -> str:
    return "never" if row.most == 0 else f"at most {100 * row.most:g} %"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _costs(journal: Journal) -> Iterator[str]:
    yield "\n## What it cost\n\n| step | $ | |\n|---|--:|---|"
    steps = dict.fromkeys([*journal.by_step, *journal.wanting])
    for name in steps:
        wants = journal.wanting.get(name, "")
        yield f"| {name} | {journal.by_step[name]:.3f} | {f'not measured, it needs {wants}' if wants else ''} |"
    yield f"| all | {journal.spent_usd:.3f} | |"
    if journal.failed:
        yield f"\n{len(journal.failed)} cases met an error and count nowhere; the same command tries them again:\n"
        yield from (f"- {unit}: {_one_line(why)}" for unit, why in list(journal.failed.items())[:MOST_FAILURES])


def _proposals(journal: Journal) -> Iterator[str]:
    notes = [note for found in journal.units.values() for note in found.notes]
    if notes:
        yield "\n## Thresholds for this embedding\n"
        yield "Chosen on one half of the labelled cases; the rates are of the other half.\n"
        yield from (f"- {note}" for note in notes)


def _failures(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the failures. Held-out cases are only counted, not shown to the person who tunes."""
    yield "\n## What failed"
    for dataset in dict.fromkeys(each.dataset for each in outcomes):
        wrong = [each for each in outcomes if each.dataset == dataset and not each.passed]
        if not wrong:
            continue
        yield f"\n**{dataset}**: {len(wrong)}\n"
        told = [each for each in wrong if each.problems]
        yield from (f"- {each.case}: {_one_line('; '.join(each.problems))}" for each in told[:MOST_FAILURES])
        if len(told) > MOST_FAILURES:
            yield f"- and {len(told) - MOST_FAILURES} more in the journal"
        if aside := [each.group or "all" for each in wrong if not each.problems]:
            counted = ", ".join(f"{group} {aside.count(group)}" for group in sorted(set(aside)))
            yield f"- of cases that nobody reads: {counted}"


def _one_line(text: str) -> str:
    line = re.sub(r"\s+", " ", text).strip() or "failed"
    return line if len(line) <= LONGEST_PROBLEM else f"{line[: LONGEST_PROBLEM - 1]}…"


def _foot(heading: Heading) -> Iterator[str]:
    yield "\n## How to read this\n"
    if not heading.is_scripted:
        yield "- *How often it did* is counted over labelled cases. The true rate lies in the next column, 95 times of"
        yield "  100. A promise is **kept** if that column is within it, **broken** if it is beyond it, otherwise *not"
        yield "  sure*. Promises are those of `evals/thresholds.yaml` and of the documents."
    yield "- A case that met the ceiling or an error of the provider counts nowhere."
    yield f"- The turns are recorded in `{heading.turns}`, with names replaced (docs/evals.md)."
