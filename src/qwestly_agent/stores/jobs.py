"""Stores of job search: adverts, matches, searches and applications."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, TypeAlias, get_args

from pydantic import ValidationError
from pymongo import ReturnDocument, UpdateOne
from pymongo.errors import BulkWriteError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import ChangedMeanwhile, NotFound
from qwestly_agent.domain.activity import ActivityEvent, Severity
from qwestly_agent.domain.job import (
    OVER,
    STATUS_TOLD,
    Advert,
    Application,
    JobMatch,
    JobWishes,
    Pay,
    Reason,
    StatusChange,
    Verdict,
)
from qwestly_agent.platform.collection import Document, Expires, MongoCollection, Permanent, Schedule, Store, index
from qwestly_agent.platform.outbox import copy_after_write, with_events
from qwestly_agent.platform.records import Records, compare_and_set

# --- adverts ----------------------------------------------------------------------------------------------------------
# `agent_adverts`: adverts from job boards, one document per job, shared by all users. `agent_advert_queries`: cached
# responses to queries, and request counts. Neither contains user data.


LONGEST_TEXT = 12_000
ADVERT_RETENTION = timedelta(days=30)
"""Counted from the last time a board listed the advert."""
CACHE_SECONDS = 3_600.0
LONGEST_CACHE_SECONDS = 86_400.0
"""Maximum age of a cached response used once a board's daily quota is exhausted."""
ADVERTS = MongoCollection(
    "agent_adverts",
    Expires(ADVERT_RETENTION, since="after a board listed it last"),
    no_user_reason="Postings of job boards, independent of who searched.",
    reader="find",
)
"""`_id` (board and its id), the advert, `seen_at`, `expires_at`."""
ANSWERS = MongoCollection(
    "agent_advert_queries",
    Expires(timedelta(seconds=LONGEST_CACHE_SECONDS)),
    no_user_reason="Boards' answers to a query, independent of who searched.",
    reader="find",
)
"""`_id` (hash of board and query), `adverts` (their ids, a JSON text), `at`, `expires_at`."""
MINUTE_SECONDS, DAY_SECONDS = 60, 86_400
_NEWEST = ("seen_at", "ends_at", "country", "areas", "way", "remote_within", "visa", "pay")


class Adverts(Store):
    async def save(self, adverts: Sequence[Advert]) -> None:
        """Add adverts. If an advert exists, its facts are updated, but its first title and text are kept."""
        if not adverts:
            return
        writes: list[UpdateOne] = []
        for each in adverts:
            document = _document(each)
            seen = {name: document[name] for name in _NEWEST}
            seen["expires_at"] = to_datetime(each.seen_at) + ADVERT_RETENTION
            first = {name: value for name, value in document.items() if name not in seen}
            writes.append(UpdateOne({"_id": each.id}, {"$set": seen, "$setOnInsert": first}, upsert=True))
        await self.database[ADVERTS].bulk_write(writes, ordered=False)

    async def get_many(self, ids: Collection[str]) -> dict[str, Advert]:
        found = self.database[ADVERTS].find({"_id": {"$in": list(ids)}})
        return {each["_id"]: _advert(each) async for each in found}

    async def find_existing(self, ids: Collection[str]) -> set[str]:
        """Return the subset of these ids that a board listed within `ADVERT_RETENTION`."""
        found = self.database[ADVERTS].find({"_id": {"$in": list(ids)}}, {"_id": 1})
        return {each["_id"] async for each in found}

    async def closed_of(self, adverts: Sequence[Advert], now: float) -> set[str]:
        """Return the ids of adverts that have ended, or that no board has listed within `ADVERT_RETENTION`."""
        ids = {each.id for each in adverts}
        return {each.id for each in adverts if each.has_ended(now)} | (ids - await self.find_existing(ids))

    async def cached_answer(self, query: str, now: float, within: float = CACHE_SECONDS) -> tuple[str, ...] | None:
        """Return the ids in a board's cached response to this query if it is at most `within` seconds old; otherwise
        None."""
        found = await self.database[ANSWERS].find_one({"_id": query, "at": {"$gt": now - within}})
        return tuple(json.loads(found["adverts"])) if found else None

    async def count_request(self, board: str, now: float, a_minute: int, a_day: int) -> float:
        """Count a request to a board, for all users together. Returns 0 or, if the quota is exhausted, the seconds
        until the next request is allowed; in that case the request is not counted."""
        counted: list[str] = []
        for seconds, most in ((DAY_SECONDS, a_day), (MINUTE_SECONDS, a_minute)):
            begins = now - now % seconds
            name, ends = f"questions {board} {seconds} {begins:.0f}", to_datetime(begins + seconds)
            change = {"$inc": {"questions": 1}, "$set": {"expires_at": ends}}
            after = await self.database[ANSWERS].find_one_and_update(
                {"_id": name}, change, upsert=True, return_document=ReturnDocument.AFTER
            )
            counted.append(name)
            if after and after["questions"] > most:
                await self.database[ANSWERS].update_many({"_id": {"$in": counted}}, {"$inc": {"questions": -1}})
                return begins + seconds - now
        return 0.0

    async def cache_answer(self, query: str, ids: Sequence[str], now: float) -> None:
        answer = {"at": now, "adverts": json.dumps(ids), "expires_at": to_datetime(now + LONGEST_CACHE_SECONDS)}
        await self.database[ANSWERS].update_one({"_id": query}, {"$set": answer}, upsert=True)


def _document(advert: Advert) -> Document:
    flat = advert.model_dump(mode="json", exclude={"id", "pay"})
    return {**flat, "pay": advert.pay.model_dump_json() if advert.pay else None}


def _advert(document: Document) -> Advert:
    pay = Pay.model_validate_json(document["pay"]) if document.get("pay") else None
    return Advert.model_validate({**document, "id": document["_id"], "pay": pay})


# --- job matches ------------------------------------------------------------------------------------------------------
# `agent_job_matches`: the jobs found for a user, each with reasons and the user's verdict.


MATCH_RETENTION = timedelta(days=180)
"""Counted from the last change."""
JOB_MATCHES = MongoCollection(
    "agent_job_matches",
    Expires(MATCH_RETENTION, since="after the last change"),
    index("user_found", "user_id", "-found_at", "-score"),
    holds="jobs shown to the user, with reasons",
)
MOST_JUDGED = 300
NO_SUCH_JOB = "There is no such job."


class JobMatches(Records[JobMatch]):
    collection, model, missing = JOB_MATCHES, JobMatch, NO_SUCH_JOB
    nested, derived = ("advert", "reasons_for", "reasons_against"), ("advert_id",)
    order, kept_since = ("found_at", "score"), "updated_at"

    async def add_all(self, matches: Sequence[JobMatch]) -> None:
        """Insert matches; existing ones are left unchanged."""
        if not matches:
            return
        try:
            await self.database[JOB_MATCHES].insert_many([*map(self.new_document, matches)], ordered=False)
        except BulkWriteError as error:
            if any(each.get("code") != _DUPLICATE for each in (error.details or {}).get("writeErrors", [])):
                raise

    async def delete_others_of_run(self, user_id: str, run_id: str, match_ids: Collection[str]) -> None:
        """Delete all matches of this run except these."""
        others = {"user_id": user_id, "run_id": run_id, "_id": {"$nin": list(match_ids)}}
        await self.database[JOB_MATCHES].delete_many(others)

    async def list_new(self, user_id: str, limit: int, since: float) -> list[JobMatch]:
        """List matches that were found since then and have no status yet, newest night first and best first within a
        night."""
        return await self.newest(user_id, limit, status="new", found_at={"$gt": since})

    async def list_shown_adverts(self, user_id: str) -> set[str]:
        """Return the ids of all adverts that this user was shown."""
        found = self.database[JOB_MATCHES].find({"user_id": user_id}, {"advert_id": 1})
        return {each["advert_id"] async for each in found}

    async def list_verdicts(self, user_id: str, since: float) -> list[tuple[Advert, Verdict]]:
        """List the user's verdicts since this time, at most `MOST_JUDGED`."""
        query = {"user_id": user_id, "judged_at": {"$gt": since}, "verdict": {"$in": list(get_args(Verdict))}}
        found = self.database[JOB_MATCHES].find(query, {"advert": 1, "verdict": 1}).sort("found_at", -1)
        told = [each async for each in found.limit(MOST_JUDGED)]
        return [(Advert.model_validate_json(each["advert"]), each["verdict"]) for each in told]

    async def set_verdict(self, user_id: str, match_id: str, verdict: Verdict | None, now: float) -> JobMatch:
        """Set or clear the user's verdict. Raises `NotFound`."""
        match = await self.get(user_id, match_id)
        if match.verdict == verdict:
            return match
        return await self.change(user_id, match_id, now, verdict=verdict, judged_at=now)

    async def change(self, user_id: str, match_id: str, now: float, **changes: Any) -> JobMatch:
        """Set these fields and return the changed match. Raises `NotFound`."""
        await self.save_parts(user_id, match_id, **changes, updated_at=now)
        return await self.get(user_id, match_id)

    async def forget(self, user_id: str, evidence: Collection[str], contains_forgotten: Callable[[str], bool]) -> None:
        """Remove reasons that are based on this evidence or that `contains_forgotten` matches."""
        for match in await self.newest(user_id, 0, evidence={"$ne": []}):
            said = [word for reason in (*match.reasons_for, *match.reasons_against) for word in _words_of(reason)]
            if set(match.evidence) & set(evidence) or any(map(contains_forgotten, said)):
                empty = {"reasons_for": (), "reasons_against": (), "evidence": ()}
                await self.write(match, match.model_copy(update=empty))


def _words_of(reason: Reason) -> list[str]:
    return [reason.text, *([reason.person_quote] if reason.person_quote else [])]


_DUPLICATE = 11000


# --- job searches -----------------------------------------------------------------------------------------------------
# `agent_job_searches`: each user's wishes, the time since which thumbs count, and the state of the running search.


JOB_SEARCHES = MongoCollection(
    "agent_job_searches",
    Permanent("One document per user: job wishes, and weights learned from thumbs."),
    index("next_at", "next_at"),
    holds="job wishes, and weights learned from thumbs",
    events=("jobs.found", "jobs.failed", "jobs.stopped"),
    reader="find update",
)
SEARCHING_SECONDS = 4_200.0
"""A search without progress for this long counts as dead. Longer than a state may take to wait for a slot and retry."""
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
    """The wishes at the time the search began."""
    missing: tuple[str, ...] = ()
    """Sentences about boards that could not be searched, jobs excluded by the wishes, and queries that were not
    made."""
    asked_before: tuple[str, ...] = ()
    """Labels of the last search's queries; the next search continues after them."""
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    """Weights learned from thumbs given before the search began, added to a job's fit, by feature."""
    found: tuple[str, ...] = ()
    """Ids of the adverts that the running search found."""
    best: tuple[tuple[str, float], ...] = ()
    """Adverts that a model compares with the user, each with its fit by words, meaning and thumbs, best first."""
    compared: Mapping[int, Sequence[Any] | None] = field(default_factory=dict[int, Sequence[Any] | None])
    """A model's answers by batch number; None if a request was made but not answered."""
    requests: int = 0
    """Number of model requests of the running search."""
    ranked: tuple[JobMatch, ...] = ()
    """Result of the running search."""
    forgettings: int = 0
    """How often something was forgotten since the running search began."""

    def missing_with(self, *sentences: str) -> list[str]:
        """Return `missing` with these sentences added, without duplicates."""
        return list(dict.fromkeys((*self.missing, *sentences)))

    def is_searching(self, now: float) -> bool:
        return self.status == "searching" and now - self.moved_at < SEARCHING_SECONDS


class JobSearches(Schedule):
    collection, due_field = JOB_SEARCHES, "next_at"

    async def get(self, user_id: str) -> JobSearch:
        """Get the user's job search. If the document is unreadable, search counts as off, without wishes."""
        found = await self.database[JOB_SEARCHES].find_one({"_id": user_id, "user_id": user_id}) or {}
        try:
            return _search(user_id, found)
        except (ValidationError, ValueError):
            return JobSearch(user_id)

    async def set_wishes(self, user_id: str, *, is_on: bool, wishes: JobWishes, next_at: float | None) -> None:
        await self._set(user_id, is_on=is_on, wishes=wishes.model_dump_json(), next_at=next_at)

    async def change_wishes_once(self, user_id: str, key: str, changed: Callable[[JobWishes], JobWishes]) -> None:
        """Change the wishes, but only once for this key. Raises `Unavailable`."""
        await self._set(user_id)
        here = {"_id": user_id, "user_id": user_id}

        async def read() -> Document:
            return await self.database[JOB_SEARCHES].find_one(here) or {}

        def change(found: Document) -> Document | None:
            if key in found.get("wishes_changed_by", ()):
                return None
            return {"wishes": changed(_search(user_id, found).wishes).model_dump_json()}

        async def write(before: Document, after: Document) -> Document | None:
            push = {"wishes_changed_by": {"$each": [key], "$slice": -KEYS_KEPT}}
            as_read = {**here, "wishes": before.get("wishes")}
            written = await self.database[JOB_SEARCHES].update_one(as_read, {"$set": after, "$push": push})
            return after if written.matched_count else None

        await compare_and_set(read, change, write)

    async def schedule(self, user_id: str, next_at: float | None) -> None:
        await self._set(user_id, next_at=next_at)

    async def forget_thumbs(self, user_id: str, now: float) -> None:
        await self._set(user_id, thumbs_since=now)

    async def begin(self, user_id: str, run_id: str, now: float) -> bool:
        """Begin a search. Returns False if it has already begun, or if another one is running."""
        before = await self.get(user_id)
        if before.run_id == run_id or before.is_searching(now):
            return False
        fresh = {"run_id": run_id, "status": "searching", "moved_at": now, "forgettings": 0, "requests": 0, **_NOTHING}
        fresh["searched_for"] = before.wishes.model_dump_json()
        await self._set(user_id)
        as_before = before.run_id or {"$in": [None, ""]}
        here: Document = {"_id": user_id, "user_id": user_id, "run_id": as_before}
        return bool((await self.database[JOB_SEARCHES].update_one(here, {"$set": fresh})).matched_count)

    async def undo_begin(self, user_id: str, run_id: str) -> None:
        """Undo `begin` for a search that could not be started."""
        await self.database[JOB_SEARCHES].update_one(
            _here(user_id, run_id), {"$set": {"run_id": "", "status": "ready"}}
        )

    async def save_parts(self, user_id: str, run_id: str, now: float, **parts: Any) -> None:
        """Set these fields of the running search. Does nothing if another one has begun since."""
        kept = {"moved_at": now, **{name: _encoded(value) for name, value in parts.items()}}
        await self.database[JOB_SEARCHES].update_one(_here(user_id, run_id), {"$set": kept})

    async def count_requests(self, search: JobSearch, number: int) -> None:
        """Count requests before they are made, so that a state that runs again may use only the remaining ones."""
        here = _here(search.user_id, search.run_id)
        await self.database[JOB_SEARCHES].update_one(here, {"$inc": {"requests": number}})

    async def mark_batches_requested(self, search: JobSearch, batches: Sequence[int], now: float) -> None:
        """Mark these batches as requested before sending the request, so that none is paid for twice after a crash."""
        asked = {f"compared.{number}": "null" for number in batches}
        await self._keep_of_person(search, {"moved_at": now, **asked})

    async def save_answer(self, search: JobSearch, batch: int, answer: Sequence[Any]) -> None:
        """Store a model's answer, unless something was forgotten since `search` was read."""
        await self._keep_of_person(search, {f"compared.{batch}": json.dumps(answer)})

    async def save_ranked(self, search: JobSearch, ranked: Sequence[JobMatch], now: float) -> None:
        """Store the result of the search, unless something was forgotten since `search` was read."""
        await self._keep_of_person(search, {"moved_at": now, "ranked": _encoded(ranked)})

    async def end(
        self, user_id: str, run_id: str, status: SearchStatus, event: ActivityEvent | None, now: float
    ) -> None:
        """End the search, only once, with an event if there is something to report."""
        await self._end({**_here(user_id, run_id), "status": "searching"}, status, event, now)

    async def end_unless_forgotten(self, search: JobSearch, event: ActivityEvent | None, now: float) -> bool:
        """End the search successfully, with an event if there is something to report. Returns False if something was
        forgotten since `search` was read."""
        return await self._end({**_as_read(search), "status": "searching"}, "ready", event, now)

    async def _end(self, query: Document, status: SearchStatus, event: ActivityEvent | None, now: float) -> bool:
        change: Document = {"$set": {"status": status, "searched_at": now, **_NOTHING}}
        written = await self.database[JOB_SEARCHES].update_one(query, with_events(change, event) if event else change)
        await copy_after_write(self.database, JOB_SEARCHES, query["user_id"], query["_id"])
        return bool(written.matched_count)

    async def forget(self, user_id: str) -> None:
        """Remove texts by models about the user from the running search. Answers based on data read earlier will not be
        stored."""
        change: Document = {"$set": {"ranked": "[]", "compared": {}}, "$inc": {"forgettings": 1}}
        await self.database[JOB_SEARCHES].update_one({"_id": user_id, "user_id": user_id}, change)

    async def count_board_request(self, user_id: str, now: float, most: int) -> bool:
        """Count a request to a board. Returns False if today's limit (UTC) is reached."""
        day, here = f"{to_datetime(now):%Y-%m-%d}", {"_id": user_id, "user_id": user_id}
        searches = self.database[JOB_SEARCHES]
        await self._set(user_id)
        earlier = [{"asked_on": None}, {"asked_on": {"$lt": day}}]
        await searches.update_one({**here, "$or": earlier}, {"$set": {"asked_on": day, "asked": 0}})
        below = {**here, "asked_on": day, "asked": {"$lt": most}}
        return bool((await searches.update_one(below, {"$inc": {"asked": 1}})).matched_count)

    async def _keep_of_person(self, search: JobSearch, fields: Document) -> None:
        await self.database[JOB_SEARCHES].update_one(_as_read(search), {"$set": fields})

    async def _set(self, user_id: str, **fields: Any) -> None:
        change = {"$set": fields} if fields else {"$setOnInsert": {"is_on": False}}
        await self.database[JOB_SEARCHES].update_one({"_id": user_id, "user_id": user_id}, change, upsert=True)


_NOTHING: Document = {"found": "[]", "best": "[]", "compared": {}, "ranked": "[]"}
"""Field values of a search that begins or has ended."""


def _here(user_id: str, run_id: str) -> Document:
    return {"_id": user_id, "user_id": user_id, "run_id": run_id}


def _as_read(search: JobSearch) -> Document:
    """Filter for the running search, if nothing was forgotten since it was read."""
    return {**_here(search.user_id, search.run_id), "forgettings": search.forgettings}


def _encoded(value: Any) -> Any:
    """Return nested data as JSON text, so that MongoDB does not interpret its keys."""
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
        asked_before=tuple(json.loads(document.get("asked_before") or "[]")),
        weights=json.loads(document.get("weights") or "{}"),
        found=tuple(json.loads(document.get("found") or "[]")),
        best=tuple((advert_id, fit) for advert_id, fit in json.loads(document.get("best") or "[]")),
        compared={int(number): json.loads(text) for number, text in (document.get("compared") or {}).items()},
        ranked=tuple(map(JobMatch.model_validate, json.loads(document.get("ranked") or "[]"))),
        requests=document.get("requests") or 0,
        forgettings=document.get("forgettings") or 0,
    )


# --- applications -----------------------------------------------------------------------------------------------------
# `agent_applications`: each user's job applications, with status, next step and history.


APPLICATION_RETENTION = timedelta(days=365)
"""Counted from the last change."""
APPLICATIONS = MongoCollection(
    "agent_applications",
    Expires(APPLICATION_RETENTION, since="after the last change"),
    index("user_updated", "user_id", "-updated_at"),
    index("due_at", "due_at"),
    holds="applications, with notes",
    events=(
        "application.preparing",
        "application.applied",
        "application.interview",
        "application.offer",
        "application.rejected",
        "application.withdrawn",
        "application.closed",
        "application.due",
    ),
    events_note="by the user, except `due`; approved changes are `approval.done`",
)
WORDS = ("next_step", "notes")
"""Fields written by the user."""


class Applications(Records[Application], Schedule):
    collection, model, missing = APPLICATIONS, Application, "There is no such application."
    nested, derived = ("history",), ("due_at",)
    order, kept_since = ("updated_at",), "updated_at"

    def events_of(self, before: Application | None, after: Application) -> Sequence[ActivityEvent]:
        return [] if before and before.status == after.status else [_event(after)]

    async def due_steps(self, user_id: str, now: float, limit: int) -> list[tuple[Application, float]]:
        """List open applications whose next step is due, with the due time, longest overdue first, whether the user was
        reminded or not. Only the `limit` most recently changed applications are searched."""
        known = await self.newest(user_id, limit, status={"$nin": sorted(OVER)})
        untold = ((each, each.model_copy(update={"told_due_at": None}).due_at) for each in known)
        due = [(each, at) for each, at in untold if at is not None and at <= now]
        return sorted(due, key=lambda each: each[1])

    async def add_or_get(self, record: Application) -> Application:
        first = StatusChange(at=record.updated_at, status=record.status)
        return await super().add_or_get(record.model_copy(update={"history": (first,)}))

    async def change(
        self, user_id: str, application_id: str, now: float, *, approved: bool = False, **changes: Any
    ) -> Application:
        """Set these fields. A new status is added to the history and to the feed; if `approved`, the approval's event
        takes its place in the feed. Raises `NotFound` and `Unavailable`."""
        events = () if approved else None
        return (await self.transform(user_id, application_id, lambda each: each.after(changes, now), events=events))[0]

    async def change_once(
        self,
        user_id: str,
        application_id: str,
        now: float,
        key: str,
        is_as_shown: Callable[[Application], bool],
        **changes: Any,
    ) -> None:
        """Set these fields, but only once for this key (the approval's id). Raises `ChangedMeanwhile` if the
        application differs from what the user was shown, `NotFound` and `Unavailable`."""

        def changed(before: Application) -> Application:
            if key in before.changed_by:
                return before
            if not is_as_shown(before):
                raise ChangedMeanwhile
            keys = (*before.changed_by, key)[-KEYS_KEPT:]
            return before.after({**changes, "changed_by": keys}, now)

        await self.transform(user_id, application_id, changed, events=())

    async def record_reminder(self, application: Application, now: float) -> bool:
        """Record that the user was reminded of the due step. Returns False if this was already done, or if the
        application has changed."""
        changes = {"told_due_at": application.due_at, "revision": application.revision + 1}
        after = application.model_copy(update=changes)
        return await self.replace(application, after, [_due_event(after, now)]) is not None

    async def forget(self, user_id: str, contains_forgotten: Callable[[str], bool]) -> None:
        """Clear the user's own texts that contain something forgotten."""

        def forgotten(before: Application) -> Application:
            return before.model_copy(update={name: "" for name in WORDS if contains_forgotten(getattr(before, name))})

        for each in await self.newest(user_id, 0):
            with suppress(NotFound):
                await self.transform(user_id, each.id, forgotten)


def _event(application: Application) -> ActivityEvent:
    title = f"{STATUS_TOLD[application.status]}: {application.name}"
    return _of(application, application.status, application.updated_at, "info", title)


def _due_event(application: Application, now: float) -> ActivityEvent:
    return _of(application, "due", now, "action_required", f"{application.name}: {application.reminder(now)}")


def _of(application: Application, verb: str, at: float, severity: Severity, title: str) -> ActivityEvent:
    return ActivityEvent(
        id=f"{application.id}:{verb}:{application.revision}",
        user_id=application.user_id,
        at=at,
        type=f"application.{verb}",
        role="jobs",
        severity=severity,
        title=title,
        data={"application_id": application.id, "job_id": application.job_id},
    )
