"""How strong a part somebody had: 1 took part, 2 did it, 3 managed it, 4 led it.

A claim may be weaker than its evidence, never stronger.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from qwestly_agent.memory.rules.lexicon import (
    COMMON,
    GRADES,
    IRREGULAR_VERBS,
    OCCUPATIONS,
    PEOPLE,
    RANKS,
    STOP,
    THINGS_MANAGED,
    VERBS,
)
from qwestly_agent.memory.rules.passages import Passage, Token, bare, once, stem
from qwestly_agent.memory.rules.titles import titles

PART, DID, MANAGED, LED = 1, 2, 3, 4
_NAMES = {PART: "took part", DID: "did it", MANAGED: "managed it", LED: "led it"}
_PHRASES = [
    (re.compile(pattern, re.IGNORECASE), asks, gives)
    for pattern, asks, gives in (
        (
            r"\b(?:took|take|taking|takes) part\b|\b(?:part|member) of\b"
            r"|\bwork(?:ed|ing|s)? (?:closely )?(?:with|alongside)\b",
            PART,
            PART,
        ),
        (r"\bplay(?:ed|ing)? an? (?:\w+ )?(?:part|role)\b|\bpitch(?:ed|ing) in\b|\blend(?:ing)? a hand\b", PART, PART),
        (r"\b(?:responsible|responsibility|accountable) for\b", MANAGED, MANAGED),
        (
            r"\bin charge of\b|\b(?:took|taking|take) charge\b|\bunder (?:my|her|his) leadership\b|\bat the helm\b",
            LED,
            LED,
        ),
        (r"\bset(?:ting)? up\b", DID, MANAGED),
        (r"\bstart(?:ed)? my own\b", LED, LED),
    )
]
_NOT_VERBS = re.compile(
    r"\b(?:led to|leads? to|leading to|leading (?!an?\b|the\b|our\b|my\b|up\b|\d|and\b|teams?\b|\w+(?:ing)?\b \w*)"
    r"|headed (?:to|for)\b|head of|my own|our own|their own|its own|his own"
    r"|her own|your own|found (?:that|out|a way)|well[- ]run"
    r"|(?:team|tech|shift|technical|project|warehouse|squad) leads?\b)",
    re.IGNORECASE,
)
_OTHERS_DID = re.compile(
    r"\b(?:my|our|the|a)\s+(?:\w+\s+)?(?:manager|boss|colleagues?|mentor|supervisor|co-?workers?|ceo|cto|director)\s+"
    r"(?:(?-i:[A-Z])\w+\s+){0,2}(?:\w+ly\s+)?$",
    re.IGNORECASE,
)
_SUBJECTS = re.compile(
    r"\b(?P<many>we|(?:our|the|my|whole|entire)\s+(?:\w+\s+)?(?:team|group|department|company|crew|squad|firm))\s+(?:\w+\s+){0,2}$"
    r"|\b(?P<one>I|he|she)\b(?!.*\b(?:I|he|she|we)\b)|\b(?P<we>we)\b(?!.*\b(?:I|he|she|we)\b)",
    re.IGNORECASE | re.DOTALL,
)
_BY_OTHERS = re.compile(r"\s+by\s+(?:(?:our|the|my|her|his|another|someone|a)\b|(?-i:[A-Z]))", re.IGNORECASE)
_WITH_A_TEAM = re.compile(r"\bwith an? (?:\w+ )?(?:team|staff|crew|brigade|squad) of \w", re.IGNORECASE)
_OF_THINGS = re.compile(rf" (?:{'|'.join(THINGS_MANAGED)}) managers? ")
_NAMED = re.compile(r"\W*(?:[A-ZÀ-Þ][a-zà-ÿ]+\s+){1,2}(?:\w+ly\s+)?")
_NO_PERSONS_NAME = COMMON | OCCUPATIONS | frozenset(RANKS) | frozenset(GRADES) | STOP
_FIRST_PERSON = re.compile(r"\b(?:I|my)\b")
_DETERMINERS = frozenset(("a", "an", "the", "all", "both", "its", "her", "his", "their"))
_PERSON_STEMS = frozenset(stem(word) for word in PEOPLE | OCCUPATIONS)


def _forms(verb: str) -> Iterator[str]:
    base = verb.removesuffix("e")
    yield from (verb, f"{verb}s", f"{verb}es", f"{base}ed", f"{base}ing")
    if verb.endswith("y"):
        yield from (f"{verb[:-1]}ied", f"{verb[:-1]}ies")
    yield from (f"{verb}{verb[-1]}{ending}" for ending in ("ed", "ing"))
    yield from (past for past, root in IRREGULAR_VERBS.items() if root == verb)


VERB_FORMS = {form: levels for levels, verbs in VERBS.items() for verb in verbs.split() for form in _forms(verb)}
VERB_FORMS |= dict.fromkeys(("founded", "founding", "cofounded", "cofounding"), (LED, LED))
VERB_FORMS = {
    form: levels
    for form, levels in VERB_FORMS.items()
    if form not in ("found", "founds", "code", "program", "plan", "care")
}


@dataclass(frozen=True)
class Deed:
    verb: str
    asks: int
    gives: int
    stems: frozenset[str]
    """What it was done to: the words up to the next verb."""
    by_name: bool = False
    """Of "Anna led it" nothing else is known of who did it."""


@once
def deeds(passage: Passage) -> tuple[Deed, ...]:
    found = list(_verbs(passage))
    return tuple(
        _deed(passage, verb, found[index + 1][0].start if index + 1 < len(found) else len(passage.text), index == 0)
        for index, verb in enumerate(found)
    )


def check_verbs(claim: Passage, evidence: Sequence[Passage]) -> Iterator[str]:
    if not deeds(claim):
        return
    known = list(_evidence_deeds(evidence))
    for deed in deeds(claim):
        best = max((len(deed.stems & other.stems) for other in known), default=0)
        alike = [other for other in known if len(deed.stems & other.stems) >= max(0.67 * best, 1 if best else 0)]
        given = max((other.gives for other in alike), default=DID)
        if deed.asks > given and not (deed.stems & _PERSON_STEMS and _heads_a_team(evidence)):
            yield f'"{deed.verb}" is more than the evidence says: that somebody {_NAMES[max(given, PART)]}.'


def _heads_a_team(evidence: Sequence[Passage]) -> bool:
    """Whether a manager, not of accounts or products, is told to have done something with a team of so many."""
    managing = any(_titled(passage) >= MANAGED and not _manages_things(passage) for passage in evidence)
    return managing and any(
        _WITH_A_TEAM.search(passage.text) and all(deed.gives > PART for deed in deeds(passage)) for passage in evidence
    )


def _evidence_deeds(evidence: Sequence[Passage]) -> Iterator[Deed]:
    """With lines that have no verb: a bullet under "Head of Sales" says what the head of sales did."""
    item, heading = "", DID
    own_words = {passage.item for passage in evidence if _says_i(passage)}
    for passage in evidence:
        if passage.item != item or _has_own_title(passage):
            item, heading = passage.item, _titled(passage)
        found = deeds(passage)
        # Who says "I" of himself means another by "Anna".
        yield from (replace(deed, gives=0) if deed.by_name and passage.item in own_words else deed for deed in found)
        if not found or _titled(passage) > DID:
            level = _titled(passage) if found else heading
            if level == MANAGED and passage.stems & _PERSON_STEMS and not _manages_things(passage):
                level = LED
            yield Deed("", level, level, passage.stems)


@once
def _says_i(passage: Passage) -> bool:
    return bool(_FIRST_PERSON.search(passage.text))


@once
def _manages_things(passage: Passage) -> bool:
    return bool(_OF_THINGS.search(passage.plain))


@once
def _has_own_title(passage: Passage) -> bool:
    return any(title.own for title in titles(passage))


@once
def _titled(passage: Passage) -> int:
    ranks = [
        RANKS.get(bare(word), 1 if bare(word) == "lead" else 0)
        for t in titles(passage)
        if t.own
        for word in t.text.split()
    ]
    top = max(ranks, default=0)
    words = {bare(word) for title in titles(passage) if title.own for word in title.text.split()}
    return LED if top >= 2 or words & {"lead", "leader"} else MANAGED if top else DID


def _verbs(passage: Passage) -> Iterator[tuple[Token, int, int]]:
    idle = [found.span() for found in _NOT_VERBS.finditer(passage.text)]
    phrases = {
        found.start(): (asks, gives, found.end()) for p, asks, gives in _PHRASES for found in p.finditer(passage.text)
    }
    until, helping = 0, -1
    for index, token in enumerate(passage.tokens):
        if token.start < until or any(start <= token.start < end for start, end in idle):
            continue
        word = bare(token.text)
        if token.start in phrases:
            asks, gives, until = phrases[token.start]
        elif word in VERB_FORMS and not _is_noun(passage, index):
            asks, gives = VERB_FORMS[word]
        else:
            continue
        if helping >= 0 and (index - helping <= 3 or bare(passage.tokens[index - 1].text) == "to"):
            continue  # in "helped to build" the building is helping
        helping = index if asks == PART else -1
        yield token, asks, gives


def _is_noun(passage: Passage, index: int) -> bool:
    word = bare(passage.tokens[index].text)
    if word.endswith(("ed", "ing")) or (word in IRREGULAR_VERBS and IRREGULAR_VERBS[word] != word):
        return False
    previous = bare(passage.tokens[index - 1].text) if index else ""
    if _said_of_a_person(passage, index):
        return False
    return previous in (
        "a",
        "an",
        "the",
        "my",
        "our",
        "of",
        "on",
        "in",
        "for",
        "and",
        "with",
        "from",
        "own",
        "per",
        "customer",
        "patient",
    ) or (
        bool(previous)
        and previous not in ("i", "we", "to", "she", "he", "also", "who", "now")
        and previous not in VERB_FORMS
    )


def _said_of_a_person(passage: Passage, index: int) -> bool:
    """ "Priya leads a team" in what others write of her."""
    before, verb, after = (
        passage.tokens[max(0, index - 1)],
        passage.tokens[index],
        passage.tokens[index + 1 : index + 2],
    )
    followed = bool(after) and (bare(after[0].text) in _DETERMINERS or after[0].text[0].isdigit())
    named = index > 0 and before.text[0].isupper() and before.text.isalpha() and bare(before.text) not in STOP
    return named and followed and verb.text.islower() and verb.text.endswith("s")


def _deed(passage: Passage, verb: tuple[Token, int, int], until: int, is_first: bool) -> Deed:
    token, asks, gives = verb
    begin = 0 if is_first else token.start
    others = [other for other in passage.tokens if begin <= other.start < until and other is not token]
    stems = frozenset(other.stem for other in others if other.key not in STOP and not other.key[0].isdigit())
    if gives == MANAGED and stems & _PERSON_STEMS:
        gives = LED  # to manage people is to lead them
    before = passage.subject + passage.text[: token.start]
    if _OTHERS_DID.search(before):
        gives = 0
    elif _by_many(before) or _BY_OTHERS.match(passage.text, token.end):
        gives = min(gives, PART)
    return Deed(token.text, asks, gives, stems, _is_by_name(before))


def _is_by_name(before: str) -> bool:
    words = _NAMED.fullmatch(before)
    return bool(words) and not {bare(word) for word in before.split()} & _NO_PERSONS_NAME


def _by_many(before: str) -> bool:
    subjects = list(_SUBJECTS.finditer(before))
    return bool(subjects and not subjects[-1]["one"])
