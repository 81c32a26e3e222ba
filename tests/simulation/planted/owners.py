"""Mistakes in whose a document is, in exports, and in the feed."""

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest.mock import patch

from qwestly_agent.platform import outbox
from qwestly_agent.stores import user_settings
from qwestly_agent.stores.conversations import COLLECTION, Conversations
from qwestly_agent.stores.messages import Messages
from qwestly_agent.stores.runs import Sweeps
from qwestly_agent.stores.user_data import UserData
from tests.simulation.planted.plant import Plant, nothing


async def _none(*_: Any) -> list[Any]:
    return []


def _contexts_of_everybody_dropped() -> AbstractContextManager[Any]:
    """When one person forgets, the contexts of all go."""

    async def drop_contexts(self: Conversations, _: str) -> None:
        await self.database[COLLECTION].update_many({}, {"$unset": {"context": "", "last_answer": ""}})

    return patch.object(Conversations, "drop_contexts", drop_contexts)


def _messages_of_everybody_deleted() -> AbstractContextManager[Any]:
    """A conversation is deleted by its id alone, which others' may have, too."""

    async def delete_all(self: Messages, _: str, conversation_id: str) -> None:
        await self.database["agent_messages"].delete_many({"conversation_id": conversation_id})

    return patch.object(Messages, "delete_all", delete_all)


def _exported_in_part() -> AbstractContextManager[Any]:
    async def iterate(self: UserData, user_id: str, collection: str) -> AsyncIterator[Any]:
        async for document in original(self, user_id, collection):
            yield document
            return

    original = UserData.iterate
    return patch.object(UserData, "iterate", iterate)


def _events_left_behind() -> AbstractContextManager[Any]:
    """What is not copied into the feed at once never is."""
    stack = ExitStack()
    stack.enter_context(patch.object(user_settings, "copy_after_write", nothing))
    stack.enter_context(patch.object(outbox, "copy_after_write", nothing))
    stack.enter_context(patch.object(Sweeps, "list_uncopied", _none))
    return stack


PLANTS: tuple[Plant, ...] = (
    _contexts_of_everybody_dropped,
    _messages_of_everybody_deleted,
    _exported_in_part,
    _events_left_behind,
)
