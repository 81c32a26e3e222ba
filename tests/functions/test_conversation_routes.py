"""The user searches conversations by words and sets their titles."""

from typing import Any

import pytest
from pymongo import MongoClient

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.stores.conversation_search import MOST_COMPARED
from tests.servers import ChatServer, Client


def find(client: Client, q: str, **more: str) -> list[tuple[str, str]]:
    items = client.request("GET", "/api/conversations", params={"q": q, **more}).raise_for_status().json()["items"]
    return [(each["id"], each["found"]["snippet"]) for each in items]


@pytest.fixture
def talked(client: Client, model: ModelServer) -> list[str]:
    """Three conversations, oldest first."""
    said = (
        ("Which roles fit me?", "Head of **Product** at a C++ shop in São Paulo."),
        ("Is product management for me?", "It is."),
        ("Hello", "See ![it](https://evil.example/x) about salaries, <b>bold</b>."),
    )
    ids: list[str] = []
    for asked, answered in said:
        model.script(Reply(text=answered))
        ids.append(client.say(asked).conversation_id)
    return ids


@pytest.mark.thorough
def test_conversations_are_found_by_words_in_titles_and_messages(client: Client, talked: list[str]) -> None:
    roles, management, hello = talked
    assert find(client, "prod") == [
        (management, "Is product management for me?"),
        (roles, "Head of **Product** at a C++ shop in São Paulo."),
    ]
    assert [each for each, _ in find(client, "SÃO c++")] == [roles]
    assert [each for each, _ in find(client, "alaries")] == []
    assert [each for each, _ in find(client, "product hello")] == []
    assert [each for each, _ in find(client, ".*")] == []
    assert [each for each, _ in find(client, "  ")] == []
    assert [each for each, _ in find(client, "see")] == [hello]


def test_a_search_result_says_where_it_matched_and_which_words_to_highlight(client: Client, talked: list[str]) -> None:
    [item] = client.get("/api/conversations?q=head%20at")["items"]
    assert item["found"]["words"] == ["Head", "at"]
    answer = client.get(f"/api/conversations/{talked[0]}")["messages"][-1]
    assert item["found"]["message_id"] == answer["id"]
    [item] = client.get("/api/conversations?q=which")["items"]
    assert item["found"]["message_id"] is None


@pytest.mark.thorough
def test_a_snippet_contains_no_link_image_or_tag(client: Client, model: ModelServer) -> None:
    model.script(Reply(text="Noted."))
    client.say("Hello. " * 30 + "Look ![at](https://evil.example/x) <img src=x> findme\u202e " + "and so on " * 30)
    [(_, snippet)] = find(client, "findme")
    assert "](" not in snippet
    assert "<img" not in snippet
    assert "\u202e" not in snippet
    assert snippet.startswith("…")
    assert len(snippet) < 200


@pytest.mark.thorough
def test_found_conversations_are_returned_in_pages(client: Client, talked: list[str]) -> None:
    first = client.get("/api/conversations?q=product&limit=1")
    rest = client.get(f"/api/conversations?q=product&limit=1&after={first['next']}")
    assert [each["id"] for each in (*first["items"], *rest["items"])] == [talked[1], talked[0]]
    assert rest["next"] is None


def test_a_search_finds_only_the_users_own_conversations(client: Client, chat: ChatServer, talked: list[str]) -> None:
    with Client(chat.url, "auth0|somebody-else") as other:
        assert find(other, "product") == []
        renamed = other.request("PATCH", f"/api/conversations/{talked[0]}", json={"title": "Mine"})
        assert (renamed.status_code, renamed.json()["error"]["code"]) == (404, "not_found")
    assert client.get(f"/api/conversations/{talked[0]}")["title"] == "Which roles fit me?"


def test_an_overlong_search_query_is_rejected(client: Client) -> None:
    assert client.request("GET", "/api/conversations", params={"q": "a" * 201}).status_code == 422


@pytest.mark.thorough
def test_a_title_set_by_the_user_is_kept_and_found(client: Client, talked: list[str]) -> None:
    path = f"/api/conversations/{talked[2]}"
    renamed = client.request("PATCH", path, json={"title": "  My \n next\u202e [step](https://evil.example) "})
    title = renamed.json()["title"]
    assert title.startswith("My next [step]")
    assert "](" not in title
    client.say("And then?", talked[2])
    assert client.get(path)["title"] == title
    assert [each for each, _ in find(client, "my next")] == [talked[2]]


@pytest.mark.thorough
@pytest.mark.parametrize("title", ["", " \n ", "\u202e", "x" * 81, "x" * 100_000])
def test_an_invalid_title_is_rejected_with_a_sentence(client: Client, talked: list[str], title: str) -> None:
    refused = client.request("PATCH", f"/api/conversations/{talked[0]}", json={"title": title})
    assert refused.status_code == 422
    assert refused.json()["error"]["message"] == "A title has 1 to 80 characters."
    assert client.get(f"/api/conversations/{talked[0]}")["title"] == "Which roles fit me?"


@pytest.mark.nightly
@pytest.mark.thorough
def test_a_search_page_compares_a_limited_number_and_the_next_page_continues(client: Client, chat: ChatServer) -> None:
    user_id = client.user_id
    old = [
        {"_id": f"{user_id}:c{n}", "user_id": user_id, "id": f"c{n}", "title": f"Chat {n}", "last_used": 1000.0 + n}
        for n in range(MOST_COMPARED + 2)
    ]
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        mongo[chat.settings.mongodb_database]["agent_conversations"].insert_many(old)
    first = client.get("/api/conversations?q=Chat%201&limit=1")
    assert first["items"][0]["title"] == "Chat 199"
    nothing = client.get("/api/conversations?q=0")
    assert nothing["items"] == []
    [found] = client.get(f"/api/conversations?q=0&after={nothing['next']}")["items"]
    assert found["id"] == "c0"
