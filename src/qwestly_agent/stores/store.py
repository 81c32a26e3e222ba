"""The base of the stores."""

from dataclasses import dataclass

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.stores.search import Document


@dataclass(frozen=True)
class Store:
    """Collections of one database, in the words of the domain.

    A store with no other field is no dataclass itself: making forty of them took 5 % of a cold start.
    """

    database: AsyncDatabase[Document]
