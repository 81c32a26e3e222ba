"""Commands to MongoDB that the rule rejects and accepts."""

import json
from typing import Any

import pytest

from tests.mongo_rule import ACTIONS, Sender, complaint_about
from tests.servers import USER

MINE = {"user_id": USER}
MESSAGES, PROFILES, DOCS = "agent_messages", "candidates_enhanced", "qwestly_docs"
STORE = Sender("stores/conversations.py:7")

OF_EVERYBODY: list[Any] = [
    {},
    {"_id": f"{USER}:chat-1"},
    {"user_id": ""},
    {"user_id": None},
    {"user_id": {"$in": [USER]}},
    {"user_id": {"$ne": USER}},
    {"user_id": {"$exists": True}},
    {"user_id": {"$gte": USER}},
    {"user_id": {"$not": {"$eq": USER}}},
    {"$or": [MINE, {"id": "chat-1"}]},
    {"$nor": [MINE]},
    {"$and": [{"id": "chat-1"}, {"$or": [MINE]}]},
    {"owner": MINE},
]
OF_ONE_USER: list[Any] = [
    MINE,
    {**MINE, "$or": [{"seq": 1}, {"seq": 2}]},
    {"user_id": {"$eq": USER}},
    {"$and": [{"seq": 1}, MINE]},
]


def searching(**more: Any) -> dict[str, Any]:
    return {"$vectorSearch": {"index": "i", "path": "embedding", "queryVector": [0.1], "limit": 3, **more}}


def about(filter: Any) -> dict[str, dict[str, Any]]:
    """Every command that has a filter, with this one."""
    return {
        "find": {"find": PROFILES, "filter": filter},
        "count": {"count": MESSAGES, "query": filter},
        "distinct": {"distinct": MESSAGES, "key": "role", "query": filter},
        "findAndModify": {"findAndModify": MESSAGES, "query": filter, "update": {"$set": {"seq": 1}}},
        "update": {"update": MESSAGES, "updates": [{"q": MINE, "u": {}}, {"q": filter, "u": {"$set": {"seq": 1}}}]},
        "delete": {"delete": MESSAGES, "deletes": [{"q": MINE, "limit": 0}, {"q": filter, "limit": 0}]},
        "aggregate": {"aggregate": MESSAGES, "pipeline": [{"$match": filter}, {"$match": MINE}]},
        "search": {"aggregate": "knowledge_chunk", "pipeline": [searching(filter=filter), {"$match": MINE}]},
    }


KINDS = sorted(about({}))


@pytest.mark.parametrize("filter", OF_EVERYBODY, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_a_command_that_may_reach_several_users_is_caught(kind: str, filter: Any) -> None:
    command = about(filter)[kind]
    name, collection = next(iter(command.items()))
    assert complaint_about(command, STORE) == (
        f"{STORE.line} sent {name} on {collection}, without an equality on user_id: {filter!r}"
    )


@pytest.mark.parametrize(
    ("users", "passes"),
    [([USER, "everybody"], True), ([USER, "auth0|other"], False), ([USER, "auth0|other", "everybody"], False)],
    ids=str,
)
def test_a_users_signals_may_be_read_only_with_the_global_ones(users: list[str], passes: bool) -> None:
    query = {"user_id": {"$in": users}}
    assert (complaint_about({"find": "agent_signals", "filter": query}, STORE) is None) is passes
    assert complaint_about({"find": MESSAGES, "filter": query}, STORE)
    assert complaint_about({"delete": "agent_signals", "deletes": [{"q": query, "limit": 0}]}, STORE)


def in_outbox(type_: str) -> list[dict[str, Any]]:
    """Each command that writes an event into a document, or into the feed."""
    text = json.dumps({"id": "e1", "type": type_})
    pushed, copied = {"$push": {"events": {"$each": [text]}}}, {"$setOnInsert": {"type": type_}}
    return [
        {"insert": "agent_lessons", "documents": [{**MINE, "events": [text]}]},
        {"update": "agent_lessons", "updates": [{"q": MINE, "u": pushed}]},
        {"findAndModify": "agent_lessons", "query": MINE, "update": pushed},
        {"update": "agent_activity", "updates": [{"q": MINE, "u": copied}]},
    ]


@pytest.mark.parametrize("kind", range(4))
def test_an_undeclared_event_is_caught(kind: int) -> None:
    said = complaint_about(in_outbox("lesson.burnt")[kind], STORE)
    assert said
    assert said.endswith("with an event that is not declared: ['lesson.burnt']")
    assert complaint_about(in_outbox("lesson.ready")[kind], STORE) is None


def test_an_event_is_declared_by_the_collection_it_is_written_to() -> None:
    *outboxes, feed = in_outbox("draft.failed")
    assert all(complaint_about(each, STORE) for each in outboxes)
    assert complaint_about(feed, STORE) is None


@pytest.mark.parametrize("filter", OF_ONE_USER, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_a_command_about_one_user_passes(kind: str, filter: Any) -> None:
    assert complaint_about(about(filter)[kind], STORE) is None


@pytest.mark.parametrize(
    "command",
    [
        {"find": MESSAGES},
        {"count": MESSAGES},
        {"distinct": MESSAGES, "key": "user_id"},
        {"findAndModify": MESSAGES, "remove": True},
        {"aggregate": MESSAGES, "pipeline": []},
        {"aggregate": MESSAGES, "pipeline": [{"$sort": {"seq": 1}}, {"$match": MINE}]},
        {"aggregate": MESSAGES, "pipeline": [{"$search": {"text": "x"}}, {"$match": MINE}]},
        {"aggregate": "knowledge_chunk", "pipeline": [searching(), {"$match": MINE}]},
    ],
    ids=str,
)
def test_a_stage_without_a_filter_is_caught(command: dict[str, Any]) -> None:
    assert "without an equality on user_id" in str(complaint_about(command, STORE))


@pytest.mark.parametrize(
    "document", [{"text": "whose?"}, {"user_id": ""}, {"user_id": None}, {"user_id": {"$eq": USER}}], ids=str
)
def test_a_document_without_a_user_is_caught_among_others(document: dict[str, Any]) -> None:
    assert complaint_about({"insert": MESSAGES, "documents": [MINE, MINE]}, STORE) is None
    said = complaint_about({"insert": MESSAGES, "documents": [MINE, document]}, STORE)
    assert said == f"{STORE.line} sent insert on {MESSAGES}, without an equality on user_id: {document!r}"


@pytest.mark.parametrize(
    "stage",
    [
        {"$lookup": {"from": MESSAGES, "pipeline": [], "as": "all"}},
        {"$graphLookup": {"from": MESSAGES}},
        {"$unionWith": MESSAGES},
        {"$facet": {"all": [{"$unionWith": {"coll": MESSAGES}}]}},
        {"$out": "elsewhere"},
        {"$merge": {"into": MESSAGES}},
    ],
    ids=str,
)
@pytest.mark.parametrize("collection", [MESSAGES, DOCS])
def test_a_pipeline_that_reads_beyond_its_filter_is_caught(collection: str, stage: dict[str, Any]) -> None:
    command = {"aggregate": collection, "pipeline": [{"$match": MINE}, {"$limit": 3}, stage]}
    assert "which reaches past its filter" in str(complaint_about(command, STORE))


@pytest.mark.parametrize("kind", KINDS)
def test_an_undeclared_collection_is_caught_until_a_store_declares_it(kind: str) -> None:
    command = about(MINE)[kind]
    name = next(iter(command))
    said = complaint_about({**command, name: "agent_brand_new"}, STORE)
    assert said
    assert said.startswith(f"{STORE.line} sent {name} on agent_brand_new, but no store declares it: ")


CANDIDATE_APPS = {
    "candidates_enhanced",
    "CandidateProfileCache",
    "employment_stints_enhanced",
    "preferences_enhanced",
    "qc_sections",
    "linkedin_profiles",
    "linkedin_summaries",
    "linkedin_profile_suggestions",
    "knowledge_chunk",
}


@pytest.mark.parametrize("collection", sorted(CANDIDATE_APPS))
@pytest.mark.parametrize(
    "write",
    [
        {"insert": "", "documents": [MINE]},
        {"update": "", "updates": [{"q": MINE, "u": {"$set": {"name": "x"}}}]},
        {"delete": "", "deletes": [{"q": MINE, "limit": 1}]},
        {"findAndModify": "", "query": MINE, "remove": True},
    ],
    ids=str,
)
def test_a_write_to_the_candidate_apps_collections_is_caught(write: dict[str, Any], collection: str) -> None:
    name = next(iter(write))
    said = complaint_about({**write, name: collection}, STORE)
    assert said
    assert said.startswith(f"{STORE.line} sent {name} on {collection}, which the package may only read: ")
    assert USER in said


def test_a_collection_not_owned_by_the_candidate_app_is_writable() -> None:
    assert {name for name, actions in ACTIONS.items() if actions == {"find"}} == CANDIDATE_APPS | {"things"}
    assert all(actions == {"find"} or actions >= {"insert", "update", "remove"} for actions in ACTIONS.values())


@pytest.mark.parametrize(
    "command",
    [
        {"createIndexes": PROFILES, "indexes": []},
        {"createIndexes": MESSAGES, "indexes": []},
        {"drop": PROFILES},
        {"dropDatabase": 1},
        {"renameCollection": "a.b", "to": "a.c"},
        {"mapReduce": MESSAGES, "query": MINE},
        {"bulkWrite": 1, "ops": [{"insert": 0, "document": MINE}], "nsInfo": [{"ns": f"a.{PROFILES}"}]},
        {"aggregate": 1, "pipeline": [{"$currentOp": {}}]},
        {"listCollections": 1},
    ],
    ids=str,
)
def test_a_command_outside_the_role_is_caught(command: dict[str, Any]) -> None:
    assert complaint_about(command, STORE)


def test_a_collection_without_user_data_is_read_and_written_freely() -> None:
    for command in (
        {"find": DOCS, "filter": {}},
        {"insert": DOCS, "documents": [{"text": "Plans"}]},
        {"delete": DOCS, "deletes": [{"q": {"_id": {"$in": ["a"]}}, "limit": 0}]},
    ):
        assert complaint_about(command, Sender("stores/docs.py:3")) is None


def test_a_marked_method_may_read_across_users_and_write_nothing() -> None:
    due, marked = {"find": MESSAGES, "filter": {"seq": {"$lt": 3}}}, Sender("stores/messages.py:12", True)
    assert complaint_about(due, marked) is None
    for line in (
        "stores/messages.py:12",
        "stores/runs.py:12",
        "stores/measures.py:12",
        "tools/sweeps.py:12",
        "somebody",
    ):
        assert complaint_about(due, Sender(line)), line
    for command in (
        {"delete": MESSAGES, "deletes": [{"q": {}, "limit": 0}]},
        {"find": "agent_brand_new", "filter": {}},
        {"aggregate": MESSAGES, "pipeline": [{"$match": {}}, {"$out": "elsewhere"}]},
    ):
        assert complaint_about(command, marked), command
