"""Memories about a user, kept between conversations."""

from qwestly_agent.workflow import Workflow

EXTRACT_MEMORIES = Workflow(
    "extract_memories",
    __name__,
    reader=("extract", "reconcile", "summarize"),
    writer=("keep_approved", "move_watermark", "retry_later", "store", "sweep"),
    routers=("memories",),
    reasons={"memory.extracted": "You said it, and it was read once the conversation was over."},
)
CONSOLIDATE = Workflow(
    "consolidate",
    __name__,
    reader=("plan",),
    writer=("apply", "find_users", "sum_up"),
    reasons={
        "memory.merged": "Each night, what says the same is put together; where two disagree, the newer one holds."
    },
)
