"""A document as files that programs and people read."""

import io
import re
import zipfile
from xml.etree import ElementTree

import pytest

from qwestly_agent.documents.content import Block, Content, Format, file_of
from qwestly_agent.resumes.file_text import text_of_docx

HOSTILE = "<script>alert(1)</script> & [a](javascript:alert(1)) *b* `c` \x0b # d"
CONTENT = Content(
    title="Zoë Ångström",
    under="Engineer · Łódź",
    contact="zoe@example.org",
    blocks=(
        Block("Experience"),
        Block("Engineer, A & B", 2, "2019-04 – present", ("Cut costs by 35 %.", "1. first", "- second"), is_list=True),
        Block(lines=("A paragraph.", "Another one.")),
    ),
    name="resume-zoe",
)


def test_our_own_reader_reads_a_docx_in_order() -> None:
    lines = [line for line in text_of_docx(file_of(CONTENT, "docx")).splitlines() if line.strip()]
    assert lines == [
        "Zoë Ångström", "Engineer · Łódź", "zoe@example.org", "Experience", "Engineer, A & B", "2019-04 – present",
        "Cut costs by 35 %.", "1. first", "- second", "A paragraph.", "Another one.",
    ]  # fmt: skip


def test_a_docx_has_no_tables_boxes_or_columns_and_no_missing_parts() -> None:
    with zipfile.ZipFile(io.BytesIO(file_of(CONTENT, "docx"))) as archive:
        assert archive.testzip() is None
        names, document = set(archive.namelist()), archive.read("word/document.xml").decode()
        for name in names:
            ElementTree.fromstring(archive.read(name))
        overrides = ElementTree.fromstring(archive.read("[Content_Types].xml"))
    assert {each.attrib["PartName"][1:] for each in overrides if "PartName" in each.attrib} <= names
    assert not [tag for tag in ("w:tbl", "w:cols", "w:drawing", "w:pict", "w:txbxContent") if f"<{tag}" in document]


def test_the_same_document_gives_the_same_bytes() -> None:
    assert file_of(CONTENT, "docx") == file_of(CONTENT, "docx")


def test_markdown_has_headings_and_lists_and_escapes_text() -> None:
    lines = file_of(CONTENT, "md").decode().splitlines()
    assert lines[0] == "# Zoë Ångström"
    assert "### Engineer, A & B" in lines
    assert "- Cut costs by 35 %." in lines
    assert "- 1\\. first" in lines
    assert "- \\- second" in lines


@pytest.mark.parametrize("format", ["docx", "md", "html"])
def test_third_party_text_is_escaped_in_each_format(format: Format) -> None:
    content = Content(HOSTILE, HOSTILE, HOSTILE, (Block(HOSTILE, 1, HOSTILE, (HOSTILE,), is_list=True),), "x")
    file = file_of(content, format)
    if format == "docx":
        assert "<script>alert(1)</script> & [a](javascript:alert(1)) *b* `c`  # d" in text_of_docx(file)
        return
    assert "<script>" not in file.decode()
    assert format == "html" or "[a](" not in file.decode()


def test_a_printable_page_loads_nothing() -> None:
    page = file_of(CONTENT, "html").decode()
    assert "default-src 'none'" in page
    assert "<h3>Engineer, A &amp; B</h3>" in page
    assert not [mark for mark in ("src=", "href=", "url(", "<script") if mark in page]


@pytest.mark.parametrize("is_hebrew", [True, False])
def test_a_hebrew_pages_dates_and_addresses_are_on_the_right(is_hebrew: bool) -> None:
    block = Block("אחות אחראית", 2, "2015-04 – 2019-03", ("ניהלתי צוות של 12 אחיות.", "Python, SQL"), is_list=True)
    content = Content("נועה לוי", "חיפה", "noa@example.org", (block,), "resume") if is_hebrew else CONTENT
    with zipfile.ZipFile(io.BytesIO(file_of(content, "docx"))) as archive:
        document = archive.read("word/document.xml").decode()
    set_right = re.findall(r'<w:jc w:val="right"/></w:pPr><w:r><w:t[^>]*>([^<]*)', document)
    assert set_right == (["noa@example.org", "2015-04 – 2019-03", "Python, SQL"] if is_hebrew else [])
