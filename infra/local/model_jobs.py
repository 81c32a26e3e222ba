"""Compare adverts with a person by shared words, for the scripted model."""

import html
import re
from collections.abc import Sequence
from typing import Any

_ADVERTS = re.compile(r"<adverts>(?P<text>.*)</adverts>", re.DOTALL)
_EVIDENCE = re.compile(r"<evidence>(?P<text>.*)</evidence>", re.DOTALL)
_JOB = re.compile(r"^job (?P<number>\d+)$", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]{5,}")
_IN_EVERY_ADVERT = (
    "their there which would experience years about looking answer application people every within senior junior"
)
_COMMON = frozenset(_IN_EVERY_ADVERT.split())
MOST_REASONS = 2


def compare_jobs(texts: Sequence[str]) -> dict[str, Any]:
    """Return a reason for each line of the advert that shares words with a line of the evidence, quoting both."""
    adverts, evidence = _ADVERTS.search(texts[0]), _EVIDENCE.search(texts[0])
    if not adverts or not evidence:
        return {"jobs": []}
    pieces = [piece.split("\n", 1) for piece in html.unescape(evidence["text"]).strip().split("\n\n") if "\n" in piece]
    told = html.unescape(adverts["text"])
    parts = _JOB.split(told)[1:]
    jobs = zip(parts[::2], parts[1::2], strict=True)
    return {"jobs": [_compared(int(number), text.strip(), pieces) for number, text in jobs]}


_PLACES = re.compile(r"\b(?:in|at|near) ((?:[A-ZÄÖÜ][\w-]+)(?: [A-ZÄÖÜ][\w-]+)*)")
_ASKS = re.compile(
    r"^\W*(?:we ask for|you have|you bring|requirements?|wir erwarten|das bringst du mit|lo que pedimos)\b", re.I
)


def _compared(number: int, advert: str, pieces: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Compare line by line. A shared place is not a reason: places are wishes, which code compares."""
    places = {word for found in _PLACES.findall(advert) for word in _words(found)}
    title, *lines = advert.splitlines() or [""]
    told = [
        (source.strip(), said.strip(), _words(said) - places) for source, text in pieces for said in text.splitlines()
    ]
    found = [
        (
            line.strip(),
            max(
                ((len((_words(line) - places) & words), source, said, words) for source, said, words in told),
                default=None,
            ),
        )
        for line in lines
        if line.strip()
    ]
    fits = sorted(((best, line) for line, best in found if best and best[0]), key=lambda each: -each[0][0])
    reasons = [
        {
            "text": f"You can do it: “{_clause(best[2], _words(line) - places)}”",  # short words: see `_verdict`
            "advert_quote": line[:400],
            "person_quote": best[2][:400],
            "person_source": best[1],
        }
        for best, line in fits[:MOST_REASONS]
    ]
    missing = [line for line, best in found if _ASKS.match(line) and not (best and best[0])]
    against = [{"text": re.sub("^We ask", "They ask", line)[:300], "advert_quote": line[:400]} for line in missing]
    named = bool((_words(title) - places) & {word for _, _, words in told for word in words})
    return {
        "job": number,
        "fit": max(1.0, min(9.5, 4.0 + 1.5 * len(reasons) + named - len(missing))) if reasons else 2.0,
        "reasons_for": reasons,
        "reasons_against": against[:1],
    }


def _clause(said: str, words: set[str]) -> str:
    """Return the part of a line that shares the most words."""
    return max(re.split(r"[,.;:] +", said.rstrip(".")), key=lambda each: len(_words(each) & words))[:120]


_PIECES = re.compile(r'<evidence id="(?P<id>[^"]*)"[^>]*>(?P<text>.*?)</evidence>', re.DOTALL)
MET, PARTLY = 2, 1
"""Minimum number of words that a line of the advert must share with a line of the evidence."""


def cover_advert(texts: Sequence[str]) -> dict[str, Any]:
    """Return the advert's requirements: met if a line of the evidence shares two words, partly met with one."""
    advert = _ADVERTS.search(texts[0])
    told = html.unescape(advert["text"]) if advert else ""
    evidence = [(each["id"], html.unescape(each["text"])) for each in _PIECES.finditer(texts[0])]
    lines = [line.strip() for line in told.splitlines() if line.startswith("We ask for")]
    return {"requirements": [_covered(line, evidence) for line in lines]}


def _covered(line: str, evidence: Sequence[tuple[str, str]]) -> dict[str, Any]:
    said = [(len(_words(line) & _words(each)), source, each) for source, text in evidence for each in text.splitlines()]
    shared, source, words = max(said, default=(0, "", ""))
    met = "met" if shared >= MET else "partly" if shared >= PARTLY else "not_met"
    quotes = [f"{source} {words.strip()}"] if shared else []
    requirement = line.removeprefix("We ask for").strip(" .:")
    return {"requirement": requirement, "advert_quote": line, "met": met, "quotes": quotes}


def _words(text: str) -> set[str]:
    return {each.lower() for each in _WORD.findall(text)} - _COMMON
