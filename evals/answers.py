"""Judge a sample of the last day's answers now, or summarize weeks.

`judge` does the same as the nightly function `judge_answers`. `weeks` summarizes the stored days.
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evals.relay import is_scripted
from evals.statistics import wilson
from qwestly_agent.base.settings import Settings
from qwestly_agent.base.traces import flush
from qwestly_agent.bootstrap import bootstrap, bootstrap_models
from qwestly_agent.domain.rollout import AnswerDay
from qwestly_agent.rollout.reader import JudgedDay, judge_day


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["judge", "weeks"], help="a sample of the last day's answers; or sum up weeks")
    parser.add_argument("--sample", type=int, default=50, metavar="N", help="answers that are judged at most (50)")
    parser.add_argument("--most-usd", type=float, default=1.0, metavar="USD", help="that the judge may cost (1)")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    settings = Settings.from_env(environment)
    if arguments.what == "judge":
        print(asyncio.run(judge(settings, arguments.sample, arguments.most_usd)).model_dump_json(indent=2))
    else:
        print(weeks(asyncio.run(_days(settings)), scripted=is_scripted(settings)))
    return 0


async def judge(settings: Settings, sample: int, most_usd: float) -> AnswerDay:
    services = await bootstrap_models(settings)
    try:
        judged = await judge_day(services, JudgedDay(sample=sample, most_usd=most_usd))
        await flush(services.traces)
    finally:
        await services.close()
    assert judged.day
    return judged.day


async def _days(settings: Settings) -> list[AnswerDay]:
    services = await bootstrap(settings)
    try:
        return await services.answers.list_days()
    finally:
        await services.close()


SCRIPTED = "The judge is scripted: what it says of answers means nothing, and is left out."
UNJUDGED: Mapping[str, Any] = {**dict.fromkeys(("judged", "answered", "confused", "satisfied"), 0), "intents": {}}


def weeks(days: Iterable[AnswerDay], *, scripted: bool = False) -> str:
    by_week = dict[str, list[AnswerDay]]()
    for each in (day.model_copy(update=UNJUDGED) for day in days) if scripted else days:
        year, week, _ = each.day.isocalendar()
        by_week.setdefault(f"{year}-W{week:02}", []).append(each)
    head = f"{'week':10}{'answers':>9}{'errors':>9}{'judged':>8}{'answered':>10}  {'95 %':13}{'confused':>9}"
    lines = [f"{head}{'content':>9}{'thumbs':>9}  intents"]
    lines += [_week(name, by_week[name]) for name in sorted(by_week)]
    return "\n".join([*lines, SCRIPTED] if scripted else lines)


def _week(name: str, days: Sequence[AnswerDay]) -> str:
    def total(field: str) -> int:
        return sum(getattr(each, field) for each in days)

    judged, answers = total("judged"), total("answers")
    low, high = (100 * end for end in wilson(total("answered"), judged))
    intents = sum((Counter(each.intents) for each in days), Counter[str]())
    told = ", ".join(f"{intent} {count}" for intent, count in intents.most_common())
    rates = f"{_share(total('answered'), judged):>10}  {f'{low:.1f}–{high:.1f}' if judged else '–':13}"
    felt = f"{_share(total('confused'), judged):>9}{_share(total('satisfied'), judged):>9}"
    thumbs = f"{total('thumbs_up')}/{total('thumbs_down')}"
    counted = f"{name:10}{answers:9}{_share(total('errors'), answers):>9}{judged:8}"
    return f"{counted}{rates}{felt}{thumbs:>9}  {told}".rstrip()


def _share(found: int, of: int) -> str:
    return f"{100 * found / of:.1f}%" if of else "–"
