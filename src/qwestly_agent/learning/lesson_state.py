"""The input and output of the states of `write_lesson`: ids only. Everything else is in the lesson's record."""

from typing import Literal

from pydantic import Field

from qwestly_agent.workflow_state import CaughtError, UserState

RUN = "lesson-"


class LessonState(UserState):
    lesson_id: str
    end: Literal["failed", "stopped", "over_budget"] | None = None
    error: CaughtError | None = Field(default=None, exclude=True)

    @property
    def run_name(self) -> str:
        return f"{RUN}{self.lesson_id}"

    @property
    def labels(self) -> dict[str, str]:
        return {"run_id": self.run_id, "lesson_id": self.lesson_id}
