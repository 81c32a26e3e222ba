"""Whatever happens, in any order, and whichever process dies: the feed matches the stored documents, has each event
once, and polling returns all of it, whatever the clocks say."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from qwestly_agent.account import delete
from qwestly_agent.approvals.ask import ProposalContext, create_approval
from qwestly_agent.approvals.decide import Decision, decide
from qwestly_agent.approvals.execute import execute
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import AgentError
from qwestly_agent.chat import activity as polls
from qwestly_agent.chat.activity import updates
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.briefing import Briefing
from qwestly_agent.domain.interview import DraftSentence, Ended, Interview
from qwestly_agent.domain.job import Application
from qwestly_agent.domain.learning import Lesson
from qwestly_agent.domain.memory import Memory, MemorySource
from qwestly_agent.domain.resume import ResumeRecord
from qwestly_agent.memory.changes import keep
from qwestly_agent.memory.forget import forget
from qwestly_agent.services import Services
from qwestly_agent.stores import collections
from qwestly_agent.stores.activity import COLLECTION
from qwestly_agent.stores.conversations import NewTurn
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.memory_work import Batch, ConsolidationRun, ReplacedMemory
from tests.functions.approving import HEADLINE, World
from tests.killing import Death, Killed, deaths, mortal
from tests.servers import USER

SKEWED = (300.0, -300.0)
OUTBOXES = tuple(each for each in collections() if each.has_outbox)


@dataclass
class Journey:
    """The journey of one user, with the ids of everything created so far."""

    chance: random.Random
    made: int = 0
    approvals: list[str] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    memories: list[str] = field(default_factory=list)
    conversations: list[str] = field(default_factory=list)
    applications: list[str] = field(default_factory=list)

    def name(self, kind: str) -> str:
        self.made += 1
        return f"{kind}_{self.made:04}"


Step = Callable[[Services, Journey], Awaitable[Any]]


async def asks(services: Services, journey: Journey) -> None:
    journey.approvals.append(name := f"ap_{journey.made + 1:032}")
    journey.made += 1
    await create_approval(services, name, HEADLINE, ProposalContext(user_id=USER, run_id="run_1", level="L2"), "queue")


async def decides(services: Services, journey: Journey) -> None:
    approval = await services.approvals.get(USER, journey.chance.choice(journey.approvals))
    verb = journey.chance.choice(("approve", "reject", "revise"))
    decision = Decision.model_validate({"decision": verb, "args_digest": approval.args_digest})
    await decide(services, USER, approval.id, decision, by="queue", where="")


async def executes(services: Services, journey: Journey) -> None:
    approval = await services.approvals.get(USER, journey.chance.choice(journey.approvals))
    if approval.status == "pending":
        decision = Decision(decision="approve", args_digest=approval.args_digest)
        await decide(services, USER, approval.id, decision, by="queue", where="")
    await execute(services, USER, approval.id)


async def drafts(services: Services, journey: Journey) -> None:
    journey.drafts.append(name := journey.name("card"))
    now = services.clock()
    given = {"user_id": USER, "run_id": "run_1", "conversation_id": None, "style": "standard", "label": "Beginning"}
    await services.drafts.add(Draft(id=name, **given, created_at=now, updated_at=now))


async def goes_on_with_a_draft(services: Services, journey: Journey) -> None:
    status = journey.chance.choice(("running", "waiting", "drafted", "published", "failed", "stopped"))
    name = journey.chance.choice(journey.drafts)
    await services.drafts.update(USER, name, services.clock(), status=status, label=status)


async def chooses_a_level(services: Services, journey: Journey) -> None:
    level = journey.chance.choice(("L1", "L2", "L3"))
    await services.autonomy.set_level(USER, level, to_datetime(services.clock()))


async def pulls_and_releases(services: Services, journey: Journey) -> None:
    try:
        await services.signals.turn_brake_on(USER, services.clock())
    finally:
        await services.signals.turn_brake_off(USER, services.clock() + 0.001)


async def remembers(services: Services, journey: Journey) -> None:
    journey.memories.append(name := journey.name("mem"))
    source = MemorySource(conversation_id="chat_1", message_ids=("m1",))
    memory = Memory(id=name, type="fact", content=f"Knows {name}", quote=f"I know {name}", source=source)
    await keep(services, USER, memory, [1.0], None)


async def corrects(services: Services, journey: Journey) -> None:
    known = await services.memories.get(USER, journey.chance.choice(journey.memories))
    if known.status == "active":
        journey.memories.append(name := journey.name("mem"))
        await keep(services, USER, Memory(id=name, type="fact", content=f"Likes {name}"), [1.0], known)


async def forgets(services: Services, journey: Journey) -> None:
    await forget(services, USER, [journey.chance.choice(journey.memories)])


async def deletes_a_conversation(services: Services, journey: Journey) -> None:
    name, now = journey.name("chat"), services.clock()
    await services.conversations.create(USER, name, NewTurn("run", "m1", "Hello", now), "default")
    journey.conversations.append(name)
    await delete(services, USER, name)


async def is_read(services: Services, journey: Journey) -> None:
    """Assert the state of an extracted conversation."""
    name = journey.name("batch")
    batch = Batch.model_validate(
        {
            "id": name,
            "user_id": USER,
            "conversation_id": "chat_1",
            "run_id": name,
            "read_from": 0,
            "read_to": 2,
            "status": "decided",
            "created_at": services.clock(),
        }
    )
    await services.extractions.add(batch)
    event = ActivityEvent(
        id=f"{name}:stored",
        user_id=USER,
        at=services.clock(),
        type="memory.extracted",
        role="memory",
        title="Remembered something you said in a conversation",
        data={"memory_ids": ("mem_1",), "remembered": 1},
    )
    await services.extractions.mark_stored(USER, name, (), 0, [event])


async def has_a_night(services: Services, journey: Journey) -> None:
    replaced = ReplacedMemory(gone="a", by="b", status="merged")
    run = ConsolidationRun(
        user_id=USER, run_id=journey.name("night"), created=services.clock(), replacements=(replaced,)
    )
    await services.journal.add(run)
    await services.journal.end(run, "applied", services.clock())
    await services.journal.end(run, "applied", services.clock())


async def chooses_a_job(services: Services, journey: Journey) -> None:
    journey.applications.append(name := journey.name("app"))
    now = services.clock()
    new = {"job_id": "job_1", "title": "Nurse", "created_at": now, "updated_at": now}
    await services.applications.add_or_get(Application(id=name, user_id=USER, **new))


async def goes_on_with_an_application(services: Services, journey: Journey) -> None:
    name, now = journey.chance.choice(journey.applications), services.clock()
    status = journey.chance.choice(("applied", "interview", "offer", "rejected"))
    changed = await services.applications.change(USER, name, now, status=status)
    await services.applications.record_reminder(changed, now)


async def is_briefed(services: Services, journey: Journey) -> None:
    name, now = journey.name("brief"), services.clock()
    briefing = Briefing(id=name, user_id=USER, run_id=name, day="", created_at=now)
    await services.briefings.add(briefing)
    for _ in range(2):
        await services.briefings.deliver(briefing, now, "lite")


async def looks_for_jobs(services: Services, journey: Journey) -> None:
    """The search that was killed is completed as well."""
    now = services.clock()
    await services.job_searches.begin(USER, journey.name("scout"), now)
    name = (await services.job_searches.get(USER)).run_id
    event = ActivityEvent(
        id=f"{name}:found", user_id=USER, at=now, type="jobs.found", role="jobs", title="Found 2 jobs"
    )
    for _ in range(2):
        await services.job_searches.end(USER, name, "ready", event, now)


async def has_a_lesson(services: Services, journey: Journey) -> None:
    name, now = journey.name("lesson"), services.clock()
    about = {"conversation_id": None, "topic": "Listening", "title": "Listening", "created_at": now, "updated_at": now}
    await services.lessons.add(Lesson(id=name, user_id=USER, run_id="run_1", **about))
    status = journey.chance.choice(("ready", "failed", "stopped"))
    for _ in range(2):
        await services.lessons.move(USER, name, now, status, status)


async def gives_a_resume(services: Services, journey: Journey) -> None:
    name, now = journey.name("resume"), services.clock()
    about = {"name": "cv.pdf", "label": "Reading", "created_at": now, "updated_at": now}
    await services.resumes.add(ResumeRecord(id=name, user_id=USER, run_id="run_1", **about))
    status = journey.chance.choice(("proposed", "done", "failed", "stopped"))
    for _ in range(2):
        await services.resumes.move(USER, name, now, status, status)


async def ends_an_interview(services: Services, journey: Journey) -> None:
    name, now = journey.name("interview"), services.clock()
    await services.conversations.create(USER, name, NewTurn("run", "m1", "Hello", now), "default", "interview")
    said = DraftSentence(topic="Work", aspects=(), text="She led a team.", quotes=(), since=1)
    drafted = Interview(turns=1, counted_to=1, drafted_to=1, statements=(said,), ended=Ended(reason="asked"))
    for after in (drafted.model_copy(update={"drafted_to": 0}), drafted, drafted):
        await services.interviews.change(
            USER,
            name,
            lambda known, after=after: after.model_copy(update={"revision": known.revision}),
            now=now,
        )


STEPS: Mapping[str, Step] = {
    each.__name__: each
    for each in (
        asks,
        decides,
        executes,
        drafts,
        goes_on_with_a_draft,
        chooses_a_level,
        pulls_and_releases,
        remembers,
        corrects,
        forgets,
        deletes_a_conversation,
        is_read,
        has_a_night,
        chooses_a_job,
        goes_on_with_an_application,
        is_briefed,
        looks_for_jobs,
        has_a_lesson,
        gives_a_resume,
        ends_an_interview,
    )
}
NEEDS: Mapping[Step, str] = {
    decides: "approvals",
    executes: "approvals",
    goes_on_with_a_draft: "drafts",
    corrects: "memories",
    forgets: "memories",
    goes_on_with_an_application: "applications",
}


def takes(world: World, step: Step, journey: Journey, death: Death, skew: float = 0.0) -> None:
    """Play a step until a process dies."""

    async def work(services: Services) -> None:
        services = replace(mortal(services, death), clock=lambda: world.clock() + skew)
        with suppress(AgentError):
            await step(services, journey)

    with suppress(Killed):
        world.run(work)


def in_feed(world: World) -> dict[str, ActivityEvent]:
    return {each.id: each for each in world.run(lambda services: services.activity.newest(USER, 10_000))}


def written(world: World) -> dict[str, ActivityEvent]:
    texts = [text for name in OUTBOXES for each in world.database[name].find() for text in each.get("events", [])]
    events = [ActivityEvent.model_validate_json(each) for each in texts]
    assert len({each.id for each in events}) == len(events), "each once"
    return {each.id: each for each in events}


def check(world: World, journey: Journey) -> None:
    """Assert that the feed matches the documents; a deleted conversation leaves none."""
    while world.sweep().get("copied"):
        pass
    feed = in_feed(world)
    assert {name: each for name, each in feed.items() if each.type != "conversation.deleted"} == written(world)
    deleted = {each.data["conversation_id"] for each in feed.values() if each.type == "conversation.deleted"}
    there = {each["id"] for each in world.database["agent_conversations"].find()}
    assert {*journey.conversations} - there <= deleted


@dataclass
class Poller:
    world: World
    cursor: str = ""
    told: list[str] = field(default_factory=list)

    def polls(self) -> None:
        answer = self.world.run(lambda services: updates(services, USER, self.cursor or None))
        self.told += [each.id for each in answer.items if each.type == "activity"]
        self.cursor = answer.cursor


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(8))
def test_after_any_journey_feed_and_polls_match_the_stored_documents(world: World, seed: int) -> None:
    chance, poller = random.Random(seed), Poller(world)
    journey = Journey(chance)
    poller.polls()
    for _ in range(50):
        step = chance.choice([each for each in STEPS.values() if getattr(journey, NEEDS.get(each, ""), True)])
        death = Death(chance.randint(1, 12), after=chance.random() < 0.5) if chance.random() < 0.4 else Death()
        takes(world, step, journey, death, chance.choice(SKEWED))
        world.clock.advance(chance.choice((0.5, 1.5, 61.0)))
        if chance.random() < 0.5:
            poller.polls()
        if chance.random() < 0.1:
            world.sweep()
    check(world, journey)
    poller.polls()
    assert set(poller.told) == in_feed(world).keys()
    poller.told.clear()
    poller.polls()
    assert poller.told == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", STEPS)
def test_the_feed_matches_the_stored_documents_although_a_step_was_killed(world: World, name: str) -> None:
    journey, unhurt = Journey(random.Random(1)), Death()
    step = STEPS[name]
    before = {"approvals": asks, "drafts": drafts, "memories": remembers, "applications": chooses_a_job}.get(
        NEEDS.get(step, "")
    )
    for death in (unhurt, *deaths(20)):
        if death.at > unhurt.writes and death is not unhurt:
            break
        if before:
            takes(world, before, journey, Death())
        takes(world, step, journey, death)
        world.clock.advance(1)
        check(world, journey)
    assert unhurt.writes > 1
    assert len(in_feed(world)) >= 2


# --- polls ------------------------------------------------------------------------------------------------------------


def event(n: int) -> ActivityEvent:
    return ActivityEvent(
        id=f"event_{n}", user_id=USER, at=1_000.0 + n, type="memory.merged", role="memory", title="Merged"
    )


def test_an_event_that_becomes_readable_after_a_later_one_is_still_polled(world: World) -> None:
    poller = Poller(world)
    poller.polls()
    for n in range(2):
        world.run(lambda services, n=n: services.activity.add(event(n)))
    early, late = world.database[COLLECTION].find().sort("_id", 1)
    world.database[COLLECTION].delete_many({})
    # Write both over the wire: the local database compares such dates only with each other.
    world.database[COLLECTION].insert_one(late)
    poller.polls()
    assert poller.told == ["event_1"]
    world.database[COLLECTION].insert_one({**early, "copied_at": late["copied_at"] - timedelta(seconds=8)})
    poller.polls()
    assert poller.told == ["event_1", "event_0"]


def test_more_events_than_a_poll_or_cursor_fits_are_each_polled_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polls, "MOST_EVENTS", 20)
    monkeypatch.setattr(polls, "MOST_TOLD", 5)
    poller = Poller(world)
    takes(world, drafts, Journey(random.Random(0)), Death())  # while something is running, each poll moves the cursor
    poller.polls()

    async def add(services: Services) -> None:
        for n in range(50):
            await services.activity.add(event(n))
            await asyncio.sleep(0.001)  # the database's clock has millisecond precision

    world.run(add)
    for _ in range(6):
        poller.polls()
    assert poller.told == [f"event_{n}" for n in range(50)]
