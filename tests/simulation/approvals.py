"""One schedule of approvals: what a user, other devices and the sweep do, and what must hold in the end."""

import asyncio
import itertools
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from pymongo.errors import PyMongoError

from qwestly_agent.approvals import decide, pause
from qwestly_agent.approvals.act import ActRequest, ChosenLevel, ask, ask_act, refresh_outcomes
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.approvals.execute import LATEST_SECONDS, NEVER_KNOWN, execute
from qwestly_agent.approvals.propose import Proposer
from qwestly_agent.approvals.sweep import NOTIFY_SECONDS, sweep
from qwestly_agent.base.errors import AgentError
from qwestly_agent.domain.activity import of_approval
from qwestly_agent.domain.approval import FINAL, MOVES, Approval, DecidedBy, Level, Verb, sha256_hex
from qwestly_agent.profile import INGEST_LINKEDIN_PROFILE, UPDATE_PREFERENCE, UPDATE_PROFILE, UPDATE_PROFILE_FIELD
from qwestly_agent.stores import activity, jobs
from qwestly_agent.stores.approvals import COLLECTION, Approvals
from qwestly_agent.stores.drafts import pipeline_id_of
from tests.simulation.database import Document
from tests.simulation.scheduler import Choices, Process
from tests.simulation.world import BEGINS, CONVERSATION, FIRST_VALUES, USER, Effect, World

CHAT_SECONDS, REQUEST_SECONDS, SWEEP_SECONDS = 300.0, 60.0, 55.0
"""The time limits of the functions in template.yaml."""
GAPS = (0.0, 0.01, 0.03, 0.06, 0.1, 0.2, 0.2, 3.0, 12.0, 57.0, 61.0, 700.0, 90_000.0, 180_000.0)
SWEPT_WITHIN = 500.0
MOST_ACTS = 12
LEVELS: tuple[Level, ...] = ("L1", "L3", "L2", "L1", "L3")
VERBS: tuple[Verb, ...] = ("approve", "approve", "approve", "edit", "revise", "reject")
LONGEST_WAIT = 1_000_000.0
SKEW = 8.0
"""More than all clocks together are wrong."""


@dataclass(frozen=True)
class Decided:
    """What a person decided, and when."""

    at: float
    by: DecidedBy
    decision: decide.Decision


@dataclass
class Story:
    choices: Choices
    world: World = field(init=False)
    decided: dict[str, list[Decided]] = field(default_factory=dict[str, list[Decided]])
    undone: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """When the undo of which approval was asked for."""
    paused: list[float] = field(default_factory=list[float])
    """When the user was told that nothing runs any more."""
    proposals: int = 0
    broken: list[str] = field(default_factory=list[str])
    """Sentences about what did not hold in the end."""

    def __post_init__(self) -> None:
        self.world = World(self.choices)
        self.world.set_level(self.choices.one(LEVELS))

    async def tell(self) -> None:
        acts: tuple[tuple[int, Callable[[], None]], ...] = (
            (3, self.propose),
            (12, self.decide),
            (4, self.undo),
            (2, self.sweep),
            (1, self.look),
            (2, self.carry_out),
            (2, self.pause),
            (2, self.resume),
            (1, self.change_level),
            (2, self.change_elsewhere),
        )
        weighted = [act for weight, act in acts for _ in range(weight)]
        self.propose()
        for _ in range(1 + self.choices.number(MOST_ACTS)):
            gap = self.choices.one(GAPS)
            if gap > SWEPT_WITHIN:
                await self._pass()
            await asyncio.sleep(gap)
            self.choices.one(weighted)()
        await self.world.scheduler.settled()
        await self.end_quietly()

    async def _pass(self) -> None:
        """Time in which sweeps come every minute, of which the first ones matter."""
        for _ in range(2):
            await asyncio.sleep(61.0)
            self.sweep()

    async def end_quietly(self) -> None:
        """Without faults, sweeps go on until nothing is left to do."""
        scheduler, wait = self.world.scheduler, 20.0
        scheduler.is_quiet = True
        ends = scheduler.now + 100.0  # what is late has come by then
        while (due := self._next_due) or scheduler.now < ends:
            await asyncio.sleep(max(wait, min(due - self.world.time, 700_000.0)))
            self.sweep()
            await scheduler.settled()
            wait *= 2
            if wait > LONGEST_WAIT:
                break

    @property
    def _next_due(self) -> float:
        """0 if nothing is due any more."""
        return min((each.due_at for each in self.records if each.due_at), default=0.0)

    @property
    def script(self) -> list[str]:
        return self.world.scheduler.script

    @property
    def records(self) -> list[Approval]:
        return [Approvals.from_document(each) for each in self.world.tables.documents.get(COLLECTION, {}).values()]

    def _start(self, name: str, work: Callable[[Any], Coroutine[Any, Any, Any]], limit: float, times: int = 1) -> None:
        """Start it; some requests are delivered twice."""

        async def run(process: Process[Any]) -> Any:
            return await work(self.world.services(process))

        for _ in range(times):
            self.world.scheduler.start(name, run, limit=limit)

    def _times(self) -> int:
        return (1, 1, 1, 1, 2)[self.choices.number(5)]

    # --- what happens ---

    def propose(self) -> None:
        self.proposals += 1
        number, word = self.proposals, f"Nurse {self.proposals}"
        changes = [{"field": "headline", "value": word}, {"field": "remote", "value": "only" if number % 2 else "no"}]
        proposal, message = (
            (Proposal(UPDATE_PROFILE_FIELD, {"field": "headline", "value": word}), f"Change my headline to {word}"),
            (Proposal(UPDATE_PROFILE_FIELD, {"field": "location", "value": word}), f"Change my location to {word}"),
            (Proposal(UPDATE_PROFILE, {"changes": changes}), "Please change my profile."),
            (Proposal(UPDATE_PREFERENCE, {"name": "roles", "value": [word]}), f"Change my roles to {word}"),
            (
                Proposal(INGEST_LINKEDIN_PROFILE, {"url": f"https://linkedin.com/in/{number}", "refresh": True}),
                "Please read my LinkedIn profile.",
            ),
        )[self.choices.number(5)]

        async def work(services: Any) -> None:
            run_id = f"run {number}"
            self.world.say(run_id, message)
            asking = Proposer(services, USER, run_id, CONVERSATION, message, token=self.world.token())
            await asking.submit(proposal, "call")

        self._start(f"propose: {message}", work, CHAT_SECONDS, self._times())

    def decide(self) -> None:
        if not (pending := [each for each in self.records if each.status == "pending"]):
            return
        record = self.choices.one(pending)
        verb, by = self.choices.one(VERBS), self.choices.one(("chat", "queue"))
        # Now and then a page shows an older question.
        seen = self.choices.one([record] * 7 + [self.records[0]])
        edit = {"value": f"{record.arguments.get('value')} too"} if verb == "edit" else None
        reason = "Shorter, please" if verb == "revise" else None
        decision = decide.Decision(decision=verb, args_digest=seen.args_digest, args=edit, reason=reason)

        async def work(services: Any) -> None:
            now = self.world.scheduler.now
            self.decided.setdefault(record.id, []).append(Decided(now, by, decision))
            here = record.conversation_id if by == "chat" else None
            asked = ActRequest(token=self.world.token(), approval_id=record.id, conversation_id=here, act=decision)
            await ask_act(services, asked)

        limit = CHAT_SECONDS if by == "chat" else REQUEST_SECONDS
        self._start(f"{verb} {record.id[:9]}, seen as {seen.id[:9]}", work, limit, self._times())

    def undo(self) -> None:
        if not (done := [each for each in self.records if each.status == "done" and each.inverse]):
            return
        record = self.choices.one(done)

        async def work(services: Any) -> None:
            self.undone.setdefault(record.id, []).append(self.world.scheduler.now)
            await ask_act(services, ActRequest(token=self.world.token(), approval_id=record.id, act="undo"))

        self._start(f"undo {record.id[:9]}", work, REQUEST_SECONDS, self._times())

    def sweep(self) -> None:
        ends = self.world.scheduler.now + SWEEP_SECONDS
        self._start("sweep", lambda services: sweep(services, lambda: ends - self.world.scheduler.now), SWEEP_SECONDS)

    def look(self) -> None:
        async def work(services: Any) -> None:
            await refresh_outcomes(services, await services.approvals.list_open(USER, 100), self.world.token())

        self._start("look at the queue", work, REQUEST_SECONDS)

    def carry_out(self) -> None:
        """As a workflow's state does that is delivered again."""
        if records := self.records:
            record = self.choices.one(records)
            self._start(f"carry out {record.id[:9]}", lambda services: execute(services, USER, record.id), CHAT_SECONDS)

    def pause(self) -> None:
        async def work(services: Any) -> None:
            status = await pause.engage(services.signals, services.sweeps, USER, services.clock)
            if status.state == "paused":
                self.paused.append(self.world.scheduler.now)

        self._start("pause", work, REQUEST_SECONDS)

    def resume(self) -> None:
        async def work(services: Any) -> None:
            await pause.release(services.signals, services.sweeps, USER, services.clock)

        self._start("resume", work, REQUEST_SECONDS)

    def change_level(self) -> None:
        level: Level = self.choices.one(("L0", "L0", "L1", "L3"))

        async def work(services: Any) -> None:
            await ask(services, ActRequest(token=self.world.token(), act=ChosenLevel(level=level, ceiling=None)))

        self._start(f"set the level to {level}", work, REQUEST_SECONDS)

    def change_elsewhere(self) -> None:
        name = self.choices.one(("headline", "location"))
        value = self.choices.one(("Elsewhere", FIRST_VALUES[name]))

        async def work(_: Any) -> None:
            self.world.change_elsewhere(**{name: value})

        self._start(f"change the {name} elsewhere to {value}", work, REQUEST_SECONDS)

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        """Return sentences about what does not hold."""
        yield from self._crashes()
        for record in self.records:
            versions = self.world.records[record.id]
            yield from (f"{record.id[:9]} {each}" for each in self._history(versions))
            yield from (f"{record.id[:9]} {each}" for each in self._end(record))
            yield from (f"{record.id[:9]} {each}" for each in self._permission(record, versions))
        yield from self._pauses()

    def _crashes(self) -> Iterator[str]:
        for each in self.world.scheduler.processes:
            if each.error and not isinstance(each.error, AgentError | PyMongoError):
                yield f"{each.name} raised {each.error!r}"
        unexpected = set(self.world.logged) - EXPECTED_ERRORS
        if unexpected:
            yield f"{', '.join(sorted(unexpected))} was logged"

    def _history(self, versions: list[tuple[float, Document]]) -> Iterator[str]:
        wanted: set[str] = set()
        for (_, before), (_, after) in itertools.pairwise(versions):
            moved = before["status"], after["status"]
            if moved[0] != moved[1] and moved[1] not in MOVES.get(moved[0], ()):
                yield f"went from {moved[0]} to {moved[1]}"
        for number, (_, document) in enumerate(versions):
            is_silent = (document["status"], document["answer"]) == ("pending", "run")
            before = versions[number - 1][1] if number else {}
            is_same = all(document[name] == before.get(name) for name in ("status", "answer"))
            if not (is_silent or is_same):
                wanted.add(of_approval(Approvals.from_document(document)).id)
        feed = self.world.tables.documents.get(activity.COLLECTION, {})
        fed = {key for key in feed if key.startswith(f"{versions[0][1]['_id']}:")}
        if fed != wanted:
            yield f"has other events in the feed than in its history: {sorted(fed ^ wanted)}"

    def _end(self, record: Approval) -> Iterator[str]:
        effects = [each for each in self.world.effects if each.act == record.id]
        if record.status not in FINAL or record.is_unfinished:
            yield f"never ended: it is {record.status}"
        elif len(effects) > 1:
            yield f"was done {len(effects)} times"
        elif record.status == "done" and not effects:
            yield "says that it was done, and it was not"
        elif record.status != "done" and effects and record.outcome != NEVER_KNOWN:
            is_late = effects[0].at > self._ended(record)
            yield f"says {record.status} ({record.outcome}), and it was done{' later' * is_late}"
        is_started = record.redraft_id is None or pipeline_id_of(record.redraft_id) in self.world.started
        if not (is_started or self._was_given_up(record)):
            yield "was to be drafted anew, and was not"
        if record.tool == UPDATE_PROFILE.tool and record.status == "done":
            search = self.world.tables.documents.get(jobs.JOB_SEARCHES, {}).get(USER, {})
            if record.id not in search.get("wishes_changed_by", ()):
                yield "says that it was done, and its wishes were not kept"
        if record.undoes and record.status == "done" and effects:
            yield from self._undo(record, effects[0])

    def _ended(self, record: Approval) -> float:
        """When it was written that it ended so."""
        return next(at for at, each in self.world.records[record.id] if each["status"] == record.status)

    def _was_given_up(self, record: Approval) -> bool:
        """True if no sweep came while its execution could still be started."""
        told = next((at for at, each in self.world.records[record.id] if each["told_execution"]), 0.0)
        return BEGINS + told - record.updated_at > NOTIFY_SECONDS - SKEW

    def _undo(self, record: Approval, effect: Effect) -> Iterator[str]:
        before, after, undone_at = effect.before, effect.after, effect.at
        original = next(each for each in self.records if each.id == record.undoes)
        done = next((each for each in self.world.effects if each.act == original.id), None)
        if done is None:
            yield "undid what was never done"
            return
        changed = {name for name in done.after if done.changed(name)}
        if any(before[name] != done.after[name] for name in changed):
            ours = [(each.at, name) for each in self.world.effects for name in changed if each.changed(name)]
            every = [at for at, name in (*self.world.elsewhere, *ours) if name in changed and done.at < at < undone_at]
            is_new = any(begun <= at for at in every for begun in self.undone.get(original.id, ()))
            yield f"undid what somebody {'changed while it was asked for' if is_new else 'had changed since'}"
        elif any(after[name] != done.before[name] for name in changed):
            yield "did not restore what was there"
        if original.undone_by != record.id:
            yield f"undid {original.id[:9]}, which says that it was undone by {original.undone_by}"

    def _permission(self, record: Approval, versions: list[tuple[float, Document]]) -> Iterator[str]:
        world, asked = self.world, self.decided.get(record.id, [])
        for sent in (each for each in world.sent if each.act == record.id):
            now = next(document for at, document in reversed(versions) if at <= sent.at)
            begun = max((at for at, each in versions if each["status"] == "executing" and at <= sent.at), default=None)
            if now["status"] != "executing" or begun is None:
                yield f"was sent while its record was {now['status']}"
                continue
            if not self._was(world.brakes, False, begun, sent.at):
                yield "was sent while everything was paused"
            if not record.undoes and not self._was_allowed(sent.process.begun if sent.process else 0.0, sent.at):
                yield "was sent at a level that refuses it"
            if now["begun_at"] > now["decided_at"] + LATEST_SECONDS + CHAT_SECONDS + SKEW:
                yield "was sent long after it was decided"
            if sha256_hex(record.tool, now["args"]) != now["args_digest"]:
                yield "was sent with arguments that have another digest"
            values = {each: json.dumps(each, ensure_ascii=False).encode() for each in _values(now)}
            if missing := [each for each, written in values.items() if written not in sent.body]:
                yield f"was sent without {missing}"
            match now["decided_by"]:
                case "level":
                    if not self._was(world.levels, "L3", sent.process.begun if sent.process else 0.0, sent.at):
                        yield "was done without asking, below L3"
                case "undo":
                    if record.undoes not in self.undone:
                        yield "was undone by nobody"
                case by:
                    yield from self._person(versions, by, asked)

    def _person(self, versions: list[tuple[float, Document]], by: str, asked: list[Decided]) -> Iterator[str]:
        first, decided = versions[0][1], next(each for _, each in versions if each["status"] == "approved")
        if decided["decided_at"] > first["expires_at"]:
            yield "was approved after its time"
        yes = [each for each in asked if each.by == by and each.decision.decision in ("approve", "edit")]
        if not any(each.decision.args_digest == first["args_digest"] for each in yes):
            yield "was approved by nobody who saw it"
        if any(each["status"] == "rejected" for _, each in versions):
            yield "was done although it was declined"

    def _pauses(self) -> Iterator[str]:
        for begin in self.paused:
            end = next((at for at, is_on in self.world.brakes if at >= begin and not is_on), float("inf"))
            for sent in self.world.sent:
                if begin < sent.at < end:
                    yield f"{sent.act[:9]} was sent after the user was told that nothing runs"
            for effect in self.world.effects:
                if begin < effect.at < end:
                    yield f"{effect.act[:9]} was done after the user was told that nothing runs"

    def _was(self, history: list[tuple[float, Any]], wanted: Any, begin: float, end: float) -> bool:
        """True if the state was `wanted` at some moment between these."""
        states = [state for at, state in history if begin < at <= end]
        return wanted in [*states, [state for at, state in history if at <= begin][-1]]

    def _was_allowed(self, begin: float, end: float) -> bool:
        return any(self._was(self.world.levels, level, begin, end) for level in ("L1", "L2", "L3"))


EXPECTED_ERRORS = {"AutoReconnect", "NetworkTimeout", "Unavailable"}


def _values(document: Document) -> list[Any]:
    """The values that a request for this record must have."""
    args = json.loads(document["args"])
    changes = args.get("changes") or [args]
    named = [each.get("value", args.get("url")) for each in changes if each.get("field") != "remote"]
    return [item for each in named for item in (each if isinstance(each, list) else [each])]


@contextmanager
def stood_in(story: Story) -> Iterator[None]:
    """In place of a model, and of the metrics."""
    judged = patch("qwestly_agent.approvals.propose.is_requested", story.world.judged)
    with judged, patch("qwestly_agent.approvals.sweep.measure_waiting", lambda *_: None):
        yield


def play(choices: Choices, tell: Callable[[Story], Coroutine[Any, Any, None]] = Story.tell) -> Story:
    story = Story(choices)
    with stood_in(story):
        story.world.scheduler.run(tell(story))
    story.broken = list(story.check())
    return story
