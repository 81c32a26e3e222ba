"""Render a run as one HTML page with plots. The page loads no other resources."""

from collections.abc import Iterator, Sequence
from html import escape

from evals.compare import Compared
from evals.outcomes import Run, failed
from evals.rates import Rate, rates

WIDTH, ROW, LEFT, PLOT = 860, 26, 300, 480

STYLE = """
:root { color-scheme: light dark; --ink: #1d2524; --paper: #fff; --soft: #6a7573; --bar: #0d6a59; --line: #d6dedc; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eeec; --paper: #14191a; --soft: #9aa7a4; --bar: #5fc2ab; --line: #34403e; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; } td, th { padding: .25rem .6rem; border-bottom: 1px solid var(--line);
  text-align: right; } td:first-child, th:first-child { text-align: left; }
.scroll { overflow-x: auto; } .soft { color: var(--soft); } svg { max-width: 100%; height: auto; }
svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
.bar { fill: var(--bar); } .axis { stroke: var(--line); }
.spread { stroke: var(--bar); stroke-width: 2; }
"""


def page(run: Run, compared: Sequence[Compared] = (), missed: Sequence[str] | None = None) -> str:
    rows = list(rates(run))
    parts = [
        f"<h1>Evals: {escape(run.name)}</h1>",
        f'<p class="soft">{escape(run.date)}{f"; answers of {escape(run.answers)}" if run.answers else ""}. '
        "The bars are 95 % intervals (Wilson). Replayed answers and code alone prove the wiring, and no model.</p>",
        _gate(missed),
        "<h2>How much holds</h2>",
        _plot_of_rates(rows),
        "<h2>Cost and time beside it</h2>",
        _plot_of_costs(rows),
        _table(rows),
        *_compared(compared),
        *_failures(run),
        *_wanting(run),
    ]
    body = "\n".join(filter(None, parts))
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Evals: {escape(run.name)}</title><style>{STYLE}</style>\n<body>\n{body}\n</body></html>\n"
    )


def _gate(missed: Sequence[str] | None) -> str:
    if missed is None:
        return ""
    if not missed:
        return "<p><strong>Every threshold is reached.</strong></p>"
    items = "".join(f"<li>{escape(each)}</li>" for each in missed)
    return f"<p><strong>Not to be released:</strong></p><ul>{items}</ul>"


def _plot_of_rates(rows: Sequence[Rate]) -> str:
    def at(share: float) -> float:
        return LEFT + share * PLOT

    height = ROW * len(rows) + 30
    marks = [
        f'<line class="axis" x1="{at(share):.0f}" x2="{at(share):.0f}" y1="0" y2="{height - 22}"/>'
        f'<text x="{at(share):.0f}" y="{height - 6}" text-anchor="middle">{100 * share:.0f} %</text>'
        for share in (0, 0.25, 0.5, 0.75, 1)
    ]
    for number, row in enumerate(rows):
        y, (low, high) = ROW * number + 14, row.interval
        marks.append(
            f'<text x="{14 if row.name.startswith(" ") else 0}" y="{y + 4}">{escape(row.name.strip()[:44])}</text>'
            f'<line class="spread" x1="{at(low):.1f}" x2="{at(high):.1f}" y1="{y}" y2="{y}"/>'
            f'<circle class="bar" cx="{at(row.share):.1f}" cy="{y}" r="4.5"/>'
            f'<text x="{at(1) + 12:.0f}" y="{y + 4}">{100 * row.share:.1f} %</text>'
        )
    return _svg(height, "Share of samples that hold, with 95 % intervals", marks)


def _plot_of_costs(rows: Sequence[Rate]) -> str:
    told = [(row, row.usd) for row in rows if row.usd is not None]
    if not told:
        return '<p class="soft">No turn of this run has a cost.</p>'
    most, height = max(usd for _, usd in told) or 1.0, ROW * len(told) + 8
    marks = [
        f'<text x="0" y="{ROW * number + 18}">{escape(row.name.strip()[:44])}</text>'
        f'<rect class="bar" x="{LEFT}" y="{ROW * number + 6}" width="{usd / most * (PLOT - 130):.1f}" height="15"/>'
        f'<text x="{LEFT + usd / most * (PLOT - 130) + 8:.1f}" y="{ROW * number + 18}">${usd:.5f}'
        f"{f', {row.first_text_ms:.0f} ms' if row.first_text_ms is not None else ''}</text>"
        for number, (row, usd) in enumerate(told)
    ]
    return _svg(height, "Mean cost of a turn, and first text at p95", marks)


def _svg(height: int, title: str, marks: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(marks)}</svg>"
    )


def _table(rows: Sequence[Rate]) -> str:
    head = "".join(
        f"<th>{name}</th>" for name in ("", "cases", "samples", "held", "95 %", "$ a turn", "first p95", "answers")
    )
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(map(_row, rows))}</table></div>'


def _row(row: Rate) -> str:
    low, high = row.interval
    usd = "–" if row.usd is None else f"{row.usd:.5f}"
    first = "–" if row.first_text_ms is None else f"{row.first_text_ms:.0f} ms"
    cells = (row.name, row.cases, row.samples, f"{100 * row.share:.1f} %", f"{100 * low:.1f}–{100 * high:.1f}")
    return f"<tr>{''.join(f'<td>{escape(str(each))}</td>' for each in (*cells, usd, first, row.source))}</tr>"


def _compared(compared: Sequence[Compared]) -> Iterator[str]:
    if compared:
        rows = "".join(
            f"<tr><td>{escape(each.dataset)}</td><td>{each.both}</td><td>{escape(', '.join(each.lost) or '–')}</td>"
            f"<td>{escape(', '.join(each.won) or '–')}</td><td>{each.p:.4f}</td><td>{each.verdict}</td></tr>"
            for each in compared
        )
        head = "<tr><th></th><th>cases</th><th>lost</th><th>won</th><th>p (McNemar)</th><th></th></tr>"
        yield f'<h2>Beside the other run</h2><div class="scroll"><table>{head}{rows}</table></div>'


def _failures(run: Run) -> Iterator[str]:
    for dataset in run.datasets:
        if dataset.startswith(("claims", "memories")):
            continue  # half of the cases are held out, and not shown
        if told := [(case, problems) for case, problems in failed(run.of(dataset)) if problems]:
            items = "".join(f"<li>{escape(case)}: {escape('; '.join(problems))}</li>" for case, problems in told)
            yield f"<h2>{escape(dataset)}: what failed</h2><ul>{items}</ul>"


def _wanting(run: Run) -> Iterator[str]:
    if run.wanting:
        items = "".join(f"<li>{escape(what)}: {escape(wants)}</li>" for what, wants in run.wanting.items())
        yield f"<h2>Was not run</h2><ul>{items}</ul>"
