"""The candidate app's collections and fields, as assumed."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

# --- candidate --------------------------------------------------------------------------------------------------------
# The candidate's fields that a user may have changed.


ProfileField: TypeAlias = Literal[
    "headline", "location", "summary", "skills", "education", "languages", "years_of_experience"
]
Positions: TypeAlias = Literal["positions"]
"""The positions, which the candidate app stores separately from the other fields."""
Preference: TypeAlias = Literal["roles", "locations", "work_mode", "industries", "company_sizes", "availability"]
WrittenField: TypeAlias = ProfileField | Positions | Preference
"""A field that can be set through the write API."""
WORK_MODE_LABELS = (
    (
        "remote",
        "fully remote",
        "remotely",
        "from home",
        "home office",
        "télétravail",
        "à distance",
        "remoto",
        "en remoto",
    ),
    ("hybrid", "hybrides Arbeiten", "hybride", "híbrido"),
    ("on-site", "onsite", "on site", "in the office", "vor Ort", "im Büro", "sur site", "au bureau", "presencial"),
)
"""Labels of each way of working, as used by people and in forms. All labels in a group mean the same."""


# --- candidate shapes -------------------------------------------------------------------------------------------------
# The assumed collections and shapes of the candidate app. If an assumption is wrong, only this file has to change.
#
# docs/candidate-app.md lists the assumptions and what is known about each.


Fields: TypeAlias = dict[str, Any]

CANDIDATES = "candidates_enhanced"
EMPLOYMENT = "employment_stints_enhanced"
PREFERENCES = "preferences_enhanced"
LINKEDIN = "linkedin_profiles"
LINKEDIN_SUGGESTIONS = "linkedin_profile_suggestions"
LINKEDIN_SUMMARIES = "linkedin_summaries"
PROFILE_CACHE = "CandidateProfileCache"
CARDS = "qc_sections"

OWNER = "user_id"
"""The field that contains the user's id in every document."""
EMAIL = "email"
"""The candidate's email address; used only for mail."""


def _as_named(*names: str) -> dict[str, str]:
    return {name: name for name in names}


READ_FIELDS: Mapping[str, Mapping[str, str]] = {
    CANDIDATES: _as_named(
        "name", "headline", "location", "summary", "skills", "education", "languages", "years_of_experience"
    ),
    EMPLOYMENT: _as_named("company", "title", "location", "start_date", "end_date", "is_current", "description"),
    PREFERENCES: _as_named("roles", "locations", "work_mode", "industries", "company_sizes", "availability"),
    LINKEDIN: _as_named("url", "headline", "about"),
    LINKEDIN_SUGGESTIONS: _as_named("draft_id", "section", "text"),
    LINKEDIN_SUMMARIES: _as_named("summary"),
    PROFILE_CACHE: _as_named("summary", "strengths"),
    CARDS: _as_named("card_id", "style", "headline", "sections", "active"),
}
"""The allow-list: our field name → the name in the candidate app's documents. Other fields never reach a prompt: pay,
contact details, fields added later."""
EMPTY = (None, "", [], {})
"""Values that carry no information."""
PRESENT = "present"
"""The end date of a current position."""
HEADING, CLAIMS = "heading", "claims"
"""The candidate app's field names for the visible parts of a card's section."""


def projection(collection: str) -> dict[str, int]:
    return {"_id": 0, **dict.fromkeys(READ_FIELDS[collection].values(), 1)}


def query(collection: str, user_id: str, **fields: Any) -> Fields:
    """Return a query for the user's documents, given our field names."""
    asked = {OWNER: user_id}
    for name, value in fields.items():
        asked[READ_FIELDS[collection][name]] = value
    return asked


def to_our_fields(collection: str, document: Mapping[str, Any] | None) -> Fields:
    """Return the allowed, non-empty fields of the candidate app's document under our names."""
    found: Fields = {}
    if not document:
        return found
    for name, theirs in READ_FIELDS[collection].items():
        value = document.get(theirs)
        if collection == CARDS and name == "sections":
            value = sections_of(value)
        if value not in EMPTY:
            found[name] = value
    return found


def positions_of(employment: Iterable[Mapping[str, Any]]) -> list[Fields]:
    """Return the positions in the format of the write API, latest first: `title`, `company`, `location`, `start`, `end`
    and `lines`, without empty ones."""
    found = [{name: value for name, value in _position(each).items() if value not in EMPTY} for each in employment]
    return sorted(filter(None, found), key=position_order, reverse=True)


def position_order(position: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the key by which positions are sorted everywhere."""
    start, end, *names = (str(position.get(name) or "") for name in ("start", "end", "company", "title", "location"))
    return end == PRESENT, start, end, *names


def _position(stint: Mapping[str, Any]) -> Fields:
    return {
        **{name: str(stint.get(name) or "") for name in ("title", "company", "location")},
        "start": _day(stint.get("start_date")),
        "end": PRESENT if stint.get("is_current") in (True, 1) else _day(stint.get("end_date")),
        "lines": [line for line in str(stint.get("description") or "").splitlines() if line.strip()],
    }


def _day(value: Any) -> str:
    return f"{value:%Y-%m-%d}" if isinstance(value, datetime) else str(value or "")


def sections_of(stored: Any) -> list[Fields]:
    """Return sections with `heading` and `claims`; either may be empty, as in the stored document."""
    if not isinstance(stored, list):
        return []
    sections = [each for each in stored if isinstance(each, dict)]
    return [{"heading": each.get(HEADING) or "", "claims": each.get(CLAIMS) or []} for each in sections]
