"""Export or erase what is kept about one user. An id that contains a | needs quotes.

For a user who asked outside of the chat and cannot sign in: does what GET /api/me/export and DELETE /api/me do.
`erase` stops what runs, wakes executions that wait, and prints the number of deleted documents by collection; what the
candidate app keeps is erased there. Both exit with 1 if nothing is kept, as for a mistyped id.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Mapping

from qwestly_agent.account import erase, export
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap


class NothingKept(Exception):
    """There is nothing about this user."""


async def run(what: str, user_id: str, settings: Settings) -> str:
    """Raises `NothingKept`."""
    services = await bootstrap(settings)
    try:
        if not any((await services.user_data.counts(user_id)).values()):
            raise NothingKept
        if what == "erase":
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
