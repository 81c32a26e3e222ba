"""A turn: a claimed conversation, the data read for its answer, the record of its actions, and its events."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache, cached_property
from itertools import chain
from typing import Any, TypeGuard

from pydantic import TypeAdapter
from pydantic_ai.messages import (
    AgentStreamEvent,
    CapabilityEvent,
    CustomEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    RetryPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
)
from pydantic_core import PydanticSerializationError

from qwestly_agent.agents.base import Call, Calls
from qwestly_agent.agents.design import NativeEvent, TurnAgent
from qwestly_agent.agents.guardrails import ApprovalRequested
from qwestly_agent.agents.help import FIXED_WORDS
from qwestly_agent.agents.tools.catalog import records_of
from qwestly_agent.agents.tools.work import ApprovalShown
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import AgentError
from qwestly_agent.cards.drafts import DraftView
from qwestly_agent.chat.activity import EventView
from qwestly_agent.chat.outcomes import ids_of
from qwestly_agent.chat.prompt import FirstTurnContext, UnderWay, text_response, window_start
from qwestly_agent.chat.turn_approvals import QuestionAsked, TurnApprovals, note_of
from qwestly_agent.chat.used_sources import ReturnedRecord, SourcesNamed, used_sources
from qwestly_agent.clients.aws import Start
from qwestly_agent.domain.approval import Approval, Level
from qwestly_agent.domain.conversation import Summary
from qwestly_agent.domain.rollout import Assignment
from qwestly_agent.llm.models import ceiling_price_of, estimate_usage, has_plausible_counts, price_of
from qwestly_agent.rollout.variants import VARIANTS
from qwestly_agent.stores.messages import (
    ClaimedConversation,
    Message,
    PartialAnswer,
    Problem,
    Status,
    Step,
    ToolCallEntry,
    user_message,
)
from qwestly_agent.stores.usage import Load
from qwestly_agent.text.clean import mask_secrets, visible, well_formed

MOST_OF_A_TOOL = 8_000
"""Maximum number of characters of a call's arguments, or of its result, that are replayed."""
MOST_CHARACTERS = 60_000
"""Maximum number of characters of all events; of later events only the text and its sources are replayed."""


@dataclass(kw_only=True)
class DraftEnded(CapabilityEvent, namespace="qwestly"):
    draft: DraftView


@dataclass(kw_only=True)
class Happened(CapabilityEvent, namespace="qwestly"):
    activity: EventView


@dataclass(frozen=True)
class Thread:
    """A conversation as an AG-UI client loads it."""

    messages: Sequence[Message] = ()
    """The newest messages, without the running answer."""
    approvals: Mapping[str, Approval] = field(default_factory=dict[str, Approval])
    """Approvals by the id of the call that requested them."""
    asked: Sequence[Approval] = ()
    """Approvals that the agent waits for."""
    queued: Sequence[Approval] = ()
    """Other pending approvals."""


@dataclass(frozen=True)
class AnswerStream:
    """An answer for the encoders, with its events: for the reader who requested it, or for one who joins later."""

    conversation_id: str
    run_id: str
    message_id: str
    """The id under which the client builds the answer."""
    events: AsyncIterator[NativeEvent]
    """The answer's events. Reading them raises an `AgentError` if the turn failed, and `RunCancelled` if its user
    stopped it."""
    step_of: Callable[[str], Step]
    """Returns a step by the id of its call, once the call was sent."""
    content: Callable[[], str]
    """Returns the whole answer, once the events have ended."""
    usage: Callable[[], dict[str, Any]]
    """Returns tokens and cost, once the events have ended."""
    stored: Callable[[], Message | None]
    """Returns the answer's record, once the events have ended; None if it could not be stored."""
    thread: Thread | None = None
    """The earlier messages, for a client that loads the conversation."""


@cache
def _event() -> TypeAdapter[AgentStreamEvent]:
    """Return the adapter, built on first use with the event types defined by then."""
    return TypeAdapter(AgentStreamEvent)


@dataclass
class EventBuffer:
    """The events so far as JSON. Consecutive deltas are joined; thoughts are left out."""

    _events: list[str] = field(default_factory=list)
    _last: AgentStreamEvent | None = None
    """Not yet in `_events`, because the next delta may belong to it."""
    _size: int = 0
    """Number of characters in `_events`."""
    _taken: int = 0
    _dumped: int = 0

    @property
    def has_grown(self) -> bool:
        """True if there are more events than at the last `dump`."""
        return self._taken > self._dumped

    def take(self, event: NativeEvent) -> None:
        told = _without_sent_parts(event)
        if told is None or (self._size > MOST_CHARACTERS and not _is_answer(told)):
            return
        self._taken += 1
        if joined := _joined(self._last, told):
            self._last = joined
        else:
            closed = _dumped(self._last)
            self._events += closed
            self._size += sum(map(len, closed))
            self._last = told

    def dump(self) -> list[str]:
        self._dumped = self._taken
        return [*self._events, *_dumped(self._last)]


def new_events(before: Sequence[str], now: Sequence[str]) -> Iterator[AgentStreamEvent]:
    """Return the events for a reader that has already received `before`, the beginning of `now`."""
    if before and now[len(before) - 1] != before[-1]:
        told, grown = (_event().validate_json(each[len(before) - 1]) for each in (before, now))
        yield _rest(told, grown)
    for each in now[len(before) :]:
        yield _event().validate_json(each)


def _without_sent_parts(event: NativeEvent) -> AgentStreamEvent | None:
    match event:
        case PartEndEvent(part=TextPart() as part):
            return replace(event, part=replace(part, content=""))  # already sent
        case PartEndEvent(part=ToolCallPart() as part):
            return replace(event, part=replace(part, args=None))  # sent with its call
        case PartStartEvent(part=ToolCallPart() as call) | FunctionToolCallEvent(part=call):
            return replace(event, part=_short_call(call))
        case FunctionToolResultEvent(part=result):
            return replace(event, part=_short_result(result))
        case (
            PartStartEvent(part=TextPart())
            | PartDeltaEvent(delta=TextPartDelta() | ToolCallPartDelta())
            | CustomEvent()
            | CapabilityEvent()
        ):
            return event
        case _:
            return None


def _short_call(part: ToolCallPart) -> ToolCallPart:
    return replace(part, args=None) if len(part.args_as_json_str()) > MOST_OF_A_TOOL else part


def _short_result(part: ToolReturnPart) -> ToolReturnPart:
    words = part.model_response_str()
    return replace(part, content=f"{words[:MOST_OF_A_TOOL]}…") if len(words) > MOST_OF_A_TOOL else part


def _is_answer(event: AgentStreamEvent) -> bool:
    match event:
        case (
            PartStartEvent(part=TextPart())
            | PartEndEvent(part=TextPart())
            | PartDeltaEvent(delta=TextPartDelta())
            | SourcesNamed()
            | QuestionAsked()
        ):
            return True
        case _:
            return False


def _joined(last: AgentStreamEvent | None, event: AgentStreamEvent) -> AgentStreamEvent | None:
    match last, event:
        case PartDeltaEvent(delta=TextPartDelta() as said), PartDeltaEvent(delta=TextPartDelta() as more) if (
            last.index == event.index
        ):
            return replace(last, delta=replace(said, content_delta=said.content_delta + more.content_delta))
        case (
            PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(said)) as delta),
            PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(more))),
        ) if last.index == event.index:
            return replace(last, delta=replace(delta, args_delta=(said + more)[:MOST_OF_A_TOOL]))
        case _:
            return None


def _rest(told: AgentStreamEvent, grown: AgentStreamEvent) -> AgentStreamEvent:
    """Return the new text of a joined event: the text after the part that the client already has."""
    match told, grown:
        case PartDeltaEvent(delta=TextPartDelta(said)), PartDeltaEvent(delta=TextPartDelta(more) as delta):
            return replace(grown, delta=replace(delta, content_delta=more[len(said) :]))
        case (
            PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(said))),
            PartDeltaEvent(delta=ToolCallPartDelta(args_delta=str(more)) as delta),
        ):
            return replace(grown, delta=replace(delta, args_delta=more[len(said) :]))
        case _:
            return grown


def _dumped(event: AgentStreamEvent | None) -> list[str]:
    """Return the event as JSON, or an empty list if it is not serializable, for example a tool result that is not
    data."""
    try:
        return [] if event is None else [_event().dump_json(event).decode()]
    except PydanticSerializationError:
        return []


# --- the record -------------------------------------------------------------------------------------------------------


AUDITED_CHARACTERS = 4_000
"""Maximum number of characters of a tool call's arguments, and of its result, in the audit."""


@dataclass
class Record:
    """Filled from the run's events as they pass, so that it is correct wherever the run breaks off."""

    started_at: float
    texts: list[str] = field(default_factory=list)
    """One entry per text part: an answer may have text before and after a tool call."""
    calls: Calls = field(default_factory=Calls)
    first_text_at: float | None = None
    own_first_text_ms: float | None = None
    """Time to the first text, without the time that the models took."""
    status: Status = "complete"
    is_erased: bool = False
    """True if all of the user's data were erased since the turn began."""
    error: AgentError | None = None
    messages: list[ModelMessage] = field(default_factory=list)
    starts: list[Start] = field(default_factory=list)
    """Workflows to start after the turn is recorded."""
    stored: Message | None = None
    """The answer as stored at the end."""
    estimated: bool = False
    """True if tokens and cost are partly estimated."""
    assigned: bool = False
    """True after the variant of a new conversation was stored."""
    title: str = ""
    """Title of a new conversation, if a model made one in time."""
    events: EventBuffer = field(default_factory=EventBuffer)
    """Events for readers who join later."""
    cards: list[ApprovalRequested | ApprovalShown] = field(default_factory=list[ApprovalRequested | ApprovalShown])
    asks_about: str | None = None
    """Id of the approval about which the code's question asks."""
    _returned: dict[str, tuple[ReturnedRecord, ...]] = field(default_factory=dict[str, tuple[ReturnedRecord, ...]])
    """Records by the id of the successful call that returned them."""

    @property
    def content(self) -> str:
        return "\n\n".join(filter(None, self.texts))

    def take(self, event: NativeEvent, now: float) -> None:
        self.events.take(event)
        match event:
            case PartStartEvent(part=TextPart(content=text)):
                self.texts.append("")
                self._add(text, now)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                self._add(text, now)
            case ApprovalRequested() | ApprovalShown():
                self.cards.append(event)
            case QuestionAsked(text=text):  # not written by a model, so it does not count as the first text
                self.texts.append(text)
                self.messages = [*self.messages, ModelResponse(parts=[TextPart(text)], model_name=FIXED_WORDS)]
                self.asks_about = event.approval_id
            case _:
                pass

    def steps(self) -> tuple[Step, ...]:
        """Each step with those of its records that the answer has used so far."""
        records = {call.id: self._records_of(call) for call in self.calls.made.values()}
        used = used_sources(chain.from_iterable(records.values()), self.content)
        return tuple(
            step_of(call).model_copy(
                update={"sources": tuple(each.source for each in records[call.id] if each.source.id in used)}
            )
            for call in self.calls.made.values()
        )

    def _records_of(self, call: Call) -> tuple[ReturnedRecord, ...]:
        if call.outcome != "succeeded":
            return ()
        if call.id not in self._returned:
            self._returned[call.id] = tuple(map(ReturnedRecord.of, records_of(call.tool, call.result)))
        return self._returned[call.id]

    def audit(self) -> list[ToolCallEntry]:
        return [_entry(call) for call in self.calls.made.values()]

    def keep(self, messages: Sequence[ModelMessage], prompt_characters: Callable[[], int]) -> None:
        """Store the run's messages; estimate the usage of an answer that broke off before the provider reported it."""
        self.messages, self.estimated = [], False
        for message in self._answered(messages):
            if _is_of_model(message) and not has_plausible_counts(message.usage):
                self.estimated = True
                usage = estimate_usage(prompt_characters(), len(message.text or ""))
                message = replace(message, usage=usage)
            self.messages.append(message)

    def _answered(self, messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
        """Add results for calls that wait for approval, because in the next prompt each call needs a result."""
        waits = [call for call in self.calls.made.values() if call.outcome == "waiting"]
        if not waits:
            return messages
        returned = {
            part.tool_call_id
            for message in messages
            for part in message.parts
            if isinstance(part, ToolReturnPart | RetryPromptPart)
        }
        parts = [
            ToolReturnPart(tool_name=call.tool, content=call.result, tool_call_id=call.id)
            for call in waits
            if call.id not in returned
        ]
        return [*messages, ModelRequest(parts=parts)] if parts else messages

    @property
    def responses(self) -> list[ModelResponse]:
        """The messages written by a model."""
        return [each for each in self.messages if _is_of_model(each)]

    def tokens(self) -> dict[str, int]:
        """Token sums over the run's model calls."""
        tokens = {"input_tokens": 0, "cached_tokens": 0, "output_tokens": 0}
        for response in self.responses:
            tokens["input_tokens"] += response.usage.input_tokens
            tokens["cached_tokens"] += response.usage.cache_read_tokens
            tokens["output_tokens"] += response.usage.output_tokens
        return tokens

    def usage(self) -> dict[str, Any]:
        """Tokens, and cost in US dollars at the prices when the turn started; no cost if one of the models has no
        price."""
        cost: Decimal | None = Decimal(0)
        for response in self.responses:
            price = price_of(response.model_id, response.model_name, response.usage, self.started_at)
            cost = None if cost is None or price is None else cost + price
        return {**self.tokens(), "cost_usd": None if cost is None else float(cost)}

    def ceiling_usd(self) -> float:
        """The cost that counts toward the ceilings."""
        cost = Decimal(0)
        for response in self.responses:
            cost += ceiling_price_of(response.model_id, response.model_name, response.usage, self.started_at)
        return float(cost)

    def receipt(
        self,
        *,
        design: str,
        prompt_version: str,
        ended_at: float,
        variant: str | None = None,
        counted_as: str | None = None,
    ) -> dict[str, Any]:
        first = self.first_text_at
        models = {response.model_name for response in self.responses}
        return {
            **self.usage(),
            "estimated": self.estimated,
            "models": sorted(filter(None, models)),
            "design": design,
            "prompt_version": prompt_version,
            **({"variant": variant} if variant else {}),
            **({"counted_as": counted_as} if counted_as else {}),
            **({"help": self.calls.trouble.kind} if self.calls.trouble else {}),
            "first_text_ms": None if first is None else round((first - self.started_at) * 1000),
            "own_first_text_ms": None if self.own_first_text_ms is None else round(self.own_first_text_ms),
            "total_ms": round((ended_at - self.started_at) * 1000),
        }

    def model_messages(self) -> str:
        """JSON of the messages, without the user's message, which has its own document, and without the instructions,
        which are added to each prompt."""
        kept = [_without_instructions(message) for message in self.messages[1:]]
        return ModelMessagesTypeAdapter.dump_json(kept).decode()

    def text_only_messages_json(self) -> str:
        """Replaces `model_messages` if those cannot be serialized."""
        return ModelMessagesTypeAdapter.dump_json([text_response(self.content)]).decode()

    def _add(self, text: str, now: float) -> None:
        if not text:
            return
        if not self.texts:
            self.texts.append("")
        if self.first_text_at is None:
            self.first_text_at = now
            self.own_first_text_ms = (now - self.started_at - self.calls.waits.until(now)) * 1000
        self.texts[-1] += text


def step_of(call: Call) -> Step:
    """Return the step without its sources, which are known only at the end of the answer."""
    return Step(
        id=well_formed(call.id),
        name=well_formed(call.tool),
        label=well_formed(call.label),
        effect=call.contract.effect if call.contract else None,
        outside=call.is_untrusted,
        users_own=call.is_users_own,
        arguments=_json_start(call.arguments),
        ok=None if call.outcome in ("running", "waiting", "cancelled") else call.outcome == "succeeded",
        problem=call.problem,
        ms=call.milliseconds,
    )


def _entry(call: Call) -> ToolCallEntry:
    return ToolCallEntry(
        call_id=well_formed(call.id),
        number=call.number,
        tool=well_formed(call.tool)[:AUDITED_CHARACTERS],
        effect=call.contract.effect if call.contract else None,
        outcome=call.outcome,
        arguments=_json_start(call.arguments, mask_secrets),
        result=_json_start(call.result, mask_secrets) if call.outcome in ("succeeded", "waiting") else None,
        error=mask_secrets(call.problem) if call.problem else None,
        ms=call.milliseconds,
        at=call.started_at,
    )


def _json_start(value: Any, mask: Callable[[str], str] = str) -> str:
    """Return the beginning of a value's JSON; a string (invalid arguments from a model) stays unchanged."""
    text = mask(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
    return well_formed(visible(text[:AUDITED_CHARACTERS])) + ("…" if len(text) > AUDITED_CHARACTERS else "")


def _is_of_model(message: ModelMessage) -> TypeGuard[ModelResponse]:
    return isinstance(message, ModelResponse) and message.model_name != FIXED_WORDS


def _without_instructions(message: ModelMessage) -> ModelMessage:
    return replace(message, instructions=None) if isinstance(message, ModelRequest) else message


# --- the turn ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    """A turn. Everything except `record` is known before the run."""

    claim: ClaimedConversation
    agent: TurnAgent
    text: str
    message_id: str
    """Id of the user's message."""
    history: Sequence[Message]
    """The conversation's messages, without the turn that this one replaces."""
    context: FirstTurnContext
    career: dict[str, Any]
    """The profile with employment and preferences."""
    load: Load
    """The user's running turns and spending before this turn."""
    level: Level
    """The user's autonomy level."""
    deadline: float
    """Time by which the answer must end, in seconds since the epoch."""
    approvals: TurnApprovals
    under_way: UnderWay
    """Pending and running work in all conversations."""
    prompt_as_of: float
    """Seconds since the epoch. The prompt may contain content that was forgotten at this time or later."""
    record: Record
    """Filled while the turn runs."""
    has_returned_to_base: bool = False
    """True if the previous turns died, so that the conversation now uses the base."""
    continues: str | None = None
    """Id of the answer that the client continues."""
    replaced: Sequence[Message] = ()
    """Messages of the turn that this one replaces."""
    answered: Message | None = None
    """The earlier answer, if this message was already answered."""
    moderated: "asyncio.Task[bool] | None" = None
    """Result of the moderation endpoint: True if it finds the user in danger. None if it is not used."""
    token: str = field(default="", repr=False)
    """The user's own token, which authorizes executing changes without approval."""

    @property
    def run_id(self) -> str:
        return self.claim.turn.run_id

    @property
    def assignment(self) -> Assignment | None:
        """The conversation's variant, including the result of this turn so far; a pinned user's variant is not
        stored."""
        before = self.claim.assignment
        if before is None or not before.trial or self.record.status == "stopped":
            return before
        return before.after(failed=self.record.status == "failed" and is_ours(self.record.error))

    @property
    def returns_to_base(self) -> bool:
        """True if this turn's failure makes the conversation return to the base."""
        before, after = self.claim.assignment, self.assignment
        return bool(before and after and after.given_up and not before.given_up)

    @property
    def variant(self) -> str | None:
        """The variant whose agent answers, or the base's name; None outside of a trial, or in a trial that was given
        up."""
        assignment = self.claim.assignment
        return assignment.variant if assignment and not assignment.given_up else None

    @property
    def counted_as(self) -> str | None:
        """The tag of the trial counts to which this turn belongs."""
        return self.claim.assignment.tag if self.claim.assignment else None

    @property
    def design(self) -> str:
        """The design of the agent that answers."""
        agents = self.claim.assignment.agents if self.claim.assignment else None
        return next((each.design for each in VARIANTS if each.name == agents), self.claim.design)

    @property
    def answer_run_id(self) -> str:
        return self.answered.run_id if self.answered else self.run_id

    @property
    def answer_id(self) -> str:
        return f"msg_{self.answer_run_id}"

    @cached_property
    def note(self) -> str:
        """The note on approvals and drafts before the user's text. It includes the replaced turn's note, which is
        stored nowhere else."""
        earlier = self.replaced[0].note if self.replaced else ""
        changed = [] if self._is_told_what_is_under_way else self.under_way.lines
        return "\n\n".join(filter(None, (earlier, note_of(self.approvals, changed))))

    @cached_property
    def told_under_way(self) -> tuple[str, ...]:
        """Ids of pending and running work that the model knows after this turn's note."""
        return self.under_way.elsewhere(self.claim.conversation_id)

    @property
    def _is_told_what_is_under_way(self) -> bool:
        """True if an earlier note in the model's window has the same content."""
        is_in_window = self.window_from == self.claim.window_from or not self.told_under_way
        return is_in_window and self.told_under_way == self.claim.reported_work

    @cached_property
    def window_from(self) -> int:
        """The `seq` at which the model's window begins."""
        return window_start(self.history, self.claim.window_from)

    @property
    def summary(self) -> Summary | None:
        """The summary of the messages before the window, or before an earlier window."""
        return self.claim.summary

    @property
    def needs_summary(self) -> bool:
        """True if this turn cut the window, or if forgetting deleted the summary."""
        told_to = self.summary.to if self.summary else 0
        return self.window_from > max(told_to, self.claim.summary_due)

    @cached_property
    def window(self) -> list[Message]:
        """The messages of the history that the model sees."""
        start = self.window_from
        return [each for each in self.history if each.seq >= start and not each.withheld]

    @property
    def replaced_run(self) -> str | None:
        return self.replaced[0].run_id if self.replaced else None

    def messages(self, now: float, model_messages: str, receipt: dict[str, Any]) -> list[Message]:
        """Return the user's message and the answer, as stored."""
        seq, record = self.claim.last_seq + 1, self.record
        withheld = any(message.withheld for message in self.replaced if message.role == "user")
        said = replace(self.claim.turn, message_id=self.message_id, text=self.text)
        answer = Message(
            id=self.answer_id,
            run_id=self.run_id,
            seq=seq + 1,
            role="assistant",
            content=record.content,
            created_at=to_datetime(now),
            status=record.status,
            error=Problem(code=error.code, message=error.message) if (error := record.error) else None,
            steps=record.steps(),
            model_messages=model_messages,
            receipt=receipt,
            asks_about=record.asks_about,
            continues=self.continues,
            replaces=replaced_runs(self.replaced),
            remembered_before=tuple(dict.fromkeys(each for message in self.replaced for each in ids_of(message))),
            saw=self._saw(),
            withheld=withheld,
        )
        asked = {"note": self.note, "withheld": withheld, "in_trouble": record.calls.trouble is not None}
        return [user_message(said, seq, "complete").model_copy(update=asked), answer]

    def partial_answer(self, now: float) -> PartialAnswer:
        """Return the turn's text so far."""
        asked, answer = self.messages(now, self.record.text_only_messages_json(), {})
        return PartialAnswer(asked, answer, self.record.events.dump(), self.replaced_run)

    def _saw(self) -> tuple[str, ...]:
        """Return the ids of everything in this answer's prompts, including what answers in its window or summary saw,
        because it may repeat that."""
        saw = dict.fromkeys(self.context.memory_ids)
        saw.update(dict.fromkeys(self.summary.saw if self.summary else ()))
        for message in self.window:
            saw.update(dict.fromkeys(message.saw))
        for call in self.record.calls.made.values():
            saw.update(dict.fromkeys(sorted(call.saw)))
        return tuple(saw)


def replaced_runs(earlier: Sequence[Message]) -> tuple[str, ...]:
    """Return the ids of the runs that are replaced when an answer replaces this turn, latest first."""
    return tuple(dict.fromkeys(run for each in earlier for run in (each.run_id, *each.replaces)))


def is_ours(error: AgentError | None) -> bool:
    """True if the turn failed on our side: not because of a limit, the brake or another turn."""
    return error is not None and error.http_status >= 500
