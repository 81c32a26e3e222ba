"""Text as it may be stored, shown to a model, or audited."""

import pytest

from qwestly_agent.text import masked, visible, well_formed


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("write to ada.lovelace+cv@example.co.uk now", "write to … now"),
        ("Authorization: Bearer abcdef1234567890", "Authorization: Bearer …"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJ1c2VyIjoiYSJ9.c2lnbmF0dXJl", "…"),
        ("key sk-proj-abcdefgh12345678 here", "key … here"),
        ("AKIAIOSFODNN7EXAMPLE", "…"),
        ('{"password": "hunter2secret", "x": 1}', '{"password": "…", "x": 1}'),
        ("api_key=abcd1234&x=1", "api_key=…&x=1"),
        ('{\\"password\\": \\"hunter2secret\\"}', '{\\"password\\": \\"…\\"}'),
        ('password: "correct horse battery"', 'password: "…"'),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic …"),
        ("ada\\u0040example.org and ada%40example.org", "… and …"),
        ("Kennwort: geheim123, mot de passe : secret99", "Kennwort: …, mot de passe : …"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=…"),
        ("https://a.example/?key=AIzaSyA1234567890&sig=abcdef", "https://a.example/?key=…&sig=…"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----", "…"),
        ("github_pat_11ABCDEFG0123456789", "…"),
        ("mongodb://user:pa55word@host/db", "mongodb://user:…@host/db"),
    ],
)
def test_secrets_and_addresses_are_masked(text: str, kept: str) -> None:
    assert masked(text) == kept


@pytest.mark.parametrize("text", ["Led a team of 7 at Acme, 2019–2021.", "secretary at Token Ltd", "passwords matter"])
def test_ordinary_words_are_not_masked(text: str) -> None:
    assert masked(text) == text


def test_what_nobody_sees_is_taken_out_of_what_a_model_reads() -> None:
    smuggled = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    assert visible(f"CV{smuggled}\u200b\u202e\x00\x1b[31m\n\tEnd") == "CV[31m\n\tEnd"


@pytest.mark.parametrize("text", ["naïve café\n\tend", "👩\u200d🚀 می\u200cخواهم", "हिन्दी"])
def test_what_people_write_stays(text: str) -> None:
    assert visible(text) == well_formed(text) == text


def test_half_of_a_pair_becomes_the_replacement_character() -> None:
    assert well_formed("a\ud83d") == "a\ufffd"
    assert well_formed("\ud83d\ude00") == "😀"
