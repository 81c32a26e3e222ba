"""Review complaints, the first memories, or one user for support.

`cases FILE` shows each conversation whose answer got a thumbs down or whose approval was denied, without identifying
the user, and adds it to FILE as a case after a yes. `memories FILE` shows the first memories, each with its quote, and
adds a verdict to FILE without any of their text. Nothing is written without an answer to each; cases already in FILE
are not shown again. The end of the input ends it.

`judge` prints, for each judge of published content, how many of the newest planted lies it passed.

`--user ID --reason "…"` prints one user's newest turns, approvals and events. The access is recorded in that user's
activity with its reason, before anything is printed. Quote an id that contains a |.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from pymongo import AsyncMongoClient, MongoClient
from pymongo.database import Database

from evals.pseudonyms import Pseudonyms, left_over
from evals.statistics import wilson
from evals.support import look_at_user
from infra.local.environment import SafeLoader
from infra.stages import WrongUsage, database_settings
from qwestly_agent.base.clock import new_id, system_clock
from qwestly_agent.base.settings import Settings
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.candidate import CANDIDATES, EMPLOYMENT, PREFERENCES
from qwestly_agent.grounding.model import JudgedPlant
from qwestly_agent.stores import approvals, conversations, messages
from qwestly_agent.stores.measures import MOST_PASSED, JudgesPlants, PlantedLies
from qwestly_agent.stores.memories import COLLECTION as MEMORIES
from qwestly_agent.stores.memories import READABLE

Stored = Database[dict[str, Any]]
Ask = Callable[[str], str]
MOST_BEFORE = 6
"""Number of earlier messages stored in a case."""
LONGEST_REASON = 200
VERDICTS: Mapping[str, str] = {"r": "right", "w": "wrong", "u": "unsure"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=["cases", "memories", "judge"], help="what to look through")
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="YAML; made if it is not there, added to if it is"
    )
    parser.add_argument("--most", type=int, default=100, metavar="N", help="so many at most (100)")
    parser.add_argument("--user", metavar="ID", help="whom to look at, for support")
    parser.add_argument("--reason", default="", help="why; the user reads it")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    reason = " ".join(arguments.reason.split())
    takes_file = arguments.what in ("cases", "memories")
    if bool(arguments.user) == bool(arguments.what) or takes_file != bool(arguments.file):
        raise WrongUsage("Name cases or memories with a FILE, judge without one, or a --user.")
    if arguments.user and not 0 < len(reason) <= LONGEST_REASON:
        raise WrongUsage(f"Say why you look, by --reason of at most {LONGEST_REASON} characters. The user reads it.")
    settings = database_settings(environment)
    if arguments.user:
        page = asyncio.run(_page_about(settings, arguments.user, reason, arguments.most))
        print(page or f"Nothing is kept about {arguments.user}.", file=sys.stdout if page else sys.stderr)
        return 0 if page else 1
    if arguments.what == "judge":
        print("\n".join(_lines_about(asyncio.run(_judges(settings)))))
        return 0
    look = {"cases": look_at_cases, "memories": look_at_memories}[arguments.what]
    with MongoClient[dict[str, Any]](settings.mongodb_uri) as mongo:
        look(mongo[settings.mongodb_database], arguments.file, arguments.most, input, print)
    return 0


async def _page_about(settings: Settings, user_id: str, reason: str, most: int) -> str | None:
    async with AsyncMongoClient[dict[str, Any]](settings.mongodb_uri, tz_aware=True) as mongo:
        return await look_at_user(mongo[settings.mongodb_database], user_id, reason, most, system_clock, new_id)


# --- the judge --------------------------------------------------------------------------------------------------------


async def _judges(settings: Settings) -> Sequence[JudgesPlants]:
    async with AsyncMongoClient[dict[str, Any]](settings.mongodb_uri) as mongo:
        return await PlantedLies.of(mongo[settings.mongodb_database]).list()


def _lines_about(judges: Sequence[JudgesPlants]) -> Iterator[str]:
    """Yield a line for each judge, and one for each kind of lie and each language if it passed any."""
    if not judges:
        yield "No lie has been planted yet."
    for judge in judges:
        errs = f": above {MOST_PASSED}, the alarm rings" if judge.errs else ""
        yield f"{judge.model} passed {_rate(judge.plants)} of the newest planted lies{errs}"
        for kind, language in sorted({(each.kind, each.language) for each in judge.plants if each.passed}):
            alike = [each for each in judge.plants if (each.kind, each.language) == (kind, language)]
            yield f"  {kind}, {language or 'language unknown'}: {_rate(alike)}"


def _rate(plants: Sequence[JudgedPlant]) -> str:
    passed = sum(each.passed for each in plants)
    low, high = wilson(passed, len(plants))
    return f"{passed} of {len(plants)} ({100 * low:.1f}–{100 * high:.1f} %)"


# --- cases ------------------------------------------------------------------------------------------------------------


def look_at_cases(database: Stored, file: Path, most: int, ask: Ask, say: Callable[[str], None]) -> None:
    kept, known = 0, {each["case"] for each in _read(file)}
    with suppress(EOFError):
        for case in _first(most, (each for each in _cases(database) if each["case"] not in known)):
            say("\n" + yaml.safe_dump(case, allow_unicode=True, sort_keys=False, width=118))
            if names := left_over(yaml.safe_dump(case["before"], allow_unicode=True) + case["said"] + case["answer"]):
                say(f"Look at these, they may tell who it was: {', '.join(names)}")
            if ask("Keep it? [y/N] ").strip().casefold() != "y":
                continue
            case["expected"] = ask("What should have come of it? ").strip()
            _add(file, case)
            kept += 1
    say(f"\n{kept} kept in {file}. Say in each what the turn must and must not do (docs/evals.md).")


def _cases(database: Stored) -> Iterator[dict[str, Any]]:
    down = database[messages.COLLECTION].find({"feedback.thumb": "down"}).sort("_id", 1)
    for answer in down:
        yield from _case(database, answer["user_id"], answer["conversation_id"], answer["run_id"], "a thumb down")
    for rejected in database[approvals.COLLECTION].find({"status": "rejected"}).sort("_id", 1):
        if rejected.get("conversation_id"):
            why = f"{rejected['tool']} was rejected"
            yield from _case(database, rejected["user_id"], rejected["conversation_id"], rejected["run_id"], why)


def _case(database: Stored, user_id: str, conversation_id: str, run_id: str, why: str) -> Iterator[dict[str, Any]]:
    here = {"user_id": user_id, "conversation_id": conversation_id}
    told = list(database[messages.COLLECTION].find(here).sort("seq", 1))
    at = [index for index, each in enumerate(told) if each["run_id"] == run_id]
    if len(at) < 2:
        return
    asked, answer = told[at[0]], told[at[-1]]
    of_person = ({"user_id": user_id}, {"_id": 0})
    names = Pseudonyms(
        [each for name in (CANDIDATES, EMPLOYMENT, PREFERENCES) for each in database[name].find(*of_person)]
    )
    conversation = database[conversations.COLLECTION].find_one({"user_id": user_id, "id": conversation_id}) or {}
    yield {
        "case": f"kept-{sha256_hex(user_id, run_id)[:12]}",
        "why": why,
        "words": names.of((answer.get("feedback") or {}).get("words") or ""),
        "role": conversation.get("role", "chat"),
        "before": [{"by": each["role"], "said": names.of(each["content"])} for each in told[: at[0]][-MOST_BEFORE:]],
        "said": names.of(asked["content"]),
        "answer": names.of(answer["content"]),
        "called": [each["name"] for each in answer.get("steps", ())],
    }


# --- memories ---------------------------------------------------------------------------------------------------------


def look_at_memories(database: Stored, file: Path, most: int, ask: Ask, say: Callable[[str], None]) -> None:
    judged = {each["memory"] for each in _read(file)}
    first = database[MEMORIES].find({"status": {"$in": list(READABLE)}}).sort([("created", 1), ("_id", 1)])
    with suppress(EOFError):
        for number, found in enumerate(_first(most, first), 1):
            name = sha256_hex(found["user_id"], str(found["_id"]))[:16]
            if name in judged:
                continue
            say(f"\n{number}. {found['type']}, {found.get('trust', 'user_said')}, {found['status']}")
            say(f"   {found['content']}\n   quote: “{found.get('quote') or 'none'}”")
            if asked := found.get("question"):
                say(f"   asked: “{asked}”")
            verdict = _verdict(ask)
            why = ask("Why? ").strip() if verdict != "right" else ""
            kind = {"type": found["type"], "trust": found.get("trust", "user_said"), "status": found["status"]}
            _add(file, {"memory": name, **kind, "verdict": verdict, "why": why})
    verdicts = [each["verdict"] for each in _read(file)]
    right, of = verdicts.count("right"), len(verdicts) - verdicts.count("unsure")
    low, high = wilson(right, of)
    say(
        f"\n{len(verdicts)} judged: {right} of {of} right ({100 * low:.1f}–{100 * high:.1f} %), "
        f"{verdicts.count('unsure')} unsure. They are in {file}."
    )


def _verdict(ask: Ask) -> str:
    """Ask until the answer is valid."""
    while True:
        if verdict := VERDICTS.get(ask("Right, wrong or unsure? [r/w/u] ").strip().casefold()[:1]):
            return verdict


# --- the file ---------------------------------------------------------------------------------------------------------


def _read(file: Path) -> Sequence[Mapping[str, Any]]:
    read = yaml.load(file.read_text(encoding="utf-8"), SafeLoader) if file.exists() else None  # noqa: S506
    return read or []


def _add(file: Path, entry: Mapping[str, Any]) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.write(yaml.safe_dump([dict(entry)], allow_unicode=True, sort_keys=False, width=118))


def _first(most: int, found: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for _, each in zip(range(most), found, strict=False):
        yield each
