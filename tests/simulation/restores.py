"""The story of a restore: the database goes back to an earlier moment, `qwestly-agent restore check` puts it right, and
its people go on. The candidate app, AWS and what was mailed keep their state."""

import asyncio
import json
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from infra.restore import KEYS_GONE, MARGIN_SECONDS, Check
from qwestly_agent.approvals import pause
from qwestly_agent.approvals.links import hash_of
from qwestly_agent.domain.approval import EVERYBODY, FINAL
from qwestly_agent.stores import approvals, collections, conversations, memories, messages
from qwestly_agent.stores.user_data import user_collections
from tests.simulation.accounts import AccountStory
from tests.simulation.approvals import ApprovalStory
from tests.simulation.chats import ChatStory
from tests.simulation.database import Document
from tests.simulation.mails import LINK, kind_of
from tests.simulation.memories import MemoryStory
from tests.simulation.story import CHAT_SECONDS, Story, written
from tests.simulation.world import BEGINS

ROUNDS = 3
"""How often everybody approves and undoes all that they can, afterwards."""
LATER_SECONDS = (61.0, 7_200.0, 90_000.0)


@dataclass
class RestoreStory(Story):
    approvals: ApprovalStory
    accounts: AccountStory
    chats: ChatStory
    memories: MemoryStory
    backup: dict[str, dict[Any, Document]] | None = None
    at: float = 0.0
    """The moment of the backup."""
    until: float = 0.0
    """When the stage was stopped."""
    told: str = ""
    """What the check has printed."""
    found: list[str] = field(default_factory=list[str])
    """Sentences about what did not hold right after it."""

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return ((30, self.back_up),)

    # --- what happens ---

    def back_up(self) -> bool | None:
        """Keep the moment to which the database will be restored."""
        if self.backup is not None:
            return False
        self.backup = {name: {**self.world.table(name)} for name in collections()}
        self.at = self.stage.now
        self.world.scheduler.note("the moment of the backup")
        if self.choices.number(2):
            self.stage.go_on(self._undo_later())
        return None

    async def _undo_later(self) -> None:
        """Somebody undoes what the backup has."""
        await asyncio.sleep(self.choices.one((3.0, 12.0)))
        if any(each.person.id not in self.stage.leaving for each in self.memories.active()):
            self.memories.undo(self.memories.newest())

    async def go_back(self) -> None:
        """Restore it, put it right, and go on, without further faults."""
        assert self.backup is not None
        scheduler = self.world.scheduler
        scheduler.is_quiet, self.until = True, self.stage.now
        scheduler.note("the database is restored")
        for name, documents in self.backup.items():
            self.world.tables.documents[name] = {**documents}
        [process] = self.stage.start("put right", self._put_right, CHAT_SECONDS)
        await process.over
        if process.result is not True:
            self.found.append(f"the restored database was not put right: {self.told}")
        self.found += [*self._back(), *self._asked_again()]
        await self._release()
        await self._later(LATER_SECONDS[:1])
        for _ in range(ROUNDS):
            for record in [each for each in self.world.approvals if each.status == "pending"]:
                self.approvals.decide_on(record, "approve", "queue", record)
            await self._later()
            for record in [each for each in self.world.approvals if each.status == "done" and each.inverse]:
                self.approvals.undo(record)
            await self._later()

    async def _put_right(self, services: Any) -> bool:
        await pause.engage(services.signals, services.sweeps, EVERYBODY, services.clock)
        printed = StringIO()
        since, until = BEGINS + self.at, BEGINS + self.until
        lines = [each for each in map(json.loads, self.world.aws.erasures) if each["at"] >= since - MARGIN_SECONDS]
        is_right = False
        for _ in range(2):
            check = Check(services, services.database, sorted(lines, key=lambda each: each["at"]), since, until)
            with redirect_stdout(printed):
                is_right = await check.run(apply=True)
        self.told = printed.getvalue()
        return is_right or KEYS_GONE in self.told

    async def _release(self) -> None:
        async def work(services: Any) -> None:
            await pause.release(services.signals, services.sweeps, EVERYBODY, services.clock)

        [process] = self.stage.start("release", work, CHAT_SECONDS)
        await process.over

    async def _later(self, waits: Sequence[float] = LATER_SECONDS) -> None:
        for seconds in waits:
            await asyncio.sleep(seconds)
            self.approvals.sweep()
            await self.world.scheduler.settled()

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        yield from self.found
        yield from self._back()
        yield from self._done_again()
        yield from self._mailed_again()
        for each in self.world.approvals:
            if each.status not in FINAL or each.is_unfinished:
                yield f"{each.id[:9]} never ended after the restore: it is {each.status}"

    def _back(self) -> Iterator[str]:
        """Nothing is back that was erased, deleted or forgotten since."""
        for user_id, (_, ended) in self.accounts.erasures.items():
            left = [name for name in user_collections() if user_id in repr(self.world.table(name)) and ended > self.at]
            if left:
                yield f"{user_id} was erased, and is back in {', '.join(left)}"
        for (user_id, where), (begun, ended) in self.chats.deleted.items():
            is_anew = any(
                begun <= each.at <= self.at and (each.tab.person.id, each.tab.where) == (user_id, where)
                for each in self.chats.typed
            )
            here = f"{user_id}:{where}" in self.world.table(conversations.COLLECTION)
            said = [
                each
                for each in self.world.table(messages.COLLECTION).values()
                if (each["user_id"], each["conversation_id"]) == (user_id, where)
            ]
            if ended > self.at and not is_anew and (here or said):
                yield f"{user_id}'s conversation {where} was deleted, and is back"
        yield from (f"after the restore, {each}" for each in self.memories.forgotten())
        remembered = {
            each.get("content")
            for each in self.world.table(memories.COLLECTION).values()
            if each["status"] in memories.READABLE
        }
        for fact in self.memories.facts:
            begun, ended = fact.undone[-1] if fact.undone else (0.0, 0.0)
            is_said_again = fact.read or any(each.begun >= begun or each.ended < 0 for each in fact.said)
            if ended > self.at and fact.text in remembered and not is_said_again:
                yield f"“{fact.text}” was undone, and is back"

    def _asked_again(self) -> Iterator[str]:
        """Nothing is asked that is done already or that nobody waits for, and nothing can be undone twice."""
        done = {each.act for each in self.world.effects if KEYS_GONE not in self.told}
        undoes = self._undoes()
        undone = {undoes.get(each) for each in done}
        for each in self.world.approvals:
            if each.status == "pending" and each.id in done:
                yield f"{each.id[:9]} is asked again, and was done"
            if each.status == "done" and each.id in undone and not each.undone_by:
                yield f"{each.id[:9]} can be undone again"
            if each.status == "pending" and each.task_token and not each.told_execution:
                token, _ = json.loads(b64decode(each.task_token))
                if token not in self.world.aws.waiting:
                    yield f"{each.id[:9]} is asked for an execution that has ended"

    def _undoes(self) -> dict[str, str]:
        """What each undo undoes, also of those that the restore has lost."""
        return {key: written(versions)[0][1]["undoes"] for key, versions in self.world.records.items()}

    def _done_again(self) -> Iterator[str]:
        """Nothing that was done since is done again, and nothing is undone twice."""
        for act, number in Counter(each.act for each in self.world.effects).items():
            if number > 1 and KEYS_GONE not in self.told:
                yield f"{act[:9]} was done {number} times"
        undoes = self._undoes()
        of = Counter(undone for each in self.world.effects if (undone := undoes.get(each.act)))
        for act, number in of.items():
            if number > 1:
                yield f"{act[:9]} was undone {number} times"

    def _mailed_again(self) -> Iterator[str]:
        """A mail about what the backup has is sent once; what was asked since is lost, and may be asked anew."""
        kept = (self.backup or {})[approvals.COLLECTION]
        # The approval of each link, by its hash.
        of = {
            link.rpartition(":")[2]: key
            for key, versions in self.world.records.items()
            for _, each in written(versions)
            for link in each["links"]
        }
        before = set[tuple[str | None, str]]()
        for each in self.world.aws.mails:
            key = next((of[hashed] for link in LINK.findall(each.text) if (hashed := hash_of(link)) in of), None)
            if each.at <= self.until:
                before.add((key, kind_of(each)))
            elif key and key in kept and (key, kind_of(each)) in before:
                yield f"{key[:9]} was mailed again, as {kind_of(each)}"
