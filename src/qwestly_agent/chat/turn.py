"""A turn of a claimed conversation: run the agent, record what happened, let go."""

from collections.abc import AsyncIterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace

import pymongo
from pydantic_ai import CancellationToken
from pydantic_ai.exceptions import RunCancelled, RunTimedOut, UserError
from pydantic_ai.messages import PartEndEvent, PartStartEvent, TextPart
from pydantic_ai.ui import NativeEvent
from pymongo.errors import PyMongoError

from qwestly_agent.agents.base import AgentDeps, Design
from qwestly_agent.bootstrap import House
from qwestly_agent.chat.context import Context
from qwestly_agent.chat.failures import failure_of
from qwestly_agent.chat.record import Record
from qwestly_agent.chat.running import WENT_ON_ELSEWHERE, Watched
from qwestly_agent.chat.wellformed import well_formed_event, well_formed_message
from qwestly_agent.chat.window import model_history, window_start
from qwestly_agent.clock import to_datetime
from qwestly_agent.errors import ConversationBusy, Unavailable
from qwestly_agent.observability import Event, cause_of
from qwestly_agent.stores.conversations import Claim, Message, Problem, user_message

LAST_TRY_SECONDS = 1.0


@dataclass
class Turn:
    """A claimed conversation with everything that its answer needs. `events` must be read to its end: it lets go."""

    house: House
    claim: Claim
    design: Design
    text: str
    message_id: str
    """Of the user's message."""
    history: list[Message]
    """Without the turn that this one replaces."""
    context: Context
    deadline: float
    """Seconds since the epoch at which the answer must be over."""
    replaced: list[Message] = field(default_factory=list)
    """The turn whose place this one takes."""
    answered: Message | None = None
    """What was answered before, where this message was answered already."""

    def __post_init__(self) -> None:
        self.record = Record(started_at=self.claim.turn.started_at)
        self.answer_id = self.answered.id if self.answered else f"msg_{self.run_id}"

    @property
    def run_id(self) -> str:
        return self.claim.turn.run_id

    async def events(self) -> AsyncIterator[NativeEvent]:
        """What happens, as it happens; all of it is recorded before the iterator ends.

        Raises an `AgentError` when the turn failed and `RunCancelled` when its user stopped it.
        """
        self.house.logger.thread_safe_append_keys(run_id=self.run_id, conversation_id=self.claim.conversation_id)
        if self.answered:
            async for event in self._again(self.answered):
                yield event
            return
        self.house.logger.info(Event.TURN_STARTED)
        cancellation = CancellationToken()
        with self.house.running.watching(self.claim, cancellation.cancel) as watched:
            try:
                async for event in self._run(cancellation):
                    self.record.take(event, self.house.clock())
                    yield event
            except Exception as error:
                self._note_failure(error, watched)
            await self._keep()
        if self.record.error:
            raise self.record.error
        if self.record.status == "stopped":
            raise RunCancelled("stopped by the user")

    async def _run(self, cancellation: CancellationToken) -> AsyncIterator[NativeEvent]:
        house = self.house
        deps = AgentDeps(
            user_id=self.claim.user_id,
            profiles=house.profiles,
            memories=house.memories,
            knowledge=house.knowledge,
            docs=house.docs,
            embeddings=house.embeddings,
            logger=house.logger,
        )
        async with house.agents[self.design.name].run_stream_events(
            self.text,
            message_history=model_history(self.history, self._window_from()),
            instructions=self.context.text,
            deps=deps,
            conversation_id=self.claim.conversation_id,
            run_id=self.run_id,
            cancellation_token=cancellation,
            timeout=max(0.0, self.deadline - house.clock()),
        ) as run:
            try:
                async for event in run:
                    yield well_formed_event(event)
            finally:
                with suppress(UserError):  # cancelled before it began
                    self.record.messages = [well_formed_message(message) for message in run.new_messages()]

    def _note_failure(self, error: Exception, watched: Watched) -> None:
        if isinstance(error, RunCancelled) and not isinstance(error, RunTimedOut):
            if watched.stopped:
                self.record.status = "stopped"
                return
            error = watched.error or error
        self.record.status = "failed"
        self.record.error = failure_of(error)
        self.house.logger.warning(Event.TURN_FAILED, extra={"code": self.record.error.code, **cause_of(error)})

    async def _keep(self) -> None:
        """Record the turn and let go of the conversation."""
        now = self.house.clock()
        receipt = self.record.receipt(design=self.design.name, prompt_version=self.design.prompt_version, ended_at=now)
        self.house.logger.info(Event.TURN_ENDED, extra={"status": self.record.status, **receipt})
        # A database that has just failed is asked once more, but not for long: somebody waits for the error.
        with pymongo.timeout(LAST_TRY_SECONDS) if isinstance(self.record.error, Unavailable) else nullcontext():
            try:
                kept = await self._finish(self._messages(now, self.record.model_messages(), receipt), now)
            except PyMongoError:
                raise
            except Exception as error:  # what a provider sent cannot be written down: the words can
                self.house.logger.error(Event.RECORD_FAILED, extra=cause_of(error))
                kept = await self._finish(self._messages(now, self.record.words_alone(), {}), now)
        if not kept:
            self.house.logger.warning(Event.LEASE_LOST)
            self.record.error = self.record.error or ConversationBusy(WENT_ON_ELSEWHERE)

    async def _finish(self, messages: list[Message], now: float) -> bool:
        # A second try that brought nothing leaves what the first had brought.
        nothing_new = self.replaced and not self.record.content and self.record.status != "complete"
        return await self.house.conversations.finish(
            self.claim,
            [] if nothing_new else messages,
            replaced_run=self.replaced[0].run_id if self.replaced and not nothing_new else None,
            changes=self._changes(),
            now=now,
        )

    def _changes(self) -> dict[str, object]:
        """Of the conversation, for the turns that follow."""
        context = self.context.model_dump()
        return {
            **({"context": context} if context != self.claim.context else {}),
            "window_from": self._window_from(),
        }

    def _messages(self, now: float, model_messages: str, receipt: dict[str, object]) -> list[Message]:
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
            steps=tuple(self.record.steps.values()),
            model_messages=model_messages,
            receipt=receipt,
        )
        return [user_message(said, seq, "complete"), answer]

    async def _again(self, answered: Message) -> AsyncIterator[NativeEvent]:
        await self.house.conversations.finish(self.claim, [], replaced_run=None, changes={}, now=self.house.clock())
        part = TextPart(answered.content)
        self.record.texts.append(answered.content)
        yield PartStartEvent(index=0, part=part)
        yield PartEndEvent(index=0, part=part)

    def _window_from(self) -> int:
        return window_start(self.history, self.claim.window_from)
