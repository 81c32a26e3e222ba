"""Print each step of each approval as JSON Lines, oldest first: time, user, step, who decided, level, and the digest of
the arguments. No content.

The steps come from the activity feed, which is kept for 90 days. A step whose approval was erased has no digest.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from pymongo import MongoClient
from pymongo.database import Database

from infra.stages import database_settings, parse_moment
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.stores.activity import COLLECTION as ACTIVITY
from qwestly_agent.stores.activity import event_of
from qwestly_agent.stores.approvals import COLLECTION as APPROVALS

TOLD = ("approval_id", "kind", "tool", "effect", "level", "answer", "decided_by", "undoes")


def steps(database: Database[dict[str, Any]], since: datetime) -> Iterator[dict[str, Any]]:
    query = {"at": {"$gte": since.timestamp()}, "type": {"$regex": "^approval[.]"}}
    for event in map(event_of, database[ACTIVITY].find(query).sort([("at", 1), ("_id", 1)])):
        key = {"_id": event.data.get("approval_id"), "user_id": event.user_id}
        if key["_id"] is None:  # a user's mail setting
            continue
        record = database[APPROVALS].find_one(key, {"args_digest": 1}) or {}
        yield {
            "at": to_datetime(event.at).isoformat(),
            "user": event.user_id,
            "step": event.type.removeprefix("approval."),
            **{name: event.data[name] for name in TOLD if name in event.data},
            "digest": record.get("args_digest"),
            "run_id": event.run_id,
        }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--since", required=True, metavar="TIME", help="ISO 8601, in UTC if it names no zone")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    since = parse_moment(arguments.since)
    settings = database_settings(environment)
    with MongoClient[dict[str, Any]](settings.mongodb_uri) as mongo:
        for step in steps(mongo[settings.mongodb_database], since):
            print(json.dumps(step, ensure_ascii=False))
    return 0
