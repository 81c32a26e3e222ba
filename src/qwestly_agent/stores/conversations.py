"""`agent_conversations` and `agent_messages`: who holds a conversation now, and what was said in it.

A turn begins with one conditional write that claims the conversation for a few seconds (the *lease*, renewed while the
turn runs) and keeps the user's message in it, so that even a killed process loses nothing. It ends by inserting its
messages and then, in one conditional write, letting go. A document per message; calls and results travel inside the
answer that made them.
"""

import math
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pymongo import ReturnDocument
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import BulkWriteError, DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import ConversationBusy, NotFound
from qwestly_agent.stores.search import Document

CONVERSATIONS = "agent_conversations"
MESSAGES = "agent_messages"

LEASE_SECONDS = 6.0
"""How long a conversation stays claimed after the last sign of life, and so how long a killed turn blocks the next."""
RETENTION_SECONDS = 365 * 86_400
"""After its last use a conversation expires with its messages."""
SILENCE_SECONDS = 600.0
"""After which it is read for what to remember."""
RETENTION_SLACK_SECONDS = 30 * 86_400
"""Messages are given that much more, so that only one turn a month has to touch all of them again."""
TITLE_CHARACTERS = 80

Status = Literal["complete", "stopped", "failed", "interrupted"]


class Step(BaseModel):
    """A tool call, as a person reads it."""

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    label: str
    effect: str | None = None
    """read, draft, write, outward or destructive; None for a tool that does not exist."""
    outside: bool = False
    """Whether others than the user may have written what it returned."""
    users_own: bool = False
    """Whether what it returned is what the user typed, and nothing else."""
    arguments: str = "{}"
    """The beginning of their JSON."""
    ok: bool | None = None
    """None while it runs, and where the turn ended before it did."""
    problem: str | None = None
    """Why it failed or was refused."""
    ms: int | None = None


class Problem(BaseModel):
    """What went wrong, as the user was told."""

    model_config = ConfigDict(frozen=True)

    code: str
    message: str


class Feedback(BaseModel):
    """What the user thought of an answer."""

    model_config = ConfigDict(frozen=True)

    thumb: Literal["up", "down"]
    words: str | None = None
    at: datetime


class Message(BaseModel):
    """What the user or the agent said."""

    model_config = ConfigDict(frozen=True)

    id: str
    run_id: str
    seq: int
    role: Literal["user", "assistant"]
    content: str
    created_at: datetime
    status: Status = "complete"
    error: Problem | None = None
    steps: tuple[Step, ...] = ()
    model_messages: str = "[]"
    """An answer's requests and responses as the model saw them (JSON of pydantic-ai's), without the user's own."""
    receipt: dict[str, Any] = {}
    """Tokens, cost, latency, model, design and prompt version of an answer."""
    feedback: Feedback | None = None
    note: str = ""
    """What the model was told before the user's words: outcomes of approvals."""
    continues: str | None = None
    """The id under which a client goes on building this answer: that of the one before."""
    saw: tuple[str, ...] = ()
    """Ids of what an answer's prompts held: the context's memories, what tools returned, and what the answers before it
    had seen."""
    withheld: bool = False
    """Whether it tells what its user had forgotten: it stays in the transcript, and in no prompt."""


@dataclass(frozen=True)
class NewTurn:
    """A turn that asks for a conversation. `text` is None where it answers an earlier message without repeating it, and
    where its user only decided."""

    run_id: str
    message_id: str
    text: str | None
    started_at: float
    withheld: bool = False
    """Whether its text tells what its user had forgotten since."""


@dataclass(frozen=True)
class Claim:
    """A conversation that is ours until the lease runs out or `finish` lets it go."""

    user_id: str
    conversation_id: str
    turn: NewTurn
    design: str
    last_seq: int
    window_from: int
    """The `seq` at which the prompt's history begins."""
    context: Document | None
    messages_expire_at: float
    last_used: float
    """Before this turn."""
    abandoned: tuple[NewTurn, ...]
    """Turns of processes that died; the user's messages in them are not yet among the messages."""


@dataclass(frozen=True)
class Reading:
    """How far a conversation was read for what to remember."""

    read_to: int
    """The `seq` of the last message that was."""
    last_seq: int
    due_at: float
    attempts: int
    """That failed since."""
    running: float
    """Until when a turn holds it."""


@dataclass(frozen=True)
class Conversations:
    database: AsyncDatabase[Document]

    async def create(self, user_id: str, conversation_id: str, turn: NewTurn, design: str) -> Claim | None:
        """None where it exists already."""
        document = {
            "_id": _key(user_id, conversation_id),
            "user_id": user_id,
            "id": conversation_id,
            "title": title_of(turn.text or ""),
            "design": design,
            "created_at": to_datetime(turn.started_at),
            "last_seq": 0,
            "window_from": 0,
            "messages_expire_at": turn.started_at + RETENTION_SECONDS + RETENTION_SLACK_SECONDS,
            **_lease(turn),
            "turns": {turn.run_id: _kept(turn)},
        }
        try:
            await self.database[CONVERSATIONS].insert_one(document)
        except DuplicateKeyError:
            return None
        return _claim(document, turn)

    async def claim(self, user_id: str, conversation_id: str, turn: NewTurn) -> Claim:
        """Raises `ConversationBusy` while another turn holds it, `NotFound` where this user has none of that id."""
        document = await self.database[CONVERSATIONS].find_one_and_update(
            {**_of(user_id, conversation_id), "lease_until": {"$lte": turn.started_at}},
            {"$set": {**_lease(turn), f"turns.{turn.run_id}": _kept(turn)}},
            return_document=ReturnDocument.BEFORE,
        )
        if document is not None:
            return _claim(document, turn)
        held = await self.database[CONVERSATIONS].find_one(_of(user_id, conversation_id), {"lease_until": 1})
        if held is None:
            raise NotFound("There is no such conversation.")
        raise ConversationBusy(retry_after=max(1, math.ceil(held["lease_until"] - turn.started_at)))

    async def renew(self, user_id: str, conversation_id: str, run_id: str, now: float) -> bool:
        """False when the lease was lost: the turn must end and record nothing."""
        renewed = await self.database[CONVERSATIONS].update_one(
            _held(user_id, conversation_id, run_id), {"$set": {"lease_until": now + LEASE_SECONDS}}
        )
        return renewed.matched_count == 1

    async def abandon(self, claim: Claim) -> None:
        """Let go before anything was said. The user's message stays in the conversation for `recover`."""
        await self.database[CONVERSATIONS].update_one(
            _held(claim.user_id, claim.conversation_id, claim.turn.run_id), {"$set": {"lease_until": 0}}
        )

    async def recover(self, claim: Claim) -> int:
        """Keep what users wrote in turns whose process died; the new last `seq`."""
        seq = await self._last_seq(claim.user_id, claim.conversation_id)
        for turn in claim.abandoned:
            known = await self.exchange(claim.user_id, claim.conversation_id, turn.message_id)
            if turn.text is None or (known and known[0].content == turn.text):
                continue  # nothing new was said in it, or it died after it was recorded
            seq += 1
            await self.database[MESSAGES].insert_one(_document(claim, user_message(turn, seq, "interrupted")))
        await self.database[CONVERSATIONS].update_one(
            _held(claim.user_id, claim.conversation_id, claim.turn.run_id),
            {"$set": {"last_seq": seq}, "$unset": {f"turns.{turn.run_id}": "" for turn in claim.abandoned}},
        )
        return seq

    async def finish(
        self,
        claim: Claim,
        messages: list[Message],
        *,
        replaced_run: str | None,
        changes: Document,
        now: float,
        cost_usd: float = 0.0,
    ) -> bool:
        """Record a turn and let go of the conversation; False, and no answer recorded, when the lease was lost.

        `changes` are fields of the conversation. The messages of `replaced_run` make room for the new ones.
        """
        # Asked first: what a turn inserts that lost its conversation takes the numbers of the one that has it.
        if messages and not await self.renew(claim.user_id, claim.conversation_id, claim.turn.run_id, now):
            return False
        if messages and not await self._insert(claim, messages):
            await self._take_back(claim, replaced_run)
            return False
        if now + RETENTION_SECONDS > claim.messages_expire_at:
            changes = {**changes, "messages_expire_at": await self._keep_longer(claim, now)}
        if messages:
            changes = {**changes, "last_seq": messages[-1].seq}
        discard = await self.database[CONVERSATIONS].update_one(
            _held(claim.user_id, claim.conversation_id, claim.turn.run_id),
            {
                "$set": {
                    **changes,
                    "lease_until": 0,
                    "expires_at": to_datetime(now + RETENTION_SECONDS),
                    "extract_at": now + SILENCE_SECONDS,
                },
                "$inc": {"cost_usd": cost_usd},
                "$unset": {f"turns.{claim.turn.run_id}": "", "holder": ""},
            },
        )
        if discard.matched_count != 1:
            await self._take_back(claim, replaced_run)
            return False
        if replaced_run:
            await self._delete_run(claim, replaced_run)
        return True

    async def withdraw(self, claim: Claim) -> None:
        """As if the turn had never asked: a conversation that it began is not there either."""
        held = _held(claim.user_id, claim.conversation_id, claim.turn.run_id)
        if not claim.last_seq and not claim.abandoned:
            await self.database[CONVERSATIONS].delete_one(held)
            return
        await self.database[CONVERSATIONS].update_one(
            held,
            {
                "$set": {"lease_until": 0, "last_used": claim.last_used},
                "$unset": {f"turns.{claim.turn.run_id}": "", "holder": ""},
            },
        )

    async def running(self, user_id: str, now: float) -> set[str]:
        """The runs that hold a conversation of this user now."""
        query = {"user_id": user_id, "lease_until": {"$gt": now}}
        return {each["holder"] async for each in self.database[CONVERSATIONS].find(query, {"holder": 1})}

    async def braked(self, user_id: str, run_ids: Collection[str]) -> set[str]:
        """Those of these runs that the brake ended."""
        query = {"user_id": user_id, "run_id": {"$in": list(run_ids)}, "role": "assistant"}
        found = self.database[MESSAGES].find(query, {"run_id": 1, "error": 1})
        return {each["run_id"] async for each in found if (each.get("error") or {}).get("code") == "braked"}

    async def give_feedback(self, user_id: str, message_id: str, feedback: Feedback | None) -> None:
        """On one of the user's answers; None takes it back. Raises `NotFound`."""
        # An answer's id is made of its run's, and so is its document's.
        answer = {"_id": f"{message_id.removeprefix('msg_')}:assistant", "user_id": user_id, "id": message_id}
        change = {"$set": {"feedback": feedback.model_dump()}} if feedback else {"$unset": {"feedback": ""}}
        if not (await self.database[MESSAGES].update_one(answer, change)).matched_count:
            raise NotFound("There is no such answer.")

    async def recent(self, user_id: str, conversation_id: str, limit: int, before: int | None = None) -> list[Message]:
        """The newest messages (with a `seq` below `before`), oldest first."""
        query: Document = {"user_id": user_id, "conversation_id": conversation_id}
        if before is not None:
            query["seq"] = {"$lt": before}
        found = await self.database[MESSAGES].find(query, {"_id": 0}).sort("seq", -1).limit(limit).to_list()
        return _messages(reversed(found))

    async def exchange(self, user_id: str, conversation_id: str, message_id: str) -> list[Message]:
        """The user's message with this id and what was answered to it; empty for one that was never posted."""
        query = {"user_id": user_id, "conversation_id": conversation_id}
        posted = (
            self.database[MESSAGES].find({**query, "id": message_id, "role": "user"}, {"run_id": 1}).sort("seq", -1)
        )
        asked = await posted.limit(1).to_list()
        if not asked:
            return []
        found = self.database[MESSAGES].find({**query, "run_id": asked[0]["run_id"]}, {"_id": 0}).sort("seq", 1)
        return _messages(await found.to_list())

    async def last_used(self, user_id: str, limit: int, before: float | None = None) -> list[Document]:
        """The last used first (those last used before `before`, seconds since the epoch)."""
        query: Document = {"user_id": user_id}
        if before is not None:
            query["last_used"] = {"$lt": before}
        fields = dict.fromkeys(("id", "title", "created_at", "last_used", "lease_until", "cost_usd"), 1)
        return await self.database[CONVERSATIONS].find(query, fields).sort("last_used", -1).limit(limit).to_list()

    async def exists(self, user_id: str, conversation_id: str) -> bool:
        return await self.database[CONVERSATIONS].find_one(_of(user_id, conversation_id), {"_id": 1}) is not None

    async def get(self, user_id: str, conversation_id: str) -> Document:
        """Raises `NotFound`."""
        document = await self.database[CONVERSATIONS].find_one(_of(user_id, conversation_id))
        if document is None:
            raise NotFound("There is no such conversation.")
        return document

    async def running_turn(self, user_id: str, conversation_id: str, now: float) -> str | None:
        """The run that holds the conversation, if one does. Raises `NotFound`."""
        conversation = await self.get(user_id, conversation_id)
        return conversation["holder"] if is_running(conversation, now) else None

    async def delete(self, user_id: str, conversation_id: str) -> None:
        """With its messages; a turn under way records nothing any more. Raises `NotFound`."""
        deleted = await self.database[CONVERSATIONS].delete_one(_of(user_id, conversation_id))
        await self.database[MESSAGES].delete_many({"user_id": user_id, "conversation_id": conversation_id})
        if not deleted.deleted_count:
            raise NotFound("There is no such conversation.")

    async def recover_abandoned(self, user_id: str, conversation_id: str, reader_id: str, now: float) -> None:
        """The same where nobody may come back to go on: what was written in turns whose process died becomes messages.
        Raises `NotFound`."""
        document = await self.get(user_id, conversation_id)
        if is_running(document, now) or not unfinished_turns(document):
            return
        held = await self.database[CONVERSATIONS].find_one_and_update(
            {**_of(user_id, conversation_id), "lease_until": {"$lte": now}},
            {"$set": {"lease_until": now + LEASE_SECONDS, "holder": reader_id}},
            return_document=ReturnDocument.BEFORE,
        )
        if held is None:
            return
        await self.recover(_claim(held, NewTurn(reader_id, "", None, now)))
        await self.database[CONVERSATIONS].update_one(
            _held(user_id, conversation_id, reader_id), {"$set": {"lease_until": 0}, "$unset": {"holder": ""}}
        )

    # --- reading it for what to remember ------------------------------------------------------------------------------

    async def due_now(self, user_id: str, conversation_id: str, now: float) -> None:
        """It is over: read it at once. Raises `NotFound`."""
        changed = await self.database[CONVERSATIONS].update_one(
            _of(user_id, conversation_id), {"$set": {"extract_at": now}}
        )
        if not changed.matched_count:
            raise NotFound("There is no such conversation.")

    async def due_later(self, user_id: str, conversation_id: str, due_at: float) -> None:
        """Read it again at that time, unless it is due before."""
        query = {**_of(user_id, conversation_id), "extract_at": {"$in": [None, 0, 0.0]}}
        await self.database[CONVERSATIONS].update_one(query, {"$set": {"extract_at": due_at}})

    async def may_ask_again(self, user_id: str, conversation_id: str, batch_id: str) -> bool:
        """Whether no batch before this one asked about something near to what was forgotten."""
        query = {**_of(user_id, conversation_id), "asked_again_by": {"$nin": [None, batch_id]}}
        return await self.database[CONVERSATIONS].find_one(query, {"_id": 1}) is None

    async def note_asked_again(self, user_id: str, conversation_id: str, batch_id: str) -> None:
        """This batch asks about something near to what was forgotten: the one question of its conversation."""
        changes = {"$set": {"asked_again_by": batch_id}}
        await self.database[CONVERSATIONS].update_one(_of(user_id, conversation_id), changes)

    async def pick(self, user_id: str, conversation_id: str, now: float, until: float) -> bool:
        """Read it, and let nobody else do so `until` then; False where it is not due."""
        query = {**_of(user_id, conversation_id), "extract_at": {"$gt": 0, "$lte": now}, "lease_until": {"$lte": now}}
        picked = await self.database[CONVERSATIONS].update_one(query, {"$set": {"extract_at": until}})
        return picked.matched_count == 1

    async def reading(self, user_id: str, conversation_id: str) -> Reading:
        """Raises `NotFound`."""
        document = await self.get(user_id, conversation_id)
        return Reading(
            read_to=document.get("extracted_seq", 0),
            last_seq=document.get("last_seq", 0),
            due_at=document.get("extract_at", 0.0),
            attempts=document.get("extract_attempts", 0),
            running=document.get("lease_until", 0.0),
        )

    async def since(self, user_id: str, conversation_id: str, seq: int, limit: int) -> list[Message]:
        """The messages from `seq` on, oldest first."""
        query = {"user_id": user_id, "conversation_id": conversation_id, "seq": {"$gte": seq}}
        found = await self.database[MESSAGES].find(query, {"_id": 0}).sort("seq", 1).limit(limit).to_list()
        return _messages(found)

    async def move_watermark(
        self, user_id: str, conversation_id: str, read_from: int, read_to: int, now: float
    ) -> None:
        """It is read so far. Once more changes nothing; where nothing is left and nobody speaks, it is due no more."""
        here = _of(user_id, conversation_id)
        # Not with `$or`: beside an `_id` the laptop's database would update another document.
        start: Document = {"extracted_seq": read_from or {"$in": [None, 0]}}
        moved = {"$set": {"extracted_seq": read_to, "extract_attempts": 0}, "$unset": {"extract_set_aside": ""}}
        await self.database[CONVERSATIONS].update_one({**here, **start}, moved)
        query = {"extracted_seq": {"$gte": read_to}, "last_seq": {"$lte": read_to}, "lease_until": {"$lte": now}}
        left = await self.database[CONVERSATIONS].update_one({**here, **query}, {"$set": {"extract_at": 0.0}})
        if not left.matched_count:
            more = {**here, "extracted_seq": {"$gte": read_to}, "last_seq": {"$gt": read_to}}
            await self.database[CONVERSATIONS].update_one(more, {"$set": {"extract_at": now}})

    async def retry_later(
        self, user_id: str, conversation_id: str, due_at: float, attempts: int, set_aside: Document | None = None
    ) -> None:
        """Read it later (0: not before somebody says so), after so many attempts that failed. `set_aside` says why."""
        changes: Document = {"extract_at": due_at, "extract_attempts": attempts}
        if set_aside:
            changes["extract_set_aside"] = set_aside
        await self.database[CONVERSATIONS].update_one(_of(user_id, conversation_id), {"$set": changes})

    async def read_again(self, user_id: str, conversation_id: str, now: float) -> None:
        """One that was set aside, with all its attempts before it. Raises `NotFound`."""
        changed = await self.database[CONVERSATIONS].update_one(
            _of(user_id, conversation_id),
            {"$set": {"extract_at": now, "extract_attempts": 0}, "$unset": {"extract_set_aside": ""}},
        )
        if not changed.matched_count:
            raise NotFound("There is no such conversation.")

    async def withhold(
        self, user_id: str, message_ids: Collection[str], ids: Collection[str], tells: Callable[[str], bool]
    ) -> None:
        """No prompt holds any more the messages of these ids or with a text that `tells`, what was answered to them,
        what the agent said after them in their conversations, or what it said where it had seen one of `ids`. `tells`
        reads JSON too."""
        said: dict[str, int] = {}
        gone = set(ids)
        runs, answers, notes = set[str](), list[Document](), list[str]()
        found = self.database[MESSAGES].find({"user_id": user_id}, _TELLING)
        async for each in found.sort([("conversation_id", 1), ("seq", 1)]):
            conversation_id = each["conversation_id"]
            if each["role"] == "user":
                if tells(each.get("note", "")):
                    notes.append(each["_id"])
                if each["id"] in message_ids or tells(each["content"]):
                    runs.add(each["run_id"])
                    said.setdefault(conversation_id, each["seq"])
            elif (
                each["seq"] > said.get(conversation_id, each["seq"])
                or each["run_id"] in runs
                or gone.intersection(each.get("saw", ()))
                or tells(each["content"])
                or tells(each.get("model_messages", ""))
            ):
                answers.append(each)
        mine: Document = {"user_id": user_id}
        messages = self.database[MESSAGES]
        await messages.update_many({**mine, "_id": {"$in": notes}}, {"$set": {"note": ""}})
        asked = {**mine, "run_id": {"$in": list(runs)}, "role": "user"}
        await messages.update_many(asked, {"$set": {"withheld": True, "note": ""}})
        unseen = {"withheld": True, "model_messages": "[]"}
        await messages.update_many({**mine, "_id": {"$in": [each["_id"] for each in answers]}}, {"$set": unseen})
        for each in answers:
            if steps := [{**step, "arguments": "{}", "problem": None} for step in each.get("steps", ())]:
                await messages.update_one({**mine, "_id": each["_id"]}, {"$set": {"steps": steps}})
        # What stands in turns that run, or died, will be messages.
        async for conversation in self.database[CONVERSATIONS].find(mine, {"turns": 1}):
            for turn in unfinished_turns(conversation):
                if turn.message_id in message_ids or tells(turn.text or ""):
                    held = {**mine, "_id": conversation["_id"], f"turns.{turn.run_id}.message_id": turn.message_id}
                    changes = {f"turns.{turn.run_id}.withheld": True}
                    await self.database[CONVERSATIONS].update_one(held, {"$set": changes})

    async def drop_contexts(self, user_id: str) -> None:
        """What prompts begin with is made anew."""
        await self.database[CONVERSATIONS].update_many({"user_id": user_id}, {"$unset": {"context": ""}})

    async def withhold_run(self, user_id: str, run_id: str) -> None:
        query: Document = {"user_id": user_id, "run_id": run_id}
        await self.database[MESSAGES].update_many(query, {"$set": {"withheld": True, "note": ""}})
        answer = {**query, "role": "assistant"}
        await self.database[MESSAGES].update_many(answer, {"$set": {"model_messages": "[]"}})

    async def _insert(self, claim: Claim, messages: list[Message]) -> bool:
        try:
            await self.database[MESSAGES].insert_many([_document(claim, message) for message in messages])
        except (BulkWriteError, DuplicateKeyError):
            return False  # another turn has the numbers, so it has the conversation
        return True

    async def _take_back(self, claim: Claim, replaced_run: str | None) -> None:
        """What a turn that lost the conversation had inserted, but for the user's words: those of a new message stay as
        long as the conversation does."""
        there = await self.exists(claim.user_id, claim.conversation_id)
        only_answer = {"role": "assistant"} if there and not replaced_run else {}
        await self._delete_run(claim, claim.turn.run_id, **only_answer)

    async def _keep_longer(self, claim: Claim, now: float) -> float:
        until = now + RETENTION_SECONDS + RETENTION_SLACK_SECONDS
        await self.database[MESSAGES].update_many(
            {"user_id": claim.user_id, "conversation_id": claim.conversation_id},
            {"$set": {"expires_at": to_datetime(until)}},
        )
        return until

    async def _delete_run(self, claim: Claim, run_id: str, **more: str) -> None:
        await self.database[MESSAGES].delete_many(
            {"user_id": claim.user_id, "conversation_id": claim.conversation_id, "run_id": run_id, **more}
        )

    async def _last_seq(self, user_id: str, conversation_id: str) -> int:
        query = {"user_id": user_id, "conversation_id": conversation_id}
        newest = await self.database[MESSAGES].find(query, {"seq": 1}).sort("seq", -1).limit(1).to_list()
        return newest[0]["seq"] if newest else 0


_TELLING = dict.fromkeys(
    ("id", "run_id", "conversation_id", "seq", "role", "content", "note", "saw", "model_messages", "steps"), 1
)


def _messages(documents: Iterable[Document]) -> list[Message]:
    """Those that can be read: one that cannot must not cost its user the conversation."""
    read = []
    for document in documents:
        with suppress(ValidationError):
            read.append(Message.model_validate(document))
    return read


def user_message(turn: NewTurn, seq: int, status: Status) -> Message:
    return Message(
        id=turn.message_id,
        run_id=turn.run_id,
        seq=seq,
        role="user",
        content=turn.text or "",
        created_at=to_datetime(turn.started_at),
        status=status,
        withheld=turn.withheld,
    )


def unfinished_turns(conversation: Document) -> list[NewTurn]:
    """The turns that a conversation is claimed for, oldest first: one that runs, and those whose process died."""
    kept = conversation.get("turns", {}).items()
    turns = [
        NewTurn(run_id, turn["message_id"], turn["text"], turn["started_at"], turn.get("withheld", False))
        for run_id, turn in kept
    ]
    return sorted(turns, key=lambda turn: turn.started_at)


def is_running(conversation: Document, now: float) -> bool:
    return conversation.get("lease_until", 0) > now


def title_of(text: str) -> str:
    """A conversation's name: the beginning of its first message, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= TITLE_CHARACTERS:
        return line
    return line[:TITLE_CHARACTERS].rsplit(" ", 1)[0] + "…"


def _key(user_id: str, conversation_id: str) -> str:
    return f"{user_id}:{conversation_id}"


def _of(user_id: str, conversation_id: str) -> Document:
    return {"_id": _key(user_id, conversation_id), "user_id": user_id}


def _held(user_id: str, conversation_id: str, run_id: str) -> Document:
    return {**_of(user_id, conversation_id), "holder": run_id}


def _lease(turn: NewTurn) -> Document:
    return {
        "lease_until": turn.started_at + LEASE_SECONDS,
        "holder": turn.run_id,
        "last_used": turn.started_at,
        # Also of a turn whose process dies: what its user wrote is in the conversation.
        "extract_at": turn.started_at + SILENCE_SECONDS,
        "expires_at": to_datetime(turn.started_at + RETENTION_SECONDS),
    }


def _kept(turn: NewTurn) -> Document:
    return {"message_id": turn.message_id, "text": turn.text, "started_at": turn.started_at}


def _claim(document: Document, turn: NewTurn) -> Claim:
    return Claim(
        user_id=document["user_id"],
        conversation_id=document["id"],
        turn=turn,
        design=document["design"],
        last_seq=document.get("last_seq", 0),
        window_from=document.get("window_from", 0),
        context=document.get("context"),
        messages_expire_at=document.get("messages_expire_at", 0),
        last_used=document["last_used"],
        abandoned=tuple(other for other in unfinished_turns(document) if other.run_id != turn.run_id),
    )


def _document(claim: Claim, message: Message) -> Document:
    return {
        **message.model_dump(),
        "_id": f"{message.run_id}:{message.role}",
        "user_id": claim.user_id,
        "conversation_id": claim.conversation_id,
        "expires_at": to_datetime(claim.messages_expire_at),
    }
