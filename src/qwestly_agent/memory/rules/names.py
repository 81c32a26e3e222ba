"""Proper names, skills, languages: whatever has a name must be named by the evidence."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import zip_longest

from qwestly_agent.memory.rules.dates import dates_in
from qwestly_agent.memory.rules.lexicon import (
    ALIASES,
    AMBIGUOUS_SKILLS,
    COMMON,
    COMMON_ENDINGS,
    COUNTRIES,
    GENERIC,
    GRADES,
    LANGUAGE_NOUNS,
    LANGUAGES,
    LEGAL_FORMS,
    LEVELS,
    MONTHS,
    NUMBER_WORDS,
    OCCUPATIONS,
    RANKS,
    SCHOOL_SUBJECTS,
    SKILLS,
    STOP,
)
from qwestly_agent.memory.rules.passages import Passage, Token, bare, canonical, once, stem
from qwestly_agent.memory.rules.titles import degree_places
from qwestly_agent.memory.rules.verbs import VERB_FORMS

_TITLE_WORDS = OCCUPATIONS | set(GRADES) | set(RANKS)
_LANGUAGE_KEYS = {canonical(language): language for language in LANGUAGES}
_SKILL_KEYS = frozenset(map(canonical, SKILLS))
_OPENING = re.compile(r"(?:^|[.!?|·•:–—→]\s|\n)\W*$")
_SKILLED = re.compile(
    r"\b(?:skilled|proficient|expert|expertise|trained|qualified|specialis\w+|specializ\w+|versed|certified"
    r"|knowledge|competent|familiar)\s+(?:in|with|at|of|on)\s+(?P<list>[^.;:()]*)",
    re.IGNORECASE,
)
_SPEAKS = re.compile(r"\b(?:sp[eo]ak\w*|spoke|languages?|conversational|translat\w+|interpret\w+)\b", re.IGNORECASE)
_TEACHES = re.compile(r"\b(?:taught|teach|teaches|teaching|tutor\w*|teacher|lectur\w+)\b", re.IGNORECASE)
_ITEMS = re.compile(r",|\band\b|\bor\b|&|/")
_ITEMS_END = re.compile(r"\b(?:with|at|in|for|to|from|since|across|who|which|by|as|over|of|on|while)\b")


class Known:
    """The words of the evidence, as names are looked up in them."""

    def __init__(self, evidence: Sequence[Passage]) -> None:
        self.keys = frozenset[str]().union(*(passage.keys for passage in evidence))
        self._evidence = evidence

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset[str]().union(*(passage.stems for passage in self._evidence))

    @cached_property
    def _lower(self) -> frozenset[str]:
        return frozenset[str]().union(*map(_common_stems, self._evidence))

    def names(self, token: Token) -> bool:
        singular = token.key.removesuffix("s")
        return (
            token.key in self.keys
            or singular in self.keys
            or f"{token.key}s" in self.keys
            or (token.stem in self._lower and not token.text.isupper())
            or (token.text.rstrip("s").isupper() and _is_initials(token.text, self._initials()))
        )

    def abbreviates(self, tokens: Sequence[Token]) -> bool:
        """Whether the first letters of these words stand in the evidence as one."""
        return len(tokens) > 1 and "".join(token.key[0] for token in tokens) in self.keys

    def _initials(self) -> str:
        return " ".join(map(_initials, self._evidence))


@once
def _common_stems(passage: Passage) -> frozenset[str]:
    return frozenset(token.stem for token in passage.tokens if token.text[0].islower() or not passage.subject)


@once
def _initials(passage: Passage) -> str:
    """The first letters of all words: ICU is in "the intensive care unit"."""
    return "".join(bare(t.text)[0] for t in passage.tokens if t.key not in ("of", "and", "the", "fur", "de"))


def check_names(claim: Passage, evidence: Sequence[Passage]) -> Iterator[str]:
    known = Known(evidence)
    candidates = list(_candidates(claim))
    for run in _runs(candidates):
        missing = [token for token in run if not known.names(token)]
        if len(missing) < len(run):
            missing = [token for token in missing if token.key not in GENERIC]
        if missing and not known.abbreviates(run):
            yield f'No cited source names "{claim.text[missing[0].start : missing[-1].end]}".'
    flagged = {token.start for token in candidates}
    for token in claim.tokens:
        skill = token.key in _SKILL_KEYS and not (token.key in AMBIGUOUS_SKILLS and token.text[0].islower())
        if skill and token.start not in flagged and not known.names(token):
            yield f'No cited source names the skill "{token.text}".'
        elif token.key in SCHOOL_SUBJECTS and token.stem not in known.stems and _TEACHES.search(claim.text):
            yield f'No cited source says that "{token.text}" was taught.'
    yield from _unlisted(claim, known)
    yield from _levels(claim, evidence)
    yield from _unspoken(claim, evidence)


def _candidates(claim: Passage) -> Iterator[Token]:
    """Tokens written as names are."""
    shouted = _in_title_case(claim)
    elsewhere = degree_places(claim) + [(start - 2, end) for start, end in dates_in(claim).places]  # FY2022
    previous_is_name = False
    for token in claim.tokens:
        plain = bare(token.text)
        opening = bool(_OPENING.search(claim.text, 0, token.start)) and not (claim.subject and token.start == 0)
        is_name = _written_as_name(token, plain) and not ((opening or shouted) and _is_common(token, plain))
        if plain in _TITLE_WORDS and not previous_is_name:
            is_name = False
        if any(start <= token.start < end for start, end in elsewhere):
            is_name = False
        previous_is_name = is_name
        if is_name:
            yield token


def _written_as_name(token: Token, plain: str) -> bool:
    if token.text in ("I", "A") or plain in LEGAL_FORMS or plain in MONTHS or plain in NUMBER_WORDS or plain in STOP:
        return token.text.isupper() and len(token.text) > 1 and plain not in LEGAL_FORMS and plain not in STOP
    has_letter = any(letter.isalpha() for letter in token.text)
    return (
        has_letter
        and any(letter.isupper() for letter in token.text)
        and not re.fullmatch(r"\d+[.,]?\d*(?:[kKmMbBxX]n?|[AVW]|k[VW]|MW)", token.text)
    )


def _is_common(token: Token, plain: str) -> bool:
    if (
        any(letter.isupper() or letter.isdigit() for letter in token.text[1:])
        or token.key in _SKILL_KEYS - AMBIGUOUS_SKILLS
    ):
        return False
    if plain in ALIASES or plain in LANGUAGES:
        return plain in COMMON
    return plain in COMMON or plain in VERB_FORMS or plain.removesuffix("s") in COMMON or plain.endswith(COMMON_ENDINGS)


def _in_title_case(claim: Passage) -> bool:
    words = [token for token in claim.tokens if token.key not in STOP and token.text[0].isalpha()]
    return len(words) > 3 and sum(token.text[0].isupper() for token in words) > 0.8 * len(words)


def _runs(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    run: list[Token] = []
    for token in tokens:
        if run and token.start - run[-1].end > 1:
            yield run
            run = []
        run.append(token)
    if run:
        yield run


def _is_initials(text: str, letters: str) -> bool:
    short = bare(text).removesuffix("s") if text[-1] == "s" else bare(text)
    return len(short) >= 3 and text.rstrip("s").isupper() and short.isalpha() and short in letters


def _unlisted(claim: Passage, known: Known) -> Iterator[str]:
    """Of what the claim says somebody is skilled in, each item must have a word in common with the evidence."""
    for found in _SKILLED.finditer(claim.text):
        for item in _ITEMS.split(_ITEMS_END.split(found["list"])[0]):
            words = [bare(word) for word in re.findall(r"[^\W\d_]{3,}", item)]
            stems = [stem(word) for word in words if word not in STOP]
            if (
                stems
                and not any(root in known.stems for root in stems)
                and not any(canonical(w) in known.keys for w in words)
            ):
                yield f'No cited source speaks of "{item.strip()}".'


def _levels(claim: Passage, evidence: Sequence[Passage]) -> Iterator[str]:
    """Fluent is more than basic."""
    for language, wanted in _spoken(claim):
        given = [level for passage in evidence for other, level in _spoken(passage) if other == language]
        asked = wanted[0] if wanted else 0
        if asked and not any(level and level[1] >= asked for level in given):
            yield f"No cited source says that {_LANGUAGE_KEYS[language].capitalize()} is known that well."


def _unspoken(claim: Passage, evidence: Sequence[Passage]) -> Iterator[str]:
    """Who speaks Norwegian must be told to; that the fjords were Norway's says nothing of it."""
    if not _SPEAKS.search(claim.text):
        return
    spoken = frozenset[str]().union(*map(_as_languages, evidence))
    for language, level in _spoken(claim):
        if language not in spoken and not level:
            yield f"No cited source says that {_LANGUAGE_KEYS[language].capitalize()} is spoken."


@once
def _as_languages(passage: Passage) -> frozenset[str]:
    """The languages it names as such: not by Norwegian fjords."""
    if not (named := {language for language, _ in _spoken(passage)}):
        return frozenset()
    return frozenset(
        token.key
        for token, after in zip_longest(passage.tokens, passage.tokens[1:])
        if token
        and token.key in named
        and bare(token.text) not in COUNTRIES
        and not _is_described(passage, token, after)
    )


def _is_described(passage: Passage, token: Token, after: Token | None) -> bool:
    if after is None or passage.text[token.end : after.start] != " ":
        return False
    word = bare(after.text)
    return word not in LANGUAGE_NOUNS and word not in STOP and word not in LEVELS and word.isalpha()


@once
def _spoken(passage: Passage) -> tuple[tuple[str, tuple[int, int] | None], ...]:
    """Languages, each with the level that stands nearest before a comma parts them."""
    languages = [t for t in passage.tokens if t.key in _LANGUAGE_KEYS and bare(t.text) not in COUNTRIES]
    if not languages:
        return ()
    near_native = " near native " in passage.plain
    levels = [(token, LEVELS[plain]) for token in passage.tokens if (plain := bare(token.text)) in LEVELS]
    levels = [(token, LEVELS["c2"] if near_native and level == LEVELS["native"] else level) for token, level in levels]
    starts = {language.start for language in languages}
    found: list[tuple[str, tuple[int, int] | None]] = []
    for language in languages:
        # The basic of "Russian and basic Finnish" is the Finnish alone.
        fit = [(t, level) for t, level in levels if t.start < language.start or t.end + 1 not in starts]
        found.append((language.key, _nearest(passage.text, language, fit)))
    return tuple(found)


def _nearest(text: str, language: Token, levels: Sequence[tuple[Token, tuple[int, int]]]) -> tuple[int, int] | None:
    near = [(_apart(text, language, token), level) for token, level in levels]
    return min(near, key=lambda pair: pair[0])[1] if near else None


def _apart(text: str, left: Token, right: Token) -> tuple[int, int]:
    first, second = sorted((left, right), key=lambda token: token.start)
    between = text[first.end : second.start]
    return (len(re.findall(r"[,;|]|\band\b", between)), len(between))
