"""The words of grounding: a source, a statement that quotes it, and the verdict on the statement."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Outcome: TypeAlias = Literal["supported", "refused", "unchecked"]
"""`unchecked`: looks 1 and 2 found nothing against it, and no judge has said whether it means what its quotes mean."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class QuotedSource(_Frozen):
    id: str
    text: str
    trust: str = "user_said"
    """Where it comes from, a `Trust` of domain/memory.py; statements are judged in batches of equal lowest trust."""
    language: str = ""
    """Two letters (ISO 639-1); empty where nobody knows."""
    fields: Mapping[str, str] = Field(default_factory=dict)
    """What a structured source says apart from its text: employer, title, from, to, degree, school."""
    context: str = ""
    """What stood around the text. It helps a judge to understand a quote, and supports nothing."""


class Quote(_Frozen):
    source: str
    """The source's id."""
    text: str
    """Verbatim, but for white space, case, quotation marks and Unicode compatibility (NFKC)."""


class Statement(_Frozen):
    text: str
    quotes: tuple[Quote, ...] = ()
    language: str = ""


Look: TypeAlias = Literal["quotes", "facts", "judge"]


class GroundingVerdict(_Frozen):
    outcome: Outcome
    refused_by: Look | None = None
    reasons: tuple[str, ...] = ()
    """Why it is refused: sentences for a person, and for the model that writes it again."""
    arithmetic: tuple[str, ...] = ()
    """Each step that code found between a quoted figure and one of the statement: `80k → 52k: −35 %`."""
    unread: tuple[str, ...] = ()
    """Figures, as written, that code cannot read whole: nobody compared them but the judge."""
