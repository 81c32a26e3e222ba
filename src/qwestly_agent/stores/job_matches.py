"""`agent_job_matches`: the jobs found for a user, each with reasons and the user's verdict."""

import json
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from typing import Any, get_args

from pymongo.errors import BulkWriteError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.job import Advert, JobMatch, MatchStatus, Reason, Verdict
from qwestly_agent.platform.collection import Expires, MongoCollection, index
from qwestly_agent.platform.store import Document, Store

RETENTION = timedelta(days=180)
"""Counted from the last change."""
COLLECTION = MongoCollection(
    "agent_job_matches",
    Expires(RETENTION, since="after the last change"),
    index("user_found", "user_id", "-found_at", "-score"),
    holds="jobs shown to the user, with reasons",
)
MOST_JUDGED = 300
NO_SUCH_JOB = "There is no such job."
_NESTED = ("advert", "reasons_for", "reasons_against")


class JobMatches(Store):
    async def add(self, matches: Sequence[JobMatch]) -> None:
        """Insert matches; existing ones are left unchanged."""
        if not matches:
            return
        try:
            await self.database[COLLECTION].insert_many([_document(each) for each in matches], ordered=False)
        except BulkWriteError as error:
            if any(each.get("code") != _DUPLICATE for each in (error.details or {}).get("writeErrors", [])):
                raise

    async def delete_others_of_run(self, user_id: str, run_id: str, match_ids: Collection[str]) -> None:
        """Delete all matches of this run except these."""
        others = {"user_id": user_id, "run_id": run_id, "_id": {"$nin": list(match_ids)}}
        await self.database[COLLECTION].delete_many(others)

    async def get(self, user_id: str, match_id: str) -> JobMatch:
        """Get a match. Raises `NotFound`."""
        found = await self.database[COLLECTION].find_one({"_id": match_id, "user_id": user_id})
        if found is None:
            raise NotFound(NO_SUCH_JOB)
        return _match(found)

    async def newest(
        self, user_id: str, limit: int, *, status: MatchStatus | None = None, since: float = 0.0
    ) -> list[JobMatch]:
        """List matches, newest night first and best first within a night."""
        query: Document = {"user_id": user_id, **({"status": status} if status else {})}
        if since:
            query["found_at"] = {"$gt": since}
        found = self.database[COLLECTION].find(query).sort([("found_at", -1), ("score", -1)]).limit(limit)
        return [_match(each) async for each in found]

    async def list_shown_adverts(self, user_id: str) -> set[str]:
        """Return the ids of all adverts that this user was shown."""
        found = self.database[COLLECTION].find({"user_id": user_id}, {"advert_id": 1})
        return {each["advert_id"] async for each in found}

    async def list_verdicts(self, user_id: str, since: float) -> list[tuple[Advert, Verdict]]:
        """List the user's verdicts since this time, at most `MOST_JUDGED`."""
        query = {"user_id": user_id, "judged_at": {"$gt": since}, "verdict": {"$in": list(get_args(Verdict))}}
        found = self.database[COLLECTION].find(query, {"advert": 1, "verdict": 1}).sort("found_at", -1)
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
        expires = {"updated_at": now, "expires_at": to_datetime(now) + RETENTION}
        here = {"_id": match_id, "user_id": user_id}
        if not (await self.database[COLLECTION].update_one(here, {"$set": changes | expires})).matched_count:
            raise NotFound(NO_SUCH_JOB)
        return await self.get(user_id, match_id)

    async def forget(self, user_id: str, evidence: Collection[str], contains_forgotten: Callable[[str], bool]) -> None:
        """Remove reasons that rest on this evidence, or that `contains_forgotten` matches."""
        found = self.database[COLLECTION].find({"user_id": user_id, "evidence": {"$ne": []}})
        async for each in found:
            match = _match(each)
            said = [word for reason in (*match.reasons_for, *match.reasons_against) for word in _words_of(reason)]
            if set(match.evidence) & set(evidence) or any(map(contains_forgotten, said)):
                empty = {"reasons_for": "[]", "reasons_against": "[]", "evidence": []}
                await self.database[COLLECTION].update_one({"_id": match.id, "user_id": user_id}, {"$set": empty})


def _words_of(reason: Reason) -> list[str]:
    return [reason.text, *([reason.person_quote] if reason.person_quote else [])]


_DUPLICATE = 11000


def _document(match: JobMatch) -> Document:
    flat = match.model_dump(mode="json", exclude={"id", *_NESTED})
    nested = {name: json.dumps(match.model_dump(mode="json")[name], ensure_ascii=False) for name in _NESTED}
    expires = {"expires_at": to_datetime(match.updated_at) + RETENTION, "advert_id": match.advert.id}
    return {**flat, **nested, **expires, "_id": match.id}


def _match(document: Document) -> JobMatch:
    nested = {name: json.loads(document[name]) for name in _NESTED}
    return JobMatch.model_validate({**document, **nested, "id": document["_id"]})
