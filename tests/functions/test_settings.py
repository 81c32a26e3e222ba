"""The user's level, language and time zone."""

from typing import Any

import pytest
from pymongo import MongoClient

from tests.servers import ChatServer, Client


def put(client: Client, **chosen: Any) -> Any:
    return client.request("PUT", "/api/settings", json=chosen)


def test_a_new_user_has_a_level_and_nothing_else_set(client: Client) -> None:
    assert client.get("/api/settings") == {"level": "L1", "ceiling": "L1", "language": None, "time_zone": None}


def test_what_is_set_stays_and_what_is_left_out_stays_as_it_was(client: Client, chat: ChatServer) -> None:
    assert put(client, language="pt-BR", time_zone="America/Sao_Paulo").status_code == 200
    assert put(client, level="L2").json() == client.get("/api/settings")
    assert client.get("/api/settings") == {
        "level": "L2",
        "ceiling": "L2",
        "language": "pt-BR",
        "time_zone": "America/Sao_Paulo",
    }
    assert client.get("/api/autonomy")["level"] == "L2"
    with Client(chat.url, "auth0|somebody-else") as other:
        assert other.get("/api/settings") == {"level": "L1", "ceiling": "L1", "language": None, "time_zone": None}


@pytest.mark.parametrize(
    "wrong",
    [
        {"time_zone": "Mars/Olympus"},
        {"time_zone": "../../etc/passwd"},
        {"time_zone": "America"},
        {"time_zone": ""},
        {"language": "<b>"},
        {"language": ""},
        {"level": "L9"},
        {"ceiling": "L9"},
        {"ceiling": "L1"},
        {"user_id": "auth0|somebody-else"},
    ],
)
def test_what_does_not_exist_is_refused_and_changes_nothing(client: Client, wrong: dict[str, str]) -> None:
    refused = put(client, **{"level": "L2", "language": "de", **wrong})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")
    assert client.get("/api/settings") == {"level": "L1", "ceiling": "L1", "language": None, "time_zone": None}


def test_a_zone_that_no_longer_exists_counts_as_none(client: Client, chat: ChatServer) -> None:
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        document = {"_id": client.user_id, "user_id": client.user_id, "language": "de", "time_zone": "Mars/Olympus"}
        mongo[chat.settings.mongodb_database]["agent_settings"].insert_one(document)
    assert client.get("/api/settings")["time_zone"] is None


def test_settings_need_a_token_and_are_exported_and_erased(client: Client) -> None:
    assert client.http.put(f"{client.url}/api/settings", json={"level": "L3"}).status_code == 401
    put(client, time_zone="Europe/Lisbon")
    [kept] = client.get("/api/me/export")["collections"]["agent_settings"]
    assert kept["time_zone"] == "Europe/Lisbon"
    client.request("DELETE", "/api/me")
    assert client.get("/api/settings")["time_zone"] is None
