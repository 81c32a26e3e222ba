"""A memory, as the rest of the house sees it."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

MemoryType = Literal["fact", "preference", "goal", "decision", "skill", "experience", "constraint"]
Trust = Literal["user_said", "user_document", "tool", "external", "inferred"]


class Memory(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: str
    type: MemoryType
    content: str
    trust: Trust = "user_said"
    confidence: float = 1.0
    quote: str = ""
    """The user's own words that it rests on."""
    valid_from: datetime | None = None
