"""Simulate the load of so many users on a stage over days, in counts, and compare it with the limits of the template
and a cluster.

`python -m benchmarks.capacity` prints the tables of `docs/capacity.md`. Nothing is executed: turns, polls,
conversations to be read, nights, job searches, approvals and mails are counted minute by minute, and work that exceeds
a sweep's limit waits for the next. Stored data is counted from the daily input and the retention time.
"""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np

from infra.doctor.quotas import connections_of
from infra.local.environment import FUNCTION, ROOT
from infra.machines import read_machine
from infra.stages import Stage
from qwestly_agent.jobs.writer import HOUR as SEARCH_HOUR
from qwestly_agent.platform.collection import Expires, MongoCollection
from qwestly_agent.stores import activity, approvals, briefings, conversations, drafts, jobs, learning, messages

DAYS, MINUTES, HOURS = 4, 1_440, 24
SEED = 17
ACCOUNT_SLOTS = 1_000
REQUESTS_A_SECOND = 10
"""Requests per second that a function URL accepts for each reserved slot."""
COMMANDS = {"turn": 12, "poll": 6, "extraction": 24, "night": 14, "approval": 20, "search": 97, "briefing": 12}
"""Database commands of each; those of a turn and a poll are counted in `tests/functions/test_round_trips.py`."""
MAILS_A_SECOND = 14
"""SES's first quota outside its sandbox."""
SLOT_MINUTES = 25
"""Minutes that a state waits for a free slot before it fails."""
SEARCH_HOURS = 4
"""Hours that a job search may be late before the alarm `JobsWait`."""


# --- what people do ---------------------------------------------------------------------------------------------------

ALL_ZONES: Mapping[int, float] = {-8: 0.1, -6: 0.1, -5: 0.2, 0: 0.15, 1: 0.25, 2: 0.1, 5: 0.05, 8: 0.05}
"""Share of the users by hours ahead of UTC."""
ONE_ZONE: Mapping[int, float] = {1: 1.0}


@dataclass(frozen=True)
class Load:
    """The work caused by users. All but the number of users is assumed."""

    users: int = 50_000
    zones: Mapping[int, float] = field(default_factory=lambda: ALL_ZONES)
    active: float = 0.2
    """Share of users who are active on a given day."""
    conversations: float = 1.3
    """Conversations per active user and day."""
    turns: int = 6
    turn_seconds: float = 12.0
    minutes_open: float = 20.0
    """Minutes a day that an active user keeps the page open."""
    embedded: float = 0.6
    """Share of typed messages that are long enough to get a vector."""
    memories: int = 40
    """Memories per user."""
    remembers: float = 0.6
    """Share of active users who leave something new to consolidate."""
    asks: float = 0.15
    """Approvals per active user."""
    mailed: float = 0.3
    """Share of approvals that are not decided at once; each is mailed, and once more at half its time."""
    extraction_seconds: float = 20.0
    night_seconds: float = 8.0
    """Seconds of a night per user: two model requests and the writes."""
    answers: float = 0.3
    """Interview answers per conversation; each is drafted in parallel to its turn."""
    documents: float = 0.05
    """Cards, tailored résumés and letters per conversation."""
    resumes: float = 0.02
    """Uploaded résumés per conversation."""
    lessons: float = 0.03
    """Lessons per conversation."""
    searches: float = 0.5
    """Job searches per active user and night."""
    search_seconds: int = 60
    """Seconds that a search of two states occupies one slot of the readers."""
    matches: float = 5
    """Jobs that a search shows for the first time."""
    briefings: float = 0.5
    """Briefings per active user and day."""
    hours: Sequence[float] = field(
        default=(2, 1, 1, 1, 1, 2, 4, 8, 12, 14, 14, 14, 13, 14, 14, 14, 14, 15, 17, 20, 20, 16, 10, 5), repr=False
    )
    """Weight of each hour of a person's day."""

    @property
    def active_users(self) -> float:
        return self.users * self.active

    @property
    def conversations_a_day(self) -> float:
        return self.active_users * self.conversations

    def by_minute(self) -> np.ndarray:
        """Return the share of a day's work in each minute of a day (UTC)."""
        of_an_hour = np.array(self.hours) / sum(self.hours)
        of_all = [share * np.roll(of_an_hour, -ahead) for ahead, share in self.zones.items()]
        return np.repeat(np.sum(of_all, axis=0) / 60, 60)

    def searches_by_minute(self) -> np.ndarray:
        """Return the share of a night's searches that become due in each minute of a day (UTC)."""
        of_hours = np.zeros(HOURS)
        for ahead, share in self.zones.items():
            of_hours[(SEARCH_HOUR - ahead) % HOURS] += share
        return np.repeat(of_hours / 60, 60)


@dataclass(frozen=True)
class Background:
    """The work of a workflow in parallel to turns."""

    what: str
    of: str
    """The field of `Load` that counts it per conversation."""
    seconds: int
    """Seconds that each occupies one slot of the readers."""


BACKGROUND = (
    Background("an interview's draft", "answers", 15),
    Background("a card or a document", "documents", 240),
    Background("a résumé", "resumes", 60),
    Background("a lesson", "lessons", 90),
)


# --- what is stored ---------------------------------------------------------------------------------------------------

COMPRESSED = 0.5
"""Compressed size of a document on the disk, as a share (assumed). Vectors are not compressed."""
INT8, FLOAT32 = 1_560, 6_170
"""Bytes of a stored vector."""
INDEXED_VECTOR = 1_700
"""Bytes of a vector in its index's memory, including the graph; both kinds take a byte for each dimension."""


@dataclass(frozen=True)
class Stored:
    """Documents of a kind. Their bytes are those of the demo's recorded weeks, without vectors."""

    what: str
    count: float
    bytes: int
    vector: int = 0

    @property
    def disk(self) -> float:
        return self.count * (self.bytes * COMPRESSED + self.vector)


def stored(load: Load) -> list[Stored]:
    """Return what is there once as much expires as comes in."""
    talks, active = load.conversations_a_day, load.active_users
    said = talks * load.turns
    vectors = said * load.embedded * messages.VECTOR_KEPT_SECONDS / 86_400
    return [
        Stored("messages and answers", said * 2 * _days(messages.COLLECTION), 1_620),
        Stored("vectors of messages", vectors, 0, INT8),
        Stored("conversations", talks * _days(conversations.COLLECTION), 7_490),
        Stored("calls of tools", said / 2 * _days(messages.TOOL_CALLS), 620),
        Stored("memories", load.users * load.memories, 890, FLOAT32),
        Stored("approvals", active * load.asks * _days(approvals.COLLECTION), 8_010),
        Stored("drafts", talks * (load.documents + load.answers) * _days(drafts.COLLECTION), 34_290),
        Stored("lessons", talks * load.lessons * _days(learning.LESSONS), 14_370),
        Stored("matches", active * load.searches * load.matches * _days(jobs.JOB_MATCHES), 2_270),
        Stored("briefings", active * load.briefings * _days(briefings.BRIEFINGS), 3_250),
        Stored("events", said * _days(activity.COLLECTION), 440),
    ]


def _days(collection: MongoCollection) -> float:
    assert isinstance(collection.retention, Expires)
    return collection.retention.after / timedelta(days=1)


# --- what there is ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cluster:
    """A size of Atlas on AWS, each of three members, as of November 2026."""

    usd: float
    """A month, in us-east-1, with its disk."""
    memory: int
    """GB."""
    disk: int
    """GB that its price includes."""
    connections: int
    commands: int
    """A second, small and by index, that it bears beside the candidate app: assumed, to be measured."""

    @property
    def of_vectors(self) -> float:
        """GB for the indexes of vectors, which share the memory with the database's cache."""
        return self.memory / 2


CLUSTERS = {
    "M10": Cluster(57, 2, 10, 1_500, 300),
    "M30": Cluster(389, 8, 40, 3_000, 1_000),
    "M40": Cluster(759, 16, 80, 6_000, 2_000),
    "M50": Cluster(1_460, 32, 160, 16_000, 4_000),
    "M60": Cluster(2_847, 64, 320, 32_000, 8_000),
}


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
    searches_a_sweep: int
    minutes_between_searches: int
    reader_slots: int
    """Slots shared by all of `BACKGROUND` and the searches."""
    connections: int
    """Connections of all environments of two versions, with each driver's monitor."""

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
        night = re.fullmatch(r"cron\((\d+) ([\d,]+) \* \* \? \*\)", schedules["ConsolidateSchedule"])
        assert night
        minute, hours = night.groups()
        return cls(
            chat_slots=template.reserved("ChatFunction") or ACCOUNT_SLOTS,
            api_slots=template.reserved("ApiFunction") or ACCOUNT_SLOTS,
            conversations_a_sweep=int(settings["CONVERSATIONS_A_SWEEP"]),
            minutes_between_sweeps=minutes_of(schedules["ExtractMemoriesSchedule"]),
            conversations_at_once=at_once("extract_memories", "read_conversations"),
            users_a_night=int(settings["USERS_A_NIGHT"]),
            nights=tuple(int(hour) * 60 + int(minute) for hour in hours.split(",")),
            users_at_once=at_once("consolidate", "each_user"),
            approvals_a_minute=int(settings["APPROVALS_A_SWEEP"]),
            searches_a_sweep=int(settings["JOB_SEARCHES_A_SWEEP"]),
            minutes_between_searches=minutes_of(schedules["ScoutSweepSchedule"]),
            reader_slots=template.reserved("GenerateReaderFunction") or ACCOUNT_SLOTS,
            connections=connections_of(stage),
        )


def minutes_of(rate: str) -> int:
    """Return the minutes of a schedule such as `rate(5 minutes)`."""
    found = re.fullmatch(r"rate\((\d+) minutes?\)", rate)
    assert found, rate
    return int(found[1])


def at_once(machine: str, state: str) -> int:
    definition = read_machine(ROOT / f"statemachines/{machine}.asl.yaml")
    return definition["States"][state]["MaxConcurrency"]


# --- one against the other --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    what: str
    needed: float
    """The peak demand, whether it is served or not."""
    limit: float
    unit: str
    raised_by: str
    """The parameter that raises the limit."""

    @property
    def share(self) -> float:
        return self.needed / self.limit

    @property
    def holds(self) -> bool:
        return self.needed <= self.limit


def users_an_hour(load: Load, limits: Limits) -> float:
    """Return how many users one night's execution consolidates in an hour."""
    return limits.users_at_once * 3_600 / load.night_seconds


def simulate(load: Load, limits: Limits, cluster: Cluster) -> list[Row]:
    chance = np.random.default_rng(SEED)
    minutes = np.tile(load.by_minute(), DAYS)
    talks_a_day, active = load.conversations_a_day, load.active_users
    talks = chance.poisson(talks_a_day * minutes)
    turns = chance.poisson(talks_a_day * load.turns * minutes)
    streams = chance.poisson(talks_a_day * load.turns * minutes * load.turn_seconds / 60)
    polls = chance.poisson(active * minutes * load.minutes_open * 2 + streams * 30) / 60
    asked = chance.poisson(active * load.asks * minutes)
    mailed = chance.binomial(asked, load.mailed)
    due = mailed + np.roll(mailed, MINUTES // 2)  # the mail, and the second one at half the time
    briefed = chance.poisson(active * load.briefings * minutes)
    works = [each.seconds * chance.poisson(talks_a_day * getattr(load, each.of) * minutes) for each in BACKGROUND]
    background = np.sum(works, axis=0)
    remembering = chance.poisson(active * load.remembers * minutes)
    searching = chance.poisson(active * load.searches * np.tile(load.searches_by_minute(), DAYS))
    reading, nights, searches, slots = Queue(), Queue(), Queue(), Queue()
    read, merged, begun = (np.zeros(len(minutes)) for _ in range(3))
    sweep_room = min(
        limits.conversations_a_sweep,
        # Executions overlap: what one has not ended, the next has beside it, within `PICKED_SECONDS`.
        2 * limits.conversations_at_once * limits.minutes_between_sweeps * 60 / load.extraction_seconds,
    )
    for minute in range(len(minutes)):
        reading.add(minute + 10, talks[minute])
        nights.add(minute, remembering[minute])
        searches.add(minute, searching[minute])
        if minute % limits.minutes_between_sweeps == 0:
            read[minute] = reading.take(minute, sweep_room)
        if minute % MINUTES in limits.nights:
            merged[minute] = nights.take(minute, limits.users_a_night)
        if minute % limits.minutes_between_searches == 0:
            begun[minute] = searches.take(minute, limits.searches_a_sweep)
        slots.add(minute, background[minute] + load.search_seconds * begun[minute])
        slots.take(minute, limits.reader_slots * 60)
    commands = (
        COMMANDS["turn"] * turns / 60
        + COMMANDS["poll"] * polls
        + COMMANDS["extraction"] * _spread(read, limits.minutes_between_sweeps) / 60
        + COMMANDS["night"] * _spread(merged, round(limits.users_a_night / users_an_hour(load, limits) * 60)) / 60
        + COMMANDS["approval"] * (asked + due) / 60
        + COMMANDS["search"] * _spread(begun, limits.minutes_between_searches) / 60
        + COMMANDS["briefing"] * briefed / 60
    )
    kept = stored(load)
    vectors = sum(each.count for each in kept if each.vector) * INDEXED_VECTOR / 1e9
    night_minutes = limits.users_a_night / users_an_hour(load, limits) * 60
    between_nights = float(min(np.diff(limits.nights, append=limits.nights[0] + MINUTES)))
    sweeps_a_day = MINUTES / limits.minutes_between_sweeps
    larger = "a larger cluster"
    return [
        Row("turns that stream at once", max(streams), limits.chat_slots, "slots", "`ChatReservedConcurrency`"),
        Row(
            "polls and other requests",
            max(polls),
            limits.api_slots * REQUESTS_A_SECOND,
            "a second",
            "`ApiReservedConcurrency`",
        ),
        Row(
            "conversations to read for memories",
            talks_a_day,
            sweep_room * sweeps_a_day,
            "a day",
            "`CONVERSATIONS_A_SWEEP`",
        ),
        Row(
            "the longest wait to be read, beside the ten minutes of silence",
            reading.longest,
            60,
            "minutes",
            "`CONVERSATIONS_A_SWEEP`",
        ),
        Row(
            "users to consolidate",
            active * load.remembers,
            limits.users_a_night * len(limits.nights),
            "a day",
            "the hours of `ConsolidateSchedule`",
        ),
        Row("the longest wait for a night", nights.longest / 60, 24, "hours", "the hours of `ConsolidateSchedule`"),
        Row(
            "how long one night's execution takes",
            night_minutes,
            between_nights,
            "minutes",
            "`MaxConcurrency` of `consolidate`",
        ),
        Row(
            "the longest wait of a nightly job search",
            searches.longest / 60,
            SEARCH_HOURS,
            "hours",
            "`JOB_SEARCHES_A_SWEEP`",
        ),
        Row(
            "the longest wait for a slot of the readers",
            slots.longest,
            SLOT_MINUTES,
            "minutes",
            "`ReaderReservedConcurrency`",
        ),
        Row("approvals due", max(due), limits.approvals_a_minute, "a minute", "`APPROVALS_A_SWEEP`"),
        Row("mails", max(due + briefed) / 60, MAILS_A_SECOND, "a second", "SES's quota"),
        Row("commands to the database", max(commands), cluster.commands, "a second", larger),
        Row("connections to a member", limits.connections, cluster.connections, "", larger),
        Row("disk, once as much expires as comes", sum(each.disk for each in kept) / 1e9, cluster.disk, "GB", larger),
        Row("memory of the vectors' indexes", vectors, cluster.of_vectors, "GB", larger),
    ]


def _spread(count: np.ndarray, minutes: int) -> np.ndarray:
    """Return the work of each minute, if work that starts in one takes so many minutes."""
    return np.convolve(count, np.ones(max(1, minutes)) / max(1, minutes))[: len(count)]


@dataclass
class Queue:
    """First come, first served."""

    waiting: deque[tuple[int, int]] = field(default_factory=deque[tuple[int, int]])
    longest: int = 0
    """Minutes of the longest wait, past or current."""

    def add(self, due: int, count: float) -> None:
        if count:
            self.waiting.append((due, int(count)))

    def take(self, minute: int, room: float) -> int:
        left = int(room)
        while left and self.waiting and self.waiting[0][0] <= minute:
            due, count = self.waiting.popleft()
            self.longest = max(self.longest, minute - due)
            if count > left:
                self.waiting.appendleft((due, count - left))
            left -= min(count, left)
        if self.waiting:
            self.longest = max(self.longest, minute - self.waiting[0][0])
        return int(room) - left


# --- what is promised -------------------------------------------------------------------------------------------------

PROMISED = {10_000: "M30", 50_000: "M50"}
"""The cluster with which a prod stage serves so many users, spread over the time zones."""
SIZES = {**PROMISED, 100_000: "M60"}


MOST_THOUSANDS = 200
"""Thousands of users at which some limit is certainly exceeded."""


class Broken(Exception):
    """A promised capacity is not met."""


def table(users: int) -> str:
    """Return the rows of one of `SIZES`. Raises `Broken` if it is promised and not met."""
    rows = simulate(Load(users), Limits.of(Stage.load("prod")), CLUSTERS[SIZES[users]])
    if users in PROMISED and (broken := [row.what for row in rows if not row.holds]):
        raise Broken(f"{users:,} users on an {PROMISED[users]}: {', '.join(broken)}")
    lines = ["| at the worst moment | needed | limit | share | raised by |", "|---|---|---|---|---|"]
    lines += [
        f"| {row.what} | {row.needed:,.0f} {row.unit} | {row.limit:,.0f} {row.unit} | {row.share:.0%} "
        f"| {row.raised_by} |"
        for row in rows
    ]
    return "\n".join(lines)


def first_to_break(zones: Mapping[int, float], limits: Limits, cluster: Cluster) -> tuple[int, Row]:
    """Return the number of users, in thousands, at which a limit is first exceeded, and which limit."""

    def broken(thousands: int) -> list[Row]:
        rows = simulate(Load(1_000 * thousands, zones), limits, cluster)
        return [row for row in rows if not row.holds]

    first = bisect_left(range(MOST_THOUSANDS), 1, lo=1, key=lambda thousands: bool(broken(thousands)))
    return 1_000 * first, max(broken(first), key=lambda row: row.share)


if __name__ == "__main__":
    for users in SIZES:
        print(f"{users:,} users, {SIZES[users]}\n{table(users)}\n")
