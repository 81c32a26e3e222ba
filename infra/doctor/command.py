"""What is right with a stage and what is not, in one table.

With a stage of samconfig.toml it takes the settings from the deployed functions; without one, from the environment, and
looks at nothing in AWS but the references in it. It reads only. `--spend` also asks each model for words, for a tool
call and for a typed answer, and makes one embedding and one mail to SES's simulator.

Exits with 1 where something is wrong. ADMIN_MONGODB_URI names a database user that may list indexes; the functions' own
may not.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from functools import partial

from infra.doctor.configuration import check_secrets, check_settings
from infra.doctor.database import check_database
from infra.doctor.findings import Check, Finding, look, note, table
from infra.doctor.models import QUESTIONS, check_prices, spend_on_embedding, spend_on_mail, spend_on_models
from infra.doctor.patient import NotThere, Patient
from infra.doctor.services import (
    check_alarms,
    check_functions,
    check_keys,
    check_machines,
    check_mail,
    check_parameters,
    check_schedules,
)
from infra.stages import Stage
from qwestly_agent.bootstrap import AWS, look_up

EVERYWHERE: Mapping[str, Check] = {
    "settings": check_settings,
    "secrets": check_secrets,
    "database": check_database,
    "prices": check_prices,
}
OF_A_STAGE: Mapping[str, Check] = {
    "parameters": check_parameters,
    "functions": check_functions,
    "state machines": check_machines,
    "schedules": check_schedules,
    "keys": check_keys,
    "mail": check_mail,
    "alarms": check_alarms,
}
SPENDING: Mapping[str, Check] = {
    **{about: partial(spend_on_models, about) for about in QUESTIONS},
    "an embedding": spend_on_embedding,
    "a mail": spend_on_mail,
}


async def examine(patient: Patient, *, spend: bool = False) -> list[Finding]:
    checks = {**EVERYWHERE, **(OF_A_STAGE if patient.stage else {}), **(SPENDING if spend else {})}
    found = await asyncio.gather(*(look(about, check(patient)) for about, check in checks.items()))
    unseen = [] if patient.stage else [note("AWS", "not looked at: no stage was named")]
    return [*(finding for each in found for finding in each), *unseen]


async def run(stage: str, *, spend: bool) -> list[Finding]:
    aws, admin_uri = AWS().client, os.environ.get("ADMIN_MONGODB_URI", "")
    if stage:
        patient = await Patient.of_stage(Stage.load(stage), aws, look_up=look_up, admin_uri=admin_uri)
    else:
        patient = await Patient.of_environment(os.environ, aws=aws, look_up=look_up, admin_uri=admin_uri)
    return await examine(patient, spend=spend)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--spend", action="store_true", help="ask each model, make an embedding, write to nobody")


def command(arguments: argparse.Namespace, _environment: Mapping[str, str]) -> int:
    try:
        findings = asyncio.run(run(arguments.stage, spend=arguments.spend))
    except NotThere as error:
        print(error, file=sys.stderr)
        return 1
    print(table(findings))
    return 1 if any(each.mark == "WRONG" for each in findings) else 0
