"""What may be remembered: only what its user said of themselves, in words that are really theirs.

Deterministic, and made of readers of names, numbers and dates (`rules/`). In doubt it refuses: what
is not remembered can be told again, what is remembered wrongly is repeated for months.
"""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import cached_property

from qwestly_agent.memory.rules.dates import check_dates, dates_in
from qwestly_agent.memory.rules.lexicon import NUMBER_WORDS
from qwestly_agent.memory.rules.names import check_names
from qwestly_agent.memory.rules.numbers import check_numbers
from qwestly_agent.memory.rules.passages import Passage, Token, Voice, bare, passages, stem
from qwestly_agent.memory.typed import (
    ASKED,
    LONGEST_QUOTE_CHARACTERS,
    find_quote,
    sentences,
    typed_parts,
    words_of,
)
from qwestly_agent.memory.wording import (
    ADDRESSED,
    AGREES,
    AM,
    AMOUNT,
    ANOTHER,
    ASKED_OF_THEM,
    ASKS,
    BETWEEN_TWO,
    CREDENTIAL,
    DIVIDES,
    EITHER,
    ENDINGS,
    EQUAL,
    FIRST_PERSON,
    FIRST_VERBS,
    FRAMES,
    HEARSAY,
    INTRODUCES,
    KEEPS,
    LIGHT,
    MAY_BE,
    MEMBER,
    NEGATIONS,
    NOT_QUITE,
    OF_OTHERS,
    OF_OURS,
    OPPOSITE,
    ORDERS,
    OTHERS,
    PAY,
    PER_TIME,
    POLITE,
    REFUSES,
    REFUTES,
    REPORTS,
    SENSITIVE,
    SOMEBODY,
    SUPPOSES,
    TASKS,
    TO_THEM,
    WITHDRAWS,
    folded,
)
from qwestly_agent.text import masked, visible

SHORTEST_QUOTE_WORDS = 3
SHORT_ANSWER_WORDS = 6
LONGEST_CONTENT_CHARACTERS = 300
MOST_NUMBERS = 12
"""In one fact: each is compared with all that was said."""


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
    NOT_CHECKED = "not_checked"


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
        asked = [each for each in sentences(visible(self.before)) if ASKED.search(each)]
        return asked[-1] if asked else ""

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(part for text in self.typed for part in passages(text))

    @property
    def is_short(self) -> bool:
        return len(words_of(" ".join(self.typed))) <= SHORT_ANSWER_WORDS


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
    if sum(word[0].isdigit() for word in words_of(content)) > MOST_NUMBERS:
        return Reason.TOO_LONG
    if is_credential(content):
        return Reason.CREDENTIAL
    if ADDRESSED.search(content):
        return Reason.NOT_OF_THEMSELVES
    found = find_quote(claimed.quote, said.typed)
    if found is None:
        return Reason.DOCUMENT if find_quote(claimed.quote, (said.text,)) else Reason.NOT_SAID
    if TASKS.search("\n".join(said.typed)):
        return Reason.DOCUMENT
    if why := _worthless(found.sentence):
        return why
    by_itself = _unsupported(content, _held(found.sentence, content), said.passages, today)
    if by_itself is None and len(words_of(found.quote)) < SHORTEST_QUOTE_WORDS:
        by_itself = Reason.TOO_SHORT
    answers = by_itself is not None and said.is_short and bool(said.question)
    if by_itself and (why := _unanswered(content, said, today) if answers else by_itself):
        return why
    question = said.question if answers else ""
    return Passed(content, found.quote, question, is_sensitive(content, found.sentence, question))


def _unanswered(content: str, said: Said, today: date) -> Reason | None:
    """Why it does not follow from a short answer together with its question."""
    answer = "\n".join(said.typed)
    agreed, rest = _agreed(answer)
    if REFUTES.search(answer):
        return Reason.REFUSAL
    asked = ASKED_OF_THEM.match(said.question)
    if not asked or not TO_THEM.search(said.question) or OF_OURS.search(said.question):
        return Reason.UNSUPPORTED
    # A yes takes all of a question that leaves no choice; whatever else stands in an answer must be remembered with it.
    told = meanings(rest)
    if not told <= meanings(content) or (agreed and (not asked["whether"] or EITHER.search(said.question))):
        return Reason.UNSUPPORTED
    if not agreed and not told:
        return Reason.UNSUPPORTED
    question = passages(said.question.rstrip("?"))
    known = (*question, *said.passages)
    if unsaid(content, said.passages if asked["whether"] and not agreed else known, today):
        return Reason.UNSAID_FACT
    if "says" not in (meant := voices_of(question)) and meant and voices_of(passages(content)) == {"says"}:
        return Reason.WISHED
    rests_on = f"{said.question[asked.start('whether' if asked['whether'] else 'what') :].rstrip('?')} {rest}"
    words = _placed(content)
    there = _placed(rests_on)
    return (
        None
        if all(_is_free(each, rests_on) or _place_of(each, there) is not None for each in words)
        else (Reason.UNSUPPORTED)
    )


def _agreed(answer: str) -> tuple[bool, str]:
    """Whether it begins with what agrees, and what it says beside."""
    agreed, at = False, 0
    while found := AGREES.match(answer, at) or POLITE.match(answer, at):
        agreed, at = agreed or bool(AGREES.match(answer, at)), found.end()
    return agreed, answer[at:]


# --- against what was said -------------------------------------------------------------------------------------------


def _worthless(sentence: str) -> Reason | None:
    """A question, a refusal or somebody else's affairs are no fact about the user."""
    if ASKED.search(sentence) or ASKS.match(sentence):
        return Reason.QUESTION
    if REFUSES.search(sentence):
        return Reason.REFUSAL
    if SUPPOSES.match(sentence) or REPORTS.search(sentence) or OF_OTHERS.match(sentence):
        return Reason.NOT_OF_THEMSELVES
    return None


# --- what it says against what was said -------------------------------------------------------------------------------


def _held(sentence: str, content: str) -> str:
    """What of a sentence is not taken back in it: "That I live in Berlin is wrong, I live in Lisbon"."""
    sentence = KEEPS.sub("", sentence, count=1)
    if not (withdrawn := list(WITHDRAWS.finditer(sentence))) or WITHDRAWS.search(content):
        return sentence
    after = _CLAUSE.search(sentence, withdrawn[-1].end())
    return sentence[after.end() :].strip() if after else ""


def _unsupported(content: str, sentence: str, said: Sequence[Passage], today: date) -> Reason | None:
    if not sentence:
        return Reason.DENIED
    there = passages(sentence)
    meant, stated = voices_of(there), voices_of(passages(content))
    if meant == {"denies"} and "denies" not in stated:
        return Reason.DENIED
    if "says" not in meant and stated == {"says"}:
        return Reason.WISHED
    if unsaid(content, said, today):
        return Reason.UNSAID_FACT
    # The wish, the denial and the fact of one sentence share its words; those of another sentence prove nothing.
    if not _voiced(content, sentence):
        return Reason.UNSUPPORTED
    return _untold(content, sentence)


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


@dataclass(frozen=True)
class _Placed:
    """A word that carries something, in its place."""

    root: str
    key: str
    at: int
    clause: int
    after: str
    """What divides, right before it."""


_CLAUSE = re.compile(
    r"[,;:](?!\d)|[()—]|\s[–-]\s|(?<=[.!?…])\s|\n"
    r"|\b(?:and|but|while|whereas|or|then|so|because|und|aber|oder|et|mais|ou|pero|y|e)\b",
    re.IGNORECASE,
)
_ARTICLES = frozenset(
    ["a", "an", "the", "my", "our", "der", "die", "das", "dem", "den", "le", "la", "el", "un", "une", "una"]
)


def _placed(text: str) -> list[_Placed]:
    breaks = [found.start() for found in _CLAUSE.finditer(text)]
    placed: list[_Placed] = []
    before = ""
    for token in Passage(text, "says").tokens:
        root = _root(token)
        root = _EQUAL.get(root, root)
        if token.key not in LIGHT and root not in _LIGHT and not _denies(token.key):
            clause = bisect_right(breaks, token.start)
            placed.append(_Placed(root, token.key, token.start, clause, before if before in DIVIDES else ""))
        if token.key not in _ARTICLES:
            before = token.key
    return placed


def _denies(key: str) -> bool:
    return key in NEGATIONS or key.endswith(("n't", "n’t"))


def _is_free(word: _Placed, sentence: str) -> bool:
    """Whether the sentence says as much in other words."""
    cue = _FRAMES.get(word.root)
    return bool(cue and re.search(cue, sentence, re.IGNORECASE))


def _place_of(word: _Placed, there: Sequence[_Placed], after: int = -1) -> int | None:
    """Where it stands, for the first time from some place on."""
    return next((n for n, each in enumerate(there) if n > after and _akin(word.root, each.root)), None)


def _akin(one: str, other: str) -> bool:
    if one == other:
        return True
    differs = (n for n, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
    shared = next(differs, min(len(one), len(other)))
    return shared >= 4 and all(end in ENDINGS or not end for end in (one[shared:], other[shared:]))


def _voiced(content: str, sentence: str) -> bool:
    """Whether what is said was said, what is denied was denied, and what is wished was not only feared."""
    said: dict[Voice, list[_Placed]] = {"says": [], "denies": [], "wishes": []}
    for part in passages(sentence):
        said[part.voice] += _placed(part.text)
    not_quite = bool(NOT_QUITE.search(sentence))
    for part in passages(content):
        known = [*said[part.voice]]
        if part.voice == "wishes" or (part.voice == "denies" and not_quite):
            known += said["says"]
        if part.voice == "denies" and not not_quite and "denies" not in {each.voice for each in passages(sentence)}:
            return False
        for word in _placed(part.text):
            if _place_of(word, known) is None and not _is_free(word, sentence):
                return False
    return True


def _untold(content: str, sentence: str) -> Reason | None:
    """Why the sentence does not tell it: its words stand in another order, belong to another statement, or are
    somebody else's."""
    there = _placed(sentence)
    wanted = [each for each in _placed(content) if _place_of(each, there) is not None or not _is_free(each, sentence)]
    roots = {each.root for each in wanted}
    ordered = there and (there[-1].clause > 0 or bool(ORDERS & {bare(word) for word in words_of(sentence)}))
    places: list[int] = []
    for each in wanted:
        if each.root in _UNORDERED and _place_of(each, there) is not None:
            continue
        place = _place_of(each, there, places[-1] if places else -1)
        if place is None and not ordered:
            place = _place_of(each, there)
        if place is None:
            return Reason.UNSUPPORTED
        if there[place].after != each.after:
            place = _place_of(each, there, place)
            if place is None or there[place].after != each.after:
                return Reason.UNSUPPORTED
        if places and there[place].clause != there[places[-1]].clause:
            # A clause with words of its own tells something else: "until 2019 at Acme and at Globex since 2020".
            ahead = [other for other in there[:place] if other.clause == there[place].clause]
            if any(not any(_akin(root, other.root) for root in roots) for other in ahead):
                return Reason.UNSUPPORTED
        places.append(place)
    if _is_past(content, sentence):
        return Reason.UNSUPPORTED
    used = [there[place].at for place in places] or [len(sentence) - 1]
    return _not_theirs(content, sentence, min(used), max(used))


def _is_past(content: str, sentence: str) -> bool:
    """Whether something that was is said to be: "works" of who worked."""
    if re.search(r"\b(?:have|has|had|['’]ve|been|since)\b", sentence, re.IGNORECASE):
        return False
    verb = next(iter(Passage(content, "says").tokens), None)
    if verb is None or not re.fullmatch(r"\w{3,}s|is", verb.key):
        return False
    if verb.key == "is":
        was, now = (rf"\b{words}\b" for words in ("(?:i|it) was", "(?:am|is|i['’]m)"))
        if re.search(r"\bwas\b", content) or re.search(now, sentence, re.IGNORECASE):
            return False
        return bool(re.search(was, sentence, re.IGNORECASE))
    same = [token.key for token in Passage(sentence, "says").tokens if token.stem == verb.stem]
    return bool(same) and all(
        (key.endswith("ed") and f"{key}s" != verb.key) or key in ("led", "ran", "knew", "spoke", "taught")
        for key in same
    )


def _not_theirs(content: str, sentence: str, first: int, last: int) -> Reason | None:
    """Why the statements between two places of a sentence are not what its user says of themselves."""
    begins = [0, *(found.end() for found in _STATEMENT.finditer(sentence))]
    start = begins[bisect_right(begins, first) - 1]
    end = next((each for each in begins if each > last), len(sentence))
    colon = sentence.rfind(":", 0, first)
    if colon >= 0 and not INTRODUCES.fullmatch(sentence[:colon]):
        return Reason.NOT_OF_THEMSELVES
    own = sentence[start:end]
    # What supposes or reports may stand before its comma: "I told them that, and I …" is a statement of its own.
    if HEARSAY.search(own) or SUPPOSES.match(own) or ASKS.match(own) or OTHERS.match(own):
        return Reason.NOT_OF_THEMSELVES
    if SOMEBODY.match(own) and not re.search(rf"\b{FIRST_PERSON}\b", own, re.IGNORECASE):
        return Reason.NOT_OF_THEMSELVES
    if any(0 < found.start() < last - start for found in ANOTHER.finditer(own)) or _is_of_another(
        content, own, first - start
    ):
        return Reason.NOT_OF_THEMSELVES
    own_words = {token.stem for token in Passage(content, "says").tokens}
    if any(stem(bare(found.group())) not in own_words for found in MAY_BE.finditer(own)):
        return Reason.WISHED
    cues = {stem(bare(word)) for found in NOT_QUITE.finditer(own) for word in words_of(found.group())}
    denied = "denies" in {part.voice for part in passages(content)}
    if cues and not denied and not cues & own_words:
        return Reason.DENIED
    return None


def _is_of_another(content: str, statement: str, first: int) -> bool:
    """Whether its verb has another subject: nobody says "works" or "is a nurse" of themselves."""
    verb = next(iter(Passage(content, "says").tokens), None)
    if verb is None:
        return False
    if re.match(r"is an?\b", content, re.IGNORECASE):
        said = [found.end() for found in AM.finditer(statement) if found.end() <= first]
        return not said or any(said[-1] <= word.at < first for word in _placed(statement) if word.root != "work")
    keys = {token.key for token in Passage(statement, "says").tokens}
    return bool(re.fullmatch(r"[a-z]{3,}s", verb.key)) and verb.key in keys


_STATEMENT = re.compile(
    rf"(?:{_CLAUSE.pattern})\s*(?:(?:and|but|so|that|und|aber|et|y)\s+)*(?={FIRST_PERSON}\b)", re.IGNORECASE
)


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
_FRAMES = {stem(bare(word)): cue for word, cue in FRAMES.items()}
_UNORDERED = {stem(word) for word in ("decide", "more")}
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


def is_credential(text: str) -> bool:
    """Whether it holds what lets somebody in, or reaches somebody: that is not remembered, whoever wishes it."""
    return masked(text) != text or bool(CREDENTIAL.search(text))


def is_sensitive(*texts: str) -> bool:
    text = folded(" ".join(texts))
    pay = AMOUNT.search(text) and PAY.search(text)
    return bool(SENSITIVE.search(text) or pay or PER_TIME.search(text) or MEMBER.search(text))


def since_of(given: str | None, said: Said) -> datetime | None:
    """Since when it holds, where its user said so: a year, or a month of one, that stands in their message."""
    if not given or not (found := re.fullmatch(r"(\d{4})(?:-(\d{2}))?(?:-\d{2})?", given.strip())):
        return None
    year, month = int(found[1]), int(found[2] or 1)
    moments = [moment for part in said.passages for moment in dates_in(part).mentions]
    if not any(each[0] == year for each in moments) or not 1 <= month <= 12:
        return None
    return datetime(year, month if (year, month) in moments else 1, 1, tzinfo=UTC)
