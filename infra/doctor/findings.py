"""What a check finds, and how it is looked: no check hides another, and nothing secret is in what it says."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from botocore.exceptions import ClientError
from pymongo.errors import OperationFailure

from qwestly_agent.base.errors import InvalidSettings

Mark: TypeAlias = Literal["right", "note", "WRONG"]
PATIENCE_SECONDS = 30.0
"""With one check: a server that is gone takes a client's own time-outs first."""


@dataclass(frozen=True)
class Finding:
    mark: Mark
    about: str
    what: str


Findings: TypeAlias = AsyncIterator[Finding]
Check: TypeAlias = Callable[[Any], Findings]


def right(about: str, what: str) -> Finding:
    return Finding("right", about, what)


def note(about: str, what: str) -> Finding:
    """Not wrong, but worth knowing; or what could not be seen from here."""
    return Finding("note", about, what)


def wrong(about: str, what: str) -> Finding:
    return Finding("WRONG", about, what)


async def look(about: str, found: Findings, whose: str = "") -> list[Finding]:
    """All that the check finds; where it breaks off, what it found until then, and that it did."""
    findings: list[Finding] = []
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for finding in found:
                findings.append(finding)  # noqa: PERF401 - what was found before a failure counts
    except Exception as error:
        findings.append(wrong(about, f"{whose and whose + ': '}could not be looked at: {kind_of(error)}"))
    return findings


async def each_of(about: str, names: Iterable[str], one: Callable[[str], Findings]) -> Findings:
    """All at once; one that cannot be looked at hides no other."""
    for findings in await asyncio.gather(*(look(about, one(name), name) for name in names)):
        for finding in findings:
            yield finding


def kind_of(error: BaseException) -> str:
    """Never the message of somebody else: it may quote an address with its password."""
    match error:
        case ClientError():
            return f"{error.operation_name} answers {error.response['Error']['Code']}"
        case InvalidSettings():
            return str(error)
        case OperationFailure():
            return f"{type(error).__name__} {error.code}"
        case TimeoutError():
            return "no answer in time"
        case _:
            return type(error).__name__


async def call(client: Any, operation: str, **given: Any) -> Any:
    """What boto3 answers, without holding up the other checks."""
    return await asyncio.to_thread(getattr(client, operation), **given)


def table(findings: Sequence[Finding]) -> str:
    width = max((len(each.about) for each in findings), default=0)
    return "\n".join(f"{each.mark:5}  {each.about:{width}}  {each.what}" for each in findings)
