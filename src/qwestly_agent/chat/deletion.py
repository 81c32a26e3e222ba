"""Permanent deletion of a conversation."""

from contextlib import suppress

from pymongo.errors import PyMongoError

from qwestly_agent.approvals.end import expire_pending
from qwestly_agent.domain.activity import of_conversation
from qwestly_agent.services import Services


async def delete(services: Services, user_id: str, conversation_id: str) -> None:
    """Delete a conversation with its messages and the audit of its tool calls; detach its decided approvals, its drafts
    and its lessons. Raises `NotFound`.

    Its event is written first, because the document that could contain it is deleted: if the process dies right
    afterwards, the user repeats the deletion, which is the same event. Then the conversation is deleted: a running turn
    sees that, and withdraws its approvals. The other steps run even if the conversation is already gone, so that a
    retry completes them.
    """
    if await services.conversations.exists(user_id, conversation_id):
        with suppress(PyMongoError):  # the deletion matters more
            await services.activity.add(of_conversation(user_id, conversation_id, services.clock()))
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
