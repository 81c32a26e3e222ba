"""Earned autonomy: after ten yeses in a row to one kind of change, a higher level may be offered for it.

This module only evaluates a user's records: `approvals.earned` offers, grants and revokes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from pydantic import BaseModel, ConfigDict

from qwestly_agent.domain.approval import Approval, Level

LADDER: Sequence[Level] = get_args(Level)
YESES_NEEDED = 10
WITHIN_SECONDS = 30 * 86_400.0
_SIGNED_IN = ("chat", "queue")
_AGREED = ("approved", "executing", "accepted", "done")


def lower(one: Level, other: Level) -> Level:
    return LADDER[min(LADDER.index(one), LADDER.index(other))]


def higher(one: Level, other: Level) -> Level:
    return LADDER[max(LADDER.index(one), LADDER.index(other))]


class Grant(BaseModel):
    """One level more for one kind of change, accepted by the user."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    tool: str
    subject: str
    level: Level
    since: float
    """When it was offered, in seconds since the epoch: a no from then on ends it."""
    schema_digest: str
    """Digest of the arguments' schema: with another schema counting begins anew."""


@dataclass(frozen=True)
class Standing:
    """The levels of a user: their own, and what the agent earned."""

    level: Level
    """The floor: it holds for everything."""
    ceiling: Level
    """The top of what may be earned."""
    grants: tuple[Grant, ...] = ()

    def grant(self, tool: str, subject: str) -> Grant | None:
        return next((each for each in self.grants if (each.tool, each.subject) == (tool, subject)), None)

    def with_grant(self, grant: Grant | None) -> Level:
        """The level for the grant's kind of change."""
        return higher(self.level, lower(grant.level, self.ceiling)) if grant else self.level

    def next_level(self, grant: Grant | None) -> Level | None:
        """One step more than now; None at the ceiling."""
        step = LADDER.index(self.with_grant(grant)) + 1
        return LADDER[step] if step <= LADDER.index(self.ceiling) else None


@dataclass(frozen=True)
class Streak:
    """The yeses of one kind since the last no."""

    yeses: int = 0
    since: float | None = None
    """The first of them."""
    broken_at: float | None = None
    """The last no, edit, wish for changes or undo."""


def streak_of(records: Iterable[Approval], schema_digest: str) -> Streak:
    """`records` are of one user and one kind of change, in any order."""
    streak = Streak()
    for record in sorted(records, key=lambda each: each.decided_at or 0.0):
        if is_no(record):
            streak = Streak(broken_at=record.decided_at)
        elif is_yes(record) and record.schema_digest == schema_digest:
            streak = Streak(streak.yeses + 1, streak.since or record.decided_at, streak.broken_at)
    return streak


def is_yes(record: Approval) -> bool:
    """True for a signed-in yes, without edits, to something that the user had asked for."""
    agreed = record.status in _AGREED and record.decided_by in _SIGNED_IN
    return agreed and record.wished and not (record.edited or record.undone_by or record.undoes)


def is_no(record: Approval) -> bool:
    """True for a no, a wish for changes, an edit or an undo, signed in or by link."""
    if record.undoes:
        return record.status in _AGREED
    return record.status in ("rejected", "revised") or record.edited


def is_standing(grant: Grant, since_then: Iterable[Approval], schema_digest: str) -> bool:
    """True if nothing has ended the grant. `since_then`: decisions of its kind since the offer."""
    spoilt = any(is_no(each) and (each.decided_at or 0.0) >= grant.since for each in since_then)
    return grant.schema_digest == schema_digest and not spoilt
