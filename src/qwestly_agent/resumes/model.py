"""The input and output of the states of `parse_resume`, and the changes that a résumé makes to a profile."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, ClassVar, cast

from pydantic import ValidationError

from qwestly_agent.base.errors import AgentError
from qwestly_agent.domain.approval import ShownQuote
from qwestly_agent.domain.candidate import PRESENT, Positions, ProfileField, positions_of
from qwestly_agent.domain.resume import UNDER_WAY, ReadField, ResumeRecord, json_resume
from qwestly_agent.grounding.figures import DATES, Day, days_of
from qwestly_agent.grounding.model import QuotedSource
from qwestly_agent.grounding.quotes import FoundQuote
from qwestly_agent.profile import FieldChange
from qwestly_agent.resumes.unreadable import SENTENCES, Why
from qwestly_agent.text.clean import visible
from qwestly_agent.workflow_state import End, WorkState

# --- resume state -----------------------------------------------------------------------------------------------------
# The input and output of the states of `parse_resume`: ids and enumerated words. Everything else is in the résumé's
# record.


STOPPED_KEPT = "Stopped by your pause. Its text is kept as a document already."


class NotKept(AgentError):
    code, http_status, sentence = "not_kept", 502, "Your résumé was read, but could not be kept as a document."


class ResumeState(WorkState):
    subject, later = "resume", "Please upload it again later."
    messages: ClassVar[Mapping[str, str]] = {
        "ContentRefused": "Our AI couldn’t work with this text. Please tell us, so we can fix it.",
        "NotKept": NotKept.sentence,
        "OutcomeUnknown": "Your résumé was read. Nobody can tell yet whether its text is kept as a document.",
    }
    resume_id: str
    why: str = ""
    """Why the file has no readable text; empty if it has some."""
    is_kept: bool = False
    """True once the candidate app has stored the text as a document."""

    def known_end(self) -> tuple[End, str] | None:
        if self.why in SENTENCES:
            return "unreadable", SENTENCES[cast(Why, self.why)]
        return ("stopped", STOPPED_KEPT) if self.error_kind == "Braked" and self.is_kept else None


# --- dates ------------------------------------------------------------------------------------------------------------
# Parse dates for the JSON Resume schema.


def iso_date(written: str) -> str:
    """Return YYYY, YYYY-MM or YYYY-MM-DD; empty if ambiguous, or for "present"."""
    found = [{*days_of(match, "")} for match in DATES.finditer(written)]
    if len(found) == 1 and len(found[0]) == 1:
        return _iso(*found[0])
    digits = written.strip()
    is_year = len(digits) == 4 and digits.isascii() and digits.isdigit() and digits[:2] in ("19", "20")
    return digits if is_year else ""


def _iso(day: Day) -> str:
    if day.year is None or day.quarter or day.decade:
        return ""
    parts = [f"{day.year}", *(f"{each:02}" for each in (day.month, day.month and day.day) if each)]
    return "-".join(parts)


# --- person name ------------------------------------------------------------------------------------------------------
# Find the person's name at the top of their résumé. This is done in code, because no model sees contact details.


FIRST_LINES, LONGEST_NAME = 6, 60
_LABEL = re.compile(r"(?i)(?:full name|name|nombre|nome|nom)\s*:\s*")
_BREAK = re.compile(r"\s[|·•–—-]\s|[|·•,;\t]|\s{3,}")
_WORD = re.compile(r"[^\W\d_]+(?:['’.-][^\W\d_]*)*\.?")
_PARTICLES = frozenset(
    ("al", "bin", "da", "das", "de", "del", "della", "den", "der", "di", "do", "dos", "du", "el", "la")
)
_PARTICLES |= {"ibn", "le", "ten", "ter", "van", "von", "y", "zu"}
_TITLES = frozenset(("curriculum", "vitae", "resume", "cv", "lebenslauf", "profile", "profil", "experience", "summary"))
"""Words of titles and headings; a line that contains one is not a name."""


def person_name(record: ResumeRecord) -> str:
    """Return the name as written in the résumé; empty if none of the first lines is a name beyond doubt. A line is a
    name if it is labeled as such, if it occurs in the person's mailbox or an address, or if it is the first line and no
    field of the résumé."""
    lines = [each.strip() for each in record.text.splitlines() if each.strip()][:FIRST_LINES]
    own = _folded_name("".join(each for kind in ("email", "url") for each in record.contacts.get(kind, ())))
    fields = {_folded_name(each.value) for each in record.read or ()}
    first = ""
    for place, line in enumerate(lines):
        label = _LABEL.match(line)
        words = [*_words_of(_BREAK.split(line[label.end() :] if label else line)[0])]
        name, parts = " ".join(words), _folded_name(" ".join(words), " ").split()
        if not words or len(name) > LONGEST_NAME or _folded_name(name) in fields or _TITLES & {*parts}:
            continue
        if label or any(len(each) > 2 and each in own for each in parts):
            return name
        if place == 0 and record.read and 2 <= len(words) <= 4:
            first = name
    return first


def _words_of(text: str) -> Iterator[str]:
    """Yield the words of a name; nothing if the text contains anything else, such as a lower-case word or a figure."""
    words = text.split()
    if 1 <= len(words) <= 6 and all(_WORD.fullmatch(each) and _begins_large(each) for each in words):
        yield from words


def _begins_large(word: str) -> bool:
    """True for a capital letter, a letter of a script without capitals, and particles of names."""
    return word[0].lower() == word[0].upper() or word[0].isupper() or word in _PARTICLES


def _folded_name(text: str, between: str = "") -> str:
    plain = unicodedata.normalize("NFKD", text.casefold())
    return between.join(re.findall(r"[^\W\d_]+", "".join(each for each in plain if not unicodedata.combining(each))))


# --- profile changes --------------------------------------------------------------------------------------------------
# Compute the changes that a résumé would make to the user's profile, field by field.


MOST_QUOTES = 60
"""Maximum number of quotes per list."""
MONTHS_OF_A_YEAR = 12
LONGEST_LINE, LONGEST_TEXT, MOST_ITEMS, MOST_SCHOOLS = 300, 5_000, 100, 30
"""Limits in docs/candidate-app-api.yaml."""
_TEXTS: Mapping[ProfileField, tuple[str, int]] = {
    "headline": ("/basics/label", LONGEST_LINE),
    "location": ("/basics/location", LONGEST_LINE),
    "summary": ("/basics/summary", LONGEST_TEXT),
}
_NAMED = {"title": "position", "company": "name", "location": "location"}
_LISTS: Mapping[ProfileField, str] = {"skills": "/skills/", "languages": "/languages/"}


def profile_changes(
    record: ResumeRecord, profile: Mapping[str, Any], today: date | None = None
) -> dict[str, Any] | None:
    """Return the arguments of `update_profile`; None if the profile already has everything. Existing list entries are
    kept. With `today`, role, place and years of experience are derived from the positions if no field states them."""
    read = record.read or ()
    proposed: dict[ProfileField | Positions, tuple[Any, list[ReadField]]] = {}
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
    known_positions = _list(profile.get("positions"))
    if positions := list(_new_positions(known_positions, read)):
        values = [*known_positions, *(position for position, _ in positions)]
        proposed["positions"] = (values, [each for _, fields in positions for each in fields])
    if today:
        proposed = {**_from_positions(read, today), **proposed}
    fitting = {field: each for field, each in proposed.items() if _fits(field, each[0])}
    if not fitting:
        return None
    return {
        "changes": [{"field": field, "value": value} for field, (value, _) in fitting.items()],
        "quotes": {field: quotes_of(record, fields) for field, (_, fields) in fitting.items()},
    }


_MONTH = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d\d))?")


def _from_positions(read: Sequence[ReadField], today: date) -> dict[ProfileField, tuple[Any, list[ReadField]]]:
    """Return role and place of the current position, and the whole years of all positions together, counting
    overlapping months once. Each comes with the fields that it is derived from."""
    found: dict[ProfileField, tuple[Any, list[ReadField]]] = {}
    months, dates = set[int](), list[ReadField]()
    positions = _items_of(read, "work")
    for item in positions:
        start, end = item.get("startDate"), item.get("endDate")
        since, until = _month_of(start, today), _month_of(end, today)
        if start and start.value and since and until:
            months |= {*range(since, until)}
            dates += [start, *([end] if end else [])]
    present = next((each for each in positions if "startDate" in each and not _ended(each)), {})
    if role := [present[name] for name in ("position", "name") if name in present]:
        found["headline"] = (", ".join(each.value for each in role), role)
    if place := present.get("location"):
        found["location"] = (place.value, [place])
    if len(months) >= MONTHS_OF_A_YEAR:
        found["years_of_experience"] = (len(months) // MONTHS_OF_A_YEAR, dates)
    return found


def _ended(position: Mapping[str, ReadField]) -> bool:
    return "endDate" in position and bool(position["endDate"].value)


def _month_of(written: ReadField | None, today: date) -> int | None:
    """Return the date's month as a number of months since the year 0 (January if only the year is given); None if the
    date is ambiguous."""
    if written is None or not written.value:
        return today.year * MONTHS_OF_A_YEAR + today.month
    found = _MONTH.match(written.value)
    return int(found["year"]) * MONTHS_OF_A_YEAR + int(found["month"] or 1) if found else None


def _fits(field: ProfileField | Positions, value: Any) -> bool:
    """False if the profile has additional content that could not be written back."""
    try:
        FieldChange(field=field, value=value)
    except ValidationError:
        return False
    return True


def quotes_of(record: ResumeRecord, fields: Sequence[ReadField]) -> list[dict[str, str]]:
    """Return the quotes of these fields, without duplicates."""
    source = QuotedSource(id=record.id, text=record.text)
    spans = dict.fromkeys((each.start, each.end) for each in fields)
    found = [FoundQuote(source, start, end) for start, end in list(spans)[:MOST_QUOTES]]
    return [_shown_quote(record.name, each).model_dump() for each in found]


def _shown_quote(name: str, found: FoundQuote) -> ShownQuote:
    before, after = found.around
    return ShownQuote(source=name, before=before, quote=found.text, after=after)


def _new_names(known: Sequence[str], found: Iterable[ReadField]) -> Iterator[ReadField]:
    said = {_name_in(each) for each in known}
    for each in found:
        if _name_in(each.value) not in said and len(each.value) <= LONGEST_LINE:
            said.add(_name_in(each.value))
            yield each


def _name_in(item: str) -> str:
    """Return the name without text in parentheses at the end: "English (native)"."""
    return _folded(item.partition("(")[0] or item)


def _new_schools(known: Sequence[Any], read: Sequence[ReadField]) -> Iterator[tuple[dict[str, Any], list[ReadField]]]:
    """Yield each school that the profile does not have with this degree."""
    said = {(_folded(each.get("school")), _folded(each.get("degree"))) for each in known if isinstance(each, dict)}
    for item in _items_of(read, "education"):
        if "institution" not in item or any(len(each.value) > LONGEST_LINE for each in item.values()):
            continue
        school, degree = item["institution"].value, item["studyType"].value if "studyType" in item else ""
        year = item["endDate"].value[:4] if "endDate" in item else ""
        # The profile may contain the school without the degree.
        if (_folded(school), _folded(degree)) not in said:
            value: dict[str, Any] = {"school": school, **({"degree": degree} if degree else {})}
            yield {**value, **({"year": int(year)} if year else {})}, list(item.values())


def _new_positions(
    known: Sequence[Mapping[str, Any]], read: Sequence[ReadField]
) -> Iterator[tuple[dict[str, Any], list[ReadField]]]:
    """Yield each position that the profile lacks, without lines that may belong to another position."""
    for item in _items_of(read, "work"):
        value: dict[str, Any] = {name: item[theirs].value for name, theirs in _NAMED.items() if theirs in item}
        for name, theirs in (("start", "startDate"), ("end", "endDate")):
            if date := item.get(theirs):
                is_open = not date.value and not any(map(str.isdigit, date.original))
                value[name] = PRESENT if is_open else date.value or date.original
        told = {name: each for name, each in item.items() if name == "summary" or name.startswith("highlights/")}
        is_checked = any(each.is_checked for name, each in item.items() if name not in told)
        lines = [each.value for each in told.values() if each.is_checked or not is_checked]
        if value.keys() & {"title", "company"} and not any(_is_same_position(value, each) for each in known):
            yield {**value, **({"lines": lines} if lines else {})}, list(item.values())


def _is_same_position(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True if the employer is the same, and either title and first year or the period are the same, too."""
    company, title, start, end = (
        tuple(_folded(each.get(name)) for each in (one, other)) for name in ("company", "title", "start", "end")
    )
    is_same_year = start[0][:4] == start[1][:4] or not all(start)
    is_same_period = bool(start[0]) and start[0] == start[1] and end[0] == end[1]
    return company[0] == company[1] and ((title[0] == title[1] and is_same_year) or is_same_period)


def _items_of(read: Iterable[ReadField], section: str) -> list[dict[str, ReadField]]:
    """Return the fields of each position or school, by name. `section` is a section of JSON Resume: `work` or
    `education`."""
    items: dict[str, dict[str, ReadField]] = {}
    begins = f"/{section}/"
    for each in read:
        if each.path.startswith(begins):
            number, _, name = each.path.removeprefix(begins).partition("/")
            items.setdefault(number, {})[name] = each
    return list(items.values())


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_same(value: str, known: Any) -> bool:
    return _folded(value) == _folded(known)


def _folded(value: Any) -> str:
    return " ".join(visible(str(value or "")).casefold().split())


def unread_lines(record: ResumeRecord) -> list[str]:
    """Return the lines of the text that belong to no field, except the line with the name."""
    at, lines, name = 0, list[str](), person_name(record)
    for line in record.text.split("\n"):
        end = at + len(line)
        if any(map(str.isalnum, line.replace(name, ""))) and not any(
            each.start < end and at < each.end for each in record.read or ()
        ):
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
    """Return the profile fields as the résumé would change them; None if it adds nothing to the profile."""
    if record.status in UNDER_WAY:
        return None
    known = {**profile, "positions": positions_of(profile.get("employment", ()))}
    changes = (profile_changes(record, known) or {"changes": ()})["changes"]
    return {"from": source_of(record), **{each["field"]: each["value"] for each in changes}} if changes else None


def json_resume_document(record: ResumeRecord) -> dict[str, Any]:
    """Return the JSON Resume document with contact details, only for its owner."""
    document = json_resume(record.read or ())
    contacts = {name: values[0] for name, values in record.contacts.items() if name in ("email", "phone", "url")}
    name = {"name": found} if (found := person_name(record)) else {}
    return {**document, "basics": {**name, **document.get("basics", {}), **contacts}}
