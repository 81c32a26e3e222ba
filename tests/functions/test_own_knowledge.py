"""One tool finds everything known about a user, wherever it is stored; the profile lists additions from their
résumé."""

import json
from typing import Any

import pytest
from pymongo import MongoClient

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.domain.interview import DraftSentence, Interview
from tests.servers import ChatServer, Client

LINES = ("Orla Byrne", "Cellist, Ulster Orchestra, 2014", "Tuner, Harcourt Pianos, 2009", "Gaelic")
FIELDS = {
    ("work", 0, "position"): "Cellist",
    ("work", 0, "name"): "Ulster Orchestra",
    ("work", 0, "startDate"): "2014",
    ("work", 1, "position"): "Tuner",
    ("work", 1, "name"): "Harcourt Pianos",
    ("languages", 0, "language"): "Gaelic",
}
"""Fields by the parts of their JSON pointer."""


def has_resume(chat: ChatServer, user_id: str, status: str) -> None:
    text = "\n".join(LINES)
    read = [
        {
            "path": "".join(f"/{part}" for part in path),
            "value": value,
            "original": value,
            "quote": value,
            "is_checked": True,
        }
        | {"start": text.index(value), "end": text.index(value) + len(value)}
        for path, value in FIELDS.items()
    ]
    document = {"_id": f"res_{user_id}", "user_id": user_id, "run_id": "run", "name": "orla.pdf", "status": status}
    document |= {"label": "Read", "text": text, "created_at": 1.0, "updated_at": 1.0}
    document |= {"contacts": "{}", "found": "null", "left_out": "{}", "read": json.dumps(read)}
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        mongo[chat.settings.mongodb_database]["agent_resumes"].insert_one(document)


def result_of(client: Client, model: ModelServer, name: str, **arguments: Any) -> dict[str, Any]:
    model.script(Reply(tool_calls=[{"name": name, "arguments": arguments}]), Reply(text="So."))
    client.say("What do you know?")
    [told] = [m["content"] for m in model.requests[-1].json["messages"] if m["role"] == "tool"]
    return json.loads(told.split(">", 1)[1].rsplit("<", 1)[0])


def test_each_kind_of_knowledge_is_found_and_labeled(client: Client, chat: ChatServer, model: ModelServer) -> None:
    has_resume(chat, client.user_id, "proposed")
    client.say("Remember that I prefer the cello to the viola.")
    model.script(Reply(text="Tell me."))
    interview = client.say("Interview me about the cello", role="interview").conversation_id
    sentence = DraftSentence(topic="Work", aspects=(), text="Toured Norway with a borrowed cello.", quotes=(), since=1)
    kept = Interview(statements=(sentence,)).model_dump(mode="json")
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        conversations = mongo[chat.settings.mongodb_database]["agent_conversations"]
        conversations.update_one({"user_id": client.user_id, "id": interview}, {"$set": {"interview": kept}})

    found = result_of(client, model, "query_user_knowledge", query="cello, cellist, Ulster")
    [position] = found["resumes"]
    assert (position["kind"], position["from"]) == ("résumé", "orla.pdf, not yet approved")
    assert position["text"] == "Cellist, Ulster Orchestra, 2014"
    assert [(each["kind"], each["text"]) for each in found["interviews"]] == [
        ("interview draft", "Toured Norway with a borrowed cello.")
    ]
    assert {"Remember that I prefer the cello to the viola."} <= {each["text"] for each in found["messages"]}
    assert [each["kind"] for each in found["memories"]] == ["memory"]
    assert [*result_of(client, model, "query_user_knowledge", query="cello", only="memories")] == ["memories"]


@pytest.mark.parametrize(("status", "source"), [("proposed", "orla.pdf, not yet approved"), ("done", "orla.pdf")])
def test_the_profile_lists_additions_from_the_resume(
    client: Client, chat: ChatServer, model: ModelServer, status: str, source: str
) -> None:
    has_resume(chat, client.user_id, status)
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        stint = {"user_id": client.user_id, "company": "Harcourt Pianos", "title": "Tuner"}
        mongo[chat.settings.mongodb_database]["employment_stints_enhanced"].insert_one(stint)
    added = result_of(client, model, "get_user_profile")["resume_adds"]
    assert added == {
        "from": source,
        "languages": ["Gaelic"],
        "positions": [
            {"title": "Tuner", "company": "Harcourt Pianos"},
            {"title": "Cellist", "company": "Ulster Orchestra", "start": "2014"},
        ],
    }


def test_a_resume_still_being_read_adds_nothing(client: Client, chat: ChatServer, model: ModelServer) -> None:
    has_resume(chat, client.user_id, "checking")
    found = result_of(client, model, "get_user_profile")
    assert found == {"profile": None, "note": "This user has no profile yet."}
