"""The story of nights: what says the same is merged, what a newer one contradicts is replaced, and both are taken apart
again."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from qwestly_agent.container import states_of
from qwestly_agent.memory.consolidate_writer import undo
from qwestly_agent.stores import memories
from qwestly_agent.stores.memory_work import JOURNAL
from tests.simulation.agent import in_one_wording
from tests.simulation.database import Document
from tests.simulation.executions import STATE_SECONDS, Execution, ExecutionStory
from tests.simulation.memories import MemoryStory
from tests.simulation.scheduler import Process
from tests.simulation.story import SKEW, Story, were, written
from tests.simulation.world import BEGINS

READS, WRITES = states_of("consolidate", "reader"), states_of("consolidate", "writer")
TRIES, AGAIN_SECONDS = 6, 61.0


@dataclass
class NightStory(Story):
    memories: MemoryStory
    executions: ExecutionStory
    undone: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """Start and end of taking nights apart, by the id in the journal."""

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return (
            (2, self.remember_otherwise),
            (1, self.consolidate),
            (4, self.remember_and_consolidate),
            (3, self.consolidate_beside),
            (2, self.take_apart),
        )

    # --- what happens ---

    def remember_otherwise(self) -> bool | None:
        """Somebody has remembered, in other words, what is known, or what is so instead."""
        if not (active := self._active()):
            return False
        fact = self.choices.one(active)
        if self.choices.number(3) == 1:
            newer = self.memories.new_fact(fact.person)
            self.memories.takes_place(newer, fact)
        else:
            newer = self.memories.reworded(fact)
        self.memories.tell(self.memories.chats.tab(fact.person), newer)
        return None

    def consolidate(self) -> bool | None:
        """A night begins for somebody."""
        if not (active := self._active()):
            return False
        number = len(self.executions.executions) + 1
        given = {"run_id": f"night-{number}"}
        execution = Execution(number, self.choices.one(active).person.id, given, "consolidate", WRITES)
        self.executions.begin(execution, partial(self._run, execution))
        return None

    def remember_and_consolidate(self) -> None:
        """Something is told in other words, and a night comes."""
        is_known = self.remember_otherwise() is not False
        if not is_known:
            self.memories.remember()

        async def run() -> None:
            await asyncio.sleep(3.0)
            if not is_known and self._active():
                self.remember_otherwise()
                await asyncio.sleep(3.0)
            self.choices.one((self.consolidate, self.consolidate_beside))()
            if self.choices.number(3) == 1:
                await asyncio.sleep(self.choices.one((1.0, 12.0)))
                self.take_apart()

        self.stage.go_on(run())

    def consolidate_beside(self) -> bool | None:
        """Somebody changes what is known while a night compares it."""
        if self.consolidate() is False:
            return False
        acts = (self.memories.correct, self.memories.forget, self.memories.undo, self.memories.undo, None)
        act, gap = self.choices.one(acts), self.choices.one((0.1, 0.2, 0.3, 0.4, 0.6))

        async def run() -> None:
            await asyncio.sleep(gap)
            if act is None:
                self.take_apart()
            elif self._active():
                act(self.memories.newest())

        self.stage.go_on(run())
        return None

    def take_apart(self) -> bool | None:
        """An operator takes back what a night did."""
        runs = [
            each
            for each in self.world.table(JOURNAL).values()
            if each["status"] == "applied" and each["replacements"] and each["user_id"] not in self.stage.leaving
        ]
        if not runs:
            return False
        run = self.choices.one(runs)

        async def work(services: Any) -> None:
            await undo(services.merges, services.journal, run["user_id"], run["run_id"], services.clock())

        async def until_done() -> None:
            """As the sweep goes on with what was interrupted."""
            for _ in range(TRIES):
                [process] = self.stage.start(f"take {run['run_id']} apart", work, STATE_SECONDS)
                await process.over
                if process.result is None and not (process.is_dead or process.error):
                    self.undone.setdefault(run["_id"], (process.begun, process.ended))
                    break
                await asyncio.sleep(AGAIN_SECONDS)
            if self.choices.number(2) and self.remember_otherwise() is None:  # and the next night compares again
                await asyncio.sleep(3.0)
                self.consolidate()

        self.stage.go_on(until_done())
        return None

    def _active(self) -> list[Any]:
        return [each for each in self.memories.active() if each.person.id not in self.stage.leaving]

    async def _run(self, execution: Execution) -> None:
        planned = await self.executions.until_done("plan", replace(execution, states=READS), execution.given)
        if not isinstance(planned, str) and (planned["begun"] or planned["questions"]):
            await self.executions.until_done("apply", execution, planned)

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        yield from self._replaced()
        yield from self._still_known()
        yield from self._counted()
        yield from self._apart()

    def _by_night(self) -> Iterator[tuple[str, float, Document]]:
        """Yield all memories that nights have replaced, as they were then."""
        for key, versions in self.world.versions[memories.COLLECTION].items():
            before = ""
            for at, document in written(versions):
                now = document.get("replaced_in", "")
                if now and now != before:
                    yield key, at, document
                before = now

    def _replaced(self) -> Iterator[str]:
        """A night replaces only what says the same or holds no more, by what its person said."""
        for key, _, document in self._by_night():
            by, replaced_in = document["superseded_by"], document["replaced_in"]
            relation = self.world.relation(self.memories.text(key), self.memories.text(by))
            if relation != {"merged": "same", "superseded": "contradicts"}.get(document["status"], relation):
                yield f"{key[:9]} was {document['status']} by {by[:9]} in {replaced_in}, which is {relation}"

    def _still_known(self) -> Iterator[str]:
        """What was merged is known as something else, unless that was forgotten too."""
        there = self.world.table(memories.COLLECTION)
        texts = Counter(map(self.memories.text, there))
        for key, document in there.items():
            is_merged = document["status"] == "merged" and document["user_id"] not in self.stage.leaving
            # What was told in the same words since takes its place, and may be undone.
            if not is_merged or self._is_running(document) or texts[document["content"]] > 1:
                continue
            last = document
            while last["status"] in ("merged", "superseded") and last["superseded_by"] in there:
                last = there[last["superseded_by"]]
            ended = self._process(last["_id"], last["status"])
            if last["status"] != "active" and not (ended and (ended.is_dead or ended.error)):
                yield f"{key[:9]} was merged, and what it was merged into is {last['status']}"

    def _process(self, key: str, status: str) -> Process[Any] | None:
        """Whoever gave a memory this status."""
        versions = self.world.versions[memories.COLLECTION][key]
        return next(each.process for each in versions if each.document and each.document["status"] == status)

    def _is_running(self, document: Document) -> bool:
        run = self.world.table(JOURNAL).get(f"{document['user_id']}:{document['replaced_in']}")
        return run is None or run["status"] not in ("applied", "undone")

    def _counted(self) -> Iterator[str]:
        """What was merged counts with what it was merged into, and once in all."""
        there = self.world.table(memories.COLLECTION)
        for key, document in there.items():
            if document["status"] != "merged" or self._is_running(document):
                continue
            by = there.get(document["superseded_by"], {"status": "gone"})
            run = self.world.table(JOURNAL)[f"{document['user_id']}:{document['replaced_in']}"]
            is_planned = any((each["gone"], each["by"]) == (key, by.get("_id")) for each in run["replacements"])
            if is_planned and by["status"] == "active" and key not in by.get("took_in", ()):
                yield f"{key[:9]} was merged into {document['superseded_by'][:9]}, and is not counted"
        for wording in {in_one_wording(each.text) for each in self.memories.facts}:
            same = [each for each in self.memories.facts if in_one_wording(each.text) == wording]
            counts = [
                each["count"]
                for each in there.values()
                if each["status"] == "active" and in_one_wording(each["content"]) == wording
            ]
            said = sum(len(each.said) + len(each.read) for each in same)
            if sum(counts) > max(said, len(counts)):
                yield f"“{wording}” counts {sum(counts)} times, and was said {said} times"

    def _apart(self) -> Iterator[str]:
        """What a night merged is apart once that was taken back, and stays so."""
        there, runs = self.world.table(memories.COLLECTION), self.world.table(JOURNAL)
        for run_id, (begun, ended) in self.undone.items():
            run = runs.get(run_id)
            if run is None:
                continue
            pairs = {frozenset((each["gone"], each["by"])): each for each in run["replacements"]}
            for each in pairs.values():
                gone = there.get(each["gone"], {"status": "gone"})
                is_left = gone.get("superseded_by") == each["by"] and gone.get("replaced_in") == run["run_id"]
                states = self.stage.states(memories.COLLECTION, each["by"], lambda found: found["status"], "gone")
                if is_left and were(states, begun, ended) == ["active"]:
                    yield f"{each['gone'][:9]} is still {gone['status']}, though {run_id} was taken back"
            for key, _, document in self._by_night():
                is_again = frozenset((key, document["superseded_by"])) in pairs
                later = runs.get(f"{run['user_id']}:{document['replaced_in']}")
                if is_again and later and later["created"] > BEGINS + ended + SKEW:
                    yield f"{key[:9]} was replaced again, though {run_id} was taken back"
