"""The home page: what needs the user's attention, what is new, and the user's goals; and next steps for the chat."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from qwestly_agent.approvals.view import ApprovalView, approval_view
from qwestly_agent.base.clock import Moment, to_datetime
from qwestly_agent.briefings.sources import SOURCES, gather_sources
from qwestly_agent.briefings.view import SOURCES_TOLD, LineView, counted, current_state, line_view, lines_of
from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.briefing import Gathered
from qwestly_agent.domain.job import FOLLOW_UP, OVER, JobMatch
from qwestly_agent.domain.resume import ResumeRecord
from qwestly_agent.jobs.view import JobView, job_view
from qwestly_agent.learning.progress import LearningProgress, Next, progress_of
from qwestly_agent.learning.tree import Tree
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import ACTIVE_STATUSES, Draft
from qwestly_agent.stores.jobs import JobMatches

# --- home -------------------------------------------------------------------------------------------------------------
# The same facts, lines and figures as in a briefing created now (`briefings/sources.py`), over the last week.


NEW_SECONDS = 7 * 86_400.0
MOST_JOBS, MOST_REASONS, MOST_APPLICATIONS = 3, 2, 100


class HomeCounts(BaseModel):
    """Numbers of records in the stores, not of lines."""

    needs_you: int = 0
    """Pending approvals and questions, due steps of applications, and lessons with due questions."""
    found: int = 0
    """New jobs."""
    changed: int = 0
    """Applications with a new status."""
    failed: int = 0
    done: int = 0
    under_way: int = 0
    remembered: int = 0
    waiting: int = 0
    """Pending approvals and questions: the badge of the queue."""
    due: int = 0
    """Questions of lessons to repeat now, at most ten a day."""
    unread: int = 0
    """Lessons that are ready and have a question without an answer."""


class HomeStep(BaseModel):
    application_id: str
    job: str
    """"Payments Engineer at Adyen"."""
    step: str
    """The user's own words, or the usual step for the application's status."""
    at: Moment


class HomeGoing(BaseModel):
    goal: str
    """Empty if none is known."""
    step: HomeStep | None
    """The next planned step of an application."""
    lesson: Next | None
    """What to learn next."""


class HomeView(BaseModel):
    name: str
    """The user's first name; empty if unknown."""
    hour: int
    """The hour in the user's time zone, from 0 to 23, for the greeting."""
    at: Moment
    since: Moment
    """From when on records are new."""
    summary: str
    """The figures in a sentence; empty if there are none."""
    counts: HomeCounts
    needs_you: list[LineView]
    """Newest first. If there are more than fit, the last one counts the rest."""
    first: ApprovalView | None
    """The approval of the first of these lines that is about one, to be shown open."""
    new: list[LineView]
    """All that happened, except found jobs."""
    jobs: list[JobView]
    """The best new jobs, each with at most two reasons for it."""
    going: HomeGoing
    missing: list[str]
    """Labels of sources that could not be read: their records are not counted."""


async def home_of(services: Services, user_id: str) -> HomeView:
    now = services.clock()
    gathered, zone, contact, is_paused, progress, step = await asyncio.gather(
        gather_sources(services, user_id, dict.fromkeys(SOURCES, now - NEW_SECONDS)),
        _zone_of(services, user_id),
        services.profiles.get_mail_recipient(user_id),
        services.signals.is_braked(user_id),
        _progress_of(services, user_id),
        _next_step(services, user_id, now),
    )
    lines = lines_of(gathered.items)
    current, jobs = await asyncio.gather(
        current_state(services, user_id, lines), _best_jobs(services.job_matches, user_id, gathered)
    )
    views = [line_view(each, now, zone, current) for each in lines]
    waiting = [each.records[0] for each in gathered.items if each.source in ("approvals", "questions")]
    open_first = next(
        (current.waiting[each] for line in lines for each in line.records if each in current.waiting), None
    )
    return HomeView(
        name=contact.name.partition(" ")[0],
        hour=to_datetime(now).astimezone(ZoneInfo(zone)).hour,
        at=now,
        since=now - NEW_SECONDS,
        summary=counted(gathered.counts, {}),
        counts=HomeCounts(**gathered.counts, waiting=len(waiting), due=progress.due, unread=progress.unread),
        needs_you=[each for each in views if each.topic == "needs_you"],
        first=approval_view(open_first, is_paused=is_paused) if open_first else None,
        new=[each for each in views if each.topic not in ("needs_you", "found")],
        jobs=[job_view(each, is_closed=False) for each in jobs],
        going=HomeGoing(
            goal=progress.goal or next((each.text for each in progress.goals), ""), step=step, lesson=progress.next
        ),
        missing=[SOURCES_TOLD[each].label for each in gathered.missing],
    )


async def _zone_of(services: Services, user_id: str) -> str:
    return (await services.user_settings.get(user_id)).zone


async def _progress_of(services: Services, user_id: str) -> LearningProgress:
    return await progress_of(services, user_id, Tree(await services.topics.list_modules()))


async def _next_step(services: Services, user_id: str, now: float) -> HomeStep | None:
    """Return the next planned step of an open application."""
    known = await services.applications.newest(user_id, MOST_APPLICATIONS, status={"$nin": sorted(OVER)})
    planned = [(each.next_at, each) for each in known if each.next_at is not None and each.next_at > now]
    if not planned:
        return None
    at, application = min(planned, key=lambda each: each[0])
    usual = "Interview" if application.status == "interview" else FOLLOW_UP
    return HomeStep(
        application_id=application.id,
        job=application.name,
        step=application.next_step or usual,
        at=at,
    )


async def _best_jobs(job_matches: JobMatches, user_id: str, gathered: Gathered) -> list[JobMatch]:
    """Return the best new jobs, with at most `MOST_REASONS` for each."""
    ids = [each.records[0] for each in gathered.items if each.source == "matches"][:MOST_JOBS]
    found = await job_matches.newest(user_id, MOST_JOBS, _id={"$in": ids}) if ids else []
    return [each.model_copy(update={"reasons_for": each.reasons_for[:MOST_REASONS]}) for each in found]


# --- next steps -------------------------------------------------------------------------------------------------------
# Next steps for the user, derived by code, without a model, from pending and missing items.


MOST_STEPS = 3
MOST_WAITING = 20
DRAFT_CARD = "Draft my Qwestly Card"


class NextStep(BaseModel):
    label: str
    does: Literal["say", "review", "upload"]
    """say: send the label in the chat · review: open the pending approval · upload: choose a résumé's file."""


async def next_steps(services: Services, user_id: str) -> list[NextStep]:
    """Return at most three steps, most urgent first."""
    waiting, drafts, career, card, resumes = await asyncio.gather(
        services.approvals.list_open(user_id, 0),
        services.drafts.newest(user_id, MOST_WAITING),
        services.profiles.get_career(user_id),
        services.profiles.card_shown_first(user_id),
        services.resumes.newest(user_id, 1),
    )
    return [*_steps(waiting, drafts, career, card, resumes)][:MOST_STEPS]


def _steps(
    waiting: Sequence[Approval],
    drafts: Sequence[Draft],
    career: dict[str, Any],
    card: str | None,
    resumes: Sequence[ResumeRecord],
) -> Iterator[NextStep]:
    if pending := sum(each.status == "pending" for each in waiting):
        count = "one change" if pending == 1 else f"{pending} changes"
        yield NextStep(label=f"Decide on {count}", does="review")
    if not resumes and not career.get("employment"):
        yield NextStep(label="Add my résumé", does="upload")
    is_drafting = any(each.kind == "card" and each.status in ACTIVE_STATUSES for each in drafts)
    if not card and not is_drafting:
        yield NextStep(label=DRAFT_CARD, does="say")
    if not career.get("headline"):
        yield NextStep(label="Suggest a headline", does="say")
    if not career.get("preferences"):
        yield NextStep(label="Help me say what I am looking for", does="say")
    yield NextStep(label="What do you remember about me?", does="say")
