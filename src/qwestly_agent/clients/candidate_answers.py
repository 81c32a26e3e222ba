"""Parse the candidate app's responses, which are untrusted input, into the outcome of a write."""

import re
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias, TypeVar

import httpx2
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

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
    """A definite refusal: nothing was done, and a repeated request is refused again, unless `retry_after` is set."""

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
    """Nothing was done so far. The request may be sent again with the same key, in case the first one is only
    delayed."""


@dataclass(frozen=True)
class Unknown:
    """The outcome is not known yet; query it with `outcome_of`."""


Outcome: TypeAlias = Done | Changed | Refused | Pending | NeverArrived | Unknown


class Unreadable(Exception):
    """The response is larger than any valid one."""


async def body_of(response: httpx2.Response) -> bytes:
    body = bytearray()
    # Raw bytes: a response that is compressed although we refuse that must not be unpacked to an arbitrary size.
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


_Operation: TypeAlias = Annotated[_PendingOperation | _DoneOperation | _FailedOperation, Field(discriminator="status")]
VERSION = TypeAdapter(_SubjectVersion)
REFUSAL = TypeAdapter(_Refusal)
_OPERATION: TypeAdapter[_Operation] = TypeAdapter(_Operation, config=_LATER)

_REFUSALS = (401, 403, 404, 409, 422, 428, 429)
"""The statuses of the contract. Another status below 500 may come from a proxy, and says nothing about the effect."""


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    retry_after: int | None

    def parsed(self, shape: TypeAdapter[_Shape]) -> _Shape | None:
        """Parse the body; None if it has another shape."""
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
