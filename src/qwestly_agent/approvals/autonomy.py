"""Autonomy: the gate that checks levels, and higher levels that the agent can earn."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel

from qwestly_agent.action import Action, Arguments
from qwestly_agent.approvals.ask import Proposal, ProposalContext, create_approval
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_app import Done, Outcome
from qwestly_agent.domain.approval import (
    DAYS_NEEDED,
    WITHIN_SECONDS,
    Answer,
    Approval,
    Change,
    Effect,
    Grant,
    Level,
    Preview,
    Standing,
    days_of_yes,
    is_no,
    is_standing,
    is_yes,
    sha256_hex,
)
from qwestly_agent.services import AnyAction, Services

# --- gate -------------------------------------------------------------------------------------------------------------
# The table that decides whether a tool's proposal is executed, needs approval or is refused. It is applied at the call
# and again before the effect. Calls without a proposal (those that read, or store a typed memory) are not affected.
#
# Two rules are elsewhere: at L3, a change that the user's newest message asks for and that can be undone runs at once
# (`propose.py`); and a user can allow a higher level for a single tool (below).


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
"""The effects whose tools are offered to a model, by level."""

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
    """Shown to the model and to the user."""


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
# Earned autonomy: offer, grant and revoke a higher level for a single tool.
#
# An offer is an approval like any other, but no tool can propose it, and no link can decide it.


KINDS: Mapping[str, str] = {
    "update_application": "A status, or a next step, in your applications",
    "update_preference": "A preference",
    "update_profile_field": "A field of your profile",
    "update_profile": "Several fields of your profile at once",
}
"""Actions for which a higher level can be earned, by tool."""
MEANING: Mapping[str, str] = {
    "L0": "Your agent only suggests it.",
    "L1": "Your agent asks you, and waits.",
    "L2": "It waits in your approvals while your agent goes on.",
    "L3": "What your message plainly asks for is done right away. You can undo it for a day.",
}


class AutonomyRaise(Arguments):
    tool: str
    level: Level
    since: float
    schema_digest: str


def subject_of_offer(tool: str) -> str:
    return f"autonomy:{tool}"


async def _level_now(services: Services, user_id: str, args: AutonomyRaise) -> dict[str, str]:
    return {"level": await level_of(services, user_id, await services.autonomy.get(user_id), args.tool)}


def _raise_preview(args: AutonomyRaise, shown: Mapping[str, str]) -> Preview:
    change = Change(name=KINDS[args.tool], before=MEANING[shown["level"]], after=MEANING[args.level])
    return Preview(title="Let your agent do this on its own", changes=(change,))


async def _grant(services: Services, effect: candidate_app.Effect, args: AutonomyRaise) -> Outcome:
    await services.autonomy.grant(effect.user_id, Grant(**args.model_dump()))
    return Done(None, {})


def _of_any_subject(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name != "subject"}


RAISE_AUTONOMY = Action(
    tool="raise_autonomy",
    kind="autonomy",
    effect="write",
    hours=168,
    arguments=AutonomyRaise,
    subject=lambda args: subject_of_offer(args.tool),
    read_current=_level_now,
    preview=_raise_preview,
    perform=_grant,
    done_message="Your agent may do this on its own now. One no, edit or undo takes it back, and so do your settings.",
    is_own_data=True,
    revisable=False,
    signed_in_only=True,
    upgrades={"219570e54c41cf5c042ff62473f93de1be3bfbf837b878d40c44a38098f647d4": _of_any_subject},
)

MOST_RECORDS = 1_000


def can_be_earned(action: AnyAction | None) -> bool:
    """True for actions that can be undone and that would otherwise need approval."""
    return action is not None and action.inverse is not None and action.effect in UNASKED


async def level_of(services: Services, user_id: str, standing: Standing, tool: str) -> Level:
    """Return the effective level for this tool; a grant that is no longer valid is ignored."""
    return standing.with_grant(await _standing_grant(services, user_id, standing, tool))


async def _standing_grant(services: Services, user_id: str, standing: Standing, tool: str) -> Grant | None:
    grant = standing.find_grant(tool)
    if grant is None:
        return None
    decided = await services.approvals.list_decided(user_id, tool, grant.since, MOST_RECORDS)
    return grant if is_standing(grant, decided, services.actions[tool].schema_digest) else None


async def note_decision(services: Services, approval: Approval) -> None:
    """Revoke a grant that is no longer valid, or offer a higher level after enough days with a yes."""
    action, user_id, tool = services.actions.get(approval.tool), approval.user_id, approval.tool
    if action is None or not can_be_earned(action) or not (is_no(approval) or is_yes(approval)):
        return
    standing = await services.autonomy.get(user_id)
    found, grant = standing.find_grant(tool), await _standing_grant(services, user_id, standing, tool)
    if found and found.ended_at is None and grant is None:
        await services.autonomy.revoke(user_id, tool, to_datetime(services.clock()))
    elif is_yes(approval) and (level := standing.offers(grant)):
        await _offer(services, approval, action, standing, level)


async def take_back(services: Services, user_id: str, tool: str) -> None:
    """Revoke the level earned for this tool. Raises `NotFound` if there is none."""
    if await _standing_grant(services, user_id, await services.autonomy.get(user_id), tool) is None:
        raise NotFound("Nothing is earned for this.")
    await services.autonomy.revoke(user_id, tool, to_datetime(services.clock()))


async def _days(services: Services, user_id: str, standing: Standing, tool: str) -> tuple[int, Approval | None]:
    """Return the number of days with a yes that count toward the next offer, and the last offer, however it was
    decided."""
    last = await services.approvals.find_latest(user_id, RAISE_AUTONOMY.tool, subject_of_offer(tool))
    grant = standing.find_grant(tool)
    ended_at = grant.ended_at if grant and grant.ended_at else 0.0
    after = max(services.clock() - WITHIN_SECONDS, last.created_at if last else 0.0, ended_at)
    decided = await services.approvals.list_decided(user_id, tool, after, MOST_RECORDS)
    later = [each for each in decided if each.decided_at != after]  # exclude the yes that led to the last offer
    zone = (await services.user_settings.get(user_id)).zone
    return days_of_yes(later, services.actions[tool].schema_digest, zone), last


async def _offer(services: Services, approval: Approval, action: AnyAction, standing: Standing, level: Level) -> None:
    """Offer a higher level if there were enough days with a yes."""
    user_id, tool = approval.user_id, approval.tool
    days, last = await _days(services, user_id, standing, tool)
    if days < DAYS_NEEDED:
        return
    args = {"tool": tool, "level": level, "since": services.clock(), "schema_digest": action.schema_digest}
    why = f"You opened and approved this on {days} different days, and changed nothing."
    context = ProposalContext(user_id=user_id, run_id=approval.run_id, level=approval.level, role="autonomy")
    approval_id = f"ap_{sha256_hex(user_id, tool, level, str(last and last.id))[:32]}"
    await create_approval(services, approval_id, Proposal(RAISE_AUTONOMY, args, why), context, "queue")


# --- earned view ------------------------------------------------------------------------------------------------------
# Earned autonomy as shown to its user: each tool's level and history.


class EarnedKindView(BaseModel):
    tool: str
    title: str
    level: Level
    """The effective level: the user's own, or an earned one."""
    means: str
    """What the agent may do at this level."""
    is_earned: bool
    record: str
    """For example "You approved it on 4 days, with its card open."."""
    offers: Level | None
    """The level offered after approvals on ten different days; null at the ceiling."""


class EarnedView(BaseModel):
    level: Level
    ceiling: Level
    """The highest level that can be earned: L3 until the user sets a level, then that level until they raise it."""
    kinds: list[EarnedKindView]
    """What was decided on, or is earned."""


async def earned_view(services: Services, user_id: str) -> EarnedView:
    standing = await services.autonomy.get(user_id)
    kinds = [await _kind(services, user_id, standing, tool) for tool in KINDS]
    return EarnedView(level=standing.level, ceiling=standing.ceiling, kinds=[each for each in kinds if each.record])


async def _kind(services: Services, user_id: str, standing: Standing, tool: str) -> EarnedKindView:
    grant = await _standing_grant(services, user_id, standing, tool)
    level, offers = standing.with_grant(grant), standing.offers(grant)
    days, _ = await _days(services, user_id, standing, tool)
    record = f"You approved it on {days} day{'s' if days > 1 else ''}, with its card open." if days else ""
    if record and offers:
        record += " After ten, we offer to let your agent do it on its own."
    if is_earned := level != standing.level:
        record = "Your agent earned this. One decline, edit or undo takes it back."
    told = {"title": KINDS[tool], "means": MEANING[level], "record": record}
    return EarnedKindView(tool=tool, level=level, is_earned=is_earned, offers=offers, **told)
