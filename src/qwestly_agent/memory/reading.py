"""The two states of `extract_memories` that ask models: what the user said and meant, and how it stands to what is
known."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.memory import Memory
from qwestly_agent.llm.models import Tier
from qwestly_agent.memory.extraction import ExtractServices, said_in
from qwestly_agent.memory.extraction import extract as find_notes
from qwestly_agent.memory.meaning import Refused, ground_notes, make_note_judge
from qwestly_agent.memory.notes import Note, Reason
from qwestly_agent.memory.pipeline import Step, batch_id_of, batch_of, must_be_there, state
from qwestly_agent.memory.reconcile import ReconcileServices
from qwestly_agent.memory.reconcile import reconcile as decide_on
from qwestly_agent.model_calls.structured import structured_output
from qwestly_agent.services import HasConversations, HasExtractions, HasJudges, HasNewId, HasSignals
from qwestly_agent.stores.extractions import Batch


class ReadingServices(
    ReconcileServices, ExtractServices, HasConversations, HasExtractions, HasJudges, HasNewId, HasSignals, Protocol
): ...


WRITER: Tier = "fast"
JUDGE_SECONDS = 40.0
MOST_MESSAGES = 200
"""Read at a time; what follows them is due at once again."""
MOST_PROMPT_CHARACTERS = 24_000
"""About 6,000 tokens of the user's words; what follows them is read in a batch of its own."""


async def extract(services: ReadingServices, step: Step) -> Step:
    """With the batch of what was found and judged. Raises what `structured_output` raises of the extracting model."""
    return await state(services.signals, services.logger, step, _extract(services, step))


async def _extract(services: ReadingServices, step: Step) -> Step:
    await services.conversations.recover_abandoned(
        step.user_id, step.conversation_id, services.new_id(), services.clock()
    )
    reading = await services.conversations.reading(step.user_id, step.conversation_id)
    waiting = await services.memories.unchecked(step.user_id, step.conversation_id)
    batch_id = batch_id_of(step, reading.read_to, waiting)
    batch = await services.extractions.find(step.user_id, batch_id)
    if batch is None:
        batch = await _found(services, step, batch_id, reading.read_to, waiting)
    if batch is None:
        return step
    if batch.status == "found":
        await _judge(services, step, batch)
    return step.model_copy(update={"batch_id": batch_id})


async def _found(
    services: ReadingServices, step: Step, batch_id: str, read_from: int, waiting: Sequence[Memory]
) -> Batch | None:
    """What was said since, and what waits unchecked; None where there is nothing."""
    # With the message before the first: a short answer is understood by what was asked.
    messages = await services.conversations.since(
        step.user_id, step.conversation_id, max(0, read_from - 1), MOST_MESSAGES
    )
    said, characters = [], 0
    for each in said_in(messages, read_from):
        characters += sum(map(len, each.typed))
        if characters > MOST_PROMPT_CHARACTERS and said:
            break
        said.append(each)
    read_to = _read_to(messages, {each.id for each in said}, read_from)
    if read_to == read_from and not waiting:
        await services.conversations.move_watermark(
            step.user_id, step.conversation_id, read_from, read_from, services.clock()
        )
        return None
    notes, dropped = await find_notes(services, step.user_id, step.conversation_id, said)
    batch = Batch(
        id=batch_id,
        user_id=step.user_id,
        conversation_id=step.conversation_id,
        run_id=step.run_id,
        read_from=read_from,
        read_to=read_to,
        found=[each.model_dump(mode="json") for each in (*map(_note_of, waiting), *notes)],
        dropped=dropped,
        created_at=services.clock(),
    )
    batch = await services.extractions.add(batch)
    await must_be_there(services.conversations, services.memories, services.extractions, batch)
    return batch


def _note_of(memory: Memory) -> Note:
    fields = memory.model_dump(include=Note.model_fields.keys() & Memory.model_fields.keys())
    since, until = (moment and moment.date().isoformat() for moment in (memory.valid_from, memory.valid_until))
    return Note(**fields, since=since, until=until, said_at=memory.last_seen, memory_id=memory.id)


async def _judge(services: ReadingServices, step: Step, batch: Batch) -> None:
    """A judge reads the notes; where none can be asked they go on unchecked."""
    notes = [Note.model_validate(each) for each in batch.found]
    judge = make_note_judge(partial(structured_output, services, step.user_id, services.judges[WRITER]), JUDGE_SECONDS)
    today = to_datetime(services.clock()).date()
    # What could not be judged twice is judged alone: a provider may refuse it, and the others with it.
    alone = [ground_notes([note], judge, today) for note in notes if note.tries]
    together = ground_notes([note for note in notes if not note.tries], judge, today)
    read = [each for some in await asyncio.gather(together, *alone) for each in some]
    kept = [each for each in read if isinstance(each, Note)]
    refused = [each.note.memory_id for each in read if isinstance(each, Refused)]
    dropped = {**batch.dropped, **({Reason.NOT_MEANT.value: len(refused)} if refused else {})}
    # First what waited: once the batch is judged, nothing names it any more.
    await services.memories.drop_unchecked(step.user_id, [each for each in refused if each])
    await services.extractions.judged(step.user_id, batch.id, [each.model_dump(mode="json") for each in kept], dropped)


def _read_to(messages: list[Any], said: set[str], read_from: int) -> int:
    """The `seq` up to which all is read: before the first of the user's messages that was not."""
    read = read_from
    for message in messages:
        if message.seq > read_from and message.role == "user" and message.id not in said and not message.withheld:
            break
        read = max(read, message.seq)
    return read


async def reconcile(services: ReadingServices, step: Step) -> Step:
    return await state(services.signals, services.logger, step, _reconcile(services, step))


async def _reconcile(services: ReadingServices, step: Step) -> Step:
    batch = await batch_of(services.extractions, step)
    if batch is None or batch.status != "judged":
        return step
    notes = [Note.model_validate(each) for each in batch.found]
    may_ask_again = await services.conversations.may_ask_again(step.user_id, step.conversation_id, batch.id)
    decisions, vectors = await decide_on(services, step.user_id, notes, may_ask_again=may_ask_again)
    dropped = dict(batch.dropped)
    for reason in (each.reason for each in decisions if each.reason):
        dropped[reason] = dropped.get(reason, 0) + 1
    written = [each.model_dump(mode="json") for each in decisions]
    await services.extractions.decide(step.user_id, batch.id, written, vectors, dropped)
    return step
