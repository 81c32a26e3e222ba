"""The proposal to publish a draft, or to use a profile text: content, order and evidence."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from qwestly_agent.action import has_same_subject, to_json_types
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.approvals.ask_for_workflow import ApprovalRequest
from qwestly_agent.base.errors import NotFound
from qwestly_agent.cards.actions import PUBLISH_CARD
from qwestly_agent.cards.drafts import UNCHANGED, changed_nothing, checked_of, evidence_of, text_of
from qwestly_agent.cards.evidence import sources_of
from qwestly_agent.cards.forget import drop_forgotten, keep_claims
from qwestly_agent.cards.model import ABOUT, ACHIEVEMENTS, EXPERIENCE, HEADLINE, MOST_ROUNDS, Overtaken
from qwestly_agent.clients.candidate_app import CardSection, CardText
from qwestly_agent.domain.approval import (
    Approval,
    Preview,
    ShownClaim,
    ShownLeftOut,
    ShownQuote,
    ShownSection,
    sha256_hex,
)
from qwestly_agent.domain.card import Card, CheckedCard, Claim, Evidence, EvidenceById, Section
from qwestly_agent.grounding.model import QuotedSource
from qwestly_agent.grounding.quotes import find_quote
from qwestly_agent.profile import LISTS, SUGGEST_LINKEDIN_ABOUT, UPDATE_PROFILE_FIELD
from qwestly_agent.services import AnyAction, Services
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.messages import Messages

# --- by position ------------------------------------------------------------------------------------------------------
# Order the claims of a card by position: each position is followed by its details and achievements.


def by_position(sections: Sequence[Section], evidence: EvidenceById) -> tuple[Section, ...]:
    """Move achievements below their position; those without a known position stay in place."""
    claims = {each.kind: each.claims for each in sections}
    positions = _positions(evidence)
    under: dict[str, list[Claim]] = {}
    for claim in claims.get(EXPERIENCE, ()):
        if (position := _named(claim, positions)) and position not in under:
            under[position] = [claim]
    named = [first for [first] in under.values()]
    rest: dict[str, list[Claim]] = {EXPERIENCE: [], ACHIEVEMENTS: []}
    for kind, left in rest.items():
        for claim in claims.get(kind, ()):
            if claim not in named:
                under.get(_position(claim, positions, evidence) or "", left).append(claim)
    new = {EXPERIENCE: (*chain.from_iterable(under.values()), *rest[EXPERIENCE]), ACHIEVEMENTS: (*rest[ACHIEVEMENTS],)}
    moved = (each.model_copy(update={"claims": new.get(each.kind, each.claims)}) for each in sections)
    return tuple(each for each in moved if each.claims)


def details(section: Section, evidence: EvidenceById) -> tuple[bool, ...]:
    """Return for each claim whether it is a detail of the position in an earlier claim."""
    positions, current = _positions(evidence), None
    found = list[bool]()
    for claim in section.claims if section.kind == EXPERIENCE else ():
        if named := _named(claim, positions):
            is_again, current = named == current, named
            found.append(is_again)
        else:
            found.append(current is not None and _position(claim, positions, evidence) == current)
    return tuple(found) or (False,) * len(section.claims)


def _positions(evidence: EvidenceById) -> dict[str, Evidence]:
    return {name: each for name, each in evidence.items() if each.kind == "employment" and each.fields.company}


def _named(claim: Claim, positions: EvidenceById) -> str | None:
    """Return the position that the claim both quotes and names by title and employer."""
    said = claim.text.casefold()
    found = [
        name
        for name in claim.evidence
        if (each := positions.get(name)) and all(_in(said, word) for word in (each.fields.company, each.fields.title))
    ]
    return found[0] if len(found) == 1 else None


def _position(claim: Claim, positions: EvidenceById, evidence: EvidenceById) -> str | None:
    """Return the position that the claim quotes, or the only one whose employer is named in the claim or in the
    paragraphs of its quotes."""
    quoted = [name for name in positions if name in claim.evidence]
    said = "\n".join(
        [
            claim.text,
            *(_paragraph(each.text, evidence[each.source].text) for each in claim.quotes if each.source in evidence),
        ]
    )
    found = quoted or [name for name, each in positions.items() if _in(said.casefold(), each.fields.company)]
    return found[0] if len(found) == 1 else None


def _paragraph(quote: str, text: str) -> str:
    return next((each for each in text.split("\n\n") if quote in each), quote)


def _in(said: str, words: str) -> bool:
    return bool(words) and words.casefold() in said


# --- publication ------------------------------------------------------------------------------------------------------
# The proposal to publish a draft: its content and evidence.


LONGEST_LINE, LONGEST_TEXT, MOST_CLAIMS, MOST_SECTIONS = 300, 5_000, 60, 20
"""Limits in docs/candidate-app-api.yaml."""


def publication_of(draft: Draft) -> Proposal:
    """Return the proposal to publish the stored card of a draft exactly as it is. Raises `NotFound` if there is
    none."""
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
    """Return the drafted card without claims whose evidence no longer exists. Raises `NotFound` if no section is
    left."""
    evidence = evidence_of(draft)
    checked = checked_of(draft)
    checked = keep_claims(checked, lambda claim: evidence.keys() >= set(claim.evidence))
    if not checked.card.sections:
        raise NotFound("Nothing in this draft is supported.")
    return checked


def cited_in(card: Card) -> tuple[str, ...]:
    """Return the ids of the evidence that the card cites, each once."""
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
            confirmed=claim.by_person or any(evidence[name].by_person for name in claim.evidence if name in evidence),
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
            yield ShownQuote(source=_source_name(item), before=before, quote=found.text, after=after)


def _source_name(item: Evidence) -> str:
    """Return the name of the source, with the fields on which a claim's dates may be based."""
    fields = item.fields
    time = " – ".join(filter(None, (fields.start, fields.end)))
    names = (fields.title or fields.degree, fields.company or fields.school)
    known = ", ".join([*(name for name in names if name and name not in item.source), time])
    return f"{item.source} ({known})" if time else item.source


# --- profile proposal -------------------------------------------------------------------------------------------------
# Propose a redrafted profile text, with its evidence, and check that it is still wanted.


MOST_READ = 50


def profile_proposal(draft: Draft, earlier: Approval) -> Proposal:
    """Propose to replace the text of `earlier` with the stored text. Raises `Invalid` if the action does not accept it,
    and `NotFound` if there is none."""
    if "card" not in draft.parts:
        raise NotFound("There is no text in this draft.")
    checked, evidence = supported_in(draft), evidence_of(draft)
    action, args = _action(draft, checked)
    unchanged = all(earlier.arguments.get(name) == args[name] for name in action.editable)
    return drafted_proposal(action, to_json_types(action.parse(args)), checked, evidence, unchanged=unchanged)


def _action(draft: Draft, checked: CheckedCard) -> tuple[AnyAction, dict[str, Any]]:
    section = draft.parts["section"]
    if section == ABOUT:
        return SUGGEST_LINKEDIN_ABOUT, {"draft_id": draft.id, "text": text_of(checked)}
    field, claims = section.removeprefix("profile_"), [claim.text for claim in checked.card.claims]
    return UPDATE_PROFILE_FIELD, {"field": field, "value": claims if field in LISTS else " ".join(claims)}


async def check_still_wanted(services: Services, earlier: Approval, proposal: Proposal, asks_as: str) -> None:
    """Raises `Overtaken` if, since `earlier` was decided, another approval on the same subject was requested, or the
    user changed the subject, or deleted or replaced the message that led to `earlier`. `asks_as` is the id of the
    approval to be requested."""
    if earlier.status != "revised" or earlier.revised_by == asks_as:
        return
    newest = await services.approvals.list_all(earlier.user_id, MOST_READ)
    newer = [each for each in newest if each.created_at >= (earlier.decided_at or 0)]
    others = [each for each in newer if each.id not in (earlier.id, asks_as)]
    is_asked = earlier.revised_by or any(has_same_subject(each, earlier.tool, proposal.args) for each in others)
    if (
        is_asked
        or not await _still_stands(services.conversations, services.messages, earlier)
        or await _is_changed(services, earlier)
    ):
        raise Overtaken


async def _still_stands(conversations: Conversations, messages: Messages, earlier: Approval) -> bool:
    """True if the message that led to the approval still exists."""
    user_id, conversation_id = earlier.user_id, earlier.conversation_id
    if conversation_id is None or not await conversations.exists(user_id, conversation_id):
        return False
    return not await messages.is_replaced(user_id, conversation_id, earlier.run_id)


async def _is_changed(services: Services, earlier: Approval) -> bool:
    if earlier.args == "{}":  # its text was forgotten, along with the preview
        return False
    action = services.actions[earlier.tool]
    shown = await action.read_current(services, earlier.user_id, action.arguments_of(earlier))
    return shown != dict(earlier.shown)


# --- ask to publish ---------------------------------------------------------------------------------------------------
# Ask for approval to publish a drafted card, or to use a profile text that was drafted again.


LAST_ROUND = "It was drafted as often as it can be in one go: take it like this, or ask for another."


async def ask_to_publish(services: Services, given: dict[str, Any]) -> ApprovalRequest:
    """Return the request for approval. Raises `Overtaken` if the approval is no longer needed, and `NotFound`."""
    user_id = given["user_id"]
    draft = await drop_forgotten(services, user_id, given["draft_id"])
    approval_id = _id_of_round(draft, given.get("revises"))
    if draft.kind == "card":
        proposal = publication_of(draft)
    else:
        earlier = await services.approvals.get(user_id, given["revises"])
        proposal = profile_proposal(draft, earlier)
        await check_still_wanted(services, earlier, proposal, approval_id)
    if draft.round >= MOST_ROUNDS:
        proposal = replace(proposal, rationale=f"{proposal.rationale} {LAST_ROUND}", revisable=False)
    return ApprovalRequest(approval_id, proposal, draft.conversation_id, draft)


def _id_of_round(draft: Draft, revises: str | None) -> str:
    """Return the approval's id, which is deterministic for a round of a draft."""
    return f"ap_{sha256_hex(draft.id, str(draft.round), revises or '')[:32]}"
