"""Sanitize answers, so that even a manipulated model cannot leak data through them.

An answer is rendered as Markdown or, by a careless client, as HTML. An image or link to another server could then leak
what the model knows. So a space is inserted wherever a link, an image, a definition or a tag could start: the text
remains readable, and no renderer interprets it. Between a link's text and its address a no-break space is used, because
Showdown recognizes a link across any other space. The permitted starts are an allow-list, because user names, entities,
escapes and Unicode evade every deny-list.

Invisible characters are removed first, so that they cannot hide a start. An answer arrives in pieces: an end that the
next piece could change is held back until then. So the result does not depend on how the text is split, and safe text
is unchanged.
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
"""Maximum number of blanks between a link's text and its address; with more, the two are always separated."""
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# An autolink continues to the next blank: `https://good)@evil`, `https://good。evil`. So a host may be followed only by
# marks that end a sentence, a quotation or an emphasis.
_MARKS = r"""[]!"'),.:;?*_`|}~<>…—–’”»。，、！？；：）」』】》]{0,50}"""
_END = rf"{_MARKS}(?:[ \t\r\n]|(?<=<)[A-Za-z/!?]|\Z)"
# Nothing in an address may start anything by itself, in case the link around it turns out not to be one.
_ADDRESS = r"(?:(?!//|&[#]|(?i:www[.]))[\w./?#=&%~+,-]){0,2000}"
# `:`, `/`, `.`, digits and letters: remark looks for addresses again after decoding entities.
_ENTITY = "(?:colon|sol|period|(?i:[#]0{0,5}(?:[4-9][0-9]|1[0-2][0-9])|[#]x0{0,5}(?:2[ef]|[3-7][0-9a-f])))"


class SafeText:
    """Sanitizes a text piece by piece, holding back an end that the next piece could change."""

    def __init__(self, hosts: Collection[str]) -> None:
        """`hosts` are names without a port. Links to them and to their subdomains are allowed."""
        self._begins, self._undecided = _patterns(frozenset(hosts))
        self._text = ""
        """The end of the shown text before spaces were inserted, followed by the text held back."""
        self._shown = 0

    def feed(self, piece: str) -> str:
        text = self._text + piece
        if not _UNUSUAL.search(text, self._shown):  # nothing is held back then, since that begins with such a character
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
    """Return two patterns: one for what starts here, and one for what the next piece could still turn into a start. The
    bounds limit how much is held back."""
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
