"""The user decides how far the agent may go."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic_ai import RunContext
from pymongo import MongoClient

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.authority.model import Effect
from qwestly_agent.tools.base import tool
from tests.servers import ChatServer, Client

EFFECTS: list[Effect] = ["read", "draft", "write", "outward", "destructive"]


@contextmanager
def able(chat: ChatServer, client: Client, done: list[str]) -> Iterator[Client]:
    """The same user, of an agent with a tool of each effect."""

    def tool_of(effect: Effect) -> Any:
        async def do(ctx: RunContext[AgentDeps]) -> str:
            """Do it."""
            done.append(effect)
            return "done"

        do.__name__ = f"do_{effect}"
        return tool(do, effect=effect, label=f"Doing {effect}…")

    tools = [tool_of(each) for each in EFFECTS]
    with ChatServer(chat.settings, tools=tools) as server, Client(server.url, client.user_id) as user:
        yield user


def test_a_new_user_is_assisted(client: Client) -> None:
    assert client.get("/api/autonomy") == {"level": "L1"}


def test_the_level_is_the_users_own_choice(chat: ChatServer, client: Client) -> None:
    assert client.request("PUT", "/api/autonomy", json={"level": "L2"}).json() == {"level": "L2"}
    assert client.get("/api/autonomy") == {"level": "L2"}
    with Client(chat.url, "auth0|stranger") as stranger:
        assert stranger.get("/api/autonomy") == {"level": "L1"}


@pytest.mark.parametrize("body", [{}, {"level": "L4"}, {"level": {"$ne": 1}}, {"level": "L3", "user_id": "x"}, []])
def test_what_is_no_level_changes_nothing(client: Client, body: Any) -> None:
    assert client.request("PUT", "/api/autonomy", json=body).status_code == 422
    assert client.get("/api/autonomy") == {"level": "L1"}


@pytest.mark.parametrize("kept", ["L9", None, 3, {"$gt": ""}])
def test_a_level_that_cannot_be_read_is_the_lowest(chat: ChatServer, client: Client, kept: Any) -> None:
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        document = {"_id": client.user_id, "user_id": client.user_id, "level": kept}
        mongo[chat.settings.mongodb_database]["agent_autonomy"].insert_one(document)
    assert client.get("/api/autonomy") == {"level": "L0"}


@pytest.mark.parametrize(
    ("level", "offered", "happens"),
    [
        ("L0", ["read", "draft"], ["read", "draft"]),
        ("L1", EFFECTS, ["read", "draft"]),
        ("L2", EFFECTS, ["read", "draft"]),
        ("L3", EFFECTS, ["read", "draft", "write"]),
    ],
)
def test_a_tool_does_what_its_effect_may_at_the_users_level(
    chat: ChatServer, client: Client, model: ModelServer, level: str, offered: list[str], happens: list[str]
) -> None:
    done: list[str] = []
    with able(chat, client, done) as user:
        user.request("PUT", "/api/autonomy", json={"level": level})
        model.script(
            *[Reply(tool_calls=[{"name": f"do_{each}", "arguments": {}}]) for each in EFFECTS], Reply(text="So.")
        )
        answer = user.say("Do it all")
        assert answer.last.data["content"] == "So."
        names = [each["function"]["name"] for each in model.requests[0].json["tools"]]
        steps = user.get(f"/api/conversations/{answer.conversation_id}")["messages"][-1]["steps"]
    assert names == [f"do_{each}" for each in offered]
    assert done == happens
    assert [step["name"] for step in steps if step["ok"]] == [f"do_{each}" for each in happens]
    assert all(step["problem"] for step in steps if not step["ok"])


def test_a_new_level_is_in_the_next_prompt(client: Client, model: ModelServer) -> None:
    first = client.say("Hello")
    assert "waits for the user's yes" in model.requests[-1].body.decode()
    client.request("PUT", "/api/autonomy", json={"level": "L0"})
    client.say("And now?", first.conversation_id)
    assert "You change nothing" in model.requests[-1].body.decode()
