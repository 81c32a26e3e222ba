"""No collection contains user data that is not exported, not erased, or kept without a stated period."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.platform.collection import Expires
from qwestly_agent.stores import activity, approvals, conversations, memories, messages, usage, user_settings
from qwestly_agent.stores.user_data import user_collections
from tests.mongo_rule import ABOUT_NOBODY, ACTIONS
from tests.servers import ChatServer, Client

ROOT = Path(__file__).parents[2]
CANDIDATE_APPS = {name for name, actions in ACTIONS.items() if actions == {"find"}}
LEFT_BY_A_CHAT = {
    conversations.COLLECTION,
    messages.COLLECTION,
    messages.TOOL_CALLS,
    usage.COLLECTION,
    memories.COLLECTION,
    activity.COLLECTION,
    approvals.COLLECTION,
    user_settings.AUTONOMY,
    user_settings.SIGNALS,
}


@pytest.fixture
def database(chat: ChatServer) -> Iterator[Database[dict[str, Any]]]:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        yield mongo[chat.settings.mongodb_database]


def named_in_the_code() -> set[str]:
    """Each collection that a line of the package or of a function takes from a database, by a constant or literally."""
    found: set[str] = set()
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "functions").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        found.update(re.findall(r"""database\[["']([^"']+)["']\]""", text))
        if constants := re.findall(r"database\[((?:\w+\.)?[A-Z_]+)\]", text):
            of = path.relative_to(ROOT / "src") if path.is_relative_to(ROOT / "src") else path.relative_to(ROOT)
            module: Any = import_module(".".join(of.with_suffix("").parts))
            for name, _, constant in (each.rpartition(".") for each in constants):
                found.add(getattr(getattr(module, name) if name else module, constant))
    return found


def of_user(database: Database[dict[str, Any]], user_id: str) -> Mapping[str, list[dict[str, Any]]]:
    """Each document that contains the user's id anywhere, by collection."""
    found = {
        name: [each for each in database[name].find() if user_id in repr(each)]
        for name in database.list_collection_names()
    }
    return {name: documents for name, documents in found.items() if documents}


def a_chat_with_everything(client: Client, model: ModelServer) -> None:
    remember = {"type": "fact", "text": "Lives in Lisbon", "quote": "I live in Lisbon"}
    model.script(Reply(tool_calls=[{"name": "remember", "arguments": remember}]), Reply(text="Noted."))
    client.say("I live in Lisbon.")
    wish = {"name": "work_mode", "value": "remote", "rationale": "You asked for it."}
    model.script(Reply(tool_calls=[{"name": "update_preference", "arguments": wish}]), Reply(text="Please decide."))
    client.say("I want to work remotely.")
    client.request("PUT", "/api/autonomy", json={"level": "L2"})
    client.request("POST", "/api/brake")
    client.request("DELETE", "/api/brake")


def test_every_user_collection_named_in_the_code_is_exported_and_erased() -> None:
    assert named_in_the_code() - CANDIDATE_APPS - ABOUT_NOBODY <= {*user_collections()}


def test_the_feed_and_the_brake_are_erased_after_their_writers() -> None:
    first, *_, feed, brake = user_collections()
    assert (first, feed, brake) == (conversations.COLLECTION, activity.COLLECTION, user_settings.SIGNALS)
    assert len({*user_collections()}) == len(user_collections())


@pytest.mark.thorough
def test_all_chat_data_of_a_user_is_exported(
    client: Client, model: ModelServer, database: Database[dict[str, Any]]
) -> None:
    a_chat_with_everything(client, model)
    left = {name: len(documents) for name, documents in of_user(database, client.user_id).items()}
    left = {name: count for name, count in left.items() if name not in CANDIDATE_APPS}
    assert left.keys() >= LEFT_BY_A_CHAT
    assert {name: count for name, count in client.get("/api/me/export")["counts"].items() if count} == left


def test_all_chat_data_of_a_user_is_erased(
    client: Client, model: ModelServer, database: Database[dict[str, Any]]
) -> None:
    a_chat_with_everything(client, model)
    client.request("DELETE", "/api/me")
    assert of_user(database, client.user_id).keys() <= CANDIDATE_APPS


def test_an_expiring_document_has_its_expiry_date(
    client: Client, model: ModelServer, database: Database[dict[str, Any]]
) -> None:
    a_chat_with_everything(client, model)
    found = of_user(database, client.user_id)
    for name in user_collections():
        documents = found.get(name, [])
        if isinstance(kept := name.retention, Expires):
            # The local database returns an updated date as text.
            dates = [datetime.fromisoformat(str(each[kept.field])).replace(tzinfo=UTC) for each in documents]
            latest = datetime.now(UTC) + kept.after
            assert all(datetime.now(UTC) < date <= latest for date in dates), name
