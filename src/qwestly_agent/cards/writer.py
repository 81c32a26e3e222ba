"""The states of `generate_card` that have effects: assemble, wait for the decision, publish, end."""

from collections.abc import Mapping
from typing import Literal

from qwestly_agent.approvals.ask import find_contact_details
from qwestly_agent.approvals.autonomy import gate
from qwestly_agent.approvals.end import DRAFT_ENDS, REPLACED, SUPERSEDED
from qwestly_agent.approvals.execute import STOPPED, execute
from qwestly_agent.base.errors import Braked, NotFound
from qwestly_agent.cards.drafts import (
    UNCHANGED,
    evidence_of,
    is_same_text,
    section_draft,
    text_before_wish,
    without_contacts,
)
from qwestly_agent.cards.evidence import sources_of
from qwestly_agent.cards.forget import drop_forgotten
from qwestly_agent.cards.model import (
    HEADLINE,
    OUTLINES,
    CardState,
    NothingSupported,
    Overtaken,
    PublishingFailed,
    update_progress,
    usual_heading,
)
from qwestly_agent.cards.publication import by_position
from qwestly_agent.domain.approval import Answer, Approval
from qwestly_agent.domain.card import (
    NOT_DRAFTED,
    NOT_DRAFTED_ANEW,
    NOT_WRITTEN,
    Card,
    CheckedCard,
    Claim,
    LeftOut,
    Section,
    person_said,
)
from qwestly_agent.grounding.facts import check_facts
from qwestly_agent.grounding.model import QuotedSource, Statement
from qwestly_agent.grounding.quotes import find_quote
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.drafts import TAILORED, Draft
from qwestly_agent.text.language import language_of
from qwestly_agent.workflow_state import OutcomeUnknown, expire_if_pending, state

# --- keep draft -------------------------------------------------------------------------------------------------------
# Assemble the card from its sections, and ask the gate whether publishing it needs approval.
#
# From here on the card does not change: the approval refers to this version.


LONGEST_HEADLINE = 300


@state(CardState)
async def keep_draft(services: Services, card: CardState) -> CardState:
    """Return the state with the gate's answer. Raises `NothingSupported`."""
    draft = await drop_forgotten(services, card.user_id, card.draft_id)
    details = await find_contact_details(services.knowledge, services.resumes, card.user_id)
    checked = without_contacts(checked_card(draft, card.round), details)
    # A job document is not published; applying with it requires its own approval.
    level = await services.autonomy.level(card.user_id)
    answer: Answer = "refuse" if draft.kind in TAILORED else gate("outward", level).answer
    if draft.parts.get("card", {}).get("round") != card.round:
        before = await text_before_wish(services.drafts, draft)
        unchanged = before is not None and is_same_text(draft.kind, before, checked)
        kept = {"round": card.round, "checked": checked.model_dump(mode="json"), "unchanged": unchanged}
        await update_progress(
            services.drafts,
            services.clock,
            card,
            status="drafted" if answer == "refuse" else "running",
            label=_drafted(checked, is_asked=answer != "refuse", unchanged=unchanged),
        )
        await services.drafts.save_parts(card.user_id, card.draft_id, card=kept)
        await drop_forgotten(services, card.user_id, card.draft_id)
    if not checked.card.sections:
        raise NothingSupported
    return card.model_copy(update={"answer": answer})


def _drafted(checked: CheckedCard, *, is_asked: bool, unchanged: bool) -> str:
    left_out = len(checked.left_out)
    claims = "1 claim" if left_out == 1 else f"{left_out} claims"
    label = f"Draft ready. We left out {claims} we couldn’t support" if left_out else "Drafted"
    return f"{label}. {UNCHANGED}" if unchanged and not is_asked else label  # the approval shows this to the user


def checked_card(draft: Draft, round: int) -> CheckedCard:
    """Assemble the sections of this round into a card, in reading order, leaving out sections without claims."""
    kept = [each for kind in draft.parts["plan"] if (each := section_draft(draft, kind)) and each.round == round]
    evidence = evidence_of(draft)
    sources = sources_of(evidence)
    standing = (each.standing(sources) for each in kept)
    sections = [_with_checked_heading(each, sources) for each in standing if each.claims]
    headlines = [claim for each, _ in sections if each.kind == HEADLINE for claim in each.claims]
    headline = next((claim for claim in headlines if len(claim.text) <= LONGEST_HEADLINE), None)
    rest = by_position([each for each, _ in sections if each.kind != HEADLINE], evidence)
    left_out = [*(out for each in kept for out in each.left_out), *(out for _, why in sections for out in why)]
    if headlines and headline is None:
        left_out.append(LeftOut(claim=headlines[0], why=(f"It is longer than {LONGEST_HEADLINE} characters.",)))
    card = Card.model_validate({"style": draft.style, "headline": headline, "sections": rest})
    return CheckedCard(card=card, left_out=tuple(left_out)).merged


def _with_checked_heading(section: Section, sources: Mapping[str, QuotedSource]) -> tuple[Section, tuple[LeftOut, ...]]:
    """Replace the heading with the default one if it has figures that are not in its claims' quotes, because headings
    have no quotes."""
    found = [spot for claim in section.claims for quote in claim.quotes if (spot := find_quote(quote, sources))]
    heading = Statement(text=section.heading, language=language_of(section.heading))
    facts = check_facts(heading, found)
    why = (*facts.missing, *(f"“{figure}” was compared with nothing." for figure in facts.unread))
    if not why:
        return section, ()
    usual = usual_heading(OUTLINES[section.kind], " ".join(claim.text for claim in section.claims))
    return section.model_copy(update={"heading": usual}), (LeftOut(claim=Claim(text=section.heading), why=why),)


# --- read decision ----------------------------------------------------------------------------------------------------
# Read the user's decision from the record, or record that there is none.
#
# Only the record is trusted, not the input that resumed the execution.


@state(CardState, ignores_brake=True)
async def read_decision(services: Services, card: CardState) -> CardState:
    """Read the decision, or expire the approval. While the brake is on, a decision is only recorded, and its time keeps
    running."""
    draft = await services.drafts.get(card.user_id, card.draft_id)
    approval_id = (card.decided and card.decided.approval_id) or draft.approval_id or ""
    approval = await expire_if_pending(services.approvals, services.clock, card.user_id, approval_id)
    card = card.model_copy(update={"approval_id": approval.id})
    match approval.status:
        case "rejected" | "expired" as decision:
            status, label = DRAFT_ENDS[decision]
            await update_progress(services.drafts, services.clock, card, status=status, label=label)
            return card.model_copy(update={"decision": decision})
        case "revised":
            return await _begin_round(services, card, draft, approval)
        case "changed" if approval.outcome in (REPLACED, SUPERSEDED):
            await update_progress(services.drafts, services.clock, card, status="drafted", label=approval.outcome)
            return card.model_copy(update={"decision": "rejected"})
        case "changed" if approval.decided_by == "nobody":  # its evidence was forgotten
            return await _begin_round(
                services,
                card,
                draft,
                approval,
                "Drafting it again without what you had forgotten",
            )
        case _:
            return card.model_copy(update={"decision": "approved"})


async def _begin_round(
    services: Services,
    card: CardState,
    draft: Draft,
    approval: Approval,
    label: str = "Drafting it as you want it",
) -> CardState:
    """Add the user's words as evidence, and plan the sections to redraft."""
    answered: list[str] = list(draft.parts.get("revisions", ()))
    if approval.id not in answered:
        answered.append(approval.id)
    number = answered.index(approval.id) + 2
    if draft.round < number:
        wished = [person_said(number, approval.reason).model_dump(mode="json")] if approval.reason else []
        evidence = [*draft.parts["evidence"], *wished]
        # At this point the evidence contains nothing forgotten; a later forgetting flags the draft again.
        await update_progress(
            services.drafts, services.clock, card, status="running", round=number, label=label, flagged=False
        )
        await services.drafts.save_parts(card.user_id, card.draft_id, evidence=evidence, revisions=answered)
        await drop_forgotten(services, card.user_id, card.draft_id)
    return card.model_copy(
        update={
            "decision": "revised",
            "revises": approval.id,
            "round": number,
            "sections": tuple(draft.parts["plan"]),
        }
    )


# --- publish ----------------------------------------------------------------------------------------------------------
# Publish the approved card.


@state(CardState, ignores_brake=True)
async def publish(services: Services, card: CardState) -> CardState:
    """Execute the approval, and return the state with the outcome.

    Raises `OutcomeUnknown` while the outcome is unknown, `PublishingFailed`, and `Braked` if the brake was on before
    the execution started: `execute` checks the brake, and a started execution is not interrupted.
    """
    approval = await execute(services, card.user_id, card.approval_id or "")
    match approval.status:
        case "done":
            status, label = ("published", "Published") if approval.effect == "outward" else ("drafted", "Done")
            await update_progress(services.drafts, services.clock, card, status=status, label=label)
            return card.model_copy(update={"outcome": "published"})
        case "changed":
            return card.model_copy(update={"outcome": "changed", "revises": approval.id})
        case "failed" if approval.outcome == STOPPED:
            raise Braked
        case "failed":
            raise PublishingFailed
        case _:
            raise OutcomeUnknown


# --- note end ---------------------------------------------------------------------------------------------------------
# Store a draft's final status and message for the user.


TRY_AGAIN = "It could not be finished. Please try again"
_OF_PUBLISHING = ("PublishingFailed", "OutcomeUnknown")


@state(CardState, ignores_brake=True)
async def note_end(services: Services, card: CardState) -> CardState:
    """Runs even while the brake is on, because nothing else records the stop."""
    try:
        draft = await services.drafts.get(card.user_id, card.draft_id)
    except NotFound:  # the user deleted it: there is nothing to record
        return card.model_copy(update={"end": "stopped"})
    end, label = await _end_of(services.approvals, draft, card)
    await update_progress(services.drafts, services.clock, card, status=end, label=label)
    return card.ended(end)


async def _end_of(
    approvals: Approvals, draft: Draft, card: CardState
) -> tuple[Literal["failed", "stopped", "drafted"], str]:
    error = card.error_kind
    if error == "Braked":
        return "stopped", card.message("")
    if error == "NotAllowed":
        done = "published" if draft.kind == "card" else "changed"
        return "drafted", f"Drafted; at your level nothing is {done} for you"
    if error == "Overtaken":
        return "drafted", Overtaken.sentence
    approval = await approvals.get(draft.user_id, draft.approval_id) if draft.approval_id else None
    if error in _OF_PUBLISHING and approval:
        return "failed", approval.outcome or PublishingFailed.sentence
    # "Nothing was published" is true only if no approval can have been executed.
    nothing_was = approval is None or approval.status in ("pending", "revised", "failed", "changed")
    not_drafted = {"card": NOT_DRAFTED, **dict.fromkeys(TAILORED, NOT_WRITTEN)}.get(draft.kind, NOT_DRAFTED_ANEW)
    return "failed", card.message(not_drafted if nothing_was else TRY_AGAIN)
