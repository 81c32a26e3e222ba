"""Roll a stage back to an earlier release, and delete versions that are no longer needed.

A release is the result of one build: all functions with one version of the layer, whose number identifies it. `list`
shows the releases that are kept, and the one that the functions' alias `live` points to. `back` points it to the
previous release, in every function or in none, and gives the state machines their definitions of it. `to RELEASE`
points it to any other kept release, and thus undoes `back`. `prune` keeps the machines' versions of the live release,
and deletes versions before those two; it keeps versions after the live one, since after `back` CloudFormation still
takes the newest for its own. `make deploy` ends with `prune`. `move` begins those anew that run by an older
definition, which may call functions that are gone.

Nothing is changed while a deployment runs, nor before each version has its snapshot, which Lambda drops after two weeks
without calls. Permissions: lambda:GetAlias, UpdateAlias, ListVersionsByFunction, DeleteFunction,
GetFunctionConfiguration and InvokeFunction; cloudformation:DescribeStacks; for machines see `release_machines.py`.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError, WaiterError

from infra import release_machines as machines
from infra.local.environment import FUNCTION
from infra.stages import Stage, WrongUsage
from qwestly_agent.base.clock import system_clock, to_datetime
from qwestly_agent.clients.aws import AWS

LIVE = "live"
RECORD = re.compile(r"release (\d+) since (\S+)")
"""Stored in the alias's description, which no deployment changes: the last live release that this command saw."""
_REQUEST = {"http": {"method": "GET", "path": "/healthz", "sourceIp": "127.0.0.1"}}
HEALTH = {"version": "2.0", "rawPath": "/healthz", "headers": {}, "requestContext": _REQUEST}
"""The event of a function URL."""
PATIENCE = {"Delay": 5, "MaxAttempts": 120}
NOT_TAKEN_BACK = """\
Not taken back: schedules, alarms, roles, reserved concurrency, secrets, indexes and what was written to
the database. Until a deployment succeeds, CloudFormation takes the newest release for the live one: a deployment that
fails returns to it."""


class Refused(Exception):
    """Has a sentence for the operator. Nothing was changed, unless the sentence names it."""


@dataclass(frozen=True)
class Version:
    number: int
    release: int
    published: datetime


@dataclass(frozen=True)
class Function:
    name: str
    live: int
    """Number of the version that the alias points to."""
    revision: str
    record: str
    versions: Sequence[Version]
    """Versions that belong to releases, oldest first."""

    def newest_of(self, release: int) -> Version | None:
        return next((each for each in reversed(self.versions) if each.release == release), None)

    @property
    def live_version(self) -> Version | None:
        return next((each for each in self.versions if each.number == self.live), None)

    @property
    def recorded(self) -> tuple[int, datetime] | None:
        """The release that was live when this command last ran, and since when."""
        found = RECORD.fullmatch(self.record)
        return (int(found[1]), datetime.fromisoformat(found[2])) if found else None

    @property
    def live_since(self) -> datetime | None:
        """Since when the live version receives requests, as far as known; at the earliest since it was published."""
        if not (version := self.live_version):
            return None
        recorded = self.recorded
        return recorded[1] if recorded and recorded[0] == version.release else version.published


@dataclass(frozen=True)
class Release:
    number: int
    published: datetime
    functions: Sequence[Function]
    """The functions that have a version of this release."""

    @property
    def live(self) -> list[Function]:
        return [each for each in self.functions if (v := each.live_version) and v.release == self.number]


# --- what is there ----------------------------------------------------------------------------------------------------


def functions_of(stage: Stage, client: Any) -> list[Function]:
    """Return the functions of this checkout. Raises `Refused` if one is not deployed."""
    return [_function(stage, client, stage.template.name(each)) for each in stage.template.of_type(FUNCTION)]


def _function(stage: Stage, client: Any, name: str) -> Function:
    try:
        alias = client.get_alias(FunctionName=name, Name=LIVE)
    except client.exceptions.ResourceNotFoundException:
        raise Refused(f"{name} is not deployed: use the checkout of what is.") from None
    pages = client.get_paginator("list_versions_by_function").paginate(FunctionName=name)
    versions = sorted(_versions(stage, (each for page in pages for each in page["Versions"])), key=lambda v: v.number)
    return Function(name, int(alias["FunctionVersion"]), alias["RevisionId"], alias.get("Description", ""), versions)


def _versions(stage: Stage, described: Iterator[Mapping[str, Any]]) -> Iterator[Version]:
    layer = re.compile(rf":layer:{re.escape(stage.stack)}:(\d+)$")
    for each in described:
        releases = [found[1] for one in each.get("Layers", []) if (found := layer.search(one["Arn"]))]
        if each["Version"] != "$LATEST" and releases:
            yield Version(int(each["Version"]), int(releases[0]), datetime.fromisoformat(each["LastModified"]))


def releases_of(functions: Sequence[Function]) -> list[Release]:
    """Return the releases, newest first."""
    numbers = {version.release for function in functions for version in function.versions}
    return [_release(number, functions) for number in sorted(numbers, reverse=True)]


def _release(number: int, functions: Sequence[Function]) -> Release:
    newest = [(each, version) for each in functions if (version := each.newest_of(number))]
    return Release(number, max(version.published for _, version in newest), [each for each, _ in newest])


def live_release(functions: Sequence[Function]) -> int:
    """Return the live release. Raises `Refused` if functions differ, because only some of them were moved."""
    numbers = {version.release if (version := each.live_version) else 0 for each in functions}
    if len(numbers) > 1 or 0 in numbers or any(each.newest_of(*numbers) != each.live_version for each in functions):
        raise Refused("The functions are not all at the newest version of one release: name one, `release to …`.")
    return numbers.pop()


def release_before(functions: Sequence[Function], live: int) -> int | None:
    """Return the release that was live before: the recorded one, otherwise the next older one that is kept. A release
    that never became live, or was rolled back, is not recorded."""
    older = {version.release for each in functions for version in each.versions if version.release < live}
    recorded = {each.recorded[0] for each in functions if each.recorded}
    return max(older & recorded, default=None) or max(older, default=None)


# --- what is done -----------------------------------------------------------------------------------------------------


def wake(client: Any, function: Function, version: Version) -> None:
    """Make Lambda create the version's snapshot if it has none, and wait for it. Raises `Refused`."""
    named = {"FunctionName": function.name, "Qualifier": str(version.number)}
    if client.get_function_configuration(**named)["State"] == "Active":
        return
    print(f"{function.name} {version.number} has no snapshot: it is made, for some minutes.", file=sys.stderr)
    # The refusal starts the snapshot; if it is ready by then, the call succeeds.
    with suppress(client.exceptions.SnapStartNotReadyException, client.exceptions.ResourceConflictException):
        client.invoke(FunctionName=f"{function.name}:{version.number}", Payload=json.dumps(HEALTH))
    try:
        client.get_waiter("published_version_active").wait(**named, WaiterConfig=PATIENCE)
    except WaiterError:
        raise Refused(f"{function.name} {version.number} did not become active. No function was moved.") from None


def move(client: Any, functions: Sequence[Function], release: int, now: datetime) -> list[str]:
    """Point the alias of every function to its newest version of a release, or of none. Returns a line for each. Raises
    `Refused`."""
    targets = [(each, each.newest_of(release)) for each in functions]
    if lacking := [each.name for each, version in targets if not version]:
        raise Refused(f"There is no version of release {release} of {', '.join(lacking)}.")
    moving = [(each, version) for each, version in targets if version]
    for function, version in moving:
        wake(client, function, version)
    with ExitStack() as undo:
        for function, version in moving:
            try:
                moved = _point(client, function, version.number, f"release {release} since {now:%FT%TZ}")
            except ClientError as error:
                raise Refused(_undone(undo, function, error)) from error
            undo.callback(_point, client, moved, function.live, function.record)
        undo.pop_all()
    return [f"  {each.name:45} {each.live} → {version.number}" for each, version in moving]


def _point(client: Any, function: Function, version: int, record: str) -> Function:
    """Send all traffic to one version. Returns the updated function."""
    named = {"FunctionName": function.name, "Name": LIVE, "RevisionId": function.revision}
    whole: Any = {"AdditionalVersionWeights": {}}
    alias = client.update_alias(**named, FunctionVersion=str(version), RoutingConfig=whole, Description=record)
    return Function(function.name, version, alias["RevisionId"], record, function.versions)


def _undone(undo: ExitStack, function: Function, error: ClientError) -> str:
    why = f"{function.name}: {error.operation_name} answers {error.response['Error']['Code']}."
    try:
        undo.close()
    except ClientError as again:
        return f"{why} And some could not be taken back: {again.response['Error']['Code']}. See `release list`."
    return f"{why} All functions are where they were."


def prune(client: Any, functions: Sequence[Function], now: datetime) -> list[str]:
    """Delete versions older than the live release and the one before it, and record which release is live. Returns a
    line for each deleted version. Raises `Refused`."""
    live = live_release(functions)
    before = release_before(functions, live)
    deleted = []
    for function in functions:
        kept = function.newest_of(before) if before else None
        for version in function.versions:
            if version.number < function.live and version != kept:
                client.delete_function(FunctionName=function.name, Qualifier=str(version.number))
                deleted.append(f"  {function.name:45} {version.number} of release {version.release}")
        if not function.recorded or function.recorded[0] != live:
            _point(client, function, function.live, f"release {live} since {now:%FT%TZ}")
    return deleted


def refuse_while_deploying(stage: Stage, cloudformation: Any) -> None:
    [stack] = cloudformation.describe_stacks(StackName=stage.stack)["Stacks"]
    if stack["StackStatus"].endswith("_IN_PROGRESS"):
        cancel = f"aws cloudformation cancel-update-stack --stack-name {stage.stack}"
        raise Refused(f"A deployment runs ({stack['StackStatus']}). It is taken back by `{cancel}`.")


# --- as it is typed ---------------------------------------------------------------------------------------------------


def list_versions(functions: Sequence[Function]) -> list[str]:
    head = f"{'release':>7}  {'published':20}  {'functions':9}  live"
    return [head, *(_row(each, len(functions)) for each in releases_of(functions))]


def _row(release: Release, all_of_them: int) -> str:
    live, row = release.live, f"{release.number:7}  {_moment(release.published)}"
    row += f"  {f'{len(release.functions)} of {all_of_them}':9}"
    if not live:
        return row
    since = max(each.live_since or release.published for each in live)
    parts = "" if len(live) == all_of_them else f", in {', '.join(each.name for each in live)} alone"
    return f"{row}  since {_moment(since)}{parts}"


def _moment(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    choices = ["list", "back", "to", "prune", "move"]
    parser.add_argument("what", choices=choices, help="back is to the release before")
    parser.add_argument("release", nargs="?", type=int, help="its number, for `to`")


def command(arguments: argparse.Namespace, _: Mapping[str, str]) -> int:
    if not arguments.stage:
        raise WrongUsage("release needs --stage")
    if (arguments.what == "to") != (arguments.release is not None):
        raise WrongUsage("`to` needs the number of a release, and nothing else takes one")
    aws = AWS()
    try:
        clients = Clients(*map(aws.client, ("lambda", "cloudformation", "stepfunctions")))
        lines = _run(arguments, Stage.load(arguments.stage), clients)
    except Refused as refused:
        print(refused, file=sys.stderr)
    except ClientError as error:
        print(f"{error.operation_name} answers {error.response['Error']['Code']}.", file=sys.stderr)
    else:
        print("\n".join(lines))
        return 0
    return 1


@dataclass(frozen=True)
class Clients:
    functions: Any
    cloudformation: Any
    states: Any


def _run(arguments: argparse.Namespace, stage: Stage, clients: Clients) -> list[str]:
    if arguments.what != "list":
        refuse_while_deploying(stage, clients.cloudformation)
    functions, now = functions_of(stage, clients.functions), to_datetime(system_clock())
    match arguments.what:
        case "list":
            return list_versions(functions)
        case "prune":
            live = live_release(functions)
            before = release_before(functions, live)
            deleted = prune(clients.functions, functions, now)
            deleted += machines.keep(clients.states, machines.machines_of(stage, clients.states), live, before)
            return ["Deleted:", *deleted] if deleted else ["There was nothing to delete."]
        case "move":
            there = machines.machines_of(stage, clients.states)
            moved = [*machines.move_executions(clients.states, there, live_release(functions))]
            return ["Begun again:", *moved] if moved else ["No execution runs by an older definition."]
        case "to":
            moved = _move_all(stage, clients, functions, arguments.release, now)
            return [f"Release {arguments.release} of {stage.stack} is live:", *moved, NOT_TAKEN_BACK]
        case _:
            live = live_release(functions)
            before = release_before(functions, live)
            if before is None:
                raise Refused(f"There is no release before {live}.")
            moved = _move_all(stage, clients, functions, before, now)
            undo = f"qwestly-agent release to {live} --stage {arguments.stage}"
            return [f"Release {before} of {stage.stack} is live, and no more {live}:", *moved, NOT_TAKEN_BACK, undo]


def _move_all(stage: Stage, clients: Clients, functions: Sequence[Function], release: int, now: datetime) -> list[str]:
    """Move the machines, and then the functions: a newer function knows the states of an older machine, and an older
    one not those of a newer. Raises `Refused`."""
    before = machines.machines_of(stage, clients.states)
    restored = machines.restore(clients.states, before, release)
    try:
        return move(clients.functions, functions, release, now) + restored
    except Refused:
        machines.put_back(clients.states, before)
        raise
