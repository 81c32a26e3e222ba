"""A briefing, as shown to its user: lines with values from the records."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from qwestly_agent.base.clock import Moment, Page
from qwestly_agent.domain.briefing import MOST_LINES, WORDS_A_LINE, Briefing, BriefingKind, Item, Line, Mailed, Topic
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.text.clean import disable_links, visible, well_formed

# --- lines ------------------------------------------------------------------------------------------------------------
# The lines of a briefing: texts with values from the records; ranked, limited, without links.


RANKS: Sequence[Topic] = ("needs_you", "found", "changed", "failed", "done", "under_way", "remembered")
MOST_OF_A_TOPIC = 4
"""Maximum lines of a topic if other topics have items."""
LONGEST_LINE = 180
"""In characters."""
COUNTED: dict[Topic, tuple[str, str]] = {
    "needs_you": ("thing needs you", "things need you"),
    "found": ("job was found", "jobs were found"),
    "changed": ("application changed", "applications changed"),
    "failed": ("thing failed", "things failed"),
    "done": ("thing was done", "things were done"),
    "under_way": ("thing is under way", "things are under way"),
    "remembered": ("thing was remembered", "things were remembered"),
}


def lines_of(items: Iterable[Item]) -> list[Line]:
    """Choose the lines, newest first within a topic. Every topic gets a line, and `needs_you` the most. If a topic has
    more items than lines, its last line counts the rest, so that nothing is left out silently."""
    told: dict[Topic, list[Line]] = {topic: [] for topic in RANKS}
    for line in _once([_line_of(each) for each in sorted(items, key=lambda item: -item.at)]):
        told[line.topic].append(line)
    places = Counter[Topic]()
    for _ in range(MOST_LINES):
        open_to: list[Topic] = [topic for topic in RANKS if places[topic] < len(told[topic])]
        if not open_to:
            break
        # First one line per topic, then topics with few items, then `needs_you`.
        best: Topic = min(open_to, key=lambda topic: (places[topic] > 0, places[topic] >= MOST_OF_A_TOPIC))
        places[best] += 1
    return [line for topic in RANKS for line in _counted(told[topic], places[topic])]


def _line_of(item: Item) -> Line:
    same = item.model_dump(include={"topic", "source", "records", "at", "due_at"})
    return Line(text=plain(item.title), **same)


def _once(lines: Sequence[Line]) -> Iterable[Line]:
    """Merge equal lines into one with their count: "Career card declined (3 times)"."""
    alike: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        alike.setdefault((line.topic, line.source, line.text), []).append(line)
    for same in alike.values():
        records = tuple(record for each in same for record in each.records)
        more = {"text": f"{same[0].text} ({len(same)} times)", "records": records} if len(same) > 1 else {}
        yield same[0].model_copy(update=more)


def _counted(lines: Sequence[Line], places: int) -> Iterable[Line]:
    if len(lines) <= places:
        return lines
    shown, rest = lines[: places - 1], lines[max(0, places - 1) :]
    records = tuple(record for each in rest for record in each.records)
    noun = COUNTED[rest[0].topic][len(records) != 1]
    text = f"And {len(records)} more {noun}" if shown else f"{len(records)} {noun}"
    return [*shown, rest[0].model_copy(update={"text": text, "records": records, "due_at": None})]


def plain(text: str) -> str:
    """Return the text as one line of visible characters without links, cut to the maximum number of words."""
    words = disable_links(" ".join(visible(well_formed(text)).split())).split(" ")
    line = " ".join(words[:WORDS_A_LINE])
    is_cut = len(words) > WORDS_A_LINE or len(line) > LONGEST_LINE
    return f"{line[: LONGEST_LINE - 1].rstrip()}…" if is_cut else line


# --- view -------------------------------------------------------------------------------------------------------------
# A briefing, as shown to its user.


MOST_WAITING = 200
DAY_SECONDS = 86_400.0
OLD_DAYS = 2
"""From this age on, a line shows how old it is."""
OLD_WEEKS_DAYS = 21
"""From this age on, the age is shown in weeks."""


class LineView(BaseModel):
    text: str
    topic: Topic
    source: str
    records: tuple[str, ...]
    """Ids of the records that the line is about: approvals, drafts, events."""
    at: Moment
    why: str
    """Why the line is in the briefing."""
    now: str
    """The records' current state, such as "Decided."; empty if unchanged."""
    age: str
    """The line's age when the briefing was made, such as "3 days ago"; empty within two days."""


class SourceView(BaseModel):
    name: str
    """The name that lines use in `source`."""
    label: str
    """A label for the user."""
    why: str
    """Why the source is part of the briefing."""
    as_of: Moment | None
    """When the source was queried; null if that failed."""


class BriefingView(BaseModel):
    id: str
    day: str
    """The local day; empty if the user requested the briefing."""
    kind: BriefingKind
    """full: all sources were read; lite: some could not be read, and their last items are repeated; nothing: nothing
    was new."""
    at: Moment
    """When the briefing was made."""
    summary: str
    lines: list[LineView]
    missing: tuple[str, ...]
    """Sources that could not be read."""
    as_of: Mapping[str, Moment]
    """By source: when it was queried."""
    sources: list[SourceView]
    """All sources that were queried, in the order of their lines."""
    read_at: Moment | None
    mailed: Mailed
    """no, claimed (being sent), sent, refused (by the mail service), or paced (above the daily limit)."""


class BriefingList(Page[BriefingView]):
    pass


async def with_current_state(
    approvals: Approvals, briefings: Sequence[Briefing], user_id: str, zone: str
) -> list[BriefingView]:
    """Return the briefings with the current state of each line's records."""
    waiting = await approvals.list_open(user_id, MOST_WAITING) if briefings else []
    return [briefing_view(each, zone, {approval.id for approval in waiting}) for each in briefings]


def briefing_view(briefing: Briefing, zone: str, waiting: Collection[str]) -> BriefingView:
    """Return the briefing for its user. `waiting` are the ids of approvals that are still pending."""
    return BriefingView(
        **briefing.model_dump(include={"id", "day", "kind", "read_at", "mailed"}),
        at=briefing.created_at,
        summary=summary_of(briefing, zone),
        lines=[_line(line, briefing.created_at, waiting, ZoneInfo(zone)) for line in briefing.lines],
        missing=briefing.gathered.missing,
        as_of=briefing.gathered.as_of,
        sources=sources_of(briefing),
    )


def sources_of(briefing: Briefing) -> list[SourceView]:
    as_of = {**dict.fromkeys(briefing.gathered.missing), **briefing.gathered.as_of}
    named = {name: told for name, told in SOURCES_TOLD.items() if name in as_of}
    return [SourceView(name=name, label=label, why=why, as_of=as_of[name]) for name, (label, why) in named.items()]


def age_of(at: float, now: float) -> str:
    days = int((now - at) // DAY_SECONDS)
    if days < OLD_DAYS:
        return ""
    return f"{days} days ago" if days < OLD_WEEKS_DAYS else f"{days // 7} weeks ago"


def due_since(line: Line, zone: ZoneInfo) -> str:
    """Return for example "due since Monday, November 23"; empty if the line is not due at a time."""
    return "" if line.due_at is None else f"due since {_day(line.due_at, zone)}"


def _line(line: Line, now: float, waiting: Collection[str], zone: ZoneInfo) -> LineView:
    why = f"It has been {due}." if (due := due_since(line, zone)) else WHY[line.topic]
    left = sum(each in waiting for each in line.records) if line.source in _DECIDED else len(line.records)
    decided = "" if left == len(line.records) else "Decided." if not left else f"{left} wait still."
    return LineView(
        **line.model_dump(exclude={"due_at"}),
        why="" if decided == "Decided." else why,
        now=decided,
        age=age_of(line.at, now),
    )


_DECIDED = ("approvals", "questions")
WHY: Mapping[Topic, str] = {
    "needs_you": "It waits for you.",
    "found": "It was found for you since your last briefing.",
    "changed": "An application of yours changed since your last briefing.",
    "failed": "It failed.",
    "done": "It was done since your last briefing.",
    "under_way": "It is under way.",
    "remembered": "It was remembered since your last briefing.",
}
SOURCES_TOLD: Mapping[str, tuple[str, str]] = {
    "approvals": ("what waits for you", "What your agent may not do without your yes."),
    "questions": ("questions about what you said", "Memories that are not sure."),
    "follow_ups": ("next steps", "Steps of your applications that are due."),
    "matches": ("jobs", "Jobs that were found for you."),
    "applications": ("applications", "Applications that you sent, and what came of them."),
    "activity": ("what was done", "What your agent did, and what failed."),
    "drafts": ("drafts", "Texts that your agent writes."),
    "interviews": ("interviews", "Interviews with your agent, and the drafts that grow from them."),
    "memories": ("what was remembered", "What your agent keeps of what you said."),
}
"""By source: its label, and why it is part of the briefing."""


def summary_of(briefing: Briefing, zone: str) -> str:
    """Return one paragraph of figures, each compared with the previous briefing. Missing sources are named."""
    return " ".join(_sentences(briefing, ZoneInfo(zone)))


def _sentences(briefing: Briefing, zone: ZoneInfo) -> Iterator[str]:
    since = f" since {_day(briefing.since, zone, ', %H:%M')}" if briefing.since else ""
    if briefing.kind == "nothing":
        yield f"Nothing new{since}."
    counts = briefing.counts
    if told := [_count(topic, counts[topic], briefing.before.get(topic)) for topic in RANKS if topic in counts]:
        yield f"{'; '.join(told)}."
    if missing := [each.label for each in sources_of(briefing) if each.as_of is None]:
        yield f"Could not be read, and told as it was last time: {', '.join(missing)}."


def _count(topic: Topic, count: int, before: int | None) -> str:
    compared = "" if before is None or before == count else f" ({before} last time)"
    return f"{count} {COUNTED[topic][count != 1]}{compared}"


def _day(moment: float, zone: ZoneInfo, time: str = "") -> str:
    """Return for example "Monday, November 23"; `time` is appended as a format."""
    local = datetime.fromtimestamp(moment, zone)
    return f"{local:%A, %B} {local.day}{local.strftime(time)}"
