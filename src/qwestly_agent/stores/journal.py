"""`agent_memory_journal`: what each consolidation merged, so that it can be finished, told and undone.

Ids and numbers, and no words: forgetting has nothing to do here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import DuplicateKeyError

from qwestly_agent.clock import to_datetime
from qwestly_agent.errors import NotFound
from qwestly_agent.stores.search import Document

COLLECTION = "agent_memory_journal"
RETENTION = timedelta(days=365)

RunStatus: TypeAlias = Literal["planned", "applied", "undone"]


class Change(BaseModel):
    """What a merge did to the memory that stayed. Of two numbers the first is what it had, the second what was brought:
    the greater one holds."""

    model_config = ConfigDict(frozen=True)

    count: int
    """Added."""
    seen: tuple[str, ...]
    """Ids of messages, added before its own."""
    last_seen: tuple[float, float]
    importance: tuple[float, float]
    salience: float
    """That it had."""


class Merged(BaseModel):
    """What goes, and what says it from now on."""

    model_config = ConfigDict(frozen=True)

    survivor: str
    members: tuple[str, ...]


class Run(BaseModel):
    """Of one user. Moments are seconds since the epoch."""

    model_config = ConfigDict(frozen=True)

    user_id: str
    run_id: str
    status: RunStatus = "planned"
    created: float
    merges: tuple[Merged, ...]
    changes: Mapping[int, Change] = {}
    """By the places of their merges: none before it was applied, and where by then there was nothing to merge."""
    left: int = 0
    """Merges that the cap left over."""
    looked_at: tuple[str, ...] = ()
    """To be marked as such at the end; then they are dropped from here."""

    @property
    def members(self) -> int:
        return sum(len(merge.members) for merge in self.merges)

    @property
    def apart(self) -> frozenset[frozenset[str]]:
        """Once it was undone: the pairs of it, and those among what would have gone into one memory."""
        groups = [(merge.survivor, *merge.members) for merge in self.merges]
        return frozenset(frozenset(pair) for group in groups for pair in combinations(group, 2))

    def change_of(self, survivor_id: str) -> Change | None:
        places = (place for place, merged in enumerate(self.merges) if merged.survivor == survivor_id)
        return next((self.changes[place] for place in places if place in self.changes), None)


@dataclass(frozen=True)
class Journal:
    database: AsyncDatabase[Document]

    async def add(self, run: Run) -> bool:
        """False where it is there already."""
        expires_at = to_datetime(run.created) + RETENTION
        document = {**run.model_dump(mode="json"), "_id": _id(run.user_id, run.run_id), "expires_at": expires_at}
        try:
            await self.database[COLLECTION].insert_one(document)
        except DuplicateKeyError:
            return False
        return True

    async def get(self, user_id: str, run_id: str) -> Run:
        """Raises `NotFound`."""
        found = await self.database[COLLECTION].find_one(_query(user_id, run_id))
        if found is None:
            raise NotFound("There is no such run.")
        return Run.model_validate(found)

    async def all(self, user_id: str) -> list[Run]:
        """Oldest first."""
        found = self.database[COLLECTION].find({"user_id": user_id}).sort([("created", 1), ("_id", 1)])
        return [Run.model_validate(each) async for each in found]

    async def keep_change(self, user_id: str, run_id: str, place: int, change: Change) -> None:
        """What is about to be done to the survivor of the merge in this place."""
        changes = {f"changes.{place}": change.model_dump(mode="json")}
        await self.database[COLLECTION].update_one(_query(user_id, run_id), {"$set": changes})

    async def end(self, user_id: str, run_id: str, status: RunStatus) -> None:
        """What was undone is kept for good: these are never merged again."""
        gone = {"looked_at": "", **({"expires_at": ""} if status == "undone" else {})}
        change = {"$set": {"status": status}, "$unset": gone}
        await self.database[COLLECTION].update_one(_query(user_id, run_id), change)


def unfinished(runs: Sequence[Run]) -> Run | None:
    """One that was planned, and whose end was never reached."""
    return next((run for run in runs if run.status == "planned"), None)


def _id(user_id: str, run_id: str) -> str:
    # In this order: the laptop's database does not find an id that begins with a date.
    return f"{user_id}:{run_id}"


def _query(user_id: str, run_id: str) -> Document:
    return {"_id": _id(user_id, run_id), "user_id": user_id}
