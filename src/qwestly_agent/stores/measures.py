"""Stores of measurements: a rollout's state and counts, the day's answers, and planted lies."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pydantic import ValidationError
from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.rollout import AnswerDay, Rollout
from qwestly_agent.grounding.model import JudgedPlant
from qwestly_agent.platform.collection import Document, Expires, MongoCollection, Permanent, Store, across_users, index
from qwestly_agent.platform.records import compare_and_set
from qwestly_agent.stores import messages
from qwestly_agent.stores.messages import ClaimedConversation

# --- rollouts ---------------------------------------------------------------------------------------------------------
# `agent_rollout`: a single document with the variant being tried and its state.


ROLLOUT = MongoCollection(
    "agent_rollout", Permanent("One document."), no_user_reason="The state of each trial.", chat="find"
)
"""One document: `flags` (Powertools' feature flags: who has which variant), `trial`, `journal` (the last 200 entries),
`revision`; nothing about a user."""
_ID = "rollout"


class UnreadableRollout(Exception):
    """The rollout document cannot be parsed. Turns continue with the baseline."""


class Rollouts(Store):
    async def get(self, *, journal: bool = False) -> Rollout | None:
        """Get the rollout; None if there is no document. Raises `UnreadableRollout`."""
        fields = None if journal else {"journal": 0}
        found = await self.database[ROLLOUT].find_one({"_id": _ID}, fields)
        if found is None:
            return None
        try:
            return Rollout.model_validate(found)
        except ValidationError:
            raise UnreadableRollout from None

    async def change(self, change: Callable[[Rollout], Rollout | None]) -> Rollout:
        """Change the document as in `compare_and_set`, and return the current one. Raises `UnreadableRollout` and
        `Unavailable`."""

        async def read() -> Rollout:
            return await self.get(journal=True) or Rollout()

        return (await compare_and_set(read, change, self._replace))[0]

    async def _replace(self, before: Rollout, after: Rollout) -> Rollout | None:
        after = after.model_copy(update={"revision": before.revision + 1})
        here = {"_id": _ID, "revision": before.revision}
        document = {"_id": _ID, **after.model_dump(mode="json")}
        try:
            written = await self.database[ROLLOUT].replace_one(here, document, upsert=not before.revision)
        except DuplicateKeyError:
            return None
        return after if written.matched_count or written.upserted_id else None

    async def delete(self) -> None:
        """Delete an unreadable document. Turns continue with the baseline."""
        await self.database[ROLLOUT].delete_one({"_id": _ID})


# --- answers ----------------------------------------------------------------------------------------------------------
# All users' answers in `agent_messages`, without texts, and their daily counts in `agent_answer_days`.


ANSWER_DAYS = MongoCollection(
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
    """Tag of the rollout counts that include this answer."""


class Answers(Store):
    @across_users
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
        await self.database[ANSWER_DAYS].replace_one(here, {**here, **document}, upsert=True)

    async def list_days(self) -> list[AnswerDay]:
        """List all days, oldest first."""
        found = self.database[ANSWER_DAYS].find({}, {"_id": 0}).sort("_id", 1)
        return [AnswerDay.model_validate(each) async for each in found]


# --- variant counts ---------------------------------------------------------------------------------------------------
# `agent_variant_counts`: counts of a rollout's turns, one document per user and leg.
#
# Per user, because turns of the same person are similar: the confidence in a difference depends on how much users
# differ.


RETENTION = timedelta(days=90)
VARIANT_COUNTS = MongoCollection(
    "agent_variant_counts",
    Expires(RETENTION, since="after the last turn"),
    # For the counts of all users in one leg of a rollout.
    index("tag", "tag"),
    holds="counts of a trial",
    reader="find insert update",
)
"""`_id` (of tag and user), `user_id`, `tag` (of trial, leg and variant), `turns`, `failed`, `spoken`, `slow`,
`conversations`, `cost_usd`, `judged`, `bad`, `runs` (the last 100 that were counted), `expires_at`."""
REMEMBERED_RUNS = 100
"""Enough to detect any repetition, as a turn is recovered before its conversation's next turn."""

NAMES = ("turns", "failed", "spoken", "slow", "conversations", "cost_usd", "judged", "bad")
"""Turns; turns that failed on our side, that had text, and whose first text was slow; new conversations; cost; judged
answers; answers judged bad."""


class VariantCounts(Store):
    async def add(self, user_id: str, tag: str, once: str, amounts: Mapping[str, float], now: float) -> None:
        """Add these amounts to a user's counts under a tag, only once for each value of `once`."""
        key, kept = f"{tag}:{user_id}", {"tag": tag, "expires_at": to_datetime(now) + RETENTION}
        counted = {name: amount for name, amount in amounts.items() if amount}
        if await self._add(user_id, key, once, counted, kept):
            return
        try:
            await self.database[VARIANT_COUNTS].insert_one(
                {"_id": key, "user_id": user_id, "runs": [once], **counted, **kept}
            )
        except DuplicateKeyError:  # already counted, or another turn was first
            await self._add(user_id, key, once, counted, kept)

    async def _add(self, user_id: str, key: str, once: str, counted: Document, kept: Document) -> bool:
        """Add to an existing document. Returns False if there is none, or if this was already counted."""
        # `$ne` cannot be used: with it the local database also finds arrays that contain the value.
        updated = await self.database[VARIANT_COUNTS].update_one(
            {"_id": key, "user_id": user_id, "runs": {"$nin": [once]}},
            {
                **({"$inc": counted} if counted else {}),
                "$push": {"runs": {"$each": [once], "$slice": -REMEMBERED_RUNS}},
                "$set": kept,
            },
        )
        return updated.matched_count == 1

    @across_users
    async def sums(self, tags: Collection[str]) -> dict[str, dict[str, float]]:
        """Return the counts of all users under each of these tags, and the number of users."""
        sums = {name: {"$sum": f"${name}"} for name in NAMES}
        pipeline = [{"$match": {"tag": {"$in": list(tags)}}}, {"$group": {"_id": "$tag", "users": {"$sum": 1}, **sums}}]
        found = await self.database[VARIANT_COUNTS].aggregate(pipeline)
        # The local database returns nothing if no document has the field.
        return {each.pop("_id"): {name: value or 0 for name, value in each.items()} async for each in found}

    @across_users
    async def by_user(self, tag: str) -> dict[str, dict[str, float]]:
        """Return the counts of each user under this tag."""
        found = self.database[VARIANT_COUNTS].find({"tag": tag}, {"runs": 0})
        return {each["user_id"]: {name: each.get(name, 0) for name in NAMES} async for each in found}

    async def add_dead_turns(self, claim: ClaimedConversation) -> None:
        """Count turns whose process died as failed turns for their variant."""
        tag = claim.assignment.tag if claim.assignment else None
        for number, turn in enumerate(claim.abandoned if tag else ()):
            assert tag
            amounts = {"turns": 1, "failed": 1, "conversations": int(not claim.last_seq and not number)}
            await self.add(claim.user_id, tag, turn.run_id, amounts, turn.started_at)


# --- planted ----------------------------------------------------------------------------------------------------------
# `agent_planted_lies`: how each judge handled the newest lies that code planted in its input.


PLANTED_LIES = MongoCollection(
    "agent_planted_lies",
    Permanent("One document per model."),
    no_user_reason="The kinds and languages of the newest lies planted for each judge.",
    reader="find insert update",
)
"""`_id` (the judge's model), `plants` (the newest, each with `kind`, `language` and `passed`)."""
WINDOW = 200
MOST_PASSED = 10
"""5 % of a full window. Of judges that pass 2 % of the lies, fewer than one in a hundred exceed this in any window; a
judge that passes 20 % exceeds it after about sixty planted lies."""


@dataclass(frozen=True)
class JudgesPlants:
    model: str
    plants: Sequence[JudgedPlant]
    """The newest ones, oldest first; at most `WINDOW`."""

    @property
    def errs(self) -> bool:
        return sum(each.passed for each in self.plants) > MOST_PASSED


class PlantedLies(Store):
    async def add(self, model: str, plant: JudgedPlant) -> JudgesPlants:
        """Add an outcome, and return the judge's newest outcomes."""
        entry = plant.model_dump()
        found = await self.database[PLANTED_LIES].find_one_and_update(
            {"_id": model},
            {"$push": {"plants": {"$each": [entry], "$slice": -WINDOW}}},
            upsert=True,
            return_document=ReturnDocument.AFTER,
        )
        assert found  # always found, because of the upsert
        return _plants(found)

    async def list(self) -> Sequence[JudgesPlants]:
        return [_plants(each) async for each in self.database[PLANTED_LIES].find().sort("_id", 1)]


def _plants(found: Document) -> JudgesPlants:
    return JudgesPlants(str(found["_id"]), [JudgedPlant(**each) for each in found["plants"]])
