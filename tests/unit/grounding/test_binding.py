"""Words that mean a mark, labelled by hand, and sixty claims with one change each: which of them code rejects.

`evals/binding/` was written by somebody who had not read the code. What code currently rejects wrongly is listed by
number.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from infra.local.environment import ROOT
from qwestly_agent.grounding.facts import says
from qwestly_agent.grounding.ground import check, ground
from qwestly_agent.grounding.judge import Judged, Question
from qwestly_agent.grounding.model import Quote, QuotedSource, Statement
from qwestly_agent.grounding.quotes import FoundQuote

FOLDER = ROOT / "evals/binding"
NOT_READ = {19, 26, 57, 64, 81, 113}
"""Labelled words that code rejects: "un mois sur quatre", a range of minutes, naira, pesos, millions after a figure
with its own unit, and a factor next to a duration."""
MOST_PUBLISHED = {"all of the quotes": 43, "nothing": 21}
"""Number of sixty lies, if the judge agrees to everything and gives these words for each mark."""


def labelled() -> Iterator[tuple[int, str, str, Statement, list[FoundQuote]]]:
    for each in json.loads((FOLDER / "marks.json").read_text(encoding="utf-8")):
        sources = [
            QuotedSource(id=str(at), text=text, trust="user_said", language=each["language"], fields=fields)
            for at, (text, fields) in enumerate(zip(each["quotes"], each["source_fields"], strict=True))
        ]
        quotes = [FoundQuote(source, 0, len(source.text)) for source in sources]
        statement = Statement(text=each["statement"], quotes=(), language=each["language"])
        for mark, words in zip(each["marks"], each["as"], strict=True):
            if words:
                yield each["n"], mark, words, statement, quotes


def test_the_users_words_for_a_marked_figure_are_accepted() -> None:
    refused = {n for n, mark, words, statement, quotes in labelled() if not says(words, mark, statement, quotes)}
    assert refused == NOT_READ


def claims() -> Iterator[tuple[dict[str, QuotedSource], dict[str, Any], str]]:
    for person in json.loads((FOLDER / "claims.json").read_text(encoding="utf-8")):
        sources = {each["id"]: QuotedSource(trust="user_said", **each) for each in person["sources"]}
        yield from ((sources, each, person["language"]) for each in person["claims"])


def statement_of(claim: dict[str, Any], which: str, language: str) -> Statement:
    return Statement(text=claim[which], quotes=tuple(Quote(**each) for each in claim["quotes"]), language=language)


def test_code_refuses_no_true_claim() -> None:
    assert [
        claim["true"]
        for sources, claim, language in claims()
        if check(statement_of(claim, "true", language), sources).outcome == "refused"
    ] == []


@pytest.mark.parametrize("words", MOST_PUBLISHED)
def test_most_lies_with_a_mark_fail_though_the_judge_says_yes(words: str) -> None:
    async def credulous(questions: Sequence[Question]) -> Mapping[int, Judged]:
        found = {q.number: " … ".join(each.text for each in q.quotes) for q in questions}
        return {
            q.number: Judged(
                id=q.number,
                span=q.quotes[0].text[:1_000],
                meant=[found[q.number][:1_000] if words != "nothing" else ""] * len(q.look_at),
            )
            for q in questions
        }

    async def published() -> int:
        verdicts = [
            (await ground([statement_of(claim, "lie", language)], sources, credulous))[0].outcome
            for sources, claim, language in claims()
        ]
        return verdicts.count("supported")

    assert 0 < asyncio.run(published()) <= MOST_PUBLISHED[words]
