"""Reconcile new memories with the known ones: repeated, a replacement, or neither.

By day the new ones are the notes of a conversation; by night, the memories that were written without a comparison. Both
use the same search for neighbors (`Memories.find_near`), the same comparison (`judges.compare`) and the same rules.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from itertools import chain

from qwestly_agent.domain.memory import Memory, rank
from qwestly_agent.memory.find import NEIGHBOURS, embed_missing, max_cosine
from qwestly_agent.memory.forget import TombstoneMatch, match_tombstones
from qwestly_agent.memory.judges import Pair, Relation, compare
from qwestly_agent.memory.model import ConsolidationState, ExtractionState, batch_of, end
from qwestly_agent.memory.notes import DropReason, Note, NoteDecision, hash_of
from qwestly_agent.model_calls import ContentRefused
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.memories import NearMemory
from qwestly_agent.stores.memory_work import ConsolidationRun, ReplacedMemory, find_unfinished
from qwestly_agent.workflow_state import state

# --- rules ------------------------------------------------------------------------------------------------------------


COMPARE_SECONDS = 45.0

Related = Sequence[tuple[Memory, Relation]]
"""Known memories, and how each relates to the new one."""


async def find_relations(
    services: ModelServices, user_id: str, new: Sequence[Memory], near: Mapping[int, Sequence[Memory]]
) -> dict[int, Related]:
    """Relate each new memory, by its index, to its `near` ones. Equal ones need no model; all others are compared by a
    model, with the memory said first as the known one. Raises the errors of `structured_output`."""
    pairs = [(at, known) for at, some in near.items() for known in some]
    asked = [(at, known) for at, known in pairs if hash_of(known.content) != hash_of(new[at].content)]
    told = [_in_order(new[at], known) for at, known in asked]
    relations = await compare(services, user_id, told, COMPARE_SECONDS) if told else []
    answers: dict[tuple[int, str], Relation] = {}
    for (at, known), each in zip(asked, relations, strict=True):
        answers[at, known.id] = each

    def relation(at: int, known: Memory) -> Relation:
        return answers.get((at, known.id), "same")

    return {at: [(known, relation(at, known)) for known in some] for at, some in near.items()}


def _in_order(new: Memory, known: Memory) -> Pair:
    older, newer = (new, known) if said(new) < said(known) else (known, new)
    return Pair(known=older.content, new=newer.content)


def said(memory: Memory) -> float:
    """Return when the memory was last stated, in seconds since the epoch."""
    return memory.last_seen or (memory.created_at.timestamp() if memory.created_at else 0.0)


def supersedes(newer: Memory, older: Memory) -> bool:
    """True if `newer` replaces a memory that it contradicts: it was not said earlier, and is not less trusted."""
    return said(newer) >= said(older) and rank(newer.trust) <= rank(older.trust)


def absorbs(stays: Memory, goes: Memory) -> bool:
    """True if `stays` is the one to keep of two memories with the same meaning: the more trusted, then the more often
    confirmed, then the newer one, provided that no date of the other (start, end) is lost."""
    dates = ((goes.valid_from, stays.valid_from), (goes.valid_until, stays.valid_until))
    is_lost = any(own and (known is None or own.date() != known.date()) for own, known in dates)
    return not is_lost and _best_first(stays) < _best_first(goes)


def _best_first(memory: Memory) -> tuple[int, int, float, str]:
    created = memory.created_at.timestamp() if memory.created_at else 0.0  # a note, which loses a tie
    return rank(memory.trust), -memory.count, -created, memory.id


# --- by day -----------------------------------------------------------------------------------------------------------
# Compare notes with the memories: new, repeated, a replacement, or forgotten.
#
# Code decides exact cases: equal notes are joined, and forgotten ones are not stored again. A model compares all other
# similar ones; each of its verdicts that has quotes is applied.


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
    """Return a decision for each note, checked notes first, and the notes' vectors.

    `may_ask_again`: True if a note similar to forgotten content may lead to an approval request. Raises `Unavailable`
    if no comparison is possible, and the errors of `structured_output`.
    """
    if not notes:
        return [], []
    notes = sorted(notes, key=lambda note: not note.is_checked)  # if notes are equal, keep a checked one
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
            # Earlier notes of the same conversation come first: a user who reports two moves lives in the last place.
            alike[at] = [*_said_before(decisions[:at]), *(each.memory for each in near[at] if _is_known(note, each))]
    new = [_as_memory(at, each) for at, each in enumerate(notes)]
    related = await find_relations(services, user_id, new, alike)
    return [_decided(each, new[at], related.get(at, ())) for at, each in enumerate(decisions)], vectors


def _first_decision(note: Note, equal: Memory | None, before: TombstoneMatch | None) -> NoteDecision:
    """Make the first decision, before similar memories are compared."""
    if equal is None or equal.id == note.memory_id:
        retells = before.tombstones if before else ()
        ask = note.sensitive or note.is_doubtful or before is not None
        return NoteDecision(verb="add", note=note, ask=ask, retells=retells)
    if equal.status == "unchecked":  # this note confirms it
        return _first_decision(note.model_copy(update={"memory_id": equal.id}), None, before)
    return NoteDecision(verb="reinforce", note=note, target=equal.id, ask=note.sensitive or note.is_doubtful)


def _said_before(decisions: Sequence[NoteDecision]) -> list[Memory]:
    """Return earlier notes of the same conversation as memories, latest first, at most `NEIGHBOURS`."""
    new = [(at, each.note) for at, each in enumerate(decisions) if each.verb == "add" and not each.ask]
    return [_as_memory(at, note) for at, note in new[: -NEIGHBOURS - 1 : -1]]


def _as_memory(at: int, note: Note) -> Memory:
    since, until = (day and datetime.fromisoformat(day) for day in (note.since, note.until))
    return note.memory(f"#{at}", "proposed", valid_from=since, valid_until=until)


def _is_known(note: Note, near: NearMemory) -> bool:
    """True if prompts already contain the memory. A memory that waits for approval is in no prompt."""
    return near.memory.status == "active" and near.memory.id != note.memory_id


def _decided(decision: NoteDecision, new: Memory, related: Related) -> NoteDecision:
    note, contradicted = decision.note, [known for known, relation in related if relation == "contradicts"]
    same = [known for known, relation in related if relation == "same"]
    ended = [known for known in contradicted if supersedes(new, known)]
    stays = next((known for known in same if absorbs(known, new)), None)
    if decision.verb == "add" and stays:
        gone = tuple(known.id for known in ended)
        return NoteDecision(verb="reinforce", note=note, target=stays.id, supersedes=gone, ask=decision.ask)
    replaced = tuple(known.id for known in (*ended, *(known for known in same if absorbs(new, known))))
    if len(ended) == len(contradicted):
        return decision.model_copy(update={"supersedes": replaced})
    if not ended:
        is_less_trusted = any(rank(note.trust) > rank(known.trust) for known in contradicted)
        reason = DropReason.LESS_TRUSTED if is_less_trusted else DropReason.OLDER
        return NoteDecision(verb="skip", note=note, reason=reason)
    # The note replaces some but not others, so the user must decide.
    everything = tuple(known.id for known in contradicted if not known.id.startswith("#"))
    return decision.model_copy(update={"supersedes": everything, "ask": True})


# --- by night ---------------------------------------------------------------------------------------------------------
# Compare memories that were written without a comparison, and record the replacements in the journal.


MOST_NEW = 100
"""Maximum new memories compared per run."""
MOST_PAIRS = 180
"""Maximum pairs compared by a model per run."""
MOST_OUTDATED = 10


@state(ConsolidationState)
async def plan(services: ModelServices, given: ConsolidationState) -> ConsolidationState:
    """Write the replacements into the journal, as decided by code and model.

    An unfinished earlier run comes first. A state that runs again finds its run and calls no model; only a crash
    between the model's answer and the journal entry causes a second request. Raises the errors of `structured_output`,
    except `ContentRefused`.
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
    user_id, now = given.user_id, services.clock()
    apart = frozenset(chain.from_iterable(run.pairs_kept_apart for run in runs if run.is_undone))
    await embed_missing(services, user_id)
    held = await services.merges.list_new(user_id, MOST_NEW)
    new = [memory for memory, _ in held]
    near = _alike(
        new,
        await services.memories.find_near(
            user_id, [(memory.content, vector or None) for memory, vector in held], NEIGHBOURS + 1
        ),
        apart,
    )
    try:
        related = await find_relations(services, user_id, new, near)
    except ContentRefused:  # the provider would reject them every night, so they stay unchanged
        related = {}
    replacements = replacements_of((new[at], *each) for at, some in related.items() for each in some)
    cap = cap_of(await services.merges.count_active(user_id))
    left = {memory_id for each in replacements[cap:] for memory_id in (each.gone, each.by)}
    gone = {each.gone for each in replacements[:cap]}
    outdated = await services.merges.list_outdated(user_id, now)
    return ConsolidationRun(
        user_id=user_id,
        run_id=given.run_id,
        created=now,
        replacements=tuple(replacements[:cap]),
        left=len(replacements[cap:]),
        compared=tuple(new[at].id for at in near if new[at].id not in left),
        outdated=tuple(memory_id for memory_id in outdated if memory_id not in gone)[:MOST_OUTDATED],
    )


def _alike(
    new: Sequence[Memory], near: Sequence[Sequence[NearMemory]], apart: AbstractSet[frozenset[str]]
) -> dict[int, list[Memory]]:
    """Return the memories to compare with each new one, by its index: each pair occurs once, and each new memory is
    included with all of its pairs or not at all. `apart` contains the pairs whose merge was undone."""
    alike, pairs = dict[int, list[Memory]](), {*apart}
    for at, (memory, some) in enumerate(zip(new, near, strict=True)):
        known = {frozenset((memory.id, each.memory.id)): each.memory for each in some if _may_join(memory, each.memory)}
        known = {pair: each for pair, each in known.items() if pair not in pairs}
        if len(known) + sum(map(len, alike.values())) > MOST_PAIRS:
            break
        alike[at] = [*known.values()]
        pairs |= known.keys()
    return alike


def _may_join(one: Memory, other: Memory) -> bool:
    return other.status == "active" and other.id != one.id and not (one.sensitive or other.sensitive)


def replacements_of(pairs: Iterable[tuple[Memory, Memory, Relation]]) -> list[ReplacedMemory]:
    """Return all possible replacements, before the cap: contradicted memories, oldest first, then duplicates.

    A memory is replaced only by one that code or model found equal to it or contradicting it, in exactly this pair. A
    memory that replaces a duplicate is not replaced itself.
    """
    pairs, gone = list(pairs), dict[str, ReplacedMemory]()
    both_ways = [
        (one, other, relation) for pair in pairs for one, other, relation in (pair, (pair[1], pair[0], pair[2]))
    ]
    for newer, older, relation in sorted(both_ways, key=lambda pair: (said(pair[0]), said(pair[1]), pair[1].id)):
        # If both were stated at the same time, neither is newer.
        if relation == "contradicts" and said(older) < said(newer) and supersedes(newer, older):
            gone.setdefault(older.id, ReplacedMemory(gone=older.id, by=newer.id, status="superseded"))
    # The best memory absorbs its duplicates first, so that none of them absorbs others.
    for stays, goes, relation in sorted(both_ways, key=lambda pair: _best_first(pair[0])):
        if relation == "same" and not {stays.id, goes.id} & gone.keys() and absorbs(stays, goes):
            gone[goes.id] = ReplacedMemory(gone=goes.id, by=stays.id, status="merged")
    return [*gone.values()]


def cap_of(active: int) -> int:
    """Return the maximum replacements in one run: a tenth of the active memories, between one and twenty."""
    return min(20, max(1, active // 10))
