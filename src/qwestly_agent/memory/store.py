"""Apply the decisions: this creates the memories."""

from collections.abc import Sequence
from datetime import datetime

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.observability import measure_extraction
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory.extraction_state import ExtractionState, batch_of, check_still_exists, memory_id
from qwestly_agent.memory.find import nearest_cosine
from qwestly_agent.memory.forget import match_tombstones
from qwestly_agent.memory.notes import DropReason, Note, NoteDecision
from qwestly_agent.memory.write import count_repetition, write_memory
from qwestly_agent.services import Services
from qwestly_agent.stores.memory_work import Batch
from qwestly_agent.workflow_state import state

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
        outdone = sum(each.reason in (DropReason.LESS_TRUSTED, DropReason.OLDER) for each in decisions)
        events = _events(batch, kept, superseded, outdone, services.clock())
        await services.extractions.mark_stored(given.user_id, batch.id, proposed, tries, events)
        measure_extraction(verbs, superseded, len(proposed), batch.dropped)
    return given.model_copy(update={"memory_ids": proposed, "proposed": bool(proposed)})


def _events(batch: Batch, kept: Sequence[str], superseded: int, outdone: int, now: float) -> list[ActivityEvent]:
    """Return one event, or none if no memory has changed and everything was read; pending ones have their approval's
    event."""
    count = "something" if len(kept) == 1 else f"{len(kept)} things"
    told = [f"Remembered {count} you said in a conversation"] if kept else []
    told += ["Brought what is remembered up to date"] if superseded and not kept else []
    if outdone:
        told.append("Left out what you have said otherwise since, or more plainly")
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
    """Replace indexes by the memories that earlier decisions of the same batch made or reinforced."""
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
    """Apply a decision; return the memory that it made, if any."""
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
            return written if written and written.id == new.id else None
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
    note = decision.note
    tombstones = await services.tombstones.list_all(user_id)
    if not tombstones:
        return False
    beside = await nearest_cosine(services.memories, user_id, note.content, vector, memory_id)
    near_from = services.settings.memory_forgotten_from
    before = match_tombstones(tombstones, note.content, note.quote, vector, near_from, beside=beside)
    # Unchecked memories are compared again, and the user decides on repetitions of forgotten ones.
    is_new = decision.verb == "add" and not decision.retells
    return before is not None and (before.is_exact or (is_new and bool(before.tombstones)))


def _valid_from(note: Note, supersedes: Sequence[str]) -> datetime | None:
    """Return the start of its validity: as stated by the user, or when they reported the change."""
    if note.since:
        return datetime.fromisoformat(note.since)
    return to_datetime(note.said_at) if supersedes else None
