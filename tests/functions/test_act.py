"""The function that decides and executes for the chat trusts a token and stored data, but no word of its caller."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError

from functions.approve import act
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.approvals.end import SUPERSEDED
from qwestly_agent.chat.turn_approvals import USE_THE_CARD
from qwestly_agent.domain.approval import LEFT_BEHIND_SECONDS
from tests.functions.approving import HEADLINE, ONE, TEMPLATE, TWO, Wire, World
from tests.functions.test_approvals import wants
from tests.servers import USER, ChatServer, Client, settings_for, token

ACT = f"{TEMPLATE.name('ActFunction')}:live"


def ask_act(world: World, **given: Any) -> dict[str, str]:
    event = {"token": token(clock=world.clock), "approval_id": ONE, **given}
    return act.handler(json.loads(json.dumps(event)), None)


def decision(world: World, approval_id: str = ONE, verb: str = "approve", **more: Any) -> dict[str, Any]:
    return {"decision": verb, "args_digest": world.approval(approval_id).args_digest, **more}


def headline(world: World) -> str:
    found = world.database["candidates_enhanced"].find_one({"user_id": USER})
    assert found
    return found["headline"]


@pytest.fixture
def chat(world: World, mongodb_uri: str, database_name: str, model: ModelServer) -> Iterator[ChatServer]:
    """A chat with the rights of the deployed one: actions are executed by the local Lambda function `act`."""
    settings = settings_for(
        mongodb_uri, model.base_url, database_name, candidate_api_url=world.candidate_app.url, act_function=ACT
    )
    with ChatServer(settings, world.clock) as server:
        workflows = replace(server.services.workflows, aws=world.wire.client)
        object.__setattr__(server.services, "workflows", workflows)
        yield server


@pytest.fixture
def person(chat: ChatServer, world: World) -> Iterator[Client]:
    with Client(chat.url, USER, clock=world.clock) as person:
        yield person


def test_a_decision_is_recorded_and_executed_for_the_tokens_user(world: World) -> None:
    world.ask()
    assert ask_act(world, act=decision(world)) == {"user_id": USER, "approval_id": ONE}
    assert headline(world) == "Head of Product"
    assert world.approval().decided_by == "queue"


def test_a_repeated_decision_is_executed_once(world: World) -> None:
    world.ask()
    event = decision(world)
    assert [ask_act(world, act=event)["approval_id"] for _ in range(3)] == [ONE] * 3
    assert ask_act(world, act={**event, "decision": "reject"})["approval_id"] == ONE
    assert world.approval().status == "done"
    assert len(world.database["agent_activity"].find({"type": "approval.done"}).to_list()) <= 1


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"token": token("auth0|somebody-else")}, "NotFound"),
        ({"token": token(secret="x" * 32)}, "Unauthorized"),
        ({"token": ""}, "Unauthorized"),
        ({"token": "not.a.token"}, "Unauthorized"),
        ({"conversation_id": "another"}, "NotFound"),
        ({"user_id": USER}, "Invalid"),
        ({"act": "approve"}, "Invalid"),
        ({"act": {"decision": "approve", "args_digest": "0" * 64}}, "ChangedMeanwhile"),
        ({"act": {"run_id": "run_1", "answers": "msg"}}, "ChangedMeanwhile"),
    ],
)
def test_an_unverified_caller_decides_nothing(world: World, given: dict[str, Any], error: str) -> None:
    world.ask()
    if given.get("token", "").count(".") == 2 and error == "NotFound":
        given = {"token": token("auth0|somebody-else", clock=world.clock)}
    assert ask_act(world, **{"act": decision(world), **given})["error"] == error
    assert world.approval().status == "pending"
    assert headline(world) == "Product Manager"


def test_a_decision_and_an_undo_through_the_api_take_one_invocation_each(world: World, person: Client) -> None:
    world.ask()
    posted = person.request("POST", f"/api/approvals/{ONE}/decision", json=decision(world)).json()
    assert posted["status"] == "done"
    assert world.wire.calls["invoke"] == 1
    [done] = [each for each in person.get("/api/activity")["items"] if each["type"] == "approval.done"]
    undone = person.request("POST", f"/api/activity/{done['id']}/undo").json()
    assert (undone["by"]["status"], headline(world)) == ("done", "Product Manager")
    assert world.wire.calls["invoke"] == 2


@pytest.mark.parametrize(("words", "status"), [("Yes.", "done"), ("no", "rejected")])
def test_a_typed_decision_is_read_from_the_stored_message_in_one_invocation(
    world: World, person: Client, model: ModelServer, words: str, status: str
) -> None:
    model.script(wants())
    first = person.say("A better headline?")
    model.script(Reply(text="So be it."))
    answer = person.say(words, first.conversation_id, answers=first.id)
    [decided] = [event.data for event in answer.events if event.name == "approval_decided"]
    assert (decided["status"], decided["decided_by"]) == (status, "words")
    assert world.wire.calls["invoke"] == 1


def test_a_typed_decision_counts_only_as_stored(world: World, person: Client, model: ModelServer) -> None:
    """The caller claims that the message approved this; the stored conversation says otherwise."""
    model.script(wants())
    first = person.say("A better headline?")
    [waiting] = person.get("/api/approvals")["items"]
    conversation = world.database["agent_conversations"].find_one({"id": first.conversation_id})
    assert conversation

    def said(text: str, answers: str) -> str:
        turn = {"message_id": "m", "text": text, "started_at": world.clock()}
        world.database["agent_conversations"].update_one({"_id": conversation["_id"]}, {"$set": {"turns.r": turn}})
        event = {"approval_id": waiting["approval_id"], "conversation_id": first.conversation_id}
        return ask_act(world, **event, act={"run_id": "r", "answers": answers}).get("message", "")

    assert first.id
    for text in ("Yes, but shorter", "What?", "yes and no", ""):
        assert said(text, first.id) == USE_THE_CARD
    assert said("yes", "msg_another") == USE_THE_CARD
    assert person.get("/api/approvals")["items"] == [waiting]
    assert said("yes", first.id) == ""
    assert person.get("/api/approvals?state=all")["items"][0]["status"] == "done"


def test_the_chat_leaves_notifying_the_replaced_execution_to_the_sweep(
    world: World, person: Client, model: ModelServer
) -> None:
    """The chat closes an older approval for the same subject, but may not open the task token of the waiting
    execution."""
    world.wire.waiting.add("somebody")
    world.ask(task_token=world.run(lambda services: services.workflows.seal("somebody", ONE)))
    world.clock.advance(1)
    model.script(wants(value="Director of Product"))
    person.say("A better headline?")
    replaced = world.approval()
    assert (replaced.status, replaced.outcome, replaced.told_execution) == ("changed", SUPERSEDED, False)
    assert world.wire.calls["send_task_success"] == 0
    world.clock.advance(LEFT_BEHIND_SECONDS)
    world.sweep()
    assert (world.wire.calls["send_task_success"], world.approval().told_execution) == (1, True)


class LosesAnswers(Wire):
    """Loses the response after the function has answered."""

    def client(self, service: str) -> Any:
        found = super().client(service)
        if service != "lambda":
            return found

        class Lost:
            def invoke(self, **given: Any) -> Any:
                found.invoke(**given)
                raise ConnectionClosedError(endpoint_url="lambda")

        return Lost()


def test_a_lost_invocation_response_is_retried_without_a_second_execution(
    world: World, chat: ChatServer, person: Client
) -> None:
    world.ask()
    kept, lossy = chat.services.workflows, LosesAnswers()
    object.__setattr__(chat.services, "workflows", replace(kept, aws=lossy.client))
    posted = decision(world)
    assert person.request("POST", f"/api/approvals/{ONE}/decision", json=posted).status_code == 503
    assert world.approval().status == "done"
    object.__setattr__(chat.services, "workflows", kept)
    world.database["candidates_enhanced"].update_one({"user_id": USER}, {"$set": {"headline": "By hand, since"}})
    assert person.request("POST", f"/api/approvals/{ONE}/decision", json=posted).json()["status"] == "done"
    assert headline(world) == "By hand, since"
    lossy.close()


def test_an_unreachable_function_leaves_the_approval_pending(world: World, person: Client) -> None:
    world.ask(TWO, HEADLINE)
    world.wire.failing["invoke"] = ConnectionClosedError(endpoint_url="lambda")
    answer = person.request("POST", f"/api/approvals/{TWO}/decision", json=decision(world, TWO))
    assert answer.status_code == 503
    assert world.approval(TWO).status == "pending"
