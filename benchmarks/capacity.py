"""The load of so many users on a stage, on counts: a simulation of days, against what the template allows.

`python -m benchmarks.capacity` prints the table of `docs/capacity.md`. Nothing runs: turns, polls, conversations to be
read, nights, approvals and mails are counted minute by minute, and what a sweep cannot take waits for the next.
"""

import math
import random
import re
from collections import deque
from dataclasses import dataclass, field

from infra.local.environment import FUNCTION, ROOT
from infra.machines import read_machine
from infra.stages import Stage

DAYS, MINUTES = 5, 1_440
SEED = 17
ACCOUNT_SLOTS = 1_000
REQUESTS_A_SECOND = 10
"""That a function URL takes for each reserved slot."""
COMMANDS = {"turn": 12, "poll": 6, "extraction": 24, "night": 14, "approval": 20}
"""Database commands of each; a turn's and a poll's are counted in `tests/functions/test_round_trips.py`."""
COMMANDS_A_SECOND = 1_000
"""Of small commands by index that an M30 bears beside the candidate app; an assumption of ours, to be measured."""
MAILS_A_SECOND = 14
"""SES's first quota outside its sandbox."""


@dataclass(frozen=True)
class Load:
    """The work that people cause. All but the number of users is assumed."""

    users: int = 50_000
    active: float = 0.2
    """Share of users who come on one day."""
    conversations: float = 1.3
    """Of an active user, a day."""
    turns: int = 6
    turn_seconds: float = 12.0
    minutes_open: float = 20.0
    """That an active user's page is open."""
    remembers: float = 0.6
    """Share of conversations that leave something new to consolidate."""
    asks: float = 0.15
    """Approvals of an active user."""
    mailed: float = 0.3
    """Share of approvals that nobody decides at once; each is mailed, and once more at half its time."""
    extraction_seconds: float = 20.0
    night_seconds: float = 8.0
    """For one user: two model requests and what is written."""
    answers: float = 0.3
    """Of interviews, a conversation; each is drafted beside its turn."""
    documents: float = 0.05
    """Cards, résumés for a job and letters, a conversation."""
    resumes: float = 0.02
    """Given to be read, a conversation."""
    lessons: float = 0.03
    """A conversation."""
    searches: float = 0.5
    """Job searches of an active user, a day."""
    briefings: float = 0.5
    """Of an active user, a day."""
    hours: tuple[float, ...] = field(
        default=(1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 7, 8, 8, 6, 4, 2), repr=False
    )
    """Weight of each hour of the day (UTC)."""


@dataclass(frozen=True)
class Background:
    """The work of a workflow beside the turns."""

    what: str
    of: str
    """The field of `Load` that counts it, a conversation."""
    seconds: int
    """Of one slot of the readers, for one of them."""


SLOT_MINUTES = 25
"""That a state waits for a free slot before it fails."""


BACKGROUND = (
    Background("an interview's draft", "answers", 15),
    Background("a card or a document", "documents", 240),
    Background("a résumé", "resumes", 60),
    Background("a lesson", "lessons", 90),
)


@dataclass(frozen=True)
class Limits:
    """The limits of the stage."""

    chat_slots: int
    api_slots: int
    conversations_a_sweep: int
    minutes_between_sweeps: int
    conversations_at_once: int
    users_a_night: int
    nights: tuple[int, ...]
    """Minutes of the day at which the consolidation starts."""
    users_at_once: int
    approvals_a_minute: int
    reader_slots: int
    """What all of `BACKGROUND` shares."""

    @classmethod
    def of(cls, stage: Stage) -> "Limits":
        template = stage.template
        settings = {
            name: value for each in template.of_type(FUNCTION) for name, value in template.environment(each).items()
        }
        schedules = {
            name: template.text(each["ScheduleExpression"])
            for name, each in template.of_type("AWS::Scheduler::Schedule").items()
        }
        between = re.fullmatch(r"rate\((\d+) minutes\)", schedules["ExtractMemoriesSchedule"])
        night = re.fullmatch(r"cron\((\d+) ([\d,]+) \* \* \? \*\)", schedules["ConsolidateSchedule"])
        assert between
        assert night
        minute, hours = night.groups()
        return cls(
            chat_slots=template.reserved("ChatFunction") or ACCOUNT_SLOTS,
            api_slots=template.reserved("ApiFunction") or ACCOUNT_SLOTS,
            conversations_a_sweep=int(settings["CONVERSATIONS_A_SWEEP"]),
            minutes_between_sweeps=int(between[1]),
            conversations_at_once=_at_once("extract_memories", "read_conversations"),
            users_a_night=int(settings["USERS_A_NIGHT"]),
            nights=tuple(int(hour) * 60 + int(minute) for hour in hours.split(",")),
            users_at_once=_at_once("consolidate", "each_user"),
            approvals_a_minute=int(settings["APPROVALS_A_SWEEP"]),
            reader_slots=template.reserved("GenerateReaderFunction") or ACCOUNT_SLOTS,
        )


def _at_once(machine: str, state: str) -> int:
    definition = read_machine(ROOT / f"statemachines/{machine}.asl.yaml")
    return definition["States"][state]["MaxConcurrency"]


@dataclass(frozen=True)
class Row:
    what: str
    needed: float
    """At the worst moment."""
    limit: float
    unit: str

    @property
    def holds(self) -> bool:
        return self.needed <= self.limit


def simulate(load: Load, limits: Limits) -> list[Row]:
    chance = random.Random(SEED)  # noqa: S311, a simulation
    beside = random.Random(SEED)  # noqa: S311
    slots = _Queue()
    weights = [weight / sum(load.hours) / 60 for weight in load.hours]
    talks_a_day = load.users * load.active * load.conversations
    extraction, night = _Queue(), _Queue()
    # Whoever waits for the night is one user, however much they leave.
    most_streams = most_polls = most_commands = 0.0
    approvals_a_day = load.users * load.active * load.asks
    due: dict[int, int] = {}
    most_due = most_mails = 0
    sweep_room = min(
        limits.conversations_a_sweep,
        # Executions overlap: what one has not ended, the next has beside it, within `PICKED_SECONDS`.
        2 * limits.conversations_at_once * limits.minutes_between_sweeps * 60 / load.extraction_seconds,
    )
    night_room = limits.users_a_night
    for minute in range(DAYS * MINUTES):
        share = weights[minute % MINUTES // 60]
        talks = _poisson(chance, talks_a_day * share)
        turns = _poisson(chance, talks_a_day * load.turns * share)
        streams = _poisson(chance, talks_a_day * load.turns * share * load.turn_seconds / 60)
        pages = load.users * load.active * share * load.minutes_open
        polls = _poisson(chance, pages * 2 + streams * 30) / 60
        asked = _poisson(chance, approvals_a_day * share)
        mailed = _poisson(chance, asked * load.mailed)
        for later in (0, 720):  # the mail, and the second one at half the time
            due[minute + later] = due.get(minute + later, 0) + mailed
        now_due = due.pop(minute, 0)
        for each in BACKGROUND:
            slots.add(minute, each.seconds * _poisson(beside, talks_a_day * getattr(load, each.of) * share))
        slots.take(minute, limits.reader_slots * 60)
        extraction.add(minute + 10, talks)
        read = extraction.take(minute, sweep_room) if minute % limits.minutes_between_sweeps == 0 else 0
        night.add(minute, _poisson(chance, talks * load.remembers / load.conversations))
        merged = night.take(minute, night_room) if minute % MINUTES in limits.nights else 0
        commands = (
            COMMANDS["turn"] * turns / 60
            + COMMANDS["poll"] * polls
            + COMMANDS["extraction"] * read / (limits.minutes_between_sweeps * 60)
            + COMMANDS["night"] * min(merged, limits.users_at_once * 60 / load.night_seconds) / 60
            + COMMANDS["approval"] * (asked + now_due) / 60
        )
        most_streams, most_polls = max(most_streams, streams), max(most_polls, polls)
        most_commands, most_due = max(most_commands, commands), max(most_due, now_due)
        most_mails = max(most_mails, now_due)
    night_minutes = limits.users_a_night * load.night_seconds / limits.users_at_once / 60
    return [
        Row("turns that stream at once", most_streams, limits.chat_slots, "slots"),
        Row("polls and other requests", most_polls, limits.api_slots * REQUESTS_A_SECOND, "a second"),
        Row("conversations read for memories", talks_a_day, _a_day(limits, sweep_room), "a day"),
        Row("the longest wait to be read, beside the ten minutes of silence", extraction.longest, 60, "minutes"),
        Row("users consolidated", night.taken / DAYS, limits.users_a_night * len(limits.nights), "a day"),
        Row("the longest wait for a night", night.longest / 60, 24, "hours"),
        Row("how long one night's execution takes", night_minutes, 120, "minutes"),
        Row("the longest wait for a slot of the readers", slots.longest, SLOT_MINUTES, "minutes"),
        Row("approvals due", most_due, limits.approvals_a_minute, "a minute"),
        Row("mails", most_mails / 60, MAILS_A_SECOND, "a second"),
        Row("commands to the database", most_commands, COMMANDS_A_SECOND, "a second"),
    ]


def _a_day(limits: Limits, room: float) -> float:
    return room * MINUTES / limits.minutes_between_sweeps


@dataclass
class _Queue:
    """First come, first served."""

    waiting: deque[tuple[int, int]] = field(default_factory=deque[tuple[int, int]])
    longest: int = 0
    """Minutes that somebody waited, or waits."""
    taken: int = 0

    def add(self, due: int, count: int) -> None:
        if count:
            self.waiting.append((due, count))

    def take(self, minute: int, room: float) -> int:
        left = int(room)
        while left and self.waiting and self.waiting[0][0] <= minute:
            due, count = self.waiting.popleft()
            self.longest = max(self.longest, minute - due)
            if count > left:
                self.waiting.appendleft((due, count - left))
            left -= min(count, left)
        taken = int(room) - left
        self.taken += taken
        return taken


def _poisson(chance: random.Random, mean: float) -> int:
    """By the normal approximation above 50; below it by counting (Knuth)."""
    if mean > 50:
        return max(0, round(chance.gauss(mean, math.sqrt(mean))))
    limit, count, product = math.exp(-mean), 0, chance.random()
    while product > limit:
        count, product = count + 1, product * chance.random()
    return count


def table(load: Load, limits: Limits) -> str:
    rows = simulate(load, limits)
    lines = ["| at the worst moment | needed | limit | share |", "|---|---|---|---|"]
    lines += [
        f"| {row.what} | {row.needed:,.0f} {row.unit} | {row.limit:,.0f} {row.unit} | {row.needed / row.limit:.0%} |"
        for row in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(Load(), Limits.of(Stage.load("prod"))))
