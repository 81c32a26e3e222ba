"""Finish a turn: record its messages, cost and tool calls, then release the conversation.

If the database fails, `turn_registry` retries while the process lives; after that the next turn continues from the
stored part of the answer (`reread.py`).
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import pymongo
from pymongo.errors import PyMongoError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import ConversationBusy, Unavailable
from qwestly_agent.base.observability import Event, cause_of, measure_turn
from qwestly_agent.base.settings import Settings
from qwestly_agent.chat.assignment import is_ours
from qwestly_agent.chat.earlier_turn import replaced_runs
from qwestly_agent.chat.remembered_view import ids_of
from qwestly_agent.chat.services import ChatServices
from qwestly_agent.chat.turn import Turn
from qwestly_agent.chat.turn_registry import WENT_ON_ELSEWHERE
from qwestly_agent.clients.workflows import Start
from qwestly_agent.rollout.look import OWN_FIRST_TEXT_MS
from qwestly_agent.stores.conversations import make_title
from qwestly_agent.stores.message import Message, Problem
from qwestly_agent.stores.partial_answers import last_answer_fields
from qwestly_agent.stores.turns import PartialAnswer, user_message

LAST_TRY_SECONDS = 1.0


async def finish_turn(services: ChatServices, turn: Turn) -> None:
    """Release the conversation last, because erasure waits for the release. If another turn has taken over, the
    record's error says so."""
    now, record = services.clock(), turn.record
    receipt = record.receipt(
        design=turn.design,
        prompt_version=turn.agent.prompt_version,
        variant=turn.variant,
        counted_as=turn.counted_as,
        ended_at=now,
    )
    services.logger.info(Event.TURN_ENDED, extra={"status": record.status, **receipt})
    measure_turn(record.status, receipt, Counter(call.outcome for call in record.calls.made.values()))
    # After a database error try once more, but briefly: the user waits for the error.
    with briefly(isinstance(record.error, Unavailable)):
        written = await asyncio.gather(
            _account(services, turn, now), _audit(services, turn), _count(services, turn, receipt, now)
        )
        try:
            with briefly(not all(written)):
                kept = await _record(services, turn, now, receipt)
        except PyMongoError:
            services.running.finish_later(turn.run_id, partial(_finish_late, services, turn, receipt))
            raise
    if kept:
        starts = (*turn.record.starts, *([_summary(services.settings, turn)] if turn.needs_summary else []))
        await asyncio.gather(*(_start(services, each) for each in starts))
    if not kept:
        await _forget_audit(services, turn)
        services.logger.warning(Event.LEASE_LOST)
        record.error = record.error or ConversationBusy(WENT_ON_ELSEWHERE)


async def _finish_late(services: ChatServices, turn: Turn, receipt: dict[str, Any]) -> None:
    """Record a turn that the database could not take when it ended, unless another turn came after it."""
    claim, now = turn.claim, services.clock()
    if await services.conversations.renew(claim.user_id, claim.conversation_id, turn.run_id, now):
        await services.messages.delete_run(claim, turn.run_id)  # the messages that were inserted without an answer
        await _record(services, turn, now, receipt)


def briefly(it_failed: bool = True) -> AbstractContextManager[object]:
    return pymongo.timeout(LAST_TRY_SECONDS) if it_failed else nullcontext()


async def _account(services: ChatServices, turn: Turn, now: float) -> bool:
    """Record the cost; False if that fails, which does not fail the answer."""
    spent = {**turn.record.tokens(), "cost_usd": turn.record.ceiling_usd()}
    try:
        await services.usage.settle(turn.claim.user_id, turn.run_id, spent, turn.load, now)
    except PyMongoError as error:
        services.logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))
        return False
    return True


async def _count(services: ChatServices, turn: Turn, receipt: Mapping[str, Any], now: float) -> bool:
    """Count the turn for the trial that its conversation is in, if any; False if that fails."""
    if turn.counted_as is None:
        return True
    record, own_ms = turn.record, receipt["own_first_text_ms"]
    amounts = {
        "turns": 1,
        "failed": int(record.status == "failed" and is_ours(record.error)),
        "spoken": int(own_ms is not None),
        "slow": int(own_ms is not None and own_ms > OWN_FIRST_TEXT_MS),
        "conversations": int(not turn.claim.last_seq and not turn.claim.abandoned),
        "cost_usd": record.ceiling_usd(),
    }
    try:
        await services.variant_counts.add(turn.claim.user_id, turn.counted_as, turn.run_id, amounts, now)
    except PyMongoError as error:
        services.logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))
        return False
    return True


async def _audit(services: ChatServices, turn: Turn) -> bool:
    """Record the tool calls; False if that fails."""
    claim = turn.claim
    try:
        await services.tool_calls.add(claim.user_id, claim.conversation_id, turn.run_id, turn.record.audit())
    except PyMongoError as error:
        services.logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))
        return False
    return True


async def _start(services: ChatServices, start: Start) -> None:
    """If it cannot be started, a later turn's does its work too."""
    try:
        await services.workflows.start(start.machine_arn, start.name, start.given)
    except Unavailable as error:
        services.logger.warning(Event.REQUEST_FAILED, extra=cause_of(error))


def _summary(settings: Settings, turn: Turn) -> Start:
    """Summarize the messages that left the window."""
    claim, run_id = turn.claim, f"summary-{turn.run_id}"
    whose = {"user_id": claim.user_id, "conversation_id": claim.conversation_id}
    given = {**whose, "run_id": run_id, "window_from": turn.window_from}
    return Start(settings.memory_machine_arn, run_id, given)


async def _forget_audit(services: ChatServices, turn: Turn) -> None:
    """Delete the audit of a conversation that was deleted meanwhile."""
    claim = turn.claim
    try:
        if not await services.conversations.exists(claim.user_id, claim.conversation_id):
            await services.tool_calls.forget(claim.user_id, claim.conversation_id)
    except PyMongoError as error:
        services.logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))


async def _record(services: ChatServices, turn: Turn, now: float, receipt: dict[str, Any]) -> bool:
    try:
        return await _store(services, turn, _messages(turn, now, turn.record.model_messages(), receipt), now, receipt)
    except PyMongoError:
        raise
    except Exception as error:  # the provider's messages cannot be serialized: store the text only
        services.logger.error(Event.RECORD_FAILED, extra=cause_of(error))
        return await _store(services, turn, _messages(turn, now, turn.record.words_alone(), {}), now, receipt)


async def _store(
    services: ChatServices, turn: Turn, messages: list[Message], now: float, receipt: dict[str, Any]
) -> bool:
    """False if the conversation is no longer this turn's."""
    # A retry without content keeps the earlier answer.
    nothing_new = turn.replaced and not turn.record.content and turn.record.status != "complete"
    kept = await services.conversations.finish(
        turn.claim,
        [] if nothing_new else messages,
        replaced_run=None if nothing_new else _replaced_run(turn),
        changes=_changes(turn, now, receipt) | ({} if nothing_new else _told(turn)),
        cost_usd=turn.record.ceiling_usd(),
        now=now,
    )
    if kept and not nothing_new and not turn.history:
        await _retitle(services, turn)
    if kept and messages:
        await _exclude_forgotten(services, turn)
    if kept and not nothing_new:
        # The note is stored in the conversation now, and so is part of every later prompt.
        await asyncio.gather(
            *(services.approvals.mark_reported(each) for each in turn.approvals.unreported),
            *(services.drafts.mark_reported(turn.claim.user_id, each.id) for each in turn.approvals.ended),
        )
    return kept


async def _retitle(services: ChatServices, turn: Turn) -> None:
    """Title a new conversation: by the title made of its first message, or, if that message was replaced, by the
    beginning of its replacement."""
    title = turn.record.title or (make_title(turn.text) if turn.replaced else "")
    if title and not turn.record.calls.trouble:
        await services.conversation_search.retitle(
            turn.claim.user_id, turn.claim.conversation_id, title, turn.message_id
        )


async def _exclude_forgotten(services: ChatServices, turn: Turn) -> None:
    """Exclude this turn if something was forgotten while it ran, which the forgetting could not find in it."""
    user_id = turn.claim.user_id
    if await services.tombstones.forgotten_since(user_id, turn.read_at):
        await asyncio.gather(
            services.messages.exclude_run_from_prompts(user_id, turn.run_id),
            services.conversations.drop_contexts(user_id),
            services.tool_calls.clear_texts(user_id, (), lambda _: False, turn.run_id),
        )
        await services.conversation_search.forget_titles(user_id, lambda _: False)


def partial_answer(turn: Turn, now: float) -> PartialAnswer:
    """Return the turn's text so far."""
    asked, answer = _messages(turn, now, turn.record.words_alone(), {})
    return PartialAnswer(asked, answer, turn.record.told.dump(), _replaced_run(turn))


def _changes(turn: Turn, now: float, receipt: dict[str, Any]) -> dict[str, Any]:
    """Fields of the conversation for the following turns, and for readers who follow this one."""
    asked, answer = _messages(turn, now, "[]", receipt)
    told = PartialAnswer(asked, answer, turn.record.told.dump())
    context = turn.context.model_dump(mode="json")
    return {
        **({"context": context} if context != turn.claim.context else {}),
        **({"summary_due": turn.window_from} if turn.needs_summary else {}),
        "window_from": turn.window_from,
        **last_answer_fields(turn.run_id, told),
        **_assignment(turn),
    }


def _assignment(turn: Turn) -> dict[str, Any]:
    return {"assignment": turn.assignment.model_dump()} if turn.assignment and turn.assignment.trial else {}


def _replaced_run(turn: Turn) -> str | None:
    return turn.replaced[0].run_id if turn.replaced else None


def _told(turn: Turn) -> dict[str, Any]:
    told = turn.told_under_way
    return {"told_under_way": list(told)} if told != turn.claim.reported_work else {}


def _messages(turn: Turn, now: float, model_messages: str, receipt: dict[str, Any]) -> list[Message]:
    seq, record = turn.claim.last_seq + 1, turn.record
    withheld = any(message.withheld for message in turn.replaced if message.role == "user")
    said = replace(turn.claim.turn, message_id=turn.message_id, text=turn.text)
    answer = Message(
        id=turn.answer_id,
        run_id=turn.run_id,
        seq=seq + 1,
        role="assistant",
        content=record.content,
        created_at=to_datetime(now),
        status=record.status,
        error=Problem(code=error.code, message=error.message) if (error := record.error) else None,
        steps=record.steps(),
        model_messages=model_messages,
        receipt=receipt,
        continues=turn.continues,
        replaces=replaced_runs(turn.replaced),
        remembered_before=tuple(dict.fromkeys(each for message in turn.replaced for each in ids_of(message))),
        saw=_saw(turn),
        withheld=withheld,
    )
    asked = {"note": turn.note, "withheld": withheld, "in_trouble": record.calls.trouble is not None}
    return [user_message(said, seq, "complete").model_copy(update=asked), answer]


def _saw(turn: Turn) -> tuple[str, ...]:
    """Ids that this answer saw, including those of the answers in its window or summed up, which it may repeat."""
    calls = turn.record.calls.made.values()
    before = (turn.context.memory_ids, turn.summary.saw if turn.summary else ())
    saw = (*before, *(each.saw for each in turn.window), *(sorted(each.saw) for each in calls))
    return tuple(dict.fromkeys(each for ids in saw for each in ids))
