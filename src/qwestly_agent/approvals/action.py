"""An action that the agent may propose: its arguments, subject, preview, effect and inverse."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import BaseModel

from qwestly_agent.approvals.plain_request import FieldValues
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_answers import Outcome
from qwestly_agent.domain.approval import Approval, Effect, Kind, Preview, canonical_json, sha256_hex
from qwestly_agent.services import Services

A = TypeVar("A", bound=BaseModel)
Upgrade: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""Converts arguments of an earlier schema to the present one."""


@dataclass(frozen=True)
class Inverse(Generic[A]):
    """How the same action undoes itself."""

    arguments: Callable[[Services, str, A], Awaitable[dict[str, Any]]]
    """Read just before the effect: the arguments that restore what is there."""
    is_as_done: Callable[[Services, str, A], Awaitable[bool]]
    """True if nobody has changed it since the action."""
    named: Callable[[A, Mapping[str, Any]], list[FieldValues]] | None = None
    """From the arguments and those of the inverse: the values that a person must name to ask for this. Empty if no
    words suffice; None for actions that are always asked about."""


SUBJECT_ARGUMENTS = ("field", "name", "card_id")
"""Arguments that identify an action's subject."""


def is_about(approval: Approval, tool: str, arguments: Mapping[str, Any]) -> bool:
    """True if the approval has the subject of this action with these arguments."""
    asked = approval.arguments
    return approval.tool == tool and all(asked.get(name) == arguments.get(name) for name in SUBJECT_ARGUMENTS)


def digest_of(shown: Mapping[str, str]) -> str:
    """Names the values that a person was shown."""
    return sha256_hex(canonical_json(shown))


def same(arguments: dict[str, Any]) -> dict[str, Any]:
    """The upgrade from a schema that the present one includes."""
    return arguments


@dataclass(frozen=True)
class Action(Generic[A]):
    tool: str
    kind: Kind
    effect: Effect
    arguments: type[A]
    subject: Callable[[A], str]
    shown: Callable[[Services, str, A], Awaitable[dict[str, str]]]
    """Read the current values of what would change; they are compared again before the effect."""
    preview: Callable[[A, Mapping[str, str]], Preview]
    perform: Callable[[Services, candidate_app.Effect, A], Awaitable[Outcome]]
    done: str
    """The sentence for the user once it is done."""
    published: tuple[str, ...] = ()
    """Arguments that become a text which others read: without the contact details of the user's documents."""
    editable: tuple[str, ...] = ()
    """Arguments that a person may edit when approving."""
    must_exist: bool = False
    sent_before: str = ""
    """The sentence for the user if its subject exists already: then it is neither done nor asked again. Empty if it
    replaces what is there."""
    ours: bool = False
    """True if it changes our own data only: performing it is idempotent, and the version of its subject is the digest
    of the values shown, which it compares for itself."""
    revisable: bool = True
    """True if a person may ask for changes: something must be able to make a new version of it."""
    signed_in_only: bool = False
    """True if it is never mailed, and is decided in the chat or the signed-in queue only."""
    inverse: Inverse[A] | None = None
    """None if it cannot be undone."""
    upgrades: Mapping[str, Upgrade] = field(default_factory=dict)
    """By the `schema_digest` of an earlier version: how approvals that were asked for with it are read."""

    def upgraded(self, schema_digest: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Convert the arguments to the present schema; None if that version can no longer be read."""
        upgrade = same if schema_digest == self.schema_digest else self.upgrades.get(schema_digest)
        return upgrade(arguments) if upgrade else None

    @cached_property
    def schema_digest(self) -> str:
        return sha256_hex(canonical_json(self.arguments.model_json_schema()))

    @property
    def by_link(self) -> bool:
        """True if a mailed link may decide it."""
        return self.effect != "destructive" and not self.signed_in_only
