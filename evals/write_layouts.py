"""Write the résumés of `evals/layouts`: `python -m evals.write_layouts`.

Needs Chromium, LibreOffice (soffice) and python-docx, none of which reads them here. Each file contains what
`people.json` says about its person, in the order in which a person reads that layout; `truth` of `evals.layouts`
defines it. The files are stored in the repository, so that measuring them needs none of these programs.
"""

import importlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from pdfminer.fontmetrics import FONT_METRICS
from playwright.sync_api import sync_playwright

from evals.layouts import FOLDER, Person, people
from tests.resume_files import SPACES, Page, archive, pdf

STYLE = """
body{font:10.5pt "Noto Sans","Noto Sans Hebrew","Noto Sans Arabic","Noto Sans CJK JP",sans-serif;width:175mm;margin:0}
h1{font-size:20pt;margin:0} h2{font-size:12pt;margin:10px 0 2px} p,ul{margin:2px 0} .r{display:flex;gap:8mm;
justify-content:space-between} .caps h2{letter-spacing:5px} .side{display:grid;grid-template-columns:52mm 1fr;gap:9mm}
td{vertical-align:top;padding:0 8mm 6px 0} .two{columns:2;column-gap:10mm} .job{break-inside:avoid}
"""


def margin_page(person: Person) -> str:
    """Places and dates at the far margin, letter-spaced headings."""
    jobs = "".join(
        f"<div class=r><b>{e(job['company'])}</b><span>{e(job['place'])}</span></div>"
        f"<div class=r><i>{e(job['title'])}</i><span>{e(job['period'])}</span></div>{bullets(job['lines'])}"
        for job in person["jobs"]
    )
    schools = "".join(
        f"<div class=r><b>{e(each['school'])}</b><span>{e(each['period'])}</span></div><div>{e(each['degree'])}</div>"
        for each in person["schools"]
    )
    work, education, skills, languages = map(e, person["headings"])
    return (
        f"<div class=caps>{head(person)}<h2>{work}</h2>{jobs}<h2>{education}</h2>{schools}"
        f"<h2>{skills}</h2><p>{e(' · '.join(person['skills']))}</p>"
        f"<h2>{languages}</h2><p>{e(', '.join(person['languages']))}</p></div>"
    )


def sidebar_page(person: Person) -> str:
    work, education, skills, languages = map(e, person["headings"])
    listed = "".join(f"<div>{e(each)}</div>" for each in person["contact"])
    abilities = "".join(f"<div>{e(each)}</div>" for each in person["skills"])
    spoken = "".join(f"<div>{e(each)}</div>" for each in person["languages"])
    schools = "".join(
        f"<div>{e(each['degree'])}</div><div>{e(each['school'])}</div><div>{e(each['period'])}</div>"
        for each in person["schools"]
    )
    jobs = "".join(
        f"<p><b>{e(job['title'])}</b></p><div>{e(job['company'])}, {e(job['place'])}</div><div>{e(job['period'])}</div>"
        f"{bullets(job['lines'])}"
        for job in person["jobs"]
    )
    return (
        f"<div class=side><div><h1>{e(person['name'])}</h1><div>{e(person['place'])}</div>{listed}<h2>{skills}</h2>"
        f"{abilities}<h2>{languages}</h2>{spoken}<h2>{education}</h2>{schools}</div>"
        f"<div><p>{e(person['headline'])}</p><h2>{work}</h2>{jobs}</div></div>"
    )


def table_page(person: Person) -> str:
    """Dates at the near side, everything else next to them."""
    work, education, skills, languages = map(e, person["headings"])
    jobs = "".join(
        f"<tr><td style='white-space:nowrap'>{e(job['period'])}</td><td><b>{e(job['title'])}</b><br>"
        f"{e(job['company'])}, {e(job['place'])}{bullets(job['lines'])}</td></tr>"
        for job in person["jobs"]
    )
    schools = "".join(
        f"<tr><td>{e(each['period'])}</td><td>{e(each['degree'])}<br>{e(each['school'])}</td></tr>"
        for each in person["schools"]
    )
    return (
        f"{head(person)}<h2>{work}</h2><table>{jobs}</table><h2>{education}</h2><table>{schools}</table>"
        f"<h2>{skills}</h2><p>{e(', '.join(person['skills']))}</p><h2>{languages}</h2>"
        f"<p>{e(', '.join(person['languages']))}</p>"
    )


def columns_page(person: Person) -> str:
    """Two columns as in a newspaper."""
    work, education, skills, languages = map(e, person["headings"])
    jobs = "".join(
        f"<div class=job><b>{e(job['title'])}</b><div>{e(job['company'])}, {e(job['place'])}</div>"
        f"<div>{e(job['period'])}</div>{bullets(job['lines'])}</div>"
        for job in person["jobs"]
    )
    schools = "".join(
        f"<div class=job><div>{e(each['degree'])}</div><div>{e(each['school'])}</div>"
        f"<div>{e(each['period'])}</div></div>"
        for each in person["schools"]
    )
    return (
        f"{head(person)}<div class=two><h2>{work}</h2>{jobs}<div class=job><h2>{education}</h2>{schools}</div>"
        f"<div class=job><h2>{skills}</h2><p>{e(', '.join(person['skills']))}</p></div>"
        f"<div class=job><h2>{languages}</h2><p>{e(', '.join(person['languages']))}</p></div></div>"
    )


def right_page(person: Person) -> str:
    """A sidebar at the far side."""
    work, education, skills, languages = map(e, person["headings"])
    jobs = "".join(
        f"<p><b>{e(job['title'])}</b></p><div>{e(job['company'])}, {e(job['place'])}</div><div>{e(job['period'])}</div>"
        f"{bullets(job['lines'])}"
        for job in person["jobs"]
    )
    schools = "".join(
        f"<div>{e(each['degree'])}</div><div>{e(each['school'])}</div><div>{e(each['period'])}</div>"
        for each in person["schools"]
    )
    side = "".join(f"<div>{e(each)}</div>" for each in (person["place"], *person["contact"]))
    side += f"<h2>{skills}</h2>{''.join(f'<div>{e(each)}</div>' for each in person['skills'])}"
    side += f"<h2>{languages}</h2>{''.join(f'<div>{e(each)}</div>' for each in person['languages'])}"
    main = (
        f"<h1>{e(person['name'])}</h1><p>{e(person['headline'])}</p><h2>{work}</h2>{jobs}<h2>{education}</h2>{schools}"
    )
    return (
        "<div style='display:grid;grid-template-columns:1fr 55mm;gap:8mm;font-size:9.5pt'>"
        f"<div>{main}</div><div>{side}</div></div>"
    )


def stacked_page(person: Person) -> str:
    """Dates at the far margin of titles, contact details stacked there, skills in three columns."""
    work, education, skills, languages = map(e, person["headings"])
    aside = "<div style='overflow:hidden'><span style='float:inline-end'>"
    jobs = "".join(
        f"{aside}{e(job['period'])}</span><b>{e(job['title'])}</b>, {e(job['company'])}</div>"
        f"<div>{e(job['place'])}</div>{bullets(job['lines'])}"
        for job in person["jobs"]
    )
    schools = "".join(
        f"{aside}{e(each['period'])}</span>{e(each['degree'])}</div><div>{e(each['school'])}</div>"
        for each in person["schools"]
    )
    contact = "".join(f"<div style='text-align:end'>{e(each)}</div>" for each in (person["place"], *person["contact"]))
    listed = "".join(f"<div>{e(each)}</div>" for each in person["skills"])
    return (
        f"<h1>{e(person['name'])}</h1><p>{e(person['headline'])}</p>{contact}<h2>{work}</h2>{jobs}<h2>{education}</h2>"
        f"{schools}<h2>{skills}</h2><div style='display:grid;grid-template-columns:1fr 1fr 1fr'>{listed}</div>"
        f"<h2>{languages}</h2><p>{e(' / '.join(person['languages']))}</p>"
    )


def timeline_page(person: Person) -> str:
    """Dates and place at the near side of a vertical line."""
    work, education, skills, languages = map(e, person["headings"])

    def row(near: str, far: str) -> str:
        columns = "display:grid;grid-template-columns:42mm 1fr;gap:6mm;margin-bottom:3mm"
        rule = "border-inline-start:1px solid;padding-inline-start:4mm"
        return f"<div style='{columns}'><div>{near}</div><div style='{rule}'>{far}</div></div>"

    jobs = "".join(
        row(
            f"{e(job['period'])}<br>{e(job['place'])}",
            f"<b>{e(job['title'])}</b><br>{e(job['company'])}{bullets(job['lines'])}",
        )
        for job in person["jobs"]
    )
    schools = "".join(
        row(e(each["period"]), f"{e(each['degree'])}<br>{e(each['school'])}") for each in person["schools"]
    )
    return (
        f"{head(person)}<h2>{work}</h2>{jobs}<h2>{education}</h2>{schools}<h2>{skills}</h2>"
        f"<p>{e(', '.join(person['skills']))}</p><h2>{languages}</h2><p>{e(', '.join(person['languages']))}</p>"
    )


def head(person: Person) -> str:
    contact = " · ".join((person["place"], *person["contact"]))
    return f"<h1>{e(person['name'])}</h1><p>{e(person['headline'])}</p><p>{e(contact)}</p>"


def bullets(lines: list[str]) -> str:
    return f"<ul>{''.join(f'<li>{e(each)}</li>' for each in lines)}</ul>"


def e(text: str) -> str:
    return escape(text)


# --- Word -------------------------------------------------------------------------------------------------------------

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def docx(body: str) -> bytes:
    """A package with parts named as by Word for the web."""
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document2.xml" ContentType="{MAIN}"/></Types>'
    )
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{OFFICE}" Target="word/document2.xml"/></Relationships>'
    )
    document = f"<w:document {SPACES}><w:body>{body}</w:body></w:document>"
    return archive({"[Content_Types].xml": types, "_rels/.rels": relations, "word/document2.xml": document})


RIGHT = '<w:pPr>{bidi}<w:tabs><w:tab w:val="right" w:pos="9600"/></w:tabs></w:pPr>'


def of_paragraphs(person: Person) -> bytes:
    """Word's own structure: dates after a tab to the right margin."""
    return docx("".join(_paragraphs(person)))


def _paragraphs(person: Person) -> Iterator[str]:
    bidi = "<w:bidi/>" if person["direction"] == "rtl" else ""

    def line(left: str, right: str = "") -> str:
        rtl = "<w:rPr><w:rtl/></w:rPr>" if bidi else ""
        tabbed = f"<w:r>{rtl}<w:tab/><w:t>{e(right)}</w:t></w:r>" if right else ""
        return f"<w:p>{RIGHT.format(bidi=bidi)}<w:r>{rtl}<w:t>{e(left)}</w:t></w:r>{tabbed}</w:p>"

    work, education, skills, languages = person["headings"]
    yield from (line(person["name"]), line(person["headline"]))
    yield line(" · ".join((person["place"], *person["contact"])))
    yield line(work)
    for job in person["jobs"]:
        yield line(job["company"], job["place"])
        yield line(job["title"], job["period"])
        yield from (line(f"• {each}") for each in job["lines"])
    yield line(education)
    for each in person["schools"]:
        yield line(each["school"], each["period"])
        yield line(each["degree"])
    yield from (line(skills), line(" · ".join(person["skills"])))
    yield from (line(languages), line(", ".join(person["languages"])))


def of_table(person: Person) -> bytes:
    """A sidebar as the first cell of a table, as in templates."""
    work, education, skills, languages = person["headings"]
    side = [*person["contact"], skills, *person["skills"], languages, *person["languages"]]
    main = [work]
    for job in person["jobs"]:
        main += [job["title"], f"{job['company']}, {job['place']}", job["period"], *job["lines"]]
    main.append(education)
    for each in person["schools"]:
        main += [each["degree"], each["school"], each["period"]]
    bidi = "<w:bidi/>" if person["direction"] == "rtl" else ""
    visual = "<w:tblPr><w:bidiVisual/></w:tblPr>" if bidi else ""

    def lines(texts: Sequence[str]) -> str:
        rtl = "<w:rPr><w:rtl/></w:rPr>" if bidi else ""
        return "".join(f"<w:p><w:pPr>{bidi}</w:pPr><w:r>{rtl}<w:t>{e(each)}</w:t></w:r></w:p>" for each in texts)

    head = lines((person["name"], person["headline"], person["place"]))
    widths = "<w:tblGrid><w:gridCol w:w='3000'/><w:gridCol w:w='6600'/></w:tblGrid>"
    cells = "".join(
        f"<w:tc><w:tcPr><w:tcW w:w='{width}' w:type='dxa'/></w:tcPr>{lines(each)}</w:tc>"
        for width, each in ((3000, side), (6600, main))
    )
    return docx(f"{head}<w:tbl>{visual}{widths}<w:tr>{cells}</w:tr></w:tbl>{lines([''])}")


def by_python_docx(person: Person, path: Path) -> None:
    document = importlib.import_module("docx").Document()  # not among the requirements: only the writer needs it
    work, education, skills, languages = person["headings"]
    document.add_heading(person["name"], 0)
    document.add_paragraph(person["headline"])
    document.add_paragraph(" · ".join((person["place"], *person["contact"])))
    document.add_heading(work, 1)
    table = document.add_table(0, 2)
    for job in person["jobs"]:
        period, text = table.add_row().cells
        period.text = job["period"]
        text.text = job["title"]
        text.add_paragraph(f"{job['company']}, {job['place']}")
        for each in job["lines"]:
            text.add_paragraph(each, "List Bullet")
    document.add_heading(education, 1)
    for each in person["schools"]:
        document.add_paragraph(f"{each['degree']}, {each['school']}, {each['period']}")
    document.add_heading(skills, 1)
    document.add_paragraph(", ".join(person["skills"]))
    document.add_heading(languages, 1)
    document.add_paragraph(", ".join(person["languages"]))
    document.save(str(path))


# --- streams of PDF, by hand ------------------------------------------------------------------------------------------


def as_word_prints(person: Person) -> bytes:
    """Marked content for each paragraph, a run for each word or two, kerned; separate bullets."""
    page, y, mark = Page(), 790.0, 0

    def put(x: float, text: str) -> None:
        nonlocal mark
        words, at = text.split(" "), x
        page.parts.append(f"/P <</MCID {mark}>> BDC")
        for start in range(0, len(words), 2):
            run = " ".join(words[start : start + 2]) + (" " if start + 2 < len(words) else "")
            page.text(round(at, 2), y, run)
            at += width(run)
        page.parts.append("EMC")
        mark += 1

    for left, right, is_item in _printed(person):
        if is_item:
            page.text(60, y, "\u2022")
        put(74 if is_item else 56, left)
        if right:
            put(540 - width(right), right)
        y -= 14
    return pdf([page])


def as_google_prints(person: Person) -> bytes:
    """As Skia does: each word at its own position, letter by letter, ligatures with the text that they represent."""
    page, y = Page(), 790.0

    def put(x: float, text: str) -> None:
        for letter in text.replace("fi", "\x01"):
            words = "fi" if letter == "\x01" else letter
            if letter == "\x01":
                page.parts.append("/Span <</ActualText <FEFF00660069>>> BDC")
                page.text(round(x, 2), y, "k")  # a glyph of a subset, which has no meaning
                page.parts.append("EMC")
            elif letter != " ":
                page.text(round(x, 2), y, letter)
            x += width(words)

    for left, right, is_item in _printed(person):
        put(70 if is_item else 56, left)
        if right:
            put(540 - width(right), right)
        y -= 14.5
    return pdf([page])


def _printed(person: Person) -> Iterator[tuple[str, str, bool]]:
    work, education, skills, languages = person["headings"]
    yield from ((person["name"], "", False), (person["headline"], "", False))
    yield " | ".join((person["place"], *person["contact"])), "", False
    yield work, "", False
    for job in person["jobs"]:
        yield job["company"], job["place"], False
        yield job["title"], job["period"], False
        yield from ((each, "", True) for each in job["lines"])
    yield education, "", False
    for each in person["schools"]:
        yield each["school"], each["period"], False
        yield each["degree"], "", False
    yield from ((skills, "", False), (" | ".join(person["skills"]), "", False))
    yield from ((languages, "", False), (", ".join(person["languages"]), "", False))


def width(text: str) -> float:
    """Width in Helvetica at size 10, by Adobe's metrics."""
    _, widths = FONT_METRICS["Helvetica"]
    return sum(widths[each] for each in text) / 100


# --- writing ----------------------------------------------------------------------------------------------------------

PAGES = {
    "margin": margin_page,
    "sidebar": sidebar_page,
    "table": table_page,
    "columns": columns_page,
    "right": right_page,
    "stacked": stacked_page,
    "timeline": timeline_page,
}
WORD = {"paragraphs": of_paragraphs, "cells": of_table}
STREAMS = {"word": as_word_prints, "google": as_google_prints}


def main() -> None:
    chromium, soffice = shutil.which("chromium"), shutil.which("soffice")
    if not (chromium and soffice):
        sys.exit("Chromium and LibreOffice are needed.")
    for old in (*FOLDER.glob("*.pdf"), *FOLDER.glob("*.docx")):
        old.unlink()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        for person in people():
            for name, make in PAGES.items():
                page.set_content(
                    f"<meta charset=utf-8><style>{STYLE}</style><body dir={person['direction']}>{make(person)}"
                )
                (FOLDER / f"{person['id']}-chromium-{name}.pdf").write_bytes(page.pdf(format="A4"))
        browser.close()
    for person in people():
        for name, of_word in WORD.items():
            (FOLDER / f"{person['id']}-word-{name}.docx").write_bytes(of_word(person))
        if person["id"] in ("en", "de"):
            for name, of_stream in STREAMS.items():
                (FOLDER / f"{person['id']}-stream-{name}.pdf").write_bytes(of_stream(person))
            by_python_docx(person, FOLDER / f"{person['id']}-python-docx.docx")
    _print(soffice)


def _print(soffice: str) -> None:
    """Let LibreOffice print each DOCX file."""
    with tempfile.TemporaryDirectory() as made:
        profile = f"-env:UserInstallation={Path(made, 'profile').as_uri()}"
        command = [soffice, profile, "--headless", "--convert-to", "pdf", "--outdir", made]
        files = [*map(str, FOLDER.glob("*.docx"))]
        subprocess.run([*command, *files], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        for each in Path(made).glob("*.pdf"):
            shutil.copy(each, FOLDER / f"{each.stem}-libreoffice.pdf")


if __name__ == "__main__":
    main()
