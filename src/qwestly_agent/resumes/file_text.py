"""Extract the text of a file. Run with `python -m` in a process without secrets, with the file as its input.

It prints JSON: `{"text": …}`, or `{"why": …}` if there is no text. A hostile file can only harm this process, within
its limits.
"""

import json
import re
import resource
import sys

from qwestly_agent.resumes.docx_text import text_of_docx
from qwestly_agent.resumes.unreadable import MOST_CHARACTERS, UnreadableFile
from qwestly_agent.text.clean import visible

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
