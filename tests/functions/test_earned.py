"""Earned autonomy through the front door: offered after ten yeses, given by a signed-in yes, taken back by one no."""

from typing import Any

import pytest
from pymongo import MongoClient

from infra.local.candidate_app import CandidateAppServer
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.domain.approval import YESES_NEEDED
from qwestly_agent.stores.candidate_data import CANDIDATES
from tests.functions.talking import wishes
from tests.servers import Answer, ChatServer, Client

TITLES = ["Head of Product", "Product Lead", "Group Product Manager"]


@pytest.fixture
def person(chat: ChatServer, client: Client, app: CandidateAppServer) -> Client:
    """A user with a profile, who lets their agent earn its way up to L3."""
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        profiles = mongo[chat.settings.mongodb_database][CANDIDATES]
        profiles.insert_one({"user_id": client.user_id, "headline": "Product Manager"})
    client.request("PUT", "/api/settings", json={"ceiling": "L3"}).raise_for_status()
    return client


def proposes(person: Client, model: ModelServer, title: str, *, message: str | None = None) -> Answer:
    """The user asks for a headline, and the model proposes it."""
    change = {"field": "headline", "value": title}
    model.script(Reply(tool_calls=[{"name": "update_profile_field", "arguments": change}]), Reply(text="So."))
    return person.say(f"Make my headline {title}." if message is None else message)


def waiting(person: Client, kind: str = "profile") -> list[dict[str, Any]]:
    return [each for each in person.get("/api/approvals")["items"] if each["kind"] == kind]


def decide(person: Client, approval: dict[str, Any], decision: str = "approve", **more: Any) -> dict[str, Any]:
    body = {"decision": decision, "args_digest": approval["args_digest"], **more}
    answered = person.request("POST", f"/api/approvals/{approval['approval_id']}/decision", json=body)
    return answered.raise_for_status().json()


def says_yes(person: Client, model: ModelServer, times: int, **more: Any) -> None:
    for number in range(times):
        proposes(person, model, f"{TITLES[number % 3]} {number}", **more)
        [approval] = waiting(person)
        assert decide(person, approval)["status"] == "done"


def kind_of(person: Client) -> dict[str, Any]:
    [kind] = person.get("/api/autonomy")["kinds"]
    return kind


def earns(person: Client, model: ModelServer) -> None:
    says_yes(person, model, YESES_NEEDED)
    [offer] = waiting(person, "autonomy")
    assert decide(person, offer)["status"] == "done"


def test_ten_yeses_offer_one_step_more_and_a_yes_gives_it(person: Client, model: ModelServer) -> None:
    says_yes(person, model, YESES_NEEDED - 1)
    assert waiting(person, "autonomy") == []
    says_yes(person, model, 1)
    [offer] = waiting(person, "autonomy")
    [change] = offer["preview"]["changes"]
    assert (change["before"], change["after"]) == (
        "Your agent asks you, and waits.",
        "It waits in your approvals while your agent goes on.",
    )
    assert kind_of(person)["level"] == "L1"
    assert decide(person, offer)["status"] == "done"
    kind = kind_of(person)
    assert (kind["level"], kind["is_earned"], kind["offers"]) == ("L2", True, "L3")
    assert kind["record"].startswith("10 yes, none changed, since ")
    assert proposes(person, model, "Chief Product Officer").text == "So."  # the agent goes on
    assert person.get("/api/autonomy")["level"] == "L1"  # of everything else


@pytest.mark.nightly
@pytest.mark.thorough
def test_ten_more_earn_what_is_done_right_away_and_an_undo_takes_it_back(person: Client, model: ModelServer) -> None:
    earns(person, model)
    earns(person, model)
    assert kind_of(person)["level"] == "L3"
    change = {"field": "headline", "value": "Chief Product Officer"}
    words = "Make my headline Chief Product Officer."
    tool = Reply(tool_calls=[{"name": "update_profile_field", "arguments": change}])
    model.script(tool, wishes(words), Reply(text="Done."))
    assert person.say(words).text == "Done."
    assert waiting(person) == []
    done = person.get("/api/activity")["items"][0]
    assert done["undo_until"]
    assert done["why"].startswith("At the level that your agent earned for this (Autonomous), your agent may do this")
    person.request("POST", f"/api/activity/{done['id']}/undo").raise_for_status()
    assert kind_of(person)["level"] == "L1"
    assert proposes(person, model, "Product Lead").names[-4] == "approval_required"
    [taken_back] = [each for each in person.get("/api/activity")["items"] if each["type"] == "autonomy.taken_back"]
    assert taken_back["title"] == "Your agent asks you again"
    assert "undid it" in taken_back["why"]


@pytest.mark.thorough
@pytest.mark.parametrize("no", ["reject", "edit", "revise"])
def test_one_no_edit_or_wish_for_changes_takes_it_back(person: Client, model: ModelServer, no: str) -> None:
    earns(person, model)
    proposes(person, model, "Chief Product Officer")
    [approval] = waiting(person)
    more = {"args": {"value": "Chief of Product"}} if no == "edit" else {"reason": "No."}
    decide(person, approval, no, **more)
    kind = kind_of(person)
    assert (kind["level"], kind["is_earned"]) == ("L1", False)
    assert "No yes in a row yet" in kind["record"]


@pytest.mark.nightly
@pytest.mark.thorough
def test_nothing_is_offered_until_the_ceiling_is_raised(person: Client, model: ModelServer) -> None:
    person.request("PUT", "/api/settings", json={"level": "L2"}).raise_for_status()
    assert person.get("/api/settings")["ceiling"] == "L2"
    says_yes(person, model, YESES_NEEDED)
    assert waiting(person, "autonomy") == []
    assert kind_of(person)["offers"] is None


@pytest.mark.thorough
def test_answers_by_words_earn_nothing(person: Client, model: ModelServer) -> None:
    for number in range(YESES_NEEDED):
        card = proposes(person, model, f"{TITLES[number % 3]} {number}")
        model.script(Reply(text="So."))
        person.say("ok", card.conversation_id, answers=card.id)
    records = person.get("/api/approvals?state=all")["items"]
    assert [(each["status"], each["decided_by"]) for each in records] == [("done", "words")] * YESES_NEEDED
    assert waiting(person, "autonomy") == []


@pytest.mark.nightly
@pytest.mark.thorough
def test_what_the_user_did_not_ask_for_earns_nothing(person: Client, model: ModelServer) -> None:
    says_yes(person, model, YESES_NEEDED + 1, message="What would suit me?")
    assert waiting(person, "autonomy") == []
    assert person.get("/api/autonomy")["kinds"] == []


@pytest.mark.nightly
@pytest.mark.thorough
def test_an_offer_that_was_declined_needs_ten_more(person: Client, model: ModelServer) -> None:
    says_yes(person, model, YESES_NEEDED)
    [offer] = waiting(person, "autonomy")
    decide(person, offer, "reject")
    says_yes(person, model, YESES_NEEDED - 1)
    assert waiting(person, "autonomy") == []
    says_yes(person, model, 1)
    assert len(waiting(person, "autonomy")) == 1


@pytest.mark.thorough
def test_a_no_between_offer_and_yes_makes_the_yes_worth_nothing(person: Client, model: ModelServer) -> None:
    says_yes(person, model, YESES_NEEDED)
    [offer] = waiting(person, "autonomy")
    proposes(person, model, "Chief Product Officer")
    [approval] = waiting(person)
    decide(person, approval, "reject")
    decide(person, offer)
    assert kind_of(person)["level"] == "L1"


@pytest.mark.thorough
def test_a_lower_level_ends_what_was_earned(person: Client, model: ModelServer) -> None:
    earns(person, model)
    person.request("PUT", "/api/settings", json={"level": "L0"}).raise_for_status()
    assert kind_of(person)["level"] == "L0"


def test_a_ceiling_below_the_level_is_refused(person: Client) -> None:
    refused = person.request("PUT", "/api/settings", json={"level": "L2", "ceiling": "L1"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")
    assert person.get("/api/settings")["level"] == "L1"


@pytest.mark.thorough
def test_no_tool_offers_autonomy_and_no_other_user_decides_it(
    person: Client, model: ModelServer, chat: ChatServer
) -> None:
    says_yes(person, model, YESES_NEEDED)
    [offer] = waiting(person, "autonomy")
    assert "raise_autonomy" not in str(model.requests[-1].json.get("tools"))
    model.script(Reply(tool_calls=[{"name": "raise_autonomy", "arguments": offer["args"]}]), Reply(text="So."))
    person.say("Yes.")
    with Client(chat.url, "auth0|somebody-else") as other:
        body = {"decision": "approve", "args_digest": offer["args_digest"]}
        assert other.request("POST", f"/api/approvals/{offer['approval_id']}/decision", json=body).status_code == 404
    assert [each["status"] for each in waiting(person, "autonomy")] == ["pending"]
    assert kind_of(person)["level"] == "L1"
