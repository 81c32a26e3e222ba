"""The costs of a stage: the formula behind the tables of `docs/capacity.md`, from counts, prices and the template.

`python -m benchmarks.costs` prints both. The only measurements are those in `benchmarks/results.json`: the rest are
counts of `benchmarks.capacity.Load` and the assumptions below, each with its unit.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.capacity import (
    ALL_ZONES,
    BACKGROUND,
    CLUSTERS,
    HOURS,
    ONE_ZONE,
    PROMISED,
    SIZES,
    Limits,
    Load,
    Row,
    first_to_break,
    minutes_of,
)
from benchmarks.figures import OFF_PEAK_TURNS
from infra.local.environment import FUNCTION, ROOT, Template
from infra.machines import read_machine
from infra.stages import Stage

DAYS = 30

# AWS, on demand, us-east-1, and Atlas on AWS, in USD, as of November 2026. Look them up before you budget with them.
GB_SECOND, MILLION_CALLS = 0.0000133334, 0.20
"""Lambda on arm64."""
SNAPSHOT_GB_SECOND = 0.0000015046
TRANSITION = 25 / 1_000_000
"""The price of a transition of a Standard state machine."""
LOG_GB, METRIC, ALARM, DASHBOARD, TRACE = 0.50, 0.30, 0.10, 3.0, 5 / 1_000_000
MAIL, KEY = 0.10 / 1_000, 1.0

# Per million tokens, off-peak: input, cached input, output. Peak hours cost twice as much.
FAST, PRO = (0.15, 0.003, 0.60), (0.66, 0.022, 1.98)


@dataclass(frozen=True)
class Tokens:
    """The tokens of one piece of work by a tier's model. `cached` tokens are not included in the input."""

    price: tuple[float, float, float]
    input: int
    output: int
    cached: int = 0

    @property
    def usd(self) -> float:
        counts = (self.input, self.cached, self.output)
        return sum(count * usd for count, usd in zip(counts, self.price, strict=True)) / 1_000_000


EXTRACTION = (Tokens(FAST, 330, 110, 730), Tokens(PRO, 730, 140, 910), Tokens(FAST, 550, 30, 365))
"""Reading a conversation for memories: the model that reads, the one that judges, and the one that compares. Measured
by `benchmarks.readings`; the last one's output is an assumption."""
NIGHT = (Tokens(FAST, 550, 30, 365),)
"""Comparing memories that were stored without a comparison: one request, as by day."""
CARD = (Tokens(PRO, 36_000, 6_000), Tokens(FAST, 24_000, 3_000))
"""Six sections, written by one model and judged by the other. Tailored résumés and letters are counted like cards."""
SECTIONS = 6
INTERVIEW_ANSWER = (Tokens(FAST, 6_000, 300), Tokens(PRO, 8_000, 900))
"""Deciding the next question, and rewriting the draft."""
LESSON = (Tokens(PRO, 20_000, 3_500), Tokens(FAST, 12_000, 1_500))
RESUME = (Tokens(PRO, 8_000, 3_000), Tokens(FAST, 10_000, 1_500))
SCOUTING = (Tokens(FAST, 30_000, 2_500), Tokens(PRO, 8_000, 800))
"""A user's nightly search: the results are ranked, and the reasons are checked."""
SECONDS_A_POLL, LOG_BYTES_A_TURN, LOG_BYTES_A_POLL, METRICS = 0.06, 4_000, 600, 75


@dataclass(frozen=True)
class Cost:
    what: str
    usd: float
    formula: str


def per_thousand(load: Load, stage: Stage, results: dict[str, Any]) -> list[Cost]:
    """Compute the cost of a thousand conversations."""
    chat, turns = int(stage.parameter("ChatMemory")) / 1_024, 1_000 * load.turns
    [ten_turns] = [row["ours"] for row in results["rows"]["prompts"] if row["what"] == OFF_PEAK_TURNS]
    polls = 1_000 / load.conversations * load.minutes_open * 2 + turns * load.turn_seconds / 2
    nights, cards = 1_000 * load.remembers / load.conversations, 1_000 * load.documents
    searches = 1_000 / load.conversations * load.searches
    mails = 1_000 / load.conversations * load.asks * load.mailed * 2
    others = [
        ("interview drafts", 1_000 * load.answers, INTERVIEW_ANSWER, "write_draft", "answers in interviews"),
        ("lessons", 1_000 * load.lessons, LESSON, "write_lesson", "lessons"),
        ("résumés", 1_000 * load.resumes, RESUME, "parse_resume", "résumés"),
        ("job searches", searches, SCOUTING, "scout_jobs", "searches"),
        ("briefings", 1_000 / load.conversations * load.briefings, (), "brief", "briefings"),
    ]
    of_cards = path_of("generate_card")
    transitions = sum(count * len(path_of(machine)) for _, count, _, machine, _ in others)
    transitions += 1_000 * sum(len(path_of("extract_memories", each)) for each in ("read_conversations", "ask_people"))
    transitions += nights * len(path_of("consolidate", "each_user"))
    transitions += cards * (len(of_cards) + SECTIONS * len(path_of("generate_card", "draft_sections")))
    background = 1_000 * sum(each.seconds * getattr(load, each.of) for each in BACKGROUND)
    background += searches * load.search_seconds + 1_000 * load.extraction_seconds + nights * load.night_seconds
    return [
        Cost(
            "models: turns",
            turns / 10 * ten_turns,
            "turns × what ten turns cost ÷ 10 (measured off-peak, cached prefix)",
        ),
        Cost("models: memory extraction", 1_000 * sum(each.usd for each in EXTRACTION), "conversations × extraction"),
        Cost(
            "models: nightly consolidation",
            nights * sum(each.usd for each in NIGHT),
            "users with new memories × one nightly run",
        ),
        Cost("models: cards", cards * sum(each.usd for each in CARD), f"{load.documents:.0%} of conversations × card"),
        *(
            Cost(f"models: {name}", count * sum(each.usd for each in work), f"{count:,.0f} {what} × one")
            for name, count, work, _, what in others
            if work
        ),
        Cost(
            "Lambda: turns",
            turns * (load.turn_seconds * chat * GB_SECOND + MILLION_CALLS / 1_000_000),
            "turns × seconds × GB × price + requests",
        ),
        Cost(
            "Lambda: the rest",
            (polls * SECONDS_A_POLL / 2 + background) * GB_SECOND + polls * MILLION_CALLS / 1_000_000,
            "(polls × 0.06 s × 0.5 GB + states that call models × seconds × 1 GB) × price + requests",
        ),
        Cost(
            "Step Functions",
            transitions * TRANSITION,
            "state transitions of each execution, including those of each map item × price",
        ),
        Cost(
            "logs and traces",
            (turns * LOG_BYTES_A_TURN + polls * LOG_BYTES_A_POLL) / 1_000_000_000 * LOG_GB + turns * TRACE,
            "4 kB a turn, 0.6 kB a poll; a trace a turn",
        ),
        Cost("mails", mails * MAIL, "approvals not decided at once × 2"),
    ]


def per_month(stage: Stage, cluster: str) -> list[Cost]:
    """Compute the monthly cost of a stage without users."""
    template = stage.template
    alarms, dashboards = template.of_type("AWS::CloudWatch::Alarm"), template.of_type("AWS::CloudWatch::Dashboard")
    keys = template.of_type("AWS::KMS::Key")
    # Of the live release and the previous one.
    snapshots = 2 * sum(int(template.text(each["MemorySize"])) / 1024 for each in _with_snapshot(template))
    rates = [str(each["ScheduleExpression"]) for each in template.of_type("AWS::Scheduler::Schedule").values()]
    minutes = [minutes_of(rate) for rate in rates if rate.startswith("rate(")]
    sweeps = sum(60 * HOURS * DAYS / each for each in minutes)
    limits = Limits.of(stage)
    machines = 60 * HOURS / limits.minutes_between_sweeps * len(path_of("extract_memories"))
    machines += len(limits.nights) * len(path_of("consolidate"))
    return [
        Cost(f"Atlas {cluster}", CLUSTERS[cluster].usd, "its list price; shared with the candidate app"),
        Cost("alarms", len(alarms) * ALARM * 2, f"{len(alarms)} alarms × 2 metrics"),
        Cost("dashboards", len(dashboards) * DASHBOARD, f"{len(dashboards)} × price"),
        Cost("metrics", METRICS * METRIC, f"{METRICS} custom metrics × price"),
        Cost("keys", len(keys) * KEY, f"{len(keys)} of KMS"),
        Cost("snapshots", snapshots * SNAPSHOT_GB_SECOND * DAYS * 86_400, f"{snapshots:g} GB kept × price"),
        Cost(
            "sweeps",
            sweeps * (0.5 * 0.5 * GB_SECOND + MILLION_CALLS / 1_000_000),
            "those of each schedule, every " + ", ".join(map(str, sorted(minutes))) + " minutes",
        ),
        Cost(
            "executions of schedules",
            DAYS * machines * TRANSITION,
            "the states of `extract_memories` and `consolidate` outside of their maps, with nothing to do",
        ),
    ]


def _with_snapshot(template: Template) -> list[Any]:
    return [each for each in template.of_type(FUNCTION).values() if "SnapStart" in each]


def path_of(machine: str, inside: str | None = None) -> tuple[str, ...]:
    """Return the states of the longest execution without an error, each once; `inside`: those of each item of this
    map."""
    definition = read_machine(ROOT / f"statemachines/{machine}.asl.yaml")
    if inside:
        definition = definition["States"][inside]["ItemProcessor"]
    return _longest(definition["States"], definition["StartAt"], ())


def _longest(states: dict[str, Any], name: str, before: tuple[str, ...]) -> tuple[str, ...]:
    here, state = (*before, name), states[name]
    named = [state.get("Next"), state.get("Default"), *(each["Next"] for each in state.get("Choices", ()))]
    paths = [_longest(states, each, here) for each in named if each and each not in here]
    return max(paths, key=len, default=here)


def tables() -> str:
    stage, load = Stage.load("prod"), Load(10_000)
    by_talk, by_month = per_thousand(load, stage, _results()), per_month(stage, "M30")
    thousand, month = sum(each.usd for each in by_talk), sum(each.usd for each in by_month)
    return "\n".join(
        [
            "| a thousand conversations | USD | formula |",
            "|---|---|---|",
            *(f"| {each.what} | {each.usd:.2f} | {each.formula} |" for each in by_talk),
            f"| **together** | **{thousand:.2f}** | |",
            "",
            "| a month of a stage | USD | formula |",
            "|---|---|---|",
            *(f"| {each.what} | {each.usd:.2f} | {each.formula} |" for each in by_month),
            f"| **without any users** | **{month:.2f}** | with the smallest cluster, M10: {_with_m10(stage):.2f} |",
        ]
    )


def a_month(users: int, cluster: str) -> float:
    """Return the monthly cost in USD with so many users."""
    stage, load = Stage.load("prod"), Load(users)
    thousand = sum(each.usd for each in per_thousand(load, stage, _results()))
    return sum(each.usd for each in per_month(stage, cluster)) + load.conversations_a_day * DAYS / 1_000 * thousand


def sizes() -> str:
    """Return, for each size, the limit that is exceeded first, and the monthly cost."""
    limits = Limits.of(Stage.load("prod"))
    lines = ["| users | cluster | spread over the zones | all in one zone | USD a month |", "|---|---|---|---|---|"]
    for users, cluster in SIZES.items():
        breaks = (_breaks(users, *first_to_break(zones, limits, CLUSTERS[cluster])) for zones in (ALL_ZONES, ONE_ZONE))
        promised = "" if users in PROMISED else " (not promised)"
        lines.append(f"| {users:,}{promised} | {cluster} | {' | '.join(breaks)} | {a_month(users, cluster):,.0f} |")
    return "\n".join(lines)


def _breaks(users: int, at: int, row: Row) -> str:
    holds = "holds" if users < at else "**breaks**"
    return f"{holds}; first, at {at:,} users: {row.what} ({row.raised_by})"


def _results() -> dict[str, Any]:
    return json.loads((Path(__file__).parent / "results.json").read_text(encoding="utf-8"))


def _with_m10(stage: Stage) -> float:
    return sum(each.usd for each in per_month(stage, "M10"))


if __name__ == "__main__":
    print(f"{sizes()}\n\n{tables()}")
