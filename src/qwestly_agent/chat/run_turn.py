"""Run a turn: the agent answers, and its events pass as they occur."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Protocol

from pydantic_ai.exceptions import RunCancelled, RunTimedOut, UserError
from pydantic_ai.messages import PartEndEvent, PartStartEvent, TextPart
from pydantic_ai.ui import NativeEvent

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.design import AgentTurn, Cancellation
from qwestly_agent.agents.guardrails import Decided
from qwestly_agent.approvals.propose import Proposer
from qwestly_agent.approvals.view import view_of
from qwestly_agent.base.errors import OverBudget
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.base.settings import Settings
from qwestly_agent.cards.start import Cards
from qwestly_agent.chat.approval_updates import DraftEnded
from qwestly_agent.chat.draft_view import view_of as draft_view_of
from qwestly_agent.chat.finish_turn import finish_turn
from qwestly_agent.chat.sanitize_events import sanitized, sanitized_message
from qwestly_agent.chat.services import HasRunning
from qwestly_agent.chat.turn import Turn
from qwestly_agent.chat.turn_registry import RunningTurn
from qwestly_agent.chat.window import model_history, prompt_of
from qwestly_agent.llm.query_vectors import QueryVectors
from qwestly_agent.memory.service import MemoryService
from qwestly_agent.model_calls.budget import Budget
from qwestly_agent.model_calls.failures import cut_answer, failure_of
from qwestly_agent.services import (
    HasApprovals,
    HasAutonomy,
    HasCandidateApp,
    HasClock,
    HasConversations,
    HasConversationSearch,
    HasDocs,
    HasDrafts,
    HasEmbeddings,
    HasExtractions,
    HasJudges,
    HasKnowledge,
    HasLogger,
    HasMemories,
    HasMessages,
    HasModels,
    HasNewId,
    HasProfiles,
    HasRuns,
    HasSettings,
    HasSignals,
    HasTombstones,
    HasToolCalls,
    HasUnchecked,
    HasUsage,
    HasWatermarks,
    HasWorkflows,
)
from qwestly_agent.text.user_text import holds_others_words

TOO_MUCH_WORK = "This answer took more work than one answer may cost. Please ask for less at once."


class RunServices(
    HasApprovals,
    HasAutonomy,
    HasCandidateApp,
    HasClock,
    HasConversations,
    HasConversationSearch,
    HasDocs,
    HasDrafts,
    HasEmbeddings,
    HasExtractions,
    HasJudges,
    HasKnowledge,
    HasLogger,
    HasMemories,
    HasMessages,
    HasModels,
    HasNewId,
    HasProfiles,
    HasRunning,
    HasSettings,
    HasRuns,
    HasSignals,
    HasTombstones,
    HasToolCalls,
    HasUnchecked,
    HasUsage,
    HasWatermarks,
    HasWorkflows,
    Protocol,
): ...


async def run_turn(services: RunServices, turn: Turn) -> AsyncIterator[NativeEvent]:
    """Yield the events as they occur. Read them to the end: the turn is recorded and the conversation released before
    that.

    Raises an `AgentError` if the turn failed, and `RunCancelled` if its user stopped it.
    """
    services.logger.thread_safe_append_keys(run_id=turn.run_id, conversation_id=turn.claim.conversation_id)
    if turn.answered:
        async for event in _repeat(services, turn, turn.answered.content):
            yield event
        return
    services.logger.info(Event.TURN_STARTED)
    for settled in turn.approvals.settled:
        decided = settled.decided
        said_yes = decided.verb in ("approve", "edit")
        yield Decided(approval=view_of(settled.approval), call_id=decided.call_id, said_yes=said_yes)
    for draft in turn.approvals.told:
        yield DraftEnded(draft=draft_view_of(draft))
    cancellation, record = Cancellation(), turn.record
    with services.running.watching(turn.claim, cancellation.cancel) as watched:
        try:
            async for event in _answer(services, turn, cancellation):
                record.take(event, services.clock())
                yield event
            if cut := cut_answer(record.messages):
                raise cut
        except Exception as error:
            _note_failure(services, turn, error, watched)
        await finish_turn(services, turn)
    if record.error:
        raise record.error
    if record.status == "stopped":
        raise RunCancelled("stopped by the user")


async def _repeat(services: RunServices, turn: Turn, content: str) -> AsyncIterator[NativeEvent]:
    """Answer a message that was answered already with the same words."""
    now = services.clock()
    await asyncio.gather(
        services.conversations.finish(turn.claim, [], replaced_run=None, changes={}, now=now),
        services.usage.settle(turn.claim.user_id, turn.run_id, {}, turn.load, now),
    )
    part = TextPart(content)
    turn.record.texts.append(content)
    yield PartStartEvent(index=0, part=part)
    yield PartEndEvent(index=0, part=part)


async def _answer(services: RunServices, turn: Turn, cancellation: Cancellation) -> AsyncIterator[NativeEvent]:
    budget, hosts = _budget(services.settings, turn), services.settings.allowed_hosts
    asked = AgentTurn(
        prompt=prompt_of(turn.note, turn.text),
        history=model_history(turn.history, turn.window_from),
        context=turn.context.text,
        deps=_deps(services, turn, budget),
        conversation_id=turn.claim.conversation_id,
        run_id=turn.run_id,
        cancellation=cancellation,
        seconds=max(0.0, turn.deadline - services.clock()),
    )
    async with turn.agent.run(asked) as run:
        try:
            async for event in sanitized(aiter(run), hosts, turn.record.calls.made):
                yield event
        finally:
            with suppress(UserError):  # cancelled before it began
                messages = [sanitized_message(message, hosts) for message in run.new_messages()]
                turn.record.keep(messages, budget.prompt_characters)


def _budget(settings: Settings, turn: Turn) -> Budget:
    """The smaller one of what a turn may cost and what is left of the user's day."""
    today, started_at = max(0.0, settings.day_ceiling_usd - turn.load.spent_today_usd), turn.claim.turn.started_at
    if today < settings.turn_ceiling_usd:
        return Budget(today, OverBudget(), started_at)
    return Budget(settings.turn_ceiling_usd, OverBudget(TOO_MUCH_WORK), started_at)


def _deps(services: RunServices, turn: Turn, budget: Budget) -> AgentDeps:
    user_id, conversation_id = turn.claim.user_id, turn.claim.conversation_id
    return AgentDeps(
        user_id=user_id,
        profiles=services.profiles,
        memories=services.memories,
        conversation_search=services.conversation_search,
        knowledge=services.knowledge,
        docs=services.docs,
        query_vectors=QueryVectors(services.embeddings),
        approvals=services.approvals,
        drafts=services.drafts,
        cards=Cards(services, user_id, turn.run_id, conversation_id),
        memory_service=MemoryService(
            services, user_id, conversation_id, turn.message_id, turn.text, others_spoke=_others_spoke(turn)
        ),
        proposer=Proposer(services, user_id, turn.run_id, conversation_id, turn.text, turn.claim.design),
        level=turn.level,
        user_messages=(
            *(each.content for each in turn.history if each.role == "user" and not each.withheld),
            turn.text,
        ),
        calls=turn.record.calls,
        budget=budget,
        failure_of=failure_of,
        clock=services.clock,
        logger=services.logger,
    )


def _others_spoke(turn: Turn) -> bool:
    """True if the window has any text that the user did not type."""
    window = turn.window
    steps = (step for message in window for step in message.steps)
    words = (turn.text, *(message.content for message in window if message.role == "user"))
    return any(map(holds_others_words, words)) or any(step.outside and not step.users_own for step in steps)


def _note_failure(services: RunServices, turn: Turn, error: Exception, watched: RunningTurn) -> None:
    record = turn.record
    if isinstance(error, RunCancelled) and not isinstance(error, RunTimedOut):
        if watched.stopped:
            record.status = "stopped"
            return
        error = watched.error or error
    record.status = "failed"
    record.error = failure_of(error, spoke=bool(record.content))
    services.logger.warning(Event.TURN_FAILED, extra={"code": record.error.code, **cause_of(error)})
