"""Earned autonomy: after ten approvals in a row of one kind of change, the user may be offered a higher level for it.

This module only evaluates a user's records. `approvals.earned` offers, grants and revokes.
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
    """A level one step higher for one kind of change, accepted by the user."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    tool: str
    subject: str
    level: Level
    since: float
    """When it was offered, in seconds since the epoch. A rejection since then ends it."""
    schema_digest: str
    """Digest of the arguments' schema. If the schema changes, counting starts again."""


@dataclass(frozen=True)
class Standing:
    """A user's levels: their own, and what the agent has earned."""

    level: Level
    """The user's own level, which applies to everything."""
    ceiling: Level
    """The highest level that the agent may earn."""
    grants: tuple[Grant, ...] = ()

    def find_grant(self, tool: str, subject: str) -> Grant | None:
        return next((each for each in self.grants if (each.tool, each.subject) == (tool, subject)), None)

    def with_grant(self, grant: Grant | None) -> Level:
        """Return the level for this grant's kind of change."""
        return higher(self.level, lower(grant.level, self.ceiling)) if grant else self.level

    def next_level(self, grant: Grant | None) -> Level | None:
        """Return the next higher level; None at the ceiling."""
        step = LADDER.index(self.with_grant(grant)) + 1
        return LADDER[step] if step <= LADDER.index(self.ceiling) else None


@dataclass(frozen=True)
class Streak:
    """The approvals of one kind since the last rejection."""

    yeses: int = 0
    since: float | None = None
    """When the first of them was decided."""
    broken_at: float | None = None
    """When the last rejection, edit, request for changes or undo happened."""


def streak_of(records: Iterable[Approval], schema_digest: str) -> Streak:
    """Count the streak. `records` belong to one user and one kind of change, in any order."""
    streak = Streak()
    for record in sorted(records, key=lambda each: each.decided_at or 0.0):
        if is_no(record):
            streak = Streak(broken_at=record.decided_at)
        elif is_yes(record) and record.schema_digest == schema_digest:
            streak = Streak(streak.yeses + 1, streak.since or record.decided_at, streak.broken_at)
    return streak


def is_yes(record: Approval) -> bool:
    """True for an unedited approval by the signed-in user of something that they had asked for."""
    agreed = record.status in _AGREED and record.decided_by in _SIGNED_IN
    return agreed and record.wished and not (record.edited or record.undone_by or record.undoes)


def is_no(record: Approval) -> bool:
    """True for a rejection, a request for changes, an edit or an undo, signed in or by link."""
    if record.undoes:
        return record.status in _AGREED
    return record.status in ("rejected", "revised") or record.edited


def is_standing(grant: Grant, since_then: Iterable[Approval], schema_digest: str) -> bool:
    """True if nothing has ended the grant. `since_then` are decisions of its kind since the offer."""
    spoilt = any(is_no(each) and (each.decided_at or 0.0) >= grant.since for each in since_then)
    return grant.schema_digest == schema_digest and not spoilt
