"""Find a person's contact details in a text that must not contain any, whatever their spacing and spelling."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from qwestly_agent.base.patterns import pattern
from qwestly_agent.text.contacts import PART_OF_HOUSE, Contact

_LETTERS = {
    **{
        letter: f"[{letter}{others}]" for letter, others in {"o": "0", "i": "1l", "l": "1i", "e": "3", "s": "5"}.items()
    },
    "0": "[0o]",
    "1": "[1il]",
}
"""Characters that count as the same letter."""
_LOOKALIKES = str.maketrans("авекмнорстухіјѕԁԛԝοαεικνρτυχßøłđıœæ∅", "abekmhopctyxijsdqwoaeikvptuxsoldioe0")
_BETWEEN = r"[^0-9a-z]{0,4}"
_SPELLED = (
    "(?:at|aet|dot|punkt|point|punto|ponto|arroba|arobase|chiocciola|klammeraffe|dash|minus|hyphen|bindestrich|underscore"
    "|slash)?"
)
_BREAK = f"{_BETWEEN}{_SPELLED}{_BETWEEN}"
_UMLAUT = re.compile("[äöüÄÖÜ]")
_STREET_TYPES = (
    ("street", "st"), ("road", "rd"), ("avenue", "ave", "av"), ("boulevard", "blvd"), ("lane", "ln"), ("drive", "dr"),
    ("court", "ct"), ("square", "sq"), ("place", "pl"), ("terrace", "ter"), ("strasse", "str"), ("calle", "c"),
    ("avenida", "avda", "av"), ("rua", "r"), ("plaza", "pza"),
)  # fmt: skip
_NUMBER_LANGUAGES = ("en", "de", "fr", "es", "pt", "it", "nl")
FEWEST_DIGITS = 7
"""Number of final digits that identify a telephone number."""
FEWEST_LETTERS = 8
"""Minimum length of a street name that is recognized without its number."""
_NO_NAME = pattern(
    r"\d+[a-z]*|[a-z]|bis|ter|calle|avenida|avda|plaza|paseo|rua|rue|via|viale|avenue|boulevard|place|de|du|des|del|la|las"
    r"|los|le|les|da|do|dos|of|the|van|der|den|am|im|zum|zur|nr?o?"
)
"""Words in a street address that do not belong to the street's name."""


@dataclass(frozen=True)
class ContactDetails:
    """The contact details found in a person's documents."""

    digits: frozenset[str] = frozenset()
    """Final digits of telephone numbers."""
    words: tuple[str, ...] = ()
    """Regular expressions for the other contact details, matched against texts normalized by `_plain`."""

    @classmethod
    def of(cls, found: Iterable[Contact]) -> "ContactDetails":
        digits, words = set[str](), dict[str, None]()
        for each in found:
            if each.kind == "phone":
                number = re.sub(r"[^0-9]", "", _plain(each.words))
                if len(number) >= FEWEST_DIGITS:
                    digits.add(number[-FEWEST_DIGITS:])
                else:
                    words[_whole([number], _BETWEEN)] = None
            else:
                words.update(dict.fromkeys(_expressions(each)))
        return cls(frozenset(digits), tuple(words))

    def __bool__(self) -> bool:
        return bool(self.digits or self.words)

    def stand_in(self, text: str) -> bool:
        """True if the text contains one of them, with any spacing and spelling."""
        if not self:
            return False
        readings = set(_readings(text))
        if any(_compiled(each).search(reading) for each in self.words for reading in readings):
            return True
        streams = {re.sub(r"[^0-9]", "", reading) for reading in readings}
        return any(each in stream or each[::-1] in stream for stream in streams for each in self.digits)

    def places_in(self, texts: Sequence[str]) -> set[int]:
        """Return the indexes of texts that contain a contact detail, or part of one that is spread over several
        texts."""
        found = {number for number, text in enumerate(texts) if self.stand_in(text)}
        left = [number for number in range(len(texts)) if number not in found]
        while self.stand_in(" ".join(texts[number] for number in left)):
            # The shortest run of texts that contains it: first find the end at which it is complete, then the start.
            end = next(n for n in range(len(left)) if self.stand_in(" ".join(texts[m] for m in left[: n + 1])))
            start = next(n for n in range(end, -1, -1) if self.stand_in(" ".join(texts[m] for m in left[n : end + 1])))
            found |= set(left[start : end + 1])
            left = left[:start] + left[end + 1 :]
        return found


def _expressions(contact: Contact) -> Iterator[str]:
    words = _plain(_UMLAUT.sub(r"\g<0>e", unicodedata.normalize("NFC", contact.words)))
    match contact.kind:
        case "email":
            local, _, domain = words.replace("＠", "@").partition("@") if "@" in words else words.partition(" at ")
            yield _whole([*_pieces(local), *_pieces(domain)], _BREAK)
            if _is_telling(_pieces(local)):
                yield _whole(_pieces(local), _BREAK)
        case "url":
            pieces = _pieces(re.sub(r"^https?://|^(?:https?://)?www\.", "", words))
            if contact.is_block or len(pieces) > 2:
                yield _whole(pieces, _BREAK)
            handle = _pieces(words.rstrip("/").rpartition("/")[2]) if len(pieces) > 2 else []
            if _is_telling(handle):
                yield _whole(handle, _BREAK)
        case "street":
            pieces = _pieces(words)
            yield _whole(pieces, _BETWEEN)
            if contact.is_block and not PART_OF_HOUSE.fullmatch(contact.words):
                name = [each for each in pieces if not _NO_NAME.fullmatch(each)]
                number = next((each for each in pieces if each[0].isdigit()), "")
                if len("".join(name)) >= FEWEST_LETTERS:
                    yield _whole(name, _BETWEEN)
                elif name and number:
                    yield f"{_whole(name, _BETWEEN)}.{{0,20}}{_whole([number], _BETWEEN)}"
                    yield f"{_whole([number], _BETWEEN)}.{{0,20}}{_whole(name, _BETWEEN)}"
        case "postcode" | "birth date":
            yield _whole(_pieces(words), _BETWEEN)


def _is_telling(handle: Sequence[str]) -> bool:
    """True for a user name with a number, which identifies a person by itself."""
    return len("".join(handle)) >= FEWEST_LETTERS - 2 and any(map(str.isdigit, "".join(handle)))


def _pieces(words: str) -> list[str]:
    return re.findall(r"[^\W_]+", words)


def _whole(pieces: Sequence[str], between: str) -> str:
    """Return an expression for these pieces in order, with any spacing between letters."""
    written = between.join(_piece(each) for each in pieces)
    return rf"(?<![^\W_]){written}(?![^\W_])"


def _piece(piece: str) -> str:
    for group in _STREET_TYPES:
        for each in group:
            if piece == each or (each in ("strasse", "str") and piece.endswith(each) and piece != each):
                stem = piece.removesuffix(each)
                ends = "|".join(_spaced(other) for other in group)
                return f"{_spaced(stem)}{_BETWEEN if stem else ''}(?:{ends})"
    return _spaced(piece)


def _spaced(letters: str) -> str:
    parts: list[str] = re.findall(r"[aou]e|.", letters)  # the e of "ue" is optional, since "ü" may also become "u"
    return _BETWEEN.join(
        f"{_spaced(each[0])}(?:{_BETWEEN}{_LETTERS['e']})?" if len(each) > 1 else _LETTERS.get(each, re.escape(each))
        for each in parts
    )


@lru_cache(maxsize=2048)
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def _plain(text: str) -> str:
    """Normalize a text: no case, diacritics or lookalikes, and no repeated separators."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    text = text.translate(_LOOKALIKES)
    text = "".join(str(unicodedata.digit(each, each)) if each.isdigit() else each for each in text)
    return re.sub(r"([^\w@.:/]|_)\1+", r"\1", text)


def _readings(text: str) -> Iterator[str]:
    """Yield the text normalized by `_plain`, then with number words and letters that look like digits replaced by
    digits."""
    plain = _plain(text)
    yield plain
    yield re.sub(r"(?<![^\W\d_])[oil]+(?![^\W\d_])", _as_digits, plain)
    lower = unicodedata.normalize("NFKC", text).casefold()
    if not re.search(r"[a-z]{3}", lower):
        return
    from text_to_num import alpha2digit  # slow to import, and seldom needed

    lower = re.sub(r"\b(?:double|doppel)[ -]?(\w+)", r"\1 \1", re.sub(r"\btriple[ -]?(\w+)", r"\1 \1 \1", lower))
    for language in _NUMBER_LANGUAGES:
        spelled = re.sub(r"\boh?\b", "zero", lower) if language == "en" else lower
        yield _plain(alpha2digit(spelled, language))


def _as_digits(letters: re.Match[str]) -> str:
    return letters[0].replace("o", "0").replace("i", "1").replace("l", "1")
