"""Find memories to merge or supersede, and let a model compare pairs that code cannot decide."""

import asyncio
from collections.abc import Iterable, Sequence

from qwestly_agent.domain.memory import DIMENSIONS
from qwestly_agent.memory.compare import Pair, Relation, compare
from qwestly_agent.memory.consolidation_state import YEAR, ConsolidationState, end
from qwestly_agent.memory.duplicates import Candidates, NearPair, candidates_of, cap_of, replacements_of, vectors_of
from qwestly_agent.memory.find import embed_missing
from qwestly_agent.model_calls import ContentRefused
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.memory_work import ComparedMemory, ConsolidationRun, Merges, find_unfinished
from qwestly_agent.workflow_state import state

COMPARE_SECONDS = 45.0
VECTOR_BYTES = DIMENSIONS * 4
LITTLE_IMPORTANCE = 0.3
MOST_OUTDATED = 10


@state(ConsolidationState)
async def plan(services: ModelServices, given: ConsolidationState) -> ConsolidationState:
    """Write the replacements into the journal, by the verdicts of code and model.

    An unfinished earlier run comes first. A repeated state finds the run and calls no model; only a crash between the
    model's answer and the journal causes a second request. Raises what `structured_output` raises, except
    `ContentRefused`.
    """
    runs = await services.journal.list_all(given.user_id)
    run = find_unfinished(runs) or next((run for run in runs if run.run_id == given.run_id), None)
    if run is None:
        run = await _planned(services, given, runs)
        if not await services.journal.add(run):
            run = await services.journal.get(given.user_id, given.run_id)
    begun, questions = len(run.replacements), int(bool(run.outdated))
    if run.status == "planned" and not begun and not questions:
        await end(services.merges, services.journal, run, services.clock())
    told = {"run_id": run.run_id, "planned": begun + run.left, "begun": begun, "questions": questions}
    return given.model_copy(update=told)


async def _planned(
    services: ModelServices, given: ConsolidationState, runs: Sequence[ConsolidationRun]
) -> ConsolidationRun:
    apart = frozenset[frozenset[str]]().union(*(run.pairs_kept_apart for run in runs if run.status == "undone"))
    await embed_missing(services, given.user_id)
    held, floats = await _held(services.merges, given.user_id)
    # In a thread, so that the brake can be checked meanwhile.
    found = await asyncio.to_thread(
        candidates_of, held, vectors_of(floats, len(held)), services.settings.memory_grey_from, apart
    )
    replacements = replacements_of(held, await _related(services, given.user_id, held, found))
    cap, now = cap_of(len(held)), services.clock()
    left = {memory_id for each in replacements[cap:] for memory_id in (each.gone, each.by)}
    gone = {each.gone for each in replacements[:cap]}
    return ConsolidationRun(
        user_id=given.user_id,
        run_id=given.run_id,
        created=now,
        replacements=tuple(replacements[:cap]),
        left=len(replacements[cap:]),
        compared=tuple(memory_id for memory_id in found.compared if memory_id not in left),
        outdated=tuple(find_outdated((each for each in held if each.id not in gone), now)),
    )


async def _held(merges: Merges, user_id: str) -> tuple[list[ComparedMemory], bytearray]:
    """Return the active memories, and their vectors in order: zeros for a missing vector or another model's."""
    held, floats = list[ComparedMemory](), bytearray()
    async for each, vector in merges.iterate_compared(user_id):
        held.append(each)
        floats += vector if len(vector) == VECTOR_BYTES else bytes(VECTOR_BYTES)
    return held, floats


async def _related(
    services: ModelServices, user_id: str, held: Sequence[ComparedMemory], found: Candidates
) -> list[tuple[NearPair, Relation]]:
    equal: list[tuple[NearPair, Relation]] = [(pair, "same") for pair in found.equal]
    pairs = [Pair(known=held[each.older].content, new=held[each.newer].content) for each in found.asked]
    try:
        return [*equal, *zip(found.asked, await compare(services, user_id, pairs, COMPARE_SECONDS), strict=True)]
    except ContentRefused:  # the provider would reject them every night, so they stay unchanged
        return equal


def find_outdated(held: Iterable[ComparedMemory], now: float) -> list[str]:
    """Return memories that may be outdated: those whose end has passed, earliest end first, then unimportant ones not
    said for a year. Excludes those that the user was asked about within a year."""
    ended, unsaid = list[tuple[float, str]](), list[tuple[float, str]]()
    for each in held:
        if each.asked is not None and each.asked > now - YEAR:
            continue
        if each.valid_until is not None and each.valid_until.timestamp() <= now:
            ended.append((each.valid_until.timestamp(), each.id))
        elif each.said <= now - YEAR and each.importance <= LITTLE_IMPORTANCE:
            unsaid.append((each.said, each.id))
    return [memory_id for _, memory_id in (*sorted(ended), *sorted(unsaid))[:MOST_OUTDATED]]
