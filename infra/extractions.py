"""List or retry conversations that could not be read for memories.

`list` prints a line of JSON for each conversation that was set aside, with the type of its last failure; the log has
the details. `again USER CONVERSATION` makes the next sweep read one, with its full number of attempts. Quote an id that
contains a |.
"""

import argparse
import asyncio
import json
from collections.abc import Mapping

from infra.stages import WrongUsage, database_settings
from qwestly_agent.base.clock import system_clock, to_datetime
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import make_mongo_client
from qwestly_agent.stores.conversations import Watermarks

MOST_LISTED = 1_000


async def list_quarantined(settings: Settings) -> list[str]:
    async with make_mongo_client(settings.mongodb_uri) as mongo:
        aside = await Watermarks(mongo[settings.mongodb_database]).list_quarantined(MOST_LISTED)
    return [
        json.dumps({"user": user_id, "conversation": conversation_id, **why, "at": to_datetime(why["at"]).isoformat()})
        for user_id, conversation_id, why in aside
    ]


async def again(settings: Settings, user_id: str, conversation_id: str) -> None:
    """Schedule a conversation that was set aside. Raises `NotFound`."""
    async with make_mongo_client(settings.mongodb_uri) as mongo:
        await Watermarks(mongo[settings.mongodb_database]).read_again(user_id, conversation_id, system_clock())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["list", "again"], help="those that were set aside; read one of them again")
    parser.add_argument("user", nargs="?", help="the id of its user, for `again`")
    parser.add_argument("conversation", nargs="?", help="its id, for `again`")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    settings = database_settings(environment)
    if arguments.what == "list":
        print("\n".join(asyncio.run(list_quarantined(settings))) or "None is set aside.")
    elif arguments.conversation:
        asyncio.run(again(settings, arguments.user, arguments.conversation))
        print("The next sweep reads it.")
    else:
        raise WrongUsage("again needs USER and CONVERSATION")
    return 0
