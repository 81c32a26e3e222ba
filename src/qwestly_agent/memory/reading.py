"""The two states of `extract_memories` that ask a model: what was said, and what it means beside what is known."""

from typing import Any

from qwestly_agent.bootstrap import FullHouse
from qwestly_agent.memory.extraction import extract as find_memories
from qwestly_agent.memory.extraction import said_in
from qwestly_agent.memory.notes import Kept
from qwestly_agent.memory.pipeline import Step, batch_id_of, batch_of, must_be_there, state
from qwestly_agent.memory.reconciliation import reconcile as decide_on
from qwestly_agent.stores.extractions import Batch

MOST_MESSAGES = 200
"""Read at a time; what follows them is due at once again."""
MOST_PROMPT_CHARACTERS = 24_000
"""About 6,000 tokens of the user's words; what follows them is read in a batch of its own."""


async def extract(house: FullHouse, step: Step) -> Step:
    """With the batch of what was found. Raises what `one_answer` raises."""
    return await state(house, step, _extract(house, step))


async def _extract(house: FullHouse, step: Step) -> Step:
    await house.conversations.recover_abandoned(step.user_id, step.conversation_id, house.new_id(), house.clock())
    reading = await house.conversations.reading(step.user_id, step.conversation_id)
    batch_id = batch_id_of(step, reading.read_to)
    if await house.extractions.find(step.user_id, batch_id):
        return step.model_copy(update={"batch_id": batch_id})
    # With the message before the first: a short answer is understood by what was asked.
    messages = await house.conversations.since(
        step.user_id, step.conversation_id, max(0, reading.read_to - 1), MOST_MESSAGES
    )
    said, characters = [], 0
    for each in said_in(messages, reading.read_to):
        characters += sum(map(len, each.typed))
        if characters > MOST_PROMPT_CHARACTERS and said:
            break
        said.append(each)
    read_to = _read_to(messages, {each.id for each in said}, reading.read_to)
    if read_to == reading.read_to:
        await house.conversations.move_watermark(
            step.user_id, step.conversation_id, reading.read_to, reading.read_to, house.clock()
        )
        return step
    found, dropped = await find_memories(house, step.user_id, step.conversation_id, said)
    batch = Batch(
        id=batch_id,
        user_id=step.user_id,
        conversation_id=step.conversation_id,
        run_id=step.run_id,
        read_from=reading.read_to,
        read_to=read_to,
        found=[each.model_dump(mode="json") for each in found],
        dropped=dropped,
        created_at=house.clock(),
    )
    await house.extractions.add(batch)
    await must_be_there(house, batch)
    return step.model_copy(update={"batch_id": batch_id})


def _read_to(messages: list[Any], said: set[str], read_from: int) -> int:
    """The `seq` up to which all is read: before the first of the user's messages that was not."""
    read = read_from
    for message in messages:
        if message.seq > read_from and message.role == "user" and message.id not in said and not message.withheld:
            break
        read = max(read, message.seq)
    return read


async def reconcile(house: FullHouse, step: Step) -> Step:
    return await state(house, step, _reconcile(house, step))


async def _reconcile(house: FullHouse, step: Step) -> Step:
    batch = await batch_of(house, step)
    if batch is None or batch.status != "found":
        return step
    decisions, vectors = await decide_on(house, step.user_id, [Kept.model_validate(each) for each in batch.found])
    dropped = dict(batch.dropped)
    for reason in (each.reason for each in decisions if each.reason):
        dropped[reason] = dropped.get(reason, 0) + 1
    written = [each.model_dump(mode="json") for each in decisions]
    await house.extractions.decide(step.user_id, batch.id, written, vectors, dropped)
    return step
