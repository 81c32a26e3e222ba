"""Fill the demo user, once: `python -m infra.local.demo`. Only against a database that is plainly not a real one."""

import asyncio
import sys
import time
from typing import Any
from urllib.parse import urlsplit

from openai import DefaultAsyncHttpx2Client
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ConnectionFailure

from infra.local.demo import person
from infra.local.environment import DEMO_USER, ROOT, is_local
from infra.mongo.__main__ import apply
from infra.mongo.ingest import ingest, sections_of
from qwestly_agent.bootstrap import look_up, make_embeddings, make_mongo_client
from qwestly_agent.clients.embeddings import Embeddings
from qwestly_agent.clock import to_datetime
from qwestly_agent.memory.ranking import salience
from qwestly_agent.settings import Settings
from qwestly_agent.stores import knowledge, memories, profiles
from qwestly_agent.stores.docs import Docs
from qwestly_agent.stores.search import Document, to_binary

CHUNK_CHARACTERS, OVERLAP_CHARACTERS = 1_500, 200


async def fill(database: AsyncDatabase[Document], embeddings: Embeddings, now: float) -> None:
    """Again changes nothing; what is there stays as it is."""
    await apply(database)
    docs = Docs.of(database)
    if not await docs.ids():
        await ingest(sections_of(ROOT / "infra/local/demo/qwestly_docs"), docs, embeddings)
    if await database[profiles.CANDIDATES].find_one({"user_id": DEMO_USER}, {"_id": 1}):
        return
    remembered, chunks = _memories(now), _chunks()
    texts = [each["content"] for each in remembered] + [each["text"] for each in chunks]
    vectors = await embeddings.embed(texts)
    for memory, vector in zip(remembered, vectors, strict=False):
        memory["content_embedding"] = to_binary(vector)
    for chunk, vector in zip(chunks, vectors[len(remembered) :], strict=True):
        chunk["embedding"] = vector  # the candidate app stores lists
    await database[memories.COLLECTION].insert_many(remembered)
    await database[knowledge.COLLECTION].insert_many(chunks)
    await database[profiles.EMPLOYMENT].insert_many(_of_demo_user("stint", person.EMPLOYMENT))
    await database[profiles.PREFERENCES].insert_many(_of_demo_user("preferences", [person.PREFERENCES]))
    await database[profiles.LINKEDIN].insert_many(_of_demo_user("linkedin", [person.LINKEDIN]))
    # Last: its presence says that all the rest is there.
    await database[profiles.CANDIDATES].insert_many(_of_demo_user("candidate", [person.CANDIDATE]))


def _of_demo_user(kind: str, documents: list[dict[str, Any]]) -> list[Document]:
    return [{"_id": f"demo-{kind}-{n}", "user_id": DEMO_USER, **document} for n, document in enumerate(documents)]


def _memories(now: float) -> list[Document]:
    documents = _of_demo_user("memory", person.MEMORIES)
    for document in documents:
        said_at = now - document.pop("days_ago") * 86_400
        document |= {
            "status": memories.ACTIVE,
            "trust": "user_said",
            "confidence": 0.9,
            "created_at": to_datetime(said_at),
            "valid_from": to_datetime(said_at),
            "salience": salience(document["importance"], said_at),
        }
    return documents


def _chunks() -> list[Document]:
    step = CHUNK_CHARACTERS - OVERLAP_CHARACTERS
    pieces = [
        {"title": title, "source_type": kind, "text": text[start : start + CHUNK_CHARACTERS]}
        for title, kind, text in person.DOCUMENTS
        for start in range(0, max(1, len(text) - OVERLAP_CHARACTERS), step)
    ]
    return _of_demo_user("chunk", pieces)


async def main() -> None:
    settings = Settings.from_env().resolve(look_up)
    if not is_local(settings.mongodb_uri, settings.mongodb_database):
        sys.exit(f"{settings.mongodb_database} is no local database, so no demo data goes into it.")
    async with make_mongo_client(settings.mongodb_uri) as mongo, DefaultAsyncHttpx2Client() as http:
        try:
            await fill(mongo[settings.mongodb_database], make_embeddings(settings, http), time.time())
        except ConnectionFailure:
            hosts = urlsplit(settings.mongodb_uri).netloc.rpartition("@")[2]
            sys.exit(f"the database at {hosts} cannot be reached.")


if __name__ == "__main__":
    asyncio.run(main())
