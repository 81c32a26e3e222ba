"""Have briefings written of what was gathered, and look at their lines."""

import asyncio
import re
import time
import uuid
from collections.abc import Iterator, Sequence

import yaml
from pydantic import BaseModel, ConfigDict

from evals.outcomes import Outcome
from evals.played import Played
from evals.stage import Stage
from evals.talks import FOLDER, Answers
from infra.local.environment import SafeLoader
from qwestly_agent.base.errors import AgentError
from qwestly_agent.bootstrap import bootstrap_models
from qwestly_agent.briefings.lines import plain
from qwestly_agent.briefings.write import write_lines
from qwestly_agent.domain.briefing import Item, Line, Topic

FILE = FOLDER / "briefings/cases.yaml"
NAME = "briefings"


class Gathered(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    topic: Topic
    title: str


class Case(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    case: str
    items: tuple[Gathered, ...]
    told: tuple[str, ...]
    own_words: int = 0
    not_says: tuple[str, ...] = ()


def load() -> list[Case]:
    read = yaml.load(FILE.read_text(encoding="utf-8"), SafeLoader)  # noqa: S506
    return [Case.model_validate(each) for each in read["cases"]]


def play_briefings(stage: Stage, samples: int, answers: Answers | None) -> Played:
    """With `answers` no model is asked; a case without any is not run."""
    played = Played()
    for case in load():
        if answers is not None and case.case not in answers:
            played.wanting[f"{NAME}: {case.case}"] = "an answer that can be played"
            continue
        given = answers[case.case] if answers is not None else [()] * samples
        for sample, steps in enumerate(given[:samples]):
            stage.script(steps)
            stage.relay.recorded_steps.clear()
            begun = time.perf_counter()
            problems = asyncio.run(_problems(stage, case))
            stage.script(())
            played.answers.setdefault(case.case, []).append(list(stage.relay.recorded_steps or steps))
            played.outcomes.append(
                Outcome(
                    dataset=NAME,
                    case=case.case,
                    sample=sample,
                    source="live" if answers is None else "replayed",
                    passed=not problems,
                    problems=tuple(problems),
                    total_ms=1000 * (time.perf_counter() - begun),
                )
            )
    return played


async def _problems(stage: Stage, case: Case) -> list[str]:
    services = await bootstrap_models(stage.chat.settings)
    try:
        items = [
            Item(
                id=each.id, source="evals", topic=each.topic, at=services.clock(), title=each.title, records=(each.id,)
            )
            for each in case.items
        ]
        lines = await write_lines(services, f"auth0|{uuid.uuid4().hex}", items)
    except AgentError as error:
        return [f"it was not written: {type(error).__name__}"]
    finally:
        await services.close()
    return list(problems_of(case, lines))


def problems_of(case: Case, lines: Sequence[Line]) -> Iterator[str]:
    told = [line.records[0] for line in lines]
    if missing := [each for each in case.told if each not in told]:
        yield f"did not tell {', '.join(missing)}"
    elif told[:1] != list(case.told[:1]):
        yield f"told {told[0]} first instead of {case.told[0]}"
    titles = {plain(each.title) for each in case.items}
    own = [line.text for line in lines if line.text not in titles]
    if len(own) < case.own_words:
        yield f"{len(own)} lines are the model's and were found true, instead of {case.own_words}"
    for pattern in case.not_says:
        yield from (f"said “{pattern}”: {line}" for line in own if re.search(pattern, line, re.IGNORECASE))
