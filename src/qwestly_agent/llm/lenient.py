"""Read streams of servers that only resemble OpenAI's, and of models that write protocol markup into their text.

Observed with DeepSeek, vLLM, SGLang, Ollama and proxies: a tool's name repeated in each delta, several calls under one
index, arguments sent twice or as snapshots; `<｜DSML｜…>`, `<｜tool▁calls▁begin｜>` and `<think>` in the content.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from qwestly_agent.text.clean import well_formed

# --- tool calls -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReadCall:
    """A reconstructed tool call. Arguments that are not a JSON object are kept as written."""

    name: str
    arguments: str
    id: str | None


@dataclass
class _Call:
    index: int | None
    ids: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    pieces: list[tuple[str | None, str]] = field(default_factory=list)
    """Parts of the arguments, each with the call's id if its delta had one."""

    @property
    def is_whole(self) -> bool:
        """True if the arguments are complete. An empty object does not count: some servers send one before the
        arguments."""
        return _read_pieces([piece for _, piece in self.pieces]) not in ([], ["{}"])


class ToolCallReader:
    """Collects the deltas of a stream's tool calls. They are interpreted at the end, when all are known, because the
    same delta can be a repetition in one stream and a new call in another."""

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = frozenset(tools)
        self._calls: list[_Call] = []

    def feed(self, index: int | None, call_id: str | None, name: str | None, arguments: Any) -> None:
        name = name.strip() if isinstance(name, str) else ""
        call_id = call_id if isinstance(call_id, str) and call_id else None
        call = self._continued(index, call_id, name)
        if call is None:
            call = _Call(index)
            self._calls.append(call)
        if call_id and call_id not in call.ids:
            call.ids.append(call_id)
        if name:
            call.names.append(name)
        if arguments is not None and arguments != "":
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            call.pieces.append((call_id, text))

    def calls(self) -> list[ReadCall]:
        """Return the calls that have a name. A repeated call is returned once per index."""
        read = [(call.index, each) for call in self._calls if call.names for each in self._read(call)]
        return [*{(index, each.name, _plain(each.arguments)): each for index, each in reversed(read)}.values()][::-1]

    def _continued(self, index: int | None, call_id: str | None, name: str) -> _Call | None:
        """Return the call that a delta continues; None if it begins another."""
        here = [call for call in self._calls if index is None or call.index in (index, None)]
        known = next((call for call in reversed(here) if call_id in call.ids), None) if call_id else None
        if known:
            return None if self._is_another(known, name) else known
        if not here:
            if name:
                return None
            elsewhere = next((call for call in self._calls if call_id in call.ids), None) if call_id else None
            return elsewhere or (None if call_id or not self._calls else self._calls[-1])
        last = here[-1]
        if self._is_another(last, name):
            return None
        if call_id and last.ids and name:  # another call, unless the server makes up an id for each delta
            return None if last.is_whole else last
        return last

    def _is_another(self, call: _Call, name: str) -> bool:
        if not name or not call.names or name == call.names[-1]:
            return False
        if name.startswith(call.names[-1]) and not call.pieces:
            return False
        before = self._name(call.names)
        goes_on = any(tool.startswith("".join(call.names) + name) for tool in self._tools)
        return self._name([name]) != before and (before in self._tools or not goes_on)

    def _read(self, call: _Call) -> Iterator[ReadCall]:
        name, call_id = self._name(call.names), call.ids[0] if call.ids else None
        for place, (given, arguments) in enumerate(_arguments(call.pieces)):
            if arguments.lstrip().startswith('"') and (inner := _object_in(arguments)) is not None:
                arguments = json.dumps(inner, ensure_ascii=False)
            yield ReadCall(name, arguments, call_id if place == 0 else given)

    def _name(self, pieces: Sequence[str]) -> str:
        """Return the tool that a name in pieces, repeated or growing, refers to; otherwise the name as written."""
        distinct = [name for place, name in enumerate(pieces) if place == 0 or name != pieces[place - 1]]
        written = ["".join(pieces), "".join(distinct), pieces[-1], pieces[0]]
        for name in written:
            for meant in (name, _MARKUP.sub("", name), re.split(r"[.:/]", name)[-1]):
                if meant in self._tools:
                    return meant
        return written[1]


def _arguments(pieces: Sequence[tuple[str | None, str]]) -> list[tuple[str | None, str]]:
    """Return the arguments of each call in these pieces, with the call's id if it differs from the first."""
    if (read := _read_pieces([piece for _, piece in pieces])) and len(read) == 1:
        return [(None, read[0])]
    by_id: dict[str | None, list[str]] = {}
    for call_id, piece in pieces:
        by_id.setdefault(call_id, []).append(piece)
    each = [(call_id, text) for call_id, texts in by_id.items() for text in _read_pieces(texts) or [""]]
    if all(text for _, text in each):
        return _distinct(each)
    return [(None, text) for text in read] or [(None, well_formed("".join(piece for _, piece in pieces)))]


def _read_pieces(pieces: Sequence[str]) -> list[str]:
    """Return the JSON objects in these pieces, which may be consecutive, snapshots, or each sent twice."""
    whole = well_formed("".join(pieces))
    if whole.strip() in ("", "null"):
        return ["{}"]
    if _object_in(whole) is not None:
        return [whole]
    snapshots = all(after.startswith(before) for before, after in pairwise(pieces))
    once = "".join(pieces[::2]) if pieces[::2] == pieces[1::2] else ""
    for text in (pieces[-1] if snapshots else "", once):
        if _object_in(text) is not None:
            return [well_formed(text)]
    return [text for _, text in _distinct([(None, text) for text in _objects(whole)])]


def _object_in(text: str) -> dict[str, Any] | None:
    """Parse a text, or a JSON string in it, as an object; None if it is not one."""
    try:
        value = json.loads(text)
        value = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _plain(arguments: str) -> str:
    """Normalize arguments, so that equal ones are equal texts."""
    read = _object_in(arguments)
    return arguments if read is None else json.dumps(read, sort_keys=True)


_BETWEEN_OBJECTS = re.compile(r"(?:\s|,|null\b|```(?:json)?)*")


def _objects(text: str) -> list[str]:
    """Return the complete JSON objects at a text's beginning."""
    found: list[str] = []
    decoder, at = json.JSONDecoder(), 0
    while (between := _BETWEEN_OBJECTS.match(text, at)) and text.startswith("{", at := between.end()):
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        found.append(text[at:end])
        at = end
    return found


def _distinct(texts: Sequence[tuple[str | None, str]]) -> list[tuple[str | None, str]]:
    """Remove duplicates and, if anything is left, empty objects, which some servers send before the arguments."""
    kept = {_plain(text): (call_id, text) for call_id, text in reversed(texts)}
    if len(kept) > 1:
        kept.pop("{}", None)
    return list(reversed(kept.values()))


# --- markup in the text -----------------------------------------------------------------------------------------------

_OPENS = r"(?:<|&lt;)\s*/?\s*"
_WORD = r"[A-Za-z_▁][\w▁ :.-]{0,60}"
_MARKUP = re.compile(
    rf"{_OPENS}[|｜]*｜"  # DeepSeek's bars, which nothing else begins with
    rf"|{_OPENS}\|+[A-Za-z_][\w▁.:-]{{0,60}}\||{_OPENS}\w+▁"
    rf"|(?:{_OPENS})?[|｜]+\s*DSML\s*[|｜]|｜\s*{_WORD}\s*｜>|｜\s*\w+▁"
    rf"|{_OPENS}(?:\w+:)?(?:tool|function)_?(?:call|result|response|output)\w*(?:[\s>]|&gt;)"
    rf"|{_OPENS}(?:\w+:)?(?:invoke|parameter)\s+name\s*=|{_OPENS}(?:function|parameter|invoke)\s*="
    r"|\[/?(?-i:TOOL_(?:CALLS?|RESULTS?))\]",
    re.IGNORECASE,
)
_THOUGHT = r"(?:\w+:)?(?:think|thinking|thoughts?|reasoning)\s*(?:>|&gt;)"
_BEGINS_THOUGHT = re.compile(rf"(?:<|&lt;)\s*{_THOUGHT}", re.IGNORECASE)
_ENDS_THOUGHT = re.compile(rf"(?:<|&lt;)\s*/\s*{_THOUGHT}", re.IGNORECASE)
_TAG = re.compile(rf"{_MARKUP.pattern}|{_BEGINS_THOUGHT.pattern}|{_ENDS_THOUGHT.pattern}", re.IGNORECASE)

_ENDS_ANSWER = re.compile(
    r"(?:(?:<|&lt;)\s*[|｜]+\s*(?:end[▁_]of[▁_]\w+|endoftext|im_end|eo[tm]_id)\s*[|｜]+\s*(?:>|&gt;)\s*)+",
    re.IGNORECASE,
)
"""If this follows text, the answer is complete and no call is meant."""

LONGEST_TAG_CHARACTERS = 100
_BEGINNING = re.compile(
    r"&(?:lt?)?$"
    r"|(?:<|&lt;)\s*/?\s*(?:[|｜]+\s*[\w▁ :.-]*|[\w:▁]*\s*(?:n(?:a(?:m(?:e\s*)?)?)?)?|[\w:]+&(?:gt?)?)$"
    r"|\|\s*(?:D(?:S(?:M(?:L\s*)?)?)?)?$|｜\s*[\w▁ :.-]{0,60}｜?$"
    r"|\[/?(?-i:[A-Z_]{0,12})$",
    re.IGNORECASE,
)
"""Matches the end of a text that may continue as a tag."""
_CUT_TAG = re.compile(
    r"(?:<|&lt;)\s*/?\s*(?:[|｜]|(?:\w+:)?(?:thi|reaso|thou|tool_|func|invok|param))|[|｜]\s*DS|▁", re.IGNORECASE
)
"""Matches the end of an answer that was cut off within a tag."""


class VisibleText:
    """The visible text of an answer: thoughts are removed, and so are markup and everything after it. Surrogate pairs
    are joined. A possible tag is held back until it is complete."""

    def __init__(self) -> None:
        self._markup = ""
        """The first tag that belongs neither to the text nor to a thought, and the beginning of what follows it."""
        self._is_cut = False
        self._held = ""
        self._thinks = False
        self._began = False

    @property
    def has_markup(self) -> bool:
        """True if the model wrote a tool call or an unclosed thought as text; known at the end of the answer."""
        return self._is_cut or bool(self._markup and not _ENDS_ANSWER.fullmatch(self._markup))

    def feed(self, text: str) -> str:
        """Return the text that may be shown now."""
        if self._markup:
            self._markup += text[:LONGEST_TAG_CHARACTERS]
            return ""
        self._held += text
        shown = ""
        while tag := (_ENDS_THOUGHT if self._thinks else _TAG).search(self._held):
            if not self._thinks:
                shown += self._held[: tag.start()]
            if not self._thinks and _MARKUP.match(tag[0]):
                self._markup, self._held = self._held[tag.start() :], ""
                return self._shown(shown)
            self._held = self._held[tag.end() :]
            self._thinks = not self._thinks and bool(_BEGINS_THOUGHT.match(tag[0]))
        keep = _held_from(self._held)
        if not self._thinks:
            shown += self._held[:keep]
        self._held = self._held[keep:]
        return self._shown(shown)

    def end(self) -> str:
        """Return the rest at the end of the answer."""
        rest, self._held = self._held, ""
        if self._thinks or _CUT_TAG.match(rest):
            self._is_cut = True
            return ""
        return self._shown(rest)

    def _shown(self, text: str) -> str:
        if not self._began:  # text after a thought begins with empty lines
            text = text.lstrip()
            self._began = bool(text)
        return well_formed(text)


def _held_from(text: str) -> int:
    """Return where the part begins that must be held back: a possible tag or half a surrogate pair."""
    start = max(0, len(text) - LONGEST_TAG_CHARACTERS)
    beginning = _BEGINNING.search(text, start)
    if beginning:
        return beginning.start()
    return len(text) - 1 if text and "\ud800" <= text[-1] <= "\udbff" else len(text)
