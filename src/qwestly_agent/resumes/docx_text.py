"""Extract the text of a DOCX from its XML: headers, paragraphs, tables, text boxes, footers."""

import io
import re
import zipfile
from collections.abc import Iterator
from xml.etree import ElementTree

from qwestly_agent.resumes.unreadable import UnreadableFile

MOST_ENTRIES = 2_000
LARGEST_PART_BYTES = 20_000_000
DOCUMENT = "word/document.xml"
_ENCRYPTED = 1
_AROUND = re.compile(r"word/(header|footer)\d*\.xml")
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SKIPPED = {_FALLBACK, *(f"{_W}{name}" for name in ("del", "instrText", "delText", "pPr", "rPr", "tblPr", "sectPr"))}
"""A fallback repeats a text box for older programs; `del` is deleted text."""
_SIGNS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-", f"{_W}softHyphen": "\xad"}


def text_of_docx(content: bytes) -> str:
    """Return the text, one paragraph per line, with the cells of a table row side by side. Raises `UnreadableFile`."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return "\n".join(_parts(archive))
    except (zipfile.BadZipFile, ElementTree.ParseError, UnicodeDecodeError, EOFError, NotImplementedError, KeyError):
        raise UnreadableFile("damaged") from None


def _parts(archive: zipfile.ZipFile) -> Iterator[str]:
    if any(each.flag_bits & _ENCRYPTED for each in archive.infolist()):
        raise UnreadableFile("password")
    names = archive.namelist()
    if len(names) > MOST_ENTRIES:
        raise UnreadableFile("heavy")
    if DOCUMENT not in names:
        raise UnreadableFile("kind")
    around = sorted({name for name in names if _AROUND.fullmatch(name)})
    headers = [name for name in around if "header" in name]
    said: set[str] = set()
    for name in [*headers, DOCUMENT, *(each for each in around if each not in headers)]:
        text = "\n".join(_lines(_root(archive, name)))
        if text.strip() and text not in said:  # each section of a document repeats its header
            said.add(text)
            yield f"{text}\n"


def _root(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    with archive.open(name) as part:
        # The size that the archive states is not trusted.
        xml = part.read(LARGEST_PART_BYTES + 1)
    if len(xml) > LARGEST_PART_BYTES:
        raise UnreadableFile("heavy")
    text = xml.decode("utf-8-sig")  # as Word writes; the parser then ignores what encoding the file states
    if "<!DOCTYPE" in text or "<!ENTITY" in text:  # Word writes none, and entities can expand without limit
        raise UnreadableFile("damaged")
    return ElementTree.fromstring(text)  # noqa: S314  in a separate process, without a document type


def _lines(node: ElementTree.Element) -> Iterator[str]:
    for child in node:
        if child.tag == f"{_W}p":
            yield from _paragraph(child)
        elif child.tag == f"{_W}tbl":
            yield from _table(child)
        elif child.tag not in _SKIPPED:
            yield from _lines(child)


def _table(table: ElementTree.Element) -> Iterator[str]:
    for row in table.iter(f"{_W}tr"):
        cells = [list(_lines(cell)) for cell in row if cell.tag == f"{_W}tc"]
        if all(len(lines) <= 1 for lines in cells):
            yield "\t".join(line for lines in cells for line in lines)
        else:  # page columns, each with its own paragraphs
            for lines in cells:
                yield from lines
                yield ""


def _paragraph(paragraph: ElementTree.Element) -> Iterator[str]:
    boxes: list[ElementTree.Element] = []
    text = "".join(_runs(paragraph, boxes))
    yield text
    for box in boxes:
        yield ""
        yield from _lines(box)
        yield ""


def _runs(node: ElementTree.Element, boxes: list[ElementTree.Element]) -> Iterator[str]:
    for child in node:
        if child.tag == f"{_W}txbxContent":
            boxes.append(child)
        elif child.tag == f"{_W}t":
            yield child.text or ""
        elif child.tag in _SIGNS:
            yield _SIGNS[child.tag]
        elif child.tag not in _SKIPPED and not _is_hidden(child):
            yield from _runs(child, boxes)


def _is_hidden(run: ElementTree.Element) -> bool:
    """True if the run is hidden text."""
    vanish = run.find(f"{_W}rPr/{_W}vanish") if run.tag == f"{_W}r" else None
    return vanish is not None and vanish.get(f"{_W}val", "true") not in ("0", "false")
