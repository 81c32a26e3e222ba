"""`agent_memory_journal`: what each consolidation replaced, so that it can be resumed, reported and undone.

It holds ids and numbers but no user text, so forgetting does not have to change it.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import combinations
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.platform.collection import ALL_ACTIONS, Expires, MongoCollection, index
from qwestly_agent.platform.outbox import with_events
from qwestly_agent.platform.records import Records

RETENTION = timedelta(days=365)
COLLECTION = MongoCollection(
    "agent_memory_journal",
    # An undone run has no expiry date, so that it is not done again.
    Expires(RETENTION, since="after it ran; what was undone stays until the user erases it"),
    index("user_created", "user_id", "created"),
    holds="which memories a night merged, by id",
    events=("memory.merged", "memory.merge_undone"),
    events_note="`merged`: one per night",
    reader=ALL_ACTIONS,
)

RunStatus: TypeAlias = Literal["planned", "applied", "undone"]


class ReplacedMemory(BaseModel):
    """A replaced memory, and the active one that replaces it."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    gone: str
    by: str
    status: Literal["merged", "superseded"]
    """New status of the replaced memory."""


class ConsolidationRun(BaseModel):
    """One consolidation of a user's memories. Times are in seconds since the epoch."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    user_id: str
    run_id: str
    status: RunStatus = "planned"
    created: float
    replacements: tuple[ReplacedMemory, ...] = ()
    left: int = 0
    """Number of replacements above the cap, left for the next run."""
    compared: tuple[str, ...] = ()
    """Memories to mark as compared at the end of the run; empty afterwards."""
    outdated: tuple[str, ...] = ()
    """Memories that may no longer be true."""

    @property
    def id(self) -> str:
        return _id(self.user_id, self.run_id)

    @property
    def pairs_kept_apart(self) -> frozenset[frozenset[str]]:
        """Pairs that are never merged again once the run was undone, including memories merged into the same one."""
        groups: dict[str, list[str]] = {}
        for each in self.replacements:
            if each.status == "merged":
                groups.setdefault(each.by, [each.by]).append(each.gone)
        together = [frozenset(pair) for group in groups.values() for pair in combinations(group, 2)]
        return frozenset([*together, *(frozenset((each.gone, each.by)) for each in self.replacements)])


class Journal(Records[ConsolidationRun]):
    collection, model, missing = COLLECTION, ConsolidationRun, "There is no such run."
    order, kept_since = ("created", "_id"), "created"

    async def get(self, user_id: str, run_id: str, /) -> ConsolidationRun:
        return await super().get(user_id, _id(user_id, run_id))

    async def list_all(self, user_id: str) -> list[ConsolidationRun]:
        """List all runs, oldest first."""
        return (await self.newest(user_id, 0))[::-1]

    async def end(self, run: ConsolidationRun, status: RunStatus, now: float) -> None:
        """Set the final status. An undone run never expires, so that its pairs are never merged again."""
        gone = {"compared": "", **({"expires_at": ""} if status == "undone" else {})}
        change = {"$set": {"status": status}, "$unset": gone}
        events = [_event(run, status, now)] if run.replacements else []
        query = {"_id": run.id, "user_id": run.user_id, "status": {"$ne": status}}
        await self.database[COLLECTION].update_one(query, with_events(change, *events))
        await self._copy(run.user_id, run.id, events)


_EVENTS: Mapping[RunStatus, tuple[str, str]] = {
    "applied": ("memory.merged", "Put together what says the same, or holds no more"),
    "undone": ("memory.merge_undone", "Took apart again what was put together"),
}


def _event(run: ConsolidationRun, status: RunStatus, now: float) -> ActivityEvent:
    type_, title = _EVENTS[status]
    return ActivityEvent(
        id=f"{run.id}:{status}",
        user_id=run.user_id,
        at=now,
        type=type_,
        role="memory",
        title=title,
        run_id=run.run_id,
        data={"replaced": len(run.replacements)},
    )


def find_unfinished(runs: Sequence[ConsolidationRun]) -> ConsolidationRun | None:
    """Return the run that was planned but has not ended, if any."""
    return next((run for run in runs if run.status == "planned"), None)


def _id(user_id: str, run_id: str) -> str:
    # The user id comes first: the laptop's database does not find an `_id` that begins with a date.
    return f"{user_id}:{run_id}"
