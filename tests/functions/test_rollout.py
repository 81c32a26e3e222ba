"""A variant on trial: who has it, what is counted, and when a conversation returns to the base."""

import asyncio
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.agents.default import design
from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.bootstrap import bootstrap_chat
from qwestly_agent.chat.run_turn import WENT_BACK, WENT_BACK_BEFORE
from qwestly_agent.domain.rollout import BASE, BUCKETS, Rollout, begin_trial, bucket_of
from qwestly_agent.rollout import variants
from qwestly_agent.rollout.variants import Variant
from tests.servers import ChatServer, Client, user_says

BRIEF = "Offer to say more where there is more."
BEGUN = begin_trial(Rollout(), "brief", ("chat",), 10, 0.0, "t1", "")
FAILS = [Reply(fault=500)] * 2
"""Failures of one turn: the client tries twice."""


@pytest.fixture(scope="module")
def server(chat: ChatServer) -> Iterator[ChatServer]:
    """A server with its own database, since a rollout applies to all users."""
    settings = replace(chat.settings, mongodb_database=f"qwestly_test_{uuid.uuid4().hex[:12]}")
    with ChatServer(settings) as server, MongoClient(settings.mongodb_uri) as mongo:
        yield server
        mongo.drop_database(settings.mongodb_database)


@pytest.fixture
def database(server: ChatServer, model: ModelServer) -> Iterator[Database[dict[str, Any]]]:
    with MongoClient[dict[str, Any]](server.settings.mongodb_uri) as mongo:
        yield (database := mongo[server.settings.mongodb_database])
        database["agent_rollout"].delete_many({})


def put(database: Database[dict[str, Any]], rollout: Rollout) -> None:
    database["agent_rollout"].replace_one({}, {"_id": "rollout", **rollout.model_dump(mode="json")}, upsert=True)


@pytest.fixture
def trial(database: Database[dict[str, Any]]) -> Database[dict[str, Any]]:
    put(database, BEGUN)
    return database


@pytest.fixture
def user(server: ChatServer) -> Iterator[Callable[[bool], Client]]:
    """Create a user who is, or is not, assigned to the variant."""
    made: list[Client] = []

    def make(has: bool) -> Client:
        ids = (f"auth0|{uuid.uuid4().hex}" for _ in iter(int, 1))
        chosen = next(each for each in ids if (bucket_of("t1", each) < BUCKETS // 10) == has)
        made.append(Client(server.url, chosen))
        return made[-1]

    yield make
    for each in made:
        each.http.close()


def instructed(model: ModelServer) -> bool:
    """True if the model was last asked with the variant's prompt."""
    return BRIEF in model.requests[-1].body.decode()


def receipt(client: Client, conversation_id: str) -> dict[str, Any]:
    return client.get(f"/api/conversations/{conversation_id}")["messages"][-1]["receipt"]


def counts(database: Database[dict[str, Any]], client: Client) -> dict[str, Any]:
    [found] = database["agent_variant_counts"].find({"user_id": client.user_id})
    return found


# --- assignment of users ----------------------------------------------------------------------------------------------


def test_the_chosen_share_of_users_gets_the_variant_and_the_others_the_base(
    trial: Database[dict[str, Any]], user: Callable[[bool], Client], model: ModelServer
) -> None:
    ours, others = user(True), user(False)
    with_it, without = ours.say("Hello").conversation_id, others.say("Hello").conversation_id
    assert receipt(ours, with_it)["variant"] == "brief"
    assert receipt(ours, with_it)["prompt_version"] == f"{design.VERSION}-brief"
    assert receipt(others, without)["variant"] == BASE
    assert receipt(others, without)["prompt_version"] == design.VERSION


@pytest.mark.parametrize("protocol", ["plain", "ai_sdk", "ag_ui"])
def test_a_conversation_keeps_its_variant_in_every_protocol(
    trial: Database[dict[str, Any]], user: Callable[[bool], Client], model: ModelServer, protocol: str
) -> None:
    client, chat_id = user(True), uuid.uuid4().hex
    for number in (1, 2):
        match protocol:
            case "plain":
                chat_id = client.say("Hello", None if number == 1 else chat_id).conversation_id
            case "ai_sdk":
                client.say_ai_sdk(chat_id, user_says("Hello", f"m{number}"))
            case _:
                message = {"id": f"m{number}", "role": "user", "content": "Hello"}
                run = {"threadId": chat_id, "runId": f"r{number}", "messages": [message]}
                client.post({**run, "state": {}, "tools": [], "context": [], "forwardedProps": {}})
        assert instructed(model)


def test_a_conversation_from_before_the_trial_is_excluded(
    database: Database[dict[str, Any]], user: Callable[[bool], Client], model: ModelServer
) -> None:
    client = user(True)
    conversation_id = client.say("Hello").conversation_id
    put(database, BEGUN)
    client.say("And now?", conversation_id)
    assert not instructed(model)
    assert "variant" not in receipt(client, conversation_id)


def test_other_roles_and_explicitly_chosen_designs_are_excluded(
    trial: Database[dict[str, Any]], user: Callable[[bool], Client], model: ModelServer
) -> None:
    client = user(True)
    for more in ({"role": "onboarding"}, {"design": "default"}):
        assert "variant" not in receipt(client, client.say("Hello", **more).conversation_id)
    assert not trial["agent_variant_counts"].count_documents({"user_id": client.user_id})


def test_the_end_of_a_trial_returns_its_conversations_to_the_base(
    trial: Database[dict[str, Any]], user: Callable[[bool], Client], model: ModelServer
) -> None:
    client = user(True)
    conversation_id = client.say("Hello").conversation_id
    assert instructed(model)
    put(trial, Rollout())
    client.say("And now?", conversation_id)
    assert not instructed(model)


@pytest.mark.parametrize(
    "document",
    [
        {"trial": "nonsense"},
        {"flags": 7},
        {**BEGUN.model_dump(mode="json"), "flags": {"variant": {"rules": 1}}},
        {**BEGUN.model_dump(mode="json"), "flags": {}},
        {**BEGUN.model_dump(mode="json"), "flags": {"variant": {"default": "another", "boolean_type": False}}},
        {**BEGUN.model_dump(mode="json"), "flags": {"variant": {"default": True}}},
    ],
    ids=["no trial", "no flags", "no rules", "nothing", "an unknown variant", "a boolean"],
)
def test_an_invalid_rollout_document_means_the_base(
    database: Database[dict[str, Any]],
    user: Callable[[bool], Client],
    model: ModelServer,
    document: dict[str, Any],
) -> None:
    database["agent_rollout"].insert_one({"_id": "rollout", **document})
    client = user(True)
    assert "variant" not in receipt(client, client.say("Hello").conversation_id)
    assert not instructed(model)


def test_an_unknown_variant_means_the_base_and_is_not_counted(
    database: Database[dict[str, Any]], user: Callable[[bool], Client]
) -> None:
    put(database, begin_trial(Rollout(), "of-tomorrow", ("chat",), 10, 0.0, "t1", ""))
    client = user(True)
    assert "variant" not in receipt(client, client.say("Hello").conversation_id)


def test_a_pinned_user_gets_the_variant_at_once_and_is_not_counted(
    server: ChatServer, trial: Database[dict[str, Any]], user: Callable[[bool], Client], model: ModelServer
) -> None:
    client = user(False)
    conversation_id = client.say("Hello").conversation_id
    asyncio.run(_pin(server, client.user_id, "brief"))
    client.say("And now?", conversation_id)
    assert instructed(model)
    assert counts(trial, client)["turns"] == 1
    asyncio.run(_pin(server, client.user_id, None))
    client.say("And now?", conversation_id)
    assert not instructed(model)
    assert "variant" not in client.get("/api/settings")


async def _pin(server: ChatServer, user_id: str, variant: str | None) -> None:
    services = await bootstrap_chat(server.settings)
    await services.user_settings.pin(user_id, variant)
    await services.close()


# --- counts -----------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_turns_are_counted_by_user_and_variant(
    trial: Database[dict[str, Any]], user: Callable[[bool], Client], model: ModelServer
) -> None:
    client = user(True)
    conversation_id = client.say("Hello").conversation_id
    client.say("And now?", conversation_id)
    model.script(*FAILS)
    client.say("And now?", conversation_id)
    found = counts(trial, client)
    assert found["tag"] == "t1:0:brief"
    assert (found["conversations"], found["turns"], found["failed"], found["spoken"]) == (1, 3, 1, 2)
    assert 0 < found["cost_usd"] < 0.05
    assert found.get("slow", 0) == 0, "our own part of it, without the model's"


def test_a_turn_that_hits_a_limit_is_not_a_failure_of_its_variant(
    server: ChatServer, trial: Database[dict[str, Any]], user: Callable[[bool], Client], model: ModelServer
) -> None:
    client = user(True)
    with (
        ChatServer(replace(server.settings, turn_ceiling_usd=0.0)) as poor,
        Client(poor.url, client.user_id) as same,
    ):
        assert same.say("Hello").last.data["code"] == "over_budget"
    found = counts(trial, client)
    assert (found["turns"], found.get("failed", 0)) == (1, 0)


@pytest.mark.parametrize("is_first", [True, False], ids=["the first", "a later one"])
def test_a_killed_turn_is_counted_once_as_failed(
    trial: Database[dict[str, Any]], user: Callable[[bool], Client], is_first: bool
) -> None:
    client = user(True)
    conversation_id = client.say("Hello").conversation_id
    if is_first:  # as if the process had died before the response
        trial["agent_variant_counts"].delete_many({"user_id": client.user_id})
        trial["agent_messages"].delete_many({"user_id": client.user_id})
        trial["agent_conversations"].update_one(
            {"user_id": client.user_id}, {"$set": {"last_seq": 0}, "$unset": {"assignment": ""}}
        )
    dead = {"message_id": "m9", "text": "Are you there?", "started_at": 1.0}
    trial["agent_conversations"].update_one(
        {"user_id": client.user_id}, {"$set": {"turns": {uuid.uuid4().hex: dead}, "lease_until": 0}}
    )
    for text in ("Hello?", "Hello again?"):
        client.say(text, conversation_id)
    found = counts(trial, client)
    assert (found["conversations"], found["turns"], found["failed"]) == (1, 3 + (not is_first), 1)


def test_a_leg_counts_only_its_own_conversations(
    trial: Database[dict[str, Any]], user: Callable[[bool], Client], model: ModelServer
) -> None:
    client = user(True)
    conversation_id = client.say("Hello").conversation_id
    assert BEGUN.trial
    put(trial, BEGUN.model_copy(update={"trial": BEGUN.trial.model_copy(update={"leg": 1})}))
    client.say("And now?", conversation_id)
    assert instructed(model), "it keeps its variant"
    assert counts(trial, client)["turns"] == 1
    client.say("Hello")
    tags = {each["tag"]: each["turns"] for each in trial["agent_variant_counts"].find({"user_id": client.user_id})}
    assert tags == {"t1:0:brief": 1, "t1:1:brief": 1}


def test_proposals_are_stored_with_the_variant_they_count_for(
    trial: Database[dict[str, Any]], user: Callable[[bool], Client], model: ModelServer
) -> None:
    client = user(True)
    arguments = {"field": "headline", "value": "Head of product", "rationale": "Asked for."}
    model.script(Reply(tool_calls=[{"name": "update_profile_field", "arguments": arguments}]), Reply(text="Asked."))
    client.say("Make my headline: Head of product")
    [approval] = client.get("/api/approvals")["items"]
    [kept] = trial["agent_approvals"].find({"_id": approval["approval_id"]})
    assert kept["variant"] == "t1:0:brief"


# --- three failures ---------------------------------------------------------------------------------------------------


@pytest.mark.sentinel
@pytest.mark.thorough
def test_three_failed_turns_in_a_row_return_a_conversation_to_the_base_and_say_so(
    trial: Database[dict[str, Any]], user: Callable[[bool], Client], model: ModelServer
) -> None:
    client = user(True)
    conversation_id = client.say("Hello").conversation_id
    said = []
    for number in range(5):
        model.script(*([Reply(text="Fine.")] if number == 1 else FAILS))
        said.append(client.say("And now?", conversation_id).last.data.get("message", "Fine."))
    assert [WENT_BACK in each for each in said] == [False, False, False, False, True]
    assert instructed(model)
    client.say("And now?", conversation_id)
    assert not instructed(model)
    assert "variant" in receipt(client, client.say("A new one").conversation_id), "others keep it"


@pytest.mark.parametrize("protocol", ["plain", "ai_sdk"])
def test_three_killed_turns_return_a_conversation_to_the_base_and_say_so(
    trial: Database[dict[str, Any]], user: Callable[[bool], Client], model: ModelServer, protocol: str
) -> None:
    client = user(True)
    conversation_id = client.say("Hello").conversation_id
    dead = {
        uuid.uuid4().hex: {"message_id": f"m{number}", "text": "Are you there?", "started_at": float(number)}
        for number in range(3)
    }
    trial["agent_conversations"].update_one({"user_id": client.user_id}, {"$set": {"turns": dead, "lease_until": 0}})
    model.script(Reply(text="Here I am."))
    if protocol == "plain":
        assert client.say("Hello?", conversation_id).last.data["content"] == f"{WENT_BACK_BEFORE}\n\nHere I am."
    else:
        told = client.say_ai_sdk(conversation_id, user_says("Hello?", "m9"))
        words = [each.data["delta"] for each in told if each.name == "text-delta"]
        assert "".join(words) == f"{WENT_BACK_BEFORE}Here I am."
    assert not instructed(model)
    assert "variant" not in receipt(client, conversation_id)
    assert counts(trial, client)["failed"] == 3
    assert WENT_BACK_BEFORE not in client.say("And now?", conversation_id).last.data["content"]
    assert not instructed(model)


@pytest.mark.thorough
def test_failing_turns_on_the_base_report_no_return_to_it(
    trial: Database[dict[str, Any]], user: Callable[[bool], Client], model: ModelServer
) -> None:
    client = user(False)
    conversation_id = client.say("Hello").conversation_id
    for _ in range(4):
        model.script(*FAILS)
        assert WENT_BACK not in client.say("And now?", conversation_id).last.data["message"]


# --- declared variants ------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"design": "no_such"}, "no_such"),
        ({"prompts": {"chat": "default-0"}}, "There is no prompt 'default-0' of chat"),
        ({"prompts": {"interview": "default-13"}}, "There is no prompt 'default-13' of interview"),
        ({"models": {"fast": "nobody:x"}}, "provider:name"),
        ({"models": {"fast": "deepseek:deepseek-v4-pro"}}, "cannot judge"),
    ],
    ids=["a design", "a prompt", "a prompt of another role", "a provider", "a model that would judge itself"],
)
async def test_a_variant_that_cannot_be_built_is_named_at_startup(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], problem: str
) -> None:
    broken = replace(Variant(name="broken", since=variants.VARIANTS[0].since), **changes)
    monkeypatch.setattr(variants, "VARIANTS", (broken,))
    with pytest.raises(InvalidSettings, match=f"(?s)'broken'.*{problem}"):
        await bootstrap_chat(server.settings)


@pytest.mark.thorough
def test_a_variant_may_answer_with_another_model(
    chat: ChatServer, server: ChatServer, trial: Database[dict[str, Any]], user: Callable[[bool], Client],
    model: ModelServer, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    fast = Variant(name="brief", since=variants.VARIANTS[0].since, models={"fast": "openai:gpt-5.2-mini"})
    monkeypatch.setattr(variants, "VARIANTS", (fast,))
    client = user(True)
    with ChatServer(server.settings) as another, Client(another.url, client.user_id) as same:
        same.say("Hello")
    assert model.requests[-1].json["model"] == "gpt-5.2-mini"
