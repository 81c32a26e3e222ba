"""Measure what the tests would not notice: change the code at random places, and count the changes that no test sees.

python -m tests.mutants                                     150 of them, by today's seed: two hours on two cores
python -m tests.mutants --seed 7 --samples 40 approvals     40 of one package

Each mutant is one operator, number, condition or decorator that cosmic-ray has changed. A mutant with which its module
cannot be imported does not count: no test is needed to see it. The survivors are printed with their diff, and so is one
with which the tests did not end in time, which counts as seen. The shares of the last run stand beside those of this
one, and are kept in `results.json` beside this module: so they travel with the code and the tests that they are about,
and `git log` has their history. Exits with 1 if a whole interval lies above a package's bound.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from evals.statistics import wilson
from tests.touched import ROOT, tests_for

RESULTS = Path(__file__).parent / "results.json"
WRITER = (ROOT / ".venv-mutants/bin/python", Path(__file__).parent / "write.py")
SOURCE = "src/qwestly_agent"
AT_ONCE = 2
SURVIVED, TOO_LONG = "survived", "too long"
LEAST_SECONDS, TIMES_AS_LONG = 180.0, 4.0
"""Time that the tests may take with a mutant: as a multiple of what they take without, and at least."""


@dataclass(frozen=True)
class Package:
    modules: tuple[str, ...]
    """Globs."""
    samples: int
    tested_as: tuple[str, ...]
    """Paths whose tests, by `tests/touched.py`, are those of all of these modules."""
    most_survivors: float = 1.0


PACKAGES: Mapping[str, Package] = {
    "approvals": Package(("approvals/*.py",), 60, ("approvals/",), 0.25),
    "domain/approval": Package(("domain/approval.py",), 30, ("approvals/", "memory/"), 0.25),
    "memory/forget": Package(("memory/forget.py",), 15, ("memory/",)),
    "chat/turn_approvals": Package(("chat/turn_approvals.py",), 15, ("chat/",)),
    "account": Package(("account.py",), 12, ("account.py",)),
    "rollout": Package(("rollout/*.py", "domain/rollout.py"), 18, ("rollout/",)),
}

STAGES: Mapping[str, tuple[str, str]] = {
    "unit": ("not thorough", "small"),
    "everyday": ("not thorough", "small"),
    "thorough": ("thorough and not nightly", "usual"),
}
"""Marks of the stage's tests and `TEST_COUNTS`, by stage, in order. A failing stage is the last one."""


@dataclass(frozen=True)
class Tried:
    package: str
    diff: str
    end: str
    """The stage that saw it, `TOO_LONG` or `SURVIVED`."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"some of {', '.join(PACKAGES)}")
    parser.add_argument("--seed", default=f"{datetime.now(UTC):%Y%m%d}")
    parser.add_argument("--samples", type=int, help="of each package")
    given = parser.parse_args(arguments)
    chosen = given.packages or [*PACKAGES]
    if unknown := {*chosen} - {*PACKAGES}:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    print(f"Seed {given.seed}", flush=True)
    tried: list[Tried] = []
    with ExitStack() as stack:
        copies = SimpleQueue[Path]()
        for _ in range(AT_ONCE):
            copies.put(stack.enter_context(copied()))
        for name in chosen:
            tried += try_package(name, given.seed, given.samples or PACKAGES[name].samples, copies)
    last = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    found = {name: count_survivors(tried, name) for name in chosen}
    print("\n".join(lines_of(found, last)))
    if not given.packages and not given.samples:
        kept = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "seed": given.seed, "packages": found}
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return int(any(is_above(PACKAGES[name], counts) for name, counts in found.items()))


# --- trying -----------------------------------------------------------------------------------------------------------


def try_package(name: str, seed: str, samples: int, copies: "SimpleQueue[Path]") -> list[Tried]:
    package = PACKAGES[name]
    commands = commands_of(package)
    folder = copies.get()
    try:
        limits = {stage: limit_of(folder, stage, command) for stage, command in commands.items()}
    finally:
        copies.put(folder)

    def attempt(mutant: Mapping[str, str]) -> Tried | None:
        folder = copies.get()
        try:
            with mutated(folder, mutant):
                return end_of(folder, name, mutant, commands, limits)
        finally:
            copies.put(folder)

    tried: list[Tried] = []
    with ThreadPoolExecutor(AT_ONCE) as pool, drawn(package, seed) as mutants:
        while len(tried) < samples and (batch := [each for _, each in zip(range(AT_ONCE), mutants, strict=False)]):
            for each in filter(None, pool.map(attempt, batch)):
                tried.append(each)
                print(f"{name} {len(tried)}/{samples}: {each.end}", flush=True)
                if each.end in (SURVIVED, TOO_LONG):
                    print(each.diff, flush=True)
    return tried[:samples]


@contextmanager
def drawn(package: Package, seed: str) -> Iterator[Iterator[dict[str, str]]]:
    """Within the context, iterate over the package's mutants in the order of the sample."""
    modules = sorted(str(each) for glob in package.modules for each in Path(SOURCE).glob(glob))
    with subprocess.Popen([*WRITER, seed, *modules], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        print(f"{json.loads(next(process.stdout))['places']} places in {len(modules)} modules", flush=True)
        yield map(json.loads, process.stdout)
        process.kill()


def commands_of(package: Package) -> dict[str, list[str]]:
    """Return the arguments of pytest, by stage."""
    patterns = {each.partition("::")[0] for each in tests_for(f"{SOURCE}/{each}" for each in package.tested_as)}
    files = sorted({str(each.relative_to(ROOT)) for pattern in patterns for each in ROOT.glob(pattern)})
    files = [each for each in files if Path(each).name.startswith("test_") or (ROOT / each).is_dir()]
    of_units = [each for each in files if each.startswith("tests/unit")]
    others = [each for each in files if each not in of_units]
    return {
        stage: ["-x", "-m", STAGES[stage][0], "-p", "no:cacheprovider", *these]
        for stage, these in (("unit", of_units), ("everyday", others), ("thorough", files))
        if these
    }


def limit_of(folder: Path, stage: str, command: Sequence[str]) -> float:
    """Return how many seconds a stage may take. Raises `SystemExit` if its tests fail as it is: they would see every
    mutant."""
    began = time.monotonic()
    if not passes(folder, stage, command, None):
        sys.exit(f"Without any mutant these tests fail: {' '.join(command)}")
    return max(LEAST_SECONDS, TIMES_AS_LONG * (time.monotonic() - began))


def end_of(
    folder: Path,
    package: str,
    mutant: Mapping[str, str],
    commands: Mapping[str, Sequence[str]],
    limits: Mapping[str, float],
) -> Tried | None:
    """Return how a mutant ends; None if it cannot be imported."""
    module = mutant["module"].removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    try:
        if run(folder, ["-c", f"import {module}"], LEAST_SECONDS):
            return None
        for stage, command in commands.items():
            if not passes(folder, stage, command, limits[stage]):
                return Tried(package, mutant["diff"], stage)
    except subprocess.TimeoutExpired:
        return Tried(package, mutant["diff"], TOO_LONG)
    return Tried(package, mutant["diff"], SURVIVED)


def passes(folder: Path, stage: str, command: Sequence[str], limit: float | None) -> bool:
    """Run a stage's tests. Raises `TimeoutExpired`."""
    none_collected = 5
    return run(folder, ["-m", "pytest", *command], limit, TEST_COUNTS=STAGES[stage][1]) in (0, none_collected)


def run(folder: Path, command: Sequence[str], limit: float | None, **environment: str) -> int:
    """Run Python in this folder, and end all that it started if it takes too long. Raises `TimeoutExpired`."""
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": "src:.", **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(limit)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


# --- copies -----------------------------------------------------------------------------------------------------------


@contextmanager
def copied() -> Iterator[Path]:
    """Within the context there is a copy of what git keeps, beside links to what was installed and built."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        for each in _listed("--cached", "--others"):
            if (ROOT / each).is_file():
                (Path(name) / each).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / each, Path(name) / each)
        for each in _listed("--others", "--ignored", "--directory"):
            made = Path(name) / each.rstrip("/")
            if "cache" not in made.name and not made.exists():
                made.parent.mkdir(parents=True, exist_ok=True)
                made.symlink_to((ROOT / each).resolve())
        yield Path(name)


def _listed(*options: str) -> list[str]:
    command = ["git", "ls-files", "-z", "--exclude-standard", *options]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [each for each in found.split("\0") if each]


@contextmanager
def mutated(folder: Path, mutant: Mapping[str, str]) -> Iterator[None]:
    module = folder / mutant["module"]
    text = module.read_text(encoding="utf-8")
    try:
        _write(module, mutant["mutated"])
        yield
    finally:
        _write(module, text)


def _write(module: Path, text: str) -> None:
    module.write_text(text, encoding="utf-8")
    # Python compares the time in seconds and the size, which two mutants may have in common.
    for compiled in (module.parent / "__pycache__").glob(f"{module.stem}.*.pyc"):
        compiled.unlink()


# --- counting ---------------------------------------------------------------------------------------------------------


def count_survivors(tried: Sequence[Tried], package: str) -> dict[str, int]:
    of = [each for each in tried if each.package == package]
    return {"survived": sum(each.end == SURVIVED for each in of), "of": len(of)}


def is_above(package: Package, counts: Mapping[str, int]) -> bool:
    return wilson(counts["survived"], counts["of"])[0] > package.most_survivors


def lines_of(found: Mapping[str, Mapping[str, int]], last: Mapping[str, Any]) -> Iterator[str]:
    """Return the table: each package's share of survivors with its 95 % interval, beside the last run's."""
    yield f"\n{'':22}{'survivors':32}last run{f', {day}' if (day := last.get('date')) else ''}"
    for name, counts in found.items():
        before = last.get("packages", {}).get(name)
        yield f"{name:22}{share_of(counts):32}{share_of(before) if before else '–'}"


def share_of(counts: Mapping[str, int]) -> str:
    survived, of = counts["survived"], counts["of"]
    low, high = wilson(survived, of)
    return f"{survived} of {of}, {100 * survived / max(of, 1):.0f} % ({100 * low:.0f}–{100 * high:.0f})"


if __name__ == "__main__":
    sys.exit(main())
