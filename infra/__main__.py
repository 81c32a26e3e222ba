"""The operators' command, run from a checkout.

Settings come from the environment or, with --stage, from template.yaml and samconfig.toml in this checkout.
References to secrets are read with the operator's permissions.

Exit codes: 0 done; 1 failed, or a check failed; 2 wrong usage, or a setting is missing.
"""

import argparse
import os
import sys
from importlib import import_module
from typing import Any

COMMANDS = {
    "brake": ("infra.brake", "stop everything of everybody or of one user, and let it run again"),
    "users": ("infra.users", "export or erase what is kept about one user"),
    "mongo": ("infra.mongo.command", "indexes, the database role, and the pages about Qwestly"),
    "topics": ("infra.topics", "the library of what can be learnt"),
    "memories": ("infra.memories", "what was merged of a user's memories, and how to take it back"),
    "review": (
        "evals.review",
        "look at answers that went wrong, at the first memories, at the judge, or at one user for support",
    ),
    "audit": ("infra.audit", "each step of each approval since a time, as JSON Lines without content"),
    "evals": ("evals.first.command", "the first hour with a key: measure what only a model can show, within a ceiling"),
    "answers": ("evals.answers", "judge a sample of the last day's answers, and sum up weeks"),
    "extractions": ("infra.extractions", "conversations that could not be read for what to remember"),
    "rollout": ("infra.rollout", "variants that are tried: show, begin, step, end, pin"),
    "restore": ("infra.restore", "after the database was restored: what is wrong by that, and put it right"),
    "release": ("infra.release", "take a release back, or forth again; delete old versions"),
    "doctor": ("infra.doctor.command", "tell what is right with a stage and what is not"),
    "smoke": ("infra.smoke.command", "walk through a deployed chat as a user who is nobody"),
    "fire": ("infra.local.fire", "fire a schedule of the stack that runs on this machine"),
}
"""Subcommands: a module with `add_arguments(parser)` and `command(arguments, environment)`, and a description."""
WITHOUT_STAGE = {"fire"}


def main() -> int:
    layout: Any = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = argparse.ArgumentParser(prog="qwestly-agent", description=__doc__, **layout)
    commands = parser.add_subparsers(dest="name", metavar="COMMAND", required=True)
    chosen, module = parser, None
    for name, (path, summary) in COMMANDS.items():
        if sys.argv[1:2] != [name]:
            commands.add_parser(name, help=summary)
            continue
        # Import only this one, because the others are slow to import.
        module = import_module(path)
        chosen = commands.add_parser(name, help=summary, description=module.__doc__, **layout)
        module.add_arguments(chosen)
        if name not in WITHOUT_STAGE:
            chosen.add_argument("--stage", help="of samconfig.toml; without it, the environment's settings")
    arguments = parser.parse_args()
    assert module, "The parser takes no other command."
    return _run(module, arguments, chosen)


def _run(module: Any, arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    from botocore.exceptions import BotoCoreError, ClientError
    from pymongo.errors import ConnectionFailure, OperationFailure

    from infra.stages import Stage, WrongUsage
    from qwestly_agent.base.errors import AgentError, InvalidSettings

    try:
        stage = getattr(arguments, "stage", None)
        return module.command(arguments, Stage.load(stage).environment if stage else os.environ)
    except (InvalidSettings, WrongUsage) as error:
        parser.error(str(error))
    except AgentError as error:
        print(error.message, file=sys.stderr)
    except (BotoCoreError, ClientError) as error:
        print(f"AWS cannot be asked: {error}", file=sys.stderr)
    except ConnectionFailure:
        print("The database at MONGODB_URI cannot be reached.", file=sys.stderr)
    except OperationFailure as error:
        print(f"The database refused: {(error.details or {}).get('errmsg', error.code)}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
