"""template.yaml keeps what the design promises. It is read as text: no cloud, no SAM."""

import os
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from qwestly_agent.settings import Settings

ROOT = Path(__file__).parents[2]

NAMES_OF_KEYS = {"TASK_TOKEN_KEY"}
"""Where a key is kept that never leaves its place: no secrets."""
NOT_IN_PRODUCTION = {"MODEL_BASE_URL", "EMBEDDINGS_BASE_URL", "MODEL_FAST", "MODEL_PRO", "MODEL_FALLBACK"}
"""Settings that swap a part for another one; production runs the parts that the code names."""


class Template(yaml.SafeLoader):
    """YAML in which `!Ref x` is `{"Ref": x}` and `!Sub x` is `{"Fn::Sub": x}`, as in CloudFormation's long form."""


def intrinsic(loader: Template, name: str, node: yaml.Node) -> dict[str, Any]:
    assert isinstance(node, yaml.ScalarNode), f"!{name} of anything but a scalar is more than the local stack reads"
    return {"Ref" if name == "Ref" else f"Fn::{name}": loader.construct_scalar(node)}


Template.add_multi_constructor("!", intrinsic)

TEMPLATE: dict[str, Any] = yaml.load((ROOT / "template.yaml").read_text(), Template)
PARAMETERS: dict[str, Any] = TEMPLATE["Parameters"]


def resources(kind: str) -> dict[str, dict[str, Any]]:
    return {name: body["Properties"] for name, body in TEMPLATE["Resources"].items() if body["Type"] == kind}


FUNCTIONS = resources("AWS::Serverless::Function")
WITH_LINKS = {name: f for name, f in FUNCTIONS.items() if f["CodeUri"] == "functions/approve/"}
STREAMING = {name: f for name, f in FUNCTIONS.items() if f["Handler"].endswith(".sh")}


def environment(function: dict[str, Any]) -> dict[str, Any]:
    return function["Environment"]["Variables"]


OF_MAIL = {"APPROVE_URL", "MAIL_FROM"}
HAVE_NO_RESOURCE = {
    f"logs:{action}"
    for action in (
        *("CreateLogDelivery", "GetLogDelivery", "UpdateLogDelivery", "DeleteLogDelivery", "ListLogDeliveries"),
        *("PutResourcePolicy", "DescribeResourcePolicies", "DescribeLogGroups"),
    )
}
"""What a state machine needs to write its log: AWS knows no narrower permission for it."""


def statements() -> Iterator[dict[str, Any]]:
    for role in resources("AWS::IAM::Role").values():
        yield from statements_of(role)


def statements_of(role: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for policy in role["Policies"]:
        yield from policy["PolicyDocument"]["Statement"]


def role_of(function: dict[str, Any]) -> dict[str, Any]:
    return resources("AWS::IAM::Role")[function["Role"]["Fn::GetAtt"].removesuffix(".Arn")]


def allowed(function: dict[str, Any]) -> set[str]:
    return {action for statement in statements_of(role_of(function)) for action in as_list(statement["Action"])}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@pytest.fixture(params=FUNCTIONS.values(), ids=list(FUNCTIONS))
def function(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.param


@pytest.fixture(params=STREAMING.values(), ids=list(STREAMING))
def streaming(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.param


def test_each_function_has_its_handler_on_disk(function: dict[str, Any]) -> None:
    handler = function["Handler"]
    entry_point = handler if handler.endswith(".sh") else f"{handler.rpartition('.')[0].replace('.', '/')}.py"
    assert (ROOT / function["CodeUri"] / entry_point).is_file()


def test_a_start_script_may_be_executed_and_ends_its_lines_as_linux_does(streaming: dict[str, Any]) -> None:
    script = ROOT / streaming["CodeUri"] / streaming["Handler"]
    assert os.access(script, os.X_OK)
    assert script.read_bytes().startswith(b"#!/bin/sh\n")


def test_the_layer_is_built_for_the_machine_that_the_functions_run_on(function: dict[str, Any]) -> None:
    layer = TEMPLATE["Resources"]["AgentLayer"]
    assert layer["Metadata"]["BuildArchitecture"] == "arm64"
    assert layer["Properties"]["CompatibleArchitectures"] == function["Architectures"] == ["arm64"]
    assert layer["Properties"]["CompatibleRuntimes"] == [function["Runtime"]]
    recipe = (ROOT / layer["Properties"]["ContentUri"] / "Makefile").read_text()
    assert "build-AgentLayer:" in recipe
    assert f"LAYER_PYTHON ?= {function['Runtime']}\n" in recipe


def test_a_new_layer_reaches_what_the_alias_points_to(function: dict[str, Any]) -> None:
    assert {"Ref": "AgentLayer"} in function["Layers"]
    assert TEMPLATE["Resources"]["AgentLayer"]["Properties"]["PublishLambdaVersion"] is True
    assert function["AutoPublishAliasAllProperties"] is True


def test_the_url_is_on_the_alias_because_only_published_versions_have_a_snapshot(streaming: dict[str, Any]) -> None:
    assert streaming["AutoPublishAlias"] == "live"
    assert streaming["SnapStart"] == {"ApplyOn": "PublishedVersions"}
    assert streaming["FunctionUrlConfig"]["AuthType"] == "NONE"
    assert TEMPLATE["Outputs"]["ChatUrl"]["Value"] == {"Fn::GetAtt": "ChatFunctionUrl.FunctionUrl"}


def test_url_and_adapter_agree_that_the_answer_is_streamed(streaming: dict[str, Any]) -> None:
    assert streaming["FunctionUrlConfig"]["InvokeMode"] == "RESPONSE_STREAM"
    assert environment(streaming)["AWS_LWA_INVOKE_MODE"] == "response_stream"


def test_the_adapter_starts_the_script_and_knows_where_to_ask_whether_it_is_ready(streaming: dict[str, Any]) -> None:
    variables = environment(streaming)
    assert variables["AWS_LAMBDA_EXEC_WRAPPER"] == "/opt/bootstrap"
    assert variables["AWS_LWA_READINESS_CHECK_PATH"] == "/healthz"
    assert "AWS_LWA_PORT" in (ROOT / streaming["CodeUri"] / streaming["Handler"]).read_text()
    assert any("LambdaAdapterLayerArm64:${WebAdapterLayerVersion}" in str(layer) for layer in streaming["Layers"])


def test_browsers_of_named_origins_only_may_call_the_url(streaming: dict[str, Any]) -> None:
    cors = streaming["FunctionUrlConfig"]["Cors"]
    assert cors["AllowOrigins"] == {"Ref": "AllowedOrigins"}
    assert "*" not in PARAMETERS["AllowedOrigins"]["Default"]
    assert set(cors["AllowMethods"]) == {"GET", "POST", "PUT", "PATCH", "DELETE"}
    assert set(cors["AllowHeaders"]) == {"authorization", "content-type"}
    assert "AllowCredentials" not in cors


def test_chat_is_given_what_the_settings_read_and_nothing_else() -> None:
    read = {field.name.upper() for field in fields(Settings)} - NOT_IN_PRODUCTION
    given = {name for name in environment(FUNCTIONS["ChatFunction"]) if not name.startswith("AWS_")}
    assert given == read - OF_MAIL


def test_no_secret_stands_in_the_environment_or_in_a_parameter(function: dict[str, Any]) -> None:
    secrets = [
        name
        for name in environment(function)
        if re.search(r"SECRET|KEY|TOKEN|PASSWORD|_URI$", name) and name not in NAMES_OF_KEYS
    ]
    assert secrets
    for name in secrets:
        assert re.match(r"(ssm:\$\{ConfigurationPath\}/|secret:)", environment(function)[name]["Fn::Sub"]), name
    assert not [name for name in PARAMETERS if re.search(r"Secret|Key|Token|Password", name)]


def test_a_function_may_read_exactly_the_secrets_that_it_names(function: dict[str, Any]) -> None:
    named = {
        value["Fn::Sub"].removeprefix("ssm:")
        for value in environment(function).values()
        if isinstance(value, dict) and value.get("Fn::Sub", "").startswith("ssm:")
    }
    [reading] = [s for s in statements_of(role_of(function)) if as_list(s["Action"]) == ["ssm:GetParameter"]]
    assert {arn["Fn::Sub"].partition(":parameter")[2] for arn in reading["Resource"]} == named


def test_each_function_has_a_role_of_its_own_that_names_what_it_may_do_and_to_what(function: dict[str, Any]) -> None:
    assert function["Role"]["Fn::GetAtt"].removesuffix(".Arn") in resources("AWS::IAM::Role")
    assert "Policies" not in function
    assert not [role for role in resources("AWS::IAM::Role").values() if "ManagedPolicyArns" in role]
    for statement in statements():
        assert not [action for action in as_list(statement["Action"]) if "*" in action]
        if not set(as_list(statement["Action"])) <= HAVE_NO_RESOURCE:
            assert not [each for each in as_list(statement["Resource"]) if "*" in str(each)]


def test_each_function_logs_to_a_group_that_expires(function: dict[str, Any]) -> None:
    groups = resources("AWS::Logs::LogGroup")
    assert function["LoggingConfig"]["LogGroup"]["Ref"] in groups
    assert all(group["RetentionInDays"] == {"Ref": "LogRetentionDays"} for group in groups.values())


def test_each_function_says_how_long_and_how_often_it_may_run(function: dict[str, Any]) -> None:
    assert 0 < function["Timeout"] <= 900
    assert function["ReservedConcurrentExecutions"]["Ref"] in PARAMETERS


def test_a_function_is_given_nothing_but_what_the_settings_read(function: dict[str, Any]) -> None:
    read = {field.name.upper() for field in fields(Settings)} - NOT_IN_PRODUCTION
    assert {name for name in environment(function) if not name.startswith("AWS_")} <= read


def test_who_answers_links_calls_no_model_and_lets_nobody_sign_in() -> None:
    assert len(WITH_LINKS) == 3
    for function in WITH_LINKS.values():
        assert not environment(function).keys() & {
            "QWESTLY_AGENT_SHARED_SECRET",
            "DEEPSEEK_API_KEY",
            "OPENAI_API_KEY",
        }


def test_the_pages_can_open_a_task_token_and_send_no_mail_and_the_request_can_open_none() -> None:
    own = {"logs:CreateLogStream", "logs:PutLogEvents", "ssm:GetParameter"}
    mail = {"ses:SendEmail", "ses:SendRawEmail"}
    assert allowed(FUNCTIONS["ApprovePagesFunction"]) - own == {"kms:Decrypt", "states:SendTaskSuccess"}
    assert allowed(FUNCTIONS["ApproveRequestFunction"]) - own == {"kms:Encrypt", "states:SendTaskSuccess", *mail}
    assert allowed(FUNCTIONS["ApproveSweepFunction"]) - own == {"kms:Decrypt", "states:SendTaskSuccess", *mail}


def test_the_pages_are_answered_whole_to_whoever_has_a_link() -> None:
    url = FUNCTIONS["ApprovePagesFunction"]["FunctionUrlConfig"]
    assert url == {"AuthType": "NONE", "InvokeMode": "BUFFERED"}, "no origin may read them from a script"


def test_task_tokens_are_sealed_by_a_key_that_is_rotated() -> None:
    [key] = resources("AWS::KMS::Key").values()
    assert key["EnableKeyRotation"] is True


def test_the_sweep_runs_every_minute_and_is_over_before_the_next_one() -> None:
    sweep, schedule = FUNCTIONS["ApproveSweepFunction"], resources("AWS::Scheduler::Schedule")["ApproveSweepSchedule"]
    assert schedule["ScheduleExpression"] == "rate(1 minute)"
    assert schedule["Target"]["Arn"] == {"Ref": "ApproveSweepFunction.Alias"}
    assert sweep["Timeout"] < 60


def test_a_chat_turn_may_take_five_minutes() -> None:
    assert FUNCTIONS["ChatFunction"]["Timeout"] == 300


def test_each_parameter_says_what_it_is_for_and_has_a_default() -> None:
    assert not [name for name, body in PARAMETERS.items() if not body.get("Description") or "Default" not in body]


def test_the_environment_is_simple_enough_for_the_local_stack(function: dict[str, Any]) -> None:
    for name, value in environment(function).items():
        assert isinstance(value, str) or (isinstance(value, dict) and value.keys() <= {"Ref", "Fn::Sub"}), name


def test_each_resource_has_a_reason_above_it() -> None:
    lines = (ROOT / "template.yaml").read_text().splitlines()
    for name in TEMPLATE["Resources"]:
        above = lines[lines.index(f"  {name}:") - 1]
        assert re.match(r"  # \w", above), name


def test_samconfig_overrides_only_parameters_that_exist() -> None:
    text = (ROOT / "samconfig.toml").read_text()
    assert set(re.findall(r'"(\w+)=', text)) <= PARAMETERS.keys()
    assert not re.search(r"\d{12}", text), "an account number"
