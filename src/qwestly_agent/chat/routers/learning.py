"""Routes of learning: the path, due questions, lessons, and the goal."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from qwestly_agent.base.errors import NotFound
from qwestly_agent.chat.routers.dependencies import TheServices, TheUser
from qwestly_agent.learning.progress import answer
from qwestly_agent.learning.service import choose_goal
from qwestly_agent.learning.view import (
    AnswerView,
    LearningView,
    LessonDetail,
    LessonList,
    lesson_detail,
    lesson_summary,
    question_view,
    view_learning,
)

router = APIRouter()


class PostedGoal(BaseModel):
    model_config = ConfigDict(extra="forbid")

    goal: Annotated[str, StringConstraints(max_length=200, strip_whitespace=True)]
    """Empty removes it."""


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
    """Answer a question; returns the correct option. The question is repeated when it is due."""
    zone = (await services.user_settings.get(user_id)).zone
    lesson = await answer(services, user_id, lesson_id, number, body.option, body.answers, body.felt, zone)
    question = lesson.questions[number]
    return AnswerView(
        is_right=body.option == question.right,
        right=question.right,
        because=lesson.sentences[question.sentence].text,
        question=question_view(lesson, number),
    )


@router.delete("/api/lessons/{lesson_id}", status_code=204)
async def delete_lesson(lesson_id: str, services: TheServices, user_id: TheUser) -> None:
    """Delete a lesson with its questions; one in progress is not continued. 404 `not_found`."""
    if not await services.lessons.delete(user_id, lesson_id, services.clock()):
        raise NotFound("There is no such lesson.")
