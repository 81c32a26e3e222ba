"""The cost of all users together since midnight UTC, and the stage's daily limit."""

import math

from qwestly_agent.base.errors import StageOverBudget
from qwestly_agent.base.observability import measure_stage_over_budget
from qwestly_agent.stores.due import Sweeps

DAY_SECONDS = 86_400
READ_AGAIN_SECONDS = 60.0
WORKFLOWS_UP_TO = 0.8
"""The share of the ceiling above which workflows wait. The rest is left for chat turns."""


class StageDay:
    def __init__(self, sweeps: Sweeps, ceiling_usd: float) -> None:
        self.sweeps = sweeps
        self.ceiling_usd = ceiling_usd
        """0 for no ceiling; nothing is read then."""
        self._spent_usd = 0.0
        self._read_at = -math.inf

    async def check(self, now: float, share: float = 1.0) -> None:
        """Raise `StageOverBudget` if this share of the ceiling is spent."""
        if await self.is_spent(now, share):
            raise StageOverBudget(retry_after=math.ceil(DAY_SECONDS - now % DAY_SECONDS))

    async def is_spent(self, now: float, share: float) -> bool:
        """True if this share of the ceiling is spent, by a sum that is at most a minute old."""
        if not self.ceiling_usd:
            return False
        if now - self._read_at > READ_AGAIN_SECONDS:
            self._spent_usd, self._read_at = await self.sweeps.spent_today(now), now
        if self._spent_usd < share * self.ceiling_usd:
            return False
        measure_stage_over_budget()
        return True
