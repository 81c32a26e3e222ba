"""Admission of a turn: check rate and budget before anything is spent on it.

`model_calls/budget.py` limits what it spends then.
"""

import math

from qwestly_agent.base.errors import OverBudget, TooManyTurns
from qwestly_agent.base.settings import Settings
from qwestly_agent.stores.conversations import LEASE_SECONDS, Conversations
from qwestly_agent.stores.stage_day import DAY_SECONDS, StageDay
from qwestly_agent.stores.usage import MINUTE_SECONDS, Load, Usage


async def admit(
    conversations: Conversations,
    usage: Usage,
    stage_day: StageDay,
    settings: Settings,
    user_id: str,
    load: Load,
    now: float,
) -> None:
    """Raises `OverBudget` and `TooManyTurns`."""
    await stage_day.check(now)
    if load.spent_today_usd >= settings.day_ceiling_usd:
        raise OverBudget(retry_after=math.ceil(DAY_SECONDS - now % DAY_SECONDS))
    if len(load.last_minute) >= settings.messages_a_minute:
        oldest = [*load.last_minute, now][-max(1, settings.messages_a_minute) - 1 :][0]
        raise TooManyTurns(
            f"That is more than {settings.messages_a_minute} messages in a minute. Please wait a moment.",
            retry_after=math.ceil(max(1.0, oldest + MINUTE_SECONDS - now)),
        )
    await admit_stream(conversations, usage, settings, user_id, load, now)


async def admit_stream(
    conversations: Conversations, usage: Usage, settings: Settings, user_id: str, load: Load, now: float
) -> None:
    """Raises `TooManyTurns`."""
    most = settings.running_turns
    if len(load.running) >= most and await _alive(conversations, usage, user_id, load, now) >= most:
        raise TooManyTurns(
            f"{most} of your messages are being answered already. Please wait for one of them.",
            retry_after=math.ceil(LEASE_SECONDS),
        )


async def _alive(conversations: Conversations, usage: Usage, user_id: str, load: Load, now: float) -> int:
    """The number of these runs that still run. Release those whose process died: nothing else does."""
    holding = await conversations.list_running_runs(user_id, now)
    dead = [run for run, began in load.running.items() if run not in holding and now - began > LEASE_SECONDS]
    if dead:
        await usage.release(user_id, dead)
    return len(load.running) - len(dead)
