"""Labelled conversations, read by the real extractor and the real judge: what is noted, what is kept, and what of it is
wrong."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from evals.first.hour import Hour, Unit
from evals.first.journal import Found
from evals.memories import FOLDER, Candidate, by_conversation
from evals.outcomes import Outcome
from qwestly_agent.base.errors import AgentError
from qwestly_agent.bootstrap import bootstrap_models
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.memory.extract_reader import NOTE_JUDGE_SECONDS, WRITER, find_notes
from qwestly_agent.memory.judges import UserMessage, ground_notes, make_note_judge
from qwestly_agent.memory.notes import Note
from qwestly_agent.model_calls import structured_output
from qwestly_agent.text.language import stems_of

NOT_NOTED, REFUSED, UNCHECKED = "not noted", "refused by the judge", "not judged"


def note_units(hour: Hour) -> Sequence[Unit]:
    _ = hour.stage  # before threads ask for it
    return [
        Unit(f"memories/{name}", partial(_notes, hour, name, said, candidates))
        for name, said, candidates in hour.some(list(by_conversation(FOLDER)))
    ]


def _notes(hour: Hour, name: str, said: Sequence[UserMessage], candidates: Sequence[Candidate]) -> Found:
    dataset, language = "conversations that are read", candidates[0].language
    try:
        noted, kept = asyncio.run(_read(hour, said))
    except AgentError as error:
        problems = (f"no valid notes: {type(error).__name__}",)
        return Found(
            [Outcome(dataset=dataset, case=name, group=language, source="live", passed=False, problems=problems)]
        )
    read = Outcome(dataset=dataset, case=name, group=language, source="live", passed=True)
    return Found([read, *(found for each in candidates for found in _outcomes(name, each, candidates, noted, kept))])


async def _read(hour: Hour, said: Sequence[UserMessage]) -> tuple[list[Note], list[Note | None]]:
    """Return the notes that code accepts, and for each what the judge leaves of it."""
    services = await bootstrap_models(replace(hour.stage.chat.settings, model_base_url=hour.gateway.base_url))
    try:
        user_id = f"auth0|{uuid.uuid4().hex}"
        notes, _ = await find_notes(services, user_id, "c", said)
        ask = partial(structured_output, services, user_id, services.judges[WRITER])
        judged = await ground_notes(notes, make_note_judge(ask, NOTE_JUDGE_SECONDS, [each.context for each in notes]))
    finally:
        await services.close()
    return notes, [each if isinstance(each, Note) else None for each in judged]


def _outcomes(
    name: str, candidate: Candidate, candidates: Sequence[Candidate], noted: Sequence[Note], kept: Sequence[Note | None]
) -> list[Outcome]:
    mine = [each for each in zip(noted, kept, strict=True) if _nearest(each[0], candidates) is candidate]
    checked = [(note.content, after.content) for note, after in mine if after and after.is_checked]
    case = f"{name}/{candidate.note['message']}/{candidates.index(candidate) + 1}"

    def outcome(dataset: str, passed: bool, *problems: str) -> Outcome:
        # Nobody reads the cases that are kept aside.
        told = () if passed or candidate.half == "kept" else problems
        return Outcome(
            dataset=dataset, case=case, group=candidate.language, source="live", passed=passed, problems=told
        )

    if not candidate.is_right:
        # Instead of a refused note the person's own sentence may be kept.
        wrong = [each for each, after in checked if after == each or not candidate.may_keep_own_words]
        return [outcome("wrong notes", not wrong, "kept")]
    found = [outcome("right notes that are noted", bool(mine), NOT_NOTED)]
    if mine:
        why = REFUSED if any(after is None for _, after in mine) else UNCHECKED
        found.append(outcome("right notes that the judge keeps", bool(checked), why))
    return found


def _nearest(note: Note, candidates: Sequence[Candidate]) -> Candidate | None:
    """Return the labelled note that this one stands for: of those whose quotes overlap with its own, the one that
    shares most words with it. None if nobody labelled it."""
    overlapping = [each for each in candidates if _overlaps(note.quote, each.note["quote"])]
    return max(overlapping, key=lambda each: _shared(note.content, each.note["content"]), default=None)


def _overlaps(one: str, other: str) -> bool:
    return bool(find_span(one, other) or find_span(other, one))


def _shared(one: str, other: str) -> float:
    words, others = set(stems_of(one)), set(stems_of(other))
    return len(words & others) / max(1, len(words | others))
