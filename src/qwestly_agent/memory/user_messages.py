"""The user's messages, and the notes whose quotes code finds in their typed text."""

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

from qwestly_agent.domain import memory
from qwestly_agent.domain.memory import MemoryType
from qwestly_agent.grounding.ground import check
from qwestly_agent.grounding.model import Quote, QuotedSource, Statement
from qwestly_agent.grounding.quotes import FoundQuote, find_quote
from qwestly_agent.memory.notes import LONGEST_CONTENT_CHARACTERS, LONGEST_QUOTE_CHARACTERS, DropReason, Note
from qwestly_agent.memory.sensitive import is_credential, is_sensitive
from qwestly_agent.stores.messages import Message
from qwestly_agent.text.clean import visible, well_formed
from qwestly_agent.text.user_text import Part, parts_of, questions_in, trouble_in, unread_lines

LONGEST_READ_CHARACTERS = 24_000
"""Maximum characters read of one message."""
CONTEXT_CHARACTERS = 300
"""Length of the text before and after a quote that the judge gets as context."""


@dataclass(frozen=True)
class UserMessage:
    """A user message, and the assistant's message before it."""

    id: str
    text: str
    at: datetime
    before: str = ""

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts that the user may have typed; fenced, quoted and mailed text between them counts as a document."""
        return tuple(parts_of(self.text[:LONGEST_READ_CHARACTERS]))

    @property
    def typed(self) -> tuple[str, ...]:
        return tuple(part.text for part in self.parts)

    @property
    def unread(self) -> str:
        """Numbers of the unread lines, such as "3–9"; empty if all are read."""
        return unread_lines(self.text, self.typed)

    @cached_property
    def question(self) -> str:
        """The assistant's last question in the previous message, which this one may answer."""
        asked = questions_in(self.before)
        return asked[-1] if asked else ""


def user_messages_in(messages: Sequence[Message], after: int) -> list[UserMessage]:
    """Return the user's messages with a `seq` above `after`, each with the agent's message before it."""
    before, found = "", []
    for message in messages:
        if message.role == "assistant":
            before = "" if message.withheld else message.content
        elif message.seq > after and is_evidence(message):
            found.append(UserMessage(message.id, message.content, message.created_at, before))
            before = ""
    return found


def is_evidence(message: Message) -> bool:
    """True for a user message from which memories may be extracted."""
    in_trouble = message.in_trouble or trouble_in(message.content)  # a killed turn set no flag
    return message.role == "user" and not message.withheld and not in_trouble


def find_note(
    said: UserMessage | None,
    *,
    kind: MemoryType,
    content: str,
    quote: str,
    conversation_id: str | None,
    importance: float,
    confidence: float = 1.0,
    sensitive: bool = False,
    about_writing: bool = False,
    is_asked_for: bool = False,
    since: str | None = None,
    until: str | None = None,
) -> Note | DropReason:
    """Return an unchecked note, or the reason to drop it. `said` is the message from which the quote is claimed to be;
    None if the user did not write that message."""
    content = " ".join(visible(well_formed(content)).split())
    if said is None:
        return DropReason.NOT_SAID
    if not any(map(str.isalnum, content)):
        return DropReason.NOTHING
    if len(content) > LONGEST_CONTENT_CHARACTERS or len(quote) > LONGEST_QUOTE_CHARACTERS:
        return DropReason.TOO_LONG
    sure = _find(quote, [part.text for part in said.parts if part.is_sure])
    found = sure or _find(quote, said.typed)
    if found is None:
        return DropReason.DOCUMENT if _find(quote, [visible(said.text)]) else DropReason.NOT_SAID
    context, question = _around(found), said.question
    if is_credential(content) or is_credential(found.text):
        return DropReason.CREDENTIAL
    return Note(
        type=kind,
        content=content,
        quote=found.text,
        context=context,
        question=question,
        trust="inferred" if question else "user_said",
        importance=importance,
        confidence=confidence,
        sensitive=sensitive or is_sensitive(content, found.text),
        about_writing=about_writing,
        is_doubtful=sure is None,
        is_asked_for=is_asked_for,
        since=_date_in(since, found.text, question),
        until=_date_in(until, found.text, question, last=True),
        said_at=said.at.timestamp(),
        source=memory.MemorySource(conversation_id=conversation_id, message_ids=(said.id,)),
    )


def _find(quote: str, texts: Sequence[str]) -> FoundQuote | None:
    found = (
        find_quote(Quote(source="", text=visible(well_formed(quote))), {"": QuotedSource(id="", text=text)})
        for text in texts
    )
    return next((each for each in found if each), None)


def _around(found: FoundQuote) -> str:
    """Return the quote with the text around it."""
    text = found.source.text
    return text[max(0, found.start - CONTEXT_CHARACTERS) : found.end + CONTEXT_CHARACTERS].strip()


def _date_in(given: str | None, *quotes: str, last: bool = False) -> str | None:
    """Return the first (or last) day of the given year or month, if that is in the quotes."""
    if not given:
        return None
    text = given.strip()
    try:
        day = date.fromisoformat(f"{text}-01-01"[:10] if len(text) == 4 else f"{text}-01"[:10])
    except ValueError:
        return None
    sources = {str(n): QuotedSource(id=str(n), text=quote) for n, quote in enumerate(quotes)}
    statement = Statement(
        text=text, quotes=tuple(Quote(source=n, text=each.text) for n, each in sources.items() if each.text)
    )
    if not check(statement, sources).has_all_figures:
        return None
    end = day.replace(month=12, day=31) if len(text) == 4 else day.replace(day=monthrange(day.year, day.month)[1])
    return (end if last else day).isoformat()
