"""Mistakes in what puts a restored database right: each leaves out what one of its steps finds."""

from contextlib import AbstractContextManager
from functools import partial
from typing import Any
from unittest.mock import patch

from infra.restore import Check, Findings
from tests.simulation.planted.plant import Plant


def _without(step: str) -> AbstractContextManager[Any]:
    async def nothing(_: Check) -> Findings:
        for each in ():
            yield each

    return patch.object(Check, step, nothing)


STEPS = {
    "back although erased": "erased_users",
    "back although deleted": "deleted_conversations",
    "back although forgotten": "forgotten_memories",
    "asked again although done": "carried_out",
    "undone again": "undone",
    "asked for nobody": "waiting_for_nobody",
    "mailed again": "mails",
}
PLANTS: dict[str, Plant] = {name: partial(_without, step) for name, step in STEPS.items()}
