"""Local AWS, called over its own protocol: functions, state machines, mail, keys, parameters, schedules."""

import asyncio
import base64
import json
import signal
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs
from zoneinfo import ZoneInfo

import httpx2
import pytest
from botocore.exceptions import ClientError
from mangum import Mangum
from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker
from moto.stepfunctions.parser.models import StepFunctionsParserBackend
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from infra.local import aws_function_url, aws_moto, front
from infra.local.aws import AwsServer, definition_of
from infra.local.aws_functions import Context
from infra.local.aws_limits import Refused, Slots
from infra.local.environment import Template
from infra.local.schedules import Clock, Schedule, next_time, schedules_of
from tests.e2e.processes import Process, python, started
from tests.infra.test_local import ORIGIN, served
from tests.servers import free_port, until, wait_for_port

TEMPLATE = """
Parameters:
  ConfigurationPath: {Type: String, Default: /agent/dev}
  Reserve: {Type: String, Default: "yes"}
  Most: {Type: Number, Default: 1}
Conditions:
  Reserves: !Equals [!Ref Reserve, "yes"]
Resources:
  OneFunction:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: !Sub ${AWS::StackName}-one
      CodeUri: functions/one/
      Handler: answer.handler
      Timeout: 7
      MemorySize: 256
      AutoPublishAlias: live
      Environment:
        Variables:
          SHARED_SECRET: !Sub ssm:${ConfigurationPath}/shared-secret
          UNSET_SECRET: !Sub ssm:${ConfigurationPath}/unset-secret
          MACHINE: !Ref Machine
          KEY: !Ref KeyAlias
          ONE: !GetAtt OneFunction.Arn
          ALIAS: !Ref OneFunction.Alias
          URL: !GetAtt OneFunctionUrl.FunctionUrl
          MANY: !Sub "${OneFunction.Alias} ${Key.Arn} ${OneFunction}"
  TwoFunction:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: functions/two/, Handler: answer.handler}
  ScarceFunction:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/one/
      Handler: answer.handler
      ReservedConcurrentExecutions: !If [Reserves, !Ref Most, !Ref AWS::NoValue]
  BrokenFunction:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: functions/broken/, Handler: answer.handler}
  ChatFunction:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: functions/chat/, Handler: run.sh}
  Machine:
    Type: AWS::Serverless::StateMachine
    Properties:
      Name: !Sub ${AWS::StackName}-machine
      DefinitionUri: statemachines/machine.asl.yaml
      DefinitionSubstitutions: {OneArn: !Ref OneFunction.Alias}
  Key: {Type: AWS::KMS::Key, Properties: {Description: Seals.}}
  KeyAlias:
    Type: AWS::KMS::Alias
    Properties: {AliasName: alias/tokens, TargetKeyId: !Ref Key}
  Sweep:
    Type: AWS::Scheduler::Schedule
    Properties:
      Name: sweep
      ScheduleExpression: rate(1 minute)
      Target: {Arn: !Ref OneFunction.Alias, Input: '{"at": "<aws.scheduler.scheduled-time>"}'}
  Nightly:
    Type: AWS::Scheduler::Schedule
    Properties:
      Name: nightly
      ScheduleExpression: cron(30 3 * * ? *)
      ScheduleExpressionTimezone: Europe/Berlin
      State: DISABLED
      Target: {Arn: !Ref Machine}
"""
MACHINE = """
StartAt: Ask
States:
  Ask:
    Type: Task
    Resource: arn:aws:states:::lambda:invoke
    Parameters: {FunctionName: "${OneArn}", Payload.$: $}
    OutputPath: $.Payload
    End: true
"""
ONE = "qwestly-agent-local-one"
ANSWER = """
def handler(event, context):
    return {"from": "%s", "event": event, "name": context.function_name, "left": context.get_remaining_time_in_millis(),
            "arn": context.invoked_function_arn, "memory": context.memory_limit_in_mb}
"""
SECRET = "what is kept in Parameter Store"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    folder = tmp_path_factory.mktemp("template")
    files = {
        "template.yaml": TEMPLATE,
        "statemachines/machine.asl.yaml": MACHINE,
        "functions/one/answer.py": ANSWER % "one",
        "functions/two/answer.py": ANSWER % "two",
        "functions/broken/answer.py": "import nothing_of_this_name",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return Template.load(folder / "template.yaml")


@pytest.fixture(scope="module")
def aws(template: Template, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AwsServer]:
    executions = tmp_path_factory.mktemp("executions")
    with AwsServer(template, {"SHARED_SECRET": SECRET}, hurried=True, executions=executions) as server:
        yield server


def invoked(aws: AwsServer, name: str, **more: Any) -> tuple[str | None, Any]:
    """Invoke a function; returns its answer and the kind of its error."""
    answer = aws.client("lambda").invoke(FunctionName=name, **more)
    return answer.get("FunctionError"), json.loads(answer["Payload"].read() or b"null")


# --- template.yaml ------------------------------------------------------------------------------------------------


def test_names_and_arns_are_known_before_anything_starts(template: Template) -> None:
    assert template.environment("OneFunction") == {
        "SHARED_SECRET": "ssm:/agent/dev/shared-secret",
        "UNSET_SECRET": "ssm:/agent/dev/unset-secret",
        "MACHINE": "arn:aws:states:us-east-1:123456789012:stateMachine:qwestly-agent-local-machine",
        "KEY": "alias/tokens",
        "ONE": f"arn:aws:lambda:us-east-1:123456789012:function:{ONE}",
        "ALIAS": f"arn:aws:lambda:us-east-1:123456789012:function:{ONE}:live",
        "URL": "",
        "MANY": f"arn:aws:lambda:us-east-1:123456789012:function:{ONE}:live {template.arn('Key')} {ONE}",
    }


def test_an_unsubstituted_name_in_a_definition_is_rejected(template: Template) -> None:
    properties = {"DefinitionUri": "statemachines/machine.asl.yaml"}
    resources = {"Machine": {"Type": "AWS::Serverless::StateMachine", "Properties": properties}}
    with pytest.raises(KeyError, match="OneArn"):
        definition_of(Template(resources, folder=template.folder), "Machine")


# --- functions ----------------------------------------------------------------------------------------------------


def test_an_exception_becomes_the_functions_error_response(aws: AwsServer) -> None:
    def handler(event: Any, context: Context) -> None:
        raise PermissionError("no entry")

    aws.register("raises", handler)
    error, body = invoked(aws, "raises")
    assert (error, body["errorType"], body["errorMessage"]) == ("Unhandled", "PermissionError", "no entry")
    assert any("raise PermissionError" in line for line in body["stackTrace"])


def test_an_import_error_is_reported_as_lambda_reports_it(aws: AwsServer) -> None:
    error, body = invoked(aws, "BrokenFunction")
    assert (error, body["errorType"]) == ("Unhandled", "Runtime.ImportModuleError")
    assert "nothing_of_this_name" in body["errorMessage"]


# --- what Lambda refuses ------------------------------------------------------------------------------------------


@dataclass
class Held:
    """The handler of the function with one slot: it returns once allowed to."""

    may: threading.Event = field(default_factory=threading.Event)
    began: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __call__(self, event: Any, context: Context) -> Any:
        self.began.release()
        assert self.may.wait(5)
        return event


@pytest.fixture
def held(aws: AwsServer) -> Held:
    handler = Held()
    aws.register("ScarceFunction", handler)
    return handler


@contextmanager
def busy(aws: AwsServer, held: Held) -> Iterator[None]:
    """While one invocation occupies the only slot."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(invoked, aws, "ScarceFunction")
        assert held.began.acquire(timeout=5)
        yield
        held.may.set()
        assert running.result() == (None, {})


def test_an_invocation_above_reserved_concurrency_is_throttled_as_in_lambda(aws: AwsServer, held: Held) -> None:
    with busy(aws, held), pytest.raises(aws.client("lambda").exceptions.TooManyRequestsException) as refused:
        invoked(aws, "ScarceFunction")
    answer = refused.value.response
    assert (answer["ResponseMetadata"]["HTTPStatusCode"], answer["Error"]["Message"]) == (429, "Rate Exceeded.")
    assert (answer["Reason"], answer["Type"]) == ("ReservedFunctionConcurrentInvocationLimitExceeded", "User")
    assert answer["ResponseMetadata"]["HTTPHeaders"]["x-amzn-errortype"] == "TooManyRequestsException"
    assert invoked(aws, "ScarceFunction", Payload=b'{"a": 1}') == (None, {"a": 1})


def test_a_throttled_state_fails_with_the_error_name_of_step_functions(aws: AwsServer, held: Held) -> None:
    arn = "arn:aws:lambda:us-east-1:123456789012:function:ScarceFunction"
    aws.create_machine("refused", machine("Ask", Ask=task(arn)))
    with busy(aws, held):
        assert aws.run("refused").error == "Lambda.TooManyRequestsException"


def test_an_event_is_queued_until_there_is_capacity(aws: AwsServer, held: Held) -> None:
    with busy(aws, held):
        later = aws.client("lambda").invoke(FunctionName="ScarceFunction", InvocationType="Event", Payload=b"{}")
        assert (later["StatusCode"], later["Payload"].read()) == (202, b"")
        assert not held.began.acquire(blocking=False)
    assert held.began.acquire(timeout=5)


@pytest.mark.parametrize(("kind", "most"), [("RequestResponse", 6 * 2**20), ("Event", 2**20)])
def test_an_oversized_payload_is_rejected(aws: AwsServer, held: Held, kind: str, most: int) -> None:
    held.may.set()
    invoke = aws.client("lambda").invoke
    with pytest.raises(ClientError, match="RequestEntityTooLargeException") as refused:
        invoke(FunctionName="ScarceFunction", InvocationType=kind, Payload=b" " * (most - 1) + b"{}")
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 413
    answer = invoke(FunctionName="ScarceFunction", InvocationType=kind, Payload=b" " * (most - 2) + b"{}")
    assert answer["Payload"].read() == {"RequestResponse": b"{}", "Event": b""}[kind]


def test_reserved_concurrency_depends_on_the_stages_parameters(template: Template) -> None:
    def reserved(**parameters: Any) -> int | None:
        return replace(template, parameters={**template.parameters, **parameters}).reserved("ScarceFunction")

    assert (reserved(), reserved(Most=7), reserved(Reserve="no")) == (1, 7, None)
    assert template.reserved("OneFunction") is None


def test_functions_without_reserved_concurrency_share_the_rest_of_the_accounts() -> None:
    slots = Slots({"ours": 2}, account=3)
    with slots.taken("one"), slots.taken("ours"), slots.taken("ours"):
        for name, reason in (("two", "Concurrent"), ("ours", "ReservedFunctionConcurrent")):
            with pytest.raises(Refused) as refused, slots.taken(name):
                pass
            assert f'"{reason}InvocationLimitExceeded"' in refused.value.body
    with slots.taken("two"):
        pass


# --- state machines -----------------------------------------------------------------------------------------------


def task(function: str, payload: Mapping[str, Any] | None = None, how: str = "", **more: Any) -> dict[str, Any]:
    return {
        "Type": "Task",
        "Resource": f"arn:aws:states:::lambda:invoke{how}",
        "Parameters": {"FunctionName": function, **({"Payload": payload} if payload else {"Payload.$": "$"})},
        **({} if how else {"OutputPath": "$.Payload"}),
        "TimeoutSeconds": 600,
        **({"End": True} if "Next" not in more else {}),
        **more,
    }


def machine(first: str, **states: Mapping[str, Any]) -> dict[str, Any]:
    return {"StartAt": first, "States": states}


def test_a_failing_state_is_retried_and_caught_by_its_name(aws: AwsServer) -> None:
    attempts: list[Any] = []

    class Flaky(Exception):
        pass

    def flaky(event: Any, context: Context) -> str:
        attempts.append(event)
        if len(attempts) < 3:
            raise Flaky
        raise ValueError("for good")

    aws.register("flaky", flaky)
    retry = [{"ErrorEquals": ["Flaky"], "IntervalSeconds": 60, "MaxAttempts": 5}]
    catch = [{"ErrorEquals": ["ValueError"], "ResultPath": "$.error", "Next": "Caught"}]
    definition = machine("Try", Try=task("flaky", Retry=retry, Catch=catch), Caught={"Type": "Pass", "End": True})
    aws.create_machine("retries", definition)
    outcome = aws.run("retries", {"id": 7})
    assert attempts == [{"id": 7}] * 3
    assert outcome.states == ["Try", "Caught"]
    assert (outcome.output["error"]["Error"], "for good" in outcome.output["error"]["Cause"]) == ("ValueError", True)


@pytest.fixture
def waiting(aws: AwsServer) -> tuple[str, str]:
    """An execution that waits for a person, and its token."""
    tokens: list[str] = []
    aws.register("request", lambda event, context: tokens.append(event["token"]))
    catch = [{"ErrorEquals": ["States.Timeout"], "Next": "NobodyCame"}]
    ask = task("request", {"token.$": "$$.Task.Token"}, ".waitForTaskToken", Catch=catch)
    aws.create_machine("asks", machine("Ask", Ask=ask, NobodyCame={"Type": "Pass", "End": True}))
    execution = aws.start("asks")
    return execution, until(lambda: tokens)[0]


def test_a_sealed_token_is_opened_after_a_restart(aws: AwsServer) -> None:
    kms = aws.client("kms")
    sealed = kms.encrypt(KeyId="alias/tokens", Plaintext=b"token")["CiphertextBlob"]
    aws_moto.create_key(key := aws.template.name("Key"))  # as created by a new process
    aws_moto.create_alias("alias/tokens", key)
    assert kms.decrypt(KeyId="alias/tokens", CiphertextBlob=sealed)["Plaintext"] == b"token"


@pytest.mark.parametrize("is_known", [True, False])
def test_an_execution_resumes_in_its_state_after_a_restart(aws: AwsServer, tmp_path: Path, is_known: bool) -> None:
    asked: list[dict[str, Any]] = []
    aws.register("request", lambda event, context: asked.append(event))
    aws.register("square", lambda event, context: event["n"] ** 2)
    squares = {"Type": "Map", "ItemsPath": "$", "ItemProcessor": machine("Square", Square=task("square"))}
    given = {"token.$": "$$.Task.Token", "n.$": "$[1]", "name.$": "$$.Execution.Name"}
    ask = task("request", given, ".waitForTaskToken")
    definition = machine("Map", Map={**squares, "Next": "Ask"}, Ask=ask)
    aws.create_machine("restarted", definition)
    execution = aws.start("restarted", [{"n": 2}, {"n": 3}], name := f"once-{is_known}")
    until(lambda: asked)
    assert aws.executions
    kept = aws.executions / f"restarted.{name}.json"
    left = kept.rename(tmp_path / kept.name)
    # As after a process was killed: its executions are unknown, and their tokens belong to none.
    aws.create_machine("restarted", definition if is_known else machine("Other", Other={"Type": "Pass", "End": True}))
    aws_moto.resume(tmp_path)
    assert left.exists() == is_known
    if is_known:
        until(lambda: len(asked) == 2)
        tokens = [each.pop("token") for each in asked]
        assert asked == [{"n": 9, "name": name}] * 2
        aws.client("stepfunctions").send_task_success(taskToken=tokens[1], output='"yes"')
        ended = aws.outcome(execution)
        assert (ended.status, ended.output, ended.states) == ("SUCCEEDED", "yes", ["Ask"])
        until(lambda: not kept.exists())


def test_a_task_token_is_accepted_while_another_execution_starts(
    aws: AwsServer, waiting: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """moto looks for the token in every execution, including one that has no environment yet."""
    execution, _ = waiting
    parsed, sent = threading.Event(), threading.Event()
    parse, send = ExecutionWorker._get_evaluation_entrypoint, StepFunctionsParserBackend.send_task_success
    sfn, late = aws.client("stepfunctions"), f"late-{execution.rpartition(':')[2]}"
    aws.create_machine("nothing", machine("Nothing", Nothing={"Type": "Pass", "End": True}))
    monkeypatch.setattr(
        ExecutionWorker, "_get_evaluation_entrypoint", lambda self: parse(self) if parsed.wait(5) else None
    )
    monkeypatch.setattr(StepFunctionsParserBackend, "send_task_success", lambda *args: (sent.set(), send(*args))[1])
    with ThreadPoolExecutor() as threads:
        threads.submit(aws.start, "nothing", {}, late)
        until(lambda: [each for each in aws.workflows() if each.name == late])
        answer = threads.submit(sfn.send_task_success, taskToken="a token of nobody", output="{}")
        assert sent.wait(5)
        parsed.set()
        with pytest.raises(ClientError, match="InvalidToken"):
            answer.result()


def test_starting_an_execution_with_a_used_name_starts_nothing(aws: AwsServer, waiting: tuple[str, str]) -> None:
    execution, token = waiting
    sfn = aws.client("stepfunctions")
    arn, name = execution.replace(":execution:", ":stateMachine:").rsplit(":", 1)
    assert sfn.start_execution(stateMachineArn=arn, name=name, input="{}")["executionArn"] == execution
    sfn.send_task_success(taskToken=token, output="{}")
    aws.outcome(execution)
    with pytest.raises(ClientError, match="ExecutionAlreadyExists"):
        sfn.start_execution(stateMachineArn=arn, name=name, input="{}")


# --- mail, parameters, keys ---------------------------------------------------------------------------------------


def test_a_mail_is_stored_as_its_recipient_sees_it(aws: AwsServer) -> None:
    message = EmailMessage()
    message["From"], message["To"] = "Qwestly <agent@qwestly.example>", "Maya Okafor <maya@example.com>"
    message["Subject"] = "Your “About” waits for you"
    message.set_content("Do you agree?\n")
    message.add_alternative("<p>Do you agree? 🙂</p>\n", subtype="html")
    aws.outbox.clear()
    sent = aws.client("sesv2").send_email(Content={"Raw": {"Data": bytes(message)}})
    [mail] = httpx2.get(f"{aws.url}/_control/outbox").json()["items"]
    assert mail.pop("at") == pytest.approx(datetime.now(UTC).timestamp(), abs=60)
    assert mail == {
        "id": sent["MessageId"],
        "to": "Maya Okafor <maya@example.com>",
        "subject": "Your “About” waits for you",
        "text": "Do you agree?\n",
        "html": "<p>Do you agree? 🙂</p>\n",
    }


def test_only_the_configured_sender_may_send_mail(aws: AwsServer) -> None:
    with pytest.raises(ClientError, match="authority"):
        aws.client("sesv2").send_email(
            FromEmailAddress="somebody@elsewhere.example", Content={"Raw": {"Data": b"To: a@b.example\n\nHello"}}
        )


def test_a_template_secret_is_in_parameter_store_if_its_variable_has_a_value(aws: AwsServer) -> None:
    ssm = aws.client("ssm")
    kept = ssm.get_parameter(Name="/agent/dev/shared-secret", WithDecryption=True)["Parameter"]
    assert (kept["Type"], kept["Value"]) == ("SecureString", SECRET)
    with pytest.raises(ClientError, match="ParameterNotFound"):
        ssm.get_parameter(Name="/agent/dev/unset-secret", WithDecryption=True)


def test_a_sealed_token_opens_only_in_its_own_context(aws: AwsServer, template: Template) -> None:
    kms = aws.client("kms")
    context = {"approval": "ap_1"}
    for key in ("alias/tokens", template.name("Key"), template.arn("Key")):
        sealed = kms.encrypt(KeyId=key, Plaintext=b"token", EncryptionContext=context)["CiphertextBlob"]
        assert b"token" not in sealed
        opened = kms.decrypt(KeyId="alias/tokens", CiphertextBlob=sealed, EncryptionContext=context)
        assert opened["Plaintext"] == b"token"
        with pytest.raises(ClientError, match="InvalidCiphertextException"):
            kms.decrypt(KeyId="alias/tokens", CiphertextBlob=sealed, EncryptionContext={"approval": "ap_2"})


# --- schedules ----------------------------------------------------------------------------------------------------


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize(
    ("expression", "zone", "after", "due"),
    [
        ("cron(30 3 * * ? *)", "UTC", "2026-01-05 03:29", "2026-01-05 03:30"),
        ("cron(30 3 * * ? *)", "UTC", "2026-01-05 03:30", "2026-01-06 03:30"),
        ("cron(30 3 * * ? *)", "Europe/Berlin", "2026-07-05 03:29", "2026-07-05 03:30"),
        # Berlin skips 02:00 to 03:00 on 29 March 2026, and has it twice on 25 October.
        ("cron(30 2 * * ? *)", "Europe/Berlin", "2026-03-28 02:30", "2026-03-30 02:30"),
        ("cron(0,30 1,2,3 * * ? *)", "Europe/Berlin", "2026-03-29 01:30", "2026-03-29 03:00"),
        ("cron(30 2 * * ? *)", "Europe/Berlin", "2026-10-25 02:30", "2026-10-26 02:30"),
        ("cron(0,30 1,2,3 * * ? *)", "Europe/Berlin", "2026-10-25 02:30", "2026-10-25 03:00"),
        ("rate(1 minute)", "UTC", "2026-01-05 00:10", "2026-01-05 00:10:20"),
        ("rate(6 hours)", "UTC", "2026-01-05 06:00:20", "2026-01-05 12:00:20"),
        ("rate(2 days)", "UTC", "2026-01-05 06:00", "2026-01-07 00:00:20"),
    ],
)
def test_a_schedules_next_run_follows_local_time(expression: str, zone: str, after: str, due: str) -> None:
    since = at("2026-01-05 00:00:20")
    assert next_time(expression, ZoneInfo(zone), at(after, zone), since) == at(due, zone)


def test_a_schedule_fires_once_in_the_hour_repeated_by_dst() -> None:
    zone = ZoneInfo("Europe/Berlin")
    second = datetime(2026, 10, 25, 2, 10, fold=1, tzinfo=zone).timestamp()
    assert next_time("cron(30 2 * * ? *)", zone, second, 0) == at("2026-10-26 02:30", "Europe/Berlin")


@pytest.mark.parametrize("expression", ["cron(0 0 ? * 1 *)", "rate(0 hours)", "at(2026-01-01T00:00:00)"])
def test_an_unsupported_schedule_expression_is_rejected(expression: str) -> None:
    with pytest.raises(ValueError, match="does not read"):
        next_time(expression, ZoneInfo("UTC"), 0, 0)


def schedule(name: str, expression: str, enabled: bool = True) -> Schedule:
    return Schedule(name, expression, ZoneInfo("UTC"), "arn:aws:lambda:::function:x", None, enabled)


def test_the_clock_reports_each_due_time_once() -> None:
    minutely, off = schedule("minutely", "rate(1 minute)"), schedule("off", "rate(1 minute)", enabled=False)
    clock = Clock([minutely, off], now=1_000)
    assert clock.due(1_059) == []
    assert clock.due(1_060) == [(minutely, 1_060)]
    assert clock.due(1_060) == []
    assert clock.due(1_300) == [(minutely, 1_120)]  # the machine slept
    assert clock.due(1_301) == []
    assert clock.due(1_360) == [(minutely, 1_360)]


def test_schedules_are_listed_and_fired_by_hand(aws: AwsServer, template: Template) -> None:
    listed = httpx2.get(f"{aws.url}/_control/schedules").json()["items"]
    assert listed == [
        {"name": "sweep", "expression": "rate(1 minute)", "target": ONE},
        {"name": "nightly", "expression": "cron(30 3 * * ? *)", "target": "qwestly-agent-local-machine"},
    ]
    fired = httpx2.post(f"{aws.url}/_control/schedules/sweep").json()
    assert (fired["failed"], fired["answer"]["from"]) == (False, "one")
    assert datetime.fromisoformat(fired["answer"]["event"]["at"]).year >= 2026
    execution = httpx2.post(f"{aws.url}/_control/schedules/nightly").json()["answer"]["executionArn"]
    assert aws.outcome(execution).output["event"]["source"] == "aws.scheduler"
    assert httpx2.post(f"{aws.url}/_control/schedules/nobody").status_code == 404
    assert [each.enabled for each in aws.schedules.values()] == [True, False]


@pytest.mark.nightly
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("uri", "listed"), [("mongodb://127.0.0.1:1", True), ("mongodb+srv://u:p@db.example.net", False)], ids=str
)
def test_the_stacks_clock_runs_only_against_a_local_database(uri: str, listed: bool) -> None:
    port = free_port()
    environment = {"MONGODB_URI": uri, "MONGODB_DATABASE": "candidate_portal"}
    with started(*python("infra.local.aws", "--port", str(port)), **environment) as process:
        wait_for_port(port, process.popen, 30)
        schedules = httpx2.get(f"http://127.0.0.1:{port}/_control/schedules").json()["items"]
        expected = [each.name for each in schedules_of(Template.load())]
        assert [each["name"] for each in schedules] == (expected if listed else [])
        assert process.end(signal.SIGTERM) == 0


# --- the front ----------------------------------------------------------------------------------------------------


async def echo(request: Request) -> Response:
    """A page like the approve function's: Mangum, starlette."""
    form = parse_qs((await request.body()).decode())
    said = [request.method, request.url.path, request.url.query, request.cookies.get("a"), form.get("choice")]
    response = PlainTextResponse(" ".join(str(each) for each in said), 203)
    response.set_cookie("one", "1")
    response.set_cookie("two", "2")
    return response


@contextmanager
def front_with(aws_url: str, function: str) -> Iterator[httpx2.Client]:
    cors = {"AllowMethods": ["GET"], "AllowHeaders": [], "ExposeHeaders": [], "MaxAge": 1}
    stub = front.Front("http://127.0.0.1:1", "http://127.0.0.1:1", aws_url=aws_url, approve_function=function)
    with served(front.create_app(stub, cors, [ORIGIN])) as url, httpx2.Client(base_url=url, timeout=10) as client:
        yield client


@pytest.fixture(scope="module")
def http(aws: AwsServer) -> Iterator[httpx2.Client]:
    methods = ["GET", "HEAD", "POST", "DELETE", "OPTIONS"]
    pages = Starlette(routes=[Route("/{path:path}", echo, methods=methods)])

    def handler(event: Any, context: Any) -> Any:
        with asyncio.Runner() as runner:
            runner.get_loop()  # Mangum takes the thread's, and would make one that nobody closes
            return Mangum(pages, lifespan="off")(event, context)

    aws.register("pages", handler)
    aws_function_url._lambda.cache_clear()
    with pytest.MonkeyPatch.context() as patch, front_with(aws.url, "pages") as client:
        for name, value in aws.variables.items():
            patch.setenv(name, value)
        yield client
    aws_function_url._lambda.cache_clear()


@pytest.mark.parametrize(
    ("method", "content", "said"),
    [
        ("POST", {"choice": "yes, “so”"}, "POST /approve  None ['yes, “so”']"),
        ("HEAD", None, ""),
        ("OPTIONS", None, None),
    ],
)
def test_every_method_reaches_the_approve_function(
    http: httpx2.Client, method: str, content: dict[str, str] | None, said: str | None
) -> None:
    answer = http.request(method, "/approve", data=content)
    assert answer.status_code == 203
    assert said is None or answer.text == said


def test_the_event_has_the_format_of_a_function_url(http: httpx2.Client, aws: AwsServer) -> None:
    aws.register("tells-its-event", lambda event, context: event)
    with front_with(aws.url, "tells-its-event") as client:
        headers = {"Cookie": "a=b; c=d", "User-Agent": "Robot", "X-Mixed": "Case"}
        event = client.post("/approve/a%20b?x=1&x=2", headers=headers, data={"choice": "yes"}).json()
        text = client.post("/approve", headers={"Content-Type": "text/plain"}, content="é").json()
    assert (event["version"], event["rawPath"], event["rawQueryString"]) == ("2.0", "/approve/a%20b", "x=1&x=2")
    assert (event["queryStringParameters"], event["cookies"]) == ({"x": "1,2"}, ["a=b", "c=d"])
    assert event["headers"]["x-mixed"] == "Case"
    assert "cookie" not in event["headers"]
    http_context = event["requestContext"]["http"]
    assert (http_context["method"], http_context["sourceIp"], http_context["userAgent"]) == (
        "POST",
        "127.0.0.1",
        "Robot",
    )
    assert (event["isBase64Encoded"], base64.b64decode(event["body"])) == (True, b"choice=yes")
    assert (text["isBase64Encoded"], text["body"]) == (False, "é")


@pytest.mark.thorough
@pytest.mark.parametrize("path", ["/approve/%0a", "/approve/%00", "/approve/a%3Fb%23c", '/approve/a|b"', "/approve/"])
def test_a_path_reaches_the_approve_function_unchanged(aws: AwsServer, http: httpx2.Client, path: str) -> None:
    aws.register("tells-its-path", lambda event, context: [event["rawPath"], event["rawQueryString"]])
    with front_with(aws.url, "tells-its-path") as client:
        assert client.get("/", extensions={"target": path.encode()}).json() == [path, ""]


def test_the_page_shows_outbox_workflows_and_schedules_and_fires_one(http: httpx2.Client, aws: AwsServer) -> None:
    for name in ("outbox", "workflows", "schedules"):
        ours = http.get(f"/local/{name}")
        assert ours.json() == httpx2.get(f"{aws.url}/_control/{name}").json()
        assert ours.headers["cache-control"] == "no-store"
    assert http.post("/local/schedules/sweep").json()["fired"] == "sweep"
    assert http.post("/local/schedules/nobody").json()["error"]["code"] == "not_found"


@pytest.mark.nightly
@pytest.mark.thorough
def test_a_schedule_is_fired_from_the_command_line(http: httpx2.Client) -> None:
    def fire(*names: str) -> Process:
        with started(*python("infra", "fire", *names), PORT=str(http.base_url.port)) as process:
            process.wait()
            return process

    assert fire().said.splitlines()[0] == f"sweep   rate(1 minute)   {ONE}"
    fired = fire("sweep")
    assert (fired.popen.returncode, json.loads(fired.said)["from"]) == (0, "one")
    assert fire("nobody").said == "There is no such schedule."


def test_a_page_of_another_origin_cannot_fire_a_schedule(http: httpx2.Client) -> None:
    own = f"http://{http.base_url.host}:{http.base_url.port}"
    assert http.post("/local/schedules/sweep", headers={"Origin": own}).status_code == 200
    for origin in ("https://evil.example", "null", ORIGIN):
        assert http.post("/local/schedules/sweep", headers={"Origin": origin}).status_code == 403


def test_a_mail_is_shown_sandboxed_and_its_links_open_in_a_new_tab(http: httpx2.Client, aws: AwsServer) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "agent@qwestly.example", "maya@example.com", "Hello"
    message.set_content("<text>")
    aws.outbox.clear()
    sent = [aws.client("sesv2").send_email(Content={"Raw": {"Data": bytes(message)}})["MessageId"]]
    message.add_alternative("<!doctype html><html><head lang=en><title>x</title></head></html>", subtype="html")
    sent.append(aws.client("sesv2").send_email(Content={"Raw": {"Data": bytes(message)}})["MessageId"])
    plain, html = (http.get(f"/local/outbox/{mail_id}") for mail_id in sent)
    assert plain.text == '<base target="_blank"><pre>&lt;text&gt;\n</pre>'
    assert html.text.startswith('<!doctype html><html><head lang=en><base target="_blank"><title>')
    policy = html.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert "allow-scripts" not in policy
    assert http.get("/local/outbox/nobody").status_code == 404
