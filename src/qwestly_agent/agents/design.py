"""Designs: each offers agents by role. A turn knows its agent only as a `TurnAgent`."""

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict
from pydantic_ai import AgentRunResultEvent, CancellationToken
from pydantic_ai.messages import AgentStreamEvent, CustomEvent, ModelMessage

from qwestly_agent.agents.base import AgentDeps, Models
from qwestly_agent.resumes.parser import ResumeParser

NativeEvent: TypeAlias = AgentStreamEvent | AgentRunResultEvent[Any]
"""As in `pydantic_ai.ui`, whose import brings its adapters along."""

Role: TypeAlias = Literal["chat", "onboarding", "interview", "learning"]
"""What a conversation is for."""
ROLES: tuple[Role, ...] = get_args(Role)

EVENT_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
RESERVED_EVENTS = frozenset(
    {"activity", "approval", "approval_decided", "approval_required", "conversation", "done", "draft", "error"}
    | {"memory", "progress", "sources", "text_delta", "tool_call", "tool_result"}
)
"""Names of our own events and data parts."""


class Cancellation(CancellationToken):
    """Cancels a run, also one outside of the library: that one adds itself to `also`."""

    def __init__(self) -> None:
        super().__init__()
        self.also: list[Callable[[], object]] = []

    def cancel(self) -> None:
        super().cancel()
        for cancel in self.also:
            cancel()


@dataclass(frozen=True)
class AgentTurn:
    """What an agent is given for one turn."""

    prompt: str
    """The user's message, after the note on what became of approvals."""
    history: Sequence[ModelMessage]
    """The conversation's window, with this and other designs' answers."""
    context: str
    """The user's profile and memories: the second part of the instructions, the same in each turn."""
    deps: AgentDeps
    conversation_id: str
    run_id: str
    cancellation: Cancellation
    seconds: float
    """Time in which the answer must end."""


class AgentRun(Protocol):
    """A run that answers; its events as they occur."""

    def __aiter__(self) -> AsyncIterator[NativeEvent]: ...

    def new_messages(self) -> list[ModelMessage]:
        """Return the prompt and the answer so far, wherever the run broke off."""
        ...


class TurnAgent(Protocol):
    """How the turns of a role run. `make_agent` and `OwnLoop` put the guardrails around its models and tools."""

    @property
    def prompt_version(self) -> str:
        """Changes with the instructions, so that an answer can be traced to the prompt that led to it."""
        ...

    def run(self, turn: AgentTurn) -> AbstractAsyncContextManager[AgentRun]: ...


class NoSettings(BaseModel):
    """The settings of a design that declares none."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Design:
    name: str
    roles: Mapping[Role, Callable[[Models, Any], TurnAgent]]
    """Each makes its agent from the models and the design's settings. The default design provides missing roles."""
    settings: type[BaseModel] = NoSettings
    resume_parser: Callable[[Models, Any], ResumeParser] | None = None
    """Makes the parser of résumés; None for the default design's."""


@dataclass(kw_only=True)
class DesignEvent(CustomEvent):
    """An event of a design, sent by `ctx.emit`. Plain clients get it as the event `kind`, those of the AI SDK as
    `data-<kind>`. It is not stored. Raises `ValueError` for a kind that is not a valid name, or is one of ours."""

    kind: str
    values: dict[str, Any] = field(default_factory=dict)
    part: str = ""
    """Another name for the AI SDK's part: `data-<part>`."""

    def __post_init__(self) -> None:
        self.part = self.part or self.kind
        if not EVENT_NAME.fullmatch(self.kind) or self.kind in RESERVED_EVENTS:
            raise ValueError(f"{self.kind!r} cannot be the name of a design's event.")
