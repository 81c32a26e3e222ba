"""Run a turn: the agent answers, and its events are passed on as they occur.

A failed turn keeps its text so far; `turn_store.py` records it, even if the database fails in the meantime.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace

from pydantic_ai.exceptions import RunCancelled, RunTimedOut, UserError
from pydantic_ai.messages import (
    PartEndEvent,
    PartStartEvent,
    TextPart,
)
from pymongo.errors import PyMongoError

from qwestly_agent.agents.design import AgentTurn, Cancellation, NativeEvent
from qwestly_agent.agents.guardrails import ApprovalDecided
from qwestly_agent.agents.tools.work import ApprovalShown
from qwestly_agent.approvals.view import approval_view
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.base.traces import Traces, mark_failed
from qwestly_agent.cards.drafts import draft_view
from qwestly_agent.chat.activity import event_views
from qwestly_agent.chat.prompt import model_history, prompt_of
from qwestly_agent.chat.safe_events import sanitize_events, sanitize_message
from qwestly_agent.chat.services import ChatServices, RunningTurn
from qwestly_agent.chat.title import generate_title
from qwestly_agent.chat.turn import DraftEnded, Happened, Turn, replaced_runs
from qwestly_agent.chat.turn_approvals import USE_THE_CARD, card_to_ask_about, question_about
from qwestly_agent.chat.turn_deps import deps_of
from qwestly_agent.chat.turn_store import TurnStore, limit_last_try
from qwestly_agent.chat.used_sources import source_events
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.llm.moderation import PATIENCE_SECONDS
from qwestly_agent.model_calls import failure_of, truncation_error
from qwestly_agent.services import Services
from qwestly_agent.stores.conversations import PartialAnswers
from qwestly_agent.stores.messages import Message
from qwestly_agent.text.language import language_of
from qwestly_agent.text.trouble import Trouble
from qwestly_agent.text.user_text import typed_in

WENT_BACK = "I have gone back to my usual way of working in this conversation: please try again."
WENT_BACK_BEFORE = "My last answers broke off, so I have gone back to my usual way of working in this conversation."


async def run_turn(services: ChatServices, turn: Turn) -> AsyncIterator[NativeEvent]:
    """Yield the events as they occur. Read them to the end: the turn is recorded, and the conversation released, before
    the iterator ends.

    Raises an `AgentError` if the turn failed, and `RunCancelled` if its user stopped it.
    """
    services.logger.thread_safe_append_keys(run_id=turn.run_id, conversation_id=turn.claim.conversation_id)
    if turn.answered:
        async for event in repeat_answer(services, turn, turn.answered):
            yield event
        return
    services.logger.info(Event.TURN_STARTED)
    end_trace = begin_trace(services.traces, turn)
    record = turn.record
    for settled in turn.approvals.settled:
        decided = settled.decided
        said_yes = decided.verb in ("approve", "edit")
        event = ApprovalDecided(approval=approval_view(settled.approval), call_id=decided.call_id, said_yes=said_yes)
        record.take(event, services.clock())
        yield event
    if card := turn.approvals.referred_approval:
        record.calls.fixed_words = USE_THE_CARD
        shown = ApprovalShown(approval=approval_view(card))
        record.take(shown, services.clock())
        yield shown
    for draft in turn.approvals.unreported_drafts:
        ended = DraftEnded(draft=draft_view(draft))
        record.take(ended, services.clock())
        yield ended

    async def keep() -> None:
        await _keep_assignment(services.partial_answers, turn)
        if record.events.has_grown:
            await services.partial_answers.save(turn.claim, turn.partial_answer(services.clock()))

    cancellation, titled = Cancellation(), asyncio.ensure_future(_title(services, turn))
    # A turn that cannot be stored never looks at its title, and asyncio would log the error.
    titled.add_done_callback(lambda task: task.cancelled() or task.exception())
    with services.running.watching(turn.claim, cancellation.cancel, keep) as watched:
        try:
            if turn.has_returned_to_base:  # the previous turns died without reporting it
                for event in answer_text_events(WENT_BACK_BEFORE):
                    record.take(event, services.clock())
                    yield event
            async for event in _answer(services, turn, cancellation):
                record.take(event, services.clock())
                yield event
            if cut := truncation_error(record.messages):
                raise cut
            if card := card_to_ask_about(services.actions, record.cards, record.calls, record.content):
                question = question_about(card)
                record.take(question, services.clock())
                yield question
        except Exception as error:
            _note_failure(services, turn, error, watched)
        if titled.done() and not titled.exception():
            record.title = titled.result()
        for told in (*source_events(record.steps()), *await read_turn_events(services, turn)):
            record.take(told, services.clock())
            yield told
        try:
            await TurnStore(services).close(turn)
        finally:
            titled.cancel()
            end_trace()
    if record.error:
        raise record.error
    if record.status == "stopped":
        raise RunCancelled("stopped by the user")


async def _title(services: ChatServices, turn: Turn) -> str:
    """Return a title; empty if the conversation already has one, or if the beginning of its first message suffices."""
    return "" if turn.history else await generate_title(services, turn.claim.user_id, turn.text)


async def _keep_assignment(partial_answers: PartialAnswers, turn: Turn) -> None:
    """Store the variant of a new conversation once, so that the turn is counted even if its process dies."""
    if turn.claim.assignment and turn.claim.assignment.trial and not turn.claim.last_seq and not turn.record.assigned:
        turn.record.assigned = True
        await partial_answers.save_assignment(turn.claim, turn.claim.assignment)


async def _answer(services: ChatServices, turn: Turn, cancellation: Cancellation) -> AsyncIterator[NativeEvent]:
    deps, hosts = deps_of(services, turn), services.settings.allowed_hosts
    asked = AgentTurn(
        prompt=prompt_of(turn.note, turn.text),
        history=model_history(turn.history, turn.window_from, turn.summary),
        context=turn.context.text,
        deps=deps,
        conversation_id=turn.claim.conversation_id,
        run_id=turn.run_id,
        cancellation=cancellation,
        seconds=max(0.0, turn.deadline - services.clock()),
    )
    moderated, calls = turn.moderated, turn.record.calls
    async with turn.agent.run(asked) as run:
        try:
            async for event in sanitize_events(aiter(run), hosts, calls.made):
                if moderated and isinstance(event, PartStartEvent):  # no text or call was sent before it
                    if not calls.trouble and await _is_in_danger(services, turn, moderated):
                        calls.trouble = Trouble("self_harm", language_of(typed_in(turn.text)))
                        break
                    moderated = None
                yield event
        finally:
            with suppress(UserError):  # cancelled before it started
                messages = [sanitize_message(message, hosts) for message in run.new_messages()]
                turn.record.keep(messages, deps.budget.prompt_characters)
    if moderated and calls.trouble:  # answer again, now without a model
        async for event in _answer(services, replace(turn, moderated=None), cancellation):
            yield event


async def _is_in_danger(services: Services, turn: Turn, moderated: "asyncio.Task[bool]") -> bool:
    """Return the moderation endpoint's result if it arrives in time."""
    left = turn.claim.turn.started_at + PATIENCE_SECONDS - services.clock()
    done, _ = await asyncio.wait([moderated], timeout=max(0.0, left))
    return bool(done) and moderated.result()


def _note_failure(services: ChatServices, turn: Turn, error: Exception, watched: RunningTurn) -> None:
    record = turn.record
    if isinstance(error, RunCancelled) and not isinstance(error, RunTimedOut):
        if watched.stopped:
            record.status = "stopped"
            return
        error = watched.error or error
    record.status = "failed"
    record.error = failure_of(error, has_shown_text=bool(record.content))
    if turn.returns_to_base:
        record.error.message += f" {WENT_BACK}"
    services.logger.warning(Event.TURN_FAILED, extra={"code": record.error.code, **cause_of(error)})


# --- repeated and fixed texts -----------------------------------------------------------------------------------------


async def repeat_answer(services: Services, turn: Turn, answered: Message) -> AsyncIterator[NativeEvent]:
    """Repeat the earlier answer and its sources."""
    now = services.clock()
    await asyncio.gather(
        services.conversations.finish(turn.claim, [], replaced_run=None, changes={}, now=now),
        services.usage.settle(turn.claim.user_id, turn.run_id, {}, turn.load, now),
    )
    turn.record.texts.append(answered.content)
    for event in (*answer_text_events(answered.content), *source_events(answered.steps)):
        yield event


def answer_text_events(text: str) -> tuple[NativeEvent, NativeEvent]:
    """Return the events of a text part of the answer."""
    part = TextPart(text)
    return PartStartEvent(index=0, part=part), PartEndEvent(index=0, part=part)


# --- the activity feed ------------------------------------------------------------------------------------------------


MOST_TOLD = 50


async def read_turn_events(services: Services, turn: Turn) -> list[Happened]:
    """Return the turn's events from the feed, oldest first; empty if the feed cannot be read, because polls report them
    later."""
    if not _may_have_changed_anything(turn):
        return []
    user_id = turn.claim.user_id
    try:
        with limit_last_try():
            newest = await services.activity.newest(user_id, MOST_TOLD, since=turn.claim.turn.started_at)
            events = [each for each in reversed(newest) if _is_of(turn, each)]
            views = await event_views(services.approvals, services.memories, user_id, events, services.clock())
    except PyMongoError as error:
        services.logger.warning(Event.REQUEST_FAILED, extra=cause_of(error))
        return []
    return [Happened(activity=each) for each in views]


def _may_have_changed_anything(turn: Turn) -> bool:
    """True if the turn may have caused events; most turns have not, and this saves them the read."""
    has_effect = turn.record.calls.may_have_changed_data
    return has_effect or bool(turn.approvals.settled or turn.replaced) or turn.claim.role != "chat"


def _is_of(turn: Turn, event: ActivityEvent) -> bool:
    """True for an event of the turn's run, of its decisions or of the turn that it replaces. Events of memories and
    interviews have no run id, and are matched by conversation."""
    if event.run_id is None:
        return event.data.get("conversation_id") == turn.claim.conversation_id
    decided = {each.approval.id for each in turn.approvals.settled}
    return event.run_id in (turn.run_id, *replaced_runs(turn.replaced)) or event.data.get("approval_id") in decided


# --- the trace --------------------------------------------------------------------------------------------------------


def begin_trace(traces: Traces | None, turn: Turn) -> Callable[[], None]:
    """Start the turn's trace; return the function that ends it after the turn is recorded."""
    if traces is None:
        return lambda: None
    attributes = {
        "qwestly.run_id": turn.run_id,
        "qwestly.design": turn.design,
        "qwestly.prompt_version": turn.agent.prompt_version,
        "gen_ai.conversation.id": turn.claim.conversation_id,
        **({"qwestly.variant": turn.variant} if turn.variant else {}),
    }
    span = traces.begin_run("turn", turn.run_id, attributes)

    def end() -> None:
        record = turn.record
        span.set_attribute("qwestly.status", record.status)
        if record.error:
            mark_failed(span, record.error.code)
        span.set_attributes({f"qwestly.{name}": count for name, count in record.tokens().items()})
        if (cost := record.ceiling_usd()) is not None:
            span.set_attribute("qwestly.cost_usd", cost)
        span.end()

    return end
