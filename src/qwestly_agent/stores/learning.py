"""Stores of learning: the library's topics, lessons, and each user's decisions."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import ClassVar

from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.activity import of_deleted
from qwestly_agent.domain.learning import LearningPlan, LearningTalk, Lesson, Module, Practice
from qwestly_agent.platform.collection import Document, Expires, MongoCollection, Permanent, Store, index
from qwestly_agent.platform.records import as_text, compare_and_set
from qwestly_agent.platform.work import Stage, Work
from qwestly_agent.stores import conversations

# --- topics -----------------------------------------------------------------------------------------------------------
# `learning_topics`: the library of learning topics, one document per module. It holds no user data.


TOPICS = MongoCollection(
    "learning_topics",
    Permanent("Replaced by each ingestion."),
    index("topic", "topic"),
    no_user_reason="The learning library.",
    reader="find",
)


class Topics(Store):
    async def list_modules(self) -> list[Module]:
        """List all modules without their texts and questions, ordered by subject, topic and position."""
        return await self._read({}, {"text": 0, "questions": 0})

    async def list_modules_of(self, topic: str) -> list[Module]:
        """List the modules of a topic with their texts and questions, in order."""
        return await self._read({"topic": topic}, {})

    async def replace_all(self, modules: Sequence[Module]) -> tuple[int, int, int]:
        """Replace the library with these modules. Returns how many were added or changed, removed, and unchanged."""
        collection = self.database[TOPICS]
        known = {each.id: each for each in await self._read({}, {})}
        changed = [each for each in modules if known.get(each.id) != each]
        for each in changed:
            document = each.model_dump(mode="json", exclude={"id"})
            await collection.replace_one({"_id": each.id}, {**document, "_id": each.id}, upsert=True)
        gone = sorted(known.keys() - {each.id for each in modules})
        if gone:
            await collection.delete_many({"_id": {"$in": gone}})
        return len(changed), len(gone), len(modules) - len(changed)

    async def _read(self, query: Document, without: Document) -> list[Module]:
        found = [_module(each) async for each in self.database[TOPICS].find(query, without or None)]
        return sorted(found, key=lambda each: (each.subject, each.topic, each.order))


def _module(document: Document) -> Module:
    return Module.model_validate({**document, "id": document["_id"]})


# --- lessons ----------------------------------------------------------------------------------------------------------
# `agent_lessons`: each user's lessons with their sources and questions, and when the questions are due.


RETENTION = timedelta(days=365)
"""Counted from the last answer."""
LESSONS = MongoCollection(
    "agent_lessons",
    Expires(RETENTION, since="after the last answer"),
    index("user_created", "user_id", "-created_at"),
    holds="lessons, questions, answers",
    events=("lesson.begun", "lesson.ready", "lesson.failed", "lesson.stopped", "lesson.deleted"),
    reader="find update",
)


class Lessons(Work[Lesson]):
    collection, model, missing = LESSONS, Lesson, "There is no such lesson."
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
        await self.database[LESSONS].update_many(query, {"$set": {"conversation_id": None}})

    async def delete(self, user_id: str, lesson_id: str, now: float) -> bool:
        """Delete a lesson, with an event. Returns False if there is no such lesson."""
        return await self.remove(user_id, lesson_id, of_deleted("lesson", user_id, lesson_id, now))


# --- learning ---------------------------------------------------------------------------------------------------------
# `agent_learning`: each user's decisions about learning, one document per user. The state of a conversation's offers is
# stored in the conversation's document.


LEARNING = MongoCollection(
    "agent_learning",
    Expires(RETENTION, since="after the last change"),
    holds="the goal and its gaps, with quotes",
)
"""`_id` and `user_id`, `plan` (a JSON text: the goal, decisions with their quotes, gaps), `revision`,
`expires_at`."""


class Learning(Store):
    async def get(self, user_id: str) -> LearningPlan:
        """Get the plan, or a new one."""
        found = await self.database[LEARNING].find_one({"_id": user_id, "user_id": user_id})
        return LearningPlan.model_validate_json(found["plan"]) if found else LearningPlan()

    async def change(self, user_id: str, changed: Callable[[LearningPlan], LearningPlan], now: float) -> LearningPlan:
        """Change the plan as in `compare_and_set`. Raises `Unavailable`."""

        async def write(known: LearningPlan, wanted: LearningPlan) -> LearningPlan | None:
            wanted = wanted.model_copy(update={"revision": known.revision + 1})
            return wanted if await self._replace(user_id, known, wanted, now) else None

        return (await compare_and_set(lambda: self.get(user_id), changed, write))[0]

    async def _replace(self, user_id: str, known: LearningPlan, wanted: LearningPlan, now: float) -> bool:
        expires_at = to_datetime(now) + RETENTION
        fields = {"plan": as_text(wanted), "revision": wanted.revision, "expires_at": expires_at}
        if known.revision:
            here = {"_id": user_id, "user_id": user_id, "revision": known.revision}
            return bool((await self.database[LEARNING].update_one(here, {"$set": fields})).matched_count)
        try:
            await self.database[LEARNING].insert_one({"_id": user_id, "user_id": user_id, **fields})
        except DuplicateKeyError:
            return False
        return True

    async def drop_wishes(self, user_id: str, contains_forgotten: Callable[[str], bool]) -> None:
        """Clear the lesson wishes that `contains_forgotten` matches."""
        collection = self.database[LESSONS]
        async for each in collection.find({"user_id": user_id}, {"wish": 1}):
            if contains_forgotten(each["wish"]):
                await collection.update_one({"_id": each["_id"], "user_id": user_id}, {"$set": {"wish": ""}})

    async def drop_talks(self, user_id: str) -> None:
        """Drop the learning offers of all conversations."""
        await self.database[conversations.COLLECTION].update_many({"user_id": user_id}, {"$unset": {"learning": ""}})

    async def save_talk(self, user_id: str, conversation_id: str, talk: LearningTalk) -> None:
        here = conversations.key_query(user_id, conversation_id)
        kept = {"learning": talk.model_dump(mode="json")}
        await self.database[conversations.COLLECTION].update_one(here, {"$set": kept})
