"""The summary of each conversation: fields of `agent_conversations`.

`summary_due` is the window's cut for which a summary was begun. Forgetting removes both fields.
"""

from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.conversation import Summary
from qwestly_agent.platform.collection import Store
from qwestly_agent.stores.conversations import COLLECTION, key_query
from qwestly_agent.stores.messages import summary_of


class Summaries(Store):
    async def get_due(self, user_id: str, conversation_id: str) -> tuple[int, Summary | None]:
        """Return the cut for which a summary was begun (0 if none is due), and the current summary. Raises
        `NotFound`."""
        fields = {"summary": 1, "summary_due": 1}
        document = await self.database[COLLECTION].find_one(key_query(user_id, conversation_id), fields)
        if document is None:
            raise NotFound("There is no such conversation.")
        return document.get("summary_due", 0), summary_of(document)

    async def save(self, user_id: str, conversation_id: str, summary: Summary) -> bool:
        """Store the summary. Returns False if another cut was made since, or if something was forgotten."""
        here = {**key_query(user_id, conversation_id), "summary_due": summary.to}
        kept = await self.database[COLLECTION].update_one(here, {"$set": {"summary": summary.model_dump(mode="json")}})
        return kept.matched_count == 1
