"""Values of a profile, of preferences and of job wishes, as arguments of the actions that change them."""

from collections.abc import Mapping
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar, get_args

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationInfo, field_validator
from typing_extensions import TypeIs

from qwestly_agent.action import Arguments, DraftId, Line, to_json_types
from qwestly_agent.domain.approval import ShownQuote
from qwestly_agent.domain.candidate import Preference, ProfileField
from qwestly_agent.domain.job import Wish
from qwestly_agent.text.clean import visible


def _clean(text: str) -> str:
    return visible(text).strip()


Text: TypeAlias = Annotated[str, AfterValidator(_clean), StringConstraints(min_length=1, max_length=5000)]
AboutText: TypeAlias = Annotated[str, AfterValidator(_clean), StringConstraints(min_length=1, max_length=2600)]
Lines: TypeAlias = Annotated[list[Line], Field(max_length=100)]
LinkedInUrl: TypeAlias = Annotated[
    str,
    StringConstraints(max_length=300, pattern=r"^https://([a-z]{2,3}\.)?linkedin\.com/in/[A-Za-z0-9_%-]{1,200}/?$"),
]


class Education(Arguments):
    school: Line
    degree: Line | None = None
    year: Annotated[int, Field(ge=1900, le=2100)] | None = None


Value: TypeAlias = str | float | list[str] | list[Education]
ChangedField: TypeAlias = ProfileField | Preference | Wish
F = TypeVar("F", bound=str)


def _adapter(shape: Any) -> TypeAdapter[Any]:
    """Return the adapter, which is built when such a field is changed for the first time."""
    return TypeAdapter(shape, config=ConfigDict(defer_build=True))


_FIELDS: Mapping[str, TypeAdapter[Any]] = {
    "headline": _adapter(Line),
    "location": _adapter(Line),
    "summary": _adapter(Text),
    "skills": _adapter(Lines),
    "languages": _adapter(Lines),
    "years_of_experience": _adapter(Annotated[float, Field(ge=0, le=80)]),
    "education": _adapter(Annotated[list[Education], Field(max_length=30)]),
    "work_mode": _adapter(Line),
    "availability": _adapter(Line),
    **{name: _adapter(Lines) for name in ("roles", "locations", "industries", "company_sizes")},
    "remote": _adapter(Literal["only", "no"]),
    "pay": _adapter(Annotated[str, StringConstraints(pattern=r"^[0-9]{1,8} [A-Z]{3}$")]),
    "never": _adapter(Annotated[list[Annotated[Line, StringConstraints(max_length=100)]], Field(max_length=50)]),
}


def is_wish(field: ChangedField) -> TypeIs[Wish]:
    return field in get_args(Wish)


def _coerced(name: str | None, value: Value) -> Value:
    """Convert the value to its field's type and remove invisible characters, so that the executed value is the one
    shown."""
    return _FIELDS[name].validate_python(to_json_types(value)) if name else value


class _Change(Arguments, Generic[F]):
    field: F
    value: Value | None = None
    """None removes it."""

    @field_validator("value")
    @classmethod
    def _fits(cls, value: Value | None, info: ValidationInfo) -> Value | None:
        return None if value is None else _coerced(info.data.get("field"), value)


class FieldChange(_Change[ChangedField]): ...


class ProfileChange(_Change[ProfileField]): ...


class ProfileChanges(Arguments):
    """Several fields of the profile, preferences and job wishes at once, each at most once."""

    changes: Annotated[tuple[FieldChange, ...], Field(min_length=1, max_length=len(_FIELDS))]
    quotes: Mapping[ChangedField, tuple[ShownQuote, ...]] = {}
    """Evidence of the user for each new value."""

    @field_validator("changes")
    @classmethod
    def _are_of_different_fields(cls, changes: tuple[FieldChange, ...]) -> tuple[FieldChange, ...]:
        if len({each.field for each in changes}) < len(changes):
            raise ValueError("a field can be changed once only")
        return changes

    @property
    def values(self) -> dict[ChangedField, Any]:
        return {each.field: to_json_types(each.value) for each in self.changes}

    @property
    def of_candidate_app(self) -> dict[ProfileField | Preference, Any]:
        return {each.field: to_json_types(each.value) for each in self.changes if not is_wish(each.field)}

    @property
    def wishes(self) -> dict[Wish, Any]:
        return {each.field: to_json_types(each.value) for each in self.changes if is_wish(each.field)}


class PreferenceChange(Arguments):
    name: Preference
    value: str | list[str] | None = None
    """None removes it."""

    @field_validator("value")
    @classmethod
    def _fits(cls, value: Value | None, info: ValidationInfo) -> Value | None:
        return None if value is None else _coerced(info.data.get("name"), value)


class Ingestion(Arguments):
    url: LinkedInUrl
    refresh: bool = False


class LinkedInAbout(Arguments):
    draft_id: DraftId
    text: AboutText
