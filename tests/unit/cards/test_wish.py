"""What a person writes when they want a card otherwise: evidence only where they say something of themselves."""

from datetime import date

import pytest

from qwestly_agent.cards.evidence import wish
from qwestly_agent.cards.gate import check_claim
from qwestly_agent.cards.model import Claim
from qwestly_agent.tools.changes import _typed

TODAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("reason", "claim"),
    [
        ("Please remove the claim that I led a team of 40 at Globex.", "Led a team of 40 at Globex."),
        ("Why is it listed that I managed 40 people at Acme?", "Managed 40 people at Acme."),
        ("Did I really win the Fields Medal? Check.", "Won the Fields Medal."),
        ("Not true: I led a team of 40 at Globex", "Led a team of 40 at Globex."),
        ("I don't have a PhD from MIT.", "PhD from MIT."),
        ("Please mention Lisbon and make it shorter.", "Lisbon and make it shorter"),
        ("Bitte streich, dass ich 40 Leute bei Acme geführt habe.", "Managed 40 people at Acme."),
    ],
)
def test_who_asks_denies_or_instructs_confirms_nothing(reason: str, claim: str) -> None:
    wished = wish(2, reason)
    assert not check_claim(Claim(text=claim, evidence=(wished.id,)), {wished.id: wished}, TODAY).supported


def test_who_says_what_they_did_confirms_it() -> None:
    wished = wish(2, "Please add that I led a team of eight at Globex.")
    checked = check_claim(
        Claim(text="Led a team of eight at Globex.", evidence=(wished.id,)), {wished.id: wished}, TODAY
    )
    assert checked.supported
    assert checked.confirmed_by


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("(https://linkedin.com/in/ok-1).", "https://linkedin.com/in/ok-1"),
        ("https://www.linkedin.com/in/ok2/?x=1 yes", "https://www.linkedin.com/in/ok2"),
        ("mine is https://www.linkedin.com/in/josé-garcia", None),
        ("https://www.linkedin.com/in/max.mustermann", None),
        ("https://evil.example/?r=https://linkedin.com/in/mallory", None),
        ("https://linkedin.com/in/a" + "b" * 250, None),
        ("https://linkedin.com/in/anna@evil", None),
    ],
)
def test_a_typed_address_is_read_whole_or_not_at_all(text: str, address: str | None) -> None:
    assert _typed((text,)) == address
