"""`agent_lessons`: each lesson of a user with its sources and questions, and when the questions are due."""

from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar

from qwestly_agent.domain.activity import of_deleted
from qwestly_agent.domain.learning import Lesson, Practice
from qwestly_agent.platform.collection import Expires, MongoCollection, index
from qwestly_agent.platform.work import Stage, Work

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


class Lessons(Work[Lesson]):
    collection, model, missing = COLLECTION, Lesson, "There is no such lesson."
    nested, derived = ("outline", "written", "sentences", "questions", "practices"), ("due_at",)
    kept_since = "updated_at"
    subject, role, under_way = "lesson", "learning", frozenset({"writing"})
    stages: ClassVar[Mapping[str, Stage]] = {
        "writing": Stage("Writing a lesson"),
        "ready": Stage("Your lesson is ready"),
        "failed": Stage("A lesson could not be written", "warning"),
        "stopped": Stage("Stopped when you paused: writing a lesson", "warning"),
    }
    try_again = "It could not be written. Please ask for it again."

    def describe(self, record: Lesson) -> str:
        return f"{super().describe(record)}: {record.title}"

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
