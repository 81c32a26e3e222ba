"""What an account needs before its first deployment, as moto creates it from infra/bootstrap.yaml.

moto 5.2.5 creates the roles, the policies and the bucket. It supports neither the provider of GitHub's tokens, nor the
bucket's policy, nor the budget, and applies only the bucket's name and encryption; cfn-lint and checkov check the rest
(`make check`).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from moto.cloudformation.parsing import get_model_map

from infra.local.aws import AwsServer
from infra.rights.policies import Stack, parse
from infra.stages import Stage

ROOT = Path(__file__).parents[2]
BOOTSTRAP = ROOT / "infra/bootstrap.yaml"
GIVEN = {"Stage": "staging", "Repository": "qwestly/agent", "AlertAddress": "ops@qwestly.com"}
NOT_MADE = {"AWS::Budgets::Budget", "AWS::IAM::OIDCProvider", "AWS::S3::BucketPolicy"}
pytestmark = pytest.mark.filterwarnings("ignore:Tried to parse AWS:UserWarning")


@pytest.fixture(scope="module")
def made() -> Iterator[Any]:
    """A client of each service of an account where it was applied."""
    with AwsServer() as aws:
        parameters = [{"ParameterKey": key, "ParameterValue": value} for key, value in GIVEN.items()]
        provider = "arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com"
        aws.client("cloudformation").create_stack(
            StackName="qwestly-bootstrap-staging",
            TemplateBody=BOOTSTRAP.read_text(),
            Parameters=[*parameters, {"ParameterKey": "OidcProvider", "ParameterValue": provider}],
            Capabilities=["CAPABILITY_NAMED_IAM"],
        )
        yield aws.client


@pytest.mark.thorough
def test_moto_creates_the_resources_it_supports(made: Any) -> None:
    types = {body["Type"] for body in parse(BOOTSTRAP.read_text())["Resources"].values()}
    assert types - get_model_map().keys() == NOT_MADE
    stack = made("cloudformation").describe_stack_resources(StackName="qwestly-bootstrap-staging")
    there = {each["ResourceType"] for each in stack["StackResources"] if "ResourceType" in each}
    assert there == types - NOT_MADE


@pytest.mark.thorough
@pytest.mark.parametrize(("role", "environment"), [("deploy", "staging"), ("smoke", "smoke")])
def test_only_a_job_of_the_right_environment_can_assume_a_role(made: Any, role: str, environment: str) -> None:
    found = made("iam").get_role(RoleName=f"qwestly-{role}-staging")["Role"]
    [statement] = found["AssumeRolePolicyDocument"]["Statement"]
    issuer = "token.actions.githubusercontent.com"
    assert statement["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert statement["Condition"] == {
        "StringEquals": {
            f"{issuer}:aud": "sts.amazonaws.com",
            f"{issuer}:sub": f"repo:qwestly/agent:environment:{environment}",
        }
    }
    assert found["PermissionsBoundary"]["PermissionsBoundaryArn"].endswith(":policy/boundary-of-qwestly-deploy-staging")


@pytest.mark.thorough
def test_the_bucket_exists_and_is_encrypted(made: Any) -> None:
    encryption = made("s3").get_bucket_encryption(Bucket="qwestly-artifacts-staging-123456789012")
    [rule] = encryption["ServerSideEncryptionConfiguration"]["Rules"]
    assert rule["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"


def test_a_roles_policies_stay_within_the_size_limit() -> None:
    """10,240 characters without blanks in a role's own policies, 6,144 in a managed one."""
    stack = Stack.of(parse(BOOTSTRAP.read_text()), "qwestly-bootstrap-staging", GIVEN)
    for name in stack.roles():
        documents = [each["PolicyDocument"] for each in stack.resources[name]["Properties"]["Policies"]]
        assert size_of(stack, documents) < 10_240, name
    for name in stack.of_type("AWS::IAM::ManagedPolicy"):
        assert size_of(stack, stack.resources[name]["Properties"]["PolicyDocument"]) < 6_144, name


def size_of(stack: Stack, value: Any) -> int:
    """Return the size as AWS counts it, with references resolved and without blanks."""

    def resolved(value: Any) -> Any:
        match value:
            case {"Ref": _} | {"Fn::Sub": _} | {"Fn::GetAtt": _}:
                return stack.text(value)
            case dict():
                return {key: resolved(each) for key, each in value.items()}
            case list():
                return [resolved(each) for each in value]
            case _:
                return value

    return len(json.dumps(resolved(value), separators=(",", ":")))


@pytest.mark.parametrize("stage", ["dev", "staging", "prod", "eu"])
def test_a_stage_has_the_name_and_path_its_bootstrap_expects(stage: str) -> None:
    assert Stage.load(stage).stack == f"qwestly-agent-{stage}"
    assert Stage.load(stage).parameter("ConfigurationPath") == f"/qwestly-agent/{stage}"
