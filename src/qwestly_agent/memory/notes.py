"""A note, something to remember; what becomes of it; and why it may not be remembered."""

from enum import StrEnum
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from qwestly_agent.domain import memory
from qwestly_agent.domain.memory import MemoryType, Trust
from qwestly_agent.grounding.model import Quote, Source
from qwestly_agent.grounding.quotes import find_quote
from qwestly_agent.memory.equality import hash_of

LONGEST_CONTENT_CHARACTERS = 300
LONGEST_QUOTE_CHARACTERS = 600


class Reason(StrEnum):
    """Why something is not remembered."""

    NOTHING = "nothing"
    TOO_LONG = "too_long"
    NOT_SAID = "not_said"
    DOCUMENT = "document"
    CREDENTIAL = "credential"
    NOT_MEANT = "not_meant"
    FORGOTTEN = "forgotten"
    ASKED_BEFORE = "asked_before"
    LESS_TRUSTED = "less_trusted"
    OLDER = "older"
    NOT_CHECKED = "not_checked"


class Note(BaseModel):
    """Something to remember whose quote was found."""

    model_config = ConfigDict(frozen=True)

    type: MemoryType
    content: str
    quote: str
    """As it stands in what the user typed."""
    context: str
    """The quote with what was typed around it."""
    question: str = ""
    """What it may answer; a note that needs it is inferred from both."""
    trust: Trust
    importance: float
    confidence: float
    sensitive: bool
    since: str | None = None
    """An ISO date; so is `until`."""
    until: str | None = None
    said_at: float
    """Seconds since the epoch."""
    source: memory.Source
    is_checked: bool = False
    """Whether a judge said that the user means it."""
    memory_id: str | None = None
    """Of the memory that waits unchecked, where there is one."""
    tries: int = 0
    """How often no judge could be asked about it."""

    @property
    def hash(self) -> str:
        return hash_of(self.content)

    @property
    def sentence(self) -> str:
        """The user's own sentence, verbatim; the quote where that is too long to be remembered."""
        found = find_quote(Quote(source="", text=self.quote), {"": Source(id="", text=self.context)})
        sentence = found.sentence if found else ""
        return sentence if 0 < len(sentence) <= LONGEST_CONTENT_CHARACTERS else self.quote


Verb: TypeAlias = Literal["add", "reinforce", "wait", "skip"]


class Decision(BaseModel):
    """What becomes of a note."""

    model_config = ConfigDict(frozen=True)

    verb: Verb
    """Remember it · what is remembered was said again · keep it unchecked · do nothing."""
    note: Note
    target: str | None = None
    """The memory that is reinforced; `#3` is what becomes of the fourth of these decisions."""
    supersedes: tuple[str, ...] = ()
    """The memories that do not hold any more."""
    ask: bool = False
    """Whether its user must say yes first."""
    retells: tuple[str, ...] = ()
    """The tombstones of what was forgotten, and this may be."""
    reason: str | None = None
    """Why it is skipped."""
