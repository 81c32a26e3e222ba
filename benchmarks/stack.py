"""The stack of one laptop: how soon it is there, says its first event, and is silent under the brake.

These are the bounds in seconds that hold on an idle machine; no test asserts them, for a busy one breaks them.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from statistics import median
from typing import Any

import httpx2

from benchmarks.figures import Row, Target
from infra.local.environment import DEMO_USER, Template
from tests.e2e.processes import Stack, running_stack
from tests.servers import Client, Event, events_of, mongo_server

START_SECONDS, FIRST_EVENT_SECONDS, BRAKE_SECONDS = 5.0, 0.1, 1.0
TURNS, STREAMS_OF_ONE = 9, 3
CHUNK_SECONDS = 0.2
OVERLOADED = (502, 503)
"""The laptop's database, or a proxy in front of it, is at its limits."""


def measure() -> dict[str, Any]:
    with mongo_server() as (mongodb_uri, _):
        with running_stack(mongodb_uri):
            pass  # fills the demo user, and compiles what was never compiled
        began = time.perf_counter()
        with running_stack(mongodb_uri) as stack:
            start = time.perf_counter() - began
            # As many as the function's reservation grants: one more would be answered with 429.
            streams = Template.load().reserved("ChatFunction")
            assert streams
            first_event = median(_first_events(stack))
            last_word, overloaded = _last_word(stack, streams)
    return {
        "start": start,
        "first_event": first_event,
        "streams": streams,
        "last_word": last_word,
        "overloaded": overloaded,
    }


def _first_events(stack: Stack) -> Iterator[float]:
    with Client(stack.url, DEMO_USER) as user:
        conversation_id = user.say("Hello").conversation_id
        for _ in range(TURNS):
            began = time.perf_counter()
            with user.open({"message": "Hello again", "conversation_id": conversation_id}) as events:
                next(events)
                yield time.perf_counter() - began
                list(events)


def _last_word(stack: Stack, count: int) -> tuple[float, int]:
    """Seconds from the pull of a user's brake to the last word of their streams, the longest of all; and how many
    streams and brakes were answered with 502 or 503."""
    stack.model("fault", text=["word "] * 300, chunk_delay=CHUNK_SECONDS)
    with ExitStack() as opened, ThreadPoolExecutor(2 * count) as pool:
        users = [opened.enter_context(Client(stack.url, f"auth0|{n // STREAMS_OF_ONE}")) for n in range(count)]
        answers = [opened.enter_context(_talk(user)) for user in users]
        streams = [events_of(answer.iter_lines()) for answer in answers if _is_served(answer)]
        for events in streams:
            next(events)
        words = [pool.submit(_when_last_heard, events) for events in streams]
        pulled = time.perf_counter()
        brakes = list(pool.map(lambda user: user.request("POST", "/api/brake"), users[::STREAMS_OF_ONE]))
        served = len(streams) + sum(map(_is_served, brakes))
        return max((word.result() for word in words), default=pulled) - pulled, count + len(brakes) - served


def _talk(user: Client) -> AbstractContextManager[httpx2.Response]:
    return user.http.stream("POST", f"{user.url}/api/chat", headers=user.headers(), json={"message": "Talk"})


def _is_served(answer: httpx2.Response) -> bool:
    if answer.status_code in OVERLOADED:
        return False
    answer.raise_for_status()
    return True


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
        ("last_word", f"from the brake to the last word of {found['streams']} streams", BRAKE_SECONDS),
    ):
        yield Row(what, "s", found[name], target=Target("seconds", found[name], at_most=bound))
    overloaded = found["overloaded"]
    yield Row(
        "of these and their brakes, answered with 502 or 503",
        "",
        overloaded,
        None,
        Target("of them", overloaded, at_most=0),
    )
