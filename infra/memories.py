"""Undo a night's consolidation of a user's memories, or recompute the stems of all memories.

`undo` restores the memories from before that run, except those forgotten or superseded since, and prints the restored
ones. Their pairs are never merged again.
"""

import argparse
import asyncio
import json
from collections.abc import Mapping
from typing import Any

from infra.stages import WrongUsage
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap
from qwestly_agent.memory.consolidate_writer import undo
from qwestly_agent.stores.memory_work import ConsolidationRun


async def run(what: str, user_id: str, run_id: str, settings: Settings) -> Any:
    services = await bootstrap(settings)
    try:
        if what == "stems":
            users = await services.memories.list_users_without_stems()
            return {"stored": sum([await services.memories.store_missing_stems(each) for each in users])}
        if what == "undo":
            undone = await undo(services.merges, services.journal, user_id, run_id, services.clock())
            return undone.model_dump(mode="json")
        return [format_run(each) for each in await services.journal.list_all(user_id)]
    finally:
        await services.close()


def format_run(run: ConsolidationRun) -> dict[str, Any]:
    return {
        "run": run.run_id,
        "at": to_datetime(run.created).isoformat(),
        "status": run.status,
        "replaced": [each.model_dump() for each in run.replacements],
        "left_by_the_cap": run.left,
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        choices=["list", "undo", "stems"],
        help="the runs of a user, oldest first; take one back; store the stems of older memories, for `$search`",
    )
    parser.add_argument("--user", default="", help="the user's id")
    parser.add_argument("--run", default="", help="the run's id, to undo it")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    if arguments.what != "stems" and not arguments.user:
        raise WrongUsage(f"{arguments.what} needs --user")
    if arguments.what == "undo" and not arguments.run:
        raise WrongUsage("undo needs --run")
    shown = asyncio.run(run(arguments.what, arguments.user, arguments.run, Settings.from_env(environment)))
    print(json.dumps(shown, indent=2))
    return 0
