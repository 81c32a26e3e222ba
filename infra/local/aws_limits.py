"""Reject what Lambda rejects: invocations above the concurrency, requests above a URL's rate, large payloads.

Lambda does not queue synchronous invocations. Asynchronous events wait for a slot.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Condition

from infra.local.environment import FUNCTION, Template
from qwestly_agent.base.clock import Clock

ACCOUNT_CONCURRENCY = 1000
"""The default limit of an account. New accounts may have 10."""
MOST_BYTES, MOST_EVENT_BYTES = 6 * 2**20, 2**20
"""Maximum bytes of a synchronous payload, and of an asynchronous event."""
REQUESTS_PER_SLOT = 10
"""Maximum requests per second to a function URL, per unit of concurrency."""


class Refused(Exception):
    """An invocation that Lambda rejects, with the status and body of its API."""

    def __init__(self, status: int, kind: str, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind
        self.body = json.dumps({**({"Reason": reason} if reason else {}), "Type": "User", "message": message})

    @property
    def headers(self) -> dict[str, str]:
        return {"x-amzn-ErrorType": self.kind, "content-type": "application/json"}

    @classmethod
    def too_many(cls, reason: str) -> "Refused":
        return cls(429, "TooManyRequestsException", "Rate Exceeded.", reason)


def check_size(length: int) -> None:
    if length > MOST_BYTES:
        message = f"Request must be smaller than {MOST_BYTES} bytes for the InvokeFunction operation"
        raise Refused(413, TOO_LARGE, message)


def check_event_size(length: int) -> None:
    if length > MOST_EVENT_BYTES:
        message = f"{length} byte payload is too large for the Event invocation type (limit {MOST_EVENT_BYTES} bytes)"
        raise Refused(413, TOO_LARGE, message)


TOO_LARGE = "RequestEntityTooLargeException"
"""The error code as the API sends it; the documentation says RequestTooLargeException."""


class Slots:
    """Count the running invocations of each function. Functions without a reservation share the rest of the account's
    limit."""

    def __init__(self, reserved: Mapping[str, int] | None = None, account: int = ACCOUNT_CONCURRENCY) -> None:
        self._reserved = dict(reserved or {})
        self._shared = max(0, account - sum(self._reserved.values()))
        self._taken = Counter[str]()
        self._freed = Condition()
        self._closed = False
        self.counted = Counter[tuple[str, str]]()
        """CloudWatch's counts by `(metric, function)`. This class counts `Invocations` and `Throttles`, the callers
        `Errors` and `Url5xxCount`."""

    def is_reserved(self, function: str) -> bool:
        return function in self._reserved

    def limit(self, function: str) -> int:
        return self._reserved.get(function, self._shared)

    @contextmanager
    def taken(self, function: str, *, queued: bool = False) -> Iterator[None]:
        """Hold a slot of this function. If none is free, raises `Refused`, or waits if `queued`."""
        pool = function if self.is_reserved(function) else ""
        with self._freed:
            if queued and self.limit(function):
                self._freed.wait_for(lambda: self._closed or self._taken[pool] < self.limit(function))
            if self._closed or self._taken[pool] >= self.limit(function):
                self.counted["Throttles", function] += 1
                kind = "ReservedFunctionConcurrent" if self.is_reserved(function) else "Concurrent"
                raise Refused.too_many(f"{kind}InvocationLimitExceeded")
            self._taken[pool] += 1
            self.counted["Invocations", function] += 1
        try:
            yield
        finally:
            with self._freed:
                self._taken[pool] -= 1
                self._freed.notify_all()

    def close(self) -> None:
        """Reject all further invocations, including those that wait."""
        with self._freed:
            self._closed = True
            self._freed.notify_all()


class TokenBucket:
    """Allow this many requests per second, after a quiet second in one burst."""

    def __init__(self, rate: float, clock: Clock) -> None:
        self._rate, self._clock = rate, clock
        self._tokens, self._at = rate, clock()

    def take(self) -> bool:
        """Return False if the limit is exceeded."""
        now = self._clock()
        self._tokens = min(self._rate, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class UrlLimits:
    """Rate limits of function URLs."""

    def __init__(self, slots: Slots, clock: Clock = time.monotonic) -> None:
        self.slots, self._clock = slots, clock
        self._buckets: dict[str, TokenBucket] = {}

    def admit(self, function: str, event: object) -> None:
        """Count a request, given as its Lambda event. Raises `Refused`."""
        if function not in self._buckets:
            self._buckets[function] = TokenBucket(REQUESTS_PER_SLOT * self.slots.limit(function), self._clock)
        if not self._buckets[function].take():
            self.slots.counted["Throttles", function] += 1
            kind = "ReservedFunction" if self.slots.is_reserved(function) else "Function"
            raise Refused.too_many(f"{kind}InvocationRateLimitExceeded")
        check_size(len(json.dumps(event)))


def slots_of(template: Template, account: int = ACCOUNT_CONCURRENCY) -> Slots:
    """Slots with the template's reservations."""
    reserved = {template.name(function): template.reserved(function) for function in template.of_type(FUNCTION)}
    return Slots({name: count for name, count in reserved.items() if count is not None}, account)


def account_concurrency(environment: Mapping[str, str]) -> int:
    return int(environment.get("LAMBDA_CONCURRENCY") or ACCOUNT_CONCURRENCY)
