"""Measure the cost of a tool call besides the tool's own work.

`python -m benchmarks.tool_overhead [--json FILE]`. Measured is from the last byte of the model's answer, which calls
the tools, to the event that brings the result: validation, bounds, and the agent's own machinery are in it. A step goes
on until the model is asked again, with the results in their fences; that costs about the same however many calls there
were. The tools' own work is taken out; the audit is written later, once a turn. The agent is made as ours are, and only
the model's wire is left out.

The time is a clock's on the wall; beside it stands the CPU's, which does not count what else runs on the machine.
"""

import argparse
import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from statistics import median, quantiles
from typing import Any, TypeAlias

from pydantic_ai import RunContext, models
from pydantic_ai.messages import FunctionToolResultEvent, ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from qwestly_agent.agents.base import AgentDeps, ChatAgent
from qwestly_agent.agents.make import make_agent
from qwestly_agent.agents.tools.base import tool
from qwestly_agent.base.clock import system_clock
from qwestly_agent.base.errors import OverBudget
from qwestly_agent.base.observability import make_logger
from qwestly_agent.chat.sanitize_events import sanitized
from qwestly_agent.chat.turn_record import Record
from qwestly_agent.llm.models import TierModel
from qwestly_agent.model_calls.budget import Budget
from qwestly_agent.model_calls.failures import failure_of

TARGET_MS = 2.0
"""The most that 95 of 100 calls may cost."""
SLOW_SECONDS = 0.05
WARM_UP = 20
SHORT, LONG = {"note": "Nothing is stored."}, {"passages": [{"title": "CV", "text": "Led a team. " * 125}] * 6}
RESULTS: dict[str, Any] = {"a sentence": SHORT, "six passages": LONG}
"""The second is as long as what a search of documents finds: 9,000 characters."""

Work: TypeAlias = Callable[[], Awaitable[Any]]
Now: TypeAlias = Callable[[], float]


@dataclass
class Step:
    """When things happened, in seconds of its clock."""

    now: Now
    asked: list[float] = field(default_factory=list)
    """When the model was asked."""
    called: float = 0.0
    """When its answer ended that calls the tools."""
    began: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    """When each tool did."""
    answered: float = 0.0
    """When the last result came."""

    @property
    def own_seconds(self) -> float:
        """The time in the tools themselves. They wait for nothing, and so run one after the other."""
        return sum(self.ended) - sum(self.began)

    def overhead_ms(self, until: float) -> float:
        return (until - self.called - self.own_seconds) * 1000


def agent_of(step: Step, calls: int, work: Work) -> ChatAgent:
    """One whose model calls a tool so many times at once, and then speaks."""

    async def say(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:  # noqa: ARG001
        step.asked.append(step.now())
        if len(step.asked) > 1:
            yield "That is what I found."
            return
        yield {
            n: DeltaToolCall("look_up", json.dumps({"query": f"word {n}"}), tool_call_id=f"call_{n}")
            for n in range(calls)
        }
        step.called = step.now()

    async def look_up(ctx: RunContext[AgentDeps], query: str) -> Any:  # noqa: ARG001
        """Look it up."""
        step.began.append(step.now())
        found = await work()
        step.ended.append(step.now())
        return found

    model = TierModel(FunctionModel(stream_function=say), fallback=None)
    tools = [tool(look_up, effect="read", label="Looking it up…")]
    return make_agent("default", model, instructions="Help.", tools=tools)


def deps_of(record: Record) -> AgentDeps:
    """Without stores: no tool here asks one."""
    given: dict[str, Any] = {
        "user_id": "auth0|benchmark",
        "level": "L1",
        "calls": record.calls,
        "spending": Budget(1.0, OverBudget(), system_clock()),
        "failure_of": failure_of,
        "clock": system_clock,
        "logger": make_logger("CRITICAL"),
    }
    return AgentDeps(**{**dict.fromkeys(each.name for each in fields(AgentDeps)), **given})


async def run(calls: int, work: Work, now: Now = time.perf_counter) -> Step:
    """One turn of the agent, its events taken as a turn takes them."""
    step, record = Step(now), Record(started_at=system_clock())
    async with agent_of(step, calls, work).run_stream_events("Look it up.", deps=deps_of(record)) as events:
        async for event in sanitized(events, (), record.calls.made):
            record.take(event, system_clock())
            if isinstance(event, FunctionToolResultEvent):
                step.answered = step.now()
    outcomes = [entry.outcome for entry in record.audit()]
    assert outcomes == ["succeeded"] * calls, outcomes
    return step


async def overheads(calls: int, result: Any, steps: int) -> dict[str, Any]:
    """Measure what a call costs, and what a step costs, in so many steps by each of two clocks."""

    async def work() -> Any:
        return result

    measured = [await run(calls, work) for _ in range(WARM_UP + steps)][WARM_UP:]
    of_cpu = [await run(calls, work, time.thread_time) for _ in range(steps)]
    return {
        "call": spread([step.overhead_ms(step.answered) / calls for step in measured]),
        "call_cpu": spread([step.overhead_ms(step.answered) / calls for step in of_cpu]),
        "step": spread([step.overhead_ms(step.asked[1]) for step in measured]),
    }


async def slow_step_ms(calls: int, steps: int) -> float:
    """How long the results took of tools that wait as long as each other: the median."""

    async def work() -> Any:
        await asyncio.sleep(SLOW_SECONDS)
        return SHORT

    measured = [await run(calls, work) for _ in range(steps)]
    return median([(step.answered - step.called) * 1000 for step in measured])


def spread(milliseconds: Sequence[float]) -> dict[str, float]:
    percentiles = quantiles(milliseconds, n=100, method="inclusive")
    named = {"p50_ms": percentiles[49], "p95_ms": percentiles[94], "max_ms": max(milliseconds)}
    return {name: round(value, 3) for name, value in named.items()}


async def measure(steps: int) -> dict[str, Any]:
    overhead = {
        f"{calls} at once, {name}": await overheads(calls, result, steps)
        for calls in (1, 10)
        for name, result in RESULTS.items()
    }
    one, ten = await slow_step_ms(1, steps // 10), await slow_step_ms(10, steps // 10)
    return {
        "overhead": overhead,
        "target_p95_ms_of_a_call": TARGET_MS,
        "parallel": {
            "tool_ms": SLOW_SECONDS * 1000,
            "one_ms": round(one, 2),
            "ten_ms": round(ten, 2),
            "ratio": round(ten / one, 3),
        },
    }


def table(found: dict[str, Any]) -> str:
    lines = [
        f"Overhead in milliseconds, without the tools' own work; p95 of a call is to be below {TARGET_MS:g}.",
        f"{'':26}" + "".join(f"{title:>18}{'':6}" for title in ("a call", "a call, CPU", "a step")).rstrip(),
        f"{'':26}" + f"{'p50':>8}{'p95':>8}{'max':>8}" * 3,
    ]
    for name, each in found["overhead"].items():
        values = [each[of][figure] for of in ("call", "call_cpu", "step") for figure in ("p50_ms", "p95_ms", "max_ms")]
        lines.append(f"{name:26}" + "".join(f"{value:8.2f}" for value in values))
    parallel = found["parallel"]
    lines.append(
        f"Tools that take {parallel['tool_ms']:g} ms each: one answers after {parallel['one_ms']:.1f} ms, ten at once "
        f"after {parallel['ten_ms']:.1f} ms, {parallel['ratio']:.2f} times as long."
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tool_overhead", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured")
    parser.add_argument("--steps", type=int, default=300, help="measured of each kind after some that warm up (300)")
    options = parser.parse_args()
    models.ALLOW_MODEL_REQUESTS = False
    found = asyncio.run(measure(options.steps))
    print(table(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
