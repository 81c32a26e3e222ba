"""A draft as a proposal: what would be published, and all that a person needs to judge it."""

import re
from collections.abc import Iterator, Mapping

from qwestly_agent.authority.acts import PUBLISH_CARD
from qwestly_agent.authority.approvals import Proposal
from qwestly_agent.authority.model import Preview, ShownClaim, ShownLeftOut, ShownSection
from qwestly_agent.cards.model import Card, CheckedCard, Claim, Evidence
from qwestly_agent.cards.pipeline import evidence_of
from qwestly_agent.clients.candidate_app import CardSection, CardText
from qwestly_agent.errors import NotFound
from qwestly_agent.stores.drafts import Draft

LONGEST_LINE, LONGEST_TEXT, MOST_CLAIMS, MOST_SECTIONS = 300, 5_000, 60, 20
"""As docs/candidate-app-api.yaml takes them."""
QUOTE_CHARACTERS = 120

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\s*[\n•]\s*")
_WORD = re.compile(r"\w{3,}")


def publication_of(draft: Draft) -> Proposal:
    """The card of a draft that was kept, for exactly that version. Raises `NotFound` where there is none."""
    if draft.kind != "card" or "card" not in draft.parts:
        raise NotFound("There is no finished card in this draft.")
    checked = CheckedCard.model_validate(draft.parts["card"]["checked"])
    evidence, content = evidence_of(draft), _text_of(checked.card)
    cited = dict.fromkeys(name for claim in _claims(checked.card) for name in claim.evidence if name in evidence)
    return Proposal(
        PUBLISH_CARD,
        {
            "card_id": draft.id,
            "draft_id": draft.id,
            "content": content.model_dump(mode="json", exclude_none=True),
        },
        rationale=_rationale(len(cited), checked),
        evidence=tuple(cited),
        preview=_preview(checked, evidence),
    )


def _claims(card: Card) -> Iterator[Claim]:
    if card.headline:
        yield card.headline
    for section in card.sections:
        yield from section.claims


def _text_of(card: Card) -> CardText:
    sections = tuple(
        CardSection(
            kind=section.kind,
            heading=section.heading[:LONGEST_LINE],
            claims=tuple(claim.text[:LONGEST_TEXT] for claim in section.claims[:MOST_CLAIMS]),
        )
        for section in card.sections[:MOST_SECTIONS]
    )
    return CardText(
        style=card.style, headline=card.headline.text[:LONGEST_LINE] if card.headline else None, sections=sections
    )


def _rationale(cited: int, checked: CheckedCard) -> str:
    left_out = len(checked.left_out)
    told = f" What nothing supports was left out: {left_out}." if left_out else ""
    return f"Written from what you told and gave us, with {cited} sources, each claim checked against them.{told}"


def _preview(checked: CheckedCard, evidence: Mapping[str, Evidence]) -> Preview:
    confirmed = set(checked.confirmed)

    def shown(claim: Claim) -> ShownClaim:
        cited = [evidence[name] for name in claim.evidence if name in evidence]
        return ShownClaim(
            text=claim.text, evidence=tuple(in_words(item, claim.text) for item in cited), confirmed=claim in confirmed
        )

    card = checked.card
    headline = (ShownSection(heading="Headline", claims=(shown(card.headline),)),) if card.headline else ()
    return Preview(
        title="Publish your career card",
        sections=(
            *headline,
            *(
                ShownSection(heading=section.heading, claims=tuple(map(shown, section.claims)))
                for section in card.sections
            ),
        ),
        left_out=tuple(ShownLeftOut(text=each.claim.text, why=each.why) for each in checked.left_out),
    )


def in_words(item: Evidence, claim: str) -> str:
    """Where it comes from, with the words there that are nearest to the claim."""
    wanted = set(_WORD.findall(claim.lower()))
    sentences = [sentence.strip() for sentence in _SENTENCE_END.split(item.text)]
    nearest = max(sentences, key=lambda each: len(wanted & set(_WORD.findall(each.lower()))), default="")
    short = nearest if len(nearest) <= QUOTE_CHARACTERS else f"{nearest[: QUOTE_CHARACTERS - 1]}…"
    return f"{item.source}: “{short}”" if short else item.source
