"""The steps of the first hour, ordered by the cost of a wrong answer."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial

from evals import claims, trouble
from evals.first.embedding import embedding_units
from evals.first.hour import Hour, Step, Unit
from evals.first.interviews import interview_units
from evals.first.journal import Found
from evals.first.long_talks import long_talk_units
from evals.first.notes import note_units
from evals.first.walk import walk_units
from evals.judge import configured_judge
from evals.looks import STATEMENTS_AT_ONCE, Judged, by_code, by_judge
from evals.outcomes import Outcome
from evals.played import DATASETS
from evals.played import play as play_case
from evals.talks import load
from infra.doctor.models import QUESTIONS, check_prices, spend_on_embedding, spend_on_models, spend_on_moderation
from infra.doctor.results import Check, run_check
from infra.doctor.target import Target
from qwestly_agent.clients.aws import AWS

LABELLED, PLANTED = 300, 120
MESSAGES_A_UNIT = 50
DOCTOR: Mapping[str, Check] = {
    "prices": check_prices,
    **{about: partial(spend_on_models, about) for about in QUESTIONS},
    "an embedding": spend_on_embedding,
    "moderation": spend_on_moderation,
}
"""The checks of models; those of a stage need one."""


def doctor_units(_: Hour) -> Sequence[Unit]:
    return [Unit(f"doctor/{about}", partial(_doctor, about, check)) for about, check in DOCTOR.items()]


def _doctor(about: str, check: Check) -> Found:
    variables = {"MONGODB_URI": "mongodb://none", "MONGODB_DATABASE": "none", **os.environ}
    results = asyncio.run(run_check(about, check(Target(AWS().client, variables, []))))
    outcomes = [
        Outcome(
            dataset="checks of the doctor",
            case=f"{about} {number}",
            source="live",
            passed=each.mark != "WRONG",
            problems=(each.what,) if each.mark == "WRONG" else (),
        )
        for number, each in enumerate(results, 1)
    ]
    return Found(outcomes)


# --- the judge --------------------------------------------------------------------------------------------------------


def judge_units(hour: Hour) -> Sequence[Unit]:
    """Give labelled claims to code and judge, and give the judge alone lies with one change that code lets through."""
    labelled = hour.some(claims.load(), LABELLED)
    lies = [case for case in claims.load(claims.UNSEEN) if not case.true and case.kind in claims.EXACT_KINDS]
    planted = hour.some([case for case in lies if by_code(case).fate != "refused"], PLANTED)
    return [
        Unit(f"judge/{name}/{number}", partial(_judge, name, some))
        for name, cases in (("labelled", labelled), ("planted", planted))
        for number, some in enumerate(_by_person(cases))
    ]


def _by_person(cases: Sequence[claims.Case]) -> list[list[claims.Case]]:
    people = dict[int, list[list[claims.Case]]]()
    for case in cases:
        batches = people.setdefault(id(case.sources), [[]])
        if len(batches[-1]) == STATEMENTS_AT_ONCE:
            batches.append([])
        batches[-1].append(case)
    return [batch for batches in people.values() for batch in batches]


def _judge(name: str, cases: Sequence[claims.Case]) -> Found:
    async def judged() -> list[Judged]:
        async with configured_judge() as configured:
            assert configured, "the gateway is configured"
            return await by_judge(cases, configured[1])

    return Found([each for case in asyncio.run(judged()) for each in _of_claim(name, case)])


def _of_claim(name: str, judged: Judged) -> list[Outcome]:
    """Return the outcome of the whole check and, if code let the claim through, those of the judge."""
    case = judged.case

    def outcome(dataset: str, passed: bool) -> Outcome:
        return Outcome(
            dataset=dataset, case=f"{case.person}/{case.kind}", group=case.kind, source="live", passed=passed
        )

    put_to_judge = by_code(case).fate != "refused"
    found = (
        [] if name == "planted" else [outcome(f"claims that are {'true' if case.true else 'false'}", not judged.wrong)]
    )
    if not put_to_judge:
        return found
    found.append(outcome("claims that the judge answers", judged.fate != "open"))
    if judged.fate != "open":
        kind = "true claims" if case.true else "planted lies" if name == "planted" else "lies"
        found.append(outcome(f"{kind} put to the judge", not judged.wrong))
    return found


# --- turns ------------------------------------------------------------------------------------------------------------


def turn_units(dataset: str, hour: Hour) -> Sequence[Unit]:
    cases = [each.case for each in load(DATASETS[dataset]) if not each.of_run]
    return [Unit(f"{dataset}/{case}", partial(_turn, hour, dataset, case)) for case in hour.some(cases)]


def _turn(hour: Hour, dataset: str, case: str) -> Found:
    return Found(play_case(hour.stage, dataset, 1, None, only=[case]).outcomes)


# --- moderation -------------------------------------------------------------------------------------------------------


def moderation_units(hour: Hour) -> Sequence[Unit] | str:
    if hour.gateway.moderations is None:
        return "OPENAI_API_KEY, or MODERATION_BASE_URL"
    messages = hour.some([each for each in trouble.load(*trouble.ASIDE) if each.label in "epo"])
    return [
        Unit(f"moderation/{at}", partial(_moderate, at, messages[at : at + MESSAGES_A_UNIT]))
        for at in range(0, len(messages), MESSAGES_A_UNIT)
    ]


def _moderate(at: int, messages: Sequence[trouble.Message]) -> Found:
    moderated = asyncio.run(trouble.if_configured(messages))
    assert moderated is not None, "the gateway is configured"
    found = list[Outcome]()
    for number, (message, alone, by_phrase) in enumerate(
        zip(messages, moderated, trouble.by_phrases(messages), strict=True), at
    ):
        people = "people in trouble" if message.in_trouble else "people who are not in trouble"
        for dataset, is_found in ((people, alone or by_phrase), (f"{people}, by the endpoint alone", alone)):
            found.append(
                Outcome(
                    dataset=dataset,
                    case=f"{message.language}/{number}",
                    group=message.language,
                    source="live",
                    passed=is_found == message.in_trouble,
                )
            )
    return Found(found)


STEPS: Sequence[Step] = (
    Step("doctor", 0.10, doctor_units, at_once=3, measures_provider=True),
    Step("judge", 0.15, judge_units, at_once=6),
    Step("tool choice", 0.12, partial(turn_units, "tool choice")),
    Step("moderation", 0.02, moderation_units),
    Step("memories", 0.12, note_units, at_once=6),
    Step("embedding", 0.02, embedding_units),
    Step("interviews", 0.20, interview_units, at_once=4),
    Step("edge cases", 0.08, partial(turn_units, "edge cases")),
    Step("walk", 0.12, walk_units, at_once=3),
    Step("long conversations", 0.07, long_talk_units, at_once=6),
)
