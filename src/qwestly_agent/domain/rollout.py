"""The rollout of a variant: its state, its transitions, and the counts of one day's answers."""

from collections.abc import Mapping
from datetime import date
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.domain.approval import sha256_hex

# --- rollout ----------------------------------------------------------------------------------------------------------
# The rollout of a variant: its state and its transitions. One variant is tried at a time.


BASE = "base"
"""The name used for users without a variant, who have the default design as configured."""
SHARES = (10, 50, 100)
"""Percentage of users who get the variant, step by step. A rollout may start with another share."""
BUCKETS = 10_000
FEATURE = "variant"
"""Name of the feature flag."""
JOURNAL_KEPT = 200

State: TypeAlias = Literal["trying", "held", "kept"]
"""Being tried · held for an operator, because a limit was exceeded although the variant is not worse than the base ·
finished successfully."""
Move: TypeAlias = Literal["begun", "on", "back", "held", "kept", "ended", "forced"]


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)


class Trial(_Frozen):
    """A variant that is being tried or was kept. Times are in seconds since the epoch."""

    id: str
    """Id of this trial; the same variant may be tried more than once."""
    variant: str
    salt: str
    """Makes each trial select different users."""
    roles: tuple[str, ...]
    shares: tuple[int, ...]
    """Percentage of users at each step."""
    share: int
    leg: int = 0
    """Incremented with each change of share. Counts belong to the leg in which their conversation began."""
    since: float
    """When this leg began."""
    base_leg: int = 0
    """The leg whose base the variant is compared with. At 100 % nobody has the base, so it is an earlier leg."""
    state: State = "trying"

    def tag(self, variant: str, leg: int | None = None) -> str:
        """Return the key of a variant's counts in one leg, the time between two changes of its share."""
        return tag_of(self.id, self.leg if leg is None else leg, variant)

    @property
    def tags(self) -> tuple[str, str]:
        """The tags of the counts to compare: the variant's and the base's."""
        return self.tag(self.variant), self.tag(BASE, self.base_leg)

    @property
    def next_share(self) -> int | None:
        return next((each for each in self.shares if each > self.share), None)


def tag_of(trial_id: str, leg: int, variant: str) -> str:
    return f"{trial_id}:{leg}:{variant}"


class JournalEntry(_Frozen):
    """An entry of the journal."""

    at: float
    by: Literal["code", "operator"]
    move: Move
    variant: str
    share: int
    """Percentage after this entry."""
    why: tuple[str, ...] = ()


class Rollout(_Frozen):
    """The rollout document, which every turn reads."""

    flags: Mapping[str, Any] = Field(default_factory=dict)
    """Feature flags in the schema of Powertools: which users have which variant."""
    trial: Trial | None = None
    journal: tuple[JournalEntry, ...] = ()
    """Entries of the journal, newest last."""
    revision: int = 0


class Assignment(_Frozen):
    """The variant of a conversation, stored with it."""

    trial: str
    """Empty if an operator pinned the user to the variant; the conversation is then not counted."""
    leg: int
    variant: str
    failed_in_row: int = 0
    """Number of failed turns since the last successful one."""
    counted: bool = True
    """False in legs after the one in which the conversation began."""
    given_up: bool = False
    """True once three turns in a row failed; the conversation then continues with the base."""

    @property
    def tag(self) -> str | None:
        """The tag of the counts that include the conversation; None if it is not counted."""
        is_counted = self.trial and self.counted and not self.given_up
        return tag_of(self.trial, self.leg, self.variant) if is_counted else None

    @property
    def agents(self) -> str | None:
        """The variant whose agents answer; None for the base."""
        return None if self.given_up or self.variant == BASE else self.variant

    def after(self, *, failed: bool) -> "Assignment":
        """Return the assignment after a turn."""
        return self._with_failed(self.failed_in_row + 1 if failed else 0)

    def after_deaths(self, turns: int) -> "Assignment":
        """Return the assignment after turns whose process died."""
        return self._with_failed(self.failed_in_row + turns)

    def _with_failed(self, in_row: int) -> "Assignment":
        is_one_too_many = self.agents is not None and self.trial != "" and in_row >= MOST_FAILED_IN_ROW
        return self.model_copy(update={"failed_in_row": in_row, "given_up": self.given_up or is_one_too_many})


MOST_FAILED_IN_ROW = 3


def bucket_of(salt: str, user_id: str) -> int:
    """Return a number from 0 to `BUCKETS` - 1, constant for a user within a trial."""
    return int(sha256_hex(salt, user_id)[:12], 16) % BUCKETS


# --- changes ----------------------------------------------------------------------------------------------------------


def begin_trial(
    rollout: Rollout, variant: str, roles: tuple[str, ...], share: int, now: float, trial_id: str, why: str
) -> Rollout:
    """Start a trial with this share; it replaces a finished one."""
    shares = (share, *(each for each in SHARES if each > share))
    trial = Trial(id=trial_id, variant=variant, salt=trial_id, roles=roles, shares=shares, share=share, since=now)
    entry = JournalEntry(at=now, by="operator", move="begun", variant=variant, share=share, why=(why,) if why else ())
    return _with(rollout, trial, entry)


def move_to_share(rollout: Rollout, trial: Trial, share: int, entry: JournalEntry) -> Rollout:
    """Move to another share: this starts a new leg with its own counts."""
    leg = trial.leg + 1
    # At 100 % nobody has the base, so the variant is compared with the last leg in which somebody had it.
    base_leg = leg if share < 100 else (trial.leg if trial.share < 100 else trial.base_leg)
    changes = {"share": share, "leg": leg, "base_leg": base_leg, "since": entry.at, "state": "trying"}
    return _with(rollout, trial.model_copy(update=changes), entry)


def set_state(rollout: Rollout, trial: Trial, state: State, entry: JournalEntry) -> Rollout:
    return _with(rollout, trial.model_copy(update={"state": state}), entry)


def end_trial(rollout: Rollout, entry: JournalEntry) -> Rollout:
    """End the trial: all users get the base, including in existing conversations."""
    return _with(rollout, None, entry)


def _with(rollout: Rollout, trial: Trial | None, entry: JournalEntry) -> Rollout:
    return Rollout(
        flags=flags_of(trial),
        trial=trial,
        journal=(*rollout.journal, entry)[-JOURNAL_KEPT:],
        revision=rollout.revision,
    )


def flags_of(trial: Trial | None) -> dict[str, Any]:
    """Return the feature flags of a trial. Shares are nested: a user who has the variant keeps it as the share
    grows."""
    if trial is None:
        return {}
    has_role = {"action": "KEY_IN_VALUE", "key": "role", "value": list(trial.roles)}
    in_share = {
        "action": "MODULO_RANGE",
        "key": "bucket",
        "value": {"BASE": BUCKETS, "START": 0, "END": trial.share * BUCKETS // 100 - 1},
    }
    rules = {"share": {"when_match": trial.variant, "conditions": [has_role, in_share]}}
    return {FEATURE: {"default": BASE, "boolean_type": False, "rules": rules}}


# --- answer day -------------------------------------------------------------------------------------------------------
# The counts of one day's answers, without texts or users.


class AnswerDay(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)

    day: date
    judge: str
    answers: int
    """Number of answers of the day."""
    errors: int
    """Number of answers that failed or were cut off."""
    thumbs_up: int
    thumbs_down: int
    judged: int = 0
    unjudged: int = 0
    """Number of sampled answers for which no judge was available."""
    answered: int = 0
    confused: int = 0
    satisfied: int = 0
    dissatisfied: int = 0
    intents: dict[str, int] = {}
    """Number of judged answers by intent."""
    cost_usd: float = 0.0
