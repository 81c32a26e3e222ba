"""Earned autonomy as shown to its user: each kind of change with its history."""

from collections.abc import Sequence

from pydantic import BaseModel

from qwestly_agent.approvals.earned import KINDS, MEANING, EarnedKind
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.approval import YESES_NEEDED, Level, Standing


class EarnedKindView(BaseModel):
    tool: str
    subject: str
    title: str
    level: Level
    """The effective level: the user's own, or an earned one."""
    means: str
    """What the agent may do at this level."""
    is_earned: bool
    record: str
    """For example "12 yes, none changed, since May"."""
    offers: Level | None
    """The level offered after ten approvals in thirty days; null at the ceiling."""


class EarnedView(BaseModel):
    level: Level
    ceiling: Level
    """The highest level that can be earned; initially the user's level, so that nothing is offered."""
    kinds: list[EarnedKindView]
    """By time of the latest decision, newest first."""


def earned_view_of(standing: Standing, kinds: Sequence[EarnedKind]) -> EarnedView:
    return EarnedView(
        level=standing.level,
        ceiling=standing.ceiling,
        kinds=[
            EarnedKindView(
                tool=each.tool,
                subject=each.subject,
                title=KINDS[each.tool],
                level=each.level,
                means=MEANING[each.level],
                is_earned=each.level != standing.level,
                record=_record_of(each),
                offers=each.offers,
            )
            for each in kinds
        ],
    )


def _record_of(kind: EarnedKind) -> str:
    streak = kind.streak
    if streak.since is None:
        return f"No yes in a row yet: {YESES_NEEDED} within thirty days are needed."
    since = to_datetime(streak.since)
    return f"{streak.yeses} yes, none changed, since {since:%B}" + ("" if streak.broken_at is None else f" {since.day}")
