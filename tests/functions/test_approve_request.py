"""A pipeline asks its user, by a state machine that waits."""

from collections.abc import Iterator

import pytest

from infra.local.aws import AwsServer
from qwestly_agent.authority.model import Level
from qwestly_agent.clock import to_datetime
from tests.functions.approving import TEMPLATE, World, a_world, local_aws
from tests.servers import USER, until

MACHINE = "asks"
DEFINITION = {
    "StartAt": "Ask",
    "States": {
        "Ask": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
            "Parameters": {
                "FunctionName": TEMPLATE.arn("ApproveRequestFunction"),
                "Payload": {
                    "user_id.$": "$.user_id",
                    "draft_id.$": "$.draft_id",
                    "run_id.$": "$.run_id",
                    "task_token.$": "$$.Task.Token",
                },
            },
            "TimeoutSeconds": 700_000,
            "Catch": [
                {"ErrorEquals": ["NotAllowed"], "Next": "Drafted"},
                {"ErrorEquals": ["Braked"], "Next": "Stopped"},
            ],
            "End": True,
        },
        "Drafted": {"Type": "Succeed"},
        "Stopped": {"Type": "Succeed"},
    },
}
GIVEN = {"user_id": USER, "draft_id": "draft_1", "run_id": "run_1"}


@pytest.fixture(scope="module")
def aws() -> Iterator[AwsServer]:
    with local_aws() as aws:
        aws.create_machine(MACHINE, DEFINITION)
        yield aws


@pytest.fixture
def world(aws: AwsServer, mongodb_uri: str, database_name: str) -> Iterator[World]:
    with a_world(aws, mongodb_uri, database_name) as world:
        world.draft()
        yield world


def level(world: World, chosen: Level) -> None:
    world.run(lambda house: house.autonomy.set_level(USER, chosen, to_datetime(house.clock())))


def waiting(world: World) -> str:
    """The id of the question that the machine waits for."""
    return until(lambda: world.run(lambda house: house.drafts.get(USER, "draft_1")).approval_id, 20)


def test_the_execution_waits_until_its_user_says_yes_by_the_link(world: World) -> None:
    level(world, "L2")
    execution = world.aws.start(MACHINE, GIVEN)
    approval_id = waiting(world)
    draft = world.run(lambda house: house.drafts.get(USER, "draft_1"))
    assert (draft.status, draft.label) == ("waiting", "Waiting for your approval")
    until(lambda: world.aws.outbox)  # queued: mailed at once
    token = world.link(approval_id)
    world.decide(token)
    outcome = world.aws.outcome(execution)
    assert outcome.status == "SUCCEEDED"
    assert outcome.output == {"approval_id": approval_id, "status": "approved"}


def test_what_is_asked_in_the_chat_is_mailed_only_if_nobody_answers_there(world: World) -> None:
    world.request(task_token="first")
    assert world.approval(waiting(world)).answer == "ask"
    world.clock.advance(599)
    world.sweep()
    assert world.aws.outbox == []
    world.clock.advance(1)
    world.sweep()
    assert len(world.aws.outbox) == 1


def test_a_state_that_is_delivered_again_asks_once_and_the_newest_token_counts(world: World) -> None:
    level(world, "L2")
    first = world.request(task_token="first")
    second = world.request(task_token="second")
    assert first == second
    assert len(world.aws.outbox) == 1
    assert len(world.dump()["agent_approvals"]) == 1
    approval = world.approval(first["approval_id"])
    assert world.run(lambda house: house.workflows.opened(approval.task_token or "", approval.id)) == "second"
    assert "second" not in str(world.dump())


def test_a_state_that_is_delivered_again_after_the_decision_is_answered_at_once(world: World) -> None:
    level(world, "L2")
    approval_id = world.request(task_token="first")["approval_id"]
    world.decide(world.link(approval_id), "reject")
    draft = world.run(lambda house: house.drafts.tell(USER, "draft_1", house.clock(), status="rejected"))
    assert draft is None
    execution = world.aws.start(MACHINE, GIVEN)
    assert world.aws.outcome(execution).output == {"approval_id": approval_id, "status": "rejected"}
    assert world.run(lambda house: house.drafts.get(USER, "draft_1")).status == "rejected"


def test_another_round_is_another_question(world: World) -> None:
    first = world.request(task_token="first")["approval_id"]
    world.run(lambda house: house.drafts.tell(USER, "draft_1", house.clock(), round=2))
    second = world.request(task_token="second")["approval_id"]
    third = world.request(task_token="third", revises=second)["approval_id"]
    assert len({first, second, third}) == 3
    assert world.approval(second).revised_by == third


@pytest.mark.parametrize(("chosen", "end"), [("L0", "Drafted"), ("L1", "Stopped")])
def test_nothing_is_asked_where_it_is_not_allowed_or_braked(world: World, chosen: Level, end: str) -> None:
    level(world, chosen)
    if chosen == "L1":
        world.pull_brake()
    outcome = world.aws.run(MACHINE, GIVEN)
    assert (outcome.status, outcome.states[-1]) == ("SUCCEEDED", end)
    assert not world.dump()["agent_approvals"]
    assert world.run(lambda house: house.drafts.get(USER, "draft_1")).status == "running"


def test_an_input_of_another_version_is_understood(world: World) -> None:
    assert world.request(task_token="first", unheard_of=True)["status"] == "pending"


def test_somebody_elses_draft_is_not_asked_about(world: World) -> None:
    outcome = world.aws.run(MACHINE, {**GIVEN, "user_id": "auth0|stranger"})
    assert (outcome.status, outcome.error) == ("FAILED", "NotFound")
