"""Public sets of long conversations: how much of the evidence our search finds, and how many questions the fast model
then answers as the set does, by the word of the pro model.

LoCoMo (`locomo10.json`, github.com/snap-research/locomo) and LongMemEval (`longmemeval_s.json`,
github.com/xiaowu0162/LongMemEval) are told apart by their form. Neither is stored here.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

from evals.finding import Asked, answered, asked_of
from evals.first.hour import Hour, Unit
from evals.first.journal import Found
from evals.outcomes import Outcome

QUESTIONS = 100
"""Questions of each set."""


def long_talk_units(hour: Hour) -> Sequence[Unit] | str:
    if not hour.public_sets:
        return "a public set: LOCOMO=locomo10.json, or LONGMEMEVAL=longmemeval_s.json"
    asked = [each for file in hour.public_sets for each in hour.some(list(asked_of(file)), QUESTIONS)]
    return [Unit(f"long conversations/{each.key}", partial(_asked, hour, each)) for each in asked]


def _asked(hour: Hour, asked: Asked) -> Found:
    outcomes = list[Outcome]()
    is_right, found = asyncio.run(answered(asked))
    name = asked.key.partition("/")[0]
    meaning = "live" if hour.gateway.embeddings else "code"
    if asked.question.evidence:
        passed = found == 1.0
        dataset = f"questions whose whole evidence is found ({name})"
        outcomes.append(Outcome(dataset=dataset, case=asked.key, source=meaning, passed=passed))
    dataset = f"questions answered ({name})"
    outcomes.append(Outcome(dataset=dataset, case=asked.key, source="live", passed=is_right))
    return Found(outcomes)
