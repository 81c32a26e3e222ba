"""`python -m benchmarks [PART…]`, or `make bench`: one run, one table, `results.json` and `results.svg`."""

import argparse
import json
import os
import platform
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import latency, prompts, searches, streams, tracing, turns
from benchmarks.figures import Row, table

PARTS = {
    "turns": turns,
    "streams": streams,
    "latency": latency,
    "prompts": prompts,
    "searches": searches,
    "tracing": tracing,
}
FOLDER = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all unless named")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where results.json and results.svg are written")
    options = parser.parse_args()
    if unknown := set(options.parts) - PARTS.keys():
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    found, rows = dict[str, Any](), dict[str, list[Row]]()
    for name in options.parts or PARTS:
        found[name] = PARTS[name].measure()
        rows[name] = list(PARTS[name].rows(found[name]))
        title, _, _ = (PARTS[name].__doc__ or "").partition("\n")
        print(table(title, rows[name]), end="\n\n", flush=True)
    if not options.parts:
        _write(options.folder, found, rows)
    failed = [row for each in rows.values() for row in each if row.target and not row.target.holds]
    sys.exit(f"{len(failed)} of what must hold does not hold." if failed else None)


def _write(folder: Path, found: dict[str, Any], rows: dict[str, list[Row]]) -> None:
    from benchmarks.picture import draw

    machine = {"processors": os.cpu_count(), "architecture": platform.machine(), "python": platform.python_version()}
    written = {name: [{**asdict(row), "ratio": row.ratio} for row in each] for name, each in rows.items()}
    results = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "machine": machine, "rows": written, "found": found}
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    draw(found, folder / "results.svg")


if __name__ == "__main__":
    main()
