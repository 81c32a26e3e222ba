"""The operators' brake: `python -m infra.brake on | off | show [--user ID]`, for everybody where no user is named.

Needs the function's own settings in its environment. `on` waits until nothing runs, 30 seconds at most, prints the
receipt, and exits with 1 where something could not be stopped.
"""

import argparse
import asyncio
import sys

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.pause import PATIENCE_SECONDS, PauseStatus, RunsOf
from qwestly_agent.base.clock import system_clock
from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import look_up, make_mongo_client
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.drafts import Drafts
from qwestly_agent.stores.due import Sweeps
from qwestly_agent.stores.signals import Signals


async def run(what: str, user_id: str, settings: Settings) -> PauseStatus:
    async with make_mongo_client(settings.mongodb_uri) as mongo:
        database = mongo[settings.mongodb_database]
        signals = Signals(database)
        if what == "off":
            await signals.brake_off(user_id)
        if what == "on":
            one = RunsOf(user_id, Conversations(database), Drafts(database), Approvals(database))
            runs = Sweeps(database) if user_id == EVERYBODY else one
            return await pause.engage(signals, user_id, runs, system_clock)
        return await pause.status(signals, user_id)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.brake", description=__doc__)
    parser.add_argument("what", choices=["on", "off", "show"], help=f"on waits up to {PATIENCE_SECONDS:g} seconds")
    parser.add_argument("--user", default=EVERYBODY, help="one user's id; everybody where it is left out")
    arguments = parser.parse_args()
    try:
        settings = Settings.from_env().resolve(look_up)
    except InvalidSettings as error:
        parser.error(str(error))
    told = asyncio.run(run(arguments.what, arguments.user, settings))
    print(told.model_dump_json(indent=2))
    return 1 if told.state == "partial" else 0


if __name__ == "__main__":
    sys.exit(main())
