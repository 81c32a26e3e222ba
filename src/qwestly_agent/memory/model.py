"""A memory, as the rest of the house sees it."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class Memory(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: str
    type: str
    """fact, preference, goal, decision, skill, experience or constraint"""
    content: str
    trust: str = "user_said"
    """user_said, user_document, tool, external or inferred; a derived memory has the lowest of its sources"""
    confidence: float = 1.0
    quote: str = ""
    """The user's own words that it rests on."""
    valid_from: datetime | None = None
