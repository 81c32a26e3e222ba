"""Learning: a library of topics, lessons that cite it, and questions that are repeated when due."""

from qwestly_agent.workflow import Workflow

WRITE_LESSON = Workflow(
    "write_lesson",
    __name__,
    summary="a topic confirmed by the user, to a lesson with questions",
    page="[learning](learning.md)",
    receipt_name="`lesson-<lesson id>`",
    recovery="the user was notified and can ask for the lesson again",
    reader=("reader.outline", "reader.write", "reader.check", "reader.ask"),
    writer=("writer.keep", "note_end"),
    work="lessons",
    model="model.LessonState",
    routers=("learning",),
    reasons={"lesson": "You asked for it."},
)
