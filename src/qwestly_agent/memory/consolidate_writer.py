"""The states of `consolidate` that have effects, and how to undo them."""

from pydantic import BaseModel, ConfigDict

from qwestly_agent.approvals.ask import ProposalContext, create_approval
from qwestly_agent.base.clock import Clock
from qwestly_agent.base.observability import Event, measure_consolidation, measure_left
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.memory.actions import MOST_FORGOTTEN, outdated_proposal
from qwestly_agent.memory.model import ConsolidationPage, ConsolidationState, end
from qwestly_agent.services import Services
from qwestly_agent.stores.memory_work import ConsolidationRun, Journal, Merges, ReplacedMemory
from qwestly_agent.workflow_state import OVER_BUDGET, state

# --- find users -------------------------------------------------------------------------------------------------------
# Find the next users with new memories.


USERS_AT_ONCE = 100


@state(ConsolidationPage, ignores_brake=True)
async def find_users(services: Services, page: ConsolidationPage) -> ConsolidationPage:
    """Continue where the last night ended, wrap around after the last id, and stop where this night began."""
    room = min(USERS_AT_ONCE, services.settings.users_a_night - page.seen)
    if page.began_after is None:
        began = await services.sweeps.position("consolidate") or ""
        page = page.model_copy(update={"began_after": began, "after": began})
    users, again = await _next_users(services.merges, page, room)
    after = users[-1] if users else page.after
    await services.sweeps.save_position("consolidate", after)
    return page.model_copy(
        update={
            "run_id": page.run_id or services.new_id(),
            "users": tuple(users),
            "after": after,
            "again": again,
            "more": len(users) == room and page.seen + room < services.settings.users_a_night,
        }
    )


async def _next_users(merges: Merges, page: ConsolidationPage, limit: int) -> tuple[list[str], bool]:
    """Return the users, and whether the night has wrapped around to the first id."""
    if page.again:
        return await merges.list_due_users(page.after, limit, page.began_after), True
    users = await merges.list_due_users(page.after, limit)
    if len(users) == limit or not page.began_after:
        return users, False
    return [*users, *await merges.list_due_users("", limit - len(users), page.began_after)], True


# --- apply ------------------------------------------------------------------------------------------------------------
# Apply a run's replacements from the journal, and ask the user about memories that may be outdated.


@state(ConsolidationState)
async def apply(services: Services, given: ConsolidationState) -> ConsolidationState:
    run = await services.journal.get(given.user_id, given.run_id)
    if run.status == "planned":
        for each in run.replacements:
            await _replace(services.merges, services.clock, run, each)
        await _ask_about_outdated(services, run)
        await end(services.merges, services.journal, run, services.clock())
    return given.model_copy(update={"merged": 0 if run.is_undone else len(run.replacements)})


async def _replace(merges: Merges, clock: Clock, run: ConsolidationRun, each: ReplacedMemory) -> None:
    await merges.replace(run.user_id, each.gone, each.by, each.status, run.run_id, clock())
    # The remaining memory keeps its own text, quote and trust, even if a merged one is less trusted.
    await merges.absorb(run.user_id, each.by, each.gone)
    # If the user has forgotten or corrected the replacement since the plan was made, it can no longer replace the other
    # memory. Checked last, so that a later forgetting finds what it replaced.
    if not await merges.is_current(run.user_id, each.by, run.run_id):
        await merges.undo_replacement(run.user_id, each.gone, each.by, run.run_id)


async def _ask_about_outdated(services: Services, run: ConsolidationRun) -> None:
    """Request approval to forget outdated memories, except those that have changed since the plan. Idempotent."""
    # Check again: a memory may have been corrected since, or confirmed by a merged one.
    still = await services.merges.list_outdated(run.user_id, services.clock())
    ids = [each for each in run.outdated if each in still]
    outdated = await services.memories.find_lineage(run.user_id, ids)
    while len(outdated) > MOST_FORGOTTEN:  # more than one approval may contain
        ids.pop()
        outdated = await services.memories.find_lineage(run.user_id, ids)
    if not outdated:
        return
    level = await services.autonomy.level(run.user_id)
    context = ProposalContext(user_id=run.user_id, run_id=run.run_id, level=level)
    approval_id = f"ap_{sha256_hex('outdated', run.user_id, run.run_id)[:32]}"
    await create_approval(services, approval_id, outdated_proposal(run.user_id, outdated), context, "queue")
    await services.merges.mark_asked(run.user_id, run.outdated, services.clock())


# --- sum up -----------------------------------------------------------------------------------------------------------
# Log and measure the results of a page of users.


PASSING = ("Unavailable", "DataGone", "Lambda.TooManyRequestsException", "ModelUnavailable", "DeadlineExceeded")
"""Transient errors, after which the next night catches up. `ModelRefused` (a provider rejects all requests) is not one
of them, as a person must fix that."""


@state(ConsolidationPage, ignores_brake=True)
async def sum_up(services: Services, page: ConsolidationPage) -> ConsolidationPage:
    """Log users that failed, and emit the page's metrics. Lasting errors (`broken`) raise an alarm after the last
    page."""
    failed = [each for each in page.results if each.error and each.error != "Braked"]
    for each in failed:
        services.logger.warning(Event.CONSOLIDATION_FAILED, extra={"user_id": each.user_id, "cause": each.error})
    done = [each for each in page.results if not each.error]
    measure_consolidation(
        users=len(done),
        planned=sum(each.planned for each in done),
        merged=sum(each.merged for each in done),
        left_over=sum(each.planned - each.begun for each in done),
        failed=len(failed),
    )
    if not page.more:
        left = await services.merges.backlog()
        measure_left("Memories", left.count, services.clock() - (left.due_since or services.clock()))
    # A short outage of the database resolves itself, and its users are still due. Other errors would recur unnoticed
    # every night, and failures for more than one user in ten are not a short outage. An exhausted budget resets at
    # midnight.
    failed = [each for each in failed if each.error not in OVER_BUDGET]
    broken = [each for each in failed if each.error not in PASSING or len(failed) * 10 > len(page.results)]
    return page.model_copy(
        update={"users": (), "seen": page.seen + len(page.results), "broken": page.broken + len(broken)}
    )


# --- undo consolidation -----------------------------------------------------------------------------------------------
# Undo the replacements of a run of `consolidate`.


class Undone(BaseModel):
    model_config = ConfigDict(frozen=True)

    run_id: str
    restored: tuple[str, ...] = ()
    """The memories that are active again."""


async def undo(merges: Merges, journal: Journal, user_id: str, run_id: str, now: float) -> Undone:
    """Reactivate the replaced memories, except those that were forgotten, that are equal to an existing memory, or that
    were merged into one that is no longer true. The memories that absorbed them give back everything they took over.
    The pairs are never merged again. If the undo is interrupted at any point, the next sweep of `extract_memories`
    finishes it. Raises `NotFound`."""
    run = await journal.get(user_id, run_id)
    if run.status == "undone":
        return Undone(run_id=run_id)
    await journal.begin_undo(run)
    # In reverse order, because a memory may first have superseded another and then been merged.
    restored = [each.gone for each in reversed(run.replacements) if await _parted(merges, run, each)]
    await journal.end(run, "undone", now)
    return Undone(run_id=run_id, restored=tuple(restored))


async def _parted(merges: Merges, run: ConsolidationRun, each: ReplacedMemory) -> bool:
    if each.status == "merged" and not await merges.is_current(run.user_id, each.by, run.run_id):
        return False  # the equal memory was forgotten together with it, or is no longer true
    return await merges.undo_replacement(run.user_id, each.gone, each.by, run.run_id)
