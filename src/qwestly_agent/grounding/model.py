"""The types of grounding: a source, a statement that quotes it, and its verdict."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Outcome: TypeAlias = Literal["supported", "refused", "unchecked"]
"""`unchecked`: steps 1 and 2 found no contradiction, and no judge has decided yet."""


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class QuotedSource(_Frozen):
    id: str
    text: str
    trust: str = "user_said"
    """The source's origin, a `Trust` of domain/memory.py. Statements are judged in batches with the same lowest
    trust."""
    language: str = ""
    """Two-letter code (ISO 639-1); empty if unknown."""
    fields: Mapping[str, str] = Field(default_factory=dict)
    """Fields of a structured source: employer, title, from, to, degree, school."""
    context: str = ""
    """Surrounding text. It helps the judge to understand a quote, but is not evidence."""


class Quote(_Frozen):
    source: str
    """Id of the source."""
    text: str
    """Verbatim except for white space, case, quotation marks and Unicode compatibility (NFKC)."""


class Statement(_Frozen):
    text: str
    quotes: tuple[Quote, ...] = ()
    language: str = ""
    look_at: tuple[str, ...] = ()
    """Words that are always marked, so that the judge must give the words of the quotes that mean them."""


Look: TypeAlias = Literal["quotes", "facts", "judge"]


class GroundingVerdict(_Frozen):
    model_config = ConfigDict(extra="ignore")  # stored drafts may contain fields of an earlier version

    outcome: Outcome
    refused_by: Look | None = None
    reasons: tuple[str, ...] = ()
    """Why the statement is refused, in sentences for the user and for the model that rewrites it."""
    unread: tuple[str, ...] = ()
    """Figures, as written, that are not literally in the quotes; only the judge can compare them."""
    names: tuple[str, ...] = ()
    """Capitalized words that the quotes lack, and the statement's `look_at`."""

    judged_by: str = ""
    """The model that supported or refused the statement; empty if no model judged it."""

    @property
    def marks(self) -> tuple[str, ...]:
        """Everything that code did not find in the quotes, as written, for the judge and all readers to check."""
        return (*self.unread, *self.names)

    @property
    def has_all_figures(self) -> bool:
        """True if code alone found every figure. Used when no judge decides."""
        return self.outcome != "refused" and not self.unread


PlantKind: TypeAlias = Literal["figure", "year", "employer", "rank", "denial"]


class JudgedPlant(_Frozen):
    """How the judge answered a statement that code had made false."""

    kind: PlantKind
    language: str
    passed: bool
    """True if the judge supported the lie."""
