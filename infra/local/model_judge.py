"""What the scripted model answers as the second reader: yes to a statement whose words, but for the first, stand in
its quotes, and to a person's own words that are no question.

It proves how a judge is asked and heeded, and nothing about how well a real one reads.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

_OWN_WORDS = "Their own words about themselves"
_STATEMENTS = re.compile(r"<statements>(?P<json>.*)</statements>", re.DOTALL)
_WORD = re.compile(r"[^\W_]{4,}")
_STEM = 4


def judge(texts: Sequence[str]) -> dict[str, Any]:
    return {"verdicts": verdicts_on(texts[0])}


def verdicts_on(words: str) -> list[dict[str, Any]]:
    found = _STATEMENTS.search(words)
    return [_verdict(each) for each in json.loads(found["json"])] if found else []


def _verdict(asked: dict[str, Any]) -> dict[str, Any]:
    quotes = [each["quote"] for each in asked["quotes"]]
    if asked["statement"].startswith(_OWN_WORDS):
        asks = "?" in quotes[0]
        return {"id": asked["id"], **({"why": "That is a question."} if asks else {"span": quotes[0][:1_000]})}
    known = {stem for text in (*quotes, *_known(asked)) for stem in _stems(text)}
    # Its first word is a verb of the writer's own: "Lives in Lisbon" for "I moved to Lisbon".
    rest = asked["statement"].partition(" ")[2]
    strange = [word for word in _WORD.findall(rest) if word[:_STEM].lower() not in known]
    if strange:
        return {"id": asked["id"], "why": f"Its quotes do not speak of “{strange[0]}”."}
    return {"id": asked["id"], "span": " ".join(quotes[0].split()[:3])}


def _known(asked: dict[str, Any]) -> list[str]:
    return [value for each in asked["quotes"] for value in each.get("source", {}).values()]


def _stems(text: str) -> set[str]:
    return {word[:_STEM].lower() for word in _WORD.findall(text)}
