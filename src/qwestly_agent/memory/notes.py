"""What passes from the states that call a model to those that do without, and without what a model is called with."""

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from qwestly_agent.memory.checking import hash_of
from qwestly_agent.memory.model import MemoryType, Source, Trust

Verb: TypeAlias = Literal["add", "reinforce", "supersede", "skip"]


class Kept(BaseModel):
    """What passed the checks."""

    model_config = ConfigDict(frozen=True)

    type: MemoryType
    content: str
    quote: str
    question: str = ""
    trust: Trust
    importance: float
    confidence: float
    sensitive: bool
    since: str | None = None
    """An ISO date."""
    said_at: float
    """Seconds since the epoch."""
    source: Source

    @property
    def hash(self) -> str:
        return hash_of(self.content)


class Decision(BaseModel):
    """What becomes of something that was found."""

    model_config = ConfigDict(frozen=True)

    verb: Verb
    found: Kept
    target: str | None = None
    """The memory that is reinforced or superseded; `#3` is what becomes of the fourth of these decisions."""
    reason: str | None = None
    """Why it is skipped."""
