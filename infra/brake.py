"""The operators' brake, for everybody where no user is named.

`on` waits until nothing runs, 30 seconds at most, prints the receipt, and exits with 1 where something could not be
stopped.
"""

import argparse
import asyncio
from collections.abc import Mapping

from infra.stages import database_settings
from qwestly_agent.approvals import pause
from qwestly_agent.approvals.pause import PATIENCE_SECONDS, PauseStatus, RunsOf
from qwestly_agent.base.clock import system_clock
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import make_mongo_client
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.drafts import Drafts
from qwestly_agent.stores.due import Sweeps
from qwestly_agent.stores.messages import Messages
from qwestly_agent.stores.signals import Signals


async def run(what: str, user_id: str, settings: Settings) -> PauseStatus:
    async with make_mongo_client(settings.mongodb_uri) as mongo:
        database = mongo[settings.mongodb_database]
        signals = Signals(database)
        if what == "off":
            await signals.brake_off(user_id)
        if what == "on":
            one = RunsOf(user_id, Conversations(database), Messages(database), Drafts(database), Approvals(database))
            runs = Sweeps(database) if user_id == EVERYBODY else one
            return await pause.engage(signals, user_id, runs, system_clock)
        return await pause.status(signals, user_id)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["on", "off", "show"], help=f"on waits up to {PATIENCE_SECONDS:g} seconds")
    parser.add_argument("--user", default=EVERYBODY, help="one user's id; everybody where it is left out")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    status = asyncio.run(run(arguments.what, arguments.user, database_settings(environment)))
    print(status.model_dump_json(indent=2))
    return 1 if status.state == "partial" else 0
