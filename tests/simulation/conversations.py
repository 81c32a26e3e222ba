"""What must hold of conversations: nothing said is lost, all stands in its order, and what is deleted is gone."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from qwestly_agent.base.errors import Braked, ChangedMeanwhile, Invalid, NotFound, OverBudget, TooManyTurns
from qwestly_agent.stores import conversations, memories, messages
from tests.simulation.chats import ChatStory, deletion_of
from tests.simulation.database import Document
from tests.simulation.scheduler import Process
from tests.simulation.story import REQUEST_SECONDS, SKEW, Story, written
from tests.simulation.world import BEGINS, Version

MINUTE = 60.0
REFUSED = (Braked, ChangedMeanwhile, Invalid, NotFound, OverBudget, TooManyTurns)
"""Errors with which a turn takes its message back."""


@dataclass
class ConversationStory(Story):
    chats: ChatStory

    def check(self) -> Iterator[str]:
        for key, versions in self.world.versions[conversations.COLLECTION].items():
            yield from (f"{key} {each}" for each in self._kept(versions))
            yield from (f"{key} {each}" for each in self._stays_deleted(versions))
            yield from (f"{key} {each}" for each in self._released(versions))
            yield from (f"{key} {each}" for each in _of_one_trial(versions))
        yield from self._in_order()
        yield from self._deleted()

    def _said(self, user_id: str, where: str) -> list[Document]:
        """The messages of a conversation, in their order."""
        found = self.world.table(messages.COLLECTION).values()
        here = [each for each in found if (each["user_id"], each["conversation_id"]) == (user_id, where)]
        return sorted(here, key=lambda each: each["seq"])

    def _kept(self, versions: list[Version]) -> Iterator[str]:
        """A message that its turn has taken stays, unless the turn was refused or its user deleted it. What is said
        while a conversation is being deleted may go with it."""
        taken: dict[str, tuple[Document, Process[Any] | None]] = {}
        before: Document = {}
        last: Document = {}
        for at, document, process in versions:
            now = document or {}
            last = document or last
            for run_id, turn in now.get("turns", {}).items():
                is_of_a_turn = process is not None and process.name.startswith("turn ")  # which holds the conversation
                if is_of_a_turn and not self._is_being_deleted(last["user_id"], last["id"], at):
                    taken.setdefault(run_id, (turn, process))
            is_deletion = process is not None and _is_deletion(process)
            for run_id in before.get("turns", {}).keys() - now.get("turns", {}).keys():
                owner = taken.get(run_id, ({}, None))[1]
                takes_back = owner and owner is process and (owner.faults or isinstance(owner.error, REFUSED))
                if is_deletion or takes_back:
                    taken.pop(run_id, None)
            if document is None and is_deletion:
                taken.clear()
            before = now
        if not last or last["user_id"] in self.stage.leaving:
            return
        left = (versions[-1].document or {}).get("turns", {})
        texts = {each["content"] for each in self._said(last["user_id"], last["id"]) if each["role"] == "user"}
        for run_id, (turn, _) in taken.items():
            if not (turn["text"] is None or turn["text"] in texts or run_id in left):
                yield f"has lost “{turn['text']}”"

    def _is_being_deleted(self, user_id: str, where: str, at: float) -> bool:
        name = next(each.name for each in self.world.people if each.id == user_id)
        return any(
            each.begun <= at and not 0 <= each.ended < at
            for each in self.world.scheduler.processes
            if each.name == deletion_of(name, where)
        )

    def _stays_deleted(self, versions: list[Version]) -> Iterator[str]:
        """What its user deleted is begun anew only by a turn that comes later."""
        known = set[str]()
        is_gone = False
        for _, document, process in versions:
            if document is None:
                is_gone = bool(process and _is_deletion(process))
                continue
            runs = {*document.get("turns", {}), document.get("holder")}
            is_ours = process is not None and process.name.startswith("propose")  # the world's own words
            if is_gone and not is_ours and (runs & known or "created_at" not in document):
                yield "was deleted, and is there again"
            known |= runs - {None}
            is_gone = False

    def _released(self, versions: list[Version]) -> Iterator[str]:
        """No turn holds a conversation after its end."""
        document = versions[-1].document
        if not document:
            return
        if document["lease_until"] > self.world.time + MINUTE * 10:
            yield "is held for ever"
        for each in self.chats.typed:
            process = each.process
            is_over = process.ended >= 0 and not (process.faults or process.error)
            if is_over and any(map(process.has_made, document.get("turns", ()))):
                yield f"waits for the turn “{each.text}”, which has ended"

    def _in_order(self) -> Iterator[str]:
        """No two messages of a conversation have one place, and an answer follows what it answers."""
        places: dict[tuple[str, str], list[Document]] = {}
        for document in self.world.table(messages.COLLECTION).values():
            places.setdefault((document["user_id"], document["conversation_id"]), []).append(document)
        for found in places.values():
            before: Document | None = None
            for each in sorted(found, key=lambda each: each["seq"]):
                if before and before["seq"] == each["seq"]:
                    yield f"{each['_id']} has the place of {before['_id']}"
                asked = before and before["role"] == "user" and before["run_id"] == each["run_id"]
                if each["role"] == "assistant" and not asked:
                    yield f"{each['_id']} answers nothing"
                before = each

    def _deleted(self) -> Iterator[str]:
        for (user_id, where), (at, ended) in self.chats.deleted.items():
            here = f"{user_id}:{where}"
            begun_anew = self.world.table(conversations.COLLECTION).get(here, {}).get("created_at")
            is_anew = bool(begun_anew and begun_anew.timestamp() > BEGINS + at - SKEW)
            removed = [
                (version.at, version.document or {})
                for collection, version in self.world.removed_by
                if collection == conversations.COLLECTION and (version.document or {}).get("_id") == here
            ]
            now = self.world.table(conversations.COLLECTION).get(here)
            lives = [
                (begun.timestamp() - BEGINS - SKEW if (begun := document.get("created_at")) else 0.0, ended)
                for ended, document in (*removed, *([(float("inf"), now)] if now else ()))
            ]
            if user_id in self.stage.leaving:
                continue
            for key, document in self.world.table(messages.COLLECTION).items():
                is_here = (document["user_id"], document["conversation_id"]) == (user_id, where)
                version = self.world.written_by[messages.COLLECTION, key]
                process = version.process
                is_sure = process and process.begun < at and not (process.faults or process.is_dead)
                if is_here and is_sure and not is_anew:
                    yield f"{key} is left of a conversation that was deleted"
            for key, document in self.world.table(memories.COLLECTION).items():
                first = self.world.versions[memories.COLLECTION][key][0]
                source = document.get("source") or {}
                is_of_it = (document["user_id"], source.get("conversation_id")) == (user_id, where)
                is_read = first.process and first.process.name.startswith("store of") and not first.process.faults
                was_there = any(begun <= first.at <= ended for begun, ended in lives)
                if is_of_it and is_read and removed and not was_there:
                    yield f"{key[:9]} was learnt from a conversation that was deleted before"
            for key, versions in self.world.records.items():
                history = written(versions)
                asking, first = versions[0].process, history[0][1]
                is_here = (first["user_id"], first["conversation_id"]) == (user_id, where)
                is_sure = asking and asking.begun < at and not (asking.faults or asking.is_dead)
                then = [document for when, document in history if when <= ended + REQUEST_SECONDS]
                is_of_it = not is_anew or any(
                    history[0][0] < at < ended or first["run_id"] in document.get("turns", {})
                    for at, document in removed
                )
                if is_here and is_sure and is_of_it and then and then[-1]["status"] == "pending":
                    yield f"{key[:9]} still waits, and its conversation was deleted"
            for record in self.world.approvals:
                is_here = (record.user_id, record.conversation_id) == (user_id, where)
                if is_here and not is_anew and record.created_at < BEGINS + at - SKEW:
                    yield f"{record.id[:9]} still names a conversation that was deleted"


def _is_deletion(process: Process[Any]) -> bool:
    return process.name.startswith(("delete ", "erase ", "act for erase"))


def _of_one_trial(versions: list[Version]) -> Iterator[str]:
    """A conversation takes part in a trial from its first turn on, or not at all."""
    claimed: dict[int, Document] = {}
    before: Document = {}
    for _, document, process in versions:
        now = document or {}
        if process and document:
            claim = claimed.setdefault(process.number, document)
            if now.get("assignment") and not before.get("assignment") and claim.get("last_seq"):
                yield "takes part in a trial since a later turn"
        before = now
