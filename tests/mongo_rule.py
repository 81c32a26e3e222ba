"""A rule for every command that the package sends to MongoDB: it must ask for one user's data, write only to our
collections, and write only events of declared types.

The known collections are read from the role that production runs under.
"""

import asyncio
import json
import sys
import textwrap
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from inspect import getmembers
from pathlib import Path
from pkgutil import iter_modules
from types import FrameType, FunctionType
from typing import Any, NamedTuple

import pytest
from pymongo.monitoring import CommandListener, CommandStartedEvent

import qwestly_agent
from infra.mongo.roles import AGENT
from qwestly_agent import stores
from qwestly_agent.domain import approval as domain
from qwestly_agent.domain.activity import OTHER_EVENTS
from qwestly_agent.platform.collection import Store
from qwestly_agent.stores import activity, collections, user_settings

PACKAGE = f"{Path(qwestly_agent.__file__).parent}/"
CLIENT = "stores/mongo_client.py"
"""It forwards other senders' commands."""
TESTS = f"{Path(__file__).parent}/"

READS = {"find", "aggregate", "count", "distinct"}
WRITES = {"insert", "update", "delete", "findAndModify"}
OF_NO_DATA = {"getMore", "killCursors", "endSessions", "ping", "saslStart", "saslContinue"}
"""Commands that continue or surround one that was checked when it began. A command in none of the three sets is
rejected."""
PAST_THE_FILTER = {"$lookup", "$graphLookup", "$unionWith", "$out", "$merge"}
"""Stages that read or write other documents than the first stage selects."""

WITH_EVERYBODYS = {activity.COLLECTION, user_settings.SIGNALS}
ABOUT_NOBODY = {each for each in collections() if each.no_user_reason}
MADE_BY_TESTS = {"things": {"find"}}
"""`Searchable` is tested on a collection without a store. It is read like users' data."""


def methods_across_users() -> Iterator[tuple[type[Store], FunctionType]]:
    """Marked methods of the stores: their reads may be across users, but they write user by user."""
    for module in (import_module(f"{stores.__name__}.{each.name}") for each in iter_modules(stores.__path__)):
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Store) and kind.__module__ == module.__name__:
                yield from ((kind, each) for _, each in getmembers(kind, lambda each: hasattr(each, "across_users")))


ACROSS_USERS = {method.__code__ for _, method in methods_across_users()}

ACTIONS = {**{name: set(actions) for name, actions in AGENT.actions.items()}, **MADE_BY_TESTS}
EVENTS = {name: set[str]() for name in ACTIONS} | {each: {*each.events} for each in collections()}
"""The types of events that may be written into documents, by collection."""
EVENTS[activity.COLLECTION] = {*OTHER_EVENTS}.union(*EVENTS.values())


class Sender(NamedTuple):
    line: str
    """A line of the package: `stores/docs.py:34`."""
    is_across_users: bool = False
    """True if a marked method called it. Tasks run by `asyncio.gather` have no caller."""


def complaint_about(command: Mapping[str, Any], sender: Sender) -> str | None:
    """Return a sentence about what is wrong with a command sent by this line."""
    name, collection = next(iter(command.items()))
    pipeline = command.get("pipeline", [])
    shown: Any = pipeline
    if name not in READS | WRITES:
        wrong, shown = "a command that is not the package's to send", dict(command)
    elif collection not in ACTIONS:
        wrong, shown = "but no store declares it", list(_selections(name, command))
    elif name in WRITES and ACTIONS[collection] == {"find"}:
        wrong, shown = "which the package may only read", list(_selections(name, command))
    elif past := PAST_THE_FILTER & set(_names_in(pipeline)):
        wrong = f"with {', '.join(sorted(past))}, which reaches past its filter"
    elif collection in ABOUT_NOBODY and name in WRITES and "user_id" in _names_in(command):
        wrong, shown = "whose documents are said to be of no user", dict(command)
    elif undeclared := set(_event_types(command)) - EVENTS[collection]:
        wrong, shown = "with an event that is not declared", sorted(undeclared)
    elif (
        (name == "find" and collection in WITH_EVERYBODYS and _is_with_everybodys(command.get("filter")))
        or collection in ABOUT_NOBODY
        or (name in READS and sender.is_across_users)
    ):
        return None
    elif of_nobody := [each for each in _selections(name, command) if not _is_of_one_user(name, each)]:
        wrong, shown = "without an equality on user_id", of_nobody[0]
    else:
        return None
    return f"{sender.line} sent {name} on {collection}, {wrong}: {textwrap.shorten(repr(shown), 400)}"


def _selections(name: str, command: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the filters of a command's statements."""
    match name:
        case "insert":
            yield from command["documents"]
        case "update" | "delete":
            yield from (each["q"] for each in command[f"{name}s"])
        case "aggregate":
            yield filter_of(command["pipeline"])
        case _:
            yield command.get("filter") if name == "find" else command.get("query")


def _event_types(command: Mapping[str, Any]) -> Iterator[str]:
    """The types of the events that a command writes into outboxes or into the feed."""
    changes = [command.get("update"), *(each["u"] for each in command.get("updates", ()))]
    pushed = [each.get("$push", {}).get("events", {}).get("$each", ()) for each in changes if isinstance(each, Mapping)]
    inserted = [each.get("events", ()) for each in command.get("documents", ())]
    for text in (text for texts in (*pushed, *inserted) for text in texts):
        yield json.loads(text)["type"]
    if command.get("update") == activity.COLLECTION:
        yield from (each["u"]["$setOnInsert"]["type"] for each in command["updates"])


def filter_of(pipeline: Sequence[Mapping[str, Any]]) -> Any:
    """Return the filter of a pipeline's first stage."""
    first = pipeline[0] if pipeline else {}
    if search := first.get("$search"):
        clauses = search.get("compound", {}).get("filter", [])
        return {each["equals"]["path"]: each["equals"]["value"] for each in clauses if "equals" in each}
    return first.get("$match", first.get("$vectorSearch", {}).get("filter"))


def _is_of_one_user(name: str, selection: Any) -> bool:
    if not isinstance(selection, Mapping):
        return False
    user = selection.get("user_id")
    if name == "insert":
        return _is_user(user)
    if _is_user(user) or (isinstance(user, Mapping) and _is_user(user.get("$eq"))):
        return True
    return any(_is_of_one_user(name, each) for each in selection.get("$and", []))


def _is_with_everybodys(selection: Any) -> bool:
    """True if the filter selects one user's documents plus those that operators share with all users."""
    match selection:
        case {"user_id": {"$in": [user, domain.EVERYBODY], **more}} if not more:
            return _is_user(user)
        case _:
            return False


def _is_user(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield name
            yield from _names_in(item)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for item in value:
            yield from _names_in(item)


class Watch(CommandListener):
    """Records the commands and checks them when asked: the driver swallows exceptions of listeners."""

    def __init__(self) -> None:
        self._heard: deque[tuple[Sender, dict[str, Any]]] = deque()

    def started(self, event: CommandStartedEvent) -> None:
        sender = _sender(sys._getframe(1))
        if sender and event.command_name not in OF_NO_DATA:
            self._heard.append((sender, dict(event.command)))

    def succeeded(self, event: Any) -> None:
        pass

    def failed(self, event: Any) -> None:
        pass

    def count(self, words: str) -> int:
        """Return the number of this test's commands that contain these words."""
        return sum(words in str(command) for _, command in list(self._heard))

    def commands(self) -> list[dict[str, Any]]:
        """Return the commands of this test since `complaints` was last read."""
        return [command for _, command in list(self._heard)]

    def complaints(self) -> list[str]:
        """Complaints about the commands since the last call."""
        heard = [self._heard.popleft() for _ in range(len(self._heard))]
        return [said for sender, command in heard if (said := complaint_about(command, sender))]

    def check(self) -> None:
        """Fails the running test."""
        if complaints := self.complaints():
            pytest.fail("\n".join(complaints), pytrace=False)


def _sender(frame: FrameType | None) -> Sender | None:
    """The innermost line of the package behind a command, or None if a test sent it directly.

    The stores' tests read the database through the stores' own client. An unknown sender counts as the package.
    """
    line, by_a_test, is_across_users = "", False, False
    # The lower part of an event loop's stack shows who runs the loop, not who sent this command.
    while frame and frame.f_code is not asyncio.Handle._run.__code__:
        file = frame.f_code.co_filename
        is_across_users |= frame.f_code in ACROSS_USERS
        if not line and file.startswith(PACKAGE) and not file.endswith(CLIENT):
            line = f"{file.removeprefix(PACKAGE)}:{frame.f_lineno}"
        by_a_test |= file.startswith(TESTS)
        frame = frame.f_back
    if line:
        return Sender(line, is_across_users)
    return None if by_a_test else Sender("somebody")
