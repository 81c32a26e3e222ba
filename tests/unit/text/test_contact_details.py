"""Contact details from a user's documents in other texts: found in any spacing and spelling, and nothing else is."""

import pytest

from qwestly_agent.text.contacts import ContactDetails, contacts_in

LETTERHEAD = "Ines Falk\n14 Harbour Row, Flat 3, Bristol BS1 4QD • +44 20 7946 0958 • ines.falk@example.org"
DETAILS = ContactDetails.of(contacts_in(LETTERHEAD))
SPELLED = [
    "14 Harbour Row, Flat 3",
    "Lives in Harbour Row, at number fourteen",
    "Harbour Row 14",
    "H A R B O U R  R O W",
    "The postcode is B.S.1 4-Q-D",
    "+44 20 7946 0958",
    "0044(0)20/79.46.09.58",
    "O2O 7946 O958",
    "０２０ ７９４６ ０９５８",
    "zero two zero, seventy-nine forty-six, zero nine five eight",
    "vingt soixante-dix-neuf quarante-six zéro neuf cinquante-huit",
    "ines.falk@example.org",
    "ines dot falk at example dot org",
    "INES.FALK(AT)EXAMPLE(PUNKT)ORG",
    "i n e s . f a l k @ e x a m p l e . o r g",
    "ines.fаlk＠exаmple․org",  # two of its letters are Cyrillic
    "1nes.fa1k@examp1e.0rg",
]


@pytest.mark.parametrize("spelled", SPELLED)
def test_a_known_contact_detail_is_found_in_any_spelling(spelled: str) -> None:
    assert DETAILS.stand_in(f"Led a team at Kestrel Labs; {spelled}.")


@pytest.mark.parametrize(
    "text",
    [
        "Ines Falk lives in Bristol and led a team of 8.",
        "Grew revenue from 20 to 79 million with 46 people.",
        "Rowed for Harbour College; an example of organisation.",
        "Senior engineer, 2014 – 2020; 958 tickets closed; flat hierarchies",
        "Falk & Partner, Example Organisation: Ines, lead",
    ],
)
def test_a_text_only_resembling_a_contact_detail_is_not_one(text: str) -> None:
    assert not DETAILS.stand_in(text)


@pytest.mark.parametrize(
    ("document", "told", "is_told"),
    [
        ("Jürgen Weiß\nMüllerstraße 8a, 04109 Leipzig\nj.weiss@posteo.de", "wohnt in der Muellerstr. 8 A", True),
        ("Jürgen Weiß\nMüllerstraße 8a, 04109 Leipzig\nj.weiss@posteo.de", "Projektleiter in Leipzig, 8 Leute", False),
        ("María, C/ Serrano 41, 28001 Madrid, maria@correo.es", "en Serrano, número 41", True),
        ("María, C/ Serrano 41, 28001 Madrid, maria@correo.es", "Jamón de Serrano, 12 clientes", False),
        ("anna.schmidt@siemens.com", "Anna Schmidt, Siemens", False),
        ("anna.schmidt@siemens.com · linkedin.com/in/anna-s-92", "anna-s-92", True),
        ("Tel. 22 34 56 78 · Oslo", "22345678", True),
        ("I opened 12 Oxford Street as a store manager.", "Managed the store in Oxford Street", False),
    ],
)
def test_streets_are_matched_by_name_and_number_and_mailboxes_as_a_whole(
    document: str, told: str, is_told: bool
) -> None:
    assert ContactDetails.of(contacts_in(document)).stand_in(told) == is_told


def test_a_contact_detail_split_over_several_texts_is_found() -> None:
    assert DETAILS.places_in(["Rust", "020 79", "46 09", "58", "Python"]) == {1, 2, 3}
    assert DETAILS.places_in(["Rust", "Python"]) == set()
