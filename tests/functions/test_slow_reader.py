"""An answer that is sent faster than its reader takes it."""

import asyncio
import json
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from functions.chat.app import create_app
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.bootstrap import bootstrap_chat
from qwestly_agent.chat.services import ChatServices
from tests.functions.test_tools import call, calls
from tests.servers import ChatServer, Client, events_of


@dataclass
class Reader:
    """Requests an answer, and reads nothing after its first piece until the test says so."""

    client: Client
    first: asyncio.Event = field(default_factory=asyncio.Event)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    writes: list[str] = field(default_factory=list)

    @property
    def scope(self) -> dict[str, Any]:
        headers = {**self.client.headers(), "content-type": "application/json"}
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/api/chat",
            "query_string": b"",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }

    async def says(self) -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps({"message": "Who am I?"}).encode()}

    async def takes(self, message: MutableMapping[str, Any]) -> None:
        if message.get("body"):
            self.writes.append(message["body"].decode())
            self.first.set()
            await self.goes_on.wait()


@pytest.mark.thorough
@pytest.mark.anyio
async def test_events_missed_by_a_slow_reader_are_written_at_once(
    chat: ChatServer, client: Client, model: ModelServer
) -> None:
    model.script(calls(call("get_user_profile")), Reply(text="You are new here."))
    services: list[ChatServices] = []

    async def make_services() -> ChatServices:
        services.append(await bootstrap_chat(chat.settings))
        return services[0]

    app, reader = create_app(make_services), Reader(client)
    async with app.router.lifespan_context(app):
        answering = asyncio.create_task(app(reader.scope, reader.says, reader.takes))
        await reader.first.wait()
        await services[0].running.ended()
        reader.goes_on.set()
        await answering

    _, waited = reader.writes
    names = [event.name for event in events_of(iter(waited.splitlines()))]
    assert names[-1] == "done"
    assert {"tool_call", "tool_result", "text_delta"} <= set(names)
