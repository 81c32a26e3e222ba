"""The input and output of the states of `write_lesson`: ids only. Everything else is in the lesson's record."""

from collections.abc import Mapping
from typing import ClassVar

from qwestly_agent.workflow_state import WorkState


class LessonState(WorkState):
    subject, later = "lesson", "Please ask for it again later."
    messages: ClassVar[Mapping[str, str]] = {"ContentRefused": "Our AI couldn’t work with this topic."}
    lesson_id: str
