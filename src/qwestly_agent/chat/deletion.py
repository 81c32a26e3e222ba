"""The end of a conversation, for good."""

from qwestly_agent.authority.answering import withdraw
from qwestly_agent.bootstrap import FullHouse


async def delete(house: FullHouse, user_id: str, conversation_id: str) -> None:
    """With its messages and the audit of its calls. What was decided, and what is drafted, belongs to no conversation
    from now on. Raises `NotFound`.

    The conversation goes first: a turn under way then sees that it is gone, and takes back what it asks. The rest is
    done also where there is no conversation any more, so that a second try ends what the first one left.
    """
    try:
        await house.conversations.delete(user_id, conversation_id)
    finally:
        await withdraw(house, user_id, conversation_id)
        await house.approvals.forget_conversation(user_id, conversation_id)
        await house.drafts.forget_conversation(user_id, conversation_id)
        await house.extractions.drop(user_id, conversation_id)
        await house.memories.drop_unchecked(
            user_id, [each.id for each in await house.memories.unchecked(user_id, conversation_id)]
        )
        await house.tool_calls.forget(user_id, conversation_id)
