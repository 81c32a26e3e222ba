"""An action that the agent may propose: its arguments, subject, preview, effect and inverse."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from qwestly_agent.base.errors import Invalid
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_app import Outcome
from qwestly_agent.domain.approval import Approval, Effect, Kind, Preview, canonical_json, sha256_hex
from qwestly_agent.text.clean import visible

# --- action -----------------------------------------------------------------------------------------------------------
# Each package defines its own actions, as in `cards/actions.py`; `workflows.ACTIONS` collects them. A tool only
# proposes an action. Only `approvals/execute.py` calls `perform`.


S = TypeVar("S")
"""`Services`, which contains all actions."""
A = TypeVar("A", bound=BaseModel)
Upgrade: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""Converts arguments from an earlier schema to the current one."""


@dataclass(frozen=True)
class FieldValues:
    """The values of a field before and after a change, as text."""

    field: str
    new: Sequence[str]
    removed: Sequence[str] = ()
    """Entries removed from a list."""
    kept: Sequence[str] = ()
    """Entries kept in a list."""


@dataclass(frozen=True)
class Inverse(Generic[S, A]):
    """The undo of an action: the same action with other arguments."""

    arguments: Callable[[S, str, A], Awaitable[dict[str, Any]]]
    """Returns the arguments that restore the current values. Called just before the effect."""
    is_unchanged: Callable[[S, str, A], Awaitable[bool]]
    """True if the values have not been changed since the action."""
    requested_values: Callable[[A, Mapping[str, Any]], list[FieldValues]] | None = None
    """Takes the arguments and those of the inverse. Returns the values that a message must contain to count as a
    request for this action; an empty list if no message can count as one."""
    told_of: Callable[[S, str, A], Awaitable[str]] | None = None
    """For actions that record what users report in their own words: returns the name that the message must contain to
    be about the action's subject, or an empty string if approval is always needed. An action that has neither
    `requested_values` nor `told_of` always needs approval."""


@dataclass(frozen=True)
class Redraft(Generic[S]):
    """A workflow that redrafts a text when the user asks for changes."""

    section: Callable[[Approval], str | None]
    """Returns the kind of section to draft; None if this approval has no text that can be redrafted."""
    start: Callable[[S, Approval, str], Awaitable[None]]
    """Starts the workflow that redrafts this section and requests approval again (idempotent)."""


SUBJECT_ARGUMENTS = ("field", "name", "card_id")
"""Arguments that identify an action's subject."""


def has_same_subject(approval: Approval, tool: str, arguments: Mapping[str, Any]) -> bool:
    """True if the approval is for the same tool and the same subject as these arguments."""
    asked = approval.arguments
    return approval.tool == tool and all(asked.get(name) == arguments.get(name) for name in SUBJECT_ARGUMENTS)


def digest_of(shown: Mapping[str, str]) -> str:
    """Return a digest of the values that a person was shown."""
    return sha256_hex(canonical_json(shown))


def keep_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments unchanged: the upgrade from a schema that is still valid."""
    return arguments


@dataclass(frozen=True)
class Action(Generic[S, A]):
    tool: str
    kind: Kind
    effect: Effect
    hours: float
    """How long the approval waits, at most a week; a stage may override it."""
    arguments: type[A]
    subject: Callable[[A], str]
    read_current: Callable[[S, str, A], Awaitable[dict[str, str]]]
    """Reads the current values that would change. They are compared again before the effect."""
    preview: Callable[[A, Mapping[str, str]], Preview]
    perform: Callable[[S, candidate_app.Effect, A], Awaitable[Outcome]]
    done_message: str
    """The sentence shown to the user after the effect."""
    published: tuple[str, ...] = ()
    """Arguments that become public text; contact details from the user's documents are removed from them."""
    editable: tuple[str, ...] = ()
    """Arguments that a person may edit when approving."""
    must_exist: bool = False
    duplicate_message: str = ""
    """The sentence shown to the user if the subject already exists; the action is then not executed, and no new
    approval is requested. Empty if the action may replace an existing subject."""
    is_own_data: bool = False
    """True if the action only changes our own data. Executing it is then idempotent; the version of its subject is the
    digest of the shown values, which `perform` itself compares."""
    revisable: bool = True
    """True if a person may request changes, because a new version can be made."""
    signed_in_only: bool = False
    """True if the approval can be decided only in the chat or in the queue, by the signed-in user, and is never
    mailed."""
    most_unasked_a_day: int = 20
    """Maximum number of runs without approval within 24 hours; after that the action needs approval at every level."""
    inverse: Inverse[S, A] | None = None
    """None if the action cannot be undone."""
    redraft: Redraft[S] | None = None
    """None if no workflow can redraft the text; the model then proposes a new version in the chat."""
    on_asked: Callable[[S, Approval], Awaitable[None]] | None = None
    """Called after the approval is created (idempotent)."""
    on_done: Callable[[S, Approval, A], Awaitable[None]] | None = None
    """Called after the effect, before the record is marked as done (idempotent)."""
    on_ended: Callable[[S, Approval], Awaitable[None]] | None = None
    """Called after the approval has ended, if no execution waits for it (idempotent)."""
    upgrades: Mapping[str, Upgrade] = field(default_factory=dict)
    """Conversions of arguments, by the `schema_digest` of the earlier schema."""

    def parse(self, arguments: Mapping[str, Any]) -> A:
        """Parse the arguments. Raises `Invalid` if the action does not accept them."""
        try:
            return self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise Invalid(f"{where or 'arguments'}: {first['msg']}.") from None

    def arguments_of(self, approval: Approval) -> A:
        """Parse the approval's arguments with the current schema. Raises `Invalid` if they can no longer be read."""
        return self.parse(self.upgrade_arguments(approval.schema_digest, approval.arguments) or {})

    def upgrade_arguments(self, schema_digest: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Convert the arguments to the current schema; None if their schema is no longer supported."""
        upgrade = keep_arguments if schema_digest == self.schema_digest else self.upgrades.get(schema_digest)
        return upgrade(arguments) if upgrade else None

    @cached_property
    def schema_digest(self) -> str:
        return sha256_hex(canonical_json(self.arguments.model_json_schema()))

    @property
    def is_link_allowed(self) -> bool:
        """True if the approval may be decided by a mailed link."""
        return self.effect != "destructive" and not self.signed_in_only


class Actions(Mapping[str, Action[S, Any]]):
    """Actions by tool. Their modules are imported at the first access."""

    def __init__(self, names: Sequence[str]) -> None:
        """Each name includes its module, as in `qwestly_agent.cards.actions.PUBLISH_CARD`."""
        self._names = names

    @cached_property
    def _by_tool(self) -> dict[str, Action[S, Any]]:
        places = (each.rpartition(".") for each in self._names)
        actions = [getattr(import_module(module), name) for module, _, name in places]
        return {each.tool: each for each in actions}

    def __getitem__(self, tool: str) -> Action[S, Any]:
        return self._by_tool[tool]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_tool)

    def __len__(self) -> int:
        return len(self._names)


# --- arguments --------------------------------------------------------------------------------------------------------
# Argument types shared by several actions: pydantic models that remove invisible characters and forbid unknown fields.


def _in_one_line(text: str) -> str:
    return " ".join(visible(text).split())


Line: TypeAlias = Annotated[str, AfterValidator(_in_one_line), StringConstraints(min_length=1, max_length=300)]
ApprovalId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
CardId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
DraftId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]


class Arguments(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


def to_json_types(value: Any) -> Any:
    """Convert the value to JSON types, without fields that are None."""
    return TypeAdapter(Any).dump_python(value, mode="json", exclude_none=True)
