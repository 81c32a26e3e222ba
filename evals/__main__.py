"""Check each labelled claim, and print how often the verdict is wrong: `make evals`."""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evals import claims, report
from evals.claims import Case
from evals.judge import configured_judge, settings_of_models
from evals.looks import Judged, by_code, by_judge
from evals.relay import is_scripted

RESULTS = Path(__file__).parent / "results.json"
NO_JUDGE = "none"


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    cases = _chosen(claims.load(options.claims), options.half, options.samples)
    last = json.loads(options.results.read_text(encoding="utf-8")) if options.results.exists() else {}
    looks, judge = {"code": [by_code(case) for case in cases]}, NO_JUDGE
    scripted = is_scripted(settings_of_models())
    if not scripted and (judged := asyncio.run(_judged(cases))):
        judge, looks["code + judge"] = judged
    if last:
        print(f"The last run that was kept is of {last['date']}; its judge: {last['judge']}.\n")
    for name, judged in looks.items():
        title = f"{name}: {report.format_count(len(judged))}, rates with their 95 % intervals"
        print(report.table(title, report.tallies(judged), last.get("looks", {}).get(name, {})))
        if options.show:
            _show(judged, meanings=name != "code")
    if scripted:
        print("\nThe judge is scripted and reads nothing: looks 1 and 2 alone.")
    elif judge == NO_JUDGE:
        print("\nNo judge is configured (DEEPSEEK_API_KEY, OPENAI_API_KEY or MODEL_BASE_URL): looks 1 and 2 alone.")
    if options.keep:
        kept = {name: report.as_json(report.tallies(judged)) for name, judged in looks.items()}
        _keep(options.results, judge, kept)


async def _judged(cases: Sequence[Case]) -> tuple[str, list[Judged]] | None:
    """Return the name of the configured judge and its verdicts; None if none is configured."""
    async with configured_judge() as configured:
        if configured is None:
            return None
        name, judge = configured
        return name, await by_judge(cases, judge)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__)
    parser.add_argument("--half", choices=("kept", "tuned", "all"), default="all")
    parser.add_argument("--samples", type=int, metavar="N", help="ask so many claims at most, evenly spread")
    parser.add_argument("--show", action="store_true", help="print what is wrong, but nothing that is kept aside")
    parser.add_argument("--keep", action="store_true", help="write the figures to the file of results")
    parser.add_argument(
        "--claims", type=Path, default=claims.FOLDER, metavar="PATH", help="a folder of YAML files, or a packed set"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FILE", help="of the last run that was kept")
    options = parser.parse_args(arguments)
    if options.samples is not None and options.samples < 1:
        parser.error("--samples takes a number from 1")
    if options.keep and (options.samples or options.half != "all"):
        parser.error("only a whole run can be kept: --keep goes with neither --half nor --samples")
    return options


def _chosen(cases: Sequence[Case], half: str, samples: int | None) -> list[Case]:
    """Choose the same cases in each run, so that two runs can be compared."""
    chosen = [case for case in cases if half in (case.half, "all")]
    if samples is None or samples >= len(chosen):
        return chosen
    return [chosen[index * len(chosen) // samples] for index in range(samples)]


def _show(judged: Sequence[Judged], *, meanings: bool) -> None:
    """Print each true claim that was rejected and each false one that passed, except in the half that is held out.
    Claims with a false meaning are printed only if a judge checked them."""
    for each in judged:
        missed = each.fate == "refused" if each.case.true else each.fate != "refused"
        if each.case.half == "kept" or not missed or (report.group_of(each) == "meaning" and not meanings):
            continue
        print(f"\n{each.case.person}, {'true' if each.case.true else 'false'}, {each.case.kind}: {each.fate}")
        print(f"  {each.case.statement.text}")
        for quote in each.case.statement.quotes:
            print(f"  quotes {quote.source}: {quote.text}")
        verdict = each.verdict
        for name, told in (("marked", verdict.marks), ("because", verdict.reasons)):
            if told:
                print(f"  {name}: {'; '.join(told)}")
        if each.case.why:
            print(f"  false, since: {each.case.why}")


def _keep(file: Path, judge: str, looks: dict[str, Any]) -> None:
    kept = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "judge": judge, "looks": looks}
    file.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
