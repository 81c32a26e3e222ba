"""Find the person's name in the head of their résumé. Code does, because no model sees contact details."""

import re
import unicodedata
from collections.abc import Iterator

from qwestly_agent.domain.resume import ResumeRecord

FIRST_LINES, LONGEST_NAME = 6, 60
_LABEL = re.compile(r"(?i)(?:full name|name|nombre|nome|nom)\s*:\s*")
_BREAK = re.compile(r"\s[|·•–—-]\s|[|·•,;\t]|\s{3,}")
_WORD = re.compile(r"[^\W\d_]+(?:['’.-][^\W\d_]*)*\.?")
_PARTICLES = frozenset(
    ("al", "bin", "da", "das", "de", "del", "della", "den", "der", "di", "do", "dos", "du", "el", "la")
)
_PARTICLES |= {"ibn", "le", "ten", "ter", "van", "von", "y", "zu"}
_TITLES = frozenset(("curriculum", "vitae", "resume", "cv", "lebenslauf", "profile", "profil", "experience", "summary"))
"""Words of titles and headings, which no name in the first line has."""


def person_name(record: ResumeRecord) -> str:
    """Return the name as the résumé has it; empty if no line of its head is one beyond doubt: labeled, in the mailbox
    or an address of the person, or the first line and no field of the résumé."""
    lines = [each.strip() for each in record.text.splitlines() if each.strip()][:FIRST_LINES]
    own = _folded("".join(each for kind in ("email", "url") for each in record.contacts.get(kind, ())))
    fields = {_folded(each.value) for each in record.read or ()}
    first = ""
    for place, line in enumerate(lines):
        label = _LABEL.match(line)
        words = [*_words_of(_BREAK.split(line[label.end() :] if label else line)[0])]
        name, parts = " ".join(words), _folded(" ".join(words), " ").split()
        if not words or len(name) > LONGEST_NAME or _folded(name) in fields or _TITLES & {*parts}:
            continue
        if label or any(len(each) > 2 and each in own for each in parts):
            return name
        if place == 0 and record.read and 2 <= len(words) <= 4:
            first = name
    return first


def _words_of(text: str) -> Iterator[str]:
    """Yield the words of a name; nothing if the text has anything else, such as a small word or a figure."""
    words = text.split()
    if 1 <= len(words) <= 6 and all(_WORD.fullmatch(each) and _begins_large(each) for each in words):
        yield from words


def _begins_large(word: str) -> bool:
    """True for a capital letter, a letter of a script without capitals, and the particles of names."""
    return word[0].lower() == word[0].upper() or word[0].isupper() or word in _PARTICLES


def _folded(text: str, between: str = "") -> str:
    plain = unicodedata.normalize("NFKD", text.casefold())
    return between.join(re.findall(r"[^\W\d_]+", "".join(each for each in plain if not unicodedata.combining(each))))
