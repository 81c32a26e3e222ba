"""Routes of learning: the path, due questions, lessons, and the goal."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from qwestly_agent.base.errors import NotFound
from qwestly_agent.chat.routers.dependencies import TheServices, TheUser
from qwestly_agent.learning.progress import answer
from qwestly_agent.learning.service import choose_goal
from qwestly_agent.learning.tutor import Explanation, How, explain
from qwestly_agent.learning.view import (
    AnswerView,
    LearningView,
    LessonDetail,
    LessonList,
    LessonSummary,
    answer_view,
    lesson_detail,
    lesson_summary,
    view_learning,
)
from qwestly_agent.learning.writer import start_chosen

router = APIRouter()


class PostedGoal(BaseModel):
    model_config = ConfigDict(extra="forbid")

    goal: Annotated[str, StringConstraints(max_length=200, strip_whitespace=True)]
    """Empty removes it."""


class PostedLesson(BaseModel):
    model_config = ConfigDict(extra="forbid")

    module: Annotated[str, StringConstraints(min_length=1, max_length=120, strip_whitespace=True)]
    """A module's title, or a topic for its next module."""


class PostedHow(BaseModel):
    model_config = ConfigDict(extra="forbid")

    how: How


class PostedAnswer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    option: Annotated[int, Field(ge=0, le=9)]
    answers: Annotated[int, Field(ge=0)]
    """The question's number of answers so far; an answer sent twice counts once."""
    felt: Literal["hard", "good", "easy"] = "good"
    """Perceived difficulty. A wrong answer is repeated soon in any case."""


@router.get("/api/learning")
async def read_learning(services: TheServices, user_id: TheUser) -> LearningView:
    """Return the library's path with the learned topics, goals and gaps, due questions, and the lessons."""
    return await view_learning(services, user_id)


@router.put("/api/learning/goal")
async def put_goal(body: PostedGoal, services: TheServices, user_id: TheUser) -> LearningView:
    """Set the goal; its gaps are computed at once. 423 `braked`."""
    return await choose_goal(services, user_id, body.goal)


@router.post("/api/lessons", status_code=202)
async def begin_lesson(body: PostedLesson, services: TheServices, user_id: TheUser) -> LessonSummary:
    """Start writing a lesson on a module of the library; `stage` shows when it can be read. If the module already has a
    lesson, that lesson is kept. 404 `not_found`, 422 above the daily limit of lessons, 423 `braked`."""
    return lesson_summary(await start_chosen(services, user_id, body.module))


@router.get("/api/lessons")
async def list_lessons(
    services: TheServices, user_id: TheUser, limit: Annotated[int, Query(ge=1, le=50)] = 20
) -> LessonList:
    """List lessons, newest first."""
    now = services.clock()
    lessons = [services.lessons.as_seen(each, now) for each in await services.lessons.newest(user_id, limit)]
    return LessonList(items=[lesson_summary(each) for each in lessons])


@router.get("/api/lessons/{lesson_id}")
async def read_lesson(lesson_id: str, services: TheServices, user_id: TheUser) -> LessonDetail:
    """Return a lesson's progress and, when it is ready, each sentence with its quotes, and the questions."""
    lesson = services.lessons.as_seen(await services.lessons.get(user_id, lesson_id), services.clock())
    return lesson_detail(lesson, await services.topics.list_modules())


@router.post("/api/lessons/{lesson_id}/questions/{number}")
async def answer_question(
    lesson_id: str, number: int, body: PostedAnswer, services: TheServices, user_id: TheUser
) -> AnswerView:
    """Answer a question; returns the correct option, and the lesson's sentences that explain it. The question is asked
    again when it is due."""
    zone = (await services.user_settings.get(user_id)).zone
    lesson = await answer(services, user_id, lesson_id, number, body.option, body.answers, body.felt, zone)
    return answer_view(lesson, number, body.option, await services.topics.list_modules())


@router.post("/api/lessons/{lesson_id}/questions/{number}/explanation")
async def explain_answer(
    lesson_id: str, number: int, body: PostedHow, services: TheServices, user_id: TheUser
) -> Explanation:
    """Explain the answer to an answered question in other words, or with an example from the user's work. Each sentence
    is checked against quotes from the lesson or from the user's records. 422 if the question has not been answered, 423
    `braked`."""
    return await explain(services, user_id, lesson_id, number, body.how)


@router.delete("/api/lessons/{lesson_id}", status_code=204)
async def delete_lesson(lesson_id: str, services: TheServices, user_id: TheUser) -> None:
    """Delete a lesson with its questions; a lesson in progress is not continued. 404 `not_found`."""
    if not await services.lessons.delete(user_id, lesson_id, services.clock()):
        raise NotFound("There is no such lesson.")
