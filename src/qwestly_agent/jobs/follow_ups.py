"""Remind users of due steps of their applications."""

from collections import Counter

from pymongo.errors import PyMongoError

from qwestly_agent.base.errors import AgentError
from qwestly_agent.base.observability import Event, cause_of, measure_left
from qwestly_agent.services import Services


async def remind_of_due_steps(services: Services) -> dict[str, int]:
    """Remind users, and return counts of the results. Each step is reported once, and only while it is due."""
    now, counts = services.clock(), Counter[str]()
    for user_id, application_id in await services.sweeps.due_applications(now, services.settings.follow_ups_a_sweep):
        try:
            application = await services.applications.get(user_id, application_id)
            is_due = application.due_at is not None and application.due_at <= now
            counts[
                "told" if is_due and await services.applications.record_reminder(application, now) else "not_due"
            ] += 1
        except (AgentError, PyMongoError) as error:
            counts["failed"] += 1
            services.logger.error(Event.REQUEST_FAILED, extra=cause_of(error))
    left = await services.sweeps.steps_left(now)
    measure_left("Steps", left.count, now - (left.due_since or now))
    return dict(counts)
