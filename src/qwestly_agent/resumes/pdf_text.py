"""Extract the text of a PDF in reading order, also from several columns."""

import io
import re
from collections.abc import Iterator

from pdfminer.high_level import extract_pages
from pdfminer.layout import LAParams, LTTextBox
from pdfminer.pdfdocument import PDFDocument, PDFEncryptionError, PDFPasswordIncorrect
from pdfminer.pdfpage import PDFPage
from pdfminer.pdfparser import PDFParser

from qwestly_agent.resumes.unreadable import MOST_CHARACTERS, MOST_PAGES, UnreadableFile

LAYOUT = LAParams(all_texts=True)  # also within form objects: some programs put a whole page into one
_UNKNOWN_GLYPH = re.compile(r"\(cid:\d+\)")
_HYPHENATED = re.compile(r"(?<=[^\W\d_])[-‐]\n(?=[^\W\d_A-ZÀ-ÖØ-Þ])")
"""A word that is hyphenated at the end of a line."""
_END = b"%%EOF"


def text_of_pdf(content: bytes) -> str:
    """Return blocks of lines, separated by empty lines. Raises `UnreadableFile`."""
    if _END not in content:
        raise UnreadableFile("damaged")
    _check(content)
    blocks: list[str] = []
    length = 0
    for page in extract_pages(io.BytesIO(content), laparams=LAYOUT):
        for box in page:
            if isinstance(box, LTTextBox):
                # XeTeX encodes its visible hyphen as a soft hyphen.
                blocks.append(_HYPHENATED.sub("", box.get_text().replace("\xad", "-")))
                length += len(blocks[-1])
        if length > 2 * MOST_CHARACTERS:
            raise UnreadableFile("long")
    text = "\n\n".join(blocks)
    known = _UNKNOWN_GLYPH.sub("", text)
    if not known.strip() or len(known) < len(text) / 2:  # no letters, or glyphs that map to no letters
        raise UnreadableFile("picture")
    return known


def _check(content: bytes) -> None:
    try:
        document = PDFDocument(PDFParser(io.BytesIO(content)))
        pages = sum(1 for _ in _first_pages(document))
    except (PDFPasswordIncorrect, PDFEncryptionError):
        raise UnreadableFile("password") from None
    if pages > MOST_PAGES:
        raise UnreadableFile("pages")
    if not pages:
        raise UnreadableFile("damaged")


def _first_pages(document: PDFDocument) -> Iterator[PDFPage]:
    for number, page in enumerate(PDFPage.create_pages(document)):
        if number > MOST_PAGES:
            return
        yield page
