"""The interview of each conversation: the field `interview` in `agent_conversations`, changed by compare-and-set on its
revision.

It is part of the conversation's document, so that a turn reads it when claiming the conversation, and deletion, export
and expiry of the conversation include it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.interview import Interview
from qwestly_agent.platform.collection import Document, Store
from qwestly_agent.platform.outbox import copy_after_write, with_events
from qwestly_agent.platform.records import compare_and_set
from qwestly_agent.stores.conversations import COLLECTION, key_query

ABANDONED_AFTER_SECONDS = 14 * 86_400.0
"""An interview unused for this long counts as abandoned."""


FIELDS = dict.fromkeys(("id", "title", "role", "last_used", "interview"), 1)


@dataclass(frozen=True)
class StoredInterview:
    conversation_id: str
    title: str
    role: str
    last_used: float
    interview: Interview


def describe_status(kept: StoredInterview) -> str:
    """Describe the interview's status in a sentence, without any user text."""
    interview, count = kept.interview, len(kept.interview.draft)
    holds = f"its draft has {count} {'sentence' if count == 1 else 'sentences'}"
    return f"{_name(interview)} {'has ended' if interview.ended else 'is under way'}: {holds}"


def _name(interview: Interview) -> str:
    return "Getting to know you" if interview.has_agenda else "Your interview with your agent"


def _stored_interview(document: Document) -> StoredInterview:
    interview = Interview.model_validate(document.get("interview") or {})
    return StoredInterview(
        document["id"], document.get("title", ""), document["role"], document["last_used"], interview
    )


class Interviews(Store):
    async def get(self, user_id: str, conversation_id: str) -> Interview:
        """Get the interview, or a new one if it has not begun. Raises `NotFound` if there is no such conversation."""
        found = await self.database[COLLECTION].find_one(key_query(user_id, conversation_id), {"interview": 1})
        if found is None:
            raise NotFound("There is no such conversation.")
        return Interview.model_validate(found.get("interview") or {})

    async def change(
        self,
        user_id: str,
        conversation_id: str,
        changed: Callable[[Interview], Interview],
        known: Interview | None = None,
        *,
        now: float | None = None,
        before_end: Callable[[], Awaitable[None]] | None = None,
    ) -> Interview:
        """Change the interview as in `compare_and_set`. With `now`, the end of the interview and its finished draft are
        added to the feed. `before_end` is awaited before the end of an onboarding is stored. Raises `NotFound`,
        `Unavailable`, and whatever the functions raise."""
        here = key_query(user_id, conversation_id)

        async def write(before: Interview, after: Interview) -> Interview | None:
            if before_end and after.has_agenda and after.ended and not before.ended:
                await before_end()
            after = after.model_copy(update={"revision": before.revision + 1})
            as_read = {**here, "interview.revision": before.revision or {"$in": [None, 0]}}
            events = _events(user_id, conversation_id, before, after, now) if now is not None else []
            change = with_events({"$set": {"interview": after.model_dump(mode="json")}}, *events)
            if not (await self.database[COLLECTION].update_one(as_read, change)).matched_count:
                return None
            if events:
                await copy_after_write(self.database, COLLECTION, user_id, here["_id"])
            return after

        return (await compare_and_set(lambda: self.get(user_id, conversation_id), changed, write, known))[0]

    async def newest(self, user_id: str, limit: int) -> list[StoredInterview]:
        """List interviews, most recently used first."""
        query = {"user_id": user_id, "role": {"$in": ["interview", "onboarding"]}}
        found = self.database[COLLECTION].find(query, FIELDS).sort("last_used", -1).limit(limit)
        return [_stored_interview(each) async for each in found]

    async def get_stored(self, user_id: str, conversation_id: str) -> StoredInterview:
        """Get an interview with its conversation's fields. Raises `NotFound` if the conversation does not exist or is
        not an interview."""
        found = await self.database[COLLECTION].find_one(key_query(user_id, conversation_id), FIELDS)
        if found is None or found.get("role") not in ("interview", "onboarding"):
            raise NotFound("There is no such interview.")
        return _stored_interview(found)

    async def drop_work(self, user_id: str, conversation_id: str) -> None:
        """Drop a run's intermediate results, so that the run stores nothing."""
        nothing = {"$unset": {"interview_work": ""}}
        await self.database[COLLECTION].update_one(key_query(user_id, conversation_id), nothing)

    # --- the run of `write_draft` --------------------------------------------------------------------------------

    async def get_work(self, user_id: str, conversation_id: str, run_id: str) -> Document | None:
        """Return this run's intermediate results; None if another run has begun since. Raises `NotFound`."""
        found = await self.database[COLLECTION].find_one(key_query(user_id, conversation_id), {"interview_work": 1})
        if found is None:
            raise NotFound("There is no such conversation.")
        work = found.get("interview_work")
        return work if work and work["run_id"] == run_id else None

    async def begin_work(
        self, user_id: str, conversation_id: str, run_id: str, seq: int, version: int
    ) -> Document | None:
        """Return this run's intermediate results, replacing those of an older run. Returns None if a newer run has
        begun."""
        work = {"run_id": run_id, "seq": seq, "version": version}
        # `$or` cannot be used: combined with an `_id`, the local database updates the wrong document.
        none_or_older: tuple[Document, ...] = ({"interview_work": None}, {"interview_work.seq": {"$lt": seq}})
        for other in none_or_older:
            here = {**key_query(user_id, conversation_id), **other}
            if (await self.database[COLLECTION].update_one(here, {"$set": {"interview_work": work}})).matched_count:
                return work
        return await self.get_work(user_id, conversation_id, run_id)

    async def save_work(self, user_id: str, conversation_id: str, run_id: str, **found: object) -> None:
        mine = {**key_query(user_id, conversation_id), "interview_work.run_id": run_id}
        changes = {f"interview_work.{name}": value for name, value in found.items()}
        await self.database[COLLECTION].update_one(mine, {"$set": changes})


def _events(user_id: str, conversation_id: str, before: Interview, after: Interview, now: float) -> list[ActivityEvent]:
    """Return the events for the interview's end, and for a draft that now covers the last answer."""
    told = {"ended": f"{_name(after)} has ended"} if after.ended and not before.ended else {}
    if _is_drafted(after) and not _is_drafted(before):
        told["drafted"] = "The draft of your interview is ready"
    return [
        ActivityEvent(
            id=f"{conversation_id}:interview_{verb}:{after.revision}",
            user_id=user_id,
            at=now,
            type=f"interview.{verb}",
            role="interview",
            title=title,
            data={"conversation_id": conversation_id},
        )
        for verb, title in told.items()
    ]


def _is_drafted(interview: Interview) -> bool:
    is_heard = interview.drafted_to >= interview.counted_to
    return bool(interview.ended and interview.draft and is_heard and not interview.has_agenda)
