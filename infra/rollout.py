"""The rollout of a variant (src/qwestly_agent/rollout/variants.py): who has it, how it does, and what was decided.

show               the trial, its counts beside the base's, what is missing for the next look, and the journal
begin NAME         try a variant with its first share
step PERCENT       go to another share, with counts of their own
end                take the variant back: everybody who is not pinned has the base, in conversations under way as well
pin USER NAME      give one user a variant, whatever the shares; they are not counted
unpin USER
forget             delete a document that cannot be read
"""

import argparse
import asyncio
from collections.abc import Mapping

from infra.rollout_table import table
from infra.stages import WrongUsage, database_settings
from qwestly_agent.base.clock import new_id, system_clock, to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import make_mongo_client
from qwestly_agent.domain.rollout import JournalEntry, Move, Rollout, Trial, begin_trial, end_trial, move_to_share
from qwestly_agent.rollout import variants
from qwestly_agent.rollout.variants import Variant
from qwestly_agent.stores.measures import Rollouts, UnreadableRollout
from qwestly_agent.stores.user_settings import UserSettingsStore

NOT_READABLE = (
    "The rollout's document cannot be read, and everybody who is not pinned has the base. `forget` deletes it."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["show", "begin", "step", "end", "pin", "unpin", "forget"])
    parser.add_argument("given", nargs="*", metavar="ARGUMENT", help="as above")
    parser.add_argument("--why", default="", help="for the journal")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    takes = {"begin": 1, "step": 1, "pin": 2, "unpin": 1}.get(arguments.what, 0)
    if len(arguments.given) != takes:
        raise WrongUsage(f"{arguments.what} takes {takes} argument{'s' * (takes != 1)}.")
    try:
        print(asyncio.run(_run(arguments, database_settings(environment))))
    except UnreadableRollout:
        print(NOT_READABLE)
        return 1
    return 0


async def _run(arguments: argparse.Namespace, settings: Settings) -> str:
    async with make_mongo_client(settings.mongodb_uri) as mongo:
        database = mongo[settings.mongodb_database]
        rollouts, users, now = Rollouts(database), UserSettingsStore(database), system_clock()
        match arguments.what, arguments.given:
            case "begin", [name]:
                variant = _declared(name, now)
                await rollouts.change(lambda before: _begun(before, variant, now, arguments.why))
            case "step", [percent]:
                share = _percent(percent)
                await rollouts.change(lambda before: _stepped(before, share, now, arguments.why))
            case "end", _:
                await rollouts.change(lambda before: _ended(before, now, arguments.why))
            case "pin", [user_id, name]:
                await users.pin(user_id, _declared(name, None).name)
                return f"{user_id} has {name} from their next message on."
            case "unpin", [user_id]:
                await users.pin(user_id, None)
                return f"{user_id} has what the shares say, from their next conversation on."
            case "forget", _:
                await rollouts.delete()
                return "Deleted: everybody who is not pinned has the base, and nothing is tried."
            case _:
                pass
        return await table(database, now)


def _declared(name: str, now: float | None) -> Variant:
    found = next((each for each in variants.VARIANTS if each.name == name), None)
    if found is None:
        known = ", ".join(each.name for each in variants.VARIANTS) or "none"
        raise WrongUsage(f"There is no variant {name!r}; declared is {known}.")
    if now is not None and to_datetime(now).date() < found.since:
        raise WrongUsage(f"{name} may be tried from {found.since} on.")
    return found


def _percent(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100:
        raise WrongUsage("A share is a whole number from 1 to 100; `end` takes the variant back.")
    return int(text)


def _begun(rollout: Rollout, variant: Variant, now: float, why: str) -> Rollout:
    if rollout.trial and rollout.trial.state != "kept":
        raise WrongUsage(f"{rollout.trial.variant} is being tried. End it first.")
    return begin_trial(rollout, variant.name, variant.roles, variant.share, now, f"{variant.name}-{new_id()[:8]}", why)


def _stepped(rollout: Rollout, share: int, now: float, why: str) -> Rollout:
    trial = _running(rollout)
    return move_to_share(rollout, trial, share, _entry(trial, "forced", share, now, why))


def _ended(rollout: Rollout, now: float, why: str) -> Rollout:
    return end_trial(rollout, _entry(_running(rollout), "ended", 0, now, why))


def _running(rollout: Rollout) -> Trial:
    if rollout.trial is None:
        raise NotFound("Nothing is being tried.")
    return rollout.trial


def _entry(trial: Trial, move: Move, share: int, now: float, why: str) -> JournalEntry:
    return JournalEntry(at=now, by="operator", move=move, variant=trial.variant, share=share, why=(why,) if why else ())
