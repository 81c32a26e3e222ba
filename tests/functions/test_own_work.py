"""The agent knows its own work: pending, running and ended, in whichever conversation it began."""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient
from pymongo.database import Database

from infra.local.candidate_app import CandidateAppServer
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.base.clock import format_moment
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.interview import Ended, Interview
from qwestly_agent.domain.learning import Lesson
from qwestly_agent.domain.resume import ResumeRecord
from qwestly_agent.stores.conversations import key_query
from qwestly_agent.stores.drafts import COLLECTION, Draft
from qwestly_agent.stores.drafts import Drafts as DraftStore
from qwestly_agent.stores.jobs import JobSearches
from qwestly_agent.stores.learning import Lessons
from qwestly_agent.stores.resumes import Resumes
from qwestly_agent.stores.runs import Runs
from tests.servers import Answer, ChatServer, Client, user_says

Stored = Database[dict[str, Any]]
Drafts = Callable[..., Draft]
LOOKS = Reply(tool_calls=[{"name": "get_my_work", "arguments": {}}])


@pytest.fixture
def database(chat: ChatServer) -> Iterator[Stored]:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        yield mongo[chat.settings.mongodb_database]


@pytest.fixture
def person(client: Client, database: Stored, app: CandidateAppServer) -> Client:
    """A user who exists in the candidate app."""
    database["candidates_enhanced"].insert_one({"_id": client.user_id, "user_id": client.user_id, "headline": "Dev"})
    return client


@pytest.fixture
def draft(chat: ChatServer, client: Client, database: Stored) -> Drafts:
    """Store a card of this user."""

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
    """Return the result of the last call, as the model received it."""
    said = [each["content"] for each in model.requests[-1].json["messages"] if each["role"] == "tool"][-1]
    return json.loads(said[said.index("{") : said.rindex("}") + 1])


def ends(chat: ChatServer, draft: Draft, status: str, label: str) -> None:
    """End a draft as its workflow does."""

    async def tell() -> None:
        async with AsyncMongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
            store = DraftStore(mongo[chat.settings.mongodb_database])
            await store.update(draft.user_id, draft.id, chat.clock(), status=status, label=label)

    asyncio.run(tell())


def said_to(model: ModelServer) -> list[str]:
    """Return the user's texts in the last prompt, notes included."""
    return [each["content"] for each in model.requests[-1].json["messages"] if each["role"] == "user"]


# --- the tool ---------------------------------------------------------------------------------------------------------


def test_pending_and_ended_work_is_listed_from_every_conversation(
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
        "also_under_way": [],
        "also_ended": [],
    }


def work_of(chat: ChatServer, user_id: str, *, ends: bool) -> Callable[[Any], Awaitable[None]]:
    """Record one work of each kind, as its workflow does."""
    now, run_id = chat.clock(), uuid.uuid4().hex
    record: dict[str, Any] = {"id": run_id, "user_id": user_id, "run_id": run_id, "created_at": now, "updated_at": now}
    resume = ResumeRecord(name="cv.pdf", label="Reading your résumé", **record)
    lesson = Lesson(conversation_id=None, topic="t", title="Pricing", **record)
    found = ActivityEvent(
        id=uuid.uuid4().hex, user_id=user_id, at=now, type="jobs.found", role="jobs", title="3 jobs that may suit you"
    )

    async def work(database: Any) -> None:
        resumes, lessons, searches = Resumes(database), Lessons(database), JobSearches(database)
        await resumes.add(resume)
        await lessons.add(lesson)
        await searches.begin(user_id, run_id, now)
        begun = Interview(turns=3, ended=Ended(reason="asked") if ends else None)
        conversation = {"id": "interview", "role": "interview", "last_used": now, "interview": begun.model_dump()}
        await database["agent_conversations"].insert_one({**key_query(user_id, "interview"), **conversation})
        run = await Runs(database).begin(user_id, "memories-c1", now)
        if ends:
            await resumes.move(user_id, resume.id, now, "done", "It was read.")
            await lessons.move(user_id, lesson.id, now, "ready", "It is ready.")
            await searches.end(user_id, run_id, "ready", found, now)
            await Runs(database).end(user_id, run)

    return work


def does(chat: ChatServer, work: Callable[[Any], Awaitable[None]]) -> None:
    async def doing() -> None:
        async with AsyncMongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
            await work(mongo[chat.settings.mongodb_database])

    asyncio.run(doing())


def test_background_work_is_listed_with_approvals_and_drafts(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    does(chat, work_of(chat, client.user_id, ends=False))
    model.script(LOOKS, Reply(text="Five things."))
    client.say("What are you working on?")
    assert [each["title"] for each in result_in(model)["also_under_way"]] == [
        "Writing a lesson: Pricing",
        "Reading your résumé",
        "Searching for jobs",
        "Your interview with your agent is under way: its draft has 0 sentences",
        "Reading a conversation for what to remember",
    ]
    assert result_in(model)["also_ended"] == []


def test_ended_background_work_is_listed_with_its_time(client: Client, chat: ChatServer, model: ModelServer) -> None:
    began = chat.clock()
    does(chat, work_of(chat, client.user_id, ends=True))
    does(chat, work_of(chat, f"{client.user_id}-other", ends=False))
    model.script(LOOKS, Reply(text="All done."))
    client.say("What became of it?")
    work = result_in(model)
    assert work["also_under_way"] == []
    told = {each["title"]: each["at"] for each in work["also_ended"]}
    assert {*told} == {"Your résumé was read", "Your lesson is ready", "3 jobs that may suit you"}
    assert set(told.values()) <= {format_moment(at) for at in (began, chat.clock())}


def test_expired_work_is_listed_as_ended(person: Client, model: ModelServer, database: Stored) -> None:
    model.script(proposes("Head of Product"))
    answer = person.say("Change it")
    database["agent_approvals"].update_one({"_id": asked(answer)["approval_id"]}, {"$set": {"expires_at": 1.0}})
    model.script(LOOKS, Reply(text="Nothing waits."))
    person.say("What waits?", answer.conversation_id)
    work = result_in(model)
    assert (work["waits_for_their_decision"], len(work["ended"])) == ([], 1)


def test_another_users_work_is_not_listed(client: Client, model: ModelServer, draft: Drafts) -> None:
    draft(user_id="auth0|somebody-else")
    model.script(LOOKS, Reply(text="Nothing."))
    client.say("What are you working on?")
    assert result_in(model)["note"] == "Nothing was begun or asked for this user yet."


# --- ended drafts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["drafted", "published", "rejected", "expired", "stopped", "failed"])
@pytest.mark.thorough
def test_the_outcome_of_a_draft_is_in_the_next_prompt_of_its_conversation_once(
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


def test_a_draft_is_not_reported_if_its_approval_is(
    person: Client, chat: ChatServer, model: ModelServer, draft: Drafts
) -> None:
    model.script(proposes("Head of Product"))
    answer = person.say("Change it")
    approval_id = asked(answer)["approval_id"]
    card = draft(answer.conversation_id, status="waiting", approval_id=approval_id)
    decide(person, asked(answer), "reject")
    ends(chat, card, "rejected", "You declined")
    for _ in range(2):
        person.say("Well?", answer.conversation_id)
        assert card.id not in model.requests[-1].body.decode()
    assert "The user said no" in said_to(model)[1]


# --- pending work in every conversation -------------------------------------------------------------------------------


@pytest.mark.thorough
def test_work_in_other_conversations_is_reported_once_and_again_when_it_changes(
    person: Client, model: ModelServer
) -> None:
    model.script(proposes("Head of Product"))
    approval = asked(person.say("Change it"))
    line = f"“Change your headline” (update_profile_field, {approval['approval_id']}) waits for the user's decision."
    conversation_id = person.say("Hello").conversation_id
    first = model.requests[-1].json["messages"]
    assert line in said_to(model)[-1]
    person.say("And now?", conversation_id)
    assert [line in said for said in said_to(model)] == [True, False]
    assert model.requests[-1].json["messages"][: len(first)] == first, "the provider has seen it before"
    decide(person, approval, "reject")
    person.say("And now?", conversation_id)
    person.say("And now?", conversation_id)
    assert ["Nothing waits" in said for said in said_to(model)] == [False, False, True, False]


def test_a_pending_approval_is_not_reported_to_the_conversation_that_proposed_it(
    person: Client, model: ModelServer
) -> None:
    model.script(proposes("Head of Product"))
    answer = person.say("Change it")
    person.say("What else?", answer.conversation_id)
    assert said_to(model) == ["Change it", "What else?"]


def test_a_workflows_approval_is_reported_in_the_conversation_that_started_it(
    person: Client, model: ModelServer, database: Stored
) -> None:
    model.script(proposes("Head of Product"))
    answer = person.say("Change it")
    approval_id = asked(answer)["approval_id"]
    database["agent_approvals"].update_one({"_id": approval_id}, {"$set": {"task_token": "sealed"}})
    person.say("What waits?", answer.conversation_id)
    assert approval_id in said_to(model)[-1]


def test_ten_items_of_work_are_reported_and_the_tool_lists_the_rest(
    client: Client, model: ModelServer, draft: Drafts
) -> None:
    for _ in range(12):
        draft()
    draft(user_id="auth0|somebody-else")
    client.say("Hello")
    assert said_to(model)[-1].count("A card is being drafted") == 10
    assert "get_my_work lists it" in said_to(model)[-1]


def test_a_regenerated_answer_is_told_of_pending_work_once(client: Client, model: ModelServer, draft: Drafts) -> None:
    card = draft()
    client.say_ai_sdk("c1", user_says("Hello", "m1"))
    again = {"id": "c1", "trigger": "regenerate-message", "messages": [user_says("Hello", "m1")]}
    client.post(again)
    assert said_to(model)[-1].count(card.id) == 1


# --- a typed yes ------------------------------------------------------------------------------------------------------


def shows(approval: dict[str, Any]) -> Reply:
    arguments = {"approval_id": approval["approval_id"]}
    return Reply(tool_calls=[{"name": "show_approval", "arguments": arguments, "id": "call_2"}])


@pytest.mark.parametrize("elsewhere", [False, True], ids=["in its conversation", "in another"])
def test_a_yes_with_other_words_shows_the_card_and_decides_nothing(
    person: Client, model: ModelServer, elsewhere: bool
) -> None:
    model.script(proposes("Head of Product"))
    answer = person.say("Change it")
    first = asked(answer)
    model.script(shows(first), Reply(text="Please decide on it there."))
    again = person.say("Yes, do that headline", None if elsewhere else answer.conversation_id)
    assert asked(again) == first
    assert again.text == "Please decide on it there."
    [kept] = person.get("/api/approvals?state=all")["items"]
    assert kept["status"] == "pending"
    page = f"/api/conversations/{again.conversation_id}"
    assert person.get(page)["messages"][-1]["approvals"] == [first]
    part = {"type": "data-approval", "id": first["approval_id"], "data": first}
    assert part in person.get(f"{page}?as=ui")["messages"][-1]["parts"]
    decide(person, first, "approve")
    assert person.get(page)["messages"][-1]["approvals"][0]["status"] == "done"


def test_a_yes_in_another_conversation_shows_the_card_in_the_ai_sdk_protocol(
    person: Client, model: ModelServer
) -> None:
    model.script(proposes("Head of Product"))
    first = asked(person.say("Change it"))
    model.script(shows(first), Reply(text="Please decide on it there."))
    events = person.say_ai_sdk("c1", user_says("Yes, do it"))
    [part] = [event.data for event in events if event.name == "data-approval"]
    assert part == {"type": "data-approval", "id": first["approval_id"], "data": first}
    assert events[-2].name == "finish"


def test_a_decided_or_another_users_card_is_not_shown_again(
    person: Client, model: ModelServer, database: Stored
) -> None:
    model.script(proposes("Head of Product"))
    first = asked(person.say("Change it"))
    decide(person, first, "reject")
    model.script(shows(first), Reply(text="You said no."))
    assert "approval_required" not in person.say("Yes, do it").names
    assert result_in(model)["status"] == "rejected"
    database["agent_approvals"].update_one({"_id": first["approval_id"]}, {"$set": {"user_id": "auth0|else"}})
    model.script(shows(first), Reply(text="There is none."))
    assert "approval_required" not in person.say("Yes, do it").names
    assert result_in(model) == {"error": "There is no such approval."}


# --- alternatives and confidence --------------------------------------------------------------------------------------


def with_others(*others: Any, field: str = "headline", value: Any = "Head of Product", **more: Any) -> Reply:
    arguments = {"field": field, "value": value, "alternatives": others, **more}
    return Reply(tool_calls=[{"name": "update_profile_field", "arguments": arguments}])


def test_a_proposal_has_alternatives_and_a_confidence_and_records_its_role(
    person: Client, model: ModelServer, database: Stored
) -> None:
    model.script(with_others("VP Product", "Head of Product", "VP Product", confidence="medium"))
    approval = asked(person.say("Change it"))
    assert (approval["alternatives"], approval["confidence"]) == (["VP Product"], "medium")
    kept = database["agent_approvals"].find_one({"_id": approval["approval_id"]})
    assert kept
    assert (kept["role"], kept["confidence"]) == ("default", "medium")
    decide(person, approval, "edit", args={"value": approval["alternatives"][0]})
    found = database["candidates_enhanced"].find_one({"user_id": person.user_id})
    assert found
    assert found["headline"] == "VP Product"


@pytest.mark.parametrize(
    "proposed",
    [
        with_others("a", "b", "c", "d"),
        with_others(["a list"]),
        with_others("Head of Ops", confidence="very"),
        with_others("many", field="years_of_experience", value=7),
    ],
    ids=["four", "another kind of value", "no such confidence", "no number"],
)
def test_an_invalid_alternative_is_rejected_before_the_user_is_asked(
    person: Client, model: ModelServer, proposed: Reply
) -> None:
    model.script(proposed, Reply(text="I could not."))
    assert "approval_required" not in person.say("Change it").names
    assert person.get("/api/approvals?state=all")["items"] == []
