"""What may be remembered: only what its user said of themselves, in words that are really theirs.

Deterministic, like the claim gate, of whose readers of names, numbers and dates it is made. In doubt it refuses: what
is not remembered can be told again, what is remembered wrongly is repeated for months.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import cached_property

from qwestly_agent.cards.dates import check_dates, dates_in
from qwestly_agent.cards.lexicon import NUMBER_WORDS
from qwestly_agent.cards.names import check_names
from qwestly_agent.cards.numbers import check_numbers
from qwestly_agent.cards.passages import Passage, Token, Voice, bare, passages, stem
from qwestly_agent.memory.wording import (
    BETWEEN_TWO,
    EQUAL,
    FIRST_VERBS,
    LIGHT,
    NEGATIVE,
    OF_OTHERS,
    OPPOSITE,
    REFUSES,
    REPORTS,
    SENSITIVE,
    SUPPOSES,
)
from qwestly_agent.text import LONGEST_TYPED_CHARACTERS, masked, visible

SHORTEST_QUOTE_WORDS = 3
SHORT_ANSWER_WORDS = 6
LONGEST_CONTENT_CHARACTERS = 300
LONGEST_QUOTE_CHARACTERS = 600
LEAST_SUPPORT = 1 / 3
"""Of the words of what would be remembered, so many must have been said."""
QUOTED_WORDS = 3
"""So many words in quotation marks are somebody else's."""


class Reason(StrEnum):
    """Why something is not remembered."""

    NOTHING = "nothing"
    TOO_LONG = "too_long"
    NOT_SAID = "not_said"
    DOCUMENT = "document"
    TOO_SHORT = "too_short"
    QUESTION = "question"
    REFUSAL = "refusal"
    NOT_OF_THEMSELVES = "not_of_themselves"
    DENIED = "denied"
    WISHED = "wished"
    UNSAID_FACT = "unsaid_fact"
    UNSUPPORTED = "unsupported"
    CREDENTIAL = "credential"
    FORGOTTEN = "forgotten"
    LESS_TRUSTED = "less_trusted"
    OLDER = "older"


@dataclass(frozen=True)
class Said:
    """A message of the user, with the question that stood before it."""

    id: str
    text: str
    at: datetime
    before: str = ""
    """The assistant's words right before: only a question in them counts, and only for a short answer."""

    @cached_property
    def typed(self) -> tuple[str, ...]:
        """What the user typed, in pieces: what is fenced, quoted or pasted between them is a document."""
        return tuple(typed_parts(self.text))

    @cached_property
    def question(self) -> str:
        asked = [each for each in _sentences(visible(self.before)) if each.rstrip("*_ \"'”’)").endswith("?")]
        return asked[-1] if asked else ""

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(part for text in self.typed for part in passages(text))

    @property
    def is_short(self) -> bool:
        return len(words_of(" ".join(self.typed))) <= SHORT_ANSWER_WORDS


@dataclass(frozen=True)
class Quoted:
    quote: str
    """As it stands there."""
    sentence: str
    """The whole of the sentences that it stands in."""


@dataclass(frozen=True)
class Claimed:
    """Something to remember, and what it is said to rest on."""

    content: str
    quote: str


@dataclass(frozen=True)
class Passed:
    content: str
    quote: str
    """As it stands in the message."""
    question: str
    """What it answers, where it says nothing by itself: then it is inferred."""
    sensitive: bool


def check(claimed: Claimed, said: Said | None, today: date) -> Passed | Reason:
    """`said` is the message that it is said to be quoted from; None for one that its user did not write."""
    content = " ".join(visible(claimed.content).split())
    if said is None:
        return Reason.NOT_SAID
    if not words_of(content):
        return Reason.NOTHING
    if len(content) > LONGEST_CONTENT_CHARACTERS or len(claimed.quote) > LONGEST_QUOTE_CHARACTERS:
        return Reason.TOO_LONG
    if masked(content) != content:
        return Reason.CREDENTIAL
    found = find_quote(claimed.quote, said.typed)
    if found is None:
        return Reason.DOCUMENT if find_quote(claimed.quote, (said.text,)) else Reason.NOT_SAID
    if why := _worthless(found.sentence):
        return why
    by_itself = _unsupported(content, found, said.passages, today)
    if by_itself is None and len(words_of(found.quote)) < SHORTEST_QUOTE_WORDS:
        by_itself = Reason.TOO_SHORT
    answers = by_itself is not None and said.is_short and bool(said.question)
    if by_itself and (why := _unanswered(content, found, said, today) if answers else by_itself):
        return why
    question = said.question if answers else ""
    return Passed(content, found.quote, question, is_sensitive(content, found.sentence, question))


def _unanswered(content: str, found: Quoted, said: Said, today: date) -> Reason | None:
    """Why it does not follow from a short answer together with its question."""
    if NEGATIVE.match(found.sentence):
        return Reason.REFUSAL
    # What was asked is no denial and no wish of theirs: only what it names counts.
    known = (*passages(said.question.rstrip("?")), *said.passages)
    if unsaid(content, known, today):
        return Reason.UNSAID_FACT
    return Reason.UNSUPPORTED if _support(content, known) < LEAST_SUPPORT else None


# --- the user's words -------------------------------------------------------------------------------------------------

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_BLOCK_QUOTE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_TAGGED = re.compile(r"<(?P<tag>[a-zA-Z][\w-]*)[^<>]*>.*?(?:</(?P=tag)\s*>|\Z)", re.DOTALL)
_INLINE = re.compile(r"“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|(?<!\w)\"[^\"\n]*\"(?!\w)|`[^`\n]*`")
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"”’)*_]*\s+|\n+")


def typed_parts(text: str) -> Iterator[str]:
    """What a user typed, without what is fenced, quoted, tagged, or a block over 1,500 characters."""
    pieces = [visible(text).replace("\r", "")]
    for document in (_FENCE, _TAGGED, _BLOCK_QUOTE):
        pieces = [part for piece in pieces for part in _without(document, piece)]
    # What is left of a paste in paragraphs is no shorter for having blank lines in it.
    if sum(map(len, pieces)) > LONGEST_TYPED_CHARACTERS:
        return
    for piece in pieces:
        for part in _without(_INLINE, piece, lambda found: len(words_of(found)) >= QUOTED_WORDS):
            if words_of(part):
                yield part.strip()


def _without(document: re.Pattern[str], text: str, only: Callable[[str], bool] = bool) -> Iterator[str]:
    start = 0
    for found in document.finditer(text):
        if only(found.group()):
            yield text[start : found.start()]
            start = found.end()
    yield text[start:]


def words_of(text: str) -> list[str]:
    return _WORD.findall(text)


def _sentences(text: str) -> list[str]:
    return [each.strip() for each in _SENTENCE_END.split(text) if each.strip()]


def find_quote(quote: str, texts: Sequence[str]) -> Quoted | None:
    """Where those very words stand one after the other, whatever is between them and however they are capitalised."""
    words = words_of(visible(quote))
    if not words:
        return None
    # Within a line break or two, and no further: what stands in two places was not said in one breath.
    pattern = re.compile(
        r"(?<!\w)" + r"[^\w]{1,6}".join(map(_as_written, words)) + r"(?!\w)",
        re.IGNORECASE,
    )
    for text in texts:
        if found := pattern.search(text):
            ends = [0, *(end.end() for end in _SENTENCE_END.finditer(text)), len(text)]
            start = max(end for end in ends if end <= found.start())
            stop = min(end for end in ends if end >= found.end())
            return Quoted(found.group(), text[start:stop].strip())
    return None


def _as_written(word: str) -> str:
    return re.sub("['’]", "['’]", re.escape(word))


def _worthless(sentence: str) -> Reason | None:
    """A question, a refusal or somebody else's affairs are no fact about the user."""
    if sentence.rstrip("*_ \"'”’)").endswith("?"):
        return Reason.QUESTION
    if REFUSES.search(sentence):
        return Reason.REFUSAL
    if SUPPOSES.match(sentence) or REPORTS.search(sentence) or OF_OTHERS.match(sentence):
        return Reason.NOT_OF_THEMSELVES
    return None


# --- what it says against what was said -------------------------------------------------------------------------------


def _unsupported(content: str, found: Quoted, said: Sequence[Passage], today: date) -> Reason | None:
    there = passages(found.sentence)
    meant, stated = voices_of(there), voices_of(passages(content))
    if meant == {"denies"} and "denies" not in stated:
        return Reason.DENIED
    if "says" not in meant and stated == {"says"}:
        return Reason.WISHED
    if unsaid(content, said, today):
        return Reason.UNSAID_FACT
    # The wish, the denial and the fact of one sentence share its words; those of another sentence prove nothing.
    if _support(content, there) < LEAST_SUPPORT:
        return Reason.UNSUPPORTED
    return None


def voices_of(parts: Sequence[Passage]) -> set[Voice]:
    """Of those that say something: the "I" before "don't" does not."""
    return {part.voice for part in parts if _meanings_in(part)}


def unsaid(content: str, said: Sequence[Passage], today: date) -> list[str]:
    """Numbers, years and names of the content that were not said, in sentences."""
    return [
        why
        for part in passages(_begun_small(content, said))
        for check_them in (
            lambda part: check_numbers(part, said, today),
            lambda part: check_dates(part, said),
            lambda part: check_names(part, said),
        )
        for why in check_them(part)
    ]


def _begun_small(content: str, said: Sequence[Passage]) -> str:
    """Without the capital of a first word that is a verb, and no name: "Wohnt in Lissabon"."""
    first = bare((words_of(content) or [""])[0])
    known = {token.stem[:4] for part in said for token in part.tokens}
    verb = first in FIRST_VERBS or (len(first) > 3 and stem(first)[:4] in known)
    return content[:1].lower() + content[1:] if verb else content


def _support(content: str, said: Sequence[Passage]) -> float:
    """Of the words of the content that carry something, the share that was said."""
    asked = meanings(content)
    known = frozenset[str]().union(*(_meanings_in(part) for part in said))
    return len(asked & known) / len(asked) if asked else 1.0


def meanings(text: str) -> frozenset[str]:
    """The words that carry something, the same for words that mean the same here."""
    return frozenset[str]().union(*(_meanings_in(part) for part in passages(text)))


def _meanings_in(part: Passage) -> frozenset[str]:
    roots = {_root(token) for token in part.tokens if token.key not in LIGHT}
    return frozenset(_EQUAL.get(root, root) for root in roots) - _LIGHT


def _root(token: Token) -> str:
    if token.key in NUMBER_WORDS:
        return f"{NUMBER_WORDS[token.key]:g}"
    return token.key if token.key.isdigit() else token.stem


_EQUAL = {stem(bare(word)): stem(bare(group[0])) for group in EQUAL for word in group}
_LIGHT = frozenset(stem(bare(word)) for word in LIGHT)
_OPPOSITE = {frozenset((stem(bare(one)), stem(bare(other)))) for one, other in OPPOSITE}


def same_facts(one: str, other: str) -> bool:
    """Whether both name the same names, numbers and times, and neither denies, wishes or reverses what the other says:
    without that they are two facts, however alike their words."""
    mine, theirs = passages(one), passages(other)
    if voices_of(mine) != voices_of(theirs):
        return False
    left, right = meanings(one), meanings(other)
    if any(pair & (left - right) and pair & (right - left) for pair in _OPPOSITE) or not _in_one_order(one, other):
        return False
    # Whatever day it is: a span is compared with a span, and never reckoned.
    someday = date(2000, 1, 1)
    return not unsaid(one, theirs, someday) and not unsaid(other, mine, someday)


def _in_one_order(one: str, other: str) -> bool:
    """Whether what both say comes in the same order, where that matters."""
    mine, theirs = ([bare(word) for word in words_of(text)] for text in (one, other))
    if not BETWEEN_TWO & {*mine, *theirs}:
        return True
    return [word for word in mine if word in theirs] == [word for word in theirs if word in mine]


def says_the_same(one: str, other: str) -> bool:
    """Whether two memories state one fact, beyond doubt: word for word but for order, endings, and words that mean the
    same or nothing. "Leads the sales team" and "Leads the support team" do not, however near their vectors."""
    return meanings(one) == meanings(other) and same_facts(one, other)


def hash_of(content: str) -> str:
    """Of what it says: the same whatever its case, punctuation, accents and blanks."""
    return hashlib.sha256(" ".join(bare(word) for word in words_of(content)).encode()).hexdigest()


def names_in(text: str) -> frozenset[str]:
    """The words in it that are written as names are."""
    nothing = Passage("", "says")
    return frozenset(
        bare(word) for part in passages(text) for why in check_names(part, (nothing,)) for word in words_of(_named(why))
    )


def _named(why: str) -> str:
    return "".join(re.findall(r'"([^"]*)"', why))


def is_sensitive(*texts: str) -> bool:
    return bool(SENSITIVE.search(" ".join(texts)))


def since_of(given: str | None, said: Said) -> datetime | None:
    """Since when it holds, where its user said so: a year, or a month of one, that stands in their message."""
    if not given or not (found := re.fullmatch(r"(\d{4})(?:-(\d{2}))?(?:-\d{2})?", given.strip())):
        return None
    year, month = int(found[1]), int(found[2] or 1)
    moments = [moment for part in said.passages for moment in dates_in(part).mentions]
    if not any(each[0] == year for each in moments) or not 1 <= month <= 12:
        return None
    return datetime(year, month if (year, month) in moments else 1, 1, tzinfo=UTC)
