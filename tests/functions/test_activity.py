"""The activity feed contains each event once, even if a process dies in between."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from pymongo.errors import AutoReconnect

from qwestly_agent.approvals.ask import ProposalContext, create_approval
from qwestly_agent.approvals.decide import Decision, decide
from qwestly_agent.approvals.execute import execute
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.services import Services
from qwestly_agent.stores.activity import COLLECTION
from tests.functions.approving import HEADLINE, ONE, World
from tests.killing import Death, Killed, deaths, mortal
from tests.servers import USER

OUTBOXES = ("agent_approvals", "agent_drafts")


def told(world: World) -> list[str]:
    """Return the types of the events in the feed, in order."""
    return [each["type"] for each in sorted(world.database[COLLECTION].find(), key=lambda e: (e["at"], e["_id"]))]


def written(world: World) -> dict[str, ActivityEvent]:
    """Return the events in the documents that they belong to."""
    texts = [text for name in OUTBOXES for each in world.database[name].find() for text in each.get("events", [])]
    return {event.id: event for event in map(ActivityEvent.model_validate_json, texts)}


def in_feed(world: World) -> dict[str, ActivityEvent]:
    return {each.id: each for each in world.run(lambda services: services.activity.newest(USER, 1_000))}


def asked_and_done(world: World, services: Services) -> None:
    """Propose, approve and execute a change, until a process dies."""

    async def work(_: Services) -> None:
        context = ProposalContext(user_id=USER, run_id="run_1", level="L2")
        approval = await create_approval(services, ONE, HEADLINE, context, "queue")
        world.clock.advance(1)
        decision = Decision(decision="approve", args_digest=approval.args_digest)
        await decide(services, USER, ONE, decision, by="queue", where="")
        world.clock.advance(1)
        await execute(services, USER, ONE)

    world.run(work)


def with_services(world: World) -> Services:
    async def same(services: Services) -> Services:
        return services

    return world.run(same)


ALL = ["approval.asked", "approval.approved", "approval.executing", "approval.done"]


def test_a_decided_and_executed_approval_is_in_the_feed_with_its_permission(world: World) -> None:
    asked_and_done(world, with_services(world))
    assert told(world) == ALL
    [done] = [each for each in in_feed(world).values() if each.type == "approval.done"]
    assert (done.title, done.severity, done.run_id) == ("Done: Change your headline", "info", "run_1")
    permission = {"level": "L2", "answer": "queue", "decided_by": "queue", "tool": "update_profile_field"}
    assert permission.items() <= done.data.items()
    [asked] = [each for each in in_feed(world).values() if each.type == "approval.asked"]
    assert asked.severity == "action_required"
    assert "Head of Product" not in repr(list(world.database[COLLECTION].find())), "events quote nobody"


@pytest.mark.nightly
@pytest.mark.thorough
def test_the_sweep_copies_events_left_by_a_dead_process(world: World) -> None:
    unhurt = Death()
    asked_and_done(world, mortal(with_services(world), unhurt))
    for death in deaths(unhurt.writes):
        for name in (*OUTBOXES, COLLECTION):
            world.database[name].delete_many({})
        with suppress(Killed):
            asked_and_done(world, mortal(with_services(world), death))
        world.sweep()
        assert in_feed(world) == written(world), death
        assert not [*world.database["agent_approvals"].find({"uncopied_since": {"$gt": 0}})], death
    assert in_feed(world).keys() == {f"{ONE}:{n}" for n in (0, 1, 2, "done")}


class Unreachable:
    """A database whose feed cannot be written."""

    def __init__(self, database: Any) -> None:
        self._database = database

    def __getitem__(self, name: str) -> Any:
        if name == COLLECTION:
            raise AutoReconnect("gone")
        return self._database[name]


def test_a_change_is_executed_although_its_event_cannot_be_copied(world: World) -> None:
    services = with_services(world)
    database: Any = Unreachable(services.approvals.database)
    asked_and_done(world, replace(services, approvals=replace(services.approvals, database=database)))
    assert world.approval().status == "done"
    assert told(world) == []
    assert world.sweep()["copied"] == 1
    assert told(world) == ALL
