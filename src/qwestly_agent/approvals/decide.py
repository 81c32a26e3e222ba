"""Create approvals and decide them: each change of a record is one compare-and-set.

Every origin (tool call, pipeline) and every channel of a decision (chat, queue, link) uses this record and these
functions. Exactly what is in the record is executed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import CoreSchema, core_schema

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.actions import ACTIONS, Action, ShownServices
from qwestly_agent.approvals.end import expired, without_secrets
from qwestly_agent.approvals.previews import differences, rewritten
from qwestly_agent.approvals.redraft import redraft_id
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Braked, ChangedMeanwhile, Invalid, NotFound
from qwestly_agent.domain.approval import (
    MAIL_AFTER_SECONDS,
    Answer,
    Approval,
    Confidence,
    DecidedBy,
    Level,
    Preview,
    Status,
    Verb,
    canonical_json,
    sha256_hex,
)
from qwestly_agent.services import HasApprovals, HasCandidateApp, HasClock, HasSignals
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.text.clean import visible


class DecideServices(ShownServices, HasApprovals, HasCandidateApp, HasClock, HasSignals, Protocol): ...


LONGEST_REASON_CHARACTERS = 2_000
SEEN_ANOTHER = "This is not what you were shown. Please look at it again."

_BECOMES: Mapping[Verb, Status] = {
    "approve": "approved",
    "edit": "approved",
    "revise": "revised",
    "reject": "rejected",
}


class Decision(BaseModel):
    """What a person answers. `args_digest` names what they saw."""

    model_config = ConfigDict(frozen=True)

    decision: Verb
    args_digest: str = Field(max_length=64)
    args: dict[str, Any] | None = None
    """With `edit`: the changed arguments."""
    reason: str | None = Field(default=None, max_length=LONGEST_REASON_CHARACTERS)


@dataclass(frozen=True)
class Proposal:
    """A proposed action, with all that a person needs to decide on it."""

    action: Action[Any]
    args: Mapping[str, Any]
    rationale: str = ""
    alternatives: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    preview: Preview | None = None
    """Replaces the action's own preview, if the proposer knows more than its arguments."""
    shown: Mapping[str, str] | None = None
    """With such a preview: the subject's values when it was made."""
    revisable: bool = True
    """False if no new version can be made any more."""
    unchecked: bool = False
    """True if the judge was unavailable for its content: then it needs approval at every level."""
    confidence: Confidence | None = None

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> CoreSchema:
        """Any schema: a tool that returns a proposal has no result of its own; the gate's outcome is the result."""
        return core_schema.any_schema()


@dataclass(frozen=True)
class Asker:
    """The origin of an approval: user, run, conversation, draft."""

    user_id: str
    run_id: str
    level: Level
    conversation_id: str | None = None
    draft_id: str | None = None
    role: str = ""
    """The design that proposed it."""
    task_token: str | None = field(default=None, repr=False)
    """Sealed (encrypted)."""
    revises: str | None = None
    """Id of the record that this one replaces."""
    undoes: str | None = None
    """Id of the record whose effect this one takes back: its user asked for exactly that, so it is decided."""


async def ask(services: DecideServices, approval_id: str, proposal: Proposal, asker: Asker, answer: Answer) -> Approval:
    """Create the record with this id; return the existing one if there is one.

    Raises `Invalid` for arguments that the action does not accept, `NotFound` if there is nothing to change, and
    `Unavailable`.
    """
    action, now = proposal.action, services.clock()
    args = parse(action, proposal.args)
    subject = action.subject(args)
    # Read the version before the values shown: a change in between is then detected.
    version = await services.candidate_app.version_of(asker.user_id, approval_id, subject)
    if version is None and action.must_exist:
        raise NotFound("There is no such card.")
    shown = await action.shown(services, asker.user_id, args) if proposal.shown is None else dict(proposal.shown)
    preview = proposal.preview or action.preview(args, shown)
    earlier = await services.approvals.get(asker.user_id, asker.revises) if asker.revises else None
    if earlier:
        difference = (*differences(earlier.shown, shown), *rewritten(earlier.preview, preview))
        preview = preview.model_copy(update={"difference": difference})
    text = canonical_json(args.model_dump(mode="json", exclude_none=True))
    approval = Approval(
        id=approval_id,
        user_id=asker.user_id,
        run_id=asker.run_id,
        conversation_id=asker.conversation_id,
        draft_id=asker.draft_id or getattr(args, "draft_id", None),
        kind=action.kind,
        tool=action.tool,
        effect=action.effect,
        args=text,
        args_digest=sha256_hex(action.tool, text),
        schema_digest=action.schema_digest,
        subject=subject,
        version=version,
        shown=shown,
        preview=preview,
        rationale=visible(proposal.rationale)[:LONGEST_REASON_CHARACTERS],
        alternatives=proposal.alternatives,
        confidence=proposal.confidence,
        role=asker.role,
        evidence=proposal.evidence,
        revisable=action.revisable and proposal.revisable,
        level=asker.level,
        answer=answer,
        created_at=now,
        updated_at=now,
        expires_at=now + action.seconds_to_decide,
        revises=asker.revises,
        **_round_after(earlier),
        undoes=asker.undoes,
        task_token=asker.task_token,
        audit=(_line(now, "asked", f"run {asker.run_id}", f"to undo {asker.undoes}" if asker.undoes else ""),),
        **_awaiting(action, answer, asker, now),
    )
    if not await services.approvals.add(approval):
        approval = await services.approvals.get(asker.user_id, approval_id)
    if approval.revises:
        await _name_successor(services.approvals, asker.user_id, approval.revises, approval_id)
    return approval


async def decide(
    services: DecideServices, user_id: str, approval_id: str, decision: Decision, *, by: DecidedBy, where: str
) -> tuple[Approval, bool]:
    """Decide the record; return it, and True if this decision counted: only the first one does.

    `where` is the decision's origin, for the audit. Raises `NotFound`, `Braked`, `Invalid`, and `Changed` if the person
    saw something else.
    """
    before = await services.approvals.get(user_id, approval_id)
    if decision.args and decision.decision != "edit":
        raise Invalid("Other arguments belong to an edit. Nothing was decided.")
    if before.status != "pending":
        return before, False
    if await services.signals.is_braked(user_id):
        raise Braked(pause.FROZEN)
    now = services.clock()

    def decided(record: Approval) -> Approval | None:
        if record.status != "pending" or now >= record.expires_at:
            return expired(record, now)
        return _decided(record, decision, now, by, where)

    after, changed = await services.approvals.change(before, decided)
    return after, changed and after.status != "expired"


def _decided(record: Approval, decision: Decision, now: float, by: DecidedBy, where: str) -> Approval:
    """Apply the decision to the pending record. Raises `Invalid` and `Changed`."""
    if decision.args_digest != record.args_digest:
        raise ChangedMeanwhile(SEEN_ANOTHER)
    if by == "link" and not ACTIONS[record.tool].by_link:
        raise Invalid("This is not decided by a link.")
    if decision.decision == "revise" and not record.revisable:
        raise Invalid("This cannot be made otherwise: please say yes or no.")
    changes = _edited(record, decision) if decision.decision == "edit" else {}
    reason = visible(decision.reason).strip() or None if decision.reason else None
    return record.model_copy(
        update={
            "status": _BECOMES[decision.decision],
            "decided_at": now,
            "decided_by": by,
            "reason": reason,
            "redraft_id": redraft_id(record, reason) if decision.decision == "revise" else None,
            "mail_at": None,
            "news": record.conversation_id is not None,
            "updated_at": now,
            "audit": (*record.audit, _line(now, decision.decision, by, where)),
            **changes,
            **without_secrets(record),
        }
    )


def arguments_of(approval: Approval) -> Any:
    """The record's arguments as its action has them now. Raises `Invalid` if nobody can read them any more."""
    action = ACTIONS[approval.tool]
    return parse(action, action.upgraded(approval.schema_digest, approval.arguments) or {})


def parse(action: Action[Any], args: Mapping[str, Any]) -> Any:
    try:
        return action.arguments.model_validate(dict(args))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Invalid(f"{where or 'arguments'}: {first['msg']}.") from None


def id_of_call(conversation_id: str, run_id: str, call_id: str) -> str:
    """Return the id of a tool call's record; deterministic, so that a repeated call makes no second record."""
    return f"ap_{sha256_hex(conversation_id, run_id, call_id)[:32]}"


def _edited(before: Approval, decision: Decision) -> dict[str, Any]:
    action, given = ACTIONS[before.tool], decision.args or {}
    earlier = action.upgraded(before.schema_digest, before.arguments) or {}
    if not given or not given.keys() <= set(action.editable):
        raise Invalid(f"Of this only {', '.join(action.editable) or 'nothing'} can be edited.")
    args = parse(action, {**earlier, **given})
    text = canonical_json(args.model_dump(mode="json", exclude_none=True))
    return {
        "args": text,
        "args_digest": sha256_hex(action.tool, text),
        "schema_digest": action.schema_digest,
        "preview": action.preview(args, before.shown),
    }


def _round_after(earlier: Approval | None) -> dict[str, Any]:
    if earlier is None:
        return {}
    if earlier.status != "revised":
        return {"round": earlier.round}
    return {"round": earlier.round + 1, "wish": earlier.reason}


def _awaiting(action: Action[Any], answer: Answer, asker: Asker, now: float) -> dict[str, Any]:
    if asker.undoes:
        return {"status": "approved", "decided_at": now, "decided_by": "undo"}
    if answer == "run":
        return {"status": "approved", "decided_at": now, "decided_by": "level", "reason": asker.level}
    if action.signed_in_only:
        return {}
    # An approval asked for in the chat is mailed only if it is not decided there.
    return {"mail_at": now + MAIL_AFTER_SECONDS if answer == "ask" else now}


async def _name_successor(approvals: Approvals, user_id: str, approval_id: str, successor: str) -> None:
    def named(record: Approval) -> Approval | None:
        return None if record.revised_by == successor else record.model_copy(update={"revised_by": successor})

    await approvals.change(await approvals.get(user_id, approval_id), named)


def _line(now: float, what: str, who: str, where: str) -> str:
    return " ".join(filter(None, (to_datetime(now).isoformat(), what, "by" if who else "", who, where)))
