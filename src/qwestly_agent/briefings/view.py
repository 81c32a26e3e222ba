"""A briefing as its user reads it."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from qwestly_agent.briefings.lines import RANKS, lines_of
from qwestly_agent.domain.briefing import Briefing, BriefingKind, Line, Mailed, Topic

LITE_SECONDS = 48 * 3600.0
"""So far back a lite briefing tells of what does not need the user."""


class LineView(BaseModel):
    text: str
    topic: Topic
    source: str
    records: tuple[str, ...]
    """Ids of the records that it tells of: approvals, drafts, events."""
    at: float
    why: str
    """Why it is there."""


class BriefingView(BaseModel):
    id: str
    day: str
    """The local day; empty for one that was asked for."""
    kind: BriefingKind
    """full: written by a model; lite: in fixed words, as no model could; nothing: nothing was new."""
    at: float
    """When it was made, in seconds since the epoch."""
    summary: str
    lines: list[LineView]
    missing: tuple[str, ...]
    """Sources that could not be asked."""
    as_of: Mapping[str, float]
    """By source, when it was asked."""
    read_at: float | None
    mailed: Mailed
    """no, claimed (being sent), sent, refused (by the mail service), or paced (the day's quota is used up)."""


class BriefingList(BaseModel):
    items: list[BriefingView]
    next: float | None
    """Cursor: pass it as `after`; null at the end."""


def view_of(briefing: Briefing, zone: str) -> BriefingView:
    return BriefingView(
        id=briefing.id,
        day=briefing.day,
        kind=briefing.kind,
        at=briefing.created_at,
        summary=summary_of(briefing, zone),
        lines=[LineView(**line.model_dump(), why=WHY[line.topic]) for line in lines_shown(briefing)],
        missing=briefing.gathered.missing,
        as_of=briefing.gathered.as_of,
        read_at=briefing.read_at,
        mailed=briefing.mailed,
    )


WHY: Mapping[Topic, str] = {
    "needs_you": "It waits for you.",
    "failed": "It did not work out.",
    "done": "It was done since your last briefing.",
    "under_way": "It is under way.",
    "remembered": "It was remembered since your last briefing.",
}
_COUNTED: Mapping[Topic, tuple[str, str]] = {
    "needs_you": ("thing needs you", "things need you"),
    "failed": ("thing did not work out", "things did not work out"),
    "done": ("thing was done", "things were done"),
    "under_way": ("draft is under way", "drafts are under way"),
    "remembered": ("thing was remembered", "things were remembered"),
}
_SOURCES: Mapping[str, str] = {"approvals": "what waits for you", "memories": "what was remembered"}


def lines_shown(briefing: Briefing) -> list[Line]:
    if briefing.kind == "full":
        return list(briefing.lines)
    since = briefing.created_at - LITE_SECONDS
    return lines_of(each for each in briefing.gathered.items if each.topic == "needs_you" or each.at > since)


def summary_of(briefing: Briefing, zone: str) -> str:
    """One paragraph of figures, each with that of the briefing before; what is missing is named."""
    return " ".join(_sentences(briefing, ZoneInfo(zone)))


def _sentences(briefing: Briefing, zone: ZoneInfo) -> Iterator[str]:
    since = f" since {_day(briefing.since, zone)}" if briefing.since else ""
    if briefing.kind == "nothing":
        yield f"Nothing new{since}."
    counts = briefing.counts
    if told := [_count(topic, counts[topic], briefing.before.get(topic)) for topic in RANKS if topic in counts]:
        yield f"{'; '.join(told)}."
    if briefing.kind == "lite":
        yield "This is the short version: your agent could not write the full one."
    if missing := [_SOURCES.get(name, name) for name in briefing.gathered.missing]:
        yield f"Could not be read: {', '.join(missing)}."


def _count(topic: Topic, count: int, before: int | None) -> str:
    compared = "" if before is None or before == count else f" ({before} last time)"
    return f"{count} {_COUNTED[topic][count != 1]}{compared}"


def _day(moment: float, zone: ZoneInfo) -> str:
    local = datetime.fromtimestamp(moment, zone)
    return f"{local:%A}, {local.day} {local:%B}, {local:%H:%M}"
