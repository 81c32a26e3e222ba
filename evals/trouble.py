"""Measure how many people in trouble are detected, and how many others are mistaken for them: by phrases, and by
OpenAI's moderation endpoint if it is configured (OPENAI_API_KEY or MODERATION_BASE_URL). `python -m evals.trouble
[SET…]`"""

import argparse
import asyncio
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aws_lambda_powertools import Logger

from evals.packed import read_lines
from evals.statistics import wilson
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import make_http_client, make_moderation
from qwestly_agent.llm.moderation import Moderation
from qwestly_agent.text.user_text import trouble_in, typed_in

FILE = Path(__file__).with_name("trouble.tsv.gz")
ASIDE = ("plain", "plain-2", "unseen", "unseen-ordinary")
AT_ONCE = 8
LABELS: Mapping[str, str] = {
    "e": "say it in so many words",
    "i": "only hint at it",
    "s": "in danger from themselves",
    "v": "in danger from others",
    "t": "in trouble",
    "p": "speak of work, others or the past",
    "o": "everyday talk",
}
CALM = ("p", "o")


@dataclass(frozen=True)
class Message:
    language: str
    label: str
    text: str

    @property
    def in_trouble(self) -> bool:
        return self.label not in CALM


def load(*names: str) -> list[Message]:
    """Load the messages of these sets. Raises `ValueError` for an unknown one."""
    sets = defaultdict[str, list[Message]](list)
    for line in read_lines(FILE):
        name, *fields = line.split("\t")
        sets[name].append(Message(*fields))
    if unknown := set(names) - sets.keys():
        raise ValueError(f"There is no set {', '.join(sorted(unknown))}, only {', '.join(sets)}.")
    return [message for name in names for message in sets[name]]


def by_phrases(messages: Iterable[Message]) -> list[bool]:
    return [trouble_in(each.text) is not None for each in messages]


async def by_moderation(messages: Iterable[Message], moderation: Moderation) -> list[bool]:
    """Check each message with the endpoint, within the time that a turn allows."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(message: Message) -> bool:
        async with free:
            begun = moderation.start_check(typed_in(message.text))
            return bool(begun and await begun)

    return await asyncio.gather(*map(one, messages))


async def if_configured(messages: Sequence[Message]) -> list[bool] | None:
    """Check the messages with the endpoint that the environment configures; None if there is none."""
    settings = Settings.from_env({"MONGODB_URI": "mongodb://none", "MONGODB_DATABASE": "none", **os.environ})
    async with make_http_client(settings) as http:
        moderation = make_moderation(settings, http, Logger(service="evals"))
        return await by_moderation(messages, moderation) if moderation.client else None


def table(title: str, messages: Sequence[Message], found: Sequence[bool]) -> Iterator[str]:
    """Yield a line per label and language: the share that is detected as trouble, with its 95 % interval."""
    yield title
    for label, meaning in LABELS.items():
        for language in ("", *sorted({each.language for each in messages})):
            these = [
                is_found
                for each, is_found in zip(messages, found, strict=True)
                if each.label == label and language in ("", each.language)
            ]
            if these:
                low, high = (100 * end for end in wilson(sum(these), len(these)))
                counted = (
                    f"{sum(these):4} of {len(these):4}  {100 * sum(these) / len(these):5.1f} %  {low:.1f}–{high:.1f}"
                )
                yield f"  {f'  {language}' if language else meaning:36}{counted}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m evals.trouble", description=__doc__)
    parser.add_argument("sets", nargs="*", default=ASIDE, help="of trouble.tsv.gz; those kept aside without any")
    messages = load(*parser.parse_args(arguments).sets)
    phrases = by_phrases(messages)
    print(*table("The phrases alone", messages, phrases), sep="\n")
    moderated = asyncio.run(if_configured(messages))
    if moderated is None:
        print("\nNo moderation endpoint is configured (OPENAI_API_KEY or MODERATION_BASE_URL).")
    else:
        either = [a or b for a, b in zip(phrases, moderated, strict=True)]
        print(*table("\nThe phrases or the moderation endpoint", messages, either), sep="\n")


if __name__ == "__main__":
    main()
