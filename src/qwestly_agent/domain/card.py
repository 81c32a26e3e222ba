"""A card, its claims, and the evidence they quote."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.grounding.model import GroundingVerdict, Quote
from qwestly_agent.text.clean import visible

Kind = Literal["profile", "employment", "education", "memory", "document", "interview", "person"]
Trust = Literal["user_said", "user_document", "tool", "external", "inferred", "confirmed"]
TailoredKind = Literal["resume", "cover_letter"]
"""Documents that are written for one job."""
Style = Literal["standard", "concise", "story"]


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class Fields(_Frozen):
    """The fields of structured evidence, beside its text. Dates as the source writes them: 2019, 2019-03, present."""

    company: str = ""
    title: str = ""
    start: str = ""
    end: str = ""
    """`present` if it is going on; empty if unknown."""
    degree: str = ""
    school: str = ""
    skills: tuple[str, ...] = ()


class Evidence(_Frozen):
    id: str
    kind: Kind
    trust: Trust
    text: str
    source: str
    """Its origin for a person: "résumé.pdf", "your message of 3 May"."""
    fields: Fields = Field(default_factory=Fields)

    @property
    def publishable(self) -> bool:
        """True if it may support published text: guesses and strangers' text may not."""
        return self.trust not in ("inferred", "external")

    @property
    def by_person(self) -> bool:
        return self.kind == "person" or self.trust == "confirmed"


def person_said(number: int, words: str, source: str = "your note") -> Evidence:
    """Make evidence of words that a person typed for a document."""
    return Evidence(id=f"person:{number}", kind="person", trust="confirmed", text=visible(words), source=source)


class Claim(_Frozen):
    text: str
    quotes: tuple[Quote, ...] = ()
    """Quotes of evidence by its id."""
    arithmetic: tuple[str, ...] = ()
    """Steps by which its figures follow from quoted ones."""
    unchecked: bool = False
    """True if no judge was available to check that its quotes support it."""
    judged_by: str = ""
    """The model that read it against its quotes; empty if none did."""

    @property
    def evidence(self) -> tuple[str, ...]:
        """Ids of its evidence, each once."""
        return tuple(dict.fromkeys(quote.source for quote in self.quotes))


class Section(_Frozen):
    kind: str
    heading: str
    claims: tuple[Claim, ...]


class Card(_Frozen):
    style: Style
    headline: Claim | None
    """None if none is supported."""
    sections: tuple[Section, ...]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims in reading order."""
        return (*([self.headline] if self.headline else []), *(c for each in self.sections for c in each.claims))


class LeftOut(_Frozen):
    claim: Claim
    why: tuple[str, ...]
    """Sentences for a person."""


class CheckedCard(_Frozen):
    card: Card
    """Without what is refused."""
    left_out: tuple[LeftOut, ...]


class SectionDraft(_Frozen):
    """A section that is being written and checked."""

    round: int = 1
    section: Section
    """The section with all claims as written."""
    verdicts: tuple[GroundingVerdict, ...] = ()
    """One verdict per claim, once grounded."""
    rewritten: bool = False
    tries: int = 0
    """How often its judge was unavailable."""
    done: bool = False

    @property
    def unchecked(self) -> bool:
        return any(verdict.outcome == "unchecked" for verdict in self.verdicts)

    @property
    def standing(self) -> Section:
        """Without what is refused."""
        pairs = zip(self.section.claims, self.verdicts, strict=True)
        claims = tuple(_with(claim, verdict) for claim, verdict in pairs if verdict.outcome != "refused")
        return self.section.model_copy(update={"claims": claims})

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        pairs = zip(self.section.claims, self.verdicts, strict=True)
        return tuple(LeftOut(claim=claim, why=v.reasons) for claim, v in pairs if v.outcome == "refused")


def _with(claim: Claim, verdict: GroundingVerdict) -> Claim:
    told = {
        "arithmetic": verdict.arithmetic,
        "unchecked": verdict.outcome == "unchecked",
        "judged_by": verdict.judged_by,
    }
    return claim.model_copy(update=told)


class Requirement(_Frozen):
    """Something that an advert asks for, and whether its person's own words say that they have it."""

    text: str
    advert_quote: str
    met: Literal["met", "partly", "not_met"] = "not_met"
    quotes: tuple[Quote, ...] = ()
    """Of evidence by its id; empty where it is not met."""


class Coverage(_Frozen):
    requirements: tuple[Requirement, ...]
    checked: bool = False
    """True once a judge has read what is said to be met."""


EvidenceById = Mapping[str, Evidence]

NOT_DRAFTED_ANEW = "It couldn’t be drafted again, and nothing was changed. Please say in the chat how you want it."
NOT_WRITTEN = "It could not be written. Please ask for it again."
NOT_DRAFTED = "Your card could not be drafted. Nothing was published. Please ask for it again."
