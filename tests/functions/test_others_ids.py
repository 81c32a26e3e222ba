"""Every route answers another user's real ids like unknown ones."""

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from bson import json_util
from pymongo import MongoClient
from pymongo.database import Database

from infra.local.demo import snapshot
from infra.local.environment import DEMO_USER
from infra.local.model_server import ModelServer
from qwestly_agent.bootstrap import bootstrap_models
from qwestly_agent.platform.collection import Document
from tests.api_document import api_document
from tests.servers import ChatServer, Client

IDS_OF_A_FIELD = 3
"""Ids read from each collection of the demo user's weeks."""
MADE_UP = "made-up"
DESCRIBED = api_document()
SCHEMAS = DESCRIBED["components"]["schemas"]
ROUTES = [(m.upper(), path) for path, each in DESCRIBED["paths"].items() for m in each if re.search(r"{\w+_id}", path)]


def example(schema: dict[str, Any]) -> Any:
    """Return the smallest value that the schema allows."""
    if "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    for name in ("anyOf", "oneOf", "allOf"):
        if name in schema:
            return example(schema[name][0])
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    match schema.get("type"):
        case "object":
            return {name: example(schema["properties"][name]) for name in schema.get("required", ())}
        case "array":
            return [example(schema["items"])] * schema.get("minItems", 1)
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case _:
            return "a" * max(schema.get("minLength", 1), 64 if "64" in schema.get("pattern", "") else 1)


def parts_of(method: str, path: str) -> dict[str, Any]:
    """Return the query and the body of a request."""
    operation = DESCRIBED["paths"][path][method.lower()]
    queried = [each for each in operation.get("parameters", ()) if each["in"] == "query" and each.get("required")]
    parts: dict[str, Any] = {"params": {each["name"]: example(each["schema"]) for each in queried}}
    if body := operation.get("requestBody"):
        parts["json"] = example(body["content"]["application/json"]["schema"])
    return parts


@pytest.fixture
async def database(chat: ChatServer, model: ModelServer) -> AsyncIterator[Database[Document]]:
    """The chat's database with the demo user's weeks."""
    settings = chat.settings
    services = await bootstrap_models(settings)
    await snapshot.restore(services.mongo[settings.mongodb_database], services, services.embeddings, services.clock())
    await services.close()
    with MongoClient[Document](settings.mongodb_uri) as mongo:
        yield (restored := mongo[settings.mongodb_database])
        for name in restored.list_collection_names():
            restored[name].delete_many({"user_id": DEMO_USER})


def of_user(database: Database[Document], user_id: str) -> dict[str, list[Document]]:
    """Return the user's documents by collection."""
    every = {name: list(database[name].find({"user_id": user_id})) for name in database.list_collection_names()}
    return {name: documents for name, documents in sorted(every.items()) if documents}


def ids_in(documents: dict[str, list[Document]]) -> Iterator[str]:
    for some in documents.values():
        for field in ("_id", "id"):
            yield from [str(each[field]) for each in some if field in each][:IDS_OF_A_FIELD]


def _address(path: str, record_id: str) -> str:
    return re.sub(r"{\w+_id}", quote(record_id, safe=""), path).replace("{number}", "1")


@pytest.mark.anyio
@pytest.mark.thorough
@pytest.mark.nightly
async def test_no_route_returns_or_changes_another_users_data(
    database: Database[Document], chat: ChatServer, client: Client
) -> None:
    before = of_user(database, DEMO_USER)
    ids = sorted({each for each in ids_in(before) if "/" not in each})  # a URL is not such an id
    asked = 0
    for method, path in ROUTES:
        parts, answers = parts_of(method, path), {}
        for each in (MADE_UP, *ids):
            answer = client.request(method, _address(path, each), **parts)
            told = re.sub(r'"request_id":"\w+"', "", answer.text).replace(each, MADE_UP)
            answers[each] = (answer.status_code, told)
            asked += 1
        assert answers[MADE_UP][0] in (404, 204), (method, path, answers[MADE_UP])
        assert set(answers.values()) == {answers[MADE_UP]}, (method, path)
    assert asked == len(ROUTES) * (1 + len(ids)) > 1_000
    # The owner requests the same ids, which proves that they are valid.
    owner, read = Client(chat.url, DEMO_USER), [path for method, path in ROUTES if method == "GET"]
    shown = {path for path in read for each in ids if owner.request("GET", _address(path, each)).status_code == 200}
    assert len(shown) >= len(read) - 5, set(read) - shown
    assert json_util.dumps(of_user(database, DEMO_USER)) == json_util.dumps(before)
    assert DEMO_USER not in json_util.dumps(of_user(database, client.user_id))
