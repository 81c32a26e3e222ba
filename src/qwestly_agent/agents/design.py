"""Designs: each provides agents by role. A turn knows its agent only as a `TurnAgent`."""

import importlib
import importlib.util
import pkgutil
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
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
from qwestly_agent.llm.models import make_judges, make_models, with_tracing
from qwestly_agent.resumes.reader import ResumeParser
from qwestly_agent.rollout import variants
from qwestly_agent.rollout.variants import Variant
from qwestly_agent.services import ModelServices

# --- design -----------------------------------------------------------------------------------------------------------
# Designs are discovered automatically: each folder here that exports `DESIGN`, and those in the folders of
# `AGENT_DESIGN_PATHS`.


NativeEvent: TypeAlias = AgentStreamEvent | AgentRunResultEvent[Any]
"""The same type as in `pydantic_ai.ui`, importing which would also load its adapters."""

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
    """The user's message, preceded by a note on the outcomes of approvals."""
    history: Sequence[ModelMessage]
    """The conversation's window, including answers by other designs."""
    context: str
    """The user's profile and memories: the second part of the instructions, constant within the conversation."""
    deps: AgentDeps
    conversation_id: str
    run_id: str
    cancellation: Cancellation
    seconds: float
    """Time limit for the answer."""


class AgentRun(Protocol):
    """A run of an agent. Iterate over it to receive its events."""

    def __aiter__(self) -> AsyncIterator[NativeEvent]: ...

    def new_messages(self) -> list[ModelMessage]:
        """Return the prompt and the answer so far, even if the run was interrupted."""
        ...


class TurnAgent(Protocol):
    """Runs the turns of a role. `make_agent` and `OwnLoop` add the guardrails to its models and tools."""

    @property
    def prompt_version(self) -> str:
        """Changes with the instructions, so that each answer can be traced to its prompt."""
        ...

    def run(self, turn: AgentTurn) -> AbstractAsyncContextManager[AgentRun]: ...


@dataclass(frozen=True)
class LibraryAgent:
    """A `TurnAgent` that wraps one agent of pydantic-ai."""

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
    """Functions that build an agent from the models and the design's settings, by role. Missing roles come from the
    default design."""
    settings: type[BaseModel] = NoSettings
    resume_parser: Callable[[Models, Any], ResumeParser] | None = None
    """Builds the résumé parser; None to use the one of the default design."""


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


# --- all designs ------------------------------------------------------------------------------------------------------


DEFAULT = "default"
"""The design that provides the roles that another design lacks."""
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Designs:
    """The agents of all designs, by role. Roles that a design lacks come from the default design."""

    new_conversation_design: str
    """Name of the design that new conversations use."""
    agents: Mapping[str, Mapping[Role, TurnAgent]]
    variants: Mapping[str, Mapping[Role, TurnAgent]] = field(default_factory=dict)
    """The agents of declared variants, by role."""

    def choose(self, design: str | None, role: Role | None) -> tuple[str, Role]:
        """Return the design and the role of a new conversation. Raises `Invalid`, which lists the known names."""
        name, wanted = design or self.new_conversation_design, role or "chat"
        if name not in self.agents:
            raise Invalid(f"design: There is no design {name!r}; there is {', '.join(sorted(self.agents))}.")
        if wanted not in self.agents[name]:
            raise Invalid(f"role: {wanted!r} is not offered; {', '.join(self.agents[name])} is.")
        return name, wanted

    def find_variant(self, variant: str | None, role: str) -> TurnAgent | None:
        """Return the variant's agent; None if the variant is not declared or lacks this role."""
        agents = self.variants.get(variant or "", {})
        return next((agent for name, agent in agents.items() if name == role), None)

    def find(self, design: str, role: str) -> TurnAgent | None:
        """Return the agent of a conversation; None if its design or role no longer exists."""
        return next((agent for name, agent in self.agents.get(design, {}).items() if name == role), None)


def find_designs(name: str, paths: str) -> dict[str, Design]:
    """Return the designs by name. `paths` are folders, separated by commas. Raises `InvalidSettings`, which names a
    broken design, or lists the known designs if `name` is unknown."""
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
    """Parse each design's settings from a JSON object keyed by the design's name. Raises `InvalidSettings`."""
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
    """Build the agents of all designs. Raises `InvalidSettings`, which names a design that cannot be built."""
    own = {name: dict(_built(design, settings[name], models)) for name, design in designs.items()}
    whole: dict[str, Mapping[Role, TurnAgent]] = {}
    for name in designs:
        agent_of = own[DEFAULT] | own[name]
        whole[name] = {role: agent_of[role] for role in ROLES if role in agent_of}
    return Designs(of_new, whole)


def build_resume_parser(
    of_new: str, designs: Mapping[str, Design], settings: Mapping[str, BaseModel], models: Models
) -> ResumeParser:
    """Build the parser of the design for new conversations, or the default parser. Raises `InvalidSettings` if that
    fails."""
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
    """Import a folder under its own name, so that its modules can import each other."""
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


# --- variants ---------------------------------------------------------------------------------------------------------
# Build the agents of the declared variants in addition to those of the designs.


def make_designs(services: ModelServices, designs: Mapping[str, Design], own: Mapping[str, BaseModel]) -> Designs:
    """Build all agents; `own` contains the designs' settings. Raises `InvalidSettings`, which names a broken design or
    variant."""
    built = build_designs(services.settings.agent_design, designs, own, services.models)
    agents = {each.name: dict(_built_variant(services, each, designs, own)) for each in variants.VARIANTS}
    return replace(built, variants=agents)


def _built_variant(
    services: ModelServices, variant: Variant, designs: Mapping[str, Design], own: Mapping[str, BaseModel]
) -> Iterator[tuple[Role, TurnAgent]]:
    try:
        design = designs[variant.design]
        prompts = {"prompts": dict(variant.prompts)} if variant.prompts else {}
        settings = design.settings.model_validate({**own[variant.design].model_dump(), **prompts})
        models = _models(services, variant)
        for role in ROLES:
            if role in variant.roles:
                yield role, design.roles[role](models, settings)
    except Exception as error:
        raise InvalidSettings(f"The variant {variant.name!r} is broken: {type(error).__name__}: {error}") from error


def _models(services: ModelServices, variant: Variant) -> Models:
    if not variant.models:
        return services.models
    changed = replace(services.settings, **{f"model_{tier}": name for tier, name in variant.models.items()})
    make_judges(changed, services.http)  # raises if a model would judge its own text
    return with_tracing(make_models(changed, services.http, services.secrets.renew), services.traces)
