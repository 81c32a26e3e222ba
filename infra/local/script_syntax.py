"""The syntax of scripts: patterns and placeholders. `script.py` documents their meaning."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, InstanceOf

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]

MOST_SENTENCES = 500
"""Maximum number of parsed sentences of a message."""
ENDING = " \t\r\n.!…,;"

_PART = re.compile(r"(\{[^{}()]*\}|\([^{}()]*\))")


def sentences(text: str) -> list[str]:
    parts = re.split(r"(?<=[.!?…])\s+|\n+", text, maxsplit=MOST_SENTENCES)[:MOST_SENTENCES]
    return [part.strip().rstrip(ENDING) for part in parts if part.strip(ENDING)]


def names_of(patterns: Sequence["Pattern"]) -> set[str]:
    """Return the names that all of the patterns capture."""
    return {"sentence"}.union(set.intersection(*(each.names for each in patterns)) if patterns else ())


def _plain(text: str) -> str:
    return text.replace("’", "'")


class Pattern:
    """A regular expression of atomic groups: it never backtracks."""

    def __init__(self, text: str) -> None:
        self._parts = [part for part in _PART.split(_plain(text)) if part]
        self.names: set[str] = set()
        groups, is_open = [""], False
        for part in self._parts:
            if not _PART.fullmatch(part):
                if set("{}()") & set(part):
                    raise ValueError(f"“{part}” in “{text}” is neither words, a capture nor a choice")
                groups[-1] += self._literal(part)
                is_open = False
            elif part.startswith("("):
                groups[-1] += f"(?:{'|'.join(map(self._literal, part[1:-1].split('|')))})"
            elif is_open:
                raise ValueError(f"“{text}” does not say where the capture before {part} ends")
            else:
                groups.append(self._capture(part[1:-1]))
                is_open = True
        self._compile(groups, text)

    def _compile(self, groups: Sequence[str], text: str) -> None:
        if all(map(_PART.fullmatch, self._parts)):
            raise ValueError(f"“{text}” has no words of its own, and would match everything")
        self._anywhere, self._whole = (
            re.compile("".join(f"(?>{each})" for each in [*groups[:-1], groups[-1] + end]), re.IGNORECASE | re.DOTALL)
            for end in ("", r"\Z")
        )

    def _literal(self, words: str) -> str:
        return re.escape(words)

    def _capture(self, name: str) -> str:
        return self._named(name, ".+?")

    def _named(self, name: str, regex: str) -> str:
        if name == "_":
            return regex
        if not re.fullmatch("[a-z_]+", name):
            raise ValueError(f"{{{name}}} is no name: small letters and _")
        if name in self.names:
            return f"(?P={name})"
        self.names.add(name)
        return f"(?P<{name}>{regex})"

    def match(self, text: str) -> Object | None:
        answers_questions = "?" in self._parts[-1] or not text.endswith("?")
        return self._captured(self._whole.match(_plain(text)), text) if answers_questions else None

    def places(self, prompt: str) -> Iterator[Object]:
        """Yield the captures of each occurrence, which extends to the next one."""
        for rest in prompt.split(self._parts[0])[1:]:
            place = self._parts[0] + rest
            if (captured := self._captured(self._anywhere.match(_plain(place)), place)) is not None:
                yield captured

    def _captured(self, found: re.Match[str] | None, text: str) -> Object | None:
        return {name: text[slice(*found.span(name))].strip().rstrip(ENDING) for name in self.names} if found else None

    def check_block(self) -> None:
        if any(map(_PART.fullmatch, (self._parts[0], self._parts[-1]))):
            raise ValueError("a block must begin and end with words of its own")


class Mention(Pattern):
    """Whole words anywhere in a message."""

    def _compile(self, groups: Sequence[str], text: str) -> None:
        self._anywhere = re.compile(rf"(?<!\w){''.join(groups)}(?!\w)", re.IGNORECASE)

    def _literal(self, words: str) -> str:
        return re.escape(words).replace(r"\*", r"\w*")

    def _capture(self, name: str) -> str:
        if name.endswith("..."):
            rest = self._named(name.removesuffix("..."), r"[^\n]+?")
            return rf"[\"“]?{rest}[\"”]?[.!]?\s*\Z"
        return self._named(name, r"[\w-]+")

    def match(self, text: str) -> Object | None:
        return self._captured(self._anywhere.search(_plain(text)), text)


def as_list(given: Json) -> list[Json]:
    return given if isinstance(given, list) else [given]


def _read_as(kind: type[Pattern]) -> BeforeValidator:
    return BeforeValidator(lambda text: kind(text) if isinstance(text, str) else text)


Listed = BeforeValidator(as_list)
Patterns: TypeAlias = Annotated[list[Annotated[InstanceOf[Pattern], _read_as(Pattern)]], Listed]
Mentions: TypeAlias = Annotated[list[Annotated[InstanceOf[Mention], _read_as(Mention)]], Listed]


# --- placeholders -----------------------------------------------------------------------------------------------------

_PLACE = re.compile(r"\{(\??)([a-z_]+(?:\.\w+)*)\}")


class MissingError(Exception):
    pass


def fill(template: Json, names: Mapping[str, Json]) -> Json:
    """Fill in the placeholders. Raises `MissingError`."""
    match template:
        case str() if (alone := _PLACE.fullmatch(template)) and not alone[1]:
            return _at(names, alone[2])
        case str():
            return _PLACE.sub(lambda place: str(_at(names, place[2]))[: 0 if place[1] else None], template)
        case list():
            return [fill(each, names) for each in template]
        case dict():
            return {key: fill(each, names) for key, each in template.items()}
        case _:
            return template


def fill_or_none(template: Json, names: Mapping[str, Json]) -> Json:
    try:
        return fill(template, names)
    except MissingError:
        return None


def fill_first(templates: Sequence[str], names: Mapping[str, Json]) -> Json:
    """Return the first template that can be filled in, or None."""
    return next((text for each in templates if (text := fill_or_none(each, names)) not in (None, "")), None)


def _at(value: Json, path: str) -> Json:
    try:
        for key in path.split("."):
            value = value[int(key)] if isinstance(value, list) else value[key]
    except (LookupError, ValueError, TypeError):
        raise MissingError(path) from None
    return value


def check(template: Json, known: Collection[str]) -> None:
    """Raise `ValueError` if the placeholders can never be filled in. For a result, only the tool name is checked."""
    if isinstance(template, list | dict):
        for each in template.values() if isinstance(template, dict) else template:
            check(each, known)
    elif isinstance(template, str):
        for _, path in _PLACE.findall(template):
            head = ".".join(path.split(".")[:2]) if path.startswith("results.") else path
            if head not in known:
                raise ValueError(f"nothing fills in {{{path}}}: there is {', '.join(sorted(known))}")
        if set("{}") & set(_PLACE.sub("", template)):
            raise ValueError(f"“{template}” has a brace that belongs to no placeholder")


def object_in(text: str) -> Object:
    """Return the first JSON object in a tool's result, or an empty one."""
    return next((value for value in json_in(text) if isinstance(value, dict)), {})


_JSON_START = re.compile(r"[\[{]")


def json_in(text: str) -> list[Json]:
    """Return each JSON object and each non-numeric array in the text, from left to right."""
    decoder, values, at = json.JSONDecoder(), [], 0
    while (start := _JSON_START.search(text, at)) is not None:
        try:
            value, at = decoder.raw_decode(text, start.start())
            # A number in brackets is a footnote.
            if not (isinstance(value, list) and any(isinstance(item, int | float) for item in value)):
                values.append(value)
        except json.JSONDecodeError:
            at = start.start() + 1
    return values
