"""Extract the text of a PDF in reading order, also from several columns, of form fields, and from right to left."""

import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from pdfminer.converter import PDFPageAggregator
from pdfminer.layout import (
    IndexAssigner,
    LAParams,
    LTAnno,
    LTChar,
    LTFigure,
    LTItem,
    LTPage,
    LTTextBox,
    LTTextLine,
    LTTextLineHorizontal,
)
from pdfminer.pdfdocument import PDFDocument, PDFEncryptionError, PDFPasswordIncorrect
from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager
from pdfminer.pdfpage import PDFPage
from pdfminer.pdfparser import PDFParser
from pdfminer.pdftypes import resolve1
from pdfminer.utils import decode_text

from qwestly_agent.resumes.unreadable import MOST_CHARACTERS, MOST_PAGES, UnreadableFile

LAYOUT = LAParams()
_UNKNOWN_GLYPH = re.compile(r"\(cid:\d+\)")
_HYPHENATED = re.compile(r"(?<=[^\W\d_])[-‐]\n(?=[^\W\d_A-ZÀ-ÖØ-Þ])")
"""A word that is hyphenated at the end of a line."""
_SPACED_OUT = re.compile(r"(?:[^\W\d_] ){3,}[^\W\d_](?!\w)")
"""A heading with a blank between its letters."""
_END = b"%%EOF"

SAME_BASELINE = 0.35
"""Distance of two baselines, in heights of a line, at which they are one."""
MARGIN_GAP = 1.5
"""Distance of what stands at the right margin from its line, in heights."""
LONGEST_AT_MARGIN = 45
"""Characters of a place or a period at the right margin."""
_YEAR = r"(?:[^\W\d_]{3,10}\.? )?[\d./ ]{0,8}(?:19|20)\d\d"
_PERIOD = re.compile(rf"{_YEAR}(?:\s?[–—-]\s?(?:{_YEAR}|\d\d|[^\W\d_]{{3,10}})?)?")
"""A year or a period, such as of an award."""
MOST_LINES = 300
"""Lines of a page that are compared with each other; a résumé has eighty."""
MOST_AT_MARGIN = 3
"""Lines that follow each other at the right margin; more are a column, unless they end at one place."""


def text_of_pdf(content: bytes) -> str:
    """Return blocks of lines, separated by empty lines. Raises `UnreadableFile`."""
    if _END not in content:
        raise UnreadableFile("damaged")
    blocks: list[str] = []
    length = 0
    resources = PDFResourceManager()
    # Without a layout of its own: what stands at the right margin is joined to its line before lines are grouped.
    device = PDFPageAggregator(resources, laparams=None)
    interpreter = PDFPageInterpreter(resources, device)
    for page in _pages(content):
        interpreter.process_page(page)
        for block in _blocks(device.get_result(), [*_values_of(page)]):
            # XeTeX encodes its visible hyphen as a soft hyphen.
            blocks.append(_HYPHENATED.sub("", block.replace("\xad", "-")))
            length += len(blocks[-1])
        if length > 2 * MOST_CHARACTERS:
            raise UnreadableFile("long")
    text = "\n\n".join(blocks)
    known = _UNKNOWN_GLYPH.sub("", text)
    if not known.strip() or len(known) < len(text) / 2:  # no letters, or glyphs that map to no letters
        raise UnreadableFile("picture")
    return known


def _pages(content: bytes) -> list[PDFPage]:
    """Raises `UnreadableFile`."""
    try:
        document = PDFDocument(PDFParser(io.BytesIO(content)))
        pages = [*islice(PDFPage.create_pages(document), MOST_PAGES + 1)]
    except (PDFPasswordIncorrect, PDFEncryptionError):
        raise UnreadableFile("password") from None
    if len(pages) > MOST_PAGES:
        raise UnreadableFile("pages")
    if not pages:
        raise UnreadableFile("damaged")
    return pages


# --- form fields ------------------------------------------------------------------------------------------------------


class _Value(LTTextLineHorizontal):
    """The value of a form field, as a line of its own."""

    def __init__(self, text: str, box: tuple[float, float, float, float]) -> None:
        super().__init__(LAYOUT.word_margin)
        self._text = text
        self.set_bbox(box)

    def get_text(self) -> str:
        return f"{self._text}\n"

    def is_empty(self) -> bool:
        return not self._text.strip()


def _values_of(page: PDFPage) -> Iterator[_Value]:
    for annotation in resolve1(page.annots) or ():
        field = resolve1(annotation)
        if not isinstance(field, dict) or getattr(field.get("Subtype"), "name", "") != "Widget":
            continue
        value = resolve1(_inherited(field, "V"))
        texts = value if isinstance(value, list) else [value]
        text = ", ".join(decode_text(each) for each in map(resolve1, texts) if isinstance(each, bytes)).strip()
        box = resolve1(field.get("Rect"))
        if text and isinstance(box, list) and len(box) == 4:
            x0, y0, x1, y1 = (float(resolve1(each)) for each in box)
            # As high as a line: a field may be higher than what stands in it.
            left, right, top = min(x0, x1), max(x0, x1), max(y0, y1)
            height = min(abs(y1 - y0), 14.0)
            yield from (
                _Value(line, (left, top - (n + 1) * height, right, top - n * height))
                for n, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
            )


def _inherited(field: dict[str, object], name: str) -> object:
    """Return a value of the field or of the field that it is a part of."""
    for _ in range(8):
        if name in field:
            return field[name]
        parent = resolve1(field.get("Parent"))
        if not isinstance(parent, dict):
            return None
        field = parent
    return None


# --- layout -----------------------------------------------------------------------------------------------------------


def _blocks(page: LTPage, values: Sequence[_Value]) -> Iterator[str]:
    """Yield the page's blocks of lines in reading order."""
    characters = list(_characters(page))
    lines: list[LTTextLine] = list(page.group_objects(LAYOUT, characters)) if characters else []
    lines = [each for each in (*lines, *values) if not each.is_empty()]
    for line in lines:
        if not isinstance(line, _Value):
            line.analyze(LAYOUT)
    if not lines:
        return
    beside = _at_margin(lines) if len(lines) <= MOST_LINES else {}
    kept = [each for each in lines if id(each) not in {id(right) for rights in beside.values() for right in rights}]
    boxes = list(page.group_textlines(LAYOUT, kept))
    assigner = IndexAssigner()
    for group in page.group_textboxes(LAYOUT, boxes):
        group.analyze(LAYOUT)
        assigner.run(group)
    for box in sorted(boxes, key=lambda each: each.index):
        yield "".join(f"{_line(each, beside.get(id(each), ()))}\n" for each in _in_box(box))


def _characters(container: Sequence[LTItem] | LTPage | LTFigure) -> Iterator[LTChar]:
    """Yield all characters, also within form objects: some programs put a whole page into one."""
    for each in container:
        if isinstance(each, LTChar):
            yield each
        elif isinstance(each, LTFigure):
            yield from _characters(each)


def _in_box(box: LTTextBox) -> Iterator[LTTextLine]:
    return (each for each in box if isinstance(each, LTTextLine))


def _line(line: LTTextLine, beside: Sequence[LTTextLine]) -> str:
    return "\t".join(_said(each) for each in sorted((line, *beside), key=lambda each: each.x0))


def _at_margin(lines: Sequence[LTTextLine]) -> dict[int, list[LTTextLine]]:
    """Return what stands at a margin of a line, by the line's id: at the right a place, a period, or a form's value, at
    the left a period."""
    pairs: list[tuple[LTTextLine, LTTextLine]] = []
    found: dict[int, list[LTTextLine]] = {}
    for right in lines:
        left = _left_of(right, lines)
        if left is not None and not isinstance(right, _Value) and _is_beside(left, right, lines):
            found.setdefault(id(right), []).append(left)
        elif left is not None and (isinstance(right, _Value) or len(right.get_text().strip()) <= LONGEST_AT_MARGIN):
            pairs.append((left, right))
    paired = {id(right): left for left, right in pairs}
    for left, right in pairs:
        run = _run_of(right, [each for each in lines if each.x0 >= left.x1])
        # Of a column, lines begin at one place; of what is set to the right margin, they end at one.
        ends_together = max(each.x1 for each in run) - min(each.x1 for each in run) < 3
        begins_together = max(each.x0 for each in run) - min(each.x0 for each in run) < 3
        may_be_either = len(run) <= MOST_AT_MARGIN and ends_together == begins_together
        is_margin = (
            len(run) == 1 or may_be_either or (ends_together and not begins_together) or all(map(_is_period, run))
        )
        if isinstance(right, _Value) or (is_margin and all(id(each) in paired for each in run)):
            found.setdefault(id(left), []).append(right)
    return found


def _is_beside(period: LTTextLine, line: LTTextLine, lines: Sequence[LTTextLine]) -> bool:
    """True for a period at the left of its line, in a column of nothing else."""
    if not _is_period(period) or _is_period(line) or _left_of(period, lines):
        return False
    return all(map(_is_period, _run_of(period, [each for each in lines if each.x1 <= line.x0])))


def _is_period(line: LTTextLine) -> bool:
    return bool(_PERIOD.fullmatch(line.get_text().strip()))


def _left_of(right: LTTextLine, lines: Sequence[LTTextLine]) -> LTTextLine | None:
    """Return the nearest line on the same baseline whose end leaves a gap."""
    height = min(right.height, 14.0) or 1.0
    same = [
        each
        for each in lines
        if each is not right
        and abs(each.y0 - right.y0) <= SAME_BASELINE * max(height, 8.0)
        and each.x1 + (0 if isinstance(right, _Value) else MARGIN_GAP * height) <= right.x0
    ]
    return max(same, key=lambda each: each.x1, default=None)


def _run_of(line: LTTextLine, lines: Sequence[LTTextLine]) -> list[LTTextLine]:
    """Return the lines that follow each other closely above and below a line, with it."""
    run = [line]
    while below := max((e for e in lines if e.y0 < run[-1].y0 and _touches(run[-1], e)), key=_height_at, default=None):
        run.append(below)
    while above := min((e for e in lines if e.y0 > run[0].y0 and _touches(run[0], e)), key=_height_at, default=None):
        run.insert(0, above)
    return run


def _height_at(line: LTTextLine) -> float:
    return line.y0


def _touches(one: LTTextLine, other: LTTextLine) -> bool:
    """True if one stands close above the other."""
    overlap = min(one.x1, other.x1) - max(one.x0, other.x0)
    is_near = 0 < abs(one.y0 - other.y0) < 1.8 * max(one.height, other.height)
    return is_near and overlap > 0.5 * min(one.width, other.width)


# --- characters -------------------------------------------------------------------------------------------------------


def _said(line: LTTextLine) -> str:
    text = line.get_text().rstrip("\n")
    if any(_is_right_to_left(each) for each in text):
        text = _from_the_right(line) if not isinstance(line, _Value) else text
    return _SPACED_OUT.sub(lambda found: found[0].replace(" ", ""), text)


def _is_right_to_left(letter: str) -> bool:
    return unicodedata.bidirectional(letter) in ("R", "AL")


def _from_the_right(line: LTTextLine) -> str:
    """Return the text of a line with Hebrew or Arabic letters in the order in which it is read: characters stand where
    they are seen, and letters, numbers and brackets from left to right within it."""
    pieces: list[tuple[float, str]] = []
    at = 0.0
    for each in line:
        if isinstance(each, LTChar):
            at = each.x0
            pieces.append((at, each.get_text()))
        elif isinstance(each, LTAnno) and each.get_text() != "\n":
            pieces.append((at + 0.01, each.get_text()))
    seen = [text for _, text in sorted(pieces, key=lambda piece: piece[0])]
    letters = [unicodedata.bidirectional(each[0]) for each in seen if each]
    mostly = sum(kind in ("R", "AL") for kind in letters) >= sum(kind == "L" for kind in letters)
    runs = [(is_rtl, [*run]) for is_rtl, run in groupby(_levels(seen, mostly), key=lambda each: each[0])]
    order = reversed(runs) if mostly else runs
    return "".join(_run(is_rtl, [text for _, text in run]) for is_rtl, run in order)


def _levels(seen: Sequence[str], mostly: bool) -> Iterator[tuple[bool, str]]:
    """Yield each piece with whether it is read from the right: a neutral one as both its neighbours, else the line."""
    kinds = [unicodedata.bidirectional(each[0]) if each else "ON" for each in seen]
    for at in range(1, len(kinds) - 1):  # "1,234" and "03/2021" are one number
        if kinds[at] in ("CS", "ES") and kinds[at - 1] == kinds[at + 1] == "EN":
            kinds[at] = "EN"
    # Beside what is neutral a number counts as read from the right: of "2015–2019" the first year stands at the right.
    strong = [True if kind in ("R", "AL", "EN", "AN") else False if kind == "L" else None for kind in kinds]
    for at, text in enumerate(seen):
        known = False if kinds[at] in ("EN", "AN") else strong[at]
        if known is None:
            before = next((each for each in reversed(strong[:at]) if each is not None), mostly)
            after = next((each for each in strong[at + 1 :] if each is not None), mostly)
            known = before if before == after else mostly
        yield known, text


def _run(is_rtl: bool, pieces: Sequence[str]) -> str:
    if not is_rtl:
        return "".join(pieces)
    mirrored = (_MIRRORED.get(each, each) for each in reversed(pieces))
    return unicodedata.normalize("NFKC", "".join(mirrored))


_MIRRORED = dict(zip("()[]{}<>«»", ")(][}{><»«", strict=True))
