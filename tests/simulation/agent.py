"""An agent that replaces the models, and follows its turn's plan through the real tools and their gate."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha512
from typing import Any

from pydantic_ai.exceptions import CallDeferred, ModelHTTPError, RunCancelled, ToolFailed
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.usage import RequestUsage

from qwestly_agent.agents.base import AgentDeps, Contract
from qwestly_agent.agents.design import AgentTurn, NativeEvent
from qwestly_agent.agents.guardrails import _handed_in
from qwestly_agent.agents.tools.knowledge import query_user_knowledge
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.text.clean import ids_in

WAITS = ("I need your decision.", "I need your decision.", "I need your decision. Shall I look for jobs, too?")
"""Answers to what asks for a decision."""
USAGE = RequestUsage(input_tokens=1_000, output_tokens=1_000)
"""Usage of each answer."""


@dataclass
class Context:
    """The context of tools."""

    deps: AgentDeps
    conversation_id: str
    tool_call_id: str = ""
    emitted: list[Any] = field(default_factory=list[Any])

    async def emit(self, event: Any) -> None:
        self.emitted.append(event)


Plan = Callable[[Any], Awaitable[Any]]
"""A tool's call, given its context: a proposal that it returns is handed in, and a list of some all at once."""


@dataclass(frozen=True)
class Slow:
    """A plan: to write for so long."""

    seconds: float


@dataclass(frozen=True)
class Fails:
    """A plan: the provider breaks off after some words."""


@dataclass(frozen=True)
class Looks:
    """A plan: to search what is remembered."""

    query: str

    async def __call__(self, context: Any) -> Any:
        return await query_user_knowledge(context, self.query, "memories")


AnyPlan = Plan | Slow | Fails | None
"""None: a plan to answer in words alone."""


@dataclass(frozen=True)
class PromptSeen:
    """The prompt of a model request."""

    at: float
    user_id: str
    text: str
    asked: str
    """The user's message as the model sees it, with the note on what was decided."""
    context: str
    """What is known of the user, before the history."""
    process: Any
    run_id: str
    running: int
    """Number of this user's other turns that began earlier and were counted as running."""


@dataclass(frozen=True)
class Agent:
    """A `TurnAgent`."""

    plan: AnyPlan
    note_prompt: Callable[[AgentTurn, str], None]
    prompt_version: str = "1"

    @asynccontextmanager
    async def run(self, turn: AgentTurn) -> AsyncIterator["Run"]:
        history = [str(getattr(part, "content", "")) for each in turn.history for part in each.parts]
        prompt = "\n".join((turn.context, *history, turn.prompt))
        self.note_prompt(turn, prompt)
        yield Run(self.plan, turn, tell(prompt) if self.plan is None else VERY_WELL)


@dataclass
class Run:
    plan: AnyPlan
    turn: AgentTurn
    text: str
    found: list[ModelMessage] = field(default_factory=list[ModelMessage])
    """The call of a search, and what it returned."""

    async def __aiter__(self) -> AsyncIterator[NativeEvent]:
        if isinstance(self.plan, Slow):
            await self._write(self.plan.seconds)
        elif callable(self.plan):
            async for event in self._call(self.plan):
                yield event
        part = TextPart(self.text)
        yield PartStartEvent(index=0, part=part)
        if isinstance(self.plan, Fails):
            raise ModelHTTPError(503, "scripted")
        yield PartEndEvent(index=0, part=part)

    async def _write(self, seconds: float) -> None:
        ended = asyncio.get_running_loop().create_future()
        self.turn.cancellation.cancel_functions.append(lambda: ended.done() or ended.set_result(None))
        await asyncio.wait([ended], timeout=seconds)
        if ended.done():
            raise RunCancelled("cancelled")

    async def _call(self, plan: Plan) -> AsyncIterator[NativeEvent]:
        deps = self.turn.deps
        context = Context(deps, self.turn.conversation_id, "call")
        effect, tool = ("read", query_user_knowledge.__name__) if isinstance(plan, Looks) else ("memory", "a_tool")
        contract = Contract(effect, "", 30.0, 10_000, False)
        made = deps.turn.calls.begin("call", tool, contract, "{}", deps.turn.clock())
        try:
            result = await plan(context)
            if isinstance(result, Proposal | list):
                result = await self._hand_in(context, [result] if isinstance(result, Proposal) else result)
            if made.outcome == "running":
                made.saw = frozenset(ids_in(result))
                said = result if isinstance(plan, Looks) else str(result)
                if isinstance(plan, Looks):
                    call = ModelResponse(parts=[ToolCallPart(tool, {"query": plan.query}, "call")])
                    self.text = tell(str(result))
                    self.found = [call, ModelRequest(parts=[ToolReturnPart(tool, result, "call")])]
                deps.turn.calls.record_success(made, {}, said, deps.turn.clock())
        except CallDeferred:
            self.text = WAITS[len(self.turn.prompt) % len(WAITS)]
        except (Invalid, NotFound, ToolFailed) as error:
            deps.turn.calls.record_failure(made, None, error.message, deps.turn.clock())
            self.text = "That did not work."
        for event in context.emitted:
            yield event

    async def _hand_in(self, context: Context, proposals: list[Proposal]) -> Any:
        """Hand in the proposals of one step, all at once. Raises the first error."""
        calls = context.deps.turn.calls
        handed_in = list[Awaitable[Any]]()
        for number, each in enumerate(proposals):
            contract = Contract(each.action.effect, "", 30.0, 10_000, False)
            call_id = f"call {number}" if number else "call"
            if number:
                calls.begin(call_id, "a_tool", contract, "{}", context.deps.turn.clock())
            handed_in.append(_handed_in(context, call_id, each, contract))  # type: ignore[arg-type]
        results = await asyncio.gather(*handed_in, return_exceptions=True)
        for each in results:
            if isinstance(each, BaseException):
                raise each
        return results[0]

    def new_messages(self) -> list[ModelMessage]:
        answer = ModelResponse(parts=[TextPart(self.text)], usage=USAGE, model_name="scripted")
        return [ModelRequest.user_text_prompt(self.turn.prompt), *self.found, answer]


KEEPS, HAS = "keeps a bee called", "has a bee of the name"
"""Two wordings of the same."""
TELLS = "is the one whose bee answers to"
"""How agents say it."""
SAID = re.compile(rf"(\w+) (?:{KEEPS}|{HAS}|{TELLS}) (\w+ \d\d)")
VERY_WELL = "Very well."


def in_one_wording(text: str) -> str:
    return text.replace(HAS, KEEPS)


def as_told(text: str) -> str:
    """How agents tell somebody what is known of them."""
    return in_one_wording(text).replace(KEEPS, TELLS)


def tell(seen: str) -> str:
    """An answer that says in other words what the model has seen last."""
    told = dict.fromkeys(f"{name} {TELLS} {bee}" for name, bee in SAID.findall(seen))
    return " ".join((VERY_WELL, *(f"{each}." for each in [*told][-2:])))


class Embeddings:
    """Vectors of texts that say the same are equal, and others are far from each other."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        plain = map(in_one_wording, texts)
        return [[2.0 * (byte & 1) - 1 for byte in sha512(text.encode()).digest()] for text in plain]
