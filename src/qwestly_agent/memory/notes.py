"""Notes (candidate memories), the decision on each, and the reasons to skip one."""

from enum import StrEnum
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from qwestly_agent.domain.memory import Memory, MemorySource, MemoryStatus, MemoryType, Trust
from qwestly_agent.grounding.model import Quote, QuotedSource
from qwestly_agent.grounding.quotes import find_quote
from qwestly_agent.memory.equality import hash_of
from qwestly_agent.text.language import content_stems

LONGEST_CONTENT_CHARACTERS = 300
LONGEST_QUOTE_CHARACTERS = 600


class DropReason(StrEnum):
    """The reason why a note is not stored."""

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
    """A candidate memory whose quote was found."""

    model_config = ConfigDict(frozen=True)

    type: MemoryType
    content: str
    quote: str
    """Verbatim from the user's text."""
    context: str
    """The quote with the typed text around it."""
    question: str = ""
    """The question that the quote may answer; a note that needs it has the trust `inferred`."""
    trust: Trust
    importance: float
    confidence: float
    sensitive: bool
    about_writing: bool = False
    since: str | None = None
    """An ISO date, as is `until`."""
    until: str | None = None
    said_at: float
    """Seconds since the epoch."""
    source: MemorySource
    is_asked_for: bool = False
    """True if a chat tool made it; then only words that the user typed are stored at once."""
    is_doubtful: bool = False
    """True if the user must approve it, because code cannot verify that they typed it, or that it states what they
    typed."""
    is_checked: bool = False
    """True if a judge supported it."""
    memory_id: str | None = None
    """Id of the unchecked memory made from it, if there is one."""
    tries: int = 0
    """How often the judge was unavailable for it."""

    @property
    def hash(self) -> str:
        return hash_of(self.content)

    @property
    def sentence(self) -> str:
        """The user's own sentence, verbatim; the quote if the sentence is too long."""
        found = find_quote(Quote(source="", text=self.quote), {"": QuotedSource(id="", text=self.context)})
        sentence = found.sentence if found else ""
        return sentence if 0 < len(sentence) <= LONGEST_CONTENT_CHARACTERS else self.quote

    def memory(self, memory_id: str, status: MemoryStatus, **more: Any) -> Memory:
        """Return the memory, with these further fields."""
        kept = {"type", "content", "quote", "question", "trust", "importance", "confidence", "sensitive"}
        kept |= {"about_writing", "source"} | ({"context", "tries", "is_doubtful"} if status == "unchecked" else set())
        return Memory(
            id=memory_id, status=status, **{"last_seen": self.said_at, **self.model_dump(include=kept)} | more
        )

    @property
    def is_in_own_words(self) -> bool:
        """True if the user's sentence contains each of its content words, by stem."""
        return set(content_stems(self.content)) <= set(content_stems(f"{self.sentence} {self.quote}"))


Verb: TypeAlias = Literal["add", "reinforce", "wait", "skip"]


class NoteDecision(BaseModel):
    """The decision on a note."""

    model_config = ConfigDict(frozen=True)

    verb: Verb
    """Add a memory · reinforce an existing one · add it as unchecked · skip."""
    note: Note
    target: str | None = None
    """Id of the memory to reinforce; `#3` is the memory made by the fourth decision of the batch."""
    supersedes: tuple[str, ...] = ()
    """Ids of the memories that it replaces."""
    ask: bool = False
    """True if the user must approve it first."""
    retells: tuple[str, ...] = ()
    """Ids of tombstones that it may repeat."""
    reason: str | None = None
    """The reason for skipping it."""
