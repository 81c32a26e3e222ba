"""Clean texts for storage, prompts and the audit log, and sanitize answers for display."""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any

# --- clean ------------------------------------------------------------------------------------------------------------
# Clean texts for storage, prompts and the audit log.


def well_formed(text: str) -> str:
    """Replace text that UTF-8 cannot encode with U+FFFD, and join surrogate pairs. A model may send half of a pair,
    which no stream, store or client can handle."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


_JOINERS = "\u200c\u200d\ufe00-\ufe0f"
_INVISIBLE = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ue000-\uf8ff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    # From U+3FFFE on there are only tags, variation selectors, private-use characters and noncharacters.
    "\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe-\U0010ffff"
)
_DROPPED = re.compile(f"[{_INVISIBLE}]+")
_LINE_END = re.compile("[\x85\u2028\u2029]")
_JOINER = re.compile(f"[{_JOINERS}]")
_JOINED = re.compile(rf"[^\x00-\x7f{_JOINERS}][{_JOINERS}]|[0-9#*]\ufe0f|\ufe0f\u200d")
"""A joiner where it is needed: after a letter or an emoji, in a keycap, or in an emoji's own selector."""
CHANGED = f"[\x85\u2028\u2029{_JOINERS}{_INVISIBLE}]"
"""Pattern for the characters that `visible` may remove or change."""


def visible(text: str, *, before: str = "") -> str:
    """Remove control characters and invisible characters, which can hide instructions or exfiltrated data. `before` is
    the visible character that precedes the text."""
    text = _DROPPED.sub("", _LINE_END.sub("\n", text))
    if not _JOINER.search(text):
        return text
    kept: list[str] = []
    for character in text:
        if not _JOINER.match(character) or _JOINED.fullmatch(before + character):
            kept.append(character)
            before = character
    return "".join(kept)


def one_line(text: str) -> str:
    """Return the text as one line of visible characters."""
    return " ".join(visible(well_formed(text)).split())


def visible_data(value: Any) -> Any:
    """Apply `visible` to every text in a JSON value."""
    match value:
        case str():
            return visible(value)
        case dict():
            return {visible_data(name): visible_data(item) for name, item in value.items()}
        case list() | tuple():
            return [visible_data(item) for item in value]
        case _:
            return value


def strings_in(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, without field names."""
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from strings_in(item)
        case list() | tuple():
            for item in value:
                yield from strings_in(item)


def ids_in(value: Any) -> Iterator[str]:
    """Yield every id in a JSON value: texts in fields named "id", "…_id" or "…_ids"."""
    match value:
        case dict():
            for name, item in value.items():
                if str(name).rpartition("_")[2] in ("id", "ids"):
                    yield from strings_in(item)
                else:
                    yield from ids_in(item)
        case list() | tuple():
            for item in value:
                yield from ids_in(item)


def unescape_json(json_text: str) -> str:
    """Replace escaped line breaks in a piece of JSON with spaces, and unescape its quotation marks."""
    return re.sub(r"\\[nrt]", " ", json_text).replace('\\"', '"')


_TAG = re.compile(
    r"(?:[<＜﹤]|[&＆﹠](?:[lｌ][tｔ]|[#＃]0*60(?!\d)|[#＃][xｘ]0*3c(?![0-9a-f]));?)(?!\s*[\d=-])", re.IGNORECASE
)


def quoted(text: str) -> str:
    """Escape a text for a prompt: replace every possible start of a tag with `‹`, so that the text cannot open or close
    our tags, and remove invisible characters."""
    return _TAG.sub("‹", visible(text))


_LINKED = re.compile(
    r"""(?x)
    (?<=[^\s.。．｡]) (?=[.。．｡][^\W\d_]{2})           # the dot before the last part of a name
    | (?<![\d.]) \d{1,3} (?:\.\d{1,3}){2} (?=\.\d)    # three of the four numbers of an address
    | @ (?=\S)                                         # somebody's mailbox
    | (?<=[A-Za-z]) : (?=\S)                           # a scheme
    | (?: // | \\\\ ) (?=\S)                           # a path in a network
    """
)


def disable_links(text: str) -> str:
    """Insert a space into everything that mail programs would turn into a link: names with a dot, addresses, schemes,
    network paths."""
    return _LINKED.sub(lambda found: f"{found[0]} ", text)


_SECRETS = re.compile(
    r"""(?xis)
    (?P<name>
        (?: (?:passw|passphrase|pwd|secret|token|api[-_ ]?key|access[-_ ]?key|signature|kennwort|contraseña)[\w-]{0,40}
          | pass(?:wort)? | mot\ de\ passe | authorization | (?<=[?&])(?:key|sig|code)
        ) \\?["']? \s*[:=]\s* (?:\\?["'])? (?:(?:bearer|basic)\s+)?
        | \b(?:bearer|basic)\s+(?=[\w.~+/-]{8})
    ) (?: (?<=["'])[^"'\\]+ | [^\s"'&,;}\\]{3,} )
    | (?P<login> ://[^\s/:@]+: ) [^\s/@]+ (?=@)                # the credentials of an address
    | (?<![\w.+-]) [\w.+-]+ (?:@|%40|\\u0040) [\w-]+ (?:\.[\w-]+)+   # an e-mail address
    | \beyJ[\w-]{8,}\.[\w-]+\.[\w-]*                           # a JSON Web Token
    | -----BEGIN\ [A-Z ]+-----.*?(?:-----END\ [A-Z ]+-----|\Z)
    | \b(?:(?:sk|pk|rk|ghp|gho|github_pat|xox[abp])[-_][\w-]{8,} | AIza[\w-]{20,} | (?:AKIA|ASIA)[0-9A-Z]{16}\b)
    """
)


def mask_secrets(text: str) -> str:
    """Replace e-mail addresses and probable secrets with `…`."""
    return _SECRETS.sub(lambda found: f"{found['name'] or found['login'] or ''}…", text)


LONGEST_TYPED_CHARACTERS = 1_500
_FENCED = re.compile(r"^\s*(?:```|~~~|>)", re.MULTILINE)


def is_pasted(text: str) -> bool:
    """True if other people may have written part of a message: it is fenced, quoted, or longer than people type."""
    return len(text) > LONGEST_TYPED_CHARACTERS or bool(_FENCED.search(text))


# --- sanitize ---------------------------------------------------------------------------------------------------------
# Sanitize answers, so that even a manipulated model cannot leak data through them.
#
# An answer is rendered as Markdown or, by a careless client, as HTML. An image or link to another server could then
# leak what the model knows. So a space is inserted wherever a link, an image, a definition or a tag could start: the
# text remains readable, and no renderer interprets it. Between a link's text and its address a no-break space is used,
# because Showdown recognizes a link across any other space. The permitted starts are an allow-list, because user names,
# entities, escapes and Unicode evade every deny-list.
#
# Invisible characters are removed first, so that they cannot hide a start. An answer arrives in pieces; text at the end
# that the next piece could change is held back until then. So the result does not depend on how the text is split, and
# safe text is unchanged.


_TRIGGER = r"[]<&:.\\\r]"
_UNUSUAL = re.compile(f"{_TRIGGER}|{CHANGED}")

_AFTER_HTTP = "(?:(?<=(?i:https))|(?<=(?i:http)))"
_AFTER_WWW = "(?<=(?i:www))"
_AFTER_MAIL = "(?:(?<=(?i:mailto))|(?<=(?i:xmpp)))"
_LONGEST_BEFORE = len("mailto")

_MOST_BLANKS = 200
"""Maximum number of spaces between a link's text and its address; with more, the two are always separated."""
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# An autolink continues to the next space: `https://good)@evil`, `https://good。evil`. So a host may be followed only by
# marks that end a sentence, a quotation or an emphasis.
_MARKS = r"""[]!"'),.:;?*_`|}~<>…—–’”»。，、！？；：）」』】》]{0,50}"""
_END = rf"{_MARKS}(?:[ \t\r\n]|(?<=<)[A-Za-z/!?]|\Z)"
# Nothing in an address may start anything on its own, in case the text around it turns out not to be a link.
_ADDRESS = r"(?:(?!//|&[#]|(?i:www[.]))[\w./?#=&%~+,-]){0,2000}"
# `:`, `/`, `.`, digits and letters, because remark looks for addresses again after decoding entities.
_ENTITY = "(?:colon|sol|period|(?i:[#]0{0,5}(?:[4-9][0-9]|1[0-2][0-9])|[#]x0{0,5}(?:2[ef]|[3-7][0-9a-f])))"


class SafeText:
    """Sanitizes a text piece by piece, holding back text at the end that the next piece could change."""

    def __init__(self, hosts: Collection[str]) -> None:
        """`hosts` are names without a port. Links to them and to their subdomains are allowed."""
        self._begins, self._undecided = _patterns(frozenset(hosts))
        self._text = ""
        """The end of the text shown so far (before spaces were inserted), followed by the text held back."""
        self._shown = 0

    def feed(self, piece: str) -> str:
        text = self._text + piece
        if not _UNUSUAL.search(text, self._shown):  # text is only held back from an unusual character onward
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
    """Return two patterns: one for sequences to be changed or removed, and one for text that could become the beginning
    of such a sequence once the next piece arrives. The length limits bound how much text is held back."""
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
