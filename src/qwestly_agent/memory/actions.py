"""The actions on memories (store proposed ones, forget for good) and their proposals.

The texts of memories are kept in the approval's record until it is decided or they are forgotten, and otherwise only in
the memories themselves: never in a mail or in the state machine's data.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, TypeAlias

from pydantic import Field, StringConstraints

from qwestly_agent.action import Action, Arguments
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.approvals.view import format_value
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_app import Changed, Done, Outcome, Refused
from qwestly_agent.domain.approval import KEEPS_MEMORIES, Approval, Change, Preview, sha256_hex
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory.forget import WHAT_STAYS, filter_proposed, forget_exactly
from qwestly_agent.services import Services

MOST_FORGOTTEN = 200
"""Maximum memories in one approval, including their lineage."""
OUTDATED = (
    "These have ended, or you have not mentioned them for a year. If one of them still holds, say no: you can have the "
    "others forgotten one by one."
)
MOST_MEMORIES = 100
MOST_QUESTIONS = 3
"""With this many pending questions about memories, the next question covers all of them."""
MemoryIds: TypeAlias = Annotated[
    list[Annotated[str, StringConstraints(min_length=1, max_length=128)]], Field(min_length=1, max_length=MOST_MEMORIES)
]


class Keeping(Arguments):
    memory_ids: MemoryIds
    conversation_id: str


class Forgetting(Arguments):
    memories: Annotated[dict[str, str], Field(min_length=1, max_length=MOST_FORGOTTEN)]
    """`memory_digest` of each memory by id, with the whole lineage of each."""


async def _memories_shown(services: Services, user_id: str, args: Keeping) -> dict[str, str]:
    return {each.id: each.content for each in await filter_proposed(services.memories, user_id, args.memory_ids)}


def memory_digest(user_id: str, memory: Memory) -> str:
    """Return a digest of content, count and status. If it differs later, the memory is no longer the one the user
    saw."""
    return sha256_hex(user_id, memory.id, memory.content, str(memory.count), memory.status)[:32]


async def _lineage_shown(services: Services, user_id: str, args: Forgetting) -> dict[str, str]:
    return {each.id: each.content for each in await services.memories.find_lineage(user_id, list(args.memories))}


async def _forget(services: Services, effect: candidate_app.Effect, args: Forgetting) -> Outcome:
    """Forget the memories that were shown and still exist, or none if their lineage now includes others."""
    lineage = await services.memories.find_lineage(effect.user_id, list(args.memories))
    if any(args.memories.get(each.id) != memory_digest(effect.user_id, each) for each in lineage):
        return Changed("")
    forgotten = await forget_exactly(services, effect.user_id, list(args.memories))
    return Done(None, {"note": forgotten.note})


async def _activate(services: Services, effect: candidate_app.Effect, args: Keeping) -> Outcome:
    if not await services.memories.get_many(effect.user_id, args.memory_ids):
        return Refused("gone", "It was forgotten meanwhile.")
    await services.memories.activate_proposed(effect.user_id, args.memory_ids, services.clock())
    return Done(None, {})


async def discard(services: Services, approval: Approval) -> None:
    """Remove memories that were not approved. After a rejection they become tombstones, so that they are not proposed
    again; after expiry they are deleted, as if they had never been found."""
    memories, tombstones, user_id = services.memories, services.tombstones, approval.user_id
    match approval.status:
        case "rejected":
            # Keep memories that the user has since asked to store.
            asked = approval.arguments["memory_ids"]
            proposed = await filter_proposed(memories, user_id, asked)
            await tombstones.begin(user_id, [each.id for each in proposed], services.clock())
            # Include memories that a process started to forget before it died.
            await tombstones.end(user_id, asked, services.clock())
        case "expired" | "revised" | "failed" | "changed":
            others = await services.approvals.list_pending(user_id, KEEPS_MEMORIES)
            asked = {memory_id for each in others for memory_id in each.arguments["memory_ids"]}
            left = [each for each in approval.arguments["memory_ids"] if each not in asked]
            await memories.delete_proposed(user_id, left)
        case _:  # approved, or not decided yet
            pass


KEEP_MEMORIES = Action(
    tool=KEEPS_MEMORIES,
    kind="memory",
    effect="memory",
    hours=168,
    arguments=Keeping,
    subject=lambda _: "memories",
    read_current=_memories_shown,
    # The proposer has read the memories and passes its own preview.
    preview=lambda args, shown: Preview(title="Remember something sensitive"),  # noqa: ARG005
    perform=_activate,
    done_message="They are remembered.",
    on_ended=discard,
    is_own_data=True,
    revisable=False,
)
FORGET_MEMORIES = Action(
    tool="forget_memory",
    kind="memory",
    effect="memory",
    hours=1,
    arguments=Forgetting,
    subject=lambda _: "memories",
    read_current=_lineage_shown,
    preview=lambda args, shown: Preview(title="Forget this for good"),  # noqa: ARG005
    perform=_forget,
    done_message="It is forgotten for good.",
    is_own_data=True,
    revisable=False,
    signed_in_only=True,
)
# Proposed at night, when no user can answer within an hour.
FORGET_OUTDATED_MEMORIES = replace(FORGET_MEMORIES, tool="forget_outdated_memories", hours=168)


def approval_id_of_batch(batch_id: str) -> str:
    """Return the id of a batch's approval, so that requesting it twice creates one record."""
    return f"ap_{sha256_hex('memories', batch_id)[:32]}"


def remember_proposal(memories: Sequence[Memory], memory_ids: Sequence[str], conversation_id: str) -> Proposal:
    """Propose to store memories. `memories` are those of `memory_ids` that still wait for approval, in the order
    shown."""
    return Proposal(
        KEEP_MEMORIES,
        {"memory_ids": list(memory_ids), "conversation_id": conversation_id},
        rationale=_why(memories),
        preview=_preview(memories),
        shown={each.id: each.content for each in memories},
    )


def forget_proposal(user_id: str, memories: Sequence[Memory]) -> Proposal:
    """Propose to forget memories. `memories` are all that would be forgotten, including their lineage."""
    title = "Forget this for good" if len(memories) == 1 else f"Forget these {len(memories)} for good"
    changes = tuple(
        Change(name=format_value(each.type).capitalize(), before=each.content, after=None) for each in memories
    )
    return Proposal(
        FORGET_MEMORIES,
        {"memories": {each.id: memory_digest(user_id, each) for each in memories}},
        rationale=f"Exactly this goes from what your agent remembers, and cannot be brought back. {WHAT_STAYS}",
        preview=Preview(title=title, changes=changes),
        shown={each.id: each.content for each in memories},
    )


def outdated_proposal(user_id: str, memories: Sequence[Memory]) -> Proposal:
    """Propose to forget outdated memories. `memories` are those that may no longer be true, including their lineage."""
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
        title=title,  # the title is stored and mailed, so it contains no text from the memories
        changes=tuple(
            Change(
                name=format_value(each.type).capitalize(), before=None, after=each.content, evidence=(_quoted(each),)
            )
            for each in memories
        ),
    )


def _why(memories: Sequence[Memory]) -> str:
    if any(each.sensitive for each in memories):
        return "You said this in a conversation. It is sensitive, so you are asked before it is remembered."
    if any(each.retells for each in memories):
        return "You said this in a conversation. It is like something you had forgotten, so you are asked first."
    return "Your agent is not sure that you want this remembered as it stands here, so you are asked first."


def _quoted(memory: Memory) -> str:
    if memory.question:
        return f"Asked “{memory.question}”, you said: “{memory.quote}”"
    return f"You said: “{memory.quote}”"
