"""Stream an answer in the client's protocol, and stream it again from its beginning after a reload."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai.exceptions import RunCancelled

from qwestly_agent.agents.design import NativeEvent
from qwestly_agent.base.errors import AgentError, ConversationBusy, Internal, NotFound, TooManyTurns, Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.chat.encode_plain import encode_plain, plain_error
from qwestly_agent.chat.run_turn import run_turn
from qwestly_agent.chat.services import KEEP_SECONDS, RENEW_SECONDS, WENT_ON_ELSEWHERE, ChatServices
from qwestly_agent.chat.turn import AnswerStream, Thread, Turn, new_events, step_of
from qwestly_agent.chat.turn_request import Protocol
from qwestly_agent.chat.turn_store import admit_stream
from qwestly_agent.chat.used_sources import SourcesNamed, source_events
from qwestly_agent.model_calls import failure_of
from qwestly_agent.stores.conversations import FollowedAnswer
from qwestly_agent.stores.messages import USAGE, Step
from qwestly_agent.text.clean import well_formed

# --- resume stream ----------------------------------------------------------------------------------------------------
# Stream a running answer again from its beginning: after a reload, or on another device.
#
# The turn may run in another process, so the reader follows the text that the process stores.


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
    """Return a reader of the running answer, or None if no turn of this user is running in the conversation. Raises
    `TooManyTurns`."""
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
    """Wait until part of the answer is stored; None if the reader disconnects first."""
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
        if latest and not are_sources_named:  # its process died before naming the sources
            for named in source_events(latest.answer.steps):
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
        stored=lambda: latest.answer if latest else None,
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


# --- stream -----------------------------------------------------------------------------------------------------------
# Stream an answer in the client's protocol.
#
# The turn runs in a separate task and the response reads from a queue, so a closed connection does not stop the turn.


KEEP_ALIVE_SECONDS = 10.0
"""Below the documented 15 s, and far below the 30 s after which a CDN closes a silent stream."""

NOTHING_RUNS = "data: [DONE]\n\n"
"""A stream without content: only its end."""

_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
_LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\u0085\u2028\u2029"}
"""Some line readers split at these characters, although server-sent events do not; in JSON they can be escaped."""


def headers_of(protocol: Protocol) -> dict[str, str]:
    return {**_HEADERS, "x-vercel-ai-ui-message-stream": "v1"} if protocol == "ai_sdk" else _HEADERS


def _encoders(protocol: Protocol) -> tuple[Callable[[AnswerStream], AsyncIterator[str]], Callable[[AgentError], str]]:
    """Return the encoders of answers and of errors."""
    match protocol:
        case "ai_sdk":  # imported late, like the next one: see `first_use.py`
            from qwestly_agent.chat.encode_ai_sdk import ai_sdk_error, encode_ai_sdk

            return encode_ai_sdk, ai_sdk_error
        case "ag_ui":
            from qwestly_agent.chat.encode_ag_ui import ag_ui_error, encode_ag_ui

            return encode_ag_ui, ag_ui_error
        case "plain":
            return encode_plain, plain_error


def start_stream(
    services: ChatServices, turn: Turn, protocol: Protocol, keep_alive_seconds: float
) -> AsyncIterator[str]:
    """Start the turn and return the chunks of the response, until the turn is over."""
    queue: asyncio.Queue[str | None] = asyncio.Queue()
    services.running.start(_pump(services, _telling_of(services, turn), protocol, queue))
    return _drain(queue, keep_alive_seconds)


async def start_following(
    services: ChatServices,
    user_id: str,
    conversation_id: str,
    protocol: Protocol,
    keep_alive_seconds: float,
    thread: Thread | None = None,
) -> AsyncIterator[str] | None:
    """Return the chunks of a response that streams the running answer from its beginning, after the `thread`; None if
    none is running. Raises `TooManyTurns`."""
    gone = asyncio.Event()
    following = await follow_answer(services, user_id, conversation_id, gone)
    if following is None:
        return None
    queue: asyncio.Queue[str | None] = asyncio.Queue()

    async def tell() -> None:
        try:
            if answer_stream := await wait_for_answer_stream(following):
                await _pump(services, replace(answer_stream, thread=thread), protocol, queue)
        except Exception as error:
            services.logger.warning(Event.STREAM_FAILED, extra=cause_of(error))
            _, encode_error = _encoders(protocol)
            queue.put_nowait(encode_error(failure_of(error)))
        finally:
            queue.put_nowait(None)
            await following.leave()

    services.running.start(tell())
    return _drain(queue, keep_alive_seconds, gone)


async def start_loading(
    services: ChatServices, user_id: str, conversation_id: str, thread: Thread, keep_alive_seconds: float
) -> AsyncIterator[str]:
    """Return the chunks of a response that loads an AG-UI thread: its messages, the running answer, and what waits for
    the user. Raises `TooManyTurns`."""
    following = await start_following(services, user_id, conversation_id, "ag_ui", keep_alive_seconds, thread)
    if following:
        return following
    queue: asyncio.Queue[str | None] = asyncio.Queue()
    loaded = AnswerStream(
        conversation_id=conversation_id,
        run_id=services.new_id(),
        message_id="",
        events=_nothing(),
        step_of=dict[str, Step]().__getitem__,
        content=str,
        usage=dict[str, Any],
        stored=lambda: None,
        thread=thread,
    )
    services.running.start(_pump(services, loaded, "ag_ui", queue))
    return _drain(queue, keep_alive_seconds)


async def _nothing() -> AsyncIterator[NativeEvent]:
    return
    yield


async def _pump(
    services: ChatServices, answer_stream: AnswerStream, protocol: Protocol, queue: asyncio.Queue[str | None]
) -> None:
    """Put each event into the queue, and None at the end."""
    encode, encode_error = _encoders(protocol)
    try:
        try:
            async for event in encode(answer_stream):
                queue.put_nowait(well_formed(event).translate(_LINE_ENDS))
        except Exception as error:
            # An event could not be encoded, but the client must still receive the end of the stream.
            services.logger.error(Event.STREAM_FAILED, extra=cause_of(error))
            queue.put_nowait(encode_error(Internal()))
        # All text has been sent, but once the response ends, Lambda freezes the process.
        if services.traces:
            await services.traces.flush()
    finally:
        queue.put_nowait(None)


async def _drain(
    queue: asyncio.Queue[str | None], keep_alive_seconds: float, gone: asyncio.Event | None = None
) -> AsyncIterator[str]:
    """Yield all queued events as one chunk, because each chunk is a write to a socket. Set `gone` at the end, also if
    the client disconnects."""
    try:
        while True:
            try:
                async with asyncio.timeout(keep_alive_seconds):
                    events = [await queue.get()]
            except TimeoutError:
                yield ": still here\n\n"
                continue
            while not queue.empty():
                events.append(queue.get_nowait())
            if said := "".join(filter(None, events)):
                yield said
            if events[-1] is None:
                return
    finally:
        if gone:
            gone.set()


def _telling_of(services: ChatServices, turn: Turn) -> AnswerStream:
    """Return the turn's answer for the encoders; reading its events runs the turn."""
    record = turn.record
    return AnswerStream(
        conversation_id=turn.claim.conversation_id,
        run_id=turn.answer_run_id,
        message_id=turn.continues or turn.answer_id,
        events=run_turn(services, turn),
        step_of=lambda call_id: step_of(record.calls.made[call_id]),
        content=lambda: record.content,
        usage=record.usage,
        stored=lambda: turn.answered or record.stored,
    )
