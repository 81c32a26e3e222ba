"""Mistakes in what is read of conversations: noted, left out, judged later, and summed up."""

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from qwestly_agent.memory import service
from qwestly_agent.stores.conversations import Summaries, Watermarks
from tests.simulation.planted.plant import Plant


def _left_out_and_read() -> AbstractContextManager[Any]:
    """Nobody looks for what people asked not to have remembered."""

    async def get_left_out(*_: Any) -> frozenset[str]:
        return frozenset()

    return patch.object(Watermarks, "get_left_out", get_left_out)


def _left_out_and_kept() -> AbstractContextManager[Any]:
    """What a tool stored stays."""

    async def undo(*_: Any) -> list[Any]:
        return []

    return patch.object(service, "undo", undo)


def _summed_up_without_its_sources() -> AbstractContextManager[Any]:
    """A summary does not say what the answers in it saw."""

    async def save(self: Summaries, user_id: str, conversation_id: str, summary: Any) -> bool:
        return await original(self, user_id, conversation_id, summary.model_copy(update={"saw": ()}))

    original = Summaries.save
    return patch.object(Summaries, "save", save)


PLANTS: tuple[Plant, ...] = (
    _left_out_and_read,
    _left_out_and_kept,
    _summed_up_without_its_sources,
)
