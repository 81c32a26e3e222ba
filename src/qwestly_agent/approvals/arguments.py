"""Argument types shared by several actions: pydantic models that remove invisible characters and forbid unknown
fields."""

from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, TypeAdapter

from qwestly_agent.text.clean import visible


def _in_one_line(text: str) -> str:
    return " ".join(visible(text).split())


Line: TypeAlias = Annotated[str, AfterValidator(_in_one_line), StringConstraints(min_length=1, max_length=300)]
ApprovalId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
CardId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
DraftId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]


class Arguments(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


def to_json_types(value: Any) -> Any:
    """Convert the value to JSON types, without fields that are None."""
    return TypeAdapter(Any).dump_python(value, mode="json", exclude_none=True)
