"""The variants that can be tried, and the choice of a variant for a conversation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from aws_lambda_powertools import Logger
from pymongo.errors import PyMongoError

from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.domain.rollout import BASE, Assignment, Rollout, bucket_of
from qwestly_agent.stores.measures import Rollouts, UnreadableRollout

# --- variants ---------------------------------------------------------------------------------------------------------
# The variants that can be tried. An operator starts a trial with `qwestly-agent rollout begin NAME`.
#
# A variant stays here, and its prompts in its design, as long as conversations use it; `qwestly-agent rollout show`
# counts these. If it is removed, they continue with the baseline.


@dataclass(frozen=True)
class Variant:
    name: str
    since: date
    """The first day (UTC) on which the variant may be tried."""
    design: str = "default"
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Prompt versions by role, known to the design's setting `prompts`."""
    models: Mapping[str, str] = field(default_factory=dict)
    """`provider:name` by tier, replacing the configured models. Applies to turns, not to workflows."""
    roles: tuple[str, ...] = ("chat",)
    """Conversations with other roles are not part of the trial."""
    share: int = 10
    """Percentage of users at the start."""


VARIANTS: tuple[Variant, ...] = (Variant(name="brief", since=date(2026, 11, 24), prompts={"chat": "default-13-brief"}),)


# --- choose -----------------------------------------------------------------------------------------------------------
# Choose a conversation's variant with Powertools' feature flags in the rollout's document.
#
# It never fails a turn: if anything is missing or unreadable, the baseline answers.


async def read_rollout(rollouts: Rollouts, logger: Logger) -> Rollout | None:
    """Return the rollout; None if there is none or if it cannot be read."""
    try:
        return await rollouts.get()
    except (UnreadableRollout, PyMongoError) as error:
        logger.warning(Event.ROLLOUT_UNREADABLE, extra=cause_of(error))
        return None


def assign(
    rollout: Rollout | None,
    kept: Assignment | None,
    pinned: str | None,
    user_id: str,
    role: str,
    *,
    is_new: bool,
) -> Assignment | None:
    """Return a conversation's variant for its next turn; None if the conversation is not part of a trial.

    A conversation keeps its first variant as long as that trial lasts. Conversations that began before the trial are
    excluded.
    """
    if pinned:
        return Assignment(trial="", leg=0, variant=pinned)
    trial = rollout.trial if rollout else None
    if trial is None or rollout is None:
        return None
    if kept:
        lasts = kept.trial == trial.id
        return kept.model_copy(update={"counted": kept.leg == trial.leg}) if lasts else None
    if not is_new or role not in trial.roles:
        return None
    from qwestly_agent.rollout.flags import variant_of  # late, because it imports boto3

    variant = variant_of(rollout, {"bucket": bucket_of(trial.salt, user_id), "role": role})
    known = variant in (trial.variant, BASE)
    return Assignment(trial=trial.id, leg=trial.leg, variant=variant) if known else None
