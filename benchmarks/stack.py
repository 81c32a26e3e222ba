"""The stack of one laptop: how soon it is there, says its first event, and is silent under the brake.

These are the bounds in seconds that hold on an idle machine; no test asserts them, for a busy one breaks them.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from statistics import median
from typing import Any

from benchmarks.figures import Row, Target
from infra.local.environment import DEMO_USER
from tests.e2e.processes import Stack, running_stack
from tests.servers import Client, Event, mongo_server

START_SECONDS, FIRST_EVENT_SECONDS, BRAKE_SECONDS = 5.0, 0.1, 1.0
TURNS, STREAMS, STREAMS_OF_ONE = 9, 50, 3
CHUNK_SECONDS = 0.2


def measure() -> dict[str, Any]:
    with mongo_server() as (mongodb_uri, _):
        with running_stack(mongodb_uri):
            pass  # fills the demo user, and compiles what was never compiled
        began = time.perf_counter()
        with running_stack(mongodb_uri) as stack:
            start = time.perf_counter() - began
            return {"start": start, "first_event": median(_first_events(stack)), "last_word": _last_word(stack)}


def _first_events(stack: Stack) -> Iterator[float]:
    with Client(stack.url, DEMO_USER) as user:
        conversation_id = user.say("Hello").conversation_id
        for _ in range(TURNS):
            began = time.perf_counter()
            with user.open({"message": "Hello again", "conversation_id": conversation_id}) as events:
                next(events)
                yield time.perf_counter() - began
                list(events)


def _last_word(stack: Stack) -> float:
    """Seconds from the pull of a user's brake to the last word of their streams, the longest of all."""
    stack.model("fault", text=["word "] * 300, chunk_delay=CHUNK_SECONDS)
    with ExitStack() as opened, ThreadPoolExecutor(2 * STREAMS) as pool:
        users = [opened.enter_context(Client(stack.url, f"auth0|{n // STREAMS_OF_ONE}")) for n in range(STREAMS)]
        streams = [opened.enter_context(user.open({"message": "Talk"})) for user in users]
        for events in streams:
            next(events)
        words = [pool.submit(_when_last_heard, events) for events in streams]
        pulled = time.perf_counter()
        list(pool.map(lambda user: user.request("POST", "/api/brake").raise_for_status(), users[::STREAMS_OF_ONE]))
        return max(word.result() for word in words) - pulled


def _when_last_heard(events: Iterator[Event]) -> float:
    heard = 0.0
    for event in events:
        if event.name != "text_delta":
            return heard
        heard = time.perf_counter()
    return heard


def rows(found: dict[str, Any]) -> Iterator[Row]:
    for name, what, bound in (
        ("start", "second start, until the one address answers", START_SECONDS),
        ("first_event", "first event of a turn, median", FIRST_EVENT_SECONDS),
        ("last_word", f"from the brake to the last word of {STREAMS} streams", BRAKE_SECONDS),
    ):
        yield Row(what, "s", found[name], target=Target("seconds", found[name], at_most=bound))
