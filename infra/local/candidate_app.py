"""A stub of the candidate app: issues tokens exactly as the real one does, and implements its write API.

The write API is docs/candidate-app-api.yaml, over the stack's database; it is served if `QWESTLY_CANDIDATE_API_SECRET`
is set and the database is local. It fails on request: POST `/_control/faults` (`{"faults": [Fault, …]}`, one for each
following request), POST `/_control/release`, GET and DELETE `/_control/requests`. In a test `with CandidateAppServer(…)
as server:` starts one on a free port, with the same controls.

The real app stores an operation and its effect in one transaction. The local database has no isolated transactions, so
here an operation whose process is killed midway stays pending.
"""

import argparse
import asyncio
import hashlib
import json
import os
import re
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any, Literal, TypeAlias, get_args

import jwt
import uvicorn
import yaml
from jsonschema import Draft202012Validator
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import DuplicateKeyError, PyMongoError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from infra.local.environment import API_PATH, DEMO_DATABASE, DEMO_USER, ROOT, SafeLoader, is_local
from infra.local.serving import listen
from infra.local.tokens import mint, required_claims
from qwestly_agent.base.clock import system_clock

# --- the write API ----------------------------------------------------------------------------------------------------

CONTRACT = ROOT / "docs" / "candidate-app-api.yaml"
CANDIDATES, PREFERENCES, EMPLOYMENT, CARDS, LINKEDIN, LINKEDIN_SUGGESTIONS = (
    "candidates_enhanced",
    "preferences_enhanced",
    "employment_stints_enhanced",
    "qc_sections",
    "linkedin_profiles",
    "linkedin_profile_suggestions",
)
STINT = ("title", "company", "location", "start_date", "end_date", "is_current", "description")
DOCUMENTS, CHUNKS = "candidate_app_documents", "knowledge_chunk"
APPLICATIONS = "candidate_app_applications"
OPERATIONS = "candidate_app_operations"
INGESTION_PATH = "/api/linkedin/profile"
"""Outside the API's path: this route of the candidate app is older than the API."""
AGENT_LIFE_SECONDS, CLOCK_SKEW_SECONDS = 60, 30
READ_AGAIN_AFTER_SECONDS = 24 * 3600
RECORDED_REQUESTS = 2_000
CHUNK_CHARACTERS = 1_200

Fault: TypeAlias = (
    Literal["drop_before", "error_before", "hold_before", "redirect_before", "changed", "busy", "forbidden"]
    | Literal["drop_after", "error_after", "hold_after", "half_after", "cut_after", "huge_after", "html_after"]
    | Literal["ingestion_waits", "ingestion_fails"]
    | Literal["version_unread", "version_busy", "version_forbidden"]
)
"""The fault of the next write, or of the next lookup of one, before or after its effect: `drop` (the connection
closes without a byte), `error` (500), `hold` (no response until released), `changed` (412), `busy` (429),
`forbidden` (403), `half` (half an object), `cut` (the connection closes within the body), `huge` (2 MB), `html` (a
page), `redirect`. `ingestion_waits` (until released) and `ingestion_fails` affect the background work after an
ingestion was accepted. `version_unread` (500), `version_busy` (429) and `version_forbidden` (403) affect the next
read of a subject's version."""
FAULTS = {name for group in get_args(Fault) for name in get_args(group)}

Document: TypeAlias = dict[str, Any]
Result: TypeAlias = dict[str, str]


class Refusal(Exception):
    def __init__(self, status: int, code: str, message: str, version: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = {"code": code, "message": message, **({} if version is None else {"version": version})}

    def response(self) -> Response:
        headers = {"Retry-After": "7"} if self.status == 429 else {}
        return JSONResponse({"error": self.reason}, self.status, headers)


@dataclass(frozen=True)
class Subject:
    """A versioned document of one user."""

    name: str
    collection: str
    user_id: str
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def filter(self) -> Document:
        return {"user_id": self.user_id, **self.more}

    @property
    def new_id(self) -> str:
        return f"{self.user_id}:{self.name}"


def version_of(document: Mapping[str, Any]) -> str:
    """Return the version as the API reports it: 0 for a document that was stored without one."""
    return str(document.get("version", 0))


def chunks_of(text: str) -> list[str]:
    """Join paragraphs into chunks of about a third of a page."""
    chunks: list[str] = []
    for paragraph in text.split("\n\n"):
        if chunks and len(chunks[-1]) + len(paragraph) < CHUNK_CHARACTERS:
            chunks[-1] += f"\n\n{paragraph}"
        else:
            chunks.append(paragraph)
    return chunks


@cache
def schema(name: str) -> Draft202012Validator:
    """Return the contract's schema of a body. The allow-list of fields is only there."""
    components = yaml.load(CONTRACT.read_text(encoding="utf-8"), SafeLoader)["components"]
    return Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": components})


@cache
def preference_names() -> frozenset[str]:
    contract = yaml.load(CONTRACT.read_text(encoding="utf-8"), SafeLoader)
    return frozenset(contract["components"]["schemas"]["PreferenceChange"]["properties"])


@dataclass(frozen=True)
class Write:
    """A request with valid headers and body."""

    subject: Subject
    key: str
    version: str | None
    """None if the subject must not exist yet."""
    body: Document
    fingerprint: str

    @property
    def operation_id(self) -> str:
        return f"{self.subject.user_id}:{self.key}"


class WriteApi:
    """The write API over the candidate app's collections."""

    def __init__(self, database: AsyncDatabase[Document], secret: str, clock: Callable[[], float]) -> None:
        self.database = database
        self.secret = secret
        self.clock = clock
        self.faults: deque[Fault] = deque()
        self.requests: deque[Document] = deque(maxlen=RECORDED_REQUESTS)
        self.delivers: dict[str, bool] = {"adzuna": True, "jsearch": False}
        """Whether applications for the jobs of a source are delivered."""
        self._held: set[asyncio.Future[None]] = set()
        self._under_way: set[asyncio.Task[None]] = set()

    def routes(self) -> list[BaseRoute]:
        routes: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
            ("GET", "/profile", self._read(lambda r: self._one("profile", CANDIDATES, r))),
            ("PATCH", "/profile", self._set_profile),
            ("GET", "/preferences", self._read(lambda r: self._one("preferences", PREFERENCES, r))),
            ("PATCH", "/preferences", self._set_preference),
            ("GET", "/linkedin-profile", self._read(self._linkedin)),
            ("POST", INGESTION_PATH, self._ingest),
            ("GET", "/linkedin-profile/suggestions/{draft_id}", self._read(self._suggestion)),
            ("PUT", "/linkedin-profile/suggestions/{draft_id}", self._suggest),
            ("GET", "/cards/{card_id}", self._read(self._card)),
            ("PUT", "/cards/{card_id}", self._publish),
            ("DELETE", "/cards/{card_id}", self._delete),
            ("POST", "/cards/{card_id}/activation", self._activate),
            ("DELETE", "/cards/{card_id}/activation", self._deactivate),
            ("GET", "/documents/{document_id}", self._read(self._document)),
            ("PUT", "/documents/{document_id}", self._keep),
            ("GET", "/applications/{job_id}", self._read(self._application)),
            ("PUT", "/applications/{job_id}", self._apply),
            ("GET", "/sources", self._sources),
            ("GET", "/operations/{key}", self._operation),
        ]
        return [
            *(Route(_whole(path), self._with_faults(answer), methods=[method]) for method, path, answer in routes),
            Route("/cards/{card_id}", self.show_card),
            Route("/_control/faults", self._control_faults, methods=["POST"]),
            Route("/_control/release", self._control_release, methods=["POST"]),
            Route("/_control/requests", self._control_requests, methods=["GET", "DELETE"]),
        ]

    # Authorization and subject

    def _user(self, request: Request) -> str:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        try:
            claims = jwt.decode(
                token,
                self.secret,
                algorithms=["HS256"],
                audience="candidate-app",
                issuer="qwestly-agent",
                options={
                    "require": ["iss", "aud", "sub", "act", "iat", "exp", "jti"],
                    # pyjwt would use the system clock.
                    "verify_exp": False,
                    "verify_iat": False,
                    "verify_nbf": False,
                },
            )
            issued, expires, acts = float(claims["iat"]), float(claims["exp"]), claims["act"]["sub"]
        except (jwt.InvalidTokenError, TypeError, ValueError, KeyError):
            raise Refusal(401, "unauthorized", "This token is not the agent's.") from None
        now = self.clock()
        in_force = issued - CLOCK_SKEW_SECONDS <= now < expires and expires - issued <= AGENT_LIFE_SECONDS
        if scheme.lower() != "bearer" or not in_force or not claims["sub"] or not isinstance(acts, str) or not acts:
            raise Refusal(401, "unauthorized", "This token is not good now.")
        return claims["sub"]

    def _one(self, name: str, collection: str, request: Request) -> Subject:
        return Subject(name, collection, self._user(request))

    def _linkedin(self, request: Request) -> Subject:
        return self._one("linkedin-profile", LINKEDIN, request)

    def _suggestion(self, request: Request) -> Subject:
        draft_id = request.path_params["draft_id"]
        name = f"linkedin-profile/suggestions/{draft_id}"
        return Subject(name, LINKEDIN_SUGGESTIONS, self._user(request), {"draft_id": draft_id})

    def _card(self, request: Request) -> Subject:
        card_id = request.path_params["card_id"]
        return Subject(f"cards/{card_id}", CARDS, self._user(request), {"card_id": card_id})

    def _document(self, request: Request) -> Subject:
        document_id = request.path_params["document_id"]
        return Subject(f"documents/{document_id}", DOCUMENTS, self._user(request), {"document_id": document_id})

    def _application(self, request: Request) -> Subject:
        job_id = request.path_params["job_id"]
        return Subject(f"applications/{job_id}", APPLICATIONS, self._user(request), {"job_id": job_id})

    async def _find(self, subject: Subject) -> Document | None:
        return await self.database[subject.collection].find_one(subject.filter)

    async def _checked(self, request: Request, subject: Subject, body: str | None, may_create: bool) -> Write:
        """Check a write before any data is read. Raises `Refusal` with the reason."""
        key = request.headers.get("idempotency-key", "")
        if not schema("IdempotencyKey").is_valid(key):
            raise Refusal(422, "invalid", "The Idempotency-Key is missing or malformed.")
        given: Document = {}
        raw = await request.body()
        if body is not None:
            given = _json_of(raw)
            if not schema(body).is_valid(given):
                raise Refusal(422, "invalid", f"The body is no {body}.")
        version = _precondition(request, may_create)
        what = [request.method, request.url.path, given]
        fingerprint = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
        return Write(subject, key, version, given, fingerprint)

    # Idempotency

    async def _once(
        self, write: Write, effect: Callable[[Write], Awaitable[tuple[str | None, Result] | None]]
    ) -> Response:
        """Run the effect once. It returns the new version and result, or None if it continues in the background."""
        operations, subject = self.database[OPERATIONS], write.subject
        operation = {"key": write.key, "status": "pending", "subject": subject.name}
        kept = {"user_id": subject.user_id, "fingerprint": write.fingerprint, "at": self.clock()}
        try:
            await operations.insert_one({"_id": write.operation_id, **operation, **kept})
        except DuplicateKeyError:
            return await self._repeated(write)
        try:
            done = await effect(write)
        except Refusal:  # nothing changed, so nothing is stored
            await operations.delete_one({"_id": write.operation_id})
            raise
        except PyMongoError:
            # Otherwise the operation would be reported as pending forever. If it did change the subject, a repetition
            # is rejected as changed.
            await operations.delete_one({"_id": write.operation_id})
            return _internal()
        if done is not None:
            operation = await self._finish(write, status="done", version=done[0], result=done[1])
        return _operation_response(operation)

    async def _repeated(self, write: Write) -> Response:
        kept = await self.database[OPERATIONS].find_one({"_id": write.operation_id}) or {}
        if kept.get("fingerprint") != write.fingerprint:
            raise Refusal(409, "key_reused", "This key was used with another request.")
        return _operation_response(kept)

    async def _finish(self, write: Write, **outcome: Any) -> Document:
        await self.database[OPERATIONS].update_one({"_id": write.operation_id}, {"$set": outcome})
        return {"key": write.key, "subject": write.subject.name, **outcome}

    async def _change(self, write: Write, fields: Document) -> str:
        """Update the subject atomically from the version the client read, and return the new version."""
        subject, collection = write.subject, self.database[write.subject.collection]
        if write.version is None:
            await self._must_be_new(subject)
            # Operations are never deleted and each raises a version by at most one, so a deleted subject's versions
            # never repeat.
            version = await self.database[OPERATIONS].count_documents({"user_id": subject.user_id})
            document = {"_id": subject.new_id, **subject.filter, **fields, "version": version}
            try:
                await collection.insert_one(document)
            except DuplicateKeyError:
                await self._must_be_new(subject)
            return str(version)
        seen = {**subject.filter, "version": _stored(write.version)}
        changed = await collection.update_one(seen, {**({"$set": fields} if fields else {}), "$inc": {"version": 1}})
        if not changed.matched_count:
            await self._not_as_seen(subject)
        return str(int(write.version) + 1)

    async def _must_be_new(self, subject: Subject) -> None:
        if there := await self._find(subject):
            raise Refusal(412, "changed", "This is there already.", version_of(there))

    async def _not_as_seen(self, subject: Subject) -> None:
        there = await self._find(subject)
        if there is None:
            raise Refusal(404, "not_found", "There is no such thing.")
        raise Refusal(412, "changed", "This has changed meanwhile.", version_of(there))

    # The operations of the API

    def _read(self, subject_of: Callable[[Request], Subject]) -> Callable[[Request], Awaitable[Response]]:
        async def read(request: Request) -> Response:
            subject = subject_of(request)
            document = await self._find(subject)
            if document is None:
                raise Refusal(404, "not_found", "There is no such thing.")
            version = version_of(document)
            return JSONResponse({"subject": subject.name, "version": version}, headers={"ETag": f'"{version}"'})

        return read

    async def _set_profile(self, request: Request) -> Response:
        async def effect(write: Write) -> tuple[str, Result]:
            preferences = {name: value for name, value in write.body.items() if name in preference_names()}
            others = {"positions", *preferences}
            profile = {name: value for name, value in write.body.items() if name not in others}
            version = await self._change(write, profile)
            if "positions" in write.body:
                await self._set_positions(write.subject.user_id, write.body["positions"] or [])
            if preferences:
                mine = {"user_id": write.subject.user_id}
                change = {"$set": preferences, "$inc": {"version": 1}}
                await self.database[PREFERENCES].update_one(mine, change, upsert=True)
            return version, {"fields": ", ".join(sorted(write.body))}

        subject = self._one("profile", CANDIDATES, request)
        return await self._once(await self._checked(request, subject, "ProfileChange", True), effect)

    async def _set_positions(self, user_id: str, positions: Sequence[Document]) -> None:
        stints = self.database[EMPLOYMENT]
        new = [{"user_id": user_id, **_stint(each)} for each in positions]
        kept: list[Any] = []
        async for each in stints.find({"user_id": user_id}):
            if (told := {name: value for name, value in each.items() if name in STINT or name == "user_id"}) in new:
                new.remove(told)
                kept.append(each["_id"])
        await stints.delete_many({"user_id": user_id, "_id": {"$nin": kept}})
        if new:
            await stints.insert_many(new)

    async def _set_preference(self, request: Request) -> Response:
        async def effect(write: Write) -> tuple[str, Result]:
            version = await self._change(write, write.body)
            await self.database[CANDIDATES].update_one(write.subject.filter, {"$inc": {"version": 1}})
            return version, {"fields": ", ".join(sorted(write.body))}

        subject = self._one("preferences", PREFERENCES, request)
        return await self._once(await self._checked(request, subject, "PreferenceChange", True), effect)

    async def _publish(self, request: Request) -> Response:
        async def effect(write: Write) -> tuple[str, Result]:
            new = {"active": False} if write.version is None else {}
            version = await self._change(write, {"headline": None, **write.body, "published_at": self.clock(), **new})
            card_id = write.subject.more["card_id"]
            return version, {"card_id": card_id, "url": f"{request.base_url}cards/{card_id}"}

        return await self._once(await self._checked(request, self._card(request), "Card", True), effect)

    async def show_card(self, request: Request) -> Response:
        """Show a published card to anyone who has its address."""
        card = await self.database[CARDS].find_one({"card_id": request.path_params["card_id"]})
        if card is None:
            return HTMLResponse("<!doctype html><title>No such card</title><p>This card is not published.", 404)
        person = await self.database[CANDIDATES].find_one({"user_id": card["user_id"]}) or {}
        return HTMLResponse(_card_page(person.get("name", ""), card), headers=CARD_HEADERS)

    async def _activate(self, request: Request) -> Response:
        async def effect(write: Write) -> tuple[str, Result]:
            version = await self._change(write, {"active": True})
            others = {
                "user_id": write.subject.user_id,
                "card_id": {"$ne": write.subject.more["card_id"]},
                "active": True,
            }
            await self.database[CARDS].update_many(others, {"$set": {"active": False}, "$inc": {"version": 1}})
            return version, dict(write.subject.more)

        return await self._once(await self._checked(request, self._card(request), None, False), effect)

    async def _deactivate(self, request: Request) -> Response:
        async def effect(write: Write) -> tuple[str, Result]:
            return await self._change(write, {"active": False}), dict(write.subject.more)

        return await self._once(await self._checked(request, self._card(request), None, False), effect)

    async def _delete(self, request: Request) -> Response:
        async def effect(write: Write) -> tuple[None, Result]:
            assert write.version is not None
            seen = {**write.subject.filter, "version": _stored(write.version)}
            deleted = await self.database[CARDS].delete_one(seen)
            if not deleted.deleted_count:
                await self._not_as_seen(write.subject)
            return None, dict(write.subject.more)

        return await self._once(await self._checked(request, self._card(request), None, False), effect)

    async def _ingest(self, request: Request) -> Response:
        async def effect(write: Write) -> tuple[str, Result] | None:
            there = await self._find(write.subject)
            if write.version is None:
                await self._must_be_new(write.subject)
            elif there is None or version_of(there) != write.version:
                await self._not_as_seen(write.subject)
            if there and not write.body.get("refresh") and self._is_recent(there, write.body["url"]):
                return version_of(there), {"url": write.body["url"]}
            task = asyncio.create_task(self._read_linkedin(write, request.state.fault))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
            return None

        return await self._once(await self._checked(request, self._linkedin(request), "LinkedInSource", True), effect)

    async def _suggest(self, request: Request) -> Response:
        async def effect(write: Write) -> tuple[str, Result]:
            return await self._change(write, {**write.body, "suggested_at": self.clock()}), dict(write.subject.more)

        write = await self._checked(request, self._suggestion(request), "LinkedInSuggestion", True)
        return await self._once(write, effect)

    async def _keep(self, request: Request) -> Response:
        async def effect(write: Write) -> tuple[str, Result]:
            version = await self._change(write, {**write.body, "kept_at": self.clock()})
            title, kind, text = (write.body[name] for name in ("title", "kind", "text"))
            chunks = self.database[CHUNKS]
            await chunks.delete_many(write.subject.filter)
            await chunks.insert_many(
                {**write.subject.filter, "title": title, "source_type": kind, "text": chunk}
                for chunk in chunks_of(text)
            )
            return version, dict(write.subject.more)

        return await self._once(await self._checked(request, self._document(request), "Document", True), effect)

    async def _apply(self, request: Request) -> Response:
        async def effect(write: Write) -> tuple[str, Result]:
            if not self.delivers.get(write.body["job"]["source"]):
                raise Refusal(403, "not_delivered", "Nobody delivers applications for this job board.")
            return await self._change(write, {**write.body, "sent_at": self.clock()}), dict(write.subject.more)

        return await self._once(await self._checked(request, self._application(request), "Application", True), effect)

    async def _sources(self, _: Request) -> Response:
        return JSONResponse({"sources": {name: {"delivers": each} for name, each in self.delivers.items()}})

    def _is_recent(self, document: Document, url: str) -> bool:
        read_at = document.get("ingested_at", 0)
        return document.get("url") == url and self.clock() < read_at + READ_AGAIN_AFTER_SECONDS

    async def _read_linkedin(self, write: Write, fault: Fault | None) -> None:
        """Simulate an ingestion: copy the headline from the profile."""
        if fault == "ingestion_waits":
            await self._hold()
        try:
            if fault == "ingestion_fails":
                raise Refusal(502, "source_unavailable", "LinkedIn did not show this profile.")
            profile = await self.database[CANDIDATES].find_one({"user_id": write.subject.user_id}) or {}
            read = {"url": write.body["url"], "headline": profile.get("headline", ""), "ingested_at": self.clock()}
            version = await self._change(write, read)
        except Refusal as refusal:
            reason = {name: refusal.reason[name] for name in ("code", "message")}
            await self._finish(write, status="failed", error=reason)
        else:
            await self._finish(write, status="done", version=version, result={"url": write.body["url"]})

    async def _operation(self, request: Request) -> Response:
        user_id, key = self._user(request), request.path_params["key"]
        kept = await self.database[OPERATIONS].find_one({"_id": f"{user_id}:{key}", "user_id": user_id})
        if kept is None:
            raise Refusal(404, "unknown_operation", "No request with this key has arrived.")
        return JSONResponse(_public(kept))

    # Faults on request

    def _with_faults(self, answer: Callable[[Request], Awaitable[Response]]) -> "Callable[[Request], Awaitable[Any]]":
        async def misbehave(request: Request) -> Response | _Broken:
            body = (await request.body()).decode("utf-8", "replace")
            headers = {name: value for name, value in request.headers.items() if name != "authorization"}
            self.requests.append({"method": request.method, "path": request.url.path, "headers": headers, "body": body})
            reads_version = request.method == "GET" and "key" not in request.path_params
            is_next = bool(self.faults) and reads_version == self.faults[0].startswith("version")
            fault = request.state.fault = self.faults.popleft() if is_next else None
            match fault:
                case "drop_before":
                    return _Broken(None, b"")
                case "error_before" | "version_unread":
                    return _internal()
                case "redirect_before":
                    return RedirectResponse("/elsewhere", 307)
                case "hold_before":
                    await self._hold()
            try:
                self._refuse_by(fault, request)
                response = await answer(request)
            except Refusal as refusal:
                response = refusal.response()
            if fault == "hold_after":
                await self._hold()
            return _spoilt(fault, response)

        return misbehave

    def _refuse_by(self, fault: Fault | None, request: Request) -> None:
        if fault in ("busy", "forbidden", "changed", "version_busy", "version_forbidden"):
            self._user(request)
        if fault in ("busy", "version_busy"):
            raise Refusal(429, "too_many_requests", "Too many requests. Please wait a moment.")
        if fault in ("forbidden", "version_forbidden"):
            raise Refusal(403, "forbidden", "This account may not be changed by the agent.")
        if fault == "changed":
            raise Refusal(412, "changed", "This has changed meanwhile.", "changed-by-order")

    async def _hold(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._held.add(future)
        try:
            await future
        finally:
            self._held.discard(future)

    @property
    def held(self) -> int:
        return len(self._held)

    def release(self) -> None:
        """Release held requests. Can be called from any thread."""
        for future in list(self._held):
            self._held.discard(future)
            future.get_loop().call_soon_threadsafe(lambda one=future: one.done() or one.set_result(None))

    async def close(self) -> None:
        for task in list(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await self.database.client.close()

    async def _control_faults(self, request: Request) -> Response:
        given = _json_of(await request.body()).get("faults", [])
        if unknown := [fault for fault in given if fault not in FAULTS]:
            return Refusal(422, "invalid", f"There is no fault {unknown[0]}.").response()
        self.faults = deque(given)
        return JSONResponse({"status": "ok"})

    async def _control_release(self, _: Request) -> Response:
        self.release()
        return JSONResponse({"status": "ok"})

    async def _control_requests(self, request: Request) -> Response:
        if request.method == "DELETE":
            self.requests.clear()
        return JSONResponse(list(self.requests))


def _stint(position: Mapping[str, Any]) -> Document:
    """Return a position as the candidate app stores it."""
    is_current = position.get("end") == "present"
    values = [position.get(name) for name in ("title", "company", "location", "start")]
    values += [None if is_current else position.get("end"), is_current, "\n".join(position.get("lines", ()))]
    return {name: value for name, value in zip(STINT, values, strict=True) if value not in (None, "")}


def _whole(path: str) -> str:
    return path if path == INGESTION_PATH else API_PATH + path


def _json_of(raw: bytes) -> Document:
    try:
        given = json.loads(raw)
        json.dumps(given, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        raise Refusal(422, "invalid", "The body is no JSON.") from None
    if not isinstance(given, dict):
        raise Refusal(422, "invalid", "The body is no JSON object.")
    return given


def _precondition(request: Request, may_create: bool) -> str | None:
    seen, new = request.headers.get("if-match"), request.headers.get("if-none-match")
    if seen is None and (new is None or not may_create):
        raise Refusal(428, "precondition_missing", "If-Match must name the version that was seen.")
    if seen is None:
        if new != "*":
            raise Refusal(422, "invalid", "If-None-Match takes nothing but *.")
        return None
    if new is not None or not re.fullmatch(r'"[!#-~]{1,128}"', seen):
        raise Refusal(422, "invalid", "If-Match takes one version in quotes, and no If-None-Match beside it.")
    return seen[1:-1]


def _stored(version: str) -> Any:
    """Return the query for the stored version; it matches nothing if the version is malformed."""
    if version == "0":
        return {"$in": [0, None]}
    return int(version) if re.fullmatch(r"[1-9][0-9]{0,15}", version) else {"$in": []}


def _public(operation: Mapping[str, Any]) -> Document:
    names = ("key", "status", "subject", "version", "result", "error")
    return {name: operation[name] for name in names if name in operation}


def _operation_response(operation: Mapping[str, Any]) -> Response:
    version = operation.get("version")
    headers = {} if version is None else {"ETag": f'"{version}"'}
    return JSONResponse(_public(operation), 202 if operation["status"] == "pending" else 200, headers)


def _internal() -> Response:
    return JSONResponse({"error": {"code": "internal", "message": "Something went wrong."}}, 500)


def _spoilt(fault: Fault | None, response: Response) -> "Response | _Broken":
    body = bytes(response.body)
    match fault:
        case "drop_after":
            return _Broken(None, b"")
        case "cut_after":
            return _Broken(response, body[: len(body) // 2])
        case "error_after":
            return _internal()
        case "half_after":
            return Response(body[: len(body) // 2], response.status_code, media_type="application/json")
        case "huge_after":
            return Response(b" " * 2_000_000 + body, response.status_code, media_type="application/json")
        case "html_after":
            return HTMLResponse("<!doctype html><title>Welcome</title>", response.status_code)
        case _:
            return response


@dataclass(frozen=True)
class _Broken:
    """Close the connection before or within the response."""

    response: Response | None
    body: bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.response:
            await send({"type": "http.response.start", "status": 200, "headers": self.response.raw_headers})
            await send({"type": "http.response.body", "body": self.body, "more_body": True})
        transport: asyncio.Transport = scope["state"]["transport"]
        transport.close()
        # A client disconnect ends this task.
        while (await receive())["type"] != "http.disconnect":
            pass


CARD_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
CARD_STYLE = """
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 42rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: .8rem; letter-spacing: .06em; text-transform: uppercase; }
.skills ul, .preferences ul { display: flex; flex-wrap: wrap; gap: .4rem; padding: 0; list-style: none; }
.skills li, .preferences li { padding: .2rem .7rem; border: 1px solid; border-radius: 1rem; }
"""


def _card_page(name: str, card: Mapping[str, Any]) -> str:
    sections = "".join(
        f'<section class="{escape(each["kind"])}"><h2>{escape(each["heading"])}</h2>'
        f"<ul>{''.join(f'<li>{escape(claim)}' for claim in each['claims'])}</ul></section>"
        for each in card["sections"]
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(name) or 'Career card'}</title><style>{CARD_STYLE}</style>"
        f"<main><h1>{escape(name)}</h1><p>{escape(card.get('headline') or '')}</p>{sections}</main></html>"
    )


# --- serving it -------------------------------------------------------------------------------------------------------


class _Connection(H11Protocol):
    """Give the application the socket: ASGI has no way to close the connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, "transport": transport}


def create_app(
    secret: str,
    clock: Callable[[], float] = system_clock,
    claims: Mapping[str, str] = {},
    api: WriteApi | None = None,
) -> Starlette:
    async def token(request: Request) -> JSONResponse:
        user_id = request.query_params.get("user") or DEMO_USER
        return JSONResponse({"token": mint(user_id, secret, clock(), **claims)}, headers={"Cache-Control": "no-store"})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        if api:
            await api.close()

    routes = [Route("/api/agent/token", token), *(api.routes() if api else ())]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _no_such_route})


async def _no_such_route(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return Refusal(error.status_code, "no_such_route", "There is no such address.").response()


def make_api(mongodb_uri: str, database: str, secret: str, clock: Callable[[], float] = system_clock) -> WriteApi:
    client: AsyncMongoClient[Document] = AsyncMongoClient(mongodb_uri, serverSelectionTimeoutMS=3000)
    return WriteApi(client[database], secret, clock)


def api_of(environment: Mapping[str, str]) -> WriteApi | None:
    """Return the API, or None without a secret or if the database is not local: a stub must not write to real data."""
    secret, uri = environment.get("QWESTLY_CANDIDATE_API_SECRET", ""), environment.get("MONGODB_URI", "")
    database = environment.get("MONGODB_DATABASE") or DEMO_DATABASE
    if secret and not uri:
        sys.exit("MONGODB_URI is missing: the database that the write API changes.")
    return make_api(uri, database, secret) if secret and is_local(uri, database) else None


@dataclass
class CandidateAppServer:
    """A write API over real sockets, as a context manager."""

    mongodb_uri: str
    database: str
    secret: str
    clock: Callable[[], float] = system_clock
    api: WriteApi = field(init=False)
    port: int = field(init=False)

    def __enter__(self) -> "CandidateAppServer":
        self.api = make_api(self.mongodb_uri, self.database, self.secret, self.clock)
        listening = listen(0)
        listening.listen()
        self.port = listening.getsockname()[1]
        self._server = uvicorn.Server(_config(create_app(self.secret, self.clock, api=self.api)))
        threading.Thread(target=self._server.run, args=([listening],), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.api.release()
        # Its thread ends by itself 0.2 seconds later.
        self._server.should_exit = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{API_PATH}"

    def misbehave(self, *faults: Fault) -> None:
        """Apply one of the faults to each following request."""
        self.api.faults = deque(faults)


def _config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(app, http=_Connection, log_level="warning", access_log=False, timeout_graceful_shutdown=1)


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8003)
    port = parser.parse_args(arguments).port
    secret = environment.get("QWESTLY_AGENT_SHARED_SECRET", "").split(",")[0].strip()
    if not secret:
        sys.exit("QWESTLY_AGENT_SHARED_SECRET is missing: the secret that the chat function verifies tokens with.")
    api = api_of(environment)
    server = uvicorn.Server(_config(create_app(secret, claims=required_claims(environment), api=api)))
    server.run(sockets=[listen(port)])


if __name__ == "__main__":
    main(sys.argv[1:], os.environ)
