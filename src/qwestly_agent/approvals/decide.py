"""Decide approvals: apply a user's decision on exactly what they saw, by one compare-and-set, and follow up at once:
notify the execution, or execute the action.

All channels (chat, queue, link) use these functions. `approvals.ask` creates the records.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pymongo.errors import PyMongoError

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.autonomy import note_decision
from qwestly_agent.approvals.end import finish, notify_execution
from qwestly_agent.approvals.execute import execute
from qwestly_agent.approvals.seal import sealed
from qwestly_agent.approvals.view import approval_span
from qwestly_agent.base.errors import AgentError, Braked, ChangedMeanwhile, Invalid
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.domain.approval import (
    LONGEST_REASON_CHARACTERS,
    Approval,
    DecidedBy,
    Edit,
    Verb,
    canonical_json,
    sha256_hex,
)
from qwestly_agent.services import AnyAction, Services
from qwestly_agent.text.clean import visible

SEEN_ANOTHER = "This is not what you were shown. Please look at it again."


class Decision(BaseModel):
    """A user's decision. `args_digest` is that of the arguments they were shown."""

    model_config = ConfigDict(frozen=True)

    decision: Verb
    args_digest: str = Field(max_length=64)
    args: dict[str, Any] | None = None
    """The changed arguments, for `edit`."""
    reason: str | None = Field(default=None, max_length=LONGEST_REASON_CHARACTERS)
    opened: bool | None = None
    """True if the page showed the whole preview to the user: only then a yes counts toward earned autonomy."""


async def decide(
    services: Services, user_id: str, approval_id: str, decision: Decision, *, by: DecidedBy, where: str
) -> tuple[Approval, bool]:
    """Decide the record; return it, and True if this decision took effect: only the first one does.

    `where` is the decision's origin, for the audit. Raises `NotFound`, `Braked`, `Invalid`, and `ChangedMeanwhile` if
    the user saw another version.
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
        if record.status != "pending":
            return None
        if now >= record.expires_at:
            return record.expired(now)
        return _decided(services, record, decision, now, by, where)

    after, changed = await services.approvals.change(before, decided)
    return after, changed and after.status != "expired"


def _decided(
    services: Services, record: Approval, decision: Decision, now: float, by: DecidedBy, where: str
) -> Approval:
    """Apply the decision to the pending record. Raises `Invalid` and `ChangedMeanwhile`."""
    if decision.args_digest != record.args_digest:
        raise ChangedMeanwhile(SEEN_ANOTHER)
    action = services.actions[record.tool]
    if by == "link" and not action.is_link_allowed:
        raise Invalid("This is not decided by a link.")
    if decision.decision == "revise" and not record.revisable:
        raise Invalid("No more changes can be asked for: please approve or decline.")
    edit = _edited(action, record, decision) if decision.decision == "edit" else None
    reason = visible(decision.reason).strip() or None if decision.reason else None
    redraft = _redraft_id(action, record, reason) if decision.decision == "revise" else None
    changes: dict[str, Any] = {"reason": reason, "redraft_id": redraft, "edit": edit, "opened": bool(decision.opened)}
    return sealed(services, record.decided(decision.decision, now, by=by, where=where, **changes))


def _redraft_id(action: AnyAction, record: Approval, wish: str | None) -> str | None:
    """Return the id of the draft for this change request; None if no workflow drafts it, or if an execution is waiting
    for the decision. The id is derived from the record, so that following up twice starts only one execution."""
    if not wish or record.task_token or not action.redraft or not action.redraft.section(record):
        return None
    return f"redraft_{sha256_hex(record.id, '2')[:32]}"


def _edited(action: AnyAction, before: Approval, decision: Decision) -> Edit:
    given = decision.args or {}
    earlier = action.upgrade_arguments(before.schema_digest, before.arguments) or {}
    if not given or not given.keys() <= set(action.editable):
        raise Invalid(f"Of this only {', '.join(action.editable) or 'nothing'} can be edited.")
    args = action.parse({**earlier, **given})
    preview = action.preview(args, before.shown)
    left = {each.name for each in preview.changes}
    if not left <= {each.name for each in before.preview.changes}:
        raise Invalid("Only what was proposed can be changed. Nothing was decided.")
    text = canonical_json(args.model_dump(mode="json", exclude_none=True))
    return Edit(
        edited=given.get("value") not in before.alternatives,  # otherwise the user took an alternative
        args=text,
        args_digest=sha256_hex(action.tool, text),
        schema_digest=action.schema_digest,
        preview=preview,
        # Compare only the values that the edit keeps: those that the user removed may have changed meanwhile.
        shown={name: value for name, value in before.shown.items() if name in left},
    )


async def decide_and_follow_up(
    services: Services, user_id: str, approval_id: str, decision: Decision, *, by: DecidedBy, where: str
) -> Approval:
    """Decide the record, follow up, and return it. Raises what `decide` raises.

    Only the decision that took effect is followed up. If the follow-up fails, the decision remains and the sweep
    retries.
    """
    approval, counted = await decide(services, user_id, approval_id, decision, by=by, where=where)
    if not counted:
        return approval
    with approval_span(services.traces, "decide approval", approval, by=by):
        return await _follow_up(services, approval)


async def _follow_up(services: Services, approval: Approval) -> Approval:
    try:
        await note_decision(services, approval)
        if approval.waits_for_execution:
            approval = await notify_execution(services, approval)
        if approval.task_token:  # an execution waits for the decision
            return approval
        return await finish(services, await execute(services, approval.user_id, approval.id))
    except (AgentError, PyMongoError) as error:
        line = {"approval_id": approval.id, "run_id": approval.run_id, **cause_of(error)}
        services.logger.warning(Event.REQUEST_FAILED, extra=line)
        return approval
