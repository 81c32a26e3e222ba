"""Cut an answer off after its first question, or remove the questions from an answer that must not ask any."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import AgentRunEvents
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)

from qwestly_agent.agents.design import NativeEvent

QUESTION = re.compile(r"[?？؟]")
_SENTENCE = re.compile(r"[^.!?？؟。！\n]*(?:[.!?？؟。！]+[\"”’)*_]*|\n)\s*")


@dataclass
class OneQuestion:
    """A run that asks at most one question. `asks_nothing` is evaluated for each piece of text, because a tool may have
    ended the interview meanwhile."""

    run: AgentRunEvents[Any]
    asks_nothing: Callable[[], bool]
    make_closing_text: Callable[[], str]
    """Returns text to add after the answer; may be empty."""
    make_closing_events: Callable[[], Awaitable[Sequence[NativeEvent]]]
    """Returns events to send after that text."""

    def __post_init__(self) -> None:
        self._said = ""
        """Text of the current part."""
        self._held = ""
        """The beginning of a sentence that may turn out to be a question."""
        self._asked = False
        self._open: int | None = None
        """Index of the text part."""
        self._parts = 0
        self._last = ""

    async def __aiter__(self) -> AsyncIterator[NativeEvent]:
        try:
            async for event in self.run:
                match event:
                    case PartStartEvent(part=TextPart(content=text), index=index):
                        self._said, self._held, self._open, self._parts = "", "", index, max(self._parts, index + 1)
                        yield replace(event, part=TextPart(self._allowed(text)))
                    case PartDeltaEvent(delta=TextPartDelta(content_delta=text), index=index) if index == self._open:
                        if words := self._allowed(text):
                            yield replace(event, delta=TextPartDelta(words))
                    case PartEndEvent(part=TextPart(), index=index) if index == self._open:
                        if words := self._rest():
                            yield PartDeltaEvent(index=index, delta=TextPartDelta(words))
                        self._open = None
                        yield replace(event, part=TextPart(self._said))
                    case _:
                        yield event
                if self._asked:
                    # Cancel as for a stop by the user, so that the text so far is among the messages.
                    self.run.cancel()
                    break
            if self._asked:
                if self._open is not None:
                    yield PartEndEvent(index=self._open, part=TextPart(self._said))
                async for _ in self.run:
                    pass
        except RunCancelled:
            if not self._asked:
                raise
        if words := self.make_closing_text():
            self._last = words
            yield PartStartEvent(index=self._parts, part=TextPart(words))
            yield PartEndEvent(index=self._parts, part=TextPart(words))
        for event in await self.make_closing_events():
            yield event

    def new_messages(self) -> list[ModelMessage]:
        """Replace the model's text with the text that was shown."""
        messages = self.run.new_messages()
        at = next((n for n in reversed(range(len(messages))) if isinstance(messages[n], ModelResponse)), None)
        if at is None:
            return messages
        last = messages[at]
        assert isinstance(last, ModelResponse)
        texts = [TextPart(words) for words in (self._said, self._last) if words]
        others = [part for part in last.parts if not isinstance(part, TextPart)]
        changed = replace(last, parts=[*others, *texts], **({"finish_reason": "stop"} if self._asked else {}))
        return [*messages[:at], changed, *messages[at + 1 :]]

    def _allowed(self, text: str) -> str:
        if self.asks_nothing():
            self._held += text
            words = ""
            while whole := _SENTENCE.match(self._held):
                self._held = self._held[whole.end() :]
                words += "" if QUESTION.search(whole[0]) else whole[0]
        elif asked := QUESTION.search(text):
            words, self._asked = text[: asked.end()], True
        else:
            words = text
        self._said += words
        return words

    def _rest(self) -> str:
        words = "" if QUESTION.search(self._held) else self._held
        self._held = ""
        self._said += words
        return words
