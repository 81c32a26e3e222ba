"""Drafts: reading them, keeping them free of contact details, and showing them to users and models."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from qwestly_agent.approvals.ask import LEFT_OUT
from qwestly_agent.cards.model import OUTLINES, usual_heading
from qwestly_agent.domain.approval import ShownLeftOut
from qwestly_agent.domain.card import CheckedCard, Claim, Coverage, Evidence, LeftOut, Section, SectionDraft
from qwestly_agent.domain.job import Advert
from qwestly_agent.grounding.model import GroundingVerdict
from qwestly_agent.stores.drafts import GATHERING, Draft, DraftKind, Drafts, DraftStatus
from qwestly_agent.text.contacts import ContactDetails, contacts_in

# --- draft parts ------------------------------------------------------------------------------------------------------
# Read the stored parts of a draft.


def advert_of(draft: Draft) -> Advert | None:
    """Return the advert of the job that the draft is written for."""
    kept = draft.parts.get("advert")
    return Advert.model_validate(kept) if kept else None


def checked_of(draft: Draft) -> CheckedCard:
    """Return the text that was checked last. Raises `KeyError` if there is none yet."""
    return CheckedCard.model_validate(draft.parts["card"]["checked"])


def coverage_of(draft: Draft) -> Coverage | None:
    kept = draft.parts.get("coverage")
    return Coverage.model_validate(kept) if kept else None


def evidence_of(draft: Draft) -> dict[str, Evidence]:
    return {each["id"]: Evidence.model_validate(each) for each in draft.parts["evidence"]}


def section_draft(draft: Draft, kind: str) -> SectionDraft | None:
    """Return the latest stored version of a section, from any round."""
    kept = draft.parts.get(f"section_{kind}")
    return SectionDraft.model_validate(kept) if kept else None


def style_requests(draft: Draft) -> list[str]:
    """Return remembered wishes about style and the user's requests for this card, newest last."""
    wishes = draft.parts.get("wishes", ())
    evidence = evidence_of(draft).values()
    remembered = [each.text for each in evidence if each.id in wishes]
    # Part of a message may mean the opposite without the rest, so it guides the writer but is not evidence.
    first = [draft.parts["wish"]] if draft.parts.get("wish") else []
    return [*remembered, *first, *(each.text for each in evidence if each.kind == "person")]


# --- contacts ---------------------------------------------------------------------------------------------------------
# Leave out drafted claims that contain contact details from the user's documents.


HIDDEN = Claim(text="A claim")
"""Replaces a claim with contact details, so that its text reaches neither a judge nor a draft."""
HAS_CONTACTS = GroundingVerdict(outcome="refused", refused_by="facts", reasons=(LEFT_OUT,))


def hide_contacts(claims: Sequence[Claim], details: ContactDetails) -> tuple[Claim, ...]:
    gone = details.places_in([claim.text for claim in claims])
    gone |= {n for n, claim in enumerate(claims) if any(details.stand_in(quote.text) for quote in claim.quotes)}
    return tuple(HIDDEN if number in gone else claim for number, claim in enumerate(claims))


def without_contacts(checked: CheckedCard, details: ContactDetails) -> CheckedCard:
    """Leave out claims whose text or quotes contain contact details, also if these are spread over neighboring claims,
    and list them without their text. A heading with contact details is replaced by the default one."""
    card = checked.card
    lines = [("", card.headline)] if card.headline else []
    for section in card.sections:
        lines += [(section.heading, None), *(("", claim) for claim in section.claims)]
    texts = [claim.text if claim else heading for heading, claim in lines]
    gone = details.places_in(texts) | {number for number, text in enumerate(texts) if _is_reachable(text)}
    gone |= {n for n, (_, claim) in enumerate(lines) if claim and any(details.stand_in(q.text) for q in claim.quotes)}
    left_out = tuple(
        each.model_copy(update={"claim": HIDDEN}) if details.stand_in(each.claim.text) else each
        for each in checked.left_out
    )
    if not gone:
        return checked.model_copy(update={"left_out": left_out})
    numbers = iter(range(len(lines)))
    headline = card.headline if card.headline is None or next(numbers) not in gone else None
    sections = list[Section]()
    for section in card.sections:
        keeps_heading = next(numbers) not in gone
        claims = tuple(claim for claim in section.claims if next(numbers) not in gone)
        usual = usual_heading(OUTLINES[section.kind], " ".join(claim.text for claim in claims))
        heading = section.heading if keeps_heading else usual
        sections.append(section.model_copy(update={"heading": heading, "claims": claims}))
    kept = card.model_copy(update={"headline": headline, "sections": tuple(each for each in sections if each.claims)})
    return CheckedCard(card=kept, left_out=left_out + (LeftOut(claim=HIDDEN, why=(LEFT_OUT,)),) * len(gone))


def _is_reachable(text: str) -> bool:
    """True if the text contains an email address or telephone number, whoever it belongs to."""
    return any(each.kind in ("email", "phone") for each in contacts_in(text))


# --- text -------------------------------------------------------------------------------------------------------------
# A draft's text for users and models: the text and the left-out claims, without the evidence.


LONGEST_CHARACTERS, LONGEST_HEADLINE = 2_600, 220
"""LinkedIn's limits."""
UNCHANGED = (
    "What you asked for changed nothing: it reads as before. Say it in other words, or tell me what I don’t know yet."
)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class DraftSection(_Frozen):
    heading: str
    claims: tuple[str, ...]


class DraftText(_Frozen):
    left_out: tuple[ShownLeftOut, ...]
    """Claims without support, with the reasons."""
    unchecked: tuple[str, ...] = ()
    """The user's own words, which replace claims for which no judge was available."""
    headline: str | None = None
    """A card's headline; null if it was left out."""
    sections: tuple[DraftSection, ...] = ()
    """A card's sections."""
    text: str | None = None
    """The whole About section, or the headlines, one per line."""


def text_of_draft(draft: Draft) -> DraftText | None:
    """Return the text that was checked last; None if there is none, or while a new one is being written."""
    if draft.status == "running" or "card" not in draft.parts:
        return None
    return _text(draft.kind, checked_of(draft))


def changed_nothing(draft: Draft) -> bool:
    """True if the user asked for changes, but the text stayed the same."""
    return draft.parts["card"].get("unchanged", False)


async def text_before_wish(drafts: Drafts, draft: Draft) -> CheckedCard | None:
    """Return the text before the user's last change request; None if there was no text or no request."""
    if "card" in draft.parts:
        return checked_of(draft)
    earlier = await drafts.find_previous_version(draft) if draft.parts.get("wish") else None
    return checked_of(earlier) if earlier else None


def is_same_text(kind: DraftKind, one: CheckedCard, other: CheckedCard) -> bool:
    """True if the readable text is the same, regardless of quotes."""
    return _text(kind, one).model_dump(include=_READ) == _text(kind, other).model_dump(include=_READ)


_READ = {"headline", "sections", "text"}


def _text(kind: DraftKind, checked: CheckedCard) -> DraftText:
    left_out = tuple(ShownLeftOut(text=each.claim.text, why=each.why) for each in checked.left_out)
    unchecked = tuple(claim.text for claim in checked.card.claims if claim.unchecked)
    if kind == "about":
        return DraftText(text=text_of(checked), left_out=left_out, unchecked=unchecked)
    if kind == "headlines":
        return DraftText(
            text="\n".join(claim.text for claim in checked.card.claims), left_out=left_out, unchecked=unchecked
        )
    card = checked.card
    return DraftText(
        headline=card.headline.text if card.headline else None,
        sections=tuple(
            DraftSection(heading=section.heading, claims=tuple(claim.text for claim in section.claims))
            for section in card.sections
        ),
        left_out=left_out,
        unchecked=unchecked,
    )


def headlines_of(checked: CheckedCard) -> list[Claim]:
    """Return the headlines that are within LinkedIn's limit."""
    return [claim for claim in checked.card.claims if len(claim.text) <= LONGEST_HEADLINE]


def text_of(checked: CheckedCard) -> str:
    """Join as many claims as fit within LinkedIn's limit."""
    text = ""
    for claim in (claim for section in checked.card.sections for claim in section.claims):
        longer = f"{text} {claim.text}".strip()
        if len(longer) > LONGEST_CHARACTERS:
            break
        text = longer
    return text


# --- draft view -------------------------------------------------------------------------------------------------------
# A draft in the API: kind, progress, failure and text.


Stage: TypeAlias = Literal["evidence", "writing", "decision"]


class DraftView(BaseModel):
    draft_id: str
    kind: DraftKind
    style: str
    status: DraftStatus
    label: str
    """Progress for the user, such as "Drafting 3 of 6 sections"; the reason if it failed."""
    stage: Stage | None
    """The stage of a draft in progress; null when it has ended."""
    conversation_id: str | None
    approval_id: str | None
    flagged: bool
    """True if it is based on content that the user has forgotten since."""


def draft_view(draft: Draft) -> DraftView:
    fields = draft.model_dump(include=DraftView.model_fields.keys() - {"draft_id", "stage"})
    return DraftView(draft_id=draft.id, stage=_stage(draft), **fields)


def _stage(draft: Draft) -> Stage | None:
    match draft.status:
        case "waiting":
            return "decision"
        case "running":
            return "evidence" if draft.label == GATHERING else "writing"
        case _:
            return None


class DraftDetail(DraftView):
    content: DraftText | None
    """Null if there is no text, or none yet."""


def draft_detail(draft: Draft) -> DraftDetail:
    return DraftDetail(**draft_view(draft).model_dump(), content=text_of_draft(draft))
