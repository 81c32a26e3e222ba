"""Ids as an argument, so that tests can choose them."""

import uuid
from typing import Protocol


class NewId(Protocol):
    """Returns a new unique string of letters and digits."""

    def __call__(self) -> str: ...


def new_id() -> str:
    return uuid.uuid4().hex
