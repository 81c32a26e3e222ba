"""Measure in one command what only a real model can show, and write one page: `qwestly-agent evals first`.

Uses the models that the settings configure (DEEPSEEK_API_KEY, OPENAI_API_KEY or MODEL_BASE_URL; MODEL_FAST, MODEL_PRO,
MODEL_JUDGE). Every request goes through a gateway in this process, which rejects requests that could exceed the
ceiling. A run that was stopped or killed resumes where it left off.

Writes FOLDER/MODEL.md (the page), MODEL.journal.jsonl (each outcome and each request's price) and MODEL.turns.jsonl
(recorded turns, names replaced). Exit codes: 0 if everything was measured, whatever it shows; 1 if something was not; 2
for wrong usage.
"""

import argparse
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.first.gateway import make_gateway
from evals.first.hour import Hour, Step, play
from evals.first.journal import InUse, Journal
from evals.first.page import Heading, page
from evals.first.recorded import Recorder
from evals.first.steps import STEPS
from evals.first.walk import newcomers
from evals.judge import CONFIGURES
from evals.played import DATASETS
from evals.pseudonyms import Pseudonyms
from evals.relay import is_scripted
from evals.talks import load
from infra.stages import WrongUsage
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import look_up
from qwestly_agent.llm.models import DEFAULT_MODELS

FOLDER = Path(__file__).parent
MOST_USD, MOST_MINUTES = 5.0, 40.0
NAMES = [step.name for step in STEPS]
NEEDED = (
    *(
        "MODEL_BASE_URL",
        "MODEL_FAST",
        "MODEL_PRO",
        "MODEL_JUDGE",
        "MODEL_FALLBACK",
        "DEEPSEEK_API_KEY",
        "OPENAI_API_KEY",
    ),
    *("EMBEDDINGS_BASE_URL", "MODERATION_BASE_URL", "AGENT_DESIGN", "AGENT_DESIGN_PATHS"),
    "MEMORY_FORGOTTEN_FROM",
)
"""References that are resolved from the environment or a stage; other secrets are not read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["first"], help="the first hour with a key")
    parser.add_argument("--most-usd", type=float, default=MOST_USD, metavar="USD", help="that all runs may cost (5)")
    parser.add_argument("--most-minutes", type=float, default=MOST_MINUTES, metavar="N", help="of this run (40)")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="STEP", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--cases", type=int, metavar="N", help="at most so many of each step, to try it")
    parser.add_argument("--public-set", type=Path, nargs="+", default=[], metavar="FILE", help="LoCoMo or LongMemEval")
    parser.add_argument("--again", action="store_true", help="begin anew; the last journal is kept beside it")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="for page, journal and turns (evals/first)")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    if arguments.most_usd <= 0 or arguments.most_minutes <= 0 or (arguments.cases is not None and arguments.cases < 1):
        raise WrongUsage("--most-usd, --most-minutes and --cases take numbers above 0.")
    if missing := [str(each) for each in arguments.public_set if not each.is_file()]:
        raise WrongUsage(f"There is no file {', '.join(missing)}.")
    if not any(environment.get(name) for name in CONFIGURES):
        raise WrongUsage(f"No model is configured: set one of {', '.join(CONFIGURES)}.")
    given = {name: environment[name] for name in NEEDED if environment.get(name)}
    settings = Settings.from_env({"MONGODB_URI": "mongodb://none", "MONGODB_DATABASE": "none", **given}).resolve(
        look_up
    )
    out = sys.stdout  # the stage redirects it

    def say(line: str) -> None:
        print(line, file=out, flush=True)

    file = arguments.folder / f"{name_of(settings)}.journal.jsonl"
    if arguments.again and file.exists():
        file.replace(file.with_suffix(f".{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.jsonl"))
    try:
        with Journal(file) as journal:
            return _run(arguments, settings, journal, say)
    except InUse:
        raise WrongUsage(f"Another run writes to {file}.") from None


def name_of(settings: Settings) -> str:
    """Return the models' names as one file name: fast, pro and, if it is a third model, the judge."""
    named = (
        settings.model_fast or DEFAULT_MODELS["fast"],
        settings.model_pro or DEFAULT_MODELS["pro"],
        settings.model_judge,
    )
    names = dict.fromkeys(each.partition(":")[2] for each in named if each)
    return re.sub(r"[^\w.+-]+", "-", "+".join(names))


def _run(arguments: argparse.Namespace, settings: Settings, journal: Journal, say: Callable[[str], None]) -> int:
    name, date = name_of(settings), time.strftime("%Y-%m-%d", time.gmtime())
    turns = arguments.folder / f"{name}.turns.jsonl"
    journal.begin(date, _revision())
    recorder = Recorder(turns, f"recorded {date}, {name}", Pseudonyms(list(_people())))
    gateway = make_gateway(settings, journal, recorder)
    scripted = is_scripted(settings)
    steps = [each for each in STEPS if not arguments.only or each.name in arguments.only]
    hour = Hour(settings, journal, gateway, say, arguments.cases, arguments.public_set)
    begun, is_complete = time.monotonic(), False
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with gateway, hour.everything_through_the_gateway():
            is_complete = _played(hour, steps, arguments, begun)
    except KeyboardInterrupt:
        say("Stopped. The same command goes on.")
    finally:
        signal.signal(signal.SIGTERM, before)
        journal.add_minutes((time.monotonic() - begun) / 60)
        models = name.replace("+", " with ")
        heading = Heading(models, arguments.most_usd, scripted, is_complete, turns.name)
        text = page(heading, journal)
        (arguments.folder / f"{name}.md").write_text(text.rstrip() + "\n", encoding="utf-8")
        say(f"${journal.spent_usd:.2f} of at most ${arguments.most_usd:.2f}. Read {arguments.folder / f'{name}.md'}")
    return int(not is_complete)


def _played(hour: Hour, steps: Sequence[Step], arguments: argparse.Namespace, begun: float) -> bool:
    """Play the steps. A step may use its own share of the ceilings plus what earlier steps left. Returns True if
    everything was measured."""
    whole, share, gateway = sum(each.share for each in steps), 0.0, hour.gateway
    for step in steps:
        share += step.share / whole
        gateway.ceiling_usd = arguments.most_usd * min(1.0, share)
        gateway.until = begun + 60 * arguments.most_minutes * min(1.0, share)
        refused = gateway.refused
        play(hour, step)
        if gateway.refused > refused or time.monotonic() > gateway.until:
            hour.say(
                f"{step.name}: its share of ${arguments.most_usd:g} or {arguments.most_minutes:g} minutes is used up"
            )
        if step.name == "doctor" and _is_refused(hour):
            hour.say("The provider refuses every request, so nothing else is asked. The page has the reasons.")
            return False
    return gateway.refused == 0 and not hour.journal.failed and not any(hour.journal.wanting.values())


def _is_refused(hour: Hour) -> bool:
    """True if each model answered the doctor with an error: an invalid key, no credit, or an unknown model."""
    checked = hour.journal.units.get("doctor/words")
    return bool(checked) and all(re.search(r": answers [45]\d\d", " ".join(each.problems)) for each in checked.outcomes)


def _revision() -> str:
    """Return the commit of this checkout; empty if there is none."""
    asked = ["git", "-C", str(FOLDER), "describe", "--always", "--dirty"]
    try:
        return subprocess.check_output(asked, text=True, stderr=subprocess.DEVNULL).strip()  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return ""


def _people() -> Sequence[Mapping[str, Any]]:
    """Return the profiles of everyone who speaks in a run, so that their names are replaced."""
    talks = [case.given.profile for file in DATASETS.values() for case in load(file)]
    return [
        *talks,
        *({"name": each.name, "companies": [{"company": e} for e in each.employers]} for each in newcomers()),
    ]
