"""Stream a running answer again from its beginning: after a reload, or on another device.

The turn may run in another process, so the reader follows that process's stored text.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from pydantic_ai.exceptions import RunCancelled

from qwestly_agent.agents.design import NativeEvent
from qwestly_agent.base.errors import AgentError, ConversationBusy, NotFound, TooManyTurns, Unavailable
from qwestly_agent.chat.services import ChatServices
from qwestly_agent.chat.turn import AnswerStream, new_events
from qwestly_agent.chat.turn_registry import KEEP_SECONDS, RENEW_SECONDS, WENT_ON_ELSEWHERE
from qwestly_agent.chat.turn_store import admit_stream
from qwestly_agent.chat.used_sources import SourcesNamed, name_sources
from qwestly_agent.stores.conversations import FollowedAnswer
from qwestly_agent.stores.messages import USAGE

INTERRUPTED = "This answer was interrupted. What it had so far is kept."
RESTARTING = "The service is restarting. Please reload this conversation."


@dataclass(frozen=True)
class AnswerReader:
    """Reads a running answer from the text that its process stores."""

    services: ChatServices
    user_id: str
    conversation_id: str
    run_id: str
    reader_id: str
    gone: asyncio.Event
    """Set once the reader has disconnected."""

    async def states(self) -> AsyncIterator[FollowedAnswer]:
        """Yield the stored states of the answer, until it ends or the reader disconnects."""
        services = self.services
        attached = services.clock()
        while not self.gone.is_set():
            if services.running.is_ending:
                raise Unavailable(RESTARTING)
            now = services.clock()
            found = await services.partial_answers.follow(self.user_id, self.conversation_id, self.run_id, now)
            yield found
            if found.state != "running":
                return
            if now - attached >= RENEW_SECONDS:
                attached = now
                await services.usage.attach(self.user_id, self.reader_id, now)
            await services.running.sleep_to_keep(KEEP_SECONDS)

    async def leave(self) -> None:
        await self.services.usage.release(self.user_id, [self.reader_id])


async def follow_answer(
    services: ChatServices, user_id: str, conversation_id: str, gone: asyncio.Event
) -> AnswerReader | None:
    """Return a follower, or None if no turn of this user is running there. Raises `TooManyTurns`."""
    now = services.clock()
    try:
        run_id = await services.conversations.find_running_run(user_id, conversation_id, now)
    except NotFound:  # a client may ask before the first message creates the conversation
        return None
    if run_id is None:
        return None
    following = AnswerReader(services, user_id, conversation_id, run_id, f"reader_{services.new_id()}", gone)
    load = await services.usage.attach(user_id, following.reader_id, now)
    try:
        await admit_stream(services, user_id, load, now)
    except TooManyTurns:
        await following.leave()
        raise
    return following


async def wait_for_answer_stream(following: AnswerReader) -> AnswerStream | None:
    """Wait until a part of the answer is stored; None if the reader disconnects before."""
    states = following.states()
    async for found in states:
        if found.partial or found.state != "running":
            return _telling(following, found, states)
    return None


def _telling(following: AnswerReader, found: FollowedAnswer, states: AsyncIterator[FollowedAnswer]) -> AnswerStream:
    latest = found.partial

    async def events() -> AsyncIterator[NativeEvent]:
        nonlocal latest
        told: Sequence[str] = ()
        state, are_sources_named = found, False
        while True:
            if state.partial:
                latest = state.partial
                for event in new_events(told, latest.events):
                    are_sources_named |= isinstance(event, SourcesNamed)
                    yield event
                told = latest.events
            if state.state != "running":
                break
            following_state = await anext(states, None)
            if following_state is None:
                return
            state = following_state
        if latest and not are_sources_named:  # its process died before naming them
            for named in name_sources(latest.answer.steps):
                yield named
        if failure := _failure_of(state):
            raise failure

    return AnswerStream(
        conversation_id=following.conversation_id,
        run_id=following.run_id,
        message_id=(latest and latest.answer.continues) or f"msg_{following.run_id}",
        events=events(),
        step_of=lambda call_id: {step.id: step for step in (latest.answer.steps if latest else ())}[call_id],
        content=lambda: latest.answer.content if latest else "",
        usage=lambda: {name: latest.answer.receipt.get(name) if latest else None for name in USAGE},
    )


def _failure_of(found: FollowedAnswer) -> Exception | None:
    match found.state:
        case "interrupted":
            return Unavailable(INTERRUPTED)
        case "gone":
            return ConversationBusy(WENT_ON_ELSEWHERE)
        case _:
            answer = found.partial.answer if found.partial else None
            if answer and answer.status == "stopped":
                return RunCancelled("stopped by the user")
            if answer and (problem := answer.error):
                failure = AgentError(problem.message)
                failure.code = problem.code
                return failure
            return None
