"""The operators' brake, for all users unless one is named.

`on` waits until nothing runs, for at most 30 seconds, and prints the receipt. It exits with 1 if something could not be
stopped, or was sent with an unknown outcome. `show` completes the receipt as far as possible, even after the brake was
released.
"""

import argparse
import asyncio
from collections.abc import Mapping

from infra.stages import database_settings
from qwestly_agent.approvals import pause
from qwestly_agent.approvals.pause import PATIENCE_SECONDS, BrakeUnsure, PauseStatus, ReceiptUnread
from qwestly_agent.base.clock import system_clock
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import make_mongo_client
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.stores.runs import Sweeps
from qwestly_agent.stores.user_settings import Signals


async def run(what: str, user_id: str, settings: Settings) -> PauseStatus:
    async with make_mongo_client(settings.mongodb_uri) as mongo:
        database = mongo[settings.mongodb_database]
        do = {"on": pause.engage, "off": pause.release, "show": pause.status}[what]
        return await do(Signals(database), Sweeps(database), user_id, system_clock)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["on", "off", "show"], help=f"on waits up to {PATIENCE_SECONDS:g} seconds")
    parser.add_argument("--user", default=EVERYBODY, help="one user's id; everybody where it is left out")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    try:
        status = asyncio.run(run(arguments.what, arguments.user, database_settings(environment)))
    except (BrakeUnsure, ReceiptUnread) as error:
        print(error.message)
        return 1
    print(status.model_dump_json(indent=2))
    return 1 if status.state == "partial" else 0
