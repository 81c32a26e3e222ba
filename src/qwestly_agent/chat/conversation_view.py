"""Conversations in the API, and searching them."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from qwestly_agent.approvals.act import refresh_outcomes
from qwestly_agent.approvals.ask import id_of_call
from qwestly_agent.approvals.view import ApprovalView, approval_view, text_or_approval_titles
from qwestly_agent.base.clock import Page, to_datetime
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.cards.drafts import DraftView, draft_view
from qwestly_agent.chat.outcomes import (
    AnswerItems,
    RememberedView,
    approvals_shown_with,
    current_memories,
    ids_of,
    items_made_by,
    remembered_view,
    reshown_approvals,
)
from qwestly_agent.chat.turn import Thread
from qwestly_agent.domain.approval import Level
from qwestly_agent.platform.collection import Document
from qwestly_agent.services import Services
from qwestly_agent.stores.conversation_search import ConversationSearch, SearchHit, SearchPage, word_start_pattern
from qwestly_agent.stores.conversations import TITLE_CHARACTERS, is_running
from qwestly_agent.stores.messages import (
    Feedback,
    Message,
    Problem,
    Status,
    Step,
    messages_to_recover,
    role_of,
    unfinished_turns,
)
from qwestly_agent.text.clean import one_line, safe_text, well_formed

# --- conversation view ------------------------------------------------------------------------------------------------
# Conversations in the API.


MOST_LOADED = 100
"""Maximum number of messages that an AG-UI client loads."""
MOST_MADE = 200
"""Maximum number of approvals, and of drafts, shown with a conversation."""


class ConversationSummary(BaseModel):
    id: str
    title: str
    created_at: datetime
    updated_at: datetime
    running: bool
    """True while a turn runs."""
    cost_usd: float
    design: str
    role: str


class ConversationList(Page[ConversationSummary]):
    pass


class MessageView(BaseModel):
    id: str
    role: Literal["user", "assistant"]
    content: str
    created_at: datetime
    status: Status
    error: Problem | None = None
    steps: list[Step] = []
    receipt: dict[str, Any] = {}
    feedback: Feedback | None = None
    approvals: list[ApprovalView] = []
    """Approvals that this answer requested, in their current state."""
    drafts: list[DraftView] = []
    """Drafts that this answer started, in their current state."""
    memories: list[RememberedView] = []
    """Memories that this answer stored or corrected at once, in their current state, without those undone or replaced
    since."""


class ConversationView(ConversationSummary):
    messages: list[MessageView]
    next: str | None
    """Cursor: pass it as `before` for earlier messages; null at the beginning."""


class UIConversation(BaseModel):
    """For `useChat`'s `messages`."""

    id: str
    title: str
    design: str
    role: str
    messages: list[dict[str, Any]]
    next: str | None


class AutonomyView(BaseModel):
    model_config = ConfigDict(extra="forbid")

    level: Level


class FeedbackBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    thumb: Literal["up", "down"] | None
    words: Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000)] | None = None

    def feedback(self, now: datetime) -> Feedback | None:
        if self.thumb is None:
            return None
        return Feedback(thumb=self.thumb, words=well_formed(self.words) if self.words else None, at=now)


class FeedbackGiven(BaseModel):
    id: str
    feedback: Feedback | None


def conversation_list(found: Sequence[Document], limit: int, now: float) -> ConversationList:
    """Return a page of conversations. `found` was read with `limit` + 1, to detect whether there are more."""
    return ConversationList.of(
        found, limit, lambda each: ConversationSummary(**summary_fields(each, now)), itemgetter("last_used")
    )


async def read(
    services: Services, user_id: str, token: str, conversation_id: str, limit: int, before: int | None, *, is_ui: bool
) -> ConversationView | UIConversation:
    """Return a page of a conversation (the newest messages before `before`), with the current state of what its answers
    requested, started and stored. `useChat` creates the id itself, so for it an unknown conversation is one without
    messages. Raises `NotFound`."""
    try:
        found = await _read_page(services, user_id, token, conversation_id, limit, before)
    except NotFound:
        if not is_ui:
            raise
        new = {"id": conversation_id, "title": "", "design": services.settings.agent_design, "role": "chat"}
        return UIConversation(**new, messages=[], next=None)
    fields = summary_fields(found.conversation, services.clock())
    if not is_ui:
        return ConversationView(
            **fields, messages=[_message_view(each, found.made) for each in found.page], next=found.earlier
        )
    from qwestly_agent.chat.encode_ai_sdk import ui_message_of

    return UIConversation(
        **fields, messages=[ui_message_of(each, found.made) for each in found.finished], next=found.earlier
    )


async def load_thread(services: Services, user_id: str, token: str, conversation_id: str) -> Thread:
    """Return the newest messages and the approvals of a conversation; empty if the conversation is unknown."""
    try:
        found = await _read_page(services, user_id, token, conversation_id, MOST_LOADED, None)
    except NotFound:
        return Thread()
    by_id = {each.id: each for each in found.made.approvals if each.conversation_id == conversation_id}
    calls = {
        step.id: approval
        for message in found.page
        for step in message.steps
        if (approval := by_id.get(id_of_call(conversation_id, message.run_id, step.id)))
    }
    waiting = [each for each in by_id.values() if each.status == "pending" and not found.made.is_paused]
    asked = [each for each in calls.values() if each in waiting and each.answer == "ask"]
    return Thread(found.finished, calls, asked, [each for each in waiting if each not in asked])


@dataclass(frozen=True)
class _ConversationPage:
    conversation: Document
    page: Sequence[Message]
    made: AnswerItems
    earlier: str | None

    @property
    def finished(self) -> list[Message]:
        """The messages without the running answer, which a resumed stream repeats from its beginning."""
        return [each for each in self.page if each.status != "running" and (each.role == "assistant" or each.content)]


async def _read_page(
    services: Services, user_id: str, token: str, conversation_id: str, limit: int, before: int | None
) -> _ConversationPage:
    conversation = await services.conversations.get(user_id, conversation_id)
    said, approvals, drafts, is_paused = await asyncio.gather(
        services.messages.list_recent(user_id, conversation_id, limit + 1, before),
        services.approvals.list_of_conversation(user_id, conversation_id, MOST_MADE),
        services.drafts.list_of_conversation(user_id, conversation_id, MOST_MADE),
        services.signals.is_braked(user_id),
    )
    ids = [memory_id for message in said for memory_id in ids_of(message)]
    memories = await services.memories.get_many(user_id, ids) if ids else []
    again = {each for message in said for each in reshown_approvals(message)} - {each.id for each in approvals}
    approvals = await refresh_outcomes(
        services,
        [*(each for each in approvals if not each.undoes), *await services.approvals.get_many(user_id, again)],
        token,
    )
    page = _page(conversation, said, limit, before, services.clock())
    earlier = str(said[-limit].seq) if len(said) > limit else None
    return _ConversationPage(conversation, page, AnswerItems(approvals, drafts, memories, is_paused), earlier)


def summary_fields(conversation: Document, now: float) -> dict[str, Any]:
    return {
        "id": conversation["id"],
        "title": conversation.get("title", ""),
        "created_at": conversation.get("created_at") or to_datetime(conversation["last_used"]),
        "updated_at": to_datetime(conversation["last_used"]),
        "running": is_running(conversation, now),
        "cost_usd": conversation.get("cost_usd", 0.0),
        "design": conversation.get("design", "default"),
        "role": role_of(conversation),
    }


def _page(conversation: Document, said: Sequence[Message], limit: int, before: int | None, now: float) -> list[Message]:
    """Return the messages. The newest page also includes the partial text of unrecorded turns, which are running or
    whose process died."""
    page = list(said[-limit:])
    if before is not None:
        return page
    holder = conversation.get("holder") if is_running(conversation, now) else None
    for turn in unfinished_turns(conversation):
        found = messages_to_recover(turn, 0, "running" if turn.run_id == holder else "interrupted")
        known = {(message.id, message.content) for message in page}
        if len(found) == 2 and found[1].id not in {message.id for message in page}:
            replaced = turn.partial.replaced_run if turn.partial else None
            page = [each for each in page if each.run_id != replaced] + found
        elif len(found) == 1 and (turn.message_id, turn.text) not in known:
            status: Status = "complete" if holder else "interrupted"
            page.append(found[0].model_copy(update={"status": status}))
    return page


def _message_view(message: Message, made: AnswerItems) -> MessageView:
    shown = message.model_dump(include={"id", "role", "created_at", "status", "steps", "receipt"})
    asked = [approval_view(each, is_paused=made.is_paused) for each in approvals_shown_with(message, made.approvals)]
    begun = [draft_view(each) for each in items_made_by(message, made.drafts)]
    noted = [remembered_view(each) for each in current_memories(message, made.memories)]
    return MessageView(
        **shown,
        content=text_or_approval_titles(message.content, asked),
        error=message.error,
        feedback=message.feedback,
        approvals=asked,
        drafts=begun,
        memories=noted,
    )


# --- find conversations -----------------------------------------------------------------------------------------------
# Search results for conversations in the API, and the titles that users set.


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
    """Return a page of the conversations that contain all words of the query."""
    words = words_of(query)
    if not words:
        return FoundConversations(items=[], next=None)
    return found_of(await search.find_conversations(user_id, words, limit, after), words, now)


def words_of(query: str) -> list[str]:
    return list(dict.fromkeys(one_line(query).split()))[:MOST_WORDS]


def found_of(hits: SearchPage, words: Sequence[str], now: float) -> FoundConversations:
    items = [
        FoundConversation(**summary_fields(each.conversation, now), found=_hit(each, words)) for each in hits.found
    ]
    return FoundConversations(items=items, next=None if hits.next is None else repr(hits.next))


def _hit(hit: SearchHit, words: Sequence[str]) -> ConversationHit:
    text = hit.message["content"] if hit.message else hit.conversation.get("title", "")
    pattern = re.compile("|".join(word_start_pattern(word) for word in words), re.IGNORECASE)
    snippet = _snippet(text, pattern)
    marked = dict.fromkeys(each[0] for each in pattern.finditer(snippet))
    return ConversationHit(message_id=hit.message["id"] if hit.message else None, snippet=snippet, words=list(marked))


def _snippet(text: str, pattern: re.Pattern[str]) -> str:
    """Return the text around the matched words on one line, without links, images and tags."""
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
