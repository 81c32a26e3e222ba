"""The lines of a briefing: texts with values from the records; ranked, limited, without links."""

from collections import Counter
from collections.abc import Iterable, Sequence

from qwestly_agent.domain.briefing import MOST_LINES, WORDS_A_LINE, Item, Line, Topic
from qwestly_agent.text.clean import disable_links, visible, well_formed

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
    return Line(text=plain(item.title), topic=item.topic, source=item.source, records=item.records, at=item.at)


def _once(lines: Sequence[Line]) -> Iterable[Line]:
    """Merge equal lines into one with their count: "Career card declined (3 times)"."""
    alike: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        alike.setdefault((line.source, line.text), []).append(line)
    for same in alike.values():
        records = tuple(record for each in same for record in each.records)
        more = {"text": f"{same[0].text} ({len(same)} times)", "records": records} if len(same) > 1 else {}
        yield same[0].model_copy(update=more)


def _counted(lines: Sequence[Line], places: int) -> Iterable[Line]:
    if len(lines) <= places:
        return lines
    shown, rest = lines[: places - 1], lines[max(0, places - 1) :]
    records = tuple(record for each in rest for record in each.records)
    noun = COUNTED[rest[0].topic][len(rest) != 1]
    return [
        *shown,
        rest[0].model_copy(
            update={"text": f"And {len(rest)} more {noun}" if shown else f"{len(rest)} {noun}", "records": records}
        ),
    ]


def plain(text: str) -> str:
    """Return the text as one line of visible characters without links, cut to the maximum number of words."""
    words = disable_links(" ".join(visible(well_formed(text)).split())).split(" ")
    line = " ".join(words[:WORDS_A_LINE])
    is_cut = len(words) > WORDS_A_LINE or len(line) > LONGEST_LINE
    return f"{line[: LONGEST_LINE - 1].rstrip()}…" if is_cut else line
