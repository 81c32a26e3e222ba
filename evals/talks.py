"""Cases that are played as turns through the chat's HTTP routes, and the expectations for each turn."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from infra.local.environment import SafeLoader

FOLDER = Path(__file__).parent
ANY = "any"
"""Stands for any tool, instead of a name."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExpectedCall(_Strict):
    tool: str
    arguments: Mapping[str, str] = {}
    """Patterns that the arguments must match, ignoring case."""

    def is_met_by(self, name: str, arguments: Mapping[str, Any]) -> bool:
        return self.tool == name and all(
            re.search(pattern, str(arguments.get(key, "")), re.IGNORECASE) for key, pattern in self.arguments.items()
        )


class Expected(_Strict):
    """The expectations for a turn. A list within `must` is met by any one of its calls."""

    must: tuple[ExpectedCall | tuple[ExpectedCall, ...], ...] = ()
    must_not: tuple[str, ...] = ()
    asks: bool = False
    says: tuple[str, ...] = ()
    not_says: tuple[str, ...] = ()
    help: str = ""
    """The kind of trouble that is answered in fixed words."""
    fewest_words: int = 0
    most_words: int = 10_000
    most_sentences: int = 1_000
    approvals: int | None = None
    """Number of pending approvals afterwards."""


Step = dict[str, Any]
"""One answer of a model, in the format of `infra.local.model_faults.Reply`."""


class Before(_Strict):
    said: str
    answers: tuple[Step, ...]
    """Prescribed answers for these turns, whichever model answers afterwards."""


class Given(_Strict):
    """The person's data before the conversation begins."""

    profile: Mapping[str, Any] = {}
    memories: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()


class Case(_Strict):
    case: Annotated[str, Field(coerce_numbers_to_str=True)]
    listed: str = ""
    """The line of the original list, verbatim."""
    expected: str = ""
    role: str = "chat"
    group: str = ""
    given: Given = Given()
    before: tuple[Before, ...] = ()
    said: str = ""
    """Empty if the case is about all turns of a run."""
    expect: Expected = Expected()
    of_run: str = ""
    """The measure of a case that is about all turns of a run."""


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: Mapping[str, Any]
    ok: bool | None


@dataclass(frozen=True)
class Turn:
    """The result of a turn."""

    text: str
    calls: Sequence[Call]
    ended: str
    """The name of the stream's last event."""
    receipt: Mapping[str, Any]
    waiting: int
    """Number of pending approvals."""


def load(file: Path) -> list[Case]:
    """Load the cases of a file. `kinds` has shared expectations, and a variant inherits those of its case."""
    read = yaml.load(file.read_text(encoding="utf-8"), SafeLoader)  # noqa: S506
    kinds = read.get("kinds", {})
    known = {each.case: each for each in load(file.parent / read["of"])} if "of" in read else {}
    if not known:
        return [_case(given, kinds) for given in read["cases"]]
    return [
        known[str(given["of"])].model_copy(
            update={"case": f"{given['of']}{letter}", "said": said, "group": kind, "listed": "", "expected": ""}
        )
        for given in read["variants"]
        for letter, (kind, said) in zip("abcdefgh", _each(given), strict=False)
    ]


def _each(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for kind, said in given.items():
        if kind != "of":
            yield from ((kind, each) for each in (said if isinstance(said, list) else [said]))


def _case(given: Mapping[str, Any], kinds: Mapping[str, Any]) -> Case:
    expect = {**kinds.get(given.get("kind", ""), {}), **given.get("expect", {})}
    return Case.model_validate({**{k: v for k, v in given.items() if k != "kind"}, "expect": expect})


def problems_of(expect: Expected, turn: Turn) -> list[str]:
    """Return the expectations that the turn did not meet; empty if it met all."""
    return [*_ended(turn), *_of_calls(expect, turn), *_of_words(expect, turn)]


def _ended(turn: Turn) -> Iterator[str]:
    if turn.ended != "done":
        yield f"the turn ended with {turn.ended}"


def _of_calls(expect: Expected, turn: Turn) -> Iterator[str]:
    for wanted in expect.must:
        these = any_of(wanted)
        if not any(one.is_met_by(call.tool, call.arguments) for one in these for call in turn.calls):
            yield f"did not call {' or '.join(map(_told, these))}"
    called = [call.tool for call in turn.calls]
    for name in expect.must_not:
        if name in called or (name == ANY and called):
            yield f"called {', '.join(called) if name == ANY else name}"
    if expect.approvals is not None and turn.waiting != expect.approvals:
        yield f"{turn.waiting} approvals wait instead of {expect.approvals}"
    if expect.help != turn.receipt.get("help", ""):
        yield f"was answered as {turn.receipt.get('help') or 'no'} trouble instead of {expect.help or 'none'}"


def any_of(wanted: ExpectedCall | tuple[ExpectedCall, ...]) -> tuple[ExpectedCall, ...]:
    return wanted if isinstance(wanted, tuple) else (wanted,)


def _told(wanted: ExpectedCall) -> str:
    return f"{wanted.tool}({', '.join(f'{name}=~{value}' for name, value in wanted.arguments.items())})"


_ASKS = re.compile(r"[?？؟]")
_SENTENCE_END = re.compile(r"[.!?。！？]+(?=\s|$)")


def _of_words(expect: Expected, turn: Turn) -> Iterator[str]:
    if expect.asks and not _ASKS.search(turn.text):
        yield "asked nothing"
    for pattern in expect.says:
        if not re.search(pattern, turn.text, re.IGNORECASE):
            yield f"did not say “{pattern}”"
    for pattern in expect.not_says:
        if re.search(pattern, turn.text, re.IGNORECASE):
            yield f"said “{pattern}”"
    words = len(turn.text.split())
    if not expect.fewest_words <= words <= expect.most_words:
        yield f"said {words} words"
    if (sentences := len(_SENTENCE_END.findall(turn.text))) > expect.most_sentences:
        yield f"said {sentences} sentences"


Answers = dict[str, list[list[Step]]]
"""Steps by case, one list for each sample."""
_ANSWERS = TypeAdapter(Answers)


def load_answers(file: Path) -> Answers:
    return _ANSWERS.validate_python(yaml.load(file.read_text(encoding="utf-8"), SafeLoader)["answers"])  # noqa: S506


def write_answers(file: Path, origin: Mapping[str, str], answers: Answers) -> None:
    """Write recorded answers, preceded by their origin: the model and the date, for example."""
    file.write_text(yaml.safe_dump({**origin, "answers": answers}, allow_unicode=True, sort_keys=False, width=120))
