"""Work that a conversation can start: a card in parallel, and an About section within a turn."""

import uuid
from dataclasses import replace
from typing import Any

import pytest

from infra.local.model_server import ModelServer, Reply
from qwestly_agent import container
from qwestly_agent.account import delete
from qwestly_agent.base.errors import Braked, Invalid, NotFound, Unavailable
from qwestly_agent.cards import reader
from qwestly_agent.cards.drafts import text_of
from qwestly_agent.cards.forget import FORGOTTEN, forget_in_drafts
from qwestly_agent.cards.model import NothingToTell
from qwestly_agent.cards.publication import publication_of
from qwestly_agent.cards.start import ALIVE_SECONDS, GONE_ON_WITH_SECONDS, MOST_WAITING, Cards, ProfileText
from qwestly_agent.domain.card import Style
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.messages import NewTurn
from tests.counts import everyday
from tests.servers import until
from tests.statemachines.conftest import Person, World


def begins(person: Person, style: Style = "concise", run: str = "run1", wish: str = "") -> Draft:
    asks_in_a_conversation(person)
    draft = container.model_services.run(lambda services: Cards(services, person.user_id, run, "c1").start(style, wish))
    person.draft_id = draft.id
    return draft


def asks_in_a_conversation(person: Person) -> None:
    turn = NewTurn("run1", "m1", "Make me a card", person.world.clock())
    container.model_services.run(lambda services: services.conversations.create(person.user_id, "c1", turn, "default"))


def about(person: Person, wish: str = "", run: str = "run1") -> ProfileText:
    return container.model_services.run(
        lambda services: Cards(services, person.user_id, run, "c1").about("story", wish)
    )


def drafts_of(person: Person) -> list[Draft]:
    return container.model_services.run(lambda services: services.drafts.newest(person.user_id, 10))


def executions(person: Person) -> int:
    return len([each for each in person.world.aws.workflows() if each.name == f"card-{person.draft_id}"])


@pytest.mark.thorough
def test_a_card_is_drafted_in_parallel_to_its_conversation(ada: Person) -> None:
    draft = begins(ada)
    assert (draft.kind, draft.status, draft.style, draft.conversation_id) == ("card", "running", "concise", "c1")
    asked = ada.is_asked()
    assert (asked.conversation_id, asked.run_id, asked.arguments["content"]["style"]) == ("c1", "run1", "concise")


@pytest.mark.thorough
def test_a_card_of_a_deleted_conversation_is_no_longer_asked_about(ada: Person) -> None:
    begins(ada)
    ada.is_asked()
    container.model_services.run(lambda services: delete(services, ada.user_id, "c1"))
    until(lambda: [each.status for each in ada.world.aws.workflows() if ada.draft_id in each.name] == ["SUCCEEDED"])
    assert (ada.draft().status, ada.draft().conversation_id) == ("expired", None)


@pytest.mark.thorough
def test_the_same_request_twice_starts_one_card(ada: Person, model: ModelServer) -> None:
    model.fault = Reply(hold_after=0)
    first = begins(ada)
    assert begins(ada).id == first.id
    assert begins(ada, run="run2").id == first.id, "it is being made already"
    assert executions(ada) == 1
    model.fault = None
    model.release()
    ada.is_asked()


@pytest.mark.thorough
def test_the_number_of_waiting_cards_is_limited(ada: Person) -> None:
    now = ada.world.clock()
    for n in range(MOST_WAITING):
        draft = Draft(
            id=f"draft_{uuid.uuid4().hex}",
            user_id=ada.user_id,
            run_id=f"run{n}",
            conversation_id="c1",
            style="story",
            status="waiting",
            label="Waiting for your approval",
            created_at=now,
            updated_at=now,
        )
        assert container.model_services.run(lambda services, draft=draft: services.drafts.add(draft))
    with pytest.raises(Invalid, match="Several cards wait"):
        begins(ada)
    assert executions(ada) == 0


@pytest.mark.thorough
def test_a_long_silent_card_does_not_block_a_new_one(ada: Person, model: ModelServer) -> None:
    model.fault = Reply(hold_after=0)
    first = begins(ada)
    model.wait_until_held()
    ada.world.clock.advance(ALIVE_SECONDS + 1)
    second = begins(ada, run="run2")
    assert second.id != first.id
    ada.pulls_the_brake()
    until(lambda: {each.status for each in drafts_of(ada)} == {"stopped"})


def test_a_card_that_cannot_start_is_not_shown_as_in_progress(ada: Person, world: World) -> None:
    async def begin(services: ModelServices) -> None:
        nowhere = replace(services, workflows=replace(services.workflows, machine_arn_prefix="arn:aws:states:none"))
        with pytest.raises(Unavailable):
            await Cards(nowhere, ada.user_id, "run1", "c1").start("standard", "")
        [draft] = await services.drafts.newest(ada.user_id, 10)
        assert draft.status == "failed"

    container.model_services.run(begin)


def test_an_about_section_is_written_from_evidence_and_stored(maya: Person) -> None:
    written = about(maya)
    assert "Product manager with an engineer's past." in text_of(written.checked)
    assert not written.checked.left_out
    draft = container.model_services.run(lambda services: services.drafts.get(maya.user_id, written.draft_id))
    assert (draft.kind, draft.status, draft.style) == ("about", "drafted", "story")
    with pytest.raises(NotFound):
        publication_of(draft)


def invents_a_prize(model: ModelServer) -> str:
    """The writer's answers, twice with a prize, and the judge's: four in all."""
    quotes = ["profile 11 years of experience"]
    lie, truth = ({"text": text, "quotes": quotes} for text in ("Won the Nobel Prize.", "11 years of experience"))
    written_first: Any = {"name": "final_result", "arguments": {"claims": [lie, truth]}}
    verdicts: Any = [{"id": 0, "why": "No prize is told of."}]
    yes: Any = {"id": 1, "span": "11 years of experience"}
    judged: Any = {"name": "final_result", "arguments": {"verdicts": [*verdicts, yes]}}
    again: Any = {"name": "final_result", "arguments": {"claims": [{**lie, "number": 0}]}}
    judged_again: Any = {"name": "final_result", "arguments": {"verdicts": verdicts}}
    model.script(*(Reply(tool_calls=[call]) for call in (written_first, judged, again, judged_again)))
    return lie["text"]


def test_an_invented_about_statement_is_rewritten_once_and_then_left_out(maya: Person, model: ModelServer) -> None:
    lie = invents_a_prize(model)
    written = about(maya)
    assert text_of(written.checked) == "11 years of experience"
    [left_out] = written.checked.left_out
    assert (left_out.claim.text, left_out.why) == (lie, ("No prize is told of.",))
    assert len([each for each in model.requests if each.path.endswith("/completions")]) == 4


CUT_OFF_AFTER = {"it is written": 1, "it is judged": 2, "it is written again": 3, "that is judged": 4, "it is done": 5}


@pytest.mark.parametrize("after", everyday(2, CUT_OFF_AFTER))
def test_an_interrupted_about_section_resumes_without_paying_twice(
    maya: Person, model: ModelServer, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    invents_a_prize(model)
    drop_forgotten, steps = reader.drop_forgotten, list[str]()

    async def cut_off(*given: Any) -> Draft:
        draft = await drop_forgotten(*given)
        steps.append(draft.status)
        if len(steps) == CUT_OFF_AFTER[after]:
            raise TimeoutError
        return draft

    monkeypatch.setattr(reader, "drop_forgotten", cut_off)
    with pytest.raises(TimeoutError):
        about(maya, "short")
    [begun] = drafts_of(maya)
    assert begun.status == ("unfinished" if after != "it is done" else "drafted")
    assert not container.model_services.run(lambda services: services.drafts.list_running_pipelines(maya.user_id))
    again = about(maya, "short", run="run2" if after != "it is done" else "run1")
    assert again.draft_id == begun.id
    assert text_of(again.checked) == "11 years of experience"
    assert len([each for each in model.requests if each.path.endswith("/completions")]) == 4
    [ended] = drafts_of(maya)
    assert (ended.status, ended.label, ended.news) == ("drafted", "Drafted", False)
    happened = container.model_services.run(lambda services: services.activity.newest(maya.user_id, 9))
    assert [each.type for each in happened] == ["draft.drafted", "draft.started"]


def test_another_request_or_another_day_starts_a_new_about_section(
    maya: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cut_off(*_: Any) -> Draft:
        raise TimeoutError

    with monkeypatch.context() as patch:
        patch.setattr(reader, "drop_forgotten", cut_off)
        with pytest.raises(TimeoutError):
            about(maya, "short")
    [begun] = drafts_of(maya)
    assert about(maya, "long", run="run2").draft_id != begun.id
    maya.world.clock.advance(GONE_ON_WITH_SECONDS + 1)
    assert about(maya, "short", run="run3").draft_id != begun.id


def test_no_about_section_is_written_without_evidence(someone: Person, model: ModelServer) -> None:
    with pytest.raises(NothingToTell):
        about(someone)
    assert not model.requests


def test_the_brake_stops_writing_an_about_section(maya: Person) -> None:
    maya.pulls_the_brake()
    with pytest.raises(Braked):
        about(maya)


def test_a_new_about_version_sees_the_old_one_and_reports_an_ineffective_wish(maya: Person, model: ModelServer) -> None:
    first = about(maya)
    again = container.model_services.run(
        lambda services: Cards(services, maya.user_id, "run2", "c1").about("story", "more fun", first.draft_id)
    )
    assert (again.unchanged, first.unchanged) == (True, False)
    assert again.draft_id != first.draft_id
    prompt = [each.json["messages"][1]["content"] for each in model.requests if "<wish>" in each.body.decode()][-1]
    assert "<wish>more fun</wish>" in prompt
    assert "[profile Product manager with an engineer's past." in prompt
    anew = container.model_services.run(
        lambda services: Cards(services, maya.user_id, "run3", "c1").about("story", "more fun")
    )
    assert anew.unchanged, "whether or not the model says which one it is a version of"


@pytest.mark.thorough
def test_only_a_stated_writing_preference_reaches_the_writer_as_a_wish(maya: Person, model: ModelServer) -> None:
    maya.said("Never call me a rockstar.", "preference", about_writing=True)
    maya.said("Probably likes puns.", "preference", trust="inferred", about_writing=True)
    maya.said("I don't want to leave Lisbon.", "preference")
    about(maya, "short")
    prompt = model.requests[0].json["messages"][1]["content"]
    assert "<wish>Never call me a rockstar.</wish>" in prompt
    assert "<wish>short</wish>" in prompt
    assert "puns" not in prompt
    assert prompt.count("<wish>") == 2
    maya.wants_a_card()
    maya.is_asked()
    asked = [each.json["messages"][1]["content"] for each in model.requests]
    sections = [prompt for prompt in asked if "Section “" in prompt]
    assert all("<wish>Never call me a rockstar.</wish>" in prompt for prompt in sections)
    assert not any("<wish>I don" in prompt for prompt in sections)


@pytest.mark.thorough
def test_a_cards_initial_wish_reaches_its_writer(maya: Person, model: ModelServer) -> None:
    begins(maya, wish="focus on my leadership")
    maya.is_asked()
    prompts = [each.json["messages"][1]["content"] for each in model.requests]
    sections = [prompt for prompt in prompts if "Section “" in prompt]
    assert sections
    assert all("<wish>focus on my leadership</wish>" in prompt for prompt in sections)


@pytest.mark.thorough
def test_a_wish_guides_the_writer_but_is_no_evidence(maya: Person) -> None:
    """It may be a part of "I never led the migration"."""
    begins(maya, wish="led the migration")
    maya.is_asked()
    assert "person:1" not in str(maya.draft().parts["evidence"])


def test_an_about_section_requested_twice_in_a_turn_is_written_once(maya: Person, model: ModelServer) -> None:
    first = about(maya)
    asked = len(model.requests)
    again = about(maya)
    assert (again.draft_id, again.checked, len(model.requests)) == (first.draft_id, first.checked, asked)


@pytest.mark.thorough
def test_a_claim_whose_evidence_was_forgotten_is_not_proposed(maya: Person) -> None:
    begins(maya)
    maya.is_asked()
    draft = maya.draft()
    forgotten = next(each["id"] for each in draft.parts["evidence"] if each["id"].startswith("employment:1"))
    container.model_services.run(
        lambda services: forget_in_drafts(services.drafts, maya.user_id, [forgotten], lambda _: False)
    )
    proposal = publication_of(maya.draft())
    assert "Northwind" not in str(proposal.args)
    assert proposal.preview
    assert any(each.why == (FORGOTTEN,) for each in proposal.preview.left_out)
    assert all(claim.quotes for section in proposal.preview.sections for claim in section.claims)
