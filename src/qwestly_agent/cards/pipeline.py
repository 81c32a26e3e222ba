"""The states of `generate_card`, each by the name that it has in the state machine; `cards.draft_section` has the one
that calls a model.

What passes from state to state are ids and counts; what is written stands in the draft. A state that is delivered again
finds what it kept, and changes nothing.
"""

from collections.abc import Mapping
from datetime import date
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.approvals.end import expire
from qwestly_agent.approvals.execute import STOPPED, ExecuteServices, execute
from qwestly_agent.approvals.forget_in_drafts import drop_forgotten
from qwestly_agent.approvals.gate import gate
from qwestly_agent.approvals.messages import DRAFT_ENDS
from qwestly_agent.base.clock import Clock, to_datetime
from qwestly_agent.base.errors import AgentError, Braked, NotFound, OverBudget
from qwestly_agent.cards.gather_evidence import gather, sections_for, sources_of, wish
from qwestly_agent.cards.outline import CARD, HEADLINE
from qwestly_agent.domain.approval import Answer, Approval
from qwestly_agent.domain.card import NOT_DRAFTED, Card, CheckedCard, Claim, Evidence, LeftOut, Section, SectionDraft
from qwestly_agent.grounding.facts import check_facts
from qwestly_agent.grounding.language import language_of
from qwestly_agent.grounding.model import Source, Statement
from qwestly_agent.grounding.quotes import find_quote
from qwestly_agent.services import HasKnowledge, HasLogger
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.drafts import Draft, Drafts, DraftStatus
from qwestly_agent.stores.memories import Memories
from qwestly_agent.workflow_state import run_state, sanitize_errors


class CardServices(ExecuteServices, HasKnowledge, HasLogger, Protocol): ...


LONGEST_HEADLINE = 300
MOST_ROUNDS = 4
"""Drafted, and three times as the person wanted it otherwise."""


class NothingToTell(AgentError):
    code, http_status = "nothing_to_tell", 422
    sentence = (
        "There is too little to write from. Tell me where you worked, as what and since when, or add your résumé."
    )


class NothingSupported(AgentError):
    code, http_status = "nothing_supported", 422
    sentence = (
        "Nothing that was drafted is supported by what you told and gave us. Tell me more about your work, or add your "
        "résumé."
    )


class PublishingFailed(AgentError):
    code, http_status, sentence = "publishing_failed", 502, "The card could not be published."


class OutcomeUnknown(AgentError):
    code, http_status = "outcome_unknown", 503
    sentence = "Whether the card was published is not known yet. We are finding out."


class Step(BaseModel):
    """What a state is handed and hands on."""

    # An execution may have begun before the last deployment: it may say more, or less, than this.
    model_config = ConfigDict(frozen=True, extra="ignore")

    user_id: str
    draft_id: str
    run_id: str = ""
    round: int = Field(default=1, ge=1)
    sections: tuple[str, ...] = ()
    """To be drafted next."""
    section: str = ""
    """The one that this state drafts."""
    answer: Answer | None = None
    """The gate's."""
    decided: "Decided | None" = Field(default=None, exclude=True)
    """What the task token was answered with; None where the wait timed out."""
    approval_id: str | None = None
    revises: str | None = None
    """The record whose place the next one takes."""
    decision: Literal["approved", "revised", "rejected", "expired"] | None = None
    outcome: Literal["published", "changed"] | None = None
    error: "Failure | None" = Field(default=None, exclude=True)
    end: Literal["failed", "stopped", "drafted"] | None = None

    @property
    def labels(self) -> dict[str, str]:
        return {"run_id": self.run_id, "draft_id": self.draft_id}

    @property
    def out(self) -> dict[str, Any]:
        """Every field, for the state machine may ask for any."""
        return self.model_dump(mode="json")


class Decided(BaseModel):
    approval_id: str | None = None


class Failure(BaseModel):
    """What a Catch puts beside the input of the state that failed."""

    kind: str = Field(default="", alias="Error")


# --- from evidence to a card ------------------------------------------------------------------------------------------


async def gather_evidence(services: CardServices, step: Step) -> Step:
    """Raises `NothingToTell`."""
    return await run_state(
        services.signals, services.logger, step.user_id, _gather_evidence(services, step), **step.labels
    )


async def _gather_evidence(services: CardServices, step: Step) -> Step:
    draft = await services.drafts.get(step.user_id, step.draft_id)
    plan = tuple(draft.parts.get("plan", ()))
    if not plan:
        await _tell(services.drafts, services.clock, step, label="Gathering evidence")
        found = await gather(services.profiles, services.memories, services.knowledge, step.user_id)
        plan = sections_for(found)
        if not plan:
            raise NothingToTell
        evidence = [each.evidence.model_dump(mode="json") for each in found]
        preferences = [each.evidence.id for each in found if each.is_preference]
        await services.drafts.keep(step.user_id, step.draft_id, evidence=evidence, plan=plan, preferences=preferences)
        await drop_forgotten(services.memories, services.drafts, step.user_id, step.draft_id)
        await _tell(services.drafts, services.clock, step, label=f"Drafting 1 of {_sections(len(plan))}")
    return step.model_copy(update={"sections": plan})


async def keep_draft(services: CardServices, step: Step) -> Step:
    """With what the gate says of publishing it. Raises `NothingSupported`."""
    return await run_state(services.signals, services.logger, step.user_id, _keep_draft(services, step), **step.labels)


async def _keep_draft(services: CardServices, step: Step) -> Step:
    draft = await drop_forgotten(services.memories, services.drafts, step.user_id, step.draft_id)
    checked = _checked_card(draft, step.round, to_datetime(services.clock()).date())
    answer = gate("outward", await services.autonomy.level(step.user_id)).answer
    before = draft.parts.get("card", {})
    if before.get("round") != step.round:
        unchanged = bool(before) and CheckedCard.model_validate(before["checked"]).card == checked.card
        kept = {"round": step.round, "checked": checked.model_dump(mode="json"), "unchanged": unchanged}
        await _tell(
            services.drafts,
            services.clock,
            step,
            status="drafted" if answer == "refuse" else "running",
            label=_drafted(checked),
        )
        await services.drafts.keep(step.user_id, step.draft_id, card=kept)
        await drop_forgotten(services.memories, services.drafts, step.user_id, step.draft_id)
    if not checked.card.sections:
        raise NothingSupported
    return step.model_copy(update={"answer": answer})


def _drafted(checked: CheckedCard) -> str:
    left_out = len(checked.left_out)
    return f"Drafted; left out: {left_out} that nothing supports" if left_out else "Drafted"


# --- from a card to what became of it ---------------------------------------------------------------------------------


async def read_decision(services: CardServices, step: Step) -> Step:
    """What the person decided; nobody waits for them any more. Under the brake as well: it is only noted here, and
    time goes on."""
    return await sanitize_errors(services.logger, _read_decision(services, step), **step.labels)


async def _read_decision(services: CardServices, step: Step) -> Step:
    draft = await services.drafts.get(step.user_id, step.draft_id)
    told = step.decided and step.decided.approval_id
    approval = await _decided(services.approvals, services.clock, step.user_id, told or draft.approval_id or "")
    step = step.model_copy(update={"approval_id": approval.id})
    match approval.status:
        case "rejected" | "expired" as decision:
            status, label = DRAFT_ENDS[decision]
            await _tell(services.drafts, services.clock, step, status=status, label=label)
            return step.model_copy(update={"decision": decision})
        case "revised":
            return await _begin_round(services.memories, services.drafts, services.clock, step, draft, approval)
        case "changed" if approval.decided_by == "nobody":  # what it rested on was forgotten
            return await _begin_round(
                services.memories,
                services.drafts,
                services.clock,
                step,
                draft,
                approval,
                "Drafting it anew without what you had forgotten",
            )
        case _:
            return step.model_copy(update={"decision": "approved"})


async def _decided(approvals: Approvals, clock: Clock, user_id: str, approval_id: str) -> Approval:
    approval = await approvals.get(user_id, approval_id)
    while approval.status == "pending":
        expired = await expire(approvals, approval, clock())
        approval = expired or await approvals.get(user_id, approval_id)
    return approval


async def _begin_round(
    memories: Memories,
    drafts: Drafts,
    clock: Clock,
    step: Step,
    draft: Draft,
    approval: Approval,
    label: str = "Drafting it as you want it",
) -> Step:
    """The person's words become evidence, and what is drafted next."""
    answered: list[str] = list(draft.parts.get("revisions", ()))
    if approval.id not in answered:
        answered.append(approval.id)
    number = answered.index(approval.id) + 2
    if draft.round < number:
        wished = [wish(number, approval.reason).model_dump(mode="json")] if approval.reason else []
        evidence = [*draft.parts["evidence"], *wished]
        # From here on it rests on nothing that was forgotten before; what is forgotten meanwhile flags it again.
        await _tell(drafts, clock, step, status="running", round=number, label=label, flagged=False)
        await drafts.keep(step.user_id, step.draft_id, evidence=evidence, revisions=answered)
        await drop_forgotten(memories, drafts, step.user_id, step.draft_id)
    return step.model_copy(
        update={
            "decision": "revised",
            "revises": approval.id,
            "round": number,
            "sections": tuple(draft.parts["plan"]),
        }
    )


async def publish(services: CardServices, step: Step) -> Step:
    """What was approved, carried out. Raises `OutcomeUnknown` while nobody knows, `PublishingFailed`, and `Braked`
    where the brake was on before it began: a look at it is part of carrying out, and what has begun is not cut off."""
    return await sanitize_errors(services.logger, _publish(services, step), **step.labels)


async def _publish(services: CardServices, step: Step) -> Step:
    approval = await execute(services, step.user_id, step.approval_id or "")
    match approval.status:
        case "done":
            await _tell(services.drafts, services.clock, step, status="published", label="Published")
            return step.model_copy(update={"outcome": "published"})
        case "changed":
            return step.model_copy(update={"outcome": "changed", "revises": approval.id})
        case "failed" if approval.outcome == STOPPED:
            raise Braked
        case "failed":
            raise PublishingFailed
        case _:
            raise OutcomeUnknown


# --- when it went wrong -----------------------------------------------------------------------------------------------

TRY_AGAIN = "It could not be finished. Please try again"
_SAID: Mapping[str, str] = {
    "NothingToTell": NothingToTell.sentence,
    "NothingSupported": NothingSupported.sentence,
    "OverBudget": OverBudget.sentence,
    "ModelUnavailable": "The language model could not be reached. Please try again later",
    "DeadlineExceeded": "The language model took too long. Please try again later",
    "ModelRefused": "The language model is not available to us right now. We have to mend this; please try again later",
    "ContentRefused": "The language model did not accept this. Please tell us, so that we can mend it",
}
"""To the user, by the kind of what was raised."""
_OF_PUBLISHING = ("PublishingFailed", "OutcomeUnknown")


async def note_end(services: CardServices, step: Step) -> Step:
    """How it ended, where the user reads it. Under the brake as well: nothing else says that it stopped."""
    return await sanitize_errors(
        services.logger, _note_end(services.approvals, services.drafts, services.clock, step), **step.labels
    )


async def _note_end(approvals: Approvals, drafts: Drafts, clock: Clock, step: Step) -> Step:
    try:
        draft = await drafts.get(step.user_id, step.draft_id)
    except NotFound:  # its user deleted it: nobody to tell, and nothing to mend
        return step.model_copy(update={"end": "stopped"})
    end, label = await _end_of(approvals, draft, step.error.kind if step.error else "")
    await _tell(
        drafts, clock, step, status=end, label=label, news=end == "failed" and draft.conversation_id is not None
    )
    return step.model_copy(update={"end": end})


async def _end_of(
    approvals: Approvals, draft: Draft, error: str
) -> tuple[Literal["failed", "stopped", "drafted"], str]:
    if error == "Braked":
        return "stopped", "Stopped by the brake"
    if error == "NotAllowed":
        return "drafted", "Drafted; at your level nothing is published for you"
    approval = await approvals.get(draft.user_id, draft.approval_id) if draft.approval_id else None
    if error in _OF_PUBLISHING and approval:
        return "failed", approval.outcome or PublishingFailed.sentence
    # That nothing was published is said only where no yes stands that may have been carried out.
    nothing_was = approval is None or approval.status in ("pending", "revised", "failed", "changed")
    return "failed", _SAID.get(error, NOT_DRAFTED if nothing_was else TRY_AGAIN)


# --- what a draft holds -----------------------------------------------------------------------------------------------


def evidence_of(draft: Draft) -> dict[str, Evidence]:
    return {each["id"]: Evidence.model_validate(each) for each in draft.parts["evidence"]}


def section_draft(draft: Draft, kind: str) -> SectionDraft | None:
    """As it was kept last, in whichever round."""
    kept = draft.parts.get(f"section_{kind}")
    return SectionDraft.model_validate(kept) if kept else None


def wishes_of(draft: Draft) -> list[str]:
    """What they remembered of how they want to be written of, and what they said of this card; the newest last."""
    preferences = draft.parts.get("preferences", ())
    evidence = evidence_of(draft).values()
    remembered = [each.text for each in evidence if each.id in preferences]
    # A part of a message, which may say the opposite without the rest: it steers, and is evidence of nothing.
    first = [draft.parts["wish"]] if draft.parts.get("wish") else []
    return [*remembered, *first, *(each.text for each in evidence if each.kind == "person")]


def _checked_card(draft: Draft, round: int, today: date) -> CheckedCard:
    """Of the sections of this round, in the order in which they are read; those without a claim say nothing."""
    kept = [each for kind in draft.parts["plan"] if (each := section_draft(draft, kind)) and each.round == round]
    sources = sources_of(evidence_of(draft))
    sections = [_with_checked_heading(each.standing, sources, today) for each in kept if each.standing.claims]
    headlines = [claim for each, _ in sections if each.kind == HEADLINE for claim in each.claims]
    headline = next((claim for claim in headlines if len(claim.text) <= LONGEST_HEADLINE), None)
    rest = tuple(each for each, _ in sections if each.kind != HEADLINE)
    left_out = [*(out for each in kept for out in each.left_out), *(out for _, why in sections for out in why)]
    if headlines and headline is None:
        left_out.append(LeftOut(claim=headlines[0], why=(f"It is longer than {LONGEST_HEADLINE} characters.",)))
    card = Card.model_validate({"style": draft.style, "headline": headline, "sections": rest})
    return CheckedCard(card=card, left_out=tuple(left_out))


def _with_checked_heading(
    section: Section, sources: Mapping[str, Source], today: date
) -> tuple[Section, tuple[LeftOut, ...]]:
    """With the usual heading in place of one whose figures are not those of its claims' quotes: it has none itself."""
    found = [spot for claim in section.claims for quote in claim.quotes if (spot := find_quote(quote, sources))]
    heading = Statement(text=section.heading, language=language_of(section.heading))
    facts = check_facts(heading, found, today)
    why = (*facts.missing, *(f"“{figure}” was compared with nothing." for figure in facts.unread))
    if not why:
        return section, ()
    usual = section.model_copy(update={"heading": CARD[section.kind].heading})
    return usual, (LeftOut(claim=Claim(text=section.heading), why=why),)


def _sections(count: int) -> str:
    return f"{count} section{'' if count == 1 else 's'}"


async def _tell(
    drafts: Drafts, clock: Clock, step: Step, *, label: str, status: DraftStatus | None = None, **more: Any
) -> None:
    fields = {"label": label, **({"status": status} if status else {}), **more}
    await drafts.tell(step.user_id, step.draft_id, clock(), **fields)
