"""Rolling back a release: `qwestly-agent release` as an operator types it, over moto's Lambda."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import httpx2
import pytest
from moto.awslambda.exceptions import LambdaClientError
from moto.awslambda.models import LambdaFunction
from moto.awslambda_simple.models import LambdaSimpleBackend
from moto.cloudformation.models import cloudformation_backends
from moto.core.responses import ActionResult
from moto.stepfunctions.responses import StepFunctionResponse

from infra.__main__ import main
from infra.local.aws import AwsServer
from infra.local.environment import ACCOUNT, FUNCTION, REGION
from infra.stages import Stage
from tests.recorded_calls import compare, outside, recording

pytestmark = pytest.mark.thorough
STAGE = Stage.load("prod")
NAMES = [STAGE.template.name(each) for each in STAGE.template.of_type(FUNCTION)]
EMPTY_STACK = json.dumps({"Resources": {"Alarms": {"Type": "AWS::SNS::Topic"}}})
Typed = Callable[..., tuple[int, str, str]]


@dataclass
class Account:
    """An account after `make deploy`, before its last step."""

    lambdas: Any
    role: str

    @cached_property
    def adapter(self) -> str:
        """A layer that is not of the release."""
        return self.layer("adapter")

    def deploy(self, *, names: list[str] = NAMES, live: bool = True) -> int:
        """The number of the release."""
        layers, there = [self.adapter, self.layer(STAGE.stack)], self.live()
        for name in names:
            version = self._publish(name, layers) if name in there else self._create(name, layers)
            if live:
                self.point(name, version)
        return int(layers[-1].rpartition(":")[2])

    def layer(self, name: str) -> str:
        return self.lambdas.publish_layer_version(LayerName=name, Content={"ZipFile": b"any"})["LayerVersionArn"]

    def _publish(self, name: str, layers: list[str]) -> str:
        self.lambdas.update_function_configuration(FunctionName=name, Layers=layers)
        return self.lambdas.publish_version(FunctionName=name)["Version"]

    def _create(self, name: str, layers: list[str]) -> str:
        given = {"Runtime": "python3.13", "Handler": "any.handler", "Code": {"ZipFile": b"code"}, "Layers": layers}
        made = self.lambdas.create_function(FunctionName=name, Role=self.role, Publish=True, **given)
        self.lambdas.create_alias(FunctionName=name, Name="live", FunctionVersion=made["Version"])
        return made["Version"]

    def point(self, name: str, version: str, **more: Any) -> None:
        self.lambdas.update_alias(FunctionName=name, Name="live", FunctionVersion=version, **more)

    def live(self) -> dict[str, str]:
        """The version that the alias of each function points to."""
        there = [each["FunctionName"] for each in self.lambdas.list_functions()["Functions"]]
        aliases = {name: self.lambdas.get_alias(FunctionName=name, Name="live") for name in there}
        assert not [
            each for each in aliases.values() if (each.get("RoutingConfig") or {}).get("AdditionalVersionWeights")
        ]
        return {name: each["FunctionVersion"] for name, each in aliases.items()}

    def versions(self, name: str) -> list[str]:
        found = self.lambdas.list_versions_by_function(FunctionName=name)["Versions"]
        return [each["Version"] for each in found if each["Version"] != "$LATEST"]


@pytest.fixture(scope="module")
def aws() -> Iterator[AwsServer]:
    with AwsServer() as aws:
        yield aws


@pytest.fixture
def account(aws: AwsServer, monkeypatch: pytest.MonkeyPatch) -> Account:
    httpx2.post(f"{aws.url}/moto-api/reset").raise_for_status()
    for name, value in aws.variables.items():
        monkeypatch.setenv(name, value)
    aws.client("cloudformation").create_stack(StackName=STAGE.stack, TemplateBody=EMPTY_STACK)
    trust = {"Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}}]}
    role = aws.client("iam").create_role(RoleName="any", AssumeRolePolicyDocument=json.dumps(trust))["Role"]
    return Account(aws.client("lambda"), role["Arn"])


@pytest.fixture
def typed(account: Account, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Typed:
    """The exit code, and what was said on both outputs."""

    def typed(*words: str, stage: str = "prod") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["qwestly-agent", "release", *words, *(["--stage", stage] if stage else [])])
        try:
            code = main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return typed


@pytest.mark.nightly
def test_a_release_is_rolled_back_and_forward_in_every_function(account: Account, typed: Typed) -> None:
    old = account.deploy()
    before = account.live()
    new = account.deploy()
    after = account.live()
    code, said, _ = typed("back")
    assert (code, account.live()) == (0, before)
    assert said.startswith(f"Release {old} of qwestly-agent-prod is live, and no more {new}:")
    assert all(f"{name} " in said for name in NAMES)
    assert "Not taken back: schedules" in said
    undo = said.splitlines()[-1]
    assert undo == f"qwestly-agent release to {new} --stage prod"
    assert typed(*undo.split()[2:4])[0] == 0
    assert account.live() == after


@pytest.mark.nightly
def test_the_live_version_is_listed_with_its_time(
    account: Account, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    account.deploy()
    account.deploy()
    head, newest, oldest = typed("list")[1].splitlines()
    assert head.split() == ["release", "published", "functions", "live"]
    _, published, functions, live = re.split(r" {2,}", newest.strip())
    assert (functions, live) == (f"{len(NAMES)} of {len(NAMES)}", f"since {published}"), "no more is known"
    assert "since" not in oldest
    monkeypatch.setattr("infra.release.system_clock", lambda: datetime(2030, 1, 2, 3, 4, tzinfo=UTC).timestamp())
    typed("back")
    _, newest, oldest = typed("list")[1].splitlines()
    assert oldest.endswith("since 2030-01-02 03:04 UTC")
    assert "since" not in newest


@pytest.mark.nightly
def test_a_rollback_without_a_previous_release_changes_nothing(account: Account, typed: Typed) -> None:
    only = account.deploy()
    live = account.live()
    assert typed("back") == (1, "", f"There is no release before {only}.\n")
    assert account.live() == live


@pytest.mark.nightly
def test_a_rollback_moves_nothing_if_a_function_is_new(account: Account, typed: Typed) -> None:
    old = account.deploy(names=NAMES[1:])
    account.deploy()
    live = account.live()
    assert typed("back") == (1, "", f"There is no version of release {old} of {NAMES[0]}.\n")
    assert account.live() == live


@pytest.mark.nightly
def test_if_one_function_cannot_be_moved_none_is(
    account: Account, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    account.deploy()
    account.deploy()
    live = account.live()
    update = LambdaSimpleBackend.update_alias

    def refuse_the_last(self: Any, **given: Any) -> Any:
        if given["function_name"] == NAMES[-1]:
            raise LambdaClientError("AccessDeniedException", "no")
        return update(self, **given)

    monkeypatch.setattr(LambdaSimpleBackend, "update_alias", refuse_the_last)
    why = f"{NAMES[-1]}: UpdateAlias answers AccessDeniedException. All functions are where they were.\n"
    assert typed("back") == (1, "", why)
    assert account.live() == live


def sleeping(monkeypatch: pytest.MonkeyPatch, number: str, *, wakes: bool = True) -> list[tuple[str, Any]]:
    """Have this version of the first function without its snapshot until it is called; these calls."""
    called: list[tuple[str, Any]] = []
    configuration = LambdaFunction.get_configuration

    def in_state(self: LambdaFunction, *more: Any, **given: Any) -> dict[str, Any]:
        asleep = (self.function_name, str(self.version)) == (NAMES[0], number) and not (called and wakes)
        state = ("Failed" if called else "Inactive") if asleep else "Active"
        return {**configuration(self, *more, **given), "State": state}

    def refused(self: Any, function_name: str, qualifier: str, body: bytes, *_: Any) -> Any:
        called.append((function_name, json.loads(body)["rawPath"]))
        error = LambdaClientError("SnapStartNotReadyException", "Lambda is initializing your function.")
        error.code = 409
        raise error

    monkeypatch.setattr(LambdaFunction, "get_configuration", in_state)
    monkeypatch.setattr(LambdaSimpleBackend, "invoke", refused)
    return called


@pytest.mark.nightly
def test_a_long_unused_version_gets_its_snapshot_before_it_serves_requests(
    account: Account, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    account.deploy()
    before = account.live()
    account.deploy()
    called = sleeping(monkeypatch, "1")
    code, _, said = typed("back")
    assert (code, account.live()) == (0, before)
    assert called == [(f"{NAMES[0]}:1", "/healthz")]
    assert said == f"{NAMES[0]} 1 has no snapshot: it is made, for some minutes.\n"


@pytest.mark.nightly
def test_no_function_is_moved_if_a_snapshot_fails(
    account: Account, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    account.deploy()
    account.deploy()
    live = account.live()
    sleeping(monkeypatch, "1", wakes=False)
    code, _, said = typed("back")
    assert (code, account.live()) == (1, live)
    assert said.endswith(f"{NAMES[0]} 1 did not become active. No function was moved.\n")


@pytest.mark.nightly
def test_nothing_is_moved_during_a_deployment(account: Account, typed: Typed) -> None:
    account.deploy()
    account.deploy()
    live = account.live()
    [stack] = cloudformation_backends[ACCOUNT][REGION].stacks.values()
    stack.status = "UPDATE_IN_PROGRESS"
    for words in (["back"], ["to", "1"], ["prune"]):
        code, _, said = typed(*words)
        assert code == 1
        assert said.startswith("A deployment runs (UPDATE_IN_PROGRESS).")
        assert "aws cloudformation cancel-update-stack --stack-name qwestly-agent-prod" in said
    assert account.live() == live
    assert typed("list")[0] == 0


@pytest.mark.nightly
def test_functions_on_different_releases_are_realigned_by_release_number(account: Account, typed: Typed) -> None:
    old = account.deploy()
    together = account.live()
    account.deploy()
    account.point(NAMES[0], together[NAMES[0]], RoutingConfig={"AdditionalVersionWeights": {"2": 0.5}})
    code, _, said = typed("back")
    assert (code, said.partition(":")[0]) == (1, "The functions are not all at the newest version of one release")
    assert f", in {NAMES[0]} alone" in typed("list")[1]
    assert typed("to", str(old))[0] == 0
    assert account.live() == together


@pytest.mark.nightly
def test_prune_keeps_the_live_release_and_the_one_before(account: Account, typed: Typed) -> None:
    for _ in range(4):
        account.deploy()
    code, said, _ = typed("prune")
    assert code == 0
    assert len(said.splitlines()) == 1 + 2 * len(NAMES)
    assert {tuple(account.versions(name)) for name in NAMES} == {("3", "4")}
    assert typed("prune") == (0, "There was nothing to delete.\n", "")
    assert typed("back")[0] == 0


@pytest.mark.nightly
def test_prune_keeps_cloudformations_newest_version_after_a_rollback(account: Account, typed: Typed) -> None:
    account.deploy()
    account.deploy()
    typed("back")
    typed("prune")
    assert account.versions(NAMES[0]) == ["1", "2"]


@pytest.mark.nightly
def test_a_rolled_back_release_is_not_a_rollback_target_later(account: Account, typed: Typed) -> None:
    good = account.deploy()
    account.deploy()
    typed("back")
    account.deploy()
    typed("prune")
    assert account.versions(NAMES[0]) == ["1", "3"]
    typed("back")
    assert set(account.live().values()) == {"1"}
    assert f"{good:7}" in typed("list")[1]


@pytest.mark.nightly
def test_a_failed_deployment_is_not_a_rollback_target_later(account: Account, typed: Typed) -> None:
    account.deploy()
    typed("prune")
    account.deploy(live=False)
    assert typed("back")[0] == 1
    account.deploy()
    typed("back")
    assert set(account.live().values()) == {"1"}


@pytest.mark.parametrize(
    ("words", "stage", "why"),
    [
        (["back"], "", "release needs --stage"),
        (["to"], "prod", "`to` needs the number of a release, and nothing else takes one"),
        (["back", "3"], "prod", "`to` needs the number of a release, and nothing else takes one"),
    ],
)
def test_a_release_command_requires_a_stage_and_only_to_takes_a_number(
    typed: Typed, words: list[str], stage: str, why: str
) -> None:
    code, _, said = typed(*words, stage=stage)
    assert (code, said.splitlines()[-1]) == (2, f"qwestly-agent release: error: {why}")


def test_an_undeployed_stage_is_reported(typed: Typed) -> None:
    assert typed("list") == (1, "", f"{NAMES[0]} is not deployed: use the checkout of what is.\n")


# --- state machines ---------------------------------------------------------------------------------------------------

CARDS = STAGE.template.name("GenerateCardMachine")


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, str]]:
    """Versions of machines, which moto does not know, as the reference of Step Functions describes them."""
    kept: dict[str, dict[str, str]] = {}
    described = StepFunctionResponse.describe_state_machine

    def publish_state_machine_version(self: Any) -> ActionResult:
        arn = self._get_param("stateMachineArn")
        definition = self.stepfunction_backend.describe_state_machine(arn).definition
        same = [key for key, each in kept.items() if (each["of"], each["definition"]) == (arn, definition)]
        numbers = [int(key.rpartition(":")[2]) for key, each in kept.items() if each["of"] == arn]
        key = same[0] if same else f"{arn}:{max(numbers, default=0) + 1}"
        kept.setdefault(key, {"of": arn, "definition": definition, "description": self._get_param("description")})
        return ActionResult({"creationDate": 0, "stateMachineVersionArn": key})

    def list_state_machine_versions(self: Any) -> ActionResult:
        found = [key for key, each in kept.items() if each["of"] == self._get_param("stateMachineArn")]
        return ActionResult({"stateMachineVersions": [{"stateMachineVersionArn": key} for key in reversed(found)]})

    def delete_state_machine_version(self: Any) -> ActionResult:
        del kept[self._get_param("stateMachineVersionArn")]
        return ActionResult({})

    def describe_state_machine(self: Any) -> ActionResult:
        version = kept.get(self._get_param("stateMachineArn"))
        return ActionResult({"creationDate": 0, **version}) if version else described(self)

    for each in (publish_state_machine_version, list_state_machine_versions, delete_state_machine_version):
        monkeypatch.setattr(StepFunctionResponse, each.__name__, each, raising=False)
    monkeypatch.setattr(StepFunctionResponse, "describe_state_machine", describe_state_machine)
    return kept


@dataclass
class Cards:
    """The machine of cards; a definition waits for as long as its name says."""

    states: Any
    role: str
    arn: str = ""

    def defines(self, seconds: int) -> None:
        definition = json.dumps({"StartAt": "w", "States": {"w": {"Type": "Wait", "Seconds": seconds, "End": True}}})
        if self.arn:
            self.states.update_state_machine(stateMachineArn=self.arn, definition=definition)
        else:
            made = self.states.create_state_machine(name=CARDS, definition=definition, roleArn=self.role)
            self.arn = made["stateMachineArn"]

    @property
    def seconds(self) -> int:
        definition = self.states.describe_state_machine(stateMachineArn=self.arn)["definition"]
        return json.loads(definition)["States"]["w"]["Seconds"]

    def running(self) -> dict[str, str]:
        listed = self.states.list_executions(stateMachineArn=self.arn, statusFilter="RUNNING")["executions"]
        described = (self.states.describe_execution(executionArn=each["executionArn"]) for each in listed)
        return {each["name"]: each["input"] for each in described}


@pytest.fixture
def cards(account: Account, aws: AwsServer, versions: dict[str, dict[str, str]]) -> Iterator[Cards]:
    cards = Cards(aws.client("stepfunctions"), account.role)
    yield cards
    for each in cards.states.list_executions(stateMachineArn=cards.arn, statusFilter="RUNNING")["executions"]:
        cards.states.stop_execution(executionArn=each["executionArn"])


def test_a_state_machine_is_rolled_back_and_forward_with_its_functions(
    account: Account, typed: Typed, cards: Cards
) -> None:
    for seconds in (100, 100, 300):
        account.deploy()
        cards.defines(seconds)
        assert typed("prune")[0] == 0
    code, said, _ = typed("back")
    assert (code, cards.seconds) == (0, 100)
    assert f"{CARDS:45} as of release " in said
    undo = said.splitlines()[-1]
    assert typed(*undo.split()[2:4])[0] == 0
    assert cards.seconds == 300


def test_no_state_machine_is_moved_if_a_function_cannot_be(
    account: Account, typed: Typed, cards: Cards, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seconds in (100, 300):
        account.deploy()
        cards.defines(seconds)
        assert typed("prune")[0] == 0
    sleeping(monkeypatch, "1", wakes=False)
    monkeypatch.setattr("infra.release.PATIENCE", {"Delay": 0, "MaxAttempts": 1})
    assert typed("back")[0] == 1
    assert cards.seconds == 300


def test_prune_keeps_only_versions_that_a_kept_release_needs(
    account: Account, typed: Typed, cards: Cards, versions: dict[str, dict[str, str]]
) -> None:
    for seconds in (100, 200, 200, 300):
        account.deploy()
        cards.defines(seconds)
        assert typed("prune")[0] == 0
    assert [json.loads(each["definition"])["States"]["w"]["Seconds"] for each in versions.values()] == [200, 300]


def test_an_execution_of_an_older_definition_is_restarted_with_its_input(
    account: Account, typed: Typed, cards: Cards, monkeypatch: pytest.MonkeyPatch
) -> None:
    account.deploy()
    cards.defines(100)
    given = json.dumps({"draft_id": "draft_1"})
    first = cards.states.describe_state_machine(stateMachineArn=cards.arn)
    described = StepFunctionResponse.describe_state_machine_for_execution

    def as_it_began(self: Any) -> ActionResult:
        is_first = self._get_param("executionArn").endswith(":card-draft_1")  # moto answers with the present one
        return ActionResult({**first, "updateDate": 0}) if is_first else described(self)

    monkeypatch.setattr(StepFunctionResponse, "describe_state_machine_for_execution", as_it_began)
    cards.states.start_execution(stateMachineArn=cards.arn, name="card-draft_1", input=given)
    cards.defines(300)
    new = account.deploy()
    cards.states.start_execution(stateMachineArn=cards.arn, name="card-draft_2", input="{}")
    code, said, _ = typed("move")
    assert code == 0
    assert cards.running() == {f"card-draft_1-{new}": given, "card-draft_2": "{}"}
    assert said.splitlines()[1:] == [f"  {CARDS:45} card-draft_1 → card-draft_1-{new}"]
    assert typed("move")[1] == "No execution runs by an older definition.\n"


def test_the_release_commands_calls_are_in_the_table_of_rights(
    account: Account, typed: Typed, cards: Cards, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recording() as calls:
        for seconds in (100, 200, 300):
            with outside():
                newest = account.deploy()
                cards.defines(seconds)
            assert typed("prune")[0] == 0
        with outside():
            cards.states.start_execution(stateMachineArn=cards.arn, name="card-draft_1", input="{}")
            described = cards.states.describe_state_machine(stateMachineArn=cards.arn)
            older = ActionResult({**described, "definition": "{}", "updateDate": 0})
            monkeypatch.setattr(StepFunctionResponse, "describe_state_machine_for_execution", lambda _: older)
        assert typed("move")[0] == 0
        with outside(), monkeypatch.context() as patch:
            called = sleeping(patch, "2")
            assert typed("list")[0] == 0
            with recording() as woken:
                assert typed("back")[0] == 0
            assert called
        assert typed("to", str(newest))[0] == 0
    compare({"release": calls | woken})
