"""Ids as an argument, so that a test knows them."""

import uuid
from typing import Protocol


class NewId(Protocol):
    """A string that nobody was given before, of letters and digits."""

    def __call__(self) -> str: ...


def new_id() -> str:
    return uuid.uuid4().hex
