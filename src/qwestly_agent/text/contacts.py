"""Contact details: recognize them in documents, and keep them out of prompts and published texts."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeAlias

from qwestly_agent.base.patterns import pattern

# --- contacts ---------------------------------------------------------------------------------------------------------
# Contact details: recognize them in people's own documents, and keep them out of every prompt and of every text for
# others.
#
# Code recognizes details with a fixed form: mailboxes, web addresses, telephone numbers, streets with a number and,
# next to one of the first three, postcodes and parts of a house. Details that only a reader would recognize are not
# removed: place names, telephone numbers written in words, names in a messenger.


Kind: TypeAlias = Literal["email", "url", "phone", "street", "postcode", "birth date"]

_AT, _DOT = r"(?:at|ät|arroba|arobase|chiocciola|@)", r"(?:dot|punkt|point|punto|ponto|\.)"
_EMAIL = pattern(
    rf"""(?xi)
    (?<![\w.+-]) [\w.+-]{{1,64}} @ [\w-]{{1,63}} (?:\.[\w-]{{1,63}}){{1,5}}
    | (?<![\w.+-]) (?:\w[\w+-]{{0,40}} (?:\s?[\[({{]\s?{_DOT}\s?[\])}}]\s?|\.)){{0,3}} \w[\w+-]{{0,40}}
      (?:\s?[\[({{]\s?{_AT}\s?[\])}}]\s? | \s{{1,2}}[@＠]\s? | \s?＠\s? | @\s)
      \w[\w-]{{0,40}} (?:(?:\s?[\[({{]\s?{_DOT}\s?[\])}}]\s?|[.․．]|\s{_DOT}\s) \w[\w-]{{0,40}}){{1,3}} (?!\w)
    | (?<![\w.+-]) (?:\w[\w+-]{{0,40}} \s{_DOT}\s){{0,3}} \w[\w.+-]{{0,40}} \s{_AT}\s
      \w[\w-]{{0,40}} (?:\s(?:dot|punkt|punto|ponto)\s \w[\w-]{{0,40}}){{1,3}} (?!\w)"""
)
"""The last two alternatives are written for people, not for programs: "maya (at) example (dot) org"."""
_URL = pattern(
    r"""(?xi) (?<![\w@./-])
    (?: (?:https?://|www\.) [^\s<>()\[\]{}"'|·•,;]{1,500}
      | (?:[\w-]{1,63}\.){0,3} (?:linkedin|xing|github|gitlab|behance|dribbble|twitter|facebook|instagram)\.com
        / [^\s<>()\[\]{}"'|·•,;]{1,500}
      | [\w-]{1,63}\.github\.io (?:/[^\s<>()\[\]{}"'|·•,;]{0,500})?
    )"""
)
_HANDLE = pattern(
    r"""(?x) (?i:(?<!\w) (?:linkedin|xing|github|gitlab|behance|dribbble|twitter|instagram|skype|telegram|kaggle))
    (?: [ \t]?[:|][ \t]{0,3} /?(?:in/)? | [ \t] (?=@) )
    (?P<handle> (?=[a-z\d@_] | [A-Z][A-Za-z]{0,30}(?:[\d_.-]|[a-z][A-Z])) @?\w[\w.-]{2,40} )
    (?=\s{0,3}(?:[|·•,;)\n]|\Z|\w{2,10}\.?:|[\w.+-]{1,64}@))"""
)
"""A user name after the name or the icon of a site."""
_OWN_HOST = pattern(
    r"(?i)(?<![\w@./-])(?:[\w-]{1,63}\.){1,3}(?:com|org|net|dev|me|io|de|eu|es|fr|pt|it|at|ch|uk|ie|nl|br)(?![\w.@-])"
)
"""A site without a scheme; it counts only next to a mailbox or a telephone number."""
_SHAPES = str.maketrans("‐‑‒–—―−－〜～~（）＋．／：", "-----------()+./:")
"""Dashes, brackets and signs from keyboards for other scripts, each mapped to one character."""
_RUN = pattern(r"[+(]{0,2}\d(?:(?:[^\S\n]|[().\-/]){0,5}+\d){6,}+")
"""Candidates for telephone numbers: the entire run of digits and separators in a line."""
_PART_BEFORE = re.compile(
    r"(?:[A-Za-zÀ-ӿ_]|[A-Za-zÀ-ӿ][-/]|\d:|(?:[$€£¥₹]|\b(?:EUR|USD|GBP|CHF|ID|IS[BS]N|ISO|ORCID|PMID|RFC))[ :.]{0,3})\Z"
)
_PART = re.compile(r"(?<=\d[,'’])\d{3}(?!\d)")
_PART_AFTER = re.compile(r"(?!x\d)[A-Za-zÀ-ӿ_]|[,'’]\d{1,3}(?!\d)|:\d|[ \u00a0]?(?:[$€£¥₹%]|EUR|USD|GBP|CHF)")
"""Text around digits that are part of a word, of an amount, or of a number with another label."""
_LABELLED = pattern(
    r"""(?xi)
    (?: (?<!\w) (?: tel(?:e(?:phone|fon|fone|fono|foon))? | (?:mobile|cell)(?:\ ?phone)? | mobil | mobiel | handy
        | phone | fax | tlf | tél(?:éphone)? | m[óo]vil | móbil | telemóvel | celular | cellulare
        | whatsapp | signal | gsm | komórka | mob | puh(?:elin)? | тел(?:ефон)? | моб(?:ильный)? | факс | τηλ(?:έφωνο)?
        | κιν(?:ητό)? | טל['׳]? | טלפון | נייד | פקס | (?:ال)?هاتف | (?:ال)?جوال | (?:ال)?موبايل | تلفن
        | موبایل | फ़ोन | मोबाइल ) (?!\w)
      | (?:电话|電話|手机|手機|携帯|行動|传真|傳真|전화|휴대폰|휴대전화|연락처|핸드폰|팩스)
        (?:番号|号码|號碼|번호)? )
    (?:\ (?:no|nr|nº|num(?:ber|mer|ero|éro)|номер)(?!\w))?
    \.?[ \t]{0,3}:?[ \t]{0,3} (?P<number> [+(]{0,2}\d[\d \t\u00a0\u202f().\-/]{4,20}\d ) (?!\w)"""
)
_Y, _M, _D = r"(?:19|20)\d\d", r"(?:0?[1-9]|1[0-2])", r"(?:0?[1-9]|[12]\d|3[01])"
_S = r"(?:[^\S\n]?[./-][^\S\n]?|[^\S\n])"
_DATED = (
    rf"(?:{_D}{_S}{_D}{_S}{_Y} | {_Y}{_S}{_M}{_S}{_D} | {_Y}{_S}{_M} | {_M}{_S}{_Y} | {_Y}(?:0[1-9]|1[0-2])(?:[0-3]\d)?"
    rf" | {_Y}) (?!\d) \.?"
)
_SHORT = rf"(?:{_D}[./-]{_D}[./-]\d\d | {_M}[./]\d\d | [012]\d\.[0-5]\d) (?!\d)"
_TO = r"\s{0,3}[-/]\s{0,3}"
_PERIOD = pattern(
    rf"""(?x) (?<![\w+.,/-])
    (?: {_DATED} {_TO} (?:{_DATED} | \d\d(?!\d)) | {_SHORT} \s{{0,3}}-\s{{0,3}} (?:{_DATED}|{_SHORT})
      | {_DATED} [^\S\n]{{1,3}} {_DATED} | {_D}[./-]{_D}[./-]{_Y} | {_Y}[./-]{_M}[./-]{_D}(?!\d) ) (?![\w/-]|[.,]\d)"""
)
"""Dates that look like a telephone number of some country."""
_DATES = pattern(
    rf"""(?x)\(?(?: {_DATED} (?:(?:{_TO}|\)?\s{{1,3}}\(?){_DATED} | {_TO}\d\d(?!\d)){{0,8}} (?:(?:{_TO}|\s)\d\d?(?!\d))?
      | {_SHORT} (?: (?:\s{{0,3}}-\s{{0,3}}|\s{{1,5}}) (?:{_DATED}|{_SHORT}) ){{0,8}} ) [)\s.]{{0,3}}"""
)
"""A run consisting only of dates."""
_AMOUNT = r"[1-9]\d{0,2}(?:[\s.]\d{3}){1,4}"
_AMOUNTS = pattern(rf"(?!\d{{3}}([\s.])\d{{3}}\1(?!000)\d{{3}}\Z){_AMOUNT}(?:\s?[-/]\s?{_AMOUNT}){{0,3}}")
"""Digits in groups of three, except three groups that are not a round number, as in "612 345 678"."""
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_BLANKS = " \t\u00a0\u202f"
_APART = (pattern(r"\s{2,}|\s-\s|\s(?=\+|0[1-9]|\d{5}\s[A-ZÀ-Þ])"), pattern(r"\s/\s"))
_BIRTH = pattern(
    r"""(?xi)
    (?P<label> (?: (?<!\w) (?:date\ of\ birth|birth\ ?date|d\.?o\.?b\.?|born(?:\ on)?|geburtsdatum
        |geboren(?:\ (?:am|op))?|geb\.(?:\ am)?|fecha\ de\ nacimiento|nacid[oa]\ el|date\ de\ naissance|née?\ le
        |data\ di\ nascita|nat[oa]\ il|data\ de\ nasc(?:imento|\.)|nascid[oa]\ (?:em|a)|geboortedatum
        |data\ urodzenia|urodzon[ya]|ur\.|дата\ рождения|родил(?:ся|ась)|дата\ народження
        |datum\ narození|födelsedatum|fødselsdato|syntymäaika
        |data\ nașterii|doğum\ tarihi|születési\ (?:idő|dátum)
        |ημερομηνία\ γέννησης|תאריך\ ה?לידה|تاريخ\ (?:الميلاد|الولادة)|تاریخ\ تولد|जन्म\ ?तिथि)
      | 出生(?:日期|年月日?)|生年月日|生于|생년월일 )
      (?:\ ?\([^()\n]{1,20}\))? \s{0,5}[:-]?\s{0,5} )
    (?P<date> (?:19|20)?\d\d[ ]?年[ ]?\d{1,2}[ ]?月(?:[ ]?\d{1,2}[ ]?日)?
      | (?:明治|大正|昭和|平成|令和)\d{1,2}年\d{1,2}月\d{1,2}日
      | (?:19|20)\d\d년[ ]?\d{1,2}월[ ]?\d{1,2}일
      | \d{1,2}[ ]?[./-][ ]?\d{1,2}[ ]?[./-][ ]?(?:19|20)?\d\d
      | (?:19|20)\d\d[./-][ ]?\d{1,2}(?:[./-][ ]?\d{1,2})?
      | \d{1,2}(?:\.|st|nd|rd|th|er|º)?[ ](?:de[ ])?[^\W\d_]{3,12}\.?,?[ ](?:de[ ])?(?:19|20)\d\d
      | [^\W\d_]{3,12}[ ]\d{1,2},?[ ](?:19|20)\d\d
    ) (?!\d)"""
)
# Street names consist of few, short words. The length is bounded, so that a hostile text cannot cause much
# backtracking.
_WORD = r"[A-ZÀ-Þ][\w.'’-]{0,24}"
_STREET = pattern(
    rf"""(?x) (?<![^\W_])
    (?: \d{{1,5}}[a-zA-Z]?[ ](?:{_WORD}[ ]){{1,3}}
        (?:Street|St\.?|Road|Rd\.?|Avenue|Ave\.?|Boulevard|Blvd\.?|Lane|Ln\.?|Drive|Dr\.?|Court|Square|Terrace|Crescent)
      | (?:{_WORD}[ ]){{0,2}}[A-ZÀ-Þ][\w'’-]{{0,24}}(?:[sS]tra(?:ß|ss)e|[sS]tr\.|gasse|[aA]llee|[pP]latz|weg)
        [ ]\d{{1,4}}[ ]?[a-zA-Z]?
      | (?:{_WORD}[ ]){{1,3}}(?:Straße|Strasse|Str\.|Gasse|Allee|Platz|Weg)[ ]\d{{1,4}}[ ]?[a-zA-Z]?
      | (?:Calle|C/|Avenida|Avda\.|Plaza|Paseo|Rua|Rue|Via|Viale)[ ](?:(?:del?|la|da|do)[ ]){{0,2}}
        (?:{_WORD},?[ ]){{1,3}}\d{{1,4}}[a-zA-Z]?
      | \d{{1,4}}(?:[ ]?(?:bis|ter))?,?[ ](?:rue|avenue|boulevard|place)[ ](?:(?:de|du|des|la)[ ]|l['’]){{0,2}}
        {_WORD}(?:[ ]{_WORD}){{0,2}}
    ) (?![^\W_])"""
)

# --- beside a mailbox, a telephone number or a site -------------------------------------------------------------------

NEAR_LINES, NEAR_CHARACTERS = 4, 250
"""Maximum distance at which a postcode and its surrounding text belong to a mailbox, telephone number or site."""
_POSTCODE = pattern(
    r"""(?x) (?<![\w.,/+-])
    (?: [A-Z]{1,2}\d[A-Z\d]?[ ]?\d[A-Z]{2}                         # British
      | [A-Z]\d[\dW][ ]?[A-Z\d]{4} | [A-Z]\d[A-Z][ -]?\d[A-Z]\d    # Irish, Canadian
      | \d{4}[ ]?[A-Z]{2}(?=[ ,]) | \d{5}-\d{3,4} | \d{4}-\d{3} | \d{2}-\d{3}
      | (?:[A-Z]{1,2}-)?(?!(?:19|20)\d\d\b)\d{4,6}(?=[ ][A-ZÀ-Þ][^\W\d_])   # before its town
      | (?<=\b[A-Z]{2}[ ])\d{5} | (?<=[^\W\d_][ ])\d{5,6}(?=\s{0,3}(?:[,;•|·\n]|\Z))  # behind its state or town
      | (?<=[^\W\d_][ ])\d{3}[ ]\d{3}(?=\s{0,3}(?:[,;•|·\n]|\Z))
    ) (?![\w-])"""
)
PART_OF_HOUSE = pattern(
    r"""(?xi) (?<!\w)
    (?: (?:flat|apt\.?|apartment|unit|suite|ste\.|appt?\.|appartement|wohnung|whg\.?|top|piso|puerta|planta|escalera
          |apto\.?|andar|bloco|interno|int\.|scala|lok\.|m\.) [ ]? (?:\d{1,4}[a-z]?|[a-z]) (?!\w)
      | \d{1,2}(?:st|nd|rd|th)[ ]floor (?!\w) | \d{1,2}\.[ ]?(?:OG|Stock|Etage) (?!\w)
      | \d{1,2}[.]?[ºª°][ ]?(?:[a-z]|izq\w{0,8}\.?|dch?a?\.?|esq\w{0,8}\.?)? (?!\w)
    )"""
)
_TYPES = (
    r"(?:Row|Close|Way|Place|Gardens?|Mews|Hill|Park|Walk|Green|Grove|Quay|Parade|View|Rise|Wharf|Yard|Parkway|Pkwy|"
    r"Highway|Hwy|Circle|Cir|Trail|Loop|Plaza|Gate|Vale|Street|St|Road|Rd|Avenue|Ave|Boulevard|Lane|Ln|Drive|Dr|Court|Ct|"
    r"Square|Sq|Terrace|Crescent)\.?"
)
_NAMED = r"(?:(?:de|du|des|la|las|los|le|les|del|da|do|dos|of|the|van|der|den|am|an|im|zum|zur)[ ]){0,3}" + _WORD
_HOUSE = r"\d{1,5}[a-zA-Z]?(?:[/-]\d{1,4}[a-zA-Z]?)?"
_STREET_OF_TYPE = pattern(rf"(?<![\w.,/+-])(?!(?:19|20)\d\d\b){_HOUSE},?[ ](?:{_WORD}[ ]){{1,3}}{_TYPES}(?!\w)")
_STREET_IN_ADDRESS = pattern(
    rf"""(?x) (?<![\w.,/+-])
    (?: (?!(?:19|20)\d\d\b) {_HOUSE} (?:[ ](?:bis|ter))? ,?[ ] {_NAMED} (?:[ ]{_NAMED}){{0,3}}
        (?=\s{{0,3}}(?:[,;•|·—–\n]|\Z))
      | (?<![^,;•|·\n—–\t]) [ ]? (?:[a-z]{{2,4}}\.?[ ])? {_NAMED} (?:[ ]{_NAMED}){{0,3}} ,?[ ] (?:n[.º°o]{{0,2}}[ ]?)?
        (?!(?:19|20)\d\d\b) {_HOUSE} (?=\s{{0,3}}(?:[,;•|·—–\n]|\Z))
    )"""
)
"""Any name with a number; it counts only next to a postcode or part of a house."""
_FAR = 60
"""Maximum number of characters between a street and its postcode."""
_OF_TIME = re.compile(
    r"(?i)\b(?:years?|yrs|months?|jahren?|monaten?|años?|meses|ans|mois|anos|anni|jan|feb|m[aä]r|apr|may|mai|jun|jul|aug|sep"
    r"|o[ck]t|nov|de[cz])\w{0,7}\b"
)


@dataclass(frozen=True, order=True)
class Contact:
    """A contact detail in a text."""

    start: int
    end: int
    kind: Kind
    words: str
    is_block: bool = False
    """True if the detail is in a block of contact details, such as a letterhead."""


def contacts_in(text: str) -> list[Contact]:
    """Find the contact details that code recognizes, in order and without overlaps."""
    return list(_contacts_in(text))


@lru_cache(maxsize=512)
def _contacts_in(text: str) -> tuple[Contact, ...]:
    plain = text if text.isascii() else _in_ascii_digits(text)
    found = _Found(text, plain)
    for match in _EMAIL.finditer(text):
        found.add("email", *match.span())
    for match in _URL.finditer(text):
        found.add("url", match.start(), match.start() + len(match[0].rstrip(" .:!?")))
    for match in _HANDLE.finditer(text):
        found.add("url", *match.span("handle"))
    for match in _BIRTH.finditer(plain):
        found.add("birth date", *match.span("date"))
    for match in _STREET.finditer(text):
        found.add("street", *match.span())
    for start, end in _runs(plain, 0, len(plain)):
        for span in _phones_in(plain, start, end, (_PERIOD, *_APART)):
            found.add("phone", *span)
    for match in _LABELLED.finditer(plain):
        start, end = match.span("number")
        dates = _PERIOD.search(plain, start, end)
        end = dates.start() if dates else end
        if not _DATES.fullmatch(plain, start, end):
            found.add("phone", start, start + len(plain[start:end].rstrip(" \t.-/(")))
    found.add_blocks()
    return tuple(sorted(found.contacts))


class _Found:
    def __init__(self, text: str, plain: str) -> None:
        self.text, self._plain = text, plain
        self.contacts: list[Contact] = []
        self._taken = bytearray(len(text))

    def add(self, kind: Kind, start: int, end: int, *, is_block: bool = False) -> None:
        """Add a match, unless it overlaps an earlier one."""
        if start < end and not any(self._taken[start:end]):
            self._taken[start:end] = b"\1" * (end - start)
            self.contacts.append(Contact(start, end, kind, self.text[start:end], is_block))

    def add_blocks(self) -> None:
        for start, end in self._blocks():
            for since, until in _runs(self._plain, start, end):
                if _is_alone(self._plain, since, until) and _is_phone(self._plain[since:until], is_near=True):
                    self.add("phone", since, until, is_block=True)
            for match in _OWN_HOST.finditer(self.text, start, end):
                self.add("url", *match.span(), is_block=True)
            anchors = [match.span() for match in _POSTCODE.finditer(self.text, start, end)]
            for anchor in anchors:
                self.add("postcode", *anchor, is_block=True)
            for match in PART_OF_HOUSE.finditer(self.text, start, end):
                anchors.append(match.span())
                self.add("street", *match.span(), is_block=True)
            for match in _STREET_OF_TYPE.finditer(self.text, start, end):
                if not _OF_TIME.search(match[0]):
                    self.add("street", *match.span(), is_block=True)
            for match in _STREET_IN_ADDRESS.finditer(self.text, start, end):
                is_near = any(
                    match.start() - _FAR < a_end and a_start < match.end() + _FAR for a_start, a_end in anchors
                )
                if is_near and not _OF_TIME.search(match[0]):
                    self.add("street", match.end() - len(match[0].lstrip()), match.end(), is_block=True)
        blocks = self._blocks()
        self.contacts = [replace(each, is_block=any(a <= each.start < b for a, b in blocks)) for each in self.contacts]

    def _blocks(self) -> list[tuple[int, int]]:
        """Return the spans around mailboxes, telephone numbers and sites: a few lines within a short distance."""
        reach = list[tuple[int, int]]()
        for each in sorted(self.contacts):
            if each.kind in ("email", "phone", "url"):
                before = self.text[max(each.start - NEAR_CHARACTERS, 0) : each.start].split("\n")[-NEAR_LINES - 1 :]
                after = self.text[each.end : each.end + NEAR_CHARACTERS].split("\n")[: NEAR_LINES + 1]
                reach.append((each.start - len("\n".join(before)), each.end + len("\n".join(after))))
        blocks: list[tuple[int, int]] = []
        for start, end in reach:
            if blocks and start <= blocks[-1][1]:
                blocks[-1] = (blocks[-1][0], max(end, blocks[-1][1]))
            else:
                blocks.append((start, end))
        return blocks


def _in_ascii_digits(text: str) -> str:
    """Return the text with digits and signs of other scripts replaced by ASCII, without moving any character."""
    return re.sub(r"[^\D0-9]", lambda digit: str(int(digit[0])), text).translate(_SHAPES)


def _runs(plain: str, since: int, until: int) -> Iterator[tuple[int, int]]:
    for match in _RUN.finditer(plain, since, until):
        start, end = match.span()
        is_part = _PART_BEFORE.search(plain, max(start - 10, 0), start) or _PART.match(plain, start)
        if not is_part and not _PART_AFTER.match(plain, end):
            yield start, end


def _phones_in(plain: str, start: int, end: int, splits: Sequence[re.Pattern[str]]) -> Iterator[tuple[int, int]]:
    """Find the spans of telephone numbers in a run of digits and separators: the whole run if it is written as one
    number, otherwise the parts between periods and wide gaps."""
    run = plain[start:end].rstrip(_BLANKS + "./-()+")
    end, run = start + len(run), run.lstrip(_BLANKS + "./-)")
    start = end - len(run)
    if run and _is_phone(run, is_alone=_is_alone(plain, start, end)):
        yield start, end
    elif splits:
        edges = [start, *(edge for gap in splits[0].finditer(plain, start, end) for edge in gap.span()), end]
        for part in zip(edges[::2], edges[1::2], strict=True):
            yield from _phones_in(plain, *part, splits[1:])


def _is_phone(run: str, *, is_alone: bool = True, is_near: bool = False) -> bool:
    """True if the digits are grouped as in a telephone number, and not as in a date, an amount or an IP address. Near
    other contact details, an amount that is not round counts as a telephone number, too."""
    groups = re.findall(r"\d+", run)
    sizes, count = [len(each) for each in groups], sum(map(len, groups))
    if re.match(r"\({0,2}(?:\+|00\s?[1-9])", run):
        return 8 <= count <= 17
    if not FEWEST_DIGITS <= count <= 13 or _DATES.fullmatch(run) or _PERIOD.match(run):
        return False
    if _AMOUNTS.fullmatch(run) and (run.endswith("000") or not is_near):
        return False
    if re.match(r"\({0,2}0(?:\)\s?)?[1-9]", run):
        return count >= 9 or is_alone or (count == 8 and sizes not in ([8], [4, 4], [2, 2, 2, 2]))
    if len(groups) == 1:
        return (8 if is_alone else 9) <= count <= 11 and not run.endswith("0000")
    if re.fullmatch(r"\d+\.\d+|(?=.*\d{3})(?:(?:1?\d?\d|2[0-4]\d|25[0-5])(?:\.(?!$)|$)){4}", run):
        return False
    if min(sizes[1:]) < 2 or (sizes[0] == 1 and count < 9) or (sizes[0] > 3 and count > 11):
        return False
    if _PERIOD.search(run) or (count == FEWEST_DIGITS and not (is_alone and sizes[0] == 3)):
        return False
    if all(each.endswith("00" if is_alone and len(groups) == 2 else "0") for each in groups):
        return False
    return (is_alone and count > FEWEST_DIGITS) or sizes == [3, 3, 4] or not _YEAR.search(run)


def _is_alone(plain: str, start: int, end: int) -> bool:
    """True if there are no words or digits next to it on its line."""
    before = plain[max(start - 20, 0) : start].rstrip(" \u00a0\u202f(.")[-1:]
    after = plain[end : end + 20].lstrip(" \u00a0\u202f)")[:1]
    return not (before.isalnum() or after.isalnum())


def without_contacts(text: str) -> tuple[str, Mapping[str, tuple[str, ...]]]:
    """Replace contact details with "[email]", "[url]", "[phone]", "[street]", "[postcode]" and "[birth date]". Returns
    the text, and the replaced details by kind."""
    found: dict[str, list[str]] = {}
    contacts = contacts_in(text)
    for each in contacts:
        found.setdefault(each.kind, []).append(each.words)
    spans = [(each.start, each.end, f"[{each.kind}]") for each in contacts]
    return _replaced(text, spans), {kind: tuple(dict.fromkeys(each)) for kind, each in found.items()}


def _replaced(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    edges = [(0, 0, ""), *spans, (len(text), len(text), "")]
    return "".join(mark + text[end:start] for (_, end, mark), (start, _, _) in pairwise(edges))


# --- contact details --------------------------------------------------------------------------------------------------
# Find a person's contact details in a text that must not contain any, regardless of spacing and spelling.


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
"""Minimum length of a street name that is recognized without a house number."""
_NO_NAME = pattern(
    r"\d+[a-z]*|[a-z]|bis|ter|calle|avenida|avda|plaza|paseo|rua|rue|via|viale|avenue|boulevard|place|de|du|des|del|la|las"
    r"|los|le|les|da|do|dos|of|the|van|der|den|am|im|zum|zur|nr?o?"
)
"""Words in a street address that are not part of the street's name."""


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
        """True if the text contains one of the contact details, with any spacing and spelling."""
        if not self:
            return False
        readings = set(_readings(text))
        if any(_compiled(each).search(reading) for each in self.words for reading in readings):
            return True
        streams = {re.sub(r"[^0-9]", "", reading) for reading in readings}
        return any(each in stream or each[::-1] in stream for stream in streams for each in self.digits)

    def places_in(self, texts: Sequence[str]) -> set[int]:
        """Return the indexes of texts that contain a contact detail, or a part of one that is spread over several
        texts."""
        found = {number for number, text in enumerate(texts) if self.stand_in(text)}
        left = [number for number in range(len(texts)) if number not in found]
        while self.stand_in(" ".join(texts[number] for number in left)):
            # The shortest run of texts that contains the detail: first find the end at which it is complete, then the
            # start.
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
    """True for a user name with a number, which is enough to identify a person."""
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
    """Normalize a text: ignore case, diacritics and lookalikes, and join repeated separators."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    text = text.translate(_LOOKALIKES)
    text = "".join(str(unicodedata.digit(each, each)) if each.isdigit() else each for each in text)
    return re.sub(r"([^\w@.:/]|_)\1+", r"\1", text)


def _readings(text: str) -> Iterator[str]:
    """Yield the text normalized by `_plain`, then the text in which number words and letters that look like digits are
    replaced with digits."""
    plain = _plain(text)
    yield plain
    yield re.sub(r"(?<![^\W\d_])[oil]+(?![^\W\d_])", _as_digits, plain)
    lower = unicodedata.normalize("NFKC", text).casefold()
    if not re.search(r"[a-z]{3}", lower):
        return
    from text_to_num import alpha2digit  # slow to import, and rarely needed

    lower = re.sub(r"\b(?:double|doppel)[ -]?(\w+)", r"\1 \1", re.sub(r"\btriple[ -]?(\w+)", r"\1 \1 \1", lower))
    for language in _NUMBER_LANGUAGES:
        spelled = re.sub(r"\boh?\b", "zero", lower) if language == "en" else lower
        yield _plain(alpha2digit(spelled, language))


def _as_digits(letters: re.Match[str]) -> str:
    return letters[0].replace("o", "0").replace("i", "1").replace("l", "1")
