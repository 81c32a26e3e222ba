"""What must hold of all documents: whoever acts for a person writes that person's alone, and an export holds all of
them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from qwestly_agent.account import export
from qwestly_agent.clients.user_tokens import user_of_token
from qwestly_agent.stores import activity
from qwestly_agent.stores.user_data import user_collections
from tests.simulation.scheduler import Process
from tests.simulation.story import REQUEST_SECONDS, Story
from tests.simulation.world import PEOPLE, Version


@dataclass
class OwnerStory(Story):
    missing: list[str] = field(default_factory=list[str])

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return ((1, self.export),)

    # --- what happens ---

    def export(self) -> None:
        person = self.stage.someone()
        token = self.world.token(person.id)

        async def work(services: Any) -> None:
            user_id = await user_of_token(services.secrets, token, services.clock)
            begun = self.stage.now
            told = b"".join([each async for each in await export(services.user_data, services.clock, user_id)])
            shown = from_json(told)["collections"]
            for collection in user_collections():
                here = {each["id"] for each in shown[collection]}
                for key, document in self.world.table(collection).items():
                    is_old = self.world.written_by[collection, key].at < begun
                    if document.get("user_id") == user_id and is_old and document.get("id", key) not in here:
                        self.missing.append(f"the export of {person.name} lacks {key} of {collection}")

        self.stage.start(
            f"export what is kept of {person.name}", work, REQUEST_SECONDS, settings=self.world.chat_settings
        )

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        yield from self.missing
        yield from self._told()
        for (collection, key), version in self.world.written_by.items():
            if whose := self._strangers(collection, version):
                yield f"{version.process and version.process.name} wrote {key} of {collection}, which is {whose}'s"
        for collection, version in self.world.removed_by:
            if whose := self._strangers(collection, version):
                yield f"{version.process and version.process.name} deleted in {collection} what is {whose}'s"

    def _told(self) -> Iterator[str]:
        """Every event of a document is in its person's feed."""
        feed = self.world.table(activity.COLLECTION)
        for collection, documents in self.world.tables.documents.items():
            for key, document in documents.items():
                if document.get("user_id") in self.stage.leaving:
                    continue
                for event in map(from_json, document.get("events", ())):
                    if event["id"] not in feed:
                        yield f"{event['id']} of {key} in {collection} is not in the feed"

    def _strangers(self, collection: str, version: Version) -> str | None:
        """The name of whom the document belongs to, if somebody else's process wrote it."""
        actor = self._actor(version.process)
        owner = (version.document or {}).get("user_id")
        if collection not in user_collections() or actor is None or owner == actor:
            return None
        return next((each.name for each in PEOPLE if each.id == owner), None)

    def _actor(self, process: Process[Any] | None) -> str | None:
        """The id of the person for whom a process acts; None if it acts for all, or for a stranger."""
        if process is None or process.name.endswith(", by a stranger"):
            return None
        words = process.name.replace("'", " ").replace(",", " ").replace(":", " ").split()
        for each in PEOPLE:
            if each.name in words:
                return each.id
        records = {key[:9]: versions[0].document for key, versions in self.world.records.items()}
        return next((found["user_id"] for each in words if (found := records.get(each))), None)
