"""Undo the replacements of a run of `consolidate`."""

from pydantic import BaseModel, ConfigDict

from qwestly_agent.stores.memory_work import ConsolidationRun, Journal, Merges, ReplacedMemory


class Undone(BaseModel):
    model_config = ConfigDict(frozen=True)

    run_id: str
    restored: tuple[str, ...] = ()
    """The memories that are active again."""


async def undo(merges: Merges, journal: Journal, user_id: str, run_id: str, now: float) -> Undone:
    """Reactivate the replaced memories, except those that were forgotten, that another one repeats, or that were merged
    into one that is no longer true. Counts and importance are restored. The pairs are never merged again. Raises
    `NotFound`."""
    run = await journal.get(user_id, run_id)
    if run.status == "undone":
        return Undone(run_id=run_id)
    # In reverse order, because a memory may have been merged after it had superseded another.
    restored = [each.gone for each in reversed(run.replacements) if await _parted(merges, run, each)]
    await journal.end(run, "undone", now)
    return Undone(run_id=run_id, restored=tuple(restored))


async def _parted(merges: Merges, run: ConsolidationRun, each: ReplacedMemory) -> bool:
    if each.status == "merged" and not await merges.is_current(run.user_id, each.by, run.run_id):
        return False  # equal memories were forgotten with it, or are no longer true
    return await merges.undo_replacement(run.user_id, each.gone, each.by, run.run_id)
