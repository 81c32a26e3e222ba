"""What is sensitive as a proposal: whether it may be remembered, and all that a person needs to say so.

Its texts stand in the record until it is decided, or until they are forgotten, and nowhere else outside of the
memories: neither in a mail, nor in what passes from state to state.
"""

from collections.abc import Sequence

from qwestly_agent.authority.acts import KEEP_MEMORIES, in_words, still_proposed, still_there
from qwestly_agent.authority.approvals import Proposal
from qwestly_agent.authority.model import Approval, Change, Preview, digest_of
from qwestly_agent.bootstrap import House
from qwestly_agent.memory.model import Memory


def id_of_question(batch_id: str) -> str:
    """Of the record that asks about a batch, however often it is asked for."""
    return f"ap_{digest_of('memories', batch_id)[:32]}"


def keeping_of(memories: Sequence[Memory], memory_ids: Sequence[str], conversation_id: str) -> Proposal:
    """`memories` are those of the ids that still wait for a yes, as they are shown."""
    return Proposal(
        KEEP_MEMORIES,
        {"memory_ids": list(memory_ids), "conversation_id": conversation_id},
        rationale="You said this in a conversation. It is sensitive, so you are asked before it is remembered.",
        preview=_preview(memories),
        shown={each.id: each.content for each in memories},
    )


async def without_forgotten(house: House, approval: Approval) -> Approval:
    """The record without what was forgotten while it was being made: whoever forgot it could not find it there yet."""
    there = await still_there(house, approval.user_id, tuple(approval.shown))
    gone = approval.shown.keys() - {each.id for each in there}
    if not gone:
        return approval
    await house.approvals.scrub_memories(approval.user_id, gone)
    return await house.approvals.get(approval.user_id, approval.id)


async def let_go(house: House, approval: Approval) -> None:
    """What was not allowed to be remembered. After a no it is forgotten, so that nobody asks again; where nobody came
    it is as if it had not been found."""
    match approval.status:
        case "rejected":
            # What its user asked to be remembered since is not what they said no to.
            proposed = await still_proposed(house, approval.user_id, approval.arguments["memory_ids"])
            await house.memories.forget(approval.user_id, [each.id for each in proposed], {}, house.clock())
        case "expired" | "revised" | "failed" | "changed":
            await house.memories.drop_proposed(approval.user_id, approval.arguments["memory_ids"])
        case _:  # kept, or not yet decided
            pass


def _preview(memories: Sequence[Memory]) -> Preview:
    one = len(memories) == 1
    return Preview(
        # It stays, and is mailed: it says nothing of what they say.
        title="Remember something sensitive" if one else f"Remember {len(memories)} sensitive things",
        changes=tuple(
            Change(name=in_words(each.type).capitalize(), before=None, after=each.content, evidence=(_said(each),))
            for each in memories
        ),
    )


def _said(memory: Memory) -> str:
    if memory.question:
        return f"Asked “{memory.question}”, you said: “{memory.quote}”"
    return f"You said: “{memory.quote}”"
