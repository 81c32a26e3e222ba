"""Extract the text of a file.

Run with `python -m` in a process without secrets, with the file on standard input.
"""

import io
import json
import posixpath
import re
import resource
import sys
import unicodedata
import zipfile
from collections.abc import Collection, Iterator
from xml.etree import ElementTree

from qwestly_agent.resumes.unreadable import MOST_CHARACTERS, UnreadableFile
from qwestly_agent.text.clean import visible

# --- docx text --------------------------------------------------------------------------------------------------------
# Extract the text of a DOCX from its XML: headers, paragraphs, tables, text boxes, footnotes, footers. Each text is
# returned once, in order, without deleted or moved text (ECMA-376, part 1; both of its namespaces).


MOST_ENTRIES = 2_000
LARGEST_PART_BYTES = 20_000_000
_ENCRYPTED = 1
_MAIN = "word/document.xml"
"""The name of the main part if the package does not specify one."""
_WORD = (
    "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}",
    "{http://purl.oclc.org/ooxml/wordprocessingml/main}",
)
_MATH = (
    "{http://schemas.openxmlformats.org/officeDocument/2006/math}t",
    "{http://purl.oclc.org/ooxml/officeDocument/math}t",
)
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""Repeats a text box for older programs."""
_SKIPPED = frozenset(
    (
        *("del", "moveFrom", "delText", "delInstrText", "instrText", "fldData", "rt", "sym", "object"),
        *("pPr", "rPr", "tblPr", "trPr", "tcPr", "sectPr", "sdtPr"),
    )
)
"""Deleted or moved text, properties, ruby annotations, pictures and icons."""
_SIGNS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": "\xad"}
_KINDS = ("header", "footnotes", "endnotes", "footer")
"""Parts besides the main one, by the last part of their relationship type, in reading order."""


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
    names = set(archive.namelist())
    if len(names) > MOST_ENTRIES:
        raise UnreadableFile("heavy")
    main = next((path for kind, path in _related(archive, names, "") if kind == "officeDocument"), _MAIN)
    if main not in names or not main.startswith("word/"):
        raise UnreadableFile("kind")
    related = [*_related(archive, names, main)]
    around = {
        kind: sorted({path for each, path in related if (each, path in names) == (kind, True)}) for kind in _KINDS
    }
    said: set[str] = set()
    for name in [*around["header"], main, *(path for kind in _KINDS[1:] for path in around[kind])]:
        text = "\n".join(_lines(_root(archive, name)))
        if text.strip() and text not in said:  # each section of a document repeats the header
            said.add(text)
            yield f"{text}\n"


def _related(archive: zipfile.ZipFile, names: Collection[str], part: str) -> Iterator[tuple[str, str]]:
    """Yield the kinds and paths that a part refers to; without a part, those that the package refers to."""
    folder, name = posixpath.split(part)
    relations = posixpath.join(folder, "_rels", f"{name}.rels")
    if relations not in names:
        return
    for each in _root(archive, relations):
        target = each.get("Target", "")
        path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
        if each.get("TargetMode") != "External":
            yield each.get("Type", "").rpartition("/")[2], path


def _root(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    with archive.open(name) as part:
        # Do not trust the size stated in the archive.
        xml = part.read(LARGEST_PART_BYTES + 1)
    if len(xml) > LARGEST_PART_BYTES:
        raise UnreadableFile("heavy")
    text = xml.decode("utf-8-sig")  # as Word writes it; the parser then ignores the stated encoding
    if "<!DOCTYPE" in text or "<!ENTITY" in text:  # Word writes neither, and entities can expand without limit
        raise UnreadableFile("damaged")
    return ElementTree.fromstring(text)  # noqa: S314  in a separate process, without a document type


def _name(node: ElementTree.Element) -> str:
    """Return the name of a Word element, in either namespace; empty for any other element."""
    return next((node.tag.removeprefix(each) for each in _WORD if node.tag.startswith(each)), "")


def _child(node: ElementTree.Element | None, name: str) -> ElementTree.Element | None:
    return None if node is None else next((each for each in node if _name(each) == name), None)


def _parts_of(node: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """Yield the children of a node, except those that are not part of the document's text."""
    for child in node:
        if child.tag != _FALLBACK and _name(child) not in _SKIPPED and not _is_no_text(child):
            yield child


def _is_no_text(node: ElementTree.Element) -> bool:
    """True for an unfilled placeholder, a footnote separator, a deleted row, and hidden text."""
    match _name(node):
        case "sdt":
            return _child(_child(node, "sdtPr"), "showingPlcHdr") is not None
        case "footnote" | "endnote":
            return any(key.rpartition("}")[2] == "type" and value != "normal" for key, value in node.attrib.items())
        case "tr":
            return _child(_child(node, "trPr"), "del") is not None
        case "r":
            vanish = _child(_child(node, "rPr"), "vanish")
            return vanish is not None and not {*vanish.attrib.values()} & {"0", "false", "off"}
        case _:
            return False


def _lines(node: ElementTree.Element) -> Iterator[str]:
    for child in _parts_of(node):
        match _name(child):
            case "p":
                yield from _paragraph(child)
            case "tbl":
                yield from _table(child)
            case _:
                yield from _lines(child)


def _table(table: ElementTree.Element) -> Iterator[str]:
    for row in _within(table, "tr"):
        cells = [list(_lines(cell)) for cell in _within(row, "tc")]
        if all(len(lines) <= 1 for lines in cells):
            yield "\t".join(line for lines in cells for line in lines)
        else:  # page columns, each with its own paragraphs
            for lines in cells:
                yield from lines
                yield ""


def _within(node: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    """Yield rows or cells, including those in a content control or a tracked change, but not those of a table inside a
    cell."""
    for child in _parts_of(node):
        if _name(child) == name:
            yield child
        elif _name(child) not in ("tc", "tbl", "p"):
            yield from _within(child, name)


def _paragraph(paragraph: ElementTree.Element) -> Iterator[str]:
    boxes: list[ElementTree.Element] = []
    text = "".join(_runs(paragraph, boxes))
    yield text
    for box in boxes:
        yield ""
        yield from _lines(box)
        yield ""


def _runs(node: ElementTree.Element, boxes: list[ElementTree.Element]) -> Iterator[str]:
    for child in _parts_of(node):
        name = _name(child)
        if name == "txbxContent":
            boxes.append(child)
        elif name == "t" or child.tag in _MATH:
            yield child.text or ""
        elif name in _SIGNS:
            yield _SIGNS[name]
        else:
            yield from _runs(child, boxes)


# --- file text --------------------------------------------------------------------------------------------------------
# Print JSON: `{"text": …}`, or `{"why": …}` if there is no text. A hostile file can only harm this process, within its
# limits.


CPU_SECONDS = 15
MEMORY_BYTES = 384 * 1024 * 1024

_PDF, _ZIP, _OLE = b"%PDF-", b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
ENCODINGS = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "koi8_r", "iso8859_2"),
    *("shift_jis", "euc_jp", "gb18030", "big5", "euc_kr"),
]
NEARLY_AS_GOOD = 0.05
"""Up to this difference in the share of implausible letter combinations (`chaos`), either of two decodings may be
right."""
COHERENT = 0.4
"""A decoding with at least this share of a language's frequent letters is in that language."""
_STRANGE = re.compile(r"[þÞðÐýÝ¯¼½¾³²¹¦¨¸\ufffd]|[^\W\d_][£¡¿¥±]|[£¥±][^\W\d_]")
"""Letters and signs of Windows' Western encoding that reveal text in another encoding."""
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_RTF = b"{\\rtf"
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_ICONS = {
    "LinkedIn": "\uf0e1\uf08c", "GitHub": "\uf09b\uf092\uf113", "GitLab": "\uf296", "Xing": "\uf168\uf169",
    "Twitter": "\uf099\uf081\ue61b", "Instagram": "\uf16d\ue055", "Telegram": "\uf2c6\uf3fe", "Skype": "\uf17e",
    "Behance": "\uf1b4", "Tel.": "\uf095\uf10b\uf3cd\uf879",
}  # fmt: skip
"""Font Awesome icons that stand for a word. Other icons are dropped."""
_RADICALS = str.maketrans(
    "⺟⺠⻁⻄⻅⻆⻋⻑⻓⻔⻘⻙⻚⻛⻜⻝⻢⻤⻥⻦⻨⻩⻫⻬⻭⻮⻰⻲⻳",
    "母民虎西见角车長长门青韦页风飞食马鬼鱼鸟麦黄斉齐歯齿龙亀龟",
) | {each: unicodedata.normalize("NFKC", chr(each)) for each in range(0x2F00, 0x2FD6)}
"""Radicals by which Chrome names the glyphs of identical ideographs."""
_WORDS = {icon: f" {word}: " for word, icons in _ICONS.items() for icon in icons}
_TO_LETTERS = str.maketrans(_LIGATURES | _WORDS) | _RADICALS
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
        return _detected(content)


def _detected(content: bytes) -> str:
    """Decode the text if its encoding can be detected beyond doubt. Otherwise raises `UnreadableFile`, because wrongly
    decoded text would be stored as the person's words."""
    # Imported late: few files need it.
    from charset_normalizer import from_bytes

    found = from_bytes(content, cp_isolation=ENCODINGS)
    best = found.best()
    if best is None:
        raise UnreadableFile("encoding")
    likely = {str(each): each.coherence for each in found if each.chaos <= best.chaos + NEARLY_AS_GOOD}
    western = content.decode("cp1252", "replace")
    top = max(likely.values())
    readings = [text for text, coherence in likely.items() if coherence == top]
    if len(readings) > 1 and western in readings and (top >= COHERENT or not _STRANGE.search(western)):
        return western
    if len(likely) > 1 and (top < COHERENT or len(readings) > 1):
        raise UnreadableFile("encoding")
    return readings[0]


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
    except Exception:  # a parser may raise any error for a broken file
        answer = {"why": "damaged"}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
