"""What the scripted model says about the results of tools where no turn of a script does."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from infra.local.script import Script

Json: TypeAlias = Any

FACTS_PER_SOURCE = 12
FACT_CHARACTERS = 240
TEXT_KEYS = ("content", "text", "excerpt", "snippet", "passage", "description", "what", "answer")
UNSAID_KEYS = frozenset(
    re.findall(
        r"\w+",
        "id _id type kind trust confidence score url path status note message hint quote valid_from created_at "
        "start_date end_date is_current found count total",
    )
)
UNLABELLED_KEYS = frozenset(["name", "headline", "summary", "about"])
RETRY = "Fix the errors and try again."
"""How pydantic-ai ends what it returns for a call that failed."""
FAILED = re.compile(r"\W*(error|failed|could not|cannot|unavailable)\b", re.I)
JSON_START = re.compile(r"[\[{]")
NOTHING = re.compile(r"\W*(no|none|nothing|not found|empty)\b", re.I)


def answer_from(results: Sequence[tuple[str, str]], scripts: Script) -> str:
    """What is told of these results, by the names of their tools."""
    told: list[str] = []
    found: list[str] = []
    missing: list[str] = []
    failed: list[str] = []
    for tool, result in results:
        source = scripts.source_of(tool)
        if answer := scripts.told_of(tool, result):
            told.append(answer)
        elif _is_failure(result):
            failed.append(source)
        elif facts := _facts_in(result):
            found.append(f"- **From {source}:** {'; '.join(facts)}.")
        else:
            missing.append(source)
    if found:
        told.append("Here is what I found:\n\n" + "\n".join(found))
    if missing:
        told.append(f"I found nothing about that in {_listed(missing, 'or')}.")
    if failed:
        told.append(f"I could not look at {_listed(failed, 'and')} just now.")
    return "\n\n".join(told)


def _is_failure(result: str) -> bool:
    if result.rstrip().endswith(RETRY):
        return True
    if values := json_in(result):
        return isinstance(values[0], dict) and "error" in values[0]
    return FAILED.match(_without_fences(result)) is not None


def _facts_in(result: str) -> list[str]:
    values = json_in(result)
    if values:
        facts = [fact for value in values for fact in _facts(value)]
    else:
        text = _without_fences(result)
        facts = [] if NOTHING.match(text) else _sentences(text)[:3]
    return list(dict.fromkeys(_short(fact) for fact in facts if fact.strip()))[:FACTS_PER_SOURCE]


def _facts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _facts(item)
    elif isinstance(value, dict):
        yield from _facts_of_object(value)


def _facts_of_object(value: Mapping[str, Json]) -> Iterator[str]:
    if "company" in value and "title" in value:
        yield f"{value['title']} at {value['company']}"
        return
    if value.get("before") and isinstance(value.get("content"), str):
        since = f" Since {value['since']}." if value.get("since") else ""
        yield f"{value['content']}{since}" + "".join(f" Before that: “{each['content']}”" for each in value["before"])
        return
    for key in TEXT_KEYS:
        if isinstance(value.get(key), str):
            title = value.get("title") or value.get("label")
            yield f"{_short(value[key])} ({title})" if title else value[key]
            return
    for key, item in value.items():
        if key in UNSAID_KEYS or isinstance(item, bool) or item is None:
            continue
        if isinstance(item, dict) or (isinstance(item, list) and not all(isinstance(leaf, str) for leaf in item)):
            yield from _facts(item)
        elif item:
            said = ", ".join(item) if isinstance(item, list) else str(item)
            yield said if key in UNLABELLED_KEYS else f"{key.replace('_', ' ')}: {said}"


def json_in(text: str) -> list[Json]:
    """Each JSON object, and each array of anything but numbers, that stands somewhere in a text, from left to right."""
    decoder, values, at = json.JSONDecoder(), [], 0
    while (start := JSON_START.search(text, at)) is not None:
        try:
            value, at = decoder.raw_decode(text, start.start())
            # A number in brackets is a footnote.
            if not (isinstance(value, list) and any(isinstance(item, int | float) for item in value)):
                values.append(value)
        except json.JSONDecodeError:
            at = start.start() + 1
    return values


def _without_fences(text: str) -> str:
    return re.sub(r"</?[\w:-]+[^<>]*>", " ", text).strip()


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in re.split(r"(?<=[.!?])\s+|\n+", text.strip()) if sentence.strip()]


def _short(fact: str) -> str:
    """The sentences that fit, without the full stop, which the answer sets itself."""
    fact = " ".join(fact.split())
    if len(fact) > FACT_CHARACTERS:
        cut = fact[:FACT_CHARACTERS]
        ends = [match.end() for match in re.finditer(r"[.!?](?=\s)", cut)]
        fact = cut[: ends[-1]] if ends else cut.rsplit(" ", 1)[0] + "…"
    return fact.removesuffix(".")


def _listed(items: Sequence[str], conjunction: str) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {conjunction} {items[-1]}"
