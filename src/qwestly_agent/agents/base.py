"""Dependencies of agents and their tools, the contract of a tool, and the tool calls of a turn."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from aws_lambda_powertools import Logger
from pydantic import ValidationError
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.exceptions import ModelRetry, ToolFailed, ToolFailedError, ToolRetryError
from pydantic_ai.tools import ToolDefinition

from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import AgentError, InvalidSettings
from qwestly_agent.domain.approval import Effect, Level
from qwestly_agent.llm.models import Tier, TierModel
from qwestly_agent.model_calls import Budget
from qwestly_agent.text.clean import well_formed
from qwestly_agent.text.trouble import Trouble

# --- calls ------------------------------------------------------------------------------------------------------------
# The contract of a tool: its effect, its label and its limits; and the tool calls of a turn.
#
# Every attempted call counts, including refused and failed ones; repeated calls are refused, and all outcomes are
# recorded. The reason for a refusal is a sentence for the model. The calls are stored in one insert when the turn ends,
# so that no call waits for the database. If the process is killed, they are lost, but effects have records of their
# own.


@dataclass(frozen=True)
class Contract:
    """The rules for every call of a tool, enforced around its function."""

    effect: Effect
    label: str
    """Shown to the user while the tool runs: "Looking up your profile…"."""
    timeout: float
    """Timeout in seconds."""
    result_characters: int
    """Maximum length of a result as JSON. A longer one is truncated, with a note for the model."""
    is_untrusted: bool
    """True if other people may have written its result."""


def contracts_of(tools: Iterable[ToolDefinition]) -> dict[str, Contract]:
    """Return the contracts by tool name. Raises `InvalidSettings` for a tool that was not declared with `tool`."""
    contracts: dict[str, Contract] = {}
    for each in tools:
        contract = each.metadata.get("contract") if each.metadata else None
        contracts[each.name] = contract if isinstance(contract, Contract) else contract_of(each.name, each.metadata)
    return contracts


def contract_of(name: str, metadata: Mapping[str, Any] | None) -> Contract:
    """Return the tool's contract. Raises `InvalidSettings` for a tool that was not declared with `tool`."""
    contract = (metadata or {}).get("contract")
    if not isinstance(contract, Contract):
        raise InvalidSettings(f"The tool {name!r} declares no effect.")
    return contract


# --- calls ------------------------------------------------------------------------------------------------------------


_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Tool names that providers accept in a conversation's history."""


def valid_tool_name(text: str) -> str:
    """Return the name in a form that providers accept. An invalid name is changed to one that matches no tool."""
    return text if _NAME.fullmatch(text) else f"{re.sub('[^a-zA-Z0-9_-]', '_', text[:60])}_"


def unique_call_id(text: str, taken: Collection[str] = (), number: int = 0) -> str:
    """Return an id that can be stored and sent back to providers, and that is not in `taken`. Some providers restart
    numbering in each answer, or send no id. `number` is the call's number in its turn."""
    call_id = given = well_formed(text[:64])
    while not call_id or call_id in taken:
        call_id, number = f"{given[:52]}.{number}", number + 1
    return call_id


UNKNOWN_STEP = "Looking for a way to do that…"
MOST_CALLS = 10
MOST_FAILURES = 3
"""Number of failures after which a tool is withdrawn for the rest of the turn."""
MOST_REFUSALS = 2
"""Number of refusals of the same call after which all tools are withdrawn for the rest of the turn."""

Outcome: TypeAlias = Literal["running", "succeeded", "failed", "refused", "waiting", "cancelled"]


@dataclass
class Call:
    """A tool call, recorded when the model makes it."""

    number: int
    """Number of the call in its turn, starting at 1."""
    id: str
    tool: str
    contract: Contract | None
    """None if the tool does not exist."""
    arguments: Any
    """The arguments as the model wrote them: an object, or text that cannot be parsed as one."""
    started_at: float
    """Seconds since the epoch."""
    outcome: Outcome = "running"
    problem: str | None = None
    """Why the call did not succeed, as a sentence for the model and the user."""
    note: str = ""
    """What the model should do about the problem; not shown to the user."""
    result: Any = None
    ended_at: float | None = None
    saw: frozenset[str] = frozenset()
    """Ids in the call's result."""
    is_users_own: bool = False
    """True if its result contains only text that the user typed."""

    @property
    def is_untrusted(self) -> bool:
        """True if other people may have written its result."""
        return self.contract is not None and self.contract.is_untrusted

    @property
    def message_for_model(self) -> str:
        """The problem and the note, for the model."""
        return f"{self.problem or ''} {self.note}".strip()

    @property
    def label(self) -> str:
        """Shown to the user; never a name that the model made up."""
        return self.contract.label if self.contract else UNKNOWN_STEP

    @property
    def milliseconds(self) -> int | None:
        return None if self.ended_at is None else round((self.ended_at - self.started_at) * 1000)


@dataclass
class ModelWaits:
    """The time that a run has spent waiting for models."""

    seconds: float = 0.0
    _since: float | None = None

    def begin(self, now: float) -> None:
        self.end(now)  # end the wait of a failed request
        self._since = now

    def end(self, now: float) -> None:
        self.seconds, self._since = self.until(now), None

    def until(self, now: float) -> float:
        """Return the seconds so far, including the request in progress."""
        return self.seconds + (0.0 if self._since is None else now - self._since)


@dataclass
class Calls:
    """The tool calls of one turn."""

    made: dict[str, Call] = field(default_factory=dict)
    """Calls by id, in the order in which they were made."""
    waits: ModelWaits = field(default_factory=ModelWaits)
    was_warned_of_end: bool = False
    """True once the model called a tool although none was left. It then gets one more request to answer."""
    trouble: Trouble | None = None
    """The kind of trouble that is answered with a fixed text, without tools."""
    fixed_words: str = ""
    """The whole answer, if it is written without a model."""
    _answered: set[str] = field(default_factory=set)
    """Signatures of calls that were answered, or are being answered, since data last changed."""
    _failures: Counter[str] = field(default_factory=Counter)
    _refusals: Counter[str] = field(default_factory=Counter)

    @property
    def is_exhausted(self) -> bool:
        """True if no more tools are offered: too many calls were made, or one was refused twice."""
        return len(self.made) >= MOST_CALLS or max(self._refusals.values(), default=0) >= MOST_REFUSALS

    def begin(self, call_id: str, tool: str, contract: Contract | None, arguments: Any, now: float) -> Call:
        call = Call(len(self.made) + 1, call_id, tool, contract, arguments, now)
        self.made[call_id] = call
        return call

    def admit(self, call: Call, arguments: dict[str, Any]) -> str | None:
        """Record the call as answered and return None, or return why it is refused. The arguments must be validated
        already."""
        if call.number > MOST_CALLS:
            return f"All {MOST_CALLS} tool calls of this request are used up. Answer now with what you have."
        signature = _signature(call.tool, arguments)
        if signature in self._answered:
            return (
                "You made this call with the same arguments before, and nothing has changed since. "
                "Use the result that you have, ask differently, or answer."
            )
        self._answered.add(signature)
        return None

    def record_success(self, call: Call, arguments: dict[str, Any], result: Any, now: float) -> None:
        if call.contract and call.contract.effect != "read":
            # Forget earlier reads, whose results may differ now, but not this change.
            self._answered = {_signature(call.tool, arguments)}
        self._end(call, "succeeded", now, result=result)

    def record_failure(self, call: Call, arguments: dict[str, Any] | None, problem: str, now: float) -> str:
        """Record the failure. Return the text for the model: the problem, and a note on what to do."""
        notes: list[str] = []
        if arguments is not None and call.contract and call.contract.effect == "read":
            self._answered.discard(_signature(call.tool, arguments))
        elif arguments is not None:
            notes.append("Whether anything was changed is not known: do not repeat it.")
        self._failures[call.tool] += 1
        if self._failures[call.tool] == MOST_FAILURES:
            notes.append(f"{call.tool} has failed {MOST_FAILURES} times and is withdrawn for this request: say so.")
        self._end(call, "failed", now, problem=problem)
        call.note = " ".join(notes)
        return call.message_for_model

    def record_refusal(self, call: Call, problem: str, now: float) -> str:
        """Record the refusal. Return the text for the model: the problem, and a note if all tools are withdrawn."""
        signature = _signature_of_text(call.tool, call.arguments)
        self._refusals[signature] += 1
        if self._refusals[signature] == MOST_REFUSALS:
            call.note = "It was refused twice: all tools are withdrawn for this request. Answer now with what you have."
        self._end(call, "refused", now, problem=problem)
        return call.message_for_model

    def record_waiting(self, call: Call, words: str, now: float) -> None:
        """Record that the call waits for the user's decision."""
        self._end(call, "waiting", now, result=words)

    def record_cancellation(self, call: Call, now: float) -> None:
        self._end(call, "cancelled", now)

    def was_just_withdrawn(self, tool: str) -> bool:
        """True if the latest failure caused the tool to be withdrawn."""
        return self._failures[tool] == MOST_FAILURES

    @property
    def withdrawn(self) -> set[str]:
        """The tools that failed too often."""
        return {tool for tool, failures in self._failures.items() if failures >= MOST_FAILURES}

    @property
    def may_have_changed_data(self) -> bool:
        """True once a tool was called that does more than read."""
        return any(call.contract is not None and call.contract.effect != "read" for call in self.made.values())

    @property
    def has_untrusted_content(self) -> bool:
        """True if a result contains more than text that the user typed."""
        return self.has_untrusted_content_beside(None)

    def has_untrusted_content_beside(self, call_id: str | None) -> bool:
        """True if a result of another call contains more than text that the user typed."""
        return any(not call.is_users_own and call.id != call_id for call in self._untrusted())

    def _untrusted(self) -> Iterator[Call]:
        return (call for call in self.made.values() if call.is_untrusted and call.outcome in ("running", "succeeded"))

    @staticmethod
    def _end(call: Call, outcome: Outcome, now: float, *, problem: str | None = None, result: Any = None) -> None:
        call.outcome, call.ended_at, call.problem, call.result = outcome, now, problem, result


def _signature_of_text(tool: str, arguments: Any) -> str:
    """Return the signature of a call as the model wrote it; its arguments may not be valid JSON."""
    try:
        return _signature(tool, json.loads(arguments))
    except (AttributeError, RecursionError, TypeError, ValueError):
        return f"{tool} {arguments}"


def _signature(tool: str, arguments: dict[str, Any]) -> str:
    asked = {name: value for name, value in arguments.items() if name != "rationale"}
    return f"{tool} {json.dumps(asked, sort_keys=True, default=str)}"


# --- problems ---------------------------------------------------------------------------------------------------------
# Explain to the model why its tool call failed.


def error_of_tool(error: Exception) -> Exception:
    """Return the error that the tool raised: pydantic-ai wraps a tool's `ToolFailed` or `ModelRetry` in another
    error."""
    cause = error.__cause__
    wrapped = isinstance(error, ToolFailedError | ToolRetryError)
    return cause if wrapped and isinstance(cause, ToolFailed | ModelRetry) else error


def arguments_problem(error: ValidationError | ModelRetry) -> str:
    if isinstance(error, ModelRetry):
        return error.message
    # Leave out the input, which the model knows and which may be a megabyte long.
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = well_formed(".".join(str(part) for part in first["loc"])[:80])  # text from the model
    return f"The arguments are not valid: {where + ': ' if where else ''}{first['msg']}."


def tool_problem(error: Exception, failure: AgentError, contract: Contract, too_slow: bool) -> str:
    match error:
        case _ if too_slow:
            kept = " What was written is kept, and asked for again it goes on." if contract.effect == "draft" else ""
            return f"It took longer than {contract.timeout:g} seconds and was given up. Go on without it.{kept}"
        case ToolFailed() | ModelRetry():  # the tool's own message for the model
            return error.message
        case AgentError():
            return failure.message
        case _:
            return "It failed on our side. Go on without it, and say that it could not be looked up."


# --- base -------------------------------------------------------------------------------------------------------------
# Dependencies of agents and their tools.


F = TypeVar("F")


class Feature(Protocol):
    """Returns the turn's own instance of a service or a store, created when a tool first asks for it. Raises `KeyError`
    for a type that tools may not reach."""

    def __call__(self, kind: type[F], /) -> F: ...


@dataclass(frozen=True)
class TurnFacts:
    """Facts about the turn in which a tool is called."""

    career: dict[str, Any]
    """The profile with employment and preferences, as it was when the turn began."""
    level: Level
    """The user's autonomy level."""
    user_messages: tuple[str, ...]
    """The user's messages in this conversation, ending with the one of this turn."""
    calls: Calls
    """The tool calls of this run so far."""
    clock: Clock
    logger: Logger


@dataclass(frozen=True)
class AgentDeps:
    """Everything that an agent and its tools can reach. The user id comes from the verified token; no tool takes
    one."""

    user_id: str
    turn: TurnFacts
    budget: Budget
    feature: Feature


ChatAgent: TypeAlias = Agent[AgentDeps, str | DeferredToolRequests]
Models: TypeAlias = Mapping[Tier, TierModel]
