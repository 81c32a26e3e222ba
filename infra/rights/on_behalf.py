"""The permissions that AWS services use on behalf of a stack: none of our own calls shows them.

What a resource's properties require is read from them. What a command requires through another program (the SAM CLI,
the AWS CLI) is a row of `COMMANDS`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.rights.policies import REF_IS_THE_ARN, Call, Stack

DELIVERIES = (
    *("logs:CreateLogDelivery", "logs:GetLogDelivery", "logs:UpdateLogDelivery", "logs:DeleteLogDelivery"),
    *("logs:ListLogDeliveries", "logs:PutResourcePolicy", "logs:DescribeResourcePolicies", "logs:DescribeLogGroups"),
)
TRACES = ("xray:PutTraceSegments", "xray:PutTelemetryRecords")
SAMPLING = ("xray:GetSamplingRules", "xray:GetSamplingTargets")
SHIFTING = ("lambda:GetAlias", "lambda:UpdateAlias", "lambda:GetProvisionedConcurrencyConfig")


@dataclass(frozen=True)
class Row:
    role: str
    """Logical id."""
    call: Call
    reason: str


def rows(stack: Stack) -> Iterator[Row]:
    """Return what the services behind the resources of template.yaml use."""
    for name, body in stack.resources.items():
        if using := _USING.get(body["Type"]):
            yield from using(stack, name, body["Properties"])


def _of_function(stack: Stack, name: str, properties: Mapping[str, Any]) -> Iterator[Row]:
    role = _role(properties["Role"])
    group = stack.arn(properties["LoggingConfig"]["LogGroup"]["Ref"])
    for action in ("logs:CreateLogStream", "logs:PutLogEvents"):
        yield Row(role, Call(action, group), f"Lambda writes the log of {name}")
    if properties["TracingConfig"]["Mode"] == "Active":
        yield from (Row(role, Call(each, "*"), f"Lambda traces {name}") for each in TRACES)
    if letters := properties.get("DeadLetterConfig"):
        call = Call("sqs:SendMessage", stack.text(letters["TargetArn"]))
        yield Row(role, call, f"Lambda leaves what {name} failed at twice")


def _of_machine(stack: Stack, name: str, properties: Mapping[str, Any]) -> Iterator[Row]:
    role = _role(properties["RoleArn"])
    for value in properties["DefinitionSubstitutions"].values():
        if stack.resources.get(value.get("Ref"), {}).get("Type") == "AWS::Lambda::Alias":
            yield Row(role, Call("lambda:InvokeFunction", stack.text(value)), f"{name} calls its states")
    if "LoggingConfiguration" in properties:
        for action in DELIVERIES:
            yield Row(role, Call(action, "*"), f"Step Functions sets up the delivery of the log of {name}")
    if properties["TracingConfiguration"]["Enabled"]:
        for action in (*TRACES, *SAMPLING):
            yield Row(role, Call(action, "*"), f"Step Functions traces {name}")


def _of_schedule(stack: Stack, name: str, properties: Mapping[str, Any]) -> Iterator[Row]:
    target = properties["Target"]
    role, logical_id = _role(target["RoleArn"]), target["Arn"]["Ref"]
    is_machine = stack.resources[logical_id]["Type"] in REF_IS_THE_ARN
    action = "states:StartExecution" if is_machine else "lambda:InvokeFunction"
    yield Row(role, Call(action, stack.text(target["Arn"])), f"{name} starts its target")
    letters = Call("sqs:SendMessage", stack.text(target["DeadLetterConfig"]["Arn"]))
    yield Row(role, letters, f"{name} leaves what it could not deliver")


def _of_deployment(stack: Stack, name: str, properties: Mapping[str, Any]) -> Iterator[Row]:
    role = _role(properties["ServiceRoleArn"])
    shifted = [
        each
        for each, body in stack.resources.items()
        if body.get("UpdatePolicy", {}).get("CodeDeployLambdaAliasUpdate", {}).get("DeploymentGroupName", {}).get("Ref")
        == name
    ]
    for alias in shifted:
        arn = stack.arn(alias)
        for action in SHIFTING:
            # Lambda checks some of these on the function, and some on the alias; we do not know which.
            for resource in (arn, arn.rpartition(":")[0]):
                yield Row(role, Call(action, resource), f"CodeDeploy moves {alias}")
    if properties["AlarmConfiguration"]:
        _, watched, _ = properties["AlarmConfiguration"]["Fn::If"]
        for each in watched["Alarms"]:
            call = Call("cloudwatch:DescribeAlarms", stack.arn(each["Name"]["Ref"]))
            yield Row(role, call, f"CodeDeploy takes {name} back where this alarm rings")


_USING = {
    "AWS::CodeDeploy::DeploymentGroup": _of_deployment,
    "AWS::Lambda::Function": _of_function,
    "AWS::Scheduler::Schedule": _of_schedule,
    "AWS::StepFunctions::StateMachine": _of_machine,
}


def _role(reference: Mapping[str, Any]) -> str:
    path = reference["Fn::GetAtt"]
    return path[0] if isinstance(path, list) else path.partition(".")[0]
