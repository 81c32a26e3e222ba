"""A card, its claims, and the evidence that they quote."""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.grounding.model import GroundingVerdict, Quote, QuotedSource
from qwestly_agent.grounding.quotes import find_quote, quoted_words
from qwestly_agent.text.clean import visible

Kind = Literal["profile", "employment", "education", "memory", "document", "interview", "person"]
Trust = Literal["user_said", "user_document", "tool", "external", "inferred", "confirmed"]
TailoredKind = Literal["resume", "cover_letter"]
"""Documents that are written for a specific job."""
Style = Literal["standard", "concise", "story"]


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")


class Fields(_Frozen):
    """The fields of structured evidence, in addition to its text. Dates are as in the source: 2019, 2019-03,
    present."""

    company: str = ""
    title: str = ""
    start: str = ""
    end: str = ""
    """`present` if ongoing; empty if unknown."""
    degree: str = ""
    school: str = ""
    skills: tuple[str, ...] = ()


class Evidence(_Frozen):
    id: str
    kind: Kind
    trust: Trust
    text: str
    source: str
    """The source's name, for the user: "résumé.pdf", "your message of 3 May"."""
    fields: Fields = Field(default_factory=Fields)

    @property
    def publishable(self) -> bool:
        """True if it may support published text. Guesses and other people's text may not."""
        return self.trust not in ("inferred", "external")

    @property
    def by_person(self) -> bool:
        return self.kind == "person" or self.trust == "confirmed"


def person_said(number: int, words: str, source: str = "your note") -> Evidence:
    """Return evidence from text that a person typed for a document."""
    return Evidence(id=f"person:{number}", kind="person", trust="confirmed", text=visible(words), source=source)


class Claim(_Frozen):
    model_config = ConfigDict(extra="ignore")  # stored drafts may have fields from an earlier version

    text: str
    quotes: tuple[Quote, ...] = ()
    """Quotes from evidence, by its id."""
    marks: tuple[str, ...] = ()
    """Figures and names in the text, as written, that code did not find in the quotes."""
    unchecked: bool = False
    """True if no judge was available. The text is then the person's own quoted words."""
    judged_by: str = ""
    """The model that checked the claim against its quotes; empty if none did."""
    by_person: bool = False
    """True if the person typed it on the page. It then has no quotes."""
    position: str = ""
    """Id of the position's evidence under which the person placed the claim; empty if under none."""

    @property
    def evidence(self) -> tuple[str, ...]:
        """Ids of the quoted evidence, each once."""
        return tuple(dict.fromkeys(quote.source for quote in self.quotes))


class Section(_Frozen):
    kind: str
    heading: str
    claims: tuple[Claim, ...]


class Card(_Frozen):
    style: Style
    headline: Claim | None
    """None if no headline is supported."""
    sections: tuple[Section, ...]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims in reading order."""
        return (*([self.headline] if self.headline else []), *(c for each in self.sections for c in each.claims))


class LeftOut(_Frozen):
    claim: Claim
    why: tuple[str, ...]
    """Reasons, as sentences for the user."""


class CheckedCard(_Frozen):
    card: Card
    """The card without its refused claims."""
    left_out: tuple[LeftOut, ...]

    @property
    def merged(self) -> "CheckedCard":
        """The card with each text only once, with the quotes of all claims that have that text. A left-out claim is
        listed once, and only if its text is not in the card."""
        alike: dict[str, list[Claim]] = {}
        for claim in (claim for section in self.card.sections for claim in section.claims):
            alike.setdefault(_key(claim), []).append(claim)
        sections = tuple(
            section.model_copy(
                update={
                    "claims": tuple(_joined(some) for each in section.claims if (some := alike.pop(_key(each), None)))
                }
            )
            for section in self.card.sections
        )
        kept = tuple(section for section in sections if section.claims)
        standing = {_key(claim) for section in kept for claim in section.claims}
        left_out = dict[str | int, LeftOut]()
        for number, each in enumerate(self.left_out):
            key = _key(each.claim) if each.claim.quotes else number  # hidden texts look alike: list each one
            if key not in standing:
                left_out.setdefault(key, each)
        return CheckedCard(card=self.card.model_copy(update={"sections": kept}), left_out=tuple(left_out.values()))


def _key(claim: Claim) -> str:
    return " ".join(claim.text.casefold().split()).rstrip(".")


def _joined(alike: Sequence[Claim]) -> Claim:
    """Return the best checked claim, with the quotes of all claims that are equally well checked."""
    best = min(alike, key=lambda each: each.unchecked)
    as_good = [each for each in alike if each.unchecked == best.unchecked]
    quotes = tuple(dict.fromkeys(quote for each in as_good for quote in each.quotes))
    marks = tuple(mark for mark in best.marks if all(mark in each.marks for each in as_good))
    return best.model_copy(update={"quotes": quotes, "marks": marks})


class SectionDraft(_Frozen):
    """A section that is being written and checked."""

    round: int = 1
    section: Section
    """The section with all claims as written."""
    verdicts: tuple[GroundingVerdict, ...] = ()
    """One verdict per claim, once the section is checked."""
    rewritten: bool = False
    tries: int = 0
    """Number of checks for which no judge was available."""
    done: bool = False

    @property
    def unchecked(self) -> bool:
        return any(verdict.outcome == "unchecked" for verdict in self.verdicts)

    def standing(self, sources: Mapping[str, QuotedSource]) -> Section:
        """Return the section without its refused claims. A claim that no judge has checked is replaced by the person's
        own quoted words."""
        pairs = zip(self.section.claims, self.verdicts, strict=True)
        claims = tuple(_standing(claim, verdict, sources) for claim, verdict in pairs if verdict.outcome != "refused")
        return self.section.model_copy(update={"claims": tuple(claim for claim in claims if claim.text)})

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        pairs = zip(self.section.claims, self.verdicts, strict=True)
        return tuple(LeftOut(claim=claim, why=v.reasons) for claim, v in pairs if v.outcome == "refused")


def _standing(claim: Claim, verdict: GroundingVerdict, sources: Mapping[str, QuotedSource]) -> Claim:
    if verdict.outcome == "supported":
        return claim.model_copy(update={"marks": verdict.marks, "judged_by": verdict.judged_by})
    found = [spot for quote in claim.quotes if (spot := find_quote(quote, sources))]
    return claim.model_copy(update={"text": quoted_words(found), "unchecked": True})


class Requirement(_Frozen):
    """A requirement of an advert, and whether the person's own words say that they meet it."""

    text: str
    advert_quote: str
    met: Literal["met", "partly", "not_met"] = "not_met"
    quotes: tuple[Quote, ...] = ()
    """Quotes from evidence, by its id; empty if the requirement is not met."""


class Coverage(_Frozen):
    requirements: tuple[Requirement, ...]
    checked: bool = False
    """True once a judge has checked the requirements that are claimed to be met."""


EvidenceById = Mapping[str, Evidence]

NOT_DRAFTED_ANEW = "It couldn’t be drafted again, and nothing was changed. Please say in the chat how you want it."
NOT_WRITTEN = "It could not be written. Please ask for it again."
NOT_DRAFTED = "Your card could not be drafted. Nothing was published. Please ask for it again."
