"""Extract the text that a user typed from a message, without fenced, quoted and pasted text."""

import re
from collections.abc import Iterator

from qwestly_agent.text.clean import LONGEST_TYPED_CHARACTERS, visible
from qwestly_agent.text.language import language_of
from qwestly_agent.text.trouble import Trouble, find_trouble

QUOTED_WORDS = 3
"""From this many words, text in quotation marks counts as someone else's."""
END_CHARACTERS = 500


_ENTITY = {"lt": "<", "60": "<", "3c": "<", "gt": ">", "62": ">", "3e": ">", "quot": '"', "34": '"', "22": '"'}
_ENTITIES = re.compile(r"&(?:#0{0,8}|#x0{0,8})?(lt|gt|quot|60|62|34|3c|3e|22);", re.IGNORECASE)
_CONTAINER = re.compile(r"[ \t]*(?:(?:[-*+•]|\d{1,9}[.)])[ \t]+)*")
_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,}|\${2}(?=\s*$))")
_BLOCK_QUOTE = re.compile(r"[>＞﹥❯|│┃]")
_RULE = re.compile(r"[ \t]*(?:([-_*=~#])[ \t]?)(?:\1[ \t]?){2,}")
_SPEAKER = re.compile(r"(?:\*\*|__)?(?:user|assistant|human|system|ai|bot)(?:\*\*|__)?\s?[:：]", re.IGNORECASE)
_MAIL_FIELD = re.compile(
    r"(?:from|to|cc|date|sent|subject|von|an|datum|gesendet|betreff|de|à|objet|envoyé|para|fecha|enviado|asunto|assunto"
    r"|da|a|oggetto)\s?[:：]\s*\S",
    re.IGNORECASE,
)
"""E-mail header fields, as mail programs write them."""
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


def typed_parts(text: str, longest: int = LONGEST_TYPED_CHARACTERS) -> Iterator[str]:
    """The typed parts: without text that is fenced, quoted, in tags, after a mail header or a rule; nothing if they are
    together longer than people type."""
    text = _ENTITIES.sub(lambda found: _ENTITY[found[1].lower()], visible(text))
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("''", '"')
    pieces = [part for piece in _unfenced(text) for part in _untagged(piece)]
    # Count all paragraphs together: blank lines do not make a paste shorter.
    if sum(map(len, pieces)) > longest:
        return
    for piece in pieces:
        for part in _unquoted(piece):
            if words_of(part):
                yield part.strip()


def trouble_in(text: str) -> Trouble | None:
    """Find acute trouble in what a person typed about themselves. In a message that is longer than people type, only
    its beginning and its end count as typed."""
    typed = "\n".join(typed_parts(text, longest=len(text)))
    ends = [typed] if len(typed) <= LONGEST_TYPED_CHARACTERS else [typed[:END_CHARACTERS], typed[-END_CHARACTERS:]]
    return find_trouble(ends, language_of(typed))


def holds_others_words(text: str) -> bool:
    """True if a part of the message was not typed by the user: a paste, quotation, mail or document."""
    typed = sum(sum(map(str.isalnum, part)) for part in typed_parts(text))
    return typed < sum(map(str.isalnum, visible(text)))


def _unfenced(text: str) -> Iterator[str]:
    """Lines outside of Markdown fences, block quotes (with lazy continuation lines) and indented code; up to a rule, a
    speaker's name or a mail header, after which the text may be someone else's."""
    typed: list[str] = []
    fence, lazy, blank, code, headed = "", False, True, False, False
    for line in text.split("\n"):
        rest = _CONTAINER.sub("", line, count=1)
        was_headed, headed = headed, bool(_MAIL_FIELD.match(rest))
        if fence:
            if re.match(rf"[>\s]*{re.escape(fence[0])}{{{len(fence)},}}\s*$", rest):
                fence = ""
        elif found := _FENCE.match(rest):
            fence = found[1]
        elif not rest.strip():
            lazy, blank = False, True
            typed.append("")
            continue
        elif _RULE.match(line) or _SPEAKER.match(rest):
            break
        elif headed and was_headed and typed:
            typed.pop()
            break
        elif _BLOCK_QUOTE.match(rest) or lazy:
            lazy = True
        elif re.match(r" {4}|\t", line) and (blank or code):
            code, blank = True, False
        else:
            typed.append(line)
            blank = code = False
            continue
        blank = False
        if typed:
            yield "\n".join(typed)
            typed = []
    yield "\n".join(typed)


def _untagged(text: str) -> Iterator[str]:
    """The text without tags of any markup and their content."""
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


def _unquoted(text: str) -> Iterator[str]:
    """The text without what is in quotation marks of any kind, across lines; an unclosed quotation extends to the
    end."""
    start, opened = 0, -1
    for found in _MARKS.finditer(text):
        mark, at = found.group(), found.start()
        if opened < 0:
            if mark in _CLOSED_BY and not (mark in '"″' and text[at - 1 : at].isdigit()):
                opened = at
        elif mark in _CLOSED_BY[text[opened]]:
            if len(words_of(text[opened:at])) >= QUOTED_WORDS:
                yield from _unsingle(text[start:opened])
                start = at + 1
            opened = -1
    if opened >= 0 and len(words_of(text[opened:])) >= QUOTED_WORDS:
        yield from _unsingle(text[start:opened])
    else:
        yield from _unsingle(text[start:])


def _unsingle(text: str) -> Iterator[str]:
    start = 0
    for found in _SINGLE.finditer(text):
        if len(words_of(found.group())) >= QUOTED_WORDS:
            yield text[start : found.start()]
            start = found.end()
    yield text[start:]


def words_of(text: str) -> list[str]:
    return _WORD.findall(text)


def sentences(text: str) -> list[str]:
    return [each.strip() for each in _SENTENCE_END.split(text) if each.strip()]


def questions_in(text: str) -> list[str]:
    """The sentences that end with a question mark."""
    return [each for each in sentences(visible(text)) if _ASKED.search(each)]
