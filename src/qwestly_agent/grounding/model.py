"""The types of grounding: a source, a statement that quotes it, the verdict on it, and a figure of either's text."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.grounding.dates import Day
from qwestly_agent.grounding.units import Unit

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


@dataclass(frozen=True)
class Figure:
    start: int
    end: int
    """Of the number itself; its unit may stand before or behind."""
    text: str
    """With its unit, as written."""
    values: frozenset[Fraction] = frozenset()
    """More than one where the same digits mean different numbers ("1.200"). Empty for a date, and where unread."""
    unit: Unit | None = None
    days: tuple[Day, ...] = ()
    unread: bool = False
    rate: Unit | None = None
    """The time that it is counted by: "a week" of "40 hours a week"."""
    beside: frozenset[Unit] = frozenset()
    """Units of the other figures of its sentence, where it has none: "90 kilos a week, now 27"."""
    leeway: Fraction = Fraction(0)
    """The share by which its words let it differ: "nearly 300"."""
    scale: int = 1
    """A thousand, where a word or letter behind its digits says so."""
    is_fall: bool = False
    """Whether its sentence says that so many per cent went."""

    @property
    def year(self) -> int | None:
        """The year, where it is a bare number that can be one."""
        [value] = self.values if len(self.values) == 1 else [Fraction(0)]
        return int(value) if self.unit is None and value.denominator == 1 and 1900 <= value <= 2100 else None

    @property
    def amounts(self) -> frozenset[Fraction]:
        """In the smallest unit of its dimension."""
        return frozenset(value * self.unit.factor for value in self.values) if self.unit else self.values
