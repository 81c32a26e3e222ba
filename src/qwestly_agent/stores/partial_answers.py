"""Partial answers of running turns, each stored in the conversation that its turn holds.

`chat/turn_registry.py` writes them at most every 0.3 s.
"""

from dataclasses import dataclass
from typing import Literal

from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.rollout import Assignment
from qwestly_agent.stores.conversations import COLLECTION, held_by_query, is_running, key_query
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.store import Store
from qwestly_agent.stores.turns import ClaimedConversation, PartialAnswer, partial_answer_of


@dataclass(frozen=True)
class FollowedAnswer:
    """The state of an answer, as read by another process."""

    partial: PartialAnswer | None
    """None until a part of the answer was stored."""
    state: Literal["running", "ended", "interrupted", "gone"]
    """`interrupted`: the turn's process died. `gone`: a later turn has replaced this one."""


class PartialAnswers(Store):
    async def save(self, claim: ClaimedConversation, partial: PartialAnswer) -> None:
        """Store the turn's text so far. Does nothing if the turn no longer holds the conversation."""
        entry = f"turns.{claim.turn.run_id}"
        await self.database[COLLECTION].update_one(
            {**held_by_query(claim.user_id, claim.conversation_id, claim.turn.run_id), entry: {"$exists": True}},
            {"$set": {f"{entry}.partial": partial.document}},
        )

    async def save_assignment(self, claim: ClaimedConversation, assignment: Assignment) -> None:
        """Store the variant of a new conversation, so that its first turn is counted even if the process dies."""
        await self.database[COLLECTION].update_one(
            held_by_query(claim.user_id, claim.conversation_id, claim.turn.run_id),
            {"$set": {"assignment": assignment.model_dump()}},
        )

    async def follow(self, user_id: str, conversation_id: str, run_id: str, now: float) -> FollowedAnswer:
        """Read the state of a turn's answer. Raises `NotFound` if the conversation was deleted."""
        fields = dict.fromkeys(("holder", "lease_until", "turns", "last_answer"), 1)
        found = await self.database[COLLECTION].find_one(key_query(user_id, conversation_id), fields)
        if found is None:
            raise NotFound("There is no such conversation.")
        last = found.get("last_answer") or {}
        if last.get("run_id") == run_id:
            return FollowedAnswer(partial_answer_of(last), "ended")
        turn = found.get("turns", {}).get(run_id)
        if turn is None:
            return FollowedAnswer(None, "gone")
        is_held = found.get("holder") == run_id and is_running(found, now)
        return FollowedAnswer(partial_answer_of(turn.get("partial")), "running" if is_held else "interrupted")


def last_answer_fields(run_id: str, partial: PartialAnswer) -> Document:
    """Return the fields in which readers of the turn find its end."""
    return {"last_answer": {"run_id": run_id, **partial.document}}
