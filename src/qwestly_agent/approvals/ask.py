"""Create approvals: the proposal, its origin, and everything a user needs to decide on it."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import CoreSchema, core_schema

from qwestly_agent.action import to_json_types
from qwestly_agent.approvals.end import end_superseded
from qwestly_agent.approvals.seal import sealed
from qwestly_agent.approvals.view import with_differences, with_draft, with_person
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.domain.approval import (
    LONGEST_REASON_CHARACTERS,
    MAIL_AFTER_SECONDS,
    Answer,
    Approval,
    Confidence,
    Level,
    Preview,
    ShownLeftOut,
    canonical_json,
    sha256_hex,
)
from qwestly_agent.services import AnyAction, Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.candidate_data import Knowledge
from qwestly_agent.stores.resumes import Resumes
from qwestly_agent.text.clean import strings_in, visible
from qwestly_agent.text.contacts import ContactDetails

# --- contacts ---------------------------------------------------------------------------------------------------------
# Keep contact details from the user's documents out of proposed and published texts.


LEFT_OUT = "Contact details: what stands in your documents of them is put into no text for others."
NOT_PUBLISHED = "It has contact details from your documents, and those are not published. Nothing was done."
NOTHING_LEFT = "It is left out: contact details from the user's documents are put into no text for others."
_SENTENCE_ENDS = re.compile(r"(?<=[.!?;])\s+|\n+")


async def find_contact_details(knowledge: Knowledge, resumes: Resumes, user_id: str) -> ContactDetails:
    """Find the contact details in the candidate app's documents and in uploaded résumés."""
    found = await asyncio.gather(knowledge.contacts(user_id), resumes.contacts(user_id))
    return ContactDetails.of(each for some in found for each in some)


def public_texts(action: AnyAction, args: Any) -> list[str]:
    """Return the texts of an action that others can read."""
    return [text for name in action.published for text in strings_in(args.get(name))]


def without_contacts(
    action: AnyAction, args: Any, details: ContactDetails, *, drafted: bool
) -> tuple[Any, tuple[ShownLeftOut, ...]]:
    """Remove contact details from the arguments, and return the parts left out. Raises `Invalid` if nothing would be
    left, or if a `drafted` text contains any, because it must then be drafted again."""
    given = to_json_types(args)
    if not details.places_in(public_texts(action, given)):
        return args, ()
    left = {name: _left(value, details) if name in action.published else value for name, value in given.items()}
    if drafted or not action.editable or None in left.values() or details.places_in(public_texts(action, left)):
        raise Invalid(NOTHING_LEFT)
    return action.parse(left), (ShownLeftOut(text="A part of it", why=(LEFT_OUT,)),)


async def has_public_contacts(services: Services, approval: Approval, action: AnyAction) -> bool:
    """True if the approval's texts contain contact details that the user did not add."""
    texts = public_texts(action, approval.arguments)
    if not texts or approval.edited or approval.undoes:
        return False
    return bool((await find_contact_details(services.knowledge, services.resumes, approval.user_id)).places_in(texts))


def _left(value: Any, details: ContactDetails) -> Any:
    """Return the value without contact details, or None if nothing is left. An object is dropped if any of its fields
    would become empty."""
    match value:
        case str():
            return " ".join(_clean(_SENTENCE_ENDS.split(value), details)) or None if details.stand_in(value) else value
        case dict():
            left = {name: each if each is None else _left(each, details) for name, each in value.items()}
            return None if any(left[name] is None and each is not None for name, each in value.items()) else left
        case list() | tuple():
            texts = [" ".join(strings_in(each)) for each in value]
            gone = details.places_in(texts) - {n for n, each in enumerate(texts) if details.stand_in(each)}
            items = [_left(each, details) for n, each in enumerate(value) if n not in gone]
            return [each for each in items if each is not None] or None
        case _:
            return value


def _clean(texts: Sequence[str], details: ContactDetails) -> list[str]:
    gone = details.places_in(texts)
    return [text for number, text in enumerate(texts) if number not in gone]


# --- ask --------------------------------------------------------------------------------------------------------------
# Every origin (tool call, workflow, undo) creates its record here. What is executed is exactly the stored record.


@dataclass(frozen=True)
class Proposal:
    """A proposed action, with everything a user needs to decide on it."""

    action: AnyAction
    args: Mapping[str, Any]
    rationale: str = ""
    alternatives: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    preview: Preview | None = None
    """Replaces the action's own preview, if the proposer knows more than its arguments."""
    shown: Mapping[str, str] | None = None
    """The subject's values when `preview` was made; required with `preview`."""
    drafted: Preview | None = None
    """Its sections and left-out claims are added to the action's own preview."""
    revisable: bool = True
    """False if no further version can be drafted."""
    unchecked: bool = False
    """True if the judge was unavailable to check the content; the proposal then needs approval at every level."""
    confidence: Confidence | None = None
    check: Callable[[], Awaitable[None]] | None = None
    """Called after the current values are read; raises if the action no longer applies to them."""

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> CoreSchema:
        """Any schema: a tool that returns a proposal has no result of its own; the gate's outcome is the result."""
        return core_schema.any_schema()


@dataclass(frozen=True)
class ProposalContext:
    """The context of a proposal: user, run, conversation, draft."""

    user_id: str
    run_id: str
    level: Level
    conversation_id: str | None = None
    draft_id: str | None = None
    work: str = ""
    """Name of the store whose work waits for the decision, as in `Approval`."""
    role: str = ""
    """The design that made the proposal."""
    variant: str | None = None
    task_token: str | None = field(default=None, repr=False)
    """The encrypted task token."""
    revises: str | None = None
    """Id of the record that this one replaces."""
    undoes: str | None = None
    """Id of the record whose effect this one undoes. The user requested exactly that, so it is already decided."""
    earned: bool = False


async def create_approval(
    services: Services, approval_id: str, proposal: Proposal, context: ProposalContext, answer: Answer
) -> Approval:
    """Create the record with this id, or return the existing one.

    Raises `Invalid` for arguments that the action does not accept, `NotFound` if there is nothing to change, and
    `Unavailable`.
    """
    action, now = proposal.action, services.clock()
    # A proposal with `shown` was checked earlier; an undo restores the user's own values.
    is_new = bool(action.published) and proposal.shown is None and not context.undoes
    details = (
        await find_contact_details(services.knowledge, services.resumes, context.user_id)
        if is_new
        else ContactDetails()
    )
    drafted = bool(proposal.preview or proposal.drafted)
    args, left_out = without_contacts(action, action.parse(proposal.args), details, drafted=drafted)
    subject = action.subject(args)
    shown = (
        await action.read_current(services, context.user_id, args) if proposal.shown is None else dict(proposal.shown)
    )
    if action.must_exist and not shown:
        raise NotFound("There is no such card.")
    if proposal.check:
        await proposal.check()
    preview = proposal.preview or with_draft(action.preview(args, shown), proposal.drafted)
    preview = await with_person(services.profiles, context.user_id, preview) if action.kind == "card" else preview
    preview = preview.model_copy(update={"left_out": (*preview.left_out, *left_out)})
    earlier = await services.approvals.get(context.user_id, context.revises) if context.revises else None
    preview = with_differences(preview, shown, earlier) if earlier else preview
    text = canonical_json(args.model_dump(mode="json", exclude_none=True))
    undone = f" to undo {context.undoes}" if context.undoes else ""
    approval = Approval(
        id=approval_id,
        user_id=context.user_id,
        run_id=context.run_id,
        conversation_id=context.conversation_id,
        draft_id=context.draft_id or getattr(args, "draft_id", None),
        kind=action.kind,
        tool=action.tool,
        effect=action.effect,
        args=text,
        args_digest=sha256_hex(action.tool, text),
        schema_digest=action.schema_digest,
        subject=subject,
        shown=shown,
        preview=preview,
        rationale=""
        if details.stand_in(proposal.rationale)
        else visible(proposal.rationale)[:LONGEST_REASON_CHARACTERS],
        alternatives=tuple(each for each in proposal.alternatives if not details.stand_in(each)),
        confidence=proposal.confidence,
        role=context.role,
        work=context.work,
        variant=context.variant,
        evidence=proposal.evidence,
        editable=action.editable,
        revisable=action.revisable and proposal.revisable,
        level=context.level,
        earned=context.earned,
        answer=answer,
        created_at=now,
        updated_at=now,
        expires_at=now + 3_600 * services.settings.hours_by_tool.get(action.tool, action.hours),
        revises=context.revises,
        **_round_after(earlier),
        undoes=context.undoes,
        task_token=context.task_token,
        audit=(f"{to_datetime(now).isoformat()} asked by run {context.run_id}{undone}",),
        **_awaiting(action, answer, context, now),
    )
    if not await services.approvals.add(sealed(services, approval)):
        approval = await services.approvals.get(context.user_id, approval_id)
    if approval.revises:
        await _name_successor(services.approvals, context.user_id, approval.revises, approval_id)
    await end_superseded(services, approval)
    if action.on_asked:
        await action.on_asked(services, approval)
    return approval


def id_of_call(conversation_id: str, run_id: str, call_id: str) -> str:
    """Return the id of a tool call's record; deterministic, so that a repeated call makes no second record."""
    return f"ap_{sha256_hex(conversation_id, run_id, call_id)[:32]}"


def _round_after(earlier: Approval | None) -> dict[str, Any]:
    if earlier is None:
        return {}
    if earlier.status != "revised":
        return {"round": earlier.round}
    return {"round": earlier.round + 1, "wish": earlier.reason}


def _awaiting(action: AnyAction, answer: Answer, context: ProposalContext, now: float) -> dict[str, Any]:
    if context.undoes:
        return {"status": "approved", "decided_at": now, "decided_by": "undo"}
    return {} if answer == "run" else {"mail_at": mail_time(action, answer, now)}


def mail_time(action: AnyAction, answer: Answer, now: float) -> float | None:
    """Return when to mail the user about the approval. One requested in the chat is mailed later, in case it is decided
    there."""
    if action.signed_in_only:
        return None
    return now + MAIL_AFTER_SECONDS if answer == "ask" else now


async def _name_successor(approvals: Approvals, user_id: str, approval_id: str, successor: str) -> None:
    def named(record: Approval) -> Approval | None:
        return None if record.revised_by == successor else record.succeeded(successor)

    await approvals.change(await approvals.get(user_id, approval_id), named)
