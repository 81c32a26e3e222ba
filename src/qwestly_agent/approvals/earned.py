"""Earned autonomy: offer, grant and revoke a higher level for one kind of change.

An offer is an approval like every other: no tool proposes it, and no link decides it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from qwestly_agent.approvals.actions import ACTIONS, Action
from qwestly_agent.approvals.ask import Asker, Proposal, ask
from qwestly_agent.approvals.gate import UNASKED
from qwestly_agent.approvals.raise_autonomy import KINDS, RAISE_AUTONOMY, subject_of_offer
from qwestly_agent.domain.approval import Approval, Level, sha256_hex
from qwestly_agent.domain.earned import (
    WITHIN_SECONDS,
    YESES_NEEDED,
    Grant,
    Standing,
    Streak,
    is_no,
    is_standing,
    is_yes,
    streak_of,
)
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.autonomy import Autonomy

MOST_RECORDS = 1_000


@dataclass(frozen=True)
class EarnedKind:
    """One kind of change with its record, for the user."""

    tool: str
    subject: str
    level: Level
    """The level in force."""
    offers: Level | None
    """The level that ten yeses would earn; None at the ceiling."""
    streak: Streak


def can_be_earned(action: Action[Any] | None) -> bool:
    """True for actions that can be undone and need a yes."""
    return action is not None and action.inverse is not None and action.effect in UNASKED


async def level_of(services: Services, user_id: str, standing: Standing, tool: str, subject: str) -> Level:
    """Return the level in force for this kind of change; revoke a grant that no longer holds."""
    grant = standing.grant(tool, subject)
    if grant is None:
        return standing.level
    action = ACTIONS[tool]
    since_then = await services.approvals.decided(user_id, tool, subject, grant.since, MOST_RECORDS)
    if is_standing(grant, since_then, action.schema_digest):
        return standing.with_grant(grant)
    await services.autonomy.take_back(user_id, grant, services.clock())
    return standing.level


async def note_decision(services: Services, approval: Approval) -> None:
    """Revoke a grant after a no; offer a higher level after enough yeses."""
    action = ACTIONS.get(approval.tool)
    if action is None or not can_be_earned(action) or not (is_no(approval) or is_yes(approval)):
        return
    standing = await services.autonomy.standing(approval.user_id)
    if is_no(approval):
        await level_of(services, approval.user_id, standing, approval.tool, approval.subject)
    elif level := standing.next_level(standing.grant(approval.tool, approval.subject)):
        await _offer(services, approval, action, level)


async def _offer(services: Services, approval: Approval, action: Action[Any], level: Level) -> None:
    """Each offer needs that many yeses again, however it was decided."""
    user_id, tool, subject, now = approval.user_id, approval.tool, approval.subject, services.clock()
    last = await services.approvals.newest_about(user_id, RAISE_AUTONOMY.tool, subject_of_offer(tool, subject))
    after = max(now - WITHIN_SECONDS, last.created_at if last else 0.0)
    streak = streak_of(
        await services.approvals.decided(user_id, tool, subject, after, MOST_RECORDS), action.schema_digest
    )
    if streak.yeses < YESES_NEEDED:
        return
    args = {"tool": tool, "subject": subject, "level": level, "since": now, "schema_digest": action.schema_digest}
    why = f"You approved this {streak.yeses} times within 30 days, and changed nothing."
    asker = Asker(user_id=user_id, run_id=approval.run_id, level=approval.level, role="autonomy")
    approval_id = f"ap_{sha256_hex(user_id, tool, subject, level, str(last and last.id))[:32]}"
    await ask(services, approval_id, Proposal(RAISE_AUTONOMY, args, why), asker, "queue")


async def kinds_of(autonomy: Autonomy, approvals: Approvals, user_id: str) -> tuple[Standing, list[EarnedKind]]:
    """Return each kind of change on which the user decided, with its earned level."""
    standing = await autonomy.standing(user_id)
    records = await approvals.all(user_id, MOST_RECORDS)
    of_kind: dict[tuple[str, str], list[Approval]] = {}
    for each in records:
        if each.tool in KINDS and (is_yes(each) or is_no(each)):
            of_kind.setdefault((each.tool, each.subject), []).append(each)
    return standing, [_kind(standing, tool, subject, decided) for (tool, subject), decided in of_kind.items()]


def _kind(standing: Standing, tool: str, subject: str, decided: Sequence[Approval]) -> EarnedKind:
    digest = ACTIONS[tool].schema_digest
    grant: Grant | None = standing.grant(tool, subject)
    if grant and not is_standing(grant, decided, digest):
        grant = None
    return EarnedKind(tool, subject, standing.with_grant(grant), standing.next_level(grant), streak_of(decided, digest))
