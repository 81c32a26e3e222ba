"""The local candidate app and the TypeScript reference keep the contract: each request and response here is checked
against the document."""

import asyncio
import json
import re
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, get_args

import httpx2
import jwt
import pytest
import yaml
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from pymongo.errors import OperationFailure

from infra.local.candidate_app import (
    APPLICATIONS,
    CHUNKS,
    CONTRACT,
    DOCUMENTS,
    FAULTS,
    OPERATIONS,
    Fault,
    WriteApi,
    api_of,
)
from infra.local.environment import API_PATH, SafeLoader
from qwestly_agent.clients.aws import EventBus
from qwestly_agent.clients.candidate_app import CandidateApp, CardText, Done, Effect, Pending
from qwestly_agent.domain.activity import of_memory
from qwestly_agent.domain.candidate import EMPLOYMENT, Positions, Preference, ProfileField
from qwestly_agent.stores.candidate_data import CANDIDATES, LINKEDIN, LINKEDIN_SUGGESTIONS, PREFERENCES, READ_FIELDS
from tests.infra.candidate_servers import ContractServer, Reference, reference, stub
from tests.servers import API_SECRET, FakeClock, until

CARDS = "qc_sections"
CARD = {
    "style": "standard",
    "headline": "Builds what she plans",
    "sections": [{"kind": "experience", "heading": "Work", "claims": ["Led a team of eight.", "Zürich – 日本"]}],
}
SOURCE = {"url": "https://www.linkedin.com/in/ada", "refresh": True}
ABOUT = {"section": "about", "text": "I build – in Zürich and 日本 – what I plan.\nAsk me."}
RESUME = {"title": "resume.pdf", "kind": "resume", "text": "Ada – 日本\n\nLed eight.\n\n" + "Wrote. " * 300}
APPLICATION = {
    "job": {"title": "Head of Product", "company": "Kestrel Labs", "url": "", "source": "adzuna"},
    "documents": [{"kind": "resume", "text": "# Ada – 日本"}],
    "note": "",
}
DOCUMENT = yaml.load(CONTRACT.read_text(encoding="utf-8"), SafeLoader)


# --- the contract, as a judge ---------------------------------------------------------------------------------------


def resolved(node: Any) -> Any:
    while "$ref" in node:
        where = node
        node = DOCUMENT
        for name in where["$ref"].removeprefix("#/").split("/"):
            node = node[name]
    return node


def complaints(schema: Any, value: Any) -> list[str]:
    validator = Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    return [error.message for error in validator.iter_errors(value)]


@dataclass
class Judge:
    """Records all traffic, and which of the documented responses occurred."""

    seen: set[tuple[str, str]] = field(default_factory=set)

    def __call__(self, response: httpx2.Response) -> None:
        response.read()
        path = path_in_document(response.request.url.path)
        template, item = next(each for each in DOCUMENT["paths"].items() if _fits(each[0], path))
        operation = item[response.request.method.lower()]
        declared = operation["responses"].get(str(response.status_code))
        assert declared, f"{operation['operationId']} answered {response.status_code}: {response.text}"
        self.seen.add((operation["operationId"], str(response.status_code)))
        self._check_response(resolved(declared), response)
        if response.status_code not in (401, 403, 429, 500):
            parameters = [resolved(each) for each in [*item.get("parameters", ()), *operation.get("parameters", ())]]
            wrong = _wrong_with(response.request, parameters, operation.get("requestBody"))
            assert bool(wrong) == (response.status_code in (422, 428)), (template, response.status_code, wrong)

    def _check_response(self, declared: Any, response: httpx2.Response) -> None:
        assert response.headers["content-type"] == "application/json"
        assert not complaints(declared["content"]["application/json"]["schema"], response.json()), response.text
        for name, given in declared.get("headers", {}).items():
            header = resolved(given)
            if header.get("required") or name in response.headers:
                assert not complaints(header["schema"], response.headers[name])
        if "etag" in response.headers:
            assert response.headers["etag"] == f'"{response.json()["version"]}"'


def address(server: ContractServer, path: str) -> str:
    """Return the full URL of a path, with the path's own `servers` entry in the OpenAPI document if it has one."""
    [mine] = DOCUMENT["paths"].get(path, {}).get("servers", DOCUMENT["servers"])
    return mine["url"].replace("{origin}", server.url.removesuffix(API_PATH)) + path


def path_in_document(path: str) -> str:
    return path.removeprefix(API_PATH) if path.startswith(API_PATH) else path.removeprefix("/api")


def _fits(template: str, path: str) -> bool:
    return bool(re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path))


def _wrong_with(request: httpx2.Request, parameters: list[Any], body: Any) -> list[str]:
    wrong: list[str] = []
    headers = [each for each in parameters if each["in"] == "header"]
    for header in headers:
        if header["name"] in request.headers:
            wrong += complaints(header["schema"], request.headers[header["name"]])
        elif header["required"]:
            wrong.append(f"{header['name']} is missing")
    if {"If-Match", "If-None-Match"} <= {header["name"] for header in headers}:
        given = [name for name in ("If-Match", "If-None-Match") if name in request.headers]
        wrong += [] if len(given) == 1 else [f"the preconditions are {given}"]
    if body:
        try:
            value = httpx2.Response(200, content=request.content).json()
        except ValueError:
            return [*wrong, "the body is no JSON"]
        wrong += complaints(body["content"]["application/json"]["schema"], value)
    return wrong


# --- a user of it ---------------------------------------------------------------------------------------------------


def token(user_id: str, **changes: Any) -> str:
    now = int(FakeClock()())
    claims = {
        "iss": "qwestly-agent",
        "aud": "candidate-app",
        "sub": user_id,
        "act": {"sub": "ap_1"},
        "iat": now,
        "exp": now + 60,
        "jti": uuid.uuid4().hex,
        **changes,
    }
    return jwt.encode({name: value for name, value in claims.items() if value is not None}, API_SECRET, "HS256")


@dataclass
class Agent:
    http: httpx2.Client
    server: ContractServer
    user_id: str = field(default_factory=lambda: f"auth0|{uuid.uuid4().hex}")

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        given = {"Authorization": f"Bearer {token(self.user_id)}", **headers}
        return self.http.request(method, address(self.server, path), json=body, headers=given)

    def write(
        self, method: str, path: str, body: Any = None, version: str | None = None, key: str | None = None
    ) -> httpx2.Response:
        """Write with the version that was read, or as a new value."""
        precondition = {"If-Match": f'"{version}"'} if version is not None else {"If-None-Match": "*"}
        return self.ask(method, path, body, **precondition, **{"Idempotency-Key": key or uuid.uuid4().hex})

    def another(self) -> "Agent":
        return Agent(self.http, self.server)

    def document(self, collection: str, **more: str) -> dict[str, Any]:
        return next(iter(self.server.find(collection, user_id=self.user_id, **more)), {})

    def cards(self) -> list[dict[str, Any]]:
        return self.server.find(CARDS, user_id=self.user_id)

    def insert(self, collection: str, **fields: Any) -> None:
        """Insert a document as the candidate app does."""
        self.server.insert(collection, {"_id": uuid.uuid4().hex, "user_id": self.user_id, **fields})


@pytest.fixture(scope="module", params=["the stub", pytest.param("the reference", marks=pytest.mark.thorough)])
def server(request: pytest.FixtureRequest, mongodb_uri: str) -> Iterator[ContractServer]:
    with stub(mongodb_uri) if request.param == "the stub" else reference() as server:
        yield server


@pytest.fixture
def judge() -> Judge:
    return Judge()


@pytest.fixture
def agent(server: ContractServer, judge: Judge) -> Iterator[Agent]:
    server.misbehave()
    with httpx2.Client(event_hooks={"response": [judge]}, timeout=10) as http:
        yield Agent(http, server)
    server.release()


@dataclass(frozen=True)
class Write:
    method: str
    path: str
    body: Any
    other_body: Any
    may_create: bool = True


WRITES = {
    "setProfileFields": Write("PATCH", "/profile", {"headline": "Engineer", "skills": ["SQL"]}, {"location": "Lisbon"}),
    "setPreference": Write("PATCH", "/preferences", {"roles": ["Lead"]}, {"work_mode": "remote"}),
    "ingestLinkedIn": Write("POST", "/linkedin/profile", SOURCE, {**SOURCE, "refresh": False}),
    "suggestLinkedIn": Write("PUT", "/linkedin-profile/suggestions/dr_1", ABOUT, {**ABOUT, "text": "Otherwise."}),
    "keepDocument": Write("PUT", "/documents/res_1", RESUME, {**RESUME, "text": "Otherwise."}),
    "sendApplication": Write("PUT", "/applications/job_1", APPLICATION, {**APPLICATION, "note": "Otherwise."}),
    "publishCard": Write("PUT", "/cards/dr_1", CARD, {**CARD, "style": "story"}),
    "activateCard": Write("POST", "/cards/dr_1/activation", None, None, may_create=False),
    "deactivateCard": Write("DELETE", "/cards/dr_1/activation", None, None, may_create=False),
    "deleteCard": Write("DELETE", "/cards/dr_1", None, None, may_create=False),
}
READS = {
    "readProfileVersion": "/profile",
    "readPreferencesVersion": "/preferences",
    "readLinkedInVersion": "/linkedin-profile",
    "readLinkedInSuggestionVersion": "/linkedin-profile/suggestions/dr_1",
    "readCardVersion": "/cards/dr_1",
    "readDocumentVersion": "/documents/res_1",
    "readApplicationVersion": "/applications/job_1",
    "readOperation": f"/operations/{'k' * 32}",
}


REFUSING_FAULTS: dict[Fault, int] = {"busy": 429, "forbidden": 403, "error_before": 500}
READING_FAULTS: dict[Fault, int] = {"version_busy": 429, "version_forbidden": 403, "version_unread": 500}


def prepare(agent: Agent, name: str) -> str | None:
    """Create what an operation needs; returns its version."""
    if WRITES[name].may_create:
        return None
    return agent.write("PUT", "/cards/dr_1", CARD).json()["version"]


def test_the_document_is_valid_openapi() -> None:
    validate(DOCUMENT)


@pytest.mark.nightly
@pytest.mark.thorough
def test_each_documented_response_is_returned_as_documented(agent: Agent, judge: Judge) -> None:
    for name, write in WRITES.items():
        user, key = agent.another(), uuid.uuid4().hex
        parts = (write.method, write.path, write.body)
        assert user.write(*parts, version="1").status_code == 404
        version = prepare(user, name)
        for fault, status in REFUSING_FAULTS.items():
            agent.server.misbehave(fault)
            assert user.write(*parts, version=version).status_code == status
        refused = user.ask(write.method, write.path, write.body, Authorization="Bearer none")
        assert refused.status_code == 401
        assert user.ask(*parts, **{"Idempotency-Key": key}).status_code == 428
        assert user.ask(*parts, **{"If-Match": '"1"'}).status_code == 422
        assert user.write(*parts, version=version, key=key).status_code in (200, 202)
        kept = until(lambda user=user, key=key: _finished(user, key))
        assert user.write(*parts, version=version, key=key).json() == kept
        other_path = write.path if write.other_body else write.path.replace("dr_1", "dr_2")
        assert user.write(write.method, other_path, write.other_body, version or "1", key).status_code == 409
        if name == "deleteCard":
            prepare(user, name)
        assert user.write(*parts, version="no-such-version").status_code == 412
    for name, path in READS.items():
        user = agent.another()
        assert user.ask("GET", path).status_code == 404
        assert user.ask("GET", path, Authorization="").status_code == 401
        for fault, status in (REFUSING_FAULTS if name == "readOperation" else READING_FAULTS).items():
            agent.server.misbehave(fault)
            assert user.ask("GET", path).status_code == status
    assert agent.http.get(address(agent.server, "/sources")).json()["sources"]["adzuna"] == {"delivers": True}
    agent.server.misbehave("version_unread")
    assert agent.http.get(address(agent.server, "/sources")).status_code == 500
    user = agent.another()
    suggestion, card = (LINKEDIN_SUGGESTIONS, {"draft_id": "dr_1"}), (CARDS, {"card_id": "dr_1"})
    document, application = (DOCUMENTS, {"document_id": "res_1"}), (APPLICATIONS, {"job_id": "job_1"})
    profile, preferences, linkedin = (CANDIDATES, {}), (PREFERENCES, {}), (LINKEDIN, {})
    for collection, more in (profile, preferences, linkedin, suggestion, card, document, application):
        user.insert(collection, version=7, **more)
    for name, path in READS.items():
        if name != "readOperation":
            assert user.ask("GET", path).json() == {"subject": path.removeprefix("/"), "version": "7"}
    documented = {
        (operation["operationId"], status)
        for item in DOCUMENT["paths"].values()
        for method, operation in item.items()
        if method not in ("parameters", "servers")
        for status in operation["responses"]
    }
    at_once = {(name, "202") for name in WRITES if name != "ingestLinkedIn"}
    # An ingestion returns 200 if nothing needs to be read, which has its own test, and if its key is repeated.
    assert judge.seen == documented - at_once


def _finished(agent: Agent, key: str) -> Any:
    operation = agent.ask("GET", f"/operations/{key}").json()
    return None if operation["status"] == "pending" else operation


# --- each effect once -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WRITES)
def test_a_repeated_idempotency_key_has_one_effect_despite_a_newer_version(agent: Agent, name: str) -> None:
    write, version, key = WRITES[name], prepare(agent, name), uuid.uuid4().hex
    first = agent.write(write.method, write.path, write.body, version, key)
    assert first.status_code in (200, 202)
    kept = until(lambda: _finished(agent, key))
    before = agent.cards(), agent.document(CANDIDATES)
    again = agent.write(write.method, write.path, write.body, version, key)
    assert (again.status_code, again.json()) == (200, kept)
    assert (agent.cards(), agent.document(CANDIDATES)) == before


def test_an_application_that_cannot_be_delivered_is_rejected_and_not_stored(agent: Agent) -> None:
    undelivered = {**APPLICATION, "job": {**APPLICATION["job"], "source": "elsewhere"}}
    refused = agent.write("PUT", "/applications/job_1", undelivered)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_delivered")
    assert agent.document(APPLICATIONS) == {}


def test_forty_concurrent_requests_with_one_key_have_one_effect(agent: Agent) -> None:
    agent.write("PATCH", "/profile", {"headline": "Before"})
    version = agent.ask("GET", "/profile").json()["version"]
    key = uuid.uuid4().hex

    def send(_: int) -> httpx2.Response:
        return agent.write("PATCH", "/profile", {"headline": "After"}, version, key)

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(send, range(40)))
    assert {answer.status_code for answer in answers} <= {200, 202}
    assert agent.document(CANDIDATES)["version"] == int(version) + 1


def test_one_of_forty_concurrent_changes_to_a_version_wins(agent: Agent) -> None:
    version = agent.write("PATCH", "/profile", {"headline": "Before"}).json()["version"]

    def send(number: int) -> httpx2.Response:
        return agent.write("PATCH", "/profile", {"headline": f"Rival {number}"}, version)

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(send, range(40)))
    [won] = [number for number, answer in enumerate(answers) if answer.status_code == 200]
    assert agent.document(CANDIDATES)["headline"] == f"Rival {won}"
    assert {answer.status_code for answer in answers} == {200, 412}


def test_a_rejected_request_does_not_use_up_its_key(agent: Agent) -> None:
    version, key = agent.write("PATCH", "/profile", {"headline": "Before"}).json()["version"], uuid.uuid4().hex
    assert agent.write("PATCH", "/profile", {"headline": "After"}, "no-such", key).status_code == 412
    assert agent.ask("GET", f"/operations/{key}").status_code == 404
    assert agent.write("PATCH", "/profile", {"headline": "After"}, version, key).status_code == 200


@pytest.mark.parametrize("server", ["the stub"], indirect=True)
def test_a_write_aborted_by_the_database_is_not_retried_forever(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> str:
        raise OperationFailure("database is locked")

    key = uuid.uuid4().hex
    with monkeypatch.context() as patch:
        patch.setattr(WriteApi, "_change", broken)
        assert agent.write("PUT", "/cards/dr_1", CARD, key=key).status_code == 500
    assert agent.ask("GET", f"/operations/{key}").status_code == 404
    assert agent.write("PUT", "/cards/dr_1", CARD, key=key).status_code == 200


# --- only what was seen -----------------------------------------------------------------------------------------------


def content_of(agent: Agent) -> dict[str, Any]:
    """Return the public content of the card."""
    kept = agent.document(CARDS)
    return {name: kept[name] for name in CARD}


def test_a_conflict_returns_the_current_version_and_changes_nothing(agent: Agent) -> None:
    seen = agent.write("PATCH", "/profile", {"headline": "Seen"}).json()["version"]
    now = agent.write("PATCH", "/profile", {"location": "Lisbon"}, seen).json()["version"]
    refused = agent.write("PATCH", "/profile", {"headline": "Late"}, seen)
    assert (refused.status_code, refused.json()["error"]["version"]) == (412, now)
    assert agent.document(CANDIDATES)["headline"] == "Seen"


@pytest.mark.parametrize("body", [{"headline": "New", "roles": ["Lead"]}, {"roles": ["Lead"]}], ids=["both", "one"])
def test_profile_and_preferences_change_together_if_both_versions_match(agent: Agent, body: dict[str, Any]) -> None:
    seen = agent.write("PATCH", "/profile", {"headline": "Seen"}).json()["version"]
    agent.write("PATCH", "/preferences", {"roles": ["Engineer"]})
    assert agent.write("PATCH", "/profile", body, seen).status_code == 412
    assert (agent.document(CANDIDATES)["headline"], agent.document(PREFERENCES)["roles"]) == ("Seen", ["Engineer"])
    now, of_preferences = (agent.ask("GET", path).json()["version"] for path in ("/profile", "/preferences"))
    key = uuid.uuid4().hex
    done = [agent.write("PATCH", "/profile", body, now, key).json() for _ in range(2)]
    assert done[0] == done[1]
    assert agent.document(CANDIDATES)["headline"] == body.get("headline", "Seen")
    assert agent.document(PREFERENCES)["roles"] == ["Lead"]
    assert agent.ask("GET", "/preferences").json()["version"] != of_preferences
    refused = agent.write("PATCH", "/profile", {"headline": "Newer", "roles": "Lead"}, done[0]["version"])
    assert (refused.status_code, agent.document(PREFERENCES)["roles"]) == (422, ["Lead"])


def test_positions_are_replaced_as_a_whole_and_unchanged_ones_keep_their_document(agent: Agent) -> None:
    pianos = {"title": "Tuner", "company": "Harcourt", "start": "2019-03", "end": "2021"}
    cello = {"company": "Ulster Orchestra", "start": "2021", "end": "present", "lines": ["Solo.", "Toured – 日本."]}
    seen = agent.write("PATCH", "/profile", {"positions": [pianos], "headline": "Tuner"}).json()["version"]
    assert "positions" not in agent.document(CANDIDATES)
    answer = agent.write("PATCH", "/profile", {"positions": [cello, pianos]}, version=seen)
    stints = agent.server.find(EMPLOYMENT, user_id=agent.user_id)
    kept = {each["company"]: tuple(map(each.get, ("end_date", "is_current", "description"))) for each in stints}
    assert kept == {
        "Harcourt": ("2021", False, None),
        "Ulster Orchestra": (None, True, "Solo.\nToured – 日本."),
    }
    agent.write("PATCH", "/profile", {"positions": None}, version=answer.json()["version"])
    assert agent.server.find(EMPLOYMENT, user_id=agent.user_id) == []
    assert agent.document(CANDIDATES)["headline"] == "Tuner"


def test_missing_preferences_are_created_with_the_profile(agent: Agent) -> None:
    assert agent.write("PATCH", "/profile", {"work_mode": "remote", "headline": "New"}).status_code == 200
    assert (agent.document(CANDIDATES)["headline"], agent.document(PREFERENCES)["work_mode"]) == ("New", "remote")
    version = agent.ask("GET", "/preferences").json()["version"]
    assert agent.write("PATCH", "/preferences", {"work_mode": None}, version).status_code == 200


def test_an_existing_subject_is_not_created_again(agent: Agent) -> None:
    version = agent.write("PUT", "/cards/dr_1", CARD).json()["version"]
    refused = agent.write("PUT", "/cards/dr_1", {**CARD, "style": "story"})
    assert (refused.status_code, refused.json()["error"]["version"]) == (412, version)
    assert content_of(agent) == CARD


def test_an_unversioned_document_of_another_system_is_changed_once(agent: Agent) -> None:
    agent.insert(PREFERENCES, roles=["Old"])
    seen = agent.ask("GET", "/preferences").json()["version"]
    assert agent.write("PATCH", "/preferences", {"roles": ["New"]}, seen).status_code == 200
    assert agent.write("PATCH", "/preferences", {"roles": ["Newer"]}, seen).status_code == 412
    assert agent.document(PREFERENCES)["roles"] == ["New"]


def test_a_deleted_cards_versions_are_not_reused(agent: Agent) -> None:
    seen = [agent.write("PUT", "/cards/dr_1", CARD).json()["version"]]
    seen.append(agent.write("PUT", "/cards/dr_1", CARD, seen[-1]).json()["version"])
    assert agent.write("DELETE", "/cards/dr_1", version=seen[-1]).json()["version"] is None
    seen.append(agent.write("PUT", "/cards/dr_1", CARD).json()["version"])
    seen.append(agent.write("PUT", "/cards/dr_1", CARD, seen[-1]).json()["version"])
    assert len(set(seen)) == 4


# --- what each does ---------------------------------------------------------------------------------------------------


def test_publishing_stores_a_card_verbatim_without_activating_it(agent: Agent) -> None:
    answer = agent.write("PUT", "/cards/dr_1", CARD).json()
    assert answer["result"]["card_id"] == "dr_1"
    kept = agent.document(CARDS, card_id="dr_1")
    assert (content_of(agent), kept["active"]) == (CARD, False)


def test_only_one_card_is_active_and_switching_bumps_both_versions(agent: Agent) -> None:
    stranger = agent.another()
    for user, card_id in ((stranger, "dr_0"), (agent, "dr_1"), (agent, "dr_2")):
        version = user.write("PUT", f"/cards/{card_id}", CARD).json()["version"]
        assert user.write("POST", f"/cards/{card_id}/activation", version=version).status_code == 200
    assert stranger.document(CARDS)["active"]
    assert [agent.document(CARDS, card_id=card_id)["active"] for card_id in ("dr_1", "dr_2")] == [False, True]
    assert agent.document(CARDS, card_id="dr_1")["version"] == 1 + 2


def test_an_active_card_stays_active_when_republished(agent: Agent) -> None:
    version = agent.write("PUT", "/cards/dr_1", CARD).json()["version"]
    version = agent.write("POST", "/cards/dr_1/activation", version=version).json()["version"]
    agent.write("PUT", "/cards/dr_1", {**CARD, "style": "story"}, version)
    kept = agent.document(CARDS)
    assert (kept["style"], kept["active"]) == ("story", True)


def test_an_ingestion_continues_after_it_was_accepted(agent: Agent) -> None:
    agent.server.misbehave("ingestion_waits")
    key = uuid.uuid4().hex
    assert agent.write("POST", "/linkedin/profile", SOURCE, key=key).status_code == 202
    assert agent.ask("GET", f"/operations/{key}").json()["status"] == "pending"
    assert agent.write("POST", "/linkedin/profile", SOURCE, key=key).status_code == 202
    until(lambda: agent.server.held)
    agent.server.release()
    done = until(lambda: _finished(agent, key))
    assert done["version"] == agent.ask("GET", "/linkedin-profile").json()["version"]
    assert agent.document(LINKEDIN)["url"] == SOURCE["url"]


def test_an_ingestion_that_fails_says_why_and_changes_nothing(agent: Agent) -> None:
    agent.server.misbehave("ingestion_fails")
    key = uuid.uuid4().hex
    agent.write("POST", "/linkedin/profile", SOURCE, key=key)
    failed = until(lambda: _finished(agent, key))
    assert (failed["status"], failed["error"]["code"]) == ("failed", "source_unavailable")
    assert agent.write("POST", "/linkedin/profile", SOURCE, key=key).json() == failed
    assert agent.document(LINKEDIN) == {}


def test_an_ingestion_overtaken_by_another_change_fails(agent: Agent) -> None:
    agent.server.misbehave("ingestion_waits")
    key = uuid.uuid4().hex
    agent.write("POST", "/linkedin/profile", SOURCE, key=key)
    until(lambda: agent.server.held)
    agent.insert(LINKEDIN, url="theirs")
    agent.server.release()
    assert until(lambda: _finished(agent, key))["error"]["code"] == "changed"
    assert agent.document(LINKEDIN)["url"] == "theirs"


def test_a_recently_read_linkedin_profile_is_read_again_only_on_request(agent: Agent) -> None:
    key = uuid.uuid4().hex
    agent.write("POST", "/linkedin/profile", SOURCE, key=key)
    version = until(lambda: _finished(agent, key))["version"]
    lazily = agent.write("POST", "/linkedin/profile", {**SOURCE, "refresh": False}, version)
    assert (lazily.status_code, lazily.json()["version"]) == (200, version)
    assert agent.write("POST", "/linkedin/profile", SOURCE, version).status_code == 202


def test_a_linkedin_suggestion_is_stored_verbatim_and_replaces_only_its_own_draft(agent: Agent) -> None:
    path, again = "/linkedin-profile/suggestions", {**ABOUT, "text": "Otherwise."}
    first = agent.write("PUT", f"{path}/dr_1", ABOUT).json()
    assert (first["subject"], first["result"]) == ("linkedin-profile/suggestions/dr_1", {"draft_id": "dr_1"})
    assert agent.write("PUT", f"{path}/dr_2", ABOUT).status_code == 200
    assert agent.write("PUT", f"{path}/dr_1", again).status_code == 412
    assert agent.write("PUT", f"{path}/dr_1", again, first["version"]).status_code == 200
    kept = [agent.document(LINKEDIN_SUGGESTIONS, draft_id=draft_id) for draft_id in ("dr_1", "dr_2")]
    assert [{name: each[name] for name in ABOUT} for each in kept] == [again, ABOUT]
    assert agent.document(LINKEDIN) == {}, "what was read from LinkedIn is something else"


def test_a_document_is_stored_in_searchable_chunks_that_new_text_replaces(agent: Agent) -> None:
    version = agent.write("PUT", "/documents/res_1", RESUME).json()["version"]
    chunks = agent.server.find(CHUNKS, user_id=agent.user_id)
    assert len(chunks) > 1
    assert "\n\n".join(each["text"] for each in chunks) == RESUME["text"]
    assert {(each["title"], each["source_type"]) for each in chunks} == {("resume.pdf", "resume")}
    assert agent.write("PUT", "/documents/res_1", {**RESUME, "text": "Otherwise."}, version).status_code == 200
    assert [each["text"] for each in agent.server.find(CHUNKS, user_id=agent.user_id)] == ["Otherwise."]


# --- whose, and what ------------------------------------------------------------------------------------------------


def test_users_cannot_read_or_change_data_of_other_users(agent: Agent) -> None:
    key, stranger = uuid.uuid4().hex, agent.another()
    version = agent.write("PUT", "/cards/dr_1", CARD, key=key).json()["version"]
    assert stranger.ask("GET", "/cards/dr_1").status_code == 404
    assert stranger.ask("GET", f"/operations/{key}").status_code == 404
    agent.write("PUT", "/linkedin-profile/suggestions/dr_1", ABOUT)
    assert stranger.ask("GET", "/linkedin-profile/suggestions/dr_1").status_code == 404
    for name in ("publishCard", "activateCard", "deactivateCard", "deleteCard", "suggestLinkedIn"):
        write = WRITES[name]
        assert stranger.write(write.method, write.path, write.other_body, version).status_code == 404
    assert content_of(agent) == CARD
    assert agent.document(LINKEDIN_SUGGESTIONS)["text"] == ABOUT["text"]
    assert stranger.write("PUT", "/cards/dr_1", CARD, key=key).status_code == 200, "ids and keys are a user's own"


UNWANTED = {
    "pay": ("PATCH", "/profile", {"salary_current": 1}),
    "the name": ("PATCH", "/profile", {"name": "Somebody"}),
    "the owner": ("PATCH", "/profile", {"user_id": "auth0|other"}),
    "the version": ("PATCH", "/profile", {"version": 9}),
    "two fields of which one does not fit": ("PATCH", "/profile", {"headline": "a", "skills": "Python"}),
    "two preferences": ("PATCH", "/preferences", {"roles": ["a"], "work_mode": "b"}),
    "no field": ("PATCH", "/profile", {}),
    "a field of another type": ("PATCH", "/profile", {"skills": "Python"}),
    "an operator as a field": ("PATCH", "/profile", {"$set": {"user_id": "x"}}),
    "an operator as a value": ("PATCH", "/profile", {"headline": {"$ne": None}}),
    "a path as a field": ("PATCH", "/preferences", {"roles.0": "x"}),
    "expected pay": ("PATCH", "/preferences", {"salary_expectation": "x"}),
    "a list": ("PATCH", "/preferences", [{"roles": []}]),
    "half a character": ("PATCH", "/profile", b'{"headline": "\\ud800"}'),
    "no JSON": ("PATCH", "/profile", b"{"),
    "a card with more in it": ("PUT", "/cards/dr_1", {**CARD, "active": True}),
    "a card that says nothing": ("PUT", "/cards/dr_1", {**CARD, "sections": []}),
    "a page that is not LinkedIn's": (
        "POST",
        "/linkedin/profile",
        {"url": "https://linkedin.com.evil.org/in/a"},
    ),
    "another section": ("PUT", "/linkedin-profile/suggestions/dr_1", {**ABOUT, "section": "headline"}),
    "a suggestion without a section": ("PUT", "/linkedin-profile/suggestions/dr_1", {"text": "x"}),
    "a suggestion that says nothing": ("PUT", "/linkedin-profile/suggestions/dr_1", {**ABOUT, "text": ""}),
    "more than LinkedIn takes": ("PUT", "/linkedin-profile/suggestions/dr_1", {**ABOUT, "text": "x" * 2_601}),
    "a suggestion with more in it": ("PUT", "/linkedin-profile/suggestions/dr_1", {**ABOUT, "draft_id": "dr_2"}),
    "a document of another kind": ("PUT", "/documents/res_1", {**RESUME, "kind": "reference"}),
    "a document that says nothing": ("PUT", "/documents/res_1", {**RESUME, "text": ""}),
    "a document without end": ("PUT", "/documents/res_1", {**RESUME, "text": "x" * 120_001}),
    "a page that is no profile": ("POST", "/linkedin/profile", {"url": "https://www.linkedin.com/company/a"}),
}


@pytest.mark.parametrize(("method", "path", "body"), UNWANTED.values(), ids=list(UNWANTED))
def test_a_field_outside_the_allow_list_is_rejected(agent: Agent, method: str, path: str, body: Any) -> None:
    headers = {"If-None-Match": "*", "Idempotency-Key": uuid.uuid4().hex}
    headers |= {"Authorization": f"Bearer {token(agent.user_id)}", "Content-Type": "application/json"}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    if b"ud800" in content:
        agent.http.event_hooks = {}  # JSON schemas know nothing of halves of characters
    answer = agent.http.request(method, address(agent.server, path), headers=headers, content=content)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")
    collections = (CANDIDATES, PREFERENCES, CARDS, LINKEDIN, LINKEDIN_SUGGESTIONS, OPERATIONS)
    assert not any(agent.document(collection) for collection in collections)


def test_the_writable_fields_are_the_readable_ones_except_the_name() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    fields = {*READ_FIELDS[CANDIDATES], *READ_FIELDS[PREFERENCES]}
    assert {*schemas["ProfileChange"]["properties"]} == (fields | {"positions"}) - {"name"}
    kept = {"start_date": "start", "end_date": "end", "is_current": "end", "description": "lines"}
    assert {*schemas["Position"]["properties"]} == {kept.get(name, name) for name in READ_FIELDS[EMPLOYMENT]}
    assert {*schemas["PreferenceChange"]["properties"]} == {*READ_FIELDS[PREFERENCES]}
    assert {*schemas["LinkedInSuggestion"]["properties"], "draft_id"} == {*READ_FIELDS[LINKEDIN_SUGGESTIONS]}


NOW = int(FakeClock()())
WRONG_TOKENS: dict[str, dict[str, Any]] = {
    "from another issuer": {"iss": "candidate-app"},
    "for another audience": {"aud": "qwestly-agent"},
    "expired": {"iat": NOW - 61, "exp": NOW - 1},
    "of the future": {"iat": NOW + 31, "exp": NOW + 91},
    "that lives too long": {"exp": NOW + 61},
    "with a plain act": {"act": "ap_1"},
    "with an empty act": {"act": {"sub": ""}},
    "for nobody": {"sub": ""},
    **{f"without {claim}": {claim: None} for claim in ("iss", "aud", "sub", "act", "iat", "exp", "jti")},
}


@pytest.mark.parametrize("changes", WRONG_TOKENS.values(), ids=list(WRONG_TOKENS))
def test_a_token_that_violates_the_document_is_rejected(agent: Agent, changes: dict[str, Any]) -> None:
    refused = agent.ask("GET", "/profile", Authorization=f"Bearer {token(agent.user_id, **changes)}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthorized")


WRONG_PRECONDITIONS = {
    "unquoted": {"If-Match": "1"},
    "weak": {"If-Match": 'W/"1"'},
    "several": {"If-Match": '"1", "2"'},
    "whatever there is": {"If-Match": "*"},
    "both": {"If-Match": '"1"', "If-None-Match": "*"},
    "not this one": {"If-None-Match": '"1"'},
}


@pytest.mark.parametrize("headers", WRONG_PRECONDITIONS.values(), ids=list(WRONG_PRECONDITIONS))
def test_a_precondition_is_one_version_or_none(agent: Agent, headers: dict[str, str]) -> None:
    answer = agent.ask("PATCH", "/profile", {"headline": "x"}, **{"Idempotency-Key": uuid.uuid4().hex, **headers})
    assert answer.status_code == 422
    assert agent.document(CANDIDATES) == {}


@pytest.mark.parametrize("server", ["the stub"], indirect=True)
def test_faults_can_be_injected_over_http(agent: Agent) -> None:
    control = agent.server.url.partition("/api")[0] + "/_control"
    with httpx2.Client() as http:
        assert http.post(f"{control}/faults", json={"faults": ["drop_after"]}).status_code == 200
        with pytest.raises(httpx2.RemoteProtocolError):
            agent.write("PATCH", "/profile", {"headline": "Kept"})
        assert agent.document(CANDIDATES)["headline"] == "Kept"
        assert http.delete(f"{control}/requests").json() == []
        agent.ask("GET", "/profile")
        [recorded] = http.get(f"{control}/requests").json()
        assert (recorded["method"], recorded["path"]) == ("GET", "/api/agent/v1/profile")
        assert "authorization" not in recorded["headers"]
        assert http.post(f"{control}/faults", json={"faults": ["no such"]}).status_code == 422
        assert {"drop_after", "ingestion_waits"} < FAULTS


LOCAL = {"QWESTLY_CANDIDATE_API_SECRET": API_SECRET, "MONGODB_URI": "mongodb://127.0.0.1:1"}


@pytest.mark.parametrize(
    ("environment", "there"),
    [
        (LOCAL, True),
        ({**LOCAL, "MONGODB_URI": "mongodb://db.example.net", "MONGODB_DATABASE": "qwestly_local"}, True),
        ({**LOCAL, "MONGODB_URI": "mongodb://db.example.net", "MONGODB_DATABASE": "candidate_portal"}, False),
        ({**LOCAL, "QWESTLY_CANDIDATE_API_SECRET": ""}, False),
        ({}, False),
    ],
    ids=["loopback", "named as local", "somebody's real data", "no secret", "nothing"],
)
def test_the_stub_never_writes_to_real_data(environment: dict[str, str], there: bool) -> None:
    assert (api_of(environment) is not None) is there


def test_the_stub_reports_a_missing_database() -> None:
    with pytest.raises(SystemExit, match="MONGODB_URI"):
        api_of({**LOCAL, "MONGODB_URI": ""})


# --- our own client -------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_our_clients_requests_match_the_document(agent: Agent) -> None:
    server, card = agent.server, CardText.model_validate(CARD)
    server.clear_requests()

    def effect(version: str | None = None) -> Effect:
        return Effect(agent.user_id, "ap_1", uuid.uuid4().hex, version)

    async with httpx2.AsyncClient() as http:
        app = CandidateApp(http, server.url, API_SECRET, FakeClock(), lambda: uuid.uuid4().hex)
        outcomes = [
            await app.set_profile_fields(effect(), {"years_of_experience": 11, "summary": None}),
            await app.set_preference(effect(), "industries", ["Climate"]),
            await app.publish_card(effect(), "dr_1", card),
            await app.activate_card(effect("3"), "dr_1", active=True),
            await app.activate_card(effect("4"), "dr_1", active=False),
            await app.delete_card(effect("5"), "dr_1"),
            await app.suggest_linkedin(effect(), "dr_1", ABOUT["text"]),
            await app.keep_document(effect(), "res_1", RESUME["title"], RESUME["text"]),
            await app.send_application(effect(), "job_1", APPLICATION),
        ]
        assert [type(outcome) for outcome in outcomes] == [Done] * 9
        assert await app.ingest_linkedin(effect(), SOURCE["url"], refresh=True) == Pending()
        assert [await app.delivers(each) for each in ("adzuna", "another board")] == [True, False]
    heard = [each for each in server.requests() if not each["path"].endswith("/sources")]
    assert len(heard) == len(WRITES)
    for said in heard:
        path = path_in_document(said["path"])
        item = next(item for template, item in DOCUMENT["paths"].items() if _fits(template, path))
        operation = item[said["method"].lower()]
        request = httpx2.Request(said["method"], server.url, headers=said["headers"], content=said["body"])
        assert not _wrong_with(
            request, [resolved(each) for each in operation["parameters"]], operation.get("requestBody")
        )


def test_our_clients_writable_fields_match_the_document() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    fields = {*get_args(ProfileField), *get_args(Positions), *get_args(Preference)}
    assert fields == {*schemas["ProfileChange"]["properties"]}
    assert set(get_args(Preference)) == {*schemas["PreferenceChange"]["properties"]}


@pytest.mark.thorough
def test_the_reference_accepts_only_signed_events() -> None:
    put = list[dict[str, Any]]()

    class Bridge:
        def put_events(self, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
            put.extend(Entries)
            return {"FailedEntryCount": 0}

    clock = FakeClock()
    event = of_memory("remembered", "auth0|1", "mem_1", clock())
    for secret in (API_SECRET, "x" * 32):
        asyncio.run(EventBus(lambda _: Bridge(), "bus", secret, clock).put([event]))
    right, forged = (json.loads(each["Detail"]) for each in put)
    with reference() as server:
        assert isinstance(server, Reference)
        heard = server.hear({"detail-type": event.type, "detail": right | {"user_id": "auth0|2"}})
        assert (heard.status_code, heard.json()) == (200, {name: right[name] for name in right if name != "token"})
        for sent in (
            {"detail": forged},
            {"detail": {**right, "token": right["token"][:-3] + "abc"}},
            {},
            [],
            {"detail": 3},
        ):
            assert server.hear(sent).status_code == 401
