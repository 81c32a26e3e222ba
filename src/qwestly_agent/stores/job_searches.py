"""`agent_job_searches`: each user's wishes, the time from which thumbs count, and the state of the running search."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pydantic import ValidationError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.job import JobMatch, JobWishes
from qwestly_agent.platform.collection import Document, MongoCollection, Permanent, Store, index
from qwestly_agent.platform.outbox import copy_after_write, with_events
from qwestly_agent.platform.records import compare_and_set

COLLECTION = MongoCollection(
    "agent_job_searches",
    Permanent("One document per user: job wishes, and weights learned from thumbs."),
    index("next_at", "next_at"),
    holds="job wishes, and weights learned from thumbs",
    events=("jobs.found", "jobs.failed", "jobs.stopped"),
    reader="find update",
)
SEARCHING_SECONDS = 3_600.0
"""A search without progress for this long has died. Longer than a state may wait for a slot and retry."""
KEYS_KEPT = 20

SearchStatus: TypeAlias = Literal["searching", "ready", "failed", "stopped"]


@dataclass(frozen=True)
class JobSearch:
    user_id: str
    is_on: bool = False
    wishes: JobWishes = field(default_factory=JobWishes)
    thumbs_since: float = 0.0
    """Thumbs given before this time are ignored."""
    next_at: float | None = None
    """When the next nightly search is due; None if it is off."""
    run_id: str = ""
    status: SearchStatus = "ready"
    moved_at: float = 0.0
    """When the running search began or last made progress."""
    searched_at: float | None = None
    searched_for: JobWishes | None = None
    """The wishes as they were when the search began."""
    missing: tuple[str, ...] = ()
    """Boards that could not be searched, each as a sentence."""
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    """Weights learned from thumbs given before the search began: added to a job's fit, by feature."""
    found: tuple[str, ...] = ()
    """Ids of the adverts that the running search found."""
    best: tuple[tuple[str, float], ...] = ()
    """Adverts that a model compares with the user, each with its fit by words, meaning and thumbs, best first."""
    compared: Mapping[int, Sequence[Any] | None] = field(default_factory=dict[int, Sequence[Any] | None])
    """A model's answers by batch number; None if a request was made and not answered."""
    requests: int = 0
    """Number of model requests of the running search."""
    ranked: tuple[JobMatch, ...] = ()
    """Result of the running search."""
    forgettings: int = 0
    """How often something was forgotten since the running search began."""

    def missing_with(self, *sentences: str) -> list[str]:
        """Return `missing` and these sentences, without duplicates."""
        return list(dict.fromkeys((*self.missing, *sentences)))

    def is_searching(self, now: float) -> bool:
        return self.status == "searching" and now - self.moved_at < SEARCHING_SECONDS


class JobSearches(Store):
    async def get(self, user_id: str) -> JobSearch:
        """Get the user's job search. An unreadable document counts as off, without wishes."""
        found = await self.database[COLLECTION].find_one({"_id": user_id, "user_id": user_id}) or {}
        try:
            return _search(user_id, found)
        except (ValidationError, ValueError):
            return JobSearch(user_id)

    async def set_wishes(self, user_id: str, *, is_on: bool, wishes: JobWishes, next_at: float | None) -> None:
        await self._set(user_id, is_on=is_on, wishes=wishes.model_dump_json(), next_at=next_at)

    async def change_wishes_once(self, user_id: str, key: str, changed: Callable[[JobWishes], JobWishes]) -> None:
        """Change the wishes, once for this key. Raises `Unavailable`."""
        await self._set(user_id)
        here = {"_id": user_id, "user_id": user_id}

        async def read() -> Document:
            return await self.database[COLLECTION].find_one(here) or {}

        def change(found: Document) -> Document | None:
            if key in found.get("wishes_changed_by", ()):
                return None
            return {"wishes": changed(_search(user_id, found).wishes).model_dump_json()}

        async def write(before: Document, after: Document) -> Document | None:
            push = {"wishes_changed_by": {"$each": [key], "$slice": -KEYS_KEPT}}
            as_read = {**here, "wishes": before.get("wishes")}
            written = await self.database[COLLECTION].update_one(as_read, {"$set": after, "$push": push})
            return after if written.matched_count else None

        await compare_and_set(read, change, write)

    async def schedule(self, user_id: str, next_at: float | None) -> None:
        await self._set(user_id, next_at=next_at)

    async def forget_thumbs(self, user_id: str, now: float) -> None:
        await self._set(user_id, thumbs_since=now)

    async def begin(self, user_id: str, run_id: str, now: float) -> bool:
        """Begin a search. Returns False if it has begun before, or if another one is running."""
        before = await self.get(user_id)
        if before.run_id == run_id or before.is_searching(now):
            return False
        fresh = {"run_id": run_id, "status": "searching", "moved_at": now, "forgettings": 0, "requests": 0, **_NOTHING}
        fresh["searched_for"] = before.wishes.model_dump_json()
        await self._set(user_id)
        as_before = before.run_id or {"$in": [None, ""]}
        here: Document = {"_id": user_id, "user_id": user_id, "run_id": as_before}
        return bool((await self.database[COLLECTION].update_one(here, {"$set": fresh})).matched_count)

    async def undo_begin(self, user_id: str, run_id: str) -> None:
        """Undo `begin` for a search that could not be started."""
        await self.database[COLLECTION].update_one(_here(user_id, run_id), {"$set": {"run_id": "", "status": "ready"}})

    async def save_parts(self, user_id: str, run_id: str, now: float, **parts: Any) -> None:
        """Set these fields of the running search. Does nothing if another one has begun since."""
        kept = {"moved_at": now, **{name: _kept(value) for name, value in parts.items()}}
        await self.database[COLLECTION].update_one(_here(user_id, run_id), {"$set": kept})

    async def count_requests(self, search: JobSearch, number: int) -> None:
        """Count requests before they are made, so that a state that runs again may only use the rest."""
        here = _here(search.user_id, search.run_id)
        await self.database[COLLECTION].update_one(here, {"$inc": {"requests": number}})

    async def mark_batches_requested(self, search: JobSearch, batches: Sequence[int], now: float) -> None:
        """Mark these batches as requested before the request, so that none is paid twice after a crash."""
        asked = {f"compared.{number}": "null" for number in batches}
        await self._keep_of_person(search, {"moved_at": now, **asked})

    async def save_answer(self, search: JobSearch, batch: int, answer: Sequence[Any]) -> None:
        """Store a model's answer, unless something was forgotten since `search` was read."""
        await self._keep_of_person(search, {f"compared.{batch}": json.dumps(answer)})

    async def save_ranked(self, search: JobSearch, ranked: Sequence[JobMatch], now: float) -> None:
        """Store the result of the search, unless something was forgotten since `search` was read."""
        await self._keep_of_person(search, {"moved_at": now, "ranked": _kept(ranked)})

    async def end(
        self, user_id: str, run_id: str, status: SearchStatus, event: ActivityEvent | None, now: float
    ) -> None:
        """End the search once, with an event if there is something to report."""
        await self._end({**_here(user_id, run_id), "status": "searching"}, status, event, now)

    async def end_unless_forgotten(self, search: JobSearch, event: ActivityEvent | None, now: float) -> bool:
        """End the search successfully, with an event if there is something to report. Returns False if something was
        forgotten since `search` was read."""
        return await self._end({**_as_read(search), "status": "searching"}, "ready", event, now)

    async def _end(self, query: Document, status: SearchStatus, event: ActivityEvent | None, now: float) -> bool:
        change: Document = {"$set": {"status": status, "searched_at": now, **_NOTHING}}
        written = await self.database[COLLECTION].update_one(query, with_events(change, event) if event else change)
        await copy_after_write(self.database, COLLECTION, query["user_id"], query["_id"])
        return bool(written.matched_count)

    async def forget(self, user_id: str) -> None:
        """Remove models' texts about the user from the running search. Answers based on an earlier reading will not be
        stored."""
        change: Document = {"$set": {"ranked": "[]", "compared": {}}, "$inc": {"forgettings": 1}}
        await self.database[COLLECTION].update_one({"_id": user_id, "user_id": user_id}, change)

    async def count_board_request(self, user_id: str, now: float, most: int) -> bool:
        """Count a request to a board. Returns False if today's limit (UTC) is reached."""
        day, here = f"{to_datetime(now):%Y-%m-%d}", {"_id": user_id, "user_id": user_id}
        searches = self.database[COLLECTION]
        await self._set(user_id)
        earlier = [{"asked_on": None}, {"asked_on": {"$lt": day}}]
        await searches.update_one({**here, "$or": earlier}, {"$set": {"asked_on": day, "asked": 0}})
        below = {**here, "asked_on": day, "asked": {"$lt": most}}
        return bool((await searches.update_one(below, {"$inc": {"asked": 1}})).matched_count)

    async def _keep_of_person(self, search: JobSearch, fields: Document) -> None:
        await self.database[COLLECTION].update_one(_as_read(search), {"$set": fields})

    async def _set(self, user_id: str, **fields: Any) -> None:
        change = {"$set": fields} if fields else {"$setOnInsert": {"is_on": False}}
        await self.database[COLLECTION].update_one({"_id": user_id, "user_id": user_id}, change, upsert=True)


_NOTHING: Document = {"found": "[]", "best": "[]", "compared": {}, "ranked": "[]"}
"""Field values of a search that begins or has ended."""


def _here(user_id: str, run_id: str) -> Document:
    return {"_id": user_id, "user_id": user_id, "run_id": run_id}


def _as_read(search: JobSearch) -> Document:
    """Filter for the running search, if nothing was forgotten since it was read."""
    return {**_here(search.user_id, search.run_id), "forgettings": search.forgettings}


def _kept(value: Any) -> Any:
    """Return nested data as text, so that MongoDB does not interpret its keys."""
    if isinstance(value, Mapping):
        return json.dumps(value)
    if not isinstance(value, Sequence) or isinstance(value, str):
        return value
    return json.dumps([each.model_dump(mode="json") if isinstance(each, JobMatch) else each for each in value])


def _search(user_id: str, document: Document) -> JobSearch:
    return JobSearch(
        user_id=user_id,
        is_on=document.get("is_on") is True,
        wishes=JobWishes.model_validate_json(document.get("wishes") or "{}"),
        thumbs_since=document.get("thumbs_since") or 0.0,
        next_at=document.get("next_at"),
        run_id=document.get("run_id") or "",
        status=document.get("status") or "ready",
        moved_at=document.get("moved_at") or 0.0,
        searched_at=document.get("searched_at"),
        searched_for=JobWishes.model_validate_json(wishes) if (wishes := document.get("searched_for")) else None,
        missing=tuple(json.loads(document.get("missing") or "[]")),
        weights=json.loads(document.get("weights") or "{}"),
        found=tuple(json.loads(document.get("found") or "[]")),
        best=tuple((advert_id, fit) for advert_id, fit in json.loads(document.get("best") or "[]")),
        compared={int(number): json.loads(text) for number, text in (document.get("compared") or {}).items()},
        ranked=tuple(map(JobMatch.model_validate, json.loads(document.get("ranked") or "[]"))),
        requests=document.get("requests") or 0,
        forgettings=document.get("forgettings") or 0,
    )
