"""Send OpenTelemetry traces of turns, workflows and approvals by OTLP over HTTP.

The ids of a trace and of its first span are derived from the run's id, so that spans from any process join the run's
tree without passing a context on. OpenTelemetry's SDK is imported only if traces are sent.
"""

import asyncio
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

import httpx2
from aws_lambda_powertools import Logger

from qwestly_agent.base.observability import SERVICE, Event, cause_of
from qwestly_agent.base.settings import Secrets, Settings

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span


FLUSH_SECONDS = 1.0
"""How long the end of an invocation waits for the collector; afterwards Lambda freezes the process."""
UNAUTHORIZED = 401

Attributes = Mapping[str, str | bool | int | float]


class Traces:
    def __init__(self, http: httpx2.AsyncClient, secrets: Secrets, logger: Logger) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.sampling import ALWAYS_ON

        from qwestly_agent.base.spans import RunIds, Spans

        settings = secrets.settings
        self.includes_content = bool(settings.traces_content)
        self._http, self._secrets, self._logger, self._ids = http, secrets, logger, RunIds()
        self._spans: Spans = Spans(with_content=self.includes_content)
        self.provider: TracerProvider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource({"service.name": SERVICE}),
            shutdown_on_exit=False,
            id_generator=self._ids,
        )
        self.provider.add_span_processor(self._spans)
        self._tracer = self.provider.get_tracer(SERVICE)

    def begin_run(self, name: str, run_id: str, attributes: Attributes) -> "Span":
        """Begin the first span of a run. It stays current for the rest of this task."""
        from opentelemetry.context import Context, attach
        from opentelemetry.trace import set_span_in_context

        with self._ids.use(*trace_ids_of(run_id)):
            span = self._tracer.start_span(name, Context(), attributes=attributes)
        attach(set_span_in_context(span))
        return span

    @contextmanager
    def child_span(self, name: str, run_id: str, attributes: Attributes) -> Iterator[None]:
        """Record a span: a child of the current span if that belongs to this run, otherwise of the run's first span."""
        context = self._context_of(run_id)
        with self._tracer.start_as_current_span(
            name, context, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield
            except Exception as error:
                mark_failed(span, type(error).__name__)
                raise

    def _context_of(self, run_id: str) -> "Context | None":
        from opentelemetry.trace import (
            NonRecordingSpan,
            SpanContext,
            TraceFlags,
            get_current_span,
            set_span_in_context,
        )

        trace_id, span_id = trace_ids_of(run_id)
        if get_current_span().get_span_context().trace_id == trace_id:
            return None
        first = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
        return set_span_in_context(NonRecordingSpan(first))

    async def flush(self) -> None:
        """Send the ended spans within one second. Never raises: a failure is logged, and its spans are lost."""
        if not (spans := self._spans.take()):
            return
        settings = self._secrets.settings
        try:
            from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

            body = encode_spans(spans).SerializePartialToString()
            async with asyncio.timeout(FLUSH_SECONDS):
                answer = await self._send(body, settings)
                if answer.status_code == UNAUTHORIZED:
                    renewed = await self._secrets.renew()
                    if renewed.traces_headers != settings.traces_headers:
                        answer = await self._send(body, renewed)
                answer.raise_for_status()
        # The traced turn or state has ended and must not fail because of its trace, whatever the cause: a text that
        # cannot be encoded, an invalid header, a library, the collector.
        except Exception as error:
            self._logger.warning(Event.TRACES_LOST, extra={"spans": len(spans), **cause_of(error)})

    async def _send(self, body: bytes, settings: Settings) -> httpx2.Response:
        headers = {"Content-Type": "application/x-protobuf", **parse_headers(settings.traces_headers)}
        return await self._http.post(settings.traces_url, content=body, headers=headers)


def trace_ids_of(run_id: str) -> tuple[int, int]:
    """Return the id of the run's trace (16 bytes) and of its first span (8 bytes)."""
    digest = hashlib.sha256(run_id.encode()).digest()
    return int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:24], "big")


def parse_headers(written: str) -> dict[str, str]:
    """Parse `name=value,name=value`, as in `OTEL_EXPORTER_OTLP_HEADERS`."""
    pairs = (pair.partition("=") for pair in written.split(",") if pair.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def mark_failed(span: "Span", kind: str) -> None:
    """Mark a span as failed with the type of the error; its message may quote a user."""
    from opentelemetry.trace import StatusCode

    span.set_status(StatusCode.ERROR)
    span.set_attribute("error.type", kind)


async def flush(traces: Traces | None) -> None:
    """Call `Traces.flush` if traces are sent."""
    if traces:
        await traces.flush()


def child_span(
    traces: Traces | None, name: str, run_id: str, attributes: Attributes | None = None
) -> AbstractContextManager[None]:
    """Return `Traces.child_span`, or a null context if no traces are sent."""
    return traces.child_span(name, run_id, attributes or {}) if traces else nullcontext()
