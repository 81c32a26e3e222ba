"""Show what a deployment would change, for the person who approves it: `python -m infra.changes show STAGE`, which
reads the output of `sam deploy`, and then `execute STAGE CHANGE_SET`.

`show` prints Markdown: what is replaced, what is removed, and which permissions become wider. In a GitHub job it goes
to the summary, and the change set's ARN to the output `changes`.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from botocore.exceptions import WaiterError

from infra.rights.policies import Grant, NotUnderstood, Stack, parse
from infra.stages import Stage as DeployedStage
from qwestly_agent.clients.aws import AWS

CHANGE_SET = re.compile(r"arn:[\w-]+:cloudformation:\S+:changeSet/\S+")
POLICIES = {
    *("AWS::KMS::Key", "AWS::Lambda::Permission", "AWS::Lambda::Url", "AWS::S3::BucketPolicy"),
    *("AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy"),
}
"""Resource types that grant access by themselves."""
PATIENCE = {"Delay": 10, "MaxAttempts": 360}


def summary(changes: Sequence[Mapping[str, Any]], before: Stack | None, after: Stack) -> str:
    """Return what a person should look at, as Markdown.

    Args:
        changes: `ResourceChange` of each, as `DescribeChangeSet` returns them.
        before: the stack as it is; None where there is none yet.
        after: the stack as it would be.
    """
    replaced = [_line(each) for each in changes if each.get("Replacement") in ("True", "Conditional")]
    removed = [_line(each) for each in changes if each["Action"] == "Remove"]
    parts = [
        _part("Replaced", replaced),
        _part("Removed", removed),
        _part("Rights widened", sorted(set(widened(before, after)))),
    ]
    counts = {action: sum(each["Action"] == action for each in changes) for action in ("Add", "Modify", "Remove")}
    told = ", ".join(f"{action.lower()} {count}" for action, count in counts.items())
    return "\n".join([f"Changes of {after.parameters['AWS::StackName']}: {told}.", "", *parts])


def _line(change: Mapping[str, Any]) -> str:
    more = [change["Replacement"].lower() + " replacement"] if change.get("Replacement") == "Conditional" else []
    more += [f"{change['PolicyAction'].lower()}"] if change.get("PolicyAction") else []
    return f"{change['LogicalResourceId']} ({', '.join([change['ResourceType'], *more])})"


def _part(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"### {title}: {len(lines) or 'none'}", "", *(f"- {line}" for line in lines), ""])


def widened(before: Stack | None, after: Stack) -> Iterator[str]:
    """Yield a sentence for each permission that the stack would gain. Anything that cannot be compared counts as
    one."""
    for role in after.roles():
        was = before if before and role in before.of_type("AWS::IAM::Role") else None
        try:
            had = set(was.grants(role)) if was else set[Grant]()
            yield from _wider(role, had, set(after.grants(role)))
        except NotUnderstood as error:
            yield f"{role}: could not be compared ({error}); read its policies"
        for name in ("AssumeRolePolicyDocument", "PermissionsBoundary"):
            now = after.resources[role]["Properties"].get(name)
            if was and now != was.resources[role]["Properties"].get(name):
                yield f"{role}: its {name} differs"
            elif name == "PermissionsBoundary" and now is None:
                yield f"{role}: it has no boundary"
    for name, body in after.resources.items():
        if body["Type"] in POLICIES and (before is None or before.resources.get(name) != body):
            yield f"{name}: whom an {body['Type']} lets in"


def _wider(role: str, had: set[Grant], has: set[Grant]) -> Iterator[str]:
    def what(grant: Grant) -> tuple[Any, ...]:
        return grant.effect, grant.action, grant.resource, grant.condition

    before, after = ({what(each): each for each in grants} for grants in (had, has))
    for key in after.keys() - before.keys():
        if after[key].effect == "Allow":
            yield f"{role}: {after[key].action} {after[key].resource}"
    for key in before.keys() - after.keys():
        if before[key].effect == "Deny":
            yield f"{role}: no longer denied {before[key].action} {before[key].resource}"


# --- asked of CloudFormation ------------------------------------------------------------------------------------------


def show(cloudformation: Any, stack_name: str, change_set: str) -> str:
    named = {"StackName": stack_name, "ChangeSetName": change_set}
    pages = [cloudformation.describe_change_set(**named)]
    while token := pages[-1].get("NextToken"):
        pages.append(cloudformation.describe_change_set(**named, NextToken=token))
    changes = [each["ResourceChange"] for page in pages for each in page["Changes"]]
    [stack] = cloudformation.describe_stacks(StackName=stack_name)["Stacks"]
    is_there = stack["StackStatus"] != "REVIEW_IN_PROGRESS"
    before = _stack(cloudformation, {"StackName": stack_name}, stack) if is_there else None
    return summary(changes, before, _stack(cloudformation, named, pages[0]))


def _stack(cloudformation: Any, named: Mapping[str, str], described: Mapping[str, Any]) -> Stack:
    body = cloudformation.get_template(**named, TemplateStage="Processed")["TemplateBody"]
    document = parse(body) if isinstance(body, str) else body
    given = {each["ParameterKey"]: each["ParameterValue"] for each in described.get("Parameters", [])}
    declared = document.get("Parameters", {})
    return Stack.of(document, named["StackName"], {key: value for key, value in given.items() if key in declared})


def execute(cloudformation: Any, stack_name: str, change_set: str) -> list[str]:
    """Execute a change set and wait. Returns the reasons for a failure, a line for each resource; empty if it
    succeeded."""
    [stack] = cloudformation.describe_stacks(StackName=stack_name)["Stacks"]
    kind = "create" if stack["StackStatus"] == "REVIEW_IN_PROGRESS" else "update"
    cloudformation.execute_change_set(StackName=stack_name, ChangeSetName=change_set)
    try:
        cloudformation.get_waiter(f"stack_{kind}_complete").wait(StackName=stack_name, WaiterConfig=PATIENCE)
    except WaiterError:
        events = cloudformation.describe_stack_events(StackName=stack_name)["StackEvents"]
        failed = [each for each in events if each["ResourceStatus"].endswith("_FAILED")]
        return [f"{each['LogicalResourceId']}: {each.get('ResourceStatusReason', '')}" for each in failed] or ["failed"]
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["show", "execute"])
    parser.add_argument("stage")
    parser.add_argument("change_set", nargs="?")
    given = parser.parse_args()
    stack_name, cloudformation = DeployedStage.load(given.stage).stack, AWS().client("cloudformation")
    if given.what == "execute":
        failed = execute(cloudformation, stack_name, given.change_set)
        print("\n".join(failed) or f"{stack_name} is deployed.")
        return 1 if failed else 0
    found = CHANGE_SET.search(sys.stdin.read())
    told = show(cloudformation, stack_name, found[0]) if found else f"Nothing changes in {stack_name}."
    print(told)
    _append("GITHUB_STEP_SUMMARY", told)
    _append("GITHUB_OUTPUT", f"changes={found[0] if found else ''}")
    return 0


def _append(variable: str, text: str) -> None:
    """Append to the file that a GitHub job names."""
    if path := os.environ.get(variable):
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
