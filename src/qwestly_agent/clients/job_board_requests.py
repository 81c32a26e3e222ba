"""Requests to job boards: at most two attempts within `TIMEOUT_SECONDS`, and once more if our key is rejected and was
rotated."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import httpx2

from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.settings import Secrets, Settings

TIMEOUT_SECONDS = 15.0
ATTEMPT_SECONDS = 6.0
ATTEMPTS = 2
LONGEST_WAIT_SECONDS = 2.0
MOST_BYTES = 4_000_000
REFUSED = (401, 403, 422)
"""Statuses with which Adzuna, JSearch and Brave reject a key."""


class KeyRefused(Unavailable):
    """The board rejects our key."""


T = TypeVar("T")


async def with_current_key(secrets: Secrets, search: Callable[[Settings], Awaitable[T]]) -> T:
    """Search with the current keys, and once more if a key is rejected and the secrets have changed."""
    current = secrets.settings
    try:
        return await search(current)
    except KeyRefused:
        renewed = await secrets.renew()
        if renewed == current:
            raise
        return await search(renewed)


async def ask(
    http: httpx2.AsyncClient,
    title: str,
    url: str,
    parameters: Mapping[str, str],
    headers: Mapping[str, str] | None = None,
) -> Mapping[str, Any]:
    """Send a request to a board and return its JSON. Raises `Unavailable`, whose sentence names the board."""
    why = f"{title} could not be reached."
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            answer = None
            for attempt in range(ATTEMPTS):
                try:
                    answer = await http.get(url, params=parameters, headers=headers, timeout=ATTEMPT_SECONDS)
                except httpx2.HTTPError:
                    answer = None
                if answer is not None and answer.status_code < 500 and answer.status_code != 429:
                    break
                if attempt + 1 < ATTEMPTS:
                    await asyncio.sleep(random.uniform(0, LONGEST_WAIT_SECONDS))  # noqa: S311  no secret
            if answer is None or answer.status_code >= 500:
                raise Unavailable(why)
            if answer.status_code == 429:
                raise Unavailable(f"{title} has answered as often as it will for now.")
            if answer.status_code in REFUSED:
                raise KeyRefused(f"{title} did not answer as it should.")
            told = answer.json() if answer.status_code == 200 and len(answer.content) <= MOST_BYTES else None
    except (TimeoutError, ValueError, RecursionError):
        raise Unavailable(why) from None
    if not isinstance(told, dict):
        raise Unavailable(f"{title} did not answer as it should.")
    return told
