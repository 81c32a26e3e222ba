"""The base class of the stores."""

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from pymongo.asynchronous.database import AsyncDatabase

Document: TypeAlias = dict[str, Any]
"""A document of MongoDB."""


@dataclass(frozen=True)
class Store:
    """Access to collections of one database, in the domain's terms.

    A store without further fields is not a dataclass itself: creating forty dataclasses took 5 % of a cold start.
    """

    database: AsyncDatabase[Document]

    @classmethod
    def of(cls, database: AsyncDatabase[Document]) -> Self:
        return cls(database)
