"""Search finds the user's best results, whatever the server's search supports."""

import math
import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest
from bson.binary import Binary, BinaryVector, BinaryVectorDtype
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ExecutionTimeout

from qwestly_agent.domain.memory import Memory
from qwestly_agent.platform.collection import Document
from qwestly_agent.stores.candidate_data import KNOWLEDGE, Knowledge
from qwestly_agent.stores.conversation_search import ConversationSearch
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.search import Ranks, Searchable, to_binary
from tests.mongo_rule import filter_of
from tests.servers import USER
from tests.stores.conftest import Replies, Sent

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
    return [match.document["_id"] for match in await search.find_nearest(MINE, words, vector, limit)]


async def test_the_nearest_documents_are_found_by_comparing(database: AsyncDatabase[Document]) -> None:
    chance = random.Random(7)
    vectors = {f"t{n}": vector_of(chance) for n in range(60)}
    await database["things"].insert_many(
        thing(name, vector=vector if n % 2 else to_binary(vector)) for n, (name, vector) in enumerate(vectors.items())
    )
    await database["things"].insert_many(thing(f"s{n}", vector=vector_of(chance), user_id=STRANGER) for n in range(60))
    for _ in range(5):
        query = vector_of(chance)
        results = await searchable(database).find_nearest(MINE, "", query, 10)
        cosines = {name: cosine(vector, query) for name, vector in vectors.items()}
        best = sorted(cosines, key=lambda name: -cosines[name])[:10]
        assert [match.document["_id"] for match in results] == best
        assert [match.place.meaning for match in results] == [*range(1, 11)]


async def test_found_documents_have_no_vectors(database: AsyncDatabase[Document]) -> None:
    await database["things"].insert_one(thing("a", "trains", [1.0, 0.0], title="T"))
    for vector in ([1.0, 0.0], None):
        [match] = await searchable(database).find_nearest(MINE, "trains", vector, 3)
        assert match.document == {"_id": "a", "user_id": USER, "text": "trains", "title": "T"}


async def test_documents_found_by_words_and_meaning_precede_those_found_by_either(
    database: AsyncDatabase[Document],
) -> None:
    await database["things"].insert_many(
        [
            thing("neither", "planes", [-1.0, 0.0]),
            thing("words", "likes trains", [-0.8, -0.6]),
            thing("meaning", "locomotives", [1.0, 0.0]),
            thing("both", "trains", [0.9, 0.1]),
        ]
    )
    results = await searchable(database).find_nearest(MINE, "trains", [1.0, 0.0], 4)
    assert [(match.document["_id"], match.place.words, match.place.meaning) for match in results] == [
        ("both", 1, 2),
        ("words", 2, 3),
        ("meaning", None, 1),
        ("neither", None, 4),
    ]
    least, second = -1.0, 0.9 / math.hypot(0.9, 0.1)
    assert results[0].place.total == pytest.approx(0.7 + 0.3 * (second - least) / (1 - least))


async def test_documents_are_found_by_words_however_distant_in_meaning(database: AsyncDatabase[Document]) -> None:
    near = [thing(f"near{n:03}", "planes", [1.0, n / 1_000]) for n in range(300)]
    await database["things"].insert_many([*near, thing("told", "Plays the oboe", [-1.0, 0.0])])
    assert "told" in await found(searchable(database), [1.0, 0.0], "oboe", limit=10)


async def test_rare_words_and_short_texts_weigh_more(
    database: AsyncDatabase[Document],
) -> None:
    common = [thing(f"c{n}", f"Worked with Python in year {n}") for n in range(9)]
    long = thing("long", "Once used Erlang, next to Java, Go, Rust, Perl, Lua, Ruby, Scala, Haskell and OCaml")
    await database["things"].insert_many([*common, long, thing("short", "Knows Erlang")])
    assert await found(searchable(database), None, "Python or Erlang", limit=2) == ["short", "long"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Lebt in Köln", "KÖLN"),
        ("Works with \uff21\uff37\uff33", "aws"),
        ("東京でエンジニアとして働いている", "東京 エンジニア"),
        ("ทำงานเป็นวิศวกรที่กรุงเทพ", "กรุงเทพ"),
        ("मैं हिन्दी बोलता हूँ", "हिन्दी"),
    ],
    ids=["capitals", "wide letters", "Japanese", "Thai", "Hindi"],
)
async def test_words_are_found_in_any_script(database: AsyncDatabase[Document], text: str, words: str) -> None:
    others = [
        thing("o1", "大阪に住んでいる"),
        thing("o2", "ชอบเดินทาง"),
        thing("o3", "मैं पढ़ता हूँ"),
        thing("o4", "ह न द ह न द"),
    ]
    await database["things"].insert_many([*others, thing("told", text)])
    assert (await found(searchable(database), None, words))[0] == "told"


async def test_documents_without_a_vector_are_found_by_their_words_among_those_with_one(
    database: AsyncDatabase[Document],
) -> None:
    await database["things"].insert_many(
        [
            thing("far", "boats", [-1.0, 0.1]),
            thing("words", "I like trains"),
            thing("near", "locomotives", [1.0, 0.0]),
            thing("null", "planes") | {"vector": None},
            thing("empty", "planes", []),
        ]
    )
    assert set(await found(searchable(database), [1.0, 0.0], "trains", limit=2)) == {"near", "words"}


async def test_documents_are_ranked_by_words_if_none_has_a_vector(database: AsyncDatabase[Document]) -> None:
    await database["things"].insert_many([thing("b", "boats"), thing("t", "trains to Lagos")])
    assert (await found(searchable(database), [1.0, 0.0], "trains", limit=1)) == ["t"]


async def test_the_preferred_one_of_equal_results_comes_first(database: AsyncDatabase[Document]) -> None:
    one, other = thing("one", "trains", [0.9, 0.1]), thing("other", "Trains!", [0.9, 0.1])
    for preferred in ("one", "other"):
        await database["things"].delete_many(MINE)
        await database["things"].insert_many([each | {"rank": each["_id"] == preferred} for each in (one, other)])
        search = Searchable(database["things"], "things_vector_index", "vector", "text", preferred_by="rank")
        assert await found(search, [1.0, 0.0], "trains") == [preferred, "other" if preferred == "one" else "one"]


async def test_without_a_query_vector_a_shared_word_is_required(database: AsyncDatabase[Document], sent: Sent) -> None:
    await database["things"].insert_many(
        [
            thing("one", "Trains are slow", [1.0, 0.0]),
            thing("both", "Slow boats", [0.0, 1.0]),
            thing("none", "Planes", [1.0, 1.0]),
            thing("strangers", "slow boats", user_id=STRANGER),
        ]
    )
    assert await found(searchable(database), None, "slow BOATS?") == ["both", "one"]
    assert await found(searchable(database), None, "!?") == []
    assert {"$unset": "vector"} in sent.named("aggregate")[0]["pipeline"]
    assert (len(sent.named("aggregate")), sent.named("find")) == (2, [])  # one round trip each


async def test_a_distant_query_still_finds_the_nearest(database: AsyncDatabase[Document]) -> None:
    await database["things"].insert_one(thing("opposite", vector=[-1.0, 0.0]))
    assert await found(searchable(database), [1.0, 0.0]) == ["opposite"]


async def test_a_zero_vector_is_far_from_everything(database: AsyncDatabase[Document]) -> None:
    await database["things"].insert_many([thing("zero", vector=[0.0, 0.0]), thing("near", vector=[1.0, 0.1])])
    assert await found(searchable(database), [1.0, 0.0]) == ["near", "zero"]
    assert await found(searchable(database), [0.0, 0.0])


async def test_a_vector_of_another_model_does_not_break_the_search(database: AsyncDatabase[Document]) -> None:
    await database["things"].insert_many([thing("old", "trains", [1.0, 0.0, 0.0]), thing("new", vector=[1.0, 0.0])])
    results = await searchable(database).find_nearest(MINE, "trains", [1.0, 0.0], 3)
    assert {each.document["_id"]: each.place.meaning for each in results} == {"old": None, "new": 1}


async def test_an_empty_collection_gives_no_results(database: AsyncDatabase[Document]) -> None:
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


async def test_a_search_of_messages_sends_its_vector_as_int8(database: AsyncDatabase[Document], sent: Sent) -> None:
    await ConversationSearch(database).find_messages(USER, "trains", [0.5, -0.25], 5)
    [stage] = [found for each in sent.named("aggregate") if (found := each["pipeline"][0].get("$vectorSearch"))]
    assert stage["index"] == "agent_messages_vector_index"
    assert stage["filter"] == {"user_id": USER, "withheld": False, "role": "user"}
    assert Binary(stage["queryVector"], 9).as_vector() == BinaryVector([127, -64], BinaryVectorDtype.INT8)


@pytest.mark.parametrize(
    ("search", "index", "filter"),
    [
        (SEARCHES["memories"], "user_memories_vector_index", {"user_id": USER, "status": "active"}),
        (SEARCHES["documents"], "knowledge_chunk_vector_index", {"user_id": USER}),
    ],
    ids=["memories", "documents"],
)
async def test_each_search_filters_inside_its_first_stage(
    database: AsyncDatabase[Document], sent: Sent, search: Any, index: str, filter: dict[str, str]
) -> None:
    await search(database, [1.0, 0.0])
    stages = [command["pipeline"][0] for command in sent.commands]
    [by_meaning] = [stage["$vectorSearch"] for stage in stages if "$vectorSearch" in stage]
    assert (by_meaning["index"], dict(by_meaning["filter"]), by_meaning["queryVector"]) == (index, filter, [1.0, 0.0])
    assert by_meaning["numCandidates"] >= 20 * by_meaning["limit"] > 0
    assert all(filter_of(command["pipeline"]) == filter for command in sent.commands)


async def test_a_text_search_filters_by_user_and_status_in_the_index(
    database: AsyncDatabase[Document], sent: Sent
) -> None:
    await Memories.of(database).find_near(USER, [("trains", [1.0, 0.0])], 5)
    [by_words] = [stage for each in sent.named("aggregate") if (stage := each["pipeline"][0].get("$search"))]
    assert by_words == {
        "index": "user_memories_search_index",
        "compound": {
            "must": [{"text": {"query": "train", "path": "words"}}],
            "filter": [
                {"equals": {"path": "user_id", "value": USER}},
                {"in": {"path": "status", "value": ["active", "proposed"]}},
            ],
        },
    }


Answer = list[Document] | Exception


@dataclass
class Indexes:
    """A collection of a server that has `$search` and `$vectorSearch`; what is compared reads `there`."""

    words: Answer
    meaning: Answer
    there: list[Document] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def aggregate(self, pipeline: list[Document]) -> "Indexes":
        [stage] = pipeline[0]
        self.asked.append(stage)
        answer = {"$search": self.words, "$vectorSearch": self.meaning, "$match": self.there}[stage]
        if isinstance(answer, Exception):
            raise answer
        score = next((each["$set"] for each in pipeline if "$set" in each), {})
        for name, of in score.items():
            assert of == {"$meta": {"$search": "searchScore", "$vectorSearch": "vectorSearchScore"}[stage]}
            answer = [{**each, name: 1 / place} for place, each in enumerate(answer, 1)]
        return cast(Indexes, Cursor(answer))

    def find(self, *_: Any) -> "Cursor":
        return Cursor(self.there)


@dataclass
class Cursor:
    documents: list[Document]

    async def to_list(self) -> list[Document]:
        return [dict(each) for each in self.documents]

    def limit(self, _: int) -> "Cursor":
        return self

    async def __aiter__(self) -> AsyncIterator[Document]:
        for each in self.documents:
            yield dict(each)


def with_indexes(indexes: Indexes) -> Searchable:
    collection = cast(AsyncCollection[Document], indexes)
    return Searchable(collection, "things_vector_index", "vector", "text", words_index="things_search_index")


A, B, C = thing("a", "a train"), thing("b", "trains"), thing("c", "trams")


async def test_the_server_runs_both_searches_if_supported_and_we_merge_them() -> None:
    indexes = Indexes(words=[B, A], meaning=[C, B])
    results = await with_indexes(indexes).find_nearest(MINE, "trains", [1.0, 0.0], 3)
    assert [(each.document, each.place) for each in results] == [
        (B, Ranks(words=1, meaning=2, total=0.7)),
        (A, Ranks(words=2, meaning=None, total=0.35)),
        (C, Ranks(words=None, meaning=1, total=0.3)),
    ]
    assert sorted(indexes.asked) == ["$search", "$vectorSearch"]


async def test_a_document_only_a_stale_index_assigns_to_the_user_is_not_found() -> None:
    indexes = Indexes(words=[A, {**B, "user_id": None}], meaning=[A])
    assert await found(with_indexes(indexes), [1.0, 0.0], "trains") == ["a"]


@pytest.mark.parametrize("vector", [[1.0, 0.0], None], ids=["by meaning", "by words"])
async def test_an_empty_result_of_a_missing_index_falls_back_to_comparing_words(
    vector: list[float] | None,
) -> None:
    indexes = Indexes(words=[], meaning=[C], there=[C, B])
    assert "b" in await found(with_indexes(indexes), vector, "trains")


async def test_an_empty_result_is_trusted_from_an_index_that_answered_before() -> None:
    indexes = Indexes(words=[B], meaning=[], there=[B])
    search = with_indexes(indexes)
    await found(search, None, "trains")
    indexes.words = []
    assert await found(search, None, "oboe") == []
    assert "$match" not in indexes.asked


async def test_a_server_without_search_is_asked_only_once(database: AsyncDatabase[Document], sent: Sent) -> None:
    search = Searchable(database["things"], "things_vector_index", "vector", "text", words_index="things_search_index")
    for _ in range(3):
        await search.find_nearest(MINE, "trains", [1.0, 0.0], 2)
    asked = [next(iter(command["pipeline"][0])) for command in sent.named("aggregate")]
    assert sorted(asked) == ["$match"] * 3 + ["$search", "$vectorSearch"]


async def test_a_single_timeout_does_not_disable_the_index() -> None:
    indexes = Indexes(words=[A], meaning=ExecutionTimeout("operation exceeded time limit", 50), there=[B])
    search = with_indexes(indexes)
    await search.find_nearest(MINE, "trains", [1.0, 0.0], 2)
    indexes.meaning = [C]
    assert "c" in await found(search, [1.0, 0.0], "trains")


# --- kept in the process ----------------------------------------------------------------------------------------------


async def test_vectors_are_cached_and_texts_read_each_time(
    database: AsyncDatabase[Document], sent: Sent, replies: Replies
) -> None:
    await database["things"].insert_many([thing(f"t{n}", "trains", to_binary([1.0] * 512)) for n in range(20)])
    search = searchable(database)
    first = await found(search, [1.0] * 512, "trains")
    replies.forget()
    assert await found(search, [1.0] * 512, "trains") == first
    assert replies.documents == 20 + 3  # to compare, and the best of them whole
    assert replies.bytes < 23 * 512


async def test_new_documents_are_found_along_with_cached_ones(database: AsyncDatabase[Document]) -> None:
    search = searchable(database)
    await database["things"].insert_one(thing("old", "trains", [0.9, 0.1]))
    assert await found(search, [1.0, 0.0]) == ["old"]
    await database["things"].insert_one(thing("new", "trams", [1.0, 0.0]))
    assert await found(search, [1.0, 0.0]) == ["new", "old"]


async def test_changed_and_deleted_documents_are_not_served_from_the_cache(
    database: AsyncDatabase[Document],
) -> None:
    search = searchable(database)
    await database["things"].insert_many([thing("gone", "trains", [1.0, 0.0]), thing("other", "trams", [0.6, 0.8])])
    assert await found(search, [1.0, 0.0], "trains trams") == ["gone", "other"]
    await database["things"].delete_one({"_id": "gone", "user_id": USER})
    await database["things"].update_one(
        {"_id": "other", "user_id": USER}, {"$set": {"text": "boats", "vector": [0.0, 1.0]}}
    )
    assert await found(search, None, "trains trams") == []
    await database["things"].insert_one(thing("near", "planes", [0.1, 1.0]))
    assert await found(search, [0.0, 1.0]) == ["other", "near"]


async def test_the_cache_is_bounded_and_never_changes_results(database: AsyncDatabase[Document]) -> None:
    chance = random.Random(3)
    await database["things"].insert_many([thing(f"t{n}", f"train {n}", vector_of(chance, 256)) for n in range(50)])
    bounded, free = searchable(database), searchable(database)
    bounded.cache.largest = 20_000
    for _ in range(3):
        query = vector_of(chance, 256)
        assert await found(bounded, query, "train 7", limit=9) == await found(free, query, "train 7", limit=9)
        assert 0 < bounded.cache.size <= 20_000


@pytest.mark.parametrize("odd", [{"text": None}, {}], ids=["null", "absent"])
@pytest.mark.parametrize("vector", [[1.0, 0.0], None], ids=["by meaning", "by words"])
async def test_a_candidate_app_document_without_text_does_not_hide_others(
    database: AsyncDatabase[Document], odd: Document, vector: list[float] | None
) -> None:
    good = {"_id": "good", "user_id": USER, "text": "I like trains", "embedding": [1.0, 0.0]}
    await database[KNOWLEDGE].insert_many([{"_id": "odd", "user_id": USER, "embedding": [1.0, 0.0], **odd}, good])
    passages = await Knowledge.of(database).search(USER, "trains", vector, 5)
    assert "good" in {passage.id for passage in passages}
