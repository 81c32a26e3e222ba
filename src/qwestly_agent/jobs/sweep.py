"""Start due searches and report due steps of applications, every five minutes.

The execution is named by user and day, and the next search is scheduled last: after a crash in between, the same step
is repeated under the same name.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from pydantic import Field
from pymongo.errors import PyMongoError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import AgentError, Braked, Invalid
from qwestly_agent.base.observability import Event, cause_of, measure_left
from qwestly_agent.domain.approval import EVERYBODY, sha256_hex
from qwestly_agent.jobs.follow_ups import remind_of_due_steps
from qwestly_agent.jobs.start import start_scout
from qwestly_agent.services import Services
from qwestly_agent.stores.due import Backlog
from qwestly_agent.stores.stage_day import WORKFLOWS_UP_TO
from qwestly_agent.workflow_state import WorkflowState, state

AT_ONCE = 20
HOUR = 3
"""Local hour of nightly searches; the minute differs by user to spread the requests to boards."""


class JobsSwept(WorkflowState):
    counts: Mapping[str, int] = Field(default_factory=dict)


@state(JobsSwept, ignores_brake=True)
async def sweep(services: Services, _: JobsSwept) -> JobsSwept:
    """Start due searches. Users whose brake is on stay due until they release it, as do all users once most of the
    stage's daily budget is spent."""
    now, braked = services.clock(), await services.sweeps.braked_users()
    waits = EVERYBODY in braked or await services.stage_day.is_spent(now, WORKFLOWS_UP_TO)
    due = [] if waits else await _next_due(services, now, braked)
    counts, places = Counter({"due": len(due)}), asyncio.Semaphore(AT_ONCE)

    async def look(user_id: str) -> None:
        async with places:
            try:
                counts[await begin_if_due(services, user_id)] += 1
            except (AgentError, PyMongoError) as error:  # it stays due, after the others
                counts["failed"] += 1
                services.logger.error(Event.REQUEST_FAILED, extra=cause_of(error))

    await asyncio.gather(*map(look, due))
    steps = await remind_of_due_steps(services)
    left = Backlog(0, None) if EVERYBODY in braked else await services.sweeps.job_searches_left(now, braked)
    measure_left("Jobs", left.count, now - (left.due_since or now))
    return JobsSwept(counts={**counts, **{f"steps_{name}": count for name, count in steps.items()}})


async def _next_due(services: Services, now: float, braked: Collection[str]) -> list[str]:
    """Continue where the last sweep ended, and wrap around at the end, so that repeated failures do not block
    others."""
    sweeps, limit = services.sweeps, services.settings.job_searches_a_sweep
    after = await sweeps.position("jobs") or 0.0
    due = await sweeps.due_job_searches(after, now, limit, braked)
    if after and len(due) < limit:
        due += await sweeps.due_job_searches(0.0, min(after, now), limit - len(due), braked)
    await sweeps.save_position("jobs", due[-1][1] if len(due) == limit else None)
    return [user_id for user_id, _ in due]


async def begin_if_due(services: Services, user_id: str) -> str:
    """Start this user's search; return the result in a word."""
    search, now = await services.job_searches.get(user_id), services.clock()
    if not search.is_on or search.next_at is None:
        await services.job_searches.schedule(user_id, None)
        return "off"
    if search.next_at > now:
        return "changed"
    zone = (await services.user_settings.get(user_id)).zone
    done = "started"
    try:
        await start_scout(services, user_id, f"night {to_datetime(search.next_at):%Y-%m-%d}", at_night=True)
    except Braked:
        return "braked"
    except Invalid:  # no board is configured any more
        done = "no_board"
    await services.job_searches.schedule(user_id, next_night(user_id, zone, now))
    return done


def next_night(user_id: str, zone: str, now: float) -> float:
    """Return the next time of this user's search, in seconds since the epoch."""
    of_the_hour = int(sha256_hex(user_id)[:8], 16) / 16**8 * 3_600
    local = datetime.fromtimestamp(now, ZoneInfo(zone))

    def of(day: date) -> float:
        return datetime.combine(day, time(HOUR), ZoneInfo(zone)).timestamp() + of_the_hour

    tonight = of(local.date())
    return tonight if tonight > now else of(local.date() + timedelta(days=1))
