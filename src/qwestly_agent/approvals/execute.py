"""Execute approved records and undo them: the only place that changes something for a user."""

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from qwestly_agent.action import digest_of, to_json_types
from qwestly_agent.approvals import pause
from qwestly_agent.approvals.ask import NOT_PUBLISHED, Proposal, ProposalContext, create_approval, has_public_contacts
from qwestly_agent.approvals.autonomy import gate, level_of, note_decision
from qwestly_agent.approvals.end import (
    DRAFT_ENDS,
    FORGOTTEN,
    end_forgotten,
    expire_left_behind,
    finish,
    has_forgotten_source,
    is_left_behind,
    work_of,
)
from qwestly_agent.approvals.seal import end_unsealed, is_undo_sealed, sealed
from qwestly_agent.approvals.view import approval_span, refresh_preview
from qwestly_agent.base.errors import Braked, ChangedMeanwhile, NotFound
from qwestly_agent.clients.candidate_app import Changed, Done, Effect, NeverArrived, Outcome, Pending, Refused, Unknown
from qwestly_agent.domain.approval import (
    FINAL,
    KEYS_KEPT_SECONDS,
    LEFT_BEHIND_SECONDS,
    SENT,
    UNDELIVERABLE_SECONDS,
    Approval,
    Status,
    canonical_json,
    sha256_hex,
)
from qwestly_agent.services import AnyAction, Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.drafts import Drafts

# --- execute ----------------------------------------------------------------------------------------------------------
# Execute approved records: each at most once, and only while it is allowed.
#
# A record goes `approved → executing → done | failed | accepted | unknown`. Its id is the effect's idempotency key: an
# interrupted execution is completed by querying the outcome of that key, and is never sent under another one.


REBASES = 3
"""Maximum number of times that the effect is sent again with a new version because parts of the subject changed that
were not shown."""

LATEST_SECONDS = 86_400.0
"""Seconds after the decision from which an action is no longer executed."""

STOPPED = "You had paused everything, so nothing was done."
NOT_ALLOWED = "You no longer let the agent do this, so nothing was done."
TOO_LATE = "It could not be done in time, so it was not done at all."
OTHER_RULES = "What can be changed here has changed since you were asked, so nothing was done. Please ask again."
ACCEPTED = "It is being done. You are told as soon as it is."
FINDING_OUT = "We’re checking whether this went through."
NEVER_KNOWN = "We couldn’t confirm this. Please check your profile."
NOT_AS_DONE = "It was changed again since, so nothing was undone."
NOT_AS_SHOWN = "This changed after you saw it, so nothing was done. Ask again to continue."
ASKED_AGAIN = "This changed in the meantime, so nothing was done. We’ll ask you again and show what’s different."


async def execute(services: Services, user_id: str, approval_id: str) -> Approval:
    """Take the next possible step of the execution and return the record; a record that is not approved is returned
    unchanged.

    If an error prevents checking whether the action is allowed, it is raised: then nothing was done, and the record is
    still approved.
    """
    approval = await end_unsealed(services, await services.approvals.get(user_id, approval_id))
    if not (step := _next_step(services, approval)):
        return approval
    with approval_span(services.traces, "execute approval", approval):
        return await step(services, approval)


def _next_step(services: Services, approval: Approval) -> Callable[[Services, Approval], Awaitable[Approval]] | None:
    if approval.status == "approved":
        return _begin
    # Idempotent effects are repeated without waiting.
    patience = 0.0 if _is_ours(services, approval) else LEFT_BEHIND_SECONDS
    left_behind = approval.begun_at is not None and services.clock() >= approval.begun_at + patience
    if approval.status in SENT or (approval.status == "executing" and left_behind):
        return _find_out
    return None


async def denial_reason(services: Services, approval: Approval) -> str | None:
    """Return the reason why the action must not be executed now, or None. Checks everything that may have changed,
    except the subject."""
    action = services.actions.get(approval.tool)
    try:
        await pause.check(services.signals, approval.user_id)
    except Braked:
        return STOPPED
    standing = await services.autonomy.get(approval.user_id)
    level = await level_of(services, approval.user_id, standing, approval.tool)
    allowed = gate(approval.effect, level, is_requested=approval.decided_by == "level").answer
    # An undo is the user's own act, so it needs no level.
    if not approval.undoes and (allowed == "refuse" or (approval.decided_by == "level" and allowed != "run")):
        return NOT_ALLOWED
    if services.clock() > (approval.decided_at or approval.created_at) + LATEST_SECONDS:
        return TOO_LATE
    whole = sha256_hex(approval.tool, approval.args) == approval.args_digest
    if action is None or not whole or action.effect != approval.effect:
        return OTHER_RULES
    return None if action.upgrade_arguments(approval.schema_digest, approval.arguments) else OTHER_RULES


def _action_of(services: Services, approval: Approval) -> tuple[AnyAction, Any]:
    action = services.actions[approval.tool]
    return action, action.arguments_of(approval)


async def _begin(services: Services, approval: Approval) -> Approval:
    if why := await denial_reason(services, approval):
        return await _end(services, approval, "failed", why)
    if await has_public_contacts(services, approval, services.actions[approval.tool]):
        return await _end(services, approval, "failed", NOT_PUBLISHED)
    return await _send(services, approval)


async def _send(services: Services, approval: Approval, *, earlier: float | None = None) -> Approval:
    """Mark the record as executing, then send the effect: if the process dies in between, the outcome can be queried by
    its key.

    `earlier` is the start of a previous request that may still arrive; a rejection of this request does not mean that
    the previous one was rejected too.
    """
    action, args = _action_of(services, approval)
    was_sent = approval.status != "approved"  # possibly still in transit, or already done
    # Read the version before the values, so that a change in between is detected, and both before marking the record,
    # because until then nothing can have been sent. Actions on our own data compare versions themselves.
    version, as_shown = approval.version, True
    if not (was_sent or action.is_own_data):
        version = await _version_of(services, action, approval)
        as_shown = await action.read_current(services, approval.user_id, args) == approval.shown
        if not as_shown:  # a process that resumes must not overwrite values that were not shown
            version = approval.version
    inverse = await _inverse(services, action, args, approval)
    now = services.clock()
    begun, ours = await _put(
        services.approvals, approval, lambda record: sealed(services, record.begun(now, inverse, version))
    )
    if not ours:
        return begun
    try:
        # Check again: either a brake engaged meanwhile found this record executing, or this check sees the brake.
        await pause.check(services.signals, begun.user_id)
    except Braked:
        return await (_conclude(services, begun, Unknown()) if was_sent else _end(services, begun, "failed", STOPPED))
    # Either this check sees that its sources were forgotten meanwhile, or the forgetting found this record executing.
    if await has_forgotten_source(services, begun):
        return await _end(services, begun, "changed", FORGOTTEN)
    if not as_shown:  # changed without a new version of the subject
        return await _ask_again(services, begun)
    return await _perform(services, begun, earlier=earlier)


async def _version_of(services: Services, action: AnyAction, approval: Approval) -> str | None:
    """Return the version of the subject that may be replaced; None if the subject must not exist. Raises
    `Unavailable`."""
    if action.duplicate_message:
        return None
    return await services.candidate_app.version_of(approval.user_id, approval.id, approval.subject)


async def _inverse(services: Services, action: AnyAction, args: Any, approval: Approval) -> str:
    """Return the JSON of the arguments that undo the action; empty if it cannot be undone, or is itself an undo."""
    if action.inverse is None or approval.undoes:
        return ""
    if approval.status != "approved":  # the first request may have been executed
        return approval.inverse
    return canonical_json(to_json_types(await action.inverse.arguments(services, approval.user_id, args)))


async def _perform(services: Services, begun: Approval, *, earlier: float | None) -> Approval:
    action, args = _action_of(services, begun)
    for _ in range(REBASES):
        version = digest_of(begun.shown) if action.is_own_data else begun.version
        effect = Effect(user_id=begun.user_id, act=begun.id, key=begun.id, version=version, begun_at=begun.begun_at)
        outcome = await action.perform(services, effect, args)
        if earlier is not None and isinstance(outcome, Refused | Changed):
            return await _wait_for_earlier(services, begun, earlier)
        if not isinstance(outcome, Changed):
            return await _conclude(services, begun, outcome)
        if action.is_own_data:
            return await _end(services, begun, "changed", NOT_AS_SHOWN)
        if action.duplicate_message or await action.read_current(services, begun.user_id, args) != begun.shown:
            break
        # The values shown did not change, but something else in the same subject did.
        if why := await denial_reason(services, begun):
            return await _end(services, begun, "failed", why)
        begun = begun.rebased(outcome.version)
    return await _ask_again(services, begun)


async def _wait_for_earlier(services: Services, begun: Approval, earlier: float) -> Approval:
    now = services.clock()
    again, _ = await _put(services.approvals, begun, lambda record: record.refused_again(earlier, now, FINDING_OUT))
    return again


async def _find_out(services: Services, approval: Approval) -> Approval:
    since = services.clock() - (approval.begun_at or approval.created_at)
    outcome = await _outcome_of(services, approval)
    if since >= KEYS_KEPT_SECONDS and not isinstance(outcome, Done | Refused):
        return await _end(services, approval, "failed", NEVER_KNOWN)
    if not isinstance(outcome, NeverArrived):
        return await _conclude(services, approval, outcome)
    may_arrive = since < UNDELIVERABLE_SECONDS and not _is_ours(services, approval)
    if why := await denial_reason(services, approval):
        waits = why == STOPPED or may_arrive
        return await (_conclude(services, approval, Unknown()) if waits else _end(services, approval, "failed", why))
    # Nothing was done under this key yet. If a request is still in transit, the key ensures that the effect happens
    # only once.
    return await _send(services, approval, earlier=approval.begun_at if may_arrive else None)


def _is_ours(services: Services, approval: Approval) -> bool:
    action = services.actions.get(approval.tool)
    return action is not None and action.is_own_data


async def _outcome_of(services: Services, approval: Approval) -> Outcome:
    if _is_ours(services, approval):
        return NeverArrived()  # its outcome is not stored; sending again is idempotent
    return await services.candidate_app.outcome_of(approval.user_id, approval.id, approval.id)


async def _conclude(services: Services, approval: Approval, outcome: Outcome) -> Approval:
    action = services.actions[approval.tool]
    match outcome:
        case Done(result=result):
            return await _end(
                services, approval, "done", " ".join(filter(None, (action.done_message, result.get("note")))), result
            )
        case Refused(reason=reason):
            return await _end(services, approval, "failed", f"It was refused, and nothing was done: {reason}")
        case Pending():
            return await _end(services, approval, "accepted", ACCEPTED)
        case NeverArrived() | Unknown() | _:
            return await _end(services, approval, "unknown", FINDING_OUT)


async def _ask_again(services: Services, approval: Approval) -> Approval:
    if approval.undoes:
        return await _end(services, approval, "changed", NOT_AS_DONE)
    if duplicate_message := services.actions[approval.tool].duplicate_message:
        return await _end(services, approval, "changed", duplicate_message)
    if approval.task_token is None:
        again = ProposalContext(
            user_id=approval.user_id,
            run_id=approval.run_id,
            level=approval.level,
            earned=approval.earned,
            conversation_id=approval.conversation_id,
            draft_id=approval.draft_id,
            role=approval.role,
            work=approval.work,
            revises=approval.id,
        )
        action, args = _action_of(services, approval)
        shown = await action.read_current(services, approval.user_id, args)
        proposal = Proposal(
            action,
            to_json_types(args),
            approval.rationale,
            approval.alternatives,
            approval.evidence,
            preview=refresh_preview(approval, action.preview(args, approval.shown), action.preview(args, shown)),
            shown=shown,
            confidence=approval.confidence,
        )
        answer = "queue" if approval.answer == "run" else approval.answer
        again_id = f"ap_{sha256_hex(approval.id, 'again')[:32]}"
        asked = await create_approval(services, again_id, proposal, again, answer)
        if await is_left_behind(services, asked):
            await expire_left_behind(services, asked)
        if work := work_of(services, approval):
            await work.move_approval(approval.user_id, approval.id, again_id)
        approval = await services.approvals.get(approval.user_id, approval.id)
    return await _end(services, approval, "changed", ASKED_AGAIN)


async def _end(
    services: Services, approval: Approval, status: Status, outcome: str, result: dict[str, str] | None = None
) -> Approval:
    now = services.clock()
    # First what hangs on it: after a crash before the record says so, all of this is repeated.
    await _tell_draft(services.drafts, approval.ended(status, now, outcome, result), now)
    if status == "done":
        action, args = _action_of(services, approval)
        if action.on_done:
            await action.on_done(services, approval, args)
        if approval.undoes:
            await link_undo(services.approvals, approval)
    ended, is_ours = await _put(services.approvals, approval, lambda record: record.ended(status, now, outcome, result))
    if not is_ours:
        await _tell_draft(services.drafts, ended, now)
    if outcome == STOPPED:
        await services.runs.record_stopped(ended.user_id, ended.id, now)
    if ended.status in FINAL and await has_forgotten_source(services, ended):
        ended = await end_forgotten(services, ended, lambda _: False)
    return ended


async def _put(approvals: Approvals, approval: Approval, move: Callable[[Approval], Approval]) -> tuple[Approval, bool]:
    """Write the record; return it, and True if this process changed it. A faster process got the outcome of the same
    key."""

    def moved(record: Approval) -> Approval | None:
        is_as_read = (record.status, record.begun_at) == (approval.status, approval.begun_at)
        return move(record) if is_as_read else None

    return await approvals.change(approval, moved)


async def _tell_draft(drafts: Drafts, approval: Approval, now: float) -> None:
    if approval.draft_id is None:
        return
    public = approval.effect == "outward"
    with suppress(NotFound):  # drafts expire before approvals
        match approval.status:
            case "done" if public:
                await drafts.update(approval.user_id, approval.draft_id, now, status="published", label="Published")
            case "done":  # only the user sees it, and it can be submitted again
                await drafts.update(approval.user_id, approval.draft_id, now, label="Handed over")
            case "failed" if approval.outcome and public:
                # Its execution writes the same, unless it ended before the outcome was known.
                await drafts.update(approval.user_id, approval.draft_id, now, status="failed", label=approval.outcome)
            case "changed" if approval.task_token is None:  # otherwise its execution drafts it again
                draft_status, label = DRAFT_ENDS["changed"]
                await drafts.update(approval.user_id, approval.draft_id, now, status=draft_status, label=label)


async def link_undo(approvals: Approvals, undo: Approval) -> None:
    """Record the id of the undo in the approval that it undid."""

    def named(record: Approval) -> Approval | None:
        return None if record.undone_by else record.undone(undo.id)

    with suppress(NotFound):
        await approvals.change(await approvals.get(undo.user_id, undo.undoes or ""), named)


# --- outcomes that are due -------------------------------------------------------------------------------------------


def is_due(services: Services, approval: Approval) -> bool:
    """True if the effect was sent, and its outcome should be known by now."""
    return approval.status in SENT and services.clock() >= (approval.due_at or 0.0)


async def look_up_outcome(services: Services, approval: Approval) -> Approval:
    """Query the outcome if it is due, follow up, and return the record."""
    if not is_due(services, approval):
        return approval
    after = await execute(services, approval.user_id, approval.id)
    return after if after.task_token else await finish(services, after)


# --- after a restore --------------------------------------------------------------------------------------------------


RESTORED = "before the database went back"
MOST_UNDOS = 3
"""Maximum number of undo attempts per approval whose outcomes are queried."""


async def adopt(services: Services, approval: Approval, outcome: Outcome, undone_by: str | None) -> Approval:
    """Record the outcome of an effect that is missing from a restored database; `undone_by` is the id of its undo, if
    any. Who decided it is unknown, and it cannot be undone. Raises `Unavailable`."""
    now = services.clock()

    def begin(record: Approval) -> Approval | None:
        if record.status == "pending":
            record = record.decided("approve", now, by="nobody", where=RESTORED)
        return sealed(services, record.begun(now, "", record.version)) if record.status == "approved" else None

    begun, ours = await services.approvals.change(approval, begin)
    if not ours:
        return begun
    ended = await _conclude(services, begun, outcome)
    if undone_by and ended.status == "done":
        ended, _ = await services.approvals.change(ended, lambda record: record.undone(undone_by))
    return await finish(services, ended)


async def find_unknown_undo(services: Services, approval: Approval) -> str | None:
    """Return the id of an undo of this approval that the candidate app executed; None if there is none."""
    for number in range(1, MOST_UNDOS + 1):
        undo_id = undo_id_of(approval.id, number)
        if isinstance(await services.candidate_app.outcome_of(approval.user_id, undo_id, undo_id), Done):
            return undo_id
    return None


# --- undo -------------------------------------------------------------------------------------------------------------
# Undo an approval's effect within a day: by a separate record, with the same checks, once.
#
# The signed-in user requests exactly this, so no level and no model is involved.


NOT_UNDOABLE = "This cannot be undone, or not any more."


async def undo(services: Services, user_id: str, approval_id: str) -> Approval:
    """Undo the effect, and return the undo's record; if an earlier undo is done or in progress, return that one.

    Raises `NotFound`, `Braked`, `Unavailable`, and `ChangedMeanwhile` if the effect cannot be undone, or if its subject
    was changed since.
    """
    done = await services.approvals.get(user_id, approval_id)
    number = 1
    while earlier := await _find(services.approvals, user_id, undo_id_of(done.id, number)):
        if earlier.status not in ("failed", "changed"):  # otherwise nothing was done, and it can be tried again
            return await execute(services, user_id, earlier.id)
        number += 1
    action = services.actions.get(done.tool)
    if action is None or (inverse := action.inverse) is None or (done.undo_until or 0.0) < services.clock():
        raise ChangedMeanwhile(NOT_UNDOABLE)
    if not await is_undo_sealed(services, done):
        raise ChangedMeanwhile(NOT_UNDOABLE)

    async def check() -> None:
        if not await inverse.is_unchanged(services, user_id, action.arguments_of(done)):
            raise ChangedMeanwhile(NOT_AS_DONE)

    await pause.check(services.signals, user_id)
    await check()  # repeated once the version is known, as a deleted subject has none
    context = ProposalContext(
        user_id=user_id,
        run_id=done.run_id,
        level=await services.autonomy.level(user_id),
        conversation_id=done.conversation_id,
        undoes=done.id,
    )
    undone = await create_approval(
        services, undo_id_of(done.id, number), Proposal(action, json.loads(done.inverse), check=check), context, "run"
    )
    await note_decision(services, undone)
    return await execute(services, user_id, undone.id)


def undo_id_of(approval_id: str, number: int) -> str:
    """Return the record id of the attempt with this number (from 1) to undo the approval."""
    return f"ap_{sha256_hex(approval_id, 'undo', str(number))[:32]}"


async def _find(approvals: Approvals, user_id: str, approval_id: str) -> Approval | None:
    try:
        return await approvals.get(user_id, approval_id)
    except NotFound:
        return None
