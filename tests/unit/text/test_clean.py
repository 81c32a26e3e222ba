"""Text as it may be stored, shown to a model, or audited."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwestly_agent.text.clean import disable_links, mask_secrets, visible, well_formed


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
    assert mask_secrets(text) == kept


@pytest.mark.parametrize("text", ["Led a team of 7 at Acme, 2019–2021.", "secretary at Token Ltd", "passwords matter"])
def test_ordinary_words_are_not_masked(text: str) -> None:
    assert mask_secrets(text) == text


def test_invisible_text_is_removed_before_a_model_reads_it() -> None:
    smuggled = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    assert visible(f"CV{smuggled}\u200b\u202e\x00\x1b[31m\n\tEnd") == "CV[31m\n\tEnd"


@pytest.mark.parametrize("text", ["naïve café\n\tend", "👩\u200d🚀 می\u200cخواهم", "हिन्दी"])
def test_ordinary_text_stays_unchanged(text: str) -> None:
    assert visible(text) == well_formed(text) == text


def test_half_of_a_surrogate_pair_becomes_the_replacement_character() -> None:
    assert well_formed("a\ud83d") == "a\ufffd"
    assert well_formed("\ud83d\ude00") == "😀"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Look at evil.example now", "Look at evil .example now"),
        ("evil.co.uk/x.html?q=1", "evil .co .uk/x .html?q=1"),
        ("write to ana@example.com", "write to ana@ example .com"),
        ("https://evil.example:8080", "https: // evil .example: 8080"),
        ("//evil.example", "// evil .example"),
        ("tel:+491234, javascript:x, file:x", "tel: +491234, javascript: x, file: x"),
        ("http://10.0.0.1/x", "http: // 10.0.0 .1/x"),
        ("пример.рф, a。com, xn--a.xn--p1ai", "пример .рф, a 。com, xn--a .xn--p1ai"),
        (r"\\host\share", r"\\ host\share"),
    ],
)
def test_texts_that_mail_programs_would_link_are_broken_up(text: str, shown: str) -> None:
    assert disable_links(text) == shown


@pytest.mark.parametrize(
    "text", ["Led 3.5 of 10, v1.2, i.e. two. And …", "10:30: a U.S. firm... and R&D", "a / b, 1/2"]
)
def test_ordinary_words_are_not_broken_up(text: str) -> None:
    assert disable_links(text) == text


PIECES = [
    "a",
    "b",
    ".com",
    ".",
    "。",
    "@",
    ":",
    "//",
    "\\",
    "10.0.0.1",
    "1",
    "é",
    "рф",
    "www.",
    "https://",
    "_",
    "-",
    " ",
]


@pytest.mark.thorough
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=2)))
def test_no_auto_linked_text_remains(words: list[str]) -> None:
    text = disable_links("".join(words))
    assert not re.search(r"[^\s.。．｡][.。．｡][^\W\d_]{2}|@\S|[A-Za-z]:\S|//\S|\\\\\S", text)
    assert disable_links(text) == text
