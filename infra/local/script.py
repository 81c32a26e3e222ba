"""Play scripts, which map messages to calls, answers and objects of the scripted model. They are YAML, in `scripts/`:

    turns:
    - says: "(Please |)find me a job (in|near) {place}"
      calls:                                       # a request each; several tools in one are called at once
      - search_jobs: {query: "{place}"}
      - save_job: {job_id: "{results.search_jobs.jobs.0.id}"}
      answers: ["Saved: {results.save_job.title}", "{results.save_job.error}", "I found nothing in {place}."]
    - looks_up: {list_goals: [goal(|s), ambition*]}
    - to: You plan an interview                    # how the instructions of the request begin
      gives: {action: continue, directive: Ask about the team.}

The first turn that matches is played. If none matches or it yields nothing, `model_answers` decides.

- A pattern (`says`: one, or a list) is literal text, `{name}` for words, `{_}` for words without a name, `(a|b|)` for a
  choice. It matches a whole sentence, or else the whole message; case and final marks (except "?") do not matter. A
  capture is the shortest that fits, at least one character, without final marks. A name that is used twice captures
  the same words.
- `mentions` (one, or a list) are whole words, anywhere in the message. There `{name}` is one word, `{name...}` the rest
  of the last line without quotation marks, and `*` the rest of a word.
- Placeholders are `{name}`, `{sentence}` (the matching one), `{earlier}` (the user's previous message), and
  `{results.TOOL.path.0.id}`: the result of a tool since the user's message. `{?results.TOOL.path}` must exist, and adds
  nothing. A placeholder alone keeps the type.
- `calls`: a turn is skipped if one of its tools is not offered, a step if a value is missing. A list of arguments makes
  a call each, except those with missing values.
- `looks_up`: tool → mentions. All tools that are mentioned and offered are called at once; their required parameters
  are filled with the user's words.
- `answers`: the first whose placeholders all have values. If none has, or a tool answered that the turn does not call,
  `model_answers` answers from the results.
- `gives`: the object for a typed request.
- `function`: one of `model_functions.py`, which answers, gives or calls (tool → arguments), if data do not suffice.
  With `answers`, those follow the calls.
- `read: {text, by}` parses a text again by turns with `says` and `gives`. The result is `{read.field}`, and is added to
  `gives`. Text that cannot be parsed, or whose result is `gives: null`, does not match.
- `each: [{block, text, by, gives}]`, in typed requests, parses the text at each place in the prompt where the pattern
  `block` occurs, with `sentences: true` sentence by sentence. The result is added to its `gives`; the request gets the
  list of all under the name `into`.

`results` next to `turns` describes a tool's result if no turn does: by its source, or by answers in which `{path}`
refers to the result; `TOOL.path` describes a part of it. Other keys hold values for YAML aliases. Files are read in
alphabetical order.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from infra.local.model_functions import FUNCTIONS
from infra.local.script_syntax import (
    ENDING,
    Json,
    Listed,
    Mentions,
    Object,
    Pattern,
    Patterns,
    as_list,
    check,
    fill,
    fill_first,
    fill_or_none,
    names_of,
    object_in,
    sentences,
)

SCRIPTS = Path(__file__).with_name("scripts")


class ScriptError(Exception):
    """A script is invalid: file, line and reason."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Read(_Strict):
    text: str
    by: list["Turn"]

    def fields(self) -> set[str]:
        """Return the values that are set whichever turn parses the text."""
        given = [
            {*each.gives, *(each.read.fields() if each.read else ())} for each in self.by if each.gives is not None
        ]
        return set.intersection(*given) if given else set()

    def reading(self, text: str) -> Object | None:
        for turn in self.by:
            if (names := turn.names_in(text)) is not None:
                return turn.given(names)
        return None


class Each(Read):
    block: Patterns
    sentences: bool = False
    gives: Object

    @model_validator(mode="after")
    def _can_be_read(self) -> "Each":
        for pattern in self.block:
            pattern.check_block()
        check([self.text, self.gives], names_of(self.block))
        return self

    def readings(self, prompt: str) -> Iterator[Object]:
        for place in (place for pattern in self.block for place in pattern.places(prompt)):
            text = fill(self.text, place)
            for sentence in sentences(text) if self.sentences else [text]:
                if (read := self.reading(sentence)) is not None:
                    yield {**fill(self.gives, {**place, "sentence": sentence}), **read}


class Turn(_Strict):
    to: str = ""
    says: Patterns = []
    mentions: Mentions = []
    read: Read | None = None
    calls: list[dict[str, Object | list[Object]]] = []
    looks_up: dict[str, Mentions] = {}
    answers: Annotated[list[str], Listed] = []
    gives: Object | None = None
    function: str = ""
    each: list[Each] = []
    into: str = ""

    @model_validator(mode="after")
    def _can_be_played(self) -> "Turn":
        if not (self.patterns or self.looks_up or self.to):
            raise ValueError("a turn needs `says` or `to`, `mentions` or `looks_up`")
        if bool(self.each) != bool(self.into):
            raise ValueError("`each` and `into` need each other")
        if self.function and self.function not in FUNCTIONS:
            raise ValueError(f"there is no function “{self.function}”: there is {', '.join(FUNCTIONS)}")
        known = names_of(self.patterns)
        if self.read:
            check(self.read.text, known)
            known |= {f"read.{name}" for name in self.read.fields()}
        check(self.gives, known)
        known.add("earlier")
        for step in self.calls:
            check(step, known)
            known |= {f"results.{tool}" for tool in step}
        check(self.answers, known)
        return self

    @property
    def patterns(self) -> list[Pattern]:
        return [*self.says, *self.mentions]

    def mentioned(self, text: str) -> list[str]:
        return [tool for tool, words in self.looks_up.items() if any(each.match(text) is not None for each in words)]

    def names_said(self, text: str) -> Object | None:
        """Return the values of placeholders after this message; None if it does not match."""
        if not self.patterns:
            return {"sentence": text}
        whole = text.strip().rstrip(ENDING)
        in_a_sentence = (self.names_in(each) for each in ((*sentences(text), whole) if self.says else ()))
        found = next((names for names in in_a_sentence if names is not None), None)
        return self._names(self.mentions, text) if found is None else found

    def names_in(self, sentence: str) -> Object | None:
        return self._names(self.says, sentence)

    def _names(self, patterns: Sequence[Pattern], sentence: str) -> Object | None:
        for names in (
            captured | {"sentence": sentence} for each in patterns if (captured := each.match(sentence)) is not None
        ):
            if self.read is None:
                return names
            if (read := self.read.reading(fill(self.read.text, names))) is not None:
                return names | {"read": read}
        return None

    def given(self, names: Object) -> Object | None:
        return None if self.gives is None else {**fill(self.gives, names), **names.get("read", {})}


class Script(BaseModel):
    turns: list[Turn] = []
    results: dict[str, str | list[str]] = {}

    def source_of(self, tool: str) -> str:
        source = self.results.get(tool)
        return source if isinstance(source, str) else tool.replace("_", " ")

    def parts_of(self, tool: str, result: str) -> dict[str, Json]:
        """Return the parts of a result that have sources of their own (`TOOL.path`), by source, without empty ones."""
        found = object_in(result)
        sources = {name: self.results.get(f"{tool}.{name}") for name in found}
        return {source: found[name] for name, source in sources.items() if isinstance(source, str) and found[name]}

    def told_of(self, tool: str, result: str) -> str | None:
        """Return the answer of `results` to this tool's result; None without one."""
        answers = self.results.get(tool)
        return fill_first(answers, object_in(result)) if isinstance(answers, list) else None


def load(folder: Path = SCRIPTS) -> Script:
    """Load all scripts as one. Raises `ScriptError`."""
    files = [_load(path) for path in sorted(folder.glob("*.yaml"))]
    return Script.model_construct(
        turns=[turn for each in files for turn in each.turns],
        results={tool: told for each in files for tool, told in each.results.items()},
    )


def _load(path: Path) -> Script:
    text = path.read_text(encoding="utf-8")
    try:
        return Script.model_validate(yaml.safe_load(text))
    except yaml.MarkedYAMLError as error:
        line, reason = error.problem_mark.line + 1 if error.problem_mark else 1, error.problem
    except ValidationError as error:
        first = error.errors()[0]
        line, reason = _line(yaml.compose(text), first["loc"]), first["msg"].removeprefix("Value error, ")
    raise ScriptError(f"{path.name}, line {line}: {reason}")


def _line(node: Json, place: Sequence[int | str]) -> int:
    """Return the line of a place in the document, or of its nearest existing parent."""
    for key in place:
        if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
        elif isinstance(node, yaml.MappingNode):
            node = next((value for name, value in node.value if name.value == key), node)
    return node.start_mark.line + 1 if node else 1


@dataclass(frozen=True)
class Played:
    text: str = ""
    calls: Sequence[tuple[str, Object | None]] = ()
    """Tools and their arguments; None stands for the required parameters."""


@dataclass(frozen=True)
class Chat:
    instructions: str
    said: Sequence[str]
    """The user's messages, newest last."""
    offered: Collection[str] = ()
    results: Sequence[tuple[str, str]] = ()
    """Tool names and results since the user's last message."""

    @property
    def names(self) -> Object:
        earlier = {"earlier": self.said[-2]} if len(self.said) > 1 else {}
        return {"results": {tool: object_in(result) for tool, result in self.results}, **earlier}


def play(script: Script, chat: Chat) -> Played | None:
    """Return the next step of a chat, given the message and the results since; None if no script matches."""
    for turn in script.turns:
        tools = {tool for step in turn.calls for tool in step}
        if not (chat.instructions.startswith(turn.to) and tools <= {*chat.offered}):
            continue
        if mentioned := [tool for tool in turn.mentioned(chat.said[-1]) if tool in chat.offered]:
            return None if chat.results else Played(calls=[(tool, None) for tool in mentioned])
        if (turn.calls or turn.answers or turn.function) and (names := turn.names_said(chat.said[-1])) is not None:
            is_its_own = tools.issuperset(tool for tool, _ in chat.results) or turn.function
            return _next(turn, chat, names | chat.names) if is_its_own else None
    return None


def _next(turn: Turn, chat: Chat, names: Object) -> Played | None:
    done = [tool for tool, _ in chat.results]
    for step in turn.calls:
        if all(tool in done for tool in step):
            for tool in step:
                done.remove(tool)
        elif calls := _calls(step, names):
            return Played(calls=calls)
    if turn.function:
        found = FUNCTIONS[turn.function](chat.said[::-1])
        if not isinstance(found, dict):
            return Played(str(found))
        if left := [(tool, arguments) for tool, arguments in found.items() if tool not in done]:
            return Played(calls=left)
    said = fill_first(turn.answers, names)
    return None if said is None else Played(said)


def _calls(step: Mapping[str, Object | list[Object]], names: Object) -> list[tuple[str, Object | None]]:
    """Return a step's calls; empty if a required value is missing."""
    calls: list[tuple[str, Object | None]] = []
    for tool, arguments in step.items():
        filled = [given for each in as_list(arguments) if (given := fill_or_none(each, names)) is not None]
        if not filled:
            return []
        calls += [(tool, each) for each in filled]
    return calls


def give(script: Script, instructions: str, texts: Sequence[str]) -> Object | None:
    """Return the object for a typed request with these messages, the prompt first; None if no script matches."""
    for turn in script.turns:
        if not turn.to or not instructions.startswith(turn.to) or (names := turn.names_said(texts[0])) is None:
            continue
        if turn.function:
            return FUNCTIONS[turn.function](texts)
        if turn.each:
            return {turn.into: [read for each in turn.each for read in each.readings(texts[0])]}
        if turn.gives is not None:
            return turn.given(names)
    return None
