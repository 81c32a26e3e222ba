"""The patterns of scripts (`script.py` says what they mean), as regular expressions."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]

MOST_SENTENCES = 500
"""Of one text; what follows is not read."""
ENDING = " \t\r\n.!…,;"

_PART = re.compile(r"(\{[^{}()]*\}|\([^{}()]*\))")


def sentences(text: str) -> list[str]:
    parts = re.split(r"(?<=[.!?…])\s+|\n+", text, maxsplit=MOST_SENTENCES)[:MOST_SENTENCES]
    return [part.strip().rstrip(ENDING) for part in parts if part.strip(ENDING)]


def names_of(patterns: Sequence["Pattern"]) -> set[str]:
    """The names that are there whichever of the patterns matches."""
    return {"sentence"}.union(set.intersection(*(each.names for each in patterns)) if patterns else ())


def _plain(text: str) -> str:
    return text.replace("’", "'")


class Pattern:
    """A regular expression of atomic groups: it goes through a text once, and never back."""

    def __init__(self, text: str) -> None:
        self._parts = [part for part in _PART.split(_plain(text)) if part]
        self.names: set[str] = set()
        groups, is_open = [""], False
        for part in self._parts:
            if not _PART.fullmatch(part):
                if set("{}()") & set(part):
                    raise ValueError(f"“{part}” in “{text}” is neither words, a capture nor a choice")
                groups[-1] += self._literal(part)
                is_open = False
            elif part.startswith("("):
                groups[-1] += f"(?:{'|'.join(map(self._literal, part[1:-1].split('|')))})"
            elif is_open:
                raise ValueError(f"“{text}” does not say where the capture before {part} ends")
            else:
                groups.append(self._capture(part[1:-1]))
                is_open = True
        self._compile(groups, text)

    def _compile(self, groups: Sequence[str], text: str) -> None:
        if all(map(_PART.fullmatch, self._parts)):
            raise ValueError(f"“{text}” has no words of its own, and would match everything")
        self._anywhere, self._whole = (
            re.compile("".join(f"(?>{each})" for each in [*groups[:-1], groups[-1] + end]), re.IGNORECASE | re.DOTALL)
            for end in ("", r"\Z")
        )

    def _literal(self, words: str) -> str:
        return re.escape(words)

    def _capture(self, name: str) -> str:
        return self._named(name, ".+?")

    def _named(self, name: str, regex: str) -> str:
        if name == "_":
            return regex
        if not re.fullmatch("[a-z_]+", name):
            raise ValueError(f"{{{name}}} is no name: small letters and _")
        if name in self.names:
            return f"(?P={name})"
        self.names.add(name)
        return f"(?P<{name}>{regex})"

    def match(self, text: str) -> Object | None:
        answers_questions = "?" in self._parts[-1] or not text.endswith("?")
        return self._captured(self._whole.match(_plain(text)), text) if answers_questions else None

    def places(self, prompt: str) -> Iterator[Object]:
        """What is captured wherever it stands: from where it begins to where it begins again."""
        for rest in prompt.split(self._parts[0])[1:]:
            place = self._parts[0] + rest
            if (captured := self._captured(self._anywhere.match(_plain(place)), place)) is not None:
                yield captured

    def _captured(self, found: re.Match[str] | None, text: str) -> Object | None:
        return {name: text[slice(*found.span(name))].strip().rstrip(ENDING) for name in self.names} if found else None

    def check_block(self) -> None:
        if any(map(_PART.fullmatch, (self._parts[0], self._parts[-1]))):
            raise ValueError("a block must begin and end with words of its own")


class Mention(Pattern):
    """Whole words, wherever they stand in a message."""

    def _compile(self, groups: Sequence[str], text: str) -> None:
        self._anywhere = re.compile(rf"(?<!\w){''.join(groups)}(?!\w)", re.IGNORECASE)

    def _literal(self, words: str) -> str:
        return re.escape(words).replace(r"\*", r"\w*")

    def _capture(self, name: str) -> str:
        if name.endswith("..."):
            rest = self._named(name.removesuffix("..."), r"[^\n]+?")
            return rf"[\"“]?{rest}[\"”]?[.!]?\s*\Z"
        return self._named(name, r"[\w-]+")

    def match(self, text: str) -> Object | None:
        return self._captured(self._anywhere.search(_plain(text)), text)
