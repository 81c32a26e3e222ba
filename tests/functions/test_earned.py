"""Earned autonomy through the API and the chat: offered after approvals on ten days, each with its card open, granted
by a signed-in approval, and ended by one rejection."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.domain.approval import DAYS_NEEDED
from qwestly_agent.domain.job import Application
from qwestly_agent.jobs.actions import UPDATE_APPLICATION
from qwestly_agent.profile import UPDATE_PROFILE_FIELD
from tests.functions.approving import DAY, USER, World
from tests.functions.talking import wishes
from tests.functions.test_act import ACT, person
from tests.servers import ChatServer, Client, FakeClock, settings_for

__all__ = ["person"]

HOUR = 3_600.0
APPLICATION = "app_1"
L1, L3 = (
    "Your agent asks you, and waits.",
    "What your message plainly asks for is done right away. You can undo it for a day.",
)
INVITED = "Kestrel Clinic invited me to an interview"


@pytest.fixture
def chat(world: World, mongodb_uri: str, database_name: str, model: ModelServer) -> Iterator[ChatServer]:
    """A chat with a job board, which the application tools need."""
    given = {"candidate_api_url": world.candidate_app.url, "act_function": ACT, "jsearch_api_key": "k" * 32}
    with ChatServer(settings_for(mongodb_uri, model.base_url, database_name, **given), world.clock) as server:
        workflows = replace(server.services.workflows, aws=world.wire.client)
        object.__setattr__(server.services, "workflows", workflows)
        yield server


@pytest.fixture
def world(world: World) -> World:
    """A user with an application in their list."""
    at = world.clock()
    listed = Application(
        id=APPLICATION,
        user_id=USER,
        job_id="job_1",
        title="Nurse",
        company="Kestrel Clinic",
        created_at=at,
        updated_at=at,
    )
    world.run(lambda services: services.applications.add_or_get(listed))
    return world


def as_it_stands(world: World) -> Application:
    return world.run(lambda services: services.applications.get(USER, APPLICATION))


def of_the_list(number: int) -> Proposal:
    return Proposal(UPDATE_APPLICATION, {"application_id": APPLICATION, "next_step": f"Call number {number}"})


def of_the_profile(number: int) -> Proposal:
    return Proposal(UPDATE_PROFILE_FIELD, {"field": "headline", "value": f"Head of Product {number}"})


def is_asked(world: World, proposal: Proposal, **more: Any) -> str:
    return world.ask(f"ap_{uuid.uuid4().hex}", proposal, level="L1", **more).id


def decide(person: Client, approval_id: str, decision: str = "approve", **more: Any) -> dict[str, Any]:
    _a_minute_later(person)
    digest = person.get(f"/api/approvals/{approval_id}")["args_digest"]
    body = {"decision": decision, "args_digest": digest, "opened": True, **more}
    return person.request("POST", f"/api/approvals/{approval_id}/decision", json=body).raise_for_status().json()


def _a_minute_later(person: Client) -> None:
    assert isinstance(person.clock, FakeClock)
    person.clock.advance(60.0)


def says_yes(
    world: World, person: Client, times: int, proposal: Any = of_the_list, every: float = DAY, **more: Any
) -> None:
    for number in range(times):
        world.clock.advance(every)
        assert decide(person, is_asked(world, proposal(number)), **more)["status"] == "done"


def offers(person: Client) -> list[dict[str, Any]]:
    return [each for each in person.get("/api/approvals")["items"] if each["kind"] == "autonomy"]


def earned(person: Client) -> dict[str, tuple[str, bool]]:
    return {each["tool"]: (each["level"], each["is_earned"]) for each in person.get("/api/autonomy")["kinds"]}


def earns(world: World, person: Client, proposal: Any = of_the_list) -> None:
    says_yes(world, person, DAYS_NEEDED, proposal)
    [offer] = offers(person)
    assert decide(person, offer["approval_id"])["status"] == "done"


def tells(person: Client, model: ModelServer, words: str, judged: bool = True, **change: str) -> list[str]:
    """Send the user's message, upon which the model proposes this change; return the statuses of the proposals, newest
    first."""
    _a_minute_later(person)
    call: ToolCall = {"name": "update_application", "arguments": {"application_id": APPLICATION, **change}}
    answers = (wishes(words), Reply(text="It is in your list.")) if judged else (Reply(text="It is in your list."),)
    model.script(Reply(tool_calls=[call]), *answers)
    person.say(words)
    return [each["status"] for each in person.get("/api/approvals?state=all&limit=1")["items"]]


def test_approvals_on_ten_days_earn_autonomy_and_an_undo_ends_it(
    world: World, person: Client, model: ModelServer
) -> None:
    says_yes(world, person, DAYS_NEEDED - 1)
    assert offers(person) == []
    [kind] = person.get("/api/autonomy")["kinds"]
    assert kind["record"].startswith("You approved it on 9 days, with its card open. After ten, we offer")
    says_yes(world, person, 1)
    [offer] = offers(person)
    [change] = offer["preview"]["changes"]
    assert (change["name"], change["before"], change["after"]) == (kind["title"], L1, L3)
    assert offer["rationale"] == "You opened and approved this on 10 different days, and changed nothing."
    assert decide(person, offer["approval_id"])["status"] == "done"
    assert earned(person) == {"update_application": ("L3", True)}
    assert person.get("/api/autonomy")["level"] == "L1"  # for everything else
    before = as_it_stands(world)
    assert tells(person, model, INVITED, status="interview", next_at="2027-03-01T10:00:00+01:00") == ["done"]
    assert as_it_stands(world).status == "interview"
    [done] = [each for each in person.get("/api/activity")["items"] if each["type"] == "approval.done"][:1]
    assert done["why"].startswith("At the level that your agent earned for this (Autonomous), your agent may do this")
    person.request("POST", f"/api/activity/{done['id']}/undo").raise_for_status()
    after = as_it_stands(world)
    assert (after.status, after.next_at, after.next_step) == (before.status, None, before.next_step)
    assert earned(person) == {}
    assert tells(person, model, INVITED, judged=False, status="interview") == ["pending"]
    [taken_back] = [each for each in person.get("/api/activity")["items"] if each["type"] == "autonomy.taken_back"]
    assert taken_back["title"] == "Your agent asks you again"
    assert "undid it" in taken_back["why"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("They invited me to an interview", {"status": "interview"}),  # it does not say who
        (INVITED, {"status": "interview", "notes": "Rude people"}),  # instead of the user's own words
        (f"> {INVITED}\n\nWhat do I answer?", {"status": "interview"}),  # quoted words
        (f"{INVITED}, and then they told me all of this: {'so much ' * 50}", {"status": "interview"}),
    ],
)
def test_an_earned_change_not_named_in_the_message_needs_approval(
    world: World, person: Client, model: ModelServer, words: str, change: dict[str, str]
) -> None:
    earns(world, person)
    assert tells(person, model, words, judged=True, **change) == ["pending"], "though the judge would let it"


@pytest.mark.thorough
def test_an_earned_change_the_judge_does_not_find_in_the_message_needs_approval(
    world: World, person: Client, model: ModelServer
) -> None:
    earns(world, person)
    call: ToolCall = {"name": "update_application", "arguments": {"application_id": APPLICATION, "status": "offer"}}
    model.script(Reply(tool_calls=[call]), wishes(""), Reply(text="Decide."))
    person.say(INVITED)
    assert as_it_stands(world).status == "preparing"


@pytest.mark.thorough
def test_one_message_runs_at_most_one_earned_change_and_only_once(
    world: World, person: Client, model: ModelServer
) -> None:
    earns(world, person)
    calls: list[ToolCall] = [
        {"name": "update_application", "arguments": {"application_id": APPLICATION, **change}}
        for change in ({"status": "interview"}, {"next_step": "Prepare"})
    ]
    model.script(Reply(tool_calls=calls), wishes(INVITED), wishes(INVITED), Reply(text="So."))
    person.say(INVITED)
    found = person.get("/api/approvals?state=all&limit=2")["items"]
    assert sorted(each["status"] for each in found) == ["done", "pending"]


@pytest.mark.thorough
@pytest.mark.parametrize("given", [{"every": HOUR}, {"opened": False}])
def test_approvals_on_one_day_or_with_a_closed_card_earn_nothing(
    world: World, person: Client, given: dict[str, Any]
) -> None:
    says_yes(world, person, DAYS_NEEDED + 1, **given)
    assert offers(person) == []


@pytest.mark.thorough
def test_typed_approvals_earn_nothing(world: World, person: Client, model: ModelServer) -> None:
    for number in range(DAYS_NEEDED + 1):
        world.clock.advance(DAY)
        call: ToolCall = {"name": "update_application", "arguments": {**of_the_list(number).args}}
        model.script(Reply(tool_calls=[call]), Reply(text="So."))
        card = person.say("What is next?")
        model.script(Reply(text="So."))
        person.say("ok", card.conversation_id, answers=card.id)
    records = person.get("/api/approvals?state=all")["items"]
    assert {(each["status"], each["decided_by"]) for each in records} == {("done", "words")}
    assert (len(records), offers(person)) == (DAYS_NEEDED + 1, [])


@pytest.mark.thorough
@pytest.mark.parametrize("no", ["reject", "edit", "revise"])
def test_one_rejection_edit_or_change_request_ends_earned_autonomy(world: World, person: Client, no: str) -> None:
    earns(world, person, of_the_profile)
    assert earned(person) == {"update_profile_field": ("L3", True)}
    more = {"args": {"value": "Chief of Product"}} if no == "edit" else {"reason": "No."}
    decide(person, is_asked(world, of_the_profile(99)), no, **more)
    assert earned(person) == {}


@pytest.mark.thorough
def test_earned_autonomy_ended_in_the_settings_restarts_the_count(world: World, person: Client) -> None:
    earns(world, person)
    says_yes(world, person, DAYS_NEEDED - 1)
    answered = person.request("DELETE", "/api/autonomy/update_application").raise_for_status().json()
    assert answered["kinds"] == []
    assert person.request("DELETE", "/api/autonomy/update_application").status_code == 404
    assert person.request("DELETE", "/api/autonomy/apply").status_code == 404
    says_yes(world, person, DAYS_NEEDED - 1)
    assert offers(person) == []
    says_yes(world, person, 1)
    assert len(offers(person)) == 1


@pytest.mark.nightly
@pytest.mark.thorough
def test_autonomy_is_not_offered_above_a_chosen_level(world: World, person: Client) -> None:
    person.request("PUT", "/api/settings", json={"level": "L2"}).raise_for_status()
    assert person.get("/api/settings")["ceiling"] == "L2"
    says_yes(world, person, DAYS_NEEDED)
    assert offers(person) == []
    assert [each["offers"] for each in person.get("/api/autonomy")["kinds"]] == [None]


@pytest.mark.nightly
@pytest.mark.thorough
def test_a_declined_offer_of_autonomy_needs_ten_more_days(world: World, person: Client) -> None:
    says_yes(world, person, DAYS_NEEDED)
    [offer] = offers(person)
    decide(person, offer["approval_id"], "reject")
    says_yes(world, person, DAYS_NEEDED - 1)
    assert offers(person) == []
    says_yes(world, person, 1)
    assert len(offers(person)) == 1


@pytest.mark.thorough
def test_an_offer_accepted_after_a_rejection_grants_nothing(world: World, person: Client) -> None:
    says_yes(world, person, DAYS_NEEDED)
    [offer] = offers(person)
    decide(person, is_asked(world, of_the_list(99)), "reject")
    decide(person, offer["approval_id"])
    assert earned(person) == {}


@pytest.mark.thorough
def test_a_lower_level_ends_earned_autonomy(world: World, person: Client) -> None:
    earns(world, person)
    person.request("PUT", "/api/settings", json={"level": "L1"}).raise_for_status()
    assert earned(person) == {}


def test_changes_at_a_chosen_level_are_not_shown_as_earned(world: World, person: Client, model: ModelServer) -> None:
    person.request("PUT", "/api/autonomy", json={"level": "L3"}).raise_for_status()
    assert tells(person, model, INVITED, status="interview") == ["done"]
    [done] = [each for each in person.get("/api/activity")["items"] if each["type"] == "approval.done"]
    assert done["why"].startswith("At your level (Autonomous), your agent may do this")


def test_a_ceiling_below_the_level_is_rejected(person: Client) -> None:
    refused = person.request("PUT", "/api/settings", json={"level": "L2", "ceiling": "L1"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")
    assert person.get("/api/settings")["level"] == "L1"


@pytest.mark.thorough
def test_autonomy_is_offered_by_no_tool_and_decided_by_no_other_user(
    world: World, person: Client, model: ModelServer
) -> None:
    says_yes(world, person, DAYS_NEEDED)
    [offer] = offers(person)
    model.script(Reply(tool_calls=[{"name": "raise_autonomy", "arguments": offer["args"]}]), Reply(text="So."))
    person.say("Yes.")
    assert "raise_autonomy" not in str(model.requests[-1].json.get("tools"))
    with Client(person.url, "auth0|somebody-else", clock=world.clock) as other:
        body = {"decision": "approve", "args_digest": offer["args_digest"]}
        assert other.request("POST", f"/api/approvals/{offer['approval_id']}/decision", json=body).status_code == 404
        assert other.request("DELETE", "/api/autonomy/update_application").status_code == 404
    assert [each["status"] for each in offers(person)] == ["pending"]
    assert earned(person) == {}
