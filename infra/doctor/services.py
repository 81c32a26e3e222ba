"""Check the services that a stage needs besides its functions and that CloudFormation does not check. Read-only."""

from collections.abc import Iterator
from email.utils import parseaddr
from typing import Any

import httpx2

from infra.doctor.results import Result, Results, call, note, right, wrong
from infra.doctor.target import Target
from infra.stages import Stage
from qwestly_agent.base.clock import system_clock
from qwestly_agent.bootstrap import new_id
from qwestly_agent.clients.candidate_app import CandidateApp, NeverArrived

FIRST_HOUR_SECONDS = 3_600.0
PENDING = "PendingConfirmation"
"""The value of a subscription's ARN until its mail is confirmed."""


async def check_candidate_app(target: Target) -> Results:
    """Query the outcome of a write that never happened."""
    settings = target.settings
    async with httpx2.AsyncClient() as http:
        secret = settings.qwestly_candidate_api_secret
        app = CandidateApp(http, settings.candidate_api_url, secret, system_clock, new_id)
        outcome = await app.outcome_of("doctor|nobody", "doctor", new_id())
    if outcome == NeverArrived():
        yield right("candidate app", "answers, and takes our signature")
    else:
        yield wrong(
            "candidate app", "gives no answer of use: is CANDIDATE_API_URL right, and the secret the same there?"
        )


def stage_of(target: Target) -> Stage:
    assert target.stage, "These checks are of a stage."
    return target.stage


async def check_parameters(target: Target) -> Results:
    """Compare the stack's parameters with template.yaml: a changed default does not reach an existing stack."""
    stage = stage_of(target)
    stack = await _described(target)
    there = {each["ParameterKey"]: each["ParameterValue"] for each in stack.get("Parameters", [])}
    others = {name for name in stage.template.parameters.keys() & there if there[name] != stage.parameter(name)}
    for name in sorted(others):
        yield wrong("parameters", f"{name} is {there[name]!r} there: say it in samconfig.toml, and deploy")
    if not others:
        yield right("parameters", "as they are here")


async def check_mail(target: Target) -> Results:
    ses, identity = target.aws("sesv2"), stage_of(target).parameter("MailIdentity")
    sender = parseaddr(target.variables.get("MAIL_FROM", ""))[1]
    if not sender:
        yield note("mail", "none is sent: MailFrom is empty")
        return
    if identity not in (sender, sender.rpartition("@")[2]):
        yield wrong("mail", f"MAIL_FROM is not of the identity {identity}")
    there = await call(ses, "get_email_identity", EmailIdentity=identity)
    if there.get("VerificationStatus") == "SUCCESS":
        yield right("mail", f"{identity} is verified")
    else:
        yield wrong("mail", f"{identity} is not verified: {there.get('VerificationStatus')}")
    for record in _records(identity, there, ses.meta.region_name):
        yield record
    account = await call(ses, "get_account")
    if not account["ProductionAccessEnabled"]:
        yield wrong("mail", "SES is in its sandbox: it writes to verified addresses only")
    elif not account["SendingEnabled"]:
        yield wrong("mail", "SES sends nothing for this account")
    else:
        yield right("mail", "SES is out of its sandbox")


def _records(identity: str, there: Any, region: str) -> Iterator[Result]:
    """Yield the DNS records that the sender's domain needs for mailboxes to trust our mail: DKIM, a separate domain for
    bounces (MAIL FROM), and DMARC. SES checks the first two itself."""
    domain = identity.rpartition("@")[2]
    signing, returning = there.get("DkimAttributes", {}), there.get("MailFromAttributes", {})
    for token in signing.get("Tokens", []):
        is_there = signing.get("Status") == "SUCCESS"
        record = f"{token}._domainkey.{domain} CNAME {token}.dkim.amazonses.com"
        yield right("mail", f"DKIM: {record}") if is_there else wrong("mail", f"DKIM is missing: {record}")
    sub = returning.get("MailFromDomain") or f"mail.{domain}"
    records = f'{sub} MX 10 feedback-smtp.{region}.amazonses.com, {sub} TXT "v=spf1 include:amazonses.com ~all"'
    if returning.get("MailFromDomainStatus") == "SUCCESS":
        yield right("mail", f"MAIL FROM: {records}")
    else:
        put = f"aws sesv2 put-email-identity-mail-from-attributes --email-identity {identity} --mail-from-domain {sub}"
        yield right("mail", f"MAIL FROM is SES's own; for one of yours: {put}, then {records}")
    yield right(
        "mail", f'DMARC, which only you see: _dmarc.{domain} TXT "v=DMARC1; p=quarantine; rua=mailto:…@{domain}"'
    )


async def check_stack(target: Target) -> Results:
    """Check the termination protection, which `make deploy` turns on."""
    stage = stage_of(target)
    if (await _described(target)).get("EnableTerminationProtection"):
        yield right("stack", "cannot be deleted by mistake")
    elif stage.stack.endswith("-dev"):
        yield right("stack", "may be deleted, as dev")
    else:
        turn_on = "aws cloudformation update-termination-protection --enable-termination-protection --stack-name"
        yield wrong("stack", f"is not protected from deletion: {turn_on} {stage.stack}")


async def _described(target: Target) -> Any:
    [stack] = (await call(target.aws("cloudformation"), "describe_stacks", StackName=stage_of(target).stack))["Stacks"]
    return stack


async def check_alarms(target: Target) -> Results:
    stack = stage_of(target).stack
    asked = {"StackName": stack, "LogicalResourceId": "Alarms"}
    topic = (await call(target.aws("cloudformation"), "describe_stack_resource", **asked))["StackResourceDetail"]
    named = {"TopicArn": topic["PhysicalResourceId"]}
    subscriptions = (await call(target.aws("sns"), "list_subscriptions_by_topic", **named))["Subscriptions"]
    for each in subscriptions:
        if each["SubscriptionArn"] == PENDING:
            yield wrong("alarms", f"{each['Endpoint']} has not confirmed: open the mail of AWS")
        else:
            yield right("alarms", f"{each['Endpoint']} is told")
    if not subscriptions:
        yield note("alarms", "nobody is told: AlarmAddress is empty")
    asked = {"AlarmNamePrefix": f"{stack}-", "StateValue": "ALARM"}
    ringing = (await call(target.aws("cloudwatch"), "describe_alarms", **asked))["MetricAlarms"]
    is_new = target.clock() - (await _described(target))["CreationTime"].timestamp() < FIRST_HOUR_SECONDS
    for alarm in ringing:
        if is_new and alarm.get("TreatMissingData") == "breaching":
            yield note("alarms", f"{alarm['AlarmName']} rings in the stack's first hour: nothing reported yet?")
        else:
            yield wrong("alarms", f"{alarm['AlarmName']} rings")
    if not ringing:
        yield right("alarms", "none rings")
