"""A draft's text for users and models: the text and the left-out claims, without the evidence."""

from pydantic import BaseModel, ConfigDict

from qwestly_agent.cards.draft_parts import checked_of
from qwestly_agent.domain.approval import ShownLeftOut
from qwestly_agent.domain.card import CheckedCard, Claim
from qwestly_agent.stores.drafts import Draft, DraftKind, Drafts

LONGEST_CHARACTERS, LONGEST_HEADLINE = 2_600, 220
"""LinkedIn's limits."""
UNCHANGED = "What you asked for changed nothing: it reads as before."


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class DraftSection(_Frozen):
    heading: str
    claims: tuple[str, ...]


class DraftText(_Frozen):
    left_out: tuple[ShownLeftOut, ...]
    """Claims without support, with the reasons."""
    unchecked: tuple[str, ...] = ()
    """The user's own words, which stand in the place of claims that no judge was available for."""
    headline: str | None = None
    """A card's headline; null if it was left out."""
    sections: tuple[DraftSection, ...] = ()
    """A card's sections."""
    text: str | None = None
    """The whole About section, or the headlines, one per line."""


def text_of_draft(draft: Draft) -> DraftText | None:
    """Return the text that was checked last; None if there is none, or while a new one is written."""
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
    """Return the headlines within LinkedIn's limit."""
    return [claim for claim in checked.card.claims if len(claim.text) <= LONGEST_HEADLINE]


def text_of(checked: CheckedCard) -> str:
    """Join as many claims as fit into LinkedIn's limit."""
    text = ""
    for claim in (claim for section in checked.card.sections for claim in section.claims):
        longer = f"{text} {claim.text}".strip()
        if len(longer) > LONGEST_CHARACTERS:
            break
        text = longer
    return text
