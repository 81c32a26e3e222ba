"""The declaration of a workflow. Each workflow's package contains its own, and `workflows.py` lists them all.

A declaration refers to modules by name and imports them only when needed, so it loads neither FastAPI nor a model
library.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from qwestly_agent.base.errors import Unavailable

if TYPE_CHECKING:
    from qwestly_agent.approvals.ask_for_workflow import MakeRequest
    from qwestly_agent.platform.work import Work
    from qwestly_agent.services import Services
    from qwestly_agent.workflow_state import StateFunction

T = TypeVar("T", bound=Any)
Side: TypeAlias = Literal["reader", "writer", "opener"]


@dataclass(frozen=True)
class Workflow:
    """The declaration of a workflow. States have the same names as in the state machine. A state is defined in the
    module with its name, unless a module is given (`reader.rank`)."""

    name: str
    """The name, also of the file in `statemachines/`."""
    package: str
    summary: str
    """The workflow's input and result, for docs/architecture.md."""
    page: str
    """A link to the workflow's documentation."""
    receipt_name: str
    """The name of a run in the brake's receipt (`run_name` of the states), for docs/approvals.md."""
    recovery: str
    """The steps for an operator after a failed execution, for docs/runbook.md."""
    functions: str = "generate"
    """The folder in `functions/` with the workflow's reader and writer. All workflows share the opener in
    `functions/open_files`."""
    execution_name: str = ""
    """The name of an execution if it differs from `receipt_name`, for docs/runbook.md."""
    reader: tuple[str, ...] = ()
    """States that read untrusted text or call models."""
    writer: tuple[str, ...] = ()
    """States that have effects, and call no model. `note_end` is created from `work` and `model`, if they are given."""
    opener: tuple[str, ...] = ()
    """States that open uploaded files."""
    work: str = ""
    """The store of the records that the workflow processes, by its name in `Services`; empty if there is none."""
    model: str = ""
    """The class of the states' input and output (a `WorkState`), with its module: `model.LessonState`."""
    sweep: str = ""
    """The state that a schedule runs in `functions/approve/clock`; empty for none."""
    has_parser: bool = False
    """True if the reader needs the design's résumé parser."""
    routers: tuple[str, ...] = ()
    """Modules in `chat/routers/` with the workflow's routes."""
    actions: tuple[str, ...] = ()
    """The workflow's actions, with their modules: `actions.PUBLISH_CARD`."""
    asks: str = ""
    """The function that creates the approval request an execution waits for, with its module:
    `publication.ask_to_publish`. The writer's state `ask_approval` calls it."""
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    """The reasons shown for the workflow's events in the activity feed, by type ("jobs.found") or subject
    ("lesson")."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The functions that the workflow uses."""
        sides: tuple[Side, ...] = ("opener", "reader", "writer")
        return tuple(each for each in sides if getattr(self, each))

    def load_states(self, side: Side) -> "dict[str, StateFunction[Any, Any]]":
        """Import and return one function's states, by name. Raises `ImportError` or `AttributeError` if a state does
        not exist."""
        states = [self._load(each) for each in getattr(self, side)]
        return {each.name: each for each in states}

    def load_request(self) -> "MakeRequest":
        """Import and return the function named by `asks`."""
        return self._load(self.asks)

    def load_sweep(self) -> "StateFunction[Any, Any]":
        """Import and return the sweep."""
        return self._load(self.sweep)

    async def begin(self, services: "Services", record: "T") -> "T":
        """Insert a record of the workflow's work, and start its execution (idempotent: the execution is named after the
        record). Returns the record, or the existing one with the same id. If the execution cannot be started, the work
        is marked as failed. Raises `Unavailable`."""
        work: Work[T] = getattr(services, self.work)
        record = work.as_seen(await work.add_or_get(record), services.clock())
        if record.status != work.first_status:
            return record
        given = self._load(self.model)(
            user_id=record.user_id, run_id=record.run_id, **{f"{work.subject}_id": record.id}
        )
        try:
            await services.workflows.start(self.name, given.run_name, given.out)
        except Unavailable:
            await work.move(record.user_id, record.id, services.clock(), "failed", work.try_again)
            raise
        return record

    def _load(self, place: str) -> Any:
        if place == "note_end" and self.work:
            from qwestly_agent.workflow_state import note_end_of

            return note_end_of(self.work, self._load(self.model))
        module, _, name = place.rpartition(".")
        return getattr(import_module(f"{self.package}.{module or name}"), name)
