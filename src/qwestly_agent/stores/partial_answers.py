"""The text so far of answers under way, stored in the conversation that each of them holds.

`chat/turn_registry.py` writes them, each 0.3 s at the most.
"""

from dataclasses import dataclass
from typing import Literal

from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.rollout import Assignment
from qwestly_agent.stores.conversations import COLLECTION, held_by, is_running, key_of
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.store import Store
from qwestly_agent.stores.turns import ClaimedConversation, PartialAnswer, partial_answer_of


@dataclass(frozen=True)
class Followed:
    """An answer under way, as a reader in another process gets it."""

    partial: PartialAnswer | None
    """None until a part of it was stored."""
    state: Literal["running", "ended", "interrupted", "gone"]
    """`interrupted`: its process died. `gone`: another turn came after it."""


class PartialAnswers(Store):
    async def keep(self, claim: ClaimedConversation, partial: PartialAnswer) -> None:
        """Store the turn's text so far; does nothing if it no longer holds the conversation."""
        entry = f"turns.{claim.turn.run_id}"
        await self.database[COLLECTION].update_one(
            {**held_by(claim.user_id, claim.conversation_id, claim.turn.run_id), entry: {"$exists": True}},
            {"$set": {f"{entry}.partial": partial.document}},
        )

    async def keep_assignment(self, claim: ClaimedConversation, assignment: Assignment) -> None:
        """Store the variant of a new conversation, so that its first turn is counted even if its process dies."""
        await self.database[COLLECTION].update_one(
            held_by(claim.user_id, claim.conversation_id, claim.turn.run_id),
            {"$set": {"assignment": assignment.model_dump()}},
        )

    async def follow(self, user_id: str, conversation_id: str, run_id: str, now: float) -> Followed:
        """Raises `NotFound` once the conversation was deleted."""
        fields = dict.fromkeys(("holder", "lease_until", "turns", "last_answer"), 1)
        found = await self.database[COLLECTION].find_one(key_of(user_id, conversation_id), fields)
        if found is None:
            raise NotFound("There is no such conversation.")
        last = found.get("last_answer") or {}
        if last.get("run_id") == run_id:
            return Followed(partial_answer_of(last), "ended")
        turn = found.get("turns", {}).get(run_id)
        if turn is None:
            return Followed(None, "gone")
        is_held = found.get("holder") == run_id and is_running(found, now)
        return Followed(partial_answer_of(turn.get("partial")), "running" if is_held else "interrupted")


def last_answer(run_id: str, partial: PartialAnswer) -> Document:
    """The fields of the conversation from which readers of the turn learn its end."""
    return {"last_answer": {"run_id": run_id, **partial.document}}
