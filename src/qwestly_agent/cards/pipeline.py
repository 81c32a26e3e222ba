"""The states of `generate_card`, each by the name that it has in the state machine; `cards.drafting` has the one that
calls a model.

What passes from state to state are ids and counts; what is written stands in the draft. A state that is delivered again
finds what it kept, and changes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.authority.approvals import expire
from qwestly_agent.authority.carrying_out import STOPPED, carry_out
from qwestly_agent.authority.gate import gate
from qwestly_agent.authority.model import Answer, Approval
from qwestly_agent.authority.words import DRAFT_ENDS
from qwestly_agent.bootstrap import House
from qwestly_agent.cards.evidence import gather, sections_for, wish
from qwestly_agent.cards.model import NOT_DRAFTED, Card, CheckedCard, Claim, Evidence, Section
from qwestly_agent.cards.outline import HEADLINE
from qwestly_agent.clock import to_datetime
from qwestly_agent.errors import AgentError, Braked, NotFound, OverBudget
from qwestly_agent.states import run_state, told_safely
from qwestly_agent.stores.drafts import Draft, DraftStatus

MOST_ATTEMPTS = 3
"""To support a claim in one round: drafted, and drafted again twice."""
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
    attempt: int = Field(default=1, ge=1)
    sections: tuple[str, ...] = ()
    """To be drafted next."""
    section: str = ""
    """The one that this state drafts."""
    again: bool = False
    """Whether some claims are to be drafted again."""
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


async def gather_evidence(house: House, step: Step) -> Step:
    """Raises `NothingToTell`."""
    return await run_state(house, step.user_id, _gather_evidence(house, step), **step.labels)


async def _gather_evidence(house: House, step: Step) -> Step:
    draft = await house.drafts.get(step.user_id, step.draft_id)
    plan = tuple(draft.parts.get("plan", ()))
    if not plan:
        await _tell(house, step, label="Gathering evidence")
        found = await gather(house, step.user_id)
        plan = sections_for(found)
        if not plan:
            raise NothingToTell
        evidence = [each.evidence.model_dump(mode="json") for each in found]
        await house.drafts.keep(step.user_id, step.draft_id, evidence=evidence, plan=plan)
        await _tell(house, step, label=f"Drafting 1 of {_sections(len(plan))}")
    return step.model_copy(update={"sections": plan})


async def check_claims(house: House, step: Step) -> Step:
    """With the sections that are to be drafted again."""
    return await run_state(house, step.user_id, _check_claims(house, step), **step.labels)


async def _check_claims(house: House, step: Step) -> Step:
    from qwestly_agent.cards.gate import check_card  # its patterns take long to compile, and no other state needs them

    draft = await house.drafts.get(step.user_id, step.draft_id)
    again = _checked_before(draft, step)
    if again is None:
        sections = drafted_sections(draft, step.round)
        claims = sum(len(each.claims) for each in sections)
        await _tell(house, step, label=f"Checking {claims} claim{'' if claims == 1 else 's'}")
        today = to_datetime(house.clock()).date()
        checked = check_card(_card_of(draft, sections), evidence_of(draft), today, house.logger)
        failed = tuple(each.kind for each in sections if any(why_left_out(checked, each)))
        again = failed if step.attempt < MOST_ATTEMPTS else ()
        kept = {"round": step.round, "attempt": step.attempt, "again": again, "card": checked.model_dump(mode="json")}
        await house.drafts.keep(step.user_id, step.draft_id, checked=kept)
        if again:
            await _tell(house, step, label=f"Redrafting {_sections(len(again))}")
    update = {"again": bool(again), "sections": again, "attempt": step.attempt + bool(again)}
    return step.model_copy(update=update)


def _checked_before(draft: Draft, step: Step) -> tuple[str, ...] | None:
    kept = draft.parts.get("checked", {})
    same = (kept.get("round"), kept.get("attempt")) == (step.round, step.attempt)
    return tuple(kept["again"]) if same else None


async def keep_draft(house: House, step: Step) -> Step:
    """With what the gate says of publishing it. Raises `NothingSupported`."""
    return await run_state(house, step.user_id, _keep_draft(house, step), **step.labels)


async def _keep_draft(house: House, step: Step) -> Step:
    draft = await house.drafts.get(step.user_id, step.draft_id)
    checked = CheckedCard.model_validate(draft.parts["checked"]["card"])
    answer = gate("outward", await house.autonomy.level(step.user_id)).answer
    kept = {"round": step.round, "checked": checked.model_dump(mode="json")}
    if draft.parts.get("card") != kept:
        await _tell(house, step, status="drafted" if answer == "refuse" else "running", label=_drafted(checked))
        await house.drafts.keep(step.user_id, step.draft_id, card=kept)
    if not checked.card.sections:
        raise NothingSupported
    return step.model_copy(update={"answer": answer})


def _drafted(checked: CheckedCard) -> str:
    left_out = len(checked.left_out)
    return f"Drafted; left out: {left_out} that nothing supports" if left_out else "Drafted"


# --- from a card to what became of it ---------------------------------------------------------------------------------


async def read_decision(house: House, step: Step) -> Step:
    """What the person decided; nobody waits for them any more. Under the brake as well: it is only noted here, and
    time goes on."""
    return await told_safely(house, _read_decision(house, step), **step.labels)


async def _read_decision(house: House, step: Step) -> Step:
    draft = await house.drafts.get(step.user_id, step.draft_id)
    told = step.decided and step.decided.approval_id
    approval = await _decided(house, step.user_id, told or draft.approval_id or "")
    step = step.model_copy(update={"approval_id": approval.id})
    match approval.status:
        case "rejected" | "expired" as decision:
            status, label = DRAFT_ENDS[decision]
            await _tell(house, step, status=status, label=label)
            return step.model_copy(update={"decision": decision})
        case "revised":
            return await _begin_round(house, step, draft, approval)
        case _:
            return step.model_copy(update={"decision": "approved"})


async def _decided(house: House, user_id: str, approval_id: str) -> Approval:
    approval = await house.approvals.get(user_id, approval_id)
    while approval.status == "pending":
        expired = await expire(house, approval, house.clock())
        approval = expired or await house.approvals.get(user_id, approval_id)
    return approval


async def _begin_round(house: House, step: Step, draft: Draft, approval: Approval) -> Step:
    """The person's words become evidence, and what is drafted next."""
    answered: list[str] = list(draft.parts.get("revisions", ()))
    if approval.id not in answered:
        answered.append(approval.id)
    number = answered.index(approval.id) + 2
    if draft.round < number:
        wished = [wish(number, approval.reason).model_dump(mode="json")] if approval.reason else []
        evidence = [*draft.parts["evidence"], *wished]
        await house.drafts.keep(step.user_id, step.draft_id, evidence=evidence, revisions=answered)
        await _tell(house, step, status="running", round=number, label="Drafting it as you want it")
    return step.model_copy(
        update={
            "decision": "revised",
            "revises": approval.id,
            "round": number,
            "attempt": 1,
            "sections": tuple(draft.parts["plan"]),
        }
    )


async def publish(house: House, step: Step) -> Step:
    """What was approved, carried out. Raises `OutcomeUnknown` while nobody knows, `PublishingFailed`, and `Braked`
    where the brake was on before it began: a look at it is part of carrying out, and what has begun is not cut off."""
    return await told_safely(house, _publish(house, step), **step.labels)


async def _publish(house: House, step: Step) -> Step:
    approval = await carry_out(house, step.user_id, step.approval_id or "")
    match approval.status:
        case "done":
            await _tell(house, step, status="published", label="Published")
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


async def note_end(house: House, step: Step) -> Step:
    """How it ended, where the user reads it. Under the brake as well: nothing else says that it stopped."""
    return await told_safely(house, _note_end(house, step), **step.labels)


async def _note_end(house: House, step: Step) -> Step:
    try:
        draft = await house.drafts.get(step.user_id, step.draft_id)
    except NotFound:  # its user deleted it: nobody to tell, and nothing to mend
        return step.model_copy(update={"end": "stopped"})
    end, label = await _end_of(house, draft, step.error.kind if step.error else "")
    await _tell(house, step, status=end, label=label, news=end == "failed" and draft.conversation_id is not None)
    return step.model_copy(update={"end": end})


async def _end_of(house: House, draft: Draft, error: str) -> tuple[Literal["failed", "stopped", "drafted"], str]:
    if error == "Braked":
        return "stopped", "Stopped by the brake"
    if error == "NotAllowed":
        return "drafted", "Drafted; at your level nothing is published for you"
    approval = await house.approvals.get(draft.user_id, draft.approval_id) if draft.approval_id else None
    if error in _OF_PUBLISHING and approval:
        return "failed", approval.outcome or PublishingFailed.sentence
    # That nothing was published is said only where no yes stands that may have been carried out.
    nothing_was = approval is None or approval.status in ("pending", "revised", "failed", "changed")
    return "failed", _SAID.get(error, NOT_DRAFTED if nothing_was else TRY_AGAIN)


# --- what a draft holds -----------------------------------------------------------------------------------------------


def evidence_of(draft: Draft) -> dict[str, Evidence]:
    return {each["id"]: Evidence.model_validate(each) for each in draft.parts["evidence"]}


def drafted_sections(draft: Draft, round: int) -> list[Section]:
    """Of this round, in the order in which they are read; those without a claim say nothing."""
    kept = [draft.parts.get(f"section_{kind}", {}) for kind in draft.parts["plan"]]
    sections = [Section.model_validate(each["section"]) for each in kept if each.get("round") == round]
    return [each for each in sections if each.claims]


def drafted_before(draft: Draft, step: Step) -> tuple[Section | None, list[tuple[str, Sequence[str]]]]:
    """The section as it was written last, and what of it was refused in this round."""
    kept = draft.parts.get(f"section_{step.section}")
    if kept is None:
        return None, []
    before, checked = Section.model_validate(kept["section"]), draft.parts.get("checked", {})
    if step.attempt == 1:
        return before, []
    return before, list(why_left_out(CheckedCard.model_validate(checked["card"]), before))


def wishes_of(draft: Draft) -> list[str]:
    return [each.text for each in evidence_of(draft).values() if each.kind == "person"]


def why_left_out(checked: CheckedCard, section: Section) -> Iterator[tuple[str, Sequence[str]]]:
    """What was left out of this section as it was drafted, each with what its evidence does not say."""
    texts = {section.heading, *(claim.text for claim in section.claims)}
    for each in checked.left_out:
        if each.claim.text in texts:
            yield each.claim.text, each.why


def _card_of(draft: Draft, sections: Sequence[Section]) -> Card:
    headline: Claim | None = next(
        (claim for each in sections if each.kind == HEADLINE for claim in each.claims if len(claim.text) <= 300), None
    )
    rest = tuple(each for each in sections if each.kind != HEADLINE)
    return Card.model_validate({"style": draft.style, "headline": headline, "sections": rest})


def _sections(count: int) -> str:
    return f"{count} section{'' if count == 1 else 's'}"


async def _tell(house: House, step: Step, *, label: str, status: DraftStatus | None = None, **more: Any) -> None:
    fields = {"label": label, **({"status": status} if status else {}), **more}
    await house.drafts.tell(step.user_id, step.draft_id, house.clock(), **fields)
