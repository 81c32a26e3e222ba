"""Compare the calls that are made with the permissions that roles grant."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from infra.rights import calls, deployment, on_behalf
from infra.rights.on_behalf import Row
from infra.rights.policies import Grant, NotUnderstood, Stack, table_of

FUNCTION = "AWS::Lambda::Function"
PARAMETERS = {"ConfigurationPath": "/qwestly-agent/prod", "EventBus": "any-bus"}
BOOTSTRAP = {"Stage": "prod", "Repository": "any/any", "AlertAddress": "any@qwestly.com"}
CHECKED = {"states:SendTaskSuccess"}
"""Actions whose resource is missing in AWS's own table: CDK's `grantTaskResponse` names the machine, and that works."""


def needed_by_functions(stack: Stack) -> Iterator[Row]:
    """Yield each function's role and its recorded calls."""
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
    """Return each call without a permission, each permission without a call, and each permission unknown to AWS. Raises
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
    """Return everything that the roles of template.yaml must allow."""
    return [*needed_by_functions(stack), *on_behalf.rows(stack)]


def stacks(transformed: Any, bootstrap: Any) -> tuple[Stack, Stack]:
    """Return a stage's stack and the stack of its bootstrap, from their parsed templates."""
    before = Stack.of(bootstrap, "qwestly-bootstrap-prod", BOOTSTRAP)
    bound = {before.arn("RolesBoundary"): before.grants_of_policy("RolesBoundary")}
    return Stack.of(transformed, "qwestly-agent-prod", PARAMETERS, bound), before


def all_findings(stack: Stack, bootstrap: Stack) -> list[Finding]:
    return [*findings(stack, needed(stack)), *findings(bootstrap, deployment.of_bootstrap(bootstrap, stack))]


def unknown(grant: Grant) -> str:
    """Return a sentence if AWS has no such action, or checks it on no such resource."""
    if "*" in grant.action:
        return ""
    try:
        kinds = table_of(grant.action)
    except NotUnderstood:
        return "is no action"
    if not kinds and grant.resource != "*" and grant.action not in CHECKED:
        return "has no resource, so only * grants it"
    return ""
