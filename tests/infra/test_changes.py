"""The change set that a person sees before a deployment is the one that is executed."""

import copy
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import WaiterError

from infra import sbom
from infra.changes import execute, show, summary
from infra.local.aws import AwsServer
from infra.rights.policies import Stack
from tests.recorded_calls import compare, recording

ROOT = Path(__file__).parents[2]
STACK = "qwestly-agent-staging"
TRUST = {
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]
}
TOPIC = f"arn:aws:sns:eu-west-1:123456789012:{STACK}-alarms"


def template(
    *statements: Any, boundary: Any = "arn:aws:iam::123456789012:policy/b", **resources: Any
) -> dict[str, Any]:
    role = {
        "AssumeRolePolicyDocument": TRUST,
        "Policies": [{"PolicyName": "own", "PolicyDocument": {"Version": "2012-10-17", "Statement": list(statements)}}],
        **({"PermissionsBoundary": boundary} if boundary else {}),
    }
    return {"Resources": {"Role": {"Type": "AWS::IAM::Role", "Properties": role}, **resources}}


def allow(action: Any, resource: Any = TOPIC) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource}


def told(before: Any, after: Any, *changes: dict[str, Any]) -> list[str]:
    """The lines of the lists, with their titles."""
    stacks = [Stack.of(each, STACK, {}) if each else None for each in (before, after)]
    assert stacks[1]
    written = summary(changes, stacks[0], stacks[1])
    return [line for line in written.splitlines() if line.startswith(("###", "-"))]


def change(action: str, name: str, kind: str, **more: str) -> dict[str, Any]:
    return {"Action": action, "LogicalResourceId": name, "ResourceType": kind, **more}


def test_replaced_and_removed_resources_are_listed() -> None:
    shown = told(
        template(),
        template(),
        change("Modify", "Key", "AWS::KMS::Key", Replacement="True"),
        change("Modify", "Rule", "AWS::Events::Rule", Replacement="Conditional"),
        change("Modify", "Chat", "AWS::Lambda::Function", Replacement="False"),
        change("Remove", "Logs", "AWS::Logs::LogGroup", PolicyAction="Retain"),
        change("Add", "Queue", "AWS::SQS::Queue"),
    )
    assert shown == [
        "### Replaced: 2",
        "- Key (AWS::KMS::Key)",
        "- Rule (AWS::Events::Rule, conditional replacement)",
        "### Removed: 1",
        "- Logs (AWS::Logs::LogGroup, retain)",
        "### Rights widened: none",
    ]


WIDER: list[tuple[Any, Any, str]] = [
    (template(allow("sns:Publish")), template(allow(["sns:Publish", "sns:Subscribe"])), f"Role: sns:Subscribe {TOPIC}"),
    (template(allow("sns:Publish")), template(allow("sns:Publish", "*")), "Role: sns:Publish *"),
    (
        template({**allow("sns:*"), "Effect": "Deny"}),
        template(),
        f"Role: no longer denied sns:* {TOPIC}",
    ),
    (template(), template(boundary=None), "Role: its PermissionsBoundary differs"),
    (None, template(boundary=None), "Role: it has no boundary"),
    (None, template(allow("sns:Publish")), f"Role: sns:Publish {TOPIC}"),
    (
        template(),
        template(allow("sns:Publish", {"Fn::ImportValue": "x"})),
        "Role: could not be compared ({'Fn::ImportValue': 'x'}); read its policies",
    ),
    (
        template(),
        template(Open={"Type": "AWS::Lambda::Permission", "Properties": {"Principal": "*"}}),
        "Open: whom an AWS::Lambda::Permission lets in",
    ),
]


@pytest.mark.parametrize(("before", "after", "line"), WIDER, ids=[line[:40] for _, _, line in WIDER])
def test_each_widened_permission_is_listed(before: Any, after: Any, line: str) -> None:
    *_, title, wider = told(before, after)
    assert (title, wider) == ("### Rights widened: 1", f"- {line}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (template(allow(["sns:Publish", "sns:Subscribe"])), template(allow("sns:Publish"))),
        (template(allow(["sns:Publish", "sns:Subscribe"])), template(allow("sns:Subscribe"), allow("sns:Publish"))),
    ],
    ids=["fewer", "the same in another order"],
)
def test_a_change_that_grants_nothing_more_is_not_listed(before: Any, after: Any) -> None:
    assert told(before, after)[-1] == "### Rights widened: none"


def test_a_changed_trust_policy_counts_as_a_wider_permission() -> None:
    after = copy.deepcopy(template())
    after["Resources"]["Role"]["Properties"]["AssumeRolePolicyDocument"] = {"Statement": []}
    assert told(template(), after)[-1] == "- Role: its AssumeRolePolicyDocument differs"


# --- over moto's CloudFormation ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def aws() -> Iterator[AwsServer]:
    with AwsServer() as aws:
        yield aws


@pytest.mark.thorough
def test_a_stack_is_created_by_the_printed_change_set_with_only_listed_calls(
    aws: AwsServer,
) -> None:
    cloudformation = aws.client("cloudformation")
    after = template(allow("sns:Publish"), Alarms={"Type": "AWS::SNS::Topic"})
    change_set = cloudformation.create_change_set(
        StackName=STACK, ChangeSetName="one", ChangeSetType="CREATE", TemplateBody=json.dumps(after)
    )["Id"]
    with recording() as shown:
        assert f"- Role: sns:Publish {TOPIC}" in show(Planned(cloudformation, after), STACK, change_set)
    with recording() as executed:
        assert execute(cloudformation, STACK, change_set) == []
    [stack] = cloudformation.describe_stacks(StackName=STACK)["Stacks"]
    assert stack["StackStatus"] == "CREATE_COMPLETE"
    with recording() as failed:
        assert why_failed(cloudformation) == ["Role: not allowed"]
    compare({"changes show": shown, "changes execute": executed | failed})


@dataclass
class Planned:
    """moto returns no template of a change set."""

    client: Any
    template: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def get_template(self, **given: str) -> Any:
        self.client.get_template(**given)
        return {"TemplateBody": self.template}


def why_failed(cloudformation: Any) -> list[str]:
    """moto fails at nothing."""

    class Failing:
        def __getattr__(self, name: str) -> Any:
            return getattr(cloudformation, name)

        def execute_change_set(self, **_: str) -> None:
            pass

        def get_waiter(self, _: str) -> Any:
            raise WaiterError("stack_update_complete", "Waiter encountered a terminal failure state", {})

        def describe_stack_events(self, **given: str) -> Any:
            cloudformation.describe_stack_events(**given)
            why = {"ResourceStatus": "CREATE_FAILED", "ResourceStatusReason": "not allowed"}
            return {"StackEvents": [{"LogicalResourceId": "Role", **why}]}

    return execute(Failing(), STACK, "any")


# --- what a release is made of ----------------------------------------------------------------------------------------


def test_a_release_lists_each_pin_of_its_layers_with_its_hashes() -> None:
    made = sbom.bom()
    pins = {
        re.sub(r"\[.*\]|[ ;].*", "", line)
        for name in ("layer", "files")
        for line in (ROOT / f"requirements/{name}.txt").read_text().splitlines()
        if line[:1].isalnum()
    }
    assert {f"{each['name']}=={each['version']}" for each in made["components"]} == pins
    assert all(each["hashes"] for each in made["components"])
    assert made == sbom.bom(), "the same for the same pins"


@pytest.mark.thorough
def test_the_bill_of_materials_is_valid_cyclonedx() -> None:
    python = ROOT / ".venv-checkov/bin/python"
    if not python.exists():
        pytest.skip(".venv-checkov is missing: make .venv-checkov/ready")
    program = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
print(JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read()))
"""
    given = json.dumps(sbom.bom())
    assert subprocess.check_output([python, "-c", program], input=given, text=True) == "None\n"
