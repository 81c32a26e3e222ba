"""The user's own list of applications: due steps are reported, forgotten content is removed, nothing is overwritten."""

from itertools import product
from typing import Any, get_args

import pytest

from qwestly_agent.action import to_json_types
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.approvals.execute import undo
from qwestly_agent.base.errors import ChangedMeanwhile, Invalid
from qwestly_agent.briefings.sources import follow_ups
from qwestly_agent.domain.approval import LEFT_BEHIND_SECONDS, Approval
from qwestly_agent.domain.job import DAY_SECONDS, FOLLOW_UP_SECONDS, Application, ApplicationStatus
from qwestly_agent.domain.memory import Memory, MemorySource
from qwestly_agent.jobs.actions import UPDATE_APPLICATION
from qwestly_agent.jobs.writer import remind_of_due_steps
from qwestly_agent.memory.forget import forget
from qwestly_agent.stores.jobs import Applications
from tests.functions.approving import ONE, World
from tests.functions.test_applications import decided
from tests.functions.test_jobs import boards, connected, found
from tests.servers import USER, ChatServer, Client

__all__ = ["boards", "connected"]
"""Fixtures of the jobs tests that are used here as well."""

ACME = "Worked at Acme as a nurse until 2019."


def listed(world: World, application_id: str = "app_1", **given: Any) -> Application:
    now = world.clock()
    new = Application(
        id=application_id, user_id=USER, job_id="job_1", title="Nurse", created_at=now, updated_at=now, **given
    )
    return world.run(lambda services: services.applications.add_or_get(new))


def as_it_stands(world: World, application_id: str = "app_1") -> Application:
    return world.run(lambda services: services.applications.get(USER, application_id))


def changes(world: World, **given: Any) -> Application:
    return world.run(lambda services: services.applications.change(USER, "app_1", world.clock(), **given))


def remembers(world: World, content: str = ACME) -> str:
    memory = Memory(id="mem_1", type="fact", content=content, quote=content, source=MemorySource())
    world.run(lambda services: services.memories.add(USER, memory, memory.id, [1.0], world.clock()))
    return memory.id


def test_forgetting_a_memory_removes_only_the_notes_and_steps_that_quote_it(world: World) -> None:
    memory_id, told = remembers(world), f"Say that I {ACME.lower()}"
    first = listed(world, notes=told, next_step="Call Ana", status="applied", applied_at=world.clock())
    listed(world, "app_2", notes="Ask for Rui", next_step=told)
    world.clock.advance(60)
    world.run(lambda services: forget(services, USER, [memory_id]))
    one, other = as_it_stands(world), as_it_stands(world, "app_2")
    assert (one.notes, one.next_step, other.notes, other.next_step) == ("", "Call Ana", "Ask for Rui", "")
    assert (one.status, one.applied_at, one.updated_at) == (first.status, first.applied_at, first.updated_at)
    assert "nurse until 2019" not in repr(world.database["agent_applications"].find({}).to_list())


@pytest.mark.parametrize("writer", ["a change", "a reminder"])
def test_a_forgotten_note_is_not_written_back(world: World, monkeypatch: pytest.MonkeyPatch, writer: str) -> None:
    listed(world, notes=ACME, status="applied", applied_at=world.clock())
    world.clock.advance(FOLLOW_UP_SECONDS + 1)
    get = Applications.get

    async def is_forgotten_meanwhile(store: Applications, *which: str) -> Application:
        monkeypatch.undo()
        found = await get(store, *which)
        await store.forget(USER, lambda text: text == ACME)
        return found

    monkeypatch.setattr(Applications, "get", is_forgotten_meanwhile)
    if writer == "a change":
        changes(world, next_step="Call Ana")
    else:
        assert world.run(remind_of_due_steps) == {"not_due": 1}
        assert world.run(remind_of_due_steps) == {"told": 1}
    assert as_it_stands(world).notes == ""


def test_each_step_is_reported_once_even_if_already_near_when_entered(world: World) -> None:
    listed(world)
    sent = changes(world, status="applied")
    assert sent.applied_at == world.clock()
    world.clock.advance(FOLLOW_UP_SECONDS + 1)
    assert world.run(remind_of_due_steps) == {"told": 1}
    changes(world, status="interview", next_at=world.clock() + DAY_SECONDS / 2)
    assert world.run(remind_of_due_steps) == {"told": 1}
    assert world.run(remind_of_due_steps) == {}
    changes(world, notes="Meet Ana")
    assert world.run(remind_of_due_steps) == {}
    changes(world, next_at=world.clock() + 3 * DAY_SECONDS)
    world.clock.advance(2 * DAY_SECONDS)
    assert world.run(remind_of_due_steps) == {"told": 1}


@pytest.mark.parametrize(
    ("days", "told"), [(0.5, "Your interview is near"), (-3, "Your interview has passed: how did it go?")]
)
def test_an_interview_is_reported_as_upcoming_before_its_date_and_as_past_after_it(
    world: World, days: float, told: str
) -> None:
    listed(world)
    changes(world, status="interview", next_at=world.clock() + days * DAY_SECONDS)
    assert world.run(remind_of_due_steps) == {"told": 1}
    events = world.run(lambda services: services.activity.newest(USER, 10))
    assert [each.title for each in events if each.type == "application.due"] == [f"Nurse: {told}"]
    [item] = world.run(lambda services: follow_ups(services, USER, 0.0))
    assert item.title == f"Nurse: {told}"
    world.clock.advance(DAY_SECONDS)
    [item] = world.run(lambda services: follow_ups(services, USER, 0.0))
    assert item.title == "Nurse: Your interview has passed: how did it go?"


def prepared(client: Client, chat: ChatServer) -> str:
    path = f"/api/jobs/{found(chat, client.user_id)}/application"
    return client.request("POST", path).raise_for_status().json()["id"]


def is_asked(world: World, **given: Any) -> Approval:
    proposal = Proposal(UPDATE_APPLICATION, {"application_id": "app_1", **given})
    return world.ask(ONE, proposal)


def test_a_change_shows_the_old_values_and_is_executed(world: World) -> None:
    listed(world, company="Kestrel Clinic", notes="Ask for Rui", next_step="Call Ana")
    asked = is_asked(world, status="interview", notes="", next_at="2027-03-01T10:00:00+01:00")
    shown = {each.name: (each.before, each.after) for each in asked.preview.changes}
    assert shown == {
        "Status": ("preparing", "interview"),
        "On": (None, "Monday, March 1, 2027 at 10:00 AM +01:00"),
        "Notes": ("Ask for Rui", None),
    }
    changes(world, next_step="Call Rui")  # not a field that was shown
    assert decided(world, asked).status == "done"
    application = as_it_stands(world)
    assert (application.status, application.notes, application.next_step) == ("interview", "", "Call Rui")


@pytest.mark.parametrize("meanwhile", [{"notes": "Ask for Ana"}, {"status": "applied"}])
def test_a_change_by_the_user_is_not_overwritten(world: World, meanwhile: dict[str, str]) -> None:
    listed(world, notes="Ask for Rui")
    asked = is_asked(world, status="closed", notes="They closed it")
    after = changes(world, **meanwhile)
    assert decided(world, asked).status == "changed"
    assert as_it_stands(world) == after


@pytest.mark.thorough
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_change_is_executed_once_although_its_process_dies(
    world: World, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    listed(world, notes="Ask for Rui")
    asked = is_asked(world, notes="Ask for Ana")
    change = Applications.change_once

    async def dies(store: Applications, *args: Any, **given: Any) -> None:
        if when == "after":
            await change(store, *args, **given)
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(Applications, "change_once", dies)
        with pytest.raises(RuntimeError):
            decided(world, asked)
    by_user = changes(world, notes="Ask for nobody") if when == "after" else None
    world.clock.advance(LEFT_BEHIND_SECONDS)
    world.sweep()
    assert world.approval(ONE).status == "done"
    assert as_it_stands(world) == by_user if by_user else as_it_stands(world).notes == "Ask for Ana"


def test_a_change_executed_but_not_recorded_is_undone_to_the_previous_values(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, change = listed(world, notes="Ask for Rui", next_step="Call Ana"), Applications.change_once

    async def dies_then(store: Applications, *args: Any, **given: Any) -> None:
        await change(store, *args, **given)
        raise RuntimeError

    asked = is_asked(world, status="interview", notes="Ask for Ana")
    with monkeypatch.context() as patch:
        patch.setattr(Applications, "change_once", dies_then)
        with pytest.raises(RuntimeError):
            decided(world, asked)
    world.clock.advance(LEFT_BEHIND_SECONDS)
    world.sweep()
    assert (world.approval(ONE).status, as_it_stands(world).notes) == ("done", "Ask for Ana")
    assert undone(world).status == "done"
    after = as_it_stands(world)
    assert (after.status, after.notes, after.next_step) == (before.status, before.notes, before.next_step)


STATUSES = get_args(ApplicationStatus)


def undone(world: World) -> Approval:
    return world.run(lambda services: undo(services, USER, ONE))


@pytest.mark.parametrize(
    "stood",
    [{}, {"status": "interview", "next_at": 1.8e9, "notes": "Ask for Rui"}, {"status": "applied", "applied_at": 1.7e9}],
)
@pytest.mark.parametrize(
    "given",
    [
        {"status": "applied", "notes": "", "next_step": "Call Ana"},
        {"status": "preparing", "next_at": "2027-03-01T10:00:00+01:00"},
    ],
)
def test_a_change_is_undone_exactly(world: World, stood: dict[str, Any], given: dict[str, str]) -> None:
    before = listed(world, **stood)
    assert decided(world, is_asked(world, **given)).status == "done"
    assert as_it_stands(world).status == given["status"]
    assert undone(world).status == "done"
    what_happened = {"history", "changed_by", "updated_at", "revision"}
    assert as_it_stands(world).model_dump(exclude=what_happened) == before.model_dump(exclude=what_happened)


@pytest.mark.thorough
def test_each_status_change_is_undone_to_the_previous_status(world: World) -> None:
    args = [{"application_id": "app_1", "status": each} for each in STATUSES]
    stood = [
        {"status": status, "applied_at": at, "document_ids": sent}
        for status, at, sent in product(STATUSES, (None, 1.7e9), ((), ("resume_1",)))
        if not (status == "applied" and at is None) and not (status == "preparing" and at and not sent)
    ]
    listed(world)
    inverse: Any = UPDATE_APPLICATION.inverse
    for fields in stood:
        for given in args:
            before = changes(world, **fields)
            change = UPDATE_APPLICATION.parse(given)
            restores = world.run(lambda services, change=change: inverse.arguments(services, USER, change))
            changes(world, **change.changes(world.clock()))
            changes(world, **UPDATE_APPLICATION.parse(to_json_types(restores)).changes(world.clock()))
            after = as_it_stands(world)
            assert (after.status, after.applied_at) == (before.status, before.applied_at), (fields, given)


def test_undo_does_not_revert_a_later_change_by_the_user(world: World) -> None:
    listed(world)
    assert decided(world, is_asked(world, status="closed", next_step="Call Ana")).status == "done"
    after = changes(world, status="interview")
    with pytest.raises(ChangedMeanwhile):
        undone(world)
    assert as_it_stands(world) == after


def test_undo_does_not_restore_forgotten_content(world: World) -> None:
    memory_id = remembers(world)
    listed(world, notes=ACME)
    assert decided(world, is_asked(world, notes="Ask for Ana")).status == "done"
    world.run(lambda services: forget(services, USER, [memory_id]))
    with pytest.raises(ChangedMeanwhile):
        undone(world)
    assert as_it_stands(world).notes == "Ask for Ana"


def test_a_change_of_a_removed_application_fails(world: World) -> None:
    listed(world)
    asked = is_asked(world, status="closed")
    world.database["agent_applications"].delete_many({})
    assert decided(world, asked).status == "failed"


def test_a_date_must_be_within_ten_years_and_have_an_offset(world: World, client: Client, chat: ChatServer) -> None:
    path = f"/api/applications/{prepared(client, chat)}"
    for nonsense in (
        "9999-12-31T23:59:59-12:00",
        "0001-01-01T00:00:00",
        "0001-01-01T00:00:00+14:00",
        "2027-05-02T10:00",
    ):
        assert client.request("PATCH", path, json={"next_at": nonsense}).status_code == 422
        listed(world)
        with pytest.raises((Invalid, AssertionError)):
            assert decided(world, is_asked(world, next_at=nonsense)).status == "done"
        assert as_it_stands(world).next_at is None
    assert client.get("/api/applications")["items"][0]["next_at"] is None
