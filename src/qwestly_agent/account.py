"""What a user takes along, and how they leave: everything of ours about them as one document, and its end."""

from collections.abc import AsyncIterator
from typing import Protocol

from pydantic_core import to_json
from pymongo.errors import PyMongoError

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.end import EndServices, expire, tell_execution
from qwestly_agent.approvals.pause import RunsOf
from qwestly_agent.base.clock import Clock, to_datetime
from qwestly_agent.base.errors import AgentError
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.domain.approval import Approval
from qwestly_agent.services import HasConversations, HasLogger, HasSignals, HasUserData
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.user_data import COLLECTIONS, UserData


class AccountServices(EndServices, HasConversations, HasLogger, HasSignals, HasUserData, Protocol): ...


ELSEWHERE = (
    "Profile, employment, preferences, published cards, LinkedIn profile, suggestions for it and documents are kept by "
    "the candidate app: ask there for them."
)
ERASED = (
    "Everything that the agent kept about you is gone. What the candidate app keeps (profile, preferences, published "
    "cards, suggestions for LinkedIn, documents) was not touched: it is erased there."
)
MOST_WAITING = 1_000
"""Questions that are looked at for an execution that waits; far fewer can be open at a time."""


async def export(user_data: UserData, clock: Clock, user_id: str) -> AsyncIterator[bytes]:
    """One JSON document, in pieces. It ends with `"complete": true`: what breaks off in the middle is no JSON."""
    head = {
        "user_id": user_id,
        "exported_at": to_datetime(clock()),
        "elsewhere": ELSEWHERE,
        # Before the first byte goes out: where nothing can be read this is an error like any other.
        "counts": await user_data.counts(user_id),
    }
    return _pieces(user_data, user_id, head)


async def _pieces(user_data: UserData, user_id: str, head: Document) -> AsyncIterator[bytes]:
    yield to_json(head)[:-1] + b',"collections":{'
    for number, collection in enumerate(COLLECTIONS):
        yield b"%s%s:[" % (b"," if number else b"", to_json(collection))
        between = b""
        async for document in user_data.each(user_id, collection):
            yield between + to_json(_named(document), bytes_mode="base64", fallback=str)
            between = b","
        yield b"]"
    yield b'},"complete":true}'


def _named(document: Document) -> Document:
    """With the id that the API calls it by."""
    return {"id": document.pop("_id"), **document}


async def erase(services: AccountServices, user_id: str) -> dict[str, int]:
    """How many documents were erased, by collection. What runs is stopped first, and what waits is told."""
    runs = RunsOf(user_id, services.conversations, services.drafts, services.approvals)
    await pause.engage(services.signals, user_id, runs, services.clock)
    try:
        for approval in await services.approvals.all(user_id, MOST_WAITING):
            if approval.waits_for_execution:
                await _let_go(services, approval)
    except Exception as error:  # a record that nobody can read is erased like any other
        services.logger.error(Event.REQUEST_FAILED, extra=cause_of(error))
    return {collection: await services.user_data.erase(user_id, collection) for collection in COLLECTIONS}


async def _let_go(services: AccountServices, approval: Approval) -> None:
    """The execution ends by itself once it is told. That it cannot be told is no reason to keep what shall be erased:
    it then ends at its own timeout, finding nothing."""
    try:
        expired = await expire(services.approvals, approval, services.clock()) if approval.status == "pending" else None
        await tell_execution(services, expired or approval)
    except (AgentError, PyMongoError) as error:
        services.logger.warning(Event.REQUEST_FAILED, extra={"approval_id": approval.id, **cause_of(error)})
