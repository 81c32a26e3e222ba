"""Routes of conversations, and of what happened outside of turns."""

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from qwestly_agent.approvals.execute import refresh_outcomes
from qwestly_agent.base.clock import Cursor, to_datetime
from qwestly_agent.base.traces import child_span, flush
from qwestly_agent.chat.conversation_view import (
    ConversationList,
    ConversationView,
    FeedbackBody,
    FeedbackGiven,
    UIConversation,
    list_of,
    ui_view_of,
    view_of,
)
from qwestly_agent.chat.deletion import delete
from qwestly_agent.chat.find_conversations import LONGEST_QUERY_CHARACTERS, FoundConversations, Renamed, find, rename
from qwestly_agent.chat.outcomes import Made, shown_again
from qwestly_agent.chat.remembered_view import ids_of
from qwestly_agent.chat.routers.dependencies import TheServices, TheUser
from qwestly_agent.chat.updates import Updates, updates
from qwestly_agent.memory.start import read_now

MOST_MADE = 200
"""Approvals, and drafts, of a conversation, shown with it."""

router = APIRouter()


class Stopping(BaseModel):
    stopping: bool
    """False where nothing was running."""


class Ending(BaseModel):
    ending: Literal[True] = True


class Deleted(BaseModel):
    deleted: Literal[True] = True


@router.get("/api/conversations")
async def list_conversations(
    services: TheServices,
    user_id: TheUser,
    limit: Annotated[int, Query(ge=1, le=100)] = 30,
    after: Cursor | None = None,
    q: Annotated[str | None, Query(max_length=LONGEST_QUERY_CHARACTERS)] = None,
) -> FoundConversations | ConversationList:
    """The last used first; with `q` those with all of its words (up to ten, as beginnings of words, in upper or lower
    case) in their title or in one message, each with where they were found."""
    if q is not None:
        return await find(services.conversation_search, user_id, q, limit, after, services.clock())
    found = await services.conversations.list_recent(user_id, limit + 1, after)
    return list_of(found, limit, services.clock())


@router.get("/api/conversations/{conversation_id}")
async def read_conversation(
    conversation_id: str,
    services: TheServices,
    user_id: TheUser,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    form: Annotated[Literal["ui"] | None, Query(alias="as")] = None,
) -> ConversationView | UIConversation:
    """With the steps of each answer; `?as=ui` gives the AI SDK's `UIMessage[]`."""
    conversation = await services.conversations.get(user_id, conversation_id)
    said, approvals, drafts, is_paused = await asyncio.gather(
        services.messages.list_recent(user_id, conversation_id, limit + 1, before),
        services.approvals.list_of_conversation(user_id, conversation_id, MOST_MADE),
        services.drafts.list_of_conversation(user_id, conversation_id, MOST_MADE),
        services.signals.is_braked(user_id),
    )
    ids = [memory_id for message in said for memory_id in ids_of(message)]
    memories = await services.memories.get_many(user_id, ids) if ids else []
    view = ui_view_of if form == "ui" else view_of
    again = {each for message in said for each in shown_again(message)} - {each.id for each in approvals}
    approvals = await refresh_outcomes(
        services, [*(each for each in approvals if not each.undoes), *await services.approvals.get_many(user_id, again)]
    )
    return view(conversation, said, Made(approvals, drafts, memories, is_paused), limit, before, services.clock())


@router.patch("/api/conversations/{conversation_id}")
async def rename_conversation(
    conversation_id: str, posted: Renamed, services: TheServices, user_id: TheUser
) -> Renamed:
    """Give it a title, which stays. 422 `invalid` for none, or one of more than 80 characters. Its place in the list
    stays as well."""
    return Renamed(title=await rename(services.conversation_search, user_id, conversation_id, posted))


@router.delete("/api/conversations/{conversation_id}")
async def delete_conversation(conversation_id: str, services: TheServices, user_id: TheUser) -> Deleted:
    """With its messages, for good. What it asks, and nobody decided, expires."""
    await delete(services, user_id, conversation_id)
    return Deleted()


@router.post("/api/conversations/{conversation_id}/stop")
async def stop_turn(conversation_id: str, services: TheServices, user_id: TheUser) -> Stopping:
    """Stop the turn that runs; its stream ends, and what was said so far is kept. A closed connection stops nothing."""
    run_id = await services.conversations.find_running_run(user_id, conversation_id, services.clock())
    if run_id:
        await services.signals.stop(user_id, run_id)
    return Stopping(stopping=run_id is not None)


@router.post("/api/conversations/{conversation_id}/end")
async def end_conversation(conversation_id: str, services: TheServices, user_id: TheUser) -> Ending:
    """Remember now what matters in it, and not only once it fell silent. It can be gone on with at any time."""
    await read_now(services, user_id, conversation_id)
    return Ending()


@router.post("/api/messages/{message_id}/feedback")
async def give_feedback(message_id: str, given: FeedbackBody, services: TheServices, user_id: TheUser) -> FeedbackGiven:
    """A thumb (`up`, `down`) and words on an answer; null takes it back. An answer's id is `msg_` and its run's id."""
    feedback = given.feedback(to_datetime(services.clock()))
    await services.messages.set_feedback(user_id, message_id, feedback)
    thumb = {"qwestly.thumb": feedback.thumb if feedback else "none"}
    with child_span(services.traces, "feedback", message_id.removeprefix("msg_"), thumb):
        pass
    await flush(services.traces)
    return FeedbackGiven(id=message_id, feedback=feedback)


@router.get("/api/updates")
async def read_updates(
    services: TheServices, user_id: TheUser, after: Annotated[str | None, Query(max_length=4_000)] = None
) -> Updates:
    """What happened outside of turns since `after`, the last answer's `cursor`; without it, what runs or waits now.

    Ask every 2 seconds while `active`, else every 30. An item can come twice, with the same `id` and `at`.
    """
    return await updates(services, user_id, after)
