"""Check the trial every five minutes, and move it forward or back: in an emergency at any time, otherwise once per
leg."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from qwestly_agent.base.observability import Event, cause_of, measure_rollout
from qwestly_agent.domain.rollout import JournalEntry, Rollout, Trial, end_trial, move_to_share, set_state
from qwestly_agent.rollout.look import Counts, Finding, emergency, is_alarming, is_due, look
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.measures import UnreadableRollout, VariantCounts
from qwestly_agent.workflow_state import WorkflowState, state


class Advanced(WorkflowState):
    move: str = ""
    """The action taken; empty if there was none."""
    why: Sequence[str] = Field(default_factory=tuple)


@state(Advanced, ignores_brake=True)
async def advance(services: Services, _: Advanced) -> Advanced:
    now = services.clock()
    try:
        rollout = await services.rollouts.get()
    except UnreadableRollout as error:
        services.logger.error(Event.ROLLOUT_UNREADABLE, extra=cause_of(error))
        measure_rollout(held=True)
        return Advanced(move="unreadable")
    trial = rollout.trial if rollout else None
    if trial is None:
        measure_rollout()
        return Advanced()
    sums = await sums_of(services.variant_counts, trial)
    finding = await _find(services, trial, sums, now)
    if finding:
        await services.rollouts.change(lambda before: apply_finding(before, trial, finding, now))
        services.logger.info(Event.ROLLOUT_MOVED, extra={"move": finding.move, "variant": trial.variant})
    move = finding.move if finding else ""
    is_held = move == "held" or (not move and trial.state == "held")
    measure_rollout(share=trial.share, taken_back=move in ("back", "ended"), held=is_held)
    return Advanced(move=move, why=finding.why if finding else ())


@dataclass(frozen=True)
class Sums:
    variant: Counts
    base: Counts


async def sums_of(variant_counts: VariantCounts, trial: Trial) -> Sums:
    found: Mapping[str, Counts] = await variant_counts.sums(trial.tags)
    variant, base = trial.tags
    return Sums(found.get(variant, {}), found.get(base, {}))


async def counts_by_user(variant_counts: VariantCounts, approvals: Approvals, tag: str) -> Sequence[Counts]:
    """Return the counts of each user under this tag, including decisions on the variant's proposals."""
    counts, proposed = await variant_counts.by_user(tag), await approvals.count_by_user(tag)
    return [{**each, **proposed.get(user_id, {})} for user_id, each in counts.items()]


async def _find(services: Services, trial: Trial, sums: Sums, now: float) -> Finding | None:
    """Decide on the trial. The counts per user are only read if needed."""
    if trial.state == "kept":
        return None  # at 100 % there is no baseline left to compare with
    is_alarm = is_alarming(sums.variant, sums.base)
    if not is_alarm and not is_due(trial, sums.variant, sums.base, now):
        return None
    variant, base = [await counts_by_user(services.variant_counts, services.approvals, tag) for tag in trial.tags]
    if is_alarm and (found := emergency(variant, base)):
        return found
    return look(trial, variant, base) if is_due(trial, sums.variant, sums.base, now) else None


def apply_finding(rollout: Rollout, seen: Trial, finding: Finding, now: float) -> Rollout | None:
    """Return the rollout after this finding; None if the trial has changed since."""
    if rollout.trial != seen:
        return None
    share = {"on": seen.next_share or 100, "back": 0, "ended": 0}.get(finding.move, seen.share)
    entry = JournalEntry(at=now, by="code", move=finding.move, variant=seen.variant, share=share, why=finding.why)
    match finding.move:
        case "on":
            return move_to_share(rollout, seen, share, entry)
        case "held" | "kept":
            return set_state(rollout, seen, finding.move, entry)
        case _:
            return end_trial(rollout, entry)
