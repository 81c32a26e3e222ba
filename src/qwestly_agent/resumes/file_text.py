"""Extract the text of a file.

Run with `python -m` in a process without secrets, with the file on standard input."""

import io
import json
import re
import resource
import sys
import zipfile
from collections.abc import Iterator
from xml.etree import ElementTree

from qwestly_agent.resumes.unreadable import MOST_CHARACTERS, UnreadableFile
from qwestly_agent.text.clean import visible

# --- docx text --------------------------------------------------------------------------------------------------------
# Extract the text of a DOCX from its XML: headers, paragraphs, tables, text boxes, footers.


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


# --- file text --------------------------------------------------------------------------------------------------------
# It prints JSON: `{"text": …}`, or `{"why": …}` if there is no text. A hostile file can only harm this process, within
# its limits.


CPU_SECONDS = 15
MEMORY_BYTES = 384 * 1024 * 1024

_PDF, _ZIP, _OLE = b"%PDF-", b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_RTF = b"{\\rtf"
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_TO_LETTERS = str.maketrans(_LIGATURES)
_SOFT_BREAK = re.compile(r"\xad\s*\n\s*")
_BLANKS = re.compile(r"[^\S\n]+")
_EMPTY_LINES = re.compile(r"\n{3,}")


def text_of_file(content: bytes) -> str:
    """Return the lines of the file in reading order. The format is detected from the first bytes, not from the name.
    Raises `UnreadableFile`."""
    text = _normalized(_extracted(content))
    if not text:
        raise UnreadableFile("empty")
    if len(text) > MOST_CHARACTERS:
        raise UnreadableFile("long")
    return text


def _extracted(content: bytes) -> str:
    if _PDF in content[:1024]:
        # Imported late: it is slow to import, and only PDFs need it.
        from qwestly_agent.resumes.pdf_text import text_of_pdf

        return text_of_pdf(content)
    if content.startswith(_ZIP):
        return text_of_docx(content)
    if content.startswith(_OLE):  # also an encrypted Word file
        raise UnreadableFile("password" if "EncryptedPackage".encode("utf-16-le") in content else "old_word")
    return _decoded(content)


def _decoded(content: bytes) -> str:
    encoding = next((name for bom, name in _BOMS.items() if content.startswith(bom)), None)
    if content.startswith(_RTF) or (encoding is None and _BINARY.search(content)):
        raise UnreadableFile("kind")
    try:
        return content.decode(encoding or "utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _normalized(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0c", "\n\n")
    text = _SOFT_BREAK.sub("", text.translate(_TO_LETTERS))
    lines = (_BLANKS.sub(" ", line).strip() for line in visible(text).split("\n"))
    return _EMPTY_LINES.sub("\n\n", "\n".join(lines)).strip()


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    try:
        answer = {"text": text_of_file(sys.stdin.buffer.read())}
    except UnreadableFile as error:
        answer = {"why": error.why}
    except (MemoryError, RecursionError):
        answer = {"why": "heavy"}
    except Exception:  # any error of a parser on a broken file
        answer = {"why": "damaged"}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
