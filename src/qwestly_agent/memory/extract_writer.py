"""The states of `extract_memories` that have effects, and the sweep that starts them."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from qwestly_agent.approvals.ask_for_workflow import ApprovalRequest
from qwestly_agent.approvals.end import scrub
from qwestly_agent.approvals.execute import execute
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound, Unavailable
from qwestly_agent.base.observability import Event, cause_of, measure_extraction, measure_left, measure_set_aside
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.approval import EVERYBODY, FINAL, KEEPS_MEMORIES, Status, sha256_hex
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory.actions import MOST_MEMORIES, MOST_QUESTIONS, approval_id_of_batch, discard, remember_proposal
from qwestly_agent.memory.changes import count_repetition, write_memory
from qwestly_agent.memory.consolidate_writer import undo
from qwestly_agent.memory.forget import filter_proposed, find_retold
from qwestly_agent.memory.model import ExtractionState, batch_of, check_still_exists, memory_id
from qwestly_agent.memory.notes import DropReason, Note, NoteDecision, hash_of
from qwestly_agent.services import Services
from qwestly_agent.stores.memory_work import Batch
from qwestly_agent.stores.usage import WORKFLOWS_UP_TO
from qwestly_agent.workflow_state import WorkflowState, expire_if_pending, state

# --- sweep ------------------------------------------------------------------------------------------------------------
# Choose the conversations to read, and finish interrupted undos of consolidation.


PICKED_SECONDS = 3_600.0
"""While this lasts, no other run claims the conversation: longer than all attempts of its states, including waits for a
Lambda slot. Reading a conversation twice adds nothing."""
MOST_UNDONE = 100
"""Maximum number of `consolidate` runs whose undo one sweep finishes."""


class ConversationsToRead(WorkflowState):
    """The conversations of one run, each in the form in which the state machine passes it to `extract`."""

    conversations: tuple[dict[str, str], ...] = ()


@state(ConversationsToRead, ignores_brake=True)
async def sweep(services: Services, _: ConversationsToRead) -> ConversationsToRead:
    """Claim due conversations. While a user's brake is on, their conversations stay due; all conversations stay due
    once most of the stage's daily budget is spent. Interrupted undos are finished first."""
    now, run_id = services.clock(), services.new_id()
    for run in await services.journal.list_undoing(MOST_UNDONE):
        await undo(services.merges, services.journal, run.user_id, run.run_id, now)
    braked = await services.signals.list_braked()
    limit = services.settings.conversations_a_sweep
    waits = EVERYBODY in braked or await services.stage_day.is_spent(now, WORKFLOWS_UP_TO)
    due = [] if waits else await services.watermarks.list_due(0, now, limit, braked)
    picked = await asyncio.gather(
        *(
            services.watermarks.reserve(user_id, conversation_id, now, now + PICKED_SECONDS)
            for user_id, conversation_id, _ in due
        )
    )
    mine = [each for each, was_picked in zip(due, picked, strict=True) if was_picked]
    left = await services.watermarks.backlog(now)
    measure_left("Conversations", left.count, now - (left.due_since or now))
    return ConversationsToRead(
        run_id=run_id,
        conversations=tuple(
            {"user_id": user_id, "conversation_id": conversation_id, "run_id": run_id}
            for user_id, conversation_id, _ in mine
        ),
    )


# --- start ------------------------------------------------------------------------------------------------------------
# Start memory extraction for a conversation that the user ended; for idle conversations, a sweep starts it.


async def start_extraction(services: Services, user_id: str, conversation_id: str) -> None:
    """Start extraction now, at most once a minute for the same messages. Raises `NotFound`.

    If it cannot start, or a turn is running, a sweep starts it later.
    """
    # Rounded, because it is compared with its stored value and the local database keeps only fifteen digits.
    now, watermarks = round(services.clock(), 3), services.watermarks
    await watermarks.schedule_now(user_id, conversation_id, now)
    if not await watermarks.reserve(user_id, conversation_id, now, now + PICKED_SECONDS):
        return
    reading = await watermarks.get(user_id, conversation_id)
    # The id includes the minute, so that a conversation waiting for its next attempt can be started again.
    run_id = f"end-{sha256_hex(user_id, conversation_id, str(reading.last_seq), str(int(now // 60)))[:32]}"
    given = {"user_id": user_id, "conversation_id": conversation_id, "run_id": run_id}
    try:
        await services.workflows.start("extract_memories", run_id, given)
    except Unavailable as error:
        await watermarks.schedule_now(user_id, conversation_id, now)
        services.logger.warning(Event.REQUEST_FAILED, extra={"run_id": run_id, **cause_of(error)})


# --- store ------------------------------------------------------------------------------------------------------------
# Apply the decisions: this creates the memories.


MOST_NAMED = 50
"""Maximum memories named in an event."""


@state(ExtractionState)
async def store(services: Services, given: ExtractionState) -> ExtractionState:
    """Store the memories; return the state with the ids of those that wait for approval."""
    batch = await batch_of(services.extractions, given)
    if batch is None:
        return given
    proposed = batch.proposed
    if batch.status == "decided":
        decisions = [NoteDecision.model_validate(each) for each in batch.decisions]
        stored = [
            await _apply(services, batch, at, _resolved(batch, decisions, decision), batch.vectors[at])
            for at, decision in enumerate(decisions)
        ]
        await check_still_exists(
            services.conversations, services.memories, services.unchecked, services.extractions, batch
        )
        proposed = tuple(memory.id for memory in stored if memory and memory.status == "proposed")
        if any(each.retells for each in decisions):
            await services.watermarks.mark_asked_again(given.user_id, given.conversation_id, batch.id)
        verbs = [each.verb for each in decisions]
        tries = max((each.note.tries + 1 for each in decisions if each.verb == "wait"), default=0)
        superseded = sum(len(each.supersedes) for each in decisions)
        kept = [each.id for each in stored if each and each.status == "active"]
        await _mark_compared(services, batch, kept)
        outdone = sum(each.reason in (DropReason.LESS_TRUSTED, DropReason.OLDER) for each in decisions)
        events = _events(batch, kept, superseded, outdone, services.clock())
        await services.extractions.mark_stored(given.user_id, batch.id, proposed, tries, events)
        measure_extraction(verbs, superseded, len(proposed), batch.dropped)
    return given.model_copy(update={"memory_ids": proposed, "proposed": bool(proposed)})


async def _mark_compared(services: Services, batch: Batch, kept: Sequence[str]) -> None:
    """Mark memories that `reconcile` has compared with all others, so that the nightly run skips them, unless another
    memory was stored since the batch began."""
    newest = await services.memories.newest(batch.user_id, len(kept) + 1)
    since = [each.created_at for each in newest if each.id not in kept and each.created_at]
    if not any(moment >= to_datetime(batch.created_at) for moment in since):
        await services.merges.mark_compared(batch.user_id, kept)


def _events(batch: Batch, kept: Sequence[str], superseded: int, outdone: int, now: float) -> list[ActivityEvent]:
    """Return one event, or none if no memory has changed and everything was read. Pending memories are covered by the
    event of their approval."""
    count = "something" if len(kept) == 1 else f"{len(kept)} things"
    told = [f"Remembered {count} you said in a conversation"] if kept else []
    told += ["Brought what is remembered up to date"] if superseded and not kept else []
    if outdone:
        told.append("Left out what you have said otherwise since, or more plainly")
    if batch.dropped.get(DropReason.ASKED_NOT_TO):
        told.append("Left out what you asked not to have remembered")
    if batch.unread:
        lines = "; ".join(lines for _, lines in batch.unread)
        told.append(f"Did not read lines of your messages that look quoted or pasted: {lines}")
    if not told:
        return []
    return [
        ActivityEvent(
            id=f"{batch.id}:stored",
            user_id=batch.user_id,
            at=now,
            type="memory.extracted",
            role="memory",
            title=". ".join(told),
            run_id=batch.run_id,
            data={
                "conversation_id": batch.conversation_id,
                "memory_ids": tuple(kept[:MOST_NAMED]),
                "remembered": len(kept),
                "unread_in": tuple(message_id for message_id, _ in batch.unread)[:MOST_NAMED],
                "superseded": superseded,
            },
        )
    ]


def _resolved(batch: Batch, decisions: Sequence[NoteDecision], decision: NoteDecision) -> NoteDecision:
    """Replace indexes with the memories that earlier decisions of the same batch created or reinforced."""
    target = _memory_of(batch, decisions, decision.target) if decision.target else None
    ended = (_memory_of(batch, decisions, each) for each in decision.supersedes)
    verb = "add" if decision.verb == "reinforce" and target is None else decision.verb
    supersedes = tuple(each for each in ended if each and each != target)
    return decision.model_copy(update={"verb": verb, "target": target, "supersedes": supersedes})


def _memory_of(batch: Batch, decisions: Sequence[NoteDecision], name: str) -> str | None:
    """Return the memory's id; None for a note that is not stored."""
    if not name.startswith("#"):
        return name
    at = int(name[1:])
    earlier = _resolved(batch, decisions, decisions[at])
    match earlier.verb:
        case "add":
            return earlier.note.memory_id or memory_id(batch, at)
        case "reinforce":
            return earlier.target
        case _:
            return None


async def _apply(
    services: Services,
    batch: Batch,
    at: int,
    decision: NoteDecision,
    vector: tuple[float, ...],
) -> Memory | None:
    """Apply a decision; return the memory that it created, if any."""
    note, user_id = decision.note, batch.user_id
    new = _memory(note.memory_id or memory_id(batch, at), decision)
    match decision.verb:
        case "wait" if note.memory_id:
            await services.unchecked.set_tries(user_id, note.memory_id, note.tries + 1)
        case "add" | "wait":
            written = await write_memory(
                services,
                user_id,
                new,
                vector,
                decision.supersedes,
                was_unchecked=note.memory_id is not None,
                is_forgotten=lambda memory: _is_forgotten(services, user_id, memory.id, vector, decision),
            )
            if written is None or written.id != new.id or await _is_outdated(services, user_id, written):
                return None
            return written
        case "reinforce" if decision.target:
            await count_repetition(
                services.memories, services.clock, user_id, decision.target, new, decision.supersedes
            )
        case _:
            pass
    if note.memory_id and decision.verb != "wait":
        await services.unchecked.delete(user_id, [note.memory_id])
    return None


def _memory(new_id: str, decision: NoteDecision) -> Memory:
    note = decision.note
    return note.memory(
        new_id,
        "unchecked" if decision.verb == "wait" else "proposed" if decision.ask else "active",
        valid_from=_valid_from(note, decision.supersedes),
        valid_until=datetime.fromisoformat(note.until) if note.until else None,
        retells=decision.retells,
    )


async def _is_forgotten(
    services: Services, user_id: str, memory_id: str, vector: Sequence[float], decision: NoteDecision
) -> bool:
    """True if the user has had the note's content forgotten, or has asked not to have its message remembered, even
    while it was being read."""
    source = decision.note.source
    left_out = await services.watermarks.get_left_out(user_id, source.conversation_id or "")
    if not left_out.isdisjoint(source.message_ids):
        return True
    before = await find_retold(services, user_id, decision.note, vector, without=memory_id)
    # Unchecked memories are compared again, and the user decides whether to store a repetition of something forgotten.
    is_new = decision.verb == "add" and not decision.retells
    return before is not None and (before.is_exact or (is_new and bool(before.tombstones)))


async def _is_outdated(services: Services, user_id: str, new: Memory) -> bool:
    """True if the user corrected the same memory after saying this. The correction then replaces the new memory,
    too."""
    corrections = await services.memories.list_replacements(user_id, hash_of(new.content))
    newer = next((each for each in corrections if each.last_seen > new.last_seen), None)
    return newer is not None and await services.memories.supersede(user_id, new.id, newer.id, services.clock())


def _valid_from(note: Note, supersedes: Sequence[str]) -> datetime | None:
    """Return the start of the memory's validity: as stated by the user, or when they reported the change."""
    if note.since:
        return datetime.fromisoformat(note.since)
    return to_datetime(note.said_at) if supersedes else None


# --- ask to keep ------------------------------------------------------------------------------------------------------
# Request approval to store sensitive memories.


async def ask_to_keep(services: Services, given: dict[str, Any]) -> ApprovalRequest:
    """Ask about the memories of a batch. If many questions are pending, ask about their memories too, in place of them.
    Raises `NotFound` if no memory needs approval any more."""
    user_id, memory_ids, approval_id = given["user_id"], given["memory_ids"], approval_id_of_batch(given["batch_id"])
    waiting = await services.approvals.list_pending(user_id, KEEPS_MEMORIES)
    earlier = [each for each in waiting if each.id != approval_id]
    joined = [*(asked for each in reversed(earlier) for asked in each.arguments["memory_ids"]), *memory_ids]
    if len(earlier) >= MOST_QUESTIONS and len(joined) <= MOST_MEMORIES:
        memory_ids = list(dict.fromkeys(joined))
    proposed = await filter_proposed(services.memories, user_id, memory_ids)
    if not proposed:
        await services.approvals.get(user_id, approval_id)  # raises `NotFound` unless it was already decided
    proposal = remember_proposal(proposed, memory_ids, given["conversation_id"])
    return ApprovalRequest(approval_id, proposal, given["conversation_id"], is_queued=True)


# --- keep approved ----------------------------------------------------------------------------------------------------
# Store sensitive memories after the user's approval, and drop them otherwise.
#
# Only the record is trusted, not the input that resumed the execution.


@state(ExtractionState, ignores_brake=True)
async def keep_approved(services: Services, given: ExtractionState) -> ExtractionState:
    """Apply the decision, or its absence. It also runs under the brake, because `execute` checks the brake. Raises
    `Unavailable` while the outcome of an approved record is unknown."""
    approval_id = (
        (given.decided and given.decided.approval_id) or given.approval_id or approval_id_of_batch(given.batch_id or "")
    )
    try:
        approval = await expire_if_pending(services.approvals, services.clock, given.user_id, approval_id)
    except NotFound:  # approval was never requested, or the user erased everything meanwhile
        await services.memories.delete_proposed(given.user_id, given.memory_ids)
        return given.model_copy(update={"end": "gone"})
    # This also continues an earlier invocation; a record that must not be executed stays unchanged.
    approval = await execute(services, given.user_id, approval_id)
    if approval.status not in FINAL:
        raise Unavailable
    await discard(services, approval)
    await scrub(services.approvals, given.user_id, approval_id)
    return given.model_copy(update={"approval_id": approval_id, "end": _ENDS.get(approval.status, "expired")})


_ENDS: Mapping[Status, Literal["kept", "rejected"]] = {"done": "kept", "rejected": "rejected"}
"""With any other status, the memories were not approved in time."""


# --- move watermark ---------------------------------------------------------------------------------------------------
# Advance a conversation's watermark, and schedule the conversation again if notes wait for a judge.
#
# This comes last, so that after a crash in an earlier state the messages are read again.


CHECK_AGAIN_SECONDS, LONGEST_CHECK_SECONDS = 3_600.0, 86_400.0
"""Delay after a judge was unavailable: doubled each time, up to a day."""


@state(ExtractionState, ignores_brake=True)
async def move_watermark(services: Services, given: ExtractionState) -> ExtractionState:
    """Advance the watermark. It also runs under the brake, as the messages were read."""
    if batch := await batch_of(services.extractions, given):
        now = services.clock()
        await services.watermarks.advance(given.user_id, given.conversation_id, batch.read_from, batch.read_to, now)
        if batch.tries:
            wait = min(CHECK_AGAIN_SECONDS * 2 ** (batch.tries - 1), LONGEST_CHECK_SECONDS)
            await services.watermarks.schedule_at(given.user_id, given.conversation_id, now + wait)
    return given


# --- retry later ------------------------------------------------------------------------------------------------------
# Schedule a conversation again after a failure, or set it aside with the cause after the last attempt.


TRY_AGAIN_SECONDS = (600.0, 3_600.0, 6 * 3_600.0, 24 * 3_600.0)
"""Delays after failed attempts; after the last one the conversation is set aside."""
POSTPONED_SECONDS = 3_600.0
"""Delay if the conversation is not the cause (an exhausted daily budget, or requests rejected by the provider or
Lambda); no attempt is counted. A conversation stopped by the brake is due immediately."""
_NOT_ITS_FAULT = ("Braked", "OverBudget", "StageOverBudget", "ModelRefused", "Lambda.TooManyRequestsException")


@state(ExtractionState, ignores_brake=True)
async def retry_later(services: Services, given: ExtractionState) -> ExtractionState:
    """Schedule the conversation again, or set it aside. It also runs under the brake."""
    cause, now = given.error.kind if given.error else "", services.clock()
    try:
        reading = await services.watermarks.get(given.user_id, given.conversation_id)
    except NotFound:  # the user deleted it
        return given.model_copy(update={"end": "gone"})
    if cause in _NOT_ITS_FAULT:
        due_at = now if cause == "Braked" else now + POSTPONED_SECONDS
        await services.watermarks.retry_later(given.user_id, given.conversation_id, due_at, reading.attempts)
        # If the provider rejects all requests, the execution fails, because this affects all conversations.
        return given.model_copy(update={"end": "refused" if cause == "ModelRefused" else "later"})
    attempts = reading.attempts + 1
    if attempts <= len(TRY_AGAIN_SECONDS):
        due_at = now + TRY_AGAIN_SECONDS[attempts - 1]
        await services.watermarks.retry_later(given.user_id, given.conversation_id, due_at, attempts)
        return given.model_copy(update={"end": "later"})
    aside = {"cause": cause, "at": now, "attempts": attempts}
    await services.watermarks.retry_later(given.user_id, given.conversation_id, 0.0, attempts, aside)
    services.logger.error(Event.SET_ASIDE, extra={"code": cause})
    measure_set_aside()
    return given.model_copy(update={"end": "set_aside"})
