"""Run the datasets, store the outcomes, compare them with another run, and check a release against the thresholds.

Conversations are played through the chat on this machine. They use the model that the environment configures
(MODEL_BASE_URL, DEEPSEEK_API_KEY or OPENAI_API_KEY), or replay answers; without either they are skipped. Claims use the
configured judge, otherwise code alone. Exit codes: 0; 1 if --gate finds a threshold that is not reached; 2 for wrong
usage.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evals import gate, whole_talks
from evals.compare import compare
from evals.judge import CONFIGURES
from evals.judged import JUDGED
from evals.outcomes import Outcome, Run, read, save
from evals.page import page
from evals.played import DATASETS, Played, play
from evals.rates import compared_table, table
from evals.relay import upstreams_of
from evals.stage import Stage, run_stage
from evals.talks import Answers, load_answers, write_answers
from qwestly_agent.base.settings import Settings

OTHERS: Mapping[str, Callable[[Stage, int, Answers | None], Played]] = {
    whole_talks.NAME: whole_talks.play_whole_talks,
}
"""Datasets with a player of their own."""
PLAYED = (*DATASETS, *OTHERS)
NAMES = (*PLAYED, *JUDGED)
OF_MODELS = ("model_fast", "model_pro", "model_judge", "model_fallback", "agent_design", "agent_design_paths")
"""Settings that the stage takes from the environment."""


def main(arguments: Sequence[str] | None = None, say: Callable[[str], None] = print) -> int:
    options = _options(arguments)
    run = read(options.read) if options.read else _run(options)
    compared = list(compare(read(options.compare), run)) if options.compare else []
    missed = list(gate.missed_thresholds(run, gate.load(options.thresholds))) if options.gate else None
    say(table(run))
    if compared:
        say("\n" + compared_table(compared))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        save(run, options.out / "run.json")
        (options.out / "report.html").write_text(page(run, compared, missed), encoding="utf-8")
        say(f"\nKept in {options.out}: run.json, report.html.")
    for each in missed or ():
        say(f"Not reached: {each}")
    if missed == []:
        say("Every threshold is reached.")
    return int(bool(missed))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m evals.suite", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("datasets", nargs="*", metavar="DATASET", help=f"of {', '.join(NAMES)}; all without any")
    parser.add_argument("--samples", type=int, default=1, metavar="N", help="of each case")
    parser.add_argument("--name", default="run", help="of this run, in reports")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="answers that are played; no model is asked")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep the model's answers, to be replayed")
    parser.add_argument("--read", type=Path, metavar="RUN.json", help="report a run that was kept, and run nothing")
    parser.add_argument("--compare", type=Path, metavar="RUN.json", help="an earlier run")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="for run.json and report.html")
    parser.add_argument("--gate", action="store_true", help="exit with 1 where a threshold is not reached")
    parser.add_argument("--thresholds", type=Path, default=gate.FILE, metavar="FILE")
    options = parser.parse_args(arguments)
    if unknown := [each for each in options.datasets if each not in NAMES]:
        parser.error(f"there is no dataset {unknown[0]!r}; there is {', '.join(NAMES)}")
    if options.samples < 1:
        parser.error("--samples takes a number from 1")
    if options.record and (options.replay or len(options.datasets) != 1 or options.datasets[0] not in PLAYED):
        parser.error("--record goes with one dataset of talks, and not with --replay")
    return options


def _run(options: argparse.Namespace) -> Run:
    chosen = options.datasets or NAMES
    answers = load_answers(options.replay) if options.replay else None
    outcomes, wanting, recorded = list[Outcome](), dict[str, str](), Answers()
    talks = [name for name in PLAYED if name in chosen]
    if talks and answers is None and not _is_configured():
        wanting = dict.fromkeys(talks, "a model (DEEPSEEK_API_KEY, OPENAI_API_KEY or MODEL_BASE_URL), or --replay")
    elif talks:
        with _stage(replays=answers is not None) as stage:
            for name in talks:
                samples, other = options.samples, OTHERS.get(name)
                played = other(stage, samples, answers) if other else play(stage, name, samples, answers)
                outcomes += played.outcomes
                wanting |= played.wanting
                recorded |= played.answers
    for name in JUDGED:
        if name in chosen:
            outcomes += JUDGED[name](options.samples)
    date = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    if options.record and recorded:
        models = sorted({each.model for each in outcomes if each.model})
        write_answers(options.record, {"source": f"recorded {date}, {', '.join(models)}"}, recorded)
    played_from = options.replay.name if options.replay else ""
    return Run(name=options.name, date=date, answers=played_from, outcomes=tuple(outcomes), wanting=wanting)


def _is_configured() -> bool:
    return any(os.environ.get(name) for name in CONFIGURES)


@contextmanager
def _stage(*, replays: bool) -> Iterator[Stage]:
    if replays:
        with run_stage({}) as stage:
            yield stage
        return
    settings = Settings.from_env({"MONGODB_URI": "mongodb://none", "MONGODB_DATABASE": "none", **os.environ})
    named: dict[str, Any] = {name: getattr(settings, name) for name in OF_MODELS}
    with run_stage(upstreams_of(settings), **named) as stage:
        yield stage


if __name__ == "__main__":
    sys.exit(main())
