"""A model that compares memories, for the scripted model server."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from infra.local.model_answers import Thought
from infra.local.model_memory import pairs_in


@dataclass
class Judge:
    """The comparing model at its wire: its verdict on two texts, in whatever order it gets them."""

    same: Sequence[set[str]] = ()
    contradicts: Sequence[set[str]] = ()
    quote: Callable[[str], str] = lambda known: known
    is_silent: bool = False
    asked: list[tuple[str, str]] = field(default_factory=list)
    """The known and the new memory of each pair."""

    def __call__(self, body: Any, *_: Any) -> Thought:
        words = next(each["content"] for each in body["messages"] if each["role"] == "user")
        told = [(pair_id, known.strip(), new.strip()) for pair_id, known, new in pairs_in(words)]
        self.asked += [(known, new) for _, known, new in told]
        verdicts = [
            {"id": pair_id, "relation": self.relation(known, new), "quote": self.quote(known), "new_quote": new}
            for pair_id, known, new in told
            if not self.is_silent
        ]
        return Thought(tool_calls=[{"name": "final_result", "arguments": {"verdicts": verdicts}}])

    def relation(self, known: str, new: str) -> str:
        if any({known, new} <= group for group in self.same):
            return "same"
        return "contradicts" if {known, new} in self.contradicts else "other"
