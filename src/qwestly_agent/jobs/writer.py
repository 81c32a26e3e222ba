"""The states of `scout_jobs` that have effects or search boards, and the sweep that starts them."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from pydantic import Field
from pymongo.errors import PyMongoError

from qwestly_agent.approvals import pause
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import (
    AgentError,
    Braked,
    Invalid,
    StageOverBudget,
    Unavailable,
)
from qwestly_agent.base.observability import Event, cause_of, measure_left
from qwestly_agent.clients.job_boards import JobQuery
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.approval import EVERYBODY, sha256_hex
from qwestly_agent.domain.job import JobWishes
from qwestly_agent.jobs.model import ScoutState, run_of
from qwestly_agent.jobs.search import NIGHTLY_CACHE_SECONDS, SECONDS_TO_A_TURN, is_same, search_boards
from qwestly_agent.jobs.wishes import person_of, weights_of, without_excluded
from qwestly_agent.platform.collection import Backlog
from qwestly_agent.services import Services
from qwestly_agent.stores.jobs import CACHE_SECONDS
from qwestly_agent.stores.usage import WORKFLOWS_UP_TO
from qwestly_agent.workflow_state import WorkflowState, state

# --- find -------------------------------------------------------------------------------------------------------------
# Search boards for a user, leaving out adverts that were shown before or that the user's wishes exclude.


MOST_QUERIES = 3
"""Maximum queries per search; the others follow in the next searches."""
MOST_NAMED = 8
MOST_FOUND = 200
MOST_EARLIER = 200
"""Number of earlier matches to compare with, as the same job can reappear under another id."""
NO_WISHES = "Say which work you look for: there is no title to search for yet."


@state(ScoutState)
async def find(services: Services, given: ScoutState) -> ScoutState:
    """Query the boards once; the results are stored before they are used."""
    search = await services.job_searches.get(given.user_id)
    if search.run_id == given.run_id and search.found:
        return given.model_copy(update={"found": len(search.found)})
    person = await person_of(services, given.user_id)
    queries, others = turns_of(queries_of(person.wishes), search.asked_before)
    cached = NIGHTLY_CACHE_SECONDS if given.at_night else CACHE_SECONDS
    told = await search_boards(services, given.user_id, queries, patience=SECONDS_TO_A_TURN, cached_within=cached)
    earlier = [each.advert for each in await services.job_matches.newest(given.user_id, MOST_EARLIER)]
    known = await services.job_matches.list_shown_adverts(given.user_id)
    new = [each for each in told.adverts if each.id not in known and not any(is_same(each, other) for other in earlier)]
    fits, ruled_out = without_excluded(new, person.wishes)
    fits = fits[:MOST_FOUND]
    missing = (*told.missing, *ruled_out, *_not_asked(others)) if queries else (NO_WISHES,)
    await services.adverts.save(fits)
    await services.job_searches.save_parts(
        given.user_id,
        given.run_id,
        services.clock(),
        found=[each.id for each in fits],
        missing=list(missing),
        asked_before=[each.label for each in queries],
        weights=await weights_of(services.job_matches, search, person.wishes),
    )
    return given.model_copy(update={"found": len(fits)})


def queries_of(wishes: JobWishes) -> Sequence[JobQuery]:
    """Return a query for each title in each place, and one for remote jobs. Queries for one title in each place come
    first."""
    remote_only = wishes.remote == "only"
    places = ("",) if remote_only or not wishes.places else wishes.places
    titles, queries = wishes.titles, list[JobQuery]()
    for turn in range(len(titles)):
        queries += [
            JobQuery(titles[(turn + number) % len(titles)], place, remote_only) for number, place in enumerate(places)
        ]
        if turn == 0 and wishes.remote == "any" and wishes.places:
            queries.append(JobQuery(titles[0], "", remote_only=True))
    return queries


def turns_of(queries: Sequence[JobQuery], before: Sequence[str]) -> tuple[Sequence[JobQuery], Sequence[JobQuery]]:
    """Return the queries of this search and the remaining ones. `before` are the labels of the last search's queries;
    this search continues after them."""
    last = max((number for number, each in enumerate(queries) if each.label in before[-1:]), default=-1)
    turned = [*queries[last + 1 :], *queries[: last + 1]]
    return turned[:MOST_QUERIES], turned[MOST_QUERIES:]


def _not_asked(queries: Sequence[JobQuery]) -> Sequence[str]:
    if not queries:
        return ()
    named = ", ".join(each.label for each in queries[:MOST_NAMED])
    more = f" and {len(queries) - MOST_NAMED} more" if len(queries) > MOST_NAMED else ""
    return (f"Next time we’ll also search for {named}{more}.",)


# --- start ------------------------------------------------------------------------------------------------------------
# Start a search: at night for users who turned it on, or on request.


NO_BOARDS = "No job board is connected here."
SAME_AGAIN = "You searched for exactly this a few minutes ago. Change what you want, or try again in ten minutes."
AGAIN_SECONDS = 600.0
"""Minimum seconds between two identical requests of a user."""
MOST_TITLES_TOLD = 3


async def start_scout(services: Services, user_id: str, key: str, *, at_night: bool = False) -> str:
    """Return the run's id, or that of a running search. Raises `Braked`, `Invalid` and `Unavailable`."""
    # The function that starts nightly searches only has the setting, as it has no board's key.
    if not (services.settings.has_job_boards if at_night else services.job_boards.boards):
        raise Invalid(NO_BOARDS)
    await pause.check(services.signals, user_id)
    now, run_id = services.clock(), run_of(user_id, key)
    search = await services.job_searches.get(user_id)
    if search.is_searching(now) and search.run_id != run_id:
        return search.run_id
    await services.usage.ensure_document(user_id, now)
    await services.job_searches.begin(user_id, run_id, now)
    given = ScoutState(user_id=user_id, run_id=run_id, at_night=at_night)
    try:
        await services.workflows.start("scout_jobs", run_id, given.out)
    except Unavailable:
        await services.job_searches.undo_begin(user_id, run_id)
        raise
    return run_id


async def start_requested(services: Services, user_id: str) -> str:
    """Start a search on request. If the last search succeeded and the wishes have not changed, a new one is allowed
    after ten minutes. Raises what `start_scout` raises."""
    now, search = services.clock(), await services.job_searches.get(user_id)
    has_just_ended = search.run_id and search.status == "ready" and now - (search.searched_at or 0.0) < AGAIN_SECONDS
    if has_just_ended and search.searched_for == search.wishes:
        raise Invalid(SAME_AGAIN)
    # Concurrent requests start only one search.
    key = f"asked {sha256_hex(search.wishes.model_dump_json(), search.run_id, search.status)}"
    return await start_scout(services, user_id, key)


# --- follow ups -------------------------------------------------------------------------------------------------------
# Remind users of due steps in their applications.


async def remind_of_due_steps(services: Services) -> dict[str, int]:
    """Remind users, and return counts of the results. The user is reminded of each step only once, and only while it is
    due."""
    now, counts = services.clock(), Counter[str]()
    for user_id, application_id, _ in await services.applications.list_due(
        0, now, services.settings.follow_ups_a_sweep
    ):
        try:
            application = await services.applications.get(user_id, application_id)
            is_due = application.due_at is not None and application.due_at <= now
            counts[
                "told" if is_due and await services.applications.record_reminder(application, now) else "not_due"
            ] += 1
        except (AgentError, PyMongoError) as error:
            counts["failed"] += 1
            services.logger.error(Event.REQUEST_FAILED, extra=cause_of(error))
    left = await services.applications.backlog(now)
    measure_left("Steps", left.count, now - (left.due_since or now))
    return dict(counts)


# --- sweep ------------------------------------------------------------------------------------------------------------
# Start due searches and remind of due steps in applications, every five minutes.
#
# The execution is named after user and day, and the next search is scheduled last: after a crash in between, the same
# step is repeated under the same name.


AT_ONCE = 20
HOUR = 3
"""Local hour of nightly searches; the minute differs by user, to spread the requests to boards."""


class JobsSwept(WorkflowState):
    counts: Mapping[str, int] = Field(default_factory=dict)


@state(JobsSwept, ignores_brake=True)
async def sweep(services: Services, _: JobsSwept) -> JobsSwept:
    """Start due searches. While a user's brake is on, their search stays due; all stay due once most of the stage's
    daily budget is spent."""
    now, braked = services.clock(), await services.signals.list_braked()
    waits = EVERYBODY in braked or await services.stage_day.is_spent(now, WORKFLOWS_UP_TO)
    limit = services.settings.job_searches_a_sweep
    due = [] if waits else await services.sweeps.next_due("jobs", services.job_searches, now, limit, braked)
    counts, places = Counter({"due": len(due)}), asyncio.Semaphore(AT_ONCE)

    async def look(user_id: str) -> None:
        async with places:
            try:
                counts[await begin_if_due(services, user_id)] += 1
            except (AgentError, PyMongoError) as error:  # it stays due, behind the others
                counts["failed"] += 1
                services.logger.error(Event.REQUEST_FAILED, extra=cause_of(error))

    await asyncio.gather(*(look(each.user_id) for each in due))
    steps = await remind_of_due_steps(services)
    left = Backlog(0, None) if EVERYBODY in braked else await services.job_searches.backlog(now, braked)
    measure_left("Jobs", left.count, now - (left.due_since or now))
    return JobsSwept(counts={**counts, **{f"steps_{name}": count for name, count in steps.items()}})


async def begin_if_due(services: Services, user_id: str) -> str:
    """Start this user's search, and return a word for the result."""
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
    """Return the time of this user's next nightly search, in seconds since the epoch."""
    of_the_hour = int(sha256_hex(user_id)[:8], 16) / 16**8 * 3_600
    local = datetime.fromtimestamp(now, ZoneInfo(zone))

    def of(day: date) -> float:
        return datetime.combine(day, time(HOUR), ZoneInfo(zone)).timestamp() + of_the_hour

    tonight = of(local.date())
    return tonight if tonight > now else of(local.date() + timedelta(days=1))


# --- keep -------------------------------------------------------------------------------------------------------------
# Show the matches to the user, once.


FORGOTTEN = "You had something forgotten meanwhile, so nothing was kept. What was found comes up again next time."


@state(ScoutState)
async def keep(services: Services, given: ScoutState) -> ScoutState:
    """Store the matches and end the search; if something was forgotten meanwhile, withdraw them and try again."""
    user_id, run_id = given.user_id, given.run_id
    while True:
        search = await services.job_searches.get(user_id)
        if search.run_id != run_id or search.status != "searching":
            return given
        now = services.clock()
        # Store only checked matches; if the check never ran, store none.
        matches = [
            each.model_copy(update={"found_at": now, "updated_at": now}) for each in search.ranked if each.evidence
        ]
        if search.forgettings and search.found and not search.ranked:
            await services.job_searches.save_parts(user_id, run_id, now, missing=search.missing_with(FORGOTTEN))
        await services.job_matches.add_all(matches)
        await services.job_matches.delete_others_of_run(user_id, run_id, [each.id for each in matches])
        event = _event(given, search.wishes.titles, len(matches), now) if matches else None
        if await services.job_searches.end_unless_forgotten(search, event, now):
            return given
        # Since the search was read, something was forgotten or the user was erased.
        await services.job_matches.delete_others_of_run(user_id, run_id, ())


def _event(given: ScoutState, titles: Sequence[str], count: int, now: float) -> ActivityEvent:
    more = "" if len(titles) <= MOST_TITLES_TOLD else ", …"
    sought = f": {', '.join(titles[:MOST_TITLES_TOLD])}{more}" if titles else ""
    return ActivityEvent(
        id=f"{given.run_id}:found",
        user_id=given.user_id,
        at=now,
        type="jobs.found",
        role="jobs",
        title=f"Found {count} {'job' if count == 1 else 'jobs'} that may suit you{sought}",
        run_id=given.run_id,
        data={"count": count},
    )


# --- note end ---------------------------------------------------------------------------------------------------------
# Record why a search failed or was stopped.


@state(ScoutState, ignores_brake=True)
async def note_end(services: Services, given: ScoutState) -> ScoutState:
    """Record the end of the search. It also runs under the brake, because nothing else would record the stop."""
    end = "stopped" if given.error_kind == "Braked" else "failed"
    now = services.clock()
    search = await services.job_searches.get(given.user_id)
    if search.run_id == given.run_id and search.status == "searching":  # the run may have died after storing some
        await services.job_matches.delete_others_of_run(given.user_id, given.run_id, ())
        if given.error_kind == StageOverBudget.__name__:
            missing = search.missing_with(StageOverBudget.sentence)
            await services.job_searches.save_parts(given.user_id, given.run_id, now, missing=missing)
    event = ActivityEvent(
        id=f"{given.run_id}:{end}",
        user_id=given.user_id,
        at=now,
        type=f"jobs.{end}",
        role="jobs",
        severity="warning",
        title="Stopped when you paused: searching for jobs" if end == "stopped" else "Jobs could not be searched for",
        run_id=given.run_id,
    )
    await services.job_searches.end(given.user_id, given.run_id, end, event, now)
    return given.ended(end)
