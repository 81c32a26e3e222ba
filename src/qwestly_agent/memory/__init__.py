"""Memories about a user, kept between conversations."""

from qwestly_agent.workflow import Workflow

EXTRACT_MEMORIES = Workflow(
    "extract_memories",
    __name__,
    summary="a conversation after ten minutes of silence, to memories",
    page="[memory](memory.md)",
    reader=("extract", "reconcile", "summarize"),
    writer=("keep_approved", "move_watermark", "retry_later", "store", "sweep"),
    routers=("memories",),
    actions=("actions.KEEP_MEMORIES", "actions.FORGET_MEMORIES"),
    asks="ask_to_keep.ask_to_keep",
    reasons={"memory.extracted": "You said it, and it was read once the conversation was over."},
)
CONSOLIDATE = Workflow(
    "consolidate",
    __name__,
    summary="new memories, to merged memories without contradictions",
    page="[memory](memory.md)",
    reader=("plan",),
    writer=("apply", "find_users", "sum_up"),
    actions=("actions.FORGET_OUTDATED_MEMORIES",),
    reasons={
        "memory.merged": "Each night, what says the same is put together; where two disagree, the newer one holds."
    },
)
