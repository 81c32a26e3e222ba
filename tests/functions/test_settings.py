"""The user's level, language and time zone."""

from typing import Any

import pytest
from pymongo import MongoClient

from tests.servers import ChatServer, Client

MAILS = {"mail_questions": True, "mail_reminders": True, "document_name": None, "document_head": None}
NEVER_SET = {"level": "L1", "ceiling": "L3", "language": None, "time_zone": None, **MAILS}


def put(client: Client, **chosen: Any) -> Any:
    return client.request("PUT", "/api/settings", json=chosen)


def test_a_new_user_has_only_a_level_set(client: Client) -> None:
    assert client.get("/api/settings") == NEVER_SET


def test_changing_one_setting_leaves_the_others_unchanged(client: Client, chat: ChatServer) -> None:
    assert put(client, language="pt-BR", time_zone="America/Sao_Paulo").status_code == 200
    assert put(client, level="L2").json() == {**client.get("/api/settings"), "refused": {}}
    assert client.get("/api/settings") == {
        "level": "L2",
        "ceiling": "L2",
        "language": "pt-BR",
        "time_zone": "America/Sao_Paulo",
        **MAILS,
    }
    assert client.get("/api/autonomy")["level"] == "L2"
    with Client(chat.url, "auth0|somebody-else") as other:
        assert other.get("/api/settings") == NEVER_SET


@pytest.mark.parametrize(
    "wrong",
    [
        {"time_zone": "Etc/Unknown"},
        {"time_zone": "Mars/Olympus"},
        {"time_zone": "localtime"},
        {"time_zone": "Factory"},
        {"time_zone": "GMT+2"},
        {"time_zone": "Europe/Berlin\n"},
        {"time_zone": {}},
        {"time_zone": "../../etc/passwd"},
        {"time_zone": "America"},
        {"time_zone": ""},
        {"time_zone": 3},
        {"time_zone": "x" * 65},
        {"language": "<b>"},
        {"language": ""},
        {"language": "de_DE@euro"},
        {"ceiling": 2},
        {"language": ["de"]},
        {"level": "L9"},
        {"ceiling": "L9"},
    ],
)
def test_only_the_invalid_setting_is_rejected(client: Client, wrong: dict[str, Any]) -> None:
    refused = put(client, **wrong)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")
    right = {"level": "L2", "ceiling": "L2", "language": "de", "time_zone": "Europe/Lisbon", **MAILS}
    changed = put(client, **{**right, **wrong})
    assert (changed.status_code, changed.json()["refused"].keys()) == (200, wrong.keys())
    if "level" in wrong:
        right["level"] = "L1"
    assert client.get("/api/settings") == {
        **right,
        **{name: right[name] if name in ("level", "ceiling") else None for name in wrong},
    }


def test_a_ceiling_below_its_level_rejects_both(client: Client) -> None:
    assert put(client, level="L2", ceiling="L1").status_code == 422
    changed = put(client, level="L2", ceiling="L1", language="de").json()
    assert changed.pop("refused").keys() == {"ceiling"}
    assert changed == client.get("/api/settings") == {**NEVER_SET, "language": "de"}


@pytest.mark.parametrize("wrong", [{"user_id": "auth0|somebody-else"}, {"language": None, "time_zone": "Mars/Olympus"}])
def test_an_invalid_settings_request_changes_nothing(client: Client, wrong: dict[str, Any]) -> None:
    more = {"language": "de"} if "user_id" in wrong else {}
    assert put(client, **more, **wrong).status_code == 422
    assert client.get("/api/settings") == NEVER_SET


def test_a_time_zone_that_no_longer_exists_counts_as_unset(client: Client, chat: ChatServer) -> None:
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        document = {"_id": client.user_id, "user_id": client.user_id, "language": "de", "time_zone": "Mars/Olympus"}
        mongo[chat.settings.mongodb_database]["agent_settings"].insert_one(document)
    kept = client.get("/api/settings")
    assert (kept["time_zone"], kept["language"]) == (None, "de")


def test_settings_need_a_token_and_are_exported_and_erased(client: Client) -> None:
    assert client.http.put(f"{client.url}/api/settings", json={"level": "L3"}).status_code == 401
    put(client, time_zone="Europe/Lisbon")
    [kept] = client.get("/api/me/export")["collections"]["agent_settings"]
    assert kept["time_zone"] == "Europe/Lisbon"
    client.request("DELETE", "/api/me")
    assert client.get("/api/settings")["time_zone"] is None
