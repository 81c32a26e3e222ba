"""Evaluate the IAM policies of a CloudFormation template for AWS calls.

Unsupported elements are rejected: an unknown element of a role or a statement, a condition operator or key, an
intrinsic function, or a resource whose ARN is needed raises `NotUnderstood`. Nothing is granted by omission.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

REGION, ACCOUNT = "eu-west-1", "123456789012"
PSEUDO_PARAMETERS = {
    "AWS::AccountId": ACCOUNT,
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::URLSuffix": "amazonaws.com",
}
ROLE, POLICY = "AWS::IAM::Role", "AWS::IAM::ManagedPolicy"
NAMES = {
    "AWS::CodeDeploy::Application": "",
    "AWS::CodeDeploy::DeploymentGroup": "",
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::Events::Rule": "",
    "AWS::IAM::ManagedPolicy": "ManagedPolicyName",
    "AWS::IAM::OIDCProvider": "",
    "AWS::IAM::Role": "RoleName",
    "AWS::KMS::Key": "",
    "AWS::Lambda::Function": "FunctionName",
    "AWS::Lambda::LayerVersion": "LayerName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::S3::Bucket": "BucketName",
    "AWS::SES::ConfigurationSet": "Name",
    "AWS::SNS::Topic": "TopicName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::Scheduler::Schedule": "Name",
    "AWS::StepFunctions::StateMachine": "StateMachineName",
}
"""The property that names a resource. Without one CloudFormation builds a name from the stack's and the logical one."""
ARNS = {
    "AWS::CodeDeploy::Application": "codedeploy:{region}:{account}:application:{name}",
    "AWS::CodeDeploy::DeploymentGroup": "codedeploy:{region}:{account}:deploymentgroup:{name}/{name}",
    "AWS::CloudWatch::Alarm": "cloudwatch:{region}:{account}:alarm:{name}",
    "AWS::Events::Rule": "events:{region}:{account}:rule/{name}",
    "AWS::IAM::ManagedPolicy": "iam::{account}:policy/{name}",
    "AWS::IAM::OIDCProvider": "iam::{account}:oidc-provider/token.actions.githubusercontent.com",
    "AWS::IAM::Role": "iam::{account}:role/{name}",
    "AWS::KMS::Key": "kms:{region}:{account}:key/{name}",
    "AWS::Lambda::Function": "lambda:{region}:{account}:function:{name}",
    "AWS::Lambda::LayerVersion": "lambda:{region}:{account}:layer:{name}:1",
    "AWS::Logs::LogGroup": "logs:{region}:{account}:log-group:{name}:*",
    "AWS::S3::Bucket": "s3:::{name}",
    "AWS::SES::ConfigurationSet": "ses:{region}:{account}:configuration-set/{name}",
    "AWS::SNS::Topic": "sns:{region}:{account}:{name}",
    "AWS::SQS::Queue": "sqs:{region}:{account}:{name}",
    "AWS::Scheduler::Schedule": "scheduler:{region}:{account}:schedule/default/{name}",
    "AWS::StepFunctions::StateMachine": "states:{region}:{account}:stateMachine:{name}",
}
REF_IS_THE_ARN = {
    *(POLICY, "AWS::IAM::OIDCProvider", "AWS::Lambda::LayerVersion", "AWS::SNS::Topic"),
    "AWS::StepFunctions::StateMachine",
}
OF_A_ROLE = {
    *("AssumeRolePolicyDocument", "Description", "ManagedPolicyArns", "MaxSessionDuration"),
    *("PermissionsBoundary", "Policies", "RoleName"),
}
OF_A_STATEMENT = {"Action", "Condition", "Effect", "Resource", "Sid"}
CONTEXT_KEYS = {
    "aws:SourceAccount",
    "iam:PassedToService",
    "iam:PermissionsBoundary",
    "kms:EncryptionContext:aws:sns:topicArn",
    "kms:RequestAlias",
}
"""Condition keys whose values the calls and rows provide."""


def parse(template: str) -> Any:
    """Return a template with its short tags in their long form."""
    return yaml.load(template, _Loader)  # noqa: S506


class NotUnderstood(Exception):
    """This evaluator does not support the element, so what it grants is unknown."""


@dataclass(frozen=True, order=True)
class Call:
    """An action on a resource, as IAM sees it."""

    action: str
    """service:Operation"""
    resource: str
    """An ARN, or * for an action that has no resource."""
    context: tuple[tuple[str, str], ...] = ()
    """Values of condition keys."""


@dataclass(frozen=True, order=True)
class Grant:
    """One action on one resource that a statement allows or denies; both may have wildcards."""

    policy: str
    """Logical id of the role or managed policy that holds the statement."""
    effect: str
    action: str
    resource: str
    condition: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Operator, key and values of each condition."""

    def covers(self, call: Call) -> bool:
        return (
            _matches(self.action.lower(), call.action.lower())
            and _matches(self.resource, call.resource)
            and all(_holds(*each, dict(call.context)) for each in self.condition)
        )


def _holds(operator: str, key: str, values: tuple[str, ...], context: Mapping[str, str]) -> bool:
    """True if the condition holds; a key without a value in the context never does."""
    match operator:
        case "StringEquals" | "ArnEquals":
            return context.get(key) in values
        case "StringLike" | "ArnLike":
            return key in context and any(_matches(each, context[key]) for each in values)
        case "StringNotEquals":
            return context.get(key) not in values
        case _:
            raise NotUnderstood(f"the operator {operator} of a condition")


def _matches(pattern: str, value: str) -> bool:
    return bool(_compiled(pattern).match(value))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern.replace("[", "[[]")))


@dataclass(frozen=True)
class Stack:
    """A template as deployed with these parameters. SAM's own types must have been transformed."""

    resources: Mapping[str, Any]
    conditions: Mapping[str, Any]
    parameters: Mapping[str, str]
    """Values of parameters and pseudo parameters."""
    boundaries: Mapping[str, list[Grant]] = field(default_factory=dict)
    """Grants of managed policies of other stacks that bound roles here, by ARN."""
    _of_roles: dict[str, list[Grant]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, document: Any, name: str, parameters: Mapping[str, str], boundaries: Any = None) -> "Stack":
        declared = document.get("Parameters", {})
        if unknown := parameters.keys() - declared.keys():
            raise NotUnderstood(f"the parameters {', '.join(sorted(unknown))}, which the template does not have")
        defaults = {key: str(body["Default"]) for key, body in declared.items() if "Default" in body}
        values = {**PSEUDO_PARAMETERS, "AWS::StackName": name, **defaults, **parameters}
        return cls(document["Resources"], document.get("Conditions", {}), values, boundaries or {})

    def of_type(self, kind: str) -> list[str]:
        """Return the logical ids of the resources of this type."""
        return [name for name, body in self.resources.items() if body["Type"] == kind]

    def roles(self) -> list[str]:
        """Return the logical ids of all roles. Raises `NotUnderstood` for policies attached in another way."""
        kinds = {body["Type"] for body in self.resources.values()}
        if others := kinds & {"AWS::IAM::Policy", "AWS::IAM::RolePolicy", "AWS::IAM::Group", "AWS::IAM::User"}:
            raise NotUnderstood(f"{', '.join(sorted(others))}: write it into its role")
        return self.of_type(ROLE)

    def grants(self, role: str) -> list[Grant]:
        """Return what the role's own and managed policies allow and deny."""
        if role not in self._of_roles:
            self._of_roles[role] = self._grants(role)
        return self._of_roles[role]

    def _grants(self, role: str) -> list[Grant]:
        properties = self.resources[role]["Properties"]
        if others := properties.keys() - OF_A_ROLE:
            raise NotUnderstood(f"{', '.join(sorted(others))} of the role {role}")
        found = [grant for each in properties.get("ManagedPolicyArns", []) for grant in self._managed(each)]
        for policy in properties.get("Policies", []):
            found += self._document(role, policy["PolicyDocument"])
        return found

    def allows(self, role: str, call: Call) -> list[Grant]:
        """Return the grants by which the role, and its boundary if it has one, allow this call; empty if it is not
        allowed."""
        by_role = _decided(self.grants(role), call)
        bound = self._resolved(self.resources[role]["Properties"].get("PermissionsBoundary", _NO_VALUE))
        if bound is _NO_VALUE or not by_role:
            return by_role
        by_boundary = _decided(self._boundary(bound), call)
        return [*by_role, *by_boundary] if by_boundary else []

    def text(self, value: Any) -> str:
        """Evaluate a value that must be one text."""
        found = self._resolved(value)
        if not isinstance(found, str):
            raise NotUnderstood(f"{found} where a text was expected")
        return found

    def arn(self, logical_id: str) -> str:
        """Raises `NotUnderstood` for a type whose ARN is not known here."""
        body = self.resources[logical_id]
        if body["Type"] == "AWS::Lambda::Alias":
            function = body["Properties"]["FunctionName"]["Ref"]
            return f"{self.arn(function)}:{self.text(body['Properties']['Name'])}"
        if body["Type"] not in ARNS:
            raise NotUnderstood(f"the ARN of {logical_id}, an {body['Type']}")
        where = {"region": REGION, "account": ACCOUNT, "name": self.name(logical_id)}
        return f"arn:aws:{ARNS[body['Type']].format(**where)}"

    def name(self, logical_id: str) -> str:
        body = self.resources[logical_id]
        if body["Type"] not in NAMES:
            raise NotUnderstood(f"the name of {logical_id}, an {body['Type']}")
        given = body.get("Properties", {}).get(NAMES[body["Type"]])
        return self.text(given) if given else f"{self.parameters['AWS::StackName']}-{logical_id}-made"

    def _boundary(self, arn: str) -> list[Grant]:
        if arn in (own := {self.arn(name): name for name in self.of_type(POLICY)}):
            return self.grants_of_policy(own[arn])
        if arn in self.boundaries:
            return self.boundaries[arn]
        raise NotUnderstood(f"the boundary {arn}")

    def grants_of_policy(self, name: str) -> list[Grant]:
        """Return what the managed policy allows and denies."""
        properties = self.resources[name]["Properties"]
        if others := properties.keys() - {"Description", "ManagedPolicyName", "PolicyDocument"}:
            raise NotUnderstood(f"{', '.join(sorted(others))} of the policy {name}")
        return self._document(name, properties["PolicyDocument"])

    def _managed(self, reference: Any) -> list[Grant]:
        match reference:
            case {"Ref": name} if self.resources.get(name, {}).get("Type") == POLICY:
                return self.grants_of_policy(name)
            case _:
                raise NotUnderstood(f"the managed policy {reference}, which is not of this template")

    def _document(self, policy: str, document: Mapping[str, Any]) -> list[Grant]:
        if others := document.keys() - {"Version", "Statement"}:
            raise NotUnderstood(f"{', '.join(sorted(others))} of a policy of {policy}")
        return [grant for each in _listed(document["Statement"]) for grant in self._statement(policy, each)]

    def _statement(self, policy: str, statement: Mapping[str, Any]) -> Iterator[Grant]:
        if others := statement.keys() - OF_A_STATEMENT:
            raise NotUnderstood(f"{', '.join(sorted(others))} of a statement of {policy}")
        if statement["Effect"] not in ("Allow", "Deny"):
            raise NotUnderstood(f"the effect {statement['Effect']} of {policy}")
        condition = tuple(self._conditions(policy, statement.get("Condition", {})))
        for action in _listed(statement["Action"]):
            for resource in _listed(statement["Resource"]):
                if (found := self._resolved(resource)) is not _NO_VALUE:
                    yield Grant(policy, statement["Effect"], self.text(action), self.text(found), condition)

    def _conditions(self, policy: str, condition: Mapping[str, Any]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        for operator, keys in condition.items():
            _holds(operator, "", (), {})
            for key, values in keys.items():
                if key not in CONTEXT_KEYS:
                    raise NotUnderstood(f"the key {key} in a condition of {policy}")
                yield operator, key, tuple(self.text(each) for each in _listed(values))

    def _resolved(self, value: Any) -> Any:
        match value:
            case str() | _NoValue():
                return value
            case {"Ref": "AWS::NoValue"}:
                return _NO_VALUE
            case {"Ref": name}:
                return self._referred(name)
            case {"Fn::GetAtt": str(path)}:
                return self._attribute(*path.split("."))
            case {"Fn::GetAtt": [name, attribute]}:
                return self._attribute(name, attribute)
            case {"Fn::Sub": str(text)}:
                return re.sub(r"\$\{([\w:.]+)\}", lambda found: self._named(found[1]), text)
            case {"Fn::If": [condition, then, otherwise]}:
                return self._resolved(then if self._is_true({"Condition": condition}) else otherwise)
            case _:
                raise NotUnderstood(f"{value}")

    def _is_true(self, condition: Any) -> bool:
        match condition:
            case {"Condition": name}:
                return self._is_true(self.conditions[name])
            case {"Fn::Equals": [one, other]}:
                return self.text(one) == self.text(other)
            case {"Fn::Not": [one]}:
                return not self._is_true(one)
            case {"Fn::Or": several}:
                return any(map(self._is_true, several))
            case {"Fn::And": several}:
                return all(map(self._is_true, several))
            case _:
                raise NotUnderstood(f"the condition {condition}")

    def _named(self, name: str) -> str:
        if "." in name:
            return self._attribute(*name.split("."))
        return self._referred(name)

    def _referred(self, name: str) -> str:
        if name in self.resources:
            kind = self.resources[name]["Type"]
            return self.arn(name) if kind in REF_IS_THE_ARN or kind == "AWS::Lambda::Alias" else self.name(name)
        if name not in self.parameters:
            raise NotUnderstood(f"the parameter {name}, which has no value")
        return self.parameters[name]

    def _attribute(self, name: str, attribute: str) -> str:
        if attribute != "Arn":
            raise NotUnderstood(f"the attribute {attribute} of {name}")
        return self.arn(name)


@cache
def actions() -> Any:
    """AWS's actions with the types of their resources, as listed by cfn-lint."""
    table = files("cfnlint").joinpath("data/AdditionalSpecs/Policies.json")
    return json.loads(table.read_text(encoding="utf-8"))


def table_of(action: str) -> list[str]:
    """Return the resource types that AWS checks the action on; empty if it has none. Raises `NotUnderstood` for an
    unknown action."""
    service, _, operation = action.partition(":")
    known = actions().get(service.lower(), {}).get("Actions", {})
    if operation.lower() not in known:
        raise NotUnderstood(f"the action {action}")
    return known[operation.lower()].get("Resources", [])


def _decided(grants: list[Grant], call: Call) -> list[Grant]:
    covering = [each for each in grants if each.covers(call)]
    return [] if any(each.effect == "Deny" for each in covering) else covering


class _NoValue:
    pass


_NO_VALUE = _NoValue()


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


class _Loader(yaml.SafeLoader):
    """CloudFormation's short tags in their long form: `!Sub x` is `{"Fn::Sub": x}`."""


def _long_form(loader: yaml.SafeLoader, name: str, node: yaml.Node) -> dict[str, Any]:
    is_list = isinstance(node, yaml.SequenceNode)
    value = loader.construct_sequence(node, deep=True) if is_list else loader.construct_scalar(node)  # type: ignore[arg-type]
    return {name if name in ("Ref", "Condition") else f"Fn::{name}": value}


_Loader.add_multi_constructor("!", _long_form)
