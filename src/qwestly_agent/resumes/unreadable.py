"""Reasons why a file has no readable text."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

MOST_PAGES = 60
MOST_CHARACTERS = 120_000
"""Maximum length of a text: about sixty pages, or 30,000 tokens."""

Why: TypeAlias = Literal[
    "kind", "old_word", "password", "picture", "pages", "long", "damaged", "empty", "heavy", "encoding"
]

SENTENCES: Mapping[Why, str] = {
    "kind": "This file is no PDF, DOCX, Markdown or plain text. Please upload one of these, or paste the text.",
    "old_word": "This is a file of an old Word (.doc). Please save it as DOCX or PDF and upload that.",
    "password": "This file is protected by a password. Please save it without one and upload that.",
    "picture": "This file holds a picture of text, so there is nothing to read. Please upload one whose text can be "
    "selected, or paste the text.",
    "pages": f"This file has more than {MOST_PAGES} pages. Please upload a shorter one.",
    "long": "This text is too long for a résumé. Please upload a shorter one.",
    "damaged": "This file is damaged or incomplete. Please save it again and upload that.",
    "empty": "There is no text in this file.",
    "encoding": "The letters of this file cannot be told. Please save it as UTF-8, or as PDF or DOCX, and upload that.",
    "heavy": "This file takes too much time or memory to read. Please save it as a plain PDF, or paste the text.",
}


class UnreadableFile(Exception):
    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why: Why = why
