"""Interviews that end on their own: models make proposals, code manages topics and phases, and each statement quotes
the person."""

from qwestly_agent.workflow import Workflow

WRITE_DRAFT = Workflow(
    "write_draft",
    __name__,
    summary="an interview answer, to the next question and the draft",
    page="[interviews](interviews.md)",
    receipt_name="`interview-<conversation id>`",
    execution_name="`interview-<run of the turn>`",
    recovery="nothing: the draft after the next answer covers this answer, too",
    reader=("reader.decide", "reader.write"),
    writer=("writer.keep",),
    routers=("interviews",),
    reasons={"interview": "You talked about your work; what you said becomes its draft."},
)
