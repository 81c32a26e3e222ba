"""`learning_topics`: the library of learning topics, one document per module. It holds no user data."""

from collections.abc import Sequence

from qwestly_agent.domain.learning import Module
from qwestly_agent.platform.collection import Document, MongoCollection, Permanent, Store, index

COLLECTION = MongoCollection(
    "learning_topics",
    Permanent("Replaced by each ingestion."),
    index("topic", "topic"),
    no_user_reason="The learning library.",
    reader="find",
)


class Topics(Store):
    async def list_modules(self) -> list[Module]:
        """List all modules without their texts, ordered by subject, topic and position."""
        return await self._read({}, {"text": 0})

    async def list_modules_of(self, topic: str) -> list[Module]:
        """List the modules of a topic with their texts, in order."""
        return await self._read({"topic": topic}, {})

    async def replace_all(self, modules: Sequence[Module]) -> tuple[int, int, int]:
        """Replace the library with these modules. Returns how many were added or changed, removed, and unchanged."""
        collection = self.database[COLLECTION]
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
        found = [_module(each) async for each in self.database[COLLECTION].find(query, without or None)]
        return sorted(found, key=lambda each: (each.subject, each.topic, each.order))


def _module(document: Document) -> Module:
    return Module.model_validate({**document, "id": document["_id"]})
