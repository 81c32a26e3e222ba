"""Autonomy: the gate that checks levels, and levels that are earned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from pydantic import BaseModel

from qwestly_agent.action import Action, Arguments
from qwestly_agent.approvals.ask import Proposal, ProposalContext, create_approval
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_app import Done, Outcome
from qwestly_agent.domain.approval import (
    LADDER,
    WITHIN_SECONDS,
    YESES_NEEDED,
    Answer,
    Approval,
    Change,
    Effect,
    Grant,
    Level,
    Preview,
    Standing,
    Streak,
    is_no,
    is_standing,
    is_yes,
    sha256_hex,
    streak_of,
)
from qwestly_agent.services import AnyAction, Services

# --- gate -------------------------------------------------------------------------------------------------------------
# The table that decides whether a tool's proposal is executed, needs approval or is refused; it is applied at the call
# and again before the effect. Calls without a proposal (which read, or store a typed memory) are not affected.
#
# Two rules are elsewhere: at L3, a change that the user's newest message asks for, and that can be undone, runs at once
# (`propose.py`); and a user can allow a higher level for one kind of action (below).


TABLE: Mapping[Effect, Mapping[Level, Answer]] = {
    "read": {"L0": "run", "L1": "run", "L2": "run", "L3": "run"},
    "draft": {"L0": "run", "L1": "run", "L2": "run", "L3": "run"},
    # Memories are our own data, but at every level only the user decides what is stored or forgotten.
    "memory": {"L0": "ask", "L1": "ask", "L2": "queue", "L3": "ask"},
    "write": {"L0": "refuse", "L1": "ask", "L2": "queue", "L3": "ask"},
    "outward": {"L0": "refuse", "L1": "ask", "L2": "queue", "L3": "ask"},
    "destructive": {"L0": "refuse", "L1": "ask", "L2": "queue", "L3": "ask"},
}

OFFERED: Mapping[Level, frozenset[Effect]] = {
    level: frozenset(effect for effect, answers in TABLE.items() if answers[level] != "refuse")
    for level in get_args(Level)
}
"""The effects of the tools that a model is offered at a level."""

REASONS: Mapping[Answer, str] = {
    "run": "Allowed at this level.",
    "ask": "This waits for the user's yes.",
    "queue": "This waits in the user's queue; go on without it.",
    "refuse": "The user lets you suggest, not change anything. Say what you would do, and let them do it.",
}


@dataclass(frozen=True)
class GateDecision:
    answer: Answer
    reason: str
    """For the model and for the user."""


UNASKED: frozenset[Effect] = frozenset({"write"})
"""Effects that may run at L3 without approval. Effects that others can see always need approval."""


def gate(effect: Effect, level: Level, *, is_requested: bool = False) -> GateDecision:
    """Decide what a call may do. `is_requested`: the action can be undone, and the user's newest message asks for
    exactly this."""
    if level == "L3" and effect in UNASKED and is_requested:
        return GateDecision("run", "The user asked for exactly this.")
    answer = TABLE[effect][level]
    return GateDecision(answer, REASONS[answer])


# --- earned -----------------------------------------------------------------------------------------------------------
# Earned autonomy: offer, grant and revoke a higher level for one kind of change.
#
# An offer is an approval like any other, but no tool can propose it, and no link can decide it.


KINDS: Mapping[str, str] = {
    "update_profile_field": "A field of your profile",
    "update_profile": "Several fields of your profile at once",
    "update_preference": "A preference",
}
"""The actions for which a level can be earned, by tool."""
MEANING: Mapping[Level, str] = {
    "L0": "Your agent only suggests it.",
    "L1": "Your agent asks you, and waits.",
    "L2": "It waits in your approvals while your agent goes on.",
    "L3": "What your message plainly asks for is done right away. You can undo it for a day.",
}


class AutonomyRaise(Arguments):
    tool: str
    subject: str
    level: Level
    since: float
    schema_digest: str


def subject_of_offer(tool: str, subject: str) -> str:
    return f"autonomy:{tool}:{subject}"


async def _no_state(services: Services, user_id: str, args: AutonomyRaise) -> dict[str, str]:  # noqa: ARG001
    return {}


def _raise_preview(args: AutonomyRaise, _: Mapping[str, str]) -> Preview:
    before = LADDER[LADDER.index(args.level) - 1]
    change = Change(name=KINDS[args.tool], before=MEANING[before], after=MEANING[args.level])
    return Preview(title="Let your agent go one step further", changes=(change,))


async def _grant(services: Services, effect: candidate_app.Effect, args: AutonomyRaise) -> Outcome:
    await services.autonomy.grant(effect.user_id, Grant(**args.model_dump()))
    return Done(None, {})


RAISE_AUTONOMY = Action(
    tool="raise_autonomy",
    kind="autonomy",
    effect="write",
    hours=168,
    arguments=AutonomyRaise,
    subject=lambda args: subject_of_offer(args.tool, args.subject),
    read_current=_no_state,
    preview=_raise_preview,
    perform=_grant,
    done_message="Your agent may go one step further here. One no, edit or undo takes it back.",
    is_own_data=True,
    revisable=False,
    signed_in_only=True,
)

MOST_RECORDS = 1_000


@dataclass(frozen=True)
class EarnedKind:
    """One kind of change with its history, for the user."""

    tool: str
    subject: str
    level: Level
    """The effective level."""
    offers: Level | None
    """The level that ten approvals would earn; None at the ceiling."""
    streak: Streak


def can_be_earned(action: AnyAction | None) -> bool:
    """True for actions that can be undone and that would otherwise need approval."""
    return action is not None and action.inverse is not None and action.effect in UNASKED


async def level_of(services: Services, user_id: str, standing: Standing, tool: str, subject: str) -> Level:
    """Return the effective level for this kind of change: a grant that no longer stands counts for nothing."""
    grant = standing.find_grant(tool, subject)
    return standing.with_grant(grant if grant and await _stands(services, user_id, grant) else None)


async def _stands(services: Services, user_id: str, grant: Grant) -> bool:
    decided = await services.approvals.list_decided(user_id, grant.tool, grant.subject, grant.since, MOST_RECORDS)
    return is_standing(grant, decided, services.actions[grant.tool].schema_digest)


async def note_decision(services: Services, approval: Approval) -> None:
    """Revoke a grant that no longer stands; offer a higher level after enough approvals."""
    action = services.actions.get(approval.tool)
    if action is None or not can_be_earned(action) or not (is_no(approval) or is_yes(approval)):
        return
    standing = await services.autonomy.get(approval.user_id)
    grant = standing.find_grant(approval.tool, approval.subject)
    if grant and not await _stands(services, approval.user_id, grant):
        await services.autonomy.revoke(approval.user_id, grant, services.clock())
    elif is_yes(approval) and (level := standing.next_level(grant)):
        await _offer(services, approval, action, level)


async def _offer(services: Services, approval: Approval, action: AnyAction, level: Level) -> None:
    """Offer a higher level if there were enough approvals since the last offer, however that was decided."""
    user_id, tool, subject, now = approval.user_id, approval.tool, approval.subject, services.clock()
    last = await services.approvals.find_latest(user_id, RAISE_AUTONOMY.tool, subject_of_offer(tool, subject))
    after = max(now - WITHIN_SECONDS, last.created_at if last else 0.0)
    streak = streak_of(
        await services.approvals.list_decided(user_id, tool, subject, after, MOST_RECORDS), action.schema_digest
    )
    if streak.yeses < YESES_NEEDED:
        return
    args = {"tool": tool, "subject": subject, "level": level, "since": now, "schema_digest": action.schema_digest}
    why = f"You approved this {streak.yeses} times within 30 days, and changed nothing."
    context = ProposalContext(user_id=user_id, run_id=approval.run_id, level=approval.level, role="autonomy")
    approval_id = f"ap_{sha256_hex(user_id, tool, subject, level, str(last and last.id))[:32]}"
    await create_approval(services, approval_id, Proposal(RAISE_AUTONOMY, args, why), context, "queue")


async def list_kinds(services: Services, user_id: str) -> tuple[Standing, list[EarnedKind]]:
    """Return each kind of change on which the user has decided, with its earned level."""
    standing = await services.autonomy.get(user_id)
    records = await services.approvals.list_all(user_id, MOST_RECORDS)
    of_kind: dict[tuple[str, str], list[Approval]] = {}
    for each in records:
        if each.tool in KINDS and (is_yes(each) or is_no(each)):
            of_kind.setdefault((each.tool, each.subject), []).append(each)
    return standing, [_kind(services, standing, tool, subject, decided) for (tool, subject), decided in of_kind.items()]


def _kind(services: Services, standing: Standing, tool: str, subject: str, decided: Sequence[Approval]) -> EarnedKind:
    digest = services.actions[tool].schema_digest
    grant: Grant | None = standing.find_grant(tool, subject)
    if grant and not is_standing(grant, decided, digest):
        grant = None
    return EarnedKind(tool, subject, standing.with_grant(grant), standing.next_level(grant), streak_of(decided, digest))


# --- earned view ------------------------------------------------------------------------------------------------------
# Earned autonomy as shown to its user: each kind of change with its history.


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


def earned_view(standing: Standing, kinds: Sequence[EarnedKind]) -> EarnedView:
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
