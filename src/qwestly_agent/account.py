"""Export and erasure of a user's data, and permanent deletion of a conversation."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress

from pydantic_core import to_json
from pymongo.errors import PyMongoError

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.act import ERASED_HERE, ActRequest, ask, erase_approvals
from qwestly_agent.approvals.end import expire_pending
from qwestly_agent.base.clock import Clock, to_datetime, with_iso_moments
from qwestly_agent.base.errors import NotFound
from qwestly_agent.clients.aws import Erasure
from qwestly_agent.domain.activity import of_conversation
from qwestly_agent.platform.collection import Document
from qwestly_agent.services import Services
from qwestly_agent.stores.conversations import LEASE_SECONDS
from qwestly_agent.stores.user_data import UserData, user_collections

# --- account ----------------------------------------------------------------------------------------------------------
# Export and erasure of a user's data.


ELSEWHERE = (
    "Profile, employment, preferences, published cards, LinkedIn profile, suggestions for it and documents are kept by "
    "the candidate app: ask there for them."
)
ERASED = (
    "Everything that the agent kept about you is gone. What the candidate app keeps (profile, preferences, published "
    "cards, suggestions for LinkedIn, documents) was not touched: it is erased there."
)


async def export(user_data: UserData, clock: Clock, user_id: str) -> AsyncIterator[bytes]:
    """Return one JSON document in chunks. It ends with `"complete": true`, so a truncated export is not valid JSON."""
    head = {
        "user_id": user_id,
        "exported_at": to_datetime(clock()),
        "elsewhere": ELSEWHERE,
        # Count before the first byte is sent, so that an unavailable database produces a normal error response.
        "counts": await user_data.count_documents(user_id),
    }
    return _pieces(user_data, user_id, head)


async def _pieces(user_data: UserData, user_id: str, head: Document) -> AsyncIterator[bytes]:
    yield to_json(head)[:-1] + b',"collections":{'
    for number, collection in enumerate(user_collections()):
        yield b"%s%s:[" % (b"," if number else b"", to_json(collection))
        between = b""
        async for document in user_data.iterate(user_id, collection):
            yield between + to_json(with_iso_moments(_named(document)), bytes_mode="base64", fallback=str)
            between = b","
        yield b"]"
    yield b'},"complete":true}'


def _named(document: Document) -> Document:
    """Rename `_id` to `id`, as in the API."""
    return {"id": document.pop("_id"), **document}


async def erase(services: Services, user_id: str, token: str = "") -> dict[str, int]:
    """Stop the user's runs, notify waiting executions, and delete all data. Returns the number of deleted documents by
    collection. `token` is the user's own; with it, a function without the right to notify executions has another
    function do so. Raises `Unavailable` if that fails, or before anything is deleted if the erasure log cannot be
    written; the erasure may then be repeated."""
    await services.erasure_log.write(user_id, Erasure("user"))
    await pause.engage(services.signals, services.sweeps, user_id, services.clock)
    erased, [*others, last] = Counter[str](), user_collections()
    # Erase twice while the brake is on: a turn that read the signals before may have claimed a conversation in the
    # meantime.
    for collections in (others, [*others, last]):
        erased.update(await _erase_approvals(services, user_id, token))
        for collection in collections:
            if collection not in ERASED_HERE:
                erased[collection] += await services.user_data.erase(user_id, collection)
    await services.sweeps.clear_position_at(user_id)
    return {each: erased[each] for each in user_collections()}


async def _erase_approvals(services: Services, user_id: str, token: str) -> dict[str, int]:
    if not token:
        return await erase_approvals(services, user_id)
    return (await ask(services, ActRequest(token=token, act="erase"))).erased


# --- deletion ---------------------------------------------------------------------------------------------------------
# Permanent deletion of a conversation.


async def delete(services: Services, user_id: str, conversation_id: str) -> None:
    """Delete a conversation with its messages and the audit of its tool calls; detach its decided approvals, its drafts
    and its lessons. Raises `NotFound`, and `Unavailable` if the erasure log cannot be written.

    The erasure log is written first, also for a conversation that no longer exists, as it may be in a backup. Then the
    event, because the document that could contain it is deleted: if the process dies right afterwards, the user repeats
    the deletion, which writes the same event. Then the conversation is deleted: a running turn notices this, and
    withdraws its approvals. The other steps run even if the conversation no longer exists, so that a retry completes
    them.

    An erasure of the account at the same moment erases the mark of this deletion, which then removes what it wrote.
    """
    now, runs = services.clock(), services.runs
    event, stopped = of_conversation(user_id, conversation_id, now), ""
    await services.erasure_log.write(user_id, Erasure("conversation", conversation_id))
    mark = await runs.begin(user_id, event.id, now, seconds=0.0)  # no brake waits for it
    with suppress(NotFound):
        run_id = await services.conversations.find_running_run(user_id, conversation_id, now)
        with suppress(PyMongoError):  # deletion matters more than its event
            await services.activity.add(event)
        if run_id:  # the brake could no longer find it by its lease
            stopped = await runs.begin(user_id, run_id, now, LEASE_SECONDS)
    try:
        await services.conversations.delete(user_id, conversation_id)
    finally:
        await expire_pending(services, user_id, conversation_id)
        await services.approvals.forget_conversation(user_id, conversation_id)
        await services.drafts.forget_conversation(user_id, conversation_id)
        await services.lessons.forget_conversation(user_id, conversation_id)
        await services.extractions.delete_unstored(user_id, conversation_id)
        await services.unchecked.delete(
            user_id, [each.id for each in await services.unchecked.list_of_conversation(user_id, conversation_id)]
        )
        await services.tool_calls.forget(user_id, conversation_id)
        if not await runs.end(user_id, mark):
            await services.activity.remove(user_id, event.id)
            await runs.end(user_id, stopped)
