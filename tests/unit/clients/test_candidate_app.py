"""Requests to the candidate app take effect once or not at all, and an unknown outcome is never reported as done.

Against the local candidate app over real sockets, which tests/infra checks against the contract.
"""

import asyncio
import gzip
import itertools
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import httpx2
import jwt
import pytest
from pymongo import MongoClient
from pymongo.database import Database

from infra.local.candidate_app import CandidateAppServer, Fault
from qwestly_agent.base.errors import InvalidSettings, Unauthorized, Unavailable
from qwestly_agent.base.settings import Settings
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_app import (
    ISSUER,
    LARGEST_ANSWER_BYTES,
    LONGEST_REASON_CHARACTERS,
    CandidateApp,
    CardSection,
    CardText,
    Changed,
    Done,
    Effect,
    NeverArrived,
    Outcome,
    Pending,
    Refused,
    Unknown,
    card_subject,
    suggestion_subject,
)
from qwestly_agent.clients.user_tokens import OUR_ISSUER, verify_token
from tests.servers import API_SECRET, SECRET, FakeClock, candidate_app_server, free_port, until

pytestmark = pytest.mark.anyio

LINKEDIN = "https://www.linkedin.com/in/ada"
CARD = CardText(style="story", sections=(CardSection(kind="work", heading="Work", claims=("Led “eight” in Zürich.",)),))
Json: TypeAlias = dict[str, Any]


def new_id() -> str:
    return uuid.uuid4().hex


@pytest.fixture(scope="module")
def server(mongodb_uri: str) -> Iterator[CandidateAppServer]:
    with candidate_app_server(mongodb_uri) as server:
        yield server


@pytest.fixture
def database(server: CandidateAppServer) -> Iterator[Database[Json]]:
    client: MongoClient[Json] = MongoClient(server.mongodb_uri)
    with client:
        yield client[server.database]


@pytest.fixture
def app(server: CandidateAppServer, http: httpx2.AsyncClient) -> Iterator[CandidateApp]:
    server.misbehave()
    server.api.requests.clear()
    yield CandidateApp(http, server.url, API_SECRET, FakeClock(), new_id)
    server.api.release()


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    # As careless as a client may be: safety must not depend on how it was created.
    async with httpx2.AsyncClient(follow_redirects=True, timeout=None) as client:
        yield client


@pytest.fixture
def user() -> str:
    return f"auth0|{new_id()}"


def effect(user: str, version: str | None = None, key: str = "") -> Effect:
    return Effect(user, "ap_1", key or new_id(), version)


async def headline_is_set(app: CandidateApp, user: str, headline: str = "Before") -> str:
    """The profile's version."""
    version = await app.version_of(user, "ap_1", "profile")
    done = await app.set_profile_fields(effect(user, version), {"headline": headline})
    assert isinstance(done, Done)
    assert done.version is not None
    return done.version


def kept(database: Database[Json], user: str, collection: str = "candidates_enhanced") -> Json:
    return database[collection].find_one({"user_id": user}) or {}


# --- what is asked for happens --------------------------------------------------------------------------------------


@pytest.mark.thorough
async def test_a_field_and_a_preference_are_set(app: CandidateApp, user: str, database: Database[Json]) -> None:
    set_field = await app.set_profile_fields(effect(user), {"skills": ["Rust", "日本語"]})
    assert set_field == Done(await app.version_of(user, "ap_1", "profile"), {"fields": "skills"})
    preference = await app.set_preference(effect(user), "work_mode", "remote")
    assert preference == Done(await app.version_of(user, "ap_1", "preferences"), {"fields": "work_mode"})
    assert kept(database, user)["skills"] == ["Rust", "日本語"]
    assert kept(database, user, "preferences_enhanced")["work_mode"] == "remote"


async def test_a_card_is_published_activated_and_deleted(
    app: CandidateApp, user: str, database: Database[Json]
) -> None:
    published = await app.publish_card(effect(user), "dr_1", CARD)
    assert isinstance(published, Done)
    assert published.result["card_id"] == "dr_1"
    public = kept(database, user, "qc_sections")
    assert CardText.model_validate({name: public[name] for name in CardText.model_fields}) == CARD
    active = await app.activate_card(effect(user, published.version), "dr_1", active=True)
    assert isinstance(active, Done)
    assert kept(database, user, "qc_sections")["active"]
    assert await app.delete_card(effect(user, active.version), "dr_1") == Done(None, {"card_id": "dr_1"})
    assert await app.version_of(user, "ap_1", card_subject("dr_1")) is None


async def test_a_linkedin_suggestion_is_stored_and_replaced_under_its_drafts_id(
    app: CandidateApp, user: str, database: Database[Json]
) -> None:
    first = await app.suggest_linkedin(effect(user), "dr_1", "I lead “eight” in Zürich.")
    version = await app.version_of(user, "ap_1", suggestion_subject("dr_1"))
    assert first == Done(version, {"draft_id": "dr_1"})
    assert await app.suggest_linkedin(effect(user), "dr_1", "Otherwise.") == Changed(version or "")
    assert isinstance(await app.suggest_linkedin(effect(user, version), "dr_1", "Otherwise."), Done)
    [document] = database["linkedin_profile_suggestions"].find({"user_id": user})
    assert (document["section"], document["text"]) == ("about", "Otherwise.")


async def test_an_ingestion_is_pending_until_it_is_done(
    app: CandidateApp, user: str, server: CandidateAppServer
) -> None:
    server.misbehave("ingestion_waits")
    given = effect(user)
    assert await app.ingest_linkedin(given, LINKEDIN, refresh=False) == Pending()
    assert await app.outcome_of(user, "ap_1", given.key) == Pending()
    until(lambda: server.api.held)
    server.api.release()
    while (outcome := await app.outcome_of(user, "ap_1", given.key)) == Pending():
        pass
    assert outcome == Done(await app.version_of(user, "ap_1", "linkedin-profile"), {"url": LINKEDIN})


async def test_a_failed_ingestion_is_a_definite_rejection(
    app: CandidateApp, user: str, server: CandidateAppServer
) -> None:
    server.misbehave("ingestion_fails")
    given = effect(user)
    assert await app.ingest_linkedin(given, LINKEDIN, refresh=True) == Pending()
    while (outcome := await app.outcome_of(user, "ap_1", given.key)) == Pending():
        pass
    assert outcome == Refused("source_unavailable", "LinkedIn did not show this profile.")


async def test_a_missing_subject_has_no_version(app: CandidateApp, user: str) -> None:
    cards, suggestions = (
        [card_subject("dr_1"), card_subject("../profile")],
        [suggestion_subject("dr_1"), suggestion_subject("")],
    )
    for subject in ("profile", "preferences", "linkedin-profile", *cards, *suggestions, "operations/x", ""):
        assert await app.version_of(user, "ap_1", subject) is None


# --- answers that get lost ------------------------------------------------------------------------------------------

LOST_AFTER: tuple[Fault, ...] = ("drop_after", "error_after", "half_after", "cut_after", "huge_after", "html_after")
LOST_BEFORE: tuple[Fault, ...] = ("drop_before", "error_before", "redirect_before")


@pytest.mark.parametrize("fault", LOST_AFTER)
async def test_an_effect_whose_response_was_lost_is_found_by_key_and_not_repeated(
    app: CandidateApp, user: str, server: CandidateAppServer, database: Database[Json], fault: Fault
) -> None:
    given = effect(user, await headline_is_set(app, user))
    server.api.requests.clear()
    server.misbehave(fault)
    assert await app.set_profile_fields(given, {"headline": "After"}) == Unknown()
    assert len(server.api.requests) == 1, "a write is sent once"
    after = kept(database, user)
    assert after["headline"] == "After"
    found = await app.outcome_of(user, "ap_1", given.key)
    assert found == Done(str(after["version"]), {"fields": "headline"})
    assert await app.set_profile_fields(given, {"headline": "After"}) == found
    assert kept(database, user) == after


@pytest.mark.parametrize("fault", LOST_BEFORE)
async def test_a_write_that_never_arrived_is_recognized_and_can_be_resent(
    app: CandidateApp, user: str, server: CandidateAppServer, database: Database[Json], fault: Fault
) -> None:
    given = effect(user, await headline_is_set(app, user))
    server.api.requests.clear()
    server.misbehave(fault)
    assert await app.set_profile_fields(given, {"headline": "After"}) == Unknown()
    assert len(server.api.requests) == 1
    assert await app.outcome_of(user, "ap_1", given.key) == NeverArrived()
    assert kept(database, user)["headline"] == "Before"
    assert isinstance(await app.set_profile_fields(given, {"headline": "After"}), Done)


async def test_a_deletion_whose_response_was_lost_is_found_too(
    app: CandidateApp, user: str, server: CandidateAppServer
) -> None:
    published = await app.publish_card(effect(user), "dr_1", CARD)
    assert isinstance(published, Done)
    given = effect(user, published.version)
    server.misbehave("drop_after")
    assert await app.delete_card(given, "dr_1") == Unknown()
    assert await app.outcome_of(user, "ap_1", given.key) == Done(None, {"card_id": "dr_1"})
    assert await app.delete_card(given, "dr_1") == Done(None, {"card_id": "dr_1"})


@pytest.mark.parametrize(("fault", "headline"), [("hold_before", "Before"), ("hold_after", "After")])
async def test_a_silent_server_gives_an_unknown_outcome_after_the_timeout(
    app: CandidateApp,
    user: str,
    server: CandidateAppServer,
    database: Database[Json],
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    headline: str,
) -> None:
    given = effect(user, await headline_is_set(app, user))
    server.misbehave(fault)
    with monkeypatch.context() as patch:
        patch.setattr(candidate_app, "TIMEOUT_SECONDS", 0.05)
        assert await app.set_profile_fields(given, {"headline": "After"}) == Unknown()
    until(lambda: server.api.held)
    assert kept(database, user)["headline"] == headline
    server.api.release()
    while (outcome := await app.outcome_of(user, "ap_1", given.key)) in (NeverArrived(), Pending()):
        pass
    assert isinstance(outcome, Done)


class Endless(httpx2.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0)


async def test_an_endless_response_is_not_read_forever(user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidate_app, "TIMEOUT_SECONDS", 0.05)
    monkeypatch.setattr(candidate_app, "LARGEST_ANSWER_BYTES", 10**12)
    app = answered(lambda _: httpx2.Response(200, stream=Endless()))
    async with asyncio.timeout(2):
        assert await app.set_profile_fields(effect(user), {"headline": "x"}) == Unknown()


async def test_an_unconnected_write_never_arrived(http: httpx2.AsyncClient, user: str) -> None:
    nowhere = CandidateApp(http, f"http://127.0.0.1:{free_port()}", API_SECRET, FakeClock(), new_id)
    assert await nowhere.set_profile_fields(effect(user), {"headline": "x"}) == NeverArrived()
    assert await nowhere.outcome_of(user, "ap_1", new_id()) == Unknown()
    with pytest.raises(Unavailable):
        await nowhere.version_of(user, "ap_1", "profile")


@pytest.mark.parametrize("fault", [*LOST_BEFORE[:2], *LOST_AFTER[:1]])
async def test_a_failed_read_is_retried_once(
    app: CandidateApp, user: str, server: CandidateAppServer, fault: Fault
) -> None:
    key = new_id()
    await headline_is_set(app, user)
    await app.set_preference(effect(user, key=key), "roles", [])
    version = await app.version_of(user, "ap_1", "profile")
    server.misbehave("version_unread")
    assert await app.version_of(user, "ap_1", "profile") == version
    server.misbehave(fault)
    assert isinstance(await app.outcome_of(user, "ap_1", key), Done)
    server.api.requests.clear()
    server.misbehave(fault, fault, fault)
    assert await app.outcome_of(user, "ap_1", key) == Unknown()
    assert len(server.api.requests) == 2
    server.misbehave("version_unread", "version_unread")
    with pytest.raises(Unavailable):
        await app.version_of(user, "ap_1", "profile")


# --- definite answers -----------------------------------------------------------------------------------------------


async def test_a_subject_changed_since_it_was_displayed_is_not_overwritten(
    app: CandidateApp, user: str, database: Database[Json]
) -> None:
    seen = await headline_is_set(app, user)
    shown = kept(database, user)
    now = await headline_is_set(app, user, "By hand, meanwhile")
    assert await app.set_profile_fields(effect(user, seen), {"headline": "Late"}) == Changed(now)
    there = kept(database, user)
    assert {name for name in there if there[name] != shown[name]} == {"headline", "version"}
    assert there["headline"] == "By hand, meanwhile"


async def test_an_existing_subject_counts_as_changed(app: CandidateApp, user: str) -> None:
    published = await app.publish_card(effect(user), "dr_1", CARD)
    assert isinstance(published, Done)
    assert published.version is not None
    assert await app.publish_card(effect(user), "dr_1", CARD) == Changed(published.version)


async def test_an_idempotency_key_is_valid_for_one_request(
    app: CandidateApp, user: str, database: Database[Json]
) -> None:
    given = effect(user)
    await app.set_profile_fields(given, {"headline": "One"})
    refused = await app.set_profile_fields(given, {"headline": "Other"})
    assert isinstance(refused, Refused)
    assert refused.code == "key_reused"
    assert kept(database, user)["headline"] == "One"


async def refused_everywhere(app: CandidateApp, user: str, code: str) -> None:
    refused = await app.set_profile_fields(effect(user), {"headline": "x"})
    assert isinstance(refused, Refused)
    assert refused.code == code
    assert await app.outcome_of(user, "ap_1", new_id()) == Unknown()
    with pytest.raises(Unavailable):
        await app.version_of(user, "ap_1", "profile")


async def test_another_secret_gives_no_access(app: CandidateApp, user: str) -> None:
    await refused_everywhere(replace(app, secret=SECRET), user, "unauthorized")


async def test_a_token_is_valid_for_a_minute(app: CandidateApp, user: str, server: CandidateAppServer) -> None:
    late = FakeClock(FakeClock().now - 59)
    assert await replace(app, clock=late).version_of(user, "ap_1", "profile") is None
    late.advance(-1)
    await refused_everywhere(replace(app, clock=late), user, "unauthorized")


async def test_another_users_subject_is_not_found(app: CandidateApp, user: str, database: Database[Json]) -> None:
    given, stranger = effect(user), f"auth0|{new_id()}"
    published = await app.publish_card(given, "dr_1", CARD)
    assert isinstance(published, Done)
    theirs = replace(given, user_id=stranger, key=new_id(), version=published.version)
    for outcome in (
        await app.publish_card(theirs, "dr_1", CARD),
        await app.activate_card(theirs, "dr_1", active=True),
        await app.delete_card(theirs, "dr_1"),
    ):
        assert isinstance(outcome, Refused)
        assert outcome.code == "not_found"
    assert await app.version_of(stranger, "ap_1", card_subject("dr_1")) is None
    assert await app.outcome_of(stranger, "ap_1", given.key) == NeverArrived()
    assert kept(database, user, "qc_sections")["active"] is False


async def test_too_many_requests_are_rejected_for_some_seconds(
    app: CandidateApp, user: str, server: CandidateAppServer
) -> None:
    server.misbehave("busy")
    refused = await app.set_profile_fields(effect(user), {"headline": "x"})
    assert refused == Refused("too_many_requests", "Too many requests. Please wait a moment.", retry_after=7)
    server.misbehave("version_busy")
    with pytest.raises(Unavailable) as raised:
        await app.version_of(user, "ap_1", "profile")
    assert raised.value.retry_after == 7


@pytest.mark.parametrize("value", [{"user_id": "x"}, "", 7], ids=["object", "empty", "number"])
async def test_an_invalid_field_value_is_rejected(app: CandidateApp, user: str, value: Any) -> None:
    refused = await app.set_profile_fields(effect(user), {"headline": value})
    assert isinstance(refused, Refused)
    assert refused.code == "invalid"


@pytest.mark.parametrize("value", ["half a \ud83d character", float("nan"), [float("inf")]], ids=["half", "NaN", "inf"])
async def test_a_non_json_value_is_rejected_without_a_request(
    app: CandidateApp, user: str, server: CandidateAppServer, value: Any
) -> None:
    assert isinstance(await app.set_profile_fields(effect(user), {"headline": value}), Refused)
    assert not server.api.requests


@pytest.mark.parametrize("card_id", ["", ".", "..", "../profile", "a/activation", "a?b", "a#b", "a%2Fb", "é", "a\n"])
async def test_an_invalid_id_is_not_sent(
    app: CandidateApp, user: str, server: CandidateAppServer, card_id: str
) -> None:
    given = effect(user, "1")
    for outcome in (
        await app.publish_card(given, card_id, CARD),
        await app.activate_card(given, card_id, active=True),
        await app.delete_card(given, card_id),
        await app.suggest_linkedin(given, card_id, "x"),
    ):
        assert isinstance(outcome, Refused)
        assert outcome.code == "not_found"
    assert await app.version_of(user, "ap_1", card_subject(card_id)) is None
    assert await app.version_of(user, "ap_1", suggestion_subject(card_id)) is None
    assert not server.api.requests


# --- who asks -------------------------------------------------------------------------------------------------------

Handler: TypeAlias = Callable[[httpx2.Request], httpx2.Response]


class Bytes(httpx2.AsyncByteStream):
    def __init__(self, content: bytes) -> None:
        self.content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.content


def answered(handler: Handler, secret: str = API_SECRET) -> CandidateApp:
    def on_the_wire(request: httpx2.Request) -> httpx2.Response:
        said = handler(request)
        if isinstance(said.stream, Bytes | Endless):
            return said
        return httpx2.Response(said.status_code, headers=said.headers, stream=Bytes(said.content))

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(on_the_wire))
    return CandidateApp(http, "http://candidate-app/v1/", secret, FakeClock(), map(str, itertools.count()).__next__)


def operation(key: str, **changes: Any) -> Json:
    done = {"key": key, "status": "done", "subject": "profile", "version": "2", "result": {"fields": "headline"}}
    return {**done, **changes}


async def test_a_rejected_signature_is_retried_with_the_current_secret(user: str) -> None:
    new, asked = f"another {API_SECRET}", list[str]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.headers["authorization"].removeprefix("Bearer "))
        try:
            jwt.decode(asked[-1], new, ["HS256"], audience="candidate-app", options={"verify_iat": False})
        except jwt.InvalidSignatureError:
            return httpx2.Response(401, json={"error": {"code": "unauthorized", "message": "No."}})
        return httpx2.Response(200, json=operation("k" * 16))

    async def renewed_secret() -> str:
        return new

    app = replace(answered(answer), renewed_secret=renewed_secret)
    assert isinstance(await app.set_profile_fields(Effect(user, "ap_7", "k" * 16, None), {"headline": "x"}), Done)
    await app.outcome_of(user, "dr_8", "k" * 16)
    assert len(asked) == 3
    assert len({jwt.decode(each, options={"verify_signature": False})["jti"] for each in asked}) == 3


async def test_a_token_names_its_user_and_action_and_is_used_once(user: str) -> None:
    tokens: list[Json] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        token = request.headers["authorization"].removeprefix("Bearer ")
        assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT"}
        tokens.append(jwt.decode(token, API_SECRET, ["HS256"], audience="candidate-app", options={"verify_iat": False}))
        return httpx2.Response(500)

    app, now = answered(answer), int(FakeClock()())
    await app.set_profile_fields(Effect(user, "ap_7", "k" * 16, None), {"headline": "x"})
    await app.outcome_of(user, "dr_8", "k" * 16)
    claims = {"iss": "qwestly-agent", "aud": "candidate-app", "sub": user, "iat": now, "exp": now + 60}
    assert tokens == [
        {**claims, "act": {"sub": "ap_7"}, "jti": "0"},
        {**claims, "act": {"sub": "dr_8"}, "jti": "1"},
        {**claims, "act": {"sub": "dr_8"}, "jti": "2"},
    ]


async def test_the_chat_rejects_our_own_token_even_if_secrets_were_mixed_up(user: str) -> None:
    tokens: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        tokens.append(request.headers["authorization"].removeprefix("Bearer "))
        return httpx2.Response(500)

    await answered(answer, SECRET).set_profile_fields(effect(user), {"headline": "x"})
    for settings in (Settings("", "", SECRET), Settings("", "", SECRET, "candidate-app", "qwestly-agent")):
        with pytest.raises(Unauthorized):
            verify_token(tokens[0], settings, FakeClock())
    assert ISSUER == OUR_ISSUER


async def test_a_cookie_is_not_shared_between_users(user: str) -> None:
    cookies: list[str | None] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        cookies.append(request.headers.get("cookie"))
        headers = {"Set-Cookie": "session=of-the-first; Path=/"}
        return httpx2.Response(200, json={"subject": "profile", "version": "1"}, headers=headers)

    app = answered(answer)
    for someone in (user, "auth0|other"):
        assert await app.version_of(someone, "ap_1", "profile") == "1"
    assert cookies == [None, None]


def test_no_client_repr_contains_the_secret() -> None:
    assert API_SECRET not in repr(answered(lambda _: httpx2.Response(500)))


# --- answers that are none ------------------------------------------------------------------------------------------

KEY = "k" * 32
ERROR = {"code": "changed", "message": "m"}
BROKEN: dict[str, tuple[int, Any]] = {
    "another key's": (200, operation("j" * 32)),
    "another key's, pending": (202, {"key": "j" * 32, "status": "pending"}),
    "another key's, failed": (200, {"key": "j" * 32, "status": "failed", "error": ERROR}),
    "of another status": (200, operation(KEY, status="perhaps")),
    "without a version": (200, {"key": KEY, "status": "done", "result": {}}),
    "a version that is a number": (200, operation(KEY, version=2)),
    "a version that ends its header": (200, operation(KEY, version='2"\r\nX: y')),
    "a version with a line end": (200, operation(KEY, version="2\n")),
    "an empty version": (200, operation(KEY, version="")),
    "a version of a kilobyte": (200, operation(KEY, version="2" * 1024)),
    "a result that is a list": (200, operation(KEY, result=[1])),
    "a result with objects": (200, operation(KEY, result={"a": {}})),
    "a result with a hundred entries": (200, operation(KEY, result={str(n): "" for n in range(100)})),
    "a result with a novel": (200, operation(KEY, result={"a": "x" * 2001})),
    "a list": (200, [operation(KEY)]),
    "nothing": (200, None),
    "done, but as 201": (201, operation(KEY)),
    "no content": (204, None),
    "changed, but to what": (412, {"error": ERROR}),
    "changed, to a bad version": (412, {"error": {**ERROR, "version": '"'}}),
    "a 404 of something in between": (404, {"message": "no route"}),
    "a 403 of something in between": (403, "blocked"),
    "a code of its own kind": (422, {"error": {"code": "<b>", "message": "m"}}),
    "a message that is an object": (422, {"error": {"code": "invalid", "message": {}}}),
    "a time-out in between": (408, {"error": ERROR}),
    "a status that is nobody's": (418, {"error": ERROR}),
    "a gateway's": (502, {"error": ERROR}),
}


@pytest.mark.parametrize(("status", "body"), BROKEN.values(), ids=list(BROKEN))
async def test_a_response_that_violates_the_contract_leaves_the_outcome_unknown(
    user: str, status: int, body: Any
) -> None:
    app = answered(lambda _: httpx2.Response(status, json=body))
    assert await app.set_profile_fields(effect(user, "1", KEY), {"headline": "x"}) == Unknown()


BYTES: dict[str, tuple[bytes, dict[str, str]]] = {
    "half a character": (json.dumps(operation(KEY)).encode().replace(b"headline", b"\xe2\x82"), {}),
    "nested a hundred thousand deep": (b"[" * 100_000, {}),
    "compressed against our wish": (gzip.compress(json.dumps(operation(KEY)).encode()), {"Content-Encoding": "gzip"}),
    "larger than any answer": (json.dumps(operation(KEY)).encode() + b" " * LARGEST_ANSWER_BYTES, {}),
}


@pytest.mark.parametrize(("content", "headers"), BYTES.values(), ids=list(BYTES))
async def test_malformed_bytes_leave_the_outcome_unknown(user: str, content: bytes, headers: dict[str, str]) -> None:
    # As sent over the wire: the library would unpack what it is given.
    app = answered(lambda _: httpx2.Response(200, headers=headers, stream=Bytes(content)))
    assert await app.set_profile_fields(effect(user, "1", KEY), {"headline": "x"}) == Unknown()
    assert await app.outcome_of(user, "ap_1", KEY) == Unknown()
    with pytest.raises(Unavailable):
        await app.version_of(user, "ap_1", "profile")


@pytest.mark.parametrize(("status", "body"), [(404, {}), (404, {"error": {"code": "not_found", "message": "m"}})])
async def test_a_404_not_about_the_key_does_not_prove_the_write_never_arrived(
    user: str, status: int, body: Json
) -> None:
    assert await answered(lambda _: httpx2.Response(status, json=body)).outcome_of(user, "ap_1", KEY) == Unknown()


async def test_more_fields_than_the_contract_has_are_ignored(user: str) -> None:
    app = answered(lambda _: httpx2.Response(200, json=operation(KEY, added_later={"a": 1})))
    outcome: Awaitable[Outcome] = app.set_profile_fields(effect(user, "1", KEY), {"headline": "x"})
    assert await outcome == Done("2", {"fields": "headline"})


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("Too\r\nmany\x00 words\u202e", "Too many words"),
        ("  ", "The candidate app gave no reason."),
        ("x" * 500_000, "x" * (LONGEST_REASON_CHARACTERS - 1) + "…"),
    ],
    ids=["lines", "blank", "long"],
)
async def test_a_reason_is_short_and_printable(user: str, message: str, reason: str) -> None:
    body = {"error": {"code": "invalid", "message": message}}
    app = answered(lambda _: httpx2.Response(422, json=body))
    assert await app.set_profile_fields(effect(user), {"headline": "x"}) == Refused("invalid", reason)


async def test_a_handler_that_may_not_act_for_users_sends_no_request(http: httpx2.AsyncClient) -> None:
    app = CandidateApp(http, "", "", FakeClock(), lambda: "id")
    with pytest.raises(InvalidSettings):
        await app.version_of("auth0|ada", "ap_1", candidate_app.PROFILE)
