"""A trace collector on loopback: it receives OTLP over HTTP, and decodes it."""

import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue


@dataclass(frozen=True)
class Received:
    """A span as received."""

    name: str
    trace_id: str
    id: str
    parent_id: str
    attributes: dict[str, Any]
    events: list[dict[str, Any]]
    failed: bool


@dataclass
class Collector:
    headers: dict[str, str] = field(default_factory=dict)
    """Headers that a request must have; it gets a 401 without them."""
    spans: list[Received] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    answers: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> "Collector":
        self.answers.set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # connections are kept alive, as by real collectors

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.answers.wait(10)
                self.send_response(collector.take(self.path, dict(self.headers.items()), body))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.answers.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1/traces"

    def take(self, path: str, headers: dict[str, str], body: bytes) -> int:
        if path != "/v1/traces" or headers.get("content-type", headers.get("Content-Type")) != "application/x-protobuf":
            return 404
        given = {name.lower(): value for name, value in headers.items()}
        if any(given.get(name) != value for name, value in self.headers.items()):
            return 401
        request = ExportTraceServiceRequest()
        try:
            request.ParseFromString(body)
        except DecodeError:
            return 400
        self.raw.append(body)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.spans += [_received(span) for span in scope.spans]
        return 200

    def tree(self, root: Received, spans: list[Received] | None = None) -> Any:
        """The names below a span, in order of their start: `{"turn": [{"tool": []}]}`."""
        return {root.name: [self.tree(each) for each in self.spans if each.parent_id == root.id]}


def _received(span: Any) -> Received:
    return Received(
        name=span.name,
        trace_id=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        attributes={each.key: _value(each.value) for each in span.attributes},
        events=[{each.key: _value(each.value) for each in event.attributes} for event in span.events],
        failed=span.status.code == span.status.STATUS_CODE_ERROR,
    )


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind) if kind else None
