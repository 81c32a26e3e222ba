"""List the AWS calls that a deployment must be allowed to make: those of `make deploy` through other programs, and
those of CloudFormation when it creates, updates and deletes the resources of template.yaml.

CloudFormation publishes the latter with each resource type (`handlers` of its schema, which cfn-lint contains).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

from infra.rights.calls import placed, read
from infra.rights.on_behalf import Row
from infra.rights.policies import ACCOUNT, REGION, Call, Stack, table_of

HANDLERS = ("create", "read", "update", "delete")
NOT_USED: Mapping[str, tuple[str, ...]] = {
    "no action of IAM, though a schema has it": ("lambda:AssociateRuntimeAlias", "s3:REST.PUT.OBJECT"),
    "no function is in a network or mounts a file system": (
        *("ec2:DescribeNetworkInterfaces", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs"),
        *("elasticfilesystem:DescribeMountTargets", "s3files:ListMountTargets"),
    ),
    "no code is signed, no concurrency provisioned, no runtime pinned, no function scaled": (
        *(
            "lambda:GetCodeSigningConfig",
            "lambda:PutFunctionCodeSigningConfig",
            "lambda:DeleteFunctionCodeSigningConfig",
        ),
        *("lambda:PutProvisionedConcurrencyConfig", "lambda:DeleteProvisionedConcurrencyConfig"),
        *("lambda:PutFunctionScalingConfig", "lambda:PutFunctionRecursionConfig", "lambda:PutRuntimeManagementConfig"),
        "lambda:PassCapacityProvider",
    ),
    "no variable, log or machine has a key of its own": (
        *("kms:CreateGrant", "kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey"),
        *("logs:AssociateKmsKey", "logs:DisassociateKmsKey"),
    ),
    "no log group has a policy, an index, a token or a lock": (
        *("firehose:TagDeliveryStream", "logs:CreateLogDelivery", "logs:DeleteDataProtectionPolicy"),
        *("logs:DeleteIndexPolicy", "logs:DeleteResourcePolicy", "logs:PutBearerTokenAuthentication"),
        *("logs:PutDataProtectionPolicy", "logs:PutIndexPolicy", "logs:PutLogGroupDeletionProtection"),
        "logs:PutResourcePolicy",
    ),
    "no policy is attached to users or groups": (
        *("iam:AttachGroupPolicy", "iam:AttachUserPolicy", "iam:DetachGroupPolicy", "iam:DetachUserPolicy"),
    ),
    "no role loses its boundary": ("iam:DeleteRolePermissionsBoundary",),
    "no server of ours is deployed to": ("codedeploy:RegisterOnPremisesInstance",),
    "no topic has a policy of data": ("sns:PutDataProtectionPolicy",),
    "no configuration set says so": (
        *("ses:PutConfigurationSetArchivingOptions", "ses:PutConfigurationSetDeliveryOptions"),
        *("ses:PutConfigurationSetTrackingOptions", "ses:PutConfigurationSetVdmOptions"),
    ),
}
"""Actions that a type may need but ours does not, by the reason."""
PASSED_TO = {
    "AWS::CodeDeploy::DeploymentGroup": "codedeploy.amazonaws.com",
    "AWS::Lambda::Function": "lambda.amazonaws.com",
    "AWS::Scheduler::Schedule": "scheduler.amazonaws.com",
    "AWS::StepFunctions::StateMachine": "states.amazonaws.com",
}
OF_A_FUNCTION = {
    *("AWS::Lambda::Alias", "AWS::Lambda::EventInvokeConfig", "AWS::Lambda::Permission"),
    *("AWS::Lambda::Url", "AWS::Lambda::Version"),
}
BOUND = {"iam:AttachRolePolicy", "iam:CreateRole", "iam:PutRolePermissionsBoundary", "iam:PutRolePolicy"}
"""Actions that widen a role and therefore require the boundary."""


def of_cloudformation(stack: Stack, role: str, boundary: str, bucket: str) -> Iterator[Row]:
    """Yield what making, changing and deleting each resource of the stack takes.

    Args:
        role: logical id of the role that CloudFormation takes over.
        boundary: the ARN of the managed policy that bounds each role of the stack.
        bucket: the ARN of the bucket with the code.
    """
    unused = {action for actions in NOT_USED.values() for action in actions}
    for name, body in stack.resources.items():
        kind = body["Type"]
        handlers = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, kind).schema["handlers"]
        asked = {each for handler in HANDLERS for each in handlers.get(handler, {}).get("permissions", [])}
        for action in sorted(asked - unused):
            for call in _calls(stack, name, kind, body["Properties"], action, boundary, bucket):
                yield Row(role, call, f"CloudFormation makes {name}, an {kind}")


def _calls(
    stack: Stack, name: str, kind: str, properties: Mapping[str, Any], action: str, boundary: str, bucket: str
) -> Iterator[Call]:
    """Yield the calls that this action is checked on for this resource."""
    service = action.partition(":")[0]
    if action == "iam:PassRole":
        if given := properties.get("Role") or properties.get("RoleArn") or properties.get("ServiceRoleArn"):
            yield Call(action, stack.text(given), (("iam:PassedToService", PASSED_TO[kind]),))
        elif "Target" in properties:
            arn = stack.text(properties["Target"]["RoleArn"])
            yield Call(action, arn, (("iam:PassedToService", PASSED_TO[kind]),))
    elif service == "s3":
        yield Call(action, f"{bucket}/any")
    elif not table_of(action):
        yield Call(action, "*")
    elif service == "codedeploy":
        yield from _shifting(stack, action)
    elif kind == "AWS::Lambda::Function" and action == "lambda:GetLayerVersion":
        yield from (Call(action, stack.text(each)) for each in properties["Layers"])
    elif kind in OF_A_FUNCTION:
        yield Call(action, stack.arn(_function(stack, properties)))
    elif kind in ("AWS::SNS::Topic", "AWS::SNS::Subscription", "AWS::Lambda::Function") and service in ("iam", "kms"):
        return  # a topic that logs its deliveries, and a function whose variables have a key
    elif kind == "AWS::StepFunctions::StateMachine" and service == "kms":
        return
    elif kind == "AWS::SNS::Subscription":
        yield Call(action, stack.text(properties["TopicArn"]))
    elif kind == "AWS::SES::ConfigurationSetEventDestination":
        yield Call(action, stack.arn(properties["ConfigurationSetName"]["Ref"]))
    elif kind == "AWS::CloudWatch::Dashboard":
        yield Call(action, f"arn:aws:cloudwatch::{ACCOUNT}:dashboard/{stack.parameters['AWS::StackName']}-any")
    elif kind == "AWS::KMS::Alias":
        yield Call(action, f"arn:aws:kms:{REGION}:{ACCOUNT}:{stack.text(properties['AliasName'])}")
        yield Call(action, stack.arn(properties["TargetKeyId"]["Ref"]))
    elif kind == "AWS::IAM::ManagedPolicy" and action in ("iam:AttachRolePolicy", "iam:DetachRolePolicy"):
        return  # a policy with a list of roles; ours are named by their roles
    elif action in BOUND:
        yield Call(action, stack.arn(name), (("iam:PermissionsBoundary", boundary),))
    else:
        arn = stack.arn(name)
        if action == "lambda:PublishLayerVersion":
            arn = arn.rpartition(":")[0]
        yield Call(action, arn)


def _shifting(stack: Stack, action: str) -> Iterator[Call]:
    if action == "codedeploy:GetDeploymentConfig":
        yield Call(action, f"arn:aws:codedeploy:{REGION}:{ACCOUNT}:deploymentconfig:CodeDeployDefault.LambdaAllAtOnce")
        return
    kinds = {"application": "AWS::CodeDeploy::Application", "deploymentgroup": "AWS::CodeDeploy::DeploymentGroup"}
    for each in table_of(action):
        yield from (Call(action, stack.arn(name)) for name in stack.of_type(kinds[each]))


def _function(stack: Stack, properties: Mapping[str, Any]) -> str:
    """The logical id of the function that an alias, a URL, a permission or a version belongs to."""
    reference = properties.get("FunctionName") or properties["TargetFunctionArn"]
    logical_id = reference["Ref"] if "Ref" in reference else reference["Fn::GetAtt"][0]
    if stack.resources[logical_id]["Type"] == "AWS::Lambda::Alias":
        return stack.resources[logical_id]["Properties"]["FunctionName"]["Ref"]
    return logical_id


# --- the roles of infra/bootstrap.yaml --------------------------------------------------------------------------------

COMMANDS: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    (
        "PlanRole",
        (
            *("cloudformation:CreateChangeSet", "cloudformation:DescribeChangeSet"),
            *("cloudformation:DescribeStacks", "cloudformation:GetTemplateSummary"),
        ),
        "arn:aws:cloudformation:<region>:<account>:stack/<stack>/any",
        "`sam deploy --no-execute-changeset` (samcli/lib/deploy/deployer.py of 1.170)",
    ),
    (
        "PlanRole",
        ("cloudformation:CreateChangeSet",),
        "arn:aws:cloudformation:<region>:aws:transform/Serverless-2016-10-31",
        "the template has a transform, which is checked like a stack",
    ),
    ("PlanRole", ("s3:ListBucket",), "<bucket>", "`sam deploy` asks whether a file is there: without it 403, not 404"),
    (
        "PlanRole",
        ("s3:GetObject", "s3:PutObject"),
        "<bucket>/any",
        "`sam deploy` uploads, and CloudFormation reads the template as whoever makes the change set",
    ),
    (
        "DeployRole",
        ("cloudformation:UpdateTerminationProtection",),
        "arn:aws:cloudformation:<region>:<account>:stack/<stack>/any",
        "`make deploy-changes` protects each stage but dev",
    ),
    (
        "SmokeRole",
        ("sns:Publish",),
        "arn:aws:sns:<region>:<account>:<stack>-alarms",
        "the last step of smoke.yml writes where alarms ring",
    ),
)
"""Role, actions, resource and reason."""
RUN_BY = {
    "PlanRole": ("changes show",),
    "DeployRole": ("changes execute", "doctor", "smoke", "release", "brake"),
    "SmokeRole": ("smoke",),
}
"""Our commands that a job runs, by role."""


def of_bootstrap(bootstrap: Stack, stack: Stack) -> Iterator[Row]:
    """Yield everything that the roles of infra/bootstrap.yaml must allow for the stage with this stack."""
    name, path = stack.parameters["AWS::StackName"], stack.parameters["ConfigurationPath"]
    bucket, execution = bootstrap.arn("Artifacts"), bootstrap.arn("ExecutionRole")
    recorded = read()
    for role, commands in RUN_BY.items():
        for command in commands:
            for call in recorded[command]:
                yield Row(role, Call(call.action, placed(call.resource, name, path)), f"`{command}`")
    for role, actions, resource, reason in COMMANDS:
        arn = placed(resource.replace("<bucket>", bucket), name, path)
        yield from (Row(role, Call(action, arn), reason) for action in actions)
    passed = Call("iam:PassRole", execution, (("iam:PassedToService", "cloudformation.amazonaws.com"),))
    yield Row("PlanRole", passed, "`sam deploy --role-arn` hands CloudFormation this role")
    topic = stack.of_type("AWS::SNS::Topic")[0]
    key = stack.arn(stack.resources[topic]["Properties"]["KmsMasterKeyId"]["Ref"])
    for action in ("kms:GenerateDataKey", "kms:Decrypt"):
        context = (("kms:EncryptionContext:aws:sns:topicArn", stack.arn(topic)),)
        yield Row("SmokeRole", Call(action, key, context), "SNS encrypts what is published by the topic's key")
    yield from of_cloudformation(stack, "ExecutionRole", bootstrap.arn("RolesBoundary"), bucket)
