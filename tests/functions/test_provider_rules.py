"""Requests to models, at a server that rejects whatever the providers reject (`infra/local/model_server.py`)."""

from dataclasses import replace

import pytest

from infra.local.model_server import ModelServer
from qwestly_agent import model_calls
from qwestly_agent.base.errors import ModelRefused
from tests.functions.talking import talking
from tests.servers import ChatServer, Client

TEN_TURNS = (
    "Hello there",
    "Remember that I live in Lisbon",
    "What do we know about me?",
    "How does Qwestly work?",
    "What are my goals?",
    "What does my résumé say?",
    "Suggest a LinkedIn About for me",
    "What can you do?",
    "What did I just say?",
    "Thanks!",
)


@pytest.mark.thorough
def test_providers_accept_ten_turns_with_tools_and_an_about_text(client: Client, model: ModelServer) -> None:
    conversation_id = None
    for words in TEN_TURNS:
        answer = client.say(words, conversation_id)
        conversation_id = answer.conversation_id
        assert answer.last.name == "done", (words, answer.last)
        assert answer.text
    asked = [request.json for request in model.requests if request.path.endswith("/chat/completions")]
    assert {body["model"] for body in asked} == {"deepseek-flash", "deepseek-v4-pro"}
    assert [body["tool_choice"] for body in asked if body["model"] == "deepseek-v4-pro"] == [
        "required"
    ] * 2  # the About text, and the judge of a memory
    assert all(body["thinking"] == {"type": "disabled"} for body in asked)


@pytest.mark.anyio
async def test_providers_accept_the_requests_of_extraction_and_comparison(
    model: ModelServer, mongodb_uri: str, database_name: str
) -> None:
    async with talking(mongodb_uri, database_name, model) as talk:
        await talk.says("I live in Berlin.")
        await talk.falls_silent()
        await talk.says("I moved to Lisbon.", conversation_id="c2")
        await talk.falls_silent()
        assert await talk.remembered() == ["Lives in Lisbon."]
        forced = [request.json["tool_choice"] for request in talk.asked("/chat/completions")]
        assert forced == ["required"] * 5


@pytest.mark.thorough
@pytest.mark.anyio
async def test_an_unknown_model_name_is_shown_as_our_sentence_and_raised_in_extraction(
    chat: ChatServer, client: Client, model: ModelServer, mongodb_uri: str, database_name: str
) -> None:
    settings = replace(chat.settings, model_fast="deepseek:deepseek-v3")
    with ChatServer(settings) as server, Client(server.url, client.user_id) as user:
        assert user.say("Hello").last.data["message"] == model_calls.NOT_FOR_US
    async with talking(mongodb_uri, database_name, model, model_fast="deepseek:deepseek-v3") as talk:
        await talk.says("I live in Lisbon.")
        with pytest.raises(ModelRefused):
            await talk.falls_silent()
