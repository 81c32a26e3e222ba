"""A turn's tool calls: counted, kept apart from what was already asked, and remembered with what came of them.

Every call counts that a model attempts, refused and failed ones too, and whatever stops one is said in words that the
model can use.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from qwestly_agent.agents.contract import Contract
from qwestly_agent.text.clean import well_formed

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What providers take for a tool's name in a conversation that is sent back to them."""


def name_of(text: str) -> str:
    """A tool's name, as it can be kept and sent back; what is no name is none of a tool either."""
    return text if _NAME.fullmatch(text) else f"{re.sub('[^a-zA-Z0-9_-]', '_', text[:60])}_"


def id_of(text: str, taken: Collection[str] = (), number: int = 0) -> str:
    """A call's id, as it can be kept, sent back, and told from those that are taken: some providers count anew in each
    answer, or not at all. `number` is the call's in its turn."""
    call_id = given = well_formed(text[:64])
    while not call_id or call_id in taken:
        call_id, number = f"{given[:52]}.{number}", number + 1
    return call_id


MOST_CALLS = 10
MOST_FAILURES = 3
"""Of one tool, after which it is withdrawn for the rest of the turn."""

Outcome: TypeAlias = Literal["running", "succeeded", "failed", "refused", "waiting", "cancelled"]


@dataclass
class Call:
    """A call from the moment that the model made it."""

    number: int
    """Of the turn, from 1."""
    id: str
    tool: str
    contract: Contract | None
    """None for a tool that does not exist."""
    arguments: Any
    """As the model wrote them: an object, or text that is not one."""
    started_at: float
    """Seconds since the epoch."""
    outcome: Outcome = "running"
    problem: str | None = None
    """Why it did not succeed, as the model was told."""
    result: Any = None
    ended_at: float | None = None
    saw: frozenset[str] = frozenset()
    """Ids that its result names."""
    is_users_own: bool = False
    """Whether its result holds what the user typed, and nothing else."""

    @property
    def is_outside(self) -> bool:
        """Tell whether others than the user may have written its result."""
        return self.contract is not None and self.contract.outside

    @property
    def label(self) -> str:
        return self.contract.label if self.contract else self.tool

    @property
    def milliseconds(self) -> int | None:
        return None if self.ended_at is None else round((self.ended_at - self.started_at) * 1000)


@dataclass
class Calls:
    """The tool calls of one turn."""

    made: dict[str, Call] = field(default_factory=dict)
    """By the call's id, in the order in which the model made them."""
    _answered: set[str] = field(default_factory=set)
    """Calls whose answer the model has, or is about to get, and nothing has changed since."""
    _failures: Counter[str] = field(default_factory=Counter)

    @property
    def exhausted(self) -> bool:
        return len(self.made) >= MOST_CALLS

    def begin(self, call_id: str, tool: str, contract: Contract | None, arguments: Any, now: float) -> Call:
        call = Call(len(self.made) + 1, call_id, tool, contract, arguments, now)
        self.made[call_id] = call
        return call

    def refusal(self, call: Call, arguments: dict[str, Any]) -> str | None:
        """Why a call with these validated arguments is not made, or None: then it counts as answered from now on."""
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

    def succeeded(self, call: Call, arguments: dict[str, Any], result: Any, now: float) -> None:
        if call.contract and call.contract.effect != "read":
            # What was read before may read differently now; the change itself is made.
            self._answered = {_signature(call.tool, arguments)}
        self._end(call, "succeeded", now, result=result)

    def failed(self, call: Call, arguments: dict[str, Any] | None, problem: str, now: float) -> str:
        """The result that the model is given: the problem, and whether the tool is withdrawn by it."""
        if arguments is not None and call.contract and call.contract.effect == "read":
            self._answered.discard(_signature(call.tool, arguments))
        elif arguments is not None:
            problem += " Whether anything was changed is not known: do not repeat it."
        self._failures[call.tool] += 1
        if self._failures[call.tool] == MOST_FAILURES:
            problem += f" {call.tool} has failed {MOST_FAILURES} times and is withdrawn for this request: say so."
        self._end(call, "failed", now, problem=problem)
        return problem

    def refused(self, call: Call, problem: str, now: float) -> None:
        self._end(call, "refused", now, problem=problem)

    def waiting(self, call: Call, words: str, now: float) -> None:
        """For the user's decision."""
        self._end(call, "waiting", now, result=words)

    def cancelled(self, call: Call, now: float) -> None:
        self._end(call, "cancelled", now)

    def just_withdrawn(self, tool: str) -> bool:
        """By its last failure, and not by one before."""
        return self._failures[tool] == MOST_FAILURES

    def withdrawn(self, tool: str) -> bool:
        return self._failures[tool] >= MOST_FAILURES

    @property
    def untrusted_content(self) -> bool:
        """Tell whether a call brought text that others than the user may have written."""
        return any(self._outside())

    @property
    def others_spoke(self) -> bool:
        """Tell whether a call brought more than what the user typed."""
        return any(not call.is_users_own for call in self._outside())

    def _outside(self) -> Iterator[Call]:
        return (call for call in self.made.values() if call.is_outside and call.outcome in ("running", "succeeded"))

    @staticmethod
    def _end(call: Call, outcome: Outcome, now: float, *, problem: str | None = None, result: Any = None) -> None:
        call.outcome, call.ended_at, call.problem, call.result = outcome, now, problem, result


def _signature(tool: str, arguments: dict[str, Any]) -> str:
    asked = {name: value for name, value in arguments.items() if name != "rationale"}
    return f"{tool} {json.dumps(asked, sort_keys=True, default=str)}"
