"""`agent_rollout`: a single document with the variant being tried and its state."""

from collections.abc import Callable

from pydantic import ValidationError
from pymongo.errors import DuplicateKeyError

from qwestly_agent.domain.rollout import Rollout
from qwestly_agent.platform.collection import MongoCollection, Permanent, Store
from qwestly_agent.platform.records import compare_and_set

COLLECTION = MongoCollection("agent_rollout", Permanent("One document."), no_user_reason="The state of each trial.")
"""One document: `flags` (Powertools' feature flags: who has which variant), `trial`, `journal` (the last 200 entries),
`revision`; nothing about a user."""
_ID = "rollout"


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
            written = await self.database[COLLECTION].replace_one(here, document, upsert=not before.revision)
        except DuplicateKeyError:
            return None
        return after if written.matched_count or written.upserted_id else None

    async def delete(self) -> None:
        """Delete an unreadable document. Turns continue with the base."""
        await self.database[COLLECTION].delete_one({"_id": _ID})
