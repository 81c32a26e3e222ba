"""Replacements for parts of OpenTelemetry's SDK: ids derived from the run, and a queue of spans without content."""

import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.trace import Event, ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Status

MOST_SPANS = 2_000
"""Maximum number of queued spans; the oldest are dropped first."""

NAMES = frozenset(
    {
        *("gen_ai.agent.name", "gen_ai.conversation.id", "gen_ai.operation.name", "gen_ai.provider.name"),
        *("gen_ai.request.model", "gen_ai.response.finish_reasons", "gen_ai.response.model", "gen_ai.system"),
        *("gen_ai.tool.name", "error.type", "exception.type", "server.address"),
    }
)
"""Text attributes that contain only names, never user text; our own begin with `qwestly.`. Numbers are kept too."""


def random_id(size: int) -> int:
    """Return a random number from the operating system: environments restored from one snapshot share the state of
    every other generator."""
    return int.from_bytes(os.urandom(size), "big")


class RunIds(IdGenerator):
    """Generates random ids, except for the first span of a run."""

    def __init__(self) -> None:
        self._given: tuple[int, int] | None = None

    @contextmanager
    def use(self, trace_id: int, span_id: int) -> Iterator[None]:
        """Use these ids for the next span, which must start within this context and before any await."""
        self._given = trace_id, span_id
        try:
            yield
        finally:
            self._given = None

    def generate_trace_id(self) -> int:
        return self._given[0] if self._given else random_id(16)

    def generate_span_id(self) -> int:
        return self._given[1] if self._given else random_id(8)


class Spans(SpanProcessor):
    """Spans that have ended but have not been sent yet."""

    def __init__(self, *, with_content: bool) -> None:
        self._with_content = with_content
        self._ended: deque[ReadableSpan] = deque(maxlen=MOST_SPANS)

    def on_end(self, span: ReadableSpan) -> None:
        self._ended.append(span if self._with_content else without_content(span))

    def take(self) -> list[ReadableSpan]:
        taken = list(self._ended)
        self._ended.clear()
        return taken


def without_content(span: ReadableSpan) -> ReadableSpan:
    """Return the span without text that may quote a user: prompts, answers, arguments and error messages."""
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=_named(span.attributes),
        events=[Event(each.name, _named(each.attributes), each.timestamp) for each in span.events],
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _named(attributes: Any) -> dict[str, Any]:
    return {
        key: value
        for key, value in (attributes or {}).items()
        if isinstance(value, bool | int | float) or key in NAMES or key.startswith("qwestly.")
    }
