"""Clean texts for storage, prompts and the audit log."""

import re
from collections.abc import Iterator
from typing import Any


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
"""Pattern of the characters that `visible` may remove or change."""


def visible(text: str, *, before: str = "") -> str:
    """Remove control characters and invisible characters, which can hide instructions or stolen data. `before` is the
    visible character before the text."""
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
    """Quote a text for a prompt: replace every possible start of a tag with `‹`, so that the text cannot open or close
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
    """Insert a space into everything that mail programs turn into a link: names with a dot, addresses, schemes, network
    paths."""
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
    """True if other people may have written a message's text: it is fenced, quoted, or longer than people type."""
    return len(text) > LONGEST_TYPED_CHARACTERS or bool(_FENCED.search(text))
