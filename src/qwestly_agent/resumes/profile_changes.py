"""Compute the changes that a résumé would make to the user's profile, field by field."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from qwestly_agent.domain.approval import ShownQuote
from qwestly_agent.domain.candidate import ProfileField
from qwestly_agent.domain.resume import UNDER_WAY, ReadField, ResumeRecord, json_resume
from qwestly_agent.grounding.model import QuotedSource
from qwestly_agent.grounding.quotes import FoundQuote
from qwestly_agent.profile import ProfileChange
from qwestly_agent.resumes.person_name import person_name
from qwestly_agent.text.clean import visible

MOST_QUOTES = 20
"""Maximum number of quotes for a list."""
LONGEST_LINE, LONGEST_TEXT, MOST_ITEMS, MOST_SCHOOLS = 300, 5_000, 100, 30
"""Limits in docs/candidate-app-api.yaml."""
_TEXTS: Mapping[ProfileField, tuple[str, int]] = {
    "headline": ("/basics/label", LONGEST_LINE),
    "location": ("/basics/location", LONGEST_LINE),
    "summary": ("/basics/summary", LONGEST_TEXT),
}
_LISTS: Mapping[ProfileField, str] = {"skills": "/skills/", "languages": "/languages/"}


def profile_changes(record: ResumeRecord, profile: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of `update_profile`; None if the profile has everything. Existing entries of lists are
    kept."""
    read = record.read or ()
    proposed: dict[ProfileField, tuple[Any, list[ReadField]]] = {}
    for field, (path, longest) in _TEXTS.items():
        for each in read:
            if each.path == path and len(each.value) <= longest and not _is_same(each.value, profile.get(field)):
                proposed[field] = (each.value, [each])
    for field, path in _LISTS.items():
        known = [str(each) for each in _list(profile.get(field))]
        if new := list(_new_names(known, (each for each in read if each.path.startswith(path)))):
            proposed[field] = ([*known, *(each.value for each in new)][:MOST_ITEMS], new)
    known_schools = _list(profile.get("education"))
    if schools := list(_new_schools(known_schools, read)):
        values = [*known_schools, *(school for school, _ in schools)][:MOST_SCHOOLS]
        proposed["education"] = (values, [each for _, fields in schools for each in fields])
    fitting = {field: each for field, each in proposed.items() if _fits(field, each[0])}
    if not fitting:
        return None
    return {
        "changes": [{"field": field, "value": value} for field, (value, _) in fitting.items()],
        "quotes": {field: quotes_of(record, fields) for field, (_, fields) in fitting.items()},
    }


def _fits(field: ProfileField, value: Any) -> bool:
    """False if the profile has additional content that could not be written back."""
    try:
        ProfileChange(field=field, value=value)
    except ValidationError:
        return False
    return True


def quotes_of(record: ResumeRecord, fields: Sequence[ReadField]) -> list[dict[str, str]]:
    """Return the quotes of these fields, each once."""
    source = QuotedSource(id=record.id, text=record.text)
    spans = dict.fromkeys((each.start, each.end) for each in fields)
    found = [FoundQuote(source, start, end) for start, end in list(spans)[:MOST_QUOTES]]
    return [_shown(record.name, each).model_dump() for each in found]


def _shown(name: str, found: FoundQuote) -> ShownQuote:
    before, after = found.around
    return ShownQuote(source=name, before=before, quote=found.text, after=after)


def _new_names(known: Sequence[str], found: Iterable[ReadField]) -> Iterator[ReadField]:
    said = {_name_in(each) for each in known}
    for each in found:
        if _name_in(each.value) not in said and len(each.value) <= LONGEST_LINE:
            said.add(_name_in(each.value))
            yield each


def _name_in(item: str) -> str:
    """Return the name without text in parentheses at its end: "English (native)"."""
    return _folded(item.partition("(")[0] or item)


def _new_schools(known: Sequence[Any], read: Sequence[ReadField]) -> Iterator[tuple[dict[str, Any], list[ReadField]]]:
    """Yield each school that the profile lacks with this degree."""
    said = {(_folded(each.get("school")), _folded(each.get("degree"))) for each in known if isinstance(each, dict)}
    items: dict[str, dict[str, ReadField]] = {}
    for each in read:
        item, _, name = each.path.rpartition("/")
        if item.startswith("/education/"):
            items.setdefault(item, {})[name] = each
    for item in items.values():
        if "institution" not in item or any(len(each.value) > LONGEST_LINE for each in item.values()):
            continue
        school, degree = item["institution"].value, item["studyType"].value if "studyType" in item else ""
        year = item["endDate"].value[:4] if "endDate" in item else ""
        # The profile may have the school without the degree.
        if (_folded(school), _folded(degree)) not in said:
            value: dict[str, Any] = {"school": school, **({"degree": degree} if degree else {})}
            yield {**value, **({"year": int(year)} if year else {})}, list(item.values())


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_same(value: str, known: Any) -> bool:
    return _folded(value) == _folded(known)


def _folded(value: Any) -> str:
    return " ".join(visible(str(value or "")).casefold().split())


def unread_lines(record: ResumeRecord) -> list[str]:
    """Return the lines of the text without a field."""
    at, lines = 0, list[str]()
    for line in record.text.split("\n"):
        end = at + len(line)
        if any(map(str.isalnum, line)) and not any(each.start < end and at < each.end for each in record.read or ()):
            lines.append(line)
        at = end + 1
    return lines


def source_of(record: ResumeRecord) -> str:
    return f"{record.name}, not yet approved" if record.status == "proposed" else record.name


def read_items(record: ResumeRecord) -> Iterator[tuple[str, str, str]]:
    """Yield path, text and first quote of each position, school or other entry."""
    items: dict[str, list[ReadField]] = {}
    for each in record.read or ():
        _, section, *rest = each.path.split("/")
        items.setdefault(f"/{section}/{rest[0]}", []).append(each)
    for path, fields in items.items():
        yield path, ", ".join(each.value or "present" for each in fields), fields[0].quote


def additions(record: ResumeRecord, profile: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the résumé has beyond the profile: fields, and positions at other employers; None without any."""
    if record.status in UNDER_WAY:
        return None
    known = {_folded(each.get("company")) for each in _list(profile.get("employment")) if isinstance(each, dict)}
    positions = [each for each in _positions(record) if _folded(each.get("company")) not in known]
    fields = {each["field"]: each["value"] for each in (profile_changes(record, profile) or {"changes": ()})["changes"]}
    found = {**fields, **({"employment": positions} if positions else {})}
    return {"from": source_of(record), **found} if found else None


def _positions(record: ResumeRecord) -> Iterator[dict[str, Any]]:
    named = {"position": "title", "name": "company", "startDate": "start_date", "endDate": "end_date"}
    work: list[dict[str, Any]] = json_resume(record.read or ()).get("work", [])
    for each in work:
        yield {named.get(name, name): value for name, value in each.items()}


def json_resume_document(record: ResumeRecord) -> dict[str, Any]:
    """Return the JSON Resume document with contact details, for its owner only."""
    document = json_resume(record.read or ())
    contacts = {name: values[0] for name, values in record.contacts.items() if name in ("email", "phone", "url")}
    name = {"name": found} if (found := person_name(record)) else {}
    return {**document, "basics": {**name, **document.get("basics", {}), **contacts}}
