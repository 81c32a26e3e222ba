"""The lines of a briefing, as code says them: each the title of what it tells of, ranked, bounded and without links."""

from collections import Counter
from collections.abc import Iterable, Sequence

from qwestly_agent.domain.briefing import MOST_LINES, WORDS_A_LINE, Item, Line, Topic
from qwestly_agent.text.clean import unlinked, visible, well_formed

RANKS: Sequence[Topic] = ("needs_you", "found", "changed", "failed", "done", "under_way", "remembered")
MOST_OF_A_TOPIC = 4
"""Lines, where other topics have something to tell."""
LONGEST_LINE = 180
"""In characters."""


def line_of(item: Item, text: str = "") -> Line:
    """With the item's title in place of no text."""
    return Line(text=plain(text or item.title), topic=item.topic, source=item.source, records=item.records, at=item.at)


def ranked(lines: Iterable[Line]) -> list[Line]:
    """What needs the user first, but no topic in place of all others; the order within a topic stays."""
    by_rank, places = sorted(lines, key=_rank), Counter[Topic]()
    first, more = list[Line](), list[Line]()
    for line in by_rank:
        places[line.topic] += 1
        (first if places[line.topic] <= MOST_OF_A_TOPIC else more).append(line)
    return sorted([*first, *more][:MOST_LINES], key=_rank)


def _rank(line: Line) -> int:
    return RANKS.index(line.topic)


def lines_of(items: Iterable[Item]) -> list[Line]:
    """The newest first."""
    return ranked(line_of(each) for each in sorted(items, key=lambda item: -item.at))


def plain(text: str) -> str:
    """One line of visible characters that no program turns into a link, cut to its share of the words."""
    words = unlinked(" ".join(visible(well_formed(text)).split())).split(" ")
    line = " ".join(words[:WORDS_A_LINE])
    is_cut = len(words) > WORDS_A_LINE or len(line) > LONGEST_LINE
    return f"{line[: LONGEST_LINE - 1].rstrip()}…" if is_cut else line
