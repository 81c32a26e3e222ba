"""Learning in the API: the path, due questions, and lessons. The correct option is shown only after an answer."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.learning import Lesson, LessonStage, LessonStatus, Module, due_questions
from qwestly_agent.learning.progress import MOST_LESSONS, LearningProgress, progress_of
from qwestly_agent.learning.tree import Tree
from qwestly_agent.services import Services


class PathModule(BaseModel):
    id: str
    title: str
    summary: str
    state: Literal["open", "writing", "reading", "answered", "learned"]
    """`open` without a lesson, else the stage of the newest one."""
    lesson_id: str | None
    """The newest lesson on the module."""


class PathTopic(BaseModel):
    topic: str
    modules: list[PathModule]


class PathSubject(BaseModel):
    subject: str
    topics: list[PathTopic]


class QuestionView(BaseModel):
    lesson_id: str
    number: int
    text: str
    options: list[str]
    due_at: datetime
    answers: int
    """Number of answers so far. An answer must repeat it, so that it counts only once."""
    right_answers: int


class LessonSummary(BaseModel):
    lesson_id: str
    title: str
    topic: str
    subject: str
    status: LessonStatus
    stage: LessonStage
    label: str
    created_at: datetime
    due_at: datetime | None


class LearningView(BaseModel):
    progress: LearningProgress
    path: list[PathSubject]
    due: list[QuestionView]
    """Answered questions to repeat now, longest due first, at most ten a day."""
    lessons: list[LessonSummary]
    """Newest first."""


class QuoteView(BaseModel):
    module_id: str
    title: str
    text: str
    source: str
    """Where the page is from."""


class SentenceView(BaseModel):
    point: int
    text: str
    quotes: list[QuoteView]
    """Quotes of the library; empty for unchecked general knowledge."""


class LessonDetail(LessonSummary):
    outline: list[str]
    sentences: list[SentenceView]
    questions: list[QuestionView]
    left_out: int
    """Number of sentences that the check rejected."""
    general: int
    """Number of sentences without quotes: general knowledge that was not checked against anything."""
    checked: bool
    """True if every sentence cites the library."""


class LessonList(BaseModel):
    items: list[LessonSummary]


class AnswerView(BaseModel):
    is_right: bool
    right: int
    """Index of the right option."""
    because: str
    """The lesson's sentence that answers the question."""
    explained: list[SentenceView]
    """The lesson's sentences on the same point, in order, with their quotes."""
    question: QuestionView


async def view_learning(services: Services, user_id: str) -> LearningView:
    """Return the user's path, due questions and lessons."""
    tree, now = Tree(await services.topics.list_modules()), services.clock()
    zone = (await services.user_settings.get(user_id)).zone
    lessons = [services.lessons.as_seen(each, now) for each in await services.lessons.newest(user_id, MOST_LESSONS)]
    return LearningView(
        progress=await progress_of(services, user_id, tree),
        path=[
            PathSubject(subject=subject, topics=[_topic(topic, tree, lessons) for topic in topics])
            for subject, topics in tree.topics_by_subject.items()
        ],
        due=[question_view(lesson, number) for lesson, number in due_questions(lessons, now, zone)],
        lessons=[lesson_summary(each) for each in lessons],
    )


def _topic(topic: str, tree: Tree, lessons: Sequence[Lesson]) -> PathTopic:
    return PathTopic(topic=topic, modules=[_module(each, lessons) for each in tree.modules if each.topic == topic])


def _module(module: Module, lessons: Sequence[Lesson]) -> PathModule:
    on_it = [each for each in lessons if each.module_id == module.id and each.status in ("ready", "writing")]
    newest = next((each for each in on_it if each.status == "ready"), on_it[0] if on_it else None)
    fields = module.model_dump(include={"id", "title", "summary"})
    state = newest.stage if newest else "open"
    return PathModule.model_validate({**fields, "state": state, "lesson_id": newest.id if newest else None})


def question_view(lesson: Lesson, number: int) -> QuestionView:
    question, practice = lesson.questions[number], lesson.practices[number]
    return QuestionView(
        lesson_id=lesson.id,
        number=number,
        text=question.text,
        options=list(question.options),
        due_at=to_datetime(practice.due_at),
        answers=practice.answers,
        right_answers=practice.right,
    )


def lesson_summary(lesson: Lesson) -> LessonSummary:
    return LessonSummary.model_validate(_fields_of(lesson))


def lesson_detail(lesson: Lesson, modules: Sequence[Module]) -> LessonDetail:
    sentences = _sentences(lesson, modules)
    is_ready = lesson.status == "ready"
    general = sum(not each.quotes for each in lesson.sentences) if is_ready else 0
    return LessonDetail.model_validate(
        {
            **_fields_of(lesson),
            "outline": list(lesson.outline) if is_ready else [],
            "sentences": sentences if is_ready else [],
            "questions": [question_view(lesson, number) for number in range(len(lesson.practices))],
            "left_out": lesson.left_out,
            "general": general,
            "checked": is_ready and not general,
        }
    )


def answer_view(lesson: Lesson, number: int, option: int, modules: Sequence[Module]) -> AnswerView:
    question, sentences = lesson.questions[number], _sentences(lesson, modules)
    because = sentences[question.sentence]
    return AnswerView(
        is_right=option == question.right,
        right=question.right,
        because=because.text,
        explained=[each for each in sentences if each.point == because.point],
        question=question_view(lesson, number),
    )


def _sentences(lesson: Lesson, modules: Sequence[Module]) -> list[SentenceView]:
    by_id = {each.id: each for each in modules}
    return [
        SentenceView(
            point=each.point,
            text=each.text,
            quotes=[
                QuoteView(
                    module_id=quote.module_id,
                    title=page.title if (page := by_id.get(quote.module_id)) else lesson.title,
                    text=quote.text,
                    source=page.source if page else "",
                )
                for quote in each.quotes
            ],
        )
        for each in lesson.sentences
    ]


def _fields_of(lesson: Lesson) -> dict[str, object]:
    return {
        **lesson.model_dump(include={"title", "topic", "subject", "status", "label"}),
        "lesson_id": lesson.id,
        "stage": lesson.stage,
        "created_at": to_datetime(lesson.created_at),
        "due_at": None if lesson.due_at is None else to_datetime(lesson.due_at),
    }
