"""Documents for a job through the API and the chat: started, returned with their quotes, downloaded as files."""

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import pytest
from pymongo import MongoClient

from qwestly_agent.clients.aws import Workflows
from qwestly_agent.resumes.file_text import text_of_docx
from tests.functions.test_jobs import found
from tests.servers import ChatServer, Client

QUOTE = {"source": "employment:1", "text": "Engineer, Northwind"}


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the executions that were started."""
    names: list[str] = []

    async def start(_: Workflows, machine: str, name: str, given: Mapping[str, Any]) -> None:
        names.append(name)

    monkeypatch.setattr(Workflows, "start", start)
    return names


NOTHING_READ = {"found": "null", "left_out": "{}", "read": "null"}


def begun(client: Client, job_id: str, body: dict[str, Any]) -> dict[str, Any]:
    return client.request("POST", f"/api/jobs/{job_id}/documents", json=body).raise_for_status().json()


def written(chat: ChatServer, client: Client, job_id: str, status: str = "drafted") -> str:
    """Store a résumé as the state machine does."""
    head = {"document_name": "Maya Okafor", "document_head": ["location"]}
    client.request("PUT", "/api/settings", json=head).raise_for_status()
    document = begun(client, job_id, {"kind": "resume"})
    claim = {"text": "Builds services in Python", "quotes": [QUOTE], "marks": [], "unchecked": False}
    left_out = {"claim": {"text": "Speaks Klingon", "quotes": []}, "why": ["Its quotes do not say so."]}
    section = {"kind": "positions", "heading": "Experience", "claims": [claim]}
    card = {"style": "concise", "headline": None, "sections": [section]}
    evidence = {
        "id": "employment:1", "kind": "employment", "trust": "user_said", "text": "Engineer, Northwind",
        "source": "your profile",
        "fields": {"title": "Engineer", "company": "Northwind", "start": "2020", "end": "present"},
    }  # fmt: skip
    requirement = {"text": "Python", "advert_quote": "services in Python", "met": "met", "quotes": [QUOTE]}
    parts = {
        "evidence": [evidence],
        "card": {"round": 1, "checked": {"card": card, "left_out": [left_out]}, "unchanged": False},
        "coverage": {"requirements": [requirement], "checked": True},
    }
    keep(chat, client.user_id, document["id"], status, parts)
    return document["id"]


def keep(chat: ChatServer, user_id: str, document_id: str, status: str, parts: dict[str, Any]) -> None:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        drafts = mongo[chat.settings.mongodb_database]["agent_drafts"]
        kept = {f"part_{name}": json.dumps(part) for name, part in parts.items()}
        drafts.update_one({"_id": document_id, "user_id": user_id}, {"$set": {"status": status, **kept}})


def test_a_document_is_started_once_and_named_after_its_job(
    client: Client, chat: ChatServer, started: list[str]
) -> None:
    job_id = found(chat, client.user_id)
    first = begun(client, job_id, {"kind": "resume"})
    assert (first["status"], first["version"], first["job_id"], first["kind"]) == ("writing", 1, job_id, "resume")
    assert begun(client, job_id, {"kind": "resume"})["id"] == first["id"]
    letter = begun(client, job_id, {"kind": "cover_letter"})
    listed = client.get("/api/documents")["items"]
    assert [each["id"] for each in listed] == [letter["id"], first["id"]]
    assert started == [f"card-{first['id']}", f"card-{letter['id']}"]
    told = [each["title"] for each in client.get("/api/activity")["items"]]
    assert told == [f"Drafting your {each} for Backend Engineer, Kestrel Labs" for each in ("cover letter", "résumé")]
    assert client.get(f"/api/documents/{first['id']}")["markdown"] is None
    assert client.request("GET", f"/api/documents/{first['id']}/download").status_code == 404


def test_a_document_is_returned_with_quotes_omissions_and_coverage(client: Client, chat: ChatServer) -> None:
    document = client.get(f"/api/documents/{written(chat, client, found(chat, client.user_id))}")
    assert document["status"] == "ready"
    assert "Builds services in Python" in document["markdown"]
    assert "Klingon" not in document["markdown"]
    [sentence] = document["sentences"]
    assert sentence["quotes"][0]["quote"] == "Engineer, Northwind"
    assert document["left_out"] == [{"text": "Speaks Klingon", "why": ["Its quotes do not say so."]}]
    [covered] = document["coverage"]
    assert (covered["requirement"], covered["met"]) == ("Python", "met")
    assert covered["quotes"][0]["source"] == "your profile (Engineer, Northwind, 2020 – present)"


def changed(client: Client, document: dict[str, Any], parts: Any) -> Any:
    body = {"parts": parts, "revision": document["revision"]}
    return client.request("PUT", f"/api/documents/{document['id']}", json=body)


def test_sentences_can_be_edited_struck_added_and_moved_and_the_changes_undone(
    client: Client, chat: ChatServer
) -> None:
    document_id = written(chat, client, found(chat, client.user_id))
    before = client.get(f"/api/documents/{document_id}")
    [position] = before["parts"]
    assert (position["heading"], position["sentences"]) == ("Engineer, Northwind", ["Builds services in Python"])
    assert (before["can_undo"], before["sentences"][0]["confirmed"]) == (False, False)
    added = {"key": position["key"], "sentences": ["I mentor\u200b juniors.", "Builds services in Python"]}
    after = changed(client, before, [added]).raise_for_status().json()
    assert "- I mentor juniors.\n- Builds services in Python\n" in after["markdown"]
    mine, theirs = after["sentences"]
    assert (mine["confirmed"], mine["quotes"], theirs["confirmed"]) == (True, [], False)
    assert theirs["quotes"][0]["quote"] == "Engineer, Northwind"
    download = client.request("GET", f"/api/documents/{document_id}/download?format=md").text
    assert "I mentor juniors." in download
    struck = changed(client, after, [{**added, "sentences": ["I lead."]}]).json()
    assert [each["text"] for each in struck["sentences"]] == ["I lead."]
    assert changed(client, after, [added]).json()["error"]["message"].startswith("It changed meanwhile.")
    once = changed(client, struck, None).json()
    assert once["parts"] == after["parts"]
    back = changed(client, once, None).json()
    assert (back["markdown"], back["parts"], back["can_undo"]) == (before["markdown"], before["parts"], False)
    assert changed(client, back, None).status_code == 422


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ({"sentences": ["Call +351 912 345 678."]}, "Contact details stand at the top"),
        ({"sentences": ["Write to maya@example.com"]}, "Contact details stand at the top"),
        ({"sentences": []}, "A document needs a sentence"),
        ({"key": "positions:another", "sentences": ["I lead."]}, "A document needs a sentence"),
        ({"key": "summary", "sentences": ["I lead."]}, "A document needs a sentence"),
        ({"sentences": ["x" * 1_001]}, ""),
        ({"sentences": ["\u200b"]}, ""),
    ],
)
def test_an_edit_that_would_make_a_document_unsendable_is_rejected(
    client: Client, chat: ChatServer, part: dict[str, Any], says: str
) -> None:
    document_id = written(chat, client, found(chat, client.user_id))
    before = client.get(f"/api/documents/{document_id}")
    refused = changed(client, before, [{"key": before["parts"][0]["key"], **part}])
    assert refused.status_code == 422
    assert refused.json()["error"]["message"].startswith(says)
    assert client.get(f"/api/documents/{document_id}") == before


def test_another_users_document_cannot_be_changed(client: Client, chat: ChatServer) -> None:
    document = client.get(f"/api/documents/{written(chat, client, found(chat, client.user_id))}")
    with Client(chat.url, "auth0|stranger-of-documents") as stranger:
        assert changed(stranger, document, []).status_code == 404


def test_a_document_can_be_downloaded_as_a_file(client: Client, chat: ChatServer) -> None:
    document_id = written(chat, client, found(chat, client.user_id))
    answer = client.request("GET", f"/api/documents/{document_id}/download")
    assert answer.headers["content-type"].endswith("wordprocessingml.document")
    assert answer.headers["content-disposition"].endswith('.docx"')
    assert zipfile.is_zipfile(io.BytesIO(answer.content))
    assert "Engineer, Northwind\n" in text_of_docx(answer.content)
    for ending, begins in (("md", "# "), ("html", "<!doctype html>")):
        answer = client.request("GET", f"/api/documents/{document_id}/download", params={"format": ending})
        assert answer.text.startswith(begins)
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert client.request("GET", f"/api/documents/{document_id}/download", params={"format": "exe"}).status_code == 422


def test_the_document_head_is_inserted_by_code_with_the_chosen_fields(client: Client, chat: ChatServer) -> None:
    document_id = written(chat, client, found(chat, client.user_id))
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        database = mongo[chat.settings.mongodb_database]
        account = {"user_id": client.user_id, "email": "account@example.org", "name": "Maya Okafor"}
        database["candidates_enhanced"].insert_one(account)
        for day, phone in ((1, "+351 900 000 001"), (2, "+351 912 345 678")):
            contacts = json.dumps({"phone": [phone], "url": ["maya.example"] * 2})
            resume = {"_id": f"{document_id}-{day}", "user_id": client.user_id, "created_at": day, "updated_at": day}
            resume |= {"run_id": "run", "name": "cv.pdf", "label": "Read", "status": "done", "text": "Maya Okafor"}
            database["agent_resumes"].insert_one({**resume, **NOTHING_READ, "contacts": contacts})

    head = {"name": "Maya Okafor", "email": "account@example.org", "phone": "+351 912 345 678", "links": "maya.example"}
    assert client.get(f"/api/documents/{document_id}")["head"] == head

    def top(*fields: str) -> str:
        parameters = {"format": "md", "head": fields}
        text = client.request("GET", f"/api/documents/{document_id}/download", params=parameters).text
        return text.partition("\n\n##")[0]

    assert (top(), top("none")) == ("# Maya Okafor", "# Maya Okafor")
    assert top("phone", "links", "email") == "# Maya Okafor\n\naccount@example.org · +351 912 345 678 · maya.example"
    for ending in ("docx", "html"):
        parameters = {"format": ending, "head": ["name", "phone"]}
        file = client.request("GET", f"/api/documents/{document_id}/download", params=parameters).content
        text = text_of_docx(file) if ending == "docx" else file.decode()
        assert ("912 345 678" in text, "account@" in text) == (True, False)
    refused = client.request("GET", f"/api/documents/{document_id}/download", params={"head": "birth date"})
    assert refused.status_code == 422


def test_each_document_uses_the_chosen_head_and_requires_a_user_name(client: Client, chat: ChatServer) -> None:
    document_id = written(chat, client, found(chat, client.user_id))
    chosen = {"document_name": " Maya\nO. ", "document_head": ["phone", "email"]}
    client.request("PUT", "/api/settings", json=chosen).raise_for_status()
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        account = {"user_id": client.user_id, "email": "account@example.org", "location": "Faro"}
        mongo[chat.settings.mongodb_database]["candidates_enhanced"].insert_one(account)
    path = f"/api/documents/{document_id}"
    detail = client.get(path)
    assert detail["chosen_head"] == ["phone", "email"]
    assert detail["markdown"].startswith("# Maya O.\n\naccount@example.org\n\n##")
    downloaded = client.request("GET", f"{path}/download", params={"format": "md"}).text
    assert downloaded == detail["markdown"]
    client.request("PUT", "/api/settings", json={"document_name": ""}).raise_for_status()
    refused = client.request("GET", f"{path}/download")
    assert refused.status_code == 422
    assert "I don't know your name yet" in refused.json()["error"]["message"]


def test_a_change_request_creates_a_new_version(client: Client, chat: ChatServer) -> None:
    job_id = found(chat, client.user_id)
    written(chat, client, job_id)
    body = {"kind": "resume", "wish": "Shorter, please."}
    second = begun(client, job_id, body)
    assert second["version"] == 2
    listed = client.get(f"/api/documents?job_id={job_id}")["items"]
    assert [each["version"] for each in listed] == [2, 1]


@pytest.mark.parametrize(
    "body", [{}, {"kind": "poem"}, {"kind": "resume", "wish": "x" * 501}, {"kind": "resume", "a": 1}]
)
def test_an_invalid_request_starts_no_document(client: Client, chat: ChatServer, body: dict[str, Any]) -> None:
    answer = client.request("POST", f"/api/jobs/{found(chat, client.user_id)}/documents", json=body)
    assert answer.status_code == 422
    assert client.get("/api/documents")["items"] == []


def test_another_users_documents_cannot_be_read(client: Client, chat: ChatServer) -> None:
    job_id = found(chat, client.user_id)
    document_id = written(chat, client, job_id)
    with Client(chat.url, "auth0|somebody-else") as other:
        assert other.request("GET", f"/api/documents/{document_id}").status_code == 404
        assert other.request("GET", f"/api/documents/{document_id}/download").status_code == 404
        assert other.request("POST", f"/api/jobs/{job_id}/documents", json={"kind": "resume"}).status_code == 404


def test_a_card_is_not_a_document(client: Client, chat: ChatServer) -> None:
    document_id = written(chat, client, found(chat, client.user_id))
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        drafts = mongo[chat.settings.mongodb_database]["agent_drafts"]
        drafts.update_one({"_id": document_id}, {"$set": {"kind": "card"}})
    assert client.request("GET", f"/api/documents/{document_id}").status_code == 404
