"""The placeholders of scripts (`script.py` says what they mean): filling them in, and what can never be filled in."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

Json: TypeAlias = Any

_PLACE = re.compile(r"\{(\??)([a-z_]+(?:\.\w+)*)\}")


class MissingError(Exception):
    pass


def fill(template: Json, names: Mapping[str, Json]) -> Json:
    """Raises `MissingError`."""
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
    """The first that can be filled in, None where none can."""
    return next((text for each in templates if (text := fill_or_none(each, names)) not in (None, "")), None)


def _at(value: Json, path: str) -> Json:
    try:
        for key in path.split("."):
            value = value[int(key)] if isinstance(value, list) else value[key]
    except (LookupError, ValueError, TypeError):
        raise MissingError(path) from None
    return value


def check(template: Json, known: Collection[str]) -> None:
    """Raises `ValueError` where nothing can ever fill it in. Of a result no more than its tool is known."""
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


def object_in(result: str) -> dict[str, Json]:
    """The JSON object that a tool's result holds, whatever fences stand around it."""
    try:
        told = json.loads(result[result.index("{") : result.rindex("}") + 1])
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
