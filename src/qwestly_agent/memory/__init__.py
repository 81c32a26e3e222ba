"""Memories about a user, kept between conversations."""

from qwestly_agent.workflow import Workflow

EXTRACT_MEMORIES = Workflow(
    "extract_memories",
    __name__,
    functions="extract_memories",
    summary="a conversation after ten minutes of silence, to memories",
    page="[memory](memory.md)",
    receipt_name="`memories-<conversation id>`; of the summary `summary-<conversation id>`",
    execution_name="`end-…` where a user ended a conversation, else by the schedule",
    recovery="nothing: its conversations are due again within an hour; after `ModelRefused` within an hour, once "
    "[the cause](#when-an-alarm-rings) is fixed",
    reader=("extract_reader.extract", "extract_reader.summarize", "reconcile.reconcile"),
    writer=(
        "extract_writer.keep_approved",
        "extract_writer.move_watermark",
        "extract_writer.retry_later",
        "extract_writer.store",
        "extract_writer.sweep",
    ),
    routers=("memories",),
    actions=("actions.KEEP_MEMORIES", "actions.FORGET_MEMORIES"),
    asks="extract_writer.ask_to_keep",
    reasons={"memory.extracted": "You said it, and it was read once the conversation was over."},
)
CONSOLIDATE = Workflow(
    "consolidate",
    __name__,
    functions="consolidate",
    summary="new memories, to merged memories without contradictions",
    page="[memory](memory.md)",
    receipt_name="`consolidation-<run id of the night>`",
    execution_name="by the schedule",
    recovery='nothing: the next night does it. To do it at once, start it with `{"run_id": "…"}` of the failed '
    "one; running it twice changes nothing",
    reader=("reconcile.plan",),
    writer=("consolidate_writer.apply", "consolidate_writer.find_users", "consolidate_writer.sum_up"),
    actions=("actions.FORGET_OUTDATED_MEMORIES",),
    reasons={
        "memory.merged": "Each night, what says the same is put together; where two disagree, the newer one holds."
    },
)
