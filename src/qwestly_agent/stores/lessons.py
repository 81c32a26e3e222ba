"""`agent_lessons`: each lesson of a user with its sources and questions, and when the questions are due."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from pydantic import BaseModel
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import ActivityEvent, Severity, of_deleted
from qwestly_agent.domain.learning import Lesson, LessonStatus, Practice
from qwestly_agent.platform.collection import Expires, MongoCollection, index
from qwestly_agent.platform.outbox import add_event, copy_after_write, outbox_fields, with_events
from qwestly_agent.platform.store import Document, Store

RETENTION = timedelta(days=365)
"""Counted from the last answer."""
COLLECTION = MongoCollection(
    "agent_lessons",
    Expires(RETENTION, since="after the last answer"),
    index("user_created", "user_id", "-created_at"),
    holds="lessons, questions, answers",
    events=("lesson.begun", "lesson.ready", "lesson.failed", "lesson.stopped", "lesson.deleted"),
    reader="find update",
)

_NESTED = ("outline", "written", "sentences", "questions", "practices")
_SEVERITY: Mapping[LessonStatus, Severity] = {"failed": "warning", "stopped": "warning"}
_TITLES: Mapping[LessonStatus, str] = {
    "writing": "Writing a lesson",
    "ready": "Your lesson is ready",
    "failed": "A lesson could not be written",
    "stopped": "Stopped when you paused: writing a lesson",
}


class Lessons(Store):
    async def add(self, lesson: Lesson) -> bool:
        """Insert a lesson. Returns False if it exists already."""
        expires_at = to_datetime(lesson.created_at) + RETENTION
        new = {**_document(lesson), "expires_at": expires_at, **outbox_fields(_event(lesson))}
        try:
            await self.database[COLLECTION].insert_one(new)
        except DuplicateKeyError:
            return False
        await copy_after_write(self.database, COLLECTION, lesson.user_id, lesson.id)
        return True

    async def get(self, user_id: str, lesson_id: str) -> Lesson:
        """Get a lesson. Raises `NotFound`."""
        found = await self.database[COLLECTION].find_one({"_id": lesson_id, "user_id": user_id})
        if found is None:
            raise NotFound("There is no such lesson.")
        return _lesson(found)

    async def newest(self, user_id: str, limit: int) -> list[Lesson]:
        found = self.database[COLLECTION].find({"user_id": user_id}).sort("created_at", -1).limit(limit)
        return [_lesson(each) async for each in found]

    async def save_parts(self, user_id: str, lesson_id: str, **parts: Any) -> None:
        """Set these fields. Raises `NotFound`."""
        changes = {name: _kept(name, value) for name, value in parts.items()}
        here = {"_id": lesson_id, "user_id": user_id}
        if not (await self.database[COLLECTION].update_one(here, {"$set": changes})).matched_count:
            raise NotFound("There is no such lesson.")

    async def end_writing(
        self, user_id: str, lesson_id: str, now: float, status: LessonStatus, label: str, practices: list[Practice]
    ) -> bool:
        """End the writing once, with an event. Returns False if it had already ended. Raises `NotFound`."""
        before = await self.get(user_id, lesson_id)
        after = before.model_copy(
            update={"status": status, "label": label, "updated_at": now, "practices": tuple(practices)}
        )
        changes = {name: value for name, value in _document(after).items() if name in _OF_THE_END}
        query = {"_id": lesson_id, "user_id": user_id, "status": "writing"}
        changed = await self.database[COLLECTION].update_one(query, with_events({"$set": changes}, _event(after)))
        await copy_after_write(self.database, COLLECTION, user_id, lesson_id)
        return bool(changed.matched_count)

    async def save_practices(self, before: Lesson, practices: list[Practice], now: float) -> bool:
        """Store the changes made by an answer. Returns False after a conflict."""
        after = before.model_copy(
            update={"practices": tuple(practices), "revision": before.revision + 1, "updated_at": now}
        )
        changes = {name: value for name, value in _document(after).items() if name in _OF_AN_ANSWER}
        here = {"_id": before.id, "user_id": before.user_id, "revision": before.revision}
        expires = {"expires_at": to_datetime(now) + RETENTION}
        return bool((await self.database[COLLECTION].update_one(here, {"$set": changes | expires})).matched_count)

    async def forget_conversation(self, user_id: str, conversation_id: str) -> None:
        """Detach lessons from a conversation."""
        query = {"user_id": user_id, "conversation_id": conversation_id}
        await self.database[COLLECTION].update_many(query, {"$set": {"conversation_id": None}})

    async def delete(self, user_id: str, lesson_id: str, now: float) -> bool:
        """Delete a lesson. Its event is written first, because the document will be gone. Returns False if there is no
        such lesson."""
        if await self.database[COLLECTION].find_one({"_id": lesson_id, "user_id": user_id}, {"_id": 1}) is None:
            return False
        await add_event(self.database, of_deleted("lesson", user_id, lesson_id, now))
        return bool((await self.database[COLLECTION].delete_one({"_id": lesson_id, "user_id": user_id})).deleted_count)


_OF_THE_END = ("status", "label", "updated_at", "practices", "due_at")
_OF_AN_ANSWER = ("practices", "due_at", "revision", "updated_at")


def _event(lesson: Lesson) -> ActivityEvent:
    return ActivityEvent(
        id=f"{lesson.id}:{lesson.status}:{lesson.run_id}",
        user_id=lesson.user_id,
        at=lesson.updated_at,
        type=f"lesson.{'begun' if lesson.status == 'writing' else lesson.status}",
        role="learning",
        severity=_SEVERITY.get(lesson.status, "info"),
        title=_TITLES[lesson.status],
        run_id=lesson.run_id,
        data={"lesson_id": lesson.id},
    )


def _kept(name: str, value: Any) -> Any:
    """Return nested data as text, so that MongoDB does not interpret its keys."""
    if name not in _NESTED:
        return value
    plain = [each.model_dump(mode="json") if isinstance(each, BaseModel) else each for each in value]
    return json.dumps(plain, ensure_ascii=False)


def _document(lesson: Lesson) -> Document:
    flat = lesson.model_dump(mode="json", exclude={"id", *_NESTED})
    nested = {name: _kept(name, getattr(lesson, name)) for name in _NESTED}
    return {**flat, **nested, "_id": lesson.id, "due_at": lesson.due_at}


def _lesson(document: Document) -> Lesson:
    fields = {name: value for name, value in document.items() if name in Lesson.model_fields}
    nested = {name: json.loads(document[name]) for name in _NESTED}
    return Lesson.model_validate({**fields, **nested, "id": document["_id"]})
