"""Export or erase the data of one user. Quote an id that contains a |.

For a user who asked outside the chat and cannot sign in: does the same as GET /api/me/export and DELETE /api/me.
`erase` stops running work, notifies waiting executions, and prints the number of deleted documents by collection. Data
in the candidate app is erased there. Both exit with 1 if there is no data, for example for a mistyped id.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping

from qwestly_agent.account import erase, export
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap

NOT_WRITTEN_DOWN = "ERASURE_LOG is not set: where a backup of the database is restored, nobody erases this user again."


class NothingKept(Exception):
    """No data is stored about this user."""


async def run(what: str, user_id: str, settings: Settings) -> str:
    """Export or erase. Raises `NothingKept`."""
    services = await bootstrap(settings)
    try:
        if not any((await services.user_data.count_documents(user_id)).values()):
            raise NothingKept
        if what == "erase":
            if not settings.erasure_log:
                print(NOT_WRITTEN_DOWN, file=sys.stderr)
            return json.dumps(await erase(services, user_id), indent=2)
        return b"".join([piece async for piece in await export(services.user_data, services.clock, user_id)]).decode()
    finally:
        await services.close()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["export", "erase"], help="as one JSON document; for good")
    parser.add_argument("user", help="the user's id")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    try:
        print(asyncio.run(run(arguments.what, arguments.user, Settings.from_env(environment))))
    except NothingKept:
        print(f"Nothing is kept about {arguments.user}.", file=sys.stderr)
        return 1
    return 0
