"""The AWS calls recorded by the tests, as IAM sees them.

`calls.tsv` has a row for each: the caller (a function of template.yaml, or an operators' command), the action, and the
resource, where <stack>, <path> (ConfigurationPath), <region> and <account> are placeholders for those of any stage.
`make calls` writes it, and the recording tests compare with it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from infra.rights.policies import ACCOUNT, REGION, Call, NotUnderstood

TABLE = Path(__file__).parent / "calls.tsv"
FUNCTION = "arn:aws:lambda:<region>:<account>:function:{FunctionName}"
GROUP = "arn:aws:logs:<region>:<account>:log-group:{logGroupName}:any"
STACK = "arn:aws:cloudformation:<region>:<account>:stack/{StackName}/any"
RESOURCES: Mapping[str, str] = {
    "cloudformation:DescribeChangeSet": STACK,
    "cloudformation:DescribeStackEvents": STACK,
    "cloudformation:DescribeStackResource": STACK,
    "cloudformation:DescribeStacks": STACK,
    "cloudformation:ExecuteChangeSet": STACK,
    "cloudformation:GetTemplate": STACK,
    "cloudwatch:DescribeAlarms": "arn:aws:cloudwatch:<region>:<account>:alarm:any",
    "events:PutEvents": "arn:aws:events:<region>:<account>:event-bus/{EventBusName}",
    "logs:CreateLogStream": GROUP,
    "logs:PutLogEvents": GROUP,
    "kms:Decrypt": "arn:aws:kms:<region>:<account>:key/{KeyId}",
    "kms:Encrypt": "arn:aws:kms:<region>:<account>:key/{KeyId}",
    "lambda:DeleteFunction": FUNCTION,
    "lambda:GetAccountSettings": "*",
    "lambda:GetAlias": FUNCTION,
    "lambda:GetFunctionConfiguration": FUNCTION,
    "lambda:InvokeFunction": FUNCTION,
    "lambda:ListVersionsByFunction": FUNCTION,
    "lambda:UpdateAlias": FUNCTION,
    "ses:GetAccount": "*",
    "ses:GetEmailIdentity": "arn:aws:ses:<region>:<account>:identity/{EmailIdentity}",
    "sns:ListSubscriptionsByTopic": "{TopicArn}",
    "ssm:GetParameters": "arn:aws:ssm:<region>:<account>:parameter{Names}",
    "ssm:GetServiceSetting": "arn:aws:ssm:<region>:<account>:servicesetting{SettingId}",
    "states:DeleteStateMachineVersion": "{stateMachineVersionArn}",
    "states:DescribeExecution": "{executionArn}",
    "states:DescribeStateMachine": "{stateMachineArn}",
    "states:DescribeStateMachineForExecution": "{executionArn}",
    "states:GetExecutionHistory": "{executionArn}",
    "states:ListExecutions": "{stateMachineArn}",
    "states:ListStateMachineVersions": "{stateMachineArn}",
    "states:ListStateMachines": "*",
    "states:PublishStateMachineVersion": "{stateMachineArn}",
    "states:SendTaskSuccess": "{taskToken}",
    "states:StartExecution": "{stateMachineArn}",
    "states:StopExecution": "{executionArn}",
    "states:UpdateStateMachine": "{stateMachineArn}",
}
"""The resources that an action is checked on, built from its call's parameters."""
RENAMED = {"lambda:Invoke": "lambda:InvokeFunction", "monitoring:DescribeAlarms": "cloudwatch:DescribeAlarms"}
WRITTEN = (
    (r"(us-east-1|eu-west-1)(?=:)", "<region>"),
    (ACCOUNT, "<account>"),
    (r"qwestly-agent-(local|dev|staging|prod)(?![\w.])", "<stack>"),
    (r"(?<=parameter)/qwestly-agent/(dev|staging|prod)", "<path>"),
    (r"(:execution:[^:]+):.+", r"\1:any"),
    (r"(:stateMachine:[^:]+):\d+", r"\1:1"),
    (r"(:function:[^:]+):\d+", r"\1:1"),
)


def asked(client: Any, operation: str, given: Mapping[str, Any], of_token: Callable[[str], str] = str) -> set[Call]:
    """Return what IAM checks for a call of a botocore client. Raises `NotUnderstood` for an operation that has no row
    in `RESOURCES`.

    Args:
        of_token: returns the ARN of the machine that waits by a task token, which no call names.
    """
    name = f"{client.meta.service_model.signing_name}:{operation}"
    action = RENAMED.get(name, name)
    if action == "ses:SendEmail":
        return _sending(given)
    if action not in RESOURCES:
        raise NotUnderstood(f"{action}: write into RESOURCES of {__name__} what it is checked on")
    values = dict(given)
    if action == "events:PutEvents":
        values["EventBusName"] = [each["EventBusName"] for each in given["Entries"]]
    if "KeyId" in given:
        # The only alias; the key behind it is named as in `Stack.name`.
        assert given["KeyId"].endswith("-task-tokens"), given["KeyId"]
        values["KeyId"] = "<stack>-TaskTokenKey-made"
    if "taskToken" in given:
        values["taskToken"] = of_token(given["taskToken"])
    if "Qualifier" in given:
        values["FunctionName"] = f"{given['FunctionName']}:{given['Qualifier']}"
    found = [{**values, **each} for each in _each(values)]
    return {Call(action, written(RESOURCES[action].format(**each))) for each in found}


def _each(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Yield the parameters once for each item of the parameter that is a list, if there is one."""
    for name, value in values.items():
        if name in ("Names", "EventBusName") and isinstance(value, list):
            return [{name: each} for each in value]
    return [{}]


def _sending(given: Mapping[str, Any]) -> set[Call]:
    if given["Content"].keys() != {"Raw"}:
        raise NotUnderstood("a mail that is not raw")
    domain = given["FromEmailAddress"].rpartition("@")[2].rstrip(">")
    ses = "arn:aws:ses:<region>:<account>:"
    through = (f"{ses}identity/{domain}", f"{ses}configuration-set/{given['ConfigurationSetName']}")
    # SES checks the operation under its own name, and raw mails under an older one.
    return {Call(f"ses:{action}", written(arn)) for action in ("SendEmail", "SendRawEmail") for arn in through}


def written(resource: str) -> str:
    """Replace what differs between stages, runs and releases with placeholders."""
    for pattern, replacement in WRITTEN:
        resource = re.sub(pattern, replacement, resource)
    return resource


def placed(resource: str, stack: str, path: str) -> str:
    """Fill in the placeholders with one stage's values: the inverse of `written`."""
    for mark, value in {"stack": stack, "path": path, "region": REGION, "account": ACCOUNT}.items():
        resource = resource.replace(f"<{mark}>", value)
    return resource


def read() -> dict[str, set[Call]]:
    """Return the recorded calls by caller."""
    found: dict[str, set[Call]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        caller, action, resource = line.split("\t")
        found.setdefault(caller, set()).add(Call(action, resource))
    return found


def write(recorded: Mapping[str, Iterable[Call]]) -> None:
    """Replace the rows of these callers."""
    kept = {**(read() if TABLE.exists() else {}), **recorded}
    rows = sorted(f"{caller}\t{each.action}\t{each.resource}" for caller, calls in kept.items() for each in calls)
    TABLE.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
