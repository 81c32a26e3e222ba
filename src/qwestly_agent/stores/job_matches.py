"""`agent_job_matches`: the jobs found for a user, each with reasons and the user's verdict."""

from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from typing import Any, get_args

from pymongo.errors import BulkWriteError

from qwestly_agent.domain.job import Advert, JobMatch, Reason, Verdict
from qwestly_agent.platform.collection import Expires, MongoCollection, index
from qwestly_agent.platform.records import Records

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


class JobMatches(Records[JobMatch]):
    collection, model, missing = COLLECTION, JobMatch, NO_SUCH_JOB
    nested, derived = ("advert", "reasons_for", "reasons_against"), ("advert_id",)
    order, kept_since = ("found_at", "score"), "updated_at"

    async def add_all(self, matches: Sequence[JobMatch]) -> None:
        """Insert matches; existing ones are left unchanged."""
        if not matches:
            return
        try:
            await self.database[COLLECTION].insert_many([*map(self.new_document, matches)], ordered=False)
        except BulkWriteError as error:
            if any(each.get("code") != _DUPLICATE for each in (error.details or {}).get("writeErrors", [])):
                raise

    async def delete_others_of_run(self, user_id: str, run_id: str, match_ids: Collection[str]) -> None:
        """Delete all matches of this run except these."""
        others = {"user_id": user_id, "run_id": run_id, "_id": {"$nin": list(match_ids)}}
        await self.database[COLLECTION].delete_many(others)

    async def list_new(self, user_id: str, limit: int, since: float) -> list[JobMatch]:
        """List matches that were found since then and have no status yet, newest night first and best first within a
        night."""
        return await self.newest(user_id, limit, status="new", found_at={"$gt": since})

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
        await self.save_parts(user_id, match_id, **changes, updated_at=now)
        return await self.get(user_id, match_id)

    async def forget(self, user_id: str, evidence: Collection[str], contains_forgotten: Callable[[str], bool]) -> None:
        """Remove reasons that rest on this evidence, or that `contains_forgotten` matches."""
        for match in await self.newest(user_id, 0, evidence={"$ne": []}):
            said = [word for reason in (*match.reasons_for, *match.reasons_against) for word in _words_of(reason)]
            if set(match.evidence) & set(evidence) or any(map(contains_forgotten, said)):
                empty = {"reasons_for": (), "reasons_against": (), "evidence": ()}
                await self.write(match, match.model_copy(update=empty))


def _words_of(reason: Reason) -> list[str]:
    return [reason.text, *([reason.person_quote] if reason.person_quote else [])]


_DUPLICATE = 11000
