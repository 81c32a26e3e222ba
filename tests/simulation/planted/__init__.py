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
    nights,
    owners,
    pages,
    readings,
    restores,
)
from tests.simulation.planted.plant import Plant

_STORIES = (
    approvals,
    mails,
    executions,
    chats,
    conversations,
    memories,
    readings,
    nights,
    accounts,
    brakes,
    owners,
    pages,
)
PLANTED: Mapping[str, Plant] = {
    **{plant.__name__.strip("_").replace("_", " "): plant for story in _STORIES for plant in story.PLANTS},
    **restores.PLANTS,
}
