"""`agent_planted_lies`: how each judge answered the newest lies that code planted among what it judges."""

from collections.abc import Sequence
from dataclasses import dataclass

from pymongo import ReturnDocument

from qwestly_agent.grounding.model import JudgedPlant
from qwestly_agent.platform.collection import MongoCollection, Permanent, Store
from qwestly_agent.stores.search import Document

COLLECTION = MongoCollection(
    "agent_planted_lies",
    Permanent("One document per model."),
    no_user_reason="The kinds and languages of the newest lies planted for each judge.",
    reader="find insert update",
)
"""`_id` (the judge's model), `plants` (the newest, each with `kind`, `language` and `passed`)."""
WINDOW = 200
MOST_PASSED = 10
"""5 % of a full window. Of judges that pass one lie in fifty, fewer than one in a hundred pass more in any window; one
that passes one in five has passed more after some sixty plants."""


@dataclass(frozen=True)
class JudgesPlants:
    model: str
    plants: Sequence[JudgedPlant]
    """The newest, oldest first; at most `WINDOW`."""

    @property
    def errs(self) -> bool:
        return sum(each.passed for each in self.plants) > MOST_PASSED


class PlantedLies(Store):
    async def add(self, model: str, plant: JudgedPlant) -> JudgesPlants:
        """Add an outcome, and return the judge's newest."""
        entry = plant.model_dump()
        found = await self.database[COLLECTION].find_one_and_update(
            {"_id": model},
            {"$push": {"plants": {"$each": [entry], "$slice": -WINDOW}}},
            upsert=True,
            return_document=ReturnDocument.AFTER,
        )
        assert found  # an upsert
        return _plants(found)

    async def list(self) -> Sequence[JudgesPlants]:
        return [_plants(each) async for each in self.database[COLLECTION].find().sort("_id", 1)]


def _plants(found: Document) -> JudgesPlants:
    return JudgesPlants(str(found["_id"]), [JudgedPlant(**each) for each in found["plants"]])
