"""Onboarding through the API and the chat: its questions, and the one approval at its end."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from pymongo import MongoClient

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.interviews.service import AGENDA
from tests.functions.test_interview import interviewer_prompt, knows, state_of
from tests.servers import ChatServer, Client, seconds

NURSE = "I am a nurse at Mercy Hospital."
SPEAKS = "I speak English and Portuguese, and I have 12 years of experience."
HEADLINE = {"field": "headline", "value": "Nurse at Mercy Hospital", "quotes": ["I am a nurse at Mercy Hospital"]}
LANGUAGES = {"field": "languages", "value": ["English", "Portuguese"], "quotes": ["I speak English and Portuguese"]}


def begins(client: Client, model: ModelServer, says: str = NURSE) -> str:
    model.script_chat(Reply(text="Where do you live?"))
    return client.say(says, role="onboarding").conversation_id


def ends(
    client: Client, chat: ChatServer, model: ModelServer, *fields: dict[str, Any], says: str = SPEAKS
) -> tuple[str, Any]:
    """End the interview with the model's proposal; returns the conversation and its last answer."""
    conversation_id = begins(client, model)
    client.say(says, conversation_id)
    knows(chat, conversation_id, topics=[{"title": "Work", "status": "completed"}])
    proposes = Reply(tool_calls=[{"name": "propose_profile", "arguments": {"fields": list(fields)}}])
    model.script_chat(proposes, Reply(text="Thank you, that is all. Is it right?"))
    return conversation_id, client.say("Ok", conversation_id)


LIVES_AND_STUDIED = {"/basics/location": "Porto, Portugal", "/education/0/institution": "University of Porto"}


def has_resume(
    chat: ChatServer, user_id: str, status: str = "done", found: Mapping[str, str] = LIVES_AND_STUDIED
) -> None:
    """Store a résumé, with these fields if it was read."""
    text = "\n".join(("Ana", *found.values(), ""))
    read = [
        {"path": path, "value": "" if value == "to now" else value, "original": value, "quote": value}
        | {"start": text.index(value), "end": text.index(value) + len(value), "is_checked": True}
        for path, value in found.items()
    ]
    document = {"_id": f"res_{user_id}", "user_id": user_id, "run_id": "run", "name": "cv.pdf", "status": status}
    document |= {"label": "Read", "text": text, "created_at": 1.0, "updated_at": 1.0}
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        nested = {
            "contacts": "{}",
            "found": "null",
            "left_out": "{}",
            "read": json.dumps(read if status == "done" else None),
        }
        mongo[chat.settings.mongodb_database]["agent_resumes"].insert_one(document | nested)


def changes_of(approval: dict[str, Any]) -> list[dict[str, Any]]:
    return approval["preview"]["changes"]


def approvals(client: Client) -> list[dict[str, Any]]:
    return client.get("/api/approvals")["items"]


def test_a_known_fact_is_not_asked_in_onboarding(client: Client, chat: ChatServer, model: ModelServer) -> None:
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        mongo[chat.settings.mongodb_database]["candidates_enhanced"].insert_one(
            {"_id": client.user_id, "user_id": client.user_id, "location": "Lisbon", "languages": ["English"]}
        )
    conversation_id = begins(client, model)
    assert "not yet told: current role; years of experience; what you are proud of\n" in interviewer_prompt(model)
    topics = {each["title"]: each for each in state_of(chat, conversation_id)["topics"]}
    assert [*topics] == ["Work", "Skills", "Education", "Wishes", "Limits"]
    said = {"message_id": "profile", "text": "English", "known_from": "your profile"}
    assert topics["Skills"]["aspects"][1]["quotes"] == [said]
    assert "known from before: where you live (your profile); languages (your profile)\n" in interviewer_prompt(model)


def test_an_open_question_is_asked_while_memories_may_cover_the_aspects(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    client.say("Remember that I live in Lisbon.")
    conversation_id = begins(client, model)
    assert "Lives in Lisbon" in str(model.requests[-1].json["messages"][:-1]), "what is remembered stands above"
    assert "one open question" in interviewer_prompt(model)
    assert not [name for aspects in AGENDA.values() for name in aspects if name in interviewer_prompt(model)]
    state = state_of(chat, conversation_id)
    assert {each["asked"] for topic in state["topics"] for each in topic["aspects"]} == {0}
    work, *others = state["topics"]
    lisbon = {
        "message_id": "memory:m",
        "text": "I live in Lisbon",
        "known_from": "what you told us on Friday, May 1, 2026",
    }
    work["aspects"][2] |= {"status": "covered", "quotes": [lisbon]}
    knows(chat, conversation_id, topics=[work, *others], drafted_to=1)
    model.script_chat(Reply(text="For how many years?"))
    client.say("I am a nurse.", conversation_id)
    assert "not yet told: current role; years of experience; what you are proud of\n" in interviewer_prompt(model)
    assert "Ask exactly one question, about “current role”" in interviewer_prompt(model)


def test_a_resume_fact_is_confirmed_instead_of_asked(client: Client, chat: ChatServer, model: ModelServer) -> None:
    has_resume(chat, client.user_id)
    conversation_id = begins(client, model)
    assert "not yet told: current role; years of experience; what you are proud of\n" in interviewer_prompt(model)
    aspects = [
        each for topic in client.get(f"/api/interviews/{conversation_id}")["topics"] for each in topic["aspects"]
    ]
    known = {each["name"]: (each["known_from"], each["quotes"]) for each in aspects if each["known_from"]}
    assert known == {
        "where you live": ("cv.pdf", ["Porto, Portugal"]),
        "school and degree": ("cv.pdf", ["University of Porto"]),
    }
    ends(client, chat, model, HEADLINE)
    [approval] = approvals(client)
    changes = {
        each["name"]: (each["after"], [quote["source"] for quote in each["quotes"]]) for each in changes_of(approval)
    }
    assert changes == {
        "Headline": ("Nurse at Mercy Hospital", ["what you said"]),
        "Location": ("Porto, Portugal", ["cv.pdf"]),
        "Education": ("University of Porto", ["cv.pdf"]),
    }


def positions(*work: dict[str, str]) -> dict[str, str]:
    """Return the fields of positions by their JSON Resume pointers."""
    return {
        "/".join(("", "work", str(number), name)): value
        for number, each in enumerate(work)
        for name, value in each.items()
    }


def test_role_place_and_years_are_derived_from_the_resumes_positions(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    now = {"position": "Ward manager", "name": "Santa Marta", "location": "Lisbon"}
    now |= {"startDate": "2019-03", "endDate": "to now"}
    before = {"position": "Nurse", "startDate": "2012", "endDate": "2019-07"}
    has_resume(chat, client.user_id, found=positions(now, before))
    conversation_id = begins(client, model, says="Hello")
    assert "not yet told: what you are proud of\n" in interviewer_prompt(model)
    client.request("POST", f"/api/interviews/{conversation_id}/finish").raise_for_status()
    client.say("Bye", conversation_id)
    [approval] = approvals(client)
    years = to_datetime(client.clock()).year - 2012
    changes = {each["name"]: (each["after"], [q["quote"] for q in each["quotes"]]) for each in changes_of(approval)}
    assert changes["Headline"] == ("Ward manager, Santa Marta", ["Ward manager", "Santa Marta"])
    assert changes["Location"] == ("Lisbon", ["Lisbon"])
    assert int(changes["Years of experience"][0]) in (years, years - 1)
    assert changes["Years of experience"][1] == ["2019-03", "to now", "2012", "2019-07"]


def test_a_user_between_positions_is_asked_for_their_role(client: Client, chat: ChatServer, model: ModelServer) -> None:
    nurse = {"position": "Nurse", "startDate": "2012-01", "endDate": "2019-07"}
    has_resume(chat, client.user_id, found=positions(nurse))
    begins(client, model)
    assert "not yet told: current role; where you live; what you are proud of\n" in interviewer_prompt(model)


@pytest.mark.parametrize("status", ["reading", "failed"])
def test_an_unread_resume_is_not_used(client: Client, chat: ChatServer, model: ModelServer, status: str) -> None:
    has_resume(chat, client.user_id, status=status)
    begins(client, model)
    assert "not yet told: current role; years of experience; where you live;" in interviewer_prompt(model)


def test_approved_wishes_and_limits_are_stored_for_the_job_search(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    roles = {"field": "roles", "value": ["Head nurse"], "quotes": ["I want to be a head nurse"]}
    never = {"field": "never", "value": ["night shifts"], "quotes": ["no night shifts"]}
    remote = {"field": "remote", "value": "no", "quotes": ["in a hospital only"]}
    pay = {"field": "pay", "value": "60000 EUR", "quotes": ["at least 60,000 EUR a year"]}
    too_much = {"field": "availability", "value": "in May 2030", "quotes": ["no night shifts"]}
    wishes = "I want to be a head nurse, in a hospital only, no night shifts, at least 60,000 EUR a year."
    ends(client, chat, model, HEADLINE, roles, never, remote, pay, too_much, says=wishes)
    [approval] = approvals(client)
    assert {each["name"]: each["after"] for each in changes_of(approval)} == {
        "Headline": "Nurse at Mercy Hospital",
        "Role you want": "Head nurse",
        "Never show me jobs with": "night shifts",
        "Remote jobs": "no",
        "Least pay a year": "60000 EUR",
    }
    quotes = {each["name"]: [quote["quote"] for quote in each["quotes"]] for each in changes_of(approval)}
    assert quotes["Never show me jobs with"] == ["no night shifts"]
    left = [each for each in approval["args"]["changes"] if each["field"] != "pay"]
    body = {"decision": "edit", "args": {"changes": left}, "args_digest": approval["args_digest"]}
    decided = client.request("POST", f"/api/approvals/{approval['approval_id']}/decision", json=body)
    assert decided.status_code == 200, decided.text
    assert [each["name"] for each in changes_of(decided.json())] == [
        each["name"] for each in changes_of(approval) if each["name"] != "Least pay a year"
    ]


def test_onboarding_ends_with_one_approval_that_quotes_each_field(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    _, answer = ends(client, chat, model, HEADLINE, LANGUAGES)
    assert "?" not in answer.text.removesuffix("Change your profile? You can answer yes or no.")
    [complete] = [each.data for each in answer.events if each.name == "onboarding_complete"]
    assert complete.keys() == {"covered", "open"}
    [approval] = approvals(client)
    changes = {each["name"]: each for each in approval["preview"]["changes"]}
    assert changes["Headline"]["after"] == "Nurse at Mercy Hospital"
    assert [each["quote"] for each in changes["Languages"]["quotes"]] == ["I speak English and Portuguese"]


def test_the_end_of_onboarding_is_reported_in_the_ai_sdk_protocol(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    thread = uuid.uuid4().hex
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": NURSE}]}
    model.script_chat(Reply(text="Where do you live?"))
    client.say_ai_sdk(thread, message, role="onboarding")
    client.request("POST", f"/api/interviews/{thread}/finish").raise_for_status()
    model.script_chat(Reply(text="Thank you."))
    chunks = client.say_ai_sdk(thread, {"id": "u2", "role": "user", "parts": [{"type": "text", "text": "Bye"}]})
    assert [each.name for each in chunks if each.name == "data-onboarding"] == ["data-onboarding"]


def test_onboarding_can_be_approved_in_part(client: Client, chat: ChatServer, model: ModelServer) -> None:
    ends(client, chat, model, HEADLINE, LANGUAGES)
    [approval] = approvals(client)
    part = {"changes": [{"field": "headline", "value": "Nurse"}]}
    body = {"decision": "edit", "args": part, "args_digest": approval["args_digest"]}
    decided = client.request("POST", f"/api/approvals/{approval['approval_id']}/decision", json=body)
    assert decided.status_code == 200, decided.text
    [change] = decided.json()["preview"]["changes"]
    assert (change["name"], change["after"]) == ("Headline", "Nurse")


def test_a_fact_the_user_did_not_tell_is_not_proposed(client: Client, chat: ChatServer, model: ModelServer) -> None:
    invented = {"field": "location", "value": "Paris", "quotes": ["I live in Paris"]}
    more = {"field": "years_of_experience", "value": 20, "quotes": ["12 years of experience"]}
    ends(client, chat, model, HEADLINE, invented, more)
    [approval] = approvals(client)
    assert [each["name"] for each in approval["preview"]["changes"]] == ["Headline"]


def test_a_field_that_the_model_leaves_out_is_proposed_from_the_draft(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    conversation_id = begins(client, model)
    client.say(SPEAKS, conversation_id)
    told = [
        ("Work", "current role", "Works as a nurse."),
        ("Work", "years of experience", "A bit over twelve years."),
        ("Skills", "languages", "English and Portuguese."),
    ]
    statements = [
        {"topic": topic, "aspects": [aspect], "text": text, "since": 1, "quotes": [{"message_id": "m", "text": SPEAKS}]}
        for topic, aspect, text in told
    ]
    knows(chat, conversation_id, topics=[{"title": "Work", "status": "completed"}], statements=statements, version=1)
    call: ToolCall = {"name": "propose_profile", "arguments": {"fields": [HEADLINE]}}
    model.script_chat(Reply(tool_calls=[call]), Reply(text="That is all."))
    client.say("Ok", conversation_id)
    [approval] = approvals(client)
    assert {each["name"]: each["after"] for each in changes_of(approval)} == {
        "Headline": "Nurse at Mercy Hospital",
        "Years of experience": "12",
        "Languages": "English and Portuguese",
    }


def test_onboarding_without_answers_proposes_nothing(client: Client, chat: ChatServer, model: ModelServer) -> None:
    ends(client, chat, model, {"field": "location", "value": "Paris", "quotes": ["I live in Paris"]})
    assert approvals(client) == []


@pytest.mark.thorough
def test_onboarding_proposes_once_even_if_the_model_does_not(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    conversation_id = begins(client, model)
    says = {"message_id": "m", "text": SPEAKS}
    told = [
        ("Work", "current role", "Nurse at Mercy Hospital."),
        ("Work", "years of experience", "Has 12 years of experience."),
        ("Skills", "languages", "English and Portuguese."),
        ("Wishes", "role you want", "Head nurse."),
    ]
    statements = [
        {"topic": topic, "aspects": [aspect], "text": text, "quotes": [says], "since": 1}
        for topic, aspect, text in told
    ]
    knows(chat, conversation_id, topics=[{"title": "Work", "status": "completed"}], statements=statements, version=1)
    model.script_chat(Reply(text="Thank you, that is all."))
    answer = client.say("Ok", conversation_id)
    assert [each.name for each in answer.events if each.name in ("approval_required", "onboarding_complete")] == [
        "approval_required",
        "onboarding_complete",
    ]
    [approval] = approvals(client)
    assert {each["name"]: each["after"] for each in approval["preview"]["changes"]} == {
        "Headline": "Nurse at Mercy Hospital",
        "Years of experience": "12",
        "Languages": "English and Portuguese",
        "Role you want": "Head nurse",
    }
    client.say("Thanks", conversation_id)
    last = client.get(f"/api/conversations/{conversation_id}")["messages"][-2]["id"]
    client.say("Thanks a lot", conversation_id, replaces=last)
    assert len(approvals(client)) == 1
    body = {"decision": "approve", "args_digest": approval["args_digest"]}
    decided = client.request("POST", f"/api/approvals/{approval['approval_id']}/decision", json=body)
    assert decided.status_code == 200, decided.text


def test_the_agenda_of_onboarding_is_fixed(client: Client, chat: ChatServer, model: ModelServer) -> None:
    conversation_id = begins(client, model)
    assert state_of(chat, conversation_id)["has_agenda"] is True


# --- briefings, on from the end of onboarding -------------------------------------------------------------------------


def test_the_end_of_onboarding_turns_on_briefings_at_eight_in_the_users_time_zone(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    client.request("PUT", "/api/settings", json={"time_zone": "Asia/Tokyo"}).raise_for_status()
    conversation_id = begins(client, model)
    assert not client.get("/api/briefings/settings")["on"]
    client.request("POST", f"/api/interviews/{conversation_id}/finish").raise_for_status()
    settings = client.get("/api/briefings/settings")
    assert (settings["on"], settings["hour"], settings["minute"]) == (True, 8, 0)
    assert (seconds(settings["next"]) + 9 * 3600) % 86_400 == 8 * 3600


@pytest.mark.thorough
def test_a_second_onboarding_keeps_briefings_switched_off(client: Client, chat: ChatServer, model: ModelServer) -> None:
    ends(client, chat, model, HEADLINE)
    assert client.get("/api/briefings/settings")["on"], "it ended in a turn"
    client.request("PUT", "/api/briefings/settings", json={"on": False}).raise_for_status()
    ends(client, chat, model, HEADLINE)
    settings = client.get("/api/briefings/settings")
    assert (settings["on"], settings["next"]) == (False, None)


def test_onboarding_schedules_briefings_at_the_chosen_hour(client: Client, model: ModelServer) -> None:
    client.request("PUT", "/api/briefings/settings", json={"hour": 6}).raise_for_status()
    conversation_id = begins(client, model)
    client.request("POST", f"/api/interviews/{conversation_id}/finish").raise_for_status()
    settings = client.get("/api/briefings/settings")
    assert (settings["on"], seconds(settings["next"]) % 86_400) == (True, 6 * 3600)


def test_the_end_of_another_interview_turns_on_no_briefings(client: Client, model: ModelServer) -> None:
    model.script_chat(Reply(text="What did you do?"))
    conversation_id = client.say("About my work", role="interview").conversation_id
    client.request("POST", f"/api/interviews/{conversation_id}/finish").raise_for_status()
    assert not client.get("/api/briefings/settings")["on"]
