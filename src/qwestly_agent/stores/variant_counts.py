"""`agent_variant_counts`: counts of a rollout's turns, one document per user and leg.

Per user, because turns of one person are alike: the confidence in a difference depends on how users differ.
"""

from collections.abc import Mapping
from datetime import timedelta

from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.platform.collection import Document, Expires, MongoCollection, Store, index
from qwestly_agent.stores.messages import ClaimedConversation

RETENTION = timedelta(days=90)
COLLECTION = MongoCollection(
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
"""Enough to detect any repetition: a turn is recovered before its conversation's next turn."""

NAMES = ("turns", "failed", "spoken", "slow", "conversations", "cost_usd", "judged", "bad")
"""Turns; turns that failed on our side, that had text, whose first text was slow; new conversations; cost; judged
answers; answers judged bad."""


class VariantCounts(Store):
    async def add(self, user_id: str, tag: str, once: str, amounts: Mapping[str, float], now: float) -> None:
        """Add these amounts to a user's counts under a tag, only once for each `once`."""
        key, kept = f"{tag}:{user_id}", {"tag": tag, "expires_at": to_datetime(now) + RETENTION}
        counted = {name: amount for name, amount in amounts.items() if amount}
        if await self._add(user_id, key, once, counted, kept):
            return
        try:
            await self.database[COLLECTION].insert_one(
                {"_id": key, "user_id": user_id, "runs": [once], **counted, **kept}
            )
        except DuplicateKeyError:  # it was counted already, or another turn was first
            await self._add(user_id, key, once, counted, kept)

    async def _add(self, user_id: str, key: str, once: str, counted: Document, kept: Document) -> bool:
        """Add to an existing document. Returns False if there is none, or if it has counted this already."""
        # `$ne` cannot be used: with it the laptop's database also finds arrays that contain the value.
        updated = await self.database[COLLECTION].update_one(
            {"_id": key, "user_id": user_id, "runs": {"$nin": [once]}},
            {
                **({"$inc": counted} if counted else {}),
                "$push": {"runs": {"$each": [once], "$slice": -REMEMBERED_RUNS}},
                "$set": kept,
            },
        )
        return updated.matched_count == 1

    async def add_dead_turns(self, claim: ClaimedConversation) -> None:
        """Count turns whose process died as failed turns of their variant."""
        tag = claim.assignment.tag if claim.assignment else None
        for number, turn in enumerate(claim.abandoned if tag else ()):
            assert tag
            amounts = {"turns": 1, "failed": 1, "conversations": int(not claim.last_seq and not number)}
            await self.add(claim.user_id, tag, turn.run_id, amounts, turn.started_at)
