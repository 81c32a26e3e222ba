"""Routes of conversations, of updates outside of turns, and of the designs."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from qwestly_agent.account import delete
from qwestly_agent.agents.design import Designs, Role
from qwestly_agent.base.clock import Cursor, to_datetime
from qwestly_agent.base.traces import child_span, flush
from qwestly_agent.chat.activity import Updates, updates
from qwestly_agent.chat.conversation_view import (
    LONGEST_QUERY_CHARACTERS,
    ConversationList,
    ConversationView,
    FeedbackBody,
    FeedbackGiven,
    FoundConversations,
    Renamed,
    UIConversation,
    conversation_list,
    find,
    read,
    rename,
)
from qwestly_agent.chat.routers.dependencies import TheServices, TheToken, TheUser
from qwestly_agent.memory.extract_writer import start_extraction

# --- conversations ----------------------------------------------------------------------------------------------------
# Routes of conversations, and of updates outside of turns.


router = APIRouter()


class Stopping(BaseModel):
    stopping: bool
    """False if no turn was running."""


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
    """List conversations, most recently used first. With `q`, list only those that have all of its words (up to ten, as
    prefixes, ignoring case) in their title or in a single message, each with the match."""
    if q is not None:
        return await find(services.conversation_search, user_id, q, limit, after, services.clock())
    found = await services.conversations.list_recent(user_id, limit + 1, after)
    return conversation_list(found, limit, services.clock())


@router.get("/api/conversations/{conversation_id}")
async def read_conversation(
    conversation_id: str,
    services: TheServices,
    user_id: TheUser,
    token: TheToken,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    form: Annotated[Literal["ui"] | None, Query(alias="as")] = None,
) -> ConversationView | UIConversation:
    """Return a conversation with the steps of each answer; `?as=ui` returns the AI SDK's `UIMessage[]`."""
    return await read(services, user_id, token, conversation_id, limit, before, is_ui=form == "ui")


@router.patch("/api/conversations/{conversation_id}")
async def rename_conversation(
    conversation_id: str, posted: Renamed, services: TheServices, user_id: TheUser
) -> Renamed:
    """Set a title, which is not changed automatically afterwards. 422 `invalid` if it is empty or longer than 80
    characters. The position in the list does not change."""
    return Renamed(title=await rename(services.conversation_search, user_id, conversation_id, posted))


@router.delete("/api/conversations/{conversation_id}")
async def delete_conversation(conversation_id: str, services: TheServices, user_id: TheUser) -> Deleted:
    """Permanently delete a conversation with its messages. Its pending approvals expire."""
    await delete(services, user_id, conversation_id)
    return Deleted()


@router.post("/api/conversations/{conversation_id}/stop")
async def stop_turn(conversation_id: str, services: TheServices, user_id: TheUser) -> Stopping:
    """Stop the running turn: its stream ends, and its text so far is kept. Closing the connection does not stop it."""
    run_id = await services.conversations.find_running_run(user_id, conversation_id, services.clock())
    if run_id:
        await services.signals.stop(user_id, run_id)
    return Stopping(stopping=run_id is not None)


@router.post("/api/conversations/{conversation_id}/end")
async def end_conversation(conversation_id: str, services: TheServices, user_id: TheUser) -> Ending:
    """Extract memories now instead of after a period of silence. The conversation can be continued at any time."""
    await start_extraction(services, user_id, conversation_id)
    return Ending()


@router.post("/api/messages/{message_id}/feedback")
async def give_feedback(message_id: str, given: FeedbackBody, services: TheServices, user_id: TheUser) -> FeedbackGiven:
    """Rate an answer thumbs up or down (`up`, `down`), with an optional comment; null removes the rating. An answer's
    id is `msg_` followed by its run's id."""
    feedback = given.feedback(to_datetime(services.clock()))
    await services.messages.set_feedback(user_id, message_id, feedback)
    thumb = {"qwestly.thumb": feedback.thumb if feedback else "none"}
    with child_span(services.traces, "feedback", message_id.removeprefix("msg_"), thumb):
        pass
    await flush(services.traces)
    return FeedbackGiven(id=message_id, feedback=feedback)


@router.get("/api/updates")
async def read_updates(
    services: TheServices,
    user_id: TheUser,
    token: TheToken,
    after: Annotated[str | None, Query(max_length=4_000)] = None,
) -> Updates:
    """Return news outside of turns since `after`, the `cursor` of the last response; without it, running and pending
    work.

    Poll every 2 seconds while `active`, otherwise every 30. An item can appear twice, with the same `id` and `at`.
    """
    return await updates(services, user_id, after, token)


# --- designs ----------------------------------------------------------------------------------------------------------
# Route of the designs.


class DesignView(BaseModel):
    name: str
    is_default: bool
    """True if new conversations use it by default."""
    roles: list[Role]


class DesignList(BaseModel):
    items: list[DesignView]
    next: Literal[None] = None


@router.get("/api/designs")
async def list_designs(services: TheServices, user_id: TheUser) -> DesignList:  # noqa: ARG001
    """List the values of `design` and `role` that `POST /api/chat` accepts for a new conversation."""
    return designs_view(services.designs)


def designs_view(designs: Designs) -> DesignList:
    return DesignList(
        items=[
            DesignView(name=name, is_default=name == designs.new_conversation_design, roles=list(agents))
            for name, agents in sorted(designs.agents.items())
        ]
    )
