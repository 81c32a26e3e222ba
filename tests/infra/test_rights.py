"""The evaluator of IAM policies, and every role's permissions compared with the calls that are made."""

import copy
import json
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.rights import compare
from infra.rights.compare import Finding, findings
from infra.rights.policies import Call, Grant, NotUnderstood, Stack, parse

ROOT = Path(__file__).parents[2]
STAGE = "qwestly-agent-prod"
ACCOUNT = "123456789012"
TOPIC = f"arn:aws:sns:eu-west-1:{ACCOUNT}:{STAGE}-alarms"


def stack_of(*statements: Any, role: Any = None, parameters: Any = None) -> Stack:
    """One role with these statements."""
    properties = {"Policies": [{"PolicyDocument": {"Statement": list(statements)}}], **(role or {})}
    bound = {"Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
    resources = {
        "Role": {"Type": "AWS::IAM::Role", "Properties": properties},
        "Bound": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": bound}},
    }
    return Stack.of({"Resources": resources, "Parameters": parameters or {}}, STAGE, {})


def allow(action: Any = "sns:Publish", resource: Any = TOPIC, **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


# --- the evaluator ----------------------------------------------------------------------------------------------------

PUBLISH = Call("sns:Publish", TOPIC)


@pytest.mark.parametrize(
    "statement",
    [
        allow(),
        allow(["sqs:SendMessage", "sns:Publish"]),
        allow("sns:pub*"),
        allow(resource=f"arn:aws:sns:*:{ACCOUNT}:{STAGE}-alarm?"),
        allow(
            resource={"Fn::Sub": "arn:${AWS::Partition}:sns:${AWS::Region}:${AWS::AccountId}:${AWS::StackName}-alarms"}
        ),
    ],
)
def test_a_statement_allows_what_it_names(statement: Any) -> None:
    assert stack_of(statement).allows("Role", PUBLISH)


@pytest.mark.parametrize(
    "statements",
    [
        [allow("sns:Subscribe")],
        [allow(resource=f"{TOPIC}-of-others")],
        [allow(resource=TOPIC.replace("prod", "dev"))],
        [allow("*"), {**allow("sns:*", "*"), "Effect": "Deny"}],
        [allow(Condition={"StringEquals": {"aws:SourceAccount": ACCOUNT}})],
        [],
    ],
    ids=["another action", "a longer name", "another stage", "denied", "a condition without a value", "nothing"],
)
def test_nothing_else_is_allowed(statements: Any) -> None:
    assert not stack_of(*statements).allows("Role", PUBLISH)


def test_a_condition_is_met_if_the_call_has_its_value() -> None:
    condition = {"StringEquals": {"kms:EncryptionContext:aws:sns:topicArn": TOPIC}}
    stack = stack_of(allow("kms:Decrypt", "*", Condition=condition))
    key = f"arn:aws:kms:eu-west-1:{ACCOUNT}:key/k"
    assert stack.allows("Role", Call("kms:Decrypt", key, (("kms:EncryptionContext:aws:sns:topicArn", TOPIC),)))
    assert not stack.allows("Role", Call("kms:Decrypt", key, (("kms:EncryptionContext:aws:sns:topicArn", "other"),)))


def test_a_boundary_denies_what_it_does_not_allow() -> None:
    bound = {"PermissionsBoundary": {"Ref": "Bound"}}
    assert not stack_of(allow(), role=bound).allows("Role", PUBLISH)
    assert stack_of(allow("s3:GetObject", "*"), role=bound).allows("Role", Call("s3:GetObject", "any"))


NOT_KNOWN: list[tuple[Any, Any]] = [
    ({"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}, None),
    ({"Effect": "Allow", "Action": "sns:Publish", "NotResource": "*"}, None),
    ({**allow(), "Principal": "*"}, None),
    ({**allow(), "Effect": "Perhaps"}, None),
    (allow(Condition={"IpAddress": {"aws:SourceAccount": "10.0.0.0/8"}}), None),
    (allow(Condition={"StringEquals": {"aws:PrincipalTag/team": "agent"}}), None),
    (allow(resource={"Fn::ImportValue": "topic"}), None),
    (allow(resource={"Fn::Join": ["", ["arn:", "x"]]}), None),
    (allow(resource={"Ref": "NoSuchParameter"}), None),
    (allow(resource={"Fn::GetAtt": ["Role", "RoleId"]}), None),
    (allow(), {"Path": "/"}),
    (allow(), {"ManagedPolicyArns": ["arn:aws:iam::aws:policy/AdministratorAccess"]}),
    (allow(), {"PermissionsBoundary": "arn:aws:iam::aws:policy/PowerUserAccess"}),
]


@pytest.mark.parametrize(("statement", "role"), NOT_KNOWN, ids=lambda each: json.dumps(each)[:60])
def test_an_unsupported_policy_element_is_rejected(statement: Any, role: Any) -> None:
    with pytest.raises(NotUnderstood):
        stack_of(statement, role=role).allows("Role", PUBLISH)


def test_a_policy_attached_in_an_unsupported_way_is_rejected() -> None:
    policy = {"Type": "AWS::IAM::Policy", "Properties": {}}
    with pytest.raises(NotUnderstood, match="write it into its role"):
        Stack.of({"Resources": {"Policy": policy}}, STAGE, {}).roles()


@pytest.mark.parametrize(
    ("action", "resource", "what"),
    [
        ("sns:Publlish", TOPIC, "is no action"),
        ("logs:DescribeLogGroups", f"arn:aws:logs:eu-west-1:{ACCOUNT}:log-group:a:*", "has no resource"),
    ],
)
def test_an_action_unknown_to_aws_or_checked_on_no_resource_is_found(action: str, resource: str, what: str) -> None:
    [found] = findings(stack_of(allow(action, resource)), [])
    assert found.what.startswith(what)


# --- template.yaml and infra/bootstrap.yaml ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Templates:
    """Each with one action and one resource in a statement, so that a right is one of them."""

    transformed: Any
    bootstrap: Any

    @property
    def stacks(self) -> tuple[Stack, Stack]:
        return compare.stacks(self.transformed, self.bootstrap)

    def findings(self) -> list[Finding]:
        return compare.all_findings(*self.stacks)

    def policies(self) -> list[tuple[Stack, Any]]:
        """Each policy that grants, with the stack that it is of."""
        pairs = zip(self.stacks, (self.transformed, self.bootstrap), strict=True)
        return [(stack, policy) for stack, document in pairs for policy in policies(document)]


@pytest.fixture(scope="module")
def _templates() -> Templates:
    python = ROOT / ".venv-sam/bin/python"
    if not python.exists():
        pytest.skip(".venv-sam is missing: make .venv-sam/ready")
    written = subprocess.check_output([python, "infra/transform.py"], cwd=ROOT, text=True)
    templates = Templates(yaml.load(written, yaml.CSafeLoader), parse((ROOT / "infra/bootstrap.yaml").read_text()))
    for _, policy in templates.policies():
        policy["Statement"] = [
            {**each, "Action": action, "Resource": resource}
            for each in policy["Statement"]
            for action in listed(each["Action"])
            for resource in listed(each["Resource"])
        ]
    return templates


@pytest.fixture
def templates(_templates: Templates) -> Templates:
    return copy.deepcopy(_templates)


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def policies(document: Any) -> Iterator[Any]:
    for name, body in document["Resources"].items():
        if body["Type"] == "AWS::IAM::ManagedPolicy" and not name.endswith("Boundary"):
            yield body["Properties"]["PolicyDocument"]
        elif body["Type"] == "AWS::IAM::Role":
            yield from (each["PolicyDocument"] for each in body["Properties"].get("Policies", []))


def rights(found: list[Finding]) -> set[tuple[str, str]]:
    return {(each.action, each.resource) for each in found}


@pytest.mark.thorough
def test_each_call_is_permitted_and_each_permission_is_used(templates: Templates) -> None:
    assert templates.findings() == []


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_five_removed_permissions_give_five_findings(templates: Templates, seed: int) -> None:
    chance, taken = random.Random(seed), list[Grant]()
    while len(taken) < 5:
        stack, policy = chance.choice([each for each in templates.policies() if each[1]["Statement"]])
        statement = policy["Statement"].pop(chance.randrange(len(policy["Statement"])))
        taken.append(Grant("", "Allow", statement["Action"], stack.text(statement["Resource"])))
    found = [Call(each.action, each.resource) for each in templates.findings()]
    assert [each for each in taken if not any(each.covers(call) for call in found)] == [], "not missed"
    assert [call for call in found if not any(each.covers(call) for each in taken)] == [], "not taken"


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_five_unneeded_permissions_give_five_findings(templates: Templates, seed: int) -> None:
    chance = random.Random(seed)
    secrets = f"arn:aws:ssm:eu-west-1:{ACCOUNT}:parameter/qwestly-agent/prod"
    needless = [
        ("dynamodb:Query", f"arn:aws:dynamodb:eu-west-1:{ACCOUNT}:table/any"),
        ("iam:PassRole", f"arn:aws:iam::{ACCOUNT}:role/any"),
        ("iam:CreateRole", f"arn:aws:iam::{ACCOUNT}:role/any"),
        ("lambda:InvokeFunction", f"arn:aws:lambda:eu-west-1:{ACCOUNT}:function:qwestly-agent-dev-chat"),
        ("logs:PutLogEvents", f"arn:aws:logs:eu-west-1:{ACCOUNT}:log-group:another:*"),
        ("s3:GetObject", "arn:aws:s3:::any/*"),
        ("ses:SendEmail", f"arn:aws:ses:eu-west-1:{ACCOUNT}:identity/others.example"),
        ("ssm:GetParameter", f"{secrets}/shared-secret"),
        ("ssm:GetParameters", f"{secrets}/another"),
        ("states:StopExecution", f"arn:aws:states:eu-west-1:{ACCOUNT}:execution:any:any"),
        ("xray:GetGroup", f"arn:aws:xray:eu-west-1:{ACCOUNT}:group/any"),
    ]
    roles = [
        body["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
        for document in (templates.transformed, templates.bootstrap)
        for body in document["Resources"].values()
        if body["Type"] == "AWS::IAM::Role" and body["Properties"].get("Policies")
    ]
    added = chance.sample(needless, 5)
    for action, resource in added:
        chance.choice(roles).append(allow(action, resource))
    found = templates.findings()
    assert len(found) == 5
    assert rights(found) == set(added)


@pytest.mark.thorough
def test_the_smoke_roles_former_policy_is_found_insufficient(templates: Templates) -> None:
    """To human readers it looked complete: it could read the stage's parameters, and publish."""
    own = templates.bootstrap["Resources"]["SmokeRole"]["Properties"]["Policies"][0]["PolicyDocument"]
    own["Statement"] = [each for each in own["Statement"] if each["Action"] in ("ssm:GetParameters", "sns:Publish")]
    found = [(each.role, each.action) for each in templates.findings()]
    asked = ("cloudformation:DescribeStacks", "kms:Decrypt", "kms:GenerateDataKey")
    assert found == [("SmokeRole", action) for action in asked]


@pytest.mark.thorough
def test_a_role_can_be_created_only_with_the_boundary(templates: Templates) -> None:
    stack, bootstrap = templates.stacks
    role, bound = stack.arn("ChatRole"), bootstrap.arn("RolesBoundary")
    made = Call("iam:CreateRole", role, (("iam:PermissionsBoundary", bound),))
    assert bootstrap.allows("ExecutionRole", made)
    for context in ((), (("iam:PermissionsBoundary", "another"),)):
        assert not bootstrap.allows("ExecutionRole", replace(made, context=context))
    for name in ("DeployRole", "ExecutionRole", "SmokeRole"):
        for action in ("iam:CreatePolicyVersion", "iam:DeletePolicy", "iam:PutRolePermissionsBoundary"):
            assert not bootstrap.allows(name, Call(action, bound)), (name, action)


@pytest.mark.thorough
def test_a_grant_beyond_the_boundary_is_not_allowed(templates: Templates) -> None:
    templates.transformed["Resources"]["ActRole"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"].append(
        allow("iam:CreateAccessKey", "*")
    )
    stack, _ = templates.stacks
    assert [each.action for each in stack.grants("ActRole")].count("iam:CreateAccessKey") == 1
    assert not stack.allows("ActRole", Call("iam:CreateAccessKey", f"arn:aws:iam::{ACCOUNT}:user/any"))


def test_no_function_calls_what_the_layer_does_not_describe() -> None:
    """botocore in the layer knows the operations that src/Makefile names, and no other."""
    lines = (ROOT / "src/Makefile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    [written] = [each.partition(":=")[2].split() for each in lines if each.startswith("AWS_OPERATIONS")]
    spelled = {"lambda:Invoke": "lambda:InvokeFunction"}
    services = {"stepfunctions": "states", "sesv2": "ses"}
    described = {
        spelled.get(each, f"{services.get(service, service)}:{operation}")
        for each in written
        for service, _, operation in [each.partition(":")]
    }
    functions = {name: made for name, made in compare.calls.read().items() if name.endswith("Function")}
    called = {call.action for made in functions.values() for call in made}
    # SES checks what is sent as MIME against the second. A secret may also be kept in Secrets Manager (settings.py).
    assert described == called - {"ses:SendRawEmail"} | {"secretsmanager:GetSecretValue"}
