"""Equality of memories by code: ignoring case, whitespace, quotation marks and final punctuation.

A sign next to a digit or within a word counts: "C" is not "C++", "-5" not "5", "5'" not "5". A model compares other
similar memories (`compare.py`).
"""

import hashlib
import re
import unicodedata

from qwestly_agent.grounding.quotes import QUOTATION_MARKS

_MARKS = f"[{re.escape(QUOTATION_MARKS)}]"
_AROUND_A_WORD = re.compile(rf"(?<![\w]){_MARKS}+(?!\d)|(?<!\d){_MARKS}+(?!\w)")
_APOSTROPHE = re.compile(rf"(?<!\d){_MARKS}")
_END = re.compile(r"(?:(?<=[^\W\d])[.!?…。！？]+|(?<=\d)\.)\s*$")


def normalize_content(content: str) -> str:
    # NFC, as NFKC turns "10²" into "102"; `lower`, as `casefold` turns "Maße" into "Masse".
    text = unicodedata.normalize("NFC", content).lower()
    text = _APOSTROPHE.sub("'", _AROUND_A_WORD.sub("", text))
    return " ".join(_END.sub("", text.strip()).split())


def hash_of(content: str) -> str:
    """Return the SHA-256 (hex) of the normalized content, which is the same for equal memories."""
    return hashlib.sha256(normalize_content(content).encode()).hexdigest()
