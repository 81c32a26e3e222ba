"""Designs: each offers agents by role. A turn knows its agent only as a `TurnAgent`.

They are found by themselves: each folder here that exports `DESIGN`, and those in the folders of `AGENT_DESIGN_PATHS`.
"""

import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Protocol, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_ai import AgentRunEvents, AgentRunResultEvent, CancellationToken
from pydantic_ai.messages import AgentStreamEvent, CustomEvent, ModelMessage
from pydantic_core import from_json

from qwestly_agent import agents
from qwestly_agent.agents.base import AgentDeps, ChatAgent, Models
from qwestly_agent.base.errors import Invalid, InvalidSettings
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


@dataclass(frozen=True)
class LibraryAgent:
    """A `TurnAgent` that is one agent of pydantic-ai."""

    agent: ChatAgent
    prompt_version: str

    def run(self, turn: AgentTurn) -> AbstractAsyncContextManager[AgentRunEvents[Any]]:
        return self.agent.run_stream_events(
            turn.prompt,
            message_history=turn.history,
            instructions=turn.context,
            deps=turn.deps,
            conversation_id=turn.conversation_id,
            run_id=turn.run_id,
            cancellation_token=turn.cancellation,
            timeout=turn.seconds,
        )


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


# --- all designs ------------------------------------------------------------------------------------------------------


DEFAULT = "default"
"""The design that provides the roles that another one lacks."""
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Designs:
    """The agents of every design, by role; the default design's for roles that a design lacks."""

    of_new: str
    """The design of new conversations."""
    agents: Mapping[str, Mapping[Role, TurnAgent]]
    variants: Mapping[str, Mapping[Role, TurnAgent]] = field(default_factory=dict)
    """The agents of declared variants, by role."""

    def choose(self, design: str | None, role: Role | None) -> tuple[str, Role]:
        """Design and role of a new conversation. Raises `Invalid`, which names what there is."""
        name, wanted = design or self.of_new, role or "chat"
        if name not in self.agents:
            raise Invalid(f"design: There is no design {name!r}; there is {', '.join(sorted(self.agents))}.")
        if wanted not in self.agents[name]:
            raise Invalid(f"role: {wanted!r} is not offered; {', '.join(self.agents[name])} is.")
        return name, wanted

    def of_variant(self, variant: str | None, role: str) -> TurnAgent | None:
        """The agent of a variant; None if it has none for this role, or is not declared."""
        agents = self.variants.get(variant or "", {})
        return next((agent for name, agent in agents.items() if name == role), None)

    def find(self, design: str, role: str) -> TurnAgent | None:
        """The agent of a conversation; None if its design or role no longer exists."""
        return next((agent for name, agent in self.agents.get(design, {}).items() if name == role), None)


def find_designs(name: str, paths: str) -> dict[str, Design]:
    """The designs by name; `paths` are folders, separated by commas. Raises `InvalidSettings`, which names a design
    that is broken, and lists the known ones if there is none called `name`."""
    found: dict[str, Design] = {}
    for where, module in (*_of_ours(), *_below(paths)):
        if (design := getattr(module, "DESIGN", None)) is None:
            continue
        _check(where, design)
        if design.name in found:
            raise InvalidSettings(f"The agent design in {where}: there is another one called {design.name!r}.")
        found[design.name] = design
    if name not in found:
        raise InvalidSettings(f"There is no agent design {name!r}; the known ones are: {', '.join(sorted(found))}.")
    return found


def read_design_settings(designs: Mapping[str, Design], written: str) -> dict[str, BaseModel]:
    """Each design's settings, of a JSON object by its name. Raises `InvalidSettings`."""
    try:
        given = from_json(written) if written else {}
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise InvalidSettings("AGENT_DESIGN_SETTINGS must be a JSON object.")
    if unknown := given.keys() - designs.keys():
        raise InvalidSettings(f"AGENT_DESIGN_SETTINGS names no design: {min(unknown)!r}.")
    return {name: _settings_of(design, given.get(name, {})) for name, design in designs.items()}


def build_designs(
    of_new: str, designs: Mapping[str, Design], settings: Mapping[str, BaseModel], models: Models
) -> Designs:
    """Raises `InvalidSettings`, which names a design that cannot be built."""
    own = {name: dict(_built(design, settings[name], models)) for name, design in designs.items()}
    whole: dict[str, Mapping[Role, TurnAgent]] = {}
    for name in designs:
        agent_of = own[DEFAULT] | own[name]
        whole[name] = {role: agent_of[role] for role in ROLES if role in agent_of}
    return Designs(of_new, whole)


def build_resume_parser(
    of_new: str, designs: Mapping[str, Design], settings: Mapping[str, BaseModel], models: Models
) -> ResumeParser:
    """That of the design of new conversations, else the default one's. Raises `InvalidSettings` if it is broken."""
    name = of_new if designs[of_new].resume_parser else DEFAULT
    build = designs[name].resume_parser
    assert build
    try:
        return build(models, settings[name])
    except Exception as error:
        raise _broken(f"{name!r} (resume_parser)", error) from error


def _of_ours() -> Iterator[tuple[str, ModuleType]]:
    for each in pkgutil.iter_modules(agents.__path__):
        if each.ispkg:
            where = f"{agents.__name__}.{each.name}"
            yield where, _loaded(where, lambda where=where: importlib.import_module(where))


def _below(paths: str) -> Iterator[tuple[str, ModuleType]]:
    for path in filter(None, map(str.strip, paths.split(","))):
        if not Path(path).is_dir():
            raise InvalidSettings(f"AGENT_DESIGN_PATHS: there is no folder {path}.")
        for init in sorted(Path(path).glob("*/__init__.py")):
            yield str(init.parent), _loaded(str(init.parent), lambda init=init: _imported(init))


def _imported(init: Path) -> ModuleType:
    """Import a folder under its own name, whose modules may import each other by it."""
    name = init.parent.name
    if (known := sys.modules.get(name)) and known.__file__ == str(init.resolve()):
        return known
    if importlib.util.find_spec(name):
        raise ImportError(f"there is another module called {name}")
    spec = importlib.util.spec_from_file_location(name, init.resolve(), submodule_search_locations=[str(init.parent)])
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _loaded(where: str, load: Any) -> ModuleType:
    try:
        return load()
    except Exception as error:
        raise _broken(where, error) from error


def _check(where: str, design: Any) -> None:
    if not isinstance(design, Design):
        raise InvalidSettings(f"The agent design in {where}: DESIGN is no Design.")
    if not _NAME.fullmatch(design.name):
        raise InvalidSettings(f"The agent design in {where}: {design.name!r} is no name.")
    if unknown := [role for role in design.roles if role not in ROLES]:
        raise InvalidSettings(f"The agent design in {where}: there is no role {unknown[0]!r}.")


def _settings_of(design: Design, given: Any) -> BaseModel:
    try:
        return design.settings.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "it"
        raise InvalidSettings(f"AGENT_DESIGN_SETTINGS of {design.name!r}: {field}: {first['msg']}.") from None


def _built(design: Design, settings: BaseModel, models: Models) -> Iterator[tuple[Role, TurnAgent]]:
    for role, build in design.roles.items():
        try:
            yield role, build(models, settings)
        except Exception as error:
            raise _broken(f"{design.name!r} ({role})", error) from error


def _broken(where: str, error: Exception) -> InvalidSettings:
    return InvalidSettings(f"The agent design in {where} is broken: {type(error).__name__}: {error}")
