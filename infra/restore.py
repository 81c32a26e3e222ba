"""Find inconsistencies after the database was restored to an earlier time, and fix them: docs/restore.md.

`check --since MOMENT` changes nothing. It prints a sentence for each user, conversation and memory that was erased
since and is back; each approval that waits although it was executed or undone, or although no execution waits for it
any more; work that makes no progress; and each mail, briefing and event that would be sent again. --apply fixes all of
it, while the global brake is on. Run again, it finds what is left.

Exits with 1 if something was found and not fixed.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase

from infra.stages import WrongUsage, parse_moment
from qwestly_agent.account import delete, erase
from qwestly_agent.approvals.end import withdraw
from qwestly_agent.approvals.execute import adopt, find_unknown_undo
from qwestly_agent.approvals.mail import reminder_time
from qwestly_agent.approvals.sweep import EVENTS_OUT
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound, Unavailable
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap
from qwestly_agent.clients.aws import AWS
from qwestly_agent.clients.candidate_app import NeverArrived, Unknown
from qwestly_agent.domain.approval import EVERYBODY, KEYS_KEPT_SECONDS, MAIL_AFTER_SECONDS, UNDO_SECONDS, Approval
from qwestly_agent.memory.forget import forget_exactly
from qwestly_agent.platform.collection import Document
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import COLLECTION as APPROVALS
from qwestly_agent.stores.conversations import COLLECTION as CONVERSATIONS
from qwestly_agent.stores.drafts import COLLECTION as DRAFTS
from qwestly_agent.stores.memories import COLLECTION as MEMORIES
from qwestly_agent.stores.memories import FORGOTTEN
from qwestly_agent.stores.messages import COLLECTION as MESSAGES
from qwestly_agent.stores.user_data import user_collections

T = TypeVar("T")
Found = TypeVar("Found")

MARGIN_SECONDS = 120.0
"""Longer than an erasure takes: one that had started before that time may be half done in the database."""
AT_ONCE = 20
NOT_BRAKED = "Nothing is fixed while the stage runs: qwestly-agent brake on, against the restored database."
NOT_LOGGED = "ERASURE_LOG is not set: what was erased and forgotten since is not known."
KEYS_GONE = "The candidate app keeps outcomes for 48 hours: what was carried out before that is not known."
WENT_BACK = (
    "We had to go back to an earlier copy of our data, and no longer know what became of this. Nothing more is done "
    "with it. Ask again if you still want it."
)
DRAFT_WENT_BACK = "Drafted, then lost in a repair of our data. Ask again to continue"
DRAFT_STOPPED = "Stopped by a repair of our data. Ask again to continue"


@dataclass(frozen=True)
class Finding:
    sentence: str
    fix: Callable[[], Awaitable[object]] | None = None
    """None if a person has to check."""


Findings = AsyncIterator[Finding]


@dataclass
class Check:
    services: Services
    database: AsyncDatabase[Document]
    """Without the driver's short time limits, because all users' documents are read."""
    lines: list[dict[str, Any]]
    """Lines of the erasure log, from shortly before that time on."""
    since: float
    """The time to which the database was restored."""
    until: float
    """When the stage was stopped."""
    _users: dict[str, str] = field(default_factory=dict[str, str])
    """User ids by their hashes."""
    _erased: set[str] = field(default_factory=set[str])

    @property
    def steps(self) -> list[Callable[[], Findings]]:
        """In the order in which they are executed: erased data is not checked again."""
        return [
            self.erased_users,
            self.deleted_conversations,
            self.forgotten_memories,
            self.carried_out,
            self.undone,
            self.waiting_for_nobody,
            self.running,
            self.mails,
            self.briefings,
            self.events,
        ]

    async def run(self, *, apply: bool) -> bool:
        """Print the findings, and fix them if `apply`. Returns True if none is left."""
        ids = {user_id for each in user_collections() for user_id in await self._user_ids(each)}
        self._users = {each: user_id for user_id in ids for each in self.services.erasure_log.hashes(user_id)}
        is_right, count = True, 0
        for step in self.steps:
            found = [each async for each in step()]
            count += len(found)
            for each in found:
                print(each.sentence)
                if apply and each.fix:
                    await each.fix()
                else:
                    is_right = False
        what = "fixed" if apply and is_right else "left" if apply else "to fix, with --apply"
        print(f"{count} found, {what}." if count else "Nothing is wrong.")
        return is_right

    # --- erased and forgotten -----------------------------------------------------------------------------------------

    async def erased_users(self) -> Findings:
        for user_id, line in self._lines("user"):
            if user_id not in self._erased:
                self._erased.add(user_id)
                counts = await self.services.user_data.count_documents(user_id)
                what = f"{user_id} was erased at {_at(line)}, and has {sum(counts.values())} documents again"
                yield Finding(f"{what}: they are erased.", lambda user_id=user_id: erase(self.services, user_id))

    async def deleted_conversations(self) -> Findings:
        deleted = {(user_id, line["id"]): line for user_id, line in self._lines("conversation")}
        for user_id in {each for each, _ in deleted} - self._erased:
            for conversation_id in await self._conversations_of(user_id):
                hashes = self.services.erasure_log.hashes(user_id, conversation_id)
                if line := next((deleted[user_id, each] for each in hashes if (user_id, each) in deleted), None):
                    what = f"Conversation {conversation_id} of {user_id} was deleted at {_at(line)}"
                    yield Finding(
                        f"{what}, and is back: it is deleted.",
                        lambda user_id=user_id, each=conversation_id: self._delete_conversation(user_id, each),
                    )

    async def forgotten_memories(self) -> Findings:
        for user_id, line in self._lines("memory"):
            query = {"_id": line["id"], "user_id": user_id}
            found = await self.database[MEMORIES].find_one(query, {"status": 1, "content": 1})
            if found and found["status"] == FORGOTTEN and "content" not in found:
                continue
            how = "is back" if found else "could be learnt again"
            yield Finding(
                f"Memory {line['id']} of {user_id} was forgotten at {_at(line)}, and {how}: it is forgotten.",
                lambda user_id=user_id, line=line: self._forget(user_id, line),
            )

    async def _forget(self, user_id: str, line: Mapping[str, Any]) -> None:
        await self.services.tombstones.put_back(user_id, line["id"], line["tombstone"], self.services.clock())
        await forget_exactly(self.services, user_id, [line["id"]])

    async def _delete_conversation(self, user_id: str, conversation_id: str) -> None:
        with suppress(NotFound):  # only its messages were left
            await delete(self.services, user_id, conversation_id)

    async def _conversations_of(self, user_id: str) -> list[str]:
        conversations = self.database[CONVERSATIONS].find({"user_id": user_id}, {"id": 1})
        messages = self.database[MESSAGES].find({"user_id": user_id}, {"conversation_id": 1})
        ids = [each["id"] async for each in conversations] + [each["conversation_id"] async for each in messages]
        return sorted(set(ids))

    def _lines(self, what: str) -> list[tuple[str, dict[str, Any]]]:
        """Return the lines about users who are in the database and will not be erased, with their ids."""
        found = [(self._users.get(each["user"], ""), each) for each in self.lines if each["what"] == what]
        return [
            (user_id, line) for user_id, line in found if user_id and (what == "user" or user_id not in self._erased)
        ]

    # --- approvals ----------------------------------------------------------------------------------------------------

    async def carried_out(self) -> Findings:
        """Look up effects in the candidate app by their idempotency keys. The sweep looks up effects in progress."""
        waiting = [each for each in await self._approvals("pending", "approved") if not self._is_ours(each)]
        if waiting and self.services.clock() - self.since > KEYS_KEPT_SECONDS:
            yield Finding(KEYS_GONE)
        ask = self.services.candidate_app.outcome_of
        outcomes = await _each(waiting, lambda approval: ask(approval.user_id, approval.id, approval.id))
        for approval, outcome in zip(waiting, outcomes, strict=True):
            match outcome:
                case NeverArrived():
                    continue
                case Unknown():
                    yield Finding(f"{_named(approval)} may have been carried out: the candidate app does not answer.")
                case _:
                    undone_by = await find_unknown_undo(self.services, approval)
                    yield Finding(
                        f"{_named(approval)} is {approval.status} again, and was carried out"
                        f"{' and undone' if undone_by else ''}: it ends with its outcome.",
                        lambda approval=approval, outcome=outcome, undone_by=undone_by: adopt(
                            self.services, approval, outcome, undone_by
                        ),
                    )

    async def undone(self) -> Findings:
        undoable = {"undone_by": None, "undoes": None, "begun_at": {"$gte": self.since - UNDO_SECONDS}}
        done = [each for each in await self._approvals("done", **undoable) if each.inverse and not self._is_ours(each)]
        undos = await _each(done, lambda approval: find_unknown_undo(self.services, approval))
        for approval, undone_by in zip(done, undos, strict=True):
            if undone_by:
                yield Finding(
                    f"{_named(approval)} stands as done, and was undone: it is marked as undone.",
                    lambda approval=approval, undone_by=undone_by: self.services.approvals.change(
                        approval, lambda record: record.undone(undone_by)
                    ),
                )

    async def waiting_for_nobody(self) -> Findings:
        waiting = await self._approvals("pending", task_token={"$ne": None}, told_execution=False)
        for approval in waiting:
            try:
                token = await self.services.workflows.opened(approval.task_token or "", approval.id)
                if await self.services.workflows.waits(token):
                    continue
            except Unavailable:
                yield Finding(f"{_named(approval)} waits by a token that could not be asked about: run this again.")
                continue
            if self._is_ours(approval):
                yield Finding(
                    f"{_named(approval)} is pending again, and its execution has ended: it is asked without one.",
                    lambda approval=approval: self.services.approvals.change(
                        approval, lambda record: record.awaited_by(None)
                    ),
                )
            else:
                yield Finding(
                    f"{_named(approval)} is pending again, and its execution has ended: it is closed.",
                    lambda approval=approval: self._close(approval),
                )

    async def _close(self, approval: Approval) -> None:
        await withdraw(self.services, approval, WENT_BACK)
        if approval.draft_id:
            now, told = self.services.clock(), {"status": "drafted", "label": DRAFT_WENT_BACK}
            with suppress(NotFound):
                await self.services.drafts.update(approval.user_id, approval.draft_id, now, **told)

    async def running(self) -> Findings:
        """End work that makes no progress: its execution has ended since, or waits for a lost approval. An execution
        that is still running writes its next status."""
        for user_id, draft_id in await self._running(DRAFTS, ["running"]):
            yield Finding(
                f"Draft {draft_id} of {user_id} stands as running: it is stopped, and may be asked for again.",
                lambda user_id=user_id, draft_id=draft_id: self.services.drafts.update(
                    user_id, draft_id, self.services.clock(), status="stopped", label=DRAFT_STOPPED
                ),
            )
        for work in self.services.works:
            for user_id, work_id in await self._running(work.collection, sorted(work.under_way)):
                yield Finding(
                    f"The {work.subject} {work_id} of {user_id} stands as running: it fails, and may be asked for.",
                    lambda work=work, user_id=user_id, work_id=work_id: work.move(
                        user_id, work_id, self.services.clock(), "failed", work.try_again
                    ),
                )

    async def _running(self, collection: str, statuses: list[str]) -> list[tuple[str, str]]:
        found = self.database[collection].find({"status": {"$in": statuses}}, {"user_id": 1}).sort("created_at", 1)
        return [(each["user_id"], each["_id"]) async for each in found if each["user_id"] not in self._erased]

    async def _approvals(self, *statuses: str, **query: Any) -> list[Approval]:
        """Return the approvals of users who will not be erased, oldest first."""
        query |= {"status": {"$in": [*statuses]}}
        found = self.database[APPROVALS].find(query, {"user_id": 1}).sort("created_at", 1)
        ids = [(each["user_id"], each["_id"]) async for each in found if each["user_id"] not in self._erased]
        return await _each(ids, lambda each: self.services.approvals.get(*each))

    def _is_ours(self, approval: Approval) -> bool:
        action = self.services.actions.get(approval.tool)
        return action is None or action.is_own_data

    # --- sent again ---------------------------------------------------------------------------------------------------

    async def mails(self) -> Findings:
        """A mail that was due before the stage was stopped was sent."""
        for approval in await self._approvals("pending", mail_at={"$ne": None}):
            following = self._next_mail(approval)
            if following != approval.mail_at:
                later = f"the reminder of {_iso(following)} is next" if following else "none follows"
                yield Finding(
                    f"The mail about {_named(approval)} would be sent again: it counts as sent, {later}.",
                    lambda approval=approval, following=following: self.services.approvals.change(
                        approval, lambda record: record.mailed(following, f"{_iso(self.since)} mailed since")
                    ),
                )

    def _next_mail(self, approval: Approval) -> float | None:
        assert approval.mail_at is not None
        reminder = reminder_time(approval)
        if reminder <= self.until:
            return None
        # The brake may have postponed it.
        was_due = min(approval.mail_at, approval.created_at + MAIL_AFTER_SECONDS) <= self.until
        return reminder if was_due else approval.mail_at

    async def briefings(self) -> Findings:
        """Executions of the same day have the same name, but only as long as Step Functions remembers it."""
        for user_id, _, at in await self.services.briefing_plans.list_due(0, self.until, 0):
            if user_id not in self._erased:
                yield Finding(
                    f"The briefing of {_iso(at)} for {user_id} would be sent again: the next one is scheduled.",
                    lambda user_id=user_id: self._skip_briefing(user_id),
                )

    async def _skip_briefing(self, user_id: str) -> None:
        plan = await self.services.briefing_plans.get(user_id)
        if plan.next and plan.next.at <= self.until:
            await self.services.briefing_plans.schedule_next(plan, self.until)
        else:  # unreadable, or switched off
            await self.services.briefing_plans.reschedule(user_id, self.until)

    async def events(self) -> Findings:
        """Move the position of the published events to the restored moment: all events until then were published before
        the stage stopped."""
        position = await self.services.sweeps.position(EVENTS_OUT)
        if self.services.settings.event_bus and position is not None and position < self.since:
            yield Finding(
                f"Events since {_iso(position)} would be published again: those after {_iso(self.since)} are next.",
                lambda: self.services.sweeps.save_position(EVENTS_OUT, self.since),
            )

    # --- reading ------------------------------------------------------------------------------------------------------

    async def _user_ids(self, collection: str) -> list[str]:
        grouped = await self.database[collection].aggregate([{"$group": {"_id": "$user_id"}}])
        return [each["_id"] async for each in grouped]


async def _each(items: list[T], work: Callable[[T], Awaitable[Found]]) -> list[Found]:
    found: list[Found] = []
    for at in range(0, len(items), AT_ONCE):
        found += await asyncio.gather(*map(work, items[at : at + AT_ONCE]))
    return found


def _named(approval: Approval) -> str:
    return f"{approval.id} of {approval.user_id} ({approval.tool})"


def _at(line: Mapping[str, Any]) -> str:
    return _iso(line["at"])


def _iso(moment: float) -> str:
    return to_datetime(moment).isoformat(timespec="seconds")


def read_erasures(logs: Any, group: str, seconds: float, since: float) -> list[dict[str, Any]]:
    """Return the lines about erasures since then, oldest first. `seconds` is the time since then: the log uses the
    machines' clock."""
    begin = max(0, int((time.time() - seconds) * 1000))
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group, startTime=begin)
    lines = (json.loads(each["message"]) for page in pages for each in page["events"])
    return sorted((each for each in lines if each["at"] >= since), key=lambda each: each["at"])


async def check(services: Services, since: float, until: float, *, apply: bool) -> bool:
    """Print inconsistencies, and fix them if `apply`. Returns True if nothing is left."""
    if apply and not await services.signals.is_braked(EVERYBODY):
        print(NOT_BRAKED, file=sys.stderr)
        return False
    lines, group, begin = list[dict[str, Any]](), services.settings.erasure_log, since - MARGIN_SECONDS
    if group:
        ago = services.clock() - begin
        lines = await asyncio.to_thread(read_erasures, AWS().client("logs"), group, ago, begin)
    else:
        print(NOT_LOGGED)
    settings = services.settings
    async with AsyncMongoClient[Document](settings.mongodb_uri, tz_aware=True) as mongo:
        found = Check(services, mongo[settings.mongodb_database], lines, since, until)
        return await found.run(apply=apply) and bool(group)


async def run(settings: Settings, since: datetime, until: datetime | None, *, apply: bool) -> bool:
    services = await bootstrap(settings)
    try:
        now = services.clock()
        stopped = now if until is None else until.timestamp()
        if not since.timestamp() <= stopped <= now:
            raise WrongUsage("--since is before --until, and both are over")
        return await check(services, since.timestamp(), stopped, apply=apply)
    finally:
        await services.close()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["check"], help="find what is inconsistent")
    parser.add_argument(
        "--since", required=True, metavar="MOMENT", help="the moment to which the database was restored; ISO 8601"
    )
    parser.add_argument("--until", metavar="MOMENT", help="when the stage was stopped; now, if left out")
    parser.add_argument("--apply", action="store_true", help="fix what is found")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    since = parse_moment(arguments.since)
    until = parse_moment(arguments.until) if arguments.until else None
    settings = Settings.from_env(environment)
    return 0 if asyncio.run(run(settings, since, until, apply=arguments.apply)) else 1
