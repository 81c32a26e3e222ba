"""The record of a turn: its messages, steps, cost, and the model and prompt that made it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import chain
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    RetryPromptPart,
    TextPart,
    TextPartDelta,
    ToolReturnPart,
)

from qwestly_agent.agents.calls import Call, Calls
from qwestly_agent.agents.design import NativeEvent
from qwestly_agent.agents.help import FIXED_WORDS
from qwestly_agent.agents.tools.sources import records_of
from qwestly_agent.base.errors import AgentError
from qwestly_agent.chat.told_events import Told
from qwestly_agent.chat.used_sources import ReturnedRecord, used_sources
from qwestly_agent.clients.workflows import Start
from qwestly_agent.llm.models import ceiling_price_of, estimate_usage, has_plausible_counts, price_of
from qwestly_agent.stores.message import Status, Step
from qwestly_agent.stores.tool_calls import ToolCallEntry
from qwestly_agent.text.clean import masked, visible, well_formed

AUDITED_CHARACTERS = 4_000
"""Limit of the arguments and of the result of a tool call in the audit."""


@dataclass
class Record:
    """Filled from the run's events as they pass, so that it is correct wherever the run breaks off."""

    started_at: float
    texts: list[str] = field(default_factory=list)
    """One entry per text part: an answer may have text before and after a tool call."""
    calls: Calls = field(default_factory=Calls)
    first_text_at: float | None = None
    own_first_text_ms: float | None = None
    """Our own part of the time to the first text: without what the models took."""
    status: Status = "complete"
    error: AgentError | None = None
    messages: Sequence[ModelMessage] = ()
    starts: list[Start] = field(default_factory=list)
    """Workflows that are started once the turn is recorded."""
    estimated: bool = False
    """True if tokens and cost are partly estimated."""
    assigned: bool = False
    """True once the variant of a new conversation was stored."""
    title: str = ""
    """Of a conversation that begins, if a model made one in time."""
    told: Told = field(default_factory=Told)
    """For other readers."""
    _returned: dict[str, tuple[ReturnedRecord, ...]] = field(default_factory=dict[str, tuple[ReturnedRecord, ...]])
    """By the id of a call that succeeded."""

    @property
    def content(self) -> str:
        return "\n\n".join(text for text in self.texts if text)

    def take(self, event: NativeEvent, now: float) -> None:
        self.told.take(event)
        match event:
            case PartStartEvent(part=TextPart(content=text)):
                self.texts.append("")
                self._add(text, now)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                self._add(text, now)
            case _:
                pass

    def steps(self) -> tuple[Step, ...]:
        """Each with those of its records that the answer so far used."""
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
        messages = self._answered(messages)
        self.estimated = any(_is_uncounted(message) for message in messages)
        self.messages = [_counted(message, prompt_characters()) for message in messages] if self.estimated else messages

    def _answered(self, messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
        """Add results for the calls that wait for approval: in the next prompt, each call needs a result."""
        waits = [call for call in self.calls.made.values() if call.outcome == "waiting"]
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

    def tokens(self) -> dict[str, int]:
        """Sums over the run's model calls."""
        usages = [response.usage for response in self._responses()]
        return {
            "input_tokens": sum(usage.input_tokens for usage in usages),
            "cached_tokens": sum(usage.cache_read_tokens for usage in usages),
            "output_tokens": sum(usage.output_tokens for usage in usages),
        }

    def usage(self) -> dict[str, Any]:
        """Tokens, and cost in US dollars at prices of the turn's start; no cost if one of the models has no price."""
        prices = [
            price_of(response.model_id, response.model_name, response.usage, self.started_at)
            for response in self._responses()
        ]
        cost = None if None in prices else float(sum((price for price in prices if price), Decimal(0)))
        return {**self.tokens(), "cost_usd": cost}

    def ceiling_usd(self) -> float:
        """The cost that counts towards the ceilings."""
        return float(
            sum(
                ceiling_price_of(response.model_id, response.model_name, response.usage, self.started_at)
                for response in self._responses()
            )
        )

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
        models = {response.model_name for response in self._responses()}
        return {
            **self.usage(),
            "estimated": self.estimated,
            "models": sorted(name for name in models if name),
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
        """JSON of the messages, without the user's message, which has a document of its own, and without the
        instructions, which each prompt adds."""
        kept = [_without_instructions(message) for message in self.messages[1:]]
        return ModelMessagesTypeAdapter.dump_json(kept).decode()

    def words_alone(self) -> str:
        """Replaces `model_messages` if those cannot be serialized."""
        return ModelMessagesTypeAdapter.dump_json([text_response(self.content)]).decode()

    def _responses(self) -> list[ModelResponse]:
        return [each for each in self.messages if isinstance(each, ModelResponse) and _is_of_model(each)]

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
    """Without its sources, which are known at the end of the answer."""
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
        arguments=_json_start(call.arguments, masked),
        result=_json_start(call.result, masked) if call.outcome in ("succeeded", "waiting") else None,
        error=masked(call.problem) if call.problem else None,
        ms=call.milliseconds,
        at=call.started_at,
    )


def _json_start(value: Any, mask: Callable[[str], str] = str) -> str:
    """The beginning of a value's JSON; a string (invalid arguments of a model) stays as it is."""
    text = mask(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
    return well_formed(visible(text[:AUDITED_CHARACTERS])) + ("…" if len(text) > AUDITED_CHARACTERS else "")


def text_response(words: str) -> ModelResponse:
    """An answer that is only text."""
    return ModelResponse(parts=[TextPart(words)])


def _counted(message: ModelMessage, prompt_characters: int) -> ModelMessage:
    if not isinstance(message, ModelResponse) or not _is_uncounted(message):
        return message
    return replace(message, usage=estimate_usage(prompt_characters, len(message.text or "")))


def _is_uncounted(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) and _is_of_model(message) and not has_plausible_counts(message.usage)


def _is_of_model(response: ModelResponse) -> bool:
    return response.model_name != FIXED_WORDS


def _without_instructions(message: ModelMessage) -> ModelMessage:
    return replace(message, instructions=None) if isinstance(message, ModelRequest) else message
