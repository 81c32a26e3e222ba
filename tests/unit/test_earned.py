"""Earned autonomy: what a history of decisions earns, for any history."""

from typing import Literal, TypeAlias, get_args

import pytest

from qwestly_agent.domain.approval import (
    LADDER,
    Approval,
    DecidedBy,
    Grant,
    Level,
    Preview,
    Standing,
    Status,
    days_of_yes,
    is_standing,
)

SCHEMA = "a" * 64
DAY = 86_400.0

Said: TypeAlias = Literal[
    "yes", "no", "edit", "revise", "undo", "yes by link", "no by link", "unasked", "typed", "not opened"
]
OTHERS: tuple[Said, ...] = tuple(each for each in get_args(Said) if each != "yes")
NOS: frozenset[Said] = frozenset({"no", "edit", "revise", "undo", "no by link"})
_AS: dict[Said, tuple[Status, DecidedBy]] = {
    "yes": ("done", "queue"),
    "no": ("rejected", "chat"),
    "edit": ("done", "queue"),
    "revise": ("revised", "queue"),
    "undo": ("done", "undo"),
    "yes by link": ("done", "link"),
    "no by link": ("rejected", "link"),
    "unasked": ("done", "level"),
    "typed": ("done", "words"),
    "not opened": ("done", "queue"),
}


def record(said: Said, at: float, schema_digest: str = SCHEMA) -> Approval:
    status, decided_by = _AS[said]
    return Approval(
        id=f"ap_{at!r}",
        user_id="u",
        run_id="r",
        kind="profile",
        tool="update_profile_field",
        effect="write",
        args="{}",
        args_digest="",
        schema_digest=schema_digest,
        subject="profile",
        version=None,
        preview=Preview(title="Change your headline"),
        opened=said != "not opened",
        level="L1",
        answer="ask",
        status=status,
        created_at=at,
        expires_at=at + DAY,
        updated_at=at,
        decided_at=at,
        decided_by=decided_by,
        edited=said == "edit",
        undoes="ap_0" if said == "undo" else None,
    )


def yeses(count: int, *, after: float = 0.0) -> list[Approval]:
    return [record("yes", after + number * DAY) for number in range(1, count + 1)]


def grant(level: Level = "L2", since: float = 100.0) -> Grant:
    return Grant(tool="update_profile_field", level=level, since=since, schema_digest=SCHEMA)


def days(records: list[Approval], zone: str = "UTC") -> int:
    return days_of_yes(records, SCHEMA, zone)


def test_days_with_a_yes_count_until_a_no() -> None:
    assert days(yeses(12)) == 12
    assert days([*yeses(5), record("no", 5.5 * DAY), *yeses(3, after=6 * DAY)]) == 3


def test_ten_approvals_on_one_local_day_count_as_one_day() -> None:
    morning = [record("yes", 100 * DAY + hour * 3_600.0) for hour in range(10)]
    assert (days(morning), days(morning, "Pacific/Auckland"), days(morning, "America/New_York")) == (1, 1, 2)


@pytest.mark.parametrize("said", OTHERS)
def test_only_a_signed_in_yes_below_the_opened_card_counts(said: Said) -> None:
    assert days([*yeses(9), record(said, 10.0 * DAY)]) == (0 if said in NOS else 9)


def test_a_changed_schema_resets_what_was_earned() -> None:
    old = [record("yes", number * DAY, "b" * 64) for number in range(20)]
    assert days([*old, *yeses(2, after=30.0 * DAY)]) == 2
    assert not is_standing(grant(), [], "b" * 64)


def test_a_revoked_level_no_longer_applies() -> None:
    assert not is_standing(grant().model_copy(update={"ended_at": 101.0}), [], SCHEMA)


@pytest.mark.parametrize("said", get_args(Said))
def test_one_no_edit_or_undo_ends_an_earned_level(said: Said) -> None:
    assert is_standing(grant(), [record(said, 100.5)], SCHEMA) == (said not in NOS)
    assert is_standing(grant(), [record(said, 99.0)], SCHEMA)


@pytest.mark.parametrize("level", LADDER)
@pytest.mark.parametrize("ceiling", LADDER)
@pytest.mark.parametrize("earned", [None, *LADDER])
def test_a_users_level_is_the_floor_and_the_ceiling_the_maximum(
    level: Level, ceiling: Level, earned: Level | None
) -> None:
    if LADDER.index(ceiling) < LADDER.index(level):
        return  # no user has this: the store reads the level
    standing = Standing(level, ceiling)
    now = LADDER.index(standing.with_grant(grant(earned) if earned else None))
    assert LADDER.index(level) <= now <= LADDER.index(ceiling)
    more = standing.offers(grant(earned) if earned else None)
    assert more == (None if level == "L0" or now == LADDER.index(ceiling) else ceiling)
