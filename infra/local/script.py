"""Plays scripts: what is said → what the scripted model calls, answers and gives. Scripts are YAML, in `scripts/`:

    turns:
    - says: "(Please |)find me a job (in|near) {place}"
      calls:                                       # a request each; several tools in one are called at once
      - search_jobs: {query: "{place}"}
      - save_job: {job_id: "{results.search_jobs.jobs.0.id}"}
      answers: ["Saved: {results.save_job.title}", "{results.save_job.error}", "I found nothing in {place}."]
    - to: You plan an interview                    # how the instructions of the request begin
      gives: {action: continue, directive: Ask about the team.}

The first turn that matches is played; where none does, `model_brain` decides.

- A pattern (`says`: one, or a list) is literal text, `{name}` for words, `{_}` for words without a name, `(a|b|)` for a
  choice. It matches a whole sentence, or else the whole message; case and marks at the end (but "?") do not matter. A
  capture is the shortest that fits, at least one character, without marks at its end. A name that stands twice holds
  the same words.
- Filled in are `{name}`, `{sentence}` (the one that matched), and `{results.TOOL.path.0.id}`: what a tool returned
  since the user spoke. `{?results.TOOL.path}` must be there, and adds nothing. A placeholder alone keeps the type.
- `calls`: a turn is passed over where one of its tools is not offered; a step where something is missing.
- `answers`: the first that can be filled in. Where none can, `model_brain` answers from the results.
- `gives`: the object that a typed request gets.
- `read: {text, by}` reads a text again by turns with `says` and `gives`. What they give is `{read.field}`, and is added
  to `gives`. What cannot be read, or reads as `gives: null`, does not match.
- `each: [{block, text, by, gives}]`, in typed requests, reads the text of each place in the prompt where the pattern
  `block` stands, with `sentences: true` sentence by sentence. What is read is added to its `gives`; the request gets
  the list of all under the name `into`.

Keys beside `turns` hold what YAML aliases repeat.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, InstanceOf, ValidationError, model_validator

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]

SCRIPTS = Path(__file__).with_name("scripts")
MOST_SENTENCES = 500
"""Of one text; what follows is not read."""
ENDING = " \t\r\n.!…,;"


class ScriptError(Exception):
    """A script that cannot be played: its file, line and reason."""


# --- what is said -----------------------------------------------------------------------------------------------------

_PART = re.compile(r"(\{[^{}()]*\}|\([^{}()]*\))")


class Pattern:
    """A regular expression of atomic groups: it goes through a text once, and never back."""

    def __init__(self, text: str) -> None:
        self._parts = [part for part in _PART.split(_plain(text)) if part]
        self.names: set[str] = set()
        groups, is_open = [""], False
        for part in self._parts:
            if not _PART.fullmatch(part):
                if set("{}()") & set(part):
                    raise ValueError(f"“{part}” in “{text}” is neither words, a capture nor a choice")
                groups[-1] += re.escape(part)
                is_open = False
            elif part.startswith("("):
                groups[-1] += f"(?:{'|'.join(map(re.escape, part[1:-1].split('|')))})"
            elif is_open:
                raise ValueError(f"“{text}” does not say where the capture before {part} ends")
            else:
                groups.append(self._capture(part[1:-1]))
                is_open = True
        if all(map(_PART.fullmatch, self._parts)):
            raise ValueError(f"“{text}” has no words of its own, and would match everything")
        self._anywhere, self._whole = (
            re.compile("".join(f"(?>{each})" for each in [*groups[:-1], groups[-1] + end]), re.IGNORECASE | re.DOTALL)
            for end in ("", r"\Z")
        )

    def _capture(self, name: str) -> str:
        if name == "_":
            return ".+?"
        if not re.fullmatch("[a-z_]+", name):
            raise ValueError(f"{{{name}}} is no name: small letters and _")
        if name in self.names:
            return f"(?P={name})"
        self.names.add(name)
        return f"(?P<{name}>.+?)"

    def match(self, text: str) -> Object | None:
        answers_questions = "?" in self._parts[-1] or not text.endswith("?")
        return self._captured(self._whole, text) if answers_questions else None

    def places(self, prompt: str) -> Iterator[Object]:
        """What is captured wherever it stands: from where it begins to where it begins again."""
        for rest in prompt.split(self._parts[0])[1:]:
            if (captured := self._captured(self._anywhere, self._parts[0] + rest)) is not None:
                yield captured

    def _captured(self, regex: re.Pattern[str], text: str) -> Object | None:
        found = regex.match(_plain(text))
        return {name: text[slice(*found.span(name))].strip().rstrip(ENDING) for name in self.names} if found else None

    def check_block(self) -> None:
        if any(map(_PART.fullmatch, (self._parts[0], self._parts[-1]))):
            raise ValueError("a block must begin and end with words of its own")


def _plain(text: str) -> str:
    return text.replace("’", "'")


def _sentences(text: str) -> list[str]:
    parts = re.split(r"(?<=[.!?…])\s+|\n+", text, maxsplit=MOST_SENTENCES)[:MOST_SENTENCES]
    return [part.strip().rstrip(ENDING) for part in parts if part.strip(ENDING)]


def _names(patterns: Sequence[Pattern]) -> set[str]:
    """What is there whichever of them matches."""
    return {"sentence"}.union(set.intersection(*(each.names for each in patterns)) if patterns else ())


# --- what is filled in ------------------------------------------------------------------------------------------------

_PLACE = re.compile(r"\{(\??)([a-z_]+(?:\.\w+)*)\}")


class _MissingError(Exception):
    pass


def _filled(template: Json, names: Mapping[str, Json]) -> Json:
    """Raises `_MissingError`."""
    match template:
        case str() if (alone := _PLACE.fullmatch(template)) and not alone[1]:
            return _at(names, alone[2])
        case str():
            return _PLACE.sub(lambda place: str(_at(names, place[2]))[: 0 if place[1] else None], template)
        case list():
            return [_filled(each, names) for each in template]
        case dict():
            return {key: _filled(each, names) for key, each in template.items()}
        case _:
            return template


def _at(value: Json, path: str) -> Json:
    try:
        for key in path.split("."):
            value = value[int(key)] if isinstance(value, list) else value[key]
    except (LookupError, ValueError, TypeError):
        raise _MissingError(path) from None
    return value


def _check(template: Json, known: Collection[str]) -> None:
    """Raises `ValueError` where nothing can ever fill it in. Of a result no more than its tool is known."""
    if isinstance(template, list | dict):
        for each in template.values() if isinstance(template, dict) else template:
            _check(each, known)
    elif isinstance(template, str):
        for _, path in _PLACE.findall(template):
            head = ".".join(path.split(".")[:2]) if path.startswith("results.") else path
            if head not in known:
                raise ValueError(f"nothing fills in {{{path}}}: there is {', '.join(sorted(known))}")
        if set("{}") & set(_PLACE.sub("", template)):
            raise ValueError(f"“{template}” has a brace that belongs to no placeholder")


# --- a script ---------------------------------------------------------------------------------------------------------


def _listed(given: Json) -> list[Json]:
    return given if isinstance(given, list) else [given]


Patterns: TypeAlias = Annotated[
    list[
        Annotated[InstanceOf[Pattern], BeforeValidator(lambda text: Pattern(text) if isinstance(text, str) else text)]
    ],
    BeforeValidator(_listed),
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Read(_Strict):
    text: str
    by: list["Turn"]

    def fields(self) -> set[str]:
        """What is given whichever turn reads it."""
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
        _check([self.text, self.gives], _names(self.block))
        return self

    def readings(self, prompt: str) -> Iterator[Object]:
        for place in (place for pattern in self.block for place in pattern.places(prompt)):
            text = _filled(self.text, place)
            for sentence in _sentences(text) if self.sentences else [text]:
                if (read := self.reading(sentence)) is not None:
                    yield {**_filled(self.gives, {**place, "sentence": sentence}), **read}


class Turn(_Strict):
    to: str = ""
    says: Patterns = []
    read: Read | None = None
    calls: list[dict[str, Object]] = []
    answers: Annotated[list[str], BeforeValidator(_listed)] = []
    gives: Object | None = None
    each: list[Each] = []
    into: str = ""

    @model_validator(mode="after")
    def _can_be_played(self) -> "Turn":
        if not (self.says or self.to):
            raise ValueError("a turn needs `says` or `to`")
        if bool(self.each) != bool(self.into):
            raise ValueError("`each` and `into` need each other")
        known = _names(self.says)
        if self.read:
            _check(self.read.text, known)
            known |= {f"read.{name}" for name in self.read.fields()}
        _check(self.gives, known)
        for step in self.calls:
            _check(step, known)
            known |= {f"results.{tool}" for tool in step}
        _check(self.answers, known)
        return self

    def names_said(self, text: str) -> Object | None:
        """What can be filled in after this message; None where it does not match."""
        if not self.says:
            return {"sentence": text}
        whole = text.strip().rstrip(ENDING)
        return next((names for each in (*_sentences(text), whole) if (names := self.names_in(each)) is not None), None)

    def names_in(self, sentence: str) -> Object | None:
        for names in (
            captured | {"sentence": sentence} for each in self.says if (captured := each.match(sentence)) is not None
        ):
            if self.read is None:
                return names
            if (read := self.read.reading(_filled(self.read.text, names))) is not None:
                return names | {"read": read}
        return None

    def given(self, names: Object) -> Object | None:
        return None if self.gives is None else {**_filled(self.gives, names), **names.get("read", {})}


class _File(BaseModel):
    turns: list[Turn]


def load(folder: Path = SCRIPTS) -> list[Turn]:
    """The turns of all scripts, by the names of their files. Raises `ScriptError`."""
    return [turn for path in sorted(folder.glob("*.yaml")) for turn in _load(path)]


def _load(path: Path) -> list[Turn]:
    text = path.read_text(encoding="utf-8")
    try:
        return _File.model_validate(yaml.safe_load(text)).turns
    except yaml.MarkedYAMLError as error:
        line, reason = error.problem_mark.line + 1 if error.problem_mark else 1, error.problem
    except ValidationError as error:
        first = error.errors()[0]
        line, reason = _line(yaml.compose(text), first["loc"]), first["msg"].removeprefix("Value error, ")
    raise ScriptError(f"{path.name}, line {line}: {reason}")


def _line(node: Json, place: Sequence[int | str]) -> int:
    """Where a place of the document stands, or what is nearest around it."""
    for key in place:
        if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
        elif isinstance(node, yaml.MappingNode):
            node = next((value for name, value in node.value if name.value == key), node)
    return node.start_mark.line + 1 if node else 1


# --- what follows -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Played:
    text: str = ""
    calls: Mapping[str, Object] = field(default_factory=dict)
    """Arguments by tool."""


def play(
    turns: Sequence[Turn], instructions: str, said: str, offered: Collection[str], results: Sequence[tuple[str, str]]
) -> Played | None:
    """What follows in a chat on what was said and on the results since then; None where no script says it."""
    for turn in turns:
        if not (turn.calls or turn.answers) or not instructions.startswith(turn.to):
            continue
        tools = {tool for step in turn.calls for tool in step}
        if tools <= {*offered} and (names := turn.names_said(said)) is not None:
            return _next(turn, names, results)
    return None


def give(turns: Sequence[Turn], instructions: str, prompt: str) -> Object | None:
    """What a typed request gets; None where no script says it."""
    for turn in turns:
        if not turn.to or not instructions.startswith(turn.to) or (names := turn.names_said(prompt)) is None:
            continue
        if turn.each:
            return {turn.into: [read for each in turn.each for read in each.readings(prompt)]}
        if turn.gives is not None:
            return turn.given(names)
    return None


def _next(turn: Turn, names: Object, results: Sequence[tuple[str, str]]) -> Played | None:
    names = names | {"results": {tool: _object_in(result) for tool, result in results}}
    done = [tool for tool, _ in results]
    for step in turn.calls:
        if all(tool in done for tool in step):
            for tool in step:
                done.remove(tool)
        elif (filled := _or_none(step, names)) is not None:
            return Played(calls=filled)
    said = next((text for each in turn.answers if (text := _or_none(each, names)) is not None), None)
    return None if said is None else Played(str(said))


def _or_none(template: Json, names: Object) -> Json:
    try:
        return _filled(template, names)
    except _MissingError:
        return None


def _object_in(result: str) -> Object:
    """The JSON object that a result holds, whatever fences stand around it."""
    try:
        told = json.loads(result[result.index("{") : result.rindex("}") + 1])
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
