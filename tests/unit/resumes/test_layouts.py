"""Files as programs write them: text at the right margin, Word's structures, encodings, and other scripts."""

import pytest
from playwright.sync_api import sync_playwright

from qwestly_agent.resumes.file_text import text_of_file
from qwestly_agent.resumes.unreadable import UnreadableFile
from qwestly_agent.text.contacts import without_contacts
from tests.resume_files import HEIGHT, LEFT, WIDTH, Page, archive, docx, p, pdf
from tests.widget.conftest import ARGUMENTS, CHROMIUM

FIRST, SECOND = "Ran the night shift of two wards and wrote the rota for forty nurses, with", "fewer gaps than before."


@pytest.mark.parametrize("gaps", [(14, 30, 43, 54), (13, 26, 38, 49), (12, 24, 36, 47), (11, 22, 33, 44)])
def test_right_aligned_places_and_dates_follow_their_line(gaps: tuple[int, ...]) -> None:
    role, first, second, third = gaps
    page = Page()
    page.text(LEFT, 770, "Northgate Hospital", size=12)
    page.text(470, 770, "Bristol")
    page.text(LEFT, 770 - role, "Ward Manager", size=9)
    page.text(440, 770 - role, "Mar. 2021 - Jun. 2023", size=9)
    page.text(LEFT + 4, 770 - first, "Took over a ward of thirty beds.", size=9)
    page.text(LEFT + 4, 770 - second, FIRST, size=9)
    page.text(LEFT + 10, 770 - third, SECOND, size=9)
    lines = [each for each in text_of_file(pdf([page])).split("\n") if each]
    assert lines == [
        "Northgate Hospital Bristol",
        "Ward Manager Mar. 2021 - Jun. 2023",
        "Took over a ward of thirty beds.",
        FIRST,
        SECOND,
    ]


def test_an_adjacent_column_is_not_taken_as_a_margin() -> None:
    page = Page()
    for at in range(6):
        page.text(LEFT, 700 - 14 * at, f"Skill {at}")
        page.text(250, 700 - 14 * at, f"Sentence {at} of the other column.")
    lines = [each for each in text_of_file(pdf([page])).split("\n") if each]
    assert lines == [*(f"Skill {at}" for at in range(6)), *(f"Sentence {at} of the other column." for at in range(6))]


AWARDS = ("Nurse of the year", "Prize of the Bristol wards", "Medal for the night shift", "Best thesis")


@pytest.mark.parametrize(("year_at", "award_at"), [(LEFT, 130), (440, LEFT)])
def test_a_tables_years_stay_with_their_awards(year_at: int, award_at: int) -> None:
    page = Page()
    for at, award in enumerate(AWARDS):
        page.text(year_at, 700 - 14 * at, f"{2014 + at}")
        page.text(award_at, 700 - 14 * at, award)
    lines = [each for each in text_of_file(pdf([page])).split("\n") if each]
    years = [
        (f"{2014 + at} {award}" if year_at < award_at else f"{award} {2014 + at}") for at, award in enumerate(AWARDS)
    ]
    assert lines == years


def test_four_skills_in_a_line_are_all_read() -> None:
    page = Page()
    for at, each in enumerate(("Triage", "Staff rotas", "Infection control", "Monitoring")):
        page.text(LEFT + 120 * (at % 3), 700 - 14 * (at // 3), each)
    assert text_of_file(pdf([page])).split("\n") == ["Triage Staff rotas Infection control", "Monitoring"]


def test_dates_in_a_left_column_stay_in_it() -> None:
    page = Page()
    side = ["Education", "Nursing", "2010 - 2014", "University of Bath", "Python"]
    for at, each in enumerate(side):
        page.text(LEFT, 700 - 14 * at, each)
        page.text(250, 700 - 14 * at, f"Sentence {at} of the other column.")
    lines = [each for each in text_of_file(pdf([page])).split("\n") if each]
    assert lines == [*side, *(f"Sentence {at} of the other column." for at in range(5))]


def test_a_letter_spaced_heading_is_read_as_a_word() -> None:
    page = Page()
    page.text(LEFT, 700, "E D U C A T I O N")
    page.text(LEFT, 680, "A B and C")
    assert text_of_file(pdf([page])).split() == ["EDUCATION", "A", "B", "and", "C"]


def test_a_pdfs_actual_text_replaces_its_glyphs() -> None:
    page = Page()
    page.parts.append("/Span <</ActualText <FEFF00660069>>> BDC")
    page.text(LEFT, 700, "k")
    page.parts.append("EMC")
    page.text(LEFT + 5, 700, "nance")
    assert text_of_file(pdf([page])) == "finance"


def test_a_letter_spaced_heading_keeps_its_words_apart() -> None:
    page = Page()
    for at, letter in enumerate("WORK HISTORY"):
        if letter != " ":  # as programs that draw none
            page.text(LEFT + 14 * at, 700, letter)
    assert text_of_file(pdf([page])) == "WORK HISTORY"


def test_a_linked_user_name_is_read_as_its_address() -> None:
    page = Page()
    page.text(LEFT, 700, "inesf")
    page.text(LEFT, 688, "Our shop")
    link = "<< /Type /Annot /Subtype /Link /Rect [50 {} 110 {}] /A << /S /URI /URI ({}) >> >>"
    links = link.format(696, 710, "https://github.com/inesf/") + link.format(685, 695, "https://example.org/a")
    assert text_of_file(pdf([page], annotations=f"/Annots [{links}]")) == "github.com/inesf\nOur shop"


@pytest.mark.parametrize(
    "annotations", ["7", "[7 null << /Rect 3 >> << /Subtype /Widget /V (x) /Rect [(a) 1 null 3] >>]"]
)
def test_a_file_with_invalid_annotations_is_still_read(annotations: str) -> None:
    page = Page()
    page.text(LEFT, 700, "Nurse")
    assert text_of_file(pdf([page], annotations=f"/Annots {annotations}")) == "Nurse"


def test_an_address_split_at_a_hyphen_keeps_it() -> None:
    page = Page()
    page.text(LEFT, 700, "linkedin.com/in/ines-")
    page.text(LEFT, 688, "falk and manage-")
    page.text(LEFT, 676, "ment")
    assert text_of_file(pdf([page])) == "linkedin.com/in/ines-falk and management"


@pytest.mark.parametrize(("said", "is_scan"), [("Scanned with a telephone", True), ("I led a ward. " * 30, False)])
def test_a_scan_with_little_text_counts_as_an_image(said: str, is_scan: bool) -> None:
    page = Page()
    page.parts.append(f"q {WIDTH} 0 0 {HEIGHT} 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q")
    page.text(LEFT, 700, said)
    if is_scan:
        with pytest.raises(UnreadableFile) as refused:
            text_of_file(pdf([page]))
        assert refused.value.why == "picture"
    else:
        assert text_of_file(pdf([page])) == said.strip()


def test_radicals_are_read_as_ideographs() -> None:
    assert text_of_file("⼭⽥花⼦ 看護師⻑".encode()) == "山田花子 看護師長"


# --- Word -------------------------------------------------------------------------------------------------------------

STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{}</Relationships>'


def relation(kind: str, target: str) -> str:
    return f'<Relationship Id="r{kind}" Type="{OFFICE}/{kind}" Target="{target}"/>'


def run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


WORD = {
    "a change that was accepted by nobody": (
        f"<w:p><w:ins>{run('Led twelve nurses.')}</w:ins>"
        "<w:del><w:r><w:delText>Led ten.</w:delText></w:r></w:del></w:p>",
        "Led twelve nurses.",
    ),
    "text that was moved": (
        f"<w:p><w:moveFrom>{run('Moved.')}</w:moveFrom></w:p><w:p>{run('Before.')}</w:p>"
        f"<w:p><w:moveTo>{run('Moved.')}</w:moveTo></w:p>",
        "Before.\nMoved.",
    ),
    "a placeholder": (
        f"<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{p('Click here')}</w:sdtContent></w:sdt>"
        + p("Nurse"),
        "Nurse",
    ),
    "a content control": (f"<w:sdt><w:sdtPr/><w:sdtContent>{p('Nurse')}</w:sdtContent></w:sdt>", "Nurse"),
    "a table in a cell, once": (
        f"<w:tbl><w:tr><w:tc><w:tbl><w:tr><w:tc>{p('2019')}</w:tc><w:tc>{p('Nurse')}</w:tc></w:tr></w:tbl>{p('')}"
        f"</w:tc><w:tc>{p('Bath')}</w:tc></w:tr></w:tbl>",
        "2019 Nurse\n\nBath",
    ),
    "a row in a content control": (
        f"<w:tbl><w:sdt><w:sdtContent><w:tr><w:tc>{p('2019')}</w:tc><w:tc>{p('Nurse')}</w:tc></w:tr></w:sdtContent>"
        f"</w:sdt></w:tbl>",
        "2019 Nurse",
    ),
    "a deleted row": (
        f"<w:tbl><w:tr><w:trPr><w:del/></w:trPr><w:tc>{p('Gone')}</w:tc></w:tr><w:tr><w:tc>{p('Stays')}</w:tc></w:tr>"
        "</w:tbl>",
        "Stays",
    ),
    "the reading of a name": (
        f"<w:p><w:r><w:ruby><w:rt>{run('やまだ')}</w:rt><w:rubyBase>{run('山田')}</w:rubyBase></w:ruby></w:r></w:p>",
        "山田",
    ),
    "a picture letter": ('<w:p><w:r><w:sym w:font="Wingdings" w:char="F028"/></w:r>' + run("Bath") + "</w:p>", "Bath"),
}


@pytest.mark.parametrize("case", WORD)
def test_each_text_of_a_word_file_is_read_once_and_in_order(case: str) -> None:
    body, text = WORD[case]
    assert text_of_file(docx(body)) == text


def test_a_word_packages_parts_are_found_by_their_relations() -> None:
    body = f'<w:document xmlns:w="{STRICT}"><w:body>{p("Ward Manager")}</w:body></w:document>'
    notes = (
        f'<w:footnotes xmlns:w="{STRICT}"><w:footnote w:type="separator" w:id="0">{p("—")}</w:footnote>'
        f'<w:footnote w:id="1">{p("Until the ward closed.")}</w:footnote></w:footnotes>'
    )
    parts = {
        "_rels/.rels": RELATIONS.format(relation("officeDocument", "word/document2.xml")),
        "word/document2.xml": body,
        "word/_rels/document2.xml.rels": RELATIONS.format(
            relation("header", "header7.xml") + relation("footnotes", "/word/notes.xml")
        ),
        "word/header7.xml": f'<w:hdr xmlns:w="{STRICT}">{p("Ines Falk")}</w:hdr>',
        "word/header8.xml": f'<w:hdr xmlns:w="{STRICT}">{p("Of nothing")}</w:hdr>',
        "word/notes.xml": notes,
    }

    assert text_of_file(archive(parts)).split("\n\n") == ["Ines Falk", "Ward Manager", "Until the ward closed."]


# --- plain text -------------------------------------------------------------------------------------------------------

PLAIN = {
    "cp1251": "Анна Петрова\nСтаршая медсестра, Северная больница",
    "koi8_r": "Анна Петрова\nРуководила отделением на тридцать коек и составляла графики дежурств.",
    "cp1252": "José Núñez\nIngeniero de producción, Málaga\nDirigí un equipo de 12 personas",
    "cp1253": "Μαρία Παπαδοπούλου\nΝοσηλεύτρια, Αθήνα",
    "cp1250": "Lucie Žáková\nVedoucí sestra, Plzeň\nŘídila tým dvanácti sester",
    "cp1256": "ليلى حداد\nممرضة رئيسية، بيروت",
    "shift_jis": "山田花子\n看護師長として北病院で十二名の看護師を指導しました。",
    "euc_kr": "김민지\n수간호사, 서울병원",
    "utf-16": "Анна Петрова",
    "utf-8-sig": "Zoë Müller",
}
SHORT = {
    "gb18030": "李娜\n护士长",
    "cp1250": "Łucja Żak\nPielęgniarka, Gdańsk",
    "cp1254": "Ayşe Yılmaz\nHemşire, İstanbul",
    "cp1255": "נועה לוי\nאחות אחראית, חיפה",
}


@pytest.mark.parametrize("encoding", PLAIN)
def test_plain_text_is_read_in_its_encoding(encoding: str) -> None:
    assert text_of_file(PLAIN[encoding].encode(encoding)) == PLAIN[encoding]


@pytest.mark.parametrize("encoding", SHORT)
def test_text_in_an_ambiguous_encoding_is_rejected(encoding: str) -> None:
    with pytest.raises(UnreadableFile) as refused:
        text_of_file(SHORT[encoding].encode(encoding))
    assert refused.value.why == "encoding"


def test_icons_are_named_so_that_user_names_after_them_stay_out_of_prompts() -> None:
    text = text_of_file("Ines Falk\n\uf3c5 Porto \uf0e1 ines-falk \uf09b inesf \uf095 345-67-89".encode())
    assert text == "Ines Falk\nPorto LinkedIn: ines-falk GitHub: inesf Tel.: 345-67-89"
    assert without_contacts(text)[0] == "Ines Falk\nPorto LinkedIn: [url] GitHub: [url] Tel.: [phone]"


# --- by a program -----------------------------------------------------------------------------------------------------

PRINTED = """
<meta charset="utf-8"><style>body{font:11pt sans-serif;width:170mm} .r{display:flex;justify-content:space-between}
h2{letter-spacing:6px} .two{display:grid;grid-template-columns:55mm 1fr;gap:8mm}</style>
<h1>Ines Falk</h1><h2>EXPERIENCE</h2>
<div class=r><b>Northgate Hospital</b><span>Bristol</span></div>
<div class=r><i>Ward Manager</i><span>Mar. 2021 – Jun. 2023</span></div>
<ul><li>Ran the night shift of two wards.</li><li>Trained twelve new nurses.</li></ul>
<div class=r><b>Southmead Clinic</b><span>Bath</span></div>
<div class=r><i>Staff Nurse</i><span>Sep. 2016 – Feb. 2021</span></div>
<p dir=rtl>אחות אחראית, 2015–2019. צוות של 12 אחיות עם Excel (בתל אביב).</p>
<p dir=rtl>ممرضة رئيسية في مستشفى الشمال، 2015–2019.</p>
<p>Старшая медсестра, Северная больница</p><p>Νοσηλεύτρια, Αθήνα</p>
<div class=two><div>Python<br>SQL<br>Figma</div><div>Led a team.<br>For four years.<br>In Lisbon.</div></div>
"""
TRUTH = [
    *("Ines Falk", "EXPERIENCE", "Northgate Hospital Bristol", "Ward Manager Mar. 2021 – Jun. 2023"),
    *("Ran the night shift of two wards.", "Trained twelve new nurses.", "Southmead Clinic Bath"),
    *("Staff Nurse Sep. 2016 – Feb. 2021", "אחות אחראית, 2015–2019. צוות של 12 אחיות עם Excel (בתל אביב)."),
    *("ممرضة رئيسية في مستشفى الشمال، 2015–2019.", "Старшая медсестра, Северная больница", "Νοσηλεύτρια, Αθήνα"),
    *("Python", "SQL", "Figma", "Led a team.", "For four years.", "In Lisbon."),
]


@pytest.mark.thorough
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is missing")
def test_a_browser_printed_page_is_read_in_order_and_direction() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page()
        page.set_content(PRINTED)
        printed = page.pdf(format="A4")
        browser.close()
    assert [each.lstrip("•● ") for each in text_of_file(printed).split("\n") if each] == TRUTH


# --- forms ------------------------------------------------------------------------------------------------------------


def test_a_forms_value_follows_its_label() -> None:
    """Values are stored in the field itself, or in its parent."""
    page = Page()
    for at, label in enumerate(("Name", "Last position", "Employer")):
        page.text(LEFT, 780 - 30 * at, label)
    parent = "/Parent << /FT /Tx /T (employer) /V <FEFF004E006F00720074006800670061007400650020D83DDE00> >>"
    values = ("/FT /Tx /V (Ines Falk)", "/FT /Tx /V (Ward Manager\\rNights)", parent)
    widgets = " ".join(
        f"<< /Type /Annot /Subtype /Widget {value} /Rect [180 {777 - 30 * at} 380 {793 - 30 * at}] >>"
        for at, value in enumerate(values)
    )
    content = pdf([page], annotations=f"/Annots [{widgets}]")
    lines = [each for each in text_of_file(content).split("\n") if each]
    assert lines[:2] == ["Name Ines Falk", "Last position Ward Manager"]
    assert "Nights" in lines
    assert any(each.startswith("Employer Northgate") for each in lines)
