"""Mistakes that the simulation must find, by the story that finds them."""

from collections.abc import Mapping

from tests.simulation.planted import (
    accounts,
    approvals,
    brakes,
    chats,
    conversations,
    executions,
    mails,
    memories,
    owners,
    pages,
)
from tests.simulation.planted.plant import Plant

PLANTED: Mapping[str, Plant] = {
    plant.__name__.strip("_").replace("_", " "): plant
    for story in (approvals, mails, executions, chats, conversations, memories, accounts, brakes, owners, pages)
    for plant in story.PLANTS
}
