"""What the scripted model writes when it is asked for a section of a career document: what the evidence in the request
says, put together by rule. Told to exaggerate (by whoever, in a wish or in the evidence) it invents; told then what was
refused, it takes that back, unless it was told to insist."""

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

IS_ASKED = "You write one section of a career document"

_EVIDENCE = re.compile(r'<evidence id="(?P<id>[^"]*)"[^>]*>(?P<text>.*?)</evidence>', re.DOTALL)
_WISH = re.compile(r"<wish>(?P<text>.*?)</wish>", re.DOTALL)
_SECTION = re.compile(r"Section “(\w+)”")
_MENTION = re.compile(r"mention (?:that )?(?:I )?(?P<what>[^.]+)", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\d,.-])\d{1,3}\b(?![,.-]?\d)")
_REFUSED = "This of it was refused"
_MOST = {"headline": 1, "summary": 4, "skills": 6, "education": 6, "preferences": 5, "about": 8}

Claim = dict[str, Any]


def section(words: str) -> dict[str, Any]:
    """Heading and claims, for the user's message of such a request."""
    found = _SECTION.search(words)
    kind = found[1] if found else "summary"
    evidence = {match["id"]: html.unescape(match["text"]) for match in _EVIDENCE.finditer(words)}
    claims = list(_claims(kind, evidence))
    told = words.lower()
    if "exaggerate" in told and (_REFUSED not in words or "insist" in told):
        claims = [*_lies(kind, evidence), *claims]
    if kind in ("summary", "about"):
        claims += _mentioned(words, evidence)
    return {"heading": "", "claims": claims[: _MOST.get(kind, 12)]}


def _claims(kind: str, evidence: Mapping[str, str]) -> Iterator[Claim]:
    match kind:
        case "headline":
            yield from (_claim(f"{_role(text)}", name) for name, text in _of(evidence, "employment"))
        case "summary" | "about":
            for name, text in _of(evidence, "profile"):
                yield from (_claim(line, name) for line in text.splitlines() if ":" not in line)
        case "experience":
            for name, text in _of(evidence, "employment"):
                role, *more = text.splitlines()
                yield _claim(f"{_role(role)}, {more.pop()}" if more else _role(role), name)
                yield from (_claim(line, name) for line in more)
        case "achievements":
            for name, text in [*_of(evidence, "document"), *_of(evidence, "memory")]:
                yield from (_claim(sentence, name) for sentence in _sentences(text) if _counts(sentence))
        case "skills":
            yield from (_claim(text.replace("Skills:", "Skilled in"), name) for name, text in _of(evidence, "skills"))
        case "education":
            yield from (_claim(text.splitlines()[0], name) for name, text in _of(evidence, "education"))
        case "preferences":
            for name, text in _of(evidence, "preferences"):
                yield from (_claim(line.replace(":", "", 1), name) for line in text.splitlines())


def _lies(kind: str, evidence: Mapping[str, str]) -> Iterator[Claim]:
    stints = _of(evidence, "employment")
    name, role, start = ("employment:1", "Engineer", "2021")
    if stints:
        name, role, start = stints[0][0], _role(stints[0][1]), stints[0][1].splitlines()[-1][:4]
    match kind:
        case "experience":
            yield _claim("Senior Product Manager at Globex", name)
            yield _claim(f"{role} since {int(start) - 5}", name)
        case "achievements":
            for each, text in [*_of(evidence, "memory"), *_of(evidence, "document")]:
                for sentence in filter(_counts, _sentences(text)):
                    yield _claim(_NUMBER.sub(r"\g<0>0", sentence, count=1), each)
                    return
        case "skills":
            yield from (_claim("Skilled in Kubernetes and Rust", each) for each, _ in _of(evidence, "skills"))
        case "education":
            yield from (_claim("PhD in Economics, University of Lagos", each) for each, _ in _of(evidence, "education"))


def _mentioned(words: str, evidence: Mapping[str, str]) -> list[Claim]:
    notes = _of(evidence, "person")
    wishes = [found["what"].strip() for wish in _WISH.findall(words) if (found := _MENTION.search(html.unescape(wish)))]
    return [_claim(what[:1].upper() + what[1:], notes[-1][0]) for what in wishes[-1:] if notes]


def _of(evidence: Mapping[str, str], kind: str) -> list[tuple[str, str]]:
    return [(name, text) for name, text in evidence.items() if name.partition(":")[0] == kind and text.strip()]


def _role(text: str) -> str:
    title, _, rest = text.splitlines()[0].partition(", ")
    company = rest.partition(", ")[0]
    return f"{title} at {company}" if company else title


def _sentences(text: str) -> list[str]:
    return [sentence.strip("-•* ") for sentence in re.split(r"(?<=[.!?;])\s+|\n", text) if sentence.strip("-•* ")]


def _counts(sentence: str) -> bool:
    """Whether it tells of a number that is no year."""
    return bool(_NUMBER.search(sentence)) and len(sentence.split()) > 4


def _claim(text: str, name: str) -> Claim:
    return {"text": text.strip()[:400], "evidence": [name]}
