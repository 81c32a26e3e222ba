"""Conversations that could not be read for what to remember.

python -m infra.extractions list
python -m infra.extractions again USER CONVERSATION        with quotes: an id may hold a |

Needs the function's own settings in its environment. `list` prints a line of JSON for each that was set aside, with the
kind of its last failure; the log has the rest. `again` has one read by the next sweep, with all its attempts before it.
"""

import argparse
import asyncio
import json
import sys

from qwestly_agent.base.clock import system_clock, to_datetime
from qwestly_agent.base.errors import InvalidSettings, NotFound
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import look_up, make_mongo_client
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.due import Sweeps

MOST_LISTED = 1_000


async def listed(settings: Settings) -> list[str]:
    async with make_mongo_client(settings.mongodb_uri) as mongo:
        aside = await Sweeps(mongo[settings.mongodb_database]).set_aside(MOST_LISTED)
    return [
        json.dumps({"user": user_id, "conversation": conversation_id, **why, "at": to_datetime(why["at"]).isoformat()})
        for user_id, conversation_id, why in aside
    ]


async def again(settings: Settings, user_id: str, conversation_id: str) -> None:
    """Raises `NotFound`."""
    async with make_mongo_client(settings.mongodb_uri) as mongo:
        await Conversations(mongo[settings.mongodb_database]).read_again(user_id, conversation_id, system_clock())


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m infra.extractions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="those that were set aside")
    one = commands.add_parser("again", help="have one of them read by the next sweep")
    one.add_argument("user", help="its user's id")
    one.add_argument("conversation", help="its id")
    arguments = parser.parse_args()
    try:
        settings = Settings.from_env().resolve(look_up)
        if arguments.command == "list":
            print("\n".join(asyncio.run(listed(settings))) or "None is set aside.")
        else:
            asyncio.run(again(settings, arguments.user, arguments.conversation))
            print("The next sweep reads it.")
    except InvalidSettings as error:
        parser.error(str(error))
    except NotFound as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
