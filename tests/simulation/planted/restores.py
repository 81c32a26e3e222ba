"""Mistakes in what puts a restored database right: each leaves out what one of its steps finds."""

from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from infra.restore import Check, Findings
from tests.simulation.planted.plant import Plant


def _without(step: str) -> AbstractContextManager[Any]:
    async def nothing(_: Check) -> Findings:
        for each in ():
            yield each

    return patch.object(Check, step, nothing)


def _back_although_erased() -> AbstractContextManager[Any]:
    return _without("erased_users")


def _back_although_deleted() -> AbstractContextManager[Any]:
    return _without("deleted_conversations")


def _back_although_forgotten() -> AbstractContextManager[Any]:
    return _without("forgotten_memories")


def _asked_again_although_done() -> AbstractContextManager[Any]:
    return _without("carried_out")


def _undone_again() -> AbstractContextManager[Any]:
    return _without("undone")


def _asked_for_nobody() -> AbstractContextManager[Any]:
    return _without("waiting_for_nobody")


def _mailed_again() -> AbstractContextManager[Any]:
    return _without("mails")


PLANTS: tuple[Plant, ...] = (
    _back_although_erased,
    _back_although_deleted,
    _back_although_forgotten,
    _asked_again_although_done,
    _undone_again,
    _asked_for_nobody,
    _mailed_again,
)
