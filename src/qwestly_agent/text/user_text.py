"""Extract from a message the text that the user typed, without fenced, quoted and pasted text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qwestly_agent.text.clean import LONGEST_TYPED_CHARACTERS, visible
from qwestly_agent.text.language import language_of
from qwestly_agent.text.trouble import Trouble, find_trouble

QUOTED_WORDS = 3
"""Text in quotation marks counts as someone else's if it has at least this many words."""
END_CHARACTERS = 500


_ENTITY = {"lt": "<", "60": "<", "3c": "<", "gt": ">", "62": ">", "3e": ">", "quot": '"', "34": '"', "22": '"'}
_ENTITIES = re.compile(r"&(?:#0{0,8}|#x0{0,8})?(lt|gt|quot|60|62|34|3c|3e|22);", re.IGNORECASE)
_CONTAINER = re.compile(r"[ \t]*(?:(?:[-*+•]|\d{1,9}[.)])[ \t]+)*")
_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,}|\${2}(?=\s*$))")
_BLOCK_QUOTE = re.compile(r"[>＞﹥❯|│┃]")
_RULE = re.compile(r"[ \t]*(?:([-_*=~#])[ \t]?)(?:\1[ \t]?){2,}")
_SPEAKER = re.compile(r"(?:\*\*|__)?(?:user|assistant|human|system|ai|bot)(?:\*\*|__)?\s?[:：]", re.IGNORECASE)
_MAIL_FIELD = re.compile(
    r"(?:from|to|cc|date|sent|(?P<subject>subject|betreff|objet|asunto|assunto|oggetto)|von|an|datum|gesendet|de|à|envoyé"
    r"|para|bis|hasta|até|fecha|enviad[oa]|da|a)\s?[:：]\s*\S",
    re.IGNORECASE,
)
"""E-mail header fields as mail programs write them; people also write periods in this form: "From: 2019, To: 2021"."""
_SENT = re.compile(r"\S@\w|\b\d{1,2}\s?[:.h]\s?\d{2}\b(?!\.\d)", re.IGNORECASE)
"""An address, or a date with a time, as in a mail header."""
_LIST_MARK = re.compile(r"^([ \t]*)» ", re.MULTILINE)
_TAG = re.compile(
    r"<(?P<close>/?)(?P<tag>[a-zA-Z?][\w-]*)|(?P<comment><!--)|(?P<end>-->)|(?P<data><!)"
    r"|\[(?P<bbclose>/?)(?P<bb>quote|code|pre|spoiler|cite)\b|\\(?P<tex>begin|end)\{",
    re.IGNORECASE,
)
_CLOSED_BY = {
    "“": "”",
    "„": "“”",
    "‟": "”",
    "”": "”",
    "«": "»",
    "»": "«»",
    "‹": "›",
    "›": "‹",
    '"': '"',
    "＂": "＂",
    "″": "″",
    "「": "」",
    "『": "』",
    "〝": "〞",
    "❝": "❞",
}
_MARKS = re.compile(f"[{''.join({*_CLOSED_BY, *''.join(_CLOSED_BY.values())})}]")
_SINGLE = re.compile(r"(?<!\w)['‘‚](?=\w)(?:[^'‘’]|(?<=\w)['’](?=\w))*['’](?!\w)|`[^`]*`")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?…？！。؟])[\"”’)*_]*\s+|\n+")
_ASKED = re.compile(r"[?？؟]")


@dataclass(frozen=True)
class Part:
    """A part of a message that its user may have typed."""

    text: str
    is_sure: bool
    """False if code cannot distinguish the part from pasted text: it is long, follows a rule, an unclosed quotation
    mark or a mail's subject, is indented by four spaces, or is in a list marked with `>`."""


def parts_of(text: str, longest: int = LONGEST_TYPED_CHARACTERS) -> Iterator[Part]:
    """Yield the parts that are not fenced, quoted, in tags or in a mail. If they exceed `longest` in total, none of
    them is sure."""
    text = _ENTITIES.sub(lambda found: _ENTITY[found[1].lower()], visible(text))
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("''", '"')
    if "«" not in text:
        text = _LIST_MARK.sub(r"\1- ", text)
    pieces = [(part, is_sure) for piece, is_sure in _unfenced(text) for part in _untagged(piece)]
    # Count all paragraphs together, because blank lines do not make a paste shorter.
    is_short = sum(len(piece) for piece, _ in pieces) <= longest
    for piece, is_sure in pieces:
        for part, is_closed in _unquoted(piece):
            if words_of(part):
                yield Part(part.strip(), is_sure and is_closed and is_short)


def typed_parts(text: str, longest: int = LONGEST_TYPED_CHARACTERS) -> Iterator[str]:
    """Yield the parts that the user certainly typed."""
    return (part.text for part in parts_of(text, longest) if part.is_sure)


def unread_lines(text: str, read: Sequence[str]) -> str:
    """Return the numbers of lines with unread words: "3", "3–9", "3–9 and 12"; "" if all were read."""
    known = f" {' '.join(words_of(' '.join(read)))} "
    runs: list[list[int]] = []
    for number, line in enumerate(visible(text).splitlines(), 1):
        if (words := words_of(line)) and f" {' '.join(words)} " not in known:
            if runs and runs[-1][1] == number - 1:
                runs[-1][1] = number
            else:
                runs.append([number, number])
    named = [str(first) if first == last else f"{first}–{last}" for first, last in runs]
    return " and ".join(each for each in (", ".join(named[:-1]), *named[-1:]) if each)


def trouble_in(text: str) -> Trouble | None:
    """Find statements of acute trouble in text that a person typed. If a message is longer than people type, only its
    beginning and end count as typed."""
    typed = typed_in(text)
    ends = [typed] if len(typed) <= LONGEST_TYPED_CHARACTERS else [typed[:END_CHARACTERS], typed[-END_CHARACTERS:]]
    return find_trouble(ends, language_of(typed))


def typed_in(text: str) -> str:
    """Return the parts of a message that the person may have typed, whatever its length."""
    return "\n".join(typed_parts(text, longest=len(text)))


def holds_others_words(text: str) -> bool:
    """True if part of the message was not typed by the user: a paste, quotation, mail or document."""
    typed = sum(sum(map(str.isalnum, part)) for part in typed_parts(text))
    return typed < sum(map(str.isalnum, visible(text)))


def _unfenced(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines outside Markdown fences and block quotes (with lazy continuation lines), up to a speaker's name
    or a mail header, with True if they were certainly typed. Lines that are indented as code, in a list marked with
    `>`, or after a rule or a subject line are not certain, since they may be someone else's."""
    lines = text.split("\n")
    typed: list[str] = []
    fence, lazy, blank, code, is_sure = "", False, True, False, True
    for at, line in enumerate(lines):
        rest = _CONTAINER.sub("", line, count=1)
        doubted = ""
        if fence:
            if re.match(rf"[>\s]*{re.escape(fence[0])}{{{len(fence)},}}\s*$", rest):
                fence = ""
        elif found := _FENCE.match(rest):
            fence = found[1]
        elif not rest.strip():
            lazy, blank = False, True
            typed.append("")
            continue
        elif _SPEAKER.match(rest) or (head := _head_at(lines, at)) == "mail":
            break
        elif _RULE.match(line) or head == "subject":
            if typed:
                yield "\n".join(typed), is_sure
                typed = []
            is_sure = False
            continue
        elif not lazy and _BLOCK_QUOTE.match(rest) and _is_list(lines, at):
            doubted = rest.lstrip()[1:]
        elif _BLOCK_QUOTE.match(rest) or lazy:
            lazy = True
        elif re.match(r" {4}|\t", line) and (blank or code):
            code, blank, doubted = True, False, line
        else:
            typed.append(line)
            blank = code = False
            continue
        blank = False
        if typed:
            yield "\n".join(typed), is_sure
            typed = []
        if doubted:
            yield doubted, False
    yield "\n".join(typed), is_sure


def _head_at(lines: Sequence[str], at: int) -> str:
    """Return "mail" if a mail header begins here, or "subject" if this may be one: two fields, one of them a
    subject."""
    fields = list[re.Match[str]]()
    for line in lines[at:]:
        if not (found := _MAIL_FIELD.match(_CONTAINER.sub("", line, count=1))):
            break
        fields.append(found)
    if len(fields) < 2:
        return ""
    if any(_SENT.search(each.string) for each in fields):
        return "mail"
    return "subject" if any(each["subject"] for each in fields) else ""


def _is_list(lines: Sequence[str], at: int) -> bool:
    """True if the lines marked with `>` are a list: at least two lines, after a line that ends with a colon and names
    no sender."""
    first = last = at
    while first and _BLOCK_QUOTE.match(lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and _BLOCK_QUOTE.match(lines[last + 1]):
        last += 1
    before = next((line for line in reversed(lines[:first]) if line.strip()), "")
    return last > first and before.rstrip().endswith((":", "：")) and not _SENT.search(before)


def _untagged(text: str) -> Iterator[str]:
    """Yield the text outside tags of any markup, without the tags' content."""
    start, depth, opened = 0, 0, ""
    for found in _TAG.finditer(text):
        name = (found["tag"] or found["bb"] or ("tex" if found["tex"] else "!")).lower()
        closes = bool(found["close"] or found["bbclose"] or found["end"] or (found["tex"] or "").lower() == "end")
        if not depth and closes and name != "!":
            start = found.end()  # a closing tag without its opening one
        elif not depth and not closes:
            yield text[start : found.start()]
            opened, depth = name, 1
        elif depth and name == opened:
            depth += -1 if closes else 1
            if not depth:
                end = re.compile(r"[>\]}]").search(text, found.end() - 1)
                start = end.end() if end else len(text)
    if not depth:
        yield text[start:]


def quotations_in(text: str) -> list[str]:
    """Return the texts in quotation marks that have at least three words."""
    text = visible(text)
    return [text[opened + 1 : end - 1].strip() for opened, end in _quotations(text) if end <= len(text)]


def _unquoted(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the text outside quotation marks of any kind, across lines, with True if it is certainly outside. Text
    after an unclosed mark is not certain."""
    start = 0
    for opened, end in _quotations(text):
        yield from _unsingle(text[start:opened])
        start = end
        if end > len(text):
            yield text[opened + 1 :], False
    yield from _unsingle(text[start:])


def _quotations(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each quotation, including its marks. If a quotation is unclosed, its end is beyond the end
    of the text."""
    opened = -1
    for found in _MARKS.finditer(text):
        mark, at = found.group(), found.start()
        if opened < 0:
            if mark in _CLOSED_BY and not (mark in '"″' and text[at - 1 : at].isdigit()):
                opened = at
        elif mark in _CLOSED_BY[text[opened]]:
            if len(words_of(text[opened:at])) >= QUOTED_WORDS:
                yield opened, at + 1
            opened = -1
    if opened >= 0 and len(words_of(text[opened:])) >= QUOTED_WORDS:
        yield opened, len(text) + 1


def _unsingle(text: str) -> Iterator[tuple[str, bool]]:
    start = 0
    for found in _SINGLE.finditer(text):
        if len(words_of(found.group())) >= QUOTED_WORDS:
            yield text[start : found.start()], True
            start = found.end()
    yield text[start:], True


def words_of(text: str) -> list[str]:
    return _WORD.findall(text)


def sentences(text: str) -> list[str]:
    return [each.strip() for each in _SENTENCE_END.split(text) if each.strip()]


def questions_in(text: str) -> list[str]:
    """Return the sentences that end with a question mark."""
    return [each for each in sentences(visible(text)) if _ASKED.search(each)]
