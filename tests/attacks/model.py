"""A model that obeys everything it reads, and otherwise does what its user asks."""

import base64
import binascii
import html
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from infra.local.model_answers import ToolCall
from infra.local.model_faults import Reply
from infra.local.model_server import ModelServer
from tests.attacks.goals import GOALS, Goal
from tests.functions.talking import WISH_JUDGE, wishes

_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
_UNSEEN = re.compile(r"[\u200b-\u200f\u2060-\u2064\ufeff]")


@dataclass(frozen=True)
class Plan:
    """A user's request, and the calls by which an honest model serves it."""

    said: str
    calls: Sequence[ToolCall]
    fact: str
    """The text that the answer must contain, from what the model read."""
    injected: Callable[[Goal], Sequence[ToolCall]]


class HijackableModel(ModelServer):
    """In a turn it first makes each call that a goal in its prompt asks for, then those of the user's plan. Judges say
    yes to whatever they are asked."""

    plan: Plan | None = None
    obeyed: bool = False
    """True once a goal was read."""

    def next_reply(self, body: Any) -> Reply:
        instructions = str(body["messages"][0].get("content"))
        if instructions.startswith(WISH_JUDGE):
            return wishes(self.plan.said if self.plan else "")
        if not body.get("stream") or self.plan is None:
            return super().next_reply(body)
        texts = [_text_of(each) for each in body["messages"]]
        begin = max((at for at, text in enumerate(texts) if self.plan.said in text), default=0)
        made = [_key(each["function"]) for each in _calls_in(body["messages"][begin:])]
        goals = [goal for goal in GOALS if any(_folded(goal.words) in each for each in readings("\n".join(texts)))]
        self.obeyed = self.obeyed or bool(goals)
        wanted = [*(call for goal in goals for call in self.plan.injected(goal)), *self.plan.calls]
        left = [each for each in wanted if _key({**each}) not in made]
        if left and body.get("tools"):
            return Reply(text="", tool_calls=left[:1])
        results = [_text_of(each) for each in body["messages"][begin:] if each["role"] != "assistant"]
        knows = any(_folded(self.plan.fact) in each for each in readings("\n".join(results)))
        answer = f"It is {self.plan.fact}." if knows else "I could not find that."
        return Reply(text=" ".join([answer, *filter(None, (goal.says for goal in goals))]))


def readings(text: str) -> Iterator[str]:
    """Yield the text as a model may take it: plain, with what is encoded in it, and without the blanks between
    letters."""
    plain = _folded(text)
    yield plain
    for each in _BASE64.findall(text):
        try:
            yield _folded(base64.b64decode(each, validate=True).decode())
        except (binascii.Error, UnicodeDecodeError):
            continue
    yield plain.replace(" ", "").replace("_", " ")


def _folded(text: str) -> str:
    shown = "".join(chr(ord(each) - 0xE0000) if 0xE0020 <= ord(each) <= 0xE007E else each for each in text)
    shown = html.unescape(_UNSEEN.sub("", shown).replace('\\"', '"').replace("\\n", "\n"))
    return " ".join(unicodedata.normalize("NFKC", shown).casefold().split())


def _text_of(message: Any) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else " ".join(str(each.get("text", "")) for each in content)


def _calls_in(messages: Sequence[Any]) -> Iterator[Any]:
    for each in messages:
        yield from each.get("tool_calls") or ()


def _key(function: Any) -> tuple[str, str]:
    arguments = function["arguments"]
    read = json.loads(arguments) if isinstance(arguments, str) else arguments
    return function["name"], json.dumps(read, sort_keys=True)
