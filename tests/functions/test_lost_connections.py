"""Hold few connections to each member of a replica set, and lose no turn to a lost connection."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from infra.local.model_server import ModelServer, Reply
from tests.replica_set import MEMBERS, ReplicaSet
from tests.servers import ChatServer, Client, free_port, until

MOST_POOLED = 20
Thaw = Callable[[float], None]


@pytest.fixture
def replica_set(mongodb_uri: str) -> Iterator[ReplicaSet]:
    with ReplicaSet(int(mongodb_uri.rpartition(":")[2])) as replica_set:
        yield replica_set


@pytest.fixture
def server(chat: ChatServer, replica_set: ReplicaSet) -> Iterator[ChatServer]:
    """A server that connects at startup, as one not restored from a snapshot does."""
    with ChatServer(replace(chat.settings, mongodb_uri=replica_set.uri)) as server:
        until(lambda: len(replica_set.pooled(0)) == chat.settings.mongodb_connections)
        yield server


@pytest.fixture
def user(server: ChatServer, model: ModelServer) -> Iterator[Client]:
    with Client(server.url, f"auth0|{uuid.uuid4().hex}") as user:
        yield user


@pytest.fixture
def thaw() -> Thaw:
    """Let so many seconds pass while the process is frozen: its clocks advance, and nothing runs.

    They are not set back after the test: a monotonic clock never is, and event loops would wait for it.
    """

    def thaw(seconds: float) -> None:
        before = time.monotonic
        time.monotonic = lambda: before() + seconds

    return thaw


def test_a_turn_after_a_freeze_uses_no_lost_connection(user: Client, replica_set: ReplicaSet, thaw: Thaw) -> None:
    conversation_id = user.say("Hello").conversation_id
    pooled = replica_set.pooled(0)
    replica_set.lose_all()
    thaw(600)
    assert user.say("Are you there?", conversation_id).last.name == "done"
    assert [flow.after_loss for flow in pooled] == [[]] * len(pooled)


@pytest.mark.thorough
def test_a_turn_continues_while_the_driver_detects_lost_members(
    user: Client, replica_set: ReplicaSet, model: ModelServer, thaw: Thaw
) -> None:
    user.say("Hello")
    monitors = [flow for flow in replica_set.lose_all() if not flow.commands]
    thaw(600)
    model.script(Reply(text=["It was ", "long."], hold_after=1))
    with user.open({"message": "Where were we?"}) as events:
        assert next(event for event in events if event.name == "text_delta").data["content"] == "It was "
        until(lambda: all(flow.after_loss for flow in monitors))
        thaw(30)
        until(lambda: all(any(each.member == flow.member for each in replica_set.whole()) for flow in monitors))
        model.release()
        assert [event.name for event in events][-1] == "done"
    assert user.say("And now?").last.name == "done"


@pytest.mark.thorough
def test_an_environment_opens_at_most_twenty_connections_and_only_to_the_primary(
    user: Client, replica_set: ReplicaSet
) -> None:
    replica_set.hold()
    asked = [threading.Thread(target=user.get, args=("/api/conversations",)) for _ in range(2 * MOST_POOLED)]
    for each in asked:
        each.start()
    until(lambda: replica_set.waiting == MOST_POOLED)
    replica_set.release()
    for each in asked:
        each.join()
    assert [len(replica_set.pooled(member)) for member in range(MEMBERS)] == [MOST_POOLED, 0, 0]


def test_a_snapshot_has_no_connection_and_a_restored_environment_reconnects_first(
    chat: ChatServer, replica_set: ReplicaSet
) -> None:
    settings = replace(chat.settings, mongodb_uri=replica_set.uri, aws_lambda_initialization_type="snap-start")
    with ChatServer(settings) as server, Client(server.url) as client:
        from_outside = {"x-amzn-request-context": "{}"}
        assert client.http.post(f"{server.url}/after-restore", headers=from_outside).status_code == 404
        assert replica_set.flows == []
        assert client.http.post(f"{server.url}/after-restore").status_code == 200
        assert len(replica_set.pooled(0)) == chat.settings.mongodb_connections


@pytest.mark.nightly
@pytest.mark.thorough
def test_an_environment_can_be_restored_while_the_database_is_down(chat: ChatServer) -> None:
    nobody = f"mongodb://127.0.0.1:{free_port()}"
    settings = replace(chat.settings, mongodb_uri=nobody, aws_lambda_initialization_type="snap-start")
    with ChatServer(settings) as server, Client(server.url) as client:
        assert client.http.post(f"{server.url}/after-restore").status_code == 200


@pytest.mark.sentinel
@pytest.mark.thorough
def test_an_answer_is_stored_once_a_frozen_database_recovers(
    user: Client, model: ModelServer, replica_set: ReplicaSet
) -> None:
    conversation_id = user.say("Hello").conversation_id
    model.script(Reply(text=["Every word ", "of it is ", "here."], hold_after=1))
    with user.open({"message": "Say something", "conversation_id": conversation_id}) as events:
        told = [next(events)]
        while "Every word" not in str(told[-1].data):
            told.append(next(events))
        replica_set.freeze()
        model.release()
        told += list(events)
    replica_set.thaw()
    assert told[-1].name == "error"

    def is_kept() -> bool:
        user.say("Hello, in another conversation")  # a turn tries briefly; on a busy machine, the next one tries again
        answer = user.get(f"/api/conversations/{conversation_id}")["messages"][-1]
        return (answer["content"], answer["role"]) == ("Every word of it is here.", "assistant")

    until(is_kept)
    assert user.say("And then?", conversation_id).last.name == "done"
