"""The table that decides whether a tool's proposal is executed, needs approval or is refused; it is applied at the call
and again before the effect. Calls without a proposal (which read, or store a typed memory) are not affected.

Two rules are elsewhere: at L3, a change that the user's newest message asks for, and that can be undone, runs at once
(`wish.py`); and a user can allow a higher level for one kind of action (`earned.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from qwestly_agent.domain.approval import Answer, Effect, Level

TABLE: Mapping[Effect, Mapping[Level, Answer]] = {
    "read": {"L0": "run", "L1": "run", "L2": "run", "L3": "run"},
    "draft": {"L0": "run", "L1": "run", "L2": "run", "L3": "run"},
    # Memories are our own data, but at every level only the user decides what is stored or forgotten.
    "memory": {"L0": "ask", "L1": "ask", "L2": "queue", "L3": "ask"},
    "write": {"L0": "refuse", "L1": "ask", "L2": "queue", "L3": "ask"},
    "outward": {"L0": "refuse", "L1": "ask", "L2": "queue", "L3": "ask"},
    "destructive": {"L0": "refuse", "L1": "ask", "L2": "queue", "L3": "ask"},
}

OFFERED: Mapping[Level, frozenset[Effect]] = {
    level: frozenset(effect for effect, answers in TABLE.items() if answers[level] != "refuse")
    for level in get_args(Level)
}
"""The effects of the tools that a model is offered at a level."""

REASONS: Mapping[Answer, str] = {
    "run": "Allowed at this level.",
    "ask": "This waits for the user's yes.",
    "queue": "This waits in the user's queue; go on without it.",
    "refuse": "The user lets you suggest, not change anything. Say what you would do, and let them do it.",
}


@dataclass(frozen=True)
class GateDecision:
    answer: Answer
    reason: str
    """For the model and for the user."""


UNASKED: frozenset[Effect] = frozenset({"write"})
"""Effects that may run at L3 without approval. Effects that others can see always need approval."""


def gate(effect: Effect, level: Level, *, is_requested: bool = False) -> GateDecision:
    """Decide what a call may do. `is_requested`: the action can be undone, and the user's newest message asks for
    exactly this."""
    if level == "L3" and effect in UNASKED and is_requested:
        return GateDecision("run", "The user asked for exactly this.")
    answer = TABLE[effect][level]
    return GateDecision(answer, REASONS[answer])
