"""Résumés: the stored record, and the fields parsed from it, as in the JSON Resume schema."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

ResumeStatus: TypeAlias = Literal["reading", "parsing", "checking", "saving", "proposed", "done", "failed", "stopped"]
"""In progress: the file is opened, a model parses it, a second model checks the result, and the text is saved as a
document. Ended: changes to the profile were proposed, or there were none; it failed; the brake stopped it."""
UNDER_WAY: frozenset[ResumeStatus] = frozenset({"reading", "parsing", "checking", "saving"})
UNNAMED = "your résumé"
"""Shown for a file without a name."""

Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)


class Found(_Frozen):
    """A value in the résumé, and the quote that supports it."""

    value: Words
    quote: Words
    """Verbatim."""


class FoundBasics(_Frozen):
    label: Found | None = None
    location: Found | None = None
    summary: Found | None = None


class FoundWork(_Frozen):
    name: Found | None = None
    """The employer."""
    position: Found | None = None
    location: Found | None = None
    startDate: Found | None = None  # noqa: N815  the schema's name
    endDate: Found | None = None  # noqa: N815
    summary: Found | None = None
    highlights: Annotated[tuple[Found, ...], Field(max_length=20)] = ()


class FoundEducation(_Frozen):
    institution: Found | None = None
    studyType: Found | None = None  # noqa: N815
    startDate: Found | None = None  # noqa: N815
    endDate: Found | None = None  # noqa: N815


class FoundResume(_Frozen):
    """The result of a parser, before it is checked."""

    basics: FoundBasics = FoundBasics()
    work: Annotated[tuple[FoundWork, ...], Field(max_length=30)] = ()
    education: Annotated[tuple[FoundEducation, ...], Field(max_length=15)] = ()
    skills: Annotated[tuple[Found, ...], Field(max_length=60)] = ()
    languages: Annotated[tuple[Found, ...], Field(max_length=20)] = ()
    certificates: Annotated[tuple[Found, ...], Field(max_length=20)] = ()
    projects: Annotated[tuple[Found, ...], Field(max_length=20)] = ()
    publications: Annotated[tuple[Found, ...], Field(max_length=40)] = ()


class ReadField(_Frozen):
    """One field, parsed and checked."""

    path: str
    """Path in the JSON Resume document: "/skills/0/name"."""
    value: str
    """The value as stored. A date is in the schema's format if it is unambiguous (2021-03), and empty if it continues
    to the present."""
    original: str
    """The value as found in the résumé."""
    quote: str
    """The text from `start` to `end`."""
    start: int
    end: int
    """Position of the quote in the text."""
    is_checked: bool
    """False if no second model was available."""


class ResumeRecord(_Frozen):
    """An uploaded résumé. Times are in seconds since the epoch."""

    id: str
    user_id: str
    run_id: str
    name: str
    """Name of the file, for the user."""
    status: ResumeStatus = "reading"
    label: str
    """The status, for the user."""
    text: str = ""
    """The text, with each contact detail replaced by its kind in brackets."""
    contacts: Mapping[str, tuple[str, ...]] = {}
    """Contact details by kind: "email", "phone"."""
    found: FoundResume | None = None
    read: tuple[ReadField, ...] | None = None
    left_out: Mapping[str, str] = {}
    """Reasons why fields were left out, by path."""
    approval_id: str | None = None
    created_at: float
    updated_at: float


NAMED = ("skills", "languages", "certificates", "projects", "publications")
"""Sections that are lists of names."""
NAME_OF = {"languages": "language"}
"""The schema's field for the name, if it is not `name`."""
_INDEX = re.compile(r"\d+")


def json_resume(fields: tuple[ReadField, ...]) -> dict[str, Any]:
    """Return the fields as a JSON Resume document."""
    document: dict[str, Any] = {}
    for each in fields:
        _put(document, each.path.split("/")[1:], each.value)
    return _with_lists(document)


def _put(node: dict[Any, Any], path: list[str], value: str) -> None:
    name: str | int = int(path[0]) if _INDEX.fullmatch(path[0]) else path[0]
    if len(path) > 1:
        _put(node.setdefault(name, {}), path[1:], value)
    elif value:
        node[name] = value


def _with_lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if node and all(isinstance(name, int) for name in node):
        return [_with_lists(node[number]) for number in sorted(node)]
    return {name: _with_lists(each) for name, each in node.items()}


def renumber_paths(paths: Sequence[str]) -> list[str]:
    """Renumber the paths after fields in between were left out."""
    numbers: dict[str, dict[str, int]] = {}
    return [_renumbered(path, numbers) for path in paths]


def _renumbered(path: str, numbers: dict[str, dict[str, int]]) -> str:
    old, new = "", ""
    for part in path.split("/")[1:]:
        known = numbers.setdefault(old, {})
        new += f"/{known.setdefault(part, len(known)) if _INDEX.fullmatch(part) else part}"
        old += f"/{part}"
    return new


def found_fields(found: FoundResume) -> Iterator[tuple[str, Found]]:
    """Yield each field with its path."""
    yield from _of("/basics", found.basics)
    for section in ("work", "education"):
        for number, item in enumerate(getattr(found, section)):
            yield from _of(f"/{section}/{number}", item)
    for section in NAMED:
        for number, each in enumerate(getattr(found, section)):
            yield f"/{section}/{number}/{NAME_OF.get(section, 'name')}", each


def _of(path: str, item: BaseModel) -> Iterator[tuple[str, Found]]:
    for name in type(item).model_fields:
        value = getattr(item, name)
        if isinstance(value, Found):
            yield f"{path}/{name}", value
        elif value:
            yield from ((f"{path}/{name}/{number}", each) for number, each in enumerate(value))
