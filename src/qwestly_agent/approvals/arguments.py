"""Arguments of the actions, as pydantic models that remove invisible characters and forbid unknown fields."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationInfo,
    field_validator,
)

from qwestly_agent.clients.candidate_app import CardText
from qwestly_agent.domain.candidate import Preference, ProfileField
from qwestly_agent.text.clean import visible

MOST_FORGOTTEN = 200
"""Maximum number of memories in one approval, with their lineage."""


def _clean(text: str) -> str:
    return visible(text).strip()


def _in_one_line(text: str) -> str:
    return " ".join(visible(text).split())


Line: TypeAlias = Annotated[str, AfterValidator(_in_one_line), StringConstraints(min_length=1, max_length=300)]
Text: TypeAlias = Annotated[str, AfterValidator(_clean), StringConstraints(min_length=1, max_length=5000)]
AboutText: TypeAlias = Annotated[str, AfterValidator(_clean), StringConstraints(min_length=1, max_length=2600)]
Lines: TypeAlias = Annotated[list[Line], Field(max_length=100)]
ApprovalId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
CardId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
DraftId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
MemoryIds: TypeAlias = Annotated[
    list[Annotated[str, StringConstraints(min_length=1, max_length=128)]], Field(min_length=1, max_length=100)
]
LinkedInUrl: TypeAlias = Annotated[
    str,
    StringConstraints(max_length=300, pattern=r"^https://([a-z]{2,3}\.)?linkedin\.com/in/[A-Za-z0-9_%-]{1,200}/?$"),
]


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Education(_Arguments):
    school: Line
    degree: Line | None = None
    year: Annotated[int, Field(ge=1900, le=2100)] | None = None


Value: TypeAlias = str | float | list[str] | list[Education]

_FIELDS: Mapping[str, TypeAdapter[Any]] = {
    "headline": TypeAdapter(Line),
    "location": TypeAdapter(Line),
    "summary": TypeAdapter(Text),
    "skills": TypeAdapter(Lines),
    "languages": TypeAdapter(Lines),
    "years_of_experience": TypeAdapter(Annotated[float, Field(ge=0, le=80)]),
    "education": TypeAdapter(Annotated[list[Education], Field(max_length=30)]),
    "work_mode": TypeAdapter(Line),
    "availability": TypeAdapter(Line),
    **{name: TypeAdapter(Lines) for name in ("roles", "locations", "industries", "company_sizes")},
}


def _coerced(name: str | None, value: Value) -> Value:
    """Convert the value to its field's type and remove invisible characters, so that what is done is what is shown."""
    return _FIELDS[name].validate_python(plain(value)) if name else value


class ProfileChange(_Arguments):
    field: ProfileField
    value: Value | None = None
    """None removes it."""

    @field_validator("value")
    @classmethod
    def _fits(cls, value: Value | None, info: ValidationInfo) -> Value | None:
        return None if value is None else _coerced(info.data.get("field"), value)


class PreferenceChange(_Arguments):
    name: Preference
    value: str | list[str] | None = None
    """None removes it."""

    @field_validator("value")
    @classmethod
    def _fits(cls, value: Value | None, info: ValidationInfo) -> Value | None:
        return None if value is None else _coerced(info.data.get("name"), value)


class CardPublication(_Arguments):
    card_id: CardId
    draft_id: DraftId
    content: CardText


class CardName(_Arguments):
    card_id: CardId


class CardActivation(CardName):
    active: bool = True
    """False: no card is shown first any more."""


class Ingestion(_Arguments):
    url: LinkedInUrl
    refresh: bool = False


class LinkedInAbout(_Arguments):
    draft_id: DraftId
    text: AboutText


class Keeping(_Arguments):
    memory_ids: MemoryIds
    conversation_id: str


class Forgetting(_Arguments):
    memories: Annotated[dict[str, str], Field(min_length=1, max_length=MOST_FORGOTTEN)]
    """`as_shown` of each memory by id, with the whole lineage of each."""


def plain(value: Any) -> Any:
    """Convert the value to JSON types, without fields that are None."""
    return TypeAdapter(Any).dump_python(value, mode="json", exclude_none=True)
