"""End approvals, and report their outcome to the model once."""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

from qwestly_agent.approvals.seal import end_unsealed, is_sealed
from qwestly_agent.base.errors import AgentError, NotFound, Unavailable
from qwestly_agent.domain.approval import FINAL, PRIVATE, Approval, Status
from qwestly_agent.domain.card import NOT_DRAFTED_ANEW
from qwestly_agent.domain.memory import MEMORY, RESUME
from qwestly_agent.platform.work import Work
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.drafts import Draft, DraftStatus

# --- messages ---------------------------------------------------------------------------------------------------------
# Sentences for the model about an approval: that it is pending, and later, once, its outcome.


NOTHING_NEW = "Do not propose the same again; you will be told what becomes of it."

DRAFT_ENDS: Mapping[Status, tuple[DraftStatus, str]] = {
    "rejected": ("rejected", "You declined, so nothing was done with it"),
    "expired": ("expired", "This wasn’t decided in time, so nothing was done with it"),
    "revised": ("drafted", "Drafted, then stopped. Ask again to continue"),
    "changed": ("drafted", "Drafted, but your card changed in the meantime. Ask again to continue"),
}
"""The draft's status and label, by the status of an approval whose workflow ended. `execute` sets them for approved
ones."""


def pending_line(approval: Approval) -> str:
    """Return the tool result for a proposal that is now pending."""
    where = " It stands in their queue; go on without it." if approval.answer == "queue" else ""
    return f"Waiting for the user's decision on “{approval.preview.title}” ({approval.id}).{where} {NOTHING_NEW}"


def outcome_line(approval: Approval) -> str:
    """Describe the outcome in one line."""
    what = f"“{approval.preview.title}” ({approval.tool}, {approval.id})"
    because = f" They wrote: “{approval.reason}”" if approval.reason else ""
    match approval.status:
        case "pending":
            return f"{what} waits for the user's decision."
        case "rejected":
            return f"The user said no to {what}. Do not propose it again unless they ask for it.{because}"
        case "revised" if approval.revised_by:
            return f"The user wanted {what} otherwise, and was asked about a new version.{because}"
        case "revised" if approval.task_token or approval.redraft_id:
            return f"The user wants {what} otherwise; it is being drafted anew already, so propose nothing.{because}"
        case "revised":
            return f"The user wants {what} otherwise. Propose it anew as they say.{because}"
        case "expired" if approval.outcome:
            return f"{what} is not asked any more. {approval.outcome}"
        case "expired":
            return f"Nobody decided on {what} in time, so nothing was done."
        case "done" if approval.undoes:
            return f"The user undid this: {what}. Do not propose it again unless they ask for it."
        case "approved" | "executing" | "accepted":
            return f"The user said yes to {what}; it is being carried out."
        case "changed" if approval.decided_by == "nobody":
            return f"{what} is not asked any more. {approval.outcome}"
        case "changed":
            return f"The user said yes to {what}. {approval.outcome}"
        case "done" | "failed" | "unknown":
            return f"The user said yes to {what}. {approval.outcome}{_edited(approval)}{because}"


def draft_line(draft: Draft) -> str:
    """Describe the end of a draft in one line."""
    how = "failed" if draft.status == "failed" else f"is {draft.status}"
    return f"The {_kind(draft)} that was being drafted ({draft.id}) {how}: “{draft.label}”."


def running_line(draft: Draft) -> str:
    kind = _kind(draft)
    return f"A{'n' if kind == 'about' else ''} {kind} is being drafted ({draft.id}): “{draft.label}”."


def _kind(draft: Draft) -> str:
    return draft.kind.replace("_", " ")


def _edited(approval: Approval) -> str:
    """Describe the arguments that the user edited, because the model had proposed others."""
    return f" As they put it: {approval.args}" if any(" edit " in line for line in approval.audit) else ""


# --- end --------------------------------------------------------------------------------------------------------------
# End approvals: by expiry, because their subject was forgotten, or with their conversation; and the follow-up.


MOST_WAITING = 100
STANDS = frozenset({"approved", "executing", "accepted", "unknown", "done"})
"""Statuses of effects that are done or in progress."""
CONVERSATION_DELETED = "You deleted its conversation. Nothing was done."
TOO_MANY = "Too much waited for your decision already. Nothing was done."
REPLACED = "You replaced the message that led to it. Nothing was done."
SUPERSEDED = "A newer proposal for the same replaced it. Nothing was done."
FORGOTTEN = (
    "It rested on something that you had forgotten or deleted, so nothing was done. It can be drafted again without it."
)


# --- ending -----------------------------------------------------------------------------------------------------------


async def expire(approvals: Approvals, before: Approval, now: float, outcome: str | None = None) -> Approval | None:
    """Expire the record; return None if it is no longer pending. `outcome` is the reason, unless its time ran out."""
    ended, expired_now = await approvals.change(
        before, lambda record: record.expired(now, outcome) if record.status == "pending" else None
    )
    return ended if expired_now else None


async def end_forgotten(services: Services, approval: Approval, contains_forgotten: Callable[[str], bool]) -> Approval:
    """Remove the texts from a record whose sources were forgotten. If the record was not executed yet, it ends
    as `changed`, and its execution and conversation are notified."""
    ended, changed = await services.approvals.change(
        approval, lambda record: _without_words(record, services.clock(), contains_forgotten)
    )
    if changed and ended.waits_for_execution:
        with suppress(Unavailable):  # the sweep notifies it later
            ended = await notify_execution(services, ended)
    return ended


def _without_words(record: Approval, now: float, contains_forgotten: Callable[[str], bool]) -> Approval | None:
    """Return the record without texts; None if there are none, or if it is in progress."""
    if record.status not in ("pending", "approved") and (record.status not in FINAL or record.args == "{}"):
        return None
    left = record.without_words(contains_forgotten, FORGOTTEN_TITLE)
    return left if record.status in FINAL else left.withdrawn(now, FORGOTTEN)


FORGOTTEN_TITLE = "Something that rested on what you had forgotten"


async def has_forgotten_source(services: Services, approval: Approval) -> bool:
    """True if a cited source no longer exists: a memory, or evidence of its draft."""
    cited = {each for each in approval.evidence if each.startswith((MEMORY, RESUME))}
    if not cited:
        return False
    memories = [each.removeprefix(MEMORY) for each in cited if each.startswith(MEMORY)]
    if len(await services.memories.get_many(approval.user_id, memories)) < len(memories):
        return True
    if approval.draft_id:
        with suppress(NotFound):  # drafts expire before approvals
            draft = await services.drafts.get(approval.user_id, approval.draft_id)
            return not cited <= {each["id"] for each in draft.parts.get("evidence", ())}
    return False


async def expire_pending(services: Services, user_id: str, conversation_id: str) -> None:
    """Expire the pending approvals of a deleted conversation, and notify the executions that wait for them."""
    for approval in await services.approvals.list_of_conversation(user_id, conversation_id, 0):
        await expire_deleted(services, approval)


async def expire_deleted(services: Services, approval: Approval) -> None:
    """Expire the approval if it is pending, because its conversation was deleted, and notify its execution."""
    if approval.status != "pending":
        return
    if expired := await expire(services.approvals, approval, services.clock(), CONVERSATION_DELETED):
        with suppress(AgentError):  # the sweep notifies it later
            await finish(services, expired)


async def expire_left_behind(services: Services, approval: Approval) -> None:
    """Expire an approval that was written after the deletion of its conversation had ended the pending ones. Also
    detach it from the conversation, unless another turn has started that conversation again."""
    await expire_deleted(services, approval)
    if approval.conversation_id and await is_left_behind(services, approval):
        await services.approvals.forget_conversation(approval.user_id, approval.conversation_id)


async def is_left_behind(services: Services, approval: Approval) -> bool:
    """True if the conversation in which it waits was deleted."""
    where = approval.conversation_id
    return where is not None and not await services.conversations.exists(approval.user_id, where)


async def end_execution(services: Services, approval: Approval) -> Approval:
    """Expire the record if it is pending, and notify its execution. Raises `Unavailable`."""
    expired = await expire(services.approvals, approval, services.clock()) if approval.status == "pending" else None
    return await notify_execution(services, expired or approval)


async def end_replaced(services: Services, user_id: str, conversation_id: str, runs: Collection[str]) -> list[Approval]:
    """End the pending approvals of these runs as `changed`, because the message that led to them is replaced; return
    the approved ones, which remain."""
    stands: list[Approval] = []
    for approval in reversed(await services.approvals.list_of_conversation(user_id, conversation_id, 0)):
        if approval.run_id not in runs:
            continue
        ended, changed = await withdraw(services, approval, REPLACED)
        if not changed and ended.status in STANDS and not ended.undone_by:
            stands.append(ended)
    return stands


async def end_superseded(services: Services, newer: Approval) -> None:
    """End the user's older pending approvals that `newer` supersedes as `changed`, and store its id in their
    `revised_by`."""

    def superseded(record: Approval) -> Approval | None:
        if not record.is_superseded_by(newer):
            return None
        return record.withdrawn(services.clock(), SUPERSEDED).succeeded(newer.id)

    if newer.status != "pending" or newer.answer == "run":
        return
    for each in await services.approvals.list_open(newer.user_id, 0):
        ended, changed = await services.approvals.change(each, superseded)
        if changed:
            with suppress(AgentError):  # the sweep notifies it later
                await finish(services, ended)


async def withdraw(services: Services, approval: Approval, outcome: str) -> tuple[Approval, bool]:
    """End the approval as `changed` if it is still pending. The model is not informed, because it never saw the
    request, or no longer does."""

    def withdrawn(record: Approval) -> Approval | None:
        if record.status != "pending":
            return None
        return record.withdrawn(services.clock(), outcome).model_told()

    ended, changed = await services.approvals.change(approval, withdrawn)
    if changed:
        with suppress(AgentError):  # the sweep notifies it later
            await finish(services, ended)
    return ended, changed


async def scrub(approvals: Approvals, user_id: str, approval_id: str) -> None:
    """Remove the texts from a decided record of a private kind; other kinds keep theirs."""

    def scrubbed(record: Approval) -> Approval | None:
        after = record.scrubbed() if record.kind in PRIVATE else record
        return None if record.status == "pending" or after == record else after

    await approvals.change(await approvals.get(user_id, approval_id), scrubbed)


# --- follow-up --------------------------------------------------------------------------------------------------------


async def finish(services: Services, approval: Approval) -> Approval:
    """Notify the record's execution; if none waits, start the redraft that the user requested, or clean up after the
    record. Returns the record. Raises `Unavailable`."""
    if approval.waits_for_execution:
        return await notify_execution(services, approval)
    if not approval.is_unfinished:
        await close_work(services, approval)  # requested by a version that did not store `work`
        return approval
    action = services.actions.get(approval.tool)
    redraft = action.redraft if action and approval.redraft_id else None
    if redraft and (section := redraft.section(approval)):  # None if its text was forgotten
        await redraft.start(services, approval, section)
        return await note_notified(services.approvals, approval)
    return await give_up(services, approval)


async def notify_execution(services: Services, approval: Approval) -> Approval:
    """Notify the record's execution, ignoring one that no longer waits. Returns the record. Raises `Unavailable`.

    Functions that may not decrypt task tokens leave this to the sweep.
    """
    may_not = services.settings.act_function and not services.workflows.key_id
    if approval.task_token is None or may_not:
        return approval
    task_token = await services.workflows.opened(approval.task_token, approval.id)
    return await notify_with_token(services, approval, task_token)


async def notify_with_token(services: Services, approval: Approval, task_token: str) -> Approval:
    """Like `notify_execution`, with a decrypted task token. A yes without a seal resumes nothing."""
    approval = await end_unsealed(services, approval)
    if not await is_sealed(services, approval):
        return approval
    waited = await services.workflows.answer(task_token, {"approval_id": approval.id, "status": approval.status})
    return await note_notified(services.approvals, approval) if waited else await give_up(services, approval)


async def give_up(services: Services, approval: Approval) -> Approval:
    """Treat the record as one without an execution, because none waits for it or can be notified: do what the execution
    would have done, and close the work that waited."""
    await close_work(services, approval)
    if approval.redraft_id:
        with suppress(NotFound):
            now = services.clock()
            await services.drafts.update(
                approval.user_id, approval.redraft_id, now, status="failed", label=NOT_DRAFTED_ANEW
            )
    elif approval.draft_id and approval.status in DRAFT_ENDS:
        status, label = DRAFT_ENDS[approval.status]
        with suppress(NotFound):
            await services.drafts.update(
                approval.user_id, approval.draft_id, services.clock(), status=status, label=label
            )
    if (action := services.actions.get(approval.tool)) and action.on_ended:
        await action.on_ended(services, approval)
    return await note_notified(services.approvals, approval, is_gone=True)


async def close_work(services: Services, approval: Approval) -> None:
    """Close the work that this approval decides (idempotent)."""
    if work := work_of(services, approval):
        await work.close(approval, services.clock())


def work_of(services: Services, approval: Approval) -> Work[Any] | None:
    """Return the store whose work waits for this approval."""
    store = getattr(services, approval.work or approval.role, None)
    return store if isinstance(store, Work) else None


async def note_notified(approvals: Approvals, approval: Approval, *, is_gone: bool = False) -> Approval:
    """Record that the execution was notified or started, or no longer waits."""
    noted, _ = await approvals.change(
        approval, lambda record: None if record.told_execution else record.with_execution_notified(is_gone=is_gone)
    )
    return noted


async def without_forgotten(services: Services, approval: Approval) -> Approval:
    """Return the record without content that was forgotten while the record was being created, and that the forgetting
    could therefore not find."""
    if approval.kind not in PRIVATE:
        gone = approval.status == "pending" and await has_forgotten_source(services, approval)
        return await end_forgotten(services, approval, lambda _: False) if gone else approval
    there = await services.memories.get_many(approval.user_id, tuple(approval.shown))
    lost = approval.shown.keys() - {each.id for each in there}
    if not lost:
        return approval
    await services.approvals.scrub_memories(approval.user_id, lost)
    return await services.approvals.get(approval.user_id, approval.id)
