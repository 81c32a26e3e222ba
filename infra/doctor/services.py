"""What is deployed of a stage in AWS, compared with template.yaml and the definitions. Reads only."""

import asyncio
import json
import re
from collections.abc import Mapping
from email.utils import parseaddr
from typing import Any

from infra.doctor.findings import Findings, call, each_of, note, right, wrong
from infra.doctor.patient import Patient
from infra.local.aws import definition_of
from infra.local.environment import ALIAS, FUNCTION, MACHINE, SCHEDULE, Properties
from infra.stages import Stage

IN_ARN = re.compile(r"arn:[\w-]+:(lambda|states):[\w-]*:\d*:\w+:")


def stage_of(patient: Patient) -> Stage:
    assert patient.stage, "These checks are of a stage."
    return patient.stage


def by_name(patient: Patient, kind: str) -> dict[str, Properties]:
    template = stage_of(patient).template
    return {template.name(logical_id): properties for logical_id, properties in template.of_type(kind).items()}


async def check_parameters(patient: Patient) -> Findings:
    """A default that was changed in template.yaml reaches no running stack: SAM sends on what is there."""
    stage = stage_of(patient)
    [stack] = (await call(patient.aws("cloudformation"), "describe_stacks", StackName=stage.stack))["Stacks"]
    there = {each["ParameterKey"]: each["ParameterValue"] for each in stack.get("Parameters", [])}
    others = {name for name in stage.template.parameters.keys() & there if there[name] != stage.parameter(name)}
    for name in sorted(others):
        yield wrong("parameters", f"{name} is {there[name]!r} there: say it in samconfig.toml, and deploy")
    if not others:
        yield right("parameters", "as they are here")


async def check_functions(patient: Patient) -> Findings:
    """Doors that are shut, and deployments that did not come to their end."""
    functions = by_name(patient, FUNCTION)

    async def one(name: str) -> Findings:
        live = patient.live.get(name, {})
        reserved = await call(patient.aws("lambda"), "get_function_concurrency", FunctionName=name)
        if reserved.get("ReservedConcurrentExecutions") == 0:
            yield wrong("functions", f"{name} is shut: its reserved concurrency is 0")
        elif live.get("State", "Active") != "Active":
            yield wrong("functions", f"{name} is {live['State']}")
        elif functions[name].get("SnapStart") and not _has_snapshot(live):
            yield wrong("functions", f"{name} has no snapshot: it starts slowly")

    problems = 0
    async for problem in each_of("functions", functions, one):
        problems += 1
        yield problem
    if problems < len(functions):
        yield right("functions", f"{len(functions) - problems} of {len(functions)} are open, and as they should be")


def _has_snapshot(configuration: Mapping[str, Any]) -> bool:
    return configuration.get("SnapStart", {}).get("OptimizationStatus") == "On"


async def check_machines(patient: Patient) -> Findings:
    template = stage_of(patient).template
    arns = {each["name"]: each["stateMachineArn"] for each in await _machines(patient)}
    for logical_id in template.of_type(MACHINE):
        name = template.name(logical_id)
        if name not in arns:
            yield wrong("state machines", f"{name} is not there")
            continue
        there = await call(patient.aws("stepfunctions"), "describe_state_machine", stateMachineArn=arns[name])
        if there["status"] != "ACTIVE":
            yield wrong("state machines", f"{name} is {there['status']}")
        elif _canonical(json.loads(there["definition"])) != _canonical(definition_of(template, logical_id)):
            yield wrong("state machines", f"{name} is not what statemachines/ says here")
        else:
            yield right("state machines", f"{name}: active, as in statemachines/")


async def _machines(patient: Patient) -> list[dict[str, Any]]:
    pages = patient.aws("stepfunctions").get_paginator("list_state_machines")
    return (await asyncio.to_thread(lambda: pages.paginate().build_full_result()))["stateMachines"]


def _canonical(definition: object) -> str:
    """Without account and region, which only AWS knows."""
    return IN_ARN.sub("", json.dumps(definition, sort_keys=True))


def check_schedules(patient: Patient) -> Findings:
    async def one(name: str) -> Findings:
        there = await call(patient.aws("scheduler"), "get_schedule", Name=name)
        if there["State"] == "ENABLED":
            yield right("schedules", f"{name}: {there['ScheduleExpression']}")
        else:
            yield wrong("schedules", f"{name} is {there['State']}")

    return each_of("schedules", by_name(patient, SCHEDULE), one)


def check_keys(patient: Patient) -> Findings:
    async def one(alias: str) -> Findings:
        kms = patient.aws("kms")
        key = (await call(kms, "describe_key", KeyId=alias))["KeyMetadata"]
        if not key["Enabled"]:
            yield wrong("keys", f"{alias} is {key['KeyState']}: no task token can be opened")
        # An alias is no name for this question.
        elif (await call(kms, "get_key_rotation_status", KeyId=key["KeyId"]))["KeyRotationEnabled"]:
            yield right("keys", f"{alias}: enabled, rotates")
        else:
            yield wrong("keys", f"{alias} does not rotate")

    return each_of("keys", by_name(patient, ALIAS), one)


async def check_mail(patient: Patient) -> Findings:
    ses, identity = patient.aws("sesv2"), stage_of(patient).parameter("MailIdentity")
    sender = parseaddr(patient.variables.get("MAIL_FROM", ""))[1]
    if identity not in (sender, sender.rpartition("@")[2]):
        yield wrong("mail", f"MAIL_FROM is not of the identity {identity}")
    there = await call(ses, "get_email_identity", EmailIdentity=identity)
    if there.get("VerificationStatus") == "SUCCESS":
        yield right("mail", f"{identity} is verified")
    else:
        yield wrong("mail", f"{identity} is not verified: {there.get('VerificationStatus')}")
    account = await call(ses, "get_account")
    if not account["ProductionAccessEnabled"]:
        yield wrong("mail", "SES is in its sandbox: it writes to verified addresses only")
    elif not account["SendingEnabled"]:
        yield wrong("mail", "SES sends nothing for this account")
    else:
        yield right("mail", "SES is out of its sandbox")


async def check_alarms(patient: Patient) -> Findings:
    stage = stage_of(patient)
    if not stage.parameter("AlarmAddress"):
        yield note("alarms", "nobody is told: AlarmAddress is empty")
    asked = {"AlarmNamePrefix": f"{stage.stack}-", "StateValue": "ALARM"}
    ringing = (await call(patient.aws("cloudwatch"), "describe_alarms", **asked))["MetricAlarms"]
    for alarm in ringing:
        yield wrong("alarms", f"{alarm['AlarmName']} rings")
    if not ringing:
        yield right("alarms", "none rings")
