"""When two memories are equal for code: but for case, blanks, quotation marks and the point at their end.

A sign beside a digit or within a word counts: "C" is not "C++", "-5" not "5", "5'" not "5". Whatever else is near is
compared by a model (`compare.py`).
"""

import hashlib
import re
import unicodedata

from qwestly_agent.grounding.quotes import QUOTATION_MARKS

_MARKS = f"[{re.escape(QUOTATION_MARKS)}]"
_AROUND_A_WORD = re.compile(rf"(?<![\w]){_MARKS}+(?!\d)|(?<!\d){_MARKS}+(?!\w)")
_APOSTROPHE = re.compile(rf"(?<!\d){_MARKS}")
_END = re.compile(r"(?:(?<=[^\W\d])[.!?…。！？]+|(?<=\d)\.)\s*$")


def folded(content: str) -> str:
    # NFC: NFKC would read "10²" as "102". Not casefold: it would read "Maße" as "Masse".
    text = unicodedata.normalize("NFC", content).lower()
    text = _APOSTROPHE.sub("'", _AROUND_A_WORD.sub("", text))
    return " ".join(_END.sub("", text.strip()).split())


def hash_of(content: str) -> str:
    """SHA-256, in hex, of what equal memories have in common."""
    return hashlib.sha256(folded(content).encode()).hexdigest()
