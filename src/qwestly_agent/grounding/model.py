"""The types of grounding: a source, a statement that quotes it, the verdict on it, and a figure of either's text."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.grounding.dates import Day
from qwestly_agent.grounding.units import Unit

Outcome: TypeAlias = Literal["supported", "refused", "unchecked"]
"""`unchecked`: looks 1 and 2 found nothing against it, and no judge has decided if its quotes support it."""


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class QuotedSource(_Frozen):
    id: str
    text: str
    trust: str = "user_said"
    """Where it comes from, a `Trust` of domain/memory.py; statements are judged in batches of equal lowest trust."""
    language: str = ""
    """Two letters (ISO 639-1); empty if unknown."""
    fields: Mapping[str, str] = Field(default_factory=dict)
    """Fields of a structured source: employer, title, from, to, degree, school."""
    context: str = ""
    """The text around it. It helps the judge to understand a quote, but is not evidence."""


class Quote(_Frozen):
    source: str
    """The source's id."""
    text: str
    """Verbatim except for white space, case, quotation marks and Unicode compatibility (NFKC)."""


class Statement(_Frozen):
    text: str
    quotes: tuple[Quote, ...] = ()
    language: str = ""


Look: TypeAlias = Literal["quotes", "facts", "judge"]


class GroundingVerdict(_Frozen):
    outcome: Outcome
    refused_by: Look | None = None
    reasons: tuple[str, ...] = ()
    """Sentences on why it is refused, for a person and for the model that rewrites it."""
    arithmetic: tuple[str, ...] = ()
    """Each step that code found between a quoted figure and one of the statement: `80k → 52k: −35 %`."""
    unread: tuple[str, ...] = ()
    """Figures, as written, that do not stand in the quotes as they are: only the judge compares them."""

    judged_by: str = ""
    """The model that supported or refused it; empty if none was asked."""

    @property
    def has_all_figures(self) -> bool:
        """True if code alone found each figure: what counts where no judge is asked."""
        return self.outcome != "refused" and not self.unread


@dataclass(frozen=True)
class Figure:
    start: int
    end: int
    """Start and end of the number itself; its unit may stand before or after."""
    text: str
    """The figure as written, with its unit."""
    values: frozenset[Fraction] = frozenset()
    """More than one if the digits are ambiguous ("1.200"). Empty for a date and if unread."""
    unit: Unit | None = None
    days: tuple[Day, ...] = ()
    """The days that it may mean; if `is_span`, the two that it names."""
    is_span: bool = False
    unread: bool = False
    rate: Unit | None = None
    """The period of a rate: "a week" of "40 hours a week"."""
    beside: frozenset[Unit] = frozenset()
    """Units of the other figures of its sentence, if it has none itself: "90 kilos a week, now 27"."""
    leeway: Fraction = Fraction(0)
    """Above 0 if its words say that it is only about right: "nearly 300". Code neither derives nor refuses by it."""
    scale: int = 1
    """The factor of a scale word or letter behind its digits: 1,000 for "k"."""
    is_fall: bool = False
    """True if it is a percentage of decrease."""
    is_rise: bool = False
    """True if it is a percentage of increase."""

    def end_in(self, text: str) -> int:
        """Return where it ends in its text, with the unit behind it, if it has one there."""
        return self.start + len(self.text) if self.text and text.startswith(self.text, self.start) else self.end

    @property
    def year(self) -> int | None:
        """The year, if it is a number without a unit between 1900 and 2100."""
        [value] = self.values if len(self.values) == 1 else [Fraction(0)]
        return int(value) if self.unit is None and value.denominator == 1 and 1900 <= value <= 2100 else None

    @property
    def amounts(self) -> frozenset[Fraction]:
        """The values in the smallest unit of its dimension."""
        return frozenset(value * self.unit.factor for value in self.values) if self.unit else self.values
