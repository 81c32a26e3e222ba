"""Job titles and degrees: what somebody was, and what somebody graduated in."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qwestly_agent.memory.rules.lexicon import (
    DEGREE_FIELDS,
    DEGREE_KINDS,
    DEGREES,
    GRADES,
    OCCUPATIONS,
    QUALIFIED,
    RANKS,
    STOP,
)
from qwestly_agent.memory.rules.passages import Passage, Token, bare, canonical, once, stem

_OTHERS = re.compile(
    r"\b(?:to|with|under|alongside|for|between|by|of|mentor\w*|coach\w*|train\w*|supervis\w+|manag\w+|hir\w+|onboard\w*"
    r"|teach\w*|taught|advis\w+|support\w*|assist\w*|led|leading|interview\w*|my|our|their|other)\s+(?:[\w,&-]+\s+){0,3}(?:\w+-)?$",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:promot\w+ to|rose to|as|role of|position of|work\w* (?:as|for)|title(?:d)?:?|moved to|became|career of)"
    r"\s+(?:(?:an?|the)\s+)?(?:[\w,&-]+\s+){0,2}$",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(
    r"\b(?:pursuing|studying|in progress|expected|candidate|dropped out|drop out|unfinished|left before"
    r"|without (?:finishing|a degree)"
    r"|(?:not|never|n['’]t) (?:finish\w*|complete\w*)|currently|enrolled|abandoned|towards)\b",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"\b(?:team|tech|technical|shift|warehouse|project|squad"
    r"|design|engineering|operations|area|section|ward|group)[ -]$",
    re.IGNORECASE,
)
_HEADS = re.compile(r"\b(?:department|section|division|unit) $", re.IGNORECASE)
_HEAD_OF = re.compile(r"\s+(?:of|teacher|nurse|chef|coach|buyer)\b", re.IGNORECASE)
_OCCUPATION = re.compile(rf"\s+(?:\w+\s+)?(?:{'|'.join(sorted(OCCUPATIONS))})\b", re.IGNORECASE)
_DEGREE = {name: re.compile(rf"(?<![\w.])(?:{pattern})", re.IGNORECASE) for name, pattern in DEGREES.items()}
_REGISTERED = re.compile(
    r"\b(?:registered|registration|licen[cs]ed|chartered|admitted|called to the bar)\b", re.IGNORECASE
)
_NOT_YET = frozenset(("deputy", "assistant", "trainee", "apprentice", "student"))
_PLAIN_DEGREE = re.compile(r"\bdegree(?= in\b)", re.IGNORECASE)
_ANY_DEGREE = re.compile("|".join(DEGREES.values()), re.IGNORECASE)
_KIND = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in DEGREE_KINDS.items()}
_SUBJECT = re.compile(
    r"['’]?s?\.?\s*(?:degree\s*)?(?:of (?:science|arts|engineering|education|laws?|philosophy)\s+(?=in\b))?"
    r"(?:\([^)]*\)\s*)?(?:in|of)\s+(?P<subject>[^,.;()|–—]+)",
    re.IGNORECASE,
)
_SUBJECT_END = re.compile(r"\b(?:from|at|with|in|and|by|who|while|where|of the|,)\b|\d")


@dataclass(frozen=True)
class Title:
    text: str
    grade: int
    rank: int
    occupation: str
    own: bool
    """Not somebody else's, as in "reported to the Head of Sales"."""


@once
def titles(passage: Passage) -> tuple[Title, ...]:
    if not any(map(_level, passage.tokens)):
        return ()
    found: list[Title] = []
    run: list[Token] = []
    for index, token in enumerate(passage.tokens):
        fits = _is_title_word(token, passage) or (bool(run) and _bridges(passage, index))
        if fits and (not run or passage.text[run[-1].end : token.start] in (" ", "-", " & ")):
            run.append(token)
            continue
        found += _titles_of(run, passage)
        run = [token] if fits else []
    return (*found, *_titles_of(run, passage))


def check_titles(claim: Passage, evidence: Sequence[Passage]) -> Iterator[str]:
    if not titles(claim):
        return
    known = [title for passage in evidence for title in titles(passage)]
    stems = frozenset().union(*(passage.stems for passage in evidence))
    keys = frozenset().union(*(passage.keys for passage in evidence))
    for title in titles(claim):
        words = {bare(word) for word in title.text.split()}
        if not title.own:
            missing = [word for word in words & (set(GRADES) | set(RANKS)) if stem(word) not in stems]
            if missing and not any(other.own for other in known):
                yield f'No cited source speaks of "{title.text}".'
            continue
        if title.occupation and not (
            _practised(title.occupation, stems, keys) or _qualified(title.occupation, evidence)
        ):
            yield f'No cited source gives the title "{title.text}".'
        elif not _ranks(title, [other for other in known if other.own]):
            own = next((other.text for other in known if other.own and other.text), "")
            yield f'No cited source gives the title "{title.text}"{f"; it says {own}" if own else ""}.'


def check_degrees(claim: Passage, evidence: Sequence[Passage]) -> Iterator[str]:
    for name, found in _degrees(claim):
        same = [passage for passage in evidence if any(other == name for other, _ in _degrees(passage))]
        if name == "master" and not same:
            same = [passage for passage in evidence if any(other == "mba" for other, _ in _degrees(passage))]
        if not same:
            yield f'No cited source names the degree "{found.group().strip()}".'
            continue
        unfinished = [passage for passage in same if _UNFINISHED.search(passage.text + passage.rest)]
        if len(unfinished) == len(same) and not _UNFINISHED.search(claim.text):
            yield f'The cited source does not say that the degree "{found.group().strip()}" was finished.'
        kinds = [kind for kind, pattern in _KIND.items() if pattern.search(claim.text)]
        if any(not _of_kind(kind, same) for kind in kinds):
            yield f'No cited source says that the degree was a "{found.group().strip()}".'
        yield from _subject(claim.text[found.end() :], same)
    if not _degrees(claim) and (plain := _PLAIN_DEGREE.search(claim.text)):
        yield from _subject(claim.text[plain.end() :], evidence)


def _is_title_word(token: Token, passage: Passage) -> bool:
    word = bare(token.text).removesuffix("s")
    if re.search("['’]", token.text):
        return False  # the President's Club has many members
    before, after = passage.text[: token.start], passage.text[token.end :]
    if word == "lead":
        after_a_word = token.text[0].isupper() and bool(re.search(r"\w", before))
        return after_a_word or bool(_LEADS.search(before) or _OCCUPATION.match(after))
    if word == "head":
        return bool(_HEAD_OF.match(after) or _HEADS.search(before))
    if word in ("staff", "principal", "partner", "executive", "officer", "student", "associate", "chief", "president"):
        return token.text[0].isupper()
    return bool(_level(token)) or bool(token.text[0].isupper() and token.key not in STOP)


def _level(token: Token) -> bool:
    word = bare(token.text).removesuffix("s")
    return word in GRADES or word in RANKS or word in OCCUPATIONS or bare(token.text) in RANKS


def _bridges(passage: Passage, index: int) -> bool:
    """ "product" in "Lead product designer", "of" and "sales" in "Head of sales"."""
    words = [bare(token.text) for token in passage.tokens[max(0, index - 2) : index + 3]]
    here = min(index, 2)
    before, word, after = words[here - 1], words[here], words[here + 1 : here + 3]
    if word == "of":
        return before in RANKS or before in ("vice", "officer")
    if before == "of" and here > 1 and words[here - 2] in RANKS:
        return word not in STOP
    bridged = next((place for place, other in enumerate(after) if other in OCCUPATIONS or other in RANKS), None)
    return word not in STOP and word.isalpha() and bridged is not None and not set(after[:bridged]) & STOP


def _titles_of(run: Sequence[Token], passage: Passage) -> list[Title]:
    while run and bare(run[-1].text) == "of":
        run = run[:-1]
    return [_title(run, passage)] if any(_level(token) for token in run) else []


def _title(run: Sequence[Token], passage: Passage) -> Title:
    last = next(token for token in reversed(run) if _level(token))
    plural = bare(last.text).endswith("s") and bare(last.text) not in (*RANKS, *OCCUPATIONS)
    levels = [bare(token.text).removesuffix("s") for token in run if _level(token)]
    before = passage.text[: run[0].start]
    own = not plural and (bool(_OWN.search(before)) or not _OTHERS.search(before))
    rank = max((RANKS.get(word, 0) for word in levels), default=0)
    if levels[-1] == "lead":  # a team lead manages; a lead engineer is a senior one
        rank = max(rank, 1)
    first = next(index for index, token in enumerate(run) if _level(token))
    words = run[first:] if run[0].start == 0 else run
    occupations = [word for word in levels if word in OCCUPATIONS]
    grade = max((GRADES[word] for word in levels if word in GRADES), default=2)
    text = passage.text[words[0].start : words[-1].end]
    return Title(text, grade, rank, occupations[-1] if occupations else "", own)


def _practised(occupation: str, stems: frozenset[str], keys: frozenset[str]) -> bool:
    return stem(occupation) in stems or canonical(occupation) in keys or canonical(occupation) + "s" in keys


def _qualified(occupation: str, evidence: Sequence[Passage]) -> bool:
    field = frozenset(stem(canonical(word)) for word in QUALIFIED.get(occupation, "").split())
    studied = any(_degrees(passage) and field <= _studied(passage) for passage in evidence)
    return bool(field) and studied and any(_REGISTERED.search(passage.text) for passage in evidence)


def _ranks(title: Title, known: Sequence[Title]) -> bool:
    alike = [
        other for other in known if title.occupation and canonical(other.occupation) == canonical(title.occupation)
    ]
    grade = max(
        (other.grade for other in alike or known if other.occupation or other.grade != 2 or other.rank), default=2
    )
    rank = max((other.rank for other in known), default=0)
    graded = title.grade <= max(grade, 2) or (rank >= 1 and title.grade == 4) or rank >= 2 > title.rank
    return graded and title.rank <= rank and not _stood_in(title, alike)


def _stood_in(title: Title, alike: Sequence[Title]) -> bool:
    """Whether all they were is deputy, assistant or learner of what the claim calls them."""
    return bool(alike) and title.grade == 2 and all(_NOT_YET & set(bare(other.text).split()) for other in alike)


@once
def _degrees(passage: Passage) -> tuple[tuple[str, re.Match[str]], ...]:
    """The longest name wins where two could be read: an MBA is no MA."""
    found: list[tuple[str, re.Match[str]]] = []
    if _ANY_DEGREE.search(passage.text):
        for name, pattern in _DEGREE.items():
            for match in pattern.finditer(passage.text):
                if not any(match.start() < other.end() and other.start() < match.end() for _, other in found):
                    found.append((name, match))
    return tuple(found)


def degree_places(passage: Passage) -> list[tuple[int, int]]:
    """Where degrees and their kinds stand: they are no names."""
    places = [found.span() for _, found in _degrees(passage)]
    return (
        places + [found.span() for pattern in _KIND.values() for found in pattern.finditer(passage.text)]
        if places
        else []
    )


def _of_kind(kind: str, evidence: Sequence[Passage]) -> bool:
    return any(_KIND[kind].search(passage.text) for passage in evidence)


@once
def _studied(passage: Passage) -> frozenset[str]:
    """The stems of its words, and of what the letters of its degrees stand for."""
    letters = [re.sub(r"\W", "", found.group().lower()) for _, found in _degrees(passage)]
    fields = [stem(canonical(word)) for name in letters for word in DEGREE_FIELDS.get(name, "").split()]
    return passage.stems | {stem(key) for key in passage.keys} | frozenset(fields)


def _subject(after: str, evidence: Sequence[Passage]) -> Iterator[str]:
    if not (found := _SUBJECT.match(after)):
        return
    subject = _SUBJECT_END.split(found["subject"])[0].strip()
    words = [bare(word) for word in re.findall(r"[^\W\d_]{2,}", subject)]
    wanted = {stem(word) for word in words if word not in STOP and word not in ("science", "arts", "engineering")}
    if not any(wanted <= _studied(passage) for passage in evidence) and not any(
        "".join(word[0] for word in words) in passage.keys for passage in evidence
    ):
        yield f'No cited source gives a degree in "{subject}".'
