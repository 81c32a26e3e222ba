"""Operations on the database from outside: `check`, `apply` and `ingest`."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from openai import DefaultAsyncHttpx2Client
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import OperationFailure
from pymongo.operations import SearchIndexModel

from infra.local.model_server import ModelServer
from infra.mongo.command import apply, check
from infra.mongo.indexes import INDEXES, SEARCH_INDEXES
from infra.mongo.ingest import LONGEST_SECTION_CHARACTERS, ingest, sections_of
from infra.mongo.roles import CANDIDATE_APPS
from qwestly_agent.bootstrap import make_embeddings
from qwestly_agent.llm.embeddings import DIMENSIONS
from qwestly_agent.platform.collection import Document, Expires, MongoCollection
from qwestly_agent.stores import candidate_data, memories, messages
from qwestly_agent.stores.candidate_data import Docs
from tests.servers import SECRET, settings_for

ROOT = Path(__file__).parents[2]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(mongodb_uri: str, database_name: str, model: ModelServer) -> Run:
    """`qwestly-agent mongo …`, as an operator types it."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "MONGODB_URI": mongodb_uri,
        "MONGODB_DATABASE": database_name,
        "QWESTLY_AGENT_SHARED_SECRET": SECRET,
        "EMBEDDINGS_BASE_URL": model.base_url,
    }

    def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "infra", "mongo", *arguments]
        return subprocess.run(command, env={**environment, **changes}, cwd=ROOT, capture_output=True, text=True)

    return run


@pytest.fixture
async def database(mongodb_uri: str, database_name: str) -> AsyncIterator[AsyncDatabase[Document]]:
    async with AsyncMongoClient[Document](mongodb_uri, tz_aware=True) as client:
        yield client[database_name]


def write(folder: Path, **pages: str) -> Path:
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


# --- the commands -------------------------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.thorough
def test_apply_creates_what_check_reports_missing_and_is_idempotent(run: Run) -> None:
    missing = run("check")
    assert missing.returncode == 1
    for collection, indexes in INDEXES.items():
        for index in indexes:
            assert f"{collection}: index {index.document['name']} is missing; run apply" in missing.stdout
    first, again = run("apply"), run("apply")
    assert (first.returncode, again.returncode) == (0, 0)
    assert again.stdout == first.stdout
    assert not first.stderr + again.stderr
    assert ": index " not in run("check").stdout


@pytest.mark.nightly
@pytest.mark.thorough
def test_ingest_reports_its_changes(run: Run, tmp_path: Path) -> None:
    folder = write(tmp_path, plans="# Prices\nFree.", cards="# Cards\nWho you are.")
    assert run("ingest", str(folder)).stdout == "2 sections added, 0 removed, 0 unchanged.\n"
    assert run("ingest", str(folder)).stdout == "0 sections added, 0 removed, 2 unchanged.\n"


@pytest.mark.thorough
def test_a_missing_folder_fails_with_one_sentence(run: Run, tmp_path: Path) -> None:
    failed = run("ingest", str(tmp_path / "nowhere"))
    assert failed.returncode != 0
    assert "nowhere" in failed.stdout + failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.thorough
def test_a_missing_variable_is_named_in_one_sentence(run: Run) -> None:
    failed = run("check", MONGODB_URI="")
    assert failed.returncode == 2
    assert failed.stderr.endswith("error: Missing in the environment: MONGODB_URI.\n")


@pytest.mark.thorough
def test_indexes_are_created_even_if_secrets_are_missing(run: Run) -> None:
    later = "ssm:/qwestly-agent/dev/candidate-api-secret"
    applied = run("apply", QWESTLY_CANDIDATE_API_SECRET=later, QWESTLY_AGENT_SHARED_SECRET=later)
    assert (applied.returncode, applied.stderr) == (0, "")


# --- check and apply ----------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_field_missing_in_the_candidate_app_is_named(database: AsyncDatabase[Document]) -> None:
    chunks = [{"_id": str(n), "user_id": "u", "text": "t", "title": "T", "embedding": [1.0]} for n in range(3)]
    del chunks[0]["text"], chunks[1]["user_id"], chunks[2]["user_id"]
    await database[candidate_data.KNOWLEDGE].insert_many(chunks)
    said = [line for line in await check(database) if line.startswith("knowledge_chunk:")]
    for problem in (
        "2 of 3 documents lack user_id",
        "1 of 3 documents lack text",
        "no document of 3 has source_type",
    ):
        assert f"knowledge_chunk: {problem}" in said
    assert not [line for line in said if "title" in line]


@dataclass
class Atlas:
    """A server that has search indexes: of each collection, the definition of each index by its name."""

    search_indexes: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    made: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    @property
    def client(self) -> "Atlas":
        return self

    async def server_info(self) -> dict[str, Any]:
        return {"version": "8.0.12"}

    def __getitem__(self, name: str) -> "AtlasCollection":
        return AtlasCollection(self, name)


@dataclass
class AtlasCollection:
    server: Atlas
    name: str

    async def create_indexes(self, indexes: list[Any]) -> None:
        pass

    async def index_information(self) -> dict[str, Any]:
        indexes = [index.document for index in INDEXES.get(self.name, [])]
        return {index["name"]: {"key": list(index["key"].items())} for index in indexes}

    async def list_search_indexes(self) -> Any:
        there = self.server.search_indexes.get(self.name, {})
        return Found([{"name": name, "latestDefinition": each} for name, each in there.items()])

    async def update_search_index(self, name: str, definition: Mapping[str, Any]) -> None:
        self.server.search_indexes[self.name][name] = dict(definition)

    async def create_search_index(self, model: SearchIndexModel) -> None:
        self.server.made.append((self.name, model.document))

    def find(self, *_: Any) -> "Found":
        return Found([])


@dataclass
class Found:
    documents: list[Document]

    def limit(self, _: int) -> "Found":
        return self

    async def to_list(self) -> list[Document]:
        return self.documents


def as_database(server: Any) -> AsyncDatabase[Document]:
    return cast(AsyncDatabase[Document], server)


COMPLETE = {
    collection: {each.name: each.definition() for each in SEARCH_INDEXES if each.collection == collection}
    for collection in {each.collection for each in SEARCH_INDEXES}
}


@pytest.mark.anyio
async def test_a_new_cluster_gets_exactly_our_search_indexes_with_their_filter_fields() -> None:
    atlas = Atlas()
    await apply(as_database(atlas))
    assert {collection for collection, _ in atlas.made} == {
        memories.COLLECTION,
        messages.COLLECTION,
        candidate_data.DOCS,
    }
    made = {(collection, index["type"]): index for collection, index in atlas.made}
    assert len(made) == len(atlas.made) == 5
    of_words = made[memories.COLLECTION, "search"]
    assert of_words["name"] == "user_memories_search_index"
    assert of_words["definition"]["mappings"] == {
        "dynamic": False,
        "fields": {
            "words": {"type": "string", "analyzer": "lucene.whitespace"},
            "user_id": {"type": "token"},
            "status": {"type": "token"},
        },
    }
    of_memories = made[memories.COLLECTION, "vectorSearch"]
    assert of_memories["name"] == "user_memories_vector_index"
    vector, *filters = of_memories["definition"]["fields"]
    assert vector == {
        "type": "vector",
        "path": "content_embedding",
        "numDimensions": DIMENSIONS,
        "similarity": "cosine",
        "quantization": "scalar",
    }
    assert filters == [{"type": "filter", "path": "user_id"}, {"type": "filter", "path": "status"}]


@pytest.mark.anyio
async def test_existing_search_indexes_are_left_alone() -> None:
    atlas = Atlas(COMPLETE)
    await apply(as_database(atlas))
    assert atlas.made == []
    assert not [line for line in await check(as_database(atlas)) if "search index" in line or "lacks" in line]


@pytest.mark.anyio
async def test_check_names_missing_search_indexes_and_filter_fields() -> None:
    there = {
        **COMPLETE,
        candidate_data.DOCS: {"another": {}},
        candidate_data.KNOWLEDGE: {"knowledge_chunk_vector_index": {"fields": [{"path": "embedding"}]}},
        memories.COLLECTION: {
            **COMPLETE[memories.COLLECTION],
            "user_memories_search_index": {"mappings": {"fields": {"words": {}, "user_id": {}}}},
        },
    }
    said = await check(as_database(Atlas(there)))
    assert "qwestly_docs: search index qwestly_docs_vector_index is missing; run apply" in said
    assert any("knowledge_chunk_vector_index lacks the field user_id" in line for line in said)
    [of_memories] = [line for line in said if line.startswith("user_memories:")]
    assert "user_memories_search_index lacks the field status" in of_memories


@pytest.mark.anyio
async def test_an_index_that_lacks_a_field_is_rebuilt() -> None:
    before = {"mappings": {"fields": {"content": {}, "user_id": {}, "status": {}}}}
    atlas = Atlas({memories.COLLECTION: {"user_memories_search_index": before}})
    await apply(as_database(atlas))
    assert atlas.search_indexes[memories.COLLECTION]["user_memories_search_index"]["mappings"]["fields"]["words"]


@pytest.mark.anyio
async def test_the_candidate_apps_vector_index_is_named_but_not_created() -> None:
    there = {**COMPLETE, candidate_data.KNOWLEDGE: {"another": {}}}
    said = await check(as_database(Atlas(there)))
    assert "knowledge_chunk: search index knowledge_chunk_vector_index is missing" in said
    atlas = Atlas(there)
    await apply(as_database(atlas))
    assert atlas.made == []


@pytest.mark.anyio
async def test_a_server_without_search_indexes_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(_: AtlasCollection) -> Any:
        raise OperationFailure("Unrecognized pipeline stage name: '$listSearchIndexes'", 40324)

    monkeypatch.setattr(AtlasCollection, "list_search_indexes", refuse)
    assert "user_memories: this server has no search indexes; searches compare exactly" in await apply(
        as_database(Atlas())
    )


# --- ingest -------------------------------------------------------------------------------------------------------


@dataclass
class Ingesting:
    folder: Path
    docs: Docs
    model: ModelServer

    async def __call__(self) -> str:
        settings = settings_for("", self.model.base_url)
        async with DefaultAsyncHttpx2Client() as http:
            [said] = await ingest(sections_of(self.folder), self.docs, make_embeddings(settings, http))
        return said

    async def sections(self) -> list[tuple[str, str, str]]:
        found = self.docs.database[candidate_data.DOCS].find({})
        return sorted([(each["path"], each["title"], each["text"]) async for each in found])


@pytest.fixture
def ingesting(tmp_path: Path, database: AsyncDatabase[Document], model: ModelServer) -> Ingesting:
    return Ingesting(tmp_path, Docs.of(database), model)


@pytest.mark.anyio
async def test_a_page_is_split_at_its_headings(ingesting: Ingesting) -> None:
    (ingesting.folder / "more").mkdir()
    write(
        ingesting.folder,
        plans="Before all.\n\n# Plans\n\n## Prices\r\nFree.\n\n### Later\nNot free.\n#### Small\nprint",
    )
    write(ingesting.folder / "more", cards="# Cards\nWho you are.\n# Empty\n")
    assert await ingesting() == "4 sections added, 0 removed, 0 unchanged."
    assert await ingesting.sections() == [
        ("more/cards.md", "Cards", "Who you are."),
        ("plans.md", "Later", "Not free.\n#### Small\nprint"),
        ("plans.md", "Prices", "Free."),
        ("plans.md", "plans", "Before all."),
    ]


@pytest.mark.anyio
async def test_only_changed_sections_are_embedded_and_deleted_ones_removed(ingesting: Ingesting) -> None:
    write(ingesting.folder, plans="# Prices\nFree.", cards="# Cards\nWho you are.", old="# Old\nGone soon.")
    assert await ingesting() == "3 sections added, 0 removed, 0 unchanged."
    ingesting.model.reset()
    assert await ingesting() == "0 sections added, 0 removed, 3 unchanged."
    assert ingesting.model.requests == []

    write(ingesting.folder, plans="# Prices\nFree for all.")
    (ingesting.folder / "old.md").unlink()
    assert await ingesting() == "1 sections added, 2 removed, 1 unchanged."
    [asked] = ingesting.model.requests
    assert asked.json["input"] == ["Prices\nFree for all."]
    assert await ingesting.sections() == [
        ("cards.md", "Cards", "Who you are."),
        ("plans.md", "Prices", "Free for all."),
    ]


@pytest.mark.anyio
async def test_a_long_section_is_split_at_its_paragraphs_and_loses_nothing(ingesting: Ingesting) -> None:
    paragraphs = [f"{n} " + "word " * 80 for n in range(20)]
    write(ingesting.folder, long="# Long\n" + "\n\n".join(paragraphs))
    await ingesting()
    pieces = [text for _, title, text in await ingesting.sections() if title == "Long"]
    assert len(pieces) > 5
    assert max(map(len, pieces)) <= LONGEST_SECTION_CHARACTERS
    kept = [paragraph.strip() for text in pieces for paragraph in text.split("\n\n")]
    assert sorted(kept) == sorted(paragraph.strip() for paragraph in paragraphs)


@pytest.mark.anyio
async def test_a_large_handbook_is_embedded_in_batches(ingesting: Ingesting) -> None:
    write(ingesting.folder, big="".join(f"# Heading {n}\nText {n}.\n" for n in range(130)))
    assert await ingesting() == "130 sections added, 0 removed, 0 unchanged."
    assert [len(request.json["input"]) for request in ingesting.model.requests] == [64, 64, 2]


# --- the collections ----------------------------------------------------------------------------------------------


def test_a_collection_must_declare_its_user_data_or_why_it_has_none() -> None:
    with pytest.raises(ValueError, match="agent_new: declare what it holds of a user"):
        MongoCollection("agent_new", Expires(timedelta(days=1)))


def test_only_our_collections_get_our_indexes() -> None:
    assert {each.collection for each in SEARCH_INDEXES if not each.ours} <= {*CANDIDATE_APPS}


def test_each_per_user_search_filters_by_user_inside_the_search() -> None:
    assert all("user_id" in each.filters for each in SEARCH_INDEXES if each.collection != candidate_data.DOCS)
