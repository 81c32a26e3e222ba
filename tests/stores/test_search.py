"""Search finds the best of what is the user's, however the server can search."""

import contextlib
import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ExecutionTimeout, OperationFailure

from qwestly_agent.memory.model import Memory
from qwestly_agent.stores.knowledge import COLLECTION, Knowledge
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.search import Document, Searchable, to_binary
from tests.servers import USER
from tests.stores.conftest import Sent

pytestmark = pytest.mark.anyio
STRANGER = "auth0|stranger"
MINE = {"user_id": USER}


def vector_of(chance: random.Random, dimensions: int = 8) -> list[float]:
    return [chance.uniform(-1, 1) for _ in range(dimensions)]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return float(np.dot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other)))


def searchable(database: AsyncDatabase[Document]) -> Searchable:
    return Searchable(database["things"], "things_vector_index", "vector", "text")


def thing(id: str, text: str = "", vector: Any = None, user_id: str = USER, **more: Any) -> Document:
    return {"_id": id, "user_id": user_id, "text": text, **({"vector": vector} if vector is not None else {}), **more}


async def found(search: Searchable, vector: Sequence[float] | None, words: str = "", limit: int = 3) -> list[str]:
    return [document["_id"] for document, _ in await search.nearest(MINE, words, vector, limit)]


async def test_the_nearest_by_comparing_are_the_nearest(database: AsyncDatabase[Document]) -> None:
    chance = random.Random(7)
    vectors = {f"t{n}": vector_of(chance) for n in range(60)}
    await database["things"].insert_many(
        thing(name, vector=vector if n % 2 else to_binary(vector)) for n, (name, vector) in enumerate(vectors.items())
    )
    await database["things"].insert_many(thing(f"s{n}", vector=vector_of(chance), user_id=STRANGER) for n in range(60))
    for _ in range(5):
        query = vector_of(chance)
        results = await searchable(database).nearest(MINE, "", query, 10)
        cosines = {name: cosine(vector, query) for name, vector in vectors.items()}
        best = sorted(cosines, key=lambda name: -cosines[name])[:10]
        assert [document["_id"] for document, _ in results] == best
        assert [score for _, score in results] == pytest.approx([cosines[name] for name in best], abs=1e-5)


async def test_what_is_found_comes_without_its_vector(database: AsyncDatabase[Document]) -> None:
    await database["things"].insert_one(thing("a", "trains", [1.0, 0.0], title="T"))
    for vector in ([1.0, 0.0], None):
        [(document, _)] = await searchable(database).nearest(MINE, "trains", vector, 3)
        assert document == {"_id": "a", "user_id": USER, "text": "trains", "title": "T"}


async def test_documents_without_a_vector_are_found_by_their_words_among_those_with_one(
    database: AsyncDatabase[Document],
) -> None:
    near, far = [1.0, 0.0], [-1.0, 0.1]
    await database["things"].insert_many(
        [
            thing("far", "boats", far),
            thing("words", "I like trains"),
            thing("near", "locomotives", near),
            thing("null", "planes") | {"vector": None},
            thing("empty", "planes", []),
        ]
    )
    assert await found(searchable(database), near, "trains", limit=2) == ["near", "words"]


async def test_where_nothing_has_a_vector_words_decide(database: AsyncDatabase[Document]) -> None:
    await database["things"].insert_many([thing("b", "boats"), thing("t", "a train to Lagos")])
    assert (await found(searchable(database), [1.0, 0.0], "trains", limit=1)) == ["t"]


async def test_without_a_query_vector_those_that_share_no_word_are_not_found(
    database: AsyncDatabase[Document], sent: Sent
) -> None:
    await database["things"].insert_many(
        [
            thing("one", "Trains are slow", [1.0, 0.0]),
            thing("both", "Slow trains, and boats", [0.0, 1.0]),
            thing("none", "Planes", [1.0, 1.0]),
            thing("strangers", "slow boats", user_id=STRANGER),
        ]
    )
    assert await found(searchable(database), None, "slow BOATS?") == ["both", "one"]
    assert await found(searchable(database), None, "!?") == []
    assert not [command for command in sent.named("find") if command.get("projection", {}).get("vector")]


async def test_a_query_that_is_nowhere_near_still_finds_the_nearest(database: AsyncDatabase[Document]) -> None:
    await database["things"].insert_one(thing("opposite", vector=[-1.0, 0.0]))
    assert await found(searchable(database), [1.0, 0.0]) == ["opposite"]


async def test_a_vector_of_nothing_is_far_from_everything(database: AsyncDatabase[Document]) -> None:
    await database["things"].insert_many([thing("zero", vector=[0.0, 0.0]), thing("near", vector=[1.0, 0.1])])
    assert await found(searchable(database), [1.0, 0.0]) == ["near", "zero"]
    assert await found(searchable(database), [0.0, 0.0])


async def test_a_vector_of_another_model_does_not_break_the_search(database: AsyncDatabase[Document]) -> None:
    await database["things"].insert_many([thing("old", "trains", [1.0, 0.0, 0.0]), thing("new", vector=[1.0, 0.0])])
    assert (await found(searchable(database), [1.0, 0.0], "trains"))[0] == "new"


async def test_nothing_is_found_in_nothing(database: AsyncDatabase[Document]) -> None:
    for vector in ([1.0, 0.0], None):
        assert await found(searchable(database), vector, "trains") == []


async def _memories(database: AsyncDatabase[Document], vector: list[float] | None) -> list[Memory]:
    return [found.memory for found in await Memories.of(database).search(USER, "trains", vector, 5, 1.8e9)]


SEARCHES: dict[str, Callable[[AsyncDatabase[Document], list[float] | None], Any]] = {
    "memories": _memories,
    "documents": lambda database, vector: Knowledge.of(database).search(USER, "trains", vector, 5),
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=list(SEARCHES))
@pytest.mark.parametrize("vector", [[1.0, 0.0], None], ids=["by meaning", "by words"])
async def test_another_users_documents_are_neither_found_nor_read(
    database: AsyncDatabase[Document],
    search: Any,
    vector: list[float] | None,
    reads_of_others: Callable[[str], list[dict[str, Any]]],
) -> None:
    for user_id in (STRANGER, USER):
        await database["user_memories"].insert_one(
            {
                "_id": f"m-{user_id}",
                "user_id": user_id,
                "status": "active",
                "type": "fact",
                "content": f"{user_id} likes trains",
                "content_embedding": to_binary([1.0, 0.0]),
            }
        )
        await database["knowledge_chunk"].insert_one(
            {"_id": f"k-{user_id}", "user_id": user_id, "text": f"{user_id}: trains", "embedding": [1.0, 0.0]}
        )
    [only] = await search(database, vector)
    assert only.id.endswith(USER)
    assert reads_of_others(USER) == []


@pytest.mark.parametrize(
    ("search", "index", "filter"),
    [
        (SEARCHES["memories"], "user_memories_vector_index", {"user_id": USER, "status": "active"}),
        (SEARCHES["documents"], "knowledge_chunk_vector_index", {"user_id": USER}),
    ],
    ids=["memories", "documents"],
)
async def test_the_first_stage_that_is_sent_filters_inside_the_search(
    database: AsyncDatabase[Document], sent: Sent, search: Any, index: str, filter: dict[str, str]
) -> None:
    await search(database, [1.0, 0.0])
    stage = sent.commands[0]["pipeline"][0]["$vectorSearch"]
    assert (stage["index"], dict(stage["filter"]), stage["queryVector"]) == (index, filter, [1.0, 0.0])
    assert stage["numCandidates"] >= 20 * stage["limit"] > 0


@dataclass
class Index:
    """A collection of a server that has `$vectorSearch`."""

    answers: list[Any]
    pipelines: list[Any] = field(default_factory=list)

    async def aggregate(self, pipeline: list[Document]) -> AsyncIterator[Document]:
        self.pipelines.append(pipeline)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return _each(answer)

    def find(self, *_: Any) -> Any:
        return self

    def limit(self, _: int) -> Any:
        return self

    async def to_list(self) -> list[Document]:
        return []


async def _each(documents: list[Document]) -> AsyncIterator[Document]:
    for document in documents:
        yield document


def with_index(index: Index) -> Searchable:
    return Searchable(cast(AsyncCollection[Document], index), "things_vector_index", "vector", "text")


async def test_where_the_server_can_it_searches_and_its_scores_are_cosines() -> None:
    index = Index([[thing("a") | {"_score": 1.0}, thing("b") | {"_score": 0.5}]])
    results = await with_index(index).nearest(MINE, "trains", [1.0, 0.0], 2)
    assert results == [(thing("a"), 1.0), (thing("b"), 0.0)]
    [[search, *rest]] = index.pipelines
    assert dict(search["$vectorSearch"]["filter"]) == MINE
    assert {"$unset": "vector"} in rest
    assert not [stage for stage in rest if "$match" in stage]


async def test_a_server_that_cannot_is_asked_once(database: AsyncDatabase[Document], sent: Sent) -> None:
    search = searchable(database)
    for _ in range(3):
        await search.nearest(MINE, "trains", [1.0, 0.0], 2)
    assert len(sent.named("aggregate")) == 1


async def test_a_search_that_took_too_long_once_does_not_turn_the_index_off() -> None:
    index = Index([ExecutionTimeout("operation exceeded time limit", 50), [thing("a") | {"_score": 1.0}]])
    search = with_index(index)
    with contextlib.suppress(OperationFailure):
        await search.nearest(MINE, "trains", [1.0, 0.0], 2)
    assert await search.nearest(MINE, "trains", [1.0, 0.0], 2) == [(thing("a"), 1.0)]


@pytest.mark.parametrize("odd", [{"text": None}, {}], ids=["null", "absent"])
@pytest.mark.parametrize("vector", [[1.0, 0.0], None], ids=["by meaning", "by words"])
async def test_a_document_of_the_candidate_app_without_a_text_does_not_hide_the_others(
    database: AsyncDatabase[Document], odd: Document, vector: list[float] | None
) -> None:
    good = {"_id": "good", "user_id": USER, "text": "I like trains", "embedding": [1.0, 0.0]}
    await database[COLLECTION].insert_many([{"_id": "odd", "user_id": USER, "embedding": [1.0, 0.0], **odd}, good])
    passages = await Knowledge.of(database).search(USER, "trains", vector, 5)
    assert "good" in {passage.id for passage in passages}
