"""The labelled claims: sources, a statement, and whether the statement is true."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, TypeAlias

import yaml

from evals.packed import read_lines
from infra.local.environment import SafeLoader
from qwestly_agent.grounding.model import Quote, QuotedSource, Statement

FOLDER = Path(__file__).parent / "claims"
UNSEEN = FOLDER.parent / "unseen.jsonl.gz"
TODAY = date(2026, 11, 22)
"""The date for which the labels hold: "for six years" depends on it."""

Half: TypeAlias = Literal["tuned", "kept"]
"""Checks are tuned on the half `tuned`; `kept` is kept aside for the final figures."""

TRUE_KINDS = ("paraphrase", "format", "arithmetic", "translation", "merge")
EXACT_KINDS = ("digit", "date", "unit", "currency", "percent")
MEANING_KINDS = (
    "negation", "direction", "person", "employer", "tense", "rank", "scope", "cause", "praise", "merged", "certainty",
    "invention",
)  # fmt: skip
FIELDS = ("employer", "title", "from", "to", "degree", "school")
_TRUST = {
    "user_said": "user_said",
    "transcript": "user_said",
    "resume": "user_document",
    "employment": "tool",
    "education": "tool",
    "external": "external",
    "inferred": "inferred",
}


@dataclass(frozen=True)
class Case:
    """One claim about one person."""

    person: str
    trade: str
    half: Half
    sources: Mapping[str, QuotedSource]
    statement: Statement
    true: bool
    kind: str
    why: str
    """Why the claim is false; empty if it is true."""


def load(path: Path = FOLDER) -> list[Case]:
    """Load all claims of a folder of YAML files, in order, or of a packed set."""
    if path.is_dir():
        files = (file.read_text(encoding="utf-8") for file in sorted(path.glob("*.yaml")))
        rounds = [yaml.load(text, SafeLoader) for text in files]  # noqa: S506
    else:
        people = map(json.loads, read_lines(path))
        rounds = [list(some) for _, some in groupby(people, key=itemgetter("round"))]
    return [case for people in rounds for case in _cases(people)]


def _cases(people: Sequence[Mapping[str, Any]]) -> Iterator[Case]:
    for index, person in enumerate(people):
        half: Half = "kept" if index % 2 else "tuned"
        sources = {given["id"]: _source(given) for given in person["sources"]}
        for claim in person["claims"]:
            yield Case(
                person=person["person"],
                trade=person["trade"],
                half=half,
                sources=sources,
                statement=_statement(claim),
                true=claim["label"],
                kind=claim["kind"],
                why=claim.get("why", ""),
            )


def _source(given: Mapping[str, Any]) -> QuotedSource:
    return QuotedSource(
        id=given["id"],
        text=given["text"],
        trust=_TRUST[given["kind"]],
        language=language_of(given),
        fields={name: str(given[name]) for name in FIELDS if name in given},
    )


def _statement(claim: Mapping[str, Any]) -> Statement:
    quotes = tuple(Quote(**quote) for quote in claim["quotes"])
    return Statement(text=claim["text"], quotes=quotes, language=language_of(claim))


def language_of(given: Mapping[str, Any]) -> str:
    """Return the labelled language. In production evidence has no label: replace this function to measure the
    effect."""
    return given["language"]
