"""A process that dies at one of its writes, so that a test can ask what the next delivery makes of what is left.

Writes alone are counted: whoever dies at a read dies between two writes, and leaves what the one before it left.
"""

import dataclasses
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.platform.collection import Document
from qwestly_agent.services import Services

H = TypeVar("H", bound=Services)
T = TypeVar("T")

WRITES = frozenset(
    {
        "insert_one",
        "insert_many",
        "update_one",
        "update_many",
        "replace_one",
        "delete_one",
        "delete_many",
        "bulk_write",
        "find_one_and_update",
        "find_one_and_replace",
        "find_one_and_delete",
    }
)


class Killed(BaseException):
    """The process is gone: what catches an `Exception` does not hear of it."""


@dataclass
class Death:
    at: int = 0
    """The number of the fatal write, from 1; 0 for none."""
    after: bool = False
    """True if that write takes effect."""
    writes: int = 0
    """Number of writes so far."""
    came: bool = False

    async def write(self, work: Callable[[], Awaitable[T]]) -> T:
        if self.came:
            raise Killed  # nor does anything go on that ran beside it
        self.writes += 1
        if self.writes != self.at:
            return await work()
        self.came = True
        if self.after:
            await work()
        raise Killed


def deaths(writes: int) -> Iterator[Death]:
    """Every one that a piece of work with so many writes can die."""
    for at in range(1, writes + 1):
        yield Death(at)
        yield Death(at, after=True)


def mortal(services: H, death: Death) -> H:
    """The same services, whose stores die so."""
    stores: dict[str, Any] = {}
    for field in dataclasses.fields(services):
        store = getattr(services, field.name)
        # The driver's client has a database of any name.
        if dataclasses.is_dataclass(store) and isinstance(database := getattr(store, "database", None), AsyncDatabase):
            kind: Any = type(store)
            stores[field.name] = getattr(kind, "of", kind)(_Database(database, death))
    return dataclasses.replace(services, **stores)


@dataclass(frozen=True)
class _Database:
    database: AsyncDatabase[Document]
    death: Death

    def __getitem__(self, name: str) -> Any:
        return _Collection(self.database[name], self.death)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)


@dataclass(frozen=True)
class _Collection:
    collection: Any
    death: Death

    def __getattr__(self, name: str) -> Any:
        own = getattr(self.collection, name)
        if name not in WRITES:
            return own

        async def write(*args: Any, **more: Any) -> Any:
            return await self.death.write(lambda: own(*args, **more))

        return write
