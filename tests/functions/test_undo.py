# ruff: noqa: F811 (fixtures of another module)
"""An action can be undone for a day: exactly, once, and only by its user; otherwise the response is a clear no."""

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from infra.local.candidate_app import OPERATIONS, Fault
from qwestly_agent.approvals import pause, propose
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.approvals.autonomy import KINDS, UNASKED
from qwestly_agent.approvals.end import outcome_line
from qwestly_agent.approvals.execute import ASKED_AGAIN, NOT_AS_DONE, NOT_UNDOABLE, undo
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Braked, ChangedMeanwhile, NotFound
from qwestly_agent.cards.actions import SAVE_CARD_AS_ACTIVE
from qwestly_agent.clients.candidate_app import CandidateApp, Outcome
from qwestly_agent.domain.approval import LOOK_SECONDS, UNDO_SECONDS, Approval
from qwestly_agent.domain.job import JobWishes
from qwestly_agent.profile import UPDATE_PREFERENCE, UPDATE_PROFILE, UPDATE_PROFILE_FIELD
from qwestly_agent.services import Services
from qwestly_agent.stores.candidate_data import CANDIDATES, CARDS, PREFERENCES
from qwestly_agent.stores.messages import NewTurn
from qwestly_agent.workflows import ACTIONS
from tests.functions.test_execute import (
    AFTER,
    BEFORE,
    CHANGE,
    INGESTION,
    LEARNT,
    Stage,
    When,
    _stage,  # noqa: F401
    approved,
    asked,
    carried_out,
    check_done_once,
    dying,
    found_out,
    killed_at_each_step,
    proposer,
    services,  # noqa: F401
    stage,  # noqa: F401
    user_id,  # noqa: F401
)
from tests.servers import until

pytestmark = pytest.mark.anyio


async def done(services: Services, user_id: str, proposal: Proposal = CHANGE) -> Approval:
    approval = await approved(services, await asked(services, user_id, proposal))
    assert approval.status == "done"
    return approval


def of(stage: Stage, collection: str, user_id: str) -> list[Mapping[str, Any]]:
    """Return the visible fields of these documents, without ids, versions and empty values."""
    found = stage.database[collection].find({"user_id": user_id}, {"_id": 0, "version": 0}).sort("card_id", 1)
    return [{name: value for name, value in each.items() if value} for each in found]


CASES: dict[str, tuple[str, Proposal, dict[str, Any]]] = {
    "a field": (CANDIDATES, CHANGE, {}),
    "a field that was empty": (
        CANDIDATES,
        Proposal(UPDATE_PROFILE_FIELD, {"field": "years_of_experience", "value": 7}),
        {},
    ),
    "a list": (
        CANDIDATES,
        Proposal(UPDATE_PROFILE_FIELD, {"field": "skills", "value": ["SQL", "Go"]}),
        {"skills": ["SQL"]},
    ),
    "education": (
        CANDIDATES,
        Proposal(UPDATE_PROFILE_FIELD, {"field": "education", "value": [{"school": "MIT"}]}),
        {"education": [{"school": "ETH", "degree": "MSc", "year": 2012}]},
    ),
    "several fields": (
        CANDIDATES,
        Proposal(
            UPDATE_PROFILE,
            {"changes": [{"field": "headline", "value": "CTO"}, {"field": "skills", "value": ["Go"]}]},
        ),
        {"headline": "Before"},
    ),
    "a preference": (
        PREFERENCES,
        Proposal(UPDATE_PREFERENCE, {"name": "work_mode", "value": "remote"}),
        {"work_mode": "hybrid"},
    ),
    "the first preference": (PREFERENCES, Proposal(UPDATE_PREFERENCE, {"name": "roles", "value": ["CTO"]}), {}),
    "the card shown first": (CARDS, Proposal(SAVE_CARD_AS_ACTIVE, {"card_id": "card_1"}), {"card_2": True}),
    "no card shown first": (CARDS, Proposal(SAVE_CARD_AS_ACTIVE, {"card_id": "card_1"}), {}),
}


@pytest.mark.sentinel
@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("level", ["L0", "L3"])
async def test_an_action_with_an_inverse_is_undone_exactly(
    stage: Stage, services: Services, user_id: str, case: str, level: Any
) -> None:
    collection, proposal, _ = CASES[case]
    stood = prepare(stage, user_id, case)
    approval = await done(services, user_id, proposal)
    assert approval.undo_until == pytest.approx(stage.clock() + UNDO_SECONDS)
    assert of(stage, collection, user_id) != stood
    await services.autonomy.set_level(user_id, level, to_datetime(stage.clock()))  # it is the user's own act
    undone = await undo(services, user_id, approval.id)
    assert (undone.status, undone.decided_by, undone.undoes) == ("done", "undo", approval.id)
    assert of(stage, collection, user_id) == (stood or [{"user_id": user_id}])
    after = await services.approvals.get(user_id, approval.id)
    assert (after.status, after.undone_by, after.undo_until) == ("done", undone.id, None)
    assert undone.undo_until is None, "an undo is no action of the agent's"
    assert [each.id for each in await services.approvals.list_unreported(user_id, "chat")] == [approval.id, undone.id]
    assert outcome_line(undone).startswith("The user undid this")


def test_actions_without_approval_can_be_undone_and_are_private() -> None:
    with_inverse = {each.tool: each for each in ACTIONS.values() if each.inverse}
    assert with_inverse.keys() == {
        "update_profile",
        "update_profile_field",
        "update_preference",
        "update_application",
        "save_card_as_active",
    }
    inverses = {name: each.inverse for name, each in with_inverse.items() if each.inverse}
    unasked = {name for name, each in inverses.items() if each.requested_values or each.told_of}
    assert unasked == {name for name, each in with_inverse.items() if each.effect in UNASKED} == set(KINDS), (
        "a `write` with an inverse can run unasked: it needs `told_of` or `requested_values`, and its name in "
        "`approvals/autonomy.py`: `KINDS`"
    )


EACH = [
    "a field",
    *(
        pytest.param(each, marks=pytest.mark.thorough)
        for each in ("several fields", "a preference", "the card shown first")
    ),
]
"""A case of each action with an inverse."""
each_action = pytest.mark.parametrize("case", EACH)
BY_OTHERS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    CANDIDATES: ({}, {"headline": "Engineer"}),
    PREFERENCES: ({}, {"work_mode": "on-site"}),
    CARDS: ({"card_id": "card_1"}, {"active": False}),
}
"""Changes by others, each with the document it is made in."""


@dataclass(frozen=True)
class Case:
    """An action that was executed for a user, and the visible state before and after it."""

    stage: Stage
    name: str
    user_id: str
    before: list[Mapping[str, Any]]
    approval: Approval

    @property
    def now(self) -> list[Mapping[str, Any]]:
        return of(self.stage, CASES[self.name][0], self.user_id)

    def is_changed_by_another(self, *, has_version: bool) -> None:
        collection = CASES[self.name][0]
        which, values = BY_OTHERS[collection]
        change: Any = {"$set": values, **({"$inc": {"version": 1}} if has_version else {})}
        self.stage.database[collection].update_one({"user_id": self.user_id, **which}, change)


def prepare(stage: Stage, user_id: str, case: str) -> list[Mapping[str, Any]]:
    """Store the case's initial data, and return its visible state."""
    collection, _, before = CASES[case]
    if collection == CARDS and before:
        stage.database[CARDS].insert_one({"user_id": user_id, "card_id": "card_2", "active": True})
    elif before:
        stage.database[collection].update_one({"user_id": user_id}, {"$set": before}, upsert=True)
    return of(stage, collection, user_id)


async def done_of(stage: Stage, services: Services, user_id: str, case: str) -> Case:
    stood = prepare(stage, user_id, case)
    return Case(stage, case, user_id, stood, await done(services, user_id, CASES[case][1]))


@pytest.mark.thorough
@each_action
async def test_repeated_and_concurrent_undo_requests_undo_once(
    stage: Stage, services: Services, user_id: str, case: str
) -> None:
    given = await done_of(stage, services, user_id, case)
    approval = given.approval
    undone = await asyncio.gather(*(undo(services, user_id, approval.id) for _ in range(10)), return_exceptions=True)
    again = await undo(services, user_id, approval.id)
    assert {each.id for each in undone if isinstance(each, Approval)} == {again.id}
    assert not [each for each in undone if isinstance(each, BaseException) and not isinstance(each, ChangedMeanwhile)]
    assert stage.effects_on(user_id) == [approval.id, again.id]
    assert given.now == given.before


@each_action
async def test_another_user_cannot_undo_an_action(stage: Stage, services: Services, user_id: str, case: str) -> None:
    given = await done_of(stage, services, user_id, case)
    after = given.now
    with pytest.raises(NotFound):
        await undo(services, stage.person(), given.approval.id)
    assert given.now == after != given.before


@each_action
@pytest.mark.parametrize("has_version", [True, False])
async def test_a_value_changed_since_the_action_is_not_undone(
    stage: Stage, services: Services, user_id: str, case: str, has_version: bool
) -> None:
    given = await done_of(stage, services, user_id, case)
    given.is_changed_by_another(has_version=has_version)
    theirs = given.now
    with pytest.raises(ChangedMeanwhile, match=NOT_AS_DONE):
        await undo(services, user_id, given.approval.id)
    assert given.now == theirs


async def test_undo_leaves_another_field_changed_since_the_action(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await done(services, user_id)
    stage.change_elsewhere(user_id, location="Lisbon")
    assert (await undo(services, user_id, approval.id)).status == "done"
    profile = stage.profile_of(user_id)
    assert (profile["headline"], profile["location"]) == (BEFORE, "Lisbon")


async def test_an_action_cannot_be_undone_after_a_day(stage: Stage, services: Services, user_id: str) -> None:
    approval = await done(services, user_id)
    stage.clock.advance(UNDO_SECONDS + 1)
    with pytest.raises(ChangedMeanwhile, match=NOT_UNDOABLE):
        await undo(services, user_id, approval.id)
    assert stage.profile_of(user_id)["headline"] == AFTER


@each_action
async def test_undo_is_rejected_while_the_brake_is_on_and_possible_afterwards(
    stage: Stage, services: Services, user_id: str, case: str
) -> None:
    given = await done_of(stage, services, user_id, case)
    after = given.now
    await pause.engage(services.signals, services.sweeps, user_id, stage.clock)
    with pytest.raises(Braked):
        await undo(services, user_id, given.approval.id)
    assert given.now == after
    await pause.release(services.signals, services.sweeps, user_id, stage.clock)
    assert (await undo(services, user_id, given.approval.id)).status == "done"
    assert given.now == given.before


async def test_undone_and_undoing_records_cannot_be_undone(stage: Stage, services: Services, user_id: str) -> None:
    waits = await asked(services, user_id)
    undone = await undo(services, user_id, (await done(services, user_id)).id)
    ingested = await found_out(stage, services, await approved(services, await asked(services, user_id, INGESTION)))
    for each in (waits, undone, ingested):
        with pytest.raises(ChangedMeanwhile, match=NOT_UNDOABLE):
            await undo(services, user_id, each.id)


ENDS: dict[Fault, str] = {"forbidden": "failed", "drop_before": "unknown", "drop_after": "unknown"}


@pytest.mark.parametrize("fault", ENDS)
async def test_a_failed_undo_says_so_and_can_be_retried(
    stage: Stage, services: Services, user_id: str, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval, write = await done(services, user_id), CandidateApp.set_profile_fields

    async def misbehaving(*args: Any) -> Outcome:
        stage.app.misbehave(fault)
        return await write(*args)

    monkeypatch.setattr(CandidateApp, "set_profile_fields", misbehaving)
    first = await undo(services, user_id, approval.id)
    monkeypatch.undo()
    assert first.status == ENDS[fault]
    if first.status == "unknown":
        first = await found_out(stage, services, first)
    again = await undo(services, user_id, approval.id)
    assert (again.status, again.id == first.id) == ("done", ENDS[fault] == "unknown")
    assert stage.profile_of(user_id)["headline"] == BEFORE
    assert stage.effects_on(user_id) == [approval.id, again.id]


@pytest.mark.parametrize("fault", [fault for fault in ENDS if ENDS[fault] == "unknown"])
async def test_a_second_undo_while_the_first_is_unknown_returns_the_first(
    stage: Stage, services: Services, user_id: str, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval, write = await done(services, user_id), CandidateApp.set_profile_fields

    async def misbehaving(*args: Any) -> Outcome:
        stage.app.misbehave(fault)
        return await write(*args)

    monkeypatch.setattr(CandidateApp, "set_profile_fields", misbehaving)
    first = await undo(services, user_id, approval.id)
    second = await undo(services, user_id, approval.id)
    assert (first.status, second.id) == ("unknown", first.id)
    assert [each.id for each in await services.approvals.list_all(user_id, 10) if each.undoes] == [first.id]


@pytest.mark.nightly
@pytest.mark.thorough
@dying
@pytest.mark.parametrize("case", ["a field", "several fields", "a preference", "the card shown first"])
async def test_an_undo_killed_at_any_step_runs_once_or_not_at_all(
    stage: Stage, services: Services, case: str, when: When
) -> None:
    cases = dict[str, tuple[Case, list[Mapping[str, Any]]]]()

    async def begin() -> Approval:
        given = await done_of(stage, services, stage.person(), case)
        cases[given.approval.id] = given, given.now
        return given.approval

    async def undoing(services: Services, approval: Approval) -> None:
        await undo(services, approval.user_id, approval.id)

    async for approval in killed_at_each_step(services, when, begin, undoing):
        given, after = cases[approval.id]
        begun = [each for each in await services.approvals.list_all(approval.user_id, 10) if each.undoes]
        for each in begun:
            assert (await found_out(stage, services, each)).status == "done"
        if not begun:
            assert given.now == after
        last = await undo(services, approval.user_id, approval.id)
        assert (last.status, given.now) == ("done", given.before)
        assert stage.effects_on(approval.user_id) == [approval.id, last.id]


# --- undo an onboarding -----------------------------------------------------------------------------------------------


async def learnt(stage: Stage, services: Services, user_id: str) -> tuple[object, ...]:
    """Return the learned value in the three places that store it."""
    preferences, search = await services.profiles.preferences(user_id), await services.job_searches.get(user_id)
    return stage.profile_of(user_id)["headline"], preferences, search.wishes


@pytest.mark.parametrize("has_wishes", [True, False])
async def test_undoing_onboarding_restores_each_place_it_changed(
    stage: Stage, services: Services, user_id: str, has_wishes: bool
) -> None:
    if has_wishes:
        wishes = JobWishes(titles=("CTO",), never=("BP",), pay_from=50_000, pay_currency="USD")
        await services.job_searches.set_wishes(user_id, is_on=False, wishes=wishes, next_at=None)
    before = await learnt(stage, services, user_id)
    approval = await done(services, user_id, LEARNT)
    assert await learnt(stage, services, user_id) != before
    assert (await undo(services, user_id, approval.id)).status == "done"
    assert await learnt(stage, services, user_id) == before


async def test_onboarding_cannot_be_undone_after_one_of_its_wishes_changed(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await done(services, user_id, LEARNT)
    await services.job_searches.set_wishes(user_id, is_on=False, wishes=JobWishes(never=("BP",)), next_at=None)
    theirs = await learnt(stage, services, user_id)
    with pytest.raises(ChangedMeanwhile, match=NOT_AS_DONE):
        await undo(services, user_id, approval.id)
    assert await learnt(stage, services, user_id) == theirs


@pytest.mark.nightly
@pytest.mark.thorough
@dying
async def test_an_onboarding_undo_killed_at_any_step_reverts_every_place_or_none(
    stage: Stage, services: Services, when: When
) -> None:
    stood = dict[str, tuple[object, ...]]()

    async def begin() -> Approval:
        user_id = stage.person()
        stood[user_id] = await learnt(stage, services, user_id)
        return await done(services, user_id, LEARNT)

    async def undoing(services: Services, approval: Approval) -> None:
        await undo(services, approval.user_id, approval.id)

    async for approval in killed_at_each_step(services, when, begin, undoing):
        user_id = approval.user_id
        for each in [each for each in await services.approvals.list_all(user_id, 10) if each.undoes]:
            assert (await found_out(stage, services, each)).status == "done"
        assert (await undo(services, user_id, approval.id)).status == "done"
        assert await learnt(stage, services, user_id) == stood[user_id]
        assert len(stage.effects_on(user_id)) == 2


# --- without approval at L3 -------------------------------------------------------------------------------------------

WISHES: Mapping[str, tuple[str, str]] = {
    "a field": ("Make my headline Head of Product", "Make it Head of Something"),
    "a preference": ("Set my work mode to remote", "I want to work at home in the evening"),
}
"""Messages that name everything the action would change, and messages that name only a part or nothing."""


async def submitted(stage: Stage, services: Services, case: str, message: str) -> Approval:
    """Propose at L3, with a judge who always agrees."""
    user_id = stage.person()
    prepare(stage, user_id, case)
    await services.autonomy.set_level(user_id, "L3", to_datetime(stage.clock()))
    await services.conversations.create(user_id, "chat", NewTurn("run", "m", message, stage.clock()), "default")
    asking = replace(proposer(services, user_id, "run", "chat"), message=message)
    _, approval = await asking.submit(CASES[case][1], uuid.uuid4().hex)
    assert approval
    return approval


@pytest.mark.thorough
async def test_at_l3_a_change_of_several_fields_needs_approval(
    stage: Stage, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def says_yes(*_: object) -> bool:
        return True

    monkeypatch.setattr(propose, "is_requested", says_yes)
    asked = await submitted(stage, services, "several fields", "Make my headline CTO and my only skill Go")
    assert (asked.status, asked.answer) == ("pending", "ask")


@pytest.mark.thorough
@pytest.mark.parametrize("case", WISHES)
async def test_at_l3_an_action_runs_without_approval_only_if_the_message_names_all_of_it(
    stage: Stage, services: Services, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def says_yes(*_: object) -> bool:
        return True

    monkeypatch.setattr(propose, "is_requested", says_yes)
    wish, other = WISHES[case]
    done = await submitted(stage, services, case, wish)
    assert (done.status, done.decided_by, done.undo_until is not None) == ("done", "level", True)
    for message in (other, f"> {wish}", f"{wish}. {'It was spring. ' * 30}", ""):
        assert (await submitted(stage, services, case, message)).status == "pending", message


# --- before an action, and until it is done ---------------------------------------------------------------------------


async def test_a_change_that_kept_the_version_number_is_not_overwritten(
    stage: Stage, services: Services, user_id: str
) -> None:
    await services.conversations.create(user_id, "chat", NewTurn("run", "m1", "Hello", services.clock()), "default")
    approval = await asked(services, user_id)
    stage.database[CANDIDATES].update_one({"user_id": user_id}, {"$set": {"headline": "Engineer"}})
    after = await approved(services, approval)
    assert (after.status, after.outcome) == ("changed", ASKED_AGAIN)
    assert stage.profile_of(user_id)["headline"] == "Engineer"
    assert stage.writes == []
    assert [each.status for each in await services.approvals.list_open(user_id, 9)] == ["pending"]


async def test_an_accepted_action_is_looked_up_after_two_five_ten_and_thirty_seconds(
    stage: Stage, services: Services, user_id: str
) -> None:
    asked_about = await asked(services, user_id, INGESTION)
    stage.app.misbehave("ingestion_waits")
    accepted = await approved(services, asked_about)
    begun = stage.clock()
    looks: list[float | None] = []
    for _ in range(6):
        assert accepted.status == "accepted"
        looks.append(accepted.due_at and round(accepted.due_at - begun, 3))
        stage.clock.advance((accepted.due_at or 0.0) - stage.clock())
        accepted = await carried_out(services, accepted)
    assert looks == [2, 5, 10, 30, 60, 90]
    until(lambda: stage.app.api.held)
    stage.app.api.release()
    until(lambda: stage.database[OPERATIONS].find_one({"key": accepted.id, "status": "done"}))
    stage.clock.advance(LOOK_SECONDS[-1])
    assert (await carried_out(services, accepted)).status == "done"


# --- changed signatures -----------------------------------------------------------------------------------------------


async def test_an_approval_with_an_older_tool_signature_is_upgraded_and_executed(
    stage: Stage, services: Services, user_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = await asked(services, user_id)
    earlier = {"schema_digest": "1" * 64}
    stage.database["agent_approvals"].update_one({"_id": approval.id}, {"$set": earlier})
    renamed = {"1" * 64: lambda args: {"field": args["field"], "value": args["value"]}}
    monkeypatch.setitem(ACTIONS._by_tool, "update_profile_field", _with(upgrades=renamed))  # type: ignore[arg-type]
    check_done_once(stage, await approved(services, approval))


def _with(**changes: Any) -> Any:
    return replace(UPDATE_PROFILE_FIELD, **changes)
