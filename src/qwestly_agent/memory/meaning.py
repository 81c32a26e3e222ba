"""Choose a note's sentence by a judge: the model's if the quote supports it, otherwise the user's own.

The user's own sentence must be supported too: it is about themselves, meant, and still true. A judge errs, so a note
made by a chat tool keeps the model's sentence without approval only if all its content words are the user's.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from qwestly_agent.grounding.ground import ground
from qwestly_agent.grounding.judge import Judge, Judgement, make_judge
from qwestly_agent.grounding.model import GroundingVerdict, Quote, QuotedSource, Statement
from qwestly_agent.memory.equality import normalize_content
from qwestly_agent.memory.notes import Note
from qwestly_agent.memory.sensitive import is_sensitive
from qwestly_agent.text.language import language_of
from qwestly_agent.text.user_text import questions_in

ABOUT_NOTES = """

These statements are notes about the person, made of what they typed in a chat. `around` shows where a quote stands, \
and supports nothing. A quote that is a question put to them says nothing unless another quote answers it. A statement \
that begins “Their own words about themselves” is supported if the person says just that of themselves: it is no \
question, supposition, joke or irony, nobody else's words and nobody else's matter, and they do not take it back."""
OWN_WORDS = "Their own words about themselves, meant, and not taken back: “{sentence}”"
"""The statement that the judge checks."""
ASKED = "a question that was put to them, and no word of theirs"
FEWEST_WORDS = 3
"""Minimum length of an answer that can be understood without its question."""


@dataclass(frozen=True)
class RefusedNote:
    """A note that the user's typed text does not support."""

    note: Note
    reasons: tuple[str, ...]
    """Sentences for an operator."""


def make_note_judge(ask: Callable[..., Awaitable[Judgement]], seconds: float) -> Judge:
    """Return the judge. `ask` is `structured_output` of the judge's model, `seconds` its timeout."""
    return make_judge(ask, seconds=seconds, also=ABOUT_NOTES)


async def ground_notes(notes: Sequence[Note], judge: Judge | None) -> list[Note | RefusedNote]:
    """Return each note in the form in which it can be stored, in order; unchanged and unchecked if the judge did not
    answer."""
    sources = {source.id: source for at, note in enumerate(notes) for source in _sources(str(at), note)}
    readings = [_readings(str(at), note) for at, note in enumerate(notes)]
    verdicts = iter(await ground([each.statement for some in readings for each in some], sources, judge))
    return [
        _grounded(note, [(reading.note, next(verdicts)) for reading in some])
        for note, some in zip(notes, readings, strict=True)
    ]


@dataclass(frozen=True)
class _Reading:
    """One form in which a note can be stored."""

    note: Note
    statement: Statement


def _sources(at: str, note: Note) -> list[QuotedSource]:
    """Return the user's text and the question that it answers as sources."""
    context = note.context if len(note.context) > len(note.sentence) else ""
    said = QuotedSource(
        id=at, text=note.sentence, trust=note.trust, language=language_of(note.context), context=context
    )
    # The question gets the answer's trust level, so that the judge gets both in one batch.
    asked = QuotedSource(id=f"{at}?", text=note.question, trust=note.trust, fields={"is": ASKED})
    return [said, asked] if note.question else [said]


def _readings(at: str, note: Note) -> list[_Reading]:
    """Return the forms, best first: the model's sentence, the same with the answered question, the user's own
    sentence."""
    quote, alone = Quote(source=at, text=note.quote), note.model_copy(update={"question": "", "trust": "user_said"})
    statement = Statement(text=note.content, quotes=(quote,), language=language_of(note.content))
    found = [] if normalize_content(note.content) == normalize_content(note.sentence) else [_Reading(alone, statement)]
    if note.question:
        asked = Quote(source=f"{at}?", text=note.question)
        answer = note.model_copy(update={"sensitive": note.sensitive or is_sensitive(note.question)})
        found.append(_Reading(answer, statement.model_copy(update={"quotes": (quote, asked)})))
    if not note.question or len(note.sentence.split()) >= FEWEST_WORDS:
        found.append(_own_words(at, alone))
    return sorted(found, key=lambda reading: _needs_yes(reading.note))


def _needs_yes(note: Note) -> bool:
    """True if a tool made the note, and it has a word that the user did not type, or its quote is or answers a
    question."""
    return note.is_asked_for and (bool(note.question) or not note.is_in_own_words or bool(questions_in(note.quote)))


def _own_words(at: str, note: Note) -> _Reading:
    sentence = note.sentence
    content = note.content if normalize_content(note.content) == normalize_content(sentence) else sentence
    sensitive = note.sensitive or is_sensitive(sentence)
    return _Reading(
        note.model_copy(update={"content": content, "quote": sentence, "sensitive": sensitive}),
        Statement(
            text=OWN_WORDS.format(sentence=sentence),
            quotes=(Quote(source=at, text=sentence),),
            language=language_of(sentence),
        ),
    )


def _grounded(note: Note, read: Sequence[tuple[Note, GroundingVerdict]]) -> Note | RefusedNote:
    for reading, verdict in read:
        if verdict.outcome == "supported":
            is_doubtful = reading.is_doubtful or _needs_yes(reading)
            return reading.model_copy(update={"is_checked": True, "is_doubtful": is_doubtful})
    if any(verdict.outcome == "unchecked" for _, verdict in read):
        return note
    return RefusedNote(note, read[0][1].reasons)
