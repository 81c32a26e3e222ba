"""Check the account's quotas: concurrent executions, stored code, mails, and events of an execution.

The Scheduler's quotas are not checked: each schedule starts at most one invocation per minute.
"""

import asyncio
from typing import Any

from infra.doctor.results import Results, call, note, right, wrong
from infra.doctor.target import Target
from infra.local.environment import FUNCTION, MACHINE
from infra.stages import Stage, stage_names
from qwestly_agent.base.settings import Settings

UNRESERVED = 100
"""Concurrent executions that AWS keeps for functions without a reservation."""
NEW_ACCOUNT = 10
"""Concurrent executions of a new account, shared by all functions of a stage without reservations."""
WITHOUT_RESERVATION = 75
"""Concurrent executions of functions without a reservation: 45 of the writers of `generate` (40 searches of a sweep,
and what people wait for), 16 of `extract_memories` (two sweeps of four, on both sides), 6 of `consolidate`, 5 of the
clock, and 3 of the function that opens files."""
NEARLY = 0.8
"""Share of a quota at which it is time to act."""
MOST_EVENTS = 25_000
"""Maximum number of events of an execution, which fails above it. AWS does not raise this quota."""
LATEST_EXECUTIONS = 20
"""Number of executions checked per state machine."""
MAILS_A_SECOND = 14
"""Mails per second assumed in docs/capacity.md."""


def reserved_by(stage: Stage) -> int:
    return sum(stage.template.reserved(name) or 0 for name in stage.template.of_type(FUNCTION))


def connections_of(stage: Stage) -> int:
    """Return the maximum number of connections to a member of the cluster: those of all environments, each with its
    pool and the driver's monitor, and as many again for the previous version, which Lambda keeps for some minutes after
    a deployment."""
    reserved = reserved_by(stage)
    at_once = reserved + WITHOUT_RESERVATION if reserved else NEW_ACCOUNT
    return 2 * at_once * (Settings.mongodb_connections + 1)


async def check_lambda(target: Target) -> Results:
    """Check concurrency: a deployment fails if less than 100 would be left. A higher quota is requested in the Service
    Quotas console."""
    assert target.stage, "This check is of a stage."
    account = await call(target.aws("lambda"), "get_account_settings")
    limit, free = (account["AccountLimit"][f"{kind}ConcurrentExecutions"] for kind in ("", "Unreserved"))
    own, together = reserved_by(target.stage), reserved_by_all()
    if own and limit < own + UNRESERVED:
        more = f"{own} and {UNRESERVED} for the rest are needed: ask for more, or set ReserveConcurrency=false"
        yield wrong("Lambda", f"the account may run {limit} functions at once; {more}")
    elif limit < UNRESERVED:
        yield note("Lambda", f"all functions share {limit} executions at once, as in every new account")
    elif free < UNRESERVED:
        yield wrong("Lambda", f"{free} executions at once are left to functions that reserve none")
    else:
        yield right("Lambda", f"{own} of {limit} executions at once are reserved here, {free} are free")
    if limit < together + UNRESERVED:
        yield note("Lambda", f"all stages in one account need {together + UNRESERVED} executions at once")
    kept, room = (account[name]["TotalCodeSize"] for name in ("AccountUsage", "AccountLimit"))
    if kept >= NEARLY * room:
        versions = "`qwestly-agent release prune` deletes old versions"
        yield wrong("Lambda", f"{_gb(kept)} of {_gb(room)} GB of code are kept: {versions}")


def reserved_by_all() -> int:
    return sum(reserved_by(Stage.load(name)) for name in stage_names())


def _gb(size: float) -> str:
    return f"{size / 2**30:.1f}"


async def check_sending(target: Target) -> Results:
    quota = (await call(target.aws("sesv2"), "get_account"))["SendQuota"]
    sent, most, rate = (quota[name] for name in ("SentLast24Hours", "Max24HourSend", "MaxSendRate"))
    # -1 means no limit.
    if most >= 0 and sent >= NEARLY * most:
        yield wrong("SES", f"{sent:g} of {most:g} mails of a day are sent: ask for more")
    elif rate < MAILS_A_SECOND:
        yield note("SES", f"{rate:g} mails a second; docs/capacity.md counts with {MAILS_A_SECOND}")
    else:
        yield right("SES", f"{sent:g} mails were sent within a day, {rate:g} may be sent a second")
    if target.stage:
        briefings = float(target.stage.parameter("BriefingMailsADay"))
        if 0 <= most < briefings:
            fewer = f"set it to {NEARLY * most:g}, so that mails of approvals have room, or ask for more"
            yield wrong("SES", f"BriefingMailsADay is {briefings:g}, but {most:g} mails may be sent a day: {fewer}")
        elif most >= 0 and briefings > NEARLY * most:
            yield note("SES", f"briefings may take {briefings:g} of {most:g} mails a day: little is left for approvals")


async def check_histories(target: Target) -> Results:
    """Compare the longest history of the latest executions with the event quota."""
    assert target.stage, "This check is of a stage."
    states, template = target.aws("stepfunctions"), target.stage.template
    machines = (await call(states, "list_state_machines", maxResults=1000))["stateMachines"]
    there = {each["name"]: each["stateMachineArn"] for each in machines}
    for name in map(template.name, template.of_type(MACHINE)):
        if name not in there:
            yield wrong("Step Functions", f"there is no {name}")
            continue
        listed = await call(states, "list_executions", stateMachineArn=there[name], maxResults=LATEST_EXECUTIONS)
        lengths = await asyncio.gather(*(_events(states, each["executionArn"]) for each in listed["executions"]))
        longest = max(lengths, default=0)
        told = f"{name}: {longest} of {MOST_EVENTS} events in the longest of the latest {len(lengths)} executions"
        if longest >= NEARLY * MOST_EVENTS:
            yield wrong("Step Functions", f"{told}: it has to do less at a time (docs/capacity.md)")
        else:
            yield right("Step Functions", told)


async def _events(states: Any, execution: str) -> int:
    """Return the number of events in the execution's history: the id of the last one."""
    asked = {"executionArn": execution, "reverseOrder": True, "maxResults": 1, "includeExecutionData": False}
    return max((each["id"] for each in (await call(states, "get_execution_history", **asked))["events"]), default=0)
