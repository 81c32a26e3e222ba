"""Lies that code plants in requests to a judge, and what they reveal about the judge."""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import pytest

from evals.claims import UNSEEN, Case, load
from qwestly_agent.grounding.ground import ground
from qwestly_agent.grounding.judge import Judged, Question
from qwestly_agent.grounding.model import JudgedPlant, Quote, QuotedSource, Statement
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.stores.measures import WINDOW, JudgesPlants
from tests.counts import count

SAID = QuotedSource(
    id="s1",
    text="I led a team of 12 nurses at Lakeside from 2016.",
    language="en",
    fields={"employer": "Lakeside"},
)
OTHER = QuotedSource(id="s2", text="Ward nurse at Hillview.", language="en", fields={"employer": "Hillview"})
SOURCES = {each.id: each for each in (SAID, OTHER)}
TRUE = Statement(
    text="Led a team of 12 nurses at Lakeside.", quotes=(Quote(source="s1", text=SAID.text),), language="en"
)


def people() -> list[list[Case]]:
    found = defaultdict[str, list[Case]](list)
    for case in load(UNSEEN):
        if case.true:
            found[case.person].append(case)
    return [cases[at : at + 4] for cases in found.values() for at in range(0, len(cases), 4)]


class Asked:
    """A judge with an opinion on what was planted and on everything else. It remembers the questions."""

    def __init__(self, *, on_plants: bool, on_others: bool = True) -> None:
        self.opinion = {True: on_plants, False: on_others}
        self.questions: list[Question] = []

    async def __call__(self, questions: Sequence[Question]) -> Mapping[int, Judged]:
        self.questions += questions
        return {
            each.number: Judged.model_construct(
                id=each.number,
                span=each.quotes[0].text if self.opinion[each.is_plant] else "",
                meant=[each.quotes[0].text] * len(each.look_at),
                why="" if self.opinion[each.is_plant] else "They did not say that.",
            )
            for each in questions
        }

    @property
    def plants(self) -> list[Question]:
        return [each for each in self.questions if each.is_plant]


class Recorded(list[JudgedPlant]):
    errs = False

    async def __call__(self, plant: JudgedPlant) -> bool:
        self.append(plant)
        return self.errs


def test_each_judge_request_contains_one_planted_lie_unsupported_by_any_quote() -> None:
    judge, recorded, kinds = Asked(on_plants=False), Recorded(), Counter[str]()
    batches = people()[:: count(1, 1, small=5)]
    for cases in batches:
        before = len(judge.questions)
        asyncio.run(ground([each.statement for each in cases], cases[0].sources, judge, recorded))
        asked = judge.questions[before:]
        for lie in (each for each in asked if each.is_plant):
            assert not any(lie.statement.text == each.statement.text for each in asked if each is not lie)
            assert not any(find_span(lie.statement.text, found.text) for found in lie.quotes)
    kinds.update(each.kind for each in recorded)
    assert len(recorded) >= 0.95 * len(batches)
    assert not any(each.passed for each in recorded)
    assert min(kinds["figure"], kinds["year"], kinds["denial"]) > len(batches) / 13
    assert {each.language for each in recorded} >= {"de", "en", "es", "fr", "pt"}


def test_the_planted_lie_can_use_another_employer_of_the_user() -> None:
    lies = set[str]()
    for number in range(20):
        judge = Asked(on_plants=False)
        text = f"Was at Lakeside in ward {'abcdefghijklmnopqrst'[number]}."
        said = TRUE.model_copy(update={"text": text})
        asyncio.run(ground([said], SOURCES, judge, Recorded()))
        lies |= {each.statement.text for each in judge.plants}
    assert "Was at Hillview in ward a." in lies


@pytest.mark.parametrize("errs", [False, True])
def test_a_passed_lie_invalidates_the_answers_of_an_unreliable_judge(errs: bool) -> None:
    recorded = Recorded()
    recorded.errs = errs
    [verdict] = asyncio.run(ground([TRUE], SOURCES, Asked(on_plants=True), recorded))
    assert [each.passed for each in recorded] == [True]
    assert verdict.outcome == ("unchecked" if errs else "supported")


def test_a_rejected_lie_invalidates_nothing_despite_earlier_errors() -> None:
    recorded = Recorded()
    recorded.errs = True
    [verdict] = asyncio.run(ground([TRUE], SOURCES, Asked(on_plants=False), recorded))
    assert [each.passed for each in recorded] == [False]
    assert verdict.outcome == "supported"


def test_a_lie_made_from_a_rejected_statement_is_not_recorded() -> None:
    recorded = Recorded()
    [verdict] = asyncio.run(ground([TRUE], SOURCES, Asked(on_plants=True, on_others=False), recorded))
    assert verdict.outcome == "refused"
    assert not recorded


def test_no_lie_is_planted_if_nothing_is_published() -> None:
    judge = Asked(on_plants=True)
    asyncio.run(ground([TRUE], SOURCES, judge))
    assert not judge.plants


def rings_after(rate: float, plants: int, chance: random.Random) -> int | None:
    """The number of plants after which a judge that passes lies at this rate counts as unreliable."""
    seen = [
        JudgedPlant(kind="figure", language="en", passed=False),
        JudgedPlant(kind="figure", language="en", passed=True),
    ]
    newest: list[JudgedPlant] = []
    for number in range(1, plants + 1):
        newest = [*newest, seen[chance.random() < rate]][-WINDOW:]
        if JudgesPlants("m", newest).errs:
            return number
    return None


def test_a_judge_passing_1_in_5_lies_is_detected_soon_and_1_in_50_hardly_ever() -> None:
    chance = random.Random(75)
    bad = [rings_after(0.2, WINDOW, chance) for _ in range(100)]
    good = [rings_after(0.02, WINDOW, chance) for _ in range(100)]
    assert sum(each is not None for each in bad) >= 99
    assert sum(each is not None for each in good) <= 1
