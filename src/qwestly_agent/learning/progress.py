"""Compute what a person has learned, what is due, and what comes next, without a model."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from qwestly_agent.domain.learning import Gap, LearningPlan, Lesson
from qwestly_agent.learning.chosen_jobs import chosen_jobs
from qwestly_agent.learning.practice import mastery
from qwestly_agent.learning.tree import Tree
from qwestly_agent.services import Services

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
    """Number of modules with a finished lesson."""
    remembered: float
    """Estimated share of the topic's questions that the person could answer now: 0 to 1."""


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
    """Number of questions that are due now."""
    next: Next | None


async def progress_of(services: Services, user_id: str, tree: Tree) -> LearningProgress:
    plan = await services.learning.get(user_id)
    now = services.clock()
    lessons = [services.lessons.as_seen(each, now) for each in await services.lessons.newest(user_id, MOST_LESSONS)]
    due = sum(practice.due_at <= now for lesson in lessons for practice in lesson.practices)
    goals = await _goals(services, user_id, plan)
    return LearningProgress(
        goal=plan.goal,
        goals=goals,
        gaps=list(plan.gaps) if plan.gaps_of == plan.goal else [],
        topics=[_of_topic(topic, lessons, tree, now) for topic in dict.fromkeys(each.topic for each in lessons)],
        due=due,
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
    """Return chosen jobs as goals, each quoting its posting."""
    jobs = await chosen_jobs(services.applications, services.job_matches, user_id)
    return [Goal(text=each.goal, quote=each.title, source=f"job:{each.id}") for each in jobs]


def _of_topic(topic: str, lessons: Sequence[Lesson], tree: Tree, now: float) -> TopicProgress:
    of_it = [each for each in lessons if each.topic == topic]
    ready = [each for each in of_it if each.status == "ready"]
    return TopicProgress(
        topic=topic,
        subject=of_it[0].subject,
        lessons=len(of_it),
        modules=sum(each.topic == topic for each in tree.modules),
        learnt=len({each.module_id for each in ready if each.module_id}),
        remembered=round(mastery([practice for each in ready for practice in each.practices], now), 2),
    )


def _next(plan: LearningPlan, lessons: Sequence[Lesson], tree: Tree) -> Next | None:
    """Return the first module without a lesson, in the order of decisions, gaps and topics begun."""
    had = {each.module_id for each in lessons if each.status in ("writing", "ready")}
    never = {each.text.casefold() for each in plan.decisions if each.kind in ("never", "later")}
    wanted = [
        *((each.text, "You decided on it.") for each in reversed(plan.decisions) if each.kind == "next"),
        *((each.topic, f"It is between you and your goal: {each.title}.") for each in plan.gaps),
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
