"""A writer that exaggerates, over 33 labelled claims of three people, with judges of known quality."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from html import unescape
from typing import Any

import pytest

import qwestly_agent.cards.reader as writing
from evals.claims import UNSEEN, load
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.approvals.mail import message_of
from qwestly_agent.approvals.templates import Brand, render
from qwestly_agent.base.errors import ModelUnavailable
from qwestly_agent.bootstrap import bootstrap_models
from qwestly_agent.cards.model import CARD
from qwestly_agent.cards.publication import publication_of
from qwestly_agent.cards.reader import OUTPUT_RETRIES, SectionOrder, SectionWriter
from qwestly_agent.cards.writer import checked_card
from qwestly_agent.documents.content import content_of, file_of
from qwestly_agent.documents.view import document_detail
from qwestly_agent.domain.approval import Preview
from qwestly_agent.domain.card import Evidence, SectionDraft
from qwestly_agent.grounding.facts import says
from qwestly_agent.grounding.judge import Judge, Judged, Question
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.drafts import Draft
from tests.servers import settings_for
from tests.unit.approvals.test_mail import NOW, PERSON, TOKEN, approval, at

pytestmark = pytest.mark.anyio
PEOPLE = ("c-en-02", "c-en-06", "c-en-10")
CASES = [case for case in load(UNSEEN) if case.person in PEOPLE]
LIES = [case for case in CASES if not case.true]
"""Each has a figure, a date or a unit that is in no quote."""


@pytest.fixture
async def services(mongodb_uri: str, model: ModelServer, database_name: str) -> AsyncIterator[ModelServices]:
    services = await bootstrap_models(settings_for(mongodb_uri, model.base_url, database_name))
    yield services
    await services.close()


def knows(question: Question) -> Judged:
    """Say yes, and for each mark return the first words of the quote that code cannot distinguish from it."""
    texts = [each.text for each in question.quotes]
    pairs = [" ".join(words[at : at + 2]) for words in map(str.split, texts) for at in range(len(words))]

    def meant(mark: str) -> str:
        runs = (run for run in (*texts, *pairs) if says(run, mark, question.statement, question.quotes))
        return next(runs, texts[0])

    return Judged(id=question.number, span=texts[0], meant=list(map(meant, question.look_at)))


async def of_its_word(questions: Sequence[Question]) -> Mapping[int, Judged]:
    lies = {case.statement.text for case in LIES}
    return {
        each.number: Judged(id=each.number, why="It is not so.") if each.statement.text in lies else knows(each)
        for each in questions
    }


async def says_yes(questions: Sequence[Question]) -> Mapping[int, Judged]:
    return {each.number: knows(each) for each in questions}


async def is_down(_: Sequence[Question]) -> Mapping[int, Judged]:
    raise ModelUnavailable


@pytest.fixture
def drafts(services: ModelServices, model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    async def written(judge: Judge, kind: str = "card") -> list[Draft]:
        monkeypatch.setattr(writing, "make_judge", lambda *_, **__: judge)
        return [await _draft(services, model, person, kind) for person in PEOPLE]

    return written


async def _draft(services: ModelServices, model: ModelServer, person: str, kind: str) -> Draft:
    cases = [case for case in CASES if case.person == person]
    evidence = {
        each.id: Evidence(id=each.id, kind="document", trust="user_document", text=each.text, source="résumé.pdf")
        for each in cases[0].sources.values()
    }
    claims = [
        {"text": each.text, "quotes": [f"{quote.source} {quote.text}" for quote in each.quotes]}
        for each in (case.statement for case in cases)
    ]
    section = "positions" if kind == "resume" else "experience"
    answers = ({"heading": "", "claims": claims},) * (OUTPUT_RETRIES + 1), ({"claims": []},)
    model.script(
        *(Reply(tool_calls=[{"name": "final_result", "arguments": each}]) for some in answers for each in some)
    )
    outlined = replace(CARD["experience"], kind=section, most_claims=len(claims))

    async def keep(_: SectionDraft) -> None: ...

    written = await SectionWriter(services, person, SectionOrder(outlined, "standard", evidence), keep).write()
    model.script()
    parts = {
        "plan": [section],
        f"section_{section}": written.model_copy(update={"done": True}).model_dump(mode="json"),
        "evidence": [each.model_dump(mode="json") for each in evidence.values()],
    }
    given = {"id": "d", "user_id": person, "run_id": "r", "conversation_id": None, "style": "standard", "kind": kind}
    draft = Draft(**given, status="drafted", label="", created_at=0, updated_at=0, parts=parts)
    checked = checked_card(draft, 1).model_dump(mode="json")
    return draft.model_copy(update={"parts": {**parts, "card": {"checked": checked}}})


def _preview(draft: Draft) -> Preview:
    preview = publication_of(draft).preview
    assert preview
    return preview


def _texts(drafts: Sequence[Draft]) -> set[str]:
    return {claim.text for draft in drafts for section in _preview(draft).sections for claim in section.claims}


def test_the_set_has_the_expected_number_of_claims() -> None:
    assert (len(CASES), len(LIES)) == (33, 12)


async def test_with_a_reliable_judge_no_lie_passes_and_no_truth_is_lost(drafts: Any) -> None:
    assert _texts(await drafts(of_its_word)) == {case.statement.text for case in CASES if case.true}


async def test_with_a_yes_saying_judge_each_lie_is_marked_for_the_user(
    drafts: Any,
) -> None:
    standing = [*zip(PEOPLE, await drafts(says_yes), await drafts(says_yes, "resume"), strict=True)]
    checked = 0
    for person, card, resume in standing:
        preview = _preview(card)
        shown = {claim.text: claim for section in preview.sections for claim in section.claims}
        in_document = {claim.text: claim for claim in document_detail(resume, 1, {"name": "Ada"}, None).sentences}
        asked = approval(preview=preview)
        page = render("page.html", Brand(), **_page(asked))
        mail, html = message_of(asked, at("https://x.test/approve"), PERSON, TOKEN, NOW)[1:]
        for case in LIES:
            if case.person != person or case.statement.text not in shown:
                continue
            assert shown[case.statement.text].marks, case.statement.text
            for mark in shown[case.statement.text].marks:
                assert mark in in_document[case.statement.text].marks
                for text, around in ((unescape(page), "<u>{}</u>"), (mail, "_{}_"), (unescape(html), ">{}</u>")):
                    assert around.format(mark) in text, (case.statement.text, mark)
                checked += 1
    assert checked


async def test_without_a_judge_only_the_users_words_are_published_or_downloaded(drafts: Any) -> None:
    said = "\n".join(source.text for case in CASES for source in case.sources.values())
    written = {case.statement.text for case in CASES if not find_span(case.statement.text, said)}
    for card, resume in zip(await drafts(is_down), await drafts(is_down, "resume"), strict=True):
        published = publication_of(card).args["content"]["sections"]
        lines = [claim for section in published for claim in section["claims"]]
        assert lines
        assert all(find_span(part, said) for line in lines for part in _parts(line))
        text = unescape(file_of(content_of(resume, {"name": "Ada"}), "html").decode())
        assert not [each for each in written if each in text]
        assert all(part in text for line in lines for part in _parts(line))


async def test_without_a_judge_no_truth_is_lost(drafts: Any) -> None:
    lines = " … ".join(_texts(await drafts(is_down)))
    for case in CASES:
        if case.true:
            assert all(
                find_span(part, lines)
                for quote in case.statement.quotes
                for part in _parts(quote.text.replace("\n", " · "))
            )


def _parts(line: str) -> Iterator[str]:
    return (words.strip() for part in line.split(" … ") for words in part.split(" · ") if words.strip())


def _page(asked: Any) -> dict[str, Any]:
    empty = {"heading": "", "sentence": "", "notice": "", "public_url": "", "words": "", "left": "a week"}
    return {
        **empty, "approval": asked, "person": PERSON, "first_name": "", "waits": True, "by_link": True, "effect": "",
        "reworded": [], "difference": [], "revisable": True, "is_frozen": False, "longest": 100, "zone": "UTC",
    }  # fmt: skip
