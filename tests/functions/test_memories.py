"""A user lists, corrects and forgets their memories."""

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from infra.local.model_server import ModelServer, Reply
from tests.counts import everyday
from tests.functions.test_tools import call, calls
from tests.servers import ChatServer, Client

LISBON = ("Remember that I live in Lisbon.", "Lives in Lisbon.", "I live in Lisbon")
TRAINS = ("Please remember that I like night trains.", "Likes night trains.", "I like night trains")


@pytest.fixture
def database(chat: ChatServer) -> Iterator[Database[dict[str, Any]]]:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        yield mongo[chat.settings.mongodb_database]


@pytest.fixture
def stranger(chat: ChatServer) -> Iterator[Client]:
    with Client(chat.url, "auth0|stranger-to-memories") as user:
        yield user


def remembers(client: Client, model: ModelServer, *told: tuple[str, str, str]) -> list[str]:
    """Ask to remember these in one conversation; return the ids."""
    conversation_id = None
    for said, content, quote in told:
        model.script_chat(calls(call("remember", type="fact", text=content, quote=quote)), Reply(text="I will."))
        conversation_id = client.say(said, conversation_id).conversation_id
    return [each["id"] for each in reversed(client.get("/api/memories")["items"])]


def error_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


# --- list and search --------------------------------------------------------------------------------------------------


def test_a_memory_is_listed_with_the_quote_it_is_based_on(client: Client, model: ModelServer) -> None:
    remembers(client, model, LISBON)
    listed = client.get("/api/memories")
    [memory] = listed["items"]
    assert listed["next"] is None
    assert (memory["content"], memory["quote"]) == LISBON[1:]
    assert (memory["trust"], memory["sure"], memory["status"]) == ("user_said", "sure", "active")
    assert (memory["count"], memory["sensitive"], memory["superseded_by"]) == (1, False, None)
    conversation = client.get(f"/api/conversations/{memory['source']['conversation_id']}")
    assert [each["id"] for each in conversation["messages"] if each["role"] == "user"] == (
        memory["source"]["message_ids"]
    )
    assert memory["said_at"]
    assert "score" in memory
    assert memory["score"] is None
    assert client.get("/api/memories")["found_by"] is None


def test_memories_are_listed_newest_first_in_pages(client: Client, model: ModelServer) -> None:
    remembers(client, model, LISBON, TRAINS)
    first = client.get("/api/memories?limit=1")
    second = client.get(f"/api/memories?limit=1&after={first['next']}")
    assert [each["content"] for page in (first, second) for each in page["items"]] == [TRAINS[1], LISBON[1]]
    assert second["next"] is None


@pytest.mark.thorough
def test_a_search_ranks_the_best_match_first_and_explains_its_score(client: Client, model: ModelServer) -> None:
    remembers(client, model, LISBON, TRAINS)
    answer = client.get("/api/memories?query=Lisbon")
    found = answer["items"]
    assert answer["found_by"] == "words_and_meaning"
    assert [each["content"] for each in found] == [LISBON[1], TRAINS[1]]
    score = found[0]["score"]
    assert score.keys() == {"meaning", "words", "salience", "total"}
    assert score["words"] == 1
    assert score["total"] > found[1]["score"]["total"]
    page = client.get("/api/memories?query=Lisbon&limit=1")
    rest = client.get(f"/api/memories?query=Lisbon&limit=1&after={page['next']}")
    assert [page["items"], rest["items"], rest["next"]] == [found[:1], found[1:], None]


@pytest.mark.thorough
def test_a_search_without_embeddings_matches_words(client: Client, model: ModelServer) -> None:
    remembers(client, model, LISBON, TRAINS)
    model.embeddings_fault = 503
    answer = client.get("/api/memories?query=trains")
    [found] = answer["items"]
    assert (found["content"], found["score"]["meaning"], answer["found_by"]) == (TRAINS[1], None, "words")


@pytest.mark.thorough
def test_without_embeddings_or_matching_words_the_most_salient_memories_are_listed(
    client: Client, model: ModelServer
) -> None:
    remembers(client, model, LISBON, TRAINS)
    model.embeddings_fault = 503
    answer = client.get("/api/memories?query=oboe")
    assert answer["found_by"] == "salience"
    assert {each["content"] for each in answer["items"]} == {LISBON[1], TRAINS[1]}
    assert [each["score"]["total"] for each in answer["items"]] == [0, 0]


def test_a_memory_has_its_source_and_its_previous_versions(client: Client, model: ModelServer) -> None:
    [older] = remembers(client, model, LISBON)
    newer = client.request("PATCH", f"/api/memories/{older}", json={"content": "Lives in Porto."}).json()["id"]
    now, before = client.get(f"/api/memories/{newer}"), client.get(f"/api/memories/{older}")
    assert [(each["content"], each["status"]) for each in now["before"]] == [(LISBON[1], "superseded")]
    assert now["replaced_by"] is None
    assert now["since"] is None
    assert (before["replaced_by"]["content"], before["superseded_by"]) == ("Lives in Porto.", newer)
    assert before["conversation"] == LISBON[0]
    assert before["said_on"]


@pytest.mark.parametrize("method", ["GET", "DELETE", "PATCH"])
def test_an_unknown_or_another_users_memory_is_not_found(
    client: Client, stranger: Client, model: ModelServer, method: str
) -> None:
    [memory_id] = remembers(client, model, LISBON)
    body = {"json": {"content": "Lives in Porto."}} if method == "PATCH" else {}
    assert error_of(stranger.request(method, f"/api/memories/{memory_id}", **body)) == (404, "not_found")
    assert error_of(client.request(method, "/api/memories/mem_unheard_of", **body)) == (404, "not_found")
    assert stranger.get("/api/memories")["items"] == []
    assert [each["content"] for each in client.get("/api/memories")["items"]] == [LISBON[1]]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "after=-1", "after=x", "status=forgotten", "query=", "query=x&status=proposed"]
)
def test_an_invalid_list_query_is_one_clear_error(client: Client, query: str) -> None:
    assert error_of(client.request("GET", f"/api/memories?{query}")) == (422, "invalid")


def test_a_memory_awaiting_approval_is_listed_separately(client: Client, database: Database[dict[str, Any]]) -> None:
    memory = {"user_id": client.user_id, "type": "fact", "content": "Has asthma.", "sensitive": True, "created": 1.0}
    database["user_memories"].insert_one({**memory, "_id": f"m-{client.user_id}", "status": "proposed"})
    assert client.get("/api/memories")["items"] == []
    [waits] = client.get("/api/memories?status=proposed")["items"]
    assert (waits["content"], waits["sensitive"], waits["status"]) == ("Has asthma.", True, "proposed")


@pytest.mark.parametrize(
    ("trust", "confidence", "sure"),
    [
        ("user_said", 0.9, "sure"),
        ("user_said", 0.5, "fairly sure"),
        ("user_document", 0.9, "fairly sure"),
        ("inferred", 0.9, "unsure"),
        ("of a version to come", 0.9, "unsure"),
    ],
)
def test_the_confidence_of_a_memory_depends_first_on_its_source(
    client: Client, database: Database[dict[str, Any]], trust: str, confidence: float, sure: str
) -> None:
    memory = {"user_id": client.user_id, "type": "fact", "content": "x", "trust": trust, "confidence": confidence}
    database["user_memories"].insert_one({**memory, "_id": f"m-{client.user_id}", "status": "active"})
    assert [each["sure"] for each in client.get("/api/memories")["items"]] == [sure]


@pytest.mark.parametrize(
    ("said", "quote"),
    everyday(
        2,
        [
            ("Remember that I live in Lisbon.", "I live in Lisbon"),
            ("i LIVE in   Lisbon, you know", "i LIVE in   Lisbon"),
            (
                "Please keep in mind, for all that we do together from this day on, that I live in the town of Lisbon",
                "I live in the town of Lisbon",
            ),
            ("Hello 👋 – I live in Lisbon! What now?", "I live in Lisbon"),
            ("Ich wohne in Lisbon. Merk dir das bitte", "Ich wohne in Lisbon"),
        ],
    ),
)
def test_a_forgotten_memory_is_in_no_title_and_not_found_by_search(
    client: Client, model: ModelServer, said: str, quote: str
) -> None:
    [memory_id] = remembers(client, model, (said, "Lives in Lisbon.", quote))
    model.script_chat(Reply(text="Yes."))
    renamed = client.say("Is it far to Porto?").conversation_id
    client.request("PATCH", f"/api/conversations/{renamed}", json={"title": f"As I said: {quote}"}).raise_for_status()
    client.say("Which roles fit me?")
    client.request("DELETE", f"/api/memories/{memory_id}").raise_for_status()
    titles = [each["title"] for each in client.get("/api/conversations")["items"]]
    assert sorted(titles) == ["Conversation", "Conversation", "Which roles fit me?"]
    for word in ("Lisbon", "live", "wohne"):
        assert client.get(f"/api/conversations?q={word}")["items"] == [], word
    assert len(client.get("/api/conversations?q=Porto")["items"]) == 1


# --- correct and forget -----------------------------------------------------------------------------------------------


def test_a_correction_replaces_the_wrong_memory(client: Client, model: ModelServer) -> None:
    [older] = remembers(client, model, LISBON)
    answer = client.request("PATCH", f"/api/memories/{older}", json={"content": "  Lives in Porto. "}).json()
    assert (answer["content"], answer["quote"], answer["status"]) == ("Lives in Porto.", "Lives in Porto.", "active")
    assert answer["source"]["conversation_id"] is None
    assert [each["id"] for each in client.get("/api/memories")["items"]] == [answer["id"]]
    [superseded] = client.get("/api/memories?status=superseded")["items"]
    assert (superseded["id"], superseded["superseded_by"]) == (older, answer["id"])


@pytest.mark.thorough
@pytest.mark.parametrize(
    "body",
    [{}, {"content": ""}, {"content": "   "}, {"content": "…"}, {"content": "x" * 301}, {"content": 7}, "no object",
     {"content": "Lives in Porto.", "user_id": "somebody else"}, {"content": {"$where": "1"}}],
)  # fmt: skip
def test_an_invalid_correction_is_rejected(client: Client, model: ModelServer, body: Any) -> None:
    [memory_id] = remembers(client, model, LISBON)
    assert error_of(client.request("PATCH", f"/api/memories/{memory_id}", json=body)) == (422, "invalid")
    assert [each["content"] for each in client.get("/api/memories")["items"]] == [LISBON[1]]


def test_a_replaced_memory_cannot_be_corrected(client: Client, model: ModelServer) -> None:
    [older] = remembers(client, model, LISBON)
    client.request("PATCH", f"/api/memories/{older}", json={"content": "Lives in Porto."})
    again = client.request("PATCH", f"/api/memories/{older}", json={"content": "Lives in Faro."})
    assert error_of(again) == (422, "invalid")


def test_forgetting_includes_replaced_memories_and_says_that_transcripts_stay(
    client: Client, model: ModelServer, database: Database[dict[str, Any]]
) -> None:
    [older] = remembers(client, model, LISBON)
    newer = client.request("PATCH", f"/api/memories/{older}", json={"content": "Lives in Porto."}).json()["id"]
    answer = client.request("DELETE", f"/api/memories/{newer}").json()
    assert set(answer["forgotten"]) == {older, newer}
    assert "stays in your conversations until you delete" in answer["note"]
    for each in (older, newer):
        assert error_of(client.request("GET", f"/api/memories/{each}")) == (404, "not_found")
        assert error_of(client.request("DELETE", f"/api/memories/{each}")) == (404, "not_found")
    for status in ("active", "superseded", "proposed"):
        assert client.get(f"/api/memories?status={status}")["items"] == []
    left = str(list(database["user_memories"].find({"user_id": client.user_id}, {"content_embedding": 0})))
    assert "Lisbon" not in left
    assert "Porto" not in left


def test_a_forgotten_memory_is_in_no_prompt(client: Client, model: ModelServer) -> None:
    [memory_id] = remembers(client, model, LISBON)
    conversation_id = client.say("Hello").conversation_id
    assert LISBON[1] in str(model.requests[-1].json["messages"])
    client.request("DELETE", f"/api/memories/{memory_id}")
    client.say("And now?", conversation_id)
    assert "Lisbon" not in str(model.requests[-1].json["messages"])


def test_every_memory_and_account_route_is_described(client: Client) -> None:
    paths = client.get("/api/openapi.json")["paths"]
    described = {(path, method) for path, methods in paths.items() for method in methods if "/me" in path}
    assert described >= {
        ("/api/memories", "get"),
        ("/api/memories/{memory_id}", "get"),
        ("/api/memories/{memory_id}", "patch"),
        ("/api/memories/{memory_id}", "delete"),
        ("/api/me/export", "get"),
        ("/api/me", "delete"),
    }
    assert all(paths[path][method].get("description") for path, method in described)
