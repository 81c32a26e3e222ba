"""A model server of known quality with the OpenAI API: it knows the labels of the evals, and errs at a given rate.

It judges, notes and chooses tools; everything else is answered as by the scripted model server.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evals import claims, memories, trouble
from evals.played import DATASETS
from evals.talks import Case, Expected, any_of, load
from infra.local.model_answers import ToolCall
from infra.local.model_faults import Reply
from infra.local.model_schema import instance
from infra.local.model_wire import Json
from qwestly_agent.memory.judges import ABOUT_NOTES
from qwestly_agent.text.clean import quoted
from tests.evals.billed_model import BilledModel

JUDGE, EXTRACTOR = "You are the second reader", "You note what is worth remembering"


@dataclass(frozen=True)
class Quality:
    """Number of correct answers between two errors; 0 for no error."""

    lies_passed_one_in: int = 0
    notes_lost_one_in: int = 0
    choices_wrong_one_in: int = 0


@dataclass
class Count:
    """Its errors among all requests; each item counts once."""

    wrong: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    def errs(self, what: str, one_in: int) -> bool:
        if what not in self.asked:
            self.asked.append(what)
            if one_in and len(self.asked) % one_in == 0:
                self.wrong.add(what)
        return what in self.wrong

    @property
    def rate(self) -> float:
        return len(self.wrong) / len(self.asked)


class KnownModel(BilledModel):
    def __init__(self, quality: Quality, **more: Any) -> None:
        super().__init__(**more)
        self.quality, self.lies, self.notes, self.choices = quality, Count(), Count(), Count()
        self.in_danger = tuple(each.text for each in trouble.load(*trouble.ASIDE) if each.in_trouble)
        cases = [*claims.load(), *(each for each in claims.load(claims.UNSEEN) if not each.true)]
        self._truths = dict[str, set[bool]]()
        for each in cases:
            self._truths.setdefault(each.statement.text, set()).add(each.true)
        self._right = [each for each in memories.conversations(memories.FOLDER) if each.is_right]
        self._cases = load(DATASETS["tool choice"])

    def next_reply(self, body: Json) -> Reply:
        given = super().next_reply(body)
        return given if given != Reply() else self._known(body)

    def _known(self, body: Json) -> Reply:
        instructions = next((str(each["content"]) for each in body["messages"] if each["role"] == "system"), "")
        said = [str(each["content"]) for each in body["messages"] if each["role"] == "user"]
        if instructions.startswith(JUDGE):
            asked, is_of_notes = json.loads(_inside(said[0])), ABOUT_NOTES in instructions
            return _typed({"verdicts": [self._verdict(each, is_of_notes) for each in asked]})
        if instructions.startswith(EXTRACTOR):
            return _typed({"memories": list(self._noted(said[0]))})
        cases = [each for each in self._cases if each.said in said[-1]] if body.get("stream") else []
        if cases:
            return self._choice(max(cases, key=lambda each: len(each.said)), body)
        return Reply()

    # The judge

    def _verdict(self, asked: Mapping[str, Any], is_of_notes: bool) -> Mapping[str, Any]:
        statement, quotes = asked["statement"], [each["quote"] for each in asked["quotes"]]
        if is_of_notes:
            passes = any(statement == quoted(each.note["content"]) for each in self._right)
        else:
            truths = self._truths.get(statement, {True})  # what nobody labelled stands
            assert len(truths) == 1, f"the labels of {statement!r} differ"
            passes = True in truths or self.lies.errs(statement, self.quality.lies_passed_one_in)
        if not passes:
            return {"id": asked["id"], "why": "It does not say that."}
        meant = [" … ".join(quotes)[:1_000]] * len(asked.get("look_at", ()))
        return {"id": asked["id"], "span": quotes[0][:1_000], **({"as": meant} if meant else {})}

    # The extractor

    def _noted(self, prompt: str) -> Iterator[Mapping[str, Any]]:
        for message, text in re.findall(r"<said id=\"(\w+)\"[^>]*>(.*?)</said>", prompt, re.DOTALL):
            for each in self._right:
                note = each.note
                is_here = each.said is not None and quoted("\n".join(each.said.typed)).strip() == text.strip()
                if is_here and not self.notes.errs(str(note), self.quality.notes_lost_one_in):
                    yield {
                        **{name: note[name] for name in ("type", "content", "quote")},
                        "message_id": message,
                    }

    # The chooser

    def _choice(self, case: Case, body: Json) -> Reply:
        tools = {each["function"]["name"]: each["function"] for each in body["tools"]}
        wrong = _wrong(case.expect, tools)
        errs = wrong is not None and self.choices.errs(case.case, self.quality.choices_wrong_one_in)
        last = max(at for at, each in enumerate(body["messages"]) if each["role"] == "user")
        since = [call for each in body["messages"][last:] for call in each.get("tool_calls") or ()]
        called = [each["function"]["name"] for each in since]
        wanted = (wrong or []) if errs else _right(case.expect)
        for name, patterns in wanted:
            if name not in called:
                arguments = instance(tools[name].get("parameters") or {"type": "object"}, case.said)
                arguments |= {key: _meant(pattern) for key, pattern in patterns.items()}
                return Reply(tool_calls=[ToolCall(name=name, arguments=arguments)])
        return Reply(text="Here is what I have. What comes next?")


def _right(expect: Expected) -> list[tuple[str, Mapping[str, str]]]:
    return [(first.tool, first.arguments) for first in (any_of(each)[0] for each in expect.must)]


def _wrong(expect: Expected, tools: Mapping[str, Any]) -> Sequence[tuple[str, Mapping[str, str]]] | None:
    """Return a forbidden call, or none if a call is expected; None if no tool of the case can be chosen wrongly."""
    forbidden = [each for each in (tools if expect.must_not == ("any",) else expect.must_not) if each in tools]
    if expect.must:
        return []
    return [(forbidden[0], {})] if forbidden else None


def _meant(pattern: str) -> str:
    """Return a text that matches the pattern: its first alternative without its marks."""
    return re.sub(r"\\[bwds]|[\\^$()?*+]", "", pattern.split("|")[0])


def _typed(arguments: dict[str, Any]) -> Reply:
    return Reply(tool_calls=[ToolCall(name="final_result", arguments=arguments)])


def _inside(prompt: str) -> str:
    return prompt[prompt.index("[") : prompt.rindex("]") + 1]
