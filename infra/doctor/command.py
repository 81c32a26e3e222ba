"""Check a stage and print one table of results: everything that a deployment does not check by itself.

With --stage it checks the stage as this checkout deploys it; without, the settings of the environment, and in AWS only
their references. It changes nothing. --spend also asks each model for text, for a tool call and for a typed answer,
makes one embedding, and sends one mail to SES's simulator.

Exits with 1 if something is wrong. ADMIN_MONGODB_URI names a database user that may list indexes; the functions' own
users may not.
"""

import argparse
import asyncio
import os
from collections.abc import Mapping
from functools import partial

from infra.doctor.database import check_database
from infra.doctor.hosts import check_hosts
from infra.doctor.models import (
    QUESTIONS,
    check_prices,
    spend_on_embedding,
    spend_on_mail,
    spend_on_models,
    spend_on_moderation,
)
from infra.doctor.quotas import check_histories, check_lambda, check_sending
from infra.doctor.results import Check, Result, note, run_check, table
from infra.doctor.services import check_alarms, check_candidate_app, check_mail, check_parameters, check_stack
from infra.doctor.settings import check_secrets, check_settings
from infra.doctor.target import Target
from infra.stages import Stage
from qwestly_agent.clients.aws import AWS

EVERYWHERE: Mapping[str, Check] = {
    "settings": check_settings,
    "secrets": check_secrets,
    "database": check_database,
    "candidate app": check_candidate_app,
    "prices": check_prices,
    "hosts": check_hosts,
}
OF_A_STAGE: Mapping[str, Check] = {
    "stack": check_stack,
    "parameters": check_parameters,
    "mail": check_mail,
    "alarms": check_alarms,
    "Lambda": check_lambda,
    "SES": check_sending,
    "Step Functions": check_histories,
}
SPENDING: Mapping[str, Check] = {
    **{about: partial(spend_on_models, about) for about in QUESTIONS},
    "an embedding": spend_on_embedding,
    "moderation": spend_on_moderation,
    "a mail": spend_on_mail,
}


async def examine(target: Target, *, spend: bool = False) -> list[Result]:
    results = await _at_once(target, {**EVERYWHERE, **(OF_A_STAGE if target.stage else {})})
    if not target.stage:
        results.append(note("AWS", "not looked at: no stage was named"))
    # Last, because building the models' agents would delay the checks that query the database.
    return [*results, *(await _at_once(target, SPENDING) if spend else [])]


async def _at_once(target: Target, checks: Mapping[str, Check]) -> list[Result]:
    found = await asyncio.gather(*(run_check(about, check(target)) for about, check in checks.items()))
    return [result for each in found for result in each]


async def run(stage: Stage | None, environment: Mapping[str, str], *, spend: bool) -> list[Result]:
    admin_uri = os.environ.get("ADMIN_MONGODB_URI", "")
    target = await Target.read(environment, AWS().client, stage=stage, admin_uri=admin_uri)
    return await examine(target, spend=spend)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--spend", action="store_true", help="ask each model, make an embedding, write to nobody")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    stage = Stage.load(arguments.stage) if arguments.stage else None
    results = asyncio.run(run(stage, environment, spend=arguments.spend))
    print(table(results))
    return 1 if any(each.mark == "WRONG" for each in results) else 0
