"""The end of a conversation, for good."""

from typing import Protocol

from qwestly_agent.approvals.end import EndServices, withdraw
from qwestly_agent.services import HasConversations, HasExtractions, HasToolCalls


class DeletionServices(EndServices, HasConversations, HasExtractions, HasToolCalls, Protocol): ...


async def delete(services: DeletionServices, user_id: str, conversation_id: str) -> None:
    """With its messages and the audit of its calls. What was decided, and what is drafted, belongs to no conversation
    from now on. Raises `NotFound`.

    The conversation goes first: a turn under way then sees that it is gone, and takes back what it asks. The rest is
    done also where there is no conversation any more, so that a second try ends what the first one left.
    """
    try:
        await services.conversations.delete(user_id, conversation_id)
    finally:
        await withdraw(services, user_id, conversation_id)
        await services.approvals.forget_conversation(user_id, conversation_id)
        await services.drafts.forget_conversation(user_id, conversation_id)
        await services.extractions.drop(user_id, conversation_id)
        await services.memories.drop_unchecked(
            user_id, [each.id for each in await services.memories.unchecked(user_id, conversation_id)]
        )
        await services.tool_calls.forget(user_id, conversation_id)
