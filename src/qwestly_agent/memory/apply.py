"""Apply a run's replacements from the journal, and ask about memories that may be outdated."""

from qwestly_agent.approvals.ask import ProposalContext, create_approval
from qwestly_agent.base.clock import Clock
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory.actions import MOST_FORGOTTEN, outdated_proposal
from qwestly_agent.memory.consolidation_state import YEAR, ConsolidationState, end
from qwestly_agent.services import Services
from qwestly_agent.stores.memory_work import ConsolidationRun, Merges, ReplacedMemory
from qwestly_agent.workflow_state import state


@state(ConsolidationState)
async def apply(services: Services, given: ConsolidationState) -> ConsolidationState:
    run = await services.journal.get(given.user_id, given.run_id)
    if run.status == "planned":
        for each in run.replacements:
            await _replace(services.merges, services.clock, run, each)
        await _ask_about_outdated(services, run)
        await end(services.merges, services.journal, run, services.clock())
    return given.model_copy(update={"merged": 0 if run.status == "undone" else len(run.replacements)})


async def _replace(merges: Merges, clock: Clock, run: ConsolidationRun, each: ReplacedMemory) -> None:
    await merges.replace(run.user_id, each.gone, each.by, each.status, run.run_id, clock())
    # It keeps its own text, quote and trust, even if a merged memory is less trusted.
    await merges.absorb(run.user_id, each.by, each.gone)
    # The user forgot or corrected it since the plan was made, so it can no longer replace the other one. Checked last,
    # so that a later forgetting finds what it replaced.
    if not await merges.is_current(run.user_id, each.by, run.run_id):
        await merges.undo_replacement(run.user_id, each.gone, each.by, run.run_id)


async def _ask_about_outdated(services: Services, run: ConsolidationRun) -> None:
    """Request approval to forget outdated memories, leaving out those that have changed since. Idempotent."""
    now = services.clock()
    ids = [each.id for each in await services.memories.get_many(run.user_id, run.outdated) if _is_outdated(each, now)]
    outdated = await services.memories.find_lineage(run.user_id, ids)
    while len(outdated) > MOST_FORGOTTEN:  # more than one approval can hold
        ids.pop()
        outdated = await services.memories.find_lineage(run.user_id, ids)
    if not outdated:
        return
    level = await services.autonomy.level(run.user_id)
    context = ProposalContext(user_id=run.user_id, run_id=run.run_id, level=level)
    approval_id = f"ap_{sha256_hex('outdated', run.user_id, run.run_id)[:32]}"
    await create_approval(services, approval_id, outdated_proposal(run.user_id, outdated), context, "queue")
    await services.merges.mark_asked(run.user_id, run.outdated, services.clock())


def _is_outdated(memory: Memory, now: float) -> bool:
    """Check again: it may have been corrected since, or confirmed by a merged memory."""
    ended = memory.valid_until is not None and memory.valid_until.timestamp() <= now
    return memory.status == "active" and (ended or memory.last_seen <= now - YEAR)
