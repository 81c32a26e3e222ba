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
    "brake": ("infra.brake", "stop all work, or that of one user, and resume it"),
    "users": ("infra.users", "export or erase the data kept about one user"),
    "mongo": ("infra.mongo.command", "apply indexes and the database role, or ingest the pages about Qwestly"),
    "topics": ("infra.topics", "load the library of learning content"),
    "memories": ("infra.memories", "undo a nightly merge of a user's memories"),
    "review": (
        "evals.review",
        "read failed answers, the first memories, a judge's verdicts, or one user's turns for support",
    ),
    "audit": ("infra.audit", "print each step of each approval since a time, as JSON Lines without content"),
    "evals": ("evals.first.command", "the first hour with a key: measure what only a model shows, within a cost limit"),
    "answers": ("evals.answers", "judge a sample of the last day's answers, and summarize weeks"),
    "extractions": ("infra.extractions", "list conversations that could not be read for memories, and retry them"),
    "rollout": ("infra.rollout", "show, begin, advance, end or pin the trial of a variant"),
    "restore": ("infra.restore", "find and fix what is inconsistent after the database was restored"),
    "release": ("infra.release", "roll back to an earlier release, undo that, or delete old versions"),
    "doctor": ("infra.doctor.command", "check a stage, and print what is wrong with it"),
    "smoke": ("infra.smoke.command", "walk through a deployed chat as a made-up user"),
    "fire": ("infra.local.fire", "run a schedule of the local stack now"),
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
