"""Measure how well files with known contents are read: `python -m evals.layouts [--show]`.

`evals/layouts` contains résumés of seven people in six scripts, as written by Chromium, LibreOffice and python-docx,
and in the formats of Word and Google (`evals.write_layouts`). A field is right if it is found verbatim, and the dates
of a job or a school within three lines of its title. A line is in the wrong order if it is not found, if its neighbors
come in another order, or if the text next to it is missing there. Exits with 1 if a bound is missed.
"""

import argparse
import json
import logging
import re
import sys
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwestly_agent.resumes.file_text import text_of_file
from qwestly_agent.resumes.unreadable import UnreadableFile
from qwestly_agent.text.contacts import without_contacts

FOLDER = Path(__file__).parent / "layouts"
FEWEST_RIGHT, MOST_IN_WRONG_ORDER = 0.97, 0.01
NEAR_LINES = 3

Person = Mapping[str, Any]
Line = tuple[str, ...]
"""Texts in one line, side by side."""


def people() -> list[Person]:
    return json.loads((FOLDER / "people.json").read_text("utf-8"))


def truth(person: Person, layout: str) -> list[list[Line]]:
    """Return blocks of lines in reading order; a block may precede or follow another one, but never be inside it."""
    work, education, skills, languages = person["headings"]
    name, headline = (person["name"],), (person["headline"],)
    contact = (person["place"], *person["contact"])
    is_margin = layout in ("margin", "paragraphs", "word", "google")
    jobs, schools = list[Line](), list[Line]()
    for each in person["jobs"]:
        where = f"{each['company']}, {each['place']}"
        if is_margin:
            jobs += [(each["company"], each["place"]), (each["title"], each["period"])]
        elif layout == "stacked":
            jobs += [(each["title"], each["company"], each["period"]), (each["place"],)]
        elif layout == "timeline":
            jobs += [(each["title"], each["period"]), (each["company"], each["place"])]
        elif layout in ("table", "python"):
            jobs += [(each["title"], each["period"]), (where,)]
        else:
            jobs += [(each["title"],), (where,), (each["period"],)]
        jobs += [(line,) for line in each["lines"]]
    for each in person["schools"]:
        if layout == "python":
            schools.append((f"{each['degree']}, {each['school']}, {each['period']}",))
        elif is_margin:
            schools += [(each["school"], each["period"]), (each["degree"],)]
        elif layout in ("table", "stacked", "timeline"):
            schools += [(each["degree"], each["period"]), (each["school"],)]
        else:
            schools += [(each["degree"],), (each["school"],), (each["period"],)]
    listed = [(each,) for each in person["skills"]], [(each,) for each in person["languages"]]
    if layout in ("sidebar", "cells", "right"):
        known = [(each,) for each in person["contact"]]
        side = [*known, (skills,), *listed[0], (languages,), *listed[1]]
        main = [(work,), *jobs]
        if layout == "right":
            return [[name, headline, *main, (education,), *schools], [(person["place"],), *side]]
        if layout == "cells":
            return [[name, headline, (person["place"],)], side, [*main, (education,), *schools]]
        return [[name, (person["place"],), *side, (education,), *schools], [headline, *main]]
    ends = [(education,), *schools, (skills,), tuple(person["skills"]), (languages,), tuple(person["languages"])]
    head = [(each,) for each in contact] if layout == "stacked" else [contact]
    return [[name, headline, *head, (work,), *jobs, *ends]]


@dataclass
class Read:
    """A file's text with normalized blanks, and the line number of each character."""

    text: str
    lines: Sequence[int]

    @classmethod
    def of(cls, text: str) -> "Read":
        kept, lines = list[str](), list[int]()
        for number, line in enumerate(filter(None, text.split("\n"))):
            plain = _plain(line)
            plain += "" if _CJK_LETTER.match(plain[-1:]) else " "
            kept.append(plain)
            lines += [number] * len(plain)
        return cls("".join(kept), lines)

    def has(self, words: str) -> bool:
        return _plain(words) in self.text

    def find(self, words: str, since: int = 0) -> int:
        found = self.text.find(_plain(words), since)
        return found if found >= 0 else self.text.find(_plain(words))


_CJK_LETTER = re.compile(r"[\u3000-\u9fff]")
_CJK = re.compile(r"(?<=[\u3000-\u9fff]) | (?=[\u3000-\u9fff])")


def _plain(text: str) -> str:
    return _CJK.sub("", " ".join(unicodedata.normalize("NFKC", text).split()))


def fields(person: Person) -> Iterator[tuple[str, str]]:
    """Yield each field, and for dates the title that they must be near."""
    yield from ((each, "") for each in (person["name"], person["headline"], person["place"], *person["contact"]))
    for job in person["jobs"]:
        yield from ((each, "") for each in (job["title"], job["company"], job["place"], *job["lines"]))
        yield job["period"], job["title"]
    for each in person["schools"]:
        yield from ((each["degree"], ""), (each["school"], ""), (each["period"], each["degree"]))
    yield from ((each, "") for each in (*person["skills"], *person["languages"]))


def wrong_fields(person: Person, read: Read) -> list[str]:
    return [
        words
        for words, near in fields(person)
        if not (
            any(_are_near(read, words, line, NEAR_LINES) for line in _places(read, near)) if near else read.has(words)
        )
    ]


def _places(read: Read, words: str) -> list[int]:
    """Return the numbers of the lines in which the words start."""
    return [read.lines[each.start()] for each in re.finditer(re.escape(_plain(words)), read.text)]


def _are_near(read: Read, words: str, line: int, most: int) -> bool:
    return any(abs(each - line) <= most for each in _places(read, words))


def misplaced(blocks: Sequence[Sequence[Line]], read: Read) -> list[Line]:
    """Return the lines that are not where they belong."""
    wrong, spans = list[Line](), list[tuple[int, int, int]]()
    for number, block in enumerate(blocks):
        places, at = list[tuple[int, Line]](), 0
        for line in block:
            found = read.find(line[0], at)
            if found < 0 or not all(_are_near(read, each, read.lines[found], 2) for each in line[1:]):
                wrong.append(line)
            else:
                places.append((found, line))
                at = found + 1 if found >= at else at
        kept = _longest_rising([place for place, _ in places])
        wrong += [line for place, line in places if place not in kept]
        spans += [(place, number, len(line[0])) for place, line in places if place in kept]
    # A line between two lines of another block interrupts it.
    spans.sort()
    for before, each, after in zip(spans, spans[1:], spans[2:], strict=False):
        if before[1] == after[1] != each[1]:
            wrong.append((read.text[each[0] : each[0] + each[2]],))
    return wrong


def _longest_rising(places: Sequence[int]) -> set[int]:
    tails, ends, before = list[int](), list[int](), dict[int, int]()
    for place in places:
        at = bisect_left(tails, place)
        tails[at : at + 1], ends[at : at + 1] = [place], [place]
        before[place] = ends[at - 1] if at else -1
    # Patience sorting keeps one tail for each length; walk back from the last.
    found, place = set[int](), ends[-1] if ends else -1
    while place >= 0:
        found.add(place)
        place = before[place]
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m evals.layouts", description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what is wrong")
    options = parser.parse_args(arguments)
    logging.disable(logging.ERROR)  # of the reader, about fonts
    known = {each["id"]: each for each in people()}
    kinds: dict[str, list[int]] = {}
    files = sorted((*FOLDER.glob("*.pdf"), *FOLDER.glob("*.docx")))
    for path in files:
        person_id, program, layout, *_ = f"{path.stem}-".split("-")
        if program == "python":
            layout = "python"
        person = known[person_id]
        blocks = truth(person, layout)
        try:
            text = text_of_file(path.read_bytes())
        except UnreadableFile as error:
            text = error.why
        read = Read.of(text)
        wrong, apart = wrong_fields(person, read), misplaced(blocks, read)
        rest = re.sub(r"\W", "", without_contacts(text)[0])
        left = [each for each in person["contact"] if re.sub(r"\W", "", each) in rest]
        kind = f"{program}, {path.suffix[1:]}" if "libreoffice" not in path.stem else "libreoffice, pdf"
        counts = [1, len([*fields(person)]), len(wrong), sum(map(len, blocks)), len(apart), len(left)]
        kinds[kind] = [a + b for a, b in zip(kinds.get(kind, [0] * 6), counts, strict=True)]
        if options.show and (wrong or apart or left):
            print(f"{path.name}: fields {wrong}, order {apart}, left {left}")
    total = [sum(each) for each in zip(*kinds.values(), strict=True)]
    print(f"{'':24} {'files':>5} {'fields right':>14} {'wrong order':>14} {'contacts left':>14}")
    for kind, (count, of_fields, bad, of_lines, apart, left) in {**kinds, "all": total}.items():
        right, order = 1 - bad / of_fields, apart / of_lines
        print(f"{kind:24} {count:5} {right:12.1%}   {order:11.1%}   {left:14}")
    # Imported late: they draw numbers from a library that only the tests install.
    from tests.unit.text.test_contacts_at_random import DATES, PLACEMENTS, contacts_left, dates_taken

    left, taken = len(contacts_left()), len(dates_taken())
    print(f"\nContact details left: {left} of {PLACEMENTS} placements. False telephones: {taken} of {DATES} dates.")
    if left or taken or 1 - total[2] / total[1] < FEWEST_RIGHT or total[4] / total[3] > MOST_IN_WRONG_ORDER or total[5]:
        sys.exit(1)


if __name__ == "__main__":
    main()
