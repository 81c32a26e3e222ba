"""Choose the variant of a conversation with Powertools' feature flags in the rollout's document.

It never fails a turn: if anything is missing or unreadable, the base answers.
"""

from aws_lambda_powertools import Logger
from pymongo.errors import PyMongoError

from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.domain.rollout import BASE, Assignment, Rollout, bucket_of
from qwestly_agent.stores.measures import Rollouts, UnreadableRollout


async def read_rollout(rollouts: Rollouts, logger: Logger) -> Rollout | None:
    """Return the rollout; None if there is none or it cannot be read."""
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
    """Return a conversation's variant for its next turn; None if it is not part of a trial.

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
    from qwestly_agent.rollout.flags import variant_of  # late: see there

    variant = variant_of(rollout, {"bucket": bucket_of(trial.salt, user_id), "role": role})
    known = variant in (trial.variant, BASE)
    return Assignment(trial=trial.id, leg=trial.leg, variant=variant) if known else None
