"""Keep the secrets current: a process whose secret is rejected reads all of them again."""

import asyncio
from collections.abc import Callable
from dataclasses import fields

from aws_lambda_powertools import Logger

from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import InvalidSettings, Unavailable
from qwestly_agent.base.observability import Event
from qwestly_agent.base.settings import Settings

READ_AGAIN_AFTER_SECONDS = 60
"""Rate limit, because anybody can trigger a reload by sending a token with a wrong signature."""


class Secrets:
    """Settings with all references resolved. `settings` holds the latest values."""

    def __init__(self, read: Callable[[], Settings], settings: Settings, clock: Clock, logger: Logger) -> None:
        self.settings = settings
        self.is_readable = True
        """False if the last reload failed; the previous values are kept."""
        self._read, self._clock, self._logger = read, clock, logger
        self._begun_at = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    async def renew(self, *, at_once: bool = False) -> Settings:
        """Read all references again, at most once a minute unless `at_once`. Concurrent callers share one reload, which
        continues if one of them is cancelled."""
        if self._reading is None or self._reading.done():
            now = self._clock()
            if not at_once and now - self._begun_at < READ_AGAIN_AFTER_SECONDS:
                return self.settings
            self._begun_at, self._reading = now, asyncio.create_task(self._read_again())
        await asyncio.shield(self._reading)
        return self.settings

    async def _read_again(self) -> None:
        try:
            settings = await asyncio.to_thread(self._read)
        except (InvalidSettings, Unavailable) as error:
            self.is_readable = False
            self._logger.error(Event.SECRETS_UNREADABLE, extra={"reason": str(error)})
            return
        changed = [f.name for f in fields(settings) if getattr(settings, f.name) != getattr(self.settings, f.name)]
        self.settings, self.is_readable = settings, True
        self._logger.info(Event.SECRETS_READ, extra={"changed": changed})
