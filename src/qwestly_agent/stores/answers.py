"""All users' answers in `agent_messages`, without texts, and their daily counts in `agent_answer_days`."""

from dataclasses import dataclass

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.rollout import AnswerDay
from qwestly_agent.platform.collection import MongoCollection, Permanent, Store
from qwestly_agent.stores import messages

COLLECTION = MongoCollection(
    "agent_answer_days",
    Permanent("Quality is compared over years."),
    no_user_reason="One document per day, with counts only.",
    reader="find insert update",
)
"""`_id` (the date), `judge`, `answers`, `errors`, `thumbs_up`, `thumbs_down`, `judged`, `unjudged`, `answered`,
`confused`, `satisfied`, `dissatisfied`, `intents` (how many wanted what), `cost_usd`; kept for good, nothing about a
user."""

_FIELDS = ("user_id", "conversation_id", "run_id", "seq", "status", "feedback", "receipt")


@dataclass(frozen=True)
class GivenAnswer:
    user_id: str
    conversation_id: str
    run_id: str
    seq: int
    status: str
    thumb: str | None
    counted_as: str | None
    """Tag of the rollout whose counts include this answer."""


class Answers(Store):
    async def list_since(self, at: float) -> list[GivenAnswer]:
        query = {"role": "assistant", "created_at": {"$gte": to_datetime(at)}}
        found = self.database[messages.COLLECTION].find(query, dict.fromkeys(_FIELDS, 1))
        return [
            GivenAnswer(
                each["user_id"],
                each["conversation_id"],
                each["run_id"],
                each["seq"],
                each.get("status", ""),
                (each.get("feedback") or {}).get("thumb"),
                each.get("receipt", {}).get("counted_as"),
            )
            async for each in found
        ]

    async def save_day(self, day: AnswerDay) -> None:
        """Store a day's counts, replacing earlier counts of that day."""
        document = day.model_dump(mode="json")
        here = {"_id": document["day"]}
        await self.database[COLLECTION].replace_one(here, {**here, **document}, upsert=True)

    async def list_days(self) -> list[AnswerDay]:
        """List all days, oldest first."""
        found = self.database[COLLECTION].find({}, {"_id": 0}).sort("_id", 1)
        return [AnswerDay.model_validate(each) async for each in found]
