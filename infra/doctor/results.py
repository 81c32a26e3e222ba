"""Run checks and collect their results: no check hides another, and no result contains a secret."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from botocore.exceptions import ClientError
from pymongo.errors import OperationFailure

from qwestly_agent.base.errors import InvalidSettings

Mark: TypeAlias = Literal["right", "note", "WRONG"]
PATIENCE_SECONDS = 30.0
"""Time limit of one check; longer than the clients' own timeouts."""


@dataclass(frozen=True)
class Result:
    mark: Mark
    about: str
    what: str


Results: TypeAlias = AsyncIterator[Result]
Check: TypeAlias = Callable[[Any], Results]


def right(about: str, what: str) -> Result:
    return Result("right", about, what)


def note(about: str, what: str) -> Result:
    """Return a note: not an error, but worth knowing or not visible from here."""
    return Result("note", about, what)


def wrong(about: str, what: str) -> Result:
    return Result("WRONG", about, what)


async def run_check(about: str, found: Results, whose: str = "") -> list[Result]:
    """Return all results of a check. If it fails, return the results so far and the failure."""
    results: list[Result] = []
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for result in found:
                results.append(result)  # noqa: PERF401 - what was found before a failure counts
    except Exception as error:
        results.append(wrong(about, f"{whose and whose + ': '}could not be looked at: {kind_of(error)}"))
    return results


async def run_check_for_each(about: str, names: Iterable[str], one: Callable[[str], Results]) -> Results:
    """Run the checks in parallel; a failure does not hide others."""
    for results in await asyncio.gather(*(run_check(about, one(name), name) for name in names)):
        for result in results:
            yield result


def kind_of(error: BaseException) -> str:
    """Describe an error without a library's message, which may contain a URL with its password."""
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
    """Call boto3 in a thread, so that other checks continue."""
    return await asyncio.to_thread(getattr(client, operation), **given)


def table(results: Sequence[Result]) -> str:
    width = max((len(each.about) for each in results), default=0)
    return "\n".join(f"{each.mark:5}  {each.about:{width}}  {each.what}" for each in results)
