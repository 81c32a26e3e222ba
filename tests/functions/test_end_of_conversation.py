"""A conversation that its user ended is extracted at once."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from pymongo import MongoClient

from infra.local.aws import AwsServer
from infra.local.environment import Template
from infra.local.model_server import ModelServer
from qwestly_agent.clients.aws import Workflows
from tests.functions.approving import local_aws
from tests.servers import ChatServer, Client, settings_for

MACHINE = Template.load().name("ExtractMemoriesMachine")
MACHINE_ARN = Template.load().arn("ExtractMemoriesMachine")


@pytest.fixture(scope="module")
def aws() -> Iterator[AwsServer]:
    with local_aws() as aws:
        aws.create_machine(MACHINE, {"StartAt": "Read", "States": {"Read": {"Type": "Succeed"}}})
        aws.run(MACHINE, {"user_id": "nobody"})  # the first execution takes seconds
        yield aws


@pytest.fixture(scope="module")
def server(aws: AwsServer, mongodb_uri: str, _model_server: ModelServer) -> Iterator[ChatServer]:
    prefix = MACHINE_ARN.removesuffix("extract-memories")
    with ChatServer(settings_for(mongodb_uri, _model_server.base_url, machine_arn_prefix=prefix)) as server:
        yield server


@pytest.fixture
def client(server: ChatServer, model: ModelServer) -> Iterator[Client]:
    with Client(server.url, f"auth0|{uuid.uuid4().hex}") as user:
        yield user


@pytest.fixture
def begun(aws: AwsServer, client: Client) -> Callable[[], list[Any]]:
    """Return the inputs of this user's executions."""

    def given() -> list[Any]:
        functions = aws.client("stepfunctions")
        listed = functions.list_executions(stateMachineArn=MACHINE_ARN)["executions"]
        inputs = [functions.describe_execution(executionArn=each["executionArn"])["input"] for each in listed]
        return [each for each in map(json.loads, inputs) if each["user_id"] == client.user_id]

    return given


@pytest.fixture
def conversations(server: ChatServer, mongodb_uri: str, client: Client) -> Iterator[Any]:
    with MongoClient(mongodb_uri) as mongo:
        yield mongo[server.settings.mongodb_database]["agent_conversations"]


def end(client: Client, conversation_id: str) -> tuple[int, Any]:
    response = client.request("POST", f"/api/conversations/{conversation_id}/end")
    return response.status_code, response.json()


@pytest.mark.thorough
def test_only_the_ended_conversation_is_extracted_at_once(client: Client, begun: Callable[[], list[Any]]) -> None:
    ended = client.say("I live in Lisbon.").conversation_id
    client.say("I speak German.")
    assert end(client, ended) == (200, {"ending": True})
    [given] = begun()
    assert given.keys() == {"user_id", "conversation_id", "run_id"}
    assert given["conversation_id"] == ended


@pytest.mark.thorough
def test_a_conversation_ended_twice_is_extracted_again_only_after_new_messages(
    client: Client, begun: Callable[[], list[Any]]
) -> None:
    ended = client.say("I live in Lisbon.").conversation_id
    for _ in range(3):
        assert end(client, ended) == (200, {"ending": True})
    assert len(begun()) == 1
    client.say("I speak German.", ended)
    assert end(client, ended)[0] == 200
    assert len(begun()) == 2


def test_another_users_conversation_cannot_be_ended(
    server: ChatServer, client: Client, conversations: Any, begun: Callable[[], list[Any]]
) -> None:
    ended = client.say("I live in Lisbon.").conversation_id
    before = conversations.find_one({"user_id": client.user_id})
    with Client(server.url, "auth0|stranger") as stranger:
        assert end(stranger, ended)[1]["error"]["code"] == "not_found"
    assert end(client, "unheard-of")[0] == 404
    assert begun() == []
    assert conversations.find_one({"user_id": client.user_id}) == before


def test_an_ended_conversation_is_extracted_by_the_next_sweep_if_no_workflow_starts(
    client: Client, conversations: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(service: str) -> Any:
        raise EndpointConnectionError(endpoint_url=f"https://{service}.test")

    ended = client.say("I live in Lisbon.").conversation_id
    monkeypatch.setattr(Workflows, "aws", property(lambda _: away), raising=False)
    assert end(client, ended) == (200, {"ending": True})
    conversation = conversations.find_one({"user_id": client.user_id})
    assert 0 < conversation["extract_at"] <= time.time()


def test_a_conversation_with_a_running_turn_is_not_extracted_yet(
    client: Client, conversations: Any, begun: Callable[[], list[Any]]
) -> None:
    ended = client.say("I live in Lisbon.").conversation_id
    conversations.update_one({"user_id": client.user_id}, {"$set": {"lease_until": time.time() + 60}})
    assert end(client, ended) == (200, {"ending": True})
    assert begun() == []
    assert 0 < conversations.find_one({"user_id": client.user_id})["extract_at"] <= time.time()
