"""Start due briefings, every minute. `domain/briefing.py` computes when the next one is due.

The execution and the record are named after user and day, and the plan is advanced last. After a crash in between, the
same steps are repeated under the same names.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping

from pydantic import Field

from qwestly_agent.base.observability import Event, cause_of, measure_left
from qwestly_agent.briefings.briefing_state import BriefingState
from qwestly_agent.briefings.gather import gather_sources, new_briefing
from qwestly_agent.domain.briefing import Gathered, run_of
from qwestly_agent.services import Services
from qwestly_agent.stores.briefings import BriefingPlan, Briefings
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.workflow_state import WorkflowState, state

AT_ONCE = 40
SWEEP_SECONDS = 40.0
"""Time limit for starting briefings; the others stay due for the next minute."""
AWAY_SECONDS = 30 * 86_400.0
LATE_SECONDS = 6 * 3600.0
"""A briefing that is later than this is skipped; the next one covers everything."""


class BriefingsSwept(WorkflowState):
    counts: Mapping[str, int] = Field(default_factory=dict)


@state(BriefingsSwept, ignores_brake=True)
async def sweep(services: Services, _: BriefingsSwept) -> BriefingsSwept:
    now = services.clock()
    due = await services.sweeps.due_briefings(now, services.settings.briefings_a_sweep)
    counts, places = Counter({"due": len(due)}), asyncio.Semaphore(AT_ONCE)
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + SWEEP_SECONDS

    async def look(user_id: str) -> None:
        async with places:
            counts[await begin_if_due(services, user_id) if loop.time() < ends_at else "left"] += 1

    ends = await asyncio.gather(*map(look, due), return_exceptions=True)
    for error in filter(None, ends):
        counts["failed"] += 1
        services.logger.error(Event.REQUEST_FAILED, extra=cause_of(error))
    left = await services.sweeps.briefings_left(now)
    measure_left("Briefings", left.count, now - (left.due_since or now))
    return BriefingsSwept(counts=dict(counts))


async def begin_if_due(services: Services, user_id: str) -> str:
    """Start the user's briefing, or record that nothing is new. Returns the result in a word."""
    plan, now = await services.briefing_plans.get(user_id), services.clock()
    if plan.next is None:
        # Erased, switched off or unreadable: no longer due.
        await services.briefing_plans.reschedule(user_id, now)
        return "off"
    if plan.next.at > now:
        return "changed"
    done = await _begin(services, plan, now)
    await services.briefing_plans.schedule_next(plan, now)
    return done


async def _begin(services: Services, plan: BriefingPlan, now: float) -> str:
    assert plan.next
    if now - plan.next.at > LATE_SECONDS:
        return "late"
    if await services.signals.is_braked(plan.user_id):
        await services.runs.record_stopped(plan.user_id, run_of(plan.user_id, plan.next.day), now)
        return "braked"
    if await _is_away(services.conversations, services.briefings, plan, now):
        return "away"
    name = run_of(plan.user_id, plan.next.day)
    given = BriefingState(user_id=plan.user_id, run_id=name, briefing_id=name, day=plan.next.day)
    gathered = await gather_sources(services, plan)
    if not gathered.new and not gathered.missing:
        return await _say_nothing_new(services, plan, given, gathered)
    await services.workflows.start("brief", name, given.out)
    return "started"


async def _say_nothing_new(services: Services, plan: BriefingPlan, given: BriefingState, gathered: Gathered) -> str:
    if plan.settings.quiet:
        return "quiet"
    briefing = await new_briefing(services, given, gathered)
    told = briefing.model_copy(update={"kind": "nothing", "delivered_at": briefing.created_at})
    await services.briefings.add(told)
    return "nothing_new"


async def _is_away(conversations: Conversations, briefings: Briefings, plan: BriefingPlan, now: float) -> bool:
    """True if the user has not written, read a briefing or changed a setting for this long."""
    since = now - AWAY_SECONDS
    if plan.changed_at and plan.changed_at > since:
        return False
    used, read = await asyncio.gather(conversations.list_recent(plan.user_id, 1), briefings.last_read_at(plan.user_id))
    return max(read or 0.0, *(each["last_used"] for each in used), 0.0) <= since
