"""Compute what a person has learned, what is due, and what comes next, without a model."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from fsrs import Card, Scheduler
from fsrs import Rating as FsrsRating
from fsrs.state import State
from pydantic import BaseModel

from qwestly_agent.base.clock import local_date
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.domain.job import OVER, Advert
from qwestly_agent.domain.learning import Gap, LearningPlan, Lesson, Practice, Rating, due_questions
from qwestly_agent.learning.tree import Tree, folded
from qwestly_agent.platform.records import compare_and_set
from qwestly_agent.services import Services
from qwestly_agent.stores.jobs import Applications, JobMatches

# --- chosen jobs ------------------------------------------------------------------------------------------------------
# Jobs that a person saved or applied for, as possible goals, and the posting for the chosen one.


MOST_JOBS = 20


@dataclass(frozen=True)
class ChosenJob:
    id: str
    title: str
    company: str

    @property
    def goal(self) -> str:
        return f"{self.title} at {self.company}" if self.company else self.title


async def chosen_jobs(applications: Applications, job_matches: JobMatches, user_id: str) -> list[ChosenJob]:
    """Return the jobs that the person applied for, then the saved ones, without closed applications."""
    applied = await applications.newest(user_id, MOST_JOBS)
    saved = await job_matches.newest(user_id, MOST_JOBS, status="saved")
    over = {each.job_id for each in applied if each.status in OVER}
    found = [
        *(ChosenJob(each.job_id, each.title, each.company) for each in applied),
        *(ChosenJob(each.id, each.advert.title, each.advert.company) for each in saved),
    ]
    return list({each.id: each for each in reversed(found) if each.id not in over}.values())[::-1]


async def posting_of(services: Services, user_id: str, goal: str) -> tuple[str, Advert] | None:
    """Return the job that the goal names, with its advert; None if the goal names none, or if the advert is gone or
    empty."""
    jobs = await chosen_jobs(services.applications, services.job_matches, user_id)
    named = next((each for each in jobs if folded(each.goal) == folded(goal)), None)
    if named is None:
        return None
    try:
        advert = (await services.job_matches.get(user_id, named.id)).advert
    except NotFound:
        return None
    return (named.id, advert) if advert.text.strip() else None


# --- practice ---------------------------------------------------------------------------------------------------------
# When a question is due again, computed by `fsrs`, a published spaced-repetition algorithm with its default parameters,
# in whole local days: a question answered in the evening is due on the morning of its day.


# Without steps of minutes, as there is one lesson session per day (`enable_short_term=False` in other ports of FSRS).
# Without fuzzing: randomness is an argument here, and a person's few questions need not be spread over several days.
_SCHEDULER = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
_RATINGS: Mapping[Rating, FsrsRating] = {
    "again": FsrsRating.Again,
    "hard": FsrsRating.Hard,
    "good": FsrsRating.Good,
    "easy": FsrsRating.Easy,
}


def new_practice(now: float) -> Practice:
    """Return the schedule of a new question, which is due immediately."""
    return Practice(due_at=now, state=State.Learning.value, step=0)


def reschedule(practice: Practice, rating: Rating, now: float, zone: str = "UTC") -> Practice:
    """Return the schedule of a question after an answer. A right answer before the due date does not postpone the
    question, as it only shows that the person still knows what they have just read."""
    is_right = rating != "again"
    told = {"answers": practice.answers + 1, "right": practice.right + is_right, "is_known": is_right}
    if practice.last_at and now < practice.due_at and is_right:
        return practice.model_copy(update=told)
    before = Card(
        card_id=0,
        state=State(practice.state),
        step=practice.step,
        stability=practice.stability,
        difficulty=practice.difficulty,
        last_review=_day(practice.last_at, zone) if practice.last_at else None,
    )
    after, _ = _SCHEDULER.review_card(before, _RATINGS[rating], _day(now, zone))
    return Practice(
        due_at=datetime.combine(after.due.date(), time.min, ZoneInfo(zone)).timestamp(),
        state=after.state.value,
        step=after.step,
        stability=after.stability,
        difficulty=after.difficulty,
        last_at=now,
        **told,
    )


def _day(at: float, zone: str) -> datetime:
    """Return the local day as midnight UTC of the same date, because FSRS counts days between moments in UTC."""
    return datetime.combine(local_date(at, zone), time.min, UTC)


# --- progress ---------------------------------------------------------------------------------------------------------
# Compute what a person has learned, what is due, and what comes next, without a model.


MOST_LESSONS = 200
MOST_MEMORIES = 60
MOST_GOALS = 5


class Goal(BaseModel):
    text: str
    quote: str
    """The words that state it."""
    source: str
    """Their source: `memory:<id>`, `job:<id>` (the posting of a saved job or of an application), `preferences` or
    `chosen`."""


class TopicProgress(BaseModel):
    topic: str
    subject: str
    lessons: int
    modules: int
    """Number of the library's modules on the topic; 0 if it has none."""
    learnt: int
    """Number of modules with a learned lesson."""


class Next(BaseModel):
    topic: str
    module: str
    why: str


class LearningProgress(BaseModel):
    goal: str
    goals: list[Goal]
    gaps: list[Gap]
    topics: list[TopicProgress]
    due: int
    """Number of questions to repeat now, at most ten a day."""
    unread: int
    """Number of lessons that are ready and have a question without an answer."""
    next: Next | None


async def progress_of(services: Services, user_id: str, tree: Tree) -> LearningProgress:
    plan, settings, found = await asyncio.gather(
        services.learning.get(user_id),
        services.user_settings.get(user_id),
        services.lessons.newest(user_id, MOST_LESSONS),
    )
    now = services.clock()
    lessons = [services.lessons.as_seen(each, now) for each in found]
    goals = await _goals(services, user_id, plan)
    return LearningProgress(
        goal=plan.goal,
        goals=goals,
        gaps=list(plan.gaps) if plan.gaps_of == plan.goal else [],
        topics=[_of_topic(topic, lessons, tree) for topic in dict.fromkeys(each.topic for each in lessons)],
        due=len(due_questions(lessons, now, settings.zone)),
        unread=sum(each.stage == "reading" for each in lessons),
        next=_next(plan, lessons, tree),
    )


async def _goals(services: Services, user_id: str, plan: LearningPlan) -> list[Goal]:
    chosen = next((each for each in reversed(plan.decisions) if each.kind == "goal"), None)
    remembered = await services.memories.most_salient(user_id, MOST_MEMORIES)
    preferences: Mapping[str, Any] = await services.profiles.preferences(user_id)
    roles = preferences.get("roles")
    found = [
        *([Goal(text=chosen.text, quote=chosen.quote, source="chosen")] if chosen else []),
        *(Goal(text=m.content, quote=m.quote, source=f"memory:{m.id}") for m in remembered if m.type == "goal"),
        *await _chosen_jobs(services, user_id),
        *(Goal(text=str(role), quote=str(role), source="preferences") for role in _texts(roles)),
    ]
    return found[:MOST_GOALS]


async def _chosen_jobs(services: Services, user_id: str) -> list[Goal]:
    """Return the chosen jobs as goals, each quoting its posting."""
    jobs = await chosen_jobs(services.applications, services.job_matches, user_id)
    return [Goal(text=each.goal, quote=each.title, source=f"job:{each.id}") for each in jobs]


def _of_topic(topic: str, lessons: Sequence[Lesson], tree: Tree) -> TopicProgress:
    of_it = [each for each in lessons if each.topic == topic]
    return TopicProgress(
        topic=topic,
        subject=of_it[0].subject,
        lessons=len(of_it),
        modules=sum(each.topic == topic for each in tree.modules),
        learnt=len({each.module_id for each in of_it if each.module_id and each.stage == "learned"}),
    )


def _next(plan: LearningPlan, lessons: Sequence[Lesson], tree: Tree) -> Next | None:
    """Return the first module without a lesson. Modules from decisions come first, then those for gaps in topics not
    yet begun, for other gaps, and of topics already begun."""
    kept = [each for each in lessons if each.status in ("writing", "ready")]
    had, begun = {each.module_id for each in kept}, {each.topic for each in kept}
    gaps = sorted(plan.gaps, key=lambda gap: gap.topic in begun)
    never = {each.text.casefold() for each in plan.decisions if each.kind in ("never", "later")}
    wanted = [
        *((each.text, "You decided on it.") for each in reversed(plan.decisions) if each.kind == "next"),
        *((each.topic, f"It is between you and your goal: {each.title}.") for each in gaps),
        *((each.topic, "You have begun with it.") for each in lessons),
    ]
    for name, why in wanted:
        node = tree.find(name)
        if node is None or node.topic.casefold() in never:
            continue
        for module in tree.modules:
            if module.topic == (node.topic or module.topic) and module.subject == node.subject and module.id not in had:
                return Next(topic=module.topic, module=module.title, why=why)
    return None


def _texts(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# --- answer -----------------------------------------------------------------------------------------------------------
# Record an answer to a lesson's question, once, and reschedule the question.


async def answer(
    services: Services,
    user_id: str,
    lesson_id: str,
    number: int,
    option: int,
    answers: int,
    felt: Rating,
    zone: str = "UTC",
) -> Lesson:
    """Return the lesson after the answer. `answers` is the number of answers that the client has seen, so that a
    repeated request changes nothing. A wrong answer is always rated `again`. `zone` is the user's.

    Raises `NotFound`, `Invalid` and `Unavailable`.
    """
    now = services.clock()

    def change(lesson: Lesson) -> Lesson:
        if not 0 <= number < len(lesson.practices):
            raise NotFound("There is no such question.")
        question, practice = lesson.questions[number], lesson.practices[number]
        if not 0 <= option < len(question.options):
            raise Invalid(f"option: There are {len(question.options)} options.")
        if practice.answers != answers:
            return lesson
        practices = [*lesson.practices]
        practices[number] = reschedule(practice, felt if option == question.right else "again", now, zone)
        return lesson.model_copy(update={"practices": tuple(practices)})

    async def write(before: Lesson, after: Lesson) -> Lesson | None:
        return after if await services.lessons.save_practices(before, list(after.practices), now) else None

    return (await compare_and_set(lambda: services.lessons.get(user_id, lesson_id), change, write))[0]
