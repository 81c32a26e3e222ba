"""A process dies anywhere while a conversation is extracted: the next delivery leaves the same memories as without the
crash.

The crashes are before and after every write of every state. Only ids are left out of the comparison.
"""

import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import pytest

from infra.local.model_server import ModelServer
from qwestly_agent.approvals.ask import ProposalContext, create_approval
from qwestly_agent.approvals.decide import Decision, decide
from qwestly_agent.domain.approval import Verb
from qwestly_agent.memory import extract_reader, extract_writer, reconcile
from qwestly_agent.memory.actions import approval_id_of_batch, remember_proposal
from qwestly_agent.memory.model import ExtractionState
from qwestly_agent.services import ModelServices
from tests.functions.talking import Talk, talking
from tests.killing import Death, Killed, deaths, mortal

pytestmark = [pytest.mark.anyio, pytest.mark.thorough]

BEFORE = ("I live in Berlin.", "I speak German.", "I have two children.")
START = 1_800_000_000.0
SAID = (
    "I moved from Berlin to Lisbon.",  # replaces the previous one
    "I speak German.",  # known, and repeated
    "I want to lead a product team.",  # new
    "I was diagnosed with diabetes in 2019.",  # sensitive
    "I work at Acme. As I said, I work at Acme.",  # twice in one conversation
)
Work: TypeAlias = Callable[[ModelServices, ExtractionState], Awaitable[ExtractionState]]
READ: dict[str, Work] = {
    "extract": extract_reader.extract,
    "reconcile": reconcile.reconcile,
    "store": extract_writer.store,
    "move_watermark": extract_writer.move_watermark,
}
STATES = tuple(READ)


@pytest.fixture
async def talk(mongodb_uri: str, database_name: str, model: ModelServer) -> AsyncIterator[Talk]:
    async with talking(mongodb_uri, database_name, model) as talk:
        yield talk


async def anybody(talk: Talk) -> ExtractionState:
    """Create a new user with memories and further messages."""
    talk.user_id, talk.clock.now = f"auth0|{uuid.uuid4().hex}", START
    await talk.says(*BEFORE, conversation_id="c0")
    await talk.falls_silent()
    await talk.says(*SAID)
    talk.model.forget_requests()
    return ExtractionState(user_id=talk.user_id, conversation_id="c1", run_id="r1")


async def run(services: ModelServices, step: ExtractionState, *states: str) -> ExtractionState:
    for state in states:
        # As passed from state to state.
        step = ExtractionState.model_validate((await READ[state](services, step)).out)
    return step


async def memories(talk: Talk) -> list[Any]:
    """Return all memories, without their ids."""
    documents = await talk.raw()
    says = {each["_id"]: each.get("content") for each in documents}
    kept = ("content", "status", "count", "quote", "question", "trust", "sensitive", "salience", "hash", "consolidated")
    return sorted(
        repr({name: each.get(name) for name in kept} | {"replaced_by": says.get(each.get("superseded_by"))})
        for each in documents
    )


async def conversation(talk: Talk) -> dict[str, Any]:
    found = await talk.services.conversations.get(talk.user_id, "c1")
    return {name: found.get(name) for name in ("extracted_seq", "extract_attempts", "extract_set_aside")}


async def asked(talk: Talk, step: ExtractionState, verb: Verb | None) -> None:
    """Propose as the request handler does; `verb` is the decision."""
    approval_id = approval_id_of_batch(step.batch_id or "")
    proposed = await talk.services.memories.get_many(talk.user_id, step.memory_ids)
    proposal = remember_proposal(proposed, step.memory_ids, step.conversation_id)
    context = ProposalContext(talk.user_id, step.run_id, "L1", step.conversation_id)
    approval = await create_approval(talk.services, approval_id, proposal, context, "queue")
    if verb:
        answer = Decision(decision=verb, args_digest=approval.args_digest)
        await decide(talk.services, talk.user_id, approval_id, answer, by="queue", where="")


async def dies(services: ModelServices, death: Death, work: Work, step: ExtractionState) -> None:
    with pytest.raises(Killed):
        await work(mortal(services, death), step)


@pytest.mark.nightly
async def test_an_extraction_killed_anywhere_is_completed_with_the_same_result(talk: Talk) -> None:
    step, writes = await anybody(talk), Counter[str]()
    for state in READ:
        death = Death()
        step = await run(mortal(talk.services, death), step, state)
        writes[state] = death.writes
    whole, calls, read = await memories(talk), len(talk.asked("/chat/completions")), await conversation(talk)
    statuses = Counter(each["status"] for each in await talk.raw())
    assert statuses == {"active": 5, "superseded": 1, "proposed": 1}, "each kind of decision is among them"
    assert all(writes[state] for state in READ)
    for place, state in enumerate(STATES):
        for death in deaths(writes[state]):
            step = await run(talk.services, await anybody(talk), *STATES[:place])
            await dies(talk.services, death, READ[state], step)
            await run(talk.services, step, *STATES[place:])
            where = f"{state}, {'after' if death.after else 'before'} write {death.at}"
            assert await memories(talk) == whole, where
            assert await conversation(talk) == read, where
            asks = state in ("extract", "reconcile") and (death.at, death.after) != (writes[state], True)
            assert len(talk.asked("/chat/completions")) <= calls + asks, where


@pytest.mark.sentinel
async def test_a_killed_extraction_picked_up_by_the_next_sweep_has_the_same_result(talk: Talk) -> None:
    await run(talk.services, await anybody(talk), *READ)
    whole = await memories(talk)
    for state in READ:
        place = STATES.index(state)
        step = await run(talk.services, await anybody(talk), *STATES[:place])
        first = 1 if state == "move_watermark" else 2  # the other states first store that they are running
        await dies(talk.services, Death(first, after=True), READ[state], step)
        await run(talk.services, ExtractionState(user_id=talk.user_id, conversation_id="c1", run_id="r2"), *READ)
        assert await memories(talk) == whole, state


@pytest.mark.nightly
@pytest.mark.parametrize("verb", ["approve", "reject", None])
async def test_a_decision_is_applied_although_the_extraction_was_killed_after_it(talk: Talk, verb: Verb | None) -> None:
    async def answered() -> ExtractionState:
        step = await run(talk.services, await anybody(talk), *READ)
        await asked(talk, step, verb)
        return step

    reference = Death()
    await extract_writer.keep_approved(mortal(talk.services, reference), await answered())
    whole = await memories(talk)
    statuses = Counter(each["status"] for each in await talk.raw())
    assert statuses == {
        "superseded": 1,
        **{"approve": {"active": 6}, "reject": {"active": 5, "forgotten": 1}}.get(verb or "", {"active": 5}),
    }
    for death in deaths(reference.writes):
        step = await answered()
        await dies(talk.services, death, extract_writer.keep_approved, step)
        talk.clock.advance(1)
        await extract_writer.keep_approved(talk.services, step)
        where = f"{'after' if death.after else 'before'} write {death.at}"
        assert await memories(talk) == whole, where
        assert "diabetes" not in str(await talk.services.approvals.list_all(talk.user_id, 10)), where


async def test_a_postponement_killed_at_any_write_is_repeated_at_most_once(talk: Talk) -> None:
    failed = {"error": {"Error": "Internal"}}
    reference = Death()
    await extract_writer.retry_later(
        mortal(talk.services, reference), ExtractionState.model_validate({**(await anybody(talk)).out, **failed})
    )
    assert reference.writes
    for death in deaths(reference.writes):
        step = ExtractionState.model_validate({**(await anybody(talk)).out, **failed})
        await dies(talk.services, death, extract_writer.retry_later, step)
        await extract_writer.retry_later(talk.services, step)
        reading = await talk.services.watermarks.get(talk.user_id, "c1")
        assert reading.attempts == 1 + death.after
        assert reading.due_at > talk.clock()
