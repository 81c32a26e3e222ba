"""A workflow asks its user through a state machine that waits."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from infra.local.aws import AwsServer
from qwestly_agent.approvals.ask_for_workflow import request_approval
from qwestly_agent.approvals.decide import Decision, decide
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.domain.approval import LEFT_BEHIND_SECONDS, Level, Verb
from qwestly_agent.memory.extract_writer import ask_to_keep
from qwestly_agent.services import Services
from tests.counts import everyday
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
                "FunctionName": TEMPLATE.arn("GenerateWriterFunction"),
                "Payload": {
                    "workflow": "generate_card",
                    "state": "ask_approval",
                    "given": {
                        "user_id.$": "$.user_id",
                        "draft_id.$": "$.draft_id",
                        "run_id.$": "$.run_id",
                        "task_token.$": "$$.Task.Token",
                    },
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
    world.run(lambda services: services.autonomy.set_level(USER, chosen, to_datetime(services.clock())))


def waiting(world: World) -> str:
    """Return the id of the approval that the state machine waits for."""
    return until(lambda: world.run(lambda services: services.drafts.get(USER, "draft_1")).approval_id, 60)


def test_the_execution_waits_until_its_user_approves_by_link(world: World) -> None:
    level(world, "L2")
    execution = world.aws.start(MACHINE, GIVEN)
    approval_id = waiting(world)
    draft = world.run(lambda services: services.drafts.get(USER, "draft_1"))
    assert (draft.status, draft.label) == ("waiting", "Waiting for your approval")
    token = world.link(approval_id)  # queued: mailed by the next sweep
    world.decide(token)
    outcome = world.aws.outcome(execution)
    assert outcome.status == "SUCCEEDED"
    assert outcome.output == {"approval_id": approval_id, "status": "approved"}


@pytest.mark.thorough
def test_an_approval_in_the_chat_is_mailed_only_if_undecided_there(world: World) -> None:
    world.request(task_token="first")
    assert world.approval(waiting(world)).answer == "ask"
    world.clock.advance(599)
    world.sweep()
    assert world.aws.outbox == []
    world.clock.advance(1)
    world.sweep()
    assert len(world.aws.outbox) == 1


@pytest.mark.thorough
def test_a_redelivered_state_asks_once_and_uses_the_newest_task_token(world: World) -> None:
    level(world, "L2")
    first = world.request(task_token="first")
    second = world.request(task_token="second")
    assert first == second
    world.sweep()
    assert len(world.aws.outbox) == 1
    assert len(world.dump()["agent_approvals"]) == 1
    approval = world.approval(first["approval_id"])
    assert world.run(lambda services: services.workflows.opened(approval.task_token or "", approval.id)) == "second"
    assert "second" not in str(world.dump())


@pytest.mark.thorough
def test_a_state_redelivered_after_the_decision_completes_at_once(world: World) -> None:
    level(world, "L2")
    approval_id = world.request(task_token="first")["approval_id"]
    world.decide(world.link(approval_id), "reject")
    draft = world.run(lambda services: services.drafts.update(USER, "draft_1", services.clock(), status="rejected"))
    assert draft is None
    execution = world.aws.start(MACHINE, GIVEN)
    assert world.aws.outcome(execution).output == {"approval_id": approval_id, "status": "rejected"}
    assert world.run(lambda services: services.drafts.get(USER, "draft_1")).status == "rejected"


@pytest.mark.parametrize(("is_gone", "told"), [(False, "published"), (True, "drafted")])
def test_an_approval_without_a_waiting_execution_is_reported_only_by_its_outcome(
    world: World, is_gone: bool, told: str
) -> None:
    level(world, "L2")
    approval_id = world.request(task_token="of-nobody")["approval_id"]
    if is_gone:  # its evidence was forgotten
        gone = {"$set": {"evidence": ["memory:gone"]}}
        world.database["agent_approvals"].update_one({"_id": approval_id}, gone)
    world.decide(world.link(approval_id))
    events = world.database["agent_activity"].find({"user_id": USER, "type": {"$regex": "^draft"}}).sort("_id", 1)
    assert [each["type"] for each in events] == ["draft.started", "draft.waiting", f"draft.{told}"]


@pytest.mark.thorough
def test_each_round_of_a_draft_has_its_own_approval(world: World) -> None:
    first = world.request(task_token="first")["approval_id"]
    world.run(lambda services: services.drafts.update(USER, "draft_1", services.clock(), round=2))
    second = world.request(task_token="second")["approval_id"]
    third = world.request(task_token="third", revises=second)["approval_id"]
    assert len({first, second, third}) == 3
    assert world.approval(second).revised_by == third


@pytest.mark.thorough
@pytest.mark.parametrize(("chosen", "end"), [("L0", "Drafted"), ("L1", "Stopped")])
def test_no_approval_is_created_if_the_level_or_the_brake_forbids_it(world: World, chosen: Level, end: str) -> None:
    level(world, chosen)
    if chosen == "L1":
        world.pull_brake()
    outcome = world.aws.run(MACHINE, GIVEN)
    assert (outcome.status, outcome.states[-1]) == ("SUCCEEDED", end)
    assert not world.dump()["agent_approvals"]
    assert world.run(lambda services: services.drafts.get(USER, "draft_1")).status == "running"


@pytest.mark.thorough
def test_an_input_with_unknown_fields_is_accepted(world: World) -> None:
    assert world.request(task_token="first", unheard_of=True)["status"] == "pending"


def test_another_users_draft_gets_no_approval(world: World) -> None:
    outcome = world.aws.run(MACHINE, {**GIVEN, "user_id": "auth0|stranger"})
    assert (outcome.status, outcome.error) == ("FAILED", "NotFound")


# --- sensitive memories -----------------------------------------------------------------------------------------------

SECRETS = ("Has type 1 diabetes", "Is a member of the union")


def kept_texts(world: World) -> list[str]:
    """Return the secrets that are in a record, a mail or a draft."""
    elsewhere = {name: documents for name, documents in world.dump().items() if name != "user_memories"}
    mails = [(mail.subject, mail.text, mail.html) for mail in world.aws.outbox]
    return [secret for secret in SECRETS if secret in f"{elsewhere} {mails}"]


def test_approved_memories_are_stored_and_removed_from_the_approval_record(world: World) -> None:
    ids = world.proposed(*SECRETS)
    approval_id = world.request_memories(ids)["approval_id"]
    approval = world.approval(approval_id)
    assert (approval.kind, approval.effect, approval.conversation_id) == ("memory", "memory", "chat_1")
    assert [(each.name, each.before, each.after) for each in approval.preview.changes] == [
        ("Fact", None, SECRETS[0]),
        ("Fact", None, SECRETS[1]),
    ]
    assert [each.evidence for each in approval.preview.changes] == [(f"You said: “I say: {text}”",) for text in SECRETS]
    world.decide(world.link(approval_id))
    world.clock.advance(LEFT_BEHIND_SECONDS)
    world.sweep()  # no execution waits with this token
    approval = world.approval(approval_id)
    assert (approval.status, approval.outcome) == ("done", "They are remembered.")
    assert world.statuses() == dict.fromkeys(SECRETS, "active")
    assert kept_texts(world) == []
    assert approval.preview.title == "Remember 2 sensitive things"


@pytest.mark.parametrize("chosen", everyday(2, ["L0", "L1", "L2", "L3"]))
def test_at_each_level_an_approval_of_memories_is_mailed_without_their_content(world: World, chosen: Level) -> None:
    level(world, chosen)
    ids = world.proposed(SECRETS[0])
    approval = world.approval(world.request_memories(ids)["approval_id"])
    assert (approval.status, approval.answer) == ("pending", "queue")
    assert world.statuses() == {SECRETS[0]: "proposed"}
    world.sweep()
    [mail] = world.aws.outbox
    assert mail.subject == "Remember something sensitive?"
    assert not [each for each in (SECRETS[0], "diabetes", "Fact") if each in mail.text + mail.html + mail.subject]
    assert "only if you approve" in mail.text
    assert SECRETS[0] in world.get(world.link(approval.id)).text


@pytest.mark.thorough
def test_rejected_and_expired_memories_are_deleted_even_without_an_execution(world: World) -> None:
    for batch in ("batch_1", "batch_2"):
        approval_id = world.request_memories(world.proposed(SECRETS[0]), batch_id=batch)["approval_id"]
        assert kept_texts(world) == [SECRETS[0]]
        if batch == "batch_1":
            world.decide(world.link(approval_id), "reject")
        else:
            world.clock.now = world.approval(approval_id).expires_at
            world.sweep()
        assert world.approval(approval_id).status == ("rejected" if batch == "batch_1" else "expired")
        assert kept_texts(world) == []
        assert list(world.statuses().values()) == ["forgotten"], "nobody waits by this token"


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_the_fourth_approval_of_memories_replaces_the_pending_three(world: World, decision: Verb) -> None:
    contents = [f"Secret {number}" for number in range(4)]
    asked: list[str] = []
    for number, content in enumerate(contents):
        world.clock.advance(1)
        ids = world.proposed(content)
        asked.append(world.request_memories(ids, batch_id=f"batch_{number}")["approval_id"])
    waiting = world.run(lambda services: services.approvals.list_open(USER, 0))
    assert [each.id for each in waiting] == [asked[-1]]
    assert [each.after for each in waiting[0].preview.changes] == contents
    assert {(world.approval(each).status, world.approval(each).revised_by) for each in asked[:-1]} == {
        ("changed", asked[-1])
    }
    assert world.statuses() == dict.fromkeys(contents, "proposed"), "none is dropped with its first question"
    world.clock.advance(LEFT_BEHIND_SECONDS)
    world.sweep()
    assert world.statuses() == dict.fromkeys(contents, "proposed")
    world.decide(world.link(asked[-1]), decision)
    world.clock.advance(LEFT_BEHIND_SECONDS)
    world.sweep()
    assert [*world.statuses().values()] == ["active" if decision == "approve" else "forgotten"] * 4


@pytest.mark.thorough
def test_a_duplicate_delivery_asks_about_memories_once_even_after_the_decision(world: World) -> None:
    ids = world.proposed(*SECRETS)
    first = world.request_memories(ids)
    assert world.request_memories(ids, task_token="second") == first
    world.sweep()
    assert len(world.aws.outbox) == 1
    world.decide(world.link(first["approval_id"]))
    world.clock.advance(LEFT_BEHIND_SECONDS)
    world.sweep()
    again = world.request_memories(ids, task_token="third")
    assert again == {"approval_id": first["approval_id"], "status": "done"}
    assert kept_texts(world) == []


@pytest.mark.thorough
def test_a_memory_forgotten_before_the_decision_is_neither_shown_nor_stored(world: World) -> None:
    ids = world.proposed(*SECRETS)
    approval_id = world.request_memories(ids)["approval_id"]
    token = world.link(approval_id)

    async def forget(services: Services) -> None:
        await services.tombstones.forget(USER, ids[:1], services.clock())
        await services.approvals.scrub_memories(USER, ids[:1])

    world.run(forget)
    assert kept_texts(world) == [SECRETS[1]]
    assert SECRETS[0] not in world.get(token).text
    world.decide(token)
    world.clock.advance(LEFT_BEHIND_SECONDS)
    world.sweep()
    assert world.statuses() == {ids[0]: "forgotten", SECRETS[1]: "active"}


def test_a_memory_forgotten_while_being_proposed_is_not_in_the_record(world: World) -> None:
    ids = world.proposed(*SECRETS)

    async def forgetful(services: Services) -> None:
        given = {"user_id": USER, "conversation_id": "chat_1", "batch_id": "b", "memory_ids": ids, "run_id": "r"}
        seal = services.workflows.seal

        class Between:
            """Runs after the memories were read, and before the record exists."""

            async def seal(self, *given: str) -> str:
                await services.tombstones.forget(USER, ids[:1], services.clock())
                await services.approvals.scrub_memories(USER, ids[:1])
                return await seal(*given)

        between: Any = Between()
        await request_approval(replace(services, workflows=between), {**given, "task_token": "t"}, ask_to_keep)

    world.run(forgetful)
    assert kept_texts(world) == [SECRETS[1]]


def test_approving_only_forgotten_memories_says_so_and_they_are_not_proposed_again(world: World) -> None:
    ids = world.proposed(SECRETS[0])
    approval_id = world.request_memories(ids)["approval_id"]
    token = world.link(approval_id)
    world.run(lambda services: services.tombstones.forget(USER, ids, services.clock()))
    world.decide(token)
    world.clock.advance(LEFT_BEHIND_SECONDS)
    world.sweep()
    assert "forgotten" in (world.approval(approval_id).outcome or "")
    with pytest.raises(NotFound):
        world.request_memories(ids, batch_id="batch_2")
    assert len(world.dump()["agent_approvals"]) == 1


def test_the_sweep_completes_storing_approved_memories_after_a_crash(world: World) -> None:
    ids = world.proposed(*SECRETS)
    approval_id = world.request_memories(ids)["approval_id"]
    world.decide(world.link(approval_id))

    async def begin_and_die(services: Services) -> None:
        before = await services.approvals.get(USER, approval_id)
        begun = {"status": "executing", "begun_at": services.clock(), "task_token": None}
        await services.approvals.change(before, lambda record: record.model_copy(update=begun))
        await services.memories.activate_proposed(USER, ids[:1], services.clock())

    world.run(begin_and_die)
    world.clock.advance(LEFT_BEHIND_SECONDS)
    world.sweep()
    assert world.approval(approval_id).status == "done"
    assert world.statuses() == dict.fromkeys(SECRETS, "active")
    assert not world.candidate_app.api.requests


@pytest.mark.thorough
@pytest.mark.parametrize("decision", ["revise", "edit"])
def test_an_approval_of_memories_accepts_no_edit_or_change_request(world: World, decision: Verb) -> None:
    approval_id = world.request_memories(world.proposed(SECRETS[0]))["approval_id"]
    approval = world.approval(approval_id)
    given = {"memory_ids": []} if decision == "edit" else None
    answer = Decision(decision=decision, args_digest=approval.args_digest, args=given, reason="Say it kindly.")
    with pytest.raises(Invalid):
        world.run(lambda services: decide(services, USER, approval_id, answer, by="queue", where=""))
    page = world.get(world.link(approval_id)).text
    assert 'value="revise"' not in page
    assert 'value="reject"' in page
    assert world.decide(world.link(approval_id), "revise", "Say it kindly.").status == 422
    assert world.approval(approval_id).status == "pending"
