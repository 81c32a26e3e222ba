"""How what was forgotten is known again without being kept: by its hash, its vector, and the hashes of its names, or of
its words where it has none."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from qwestly_agent.memory.checking import hash_of, is_sensitive, meanings, names_in
from qwestly_agent.memory.model import Memory
from qwestly_agent.memory.rules.passages import bare, stem
from qwestly_agent.memory.typed import words_of
from qwestly_agent.stores.memories import Tombstone, Trace

NAMED_FROM = 0.35
"""The cosine from which a statement that names the same is the same matter."""
LONGEST_PATTERN = 30_000
"""Of characters: a database refuses what is much longer."""
_ROOT = 5
"""So many first letters make "diabetes" and "diabetic" one word."""
_AT = re.compile(r"\b(?:at|for|with|bei|chez)\s+(?:the\s+)?(?P<name>[A-ZÀ-Þ][\w&.'’-]*(?:\s+[A-ZÀ-Þ][\w&'’-]*)*)")
"""Employers and schools: whoever led a team at Acme worked at Acme."""
_COMMON = frozenset(
    stem(bare(word))
    for word in re.findall(
        r"\w+",
        """
        live based work employed job want like love enjoy hate dislike prefer know speak lead manage study learn begin
        start leave take make need find feel think year month
        """,
    )
)
"""Words that stand in every second message: to withhold whatever has one would withhold everything."""


def was_forgotten(user_id: str, content: str, tombstones: Iterable[Tombstone], alike_from: float) -> bool:
    """Whether this says what its user had forgotten, in these words or in others."""
    own, words, roots = hash_of(content), hashed(user_id, _bare(content)), hashed(user_id, _roots(content))
    return any(
        each.hash == own
        or each.cosine >= alike_from
        or bool(each.organisations & words)
        or (bool(each.names) and each.names <= words and each.cosine >= NAMED_FROM)
        or (bool(each.words) and each.words <= roots)
        for each in tombstones
    )


def meant_again(user_id: str, content: str, tombstones: Iterable[Tombstone], alike_from: float) -> list[str]:
    """Of which of them this is the matter, and not only one with the same name: who wants it back wants those back."""
    own, words, roots = hash_of(content), hashed(user_id, _bare(content)), hashed(user_id, _roots(content))
    return [
        each.id
        for each in tombstones
        if each.hash == own
        or each.cosine >= alike_from
        or (bool(each.names & words) and each.cosine >= NAMED_FROM)
        or (bool(each.words) and each.words <= roots)
    ]


def trace_of(user_id: str, content: str, said: str) -> Trace:
    """What is kept of it. `said` is in which words its user asked for it."""
    names = names_to_keep(content, [bare(word) for word in words_of(said)])
    organisations = names & (organisations_in(content) | organisations_in(said))
    return Trace(
        names=hashed(user_id, names),
        organisations=hashed(user_id, organisations),
        words=frozenset() if names else hashed(user_id, _roots(content)),
    )


def organisations_in(text: str) -> frozenset[str]:
    """The words that name whom somebody is with."""
    return names_in(text) & {bare(word) for found in _AT.finditer(text) for word in words_of(found["name"])}


def hashed(user_id: str, names: Iterable[str]) -> frozenset[str]:
    return frozenset(hashlib.sha256(f"{user_id}\0{name}".encode()).hexdigest()[:16] for name in names)


def names_to_keep(content: str, words: Sequence[str]) -> frozenset[str]:
    """Those that its user spoke of, where they spoke of any: who forgets that they worked at Acme, in Berlin, forgets
    Acme."""
    names = names_in(content)
    return names & frozenset(words) or names


def _bare(text: str) -> frozenset[str]:
    return frozenset(bare(word) for word in words_of(text))


def _roots(text: str) -> frozenset[str]:
    return frozenset(word[:_ROOT] for word in meanings(text))


# --- what tells it elsewhere ------------------------------------------------------------------------------------------


def patterns_of(gone: Sequence[Memory], names: Mapping[str, frozenset[str]]) -> list[str]:
    """Regular expressions of what tells it, for a database and for JSON text as well: its names as they are written;
    without any, its quote, its content, and the word in it that says most."""
    pattern, patterns = "", list[str]()
    for told in dict.fromkeys(told for each in gone for told in _told(each, names[each.id])):
        if pattern and len(pattern) + len(told) > LONGEST_PATTERN:
            patterns.append(pattern)
            pattern = ""
        pattern = f"{pattern}|{told}" if pattern else told
    return [*patterns, pattern] if pattern else patterns


def _told(memory: Memory, names: frozenset[str]) -> Iterator[str]:
    named = [word for word in words_of(f"{memory.content} {memory.quote}") if bare(word) in names]
    if named:
        yield from (f"{_begins(word)}{re.escape(word)}{_ends(word)}" for word in named)
        return
    for words in map(words_of, (memory.quote, memory.content)):
        if words:
            yield r"\W+".join(map(re.escape, words))
    for word in _telling(memory.content):
        yield f"{_begins(word)}{re.escape(word[: max(_ROOT, len(word) - 3)])}"


def _telling(content: str) -> list[str]:
    """The longest of its words that mean something, and whatever is sensitive by itself."""
    words = {word: "".join(meanings(word)) for word in words_of(content)}
    rare = [word for word, root in words.items() if root.isalpha() and stem(bare(word)) not in _COMMON]
    return [*(word for word in rare if is_sensitive(word)), *sorted(rare, key=len)[-1:]]


def _begins(word: str) -> str:
    # In JSON the letter of an escaped line end stands right before the word. Databases know ASCII's boundaries only.
    return r"(?:\b|\\[nrt])" if word[0].isascii() else ""


def _ends(word: str) -> str:
    return r"\b" if word[-1].isascii() else ""
