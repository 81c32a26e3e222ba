"""Designs: each offers agents by role. A turn sees its agent only as a `TurnAgent`."""

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
"""The same type as in `pydantic_ai.ui`, whose import would also load its adapters."""

Role: TypeAlias = Literal["chat", "onboarding", "interview", "learning"]
"""The purpose of a conversation."""
ROLES: tuple[Role, ...] = get_args(Role)

EVENT_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
RESERVED_EVENTS = frozenset(
    {"activity", "approval", "approval_decided", "approval_required", "conversation", "done", "draft", "error"}
    | {"memory", "progress", "sources", "text_delta", "tool_call", "tool_result"}
)
"""Names of our own events and data parts."""


class Cancellation(CancellationToken):
    """Cancels a run. A design that runs outside of pydantic-ai appends its own cancel function to `also`."""

    def __init__(self) -> None:
        super().__init__()
        self.cancel_functions: list[Callable[[], object]] = []

    def cancel(self) -> None:
        super().cancel()
        for cancel in self.cancel_functions:
            cancel()


@dataclass(frozen=True)
class AgentTurn:
    """The input of an agent for one turn."""

    prompt: str
    """The user's message, after a note on the outcomes of approvals."""
    history: Sequence[ModelMessage]
    """The conversation's window, including answers of other designs."""
    context: str
    """The user's profile and memories: the second part of the instructions, constant within the conversation."""
    deps: AgentDeps
    conversation_id: str
    run_id: str
    cancellation: Cancellation
    seconds: float
    """Time limit for the answer."""


class AgentRun(Protocol):
    """A run of an agent. Iterate over it for its events."""

    def __aiter__(self) -> AsyncIterator[NativeEvent]: ...

    def new_messages(self) -> list[ModelMessage]:
        """Return the prompt and the answer so far, also of a run that was interrupted."""
        ...


class TurnAgent(Protocol):
    """Runs the turns of a role. `make_agent` and `OwnLoop` put the guardrails around its models and tools."""

    @property
    def prompt_version(self) -> str:
        """Changes with the instructions, so that an answer can be traced to its prompt."""
        ...

    def run(self, turn: AgentTurn) -> AbstractAsyncContextManager[AgentRun]: ...


class NoSettings(BaseModel):
    """The settings of a design that declares none."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Design:
    name: str
    roles: Mapping[Role, Callable[[Models, Any], TurnAgent]]
    """Each function builds an agent from the models and the design's settings. Missing roles come from the default
    design."""
    settings: type[BaseModel] = NoSettings
    resume_parser: Callable[[Models, Any], ResumeParser] | None = None
    """Builds the résumé parser; None to use the default design's."""


@dataclass(kw_only=True)
class DesignEvent(CustomEvent):
    """An event of a design, sent with `ctx.emit`. Plain clients receive it as the event `kind`, AI SDK clients as
    `data-<kind>`. It is not stored. Raises `ValueError` if `kind` is not a valid name or is reserved."""

    kind: str
    values: dict[str, Any] = field(default_factory=dict)
    part: str = ""
    """Another name for the AI SDK's data part: `data-<part>`."""

    def __post_init__(self) -> None:
        self.part = self.part or self.kind
        if not EVENT_NAME.fullmatch(self.kind) or self.kind in RESERVED_EVENTS:
            raise ValueError(f"{self.kind!r} cannot be the name of a design's event.")
