"""The actions on memories: to remember what was proposed, and to forget for good."""

from dataclasses import replace

from qwestly_agent.approvals.action import Action
from qwestly_agent.approvals.arguments import Forgetting, Keeping
from qwestly_agent.approvals.end import still_proposed, still_there
from qwestly_agent.approvals.forget import forget_exactly
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_answers import Changed, Done, Outcome, Refused
from qwestly_agent.domain.approval import KEEPS_MEMORIES, Preview, sha256_hex
from qwestly_agent.domain.memory import Memory
from qwestly_agent.services import Services


async def _memories_shown(services: Services, user_id: str, args: Keeping) -> dict[str, str]:
    return {each.id: each.content for each in await still_proposed(services.memories, user_id, args.memory_ids)}


def as_shown(user_id: str, memory: Memory) -> str:
    """A digest of content, count and status. If it differs later, the memory is not what the user saw."""
    return sha256_hex(user_id, memory.id, memory.content, str(memory.count), memory.status)[:32]


async def _lineage_shown(services: Services, user_id: str, args: Forgetting) -> dict[str, str]:
    return {each.id: each.content for each in await services.memories.lineage(user_id, list(args.memories))}


async def _forget(services: Services, effect: candidate_app.Effect, args: Forgetting) -> Outcome:
    """Forget the shown memories that still exist; nothing if their lineage now includes others."""
    lineage = await services.memories.lineage(effect.user_id, list(args.memories))
    if any(args.memories.get(each.id) != as_shown(effect.user_id, each) for each in lineage):
        return Changed("")
    forgotten = await forget_exactly(services, effect.user_id, list(args.memories))
    return Done(None, {"note": forgotten.note})


async def _keep(services: Services, effect: candidate_app.Effect, args: Keeping) -> Outcome:
    if not await still_there(services.memories, effect.user_id, args.memory_ids):
        return Refused("gone", "It was forgotten meanwhile.")
    await services.memories.keep_proposed(effect.user_id, args.memory_ids, services.clock())
    return Done(None, {})


KEEP_MEMORIES = Action(
    tool=KEEPS_MEMORIES,
    kind="memory",
    effect="memory",
    arguments=Keeping,
    subject=lambda _: "memories",
    shown=_memories_shown,
    # The proposer has read the memories and passes a preview of its own.
    preview=lambda args, shown: Preview(title="Remember something sensitive"),  # noqa: ARG005
    perform=_keep,
    done="They are remembered.",
    ours=True,
    revisable=False,
)
FORGET_MEMORIES = Action(
    tool="forget_memory",
    kind="memory",
    effect="memory",
    arguments=Forgetting,
    subject=lambda _: "memories",
    shown=_lineage_shown,
    preview=lambda args, shown: Preview(title="Forget this for good"),  # noqa: ARG005
    perform=_forget,
    done="It is forgotten for good.",
    ours=True,
    revisable=False,
    signed_in_only=True,
)
# Proposed at night, when nobody can answer within an hour.
FORGET_OUTDATED_MEMORIES = replace(FORGET_MEMORIES, tool="forget_outdated_memories")
