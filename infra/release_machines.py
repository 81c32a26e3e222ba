"""The state machines of a release: Step Functions keeps a version of each, named after the release that brought it, so
that code and machines go back together. And executions that began before a deployment, moved to what is deployed.

A version is of the definition alone: roles and logs stay as they are. Permissions: states:DescribeStateMachine,
ListStateMachineVersions, PublishStateMachineVersion, DeleteStateMachineVersion and UpdateStateMachine; to move
executions states:ListExecutions, DescribeExecution, DescribeStateMachineForExecution, StopExecution and StartExecution.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from infra.local.environment import MACHINE
from infra.stages import Stage

NAMED = re.compile(r"release (\d+)")
MOVED = "Moved"
"""The error of an execution that continues under another name."""
LONGEST_NAME = 80


@dataclass(frozen=True)
class Version:
    arn: str
    release: int
    """The release that brought this definition."""
    definition: str


@dataclass(frozen=True)
class Machine:
    name: str
    arn: str
    definition: str
    versions: Sequence[Version]
    """Newest first."""

    def of_release(self, release: int) -> Version | None:
        """Return its version of a release; an earlier release published it if the definition did not change since."""
        return next((each for each in self.versions if each.release <= release), None)


def machines_of(stage: Stage, client: Any) -> list[Machine]:
    """Return the machines of this checkout that are deployed."""
    pages = client.get_paginator("list_state_machines").paginate()
    there = {each["name"]: each["stateMachineArn"] for page in pages for each in page["stateMachines"]}
    names = [stage.template.name(each) for each in stage.template.of_type(MACHINE)]
    return [_machine(client, name, there[name]) for name in names if name in there]


def _machine(client: Any, name: str, arn: str) -> Machine:
    listed = client.list_state_machine_versions(stateMachineArn=arn, maxResults=1000)["stateMachineVersions"]
    versions = [_version(client, each["stateMachineVersionArn"]) for each in listed]
    newest_first = sorted(filter(None, versions), key=lambda each: each.release, reverse=True)
    return Machine(name, arn, client.describe_state_machine(stateMachineArn=arn)["definition"], newest_first)


def _version(client: Any, arn: str) -> Version | None:
    described = client.describe_state_machine(stateMachineArn=arn)
    named = NAMED.fullmatch(described.get("description", ""))
    return Version(arn, int(named[1]), described["definition"]) if named else None


def keep(client: Any, machines: Sequence[Machine], live: int, before: int | None) -> list[str]:
    """Publish a version of each machine for the live release, and delete those that neither it nor the previous release
    needs. Returns a line for each deleted version."""
    deleted = []
    for each in machines:
        # Idempotent: an already published definition keeps its version.
        client.publish_state_machine_version(stateMachineArn=each.arn, description=f"release {live}")
        needed = {each.of_release(live), each.of_release(before) if before else None}
        for version in each.versions:
            if version not in needed and version.release < live:
                client.delete_state_machine_version(stateMachineVersionArn=version.arn)
                deleted.append(f"  {each.name:45} of release {version.release}")
    return deleted


def restore(client: Any, machines: Sequence[Machine], release: int) -> list[str]:
    """Restore each machine's definition of a release. Returns a line for each that changed, and for each without
    one."""
    lines = []
    for each in machines:
        version = each.of_release(release)
        if version is None:
            lines.append(f"  {each.name:45} has no version of it, and stays")
        elif version.definition != each.definition:
            client.update_state_machine(stateMachineArn=each.arn, definition=version.definition)
            lines.append(f"  {each.name:45} as of release {version.release}")
    return lines


def put_back(client: Any, machines: Sequence[Machine]) -> None:
    """Restore each machine's former definition."""
    for each in machines:
        client.update_state_machine(stateMachineArn=each.arn, definition=each.definition)


def move_executions(client: Any, machines: Sequence[Machine], release: int) -> Iterator[str]:
    """Restart each execution of another definition with the current one and the same input, and yield a line for each.
    States repeat no completed work, and a question keeps its record and waits for the new execution."""
    for each in machines:
        pages = client.get_paginator("list_executions").paginate(stateMachineArn=each.arn, statusFilter="RUNNING")
        for execution in [found for page in pages for found in page["executions"]]:
            arn, name = execution["executionArn"], execution["name"]
            if client.describe_state_machine_for_execution(executionArn=arn)["definition"] == each.definition:
                continue
            given = client.describe_execution(executionArn=arn)["input"]
            client.stop_execution(executionArn=arn, error=MOVED, cause=f"It goes on by release {release}.")
            suffix = f"-{release}"
            new = f"{name.removesuffix(suffix)[: LONGEST_NAME - len(suffix)]}{suffix}"
            client.start_execution(stateMachineArn=each.arn, name=new, input=given)
            yield f"  {each.name:45} {name} → {new}"
