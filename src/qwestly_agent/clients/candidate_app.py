"""The client of the candidate app's write API, `docs/candidate-app-api.yaml`."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias, TypeVar
from urllib.parse import quote, urljoin

import httpx2
import jwt
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from qwestly_agent.base.clock import Clock, NewId
from qwestly_agent.base.errors import InvalidSettings, Unavailable
from qwestly_agent.base.patterns import pattern
from qwestly_agent.domain.candidate import Preference, WrittenField

# --- candidate answers ------------------------------------------------------------------------------------------------
# Parse the candidate app's responses, which are untrusted input, into the outcome of a write.


LARGEST_ANSWER_BYTES = 1024 * 1024
LONGEST_REASON_CHARACTERS = 200


@dataclass(frozen=True)
class Done:
    version: str | None
    """The subject's new version; None if it was deleted."""
    result: dict[str, str]


@dataclass(frozen=True)
class Changed:
    """Nothing was done, because the subject has changed since the user saw it. `version` is the current one."""

    version: str


@dataclass(frozen=True)
class Refused:
    """A definite rejection: nothing was done, and a repeated request will be rejected again, unless `retry_after` is
    set."""

    code: str
    reason: str
    """The candidate app's sentence for the user, cleaned and truncated."""
    retry_after: int | None = None
    """In seconds."""


@dataclass(frozen=True)
class Pending:
    """The request was accepted; it will be done or fail later."""


@dataclass(frozen=True)
class NeverArrived:
    """Nothing has been done so far. The request may be sent again with the same key, in case the first one is only
    delayed."""


@dataclass(frozen=True)
class Unknown:
    """The outcome is not known yet; query it with `outcome_of`."""


Outcome: TypeAlias = Done | Changed | Refused | Pending | NeverArrived | Unknown


class Unreadable(Exception):
    """The response is larger than any valid one."""


async def body_of(response: httpx2.Response) -> bytes:
    body = bytearray()
    # Read the raw bytes: we do not accept compression, and a response compressed anyway must not expand to an arbitrary
    # size.
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > LARGEST_ANSWER_BYTES:
            raise Unreadable
    return bytes(body)


def retry_after_of(response: httpx2.Response) -> int | None:
    given = response.headers.get("retry-after", "")
    return int(given) if re.fullmatch(r"[0-9]{1,5}", given) else None


_Shape = TypeVar("_Shape")
_Version: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[!#-~]{1,128}$")]
_Text: TypeAlias = Annotated[str, StringConstraints(max_length=2000)]


# Built when the first response is read: every function has this client, but most send no request.
_LATER = ConfigDict(defer_build=True)


class _Told(BaseModel):
    model_config = _LATER


class _Reason(_Told):
    code: str = Field(pattern=r"^[a-z_]{1,40}$")
    message: str
    version: _Version | None = None

    @property
    def cleaned(self) -> str:
        printable = "".join(letter if letter.isprintable() else " " for letter in self.message)
        words = " ".join(printable.split())
        if len(words) > LONGEST_REASON_CHARACTERS:
            words = f"{words[: LONGEST_REASON_CHARACTERS - 1]}…"
        return words or "The candidate app gave no reason."


class _Refusal(_Told):
    error: _Reason


class _SubjectVersion(_Told):
    version: _Version


class _PendingOperation(_Told):
    key: str
    status: Literal["pending"]


class _DoneOperation(_Told):
    key: str
    status: Literal["done"]
    version: _Version | None
    result: dict[_Text, _Text] = Field(max_length=20)


class _FailedOperation(_Told):
    key: str
    status: Literal["failed"]
    error: _Reason


class _Sources(_Told):
    sources: dict[str, dict[str, bool]]


_Operation: TypeAlias = Annotated[_PendingOperation | _DoneOperation | _FailedOperation, Field(discriminator="status")]
VERSION = TypeAdapter(_SubjectVersion)
REFUSAL = TypeAdapter(_Refusal)
SOURCES = TypeAdapter(_Sources)
_OPERATION: TypeAdapter[_Operation] = TypeAdapter(_Operation, config=_LATER)

_REFUSALS = (401, 403, 404, 409, 422, 428, 429)
"""The contract's statuses for a rejection. Any other status below 500 may come from a proxy, and says nothing about the
effect."""


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    retry_after: int | None

    def parsed(self, shape: TypeAdapter[_Shape]) -> _Shape | None:
        """Parse the body; None if it does not have this shape."""
        try:
            return shape.validate_json(self.body)
        except ValidationError:
            return None


def outcome_of_write(answer: Answer, key: str) -> Outcome:
    if answer.status in (200, 202):
        return outcome_of_operation(answer, key)
    refusal = answer.parsed(REFUSAL)
    if refusal and answer.status == 412 and refusal.error.version is not None:
        return Changed(refusal.error.version)
    if refusal and answer.status in _REFUSALS:
        retry_after = answer.retry_after if answer.status == 429 else None
        return Refused(refusal.error.code, refusal.error.cleaned, retry_after)
    return Unknown()


def outcome_of_operation(answer: Answer, key: str) -> Outcome:
    match answer.parsed(_OPERATION):
        case _DoneOperation(key=said, version=version, result=result) if said == key:
            return Done(version, result)
        case _FailedOperation(key=said, error=error) if said == key:
            return Refused(error.code, error.cleaned)
        case _PendingOperation(key=said) if said == key:
            return Pending()
        case _:
            return Unknown()


# --- candidate app ----------------------------------------------------------------------------------------------------
# A write is sent once. After `Unknown`, callers query `outcome_of` with the key later. The same write may be sent again
# only with the same key.


ISSUER = "qwestly-agent"
AUDIENCE = "candidate-app"
PLAIN_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": ISSUER}
LIFE_SECONDS = 60
TIMEOUT_SECONDS = 10.0
"""Timeout for a write, and for both attempts of a read together."""
CONNECT_SECONDS = 3.0
UNAUTHORIZED = 401
READ_ATTEMPT_SECONDS = 4.5
READ_ATTEMPTS = 2
SOURCES_KEPT_SECONDS = 300.0

PROFILE, PREFERENCES, LINKEDIN_PROFILE = "profile", "preferences", "linkedin-profile"
INGESTION_PATH = "../../linkedin/profile"
"""An existing path of the candidate app, relative to the API's URL."""
_SUBJECT = pattern(
    rf"{PROFILE}|{PREFERENCES}|{LINKEDIN_PROFILE}|({LINKEDIN_PROFILE}/suggestions|cards|documents|applications)/[A-Za-z0-9_-]{{1,128}}",
    re.ASCII,
)


def card_subject(card_id: str) -> str:
    """Return the subject of a card. For the profile, the preferences and the LinkedIn profile, there are constants."""
    return f"cards/{card_id}"


def suggestion_subject(draft_id: str) -> str:
    """Return the subject of a LinkedIn suggestion."""
    return f"{LINKEDIN_PROFILE}/suggestions/{draft_id}"


def application_subject(job_id: str) -> str:
    """Return the subject of an application."""
    return f"applications/{job_id}"


# --- requests ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Effect:
    """Identifies a write: the user, the approval or draft (`act`), the idempotency key, and the expected version."""

    user_id: str
    act: str
    key: str
    version: str | None
    """The version that the user saw; None if the subject must not exist yet."""
    begun_at: float | None = None
    """When the approval was marked as executing. The token's lifetime starts then, however late the request is sent."""


class CardSection(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)

    kind: str
    heading: str
    claims: tuple[str, ...]


class CardText(BaseModel):
    # The docstring is part of the digest of `publish_card`'s arguments: changing it requires an upgrade.
    """A card as others read it: without the evidence, which stays with us."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    style: Literal["standard", "concise", "story"]
    headline: str | None = None
    sections: tuple[CardSection, ...]


@dataclass
class CandidateApp:
    http: httpx2.AsyncClient
    base_url: str
    """The API's URL with its path, as in the contract's `servers`."""
    secret: str = field(repr=False)
    clock: Clock
    new_id: NewId
    renewed_secret: Callable[[], Awaitable[str]] | None = None
    """Reads the secret again, because a rejected one may have been rotated."""
    _sources: tuple[float, Mapping[str, Mapping[str, bool]]] | None = field(default=None, init=False)
    """When the job sources were read, and the response."""

    async def version_of(self, user_id: str, act: str, subject: str) -> str | None:
        """Return the subject's version; None if it does not exist. Raises `Unavailable`.

        Read the version before the content that is shown with it, so that a change in between is detected.
        """
        if not _SUBJECT.fullmatch(subject):
            return None
        answer = await self._read(user_id, act, subject)
        if answer and answer.status == 200 and (found := answer.parsed(VERSION)):
            return found.version
        refusal = answer.parsed(REFUSAL) if answer else None
        if answer and refusal and (answer.status, refusal.error.code) == (404, "not_found"):
            return None
        raise Unavailable("Your profile cannot be reached right now.", retry_after=answer and answer.retry_after)

    async def outcome_of(self, user_id: str, act: str, key: str) -> Outcome:
        """Query the outcome of a write. Never `Changed`, because a rejected write leaves no trace under its key."""
        answer = await self._read(user_id, act, f"operations/{quote(key, safe='')}")
        if not answer:
            return Unknown()
        if answer.status == 200:
            return outcome_of_operation(answer, key)
        refusal = answer.parsed(REFUSAL)
        never_arrived = refusal and (answer.status, refusal.error.code) == (404, "unknown_operation")
        return NeverArrived() if never_arrived else Unknown()

    async def delivers(self, source: str) -> bool | None:
        """Return whether applications for jobs from this source are delivered; None if that is currently unknown.
        Requires no secret."""
        if self._sources is None or self._sources[0] < self.clock() - SOURCES_KEPT_SECONDS:
            try:
                url = urljoin(f"{self.base_url.rstrip('/')}/", "sources")
                answer = await self._send(httpx2.Request("GET", url, headers=PLAIN_HEADERS), READ_ATTEMPT_SECONDS)
            except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, Unreadable):
                return None
            if answer.status != 200 or not (found := answer.parsed(SOURCES)):
                return None
            self._sources = self.clock(), found.sources
        return self._sources[1].get(source, {}).get("delivers", False)

    async def publish_card(self, effect: Effect, card_id: str, content: CardText) -> Outcome:
        """Publish a card under an id that we chose. Replaces a published card if the effect names its version."""
        return await self._write(
            effect, "PUT", card_subject(card_id), content.model_dump(mode="json", exclude_none=True)
        )

    async def activate_card(self, effect: Effect, card_id: str, *, active: bool) -> Outcome:
        """Show this card first or, if not `active`, show none first."""
        return await self._write(
            effect, "POST" if active else "DELETE", card_subject(card_id), path=f"{card_subject(card_id)}/activation"
        )

    async def delete_card(self, effect: Effect, card_id: str) -> Outcome:
        return await self._write(effect, "DELETE", card_subject(card_id))

    async def set_profile_fields(self, effect: Effect, values: Mapping[WrittenField, Any]) -> Outcome:
        """Set these fields of the profile, positions and preferences, all or none. None removes a value."""
        return await self._write(effect, "PATCH", PROFILE, {**values})

    async def set_preference(self, effect: Effect, name: Preference, value: Any) -> Outcome:
        """Set a preference; None removes the value."""
        return await self._write(effect, "PATCH", PREFERENCES, {name: value})

    async def ingest_linkedin(self, effect: Effect, url: str, *, refresh: bool) -> Outcome:
        """Start an import from LinkedIn. Often returns `Pending`, because an import takes long."""
        return await self._write(
            effect, "POST", LINKEDIN_PROFILE, {"url": url, "refresh": refresh}, path=INGESTION_PATH
        )

    async def suggest_linkedin(self, effect: Effect, draft_id: str, text: str) -> Outcome:
        """Store a text for the About section that the user may copy. Nothing is sent to LinkedIn."""
        return await self._write(effect, "PUT", suggestion_subject(draft_id), {"section": "about", "text": text})

    async def send_application(self, effect: Effect, job_id: str, content: dict[str, Any]) -> Outcome:
        """Send the application to the advertiser. With a version, it replaces an application that was sent before."""
        return await self._write(effect, "PUT", application_subject(job_id), content)

    async def keep_document(self, effect: Effect, document_id: str, title: str, text: str) -> Outcome:
        """Store the text of an uploaded résumé."""
        body = {"title": title, "kind": "resume", "text": text}
        return await self._write(effect, "PUT", f"documents/{document_id}", body)

    async def _write(
        self, effect: Effect, method: str, subject: str, body: dict[str, Any] | None = None, *, path: str | None = None
    ) -> Outcome:
        if not _SUBJECT.fullmatch(subject):
            return Refused("not_found", "There is no such thing.")
        try:
            content = b"" if body is None else json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        except ValueError:  # half of a surrogate pair, or NaN
            return Refused("invalid", "This cannot be written down.")
        headers = {
            "Idempotency-Key": effect.key,
            **({"If-None-Match": "*"} if effect.version is None else {"If-Match": f'"{effect.version}"'}),
            **({"Content-Type": "application/json"} if content else {}),
        }

        def request() -> httpx2.Request:
            return self._request(effect.user_id, effect.act, method, path or subject, headers, content, effect.begun_at)

        try:
            answer = await self._ask(request, TIMEOUT_SECONDS)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            return NeverArrived()
        except (httpx2.TransportError, TimeoutError, Unreadable):
            return Unknown()
        return outcome_of_write(answer, effect.key)

    async def _read(self, user_id: str, act: str, path: str) -> Answer | None:
        """Send a read request; None if both attempts failed."""
        for _ in range(READ_ATTEMPTS):
            try:
                answer = await self._ask(lambda: self._request(user_id, act, "GET", path), READ_ATTEMPT_SECONDS)
            except (httpx2.TransportError, TimeoutError, Unreadable):
                continue
            if answer.status < 500:
                return answer
        return None

    async def _ask(self, request: Callable[[], httpx2.Request], seconds: float) -> Answer:
        """Send the request. Send it once more if our signature was rejected and the secret has changed; a rejected
        write had no effect."""
        used = self.secret
        answer = await self._send(request(), seconds)
        if answer.status != UNAUTHORIZED or not self.renewed_secret:
            return answer
        self.secret = await self.renewed_secret()
        return answer if self.secret == used else await self._send(request(), seconds)

    def _request(
        self,
        user_id: str,
        act: str,
        method: str,
        path: str,
        headers: dict[str, str] | None = None,
        content: bytes = b"",
        begun_at: float | None = None,
    ) -> httpx2.Request:
        if not (self.secret and self.base_url):
            raise InvalidSettings("Nothing is asked of the candidate app without its secret and address.")
        # Do not let the client build the request: it would send one user's cookies with the next user's request.
        return httpx2.Request(
            method,
            urljoin(f"{self.base_url.rstrip('/')}/", path),
            headers={
                "Authorization": f"Bearer {self._token(user_id, act, begun_at)}",
                **PLAIN_HEADERS,
                **(headers or {}),
            },
            content=content,
            extensions={"timeout": httpx2.Timeout(TIMEOUT_SECONDS, connect=CONNECT_SECONDS).as_dict()},
        )

    def _token(self, user_id: str, act: str, begun_at: float | None) -> str:
        now = int(self.clock() if begun_at is None else begun_at)
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": user_id,
            # An object, as registered by RFC 8693.
            "act": {"sub": act},
            "iat": now,
            "exp": now + LIFE_SECONDS,
            "jti": self.new_id(),
        }
        return jwt.encode(claims, self.secret, algorithm="HS256")

    async def _send(self, request: httpx2.Request, seconds: float) -> Answer:
        async with asyncio.timeout(seconds):
            response = await self.http.send(request, stream=True, follow_redirects=False)
            try:
                return Answer(response.status_code, await body_of(response), retry_after_of(response))
            finally:
                await response.aclose()
