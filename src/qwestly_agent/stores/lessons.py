"""`agent_lessons`: each lesson of a user with its sources and questions, and when the questions are due."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from qwestly_agent.domain.activity import ActivityEvent, Severity, of_deleted
from qwestly_agent.domain.learning import Lesson, LessonStatus, Practice
from qwestly_agent.platform.collection import Expires, MongoCollection, index
from qwestly_agent.platform.records import Records

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

_SEVERITY: Mapping[LessonStatus, Severity] = {"failed": "warning", "stopped": "warning"}
_TITLES: Mapping[LessonStatus, str] = {
    "writing": "Writing a lesson",
    "ready": "Your lesson is ready",
    "failed": "A lesson could not be written",
    "stopped": "Stopped when you paused: writing a lesson",
}


class Lessons(Records[Lesson]):
    collection, model, missing = COLLECTION, Lesson, "There is no such lesson."
    nested, derived = ("outline", "written", "sentences", "questions", "practices"), ("due_at",)
    kept_since = "updated_at"

    def events_of(self, before: Lesson | None, after: Lesson) -> Sequence[ActivityEvent]:
        return [] if before and before.status == after.status else [_event(after)]

    async def end_writing(
        self, user_id: str, lesson_id: str, now: float, status: LessonStatus, label: str, practices: list[Practice]
    ) -> bool:
        """End the writing once, with an event. Returns False if it had already ended. Raises `NotFound`."""
        before = await self.get(user_id, lesson_id)
        ended = {"status": status, "label": label, "updated_at": now, "practices": tuple(practices)}
        return await self.write(before, before.model_copy(update=ended), status="writing")

    async def save_practices(self, before: Lesson, practices: list[Practice], now: float) -> bool:
        """Store the changes made by an answer. Returns False after a conflict."""
        after = before.model_copy(update={"practices": tuple(practices), "updated_at": now})
        return await self.replace(before, after) is not None

    async def forget_conversation(self, user_id: str, conversation_id: str) -> None:
        """Detach lessons from a conversation."""
        query = {"user_id": user_id, "conversation_id": conversation_id}
        await self.database[COLLECTION].update_many(query, {"$set": {"conversation_id": None}})

    async def delete(self, user_id: str, lesson_id: str, now: float) -> bool:
        """Delete a lesson, with an event. Returns False if there is no such lesson."""
        return await self.remove(user_id, lesson_id, of_deleted("lesson", user_id, lesson_id, now))


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
