"""Decide whether statements are supported by the sources that they quote. No other module decides this.

1. `quotes.py`: the quote is in its source. 2. `facts.py`: a statement's figures do not contradict its quotes; figures
and names that the quotes lack are marked. 3. `judge.py`: a second model, which did not write the statement, decides
whether the quotes support it; `plants.py` measures how often it errs. 4. A person decides, who sees the statement with
its marks and quotes.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from qwestly_agent.base.errors import AgentError
from qwestly_agent.grounding.facts import check_facts, says
from qwestly_agent.grounding.judge import Judge, Judged, Question
from qwestly_agent.grounding.model import GroundingVerdict, QuotedSource, Statement
from qwestly_agent.grounding.plants import Plant, RecordPlant, judged_plant, plant_in
from qwestly_agent.grounding.quotes import FoundQuote, find_quote, find_span
from qwestly_agent.text.language import content_stems

TRUST_FROM_LOWEST = ("external", "inferred", "tool", "user_document", "user_said", "confirmed")

NO_QUOTES = "It quotes no source."
NO_SPAN = "The second reading named no words of its quotes that say this."
NOT_SAID = "The second reading found that its quotes do not say this."


async def ground(
    statements: Sequence[Statement],
    sources: Mapping[str, QuotedSource],
    judge: Judge | None,
    record_plant: RecordPlant | None = None,
) -> list[GroundingVerdict]:
    """Return a verdict for each statement, in order. `sources` are keyed by id.

    Without a judge, or if it is unavailable, statements that passed the checks in code stay `unchecked`. With
    `record_plant`, each request contains one planted lie; if the judge passes it and has passed too many before, its
    answers do not count.
    """
    verdicts = [check(each, sources) for each in statements]
    if judge is None:
        return verdicts
    batches = [
        [Question(n, statements[n], _found_quotes(statements[n], sources), verdicts[n].marks) for n in numbers]
        for numbers in _batches(statements, sources, verdicts)
    ]
    plants = [
        plant_in(questions, sources, len(statements) + number) if record_plant is not None else None
        for number, questions in enumerate(batches)
    ]
    answers = await asyncio.gather(*(_ask(judge, _with_plant(*each)) for each in zip(batches, plants, strict=True)))
    for questions, plant, judged in zip(batches, plants, answers, strict=True):
        outcome = judged_plant(plant, judged) if plant else None
        if outcome and record_plant is not None and await record_plant(outcome) and outcome.passed:
            continue
        for question in questions:
            if question.number in judged:
                verdicts[question.number] = _judged(verdicts[question.number], question, judged[question.number])
    return verdicts


def check(statement: Statement, sources: Mapping[str, QuotedSource]) -> GroundingVerdict:
    """Apply steps 1 and 2. The outcome is `refused`, or `unchecked` until a judge decides."""
    if not statement.quotes:
        return GroundingVerdict(outcome="refused", refused_by="quotes", reasons=(NO_QUOTES,))
    if missing := tuple(_not_found(statement, sources)):
        return GroundingVerdict(outcome="refused", refused_by="quotes", reasons=missing)
    found = _found_quotes(statement, sources)
    facts = check_facts(statement, found)
    return GroundingVerdict(
        outcome="refused" if facts.missing else "unchecked",
        refused_by="facts" if facts.missing else None,
        reasons=facts.missing,
        unread=facts.unread,
        names=tuple(dict.fromkeys((*facts.names, *statement.look_at))),
    )


def _not_found(statement: Statement, sources: Mapping[str, QuotedSource]) -> Iterator[str]:
    for quote in statement.quotes:
        if quote.source not in sources:
            yield f"“{quote.text}” is quoted from nothing that this person said or gave us."
        elif find_quote(quote, sources) is None:
            yield f"“{quote.text}” does not stand word for word where it is quoted from."


def _found_quotes(statement: Statement, sources: Mapping[str, QuotedSource]) -> tuple[FoundQuote, ...]:
    return tuple(found for quote in statement.quotes if (found := find_quote(quote, sources)))


# --- look 3 -----------------------------------------------------------------------------------------------------------


def _batches(
    statements: Sequence[Statement], sources: Mapping[str, QuotedSource], verdicts: Sequence[GroundingVerdict]
) -> Iterator[list[int]]:
    """Group the statements that passed the checks in code by the lowest trust of their sources, so that other people's
    text is judged separately from the user's."""
    lowest = {
        number: min(_rank(sources[quote.source]) for quote in statements[number].quotes)
        for number, verdict in enumerate(verdicts)
        if verdict.outcome == "unchecked"
    }
    for rank in sorted(set(lowest.values()), reverse=True):
        yield [number for number, its_rank in lowest.items() if its_rank == rank]


def _rank(source: QuotedSource) -> int:
    return TRUST_FROM_LOWEST.index(source.trust) if source.trust in TRUST_FROM_LOWEST else 0


def _carries(span: str, quote: FoundQuote) -> bool:
    """True if the quote contains these words, and they either include a content word or are the complete answer to a
    question."""
    is_whole_answer = bool(quote.source.context) and len(span.split()) == len(quote.source.text.split())
    return bool(content_stems(span) or is_whole_answer) and find_span(span, quote.text) is not None


def _unsaid(question: Question, judged: Judged) -> list[str]:
    """Return the marks for which the judge gave no words from the quotes that can mean them."""
    given = [*judged.meant, *[""] * len(question.look_at)]
    pairs = zip(question.look_at, given, strict=False)
    return [mark for mark, words in pairs if not says(words, mark, question.statement, question.quotes)]


def _with_plant(questions: Sequence[Question], plant: Plant | None) -> Sequence[Question]:
    """Insert the plant into the questions, at a position derived from its text."""
    if plant is None:
        return questions
    at = len(plant.question.statement.text) % (len(questions) + 1)
    return [*questions[:at], plant.question, *questions[at:]]


async def _ask(judge: Judge, questions: Sequence[Question]) -> Mapping[int, Judged]:
    """Ask the judge; return an empty result if it is unavailable."""
    try:
        return await judge(questions)
    except AgentError:
        return {}


def _judged(by_code: GroundingVerdict, question: Question, judged: Judged) -> GroundingVerdict:
    if judged.why or not judged.span:  # when in doubt, refuse
        reasons = (judged.why or NOT_SAID,)
    elif not any(_carries(judged.span, each) for each in question.quotes):
        reasons = (NO_SPAN,)
    elif unsaid := _unsaid(question, judged):
        reasons = tuple(f"Its quotes do not say “{mark}”." for mark in unsaid)
    else:
        return by_code.model_copy(update={"outcome": "supported"})
    return by_code.model_copy(update={"outcome": "refused", "refused_by": "judge", "reasons": reasons})
