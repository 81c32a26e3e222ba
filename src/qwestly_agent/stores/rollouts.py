"""`agent_rollout`: a single document with the variant being tried and its state."""

from collections.abc import Callable

from pydantic import ValidationError
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.errors import ChangedMeanwhile
from qwestly_agent.domain.rollout import Rollout
from qwestly_agent.platform.collection import MongoCollection, Permanent
from qwestly_agent.platform.store import Store

COLLECTION = MongoCollection("agent_rollout", Permanent("One document."), no_user_reason="The state of each trial.")
"""One document: `flags` (Powertools' feature flags: who has which variant), `trial`, `journal` (the last 200 entries),
`revision`; nothing about a user."""
_ID = "rollout"
_TRIES = 5


class UnreadableRollout(Exception):
    """The rollout document cannot be parsed. Turns continue with the base."""


class Rollouts(Store):
    async def get(self, *, journal: bool = False) -> Rollout | None:
        """Get the rollout; None if there is no document. Raises `UnreadableRollout`."""
        fields = None if journal else {"journal": 0}
        found = await self.database[COLLECTION].find_one({"_id": _ID}, fields)
        if found is None:
            return None
        try:
            return Rollout.model_validate(found)
        except ValidationError:
            raise UnreadableRollout from None

    async def change(self, change: Callable[[Rollout], Rollout | None]) -> Rollout | None:
        """Change the document by compare-and-set. Returns the new one, or None if `change` returned None.

        Raises `UnreadableRollout`, and `ChangedMeanwhile` after too many conflicts.
        """
        for _ in range(_TRIES):
            before = await self.get(journal=True)
            after = change(before or Rollout())
            if after is None:
                return None
            if await self._replace(before, after := after.model_copy(update={"revision": after.revision + 1})):
                return after
        raise ChangedMeanwhile("Others change the rollout. Please try again.")

    async def _replace(self, before: Rollout | None, after: Rollout) -> bool:
        document = {"_id": _ID, **after.model_dump(mode="json")}
        if before is None:
            try:
                await self.database[COLLECTION].insert_one(document)
            except DuplicateKeyError:
                return False
            return True
        here = {"_id": _ID, "revision": before.revision}
        return (await self.database[COLLECTION].replace_one(here, document)).matched_count == 1

    async def delete(self) -> None:
        """Delete an unreadable document. Turns continue with the base."""
        await self.database[COLLECTION].delete_one({"_id": _ID})
