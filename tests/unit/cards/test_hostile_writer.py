"""A document writer that writes anything, and a judge that says yes to all of it: every sentence of the document still
has a quote from the user, and none is based on the advert.

`TRIES` is the number of documents of each kind. The random choices are seeded.
"""

import random
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.cards import reader as writing
from qwestly_agent.cards.model import LETTER, OUTLINES, POSITIONS, SUMMARY
from qwestly_agent.cards.reader import SectionOrder, SectionWriter
from qwestly_agent.cards.writer import checked_card
from qwestly_agent.documents.content import content_of
from qwestly_agent.domain.card import CheckedCard, Claim, Evidence, Fields, SectionDraft, TailoredKind
from qwestly_agent.domain.job import Advert
from qwestly_agent.grounding.judge import Judge, Judged, Question
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.drafts import Draft
from tests.counts import count
from tests.unit.cards.test_write_section import services

__all__ = ["services"]
"""A fixture reused here."""

pytestmark = [pytest.mark.anyio, pytest.mark.thorough]
TRIES = count(25, 500, small=2)  # of each kind
SAID, GUESSED, SHARED = "I coach a chess club of 12.", "Probably leads forty people.", "She holds a doctorate."
EVIDENCE = {
    each.id: each
    for each in (
        Evidence(id="memory:1", kind="memory", trust="user_said", text=SAID, source="your message"),
        Evidence(id="memory:2", kind="memory", trust="inferred", text=GUESSED, source="a guess"),
        Evidence(id="memory:3", kind="memory", trust="external", text=SHARED, source="a page"),
        Evidence(
            id="employment:1",
            kind="employment",
            trust="user_said",
            text="Senior PM, Northwind Pay\nOwns the merchant API.",
            source="your profile",
            fields=Fields(company="Northwind Pay", title="Senior PM"),
        ),
    )
}
WISHED = ("We won the Lisbon Startup Award in 2023.", "We ask for ten years of Kubernetes.", "Led forty people.")
ADVERT = Advert(id="adzuna:1", title="Head of Product", company="Kestrel", text="\n".join(WISHED), board="adzuna")
SENTENCES = (
    *WISHED,
    "Holds a doctorate",
    "Coaches a chess club of 12",
    "Coaches 120 clubs",
    "Owns the merchant API",
    "-",
)
WORDS = (
    *WISHED,
    SAID,
    "coach a chess club",
    "Owns the merchant API.",
    GUESSED,
    SHARED,
    f"{SAID} {WISHED[0]}",
    "",
    "12",
)
SOURCES = (*EVIDENCE, "advert", ADVERT.id, f"advert:{ADVERT.id}", "wish", "memory:9", "memory:1;", "person:0", "")
SECTIONS: Mapping[TailoredKind, Sequence[str]] = {"resume": (SUMMARY, POSITIONS), "cover_letter": (LETTER,)}
CODE = {"Dear hiring team,", "Kind regards,", "Maya"}
"""Texts written by code."""


async def _says_yes(questions: Sequence[Question]) -> Mapping[int, Judged]:
    return {each.number: Judged(id=each.number, span=each.quotes[0].text) for each in questions}


def _judge(*_: Any, **__: Any) -> Judge:
    return _says_yes


def _claim(chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.2:  # as an honest model does
        return {"text": "Coaches a chess club of 12", "quotes": [f"memory:1 {SAID}"]}
    quotes = [f"{chance.choice(SOURCES)} {chance.choice(WORDS)}" for _ in range(chance.randint(1, 3))]
    claimed = (
        {"by_person": True, "position": "employment:1"} if chance.random() < 0.3 else {}
    )  # only the user may say this
    return {"text": chance.choice(SENTENCES), "quotes": quotes, **claimed}


async def _document(services: ModelServices, user_id: str, kind: TailoredKind, model: ModelServer, seed: int) -> Draft:
    chance, parts = random.Random(seed), dict[str, Any]()
    for section in SECTIONS[kind]:
        claims = [_claim(chance) for _ in range(8)]
        answer = {"heading": chance.choice(("", *WISHED)), "claims": claims}
        model.script(*[Reply(tool_calls=[{"name": "final_result", "arguments": answer}])] * 3)
        order = SectionOrder(OUTLINES[section], "concise", EVIDENCE, advert=ADVERT.text)
        written = (await SectionWriter(services, user_id, order, _keep).write()).model_copy(update={"done": True})
        parts[f"section_{section}"] = written.model_dump(mode="json")
    evidence = [each.model_dump(mode="json") for each in EVIDENCE.values()]
    given = {**parts, "plan": list(SECTIONS[kind]), "evidence": evidence}
    given |= {"advert": ADVERT.model_dump(mode="json")}
    made = {"id": "d", "user_id": user_id, "run_id": "r", "conversation_id": None, "kind": kind, "style": "concise"}
    draft = Draft(**made, label="", created_at=0, updated_at=0, parts=given)
    checked = checked_card(draft, 1).model_dump(mode="json")
    return draft.model_copy(update={"parts": {**given, "card": {"checked": checked}}})


async def _keep(_: SectionDraft) -> None: ...


@pytest.mark.sentinel
@pytest.mark.parametrize("kind", SECTIONS)
async def test_every_document_sentence_has_a_quote_from_its_user(
    services: ModelServices, model: ModelServer, monkeypatch: pytest.MonkeyPatch, kind: TailoredKind
) -> None:
    monkeypatch.setattr(writing, "make_judge", _judge)
    shown = 0
    for seed in range(TRIES):
        draft = await _document(services, f"auth0|{uuid.uuid4().hex}", kind, model, seed)
        card = CheckedCard.model_validate(draft.parts["card"]["checked"]).card
        assert all(map(_rests_on_the_person, card.claims)), card.claims
        said = {each.text for each in card.claims}
        for block in content_of(draft, {"name": "Maya", "location": "Lisbon"}).blocks if said else ():
            lines = set(block.lines) - CODE
            assert not any(_without(line, said) for line in lines), lines
            assert block.heading not in WISHED
            shown += len(lines)
    assert shown, "what they said is shown"


def _rests_on_the_person(claim: Claim) -> bool:
    return bool(claim.quotes) and all(
        each.source in EVIDENCE
        and EVIDENCE[each.source].publishable
        and find_span(each.text, EVIDENCE[each.source].text)
        for each in claim.quotes
    )


def _without(paragraph: str, sentences: set[str]) -> str:
    for each in sorted(sentences, key=len, reverse=True):
        paragraph = paragraph.replace(f"{each}.", "").replace(each, "")  # a letter ends each sentence with a full stop
    return paragraph.strip()
