"""Sanitize answers, so that even a manipulated model cannot leak data through them.

An answer is rendered as Markdown or, by a careless client, as HTML, and an image or link to a stranger's server could
leak what the model knows. So a space is inserted where a link, an image, a definition or a tag would begin: a person
can still read the text, and no renderer interprets it. Between the text and the address of a link it is a no-break
space, because Showdown recognizes a link across any other. Allowed beginnings are an allow-list, because user names,
entities, escapes and Unicode evade every deny-list.

Invisible characters are removed first, so that none hides a beginning. An answer arrives in pieces: an end that the
next piece could turn into something else is held back until then. The result therefore does not depend on how the text
is cut, and safe text stays unchanged.
"""

import re
from collections.abc import Collection
from functools import lru_cache

from qwestly_agent.text.clean import CHANGED, visible

_TRIGGER = r"[]<&:.\\\r]"
_UNUSUAL = re.compile(f"{_TRIGGER}|{CHANGED}")

_AFTER_HTTP = "(?:(?<=(?i:https))|(?<=(?i:http)))"
_AFTER_WWW = "(?<=(?i:www))"
_AFTER_MAIL = "(?:(?<=(?i:mailto))|(?<=(?i:xmpp)))"
_LONGEST_BEFORE = len("mailto")

_MOST_BLANKS = 200
"""Limit of blanks between the text of a link and its address; with more, the two are always separated."""
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# An autolink goes on to the next blank: `https://good)@evil`, `https://good。evil`. So nothing may follow a host
# but the marks that end a sentence, a quotation or an emphasis.
_MARKS = r"""[]!"'),.:;?*_`|}~<>…—–’”»。，、！？；：）」』】》]{0,50}"""
_END = rf"{_MARKS}(?:[ \t\r\n]|(?<=<)[A-Za-z/!?]|\Z)"
# Nothing in an address may begin something itself, should the link around it turn out to be none.
_ADDRESS = r"(?:(?!//|&[#]|(?i:www[.]))[\w./?#=&%~+,-]){0,2000}"
# `:`, `/`, `.`, digits and letters: remark looks for addresses once more after it has decoded what stands for them.
_ENTITY = "(?:colon|sol|period|(?i:[#]0{0,5}(?:[4-9][0-9]|1[0-2][0-9])|[#]x0{0,5}(?:2[ef]|[3-7][0-9a-f])))"


class SafeText:
    """Sanitizes a text piece by piece, and holds back an end that the next piece could change."""

    def __init__(self, hosts: Collection[str]) -> None:
        """`hosts` are names without a port; they and their subdomains may be linked to."""
        self._begins, self._undecided = _patterns(frozenset(hosts))
        self._text = ""
        """The end of what was shown, as it was before spaces were put in, and then what is held back."""
        self._shown = 0

    def feed(self, piece: str) -> str:
        text = self._text + piece
        if not _UNUSUAL.search(text, self._shown):  # then nothing is held back: it would begin with such a character
            self._text = text[-_LONGEST_BEFORE:]
            self._shown = len(self._text)
            return piece
        self._text += visible(piece, before=self._text[-1:])
        undecided = self._undecided.search(self._text, self._shown)
        return self._show(undecided.start() if undecided else len(self._text))

    def end(self) -> str:
        """Return the text that was held back."""
        return self._show(len(self._text))

    def _show(self, until: int) -> str:
        safe: list[str] = []
        for begin in self._begins.finditer(self._text, self._shown):
            if begin.start() >= until:
                break
            safe += self._text[self._shown : begin.start()], _put(begin)
            self._shown = begin.end()
        safe.append(self._text[self._shown : until])
        until = max(until, self._shown)
        behind = max(until - _LONGEST_BEFORE, 0)
        self._text, self._shown = self._text[behind:], until - behind
        return "".join(safe)


def safe_text(text: str, hosts: Collection[str]) -> str:
    """Sanitize a complete text."""
    safe = SafeText(hosts)
    return safe.feed(text) + safe.end()


def _put(begin: re.Match[str]) -> str:
    match begin.lastgroup:
        case "allowed":
            return begin[0]
        case "line_end":
            return "\n"
        case "before_address":
            return "] \u00a0"
        case _:
            return begin[0] + " "


@lru_cache(maxsize=8)
def _patterns(hosts: frozenset[str]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The patterns of what begins here, and of what the next piece could still make begin; their bounds are how much is
    held back at most."""
    names = "|".join(re.escape(host) for host in sorted(hosts) if host) or "(?!)"
    host = rf"(?ai:(?:{_LABEL}[.]){{0,3}}(?:{names}))"
    host_so_far = "(?ai:[a-z0-9.-]{0,253})"
    https = "(?i:https)"
    whole_host = rf"{host}(?=[/?#]|\]\({https}://|{_END})"
    host_and_more = rf"(?:{host_so_far}|{host}(?:{_MARKS}|\]\([A-Za-z]{{0,5}}:?/?))"
    begins = rf"""(?={_TRIGGER})(?:
        (?P<line_end> \r\n? )               # alone it ends a line as well: so CommonMark reads it
      | (?P<allowed>
            \]\( {_ADDRESS} \)
          | \]\( {https}://{host} (?:[/?#]{_ADDRESS}\) | \)(?={_END}))
          | {_AFTER_HTTP} ://{whole_host}
          | {_AFTER_WWW} [.]{whole_host}
        )
      | \]\( {https}://{host}\)             # a link as well; the space after it ends what an autolink would read
      | (?P<before_address> \] (?: [ \t]{{0,{_MOST_BLANKS}}} (?=\() | [ \t]{{{_MOST_BLANKS}}} ) )
      | \] (?=:)
      | < (?=[A-Za-z/!?])
      | & (?={_ENTITY};)
      | :\\?/\\?/ (?!{_END})                # remark reads past backslashes, as it does past entities
      | {_AFTER_MAIL} \\?: (?=\S)(?!\\?/)
      | {_AFTER_WWW} (?=\\?[.]) (?: (?<![0-9A-Za-z]...) | (?=\\?.[0-9A-Za-z-]) )
    )"""
    undecided = rf"""(?={_TRIGGER})(?:
        \r | < | &[#0-9A-Za-z]{{0,9}}
      | \][ \t]{{0,{_MOST_BLANKS}}}
      | \] (?: \( (?: {_ADDRESS} | {https}:/? | {https}://{host_so_far}
                    | {https}://{host} (?:[/?#]{_ADDRESS} | \){_MARKS}) ) )?
      | :\\?/?\\? | :\\?/\\?/{_MARKS}
      | {_AFTER_HTTP} :// {host_and_more}
      | {_AFTER_MAIL} \\:?
      | {_AFTER_WWW} (?: \\[.]? | [.]{host_and_more} )
    )\Z"""
    return re.compile(begins, re.VERBOSE), re.compile(undecided, re.VERBOSE)
