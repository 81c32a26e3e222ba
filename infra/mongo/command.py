"""The database that MONGODB_URI names.

check            what is missing: indexes, filter fields, the fields we assume; changes nothing
apply            make our indexes; never touches what is not ours
rights           print what each role may do, by collection
role             print the role of the functions as Atlas's API takes it, for the database MONGODB_DATABASE
role --chat      the same of the role of the functions that serve signed-in users
role --reader    the same of the readers' role
role --opener    the same of the role of what opens files
role --command   the same as a command for `db.runCommand`
ingest FOLDER    bring FOLDER's Markdown into qwestly_docs, and take out what is gone from it

The agent's own database user may ingest. Check and apply need one that may list and create indexes: they take
ADMIN_MONGODB_URI where it is set.
"""

import argparse
import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import OperationFailure
from pymongo.operations import SearchIndexModel

from infra.mongo.indexes import ASSUMED, INDEXES, SEARCH_INDEXES, Assumed, TextSearchIndex, VectorIndex
from infra.mongo.ingest import ingest, sections_of
from infra.mongo.roles import AGENT, OTHER_ROLES, rights
from infra.stages import WrongUsage, database_settings
from qwestly_agent.bootstrap import make_embeddings, make_mongo_client
from qwestly_agent.platform.collection import Document
from qwestly_agent.stores.candidate_data import Docs

PRODUCTION = "candidate_portal"
SAMPLE = 200
"""Number of documents that `check` samples in a collection of the candidate app."""
NOT_ALLOWED = (13, 8000)
"""MongoDB's and Atlas's codes for a missing permission."""
EXACTLY = "searches compare exactly"
NOTHING_TO_SAY = "empty, so nothing can be said about its fields"


def is_tolerable(problem: str) -> bool:
    """True if everything works nevertheless, or if there are too few documents to decide."""
    few = re.search(r"no document of (\d+) has", problem)
    return problem.endswith((EXACTLY, NOTHING_TO_SAY)) or (few is not None and int(few[1]) < SAMPLE)


async def check(database: AsyncDatabase[Document]) -> list[str]:
    """Return one message per missing item."""
    return [
        *[problem async for problem in missing_indexes(database)],
        *[problem async for problem in missing_search_indexes(database)],
        *[problem async for problem in missing_fields(database)],
    ]


async def apply(database: AsyncDatabase[Document]) -> list[str]:
    """Create our indexes. Returns a sentence for each collection."""
    for collection, indexes in INDEXES.items():
        await database[collection].create_indexes(indexes)
    return [
        *(f"{collection}: {len(indexes)} indexes" for collection, indexes in INDEXES.items()),
        *[await _apply_search_index(database, index) for index in SEARCH_INDEXES if index.ours],
    ]


async def _apply_search_index(database: AsyncDatabase[Document], index: VectorIndex | TextSearchIndex) -> str:
    existing = await _search_indexes(database, index.collection)
    if existing is None:
        return f"{index.collection}: this server has no search indexes; {EXACTLY}"
    if index.name in existing:
        if {index.path, *index.filters} <= index.paths_in(existing[index.name]):
            return f"{index.collection}: {index.name} is there"
        await database[index.collection].update_search_index(index.name, index.definition())
        return f"{index.collection}: {index.name} is being built anew"
    model = SearchIndexModel(index.definition(), name=index.name, type=index.type)
    await database[index.collection].create_search_index(model)
    return f"{index.collection}: {index.name} is being built"


async def missing_indexes(database: AsyncDatabase[Document]) -> AsyncIterator[str]:
    for collection, indexes in INDEXES.items():
        # Compared by fields, because the laptop's server chooses its own names and ignores directions.
        there = [[name for name, _ in i["key"]] for i in (await database[collection].index_information()).values()]
        for index in indexes:
            if list(index.document["key"]) not in there:
                yield f"{collection}: index {index.document['name']} is missing; run apply"


async def missing_search_indexes(database: AsyncDatabase[Document]) -> AsyncIterator[str]:
    for index in SEARCH_INDEXES:
        existing = await _search_indexes(database, index.collection)
        if existing is None:
            yield f"{index.collection}: this server has no search indexes; {EXACTLY}"
        elif index.name not in existing:
            yield f"{index.collection}: search index {index.name} is missing{'; run apply' if index.ours else ''}"
        else:
            for path in sorted({index.path, *index.filters} - index.paths_in(existing[index.name])):
                yield f"{index.collection}: {index.name} lacks the field {path}; {EXACTLY}"


async def _search_indexes(database: AsyncDatabase[Document], collection: str) -> dict[str, Any] | None:
    """Return the definitions by name; None if the server has no search indexes."""
    if "version" not in await database.client.server_info():
        return None  # the local server accepts such an index, but creates another kind
    try:
        found = await (await database[collection].list_search_indexes()).to_list()
    except OperationFailure as error:
        if error.code in NOT_ALLOWED:
            raise  # without the permission to list indexes nothing is known
        return None
    return {each["name"]: each["latestDefinition"] for each in found}


async def missing_fields(database: AsyncDatabase[Document]) -> AsyncIterator[str]:
    for collection, assumed in ASSUMED.items():
        sample = await database[collection].find({}).limit(SAMPLE).to_list()
        if not sample:
            yield f"{collection}: {NOTHING_TO_SAY}"
        for problem in _problems(assumed, sample):
            yield f"{collection}: {problem}"


def _problems(assumed: Assumed, sample: list[Document]) -> list[str]:
    without = {name: sum(name not in document for document in sample) for name in assumed.required}
    unseen = [name for name in assumed.fields if sample and not any(name in document for document in sample)]
    return [
        *(f"{count} of {len(sample)} documents lack {name}" for name, count in without.items() if count),
        *(f"no document of {len(sample)} has {name}" for name in unseen),
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["check", "apply", "rights", "role", "ingest"])
    parser.add_argument("folder", nargs="?", type=Path, help="of Markdown, for `ingest`")
    for name, role in OTHER_ROLES.items():
        parser.add_argument(f"--{name}", action="store_true", help=f"{role.whose} role, for `role`")
    parser.add_argument("--command", action="store_true", help="as a command for `db.runCommand`, for `role`")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    if arguments.what == "rights":
        print(rights())
        return 0
    if arguments.what == "role":
        role = next((role for name, role in OTHER_ROLES.items() if getattr(arguments, name)), AGENT)
        database = environment.get("MONGODB_DATABASE") or PRODUCTION
        print(json.dumps(role.command(database) if arguments.command else role.for_atlas(database), indent=2))
        return 0
    if arguments.what == "ingest" and not (arguments.folder and arguments.folder.is_dir()):
        raise WrongUsage(f"ingest needs a folder that is there, and not {arguments.folder}")
    said = asyncio.run(run(arguments.what, arguments.folder, environment))
    print("\n".join(said) or "Everything is in place.")
    return 1 if arguments.what == "check" and said else 0


async def run(what: str, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Run `check`, `apply` or `ingest`, and return its sentences. Raises `InvalidSettings`."""
    admin = "" if what == "ingest" else os.environ.get("ADMIN_MONGODB_URI", "")
    given = {**environment, "MONGODB_URI": admin} if admin else environment
    settings = database_settings(given, *(("OPENAI_API_KEY", "EMBEDDINGS_BASE_URL") if what == "ingest" else ()))
    async with make_mongo_client(settings.mongodb_uri) as mongo:
        database = mongo[settings.mongodb_database]
        match what:
            case "check":
                return await check(database)
            case "apply":
                return await apply(database)
            case _:
                from openai import DefaultAsyncHttpx2Client  # late: it takes half a second to import

                async with DefaultAsyncHttpx2Client() as http:
                    return await ingest(sections_of(folder), Docs.of(database), make_embeddings(settings, http))
