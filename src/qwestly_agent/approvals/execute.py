"""Execute approved records: the only place where something is changed for a user, once, and only while it is allowed.

A record goes `approved → executing → done | failed | unknown`. Its id is the effect's idempotency key: an execution
that was left behind is completed by asking for the outcome of that key, and is never sent under another one.
"""

from contextlib import suppress
from typing import Any, Protocol

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.actions import ACTIONS, Action
from qwestly_agent.approvals.decide import Asker, Proposal, ask, parse
from qwestly_agent.approvals.end import FORGOTTEN, end_forgotten, rests_on_forgotten
from qwestly_agent.approvals.gate import gate
from qwestly_agent.base.clock import Clock, to_datetime
from qwestly_agent.base.errors import Braked, NotFound
from qwestly_agent.clients.candidate_answers import Changed, Done, NeverArrived, Outcome, Pending, Refused, Unknown
from qwestly_agent.clients.candidate_app import CandidateApp, Effect
from qwestly_agent.domain.approval import FINAL, KEYS_KEPT_SECONDS, LEFT_BEHIND_SECONDS, Approval, Status, sha256_hex
from qwestly_agent.services import (
    HasApprovals,
    HasAutonomy,
    HasCandidateApp,
    HasClock,
    HasConversations,
    HasDrafts,
    HasExtractions,
    HasMemories,
    HasMessages,
    HasProfiles,
    HasRuns,
    HasSignals,
    HasTombstones,
    HasToolCalls,
    HasUnchecked,
    HasWorkflows,
)
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.autonomy import Autonomy
from qwestly_agent.stores.drafts import Drafts
from qwestly_agent.stores.signals import Signals


class ExecuteServices(
    HasApprovals,
    HasAutonomy,
    HasCandidateApp,
    HasClock,
    HasConversations,
    HasDrafts,
    HasExtractions,
    HasMemories,
    HasMessages,
    HasProfiles,
    HasRuns,
    HasSignals,
    HasTombstones,
    HasToolCalls,
    HasUnchecked,
    HasWorkflows,
    Protocol,
): ...


LATEST_SECONDS = 86_400.0
"""Time after the decision after which an action is no longer executed."""
REBASES = 3
"""How often the effect is sent again with a new version, when only parts of the subject changed that were not shown."""

STOPPED = "The brake was on, so nothing was done."
NOT_ALLOWED = "You no longer let the agent do this, so nothing was done."
TOO_LATE = "It could not be done in time, so it was not done at all."
OTHER_RULES = "What can be changed here has changed since you were asked, so nothing was done. Please ask anew."
FINDING_OUT = "It is not known yet whether this was done. We are finding out."
NEVER_KNOWN = "Nobody can tell any more whether this was done. Please look whether it was."
NOT_AS_SHOWN = "It is not what you were shown any more, so nothing was done. Ask for it anew."
ASKED_AGAIN = "It had changed meanwhile, so nothing was done. You are asked again, with the difference."


async def execute(services: ExecuteServices, user_id: str, approval_id: str) -> Approval:
    """Take the next possible step of the execution and return the record; unchanged if it is not approved.

    Raises errors that prevent the check whether it is allowed: then nothing was done, and it is still approved.
    """
    approval = await services.approvals.get(user_id, approval_id)
    if approval.status == "approved":
        return await _begin(services, approval)
    action = ACTIONS.get(approval.tool)
    patience = 0.0 if action and action.ours else LEFT_BEHIND_SECONDS  # idempotent effects are repeated without waiting
    left_behind = approval.begun_at is not None and services.clock() >= approval.begun_at + patience
    if approval.status == "unknown" or (approval.status == "executing" and left_behind):
        return await _find_out(services, approval)
    return approval


async def _begin(services: ExecuteServices, approval: Approval) -> Approval:
    if why := await _why_not(services.autonomy, services.signals, services.clock, approval):
        return await _end(services, approval, "failed", why)
    return await _send(services, approval)


async def _why_not(autonomy: Autonomy, signals: Signals, clock: Clock, approval: Approval) -> str | None:
    """Return why the action may not be executed now, or None; checks all that may have changed except the subject."""
    action = ACTIONS.get(approval.tool)
    try:
        await pause.check(signals, approval.user_id)
    except Braked:
        return STOPPED
    level = await autonomy.level(approval.user_id)
    allowed = gate(approval.effect, level).answer
    if allowed == "refuse" or (approval.decided_by == "level" and allowed != "run"):
        return NOT_ALLOWED
    if clock() > (approval.decided_at or approval.created_at) + LATEST_SECONDS:
        return TOO_LATE
    whole = sha256_hex(approval.tool, approval.args) == approval.args_digest
    if (
        action is None
        or not whole
        or action.schema_digest != approval.schema_digest
        or action.effect != approval.effect
    ):
        return OTHER_RULES
    return None


async def _send(services: ExecuteServices, approval: Approval) -> Approval:
    """Mark it as begun, then send it: if the process dies in between, the outcome can be asked for by its key."""
    now = services.clock()
    begun, ours = await _put(services.approvals, approval, {"status": "executing", "begun_at": now, "updated_at": now})
    if not ours:
        return begun
    try:
        # Check again: a brake engaged meanwhile either saw this record as executing, or is seen here.
        await pause.check(services.signals, begun.user_id)
    except Braked:
        again = approval.status != "approved"  # sent before, and perhaps still on its way
        return await (_conclude(services, begun, Unknown()) if again else _end(services, begun, "failed", STOPPED))
    # A concurrent forgetting of its sources either is seen here, or saw this record as executing.
    if await rests_on_forgotten(services, begun):
        return await _end(services, begun, "changed", FORGOTTEN)
    return await _perform(services, begun)


async def _perform(services: ExecuteServices, begun: Approval) -> Approval:
    action: Action[Any] = ACTIONS[begun.tool]
    args = parse(action, begun.arguments)
    for _ in range(REBASES):
        effect = Effect(user_id=begun.user_id, act=begun.id, key=begun.id, version=begun.version)
        outcome = await action.perform(services, effect, args)
        if not isinstance(outcome, Changed):
            return await _conclude(services, begun, outcome)
        if action.ours:
            return await _end(services, begun, "changed", NOT_AS_SHOWN)
        if await action.shown(services, begun.user_id, args) != begun.shown:
            break
        # The values shown did not change: something else in the same subject did.
        if why := await _why_not(services.autonomy, services.signals, services.clock, begun):
            return await _end(services, begun, "failed", why)
        begun = begun.model_copy(update={"version": outcome.version})
    return await _ask_again(services, begun)


async def _find_out(services: ExecuteServices, approval: Approval) -> Approval:
    outcome = await _outcome_of(services.candidate_app, approval)
    since = services.clock() - (approval.begun_at or approval.created_at)
    if since >= KEYS_KEPT_SECONDS and not isinstance(outcome, Done | Refused):
        return await _end(services, approval, "failed", NEVER_KNOWN)
    if not isinstance(outcome, NeverArrived):
        return await _conclude(services, approval, outcome)
    if why := await _why_not(services.autonomy, services.signals, services.clock, approval):
        # Our token is valid for this long; afterwards a request that was sent is no longer accepted.
        waits = why == STOPPED or since < LEFT_BEHIND_SECONDS
        return await (_conclude(services, approval, Unknown()) if waits else _end(services, approval, "failed", why))
    # Nothing was done under its key yet. If it is still on its way, the same key makes sure it is done once.
    return await _send(services, approval)


async def _outcome_of(candidate_app: CandidateApp, approval: Approval) -> Outcome:
    action = ACTIONS.get(approval.tool)
    if action and action.ours:
        return NeverArrived()  # no outcome is stored for it: send it again, as it is idempotent
    return await candidate_app.outcome_of(approval.user_id, approval.id, approval.id)


async def _conclude(services: ExecuteServices, approval: Approval, outcome: Outcome) -> Approval:
    action = ACTIONS[approval.tool]
    match outcome:
        case Done(result=result):
            return await _end(
                services, approval, "done", " ".join(filter(None, (action.done, result.get("note")))), result
            )
        case Refused(reason=reason):
            return await _end(services, approval, "failed", f"It was refused, and nothing was done: {reason}")
        case Pending() | NeverArrived() | Unknown() | _:
            return await _end(services, approval, "unknown", FINDING_OUT)


async def _ask_again(services: ExecuteServices, approval: Approval) -> Approval:
    if approval.task_token is None:
        again = Asker(
            user_id=approval.user_id,
            run_id=approval.run_id,
            level=approval.level,
            conversation_id=approval.conversation_id,
            draft_id=approval.draft_id,
            revises=approval.id,
        )
        proposal = Proposal(
            ACTIONS[approval.tool], approval.arguments, approval.rationale, approval.alternatives, approval.evidence
        )
        answer = "queue" if approval.answer == "run" else approval.answer
        await ask(services, f"ap_{sha256_hex(approval.id, 'again')[:32]}", proposal, again, answer)
        approval = await services.approvals.get(approval.user_id, approval.id)
    return await _end(services, approval, "changed", ASKED_AGAIN)


async def _end(
    services: ExecuteServices, approval: Approval, status: Status, outcome: str, result: dict[str, str] | None = None
) -> Approval:
    now = services.clock()
    changes: dict[str, Any] = {"status": status, "outcome": outcome, "result": result or {}, "updated_at": now}
    line = f"{to_datetime(now).isoformat()} {status}" if status != approval.status else None
    if line:
        changes["news"] = approval.conversation_id is not None
    ended, _ = await _put(services.approvals, approval, changes, line)
    await _tell_draft(services.drafts, ended, now)
    if outcome == STOPPED:
        await services.runs.note_stopped(ended.user_id, ended.id, now)
    if ended.status in FINAL and await rests_on_forgotten(services, ended):
        ended = await end_forgotten(services, ended, lambda _: False)
    return ended


async def _put(
    approvals: Approvals, approval: Approval, changes: dict[str, Any], line: str | None = None
) -> tuple[Approval, bool]:
    """Write the record; return it, and True if we changed it: a faster process has the outcome of the same key."""

    def changed(record: Approval) -> Approval | None:
        if (record.status, record.begun_at) != (approval.status, approval.begun_at):
            return None
        audit = (*record.audit, line) if line else record.audit
        return record.model_copy(update={**changes, "audit": audit})

    return await approvals.change(approval, changed)


async def _tell_draft(drafts: Drafts, approval: Approval, now: float) -> None:
    if approval.draft_id is None:
        return
    public = approval.effect == "outward"
    with suppress(NotFound):  # drafts are kept for a shorter time
        match approval.status:
            case "done" if public:
                await drafts.tell(approval.user_id, approval.draft_id, now, status="published", label="Published")
            case "done":  # only its user sees it, and it may be submitted again
                await drafts.tell(approval.user_id, approval.draft_id, now, label="Handed over")
            case "failed" if approval.outcome and public:
                # Its execution writes the same, unless it ended before the outcome was known.
                await drafts.tell(approval.user_id, approval.draft_id, now, status="failed", label=approval.outcome)
