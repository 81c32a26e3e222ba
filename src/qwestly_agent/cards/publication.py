"""The proposal to publish a draft: its content and evidence."""

from collections.abc import Iterator, Mapping
from typing import Any

from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.base.errors import NotFound
from qwestly_agent.cards.actions import PUBLISH_CARD
from qwestly_agent.cards.by_position import details
from qwestly_agent.cards.draft_parts import checked_of, evidence_of
from qwestly_agent.cards.evidence import sources_of
from qwestly_agent.cards.forget import keep_claims
from qwestly_agent.cards.outline import HEADLINE
from qwestly_agent.cards.text import UNCHANGED, changed_nothing
from qwestly_agent.clients.candidate_app import CardSection, CardText
from qwestly_agent.domain.approval import Preview, ShownClaim, ShownLeftOut, ShownQuote, ShownSection
from qwestly_agent.domain.card import Card, CheckedCard, Claim, Evidence, EvidenceById
from qwestly_agent.grounding.model import QuotedSource
from qwestly_agent.grounding.quotes import find_quote
from qwestly_agent.services import AnyAction
from qwestly_agent.stores.drafts import Draft

LONGEST_LINE, LONGEST_TEXT, MOST_CLAIMS, MOST_SECTIONS = 300, 5_000, 60, 20
"""Limits in docs/candidate-app-api.yaml."""


def publication_of(draft: Draft) -> Proposal:
    """Return the proposal to publish exactly the stored card of a draft. Raises `NotFound` if there is none."""
    if draft.kind != "card" or "card" not in draft.parts:
        raise NotFound("There is no finished card in this draft.")
    evidence, checked = evidence_of(draft), supported_in(draft)
    content, cited = _text_of(checked.card), cited_in(checked.card)
    return Proposal(
        PUBLISH_CARD,
        {
            "card_id": draft.id,
            "draft_id": draft.id,
            "content": content.model_dump(mode="json", exclude_none=True),
        },
        rationale=rationale_of(len(cited), checked, unchanged=changed_nothing(draft)),
        evidence=cited,
        preview=card_preview(checked, evidence),
    )


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


def supported_in(draft: Draft) -> CheckedCard:
    """Return the drafted card without claims whose evidence is gone. Raises `NotFound` if no section is left."""
    evidence = evidence_of(draft)
    checked = checked_of(draft)
    checked = keep_claims(checked, lambda claim: evidence.keys() >= set(claim.evidence))
    if not checked.card.sections:
        raise NotFound("Nothing in this draft is supported.")
    return checked


def cited_in(card: Card) -> tuple[str, ...]:
    """Return the ids of the card's evidence, each once."""
    return tuple(dict.fromkeys(name for claim in card.claims for name in claim.evidence))


def drafted_proposal(
    action: AnyAction,
    args: Mapping[str, Any],
    checked: CheckedCard,
    evidence: EvidenceById,
    *,
    unchanged: bool = False,
) -> Proposal:
    """Return the proposal to use a drafted text, shown with its quotes, marks and left-out claims."""
    cited = cited_in(checked.card)
    return Proposal(
        action,
        args,
        rationale_of(len(cited), checked, unchanged=unchanged),
        evidence=cited,
        drafted=card_preview(checked, evidence),
        unchecked=any(claim.unchecked for claim in checked.card.claims),
    )


def rationale_of(cited: int, checked: CheckedCard, *, unchanged: bool) -> str:
    sources = "1 source" if cited == 1 else f"{cited} sources"
    left_out, unchecked = len(checked.left_out), sum(claim.unchecked for claim in checked.card.claims)
    is_judged = any(claim.judged_by for claim in checked.card.claims)
    told = [
        f"Written from what you told and gave us, with {sources}, each claim with the words that it rests on.",
        UNCHANGED if unchanged else "",
        "A second model compared them with their quotes." if is_judged else "",
        f"Claims we left out because we couldn’t support them: {left_out}." if left_out else "",
        f"No second reader was available for {unchecked}: these are your own words, as you wrote them."
        if unchecked
        else "",
    ]
    return " ".join(filter(None, told))


def card_preview(checked: CheckedCard, evidence: EvidenceById) -> Preview:
    sources = sources_of(evidence)

    def shown(claim: Claim, is_detail: bool = False) -> ShownClaim:
        return ShownClaim(
            text=claim.text,
            quotes=tuple(quotes_of(claim, evidence, sources)),
            marks=claim.marks,
            confirmed=any(evidence[name].by_person for name in claim.evidence if name in evidence),
            unchecked=claim.unchecked,
            judged_by=claim.judged_by,
            is_detail=is_detail,
        )

    card = checked.card
    headline = (
        (ShownSection(heading="Headline", kind=HEADLINE, claims=(shown(card.headline),)),) if card.headline else ()
    )
    return Preview(
        title="Publish your career card",
        sections=(
            *headline,
            *(
                ShownSection(
                    heading=section.heading,
                    kind=section.kind,
                    claims=tuple(map(shown, section.claims, details(section, evidence))),
                )
                for section in card.sections
            ),
        ),
        left_out=tuple(ShownLeftOut(text=each.claim.text, why=each.why) for each in checked.left_out),
    )


def quotes_of(claim: Claim, evidence: EvidenceById, sources: Mapping[str, QuotedSource]) -> Iterator[ShownQuote]:
    """Yield the claim's quotes whose source still exists; forgotten ones are not shown."""
    for quote in claim.quotes:
        if found := find_quote(quote, sources):
            before, after = found.around
            item = evidence[quote.source]
            yield ShownQuote(source=_named(item), before=before, quote=found.text, after=after)


def _named(item: Evidence) -> str:
    """Return the name of the source, with the fields that a claim's dates may rest on."""
    fields = item.fields
    time = " – ".join(filter(None, (fields.start, fields.end)))
    names = (fields.title or fields.degree, fields.company or fields.school)
    known = ", ".join([*(name for name in names if name and name not in item.source), time])
    return f"{item.source} ({known})" if time else item.source
