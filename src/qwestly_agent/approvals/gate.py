"""The table that decides what a tool call may do, checked at the call and again before its effect."""

from collections.abc import Mapping
from dataclasses import dataclass

from qwestly_agent.domain.approval import Answer, Effect, Level

TABLE: Mapping[Effect, Mapping[Level, Answer]] = {
    "read": {"L0": "run", "L1": "run", "L2": "run", "L3": "run"},
    "draft": {"L0": "run", "L1": "run", "L2": "run", "L3": "run"},
    # Memories are our own data, but only the user decides what is remembered or forgotten, at every level.
    "memory": {"L0": "ask", "L1": "ask", "L2": "queue", "L3": "ask"},
    "write": {"L0": "refuse", "L1": "ask", "L2": "queue", "L3": "run"},
    "outward": {"L0": "refuse", "L1": "ask", "L2": "queue", "L3": "ask"},
    "destructive": {"L0": "refuse", "L1": "ask", "L2": "queue", "L3": "ask"},
}

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


def gate(effect: Effect, level: Level, *, has_inverse: bool = False, untrusted_content: bool = False) -> GateDecision:
    """Decide what a call may do. `has_inverse`: the tool names an action that undoes it, and a test runs that.
    `untrusted_content`: a document, a LinkedIn page or pasted text entered the prompt in this turn or the one before,
    so the request may not be the user's."""
    answer = TABLE[effect][level]
    if (effect, level) == ("outward", "L3") and has_inverse and not untrusted_content:
        answer = "run"
    if (effect, level) == ("write", "L3") and untrusted_content:
        return GateDecision("ask", "Text that is not the user's own came into this conversation. " + REASONS["ask"])
    return GateDecision(answer, REASONS[answer])
