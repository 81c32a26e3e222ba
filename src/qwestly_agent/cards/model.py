"""A card, its claims, and the evidence they cite."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["profile", "employment", "education", "memory", "document", "interview", "person"]
Trust = Literal["user_said", "user_document", "tool", "external", "inferred", "confirmed"]
Style = Literal["standard", "concise", "story"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Fields(_Frozen):
    """What structured evidence says, apart from its text. Dates as the source writes them: 2019, 2019-03, present."""

    company: str = ""
    title: str = ""
    start: str = ""
    end: str = ""
    """`present` where it goes on; empty where nobody said."""
    degree: str = ""
    school: str = ""
    skills: tuple[str, ...] = ()


class Evidence(_Frozen):
    id: str
    kind: Kind
    trust: Trust
    text: str
    source: str
    """What a person reads as its origin: "résumé.pdf", "your message of 3 May"."""
    fields: Fields = Field(default_factory=Fields)

    @property
    def publishable(self) -> bool:
        """Whether it may support what others read: guesses, and what strangers wrote, may not."""
        return self.trust not in ("inferred", "external")

    @property
    def by_person(self) -> bool:
        return self.kind == "person" or self.trust == "confirmed"


class Claim(_Frozen):
    text: str
    evidence: tuple[str, ...] = ()


class Section(_Frozen):
    kind: str
    heading: str
    claims: tuple[Claim, ...]


class Card(_Frozen):
    style: Style
    headline: Claim | None
    """None once the gate left it out."""
    sections: tuple[Section, ...]


class Verdict(_Frozen):
    missing: tuple[str, ...] = ()
    """What the cited evidence does not say, in sentences for a person and for the model that drafts again."""
    confirmed_by: tuple[str, ...] = ()
    """The cited evidence that a person wrote or confirmed for this."""

    @property
    def supported(self) -> bool:
        return not self.missing


class LeftOut(_Frozen):
    claim: Claim
    why: tuple[str, ...]


class CheckedCard(_Frozen):
    card: Card
    """Only what is supported."""
    left_out: tuple[LeftOut, ...]
    confirmed: tuple[Claim, ...]
    """Kept claims that rest, in part at least, on what a person wrote or confirmed."""


EvidenceById = Mapping[str, Evidence]

NOT_DRAFTED = "Your card could not be drafted. Nothing was published. Please ask for it again."
