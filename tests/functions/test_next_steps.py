"""`GET /api/suggestions`: the user's possible next steps, based on pending work and missing data."""

from typing import Any

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.domain.candidate import CANDIDATES, EMPLOYMENT
from tests.functions.test_contact_details import Stored, database  # noqa: F401
from tests.servers import Client


def steps(client: Client) -> list[tuple[str, str]]:
    return [(each["does"], each["label"]) for each in client.request("GET", "/api/suggestions").json()]


def test_a_new_user_gets_suggestions_for_missing_profile_data(client: Client) -> None:
    assert steps(client) == [
        ("upload", "Add my résumé"),
        ("say", "Draft my Qwestly Card"),
        ("say", "Suggest a headline"),
    ]


def test_pending_work_comes_first_and_existing_things_are_not_suggested(
    client: Client,
    model: ModelServer,
    database: Stored,  # noqa: F811
) -> None:
    profile: dict[str, Any] = {"user_id": client.user_id}
    database[CANDIDATES].insert_one({**profile, "name": "Ada", "headline": "Head of Product"})
    database[EMPLOYMENT].insert_one({**profile, "company": "Globex", "title": "Head of Product"})
    change = {"field": "location", "value": "Lisbon", "rationale": "You moved."}
    model.script_chat(Reply(tool_calls=[{"name": "update_profile_field", "arguments": change}]), Reply(text="Asked."))
    client.say("I may move to Lisbon.")
    assert steps(client) == [
        ("review", "Decide on one change"),
        ("say", "Draft my Qwestly Card"),
        ("say", "Help me say what I am looking for"),
    ]
