"""Compare notes with the memories: new, repeated, a replacement, or forgotten.

Code decides exact cases: equal notes are joined, and forgotten ones are not stored again. A model compares all other
similar ones, and each verdict with quotes is applied.
"""

from collections.abc import Mapping, Sequence

from qwestly_agent.domain.memory import Memory, rank
from qwestly_agent.memory.compare import Pair, Relation, compare
from qwestly_agent.memory.extraction_state import ExtractionState, batch_of
from qwestly_agent.memory.find import NEIGHBOURS, embed_missing, max_cosine
from qwestly_agent.memory.forget import TombstoneMatch, match_tombstones
from qwestly_agent.memory.notes import DropReason, Note, NoteDecision
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.memories import NearMemory
from qwestly_agent.workflow_state import state

COMPARE_SECONDS = 45.0


@state(ExtractionState)
async def reconcile(services: ModelServices, given: ExtractionState) -> ExtractionState:
    batch = await batch_of(services.extractions, given)
    if batch is None or batch.status != "judged":
        return given
    await embed_missing(services, given.user_id)
    notes = [Note.model_validate(each) for each in batch.found]
    may_ask_again = await services.watermarks.may_ask_again(given.user_id, given.conversation_id, batch.id)
    decisions, vectors = await decide_on_notes(services, given.user_id, notes, may_ask_again=may_ask_again)
    dropped = dict(batch.dropped)
    for reason in (each.reason for each in decisions if each.reason):
        dropped[reason] = dropped.get(reason, 0) + 1
    written = [each.model_dump(mode="json") for each in decisions]
    await services.extractions.store_decisions(given.user_id, batch.id, written, vectors, dropped)
    return given


async def decide_on_notes(
    services: ModelServices, user_id: str, notes: Sequence[Note], *, may_ask_again: bool = True
) -> tuple[list[NoteDecision], list[list[float]]]:
    """Return a decision for each note, the checked ones first, and their vectors.

    `may_ask_again`: True if a note similar to forgotten content may lead to an approval request. Raises `Unavailable`
    if nothing can be compared, and what `structured_output` raises.
    """
    if not notes:
        return [], []
    notes = sorted(notes, key=lambda note: not note.is_checked)  # of equal notes, a checked one is kept
    first = {each.hash: at for at, each in reversed([*enumerate(notes)])}
    vectors = await services.embeddings.embed([each.content for each in notes])
    asked = [(each.content, vector) for each, vector in zip(notes, vectors, strict=True)]
    tombstones = await services.tombstones.list_all(user_id)
    equal = await services.memories.find_by_hashes(user_id, [each.hash for each in notes])
    near = await services.memories.find_near(user_id, asked, NEIGHBOURS)
    alike_from = services.settings.memory_forgotten_from
    decisions: list[NoteDecision] = []
    alike: dict[int, list[Memory]] = {}
    for at, note in enumerate(notes):
        before = match_tombstones(
            tombstones,
            note.content,
            note.quote,
            vectors[at],
            alike_from,
            message_ids=note.source.message_ids,
            beside=max_cosine(near[at], note.memory_id),
        )
        if first[note.hash] != at:
            decisions.append(NoteDecision(verb="skip", note=note))
        elif before and before.is_exact:
            decisions.append(NoteDecision(verb="skip", note=note, reason=DropReason.FORGOTTEN))
        elif not note.is_checked:
            decisions.append(NoteDecision(verb="wait", note=note))
        elif before and before.tombstones and not may_ask_again:
            decisions.append(NoteDecision(verb="skip", note=note, reason=DropReason.ASKED_BEFORE))
        else:
            decisions.append(_first_decision(note, equal.get(note.hash), before))
            # Earlier notes of the same conversation come first: a user who moved twice lives at the last place.
            alike[at] = [*_said_before(decisions[:at]), *(each.memory for each in near[at] if _is_known(note, each))]
    relations = await _relations(services, user_id, notes, alike)
    return [_decided(each, relations.get(at, ())) for at, each in enumerate(decisions)], vectors


def _first_decision(note: Note, equal: Memory | None, before: TombstoneMatch | None) -> NoteDecision:
    """Decide before similar memories are compared."""
    if equal is None or equal.id == note.memory_id:
        retells = before.tombstones if before else ()
        ask = note.sensitive or note.is_doubtful or before is not None
        return NoteDecision(verb="add", note=note, ask=ask, retells=retells)
    if equal.status == "unchecked":  # which this note confirms
        return _first_decision(note.model_copy(update={"memory_id": equal.id}), None, before)
    return NoteDecision(verb="reinforce", note=note, target=equal.id, ask=note.sensitive or note.is_doubtful)


def _said_before(decisions: Sequence[NoteDecision]) -> list[Memory]:
    """Return earlier notes of the same conversation as memories, latest first, as many as neighbors."""
    new = [(at, each.note) for at, each in enumerate(decisions) if each.verb == "add" and not each.ask]
    return [_as_memory(at, note) for at, note in new[: -NEIGHBOURS - 1 : -1]]


def _as_memory(at: int, note: Note) -> Memory:
    return Memory(id=f"#{at}", type=note.type, content=note.content, trust=note.trust, last_seen=note.said_at)


def _is_known(note: Note, near: NearMemory) -> bool:
    """True if prompts contain it already. A memory that waits for approval is in no prompt."""
    return near.memory.status == "active" and near.memory.id != note.memory_id


async def _relations(
    services: ModelServices, user_id: str, notes: Sequence[Note], alike: Mapping[int, Sequence[Memory]]
) -> dict[int, list[tuple[Memory, Relation]]]:
    pairs = [(at, known) for at, some in alike.items() for known in some if known.content != notes[at].content]
    asked = [Pair(known=known.content, new=notes[at].content) for at, known in pairs]
    relations = await compare(services, user_id, asked, COMPARE_SECONDS) if asked else []
    found: dict[int, list[tuple[Memory, Relation]]] = {}
    for (at, known), relation in zip(pairs, relations, strict=True):
        found.setdefault(at, []).append((known, relation))
    return found


def _decided(decision: NoteDecision, relations: Sequence[tuple[Memory, Relation]]) -> NoteDecision:
    note, ended = decision.note, [known for known, relation in relations if relation == "contradicts"]
    less_trusted = [known for known in ended if rank(note.trust) > rank(known.trust)]
    older = [known for known in ended if note.said_at < known.last_seen]
    supersedes = tuple(known.id for known in ended if known not in less_trusted and known not in older)
    same = next((known.id for known, relation in relations if relation == "same"), None)
    if decision.verb == "add" and same:
        return NoteDecision(verb="reinforce", note=note, target=same, supersedes=supersedes, ask=decision.ask)
    if (less_trusted or older) and not supersedes:
        reason = DropReason.LESS_TRUSTED if less_trusted else DropReason.OLDER
        return NoteDecision(verb="skip", note=note, reason=reason)
    if less_trusted or older:  # it replaces some but not others, so the user must decide
        everything = tuple(known.id for known in ended if not known.id.startswith("#"))
        return decision.model_copy(update={"supersedes": everything, "ask": True})
    return decision.model_copy(update={"supersedes": supersedes})
