"""Evidence as the gate reads it: its passages, and which employer or school each of them tells of."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from qwestly_agent.cards.dates import dates_in
from qwestly_agent.cards.lexicon import INSTITUTIONS, LEGAL_FORMS, STOP
from qwestly_agent.cards.model import Claim, Evidence, EvidenceById
from qwestly_agent.cards.passages import Passage, bare, passages
from qwestly_agent.cards.titles import titles

_INCORPORATED = re.compile(
    r"(?P<name>\b[A-ZÀ-Þ][\w&.'’-]*),? (?:GmbH|Inc|Ltd|LLC|plc|PLC|AG|SE|Corp|B\.V|BV|N\.V|NV|S\.A|SA|Oy|AB|Limited)\b"
)
_EMPLOYED = re.compile(
    r"\b(?:at|bei|chez|joined|for)\s+(?P<name>(?-i:[A-ZÀ-Þ])[\w&.'’-]*(?: (?-i:[A-ZÀ-Þ])[\w&'’-]*)*)", re.IGNORECASE
)


@dataclass(frozen=True)
class Read:
    passages: tuple[Passage, ...]
    organisations: frozenset[str]
    """Words that name employers and schools."""


def cited_by(claim: Claim, evidence: EvidenceById, known: Mapping[str, Read]) -> Read:
    """All that the claim cites and that may be published, as one."""
    items = [known[name] for name in claim.evidence if name in evidence and evidence[name].publishable]
    return Read(
        tuple(passage for item in items for passage in item.passages),
        frozenset[str]().union(*(item.organisations for item in items)),
    )


def read_evidence(evidence: Evidence) -> Read:
    found = tuple(passage for text in _texts(evidence) for passage in passages(text, evidence.id))
    names = [evidence.fields.company, evidence.fields.school]
    names += [match["name"] for p in found if dates_in(p).spans for match in _EMPLOYED.finditer(p.text)]
    names += [match["name"] for p in found for match in _INCORPORATED.finditer(p.text)]
    names += [above.text.split(",")[0] for above, below in pairwise(found) if _heads(above, below)]
    organisations = frozenset(_name_words(names))
    return Read(tuple(_with_employers(found, organisations)), organisations)


def _heads(above: Passage, below: Passage) -> bool:
    """Whether an employer has the line above that of the title and the dates."""
    short = len(above.tokens) <= 6 and not above.is_bullet and not above.text.endswith(".")
    return (
        short and not dates_in(above).mentions and not titles(above) and bool(dates_in(below).spans and titles(below))
    )


def _with_employers(found: Sequence[Passage], organisations: frozenset[str]) -> Iterator[Passage]:
    """A bullet, and a line of dates, tell of the employer in the heading above them."""
    employer = frozenset[str]()
    for above, passage in pairwise([Passage("", "says"), *found]):
        below = _heads(above, passage)
        if named := passage.keys & organisations:
            employer = named
        about = named or (employer if passage.is_bullet or below else frozenset())
        yield replace(passage, about=about) if about else passage


def _texts(evidence: Evidence) -> Iterator[str]:
    """The text, and the fields as the sentence that they mean."""
    fields = evidence.fields
    yield evidence.text
    time = " – ".join(filter(None, (fields.start, fields.end)))
    if role := ", ".join(filter(None, (fields.title, fields.degree, fields.company, fields.school, time))):
        yield role
    if fields.skills:
        yield f"Skills: {', '.join(fields.skills)}"


def _name_words(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        for passage in passages(name):
            yield from (t.key for t in passage.tokens if bare(t.text) not in LEGAL_FORMS | INSTITUTIONS | STOP)
