"""The types of grounding: a source, a statement that quotes it, its verdict, and a figure in either text."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.grounding.dates import Day
from qwestly_agent.grounding.units import Unit

Outcome: TypeAlias = Literal["supported", "refused", "unchecked"]
"""`unchecked`: steps 1 and 2 found no contradiction, and no judge has decided yet."""


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class QuotedSource(_Frozen):
    id: str
    text: str
    trust: str = "user_said"
    """Its origin, a `Trust` of domain/memory.py. Statements are judged in batches with the same lowest trust."""
    language: str = ""
    """Two letters (ISO 639-1); empty if unknown."""
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


Look: TypeAlias = Literal["quotes", "facts", "judge"]


class GroundingVerdict(_Frozen):
    model_config = ConfigDict(extra="ignore")  # stored drafts may have fields of an earlier version

    outcome: Outcome
    refused_by: Look | None = None
    reasons: tuple[str, ...] = ()
    """Why it is refused, in sentences for the user and for the model that rewrites it."""
    unread: tuple[str, ...] = ()
    """Figures, as written, that are not literally in the quotes; only the judge can compare them."""
    names: tuple[str, ...] = ()
    """Words with a capital letter that the quotes lack."""

    judged_by: str = ""
    """The model that supported or refused the statement; empty if none was asked."""

    @property
    def marks(self) -> tuple[str, ...]:
        """Everything that code did not find in the quotes, as written: the judge and all readers look at it."""
        return (*self.unread, *self.names)

    @property
    def has_all_figures(self) -> bool:
        """True if code alone found every figure. Used if no judge is asked."""
        return self.outcome != "refused" and not self.unread


@dataclass(frozen=True)
class Figure:
    start: int
    end: int
    """Start and end of the number itself; its unit may stand before or after it."""
    text: str
    """The figure as written, with its unit."""
    values: frozenset[Fraction] = frozenset()
    """More than one if the digits are ambiguous ("1.200"); empty for a date and for an unread figure."""
    unit: Unit | None = None
    days: tuple[Day, ...] = ()
    """The dates that it may denote or, if `is_span`, the two ends of the range."""
    is_span: bool = False
    unread: bool = False
    rate: Unit | None = None
    """The period of a rate: "a week" in "40 hours a week"."""
    beside: frozenset[Unit] = frozenset()
    """Units of the other figures in the sentence, if this one has none: "90 kilos a week, now 27"."""
    leeway: Fraction = Fraction(0)
    """Above 0 if the figure is approximate ("nearly 300"). It is then neither derived nor used to refuse a
    statement."""
    scale: int = 1
    """Factor of a scale word or letter after the digits: 1,000 for "k"."""
    is_fall: bool = False
    """True for a percentage decrease."""
    is_rise: bool = False
    """True for a percentage of increase."""

    def end_in(self, text: str) -> int:
        """Return where the figure ends in its text, including a unit that follows it."""
        return self.start + len(self.text) if self.text and text.startswith(self.text, self.start) else self.end

    @property
    def year(self) -> int | None:
        """The year, if this is a number without a unit between 1900 and 2100."""
        [value] = self.values if len(self.values) == 1 else [Fraction(0)]
        return int(value) if self.unit is None and value.denominator == 1 and 1900 <= value <= 2100 else None

    @property
    def amounts(self) -> frozenset[Fraction]:
        """The values in the smallest unit of the dimension."""
        return frozenset(value * self.unit.factor for value in self.values) if self.unit else self.values
