"""The states of `brief`: start what is due, gather, deliver, and record what was covered."""

import asyncio
from collections import Counter
from collections.abc import Mapping

from pydantic import Field

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.links import hash_of
from qwestly_agent.approvals.mail import new_token, unsubscribe_link
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.observability import Event, cause_of, measure_briefing, measure_left, measure_refused_mail
from qwestly_agent.briefings.mail import message_of
from qwestly_agent.briefings.model import BriefingState
from qwestly_agent.briefings.sources import SOURCES, gather_sources
from qwestly_agent.briefings.view import lines_of
from qwestly_agent.domain.briefing import Briefing, Gathered, Mailed, run_of
from qwestly_agent.services import Services
from qwestly_agent.stores.briefings import BriefingPlan, Briefings
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.workflow_state import WorkflowState, state

# --- gather -----------------------------------------------------------------------------------------------------------
# Query all sources. If a source fails, its last items are repeated.


FIRST_DAYS_SECONDS = 2 * 86_400.0
"""How far back the first briefing looks."""


@state(BriefingState)
async def gather(services: Services, given: BriefingState) -> BriefingState:
    """Store the sources' items and the lines. A second run replaces those of a lite briefing."""
    plan = await services.briefing_plans.get(given.user_id)
    gathered = await _gather(services, plan)
    briefing = await new_briefing(services, given, gathered)
    if not await services.briefings.add(briefing):
        await services.briefings.replace_items(briefing)
    return given.model_copy(update={"new": gathered.new, "tries": given.tries + 1})


async def new_briefing(services: Services, given: BriefingState, gathered: Gathered) -> Briefing:
    newest = await services.briefings.newest(given.user_id, 2)
    before = next((each for each in newest if each.id != given.briefing_id), None)
    last = [each.model_copy(update={"new": False}) for each in before.gathered.items] if before else []
    kept = tuple(each for each in last if each.source in gathered.missing)
    gathered = gathered.model_copy(update={"items": (*gathered.items, *kept)})
    return Briefing(
        id=given.briefing_id,
        user_id=given.user_id,
        run_id=given.run_id,
        day=given.day,
        created_at=services.clock(),
        since=before.created_at if before else None,
        before=before.counts if before else {},
        kind="lite" if gathered.missing else "full",
        gathered=gathered,
        lines=tuple(lines_of(gathered.items)),
    )


async def _gather(services: Services, plan: BriefingPlan) -> Gathered:
    """Return the items of all sources since this plan's marks."""
    first = services.clock() - FIRST_DAYS_SECONDS
    return await gather_sources(services, plan.user_id, {name: plan.marks.get(name, first) for name in SOURCES})


# --- deliver ----------------------------------------------------------------------------------------------------------
# Deliver a briefing in the app, and mail it once.


@state(BriefingState, ignores_brake=True)
async def deliver(services: Services, given: BriefingState) -> BriefingState:
    """Deliver the briefing (idempotent): if it is already in the app, it is not delivered again, and no second mail is
    sent.

    The brake stops it before it starts and before it sends mail. A mail that is being sent is not interrupted.
    """
    async with pause.named_run(services.runs, given.user_id, given.run_name, services.clock):
        await pause.check(services.signals, given.user_id)
        return await _deliver(services, given)


async def _deliver(services: Services, given: BriefingState) -> BriefingState:
    briefing = await services.briefings.get(given.user_id, given.briefing_id)
    kind = briefing.kind if given.new else "nothing"
    if await services.briefings.deliver(briefing, services.clock(), kind):
        measure_briefing(kind)
    if kind != "nothing" and briefing.day:
        await _mail(services, briefing.model_copy(update={"kind": kind}))
    return given.model_copy(update={"lite": kind == "lite"})


async def _mail(services: Services, briefing: Briefing) -> None:
    """Mail at most once: if the outcome is unknown, the mail is not sent again."""
    plan = await services.briefing_plans.get(briefing.user_id)
    contact = await services.profiles.get_mail_recipient(briefing.user_id)
    if not (services.settings.mail_from and plan.settings.on and plan.settings.mail and contact.address):
        return
    if (await services.user_settings.get(briefing.user_id)).returned_as(contact.address):
        return
    is_first = not await services.briefings.was_mailed(briefing.user_id)
    token = new_token()
    if not await services.briefings.claim_mail(briefing.user_id, briefing.id, hash_of(token)):
        return
    link = unsubscribe_link(services.settings, token)
    message = message_of(briefing, services.settings, contact.name, link, plan, is_first=is_first)
    name = f"mail-{briefing.id}"
    async with pause.named_effect(services.runs, services.signals, briefing.user_id, name, services.clock):
        mailed = await _send(services, briefing, contact.address, message, link, hash_of(token))
    await services.briefings.set_mail_status(briefing.user_id, briefing.id, mailed)


async def _send(
    services: Services, briefing: Briefing, address: str, message: tuple[str, str, str], link: str, tag: str
) -> Mailed:
    today = to_datetime(services.clock()).date().isoformat()
    if not await services.briefings.count_mail(today, services.settings.briefing_mails_a_day):
        return "paced"
    try:
        await services.mail.send(address, *message, unsubscribe=link, tag=tag)
    except Unavailable as error:
        services.logger.warning(Event.REQUEST_FAILED, extra={"briefing_id": briefing.id, **cause_of(error)})
        measure_refused_mail()
        return "refused"
    return "sent"


# --- note read --------------------------------------------------------------------------------------------------------
# Record what a briefing covered, so that the next one continues from there.


@state(BriefingState)
async def note_read(services: Services, given: BriefingState) -> BriefingState:
    briefing = await services.briefings.get(given.user_id, given.briefing_id)
    await services.briefing_plans.advance_marks(given.user_id, briefing.gathered.marks)
    return given


# --- sweep ------------------------------------------------------------------------------------------------------------
# Start due briefings, every minute. `domain/briefing.py` computes when the next one is due.
#
# The execution and the record are named after user and day, and the plan is advanced last. After a crash in between,
# the same steps are repeated under the same names.


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
    due = await services.briefing_plans.list_due(0, now, services.settings.briefings_a_sweep)
    counts, places = Counter({"due": len(due)}), asyncio.Semaphore(AT_ONCE)
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + SWEEP_SECONDS

    async def look(user_id: str) -> None:
        async with places:
            counts[await begin_if_due(services, user_id) if loop.time() < ends_at else "left"] += 1

    ends = await asyncio.gather(*(look(each.user_id) for each in due), return_exceptions=True)
    for error in filter(None, ends):
        counts["failed"] += 1
        services.logger.error(Event.REQUEST_FAILED, extra=cause_of(error))
    left = await services.briefing_plans.backlog(now)
    measure_left("Briefings", left.count, now - (left.due_since or now))
    return BriefingsSwept(counts=dict(counts))


async def begin_if_due(services: Services, user_id: str) -> str:
    """Start the user's briefing, or record that nothing is new. Returns the result as a single word."""
    plan, now = await services.briefing_plans.get(user_id), services.clock()
    if plan.next is None:
        # Erased, switched off or unreadable, and therefore no longer due.
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
    gathered = await _gather(services, plan)
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
    """True if the user has not written, read a briefing or changed a setting for `AWAY_SECONDS`."""
    since = now - AWAY_SECONDS
    if plan.changed_at and plan.changed_at > since:
        return False
    used, read = await asyncio.gather(conversations.list_recent(plan.user_id, 1), briefings.last_read_at(plan.user_id))
    return max(read or 0.0, *(each["last_used"] for each in used), 0.0) <= since
