"""A profile text is redrafted at the user's request and asked about again, with the real state machine."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from infra.local.aws_functions import Handler
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.approvals.ask import Proposal, ProposalContext, create_approval
from qwestly_agent.approvals.decide import Decision, decide, decide_and_follow_up
from qwestly_agent.approvals.end import REPLACED, end_replaced, finish
from qwestly_agent.base.errors import OverBudget
from qwestly_agent.cards.model import OUTLINES, Overtaken
from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.card import NOT_DRAFTED_ANEW
from qwestly_agent.memory.forget import forget
from qwestly_agent.profile import LISTS, SUGGEST_LINKEDIN_ABOUT, TEXTS, UPDATE_PROFILE_FIELD
from qwestly_agent.stores.conversations import key_query
from tests.servers import until
from tests.statemachines.conftest import TEMPLATE, Person, World

Exited = type("Runtime.ExitError", (Exception,), {})
HEADLINE = Proposal(UPDATE_PROFILE_FIELD, {"field": "headline", "value": "Head of Product, payments"})
TYPED = "Change my headline to Head of Product, payments"
ABOUT_TEXT = "Product manager with an engineer's past. At home between backend teams and their users."


class Redraft(Person):
    """A person who was asked about a profile text in a conversation."""

    first: Approval

    def was_asked(self, proposal: Proposal = HEADLINE, typed: str = TYPED) -> None:
        conversation_id, run_id = uuid.uuid4().hex, uuid.uuid4().hex
        self.world.database["agent_conversations"].insert_one(key_query(self.user_id, conversation_id))
        message = {"id": uuid.uuid4().hex, "run_id": run_id, "seq": 1, "role": "user", "content": typed}
        kept = {"_id": f"{run_id}:user", "user_id": self.user_id, "conversation_id": conversation_id}
        created = {"created_at": "2026-11-23T09:00:00Z"}
        self.world.database["agent_messages"].insert_one({**message, **kept, **created})
        context = ProposalContext(
            user_id=self.user_id, run_id=run_id, level="L1", conversation_id=conversation_id, role="default"
        )
        approval_id = f"ap_{uuid.uuid4().hex}"
        self.first = self.world.run(lambda services: create_approval(services, approval_id, proposal, context, "ask"))

    def wants(self, wish: str | None, how: Callable[..., Any] = decide_and_follow_up) -> Approval:
        """Request a change to the first proposal."""
        self.world.clock.advance(1)
        answer = Decision(decision="revise", args_digest=self.first.args_digest, reason=wish)
        self.world.run(lambda services: how(services, self.user_id, self.first.id, answer, by="link", where="the test"))
        revised = self.record()
        self.draft_id = revised.redraft_id or ""
        machine = TEMPLATE.arn("GenerateCardMachine").replace(":stateMachine:", ":execution:")
        self.execution = f"{machine}:card-{self.draft_id}"
        return revised

    def record(self) -> Approval:
        return self.world.run(lambda services: services.approvals.get(self.user_id, self.first.id))

    def headline(self) -> str:
        return self.world.database["candidates_enhanced"].find_one({"user_id": self.user_id})["headline"]

    def begun(self) -> int:
        """Return the number of executions that draft for them."""
        return len([each for each in self.world.aws.workflows() if each.name == f"card-{self.draft_id}"])

    def events(self, *types: str) -> list[str]:
        found = self.world.database["agent_activity"].find({"user_id": self.user_id}).sort("at", 1)
        return [each["type"] for each in found if each["type"].startswith(types)]


@pytest.fixture
def maya(world: World, maya: Person) -> Redraft:
    return Redraft(world, maya.user_id, "")


# --- drafted anew -----------------------------------------------------------------------------------------------------


def test_a_redrafted_headline_replaces_the_pending_question_at_once(maya: Redraft) -> None:
    maya.was_asked()
    assert maya.wants("Shorter, please.").told_execution
    second = maya.is_asked(2)
    assert second.arguments == {"field": "headline", "value": "Head of Product"}
    assert (second.round, second.wish, second.revises) == (2, "Shorter, please.", maya.first.id)
    assert maya.record().revised_by == second.id
    assert (second.run_id, second.conversation_id) == (maya.first.run_id, maya.first.conversation_id)
    [change] = second.preview.changes
    assert (change.before, change.after) == (
        "Senior Product Manager, payments and developer platforms",
        "Head of Product",
    )
    [quote] = second.preview.sections[0].claims[0].quotes
    assert (quote.source, quote.quote) == ("your message", "Head of Product, payments")
    maya.decides("approve")
    assert maya.outcome() == ("SUCCEEDED", "published")
    assert maya.headline() == "Head of Product"
    assert (maya.draft().status, maya.draft().label) == ("drafted", "Done")
    assert maya.asked().undo_until, "like every change of a field"


@pytest.mark.thorough
def test_each_redraft_event_is_in_the_feed_once(maya: Redraft) -> None:
    maya.was_asked()
    maya.wants("Shorter, please.")
    maya.is_asked(2)
    maya.decides("approve")
    maya.outcome()
    drafted = ["draft.started", "draft.waiting", "draft.drafted"]
    assert maya.events("draft.") == drafted
    told = ["approval.asked", "approval.revised", "approval.asked", "approval.approved", "approval.executing"]
    assert sorted(maya.events("approval.")) == sorted([*told, "approval.done"])


@pytest.mark.thorough
def test_a_headline_can_be_revised_twice_more(maya: Redraft) -> None:
    maya.was_asked()
    maya.wants("Shorter, please.")
    maya.is_asked(2)
    maya.decides("revise", 'Say "Head of Payments".')
    third = maya.is_asked(3)
    assert (third.round, third.arguments["value"], third.revisable) == (3, "Head of Payments", True)
    assert "Head of Payments was" not in str(third.preview.difference)
    maya.decides("revise", "Use Head of Everything")
    fourth = maya.is_asked(4)
    assert (fourth.round, fourth.arguments["value"], fourth.revisable) == (4, "Head of Everything", False)
    maya.decides("reject")
    assert maya.outcome() == ("SUCCEEDED", "rejected")
    assert maya.headline().startswith("Senior")


@pytest.mark.thorough
def test_an_about_section_is_redrafted_as_a_separate_suggestion(maya: Redraft) -> None:
    about = Proposal(SUGGEST_LINKEDIN_ABOUT, {"draft_id": "about_1", "text": ABOUT_TEXT})
    maya.was_asked(about, "Draft my About")
    maya.wants("Mention that I speak Yoruba")
    second = maya.is_asked(2)
    assert second.tool == "hand_over_linkedin_about"
    assert second.arguments["draft_id"] == maya.draft_id
    text = second.arguments["text"]
    assert (text.startswith(ABOUT_TEXT), text.endswith("Speak Yoruba")) == (True, True)
    maya.decides("approve")
    assert maya.outcome() == ("SUCCEEDED", "published")
    kept = maya.world.database["linkedin_profile_suggestions"].find_one({"user_id": maya.user_id})
    assert kept["text"] == text


@pytest.mark.thorough
def test_a_redrafted_list_loses_only_the_unwanted_items(maya: Redraft) -> None:
    value = ["Payments", "SQL", "Python"]
    maya.was_asked(Proposal(UPDATE_PROFILE_FIELD, {"field": "skills", "value": value}), "Tidy up my skills")
    maya.wants("Leave out Python")
    assert maya.is_asked(2).arguments == {"field": "skills", "value": ["Payments", "SQL"]}


@pytest.mark.parametrize("field", [*TEXTS, *LISTS])
def test_each_redraftable_field_has_an_outline(field: str) -> None:
    assert OUTLINES[f"profile_{field}"].most_claims


@pytest.mark.parametrize(
    ("args", "wish"),
    [
        ({"field": "years_of_experience", "value": 12}, "Thirteen"),
        ({"field": "education", "value": [{"school": "University of Lagos"}]}, "With the year"),
        ({"field": "skills", "value": [f"Skill {n}" for n in range(21)]}, "Fewer"),
        ({"field": "headline", "value": "Head of Product"}, None),
    ],
)
def test_a_revision_only_the_user_can_specify_is_left_to_the_chat(
    maya: Redraft, args: dict[str, Any], wish: str | None
) -> None:
    maya.was_asked(Proposal(UPDATE_PROFILE_FIELD, args))
    revised = maya.wants(wish)
    assert (revised.status, revised.redraft_id, revised.due_at) == ("revised", None, None)
    assert maya.begun() == 0


# --- what fails -------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_an_unsupported_redraft_is_reported_and_not_proposed(maya: Redraft) -> None:
    maya.was_asked(replace(HEADLINE, args={"field": "headline", "value": "Astronaut"}), "Go on, suggest something")
    maya.wants("Shorter, please.")
    assert maya.outcome() == ("FAILED", "failed")
    assert (maya.draft().status, maya.draft().news) == ("failed", True)
    assert maya.events("draft.") == ["draft.started", "draft.failed"]
    assert len(maya.approvals()) == 1
    assert maya.record().revised_by is None, "asking for it in the chat takes its place"


def test_a_refused_redraft_is_reported_and_changes_nothing(maya: Redraft, model: ModelServer) -> None:
    maya.was_asked()
    model.fault = Reply(fault="content_risk")
    maya.wants("Shorter, please.")
    assert maya.outcome() == ("FAILED", "failed")
    assert maya.draft().status == "failed"
    assert len(maya.approvals()) == 1


@pytest.mark.thorough
def test_an_unexpected_error_tells_the_user_how_to_continue(maya: Redraft, world: World) -> None:
    def broken(_: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            raise KeyError("field")

        return handler

    maya.was_asked()
    with world.instead_of("keep_draft", broken):
        maya.wants("Shorter, please.")
        assert maya.outcome() == ("FAILED", "failed")
    assert maya.draft().label == NOT_DRAFTED_ANEW


def test_nothing_is_redrafted_once_the_days_budget_is_used_up(maya: Redraft, world: World, model: ModelServer) -> None:
    maya.was_asked()
    world.run(lambda services: services.usage.begin_turn(maya.user_id, "run", services.clock()))
    world.run(lambda services: services.usage.add_spending(maya.user_id, {"cost_usd": 1.0}, services.clock()))
    maya.wants("Shorter, please.")
    assert maya.outcome() == ("SUCCEEDED", "over_budget")
    assert maya.draft().label == OverBudget.sentence
    assert not model.requests


@pytest.mark.thorough
def test_the_brake_stops_a_redraft_and_its_receipt_says_so(maya: Redraft, model: ModelServer, world: World) -> None:
    from qwestly_agent.approvals.pause import engage

    maya.was_asked()
    model.fault = Reply(hold_after=0)
    maya.wants("Shorter, please.")
    model.wait_until_held()
    braked = world.run(lambda services: engage(services.signals, services.sweeps, maya.user_id, services.clock))
    assert maya.outcome() == ("SUCCEEDED", "stopped")
    assert braked.receipt
    assert f"card-{maya.draft_id}" in braked.receipt.stopped
    assert len(maya.approvals()) == 1


@pytest.mark.thorough
def test_a_redraft_at_l0_is_written_without_asking_for_approval(maya: Redraft) -> None:
    maya.was_asked()
    maya.is_at("L0")
    maya.wants("Shorter, please.")
    assert maya.outcome() == ("SUCCEEDED", "drafted")
    assert len(maya.approvals()) == 1


# --- once -------------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_sweep_redrafts_after_the_deciding_process_died(maya: Redraft) -> None:
    maya.was_asked()
    revised = maya.wants("Shorter, please.", decide)
    assert not revised.told_execution
    assert revised.due_at == revised.updated_at + 60
    begin = [lambda services: finish(services, revised)] * 2
    for each in begin:
        assert maya.world.run(each).told_execution
    assert maya.begun() == 1
    assert maya.is_asked(2).round == 2
    assert maya.record().due_at is None


@pytest.mark.sentinel
@pytest.mark.thorough
@pytest.mark.parametrize("state", ["gather_evidence", "draft_section", "keep_draft", "ask_approval", "publish"])
def test_a_redraft_state_killed_after_its_work_repeats_nothing(
    maya: Redraft, world: World, model: ModelServer, state: str
) -> None:
    died = list[str]()

    def killed(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            answer = own(event, context)
            if not died:
                died.append(state)
                raise Exited
            return answer

        return handler

    maya.was_asked()
    with world.instead_of(state, killed):
        maya.wants("Shorter, please.")
        maya.is_asked(2)
        maya.decides("approve")
        assert maya.outcome() == ("SUCCEEDED", "published")
    assert died
    assert maya.headline() == "Head of Product"
    assert [each.status for each in maya.approvals()] == ["revised", "done"]
    assert maya.events("draft.") == ["draft.started", "draft.waiting", "draft.drafted"]
    written = [each for each in model.requests if each.path.endswith("/completions")]
    assert len(written) == 2, "the writer and the judge, once each"


# --- meanwhile --------------------------------------------------------------------------------------------------------


def asks_elsewhere(maya: Redraft) -> None:
    context = ProposalContext(
        user_id=maya.user_id, run_id="run_2", level="L1", conversation_id="elsewhere", role="default"
    )
    args = {"field": "headline", "value": "Director of Product"}
    proposal = Proposal(UPDATE_PROFILE_FIELD, args)
    maya.world.run(lambda services: create_approval(services, f"ap_{uuid.uuid4().hex}", proposal, context, "ask"))


def changes_it(maya: Redraft) -> None:
    change = {"$set": {"headline": "Director of Product"}}
    maya.world.database["candidates_enhanced"].update_one({"user_id": maya.user_id}, change)


def deletes_the_conversation(maya: Redraft) -> None:
    conversation_id = maya.first.conversation_id or ""
    maya.world.run(lambda services: services.approvals.forget_conversation(maya.user_id, conversation_id))
    maya.world.database["agent_conversations"].delete_one(key_query(maya.user_id, conversation_id))


def replaces_the_message(maya: Redraft) -> None:
    answer = {"_id": "run_3:assistant", "user_id": maya.user_id, "conversation_id": maya.first.conversation_id}
    maya.world.database["agent_messages"].insert_one({**answer, "run_id": "run_3", "replaces": [maya.first.run_id]})


@pytest.mark.thorough
@pytest.mark.parametrize("does", [asks_elsewhere, changes_it, deletes_the_conversation, replaces_the_message])
def test_a_redraft_overtaken_by_another_change_asks_no_second_question(
    maya: Redraft, world: World, does: Callable[[Redraft], None]
) -> None:
    def meanwhile(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            world.clock.advance(1)
            does(maya)
            return own(event, context)

        return handler

    maya.was_asked()
    with world.instead_of("keep_draft", meanwhile):
        maya.wants("Shorter, please.")
        assert maya.outcome() == ("SUCCEEDED", "drafted")
    assert maya.draft().label == Overtaken.sentence
    assert not [each for each in maya.approvals() if each.round == 2]


@pytest.mark.thorough
def test_a_question_whose_message_is_replaced_ends_without_a_redraft(maya: Redraft, world: World) -> None:
    maya.was_asked()
    maya.wants("Shorter, please.")
    second = maya.is_asked(2)
    runs, conversation_id = [second.run_id], second.conversation_id or ""
    world.run(lambda services: end_replaced(services, maya.user_id, conversation_id, runs))
    assert maya.outcome() == ("SUCCEEDED", "rejected")
    assert (maya.draft().status, maya.draft().label) == ("drafted", REPLACED)


SAID = "At Northwind Pay I own the merchant API, and ran 4 launches in 2024."


@pytest.mark.thorough
def test_a_memory_forgotten_while_a_redraft_waits_is_not_stored_anywhere(maya: Redraft, world: World) -> None:
    maya.said(SAID)
    maya.was_asked(replace(HEADLINE, args={"field": "headline", "value": "I own the merchant API"}), "Do it")
    maya.wants("Please use 4 launches in 2024")
    until(lambda: maya.draft().status != "running", 60)
    [memory] = world.database["user_memories"].find({"user_id": maya.user_id})
    world.run(lambda services: forget(services, maya.user_id, [memory["_id"]]))
    assert "merchant API, and" not in str([maya.draft().parts, maya.approvals()])
