"""A turn of a claimed conversation: run the agent, record the turn, release the conversation."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import pymongo
from pydantic_ai import CancellationToken
from pydantic_ai.exceptions import RunCancelled, RunTimedOut, UserError
from pydantic_ai.messages import PartEndEvent, PartStartEvent, TextPart
from pydantic_ai.ui import NativeEvent
from pymongo.errors import PyMongoError

from qwestly_agent.agents.base import AgentDeps, Design
from qwestly_agent.agents.guardrails import Decided
from qwestly_agent.approvals.propose import Proposer
from qwestly_agent.approvals.view import view_of
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import ConversationBusy, OverBudget, Unavailable
from qwestly_agent.base.observability import Event, cause_of, measure_turn
from qwestly_agent.cards.start import Cards
from qwestly_agent.chat.approval_updates import DraftFailed, TurnApprovals, note_of
from qwestly_agent.chat.context import FirstTurnContext
from qwestly_agent.chat.draft_view import view_of as draft_view_of
from qwestly_agent.chat.record import Record
from qwestly_agent.chat.sanitize_events import sanitized, sanitized_message
from qwestly_agent.chat.services import HasAgents, HasRunning
from qwestly_agent.chat.turn_registry import WENT_ON_ELSEWHERE, RunningTurn
from qwestly_agent.chat.window import model_history, prompt_of, window_start
from qwestly_agent.domain.approval import Level
from qwestly_agent.llm.query_vectors import QueryVectors
from qwestly_agent.memory.service import MemoryService
from qwestly_agent.memory.user_text import holds_others_words
from qwestly_agent.model_calls.budget import Budget
from qwestly_agent.model_calls.failures import cut_answer, failure_of
from qwestly_agent.services import (
    HasApprovals,
    HasAutonomy,
    HasCandidateApp,
    HasClock,
    HasConversations,
    HasDocs,
    HasDrafts,
    HasEmbeddings,
    HasExtractions,
    HasJudges,
    HasKnowledge,
    HasLogger,
    HasMemories,
    HasModels,
    HasNewId,
    HasProfiles,
    HasSettings,
    HasSignals,
    HasToolCalls,
    HasUsage,
    HasWorkflows,
)
from qwestly_agent.stores.conversations import ClaimedConversation, Message, Problem, user_message
from qwestly_agent.stores.usage import Load
from qwestly_agent.text.clean import is_pasted


class TurnServices(
    HasAgents,
    HasApprovals,
    HasAutonomy,
    HasCandidateApp,
    HasClock,
    HasConversations,
    HasDocs,
    HasDrafts,
    HasEmbeddings,
    HasExtractions,
    HasJudges,
    HasKnowledge,
    HasLogger,
    HasMemories,
    HasModels,
    HasNewId,
    HasProfiles,
    HasRunning,
    HasSettings,
    HasSignals,
    HasToolCalls,
    HasUsage,
    HasWorkflows,
    Protocol,
): ...


LAST_TRY_SECONDS = 1.0
TOO_MUCH_WORK = "This answer took more work than one answer may cost. Please ask for less at once."


@dataclass
class Turn:
    """A claimed conversation with everything that its answer needs. Read `events` to its end: that releases the
    claim."""

    services: TurnServices
    claim: ClaimedConversation
    design: Design
    text: str
    message_id: str
    """Id of the user's message."""
    history: list[Message]
    """Messages without the turn that this one replaces."""
    context: FirstTurnContext
    load: Load
    """The user's load before this turn."""
    level: Level
    """The user's autonomy level."""
    deadline: float
    """Time by which the answer must end, in seconds since the epoch."""
    approvals: TurnApprovals
    read_at: float
    """When the prompt's data was read, in seconds since the epoch. What is forgotten later may be in the prompt."""
    continues: str | None = None
    """Id of the answer that the client goes on building."""
    replaced: list[Message] = field(default_factory=list)
    """Messages of the turn that this one replaces."""
    answered: Message | None = None
    """The earlier answer, if this message was answered already."""

    def __post_init__(self) -> None:
        started_at = self.claim.turn.started_at
        self.record = Record(started_at)
        settings = self.services.settings
        today = max(0.0, settings.day_ceiling_usd - self.load.spent_today_usd)
        self.budget = (
            Budget(today, OverBudget(), started_at)
            if today < settings.turn_ceiling_usd
            else Budget(settings.turn_ceiling_usd, OverBudget(TOO_MUCH_WORK), started_at)
        )
        self.memory_service = MemoryService(
            self.services,
            self.claim.user_id,
            self.claim.conversation_id,
            self.message_id,
            self.text,
            others_spoke=self._others_spoke(),
        )
        self.answer_run_id = self.answered.run_id if self.answered else self.run_id
        self.answer_id = f"msg_{self.answer_run_id}"
        earlier = self.replaced[0].note if self.replaced else ""
        # The note of the replaced turn is stored nowhere else.
        self.note = "\n\n".join(filter(None, (earlier, note_of(self.approvals))))

    @property
    def run_id(self) -> str:
        return self.claim.turn.run_id

    async def events(self) -> AsyncIterator[NativeEvent]:
        """The events as they occur; the turn is recorded before the iterator ends.

        Raises an `AgentError` if the turn failed, and `RunCancelled` if its user stopped it.
        """
        self.services.logger.thread_safe_append_keys(run_id=self.run_id, conversation_id=self.claim.conversation_id)
        if self.answered:
            async for event in self._again(self.answered):
                yield event
            return
        self.services.logger.info(Event.TURN_STARTED)
        for settled in self.approvals.settled:
            decided = settled.decided
            said_yes = decided.verb in ("approve", "edit")
            yield Decided(approval=view_of(settled.approval), call_id=decided.call_id, said_yes=said_yes)
        for draft in self.approvals.failed:
            yield DraftFailed(draft=draft_view_of(draft))
        cancellation = CancellationToken()
        with self.services.running.watching(self.claim, cancellation.cancel) as watched:
            try:
                async for event in self._run(cancellation):
                    self.record.take(event, self.services.clock())
                    yield event
                if cut := cut_answer(self.record.messages):
                    raise cut
            except Exception as error:
                self._note_failure(error, watched)
            await self._keep()
        if self.record.error:
            raise self.record.error
        if self.record.status == "stopped":
            raise RunCancelled("stopped by the user")

    def _untrusted_content_before(self) -> bool:
        """True if a document, a LinkedIn page or pasted text entered the prompt with this message or in the turn
        before."""
        before = [message for message in self.history if message.run_id == self.history[-1].run_id]
        words = (self.text, *(message.content for message in before if message.role == "user"))
        return any(map(is_pasted, words)) or any(step.outside for message in before for step in message.steps)

    def _others_spoke(self) -> bool:
        """True if the window has any text that the user did not type."""
        window = [each for each in self.history if each.seq >= self._window_from() and not each.withheld]
        steps = (step for message in window for step in message.steps)
        words = (self.text, *(message.content for message in window if message.role == "user"))
        return any(map(holds_others_words, words)) or any(step.outside and not step.users_own for step in steps)

    async def _run(self, cancellation: CancellationToken) -> AsyncIterator[NativeEvent]:
        services = self.services
        deps = AgentDeps(
            user_id=self.claim.user_id,
            profiles=services.profiles,
            memories=services.memories,
            knowledge=services.knowledge,
            docs=services.docs,
            query_vectors=QueryVectors(services.embeddings),
            drafts=services.drafts,
            cards=Cards(services, self.claim.user_id, self.run_id, self.claim.conversation_id),
            memory_service=self.memory_service,
            proposer=Proposer(services, self.claim.user_id, self.run_id, self.claim.conversation_id),
            level=self.level,
            said=(*(each.content for each in self.history if each.role == "user" and not each.withheld), self.text),
            untrusted_content_before=self._untrusted_content_before(),
            calls=self.record.calls,
            budget=self.budget,
            failure_of=failure_of,
            clock=services.clock,
            logger=services.logger,
        )
        async with services.agents[self.design.name].run_stream_events(
            prompt_of(self.note, self.text),
            message_history=model_history(self.history, self._window_from()),
            instructions=self.context.text,
            deps=deps,
            conversation_id=self.claim.conversation_id,
            run_id=self.run_id,
            cancellation_token=cancellation,
            timeout=max(0.0, self.deadline - services.clock()),
        ) as run:
            try:
                async for event in sanitized(run, services.settings.allowed_hosts, self.record.calls.made):
                    yield event
            finally:
                with suppress(UserError):  # cancelled before it began
                    hosts = services.settings.allowed_hosts
                    messages = [sanitized_message(message, hosts) for message in run.new_messages()]
                    self.record.keep(messages, self.budget.prompt_characters)

    def _note_failure(self, error: Exception, watched: RunningTurn) -> None:
        if isinstance(error, RunCancelled) and not isinstance(error, RunTimedOut):
            if watched.stopped:
                self.record.status = "stopped"
                return
            error = watched.error or error
        self.record.status = "failed"
        self.record.error = failure_of(error, spoke=bool(self.record.content))
        self.services.logger.warning(Event.TURN_FAILED, extra={"code": self.record.error.code, **cause_of(error)})

    async def _keep(self) -> None:
        """Record the turn and its cost, then release the conversation: last, because erasure waits for the release."""
        now = self.services.clock()
        receipt = self.record.receipt(design=self.design.name, prompt_version=self.design.prompt_version, ended_at=now)
        self.services.logger.info(Event.TURN_ENDED, extra={"status": self.record.status, **receipt})
        measure_turn(self.record.status, receipt, Counter(call.outcome for call in self.record.calls.made.values()))
        # After a database error try once more, but briefly: the user waits for the error.
        with _briefly(isinstance(self.record.error, Unavailable)):
            written = await asyncio.gather(self._account(now), self._audit())
            with _briefly(not all(written)):
                kept = await self._record(now, receipt)
        if not kept:
            await self._forget_audit()
            self.services.logger.warning(Event.LEASE_LOST)
            self.record.error = self.record.error or ConversationBusy(WENT_ON_ELSEWHERE)

    async def _record(self, now: float, receipt: dict[str, Any]) -> bool:
        try:
            return await self._finish(self._messages(now, self.record.model_messages(), receipt), now)
        except PyMongoError:
            raise
        except Exception as error:  # the provider's messages cannot be serialized: store the text only
            self.services.logger.error(Event.RECORD_FAILED, extra=cause_of(error))
            return await self._finish(self._messages(now, self.record.words_alone(), {}), now)

    async def _account(self, now: float) -> bool:
        """Record the cost; False if that fails, which does not fail the answer."""
        spent = {**self.record.tokens(), "cost_usd": self.record.ceiling_usd()}
        try:
            await self.services.usage.settle(self.claim.user_id, self.run_id, spent, self.load, now)
        except PyMongoError as error:
            self.services.logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))
            return False
        return True

    async def _audit(self) -> bool:
        """Record the tool calls; False if that fails."""
        services, claim = self.services, self.claim
        try:
            await services.tool_calls.add(claim.user_id, claim.conversation_id, self.run_id, self.record.audit())
        except PyMongoError as error:
            services.logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))
            return False
        return True

    async def _forget_audit(self) -> None:
        """Delete the audit of a conversation that was deleted meanwhile."""
        services, claim = self.services, self.claim
        try:
            if not await services.conversations.exists(claim.user_id, claim.conversation_id):
                await services.tool_calls.forget(claim.user_id, claim.conversation_id)
        except PyMongoError as error:
            services.logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))

    async def _finish(self, messages: list[Message], now: float) -> bool:
        # A retry without content keeps the earlier answer.
        nothing_new = self.replaced and not self.record.content and self.record.status != "complete"
        kept = await self.services.conversations.finish(
            self.claim,
            [] if nothing_new else messages,
            replaced_run=self.replaced[0].run_id if self.replaced and not nothing_new else None,
            changes=self._changes(),
            cost_usd=self.record.ceiling_usd(),
            now=now,
        )
        if kept and messages:
            await self._exclude_forgotten()
        if kept and not nothing_new:
            # The note is stored in the conversation now, and so is part of every later prompt.
            await asyncio.gather(
                *(self.services.approvals.told(each) for each in self.approvals.news),
                *(self.services.drafts.told(self.claim.user_id, each.id) for each in self.approvals.failed),
            )
        return kept

    async def _exclude_forgotten(self) -> None:
        """Exclude this turn if something was forgotten while it ran, which the forgetting could not find in it."""
        if await self.services.memories.forgotten_since(self.claim.user_id, self.read_at):
            await asyncio.gather(
                self.services.conversations.exclude_run_from_prompts(self.claim.user_id, self.run_id),
                self.services.conversations.drop_contexts(self.claim.user_id),
                self.services.tool_calls.empty(self.claim.user_id, (), lambda _: False, self.run_id),
            )

    def _changes(self) -> dict[str, Any]:
        """Fields of the conversation for the following turns."""
        context = self.context.model_dump(mode="json")
        return {
            **({"context": context} if context != self.claim.context else {}),
            "window_from": self._window_from(),
        }

    def _messages(self, now: float, model_messages: str, receipt: dict[str, Any]) -> list[Message]:
        seq = self.claim.last_seq + 1
        said = replace(self.claim.turn, message_id=self.message_id, text=self.text)
        answer = Message(
            id=self.answer_id,
            run_id=self.run_id,
            seq=seq + 1,
            role="assistant",
            content=self.record.content,
            created_at=to_datetime(now),
            status=self.record.status,
            error=Problem(code=error.code, message=error.message) if (error := self.record.error) else None,
            steps=self.record.steps(),
            model_messages=model_messages,
            receipt=receipt,
            continues=self.continues,
            saw=self._saw(),
            withheld=self._withheld,
        )
        asked = {"note": self.note, "withheld": self._withheld}
        return [user_message(said, seq, "complete").model_copy(update=asked), answer]

    def _saw(self) -> tuple[str, ...]:
        """Ids that this answer saw, including those of the answers in its window, which it may repeat."""
        window = [each for each in self.history if each.seq >= self._window_from() and not each.withheld]
        calls = self.record.calls.made.values()
        saw = (self.context.memory_ids, *(each.saw for each in window), *(sorted(each.saw) for each in calls))
        return tuple(dict.fromkeys(each for ids in saw for each in ids))

    @property
    def _withheld(self) -> bool:
        return any(message.withheld for message in self.replaced if message.role == "user")

    async def _again(self, answered: Message) -> AsyncIterator[NativeEvent]:
        now = self.services.clock()
        await asyncio.gather(
            self.services.conversations.finish(self.claim, [], replaced_run=None, changes={}, now=now),
            self.services.usage.settle(self.claim.user_id, self.run_id, {}, self.load, now),
        )
        part = TextPart(answered.content)
        self.record.texts.append(answered.content)
        yield PartStartEvent(index=0, part=part)
        yield PartEndEvent(index=0, part=part)

    def _window_from(self) -> int:
        return window_start(self.history, self.claim.window_from)


def _briefly(it_failed: bool) -> AbstractContextManager[object]:
    return pymongo.timeout(LAST_TRY_SECONDS) if it_failed else nullcontext()
