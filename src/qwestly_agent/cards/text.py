"""A draft's text for people and models: the text and what was left out, without the evidence."""

from pydantic import BaseModel, ConfigDict

from qwestly_agent.domain.approval import ShownLeftOut
from qwestly_agent.domain.card import CheckedCard, Claim
from qwestly_agent.stores.drafts import Draft

LONGEST_CHARACTERS, LONGEST_HEADLINE = 2_600, 220
"""LinkedIn's limits."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class DraftSection(_Frozen):
    heading: str
    claims: tuple[str, ...]


class DraftText(_Frozen):
    left_out: tuple[ShownLeftOut, ...]
    """Claims without support, with the reasons."""
    unchecked: tuple[str, ...] = ()
    """Claims for which the judge was unavailable."""
    headline: str | None = None
    """A card's headline; null if it was left out."""
    sections: tuple[DraftSection, ...] = ()
    """A card's sections."""
    text: str | None = None
    """The whole About section; or the headlines, one a line."""


def text_of_draft(draft: Draft) -> DraftText | None:
    """The text checked last; None if there is none, or while a new one is being made."""
    if draft.status == "running" or "card" not in draft.parts:
        return None
    checked = CheckedCard.model_validate(draft.parts["card"]["checked"])
    left_out = tuple(ShownLeftOut(text=each.claim.text, why=each.why) for each in checked.left_out)
    unchecked = tuple(claim.text for claim in checked.card.claims if claim.unchecked)
    if draft.kind == "about":
        return DraftText(text=text_of(checked), left_out=left_out, unchecked=unchecked)
    if draft.kind == "headlines":
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
    """The headlines within LinkedIn's limit."""
    return [claim for claim in checked.card.claims if len(claim.text) <= LONGEST_HEADLINE]


def text_of(checked: CheckedCard) -> str:
    """The claims joined, as many as fit LinkedIn's limit."""
    text = ""
    for claim in (claim for section in checked.card.sections for claim in section.claims):
        longer = f"{text} {claim.text}".strip()
        if len(longer) > LONGEST_CHARACTERS:
            break
        text = longer
    return text
