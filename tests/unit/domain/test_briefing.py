"""The time of the next briefing, a pure function."""

import random
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest

from qwestly_agent.domain.briefing import BriefingSettings, next_briefing

DAY = 86_400.0
ZONES = sorted(available_timezones())


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def local(moment: float, zone: str) -> str:
    return datetime.fromtimestamp(moment, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("after", "hour", "zone", "expected"),
    [
        ("2026-11-23 07:59", 8, "Europe/Lisbon", "2026-11-23 08:00"),
        ("2026-11-23 08:00", 8, "Europe/Lisbon", "2026-11-24 08:00"),
        ("2026-03-07 12:00", 2, "America/New_York", "2026-03-08 03:30"),  # 02:30 does not exist
        ("2026-10-31 12:00", 1, "America/New_York", "2026-11-01 01:30"),  # occurs twice
        ("2026-12-31 23:00", 0, "Asia/Kathmandu", "2027-01-01 00:30"),
    ],
)
def test_a_briefing_is_scheduled_at_the_users_hour(after: str, hour: int, zone: str, expected: str) -> None:
    minute = 0 if hour == 8 else 30
    planned = next_briefing(BriefingSettings(on=True, hour=hour, minute=minute), zone, at(after, zone))
    assert local(planned.at, zone) == expected
    assert planned.day == expected[:10]


def test_a_day_skipped_by_a_time_zone_has_no_briefing() -> None:
    settings, zone = BriefingSettings(on=True), "Pacific/Apia"  # which had no 30 December in 2011
    first = next_briefing(settings, zone, at("2011-12-29 12:00", zone), "2011-12-29")
    second = next_briefing(settings, zone, first.at, first.day)
    assert [local(each.at, zone) for each in (first, second)] == ["2011-12-31 08:00", "2012-01-01 08:00"]


SOME = random.Random(24).sample(ZONES, 60)


@pytest.mark.parametrize(
    "zone", [*SOME, *(pytest.param(each, marks=pytest.mark.thorough) for each in ZONES if each not in SOME)]
)
def test_each_time_zone_gets_one_briefing_a_day_over_a_year(zone: str) -> None:
    chance = random.Random(zone)
    settings = BriefingSettings(on=True, hour=chance.randrange(24), minute=chance.randrange(60))
    now, told, days = at("2026-01-01 00:00", zone) - 1, None, []
    while not days or days[-1] < "2026-12-31":
        planned = next_briefing(settings, zone, now, told)
        assert planned.at > now
        now, told = planned.at, planned.day
        days.append(planned.day)
    assert days == [(date(2026, 1, 1) + timedelta(days=n)).isoformat() for n in range(365)]


def test_a_briefing_is_sent_on_chosen_days_only() -> None:
    settings, now = BriefingSettings(on=True, days=(0, 4)), at("2026-11-23 12:00")  # a Monday
    planned = [next_briefing(settings, "UTC", now + n * DAY).day for n in (0, 1, 4, 5)]
    assert planned == ["2026-11-27", "2026-11-27", "2026-11-30", "2026-11-30"]


@pytest.mark.thorough
def test_changing_zone_and_hour_never_briefs_twice_a_day() -> None:
    for seed in range(300):
        chance = random.Random(seed)
        now, told, seen = datetime(2026, 3, 1, tzinfo=UTC).timestamp(), None, []
        zone, settings = chance.choice(ZONES), BriefingSettings(on=True)
        planned = next_briefing(settings, zone, now, told)
        for _ in range(60):
            if chance.random() < 0.4:  # a change before it is sent
                now += chance.random() * max(0.0, planned.at - now)
                zone = chance.choice(ZONES)
                settings = BriefingSettings(on=True, hour=chance.randrange(24), minute=chance.randrange(60))
            else:
                now, told = planned.at, planned.day
                seen.append(planned.day)
            planned = next_briefing(settings, zone, now, told)
            assert 0 < planned.at - now <= 3 * DAY
        assert seen == sorted(set(seen))
