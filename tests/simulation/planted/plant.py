"""A mistake that is put into the real code for as long as its context lasts."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

Plant: TypeAlias = Callable[[], AbstractContextManager[Any]]


async def nothing(*_: Any, **__: Any) -> None:
    """In place of something that must be done."""
