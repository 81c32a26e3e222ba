"""Contact details: kept for their person, and out of every prompt."""

import re
from collections.abc import Callable, Mapping

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_URL = re.compile(
    r"""(?xi) (?<![\w@./-])
    (?: (?:https?://|www\.) [^\s<>()\[\]{}"'|·•,;]{1,500}
      | (?:[\w-]{1,63}\.){0,3} (?:linkedin|xing|github|gitlab|behance|dribbble|twitter|facebook|instagram)\.com
        / [^\s<>()\[\]{}"'|·•,;]{1,500}
      | [\w-]{1,63}\.github\.io (?:/[^\s<>()\[\]{}"'|·•,;]{0,500})?
    )"""
)
_PHONE = re.compile(
    r"""(?x) (?<![\w.,/–-])
    (?: (?:\+|00)\d[\d\s().\-/]{6,18}\d                       # with the country's number
      | \(?0\d{1,4}\)?[\s/-]\d[\d\s/-]{4,12}\d                # with a zero before the town's
      | \(?\d{3}\)?[\s.-]\d{3}[\s.-]\d{4}                     # as in America
    ) (?![\w/])"""
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_BIRTH = re.compile(
    r"""(?xi) (?<!\w)
    (?P<label> (?:date\ of\ birth|birth\ ?date|d\.?o\.?b\.?|born(?:\ on)?|geburtsdatum|geboren(?:\ am)?|geb\.
      |fecha\ de\ nacimiento|nacid[oa]\ el|date\ de\ naissance|née?\ le) [ \t]{0,5}:?[ \t]{0,5} )
    (?P<date> \d{1,2}[./-]\d{1,2}[./-](?:19|20)?\d\d
      | (?:19|20)\d\d-\d\d-\d\d
      | \d{1,2}\.?[ ](?:de[ ])?[^\W\d_]{3,12}\.?[ ](?:de[ ])?(?:19|20)\d\d
      | [^\W\d_]{3,12}[ ]\d{1,2},?[ ](?:19|20)\d\d
    ) (?!\d)"""
)
# Names of streets have few and short words: a hostile text must not make it try many ways.
_WORD = r"[A-ZÀ-Þ][\w.'’-]{0,24}"
_STREET = re.compile(
    rf"""(?x) (?<![^\W_])
    (?: \d{{1,5}}[a-zA-Z]?[ ](?:{_WORD}[ ]){{1,3}}
        (?:Street|St\.?|Road|Rd\.?|Avenue|Ave\.?|Boulevard|Blvd\.?|Lane|Ln\.?|Drive|Dr\.?|Court|Square|Terrace|Crescent)
      | (?:{_WORD}[ ]){{0,2}}[A-ZÀ-Þ][\w'’-]{{0,24}}(?:[sS]tra(?:ß|ss)e|[sS]tr\.|gasse|[aA]llee|[pP]latz|weg)
        [ ]\d{{1,4}}[ ]?[a-zA-Z]?
      | (?:{_WORD}[ ]){{1,3}}(?:Straße|Strasse|Str\.|Gasse|Allee|Platz|Weg)[ ]\d{{1,4}}[ ]?[a-zA-Z]?
      | (?:Calle|C/|Avenida|Avda\.|Plaza|Paseo|Rua|Rue|Via|Viale)[ ](?:(?:del?|la|da|do)[ ]){{0,2}}
        (?:{_WORD},?[ ]){{1,3}}\d{{1,4}}[a-zA-Z]?
      | \d{{1,4}}(?:bis|ter)?,?[ ](?:rue|avenue|boulevard|place)[ ](?:(?:de|du|des|la)[ ]|l['’]){{0,2}}
        {_WORD}(?:[ ]{_WORD}){{0,2}}
    ) (?![^\W_])"""
)


def without_contacts(text: str) -> tuple[str, Mapping[str, tuple[str, ...]]]:
    """The text with "[email]", "[url]", "[birth date]", "[street]" and "[phone]" in their places, and what stood there,
    by kind. A street is one with its number, a date of birth one that is called so; what only a reader would take for
    either stays."""
    found: dict[str, list[str]] = {}

    def masked(kind: str) -> Callable[[re.Match[str]], str]:
        def mask(match: re.Match[str]) -> str:
            words = match[0].rstrip(" .:!?") if kind == "url" else match[0]
            found.setdefault(kind, []).append(words)
            return f"[{kind}]{match[0][len(words) :]}"

        return mask

    def phone(match: re.Match[str]) -> str:
        if _YEAR.search(match[0]) and not match[0].startswith(("+", "00")):  # a span of years
            return match[0]
        return masked("phone")(match)

    def birth(match: re.Match[str]) -> str:
        found.setdefault("birth date", []).append(match["date"])
        return f"{match['label']}[birth date]"

    text = _EMAIL.sub(masked("email"), text)
    text = _URL.sub(masked("url"), text)
    text = _BIRTH.sub(birth, text)
    text = _STREET.sub(masked("street"), text)
    text = _PHONE.sub(phone, text)
    return text, {kind: tuple(dict.fromkeys(each)) for kind, each in found.items()}
