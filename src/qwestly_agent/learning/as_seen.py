"""A lesson as shown to its user: one that is no longer being written is shown as failed.

Its process may have died between storing the record and starting the execution.
"""

from qwestly_agent.domain.learning import Lesson
from qwestly_agent.learning.note_end import TRY_AGAIN

ALIVE_SECONDS = 18_000.0
"""Longer than an execution can wait for slots and retry in all its states."""


def as_seen(lesson: Lesson, now: float) -> Lesson:
    if lesson.status != "writing" or lesson.created_at > now - ALIVE_SECONDS:
        return lesson
    return lesson.model_copy(update={"status": "failed", "label": TRY_AGAIN})
