"""The doctor, against servers that speak the protocols of what it checks: a whole stage, and each of its parts
broken."""

import asyncio
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx2
import pytest
from moto.awslambda import urls as lambda_urls
from moto.awslambda.responses import LambdaResponse
from moto.sesv2 import urls
from moto.sesv2.responses import SESV2Response
from moto.ssm.responses import SimpleSystemManagerResponse
from pymongo import AsyncMongoClient, MongoClient
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import OperationFailure

from evals import trouble
from infra.__main__ import main
from infra.doctor.command import EVERYWHERE, OF_A_STAGE, SPENDING, examine
from infra.doctor.database import rights
from infra.doctor.quotas import UNRESERVED, reserved_by, reserved_by_all
from infra.doctor.results import Result, run_check, table
from infra.doctor.services import PENDING, _records, check_stack
from infra.doctor.settings import HIGH_THROUGHPUT
from infra.doctor.target import Target
from infra.local import model_wire
from infra.local.aws import AwsServer
from infra.local.candidate_app import CandidateAppServer
from infra.local.environment import MACHINE, Template
from infra.local.model_server import ModelServer, Reply
from infra.mongo.command import SAMPLE, apply
from infra.mongo.indexes import ASSUMED
from infra.mongo.roles import AGENT, READER
from infra.stages import Stage
from qwestly_agent.base.settings import Settings
from qwestly_agent.domain.rollout import Rollout, Trial
from qwestly_agent.llm.models import Tier, TierModel, make_models
from qwestly_agent.stores.mongo_client import RenewingMongoClient
from tests.recorded_calls import compare, recording
from tests.servers import API_SECRET, SECRET, FakeClock, mongo_server

pytestmark = pytest.mark.thorough
ROOT = Path(__file__).parents[2]
DATABASE = "candidate_portal"
NOBODY = "mongodb://agent:hunter2@127.0.0.1:9/?directConnection=true"
SECRETS = {
    "QWESTLY_AGENT_SHARED_SECRET": SECRET,
    "QWESTLY_CANDIDATE_API_SECRET": API_SECRET,
    "DEEPSEEK_API_KEY": "sk-deepseek",
    "OPENAI_API_KEY": "sk-openai",
    "ERASURE_KEY": "e" * 32,
}
A_MACHINE = {"StartAt": "done", "States": {"done": {"Type": "Succeed"}}}
UNUSABLE = "candidate app: gives no answer of use: is CANDIDATE_API_URL right, and the secret the same there?"
ROLES = {"role", "chat's role", "readers' role", "opener's role"}
OF_THE_DATABASE = {"database", "indexes", "search indexes", "assumed fields", *ROLES, "brake", "variants"}
SAMCONFIG = """
[dev.deploy.parameters]
stack_name = "qwestly-agent-dev"
parameter_overrides = [
    "ConfigurationPath=/qwestly-agent/dev",
    "CandidateApiUrl={candidate_app}",
    "AlarmAddress=whoever-is-on-duty@qwestly.com",
    'MailFrom="Qwestly on trial <agent@qwestly.com>"',
]
"""


@dataclass
class Topics:
    """moto's, which confirms each subscription by itself."""

    client: Any
    confirmed: bool = True

    def list_subscriptions_by_topic(self, **given: Any) -> Any:
        found = self.client.list_subscriptions_by_topic(**given)["Subscriptions"]
        return {"Subscriptions": [each if self.confirmed else {**each, "SubscriptionArn": PENDING} for each in found]}


@dataclass
class Deployed:
    """A stage as AWS, the candidate app and the database have it."""

    aws: AwsServer
    stage: Stage
    database: Any
    """A synchronous database of pymongo."""
    uri: str = field(repr=False)
    candidate_app: CandidateAppServer
    models: dict[str, str]
    """Addresses of the scripted models, which are not in the template."""
    account: dict[str, Any]
    """SES's answer about the account."""
    limits: dict[str, Any]
    """Lambda's answer about the account."""
    clock: FakeClock = field(default_factory=FakeClock)
    topics: Topics = field(init=False)
    changed: dict[str, str] = field(default_factory=dict)
    """Variables that the stage sets differently."""

    def __post_init__(self) -> None:
        self.topics = Topics(self.aws.client("sns"))

    def client(self, service: str) -> Any:
        return self.topics if service == "sns" else self.aws.client(service)

    def keep(self, secret: str, value: str) -> None:
        name = f"/qwestly-agent/dev/{secret}"
        self.client("ssm").put_parameter(Name=name, Value=value, Type="SecureString", Overwrite=True)

    def examined(self, *, spend: bool = False) -> list[Result]:
        return self._examined({**self.stage.environment, **self.models, **self.changed}, self.stage, spend=spend)

    def examined_from_here(self) -> list[Result]:
        """Check without AWS, which is slow."""
        given = {**SECRETS, **self.models, "MONGODB_URI": self.uri, "MONGODB_DATABASE": DATABASE}
        return self._examined({**given, "CANDIDATE_API_URL": self.candidate_app.url}, None)

    def _examined(self, environment: dict[str, str], stage: Stage | None, *, spend: bool = False) -> list[Result]:
        async def examined() -> list[Result]:
            target = await Target.read(environment, self.client, stage=stage, clock=self.clock)
            return await examine(target, spend=spend)

        return asyncio.run(examined())


def delete_machine(deployed: Deployed, name: str) -> None:
    states = deployed.client("stepfunctions")
    [arn] = [each["stateMachineArn"] for each in states.list_state_machines()["stateMachines"] if each["name"] == name]
    states.delete_state_machine(stateMachineArn=arn)


def told(results: list[Result], mark: str) -> list[str]:
    return [f"{each.about}: {each.what}" for each in results if each.mark == mark]


# --- a stage in which everything is right -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mongo() -> Iterator[str]:
    """A separate server: the stage's database is named as in production."""
    with mongo_server() as (uri, _):
        yield uri


@pytest.fixture(scope="module")
def _patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        # The doctor sends queries that no function may, and is not checked by the rule.
        patch.setattr("qwestly_agent.bootstrap.RenewingMongoClient", RenewingMongoClient)
        yield patch


@pytest.fixture(scope="module")
def account(_patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """SES's answer about the account, which moto lacks."""
    quota = {"Max24HourSend": 50_000.0, "MaxSendRate": 14.0, "SentLast24Hours": 12.0}
    account: dict[str, Any] = {"ProductionAccessEnabled": True, "SendingEnabled": True, "SendQuota": quota}
    _patch.setitem(urls.url_paths, "{0}/v2/email/account$", SESV2Response.dispatch)
    _patch.setattr(SESV2Response, "get_account", lambda _: json.dumps(account), raising=False)
    return account


@pytest.fixture(scope="module")
def limits(_patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Lambda's answer about the account, which moto lacks."""
    limits = {
        "AccountLimit": {
            "ConcurrentExecutions": 1_000,
            "UnreservedConcurrentExecutions": 947,
            "TotalCodeSize": 75 * 2**30,
        },
        "AccountUsage": {"TotalCodeSize": 2**30},
    }
    _patch.setitem(lambda_urls.url_paths, "{0}/(?P<api_version>[^/]+)/account-settings$", LambdaResponse.dispatch)
    _patch.setattr(LambdaResponse, "get_account_settings", lambda _: json.dumps(limits), raising=False)
    return limits


@pytest.fixture(scope="module")
def throughput(_patch: pytest.MonkeyPatch) -> dict[str, str]:
    """Parameter Store's answer about its setting, which moto lacks."""
    setting = {"SettingId": HIGH_THROUGHPUT, "SettingValue": "true"}
    answer = "get_service_setting"
    _patch.setattr(
        SimpleSystemManagerResponse, answer, lambda _: json.dumps({"ServiceSetting": setting}), raising=False
    )
    return setting


@pytest.fixture(scope="module")
def _deployed(
    mongo: str,
    _model_server: ModelServer,
    account: dict[str, Any],
    limits: dict[str, Any],
    throughput: dict[str, str],
    _patch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Deployed]:
    samconfig = tmp_path_factory.mktemp("stage") / "samconfig.toml"
    models = {"MODEL_BASE_URL": _model_server.base_url, "EMBEDDINGS_BASE_URL": _model_server.base_url}
    secrets = {**SECRETS, "MONGODB_URI": mongo, "MAIL_FROM": "agent@qwestly.com"}
    with CandidateAppServer(mongo, DATABASE, API_SECRET) as candidate_app, MongoClient[Any](mongo) as client:
        samconfig.write_text(SAMCONFIG.replace("{candidate_app}", candidate_app.url))
        stage = Stage.load("dev", samconfig)
        with AwsServer(stage.template.without(MACHINE), secrets) as aws:
            for name, value in aws.variables.items():
                _patch.setenv(name, value)
            aws.client("cloudformation").create_stack(StackName=stage.stack, TemplateBody=a_stack(stage.template))
            topic = aws.client("sns").list_topics()["Topics"][0]["TopicArn"]
            address = stage.parameter("AlarmAddress")
            aws.client("sns").subscribe(TopicArn=topic, Protocol="email", Endpoint=address)
            fill(client[DATABASE])
            asyncio.run(make_indexes(mongo))
            for machine in stage.template.of_type(MACHINE):
                aws.create_machine(stage.template.name(machine), A_MACHINE)
            yield Deployed(aws, stage, client[DATABASE], mongo, candidate_app, models, account, limits)


@pytest.fixture
def deployed(_deployed: Deployed, model: ModelServer) -> Deployed:
    _deployed.clock = FakeClock()
    return _deployed


def a_stack(template: Template) -> str:
    """Return a template with the stage's parameters and the resources that the doctor looks up by name."""
    values = {name: value for name, value in template.parameters.items() if "::" not in name}
    parameters = {name: {"Type": "String", "Default": str(value)} for name, value in values.items()}
    topic = {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": {"Fn::Sub": "${AWS::StackName}-alarms"}}}
    return json.dumps({"Parameters": parameters, "Resources": {"Alarms": topic}})


def fill(database: Any) -> None:
    """The candidate app's collections, each with a document that has all that is read."""
    for collection, assumed in ASSUMED.items():
        fields = dict.fromkeys({*assumed.fields, *assumed.required}, "there")
        database[collection].insert_one({"_id": "1", **fields})


async def make_indexes(mongo: str) -> None:
    async with AsyncMongoClient[Any](mongo) as client:
        await apply(client[DATABASE])


def test_a_healthy_stage_is_checked_completely_without_cost_or_findings(deployed: Deployed, model: ModelServer) -> None:
    def written() -> dict[str, int]:
        return {name: deployed.database[name].count_documents({}) for name in deployed.database.list_collection_names()}

    before = written()
    results = deployed.examined()
    assert (model.requests, deployed.aws.outbox, written()) == ([], [], before)
    assert told(results, "WRONG") == []
    assert {each.about for each in results} == {*EVERYWHERE, *OF_A_STAGE, *OF_THE_DATABASE}
    # The laptop's server has neither, and says so.
    assert {each.about for each in results if each.mark == "note"} == {"search indexes", *ROLES}


def test_the_doctors_calls_are_in_the_table_of_rights(deployed: Deployed) -> None:
    machines = [deployed.stage.template.name(each) for each in deployed.stage.template.of_type(MACHINE)]
    for name in machines:
        deployed.aws.run(name)
    with recording() as calls:
        deployed.examined()
    for name in machines:  # their executions go with them
        delete_machine(deployed, name)
        deployed.aws.create_machine(name, A_MACHINE)
    compare({"doctor": calls})


@pytest.mark.thorough
def test_a_paid_check_calls_each_model_in_each_mode_and_sends_no_mail(deployed: Deployed, model: ModelServer) -> None:
    results = deployed.examined(spend=True)
    [wrong] = told(results, "WRONG")
    assert wrong.startswith("moderation: nobody is asked")
    names = [f"{tier} {each.model.model_id}" for tier, each in the_models(deployed).items()]
    right = told(results, "right")
    for name in names:
        served = name.partition(":")[2]
        assert [each for each in right if each.startswith(f"words: {name} answers as {served}: “")]
        assert f"a tool call: {name} answers as {served}: called list_capabilities" in right
        assert [each for each in right if each.startswith(f"a typed answer: {name} answers as {served}: a section")]
    assert "an embedding: text-embedding-3-small answers as text-embedding-3-small: 1536 numbers of 1536" in right
    assert [mail.to for mail in deployed.aws.outbox] == ["success@simulator.amazonses.com"]
    deployed.aws.outbox.clear()


# --- each thing of it broken, and mended again ------------------------------------------------------------------------

Broken = Callable[[Deployed], Iterator[list[str]]]
"""Breaks something, says what is then wrong, and repairs it."""


def a_secret_that_is_not_there(deployed: Deployed) -> Iterator[list[str]]:
    deployed.client("ssm").delete_parameter(Name="/qwestly-agent/dev/openai-api-key")
    yield ["secrets: ssm:/qwestly-agent/dev/openai-api-key cannot be read: there is no such parameter."]
    deployed.keep("openai-api-key", SECRETS["OPENAI_API_KEY"])


def a_short_secret(deployed: Deployed) -> Iterator[list[str]]:
    deployed.keep("shared-secret", f"{SECRET},too-short")
    yield ["secrets: QWESTLY_AGENT_SHARED_SECRET must be at least 32 bytes long, each of several too."]
    deployed.keep("shared-secret", SECRET)


def one_secret_for_both_directions(deployed: Deployed) -> Iterator[list[str]]:
    deployed.keep("candidate-api-secret", SECRET)
    because = "must be at least 32 bytes long, and none of those that sign users in."
    yield [f"secrets: QWESTLY_CANDIDATE_API_SECRET {because}", UNUSABLE]
    deployed.keep("candidate-api-secret", API_SECRET)


def a_secret_that_the_candidate_app_does_not_know(deployed: Deployed) -> Iterator[list[str]]:
    deployed.keep("candidate-api-secret", "another-secret-of-more-than-32-bytes")
    yield [UNUSABLE]
    deployed.keep("candidate-api-secret", API_SECRET)


def an_address_at_which_no_candidate_app_answers(deployed: Deployed) -> Iterator[list[str]]:
    deployed.changed["CANDIDATE_API_URL"] = "http://127.0.0.1:9/api/agent/v1"
    yield [UNUSABLE]
    del deployed.changed["CANDIDATE_API_URL"]


def a_setting_that_is_missing(deployed: Deployed) -> Iterator[list[str]]:
    deployed.changed["CANDIDATE_API_URL"] = ""
    missing = "Missing in the environment: CANDIDATE_API_URL."
    cannot = (
        "candidate app: could not be looked at: Nothing is asked of the candidate app without its secret and address."
    )
    yield [f"settings: {missing}", cannot]
    del deployed.changed["CANDIDATE_API_URL"]


def a_model_without_a_price(deployed: Deployed) -> Iterator[list[str]]:
    deployed.changed["MODEL_FAST"] = "openai:gpt-of-tomorrow"
    yield ["prices: openai:gpt-of-tomorrow has none: it counts as the dearest, and no cost is shown"]
    del deployed.changed["MODEL_FAST"]


def old_prices(deployed: Deployed) -> Iterator[list[str]]:
    deployed.clock.now = datetime(2027, 2, 20, tzinfo=UTC).timestamp()
    yield ["prices: were last compared with the provider's list 91 days ago, on 2026-11-21"]
    deployed.clock.now = FakeClock().now


def somebody_who_has_not_confirmed(deployed: Deployed) -> Iterator[list[str]]:
    deployed.topics.confirmed = False
    yield ["alarms: whoever-is-on-duty@qwestly.com has not confirmed: open the mail of AWS"]
    deployed.topics.confirmed = True


def a_database_that_is_gone(deployed: Deployed) -> Iterator[list[str]]:
    deployed.keep("mongodb-uri", NOBODY)
    looks = ("database", "indexes", "assumed fields", "role", "brake", "variants")
    yield [f"{look}: could not be looked at: ServerSelectionTimeoutError" for look in looks]
    deployed.keep("mongodb-uri", deployed.uri)


def an_index_that_is_not_there(deployed: Deployed) -> Iterator[list[str]]:
    deployed.database["agent_usage"].drop_index("expires_at_1")
    yield ["indexes: agent_usage: index expires_at is missing; run apply"]
    asyncio.run(make_indexes(deployed.uri))


def a_field_that_the_candidate_app_took_away(deployed: Deployed) -> Iterator[list[str]]:
    chunks = deployed.database["knowledge_chunk"]
    chunks.update_one({"_id": "1"}, {"$unset": {"text": ""}})
    yield ["assumed fields: knowledge_chunk: 1 of 1 documents lack text"]
    chunks.update_one({"_id": "1"}, {"$set": {"text": "there"}})


def a_field_that_the_candidate_app_renamed(deployed: Deployed) -> Iterator[list[str]]:
    cards = deployed.database["qc_sections"]
    cards.insert_many([{"_id": f"more-{n}", "user_id": "u"} for n in range(SAMPLE)])
    kept = cards.find_one_and_delete({"_id": "1"})
    yield [f"assumed fields: qc_sections: no document of {SAMPLE} has {name}" for name in ASSUMED["qc_sections"].fields]
    cards.delete_many({})
    cards.insert_one(kept)


def a_variant_that_the_release_took_away(deployed: Deployed) -> Iterator[list[str]]:
    conversations, rollouts = deployed.database["agent_conversations"], deployed.database["agent_rollout"]
    trial = Trial(id="t1", variant="older", salt="s", roles=("chat",), shares=(10,), share=10, since=1.0)
    rollouts.insert_one({"_id": "rollout", **Rollout(trial=trial).model_dump(mode="json")})
    for variant in ("older", "base"):
        assignment = {"variant": variant, "given_up": False}
        conversations.insert_one({"_id": f"u:{variant}", "user_id": "u", "assignment": assignment})
    advice = "keep it, or end its trial (qwestly-agent rollout end)"
    yield [f"variants: this release lacks older, which is tried and 1 conversations have: {advice}"]
    conversations.delete_many({"user_id": "u"})
    rollouts.delete_one({"_id": "rollout"})


def a_brake_that_is_on(deployed: Deployed) -> Iterator[list[str]]:
    brakes = deployed.database["agent_signals"]
    brakes.insert_one({"_id": "everybody", "user_id": "everybody", "brake_since": 1.0})
    yield ["brake: everybody's is on: nothing runs for anybody (qwestly-agent brake off)"]
    brakes.delete_one({"_id": "everybody"})


def a_default_that_did_not_reach_the_stage(deployed: Deployed) -> Iterator[list[str]]:
    stage = deployed.stage
    parameters = {**stage.template.parameters, "DayCeilingUsd": "7"}
    deployed.stage = replace(stage, template=replace(stage.template, parameters=parameters))
    there = stage.parameter("DayCeilingUsd")
    yield [f"parameters: DayCeilingUsd is {there!r} there: say it in samconfig.toml, and deploy"]
    deployed.stage = stage


def a_sender_that_ses_does_not_know(deployed: Deployed) -> Iterator[list[str]]:
    deployed.client("sesv2").delete_email_identity(EmailIdentity="qwestly.com")
    yield ["mail: could not be looked at: GetEmailIdentity answers NotFoundException"]
    deployed.client("sesv2").create_email_identity(EmailIdentity="qwestly.com")


def a_sender_of_another_house(deployed: Deployed) -> Iterator[list[str]]:
    deployed.changed["MAIL_FROM"] = "Qwestly <agent@qwestly.example>"
    yield ["mail: MAIL_FROM is not of the identity qwestly.com"]
    del deployed.changed["MAIL_FROM"]


def an_account_in_the_sandbox(deployed: Deployed) -> Iterator[list[str]]:
    with patch.dict(deployed.account, ProductionAccessEnabled=False):
        yield ["mail: SES is in its sandbox: it writes to verified addresses only"]


def an_account_that_may_not_send(deployed: Deployed) -> Iterator[list[str]]:
    with patch.dict(deployed.account, SendingEnabled=False):
        yield ["mail: SES sends nothing for this account"]


def an_account_that_has_sent_nearly_all_of_a_day(deployed: Deployed) -> Iterator[list[str]]:
    with patch.dict(deployed.account["SendQuota"], SentLast24Hours=40_000.0):
        yield ["SES: 40000 of 50000 mails of a day are sent: ask for more"]


def more_briefings_than_ses_sends_in_a_day(deployed: Deployed) -> Iterator[list[str]]:
    with patch.dict(deployed.account["SendQuota"], Max24HourSend=200.0):
        yield [
            "SES: BriefingMailsADay is 40000, but 200 mails may be sent a day: set it to 160, so that mails of "
            "approvals have room, or ask for more"
        ]


def an_account_that_may_run_less_at_once_than_is_reserved(deployed: Deployed) -> Iterator[list[str]]:
    with patch.dict(deployed.limits["AccountLimit"], ConcurrentExecutions=152):
        own = reserved_by(deployed.stage)
        more = f"{own} and {UNRESERVED} for the rest are needed: ask for more, or set ReserveConcurrency=false"
        yield [f"Lambda: the account may run 152 functions at once; {more}"]


def an_account_that_has_little_left_for_the_rest(deployed: Deployed) -> Iterator[list[str]]:
    with patch.dict(deployed.limits["AccountLimit"], UnreservedConcurrentExecutions=99):
        yield ["Lambda: 99 executions at once are left to functions that reserve none"]


def an_account_full_of_old_versions(deployed: Deployed) -> Iterator[list[str]]:
    with patch.dict(deployed.limits["AccountUsage"], TotalCodeSize=60 * 2**30):
        versions = "`qwestly-agent release prune` deletes old versions"
        yield [f"Lambda: 60.0 of 75.0 GB of code are kept: {versions}"]


def an_execution_that_nearly_filled_its_history(deployed: Deployed) -> Iterator[list[str]]:
    deployed.aws.run("qwestly-agent-dev-consolidate")
    with patch("infra.doctor.quotas.MOST_EVENTS", 4):
        told = "qwestly-agent-dev-consolidate: 4 of 4 events in the longest of the latest 1 executions"
        yield [f"Step Functions: {told}: it has to do less at a time (docs/capacity.md)"]


def a_machine_that_is_not_there(deployed: Deployed) -> Iterator[list[str]]:
    name = "qwestly-agent-dev-generate-card"
    delete_machine(deployed, name)
    yield [f"Step Functions: there is no {name}"]
    deployed.aws.create_machine(name, A_MACHINE)


def an_alarm_that_rings(deployed: Deployed) -> Iterator[list[str]]:
    name, cloudwatch = "qwestly-agent-dev-ChatErrors-1A2B", deployed.client("cloudwatch")
    compared = {"ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1, "Threshold": 0.0}
    cloudwatch.put_metric_alarm(AlarmName=name, MetricName="Errors", Namespace="AWS/Lambda", Period=60, **compared)
    cloudwatch.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="it crashed")
    yield [f"alarms: {name} rings"]
    cloudwatch.delete_alarms(AlarmNames=[name])


BROKEN: list[list[Broken]] = [
    [
        a_short_secret,
        a_secret_that_the_candidate_app_does_not_know,
        a_default_that_did_not_reach_the_stage,
        a_sender_of_another_house,
        an_account_in_the_sandbox,
        an_account_that_has_sent_nearly_all_of_a_day,
        an_account_that_may_run_less_at_once_than_is_reserved,
        an_execution_that_nearly_filled_its_history,
        an_alarm_that_rings,
        a_model_without_a_price,
    ],
    [
        a_secret_that_is_not_there,
        a_database_that_is_gone,
        an_address_at_which_no_candidate_app_answers,
        a_sender_that_ses_does_not_know,
        an_account_that_has_little_left_for_the_rest,
        more_briefings_than_ses_sends_in_a_day,
        an_account_full_of_old_versions,
        a_machine_that_is_not_there,
        somebody_who_has_not_confirmed,
    ],
    [
        one_secret_for_both_directions,
        an_index_that_is_not_there,
        a_field_that_the_candidate_app_took_away,
        a_field_that_the_candidate_app_renamed,
        a_brake_that_is_on,
        a_variant_that_the_release_took_away,
        old_prices,
        an_account_that_may_not_send,
    ],
    [a_setting_that_is_missing],
]
"""Faults that can be tested together, as each examination of a stage takes long."""


@pytest.mark.nightly
@pytest.mark.thorough
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken[0].__name__)
def test_every_fault_is_named_without_revealing_a_secret(deployed: Deployed, broken: list[Broken]) -> None:
    with ExitStack() as broken_now:
        wrong = [sentence for each in broken for sentence in broken_now.enter_context(contextmanager(each)(deployed))]
        results = deployed.examined()
    assert sorted(told(results, "WRONG")) == sorted(wrong)
    assert not [secret for secret in (*SECRETS.values(), "hunter2", "too-short") if secret in table(results)]


def test_a_new_accounts_quota_is_an_error_only_with_reserved_concurrency(deployed: Deployed) -> None:
    template = deployed.stage.template
    nothing = replace(template, parameters={**template.parameters, "ReserveConcurrency": "false"})
    of_a_new_account = {"ConcurrentExecutions": 10, "UnreservedConcurrentExecutions": 10}
    stage, deployed.stage = deployed.stage, replace(deployed.stage, template=nothing)
    with patch.dict(deployed.limits["AccountLimit"], of_a_new_account):
        results = deployed.examined()
    deployed.stage = stage
    assert [each for each in told(results, "WRONG") if each.startswith("Lambda")] == []
    notes = told(results, "note")
    assert "Lambda: all functions share 10 executions at once, as in every new account" in notes
    together = reserved_by_all() + UNRESERVED
    assert f"Lambda: all stages in one account need {together} executions at once" in notes


def test_a_low_mail_rate_is_reported(deployed: Deployed) -> None:
    with patch.dict(deployed.account["SendQuota"], MaxSendRate=1.0):
        results = deployed.examined()
    assert "SES: 1 mails a second; docs/capacity.md counts with 14" in told(results, "note")


def test_a_stage_without_a_sender_needs_no_identity(deployed: Deployed) -> None:
    with patch.dict(deployed.changed, MAIL_FROM=""):
        results = deployed.examined()
    assert [each for each in told(results, "WRONG") if each.startswith("mail")] == []
    assert "mail: none is sent: MailFrom is empty" in told(results, "note")


def test_each_host_that_receives_text_is_reported_with_its_country(deployed: Deployed) -> None:
    where = {"MODEL_BASE_URL": "", "EMBEDDINGS_BASE_URL": "", "OPENAI_API_KEY": "sk-1", "DEEPSEEK_API_KEY": "sk-2"}
    with patch.dict(deployed.changed, **where, JOB_BOARDS="adzuna", TRACES_URL="https://traces.example/v1/traces"):
        hosts = {each for each in told(deployed.examined(), "right") if each.startswith("hosts: ")}
    assert {
        "hosts: api.deepseek.com (models): China",
        "hosts: api.openai.com (embeddings): USA",
        "hosts: api.openai.com (moderation): USA",
        "hosts: api.adzuna.com (jobs): United Kingdom",
        "hosts: traces.example (traces): a country that its owner knows",
        "hosts: AWS us-east-1 (functions, workflows, mail, logs): US East (N. Virginia)",
    } <= hosts
    region = "https://eu.api.openai.com/v1"
    names = {"MODEL_FAST": "openai:gpt-4.1-mini", "MODEL_PRO": "openai:gpt-4.1"}
    moved = {"MODEL_BASE_URL": region, "EMBEDDINGS_BASE_URL": region, "MODERATION_BASE_URL": region}
    with patch.dict(deployed.changed, **names, **moved):
        hosts = {each for each in told(deployed.examined(), "right") if each.startswith("hosts: ")}
    of_models = {each for each in hosts if "models" in each or "embeddings" in each or "moderation" in each}
    assert len(of_models) == 3
    assert all(each.startswith("hosts: eu.api.openai.com") and each.endswith(": European Union") for each in of_models)


def test_an_alarm_on_missing_data_is_only_noted_in_the_first_hour(deployed: Deployed) -> None:
    name, cloudwatch = "qwestly-agent-dev-JobsWait-1A2B", deployed.client("cloudwatch")
    compared = {"ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1, "Threshold": 0.0}
    silence = {"TreatMissingData": "breaching", **compared}
    cloudwatch.put_metric_alarm(AlarmName=name, MetricName="Jobs", Namespace="QwestlyAgent", Period=60, **silence)
    cloudwatch.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="no data")
    [stack] = deployed.client("cloudformation").describe_stacks(StackName="qwestly-agent-dev")["Stacks"]
    made = stack["CreationTime"].timestamp()
    found = {}
    for seconds in (600, 4_000):
        deployed.clock = FakeClock(made + seconds)
        found[seconds] = [each.mark for each in deployed.examined() if name in each.what]
    cloudwatch.delete_alarms(AlarmNames=[name])
    assert found == {600: ["note"], 4_000: ["WRONG"]}


@pytest.mark.parametrize(
    ("name", "protected", "told"),
    [
        ("dev", False, "right stack may be deleted, as dev"),
        ("prod", True, "right stack cannot be deleted by mistake"),
        ("prod", False, "WRONG stack is not protected from deletion: aws cloudformation update-termination-protection"),
    ],
)
def test_a_stack_without_deletion_protection_is_an_error_except_in_dev(name: str, protected: bool, told: str) -> None:
    class CloudFormation:
        def describe_stacks(self, **_: str) -> Any:
            return {"Stacks": [{"EnableTerminationProtection": protected}]}

    target = Target(lambda _: CloudFormation(), {}, [], stage=Stage.load(name))
    [result] = asyncio.run(run_check("stack", check_stack(target)))
    assert f"{result.mark} {result.about} {result.what}".startswith(told)


def test_the_senders_dns_records_are_reported_and_missing_dkim_is_an_error() -> None:
    def records(dkim: str, mail_from: str) -> list[tuple[str, str]]:
        there = {
            "DkimAttributes": {"Status": dkim, "Tokens": ["abc", "def", "ghi"]},
            "MailFromAttributes": {"MailFromDomain": mail_from, "MailFromDomainStatus": "SUCCESS"} if mail_from else {},
        }
        return [(each.mark, each.what) for each in _records("qwestly.com", there, "eu-west-1")]

    *dkim, returned, dmarc = records("SUCCESS", "bounce.qwestly.com")
    assert dkim[0] == ("right", "DKIM: abc._domainkey.qwestly.com CNAME abc.dkim.amazonses.com")
    assert "bounce.qwestly.com MX 10 feedback-smtp.eu-west-1.amazonses.com" in returned[1]
    assert '_dmarc.qwestly.com TXT "v=DMARC1; p=quarantine;' in dmarc[1]
    *dkim, returned, _ = records("PENDING", "")
    assert [mark for mark, _ in dkim] == ["WRONG"] * 3
    assert "--mail-from-domain mail.qwestly.com" in returned[1]


def test_parameter_stores_standard_throughput_is_reported(deployed: Deployed, throughput: dict[str, str]) -> None:
    assert "secrets: Parameter Store has high throughput" in told(deployed.examined(), "right")
    with patch.dict(throughput, SettingValue="false"):
        results = deployed.examined()
    [said] = [each for each in told(results, "note") if each.startswith("secrets: Parameter Store")]
    assert said.endswith(f"aws ssm update-service-setting --setting-id {HIGH_THROUGHPUT} --setting-value true")


def test_alarms_without_recipients_are_reported(deployed: Deployed) -> None:
    with patch.object(Topics, "list_subscriptions_by_topic", lambda _, **__: {"Subscriptions": []}):
        results = deployed.examined()
    assert "alarms: nobody is told: AlarmAddress is empty" in told(results, "note")


# --- models that do not answer as they should -------------------------------------------------------------------------

ASKED = ("words", "a tool call", "a typed answer")


def the_models(deployed: Deployed, **settings: str) -> dict[Tier, TierModel]:
    given = {
        **SECRETS,
        **deployed.models,
        "MONGODB_URI": "mongodb://127.0.0.1:9",
        "MONGODB_DATABASE": "any",
        **settings,
    }
    return make_models(Settings.from_env(given), httpx2.AsyncClient())


def asked(deployed: Deployed, **settings: str) -> list[Result]:
    """Return the results of the models that these settings name."""

    async def asked() -> list[Result]:
        given = {**SECRETS, **deployed.models, "MONGODB_URI": NOBODY, "MONGODB_DATABASE": "any", **settings}
        target = await Target.read(given, deployed.client)
        checks = [about for about in SPENDING if about != "a mail"]
        if not settings.get("MODERATION_BASE_URL"):
            checks.remove("moderation")
        found = await asyncio.gather(*(run_check(about, SPENDING[about](target)) for about in checks))
        return [finding for each in found for finding in each]

    return asyncio.run(asked())


def test_an_unanswered_model_check_does_not_hide_the_others(deployed: Deployed, model: ModelServer) -> None:
    model.script(Reply(fault=401))
    results = asked(deployed)
    [wrong] = told(results, "WRONG")
    assert re.fullmatch(r"(words|a .+): (fast|pro) deepseek:\S+: answers 401: The scripted fault 401\.", wrong)
    assert len(told(results, "right")) == 2 * len(ASKED)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (Reply(fault=400), "answers 400: The scripted fault 400."),
        (Reply(fault=404), "answers 404: The scripted fault 404."),
        (Reply(fault="reset"), "cannot be reached"),
    ],
)
def test_each_models_failure_is_explained_in_one_sentence(
    deployed: Deployed, model: ModelServer, fault: Reply, sentence: str
) -> None:
    model.fault = fault
    names = [f"{tier} {each.model.model_id}" for tier, each in the_models(deployed).items()]
    assert sorted(told(asked(deployed), "WRONG")) == sorted(
        f"{way}: {name}: {sentence}" for way in ASKED for name in names
    )


def test_a_chat_only_model_fails_the_tool_and_typed_answer_checks(deployed: Deployed, model: ModelServer) -> None:
    model.fault = Reply("All is well.")
    results = asked(deployed)
    assert {each.about for each in results if each.mark == "right"} == {"words", "an embedding"}
    assert {each.about for each in results if each.mark == "WRONG"} == {"a tool call", "a typed answer"}
    assert len([each for each in told(results, "WRONG") if each.endswith(": it called no tool")]) == 2


def test_a_model_with_unwanted_thinking_is_reported(
    deployed: Deployed, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = the_models(deployed)["fast"].model.model_id
    thinks = f"fast {fast}: it thinks, and must not: each answer is late and dearer"
    model.fault = Reply("ok", usage={"completion_tokens_details": {"reasoning_tokens": 12}})
    assert f"words: {thinks}" in told(asked(deployed), "WRONG")

    def aloud(turn: Any, swapped: bool) -> list[bytes]:
        return [model_wire.chunk(turn, {"reasoning_content": "Hm."}), *said(turn, swapped)]

    said = model_wire.content
    monkeypatch.setattr(model_wire, "content", aloud)
    model.fault = Reply("ok")
    assert f"words: {thinks}" in told(asked(deployed), "WRONG")


def test_a_model_served_by_an_unpriced_one_is_reported(
    deployed: Deployed, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ModelServer._answer
    monkeypatch.setattr(ModelServer, "_answer", lambda *given: replace(answer(*given), model="of-tomorrow"))
    results = asked(deployed)
    assert {each.about for each in results if "answers as of-tomorrow" in each.what} == {*ASKED}
    wrong = told(results, "WRONG")
    assert len(wrong) == 2 * len(ASKED)
    assert all("of-tomorrow has no price that we know" in each for each in wrong)


def test_a_fallback_is_called_as_each_tier_would_call_it(deployed: Deployed, model: ModelServer) -> None:
    right = told(asked(deployed, MODEL_FALLBACK="openai:gpt-4.1-mini"), "right")
    for tier in ("fast", "pro"):
        said = [each for each in right if f": {tier} fallback openai:gpt-4.1-mini answers as" in each]
        assert [each.partition(":")[0] for each in said] == [*ASKED]


def test_a_separate_judge_is_asked_only_for_a_typed_answer(deployed: Deployed) -> None:
    right = told(asked(deployed, MODEL_JUDGE="openai:gpt-4.1-mini"), "right")
    said = [each for each in right if ": judge openai:gpt-4.1-mini answers as" in each]
    assert [each.partition(":")[0] for each in said] == ["a typed answer"]


def test_a_rejected_embedding_is_reported(deployed: Deployed, model: ModelServer) -> None:
    model.embeddings_fault = 401
    assert told(asked(deployed), "WRONG") == [
        "an embedding: text-embedding-3-small: answers 401: The scripted fault 401."
    ]


def test_people_in_danger_found_by_moderation_are_counted(deployed: Deployed, model: ModelServer) -> None:
    def said(mark: str) -> list[str]:
        results = asked(deployed, MODERATION_BASE_URL=deployed.models["MODEL_BASE_URL"])
        return [each for each in told(results, mark) if each.startswith("moderation: ")]

    messages = trouble.load("unseen")
    danger = [each.text for each in messages if each.label == "s"]
    model.in_danger = tuple(danger)
    counted = f"of {len(danger[::2])} in danger, and takes 0 of 100 others for one (a release asks 80 % and 2 %)"
    assert said("right") == [f"moderation: omni-moderation-latest finds {len(danger[::2])} {counted}"]
    model.in_danger = ()
    assert said("WRONG") == [f"moderation: omni-moderation-latest finds 0 {counted}"]
    model.moderation_fault = 401
    assert said("WRONG") == ["moderation: omni-moderation-latest: answers 401: The scripted fault 401."]
    results = asked(deployed, MODERATION_BASE_URL="off")
    [off] = [each for each in told(results, "WRONG") if each.startswith("moderation: ")]
    assert off.startswith("moderation: nobody is asked, without OpenAI's key")
    assert off.endswith("a release needs its figure")


def test_a_key_repeated_by_a_provider_is_not_printed(
    deployed: Deployed, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.fault = Reply(fault=401)
    said = f"Your key {SECRETS['DEEPSEEK_API_KEY']} is not valid."
    monkeypatch.setattr("infra.local.model_wire.error", lambda *_: {"error": {"message": said}})
    found = table(asked(deployed))
    assert "answers 401: Your key … is not valid." in found
    assert SECRETS["DEEPSEEK_API_KEY"] not in found


def test_a_field_may_be_missing_in_some_of_the_sampled_documents(deployed: Deployed) -> None:
    deployed.database["qc_sections"].update_one({"_id": "1"}, {"$unset": {"headline": ""}})
    results = deployed.examined_from_here()
    assert told(results, "WRONG") == []
    assert [each for each in told(results, "note") if each.startswith("assumed fields: qc_sections")]
    deployed.database["qc_sections"].update_one({"_id": "1"}, {"$set": {"headline": "there"}})


# --- the role ---------------------------------------------------------------------------------------------------------

ROLE, READER_ROLE = AGENT.privileges(DATABASE), READER.privileges(DATABASE)


def privilege(collection: str, *actions: str, db: str = DATABASE) -> dict[str, Any]:
    return {"resource": {"db": db, "collection": collection}, "actions": list(actions)}


@pytest.mark.parametrize(
    ("privileges", "sentences"),
    [
        (ROLE, []),
        ([*ROLE, privilege("", "listIndexes", "listCollections")], []),
        (ROLE[:-1], ["role: may not find, insert, remove, update candidate_portal.user_memories"]),
        (
            [*ROLE, privilege("candidates_enhanced", "update")],
            ["role: may update candidate_portal.candidates_enhanced, and need not"],
        ),
        ([*ROLE, privilege("payments", "find")], ["role: may find candidate_portal.payments, and need not"]),
        (
            [privilege("", "find", "insert", "update", "remove", db="")],
            ["role: may find, insert, remove, update *.*, and need not"],
        ),
        (
            [*ROLE, {"resource": {"cluster": True}, "actions": ["shutdown"]}],
            ["role: may shutdown cluster, and need not"],
        ),
    ],
)
def test_a_role_with_missing_or_excess_permissions_is_reported(
    deployed: Deployed, privileges: list[Any], sentences: list[str]
) -> None:
    async def command(self: Any, name: str, **_: Any) -> Any:
        user = {"authenticatedUsers": [{"user": "agent"}], "authenticatedUserPrivileges": privileges}
        return {"ok": 1, "authInfo": user} if name == "connectionStatus" else {"ok": 1}

    with patch.object(AsyncDatabase, "command", command):
        results = deployed.examined_from_here()
    assert told(results, "WRONG") == sentences
    assert ("role: may do what `qwestly-agent mongo role` prints, and nothing else" in told(results, "right")) == (
        not sentences
    )


def test_readers_allowed_to_decide_approvals_are_reported(deployed: Deployed) -> None:
    may = {"agent": ROLE, "reader": READER_ROLE}

    async def command(self: Any, name: str, **_: Any) -> Any:
        user = "reader" if (await self.client.address)[0] == "localhost" else "agent"
        connected = {"authenticatedUsers": [{"user": user}], "authenticatedUserPrivileges": may[user]}
        return {"ok": 1, "authInfo": connected} if name == "connectionStatus" else {"ok": 1}

    deployed.changed["OPENER_MONGODB_URI"] = deployed.changed["CHAT_MONGODB_URI"] = ""
    deployed.changed["READER_MONGODB_URI"] = deployed.uri.replace("127.0.0.1", "localhost")
    with patch.object(AsyncDatabase, "command", command):
        results = deployed.examined()
        may["reader"] = [*READER_ROLE, privilege("agent_approvals", "update")]
        too_much = deployed.examined()
    for name in ("CHAT", "READER", "OPENER"):
        del deployed.changed[f"{name}_MONGODB_URI"]
    fits = "readers' role: may do what `qwestly-agent mongo role --reader` prints, and nothing else"
    assert fits in told(results, "right")
    assert told(too_much, "WRONG") == ["readers' role: may update candidate_portal.agent_approvals, and need not"]


@pytest.mark.parametrize("code", [13, 8000])
def test_indexes_the_function_may_not_list_are_not_reported_missing(deployed: Deployed, code: int) -> None:
    async def refused(*_: Any) -> Any:
        raise OperationFailure("not allowed to do action [listIndexes]", code)

    async def of_atlas(_: Any) -> Any:
        return {"version": "8.0.12"}

    with (
        patch.object(AsyncCollection, "index_information", refused),
        patch.object(AsyncCollection, "list_search_indexes", refused),
        patch.object(AsyncMongoClient, "server_info", of_atlas),
    ):
        results = deployed.examined_from_here()
    assert told(results, "WRONG") == []
    for what in ("indexes", "search indexes"):
        assert f"{what}: this user may not list them: set ADMIN_MONGODB_URI to one that may" in told(results, "note")


def test_the_role_given_to_atlas_is_the_one_checked() -> None:
    privileges = [
        {"resource": resource, "actions": [each["action"].lower()]}
        for each in AGENT.for_atlas("another_database")["actions"]
        for resource in each["resources"]
    ]
    assert rights(privileges) == rights(AGENT.privileges("another_database"))


# --- as an operator types it ------------------------------------------------------------------------------------------


@pytest.fixture
def typed(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """`qwestly-agent doctor …`: its exit code, and what it prints."""
    monkeypatch.setattr("infra.doctor.models.PRICES_NOTED", datetime.now(UTC).date())

    def typed(*arguments: str, **environment: str) -> tuple[int, str]:
        for name, value in {
            **SECRETS,
            "MONGODB_URI": deployed.uri,
            "MONGODB_DATABASE": DATABASE,
            **environment,
        }.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["qwestly-agent", "doctor", *arguments])
        return main(), capsys.readouterr().out

    return typed


def test_without_a_stage_only_the_environment_is_checked(
    deployed: Deployed, typed: Callable[..., tuple[int, str]]
) -> None:
    code, said = typed(CANDIDATE_API_URL=deployed.candidate_app.url)
    assert (code, "WRONG" in said) == (0, False), said
    assert "not looked at: no stage was named" in said


def test_a_missing_variable_exits_with_1(typed: Callable[..., tuple[int, str]]) -> None:
    code, said = typed(CANDIDATE_API_URL="")
    assert code == 1
    assert "WRONG  settings" in said
    assert "Missing in the environment: CANDIDATE_API_URL." in said


def test_a_stage_is_found_by_its_name(typed: Callable[..., tuple[int, str]]) -> None:
    code, said = typed("--stage", "dev")
    assert code == 1  # samconfig.toml has another candidate app
    assert "note   mail            none is sent: MailFrom is empty" in said
    assert not [secret for secret in SECRETS.values() if secret in said]


def test_a_value_with_spaces_is_quoted_for_sam_and_read_unquoted(deployed: Deployed) -> None:
    assert deployed.stage.parameter("MailFrom") == "Qwestly on trial <agent@qwestly.com>"
