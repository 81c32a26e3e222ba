"""The summary of each conversation: fields of `agent_conversations`.

`summary_due` is the cut of the window for which one was begun; forgetting removes both fields.
"""

from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.summary import Summary
from qwestly_agent.stores.conversations import COLLECTION, key_of
from qwestly_agent.stores.messages import summary_of
from qwestly_agent.stores.store import Store


class Summaries(Store):
    async def due(self, user_id: str, conversation_id: str) -> tuple[int, Summary | None]:
        """The cut for which one was begun (0: none is due), and the current summary. Raises `NotFound`."""
        fields = {"summary": 1, "summary_due": 1}
        document = await self.database[COLLECTION].find_one(key_of(user_id, conversation_id), fields)
        if document is None:
            raise NotFound("There is no such conversation.")
        return document.get("summary_due", 0), summary_of(document)

    async def keep(self, user_id: str, conversation_id: str, summary: Summary) -> bool:
        """False if another cut has been made since, or something was forgotten."""
        here = {**key_of(user_id, conversation_id), "summary_due": summary.to}
        kept = await self.database[COLLECTION].update_one(here, {"$set": {"summary": summary.model_dump(mode="json")}})
        return kept.matched_count == 1
