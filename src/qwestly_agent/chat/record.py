"""What is kept of a turn: what was said, the steps, what it cost, and what made it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.ui import NativeEvent

from qwestly_agent.chat.wellformed import well_formed
from qwestly_agent.errors import AgentError
from qwestly_agent.llm import price_of
from qwestly_agent.stores.conversations import Status, Step
from qwestly_agent.tools import LABELS


@dataclass
class Record:
    """Filled while the events of a run pass by, so that it is right at whatever point the run breaks off."""

    started_at: float
    texts: list[str] = field(default_factory=list)
    """One entry a text part: an answer may speak, look something up and speak on."""
    steps: dict[str, Step] = field(default_factory=dict)
    first_text_at: float | None = None
    status: Status = "complete"
    error: AgentError | None = None
    messages: Sequence[ModelMessage] = ()

    @property
    def content(self) -> str:
        return "\n\n".join(text for text in self.texts if text)

    def take(self, event: NativeEvent, now: float) -> None:
        match event:
            case PartStartEvent(part=TextPart(content=text)):
                self.texts.append("")
                self._add(text, now)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                self._add(text, now)
            case FunctionToolCallEvent(part=call):
                name = well_formed(call.tool_name)
                step_id = well_formed(call.tool_call_id)
                self.steps[call.tool_call_id] = Step(id=step_id, name=name, label=LABELS.get(name, name))
            case FunctionToolResultEvent(part=result) if result.tool_call_id in self.steps:
                step = self.steps[result.tool_call_id]
                self.steps[result.tool_call_id] = step.model_copy(update={"ok": result.outcome == "success"})
            case _:
                pass

    def usage(self) -> dict[str, Any]:
        """Tokens and cost of all of the run's model calls; no cost where one of the models has no price."""
        responses = [message for message in self.messages if isinstance(message, ModelResponse)]
        prices = [price_of(response.model_name, response.usage) for response in responses]
        return {
            "input_tokens": sum(response.usage.input_tokens for response in responses),
            "cached_tokens": sum(response.usage.cache_read_tokens for response in responses),
            "output_tokens": sum(response.usage.output_tokens for response in responses),
            "cost_usd": None if None in prices else float(sum((p for p in prices if p), Decimal(0))),
        }

    def receipt(self, *, design: str, prompt_version: str, ended_at: float) -> dict[str, Any]:
        first = self.first_text_at
        models = {message.model_name for message in self.messages if isinstance(message, ModelResponse)}
        return {
            **self.usage(),
            "models": sorted(name for name in models if name),
            "design": design,
            "prompt_version": prompt_version,
            "first_text_ms": None if first is None else round((first - self.started_at) * 1000),
            "total_ms": round((ended_at - self.started_at) * 1000),
        }

    def model_messages(self) -> str:
        """Without the user's own message, which stands in a document of its own, and without the instructions, which
        the next prompt brings itself."""
        kept = [_without_instructions(message) for message in self.messages[1:]]
        return ModelMessagesTypeAdapter.dump_json(kept).decode()

    def words_alone(self) -> str:
        """In place of `model_messages`, where those cannot be written down."""
        return ModelMessagesTypeAdapter.dump_json([spoken(self.content)]).decode()

    def _add(self, text: str, now: float) -> None:
        if not text:
            return
        if not self.texts:
            self.texts.append("")
        if self.first_text_at is None:
            self.first_text_at = now
        self.texts[-1] += text


def spoken(words: str) -> ModelResponse:
    """An answer that is only its words."""
    return ModelResponse(parts=[TextPart(words)])


def _without_instructions(message: ModelMessage) -> ModelMessage:
    return replace(message, instructions=None) if isinstance(message, ModelRequest) else message
