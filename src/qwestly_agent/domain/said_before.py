"""A message of an earlier turn, found by a search."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class SaidBefore:
    """An earlier message that may be used in a prompt."""

    id: str
    conversation_id: str
    role: str
    content: str
    created_at: datetime
