"""What was consolidated of a user's memories: `python -m infra.consolidations list | undo --user ID [--run ID]`.

Needs the function's own settings in its environment. `undo` restores what was before that run, except what was
forgotten or superseded since, and prints the memories that hold again; its pairs are never joined again.
"""

import argparse
import asyncio
import json
import sys
from typing import Any

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import AgentError, InvalidSettings
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap
from qwestly_agent.memory.consolidation import undo
from qwestly_agent.stores.journal import Run


async def run(what: str, user_id: str, run_id: str, settings: Settings) -> Any:
    services = await bootstrap(settings)
    try:
        if what == "undo":
            return (await undo(services.memories, services.journal, user_id, run_id)).model_dump(mode="json")
        return [shown(each) for each in await services.journal.all(user_id)]
    finally:
        await services.close()


def shown(run: Run) -> dict[str, Any]:
    return {
        "run": run.run_id,
        "at": to_datetime(run.created).isoformat(),
        "status": run.status,
        "replaced": [each.model_dump() for each in run.replacements],
        "left_by_the_cap": run.left,
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.consolidations", description=__doc__)
    parser.add_argument("what", choices=["list", "undo"], help="the runs of a user, oldest first, or take one back")
    parser.add_argument("--user", required=True, help="the user's id")
    parser.add_argument("--run", default="", help="the run's id, to undo it")
    arguments = parser.parse_args()
    if arguments.what == "undo" and not arguments.run:
        parser.error("undo needs --run")
    try:
        told = asyncio.run(run(arguments.what, arguments.user, arguments.run, Settings.from_env()))
    except InvalidSettings as error:
        parser.error(str(error))
    except AgentError as error:
        print(error.message, file=sys.stderr)
        return 1
    print(json.dumps(told, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
