"""An interview: topics with their aspects, and the person's statements about each.

An aspect is covered only by a statement that quotes the person, and closed only by their own words.
"""

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

TopicStatus: TypeAlias = Literal["mentioned", "backlog", "active", "completed"]
Phase: TypeAlias = Literal["divergence", "deep_dive", "convergence", "end"]
Closing: TypeAlias = Literal["asking", "offered", "last"]
"""How close a topic is to its end: questions continue, or it is summed up with the last question (`offered` was stored
by earlier versions)."""
EndReason: TypeAlias = Literal["covered", "nothing_new", "tired", "asked", "out_of_topics", "out_of_time"]


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)


class Said(_Frozen):
    """A verbatim quote from the person."""

    message_id: str
    text: str
    known_from: str = ""
    """The earlier source that the quote comes from, such as "cv.pdf"; empty if it is from this conversation."""

    def overlaps(self, other: "Said") -> bool:
        mine, theirs = self.text.casefold(), other.text.casefold()
        return self.message_id == other.message_id and (mine in theirs or theirs in mine)


class Aspect(_Frozen):
    name: str
    status: Literal["open", "covered", "closed"] = "open"
    quotes: tuple[Said, ...] = ()
    """Quotes that cover the aspect, or with which the person closed it."""
    asked: int = 0
    """How often the aspect was asked about."""
    answer: str = ""
    """Id of the message that followed the last question about the aspect."""
    evaded: bool = False
    """True if that message contained nothing for the draft."""


class Topic(_Frozen):
    title: str
    status: TopicStatus = "mentioned"
    priority: int = 0
    """The topic with the highest priority comes first."""
    aspects: tuple[Aspect, ...] = ()
    turns: int = 0
    """Number of the person's answers while the topic was active."""
    closing: Closing = "asking"

    @property
    def open_aspects(self) -> tuple[Aspect, ...]:
        return tuple(each for each in self.aspects if each.status == "open")

    @property
    def completeness(self) -> float:
        """(covered + closed) / all aspects; 0 without aspects."""
        return 1 - len(self.open_aspects) / len(self.aspects) if self.aspects else 0.0


class DraftSentence(_Frozen):
    """A sentence of the draft."""

    topic: str
    aspects: tuple[str, ...]
    text: str
    quotes: tuple[Said, ...]
    since: int
    """Version of the draft that added it."""
    until: int | None = None
    """Version of the draft that dropped or replaced it."""
    is_struck: bool = False
    """True if the sentence was replaced or struck out: it must not return on the basis of the same words."""

    def repeats(self, struck: "DraftSentence") -> bool:
        """True if the sentence says the same as `struck`, or is based on the same words about the same aspects."""
        within = all(any(each.overlaps(other) for other in struck.quotes) for each in self.quotes)
        same_aspects = not (self.aspects and struck.aspects) or {*self.aspects} & {*struck.aspects}
        return self.text.casefold() == struck.text.casefold() or bool(within and same_aspects)


class Ended(_Frozen):
    reason: EndReason
    quote: str = ""
    """The person's words, if they ended the interview."""
    told_to: int | None = None
    """`seq` of the message whose answer announces the end."""


class Interview(_Frozen):
    """The stored state, part of its conversation's document. `stores/interviews.py` changes it by compare-and-set on
    `revision`."""

    revision: int = 0
    phase: Phase = "divergence"
    topics: tuple[Topic, ...] = ()
    statements: tuple[DraftSentence, ...] = ()
    version: int = 0
    """Version of the draft; counts additions, replacements and removals."""
    counted_to: int = 0
    """`seq` of the person's last message whose kind is known."""
    untold: tuple[str, ...] = ()
    """Ids of messages without any information: counter-questions, refusals. No draft is based on them."""
    drafted_to: int = 0
    """`seq` of the last message that the draft covers."""
    turns: int = 0
    idle_turns: int = 0
    """Consecutive turns without a new statement, updated when a turn's draft is ready."""
    lengths: tuple[int, ...] = ()
    """Number of words in each answer."""
    asking: str = ""
    """The aspect of the active topic to ask about now; empty if the model may choose."""
    reasoning: str = ""
    """The reason for the current question, as a sentence to the person; empty if code chose the aspect."""
    terms: tuple[str, ...] = ()
    """The person's own terms, which the draft keeps."""
    avoided: tuple[str, ...] = ()
    """Words that the draft must avoid."""
    has_agenda: bool = False
    """True if the topics are fixed, as in an onboarding."""
    has_memories: bool = False
    """True if the first draft also reads memories, which may answer part of the agenda."""
    minutes: int | None = None
    """The person's time budget."""
    started_at: float = 0.0
    ended: Ended | None = None

    @property
    def active(self) -> Topic | None:
        return next((each for each in self.topics if each.status == "active"), None)

    @property
    def may_be_known(self) -> bool:
        """True until the memories have been searched for answers to the agenda."""
        return self.has_memories and not self.drafted_to

    @property
    def draft(self) -> tuple[DraftSentence, ...]:
        return tuple(each for each in self.statements if each.until is None)

    @property
    def completeness(self) -> float:
        aspects = [aspect for topic in self.topics for aspect in topic.aspects]
        return sum(each.status != "open" for each in aspects) / len(aspects) if aspects else 0.0

    def words_of(self, topic: Topic) -> str:
        """Return the quotes of the statements about a topic, one statement per line."""
        said = (" … ".join(quote.text for quote in each.quotes) for each in self.draft if each.topic == topic.title)
        return "\n".join(dict.fromkeys(said))

    def topic(self, title: str) -> Topic | None:
        """Return the topic with this title, ignoring case."""
        return next((each for each in self.topics if each.title.casefold() == title.strip().casefold()), None)
