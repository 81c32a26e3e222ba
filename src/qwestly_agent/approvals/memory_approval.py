"""Proposals about memories: remember something sensitive, forget something.

Their texts stay in the record until it is decided, or until they are forgotten, and are stored nowhere else outside of
the memories: neither in a mail nor in the state machine's data.
"""

from collections.abc import Sequence
from dataclasses import replace

from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.approvals.forget import STAYS
from qwestly_agent.approvals.memory_actions import FORGET_MEMORIES, FORGET_OUTDATED_MEMORIES, KEEP_MEMORIES, as_shown
from qwestly_agent.approvals.previews import in_words
from qwestly_agent.domain.approval import Change, Preview, sha256_hex
from qwestly_agent.domain.memory import Memory

OUTDATED = (
    "These have ended, or you have not mentioned them for a year. If one of them still holds, say no: you can have the "
    "others forgotten one by one."
)


def id_of_question(batch_id: str) -> str:
    """Return the id of a batch's approval; asking twice makes one record."""
    return f"ap_{sha256_hex('memories', batch_id)[:32]}"


def remember_proposal(memories: Sequence[Memory], memory_ids: Sequence[str], conversation_id: str) -> Proposal:
    """Propose to remember; `memories` are those of `memory_ids` that still wait for approval, in the order shown."""
    return Proposal(
        KEEP_MEMORIES,
        {"memory_ids": list(memory_ids), "conversation_id": conversation_id},
        rationale=_why(memories),
        preview=_preview(memories),
        shown={each.id: each.content for each in memories},
    )


def forget_proposal(user_id: str, memories: Sequence[Memory]) -> Proposal:
    """Propose to forget; `memories` are all that would be forgotten, with their lineage."""
    title = "Forget this for good" if len(memories) == 1 else f"Forget these {len(memories)} for good"
    changes = tuple(Change(name=in_words(each.type).capitalize(), before=each.content, after=None) for each in memories)
    return Proposal(
        FORGET_MEMORIES,
        {"memories": {each.id: as_shown(user_id, each) for each in memories}},
        rationale=f"Exactly this goes from what your agent remembers, and cannot be brought back. {STAYS}",
        preview=Preview(title=title, changes=changes),
        shown={each.id: each.content for each in memories},
    )


def outdated_proposal(user_id: str, memories: Sequence[Memory]) -> Proposal:
    """Propose to forget outdated ones; `memories` are those that may no longer be true, with their lineage."""
    proposal = forget_proposal(user_id, memories)
    return replace(
        proposal,
        action=FORGET_OUTDATED_MEMORIES,
        rationale=f"{OUTDATED} {proposal.rationale}",
        preview=proposal.preview and proposal.preview.model_copy(update={"title": "Forget what may be out of date"}),
    )


def _preview(memories: Sequence[Memory]) -> Preview:
    count, one = len(memories), len(memories) == 1
    if any(each.sensitive for each in memories):
        title = "Remember something sensitive" if one else f"Remember {count} sensitive things"
    else:
        title = "Remember something you said" if one else f"Remember {count} things you said"
    return Preview(
        title=title,  # the title is kept and mailed, so it contains nothing of the memories' texts
        changes=tuple(
            Change(name=in_words(each.type).capitalize(), before=None, after=each.content, evidence=(_said(each),))
            for each in memories
        ),
    )


def _why(memories: Sequence[Memory]) -> str:
    if any(each.sensitive for each in memories):
        return "You said this in a conversation. It is sensitive, so you are asked before it is remembered."
    if any(each.retells for each in memories):
        return "You said this in a conversation. It is like something you had forgotten, so you are asked first."
    return "Your agent is not sure that you want this remembered as it stands here, so you are asked first."


def _said(memory: Memory) -> str:
    if memory.question:
        return f"Asked “{memory.question}”, you said: “{memory.quote}”"
    return f"You said: “{memory.quote}”"
