"""The declaration of a workflow. Each workflow's package contains its own, and `workflows.py` lists them all.

A declaration refers to modules by name and imports them when they are needed, so it loads neither FastAPI nor a model
library.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from qwestly_agent.approvals.ask_for_workflow import MakeRequest
    from qwestly_agent.workflow_state import StateFunction

Side: TypeAlias = Literal["reader", "writer", "opener"]


@dataclass(frozen=True)
class Workflow:
    """The declaration of a workflow. States have the same names as in the state machine. A state is defined in the
    module of that name, unless its module is given (`reader.rank`)."""

    name: str
    """Also the name of its file in `statemachines/` and of its folder in `functions/`."""
    package: str
    summary: str
    """Its input and result, for docs/architecture.md."""
    page: str
    """A link to its documentation."""
    receipt_name: str
    """The name of a run in the brake's receipt, for docs/approvals.md: `run_name` of its states."""
    recovery: str
    """What an operator does if an execution failed, for docs/runbook.md."""
    execution_name: str = ""
    """The name of an execution, for docs/runbook.md, if it differs from `receipt_name`."""
    reader: tuple[str, ...] = ()
    """States that read untrusted text or call models."""
    writer: tuple[str, ...] = ()
    """States that have effects, and call no model."""
    opener: tuple[str, ...] = ()
    """States that open uploaded files."""
    sweep: str = ""
    """The state that a schedule runs in the writer; empty if there is none."""
    has_parser: bool = False
    """True if the reader needs the design's résumé parser."""
    routers: tuple[str, ...] = ()
    """Modules of `chat/routers/` with its routes."""
    actions: tuple[str, ...] = ()
    """Its actions, with their modules: `actions.PUBLISH_CARD`."""
    asks: str = ""
    """The function that makes the approval request for which an execution waits, with its module:
    `ask_to_publish.ask_to_publish`."""
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    """The reasons shown for its events in the activity feed, by type ("jobs.found") or subject ("lesson")."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The workflow's functions."""
        sides: tuple[Side, ...] = ("opener", "reader", "writer")
        return tuple(each for each in sides if getattr(self, each))

    def load_states(self, side: Side) -> "dict[str, StateFunction[Any, Any]]":
        """Import and return the states of one function, by name. Raises `ImportError` or `AttributeError` if one does
        not exist."""
        states = [self._load(each) for each in getattr(self, side)]
        return {each.name: each for each in states}

    def load_sweep(self, side: Side) -> "dict[str, StateFunction[Any, Any]]":
        """Import and return the sweep, by name, if this function runs it."""
        return {self.sweep: self._load(self.sweep)} if self.sweep and side == "writer" else {}

    def load_request(self) -> "MakeRequest":
        """Import and return the function named by `asks`."""
        return self._load(self.asks)

    def _load(self, place: str) -> Any:
        module, _, name = place.rpartition(".")
        return getattr(import_module(f"{self.package}.{module or name}"), name)
