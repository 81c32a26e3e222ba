"""The sweep, every minute: expiry (after `Action.hours`), mail, and work left behind by dead processes.

Each step is a compare-and-set or uses an idempotency key, so that two concurrent sweeps do nothing twice.
"""

import asyncio
from collections import Counter
from collections.abc import Callable

from qwestly_agent.approvals.end import expire, finish, give_up
from qwestly_agent.approvals.execute import execute
from qwestly_agent.approvals.mail import mail_if_due
from qwestly_agent.base.clock import Clock, to_datetime
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.observability import Event, cause_of, measure_waiting
from qwestly_agent.domain.approval import EVERYBODY, Approval
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.user_settings import Signals

AT_ONCE = 8
RESERVE_SECONDS = 25.0
"""Seconds that the slowest step may take; no step starts with less time left."""
MOST_COPIED = 500
"""Maximum number of documents per collection whose events a sweep copies."""
EVENTS_OUT = "events out"
MOST_PUT = 200
"""Number of events read at a time."""
FIRST_EVENTS_SECONDS, SETTLED_SECONDS = 60.0, 5.0
NOTIFY_SECONDS = 3600.0
"""Seconds after which the sweep no longer tries to notify an execution, which reads the record at its own timeout."""
LEFT_TO_EXECUTION_SECONDS = 300.0
"""Seconds after the decision during which the effect is left to the notified execution; later the sweep executes it."""


async def sweep(services: Services, seconds_left: Callable[[], float]) -> dict[str, int]:
    """Handle due records, and copy events left behind; return counts of the results. Records counted as `failed`, or as
    `left` for lack of time, stay due."""
    limit = services.settings.approvals_a_sweep
    due = await services.sweeps.next_due("approvals", services.approvals, services.clock(), limit)
    counts, places = Counter({"due": len(due)}), asyncio.Semaphore(AT_ONCE)

    async def look(user_id: str, approval_id: str, _: float) -> None:
        async with places:
            in_time = seconds_left() > RESERVE_SECONDS
            counts[await handle_due(services, user_id, approval_id) if in_time else "left"] += 1

    ends = await asyncio.gather(*(look(*each) for each in due), return_exceptions=True)
    for (_, approval_id, _), error in zip(due, ends, strict=True):
        if error is not None:
            counts["failed"] += 1
            services.logger.error(Event.REQUEST_FAILED, extra={"approval_id": approval_id, **cause_of(error)})
    counts.update(await copy_left_events(services, seconds_left))
    counts.update(await publish_events(services, seconds_left))
    await _measure(services.approvals, services.signals, services.clock)
    return dict(counts)


async def copy_left_events(services: Services, seconds_left: Callable[[], float]) -> Counter[str]:
    """Copy events that a dead process left in their documents into the feed."""
    counts = Counter[str]()
    for collection, user_id, key in await services.sweeps.list_uncopied(MOST_COPIED):
        if seconds_left() <= RESERVE_SECONDS:
            break
        try:
            await services.activity.copy(collection, user_id, key)
            counts["copied"] += 1
        except Exception as error:
            counts["failed"] += 1
            services.logger.error(Event.REQUEST_FAILED, extra={"collection": collection, **cause_of(error)})
    return counts


async def publish_events(services: Services, seconds_left: Callable[[], float]) -> Counter[str]:
    """Publish the events copied into the feed since the last sweep on the event bus: at least once, in the feed's
    order. The first sweep starts a minute back."""
    counts, now = Counter[str](), services.clock()
    if not services.settings.event_bus:
        return counts
    position = await services.sweeps.position(EVENTS_OUT) or now - FIRST_EVENTS_SECONDS
    # An event being written now may become visible after a later one.
    until = to_datetime(now - SETTLED_SECONDS)
    while seconds_left() > RESERVE_SECONDS:
        copied = await services.activity.list_copied(to_datetime(position), until, MOST_PUT)
        is_full = len(copied) == MOST_PUT
        # Keep events with the same time together, because the next page starts after that time.
        copied = [each for each in copied if each.copied_at < copied[-1].copied_at] or copied if is_full else copied
        try:
            await services.event_bus.put([each.event for each in copied])
        except Unavailable as error:
            counts["failed"] += len(copied)
            services.logger.error(Event.REQUEST_FAILED, extra={"collection": EVENTS_OUT, **cause_of(error)})
            break
        counts["put"] += len(copied)
        position = max([position, *(each.copied_at.timestamp() for each in copied)])
        await services.sweeps.save_position(EVENTS_OUT, position)
        if not is_full:
            break
    return counts


async def _measure(approvals: Approvals, signals: Signals, clock: Clock) -> None:
    """Emit the age of the oldest pending approval, and the backlog; called when the sweep's work is done."""
    now = clock()
    oldest, left, is_braked = await asyncio.gather(
        approvals.oldest_pending(), approvals.backlog(now), signals.is_braked(EVERYBODY)
    )
    waited = now - (now if oldest is None else oldest)
    measure_waiting(waited, is_braked, left.count, now - (left.due_since or now))


async def handle_due(services: Services, user_id: str, approval_id: str) -> str:
    """Handle one due record; return the result as a single word."""
    approval, now = await services.approvals.get(user_id, approval_id), services.clock()
    if approval.due_at is None or now < approval.due_at:
        return "nothing"
    match approval.status:
        case "pending" if now >= approval.expires_at:
            return await _expire(services, approval, now)
        case "pending":
            after = await mail_if_due(services, approval)
            return "mailed" if after.mails > approval.mails else "nothing"
        case "approved" if approval.task_token and now < (approval.decided_at or now) + LEFT_TO_EXECUTION_SECONDS:
            return await _tell(services, approval)
        case "approved" | "executing" | "accepted" | "unknown":
            approval = await execute(services, user_id, approval_id)
            if approval.task_token is None:
                await finish(services, approval)
            return "carried_out"
        case _ if now >= approval.updated_at + NOTIFY_SECONDS:
            await give_up(services, approval)
            return "given_up"
        case _:
            return await _tell(services, approval)


async def _expire(services: Services, approval: Approval, now: float) -> str:
    expired = await expire(services.approvals, approval, now)
    if expired is None:
        return "nothing"
    await finish(services, expired)
    return "expired"


async def _tell(services: Services, approval: Approval) -> str:
    if not (approval.waits_for_execution or approval.is_unfinished):
        return "nothing"
    await finish(services, approval)
    return "told"
