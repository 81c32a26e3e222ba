"""The agent knows its own work: what waits, runs and ended, in whichever conversation it began."""

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient
from pymongo.database import Database

from infra.local.candidate_app import CandidateAppServer
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.stores.drafts import COLLECTION, Draft
from qwestly_agent.stores.drafts import Drafts as DraftStore
from tests.servers import Answer, ChatServer, Client

Stored = Database[dict[str, Any]]
Drafts = Callable[..., Draft]
LOOKS = Reply(tool_calls=[{"name": "get_my_work", "arguments": {}}])


@pytest.fixture
def database(chat: ChatServer) -> Iterator[Stored]:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        yield mongo[chat.settings.mongodb_database]


@pytest.fixture
def person(client: Client, database: Stored, app: CandidateAppServer) -> Client:
    """A user whom the candidate app knows."""
    database["candidates_enhanced"].insert_one({"_id": client.user_id, "user_id": client.user_id, "headline": "Dev"})
    return client


@pytest.fixture
def draft(chat: ChatServer, client: Client, database: Stored) -> Drafts:
    """Keep a card of this user."""

    def keep(conversation_id: str | None = None, **fields: Any) -> Draft:
        ids = {"id": f"card_{uuid.uuid4().hex}", "user_id": client.user_id, "run_id": "run1", "style": "standard"}
        moments = {"created_at": chat.clock(), "updated_at": chat.clock()}
        given = {**ids, **moments, "conversation_id": conversation_id, "label": "Drafting 3 of 6 sections", **fields}
        kept = Draft.model_validate(given)
        document = kept.model_dump(mode="json", exclude={"id", "parts"})
        database[COLLECTION].insert_one({"_id": kept.id, **document})
        return kept

    return keep


def proposes(value: str, call_id: str = "call_1", field: str = "headline") -> Reply:
    arguments = {"field": field, "value": value, "rationale": "It says more."}
    return Reply(tool_calls=[{"name": "update_profile_field", "arguments": arguments, "id": call_id}])


def asked(answer: Answer) -> dict[str, Any]:
    return next(event.data for event in answer.events if event.name == "approval_required")


def decide(client: Client, approval: dict[str, Any], decision: str, **more: Any) -> None:
    body = {"decision": decision, "args_digest": approval["args_digest"], **more}
    client.request("POST", f"/api/approvals/{approval['approval_id']}/decision", json=body).raise_for_status()


def result_in(model: ModelServer) -> Any:
    """What the model was told of its last call."""
    said = [each["content"] for each in model.requests[-1].json["messages"] if each["role"] == "tool"][-1]
    return json.loads(said[said.index("{") : said.rindex("}") + 1])


def ends(chat: ChatServer, draft: Draft, status: str, label: str) -> None:
    """As its workflow tells it."""

    async def tell() -> None:
        async with AsyncMongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
            store = DraftStore(mongo[chat.settings.mongodb_database])
            await store.tell(draft.user_id, draft.id, chat.clock(), status=status, label=label)

    asyncio.run(tell())


def said_to(model: ModelServer) -> list[str]:
    """What stands in the last prompt as the user's, notes included."""
    return [each["content"] for each in model.requests[-1].json["messages"] if each["role"] == "user"]


# --- the tool ---------------------------------------------------------------------------------------------------------


def test_what_waits_and_what_ended_is_listed_from_every_conversation(
    person: Client, model: ModelServer, draft: Drafts
) -> None:
    model.script(proposes("Head of Product"))
    first = asked(person.say("Change it"))
    decide(person, first, "reject", reason="Too grand")
    model.script(proposes("Lisbon", field="location"))
    second = asked(person.say("I live in Lisbon"))
    card = draft()
    model.script(LOOKS, Reply(text="One waits."))
    person.say("What are you working on?")
    one, other = {"title": "Change your headline"}, {"title": "Change your location"}
    tool = {"tool": "update_profile_field"}
    assert result_in(model) == {
        "waits_for_their_decision": [
            {"approval_id": second["approval_id"], **other, **tool, "status": "pending"},
        ],
        "being_carried_out": [],
        "ended": [
            {"approval_id": first["approval_id"], **one, **tool, "status": "rejected", "they_wrote": "Too grand"}
        ],
        "drafts": [
            {
                "draft_id": card.id,
                "kind": "card",
                "style": "standard",
                "status": "running",
                "label": "Drafting 3 of 6 sections",
            }
        ],
    }


def test_what_is_out_of_time_does_not_wait_any_more(person: Client, model: ModelServer, database: Stored) -> None:
    model.script(proposes("Head of Product"))
    answer = person.say("Change it")
    database["agent_approvals"].update_one({"_id": asked(answer)["approval_id"]}, {"$set": {"expires_at": 1.0}})
    model.script(LOOKS, Reply(text="Nothing waits."))
    person.say("What waits?", answer.conversation_id)
    work = result_in(model)
    assert (work["waits_for_their_decision"], len(work["ended"])) == ([], 1)


def test_nobody_sees_the_work_for_somebody_else(client: Client, model: ModelServer, draft: Drafts) -> None:
    draft(user_id="auth0|somebody-else")
    model.script(LOOKS, Reply(text="Nothing."))
    client.say("What are you working on?")
    assert result_in(model)["note"] == "Nothing was begun or asked for this user yet."


# --- drafts that ended ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["drafted", "published", "rejected", "expired", "stopped", "failed"])
def test_the_next_prompt_of_its_conversation_tells_how_a_draft_ended_once(
    client: Client, chat: ChatServer, model: ModelServer, draft: Drafts, status: str
) -> None:
    conversation_id = client.say("Hello").conversation_id
    card = draft(conversation_id, status="waiting")
    ends(chat, card, status, "How it ended")
    told = client.say("And my card?", conversation_id)
    assert [event.data["label"] for event in told.events if event.name == "progress"] == ["Your card: How it ended"]
    line = f"The card that was being drafted ({card.id}) {'' if status == 'failed' else 'is '}{status}: “How it ended”."
    assert line in said_to(model)[-1]
    client.say("And now?", conversation_id)
    assert [line in said for said in said_to(model)] == [False, True, False]


def test_a_draft_whose_approval_is_told_is_not_told_beside_it(
    person: Client, chat: ChatServer, model: ModelServer, draft: Drafts
) -> None:
    model.script(proposes("Head of Product"))
    answer = person.say("Change it")
    approval_id = asked(answer)["approval_id"]
    card = draft(answer.conversation_id, status="waiting", approval_id=approval_id)
    decide(person, asked(answer), "reject")
    ends(chat, card, "rejected", "You said no")
    for _ in range(2):
        person.say("Well?", answer.conversation_id)
        assert card.id not in model.requests[-1].body.decode()
    assert "The user said no" in said_to(model)[1]
