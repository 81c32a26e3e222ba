"""Fill in the demo user's data, once: `python -m infra.local.demo`. Refuses a database that may be a real one."""

import asyncio
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ConnectionFailure

from infra import topics
from infra.local.demo import person, snapshot
from infra.local.environment import DEMO_USER, ROOT, is_local
from infra.mongo.command import apply
from infra.mongo.ingest import ingest, sections_of
from qwestly_agent.base.clock import system_clock
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap, look_up, make_embeddings, make_mongo_client
from qwestly_agent.domain import candidate
from qwestly_agent.domain.memory import Memory, MemorySource
from qwestly_agent.memory.notes import hash_of
from qwestly_agent.platform.collection import Document
from qwestly_agent.stores import candidate_data
from qwestly_agent.stores.candidate_data import Docs
from qwestly_agent.stores.learning import Topics
from qwestly_agent.stores.memories import Memories

if TYPE_CHECKING:
    from qwestly_agent.llm.embeddings import Embeddings
    from qwestly_agent.services import Services

CHUNK_CHARACTERS, OVERLAP_CHARACTERS = 1_500, 200


async def prepare(database: AsyncDatabase[Document]) -> None:
    """Create the database's indexes and the learning content."""
    await apply(database)
    await topics.ingest(topics.read_library(ROOT / "library"), Topics(database))


async def is_filled(database: AsyncDatabase[Document]) -> bool:
    demo_user = await database[candidate.CANDIDATES].find_one({"user_id": DEMO_USER}, {"_id": 1})
    return demo_user is not None and bool(await Docs.of(database).ids())


async def fill(
    database: AsyncDatabase[Document], embeddings: "Embeddings", now: float, services: "Services | None" = None
) -> None:
    """Existing documents stay unchanged. With `services`, the demo user has used the agent for two weeks."""
    docs = Docs.of(database)
    if not await docs.ids():
        await ingest(sections_of(ROOT / "infra/local/demo/qwestly_docs"), docs, embeddings)
    if await database[candidate.CANDIDATES].find_one({"user_id": DEMO_USER}, {"_id": 1}):
        return
    if services:
        await snapshot.restore(database, services, embeddings, now)
        return
    await _remember(Memories.of(database), embeddings, now)
    chunks = _chunks()
    for chunk, vector in zip(chunks, await embeddings.embed([each["text"] for each in chunks]), strict=True):
        chunk["embedding"] = vector  # the candidate app stores lists
    await database[candidate_data.KNOWLEDGE].insert_many(chunks)
    await database[candidate.EMPLOYMENT].insert_many(_of_demo_user("stint", person.EMPLOYMENT))
    await database[candidate.PREFERENCES].insert_many(_of_demo_user("preferences", [person.PREFERENCES]))
    await database[candidate.LINKEDIN].insert_many(_of_demo_user("linkedin", [person.LINKEDIN]))
    await database[candidate.LINKEDIN_SUMMARIES].insert_many(_of_demo_user("summary", [person.LINKEDIN_SUMMARY]))
    await database[candidate.PROFILE_CACHE].insert_many(_of_demo_user("cache", [person.PROFILE_SUMMARY]))
    # Last: if this document exists, all others do.
    await database[candidate.CANDIDATES].insert_many(_of_demo_user("candidate", [person.CANDIDATE]))


def _of_demo_user(kind: str, documents: list[dict[str, Any]]) -> list[Document]:
    return [{"_id": f"demo-{kind}-{n}", "user_id": DEMO_USER, **document} for n, document in enumerate(documents)]


async def _remember(store: Memories, embeddings: "Embeddings", now: float) -> None:
    """Store the demo user's messages, one after another."""
    told = (*person.MEMORIES, person.BEFORE)
    vectors = await embeddings.embed([each.content for each in told])
    for number, (each, vector) in enumerate(zip(told, vectors, strict=True)):
        said_at = now - each.days_ago * 86_400
        memory = Memory(
            id=f"demo-memory-{number}",
            type=each.type,
            content=each.content,
            importance=each.importance,
            confidence=0.9,
            quote=each.quote,
            source=MemorySource(message_ids=(f"demo-message-{number}",)),
            last_seen=said_at,
        )
        await store.add(DEMO_USER, memory, hash_of(each.content), vector, said_at)
    replaced_at = now - person.MEMORIES[0].days_ago * 86_400
    await store.supersede(DEMO_USER, f"demo-memory-{len(person.MEMORIES)}", "demo-memory-0", replaced_at)


def _chunks() -> list[Document]:
    step = CHUNK_CHARACTERS - OVERLAP_CHARACTERS
    pieces = [
        {"title": title, "source_type": kind, "text": text[start : start + CHUNK_CHARACTERS]}
        for title, kind, text in person.DOCUMENTS
        for start in range(0, max(1, len(text) - OVERLAP_CHARACTERS), step)
    ]
    return _of_demo_user("chunk", pieces)


def keep_mails(file: Path, mails: Iterable[Mapping[str, Any]]) -> None:
    """Replace the mails shown by the local AWS: links in mails of a deleted database lead nowhere."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(each)}\n" for each in mails), "utf-8")


async def main() -> None:
    settings = Settings.from_env().resolve(look_up)
    if not is_local(settings.mongodb_uri, settings.mongodb_database):
        sys.exit(f"{settings.mongodb_database} is no local database, so no demo data goes into it.")
    async with make_mongo_client(settings.mongodb_uri) as mongo:
        database = mongo[settings.mongodb_database]
        try:
            await prepare(database)
            if not await is_filled(database):
                # Imported late: the embedding code takes a second to import, and a second start does not need it.
                from openai import DefaultAsyncHttpx2Client

                async with DefaultAsyncHttpx2Client() as http:
                    services = None if os.environ.get("DEMO_WEEKS") == "0" else await bootstrap(settings)
                    await fill(database, make_embeddings(settings, http), system_clock(), services)
                if services and len(sys.argv) > 1:
                    keep_mails(Path(sys.argv[1]), snapshot.mails(settings.app_url.rstrip("/"), system_clock()))
        except ConnectionFailure:
            hosts = urlsplit(settings.mongodb_uri).netloc.rpartition("@")[2]
            sys.exit(f"the database at {hosts} cannot be reached.")


if __name__ == "__main__":
    asyncio.run(main())
