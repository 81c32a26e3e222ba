"""Memories about a user, kept between conversations."""

from qwestly_agent.workflow import Workflow

EXTRACT_MEMORIES = Workflow(
    "extract_memories",
    __name__,
    summary="a conversation that fell silent, to memories of it",
    page="[memory](memory.md)",
    reader=("extract", "reconcile", "summarize"),
    writer=("keep_approved", "move_watermark", "retry_later", "store", "sweep"),
    routers=("memories",),
    actions=("actions.KEEP_MEMORIES", "actions.FORGET_MEMORIES"),
    reasons={"memory.extracted": "You said it, and it was read once the conversation was over."},
)
CONSOLIDATE = Workflow(
    "consolidate",
    __name__,
    summary="new memories, to fewer ones that agree",
    page="[memory](memory.md)",
    reader=("plan",),
    writer=("apply", "find_users", "sum_up"),
    actions=("actions.FORGET_OUTDATED_MEMORIES",),
    reasons={
        "memory.merged": "Each night, what says the same is put together; where two disagree, the newer one holds."
    },
)
