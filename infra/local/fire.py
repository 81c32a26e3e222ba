"""Fire schedules of the stack running on this machine, one after another; without a name, list them.

PORT is the port of its page (8000).
"""

import argparse
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any


class NotFired(Exception):
    """A sentence for the person who entered the name."""


def ask(port: str, path: str, method: str) -> Any:
    """Request the stack's page. Raises `NotFired`."""
    url = f"http://127.0.0.1:{port}/local/{path}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise NotFired(json.load(error)["error"]["message"]) from None
    except urllib.error.URLError as error:
        raise NotFired(f"Nothing answers at {url}: {error.reason}. Is `make run` running?") from None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="a schedule's name")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    port = environment.get("PORT") or "8000"
    try:
        if not arguments.names:
            for schedule in ask(port, "schedules", "GET")["items"]:
                print(f"{schedule['name']}   {schedule['expression']}   {schedule['target']}")
        for name in arguments.names:
            answer = ask(port, f"schedules/{name}", "POST")
            print(json.dumps(answer["answer"]))
            if answer["failed"]:
                return 1
    except NotFired as error:
        print(error, file=sys.stderr)
        return 1
    return 0
