"""A briefing as shown to its user: lines with values from the records."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pydantic import BaseModel

from qwestly_agent.base.clock import Moment, Page, format_day, format_moment
from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.briefing import MOST_LINES, WORDS_A_LINE, Briefing, BriefingKind, Item, Line, Mailed, Topic
from qwestly_agent.domain.memory import Memory
from qwestly_agent.services import Services
from qwestly_agent.text.clean import disable_links, visible, well_formed

# --- lines ------------------------------------------------------------------------------------------------------------
# The lines of a briefing: texts with values from the records; ranked, limited, without links.


RANKS: Sequence[Topic] = ("needs_you", "found", "changed", "failed", "done", "under_way", "remembered")
MOST_OF_A_TOPIC = 4
"""Maximum number of lines of a topic if other topics have items."""
LONGEST_LINE = 180
"""Maximum number of characters of a line."""
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
    """Choose the lines, newest first within a topic. Every topic gets a line, and `needs_you` gets the most. If a topic
    has more items than lines, its last line counts the remaining ones, so that nothing is left out silently."""
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
    """Merge equal lines into one with their count: "Career card declined (3 times)". Lines of `needs_you` stay
    separate, because each is decided individually."""
    alike: dict[tuple[str, ...], list[Line]] = {}
    for line in lines:
        own = line.records if line.topic == "needs_you" else ()
        alike.setdefault((line.topic, line.source, line.text, *own), []).append(line)
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
    """Return the text as one line of visible characters without links, cut to the maximum length."""
    words = disable_links(" ".join(visible(well_formed(text)).split())).split(" ")
    line = " ".join(words[:WORDS_A_LINE])
    is_cut = len(words) > WORDS_A_LINE or len(line) > LONGEST_LINE
    return f"{line[: LONGEST_LINE - 1].rstrip()}…" if is_cut else line


# --- view -------------------------------------------------------------------------------------------------------------
# A briefing as shown to its user.


Place: TypeAlias = Literal[
    "approvals", "applications", "lessons", "jobs", "activity", "documents", "interviews", "memories"
]
"""A part of the app, as in the fragments of mailed links."""


@dataclass(frozen=True)
class Told:
    """The texts for a source and for its lines."""

    label: str
    why: str
    """Why a line from the source is shown."""
    button: str
    place: Place
    """Where the line's button leads."""


SOURCES_TOLD: Mapping[str, Told] = {
    "approvals": Told("what waits for you", "Your agent may not do it without your yes.", "Review", "approvals"),
    "questions": Told(
        "questions about what you said",
        "You said it, and your agent asks before it remembers it.",
        "Answer",
        "approvals",
    ),
    "follow_ups": Told("next steps", "You planned it, or you applied a week ago.", "Open", "applications"),
    "lessons": Told("what you learn", "You remember best what you answer when it is due.", "Practice", "lessons"),
    "new_lessons": Told("new lessons", "You asked for it.", "Read", "lessons"),
    "matches": Told("jobs", "It fits what you are looking for.", "See the job", "jobs"),
    "applications": Told("applications", "Its status in your list changed.", "Open", "applications"),
    "activity": Told("what was done", "You approved it, or let your agent do it.", "See what was done", "activity"),
    "drafts": Told("drafts", "You asked your agent to write it.", "Open", "documents"),
    "interviews": Told("interviews", "You began it with your agent.", "Go on", "interviews"),
    "memories": Told("what was remembered", "You said it in a conversation.", "See what is remembered", "memories"),
}
"""The texts by source."""


class LineAction(BaseModel):
    label: str
    place: Place
    id: str | None
    """The record to open there; null if the line is about several."""


class LineView(BaseModel):
    text: str
    topic: Topic
    source: str
    records: tuple[str, ...]
    """Ids of the records that the line is about: approvals, drafts, events."""
    at: Moment
    when: str
    """When it happened or was due, such as "yesterday at 6:30 PM" or "due since Monday, November 23"."""
    why: str
    """Why the line is there."""
    now: str
    """The records' current state, such as "Decided."; empty if unchanged."""
    action: LineAction


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


@dataclass(frozen=True)
class Current:
    """The current state of the records behind the lines. The texts of memories are only in views, never in stored
    lines."""

    waiting: Mapping[str, Approval] = field(default_factory=dict[str, Approval])
    """The pending approvals, by id."""
    memories: Mapping[str, Memory] = field(default_factory=dict[str, Memory])

    def text_of(self, line: Line) -> str:
        """Return the line's text, with the content of its memories: "Remember: lives in Porto?"."""
        if line.source == "questions" and len(line.records) == 1 and (asked := self.waiting.get(line.records[0])):
            return plain(f"{asked.line}?")
        contents = [self.memories[each].content.removesuffix(".") for each in line.records if each in self.memories]
        if line.source != "memories" or not contents:
            return line.text
        return plain(f"{line.text}: {'; '.join(contents)}")


async def current_state(services: Services, user_id: str, lines: Sequence[Line]) -> Current:
    """Read the records behind these lines."""
    remembered = [each for line in lines if line.source == "memories" for each in line.records]
    waiting, memories = await asyncio.gather(
        services.approvals.list_open(user_id, 0), services.memories.get_many(user_id, remembered)
    )
    active = {each.id: each for each in memories if each.status == "active"}
    return Current({each.id: each for each in waiting if each.status == "pending"}, active)


async def briefing_views(services: Services, briefings: Sequence[Briefing], user_id: str) -> list[BriefingView]:
    """Return the briefings with the current state of each line's records."""
    zone = (await services.user_settings.get(user_id)).zone
    current = await current_state(services, user_id, [line for each in briefings for line in each.lines])
    return [briefing_view(each, zone, current) for each in briefings]


def briefing_view(briefing: Briefing, zone: str, current: Current) -> BriefingView:
    return BriefingView(
        **briefing.model_dump(include={"id", "day", "kind", "read_at", "mailed"}),
        at=briefing.created_at,
        summary=summary_of(briefing, zone),
        lines=[line_view(line, briefing.created_at, zone, current) for line in briefing.lines],
        missing=briefing.gathered.missing,
        as_of=briefing.gathered.as_of,
        sources=sources_of(briefing),
    )


def sources_of(briefing: Briefing) -> list[SourceView]:
    as_of = {**dict.fromkeys(briefing.gathered.missing), **briefing.gathered.as_of}
    named = {name: told for name, told in SOURCES_TOLD.items() if name in as_of}
    return [SourceView(name=name, label=each.label, why=each.why, as_of=as_of[name]) for name, each in named.items()]


def when_of(line: Line, now: float, zone: str) -> str:
    """Return, for example, "today at 8:05 AM", "due since Monday, November 23" or, for a future time, "on Monday,
    November 23 at 2:05 PM"."""
    if line.due_at is None:
        moment = format_moment(line.at, zone, now)
        return f"noted {moment}" if line.source == "applications" else moment
    if line.due_at > now:
        moment = format_moment(line.due_at, zone, now)
        return moment if moment.startswith("today") else f"on {moment}"
    return f"due since {format_day(line.due_at, zone, now)}"


def action_of(line: Line) -> LineAction:
    told = SOURCES_TOLD[line.source]
    return LineAction(label=told.button, place=told.place, id=line.records[0] if len(line.records) == 1 else None)


def line_view(line: Line, now: float, zone: str, current: Current) -> LineView:
    """Return the line, with times relative to `now`, when the briefing was created."""
    left = sum(each in current.waiting for each in line.records) if line.source in _DECIDED else len(line.records)
    decided = "" if left == len(line.records) else "Decided." if not left else f"{left} wait still."
    return LineView(
        **line.model_dump(exclude={"due_at", "text"}),
        text=current.text_of(line),
        when=when_of(line, now, zone),
        why="" if decided == "Decided." else SOURCES_TOLD[line.source].why,
        now=decided,
        action=action_of(line),
    )


_DECIDED = ("approvals", "questions")


def summary_of(briefing: Briefing, zone: str) -> str:
    """Return one paragraph of figures, each compared with the previous briefing. Missing sources are named."""
    return " ".join(_sentences(briefing, zone))


def _sentences(briefing: Briefing, zone: str) -> Iterator[str]:
    since = f" since {format_moment(briefing.since, zone, briefing.created_at)}" if briefing.since else ""
    if briefing.kind == "nothing":
        yield f"Nothing new{since}."
    if told := counted(briefing.counts, briefing.before):
        yield told
    if missing := [each.label for each in sources_of(briefing) if each.as_of is None]:
        yield f"Could not be read, and told as it was last time: {', '.join(missing)}."


def counted(counts: Mapping[Topic, int], before: Mapping[Topic, int]) -> str:
    """Return these figures as a sentence; empty if there are none."""
    told = [_count(topic, counts[topic], before.get(topic)) for topic in RANKS if topic in counts]
    return f"{'; '.join(told)}." if told else ""


def _count(topic: Topic, count: int, before: int | None) -> str:
    compared = "" if before is None or before == count else f" ({before} last time)"
    return f"{count} {COUNTED[topic][count != 1]}{compared}"
