"""Sentences are listed under their positions, and none is lost."""

from collections.abc import Sequence

import pytest

from qwestly_agent.cards.model import POSITIONS, SUMMARY
from qwestly_agent.documents.content import content_of, positions_from_resume
from qwestly_agent.domain.card import Card, CheckedCard, Claim, Evidence, Fields, Section, TailoredKind
from qwestly_agent.domain.job import Advert
from qwestly_agent.grounding.model import Quote
from qwestly_agent.stores.drafts import Draft


def stint(number: int, company: str, title: str) -> Evidence:
    fields = Fields(company=company, title=title, start="2019-04", end="present")
    text = f"{title}, {company}"
    return Evidence(
        id=f"employment:{number}", kind="employment", trust="user_said", text=text, source="p", fields=fields
    )


STINTS = [stint(1, "Northwind Pay", "Senior PM"), stint(2, "Ledgerline", "PM"), stint(3, "Ledgerline Labs", "Intern")]
DOCUMENT = Evidence(
    id="document:1", kind="document", trust="user_document", source="cv", text="At Northwind Pay I led eight. I row."
)


def read(number: int, company: str, title: str, start: str, end: str) -> Evidence:
    fields = Fields(company=company, title=title, start=start, end=end)
    text = f"{title}\n{company}\n\nRan the shop {number}."
    return Evidence(
        id=f"resume:r:work:{number}", kind="document", trust="user_document", text=text, source="cv", fields=fields
    )


def claim(text: str, source: str, quote: str) -> Claim:
    return Claim(text=text, quotes=(Quote(source=source, text=quote),))


def draft(kind: TailoredKind, *claims: Claim, section: str = POSITIONS, more: Sequence[Evidence] = ()) -> Draft:
    checked = CheckedCard(
        card=Card(
            style="concise", headline=None, sections=(Section(kind=section, heading="Experience", claims=claims),)
        ),
        left_out=(),
    )
    advert = Advert(id="a", title="Head of Product", company="Kestrel & Co. GmbH", board="adzuna")
    return Draft(
        id="d", user_id="u", run_id="r", conversation_id=None, kind=kind, style="concise", label="", created_at=0,
        updated_at=0,
        parts={
            "evidence": [each.model_dump(mode="json") for each in (*STINTS, DOCUMENT, *more)],
            "advert": advert.model_dump(mode="json"),
            "card": {"checked": checked.model_dump(mode="json")},
        },
    )  # fmt: skip


def test_a_sentence_is_listed_under_the_position_it_quotes_or_names() -> None:
    content = content_of(
        draft(
            "resume",
            claim("Owns pricing", "employment:2", "PM, Ledgerline"),
            claim("Led eight people at Northwind Pay", "document:1", "At Northwind Pay I led eight."),
            claim("Rows", "document:1", "I row."),
        ),
        {"name": "Maya", "location": "Lisbon"},
    )
    blocks = {block.heading: block.lines for block in content.blocks}
    assert blocks["Senior PM, Northwind Pay"] == ("Led eight people at Northwind Pay",)
    assert blocks["PM, Ledgerline"] == ("Owns pricing",)
    assert blocks["Also"] == ("Rows",)


def test_a_resume_line_is_listed_under_its_employer_wherever_quoted() -> None:
    passage = DOCUMENT.model_copy(update={"id": "document:2", "text": "Cook, Fabrikam\nRan the shop 0.\nI sing."})
    made = draft(
        "resume",
        claim("Ran a shop", "document:2", "Ran the shop 0."),
        claim("Sings", "document:2", "I sing."),
        more=[passage, read(0, "Fabrikam", "Cook", "2011", "2013")],
    )
    blocks = {block.heading: block.lines for block in content_of(made, {"name": "Maya"}).blocks}
    assert (blocks["Cook, Fabrikam"], blocks["Also"]) == (("Ran a shop",), ("Sings",))


def test_every_position_is_listed_with_its_dates() -> None:
    content = content_of(draft("resume", claim("Rows", "document:1", "I row.")), {"name": "Maya"})
    positions = [block for block in content.blocks if block.level == 2 and block.heading != "Also"]
    assert [block.heading for block in positions] == [
        "Senior PM, Northwind Pay",
        "PM, Ledgerline",
        "Intern, Ledgerline Labs",
    ]
    assert {block.aside for block in positions} == {"Apr 2019 – present"}


def test_a_sentence_that_fits_two_positions_is_listed_under_neither() -> None:
    content = content_of(draft("resume", claim("Worked at Ledgerline Labs", "document:1", "I row.")), {"name": "Maya"})
    assert next(block for block in content.blocks if block.heading == "Also").lines == ("Worked at Ledgerline Labs",)


def test_a_letter_in_german_greets_in_german() -> None:
    said = "Ich habe bei Northwind Pay ein Team von acht Leuten geführt und die Preise verantwortet."
    content = content_of(
        draft("cover_letter", claim(said, "employment:1", "Senior PM"), section="letter"), {"name": "Maya"}
    )
    assert content.blocks[0].lines == ("Guten Tag,",)
    assert content.blocks[-1].lines == ("Freundliche Grüße", "Maya")


@pytest.mark.parametrize(
    ("said", "paragraph"),
    [
        (["I led a ward", "I trained “eight nurses.”", "Why not?"], "I led a ward. I trained “eight nurses.” Why not?"),
        (["I cut costs by 35 %", "I write C++"], "I cut costs by 35 %. I write C++."),
        (["病棟を率いました", "8人を育てました。"], "病棟を率いました。8人を育てました。"),
    ],
)
def test_a_letter_groups_its_sentences_into_paragraphs(said: list[str], paragraph: str) -> None:
    made = draft("cover_letter", *(claim(each, "employment:1", "PM") for each in said), section="letter")
    assert content_of(made, {"name": "Maya"}).blocks[1].lines == (paragraph,)


def test_a_letter_in_an_unclear_language_greets_in_the_adverts_language() -> None:
    made = draft("cover_letter", claim("Pricing.", "employment:1", "Senior PM"), section="letter")
    made.parts["advert"]["text"] = "Wir suchen eine Leiterin für das Produkt und die Preise."
    assert content_of(made, {"name": "Maya"}).blocks[0].lines == ("Guten Tag,",)


def test_dates_use_the_format_of_the_language() -> None:
    said = "Ich habe bei Northwind Pay ein Team von acht Leuten geführt und die Preise verantwortet."
    made = draft("resume", claim(said, "employment:1", "Senior PM"), more=[read(0, "Fabrikam", "Cook", "2011", "2013")])
    blocks = {block.heading: block.aside for block in content_of(made, {"name": "Maya"}).blocks}
    assert (blocks["Senior PM, Northwind Pay"], blocks["Cook, Fabrikam"]) == ("04/2019 – heute", "2011 – 2013")


def test_the_file_name_is_plain() -> None:
    assert content_of(
        draft("resume", claim("Rows", "document:1", "I row."), section=SUMMARY), {"name": "Maya Okafor"}
    ).name == ("resume-maya-okafor-kestrel-co-gmbh")


# --- positions of the résumé ------------------------------------------------------------------------------------------


def headings(draft: Draft) -> list[str]:
    return [block.heading for block in content_of(draft, {"name": "Maya"}).blocks if block.level == 2]


def test_a_position_only_in_the_resume_is_placed_by_date_with_its_lines() -> None:
    older, newest = read(0, "Fabrikam", "Cook", "2011", "2013"), read(1, "Contoso", "Chef", "2020-05", "heute")
    ran = claim("Ran the shop", older.id, "Ran the shop 0.")
    made = draft("resume", ran, claim("Owns pricing", "employment:2", "PM, Ledgerline"), more=[older, newest])
    blocks = content_of(made, {"name": "Maya"}).blocks
    assert headings(made) == [
        "Chef, Contoso", "Senior PM, Northwind Pay", "PM, Ledgerline", "Intern, Ledgerline Labs", "Cook, Fabrikam",
    ]  # fmt: skip
    assert {block.heading: block.aside for block in blocks}["Chef, Contoso"] == "May 2020 – heute"
    assert {block.heading: block.lines for block in blocks}["Cook, Fabrikam"] == ("Ran the shop",)
    assert [each.header for each in positions_from_resume(made)] == ["Chef\nContoso", "Cook\nFabrikam"]


@pytest.mark.parametrize(
    "same",
    [
        read(0, "Ledgerline GmbH", "PM", "2019", "present"),
        read(0, "LEDGERLINE", "pm (m/w/d)", "", ""),
        read(0, "Ledgerline", "Product Manager", "2019-04", "heute"),
    ],
)
def test_a_positions_resume_lines_are_listed_under_it(same: Evidence) -> None:
    made = draft("resume", claim("Ran the shop", same.id, "Ran the shop 0."), more=[same])
    assert headings(made) == ["Senior PM, Northwind Pay", "PM, Ledgerline", "Intern, Ledgerline Labs"]
    blocks = content_of(made, {"name": "Maya"}).blocks
    assert {block.heading: block.lines for block in blocks}["PM, Ledgerline"] == ("Ran the shop",)
    assert positions_from_resume(made) == []


@pytest.mark.parametrize(
    "other",
    [
        read(0, "Ledgerline", "PM", "2012", "2014"),
        read(0, "Ledgerline", "Working student", "2019-04", "2019-09"),
        read(0, "Ledgerline", "Trainee", "", ""),
        read(0, "", "PM", "2019-04", "present"),
    ],
)
def test_positions_at_the_same_employer_are_kept_apart(other: Evidence) -> None:
    assert len(headings(draft("resume", claim("Rows", "document:1", "I row."), more=[other]))) == 5


def test_two_resume_positions_are_never_merged() -> None:
    two = [read(0, "Contoso", "Chef", "2017", "2017"), read(1, "Contoso", "Chef", "2017", "2017")]
    assert headings(draft("resume", claim("Rows", "document:1", "I row."), more=two)).count("Chef, Contoso") == 2
