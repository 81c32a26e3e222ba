"""Planted lies: in each request, code falsifies a copy of one statement, to measure in production how often the judge
errs.

A plant is one of the request's own statements with one change. It counts only if the judge supports the unchanged
statement, since at most one of the two is true. Plants are dropped once they are judged.
"""

import random
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from qwestly_agent.base.patterns import pattern
from qwestly_agent.grounding.facts import check_facts
from qwestly_agent.grounding.figures import figures
from qwestly_agent.grounding.judge import Judged, Question
from qwestly_agent.grounding.model import JudgedPlant, PlantKind, QuotedSource
from qwestly_agent.grounding.quotes import find_span

DENIALS: Mapping[str, str] = {
    "en": "Has never done this: {}",
    "de": "Hat das nie getan: {}",
    "fr": "N’a jamais fait cela : {}",
    "es": "Nunca hizo esto: {}",
    "pt": "Nunca fez isto: {}",
}
RANKS: Mapping[str, Mapping[str, str]] = {
    "en": {"helped": "led", "supported": "directed", "assistant": "director", "deputy": "chief", "member": "head"},
    "de": {"half": "leitete", "unterstützte": "leitete", "stellvertretende": "oberste", "mitglied": "leitung"},
    "fr": {"aidé": "dirigé", "assistant": "directeur", "assistante": "directrice", "adjointe": "générale"},
    "es": {"ayudó": "dirigió", "apoyó": "dirigió", "ayudante": "jefe", "auxiliar": "directora"},
    "pt": {"ajudou": "dirigiu", "apoiou": "dirigiu", "ajudante": "chefe", "auxiliar": "diretora"},
}
"""By language: words, each with a word for a higher rank."""
_SMALL_CHANGES: Sequence[PlantKind] = ("figure", "year", "employer", "rank")
_FACTORS = (0.4, 0.6, 1.5, 2, 3)
_WORD = pattern(r"[^\W\d_]+")


@dataclass(frozen=True)
class Plant:
    question: Question
    made_from: int
    """Number of the unchanged statement."""
    kind: PlantKind


RecordPlant: TypeAlias = Callable[[JudgedPlant], Awaitable[bool]]
"""Records the outcome, and returns True if the judge has passed too many lies."""


def plant_in(questions: Sequence[Question], sources: Mapping[str, QuotedSource], number: int) -> Plant | None:
    """Make a plant with this number from one of the questions; None if none can be changed. The same questions always
    get the same plant, so that a repeated request is identical."""
    chosen = random.Random("\n".join(each.statement.text for each in questions))  # noqa: S311
    # A denial comes last: every statement can be denied, and judges detect it most easily.
    kinds: Sequence[PlantKind] = [*chosen.sample(_SMALL_CHANGES, len(_SMALL_CHANGES)), "denial"]
    for kind in kinds:
        for question in chosen.sample(questions, len(questions)):
            for text, changed in _LIES[kind](question, sources, chosen):
                if lie := _lie(question, text, changed, number):
                    return Plant(lie, question.number, kind)
    return None


def judged_plant(plant: Plant, judged: Mapping[int, Judged]) -> JudgedPlant | None:
    """Return whether the judge passed the lie; None if it did not answer both statements, or does not support the
    unchanged one."""
    lie, truth = judged.get(plant.question.number), judged.get(plant.made_from)
    if not lie or not truth or not _is_supported(truth):
        return None
    gave_words = sum(map(bool, map(str.strip, lie.meant))) >= len(plant.question.look_at)
    language = plant.question.statement.language
    return JudgedPlant(kind=plant.kind, language=language, passed=_is_supported(lie) and gave_words)


def _is_supported(judged: Judged) -> bool:
    return bool(judged.span) and not judged.why


def _lie(question: Question, text: str, changed: str, number: int) -> Question | None:
    """Return the changed statement as a question; None if the quotes contain the changed words, too."""
    statement = question.statement.model_copy(update={"text": text})
    facts = check_facts(statement, question.quotes)
    marks = dict.fromkeys((*facts.unread, *facts.names))
    if changed and not facts.missing and not any(changed in mark for mark in marks):
        return None
    look_at = (*marks, *([changed] if facts.missing else []))
    return replace(question, number=number, statement=statement, look_at=look_at, is_plant=True)


_Lies: TypeAlias = Iterator[tuple[str, str]]
"""The changed text, and its new words, which must not occur in the quotes ("" if they may)."""


def _figure(question: Question, _: Mapping[str, QuotedSource], chosen: random.Random) -> _Lies:
    text = question.statement.text
    for each in figures(text, question.statement.language):
        digits = text[each.start : each.end]
        if digits.isdecimal() and each.numbers and not each.year:
            other = str(max(1, round(int(digits) * chosen.choice(_FACTORS))))
            if other != digits:
                yield text[: each.start] + other + text[each.end :], other


def _year(question: Question, _: Mapping[str, QuotedSource], chosen: random.Random) -> _Lies:
    text = question.statement.text
    for each in figures(text, question.statement.language):
        if each.year:
            other = str(each.year - chosen.randint(3, 9))
            yield text[: each.start] + other + text[each.end :], other


def _employer(question: Question, sources: Mapping[str, QuotedSource], _: random.Random) -> _Lies:
    employers = dict.fromkeys(each.fields.get("employer", "") for each in sources.values())
    text = question.statement.text
    quoted = [text for each in question.quotes for text in (each.source.text, *each.source.fields.values())]
    others = [each for each in employers if each and not any(find_span(each, text) for text in quoted)]
    for employer in filter(None, employers):
        if span := find_span(employer, text):
            yield from ((text[: span[0]] + other + text[span[1] :], "") for other in others)


def _rank(question: Question, _: Mapping[str, QuotedSource], __: random.Random) -> _Lies:
    text, ranks = question.statement.text, RANKS.get(question.statement.language, {})
    for match in _WORD.finditer(text):
        if higher := ranks.get(match[0].casefold()):
            higher = higher.capitalize() if match[0][0].isupper() else higher
            yield text[: match.start()] + higher + text[match.end() :], ""


def _denial(question: Question, _: Mapping[str, QuotedSource], __: random.Random) -> _Lies:
    if denial := DENIALS.get(question.statement.language):
        yield denial.format(question.statement.text), ""


_LIES: Mapping[PlantKind, Callable[[Question, Mapping[str, QuotedSource], random.Random], _Lies]] = {
    "figure": _figure,
    "year": _year,
    "employer": _employer,
    "rank": _rank,
    "denial": _denial,
}
