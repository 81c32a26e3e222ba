"""What a draft says, for people and for models: its text and what was left out, without the evidence."""

from pydantic import BaseModel, ConfigDict

from qwestly_agent.authority.model import ShownLeftOut
from qwestly_agent.cards.model import CheckedCard
from qwestly_agent.stores.drafts import Draft


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class DraftSection(_Frozen):
    heading: str
    claims: tuple[str, ...]


class DraftText(_Frozen):
    left_out: tuple[ShownLeftOut, ...]
    """What nothing supports, with the reasons."""
    headline: str | None = None
    """Of a card; null where it was left out."""
    sections: tuple[DraftSection, ...] = ()
    """Of a card."""
    text: str | None = None
    """Of an About section: all of it, in one piece."""


def text_of_draft(draft: Draft) -> DraftText | None:
    """The text that was checked last; None where there is none, and while another one is being made."""
    if draft.status == "running" or "card" not in draft.parts:
        return None
    checked = CheckedCard.model_validate(draft.parts["card"]["checked"])
    left_out = tuple(ShownLeftOut(text=each.claim.text, why=each.why) for each in checked.left_out)
    if draft.kind == "about":
        # Here and not above: the patterns of the claim gate take long to compile, and few turns write such a text.
        from qwestly_agent.cards.about import text_of

        return DraftText(text=text_of(checked), left_out=left_out)
    card = checked.card
    return DraftText(
        headline=card.headline.text if card.headline else None,
        sections=tuple(
            DraftSection(heading=section.heading, claims=tuple(claim.text for claim in section.claims))
            for section in card.sections
        ),
        left_out=left_out,
    )
