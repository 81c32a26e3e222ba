"""The capacities promised in docs/capacity.md are met, and one that is not met is detected."""

from dataclasses import replace

import pytest

from benchmarks import capacity, costs
from benchmarks.capacity import (
    ALL_ZONES,
    CLUSTERS,
    ONE_ZONE,
    PROMISED,
    Broken,
    Limits,
    Load,
    Row,
    first_to_break,
    simulate,
    table,
)
from infra.stages import Stage
from qwestly_agent.stores import messages

LIMITS = Limits.of(Stage.load("prod"))
LARGEST = CLUSTERS["M60"]


def broken(load: Load, limits: Limits = LIMITS, cluster: capacity.Cluster = LARGEST) -> dict[str, Row]:
    return {row.what: row for row in simulate(load, limits, cluster) if not row.holds}


@pytest.mark.parametrize(("users", "cluster"), PROMISED.items())
def test_a_promised_capacity_is_confirmed(users: int, cluster: str) -> None:
    assert broken(Load(users), cluster=CLUSTERS[cluster]) == {}


def test_a_promised_capacity_that_is_not_met_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "PROMISED", {50_000: "M30"})
    monkeypatch.setattr(capacity, "SIZES", {50_000: "M30"})
    with pytest.raises(Broken, match=r"disk.*memory of the vectors"):
        table(50_000)


def test_work_beyond_a_sweeps_limit_waits_and_is_reported() -> None:
    assert broken(Load(), replace(LIMITS, conversations_a_sweep=40, nights=LIMITS.nights[:1])).keys() == {
        "conversations to read for memories",
        "the longest wait to be read, beside the ten minutes of silence",
        "users to consolidate",
        "the longest wait for a night",
    }


def test_users_waiting_for_a_night_are_counted_whether_served_or_not() -> None:
    row = broken(Load(70_000))["users to consolidate"]
    assert (row.needed, row.limit) == (8_400, 7_500)


def test_searches_due_in_one_time_zone_exceed_the_alarms_wait() -> None:
    assert broken(Load(30_000)) == {}
    assert broken(Load(30_000, ONE_ZONE)).keys() == {"the longest wait of a nightly job search"}


def test_vectors_of_a_year_fill_the_memory_of_their_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "VECTOR_KEPT_SECONDS", messages.RETENTION_SECONDS)
    assert broken(Load(50_000), cluster=CLUSTERS["M50"]).keys() == {"memory of the vectors' indexes"}


def test_connections_are_counted_for_two_versions_including_monitors() -> None:
    reserved, unreserved = 50 + 15 + 10 + 50, 75
    assert LIMITS.connections == 2 * (reserved + unreserved) * (5 + 1)


def test_a_stage_fails_at_its_computed_limit_and_not_before() -> None:
    at, row = first_to_break(ALL_ZONES, LIMITS, LARGEST)
    assert broken(Load(at - 1_000)) == {}
    assert row.what in broken(Load(at))


def test_a_state_inside_a_map_costs_per_item_and_one_outside_costs_once() -> None:
    assert costs.path_of("consolidate") == ("find_users", "each_user", "sum_up", "all_users", "consolidated")
    assert costs.path_of("consolidate", "each_user") == ("plan", "replacements", "nothing_to_replace")
