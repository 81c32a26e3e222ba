"""Split Markdown about Qwestly at its headings, and store it in `qwestly_docs`."""

import hashlib
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from qwestly_agent.stores.candidate_data import Docs, DocSection

if TYPE_CHECKING:
    from qwestly_agent.llm.embeddings import Embeddings

LONGEST_SECTION_CHARACTERS = 1_500
BATCH = 64


def sections_of(folder: Path) -> dict[str, DocSection]:
    """Return all sections of the folder's Markdown, by id."""
    return {section.id: section for path in sorted(folder.rglob("*.md")) for section in split(path, folder)}


async def ingest(sections: Mapping[str, DocSection], docs: Docs, embeddings: "Embeddings") -> list[str]:
    """Embed new sections and remove deleted ones. Returns a sentence about the changes."""
    known = await docs.ids()
    new = [section for section_id, section in sections.items() if section_id not in known]
    for start in range(0, len(new), BATCH):
        batch = new[start : start + BATCH]
        await docs.add(batch, await embeddings.embed([f"{section.title}\n{section.text}" for section in batch]))
    gone = sorted(known - sections.keys())
    await docs.remove(gone)
    return [f"{len(new)} sections added, {len(gone)} removed, {len(sections) - len(new)} unchanged."]


def split(path: Path, folder: Path) -> Iterator[DocSection]:
    """Yield a section for each heading with text below it; a long section is split at its paragraphs."""
    page = str(path.relative_to(folder))
    for title, text in _blocks(path.read_text(encoding="utf-8"), path.stem):
        for piece in _pieces(text.strip()):
            digest = hashlib.sha256(f"{page}\0{title}\0{piece}".encode()).hexdigest()[:24]
            yield DocSection(id=digest, path=page, title=title, text=piece)


def _blocks(markdown: str, title: str) -> Iterator[tuple[str, str]]:
    """Yield each heading with the text below it; a `#` in fenced code is not a heading."""
    lines: list[str] = []
    fenced = False
    for line in markdown.splitlines():
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        if not fenced and (heading := re.match(r"#{1,3} +(.+)", line)):
            yield title, "\n".join(lines)
            title, lines = heading[1].strip(), []
        else:
            lines.append(line)
    yield title, "\n".join(lines)


def _pieces(text: str) -> Iterator[str]:
    piece = ""
    for paragraph in _paragraphs(text):
        if piece and len(piece) + 2 + len(paragraph) > LONGEST_SECTION_CHARACTERS:
            yield piece
            piece = ""
        piece = f"{piece}\n\n{paragraph}" if piece else paragraph
    if piece:
        yield piece


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in filter(None, text.split("\n\n")):
        yield from textwrap.wrap(
            paragraph, LONGEST_SECTION_CHARACTERS, replace_whitespace=False, drop_whitespace=False, expand_tabs=False
        )
