"""Permanent deletion of a conversation."""

from typing import Protocol

from qwestly_agent.approvals.end import EndServices, withdraw
from qwestly_agent.services import HasConversations, HasExtractions, HasToolCalls, HasUnchecked


class DeletionServices(EndServices, HasConversations, HasExtractions, HasToolCalls, HasUnchecked, Protocol): ...


async def delete(services: DeletionServices, user_id: str, conversation_id: str) -> None:
    """Delete a conversation with its messages and the audit of its tool calls; detach its decided approvals and its
    drafts. Raises `NotFound`.

    The conversation is deleted first: a turn that runs then sees that it is gone, and withdraws its approvals. The
    other steps run even if the conversation is gone already, so that a retry completes them.
    """
    try:
        await services.conversations.delete(user_id, conversation_id)
    finally:
        await withdraw(services, user_id, conversation_id)
        await services.approvals.forget_conversation(user_id, conversation_id)
        await services.drafts.forget_conversation(user_id, conversation_id)
        await services.extractions.drop(user_id, conversation_id)
        await services.unchecked.drop(
            user_id, [each.id for each in await services.unchecked.of_conversation(user_id, conversation_id)]
        )
        await services.tool_calls.forget(user_id, conversation_id)
