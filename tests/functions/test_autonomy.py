"""The user decides how far the agent may go without asking."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

import pytest
from pydantic_ai import RunContext, Tool
from pymongo import MongoClient

from infra.local.candidate_app import CARDS, CandidateAppServer
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import proposal_tool, tool
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.cards.actions import DELETE_CARD, SAVE_CARD_AS_ACTIVE
from qwestly_agent.domain.approval import Effect
from qwestly_agent.profile import UPDATE_PROFILE_FIELD
from qwestly_agent.services import AnyAction
from tests.counts import everyday
from tests.servers import ChatServer, Client

Happens: TypeAlias = Literal["runs", "asks", "is queued", "is not offered"]

HEADLINE = {"field": "headline", "value": "Head of Product"}
QUESTION = "Change your headline to Head of Product? You can answer yes or no."
CARD = {"card_id": "card_1"}
PROPOSED: dict[Effect, tuple[AnyAction, dict[str, str]]] = {
    "write": (UPDATE_PROFILE_FIELD, HEADLINE),
    "outward": (SAVE_CARD_AS_ACTIVE, CARD),
    "destructive": (DELETE_CARD, CARD),
}
EFFECTS: list[Effect] = ["read", "draft", *PROPOSED]


def tool_of(effect: Effect) -> Tool[AgentDeps]:
    async def do(ctx: RunContext[AgentDeps]) -> str:
        """Do it."""
        return "done"

    async def propose(ctx: RunContext[AgentDeps]) -> Proposal:
        """Do it."""
        return Proposal(*PROPOSED[effect])

    do.__name__ = propose.__name__ = f"do_{effect}"
    if effect in PROPOSED:
        return proposal_tool(propose, PROPOSED[effect][0], label=f"Doing {effect}…")
    return tool(do, effect=effect, label=f"Doing {effect}…")


@contextmanager
def able(chat: ChatServer, client: Client) -> Iterator[Client]:
    """The same user, with an agent that has a tool of each effect, and with a card."""
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        mongo[chat.settings.mongodb_database][CARDS].insert_one({"user_id": client.user_id, **CARD})
    tools = [tool_of(each) for each in EFFECTS]
    with ChatServer(chat.settings, tools=tools) as server, Client(server.url, client.user_id) as user:
        yield user


def outcome_of(user: Client, model: ModelServer, app: CandidateAppServer, effect: Effect) -> Happens:
    """Let the model call the tool of this effect; return the result for user, candidate app and model."""
    model.forget_requests()
    model.script(Reply(tool_calls=[{"name": f"do_{effect}", "arguments": {}}]), Reply(text="So."))
    app.api.requests.clear()
    answer = user.say("Do it")
    [step] = user.get(f"/api/conversations/{answer.conversation_id}")["messages"][-1]["steps"]
    waits = [event.data["status"] for event in answer.events if event.name == "approval_required"]
    written = [request["method"] for request in app.api.requests if request["method"] != "GET"]
    offered = f"do_{effect}" in [each["function"]["name"] for each in model.requests[0].json["tools"]]
    match (offered, step["ok"], waits, len(written), len(model.requests), answer.text):
        case (False, False, [], 0, 2, "So.") if step["problem"] == "There is no such tool.":
            return "is not offered"
        case (True, True, [], done, 2, "So.") if done == (effect in PROPOSED):
            return "runs"
        case (True, None, ["pending"], 0, 1, text) if text in ("", QUESTION):
            return "asks"
        case (True, None, ["pending"], 0, 2, "So."):
            return "is queued"
        case other:
            raise AssertionError(other)


NEW = {"level": "L1", "ceiling": "L3", "kinds": []}


def of_level(level: str) -> dict[str, Any]:
    """Return the view of a chosen level, with nothing earned."""
    return {"level": level, "ceiling": level, "kinds": []}


def test_a_new_user_has_the_default_level(client: Client) -> None:
    assert client.get("/api/autonomy") == NEW


def test_the_user_can_choose_the_level(chat: ChatServer, client: Client) -> None:
    assert client.request("PUT", "/api/autonomy", json={"level": "L2"}).json() == {"level": "L2"}
    assert client.get("/api/autonomy") == of_level("L2")
    with Client(chat.url, "auth0|stranger") as stranger:
        assert stranger.get("/api/autonomy") == NEW


@pytest.mark.parametrize("body", [{}, {"level": "L4"}, {"level": {"$ne": 1}}, {"level": "L3", "user_id": "x"}, []])
def test_an_invalid_level_changes_nothing(client: Client, body: Any) -> None:
    assert client.request("PUT", "/api/autonomy", json=body).status_code == 422
    assert client.get("/api/autonomy") == NEW


@pytest.mark.parametrize("kept", ["L9", None, 3, {"$gt": ""}])
def test_an_unreadable_level_counts_as_the_lowest(chat: ChatServer, client: Client, kept: Any) -> None:
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        document = {"_id": client.user_id, "user_id": client.user_id, "level": kept}
        mongo[chat.settings.mongodb_database]["agent_autonomy"].insert_one(document)
    assert client.get("/api/autonomy") == of_level("L0")


@pytest.mark.parametrize(
    ("level", "happens"),
    everyday(
        2,
        [
            ("L0", ["runs", "runs", "is not offered", "is not offered", "is not offered"]),
            ("L1", ["runs", "runs", "asks", "asks", "asks"]),
            ("L2", ["runs", "runs", "is queued", "is queued", "is queued"]),
            ("L3", ["runs", "runs", "asks", "asks", "asks"]),
        ],
    ),
)
def test_a_tool_runs_asks_or_is_refused_by_its_effect_and_the_users_level(
    chat: ChatServer, client: Client, model: ModelServer, app: CandidateAppServer, level: str, happens: list[Happens]
) -> None:
    with able(chat, client) as user:
        user.request("PUT", "/api/autonomy", json={"level": level})
        assert [outcome_of(user, model, app, each) for each in EFFECTS] == happens


@pytest.mark.thorough
def test_a_level_lowered_during_a_turn_applies_to_its_later_calls(
    chat: ChatServer, client: Client, model: ModelServer, app: CandidateAppServer
) -> None:
    with able(chat, client) as user:
        user.request("PUT", "/api/autonomy", json={"level": "L3"})
        model.script(Reply(tool_calls=[{"name": "do_write", "arguments": {}}], hold_after=0), Reply(text="So."))
        app.api.requests.clear()
        with user.open({"message": "Do it"}) as events:
            model.wait_until_held()
            user.request("PUT", "/api/autonomy", json={"level": "L0"})
            model.release()
            assert list(events)[-1].data["content"] == "So."
        assert "not change anything" in model.requests[-1].body.decode()
        assert list(app.api.requests) == []
        assert user.get("/api/approvals?state=all")["items"] == []


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", ["a result", "another effect"])
def test_a_proposal_tool_that_returns_anything_else_changes_nothing(
    chat: ChatServer, client: Client, model: ModelServer, app: CandidateAppServer, wrong: str
) -> None:
    async def publish(ctx: RunContext[AgentDeps]) -> Any:
        """Publish."""
        return "published" if wrong == "a result" else Proposal(UPDATE_PROFILE_FIELD, HEADLINE)

    published = proposal_tool(publish, SAVE_CARD_AS_ACTIVE, label="Publishing…")
    with ChatServer(chat.settings, tools=[published]) as server, Client(server.url, client.user_id) as user:
        user.request("PUT", "/api/autonomy", json={"level": "L3"})
        model.script(Reply(tool_calls=[{"name": "publish", "arguments": {}}]), Reply(text="It did not work."))
        app.api.requests.clear()
        assert user.say("Publish it").text == "It did not work."
        assert list(app.api.requests) == []
        assert user.get("/api/approvals?state=all")["items"] == []


def test_a_new_level_is_in_the_next_prompt(client: Client, model: ModelServer) -> None:
    first = client.say("Hello")
    assert "waits for the user's yes" in model.requests[-1].body.decode()
    client.request("PUT", "/api/autonomy", json={"level": "L0"})
    client.say("And now?", first.conversation_id)
    assert "You change nothing" in model.requests[-1].body.decode()
