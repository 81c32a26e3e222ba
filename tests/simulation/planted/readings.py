"""Mistakes in what is left out of what is read."""

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from qwestly_agent.memory import service
from qwestly_agent.stores.conversations import Watermarks
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


PLANTS: tuple[Plant, ...] = (
    _left_out_and_read,
    _left_out_and_kept,
)
