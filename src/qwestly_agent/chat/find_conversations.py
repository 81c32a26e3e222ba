"""Search results of conversations in the API, and the titles that users set."""

import re
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.chat.conversation_view import ConversationSummary, summary_of
from qwestly_agent.stores.conversation_search import ConversationSearch, SearchHit, SearchPage, word_start_pattern
from qwestly_agent.stores.conversations import TITLE_CHARACTERS
from qwestly_agent.text.clean import one_line, safe_text

MOST_WORDS = 10
LONGEST_QUERY_CHARACTERS = 200
BEFORE_CHARACTERS, SNIPPET_CHARACTERS = 40, 160
WRONG_TITLE = f"A title has 1 to {TITLE_CHARACTERS} characters."


class Renamed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str
    """1 to 80 characters, without surrounding spaces; a line break becomes a space, and links are disabled."""


class ConversationHit(BaseModel):
    """The match of a search in a conversation: its title, or the newest message with all words."""

    message_id: str | None
    """Null if the title matches."""
    snippet: str
    """Plain text: show it as text, not as Markdown or HTML."""
    words: list[str]
    """The words to highlight, as spelled in the snippet."""


class FoundConversation(ConversationSummary):
    found: ConversationHit


class FoundConversations(BaseModel):
    items: list[FoundConversation]
    next: str | None
    """Cursor: pass it as `after`; null at the end. A page can have fewer items than `limit`, or none, and still have a
    `next`: 500 conversations are compared for one page."""


async def find(
    search: ConversationSearch, user_id: str, query: str, limit: int, after: float | None, now: float
) -> FoundConversations:
    """Return a page of the conversations with all words of the query."""
    words = words_of(query)
    if not words:
        return FoundConversations(items=[], next=None)
    return found_of(await search.find_conversations(user_id, words, limit, after), words, now)


def words_of(query: str) -> list[str]:
    return list(dict.fromkeys(one_line(query).split()))[:MOST_WORDS]


def found_of(hits: SearchPage, words: Sequence[str], now: float) -> FoundConversations:
    items = [FoundConversation(**summary_of(each.conversation, now), found=_found(each, words)) for each in hits.found]
    return FoundConversations(items=items, next=None if hits.next is None else repr(hits.next))


def _found(hit: SearchHit, words: Sequence[str]) -> ConversationHit:
    text = hit.message["content"] if hit.message else hit.conversation.get("title", "")
    pattern = re.compile("|".join(word_start_pattern(word) for word in words), re.IGNORECASE)
    snippet = _snippet(text, pattern)
    marked = dict.fromkeys(each[0] for each in pattern.finditer(snippet))
    return ConversationHit(message_id=hit.message["id"] if hit.message else None, snippet=snippet, words=list(marked))


def _snippet(text: str, pattern: re.Pattern[str]) -> str:
    """Return the text around the words on one line, without links, images and tags."""
    line = one_line(text)
    first = pattern.search(line)
    start = max((first.start() if first else 0) - BEFORE_CHARACTERS, 0)
    end = start + SNIPPET_CHARACTERS
    return safe_text(f"{'…' if start else ''}{line[start:end].strip()}{'…' if end < len(line) else ''}", ())


async def rename(search: ConversationSearch, user_id: str, conversation_id: str, posted: Renamed) -> str:
    """Set the conversation's title; return it as stored. Raises `Invalid` and `NotFound`."""
    title = safe_text(one_line(posted.title[:LONGEST_QUERY_CHARACTERS]), ()).strip()
    if not title or len(title) > TITLE_CHARACTERS:
        raise Invalid(WRONG_TITLE)
    if not await search.rename(user_id, conversation_id, title):
        raise NotFound("There is no such conversation.")
    return title
