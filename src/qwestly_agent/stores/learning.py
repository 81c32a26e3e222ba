"""`agent_learning`: each user's decisions about learning, one document per user. The state of each conversation's
offers is stored in the conversation's document."""

from collections.abc import Callable
from datetime import timedelta

from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.learning import LearningPlan, LearningTalk
from qwestly_agent.platform.collection import Expires, MongoCollection, Store
from qwestly_agent.platform.records import as_text, compare_and_set
from qwestly_agent.stores import conversations, lessons

RETENTION = timedelta(days=365)
"""Counted from the last change."""
COLLECTION = MongoCollection(
    "agent_learning",
    Expires(RETENTION, since="after the last change"),
    holds="the goal and its gaps, with quotes",
)
"""`_id` and `user_id`, `plan` (a JSON text: the goal, decisions with their quotes, gaps), `revision`,
`expires_at`."""


class Learning(Store):
    async def get(self, user_id: str) -> LearningPlan:
        """Get the plan, or a new one."""
        found = await self.database[COLLECTION].find_one({"_id": user_id, "user_id": user_id})
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
            return bool((await self.database[COLLECTION].update_one(here, {"$set": fields})).matched_count)
        try:
            await self.database[COLLECTION].insert_one({"_id": user_id, "user_id": user_id, **fields})
        except DuplicateKeyError:
            return False
        return True

    async def drop_wishes(self, user_id: str, contains_forgotten: Callable[[str], bool]) -> None:
        """Clear the wishes of lessons that `contains_forgotten` matches."""
        collection = self.database[lessons.COLLECTION]
        async for each in collection.find({"user_id": user_id}, {"wish": 1}):
            if contains_forgotten(each["wish"]):
                await collection.update_one({"_id": each["_id"], "user_id": user_id}, {"$set": {"wish": ""}})

    async def drop_talks(self, user_id: str) -> None:
        """Drop the offers and the answers' openings of every conversation."""
        await self.database[conversations.COLLECTION].update_many({"user_id": user_id}, {"$unset": {"learning": ""}})

    async def save_talk(self, user_id: str, conversation_id: str, talk: LearningTalk) -> None:
        here = conversations.key_query(user_id, conversation_id)
        kept = {"learning": talk.model_dump(mode="json")}
        await self.database[conversations.COLLECTION].update_one(here, {"$set": kept})
