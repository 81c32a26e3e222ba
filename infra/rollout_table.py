"""The output of `qwestly-agent rollout show`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.rollout import BASE, JournalEntry, Rollout, Trial
from qwestly_agent.rollout import variants
from qwestly_agent.rollout.look import ALPHA, MEASURES, Counts, compare_measure, missing
from qwestly_agent.rollout.writer import counts_by_user
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.measures import Rollouts, VariantCounts
from qwestly_agent.stores.user_settings import UserSettingsStore

Database: TypeAlias = AsyncDatabase[Any]
ENTRIES_SHOWN = 10


async def table(database: Database, now: float) -> str:
    rollout = await Rollouts(database).get(journal=True) or Rollout()
    lines = [*_declared(await Conversations(database).count_by_variant())]
    if rollout.trial:
        counts, approvals = VariantCounts(database), Approvals(database)
        users = [await counts_by_user(counts, approvals, tag) for tag in rollout.trial.tags]
        sums = await counts.sums(rollout.trial.tags)
        lines += ["", *_trial(rollout.trial, sums, users, now)]
    else:
        lines += ["", "Nothing is being tried: everybody who is not pinned has the base."]
    if pinned := await UserSettingsStore(database).count_pinned():
        lines += ["", f"{pinned} pinned user{'s' * (pinned > 1)} keep{'s' * (pinned == 1)} a variant until `unpin`."]
    if rollout.journal:
        lines += ["", "journal", *(line for each in rollout.journal[-ENTRIES_SHOWN:] for line in _entry(each))]
    return "\n".join(lines)


def _declared(used: Mapping[str, int]) -> Iterator[str]:
    yield f"{'variant':16}{'design':16}{'since':12}{'first share':>12}{'conversations':>15}  prompts, models"
    for each in variants.VARIANTS:
        named = ", ".join([*each.prompts.values(), *each.models.values()]) or "–"
        share = f"{each.share} %"
        yield f"{each.name:16}{each.design:16}{each.since!s:12}{share:>12}{used.get(each.name, 0):>15}  {named}"
    declared = {BASE, *(each.name for each in variants.VARIANTS)}
    for name in sorted(used.keys() - declared):
        yield f"{name:16}{'no longer declared: they have the base':40}{used[name]:>15}"


def _trial(trial: Trial, sums: Mapping[str, Counts], users: Sequence[Sequence[Counts]], now: float) -> Iterator[str]:
    variant, base = (sums.get(tag, {}) for tag in trial.tags)
    yield f"{trial.variant}: {trial.state}, {trial.share} % of the users since {_moment(trial.since)} ({trial.id})"
    if trial.state == "trying":
        lacks = missing(trial, variant, base, now)
        yield f"next look: {'once there are ' + ', '.join(lacks) + ' more' if lacks else 'within five minutes'}"
    yield f"counts: {_counts(variant)}; the base's: {_counts(base)}"
    for each in MEASURES:
        yield f"  {compare_measure(each, *users).journal_line}"
    yield f"  worse if p is below {ALPHA:.4f}, and beyond the limit"


def _counts(counts: Counts) -> str:
    told = (f"{counts.get(name, 0):.0f} {name}" for name in ("users", "conversations", "turns", "failed"))
    return ", ".join(told)


def _entry(entry: JournalEntry) -> Iterator[str]:
    yield f"  {_moment(entry.at)}  {entry.move} by {entry.by}: {entry.variant} at {entry.share} %"
    for why in entry.why:
        yield f"    {why}"


def _moment(at: float) -> str:
    return f"{to_datetime(at):%Y-%m-%d %H:%M} UTC"
