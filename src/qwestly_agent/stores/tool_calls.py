"""`agent_tool_calls`: audit log of tool calls and their results. Written once, read by operators."""

from collections.abc import Callable, Collection, Sequence
from datetime import timedelta

from pydantic import BaseModel, ConfigDict

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.stores.collection import Expires, MongoCollection, index
from qwestly_agent.stores.store import Store

RETENTION = timedelta(days=30)
COLLECTION = MongoCollection(
    "agent_tool_calls",
    Expires(RETENTION),
    index("user_at", "user_id", "-at"),
    index("tool_outcome", "tool", "outcome", "-at"),
    holds="arguments and results of tools; e-mail addresses and secrets are masked",
)
"""`_id` (`run:number`), `user_id`, `conversation_id`, `run_id`, `number`, `call_id`, `tool`, `effect`, `outcome`
(`succeeded`, `failed`, `refused`, `waiting`, `cancelled`, `running`), `arguments`, `result`, `error`, `ms`, `at`,
`expires_at`."""
_TEXTS = ("arguments", "result", "error")


class ToolCallEntry(BaseModel):
    """An entry of the audit log. The caller masks and truncates `arguments`, `result` and `error`."""

    model_config = ConfigDict(frozen=True)

    call_id: str
    number: int
    """Position in the run, from 1."""
    tool: str
    effect: str | None
    """None for a tool that does not exist."""
    outcome: str
    arguments: str
    result: str | None
    error: str | None
    ms: int | None
    at: float
    """Seconds since the epoch."""


class ToolCalls(Store):
    async def forget(self, user_id: str, conversation_id: str) -> None:
        await self.database[COLLECTION].delete_many({"user_id": user_id, "conversation_id": conversation_id})

    async def clear_texts(
        self, user_id: str, ids: Collection[str], contains_forgotten: Callable[[str], bool], run_id: str | None = None
    ) -> None:
        """Clear arguments, result and error of entries that contain one of `ids` or that `contains_forgotten` matches, and of
        all in `run_id`."""
        found = self.database[COLLECTION].find({"user_id": user_id}, {"run_id": 1, **dict.fromkeys(_TEXTS, 1)})
        entries = [
            each["_id"]
            async for each in found
            for text in (" ".join(each.get(name) or "" for name in _TEXTS),)
            if each["run_id"] == run_id or any(each_id in text for each_id in ids) or contains_forgotten(text)
        ]
        query = {"user_id": user_id, "_id": {"$in": entries}}
        nothing = {"arguments": "", "result": None, "error": None}
        await self.database[COLLECTION].update_many(query, {"$set": nothing})

    async def add(self, user_id: str, conversation_id: str, run_id: str, entries: Sequence[ToolCallEntry]) -> None:
        if not entries:
            return
        await self.database[COLLECTION].insert_many(
            [
                {
                    **entry.model_dump(),
                    "_id": f"{run_id}:{entry.number}",
                    "user_id": user_id,
                    "conversation_id": conversation_id,
                    "run_id": run_id,
                    "expires_at": to_datetime(entry.at) + RETENTION,
                }
                for entry in entries
            ]
        )
