"""Functions that throttle beyond their slots, on a simulated clock that work advances."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from infra.local.aws_functions import Handler

Throttled = type("Lambda.TooManyRequestsException", (Exception,), {})
"""A function has no free slot."""


class Slots:
    def __init__(self, seconds: float, crowded: bool) -> None:
        self.seconds = seconds
        """The duration of an invocation on this clock."""
        self.crowded = crowded
        """No call ends before one was throttled."""
        self.refused = 0
        self._now = 0.0
        self._running = 0
        self._awake = 0
        """Threads that slept and have not called again."""
        self._wakes: list[float] = []
        self._changed = threading.Condition()

    def limited(self, own: Handler, count: int) -> Handler:
        """The handler of a function that runs so many times concurrently."""
        taken = 0

        def handler(event: Any, context: Any) -> Any:
            nonlocal taken
            with self._changed:
                self._awake = max(0, self._awake - 1)
                self._changed.notify_all()
                if taken == count:
                    self.refused += 1
                    self._changed.notify_all()
                    raise Throttled
                taken += 1
                self._running += 1
                ends_at = self._now + self.seconds
                if self.crowded:
                    self._changed.wait_for(lambda: self.refused)
            try:
                return own(event, context)
            finally:
                with self._changed:
                    taken -= 1
                    self._running -= 1
                    self._now = max(self._now, ends_at)
                    self._changed.notify_all()

        return handler

    def sleep(self, seconds: float) -> None:
        """Return once work has advanced the clock this far, or if nobody works and this is the next to wake."""
        with self._changed:
            wakes_at = self._now + seconds
            self._wakes.append(wakes_at)
            self._changed.wait_for(lambda: self._now >= wakes_at or (self._idle and min(self._wakes) == wakes_at))
            self._wakes.remove(wakes_at)
            self._now = max(self._now, wakes_at)
            self._awake += 1
            self._changed.notify_all()

    @property
    def _idle(self) -> bool:
        return not self._running and not self._awake

    @contextmanager
    def served(self) -> Iterator[str]:
        """The address at which an interpreter in another process can sleep."""
        sleep = self.sleep

        class Sleeping(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sleep(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Sleeping) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}"
            server.shutdown()
