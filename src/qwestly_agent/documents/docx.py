"""Write a DOCX with headings, paragraphs and lists only. Applicant tracking systems cannot read columns, tables and
boxes."""

import io
import zipfile
from collections.abc import Iterator
from xml.sax.saxutils import escape

from qwestly_agent.base.patterns import pattern
from qwestly_agent.documents.content import Block, Content

_NO_XML = pattern("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MADE_AT = (1980, 1, 1, 0, 0, 0)
"""The earliest possible time in an archive, so that the same document always has the same bytes."""

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"

_CONTENT_TYPES = f"""\
<Types xmlns="{_PACKAGE}/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Override PartName="/word/document.xml" ContentType="{_WORD}.document.main+xml"/>
<Override PartName="/word/styles.xml" ContentType="{_WORD}.styles+xml"/>
<Override PartName="/word/numbering.xml" ContentType="{_WORD}.numbering+xml"/>
</Types>"""
_RELATIONS = f"""\
<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>
</Relationships>"""
_RELATIONS_OF_DOCUMENT = f"""\
<Relationships xmlns="{_PACKAGE}/relationships">
<Relationship Id="rId1" Type="{_OFFICE}/styles" Target="styles.xml"/>
<Relationship Id="rId2" Type="{_OFFICE}/numbering" Target="numbering.xml"/>
</Relationships>"""
_STYLES = f"""\
<w:styles {_W}>
<w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii="Calibri" w:hAnsi="Calibri"/><w:sz w:val="22"/></w:rPr>
</w:rPrDefault><w:pPrDefault><w:pPr><w:spacing w:after="80"/></w:pPr></w:pPrDefault></w:docDefaults>
<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/><w:basedOn w:val="Normal"/>
<w:rPr><w:b/><w:sz w:val="36"/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Subtitle"><w:name w:val="Subtitle"/><w:basedOn w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:basedOn w:val="Normal"/>
<w:pPr><w:keepNext/><w:spacing w:before="240"/><w:outlineLvl w:val="0"/></w:pPr>
<w:rPr><w:b/><w:sz w:val="26"/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Heading2"><w:name w:val="heading 2"/><w:basedOn w:val="Normal"/>
<w:pPr><w:keepNext/><w:spacing w:before="160"/><w:outlineLvl w:val="1"/></w:pPr><w:rPr><w:b/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="ListBullet"><w:name w:val="List Bullet"/><w:basedOn w:val="Normal"/>
<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
</w:styles>"""
_NUMBERING = f"""\
<w:numbering {_W}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="bullet"/>
<w:lvlText w:val="•"/><w:pPr><w:ind w:left="360" w:hanging="360"/></w:pPr></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>"""
_A4 = (
    '<w:sectPr><w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1134" w:right="1134" w:bottom="1134" w:left="1134"'
    ' w:header="567" w:footer="567" w:gutter="0"/></w:sectPr>'
)


def docx_of(content: Content) -> bytes:
    parts = {
        "[Content_Types].xml": _CONTENT_TYPES,
        "_rels/.rels": _RELATIONS,
        "word/document.xml": f"<w:document {_W}><w:body>{''.join(_body(content))}{_A4}</w:body></w:document>",
        "word/styles.xml": _STYLES,
        "word/numbering.xml": _NUMBERING,
        "word/_rels/document.xml.rels": _RELATIONS_OF_DOCUMENT,
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, xml in parts.items():
            archive.writestr(zipfile.ZipInfo(name, _MADE_AT), _HEAD + xml, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def _body(content: Content) -> Iterator[str]:
    yield _paragraph("Title", content.title)
    yield _paragraph("Subtitle", content.under)
    yield _paragraph("Subtitle", content.contact)
    for block in content.blocks:
        yield from _paragraphs(block)


def _paragraphs(block: Block) -> Iterator[str]:
    yield _paragraph(f"Heading{block.level}", block.heading)
    yield _paragraph("Normal", block.aside)
    for each in block.lines:
        yield _paragraph("ListBullet" if block.is_list else "Normal", each)


def _paragraph(style: str, text: str) -> str:
    if not text:
        return ""
    words = f'<w:r><w:t xml:space="preserve">{escape(_NO_XML.sub("", text))}</w:t></w:r>'
    return f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr>{words}</w:p>'
