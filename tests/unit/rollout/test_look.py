"""A variant advances, is rolled back or is held: by given counts, and by simulated trials."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from qwestly_agent.domain.rollout import BASE, Assignment, JournalEntry, Rollout, Trial, begin_trial, move_to_share
from qwestly_agent.rollout.look import (
    EMERGENCY_TURNS,
    LEG_SECONDS,
    MEASURES,
    MINIMUM_TURNS,
    Finding,
    emergency,
    is_alarming,
    is_due,
    look,
    missing,
)
from qwestly_agent.rollout.variants import assign
from tests.counts import count

NOW = 1_800_000_000.0
HEALTHY = {"failed": 0.02, "slow": 0.01, "cost_usd": 0.006, "bad": 0.04, "denied": 0.15, "left_out": 0.1}
"""Usual shares, and dollars per turn."""
Counts = dict[str, float]


def trial(share: int = 10, **changes: object) -> Trial:
    begun_with = begin_trial(Rollout(), "brief", ("chat",), min(share, 10), NOW, "t1", "").trial
    assert begun_with
    return begun_with.model_copy(update={"share": share, **changes})


def users(number: int, rng: Generator, given: Mapping[str, float] = HEALTHY, spread: float = 4.0) -> list[Counts]:
    """The counts of so many users, who differ: some talk more, and one with a failed turn is more likely to see the
    next one fail (a beta distribution)."""
    turns = 1 + rng.geometric(1 / 5, number)

    def of(many: NDArray[Any], what: str) -> NDArray[Any]:
        own = rng.beta(given[what] * spread, (1 - given[what]) * spread, number)
        return rng.binomial(many, own)

    judged, decided = rng.binomial(1, 0.3, number), rng.binomial(1, 0.4, number)
    columns = {
        "turns": turns,
        "spoken": turns,
        "failed": of(turns, "failed"),
        "slow": of(turns, "slow"),
        "conversations": 1 + turns // 8,
        "cost_usd": rng.gamma(turns, given["cost_usd"] / 2),
        "judged": judged,
        "bad": of(judged, "bad"),
        "decided": decided,
        "denied": of(decided, "denied"),
        "claims": 4 * decided,
        "left_out": of(4 * decided, "left_out"),
    }
    return [
        dict(zip(columns, row, strict=True)) for row in zip(*(each.tolist() for each in columns.values()), strict=True)
    ]


def groups(share: int, rng: Generator, given: Mapping[str, float]) -> tuple[list[Counts], list[Counts]]:
    """Groups of the variant and the base at their minimum; at 100 % the base is that of the step before."""
    variant = users(400, rng, given)
    return variant, users(400 * (100 - share) // share if share < 50 else 400, rng)


# --- one look a leg ---------------------------------------------------------------------------------------------------


def test_a_leg_is_evaluated_after_a_week_with_enough_data() -> None:
    enough = {"turns": MINIMUM_TURNS, "users": 400}
    assert not is_due(trial(), enough, enough, NOW + LEG_SECONDS - 1)
    assert is_due(trial(), enough, enough, NOW + LEG_SECONDS)
    assert not is_due(trial(), {**enough, "turns": MINIMUM_TURNS - 1}, enough, NOW + LEG_SECONDS)
    assert not is_due(trial(), enough, {**enough, "users": 10}, NOW + 9 * LEG_SECONDS)
    assert not is_due(trial(state="held"), enough, enough, NOW + LEG_SECONDS), "one look, no more"
    assert missing(trial(), {**enough, "turns": 1_500}, enough, NOW) == ("7.0 days", "500 turns of the variant")


def test_an_equal_variant_advances_and_is_kept_at_the_end() -> None:
    rng = default_rng(2)
    assert look(trial(10), *groups(10, rng, HEALTHY)).move == "on"
    found = look(trial(100), *groups(100, rng, HEALTHY))
    assert found.move == "kept"
    assert len(found.why) == len(MEASURES)


@pytest.mark.parametrize(
    ("what", "value", "told"),
    [
        ("failed", 0.08, "failed turns"),
        ("slow", 0.10, "first texts above 1 s"),
        ("cost_usd", 0.016, "cost of a conversation"),
        ("bad", 0.35, "answers judged bad"),
        ("denied", 0.55, "proposals denied"),
        ("left_out", 0.3, "claims left out"),
    ],
)
@pytest.mark.parametrize("share", [10, 50, 100])
def test_a_variant_worse_by_a_threshold_is_rolled_back(share: int, what: str, value: float, told: str) -> None:
    found = look(trial(share), *groups(share, default_rng(3), {**HEALTHY, what: value}))
    assert found.move == "back"
    assert found.why[0].startswith(told), found.why


def test_a_variant_over_a_limit_the_baseline_also_exceeds_is_held() -> None:
    rng, both = default_rng(4), {**HEALTHY, "failed": 0.09}
    found = look(trial(50), users(400, rng, both), users(400, rng, both))
    assert found.move == "held"
    assert "an operator decides" in found.why[-1]


def test_a_slightly_worse_variant_advances_and_is_reported() -> None:
    rng = default_rng(5)
    variant = users(4_000, rng, {**HEALTHY, "failed": 0.035}, spread=40)
    found = look(trial(50), variant, users(4_000, rng, HEALTHY, spread=40))
    assert found.move == "on"
    assert found.why[0].startswith("failed turns: 3.")


def test_decisions_are_not_compared_if_too_few() -> None:
    rng = default_rng(6)
    rows = users(400, rng, {**HEALTHY, "denied": 0.9})
    few = [{**each, "decided": 0.0, "denied": 0.0} for each in rows[30:]]
    found = look(trial(50), [*rows[:30], *few], users(400, rng))
    assert found.move == "on"
    assert "too few to compare" in next(each for each in found.why if each.startswith("proposals denied"))


def test_mismatched_shares_end_the_trial() -> None:
    rng = default_rng(7)
    found = look(trial(50), users(380, rng), users(520, rng))
    assert found == Finding(
        "ended",
        (
            "the shares do not match: 380 of 900 users have it, 50 % should",
            "what was counted cannot be trusted",
        ),
    )


# --- emergencies ------------------------------------------------------------------------------------------------------


def test_error_rates_alarm_from_200_turns_if_doubled_and_above_5_percent() -> None:
    base = {"turns": 5_000, "failed": 100}
    assert is_alarming({"turns": EMERGENCY_TURNS, "failed": 11}, base)
    assert not is_alarming({"turns": EMERGENCY_TURNS - 1, "failed": 150}, base)
    assert not is_alarming({"turns": EMERGENCY_TURNS, "failed": 10}, base), "5 % is not above it"
    assert not is_alarming({"turns": EMERGENCY_TURNS, "failed": 14}, {"turns": 5_000, "failed": 200}), "not doubled"
    assert not is_alarming({"turns": EMERGENCY_TURNS, "failed": 19}, {}), "nobody to compare with"
    assert is_alarming({"turns": EMERGENCY_TURNS, "failed": 20}, {})
    assert not is_alarming({}, {})


def test_one_user_with_only_failures_is_no_emergency_but_many_are() -> None:
    base = [{"turns": 5, "failed": int(each % 10 == 0)} for each in range(400)]
    fine = [{"turns": 5, "failed": 0} for _ in range(38)]
    assert emergency([*fine, {"turns": 15, "failed": 15}], base) is None, "7 % of 205"
    found = emergency([{"turns": 5, "failed": int(each % 4 > 0)} for each in range(40)], base)
    assert found == Finding("back", ("emergency: 15.0% of 200 turns failed, the base's 2.0%",))


# --- many trials ------------------------------------------------------------------------------------------------------


def _stopped_after(variant: list[Counts], base: list[Counts]) -> int | None:
    """The number of turns after which a look, one after each user, finds an emergency."""
    turns = failed = 0.0
    usual = {name: sum(each[name] for each in base) for name in ("turns", "failed")}
    for number, each in enumerate(variant, 1):
        turns, failed = turns + each["turns"], failed + each["failed"]
        if is_alarming({"turns": turns, "failed": failed}, usual) and emergency(variant[:number], base):
            return int(turns)
    return None


def _legs(rng: Generator, given: Mapping[str, float]) -> Iterator[str]:
    """The moves of a trial, leg by leg."""
    for share in (10, 50, 100):
        variant, base = groups(share, rng, given)
        if _stopped_after(variant, base):
            yield "emergency"
            return
        move = look(trial(share), variant, base).move
        yield move
        if move not in ("on", "kept"):
            return


@pytest.mark.thorough
def test_an_emergency_stops_the_trial_at_the_first_look_after_200_turns() -> None:
    rng = default_rng(24)
    for _ in range(count(40, 200)):
        stopped = _stopped_after(users(100, rng, {**HEALTHY, "failed": 0.4}), users(900, rng))
        assert stopped
        assert stopped < 260, "the first look after them: a user has some six turns"


@pytest.mark.nightly
@pytest.mark.thorough
def test_at_most_5_percent_of_equal_variants_are_rolled_back() -> None:
    rng = default_rng(25)
    trials = count(100, 1_000)
    ends = Counter([*_legs(rng, HEALTHY)][-1] for _ in range(trials))
    print(ends)
    assert ends["kept"] >= 0.95 * trials, ends


@pytest.mark.nightly
@pytest.mark.thorough
def test_nearly_all_worse_variants_are_rolled_back_at_the_first_look() -> None:
    for what, value in (("failed", 0.08), ("slow", 0.10), ("cost_usd", 0.016)):
        rng = default_rng(26)
        trials = count(30, 100)
        first = Counter(next(_legs(rng, {**HEALTHY, what: value})) for _ in range(trials))
        print(what, first)
        assert first["back"] + first["emergency"] >= trials - 1, (what, first)


@pytest.mark.thorough
def test_shares_are_accurate_to_one_percent_and_assignments_stable() -> None:
    rollout = begin_trial(Rollout(), "brief", ("chat",), 10, NOW, "t1", "")
    number = count(20_000, 100_000)
    had, kept = set[str](), dict[str, Assignment]()
    for share in (10, 50, 100):
        assert rollout.trial
        if share > 10:
            entry = JournalEntry(at=NOW, by="code", move="on", variant="brief", share=share)
            rollout = move_to_share(rollout, rollout.trial, share, entry)
        users = [f"auth0|{each}" for each in range(number)]
        new = {each: assign(rollout, None, None, each, "chat", is_new=True) for each in users}
        has = {user for user, each in new.items() if each and each.variant == "brief"}
        assert abs(100 * len(has) / number - share) < 1
        assert had <= has, "whoever has it keeps it"
        for user, earlier in kept.items():
            again = assign(rollout, earlier, None, user, "chat", is_new=False)
            assert again
            assert again.variant == earlier.variant, "and so does a conversation under way"
        kept = kept or {user: each for user, each in new.items() if each}
        had = has


def test_the_baseline_at_100_percent_is_that_of_the_previous_leg() -> None:
    rollout = begin_trial(Rollout(), "brief", ("chat",), 10, NOW, "t1", "")
    for share in (50, 100):
        assert rollout.trial
        entry = JournalEntry(at=NOW, by="code", move="on", variant="brief", share=share)
        rollout = move_to_share(rollout, rollout.trial, share, entry)
    assert rollout.trial
    assert rollout.trial.tags == ("t1:2:brief", f"t1:1:{BASE}")
