"""Compare the calls that are made with the rights that roles grant."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from infra.rights import calls, on_behalf
from infra.rights.on_behalf import Row
from infra.rights.policies import Grant, Stack

FUNCTION = "AWS::Lambda::Function"
CHECKED = {"states:SendTaskSuccess"}
"""Actions whose resource AWS's own table leaves out: CDK's `grantTaskResponse` names the machine, and that works."""


def needed_by_functions(stack: Stack) -> Iterator[Row]:
    """Yield the recorded calls of each function, by its role."""
    recorded = calls.read()
    name, path = stack.parameters["AWS::StackName"], stack.parameters["ConfigurationPath"]
    for logical_id, body in stack.resources.items():
        if body["Type"] == FUNCTION:
            role = body["Properties"]["Role"]["Fn::GetAtt"][0]
            for each in recorded[logical_id]:
                call = replace(each, resource=calls.placed(each.resource, name, path))
                yield Row(role, call, f"{logical_id} calls it")


@dataclass(frozen=True, order=True)
class Finding:
    role: str
    action: str
    resource: str
    what: str

    def __str__(self) -> str:
        return f"{self.role}: {self.action} {self.resource}: {self.what}"


def findings(stack: Stack, needed: Iterable[Row]) -> list[Finding]:
    """Return each call without a right, each right without a call, and each right that AWS does not know. Raises
    `NotUnderstood`."""
    found, used = set[Finding](), set[tuple[str, Grant]]()
    for row in needed:
        grants = stack.allows(row.role, row.call)
        used |= {(row.role, each) for each in grants}
        if not grants:
            found.add(Finding(row.role, row.call.action, row.call.resource, f"not allowed: {row.reason}"))
    for role in stack.roles():
        for grant in stack.grants(role):
            if wrong := unknown(grant):
                found.add(Finding(role, grant.action, grant.resource, wrong))
            elif grant.effect == "Allow" and (role, grant) not in used:
                found.add(Finding(role, grant.action, grant.resource, f"nothing does it ({grant.policy})"))
    return sorted(found)


def needed(stack: Stack) -> list[Row]:
    """Return all that the roles of template.yaml must allow."""
    return [*needed_by_functions(stack), *on_behalf.rows(stack)]


def unknown(grant: Grant) -> str:
    """Return a sentence where AWS has no such action, or checks it on nothing like this resource."""
    service, _, operation = grant.action.partition(":")
    if "*" in operation:
        return ""
    known = _actions().get(service.lower(), {}).get("Actions", {})
    if operation.lower() not in known:
        return "is no action"
    if not known[operation.lower()].get("Resources") and grant.resource != "*" and grant.action not in CHECKED:
        return "has no resource, so only * grants it"
    return ""


@cache
def _actions() -> Any:
    """The actions of AWS with the kinds of their resources, as cfn-lint keeps them."""
    table = files("cfnlint").joinpath("data/AdditionalSpecs/Policies.json")
    return json.loads(table.read_text(encoding="utf-8"))
