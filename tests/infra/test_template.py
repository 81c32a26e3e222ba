"""template.yaml keeps what the design promises. It is read as text, without a cloud or SAM."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra import template_parts
from infra.local.environment import SafeLoader
from infra.local.environment import Template as LocalTemplate
from infra.machines import read_machine, source_of
from infra.stages import Stage
from qwestly_agent.approvals.pause import PATIENCE_SECONDS
from qwestly_agent.base.settings import Settings
from qwestly_agent.workflows import WORKFLOWS

ROOT = Path(__file__).parents[2]

MACHINE = "AWS::Serverless::StateMachine"
SNAPSHOT = {"ApplyOn": "PublishedVersions"}
PATHS = {**os.environ, "PYTHONPATH": f"src{os.pathsep}."}
NO_SECRETS = {"TASK_TOKEN_KEY", "QWESTLY_JWT_PUBLIC_KEYS"}
"""Names of keys that never leave their place, and of public keys."""
OF_WHO_MAY_ACT = {"TASK_TOKEN_KEY", "QWESTLY_CANDIDATE_API_SECRET"}
READ_BY_POWERTOOLS = {"POWERTOOLS_SERVICE_NAME"}
NOT_IN_PRODUCTION = {"AGENT_DESIGN_PATHS", "JOB_BOARDS_URL", "MONGODB_CONNECTIONS"}
"""Settings that swap a part for another one; production runs the parts that the code names."""
SET_BY_LAMBDA = {"AWS_LAMBDA_INITIALIZATION_TYPE"}


class Template(SafeLoader):
    """YAML in which `!Ref x` is `{"Ref": x}` and `!Sub x` is `{"Fn::Sub": x}`, as in CloudFormation's long form."""


def intrinsic(loader: Template, name: str, node: yaml.Node) -> dict[str, Any]:
    is_list = isinstance(node, yaml.SequenceNode)
    value = loader.construct_sequence(node, deep=True) if is_list else loader.construct_scalar(node)  # type: ignore[arg-type]
    return {"Ref" if name == "Ref" else f"Fn::{name}": value}


Template.add_multi_constructor("!", intrinsic)

TEMPLATE: dict[str, Any] = yaml.load((ROOT / "template.yaml").read_text(), Template)
PARAMETERS: dict[str, Any] = TEMPLATE["Parameters"]


def resources(kind: str) -> dict[str, dict[str, Any]]:
    return {name: body["Properties"] for name, body in TEMPLATE["Resources"].items() if body["Type"] == kind}


def as_sam_sees_it(function: dict[str, Any]) -> dict[str, Any]:
    """Return the function with the template's global properties."""
    shared = TEMPLATE["Globals"]["Function"]
    variables = {
        name: value
        for each in (shared, function)
        for name, value in each.get("Environment", {"Variables": {}})["Variables"].items()
    }
    layers = [*shared["Layers"], *function.get("Layers", [])]
    return {**shared, **function, "Environment": {"Variables": variables}, "Layers": layers}


FUNCTIONS = {name: as_sam_sees_it(each) for name, each in resources("AWS::Serverless::Function").items()}
WITH_LINKS = {name: f for name, f in FUNCTIONS.items() if f["CodeUri"] == "functions/approve/"}
STREAMING = {name: f for name, f in FUNCTIONS.items() if f["Handler"].endswith(".sh")}


def environment(function: dict[str, Any]) -> dict[str, Any]:
    """Its variables; of the database's address, which roles may open in place of a secret, the secret's."""
    variables = function["Environment"]["Variables"]
    condition, by_role, by_secret = variables["MONGODB_URI"]["Fn::If"]
    assert (condition, by_role) == ("RolesOpenTheDatabase", {"Ref": "MongodbUri"})
    return {**variables, "MONGODB_URI": by_secret}


OLDEST_BACKUP_DAYS = 366
"""A monthly snapshot of Atlas's own schedule, which infra/atlas.yaml leaves as it is."""
TRACING = {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}
OF_MAIL = {"APPROVE_URL", "APP_URL", "BRAND_COLOR", "BRAND_LOGO", "BRAND_NAME", "MAIL_CONFIGURATION_SET", "MAIL_FROM"}
OF_SWEEPS = {
    "APPROVALS_A_SWEEP",
    "BRIEFINGS_A_SWEEP",
    "BRIEFING_MAILS_A_DAY",
    "EVENT_BUS",
    "CONVERSATIONS_A_SWEEP",
    "FOLLOW_UPS_A_SWEEP",
    "JOB_SEARCHES_A_SWEEP",
    "USERS_A_NIGHT",
}
FOLLOWING = {
    *(f"logs:{verb}LogDelivery" for verb in ("Create", "Get", "Update", "Delete")),
    *("logs:ListLogDeliveries", "logs:PutResourcePolicy", "logs:DescribeResourcePolicies", "logs:DescribeLogGroups"),
    *("xray:PutTraceSegments", "xray:PutTelemetryRecords", "xray:GetSamplingRules", "xray:GetSamplingTargets"),
}
"""Permissions for logs and traces of a state machine, for which AWS knows no narrower ones."""


def statements() -> Iterator[dict[str, Any]]:
    for role in resources("AWS::IAM::Role").values():
        yield from statements_of(role)


def statements_of(role: dict[str, Any]) -> Iterator[dict[str, Any]]:
    shared = [resources("AWS::IAM::ManagedPolicy")[each["Ref"]] for each in role.get("ManagedPolicyArns", [])]
    for policy in (*shared, *role.get("Policies", [])):
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


def test_a_start_script_is_executable_with_unix_line_ends(streaming: dict[str, Any]) -> None:
    script = ROOT / streaming["CodeUri"] / streaming["Handler"]
    assert os.access(script, os.X_OK)
    assert script.read_bytes().startswith(b"#!/bin/sh\n")


def test_the_layer_is_built_for_the_functions_architecture(function: dict[str, Any]) -> None:
    layer = TEMPLATE["Resources"]["AgentLayer"]
    assert layer["Metadata"]["BuildArchitecture"] == "arm64"
    assert layer["Properties"]["CompatibleArchitectures"] == function["Architectures"] == ["arm64"]
    assert layer["Properties"]["CompatibleRuntimes"] == [function["Runtime"]]
    recipe = (ROOT / layer["Properties"]["ContentUri"] / "Makefile").read_text()
    assert "build-AgentLayer:" in recipe
    assert f"LAYER_PYTHON ?= {function['Runtime']}\n" in recipe


def test_each_stage_has_its_own_layer() -> None:
    assert TEMPLATE["Resources"]["AgentLayer"]["Properties"]["LayerName"] == {"Fn::Sub": "${AWS::StackName}"}


def test_a_new_layer_reaches_the_version_behind_the_alias(function: dict[str, Any]) -> None:
    assert {"Ref": "AgentLayer"} in function["Layers"]
    assert TEMPLATE["Resources"]["AgentLayer"]["Properties"]["PublishLambdaVersion"] is True
    assert function["AutoPublishAliasAllProperties"] is True


def test_a_function_url_points_to_the_alias_of_a_published_version() -> None:
    public = {name: each for name, each in FUNCTIONS.items() if "FunctionUrlConfig" in each}
    assert public.keys() == {"ChatFunction", "ApiFunction", "ApprovePagesFunction"}
    for function in public.values():  # SAM puts the URL on the alias where there is one
        assert function["AutoPublishAlias"] == "live"
        assert function["FunctionUrlConfig"]["AuthType"] == "NONE"
    assert TEMPLATE["Outputs"]["ChatUrl"]["Value"] == {"Fn::GetAtt": "ChatFunctionUrl.FunctionUrl"}
    assert TEMPLATE["Outputs"]["ApiUrl"]["Value"] == {"Fn::GetAtt": "ApiFunctionUrl.FunctionUrl"}
    assert TEMPLATE["Outputs"]["ApproveUrl"]["Value"] == {"Fn::GetAtt": "ApprovePagesFunctionUrl.FunctionUrl"}


def test_machines_and_schedules_call_the_alias_too() -> None:
    machines = resources("AWS::Serverless::StateMachine").values()
    called = [each for machine in machines for each in machine["DefinitionSubstitutions"].values()]
    called += [each["Target"]["Arn"] for each in resources("AWS::Scheduler::Schedule").values()]
    others = {"AWS::Partition", *resources(MACHINE)}
    assert all(each["Ref"].endswith(".Alias") or each["Ref"] in others for each in called)


def test_only_functions_that_answer_people_have_a_snapshot() -> None:
    """It is billed for as long as its version exists; a workflow waits two seconds for imports, and nobody notices."""
    assert {name: each["SnapStart"] for name, each in FUNCTIONS.items() if "SnapStart" in each} == dict.fromkeys(
        STREAMING, SNAPSHOT
    )


def test_traffic_shifts_gradually_for_urls_and_an_alarm_rolls_it_back() -> None:
    preferences = {
        name: each["DeploymentPreference"] for name, each in FUNCTIONS.items() if "DeploymentPreference" in each
    }
    assert preferences.keys() == STREAMING.keys()
    for preference in preferences.values():
        assert preference["Type"] == {"Ref": "ChatDeployment"}
        condition, alarms, otherwise = preference["Alarms"]["Fn::If"]
        assert {each["Ref"] for each in alarms} >= {"TurnsFail"}
        assert {each["Ref"] for each in alarms} <= resources("AWS::CloudWatch::Alarm").keys()
        assert otherwise == [], "the deployment that ends an alarm is not stopped by it"
        assert TEMPLATE["Conditions"][condition] == {
            "Fn::Not": [{"Fn::Equals": [{"Ref": "ChatDeployment"}, "AllAtOnce"]}]
        }
    stages = {stage: Stage.load(stage).parameter("ChatDeployment") for stage in ("dev", "staging", "prod")}
    canary = "Canary10Percent15Minutes"
    assert stages == {"dev": "AllAtOnce", "staging": canary, "prod": canary}


def test_a_canary_lasts_longer_than_its_rollback_alarms_period() -> None:
    canaries = {int(each) for each in re.findall(r"Canary10Percent(\d+)Minutes", str(PARAMETERS["ChatDeployment"]))}
    failed = resources("AWS::CloudWatch::Alarm")["TurnsFail"]
    seconds = max(each["MetricStat"]["Period"] for each in failed["Metrics"] if "MetricStat" in each)
    assert min(canaries) * 60 >= seconds


def test_irreplaceable_resources_outlive_their_stack() -> None:
    """The key that opens task tokens, the logs of decisions and erasures, what could not be delivered."""
    for name in ("TaskTokenKey", "ApproveLogs", "ChatLogs", "ErasureLog", "DeadLetters"):
        kept = TEMPLATE["Resources"][name]
        assert (kept["DeletionPolicy"], kept["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain"), name
    assert int(Stage.load("prod").parameter("LogRetentionDays")) >= 365, "as long as approvals are kept"


def test_no_state_machine_hard_codes_an_aws_partition() -> None:
    assert not [path.name for path in (ROOT / "statemachines").glob("*.yaml") if "arn:aws:" in path.read_text()]


def test_the_deployment_role_may_move_aliases_and_read_its_alarms() -> None:
    role = resources("AWS::IAM::Role")["DeploymentRole"]
    moving, looking = statements_of(role)
    shifted = [f"{name}.Arn" for name, each in FUNCTIONS.items() if "DeploymentPreference" in each]
    named = [each["Fn::GetAtt"] for each in moving["Resource"] if "Fn::GetAtt" in each]
    aliases = [each["Fn::Sub"] for each in moving["Resource"] if "Fn::Sub" in each]
    assert (named, aliases) == (shifted, [f"${{{name}}}:live" for name in shifted])
    alarms = FUNCTIONS["ChatFunction"]["DeploymentPreference"]["Alarms"]["Fn::If"][1]
    names = {resources("AWS::CloudWatch::Alarm")[each["Ref"]]["AlarmName"]["Fn::Sub"] for each in alarms}
    assert {each["Fn::Sub"].rpartition(":alarm:")[2] for each in looking["Resource"]} == names


def test_a_deployment_keeps_the_previous_version(function: dict[str, Any]) -> None:
    assert function["VersionDeletionPolicy"] == "Retain"


@pytest.mark.nightly
@pytest.mark.thorough
def test_a_snapshot_contains_the_imported_agent() -> None:
    """It holds what importing the handler brings; what is imported later is imported at each cold start."""
    with_snapshot = {name: each for name, each in FUNCTIONS.items() if "SnapStart" in each}
    assert not [name for name, each in with_snapshot.items() if agent_comes_with([module_of(each)]) is None]


@pytest.mark.thorough
def test_functions_without_model_calls_do_not_import_the_agent() -> None:
    others = [module_of(each) for each in FUNCTIONS.values() if "DEEPSEEK_API_KEY" not in environment(each)]
    assert agent_comes_with(others) is None, "seconds at a cold start"


def module_of(function: dict[str, Any]) -> str:
    """Return the handler's module; for the chat the one that run.sh starts."""
    name = function["Handler"].partition(".")[0]
    return f"{function['CodeUri']}{'app' if name == 'run' else name}".replace("/", ".")


def agent_comes_with(handlers: Sequence[str]) -> str | None:
    """The first of these that brings it into a fresh interpreter."""
    program = f"""
import importlib, sys
for handler in {handlers}:
    importlib.import_module(handler)
    if "pydantic_ai" in sys.modules:
        sys.exit(handler)
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=PATHS, capture_output=True, text=True)
    if ran.returncode == 0:
        return None
    assert ran.stderr.strip() in handlers, ran.stderr
    return ran.stderr.strip()


def test_an_undeliverable_asynchronous_call_goes_to_a_dead_letter_queue() -> None:
    schedules = resources("AWS::Scheduler::Schedule").values()
    letters = {"Fn::GetAtt": "DeadLetters.Arn"}
    assert all(each["Target"]["DeadLetterConfig"]["Arn"] == letters for each in schedules)
    started = {each["Target"]["Arn"]["Ref"].removesuffix(".Alias") for each in schedules} & FUNCTIONS.keys()
    assert started
    assert started == {name for name, each in FUNCTIONS.items() if "DeadLetterQueue" in each}
    for sweep in (FUNCTIONS[name] for name in started):
        assert sweep["DeadLetterQueue"] == {"Type": "SQS", "TargetArn": letters}
        again = sweep["EventInvokeConfig"]
        assert again["MaximumRetryAttempts"] == 1, "a hiccup is no letter"
        assert again["MaximumEventAgeInSeconds"] > 60 + sweep["Timeout"], "Lambda waits a minute before it tries again"


def test_calls_are_traced_from_schedule_to_last_state(function: dict[str, Any]) -> None:
    assert function["Tracing"] == "Active"
    assert allowed(function) >= TRACING
    assert all(each["Tracing"] == {"Enabled": True} for each in resources(MACHINE).values())
    assert not [each for each in resources(MACHINE).values() if each["Logging"]["IncludeExecutionData"]], (
        "a task token is a credential"
    )


def test_url_and_adapter_both_stream_the_response(streaming: dict[str, Any]) -> None:
    assert streaming["FunctionUrlConfig"]["InvokeMode"] == "RESPONSE_STREAM"
    assert environment(streaming)["AWS_LWA_INVOKE_MODE"] == "response_stream"


def test_the_adapter_starts_the_script_and_has_the_readiness_path(streaming: dict[str, Any]) -> None:
    variables = environment(streaming)
    assert variables["AWS_LAMBDA_EXEC_WRAPPER"] == "/opt/bootstrap"
    assert variables["AWS_LWA_READINESS_CHECK_PATH"] == "/healthz"
    assert "AWS_LWA_PORT" in (ROOT / streaming["CodeUri"] / streaming["Handler"]).read_text()
    assert any("LambdaAdapterLayerArm64:${WebAdapterLayerVersion}" in str(layer) for layer in streaming["Layers"])


def test_only_browsers_from_allowed_origins_may_call_the_url(streaming: dict[str, Any]) -> None:
    cors = streaming["FunctionUrlConfig"]["Cors"]
    assert cors["AllowOrigins"] == {"Ref": "AllowedOrigins"}
    assert "*" not in PARAMETERS["AllowedOrigins"]["Default"]
    assert set(cors["AllowMethods"]) == {"GET", "POST", "PUT", "PATCH", "DELETE"}
    assert set(cors["AllowHeaders"]) == {"authorization", "content-type"}
    assert "AllowCredentials" not in cors


def test_the_chat_gets_exactly_the_variables_its_settings_read() -> None:
    read = {field.name.upper() for field in fields(Settings)} - NOT_IN_PRODUCTION - SET_BY_LAMBDA
    given = {name for name in environment(FUNCTIONS["ChatFunction"]) if not name.startswith("AWS_")}
    assert given - READ_BY_POWERTOOLS == read - OF_MAIL - OF_SWEEPS - OF_WHO_MAY_ACT, (
        "name the setting in the environment of ChatFunction and of ApiFunction in template.yaml, or above as one that "
        "no deployment sets (docs/settings.md, “A new setting”)"
    )


def test_the_chat_and_api_functions_share_code_but_not_concurrency() -> None:
    chat, api = FUNCTIONS["ChatFunction"], FUNCTIONS["ApiFunction"]
    for same in ("CodeUri", "Handler", "Layers", "FunctionUrlConfig", "SnapStart", "LoggingConfig"):
        assert chat[same] == api[same], same
    assert environment(chat) == {**environment(api), "ANSWERS_TURNS": "1"}
    assert environment(api)["ANSWERS_TURNS"] == "0", "streams would take its slots"
    assert chat["ReservedConcurrentExecutions"] != api["ReservedConcurrentExecutions"]


def test_the_brake_can_wait_until_nothing_runs() -> None:
    assert FUNCTIONS["ApiFunction"]["Timeout"] > PATIENCE_SECONDS + 10


def test_no_secret_is_in_the_environment_or_in_a_parameter(function: dict[str, Any]) -> None:
    secrets = [
        name
        for name in environment(function)
        if re.search(r"SECRET|KEY|TOKEN|PASSWORD|_URI$", name) and name not in NO_SECRETS
    ]
    assert secrets
    for name in secrets:
        assert re.match(r"(ssm:\$\{ConfigurationPath\}/|secret:)", environment(function)[name]["Fn::Sub"]), name
    named = {name for name in PARAMETERS if re.search(r"Secret|Key|Token|Password", name)}
    assert named == {"JwtPublicKeys"}


def test_a_function_may_read_exactly_the_secrets_that_it_names(function: dict[str, Any]) -> None:
    named = {
        value["Fn::Sub"].removeprefix("ssm:")
        for value in environment(function).values()
        if isinstance(value, dict) and value.get("Fn::Sub", "").startswith("ssm:")
    }
    read = [
        arn["Fn::Sub"].partition(":parameter")[2]
        for statement in statements_of(role_of(function))
        if as_list(statement["Action"]) == ["ssm:GetParameters"]
        for arn in as_list(statement["Resource"])
    ]
    assert sorted(read) == sorted(named)


def test_each_function_has_its_own_role() -> None:
    roles = [function["Role"]["Fn::GetAtt"] for function in FUNCTIONS.values()]
    assert len(set(roles)) == len(FUNCTIONS)
    assert {role.removesuffix(".Arn") for role in roles} <= resources("AWS::IAM::Role").keys()
    assert not [name for name, function in FUNCTIONS.items() if "Policies" in function]


def test_a_role_names_its_actions_and_resources() -> None:
    for statement in statements():
        assert not [action for action in as_list(statement["Action"]) if "*" in action]
        if not set(as_list(statement["Action"])) <= FOLLOWING:
            assert not [each for each in as_list(statement["Resource"]) if "*" in str(each)]


def test_a_role_assumed_by_an_aws_service_is_limited_to_this_account() -> None:
    """Lambda's own role names no source: it is assumed before any call."""
    for name, role in resources("AWS::IAM::Role").items():
        [statement] = role["AssumeRolePolicyDocument"]["Statement"]
        if statement["Principal"] != {"Service": "lambda.amazonaws.com"}:
            assert statement["Condition"]["StringEquals"]["aws:SourceAccount"], name


def test_each_function_logs_to_a_group_that_expires(function: dict[str, Any]) -> None:
    groups = resources("AWS::Logs::LogGroup")
    assert function["LoggingConfig"]["LogGroup"]["Ref"] in groups
    others = {**groups, "ErasureLog": {"RetentionInDays": {"Ref": "LogRetentionDays"}}}
    assert all(group["RetentionInDays"] == {"Ref": "LogRetentionDays"} for group in others.values())


def test_the_erasure_log_outlives_backups_and_is_unreadable_to_stage_roles() -> None:
    assert resources("AWS::Logs::LogGroup")["ErasureLog"]["RetentionInDays"] > OLDEST_BACKUP_DAYS
    writing = {name for name, function in FUNCTIONS.items() if "ERASURE_LOG" in environment(function)}
    assert writing == {"ChatFunction", "ApiFunction", "ActFunction", "ApproveClockFunction"}
    granted = {action for each in statements() for action in as_list(each["Action"]) if action.startswith("logs:")}
    assert not [each for each in granted - FOLLOWING if "Get" in each or "Filter" in each or "Query" in each]


def test_each_function_has_a_timeout(function: dict[str, Any]) -> None:
    assert 0 < function["Timeout"] <= 900


def test_only_interactive_and_public_functions_reserve_concurrency() -> None:
    waited_for = {"GenerateReaderFunction"}
    public = {name for name, each in FUNCTIONS.items() if "FunctionUrlConfig" in each}
    reserving = {
        name: each["ReservedConcurrentExecutions"]
        for name, each in FUNCTIONS.items()
        if "ReservedConcurrentExecutions" in each
    }
    assert reserving.keys() == waited_for | public
    for condition, reserved, otherwise in (each["Fn::If"] for each in reserving.values()):
        assert (condition, otherwise) == ("ConcurrencyIsReserved", {"Ref": "AWS::NoValue"})
        assert reserved["Ref"] in PARAMETERS


@pytest.mark.parametrize("stage", ["staging", "prod"])
def test_interactive_functions_have_capacity_during_nightly_runs_and_sweeps(stage: str) -> None:
    """The nights have functions of their own. Of the others, a sweep's searches leave room for three cards."""
    at_night = {MACHINES_OF[name] for name in ("extract_memories", "consolidate")}
    called = {
        each["Ref"].removesuffix(".Alias")
        for machine in at_night
        for each in resources(MACHINE)[machine]["DefinitionSubstitutions"].values()
    }
    assert "GenerateReaderFunction" not in called
    searches = int(environment(FUNCTIONS["ApproveClockFunction"])["JOB_SEARCHES_A_SWEEP"])
    reserved = int(Stage.load(stage).parameter("ReaderReservedConcurrency"))
    assert searches + 3 * SECTIONS_AT_ONCE <= reserved


MACHINES_OF = {Path(each["DefinitionUri"]).stem: name for name, each in resources(MACHINE).items()}
SECTIONS_AT_ONCE = 3


def reserved_in(stage: str, **parameters: str) -> int:
    template = Stage.load(stage).template
    changed = replace(template, parameters={**template.parameters, **parameters})
    return sum(changed.reserved(name) or 0 for name in FUNCTIONS)


@pytest.mark.parametrize("stage", ["dev", "staging", "prod"])
def test_one_parameter_fits_each_stage_to_an_account_with_ten_executions(stage: str) -> None:
    """AWS lets an account reserve what leaves 100 for the rest: of ten, nothing."""
    assert reserved_in(stage, ReserveConcurrency="false") <= max(0, 10 - 100)
    assert not [name for name, each in FUNCTIONS.items() if "ProvisionedConcurrencyConfig" in each]
    assert (reserved_in(stage) == 0) == (stage == "dev")


def test_a_function_gets_only_variables_its_settings_read(function: dict[str, Any]) -> None:
    read = {field.name.upper() for field in fields(Settings)} - NOT_IN_PRODUCTION
    given = {name for name in environment(function) if not name.startswith("AWS_")}
    assert given - READ_BY_POWERTOOLS <= read


def test_only_functions_that_execute_effects_can_sign_for_users() -> None:
    assert {name for name, each in FUNCTIONS.items() if "QWESTLY_CANDIDATE_API_SECRET" in environment(each)} == {
        "ActFunction",
        "ApprovePagesFunction",
        "ApproveClockFunction",
        "GenerateWriterFunction",
    }


def test_in_a_workflow_model_calls_and_effects_are_in_separate_functions() -> None:
    workflows = {name: each for name, each in FUNCTIONS.items() if name.endswith(("ReaderFunction", "WriterFunction"))}
    declared = {name for each in WORKFLOWS for name in template_parts.functions(each).values()}
    assert workflows.keys() == declared - {"OpenFilesFunction"}
    for name, function in workflows.items():
        assert ("DEEPSEEK_API_KEY" in environment(function)) == name.endswith("ReaderFunction"), name
        database = environment(function)["MONGODB_URI"]["Fn::Sub"]
        assert database.endswith("/mongodb-reader-uri") == name.endswith("ReaderFunction"), name
        if name.endswith("ReaderFunction"):
            assert not environment(function).keys() & {"QWESTLY_CANDIDATE_API_SECRET", "TASK_TOKEN_KEY", "MAIL_FROM"}


def test_the_numbers_of_functions_and_alarms_are_bounded() -> None:
    assert len(FUNCTIONS) <= 12
    assert len(resources("AWS::CloudWatch::Alarm")) <= 20 + len(WORKFLOWS)
    assert {Path(each["CodeUri"]).name for each in FUNCTIONS.values()} >= {
        *("chat", "extract_memories", "consolidate", "approve")
    }


def test_each_alarm_links_to_its_runbook_row_and_requires_a_recipient() -> None:
    for name, alarm in resources("AWS::CloudWatch::Alarm").items():
        assert TEMPLATE["Resources"][name]["Condition"] == "AlarmsAreHeard"
        assert alarm["AlarmName"] == {"Fn::Sub": f"${{AWS::StackName}}-{name}"}
        row = "ExecutionsFailed" if f"{name.removesuffix('Failed')}Machine" in resources(MACHINE) else name
        assert alarm["AlarmDescription"].endswith(f" docs/runbook.md#{row}")
        assert f'<a id="{row}"></a>' in (ROOT / "docs/runbook.md").read_text()


def test_link_functions_have_no_model_key_and_only_act_checks_sign_ins() -> None:
    assert WITH_LINKS.keys() == {"ActFunction", "ApprovePagesFunction", "ApproveClockFunction"}
    keys = {"DEEPSEEK_API_KEY", "OPENAI_API_KEY"}
    for name, function in WITH_LINKS.items():
        assert not environment(function).keys() & keys
        assert ("QWESTLY_AGENT_SHARED_SECRET" in environment(function)) == (name == "ActFunction")


def test_functions_with_a_model_cannot_open_task_tokens_but_act_can() -> None:
    waking = {"kms:Decrypt", "states:SendTaskSuccess"}
    for name, function in FUNCTIONS.items():
        if "DEEPSEEK_API_KEY" in environment(function):
            assert not allowed(function) & waking, name
            assert "TASK_TOKEN_KEY" not in environment(function), name
    assert allowed(FUNCTIONS["ActFunction"]) >= waking
    called = {name for name, each in FUNCTIONS.items() if "lambda:InvokeFunction" in allowed(each)}
    assert (
        called
        == {"ChatFunction", "ApiFunction"}
        == {name for name, each in FUNCTIONS.items() if "ACT_FUNCTION" in environment(each)}
    )


def test_the_approval_pages_can_open_task_tokens_and_writers_only_seal_them() -> None:
    own = {*("logs:CreateLogStream", "logs:PutLogEvents", "ssm:GetParameters"), *TRACING}
    mail = {"ses:SendEmail", "ses:SendRawEmail"}
    answering = {"kms:Decrypt", "states:SendTaskSuccess", "states:StartExecution"}
    assert allowed(FUNCTIONS["ApprovePagesFunction"]) - own == answering
    assert allowed(FUNCTIONS["GenerateWriterFunction"]) - own == {"kms:Encrypt", "states:SendTaskSuccess", *mail}
    assert allowed(FUNCTIONS["ExtractMemoriesWriterFunction"]) - own == {"kms:Encrypt", "states:SendTaskSuccess"}
    sweeping = {*answering, "events:PutEvents", "sqs:SendMessage", *mail}
    assert allowed(FUNCTIONS["ApproveClockFunction"]) - own == sweeping


def test_each_state_machine_that_waits_for_a_token_can_receive_it() -> None:
    [statement, opening] = resources("AWS::IAM::ManagedPolicy")["MayWakeExecutions"]["PolicyDocument"]["Statement"]
    assert (statement["Action"], opening["Action"]) == ("states:SendTaskSuccess", "kms:Decrypt")
    granted = [each["Fn::Sub"] for each in statement["Resource"]]
    machine = "arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:stateMachine:"
    sources = {each["Name"]["Fn::Sub"]: ROOT / source_of(each["DefinitionUri"]) for each in resources(MACHINE).values()}
    waiting = {name for name, path in sources.items() if ".waitForTaskToken" in json.dumps(read_machine(path))}
    missing = [f"- !Sub {machine}{name}" for name in sorted(waiting) if f"{machine}{name}" not in granted]
    assert not missing, "add to the Resource of MayWakeExecutions:\n" + "\n".join(missing)
    assert sorted(granted) == sorted(f"{machine}{name}" for name in waiting)


def test_the_approval_pages_are_buffered_and_public() -> None:
    url = FUNCTIONS["ApprovePagesFunction"]["FunctionUrlConfig"]
    assert url == {"AuthType": "NONE", "InvokeMode": "BUFFERED"}, "no origin may read them from a script"


def test_task_tokens_have_their_own_key_and_every_key_is_rotated() -> None:
    [alias] = resources("AWS::KMS::Alias").values()
    assert alias["TargetKeyId"] == {"Ref": "TaskTokenKey"}
    assert all(key["EnableKeyRotation"] is True for key in resources("AWS::KMS::Key").values())


def test_the_sweep_runs_every_minute_and_ends_before_the_next() -> None:
    sweep, schedule = FUNCTIONS["ApproveClockFunction"], resources("AWS::Scheduler::Schedule")["ApproveSweepSchedule"]
    assert schedule["ScheduleExpression"] == "rate(1 minute)"
    assert schedule["Target"]["Arn"] == {"Ref": "ApproveClockFunction.Alias"}
    assert sweep["Timeout"] < 60


def test_a_chat_turn_may_take_five_minutes() -> None:
    assert FUNCTIONS["ChatFunction"]["Timeout"] == 300


def test_each_parameter_has_a_description_and_a_default() -> None:
    assert not [name for name, body in PARAMETERS.items() if not body.get("Description") or "Default" not in body]


def test_the_environment_is_simple_enough_for_the_local_stack(function: dict[str, Any]) -> None:
    evaluated = {"Ref", "Fn::Sub", "Fn::If"}
    for name, value in environment(function).items():
        assert isinstance(value, str) or (isinstance(value, dict) and value.keys() <= evaluated), name


def test_the_local_stack_applies_global_function_settings_as_sam_does() -> None:
    for name, seen in LocalTemplate.load().of_type("AWS::Serverless::Function").items():
        function = FUNCTIONS[name]
        assert seen.keys() == function.keys()
        assert seen["Environment"]["Variables"].keys() == environment(function).keys()
        assert len(seen["Layers"]) == len(function["Layers"])


def test_each_resource_has_an_explanatory_comment() -> None:
    lines = (ROOT / "template.yaml").read_text().splitlines()
    for name in TEMPLATE["Resources"]:
        above = lines[lines.index(f"  {name}:") - 1]
        assert re.match(r"  # \w", above), name


def test_samconfig_overrides_only_parameters_that_exist() -> None:
    text = (ROOT / "samconfig.toml").read_text()
    assert set(re.findall(r'"(\w+)=', text)) <= PARAMETERS.keys()
    assert not re.search(r"\d{12}", text), "an account number"
