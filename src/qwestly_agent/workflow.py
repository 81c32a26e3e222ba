"""A workflow as the rest of the program sees it. Its package declares it once; `workflows.py` lists them.

A declaration names modules, which are imported when they are needed: it loads neither FastAPI nor a model library.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from qwestly_agent.workflow_state import StateFunction

Side: TypeAlias = Literal["reader", "writer", "opener"]


@dataclass(frozen=True)
class Workflow:
    """A state is named as in the state machine. It stands in the module of its name, or is named with its module
    (`reader.rank`)."""

    name: str
    """Of its file in `statemachines/` and of its folder in `functions/`."""
    package: str
    summary: str
    """What it makes of what, for docs/architecture.md."""
    page: str
    """Where the documents say more, a link."""
    reader: tuple[str, ...] = ()
    """States that see what others wrote, or ask models."""
    writer: tuple[str, ...] = ()
    """States that have effects, and ask no model."""
    opener: tuple[str, ...] = ()
    """States that open people's files."""
    sweep: str = ""
    """What a schedule calls by itself, in the writer."""
    has_parser: bool = False
    """Its reader asks the design's parser of résumés."""
    routers: tuple[str, ...] = ()
    """Modules of `chat/routers/` with its routes."""
    actions: tuple[str, ...] = ()
    """What its owner lets the agent propose, with its module: `actions.PUBLISH_CARD`."""
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why its events are in the activity feed, by their type ("jobs.found") or their subject ("lesson")."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """Its functions."""
        sides: tuple[Side, ...] = ("opener", "reader", "writer")
        return tuple(each for each in sides if getattr(self, each))

    def states(self, side: Side) -> "dict[str, StateFunction[Any, Any]]":
        """Import the states of one of its functions. Raises `ImportError` and `AttributeError` for one that is not
        there."""
        states = [self._load(each) for each in getattr(self, side)]
        return {each.name: each for each in states}

    def scheduled(self, side: Side) -> "dict[str, StateFunction[Any, Any]]":
        return {self.sweep: self._load(self.sweep)} if self.sweep and side == "writer" else {}

    def _load(self, state: str) -> "StateFunction[Any, Any]":
        module, _, name = state.rpartition(".")
        return getattr(import_module(f"{self.package}.{module or name}"), name)
