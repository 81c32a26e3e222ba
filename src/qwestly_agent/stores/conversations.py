"""`agent_conversations` and `agent_messages`: each conversation with its lease, and its messages.

A turn begins with one conditional write that claims the conversation for a few seconds (the *lease*, renewed while the
turn runs) and stores the user's message in it, so that even a killed process loses nothing. It ends by inserting its
messages and then, in one conditional write, releasing the lease. There is one document per message; tool calls and
results are part of the answer that made them.
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
"""Lease duration after each renewal, and so the longest time that a killed turn blocks the next one."""
RETENTION_SECONDS = 365 * 86_400
"""A conversation and its messages expire this long after its last use."""
SILENCE_SECONDS = 600.0
"""A conversation that has been silent for so long is due for memory extraction."""
RETENTION_SLACK_SECONDS = 30 * 86_400
"""Messages live that much longer, so that only one turn a month has to postpone the expiry of all of them."""
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
    """True if others than the user may have written its result."""
    users_own: bool = False
    """True if its result is only what the user typed."""
    arguments: str = "{}"
    """The beginning of the arguments' JSON."""
    ok: bool | None = None
    """None while it runs, or if the turn ended before it did."""
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
    """A message of the user, or an answer of the agent."""

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
    """An answer's requests and responses as the model saw them (pydantic-ai's JSON), without the user's message."""
    receipt: dict[str, Any] = {}
    """Tokens, cost, latency, model, design and prompt version of an answer."""
    feedback: Feedback | None = None
    note: str = ""
    """Text put before the user's message in the prompt: outcomes of approvals."""
    continues: str | None = None
    """Id of the previous answer, if a client goes on building that one."""
    saw: tuple[str, ...] = ()
    """Ids of everything in an answer's prompts: the context's memories, tool results, and the `saw` of earlier answers
    in the window."""
    withheld: bool = False
    """True if it contains something forgotten: it stays in the transcript, but enters no prompt."""


@dataclass(frozen=True)
class NewTurn:
    """A turn that claims a conversation. `text` is None if it answers an earlier message again, or if the user only
    decided an approval."""

    run_id: str
    message_id: str
    text: str | None
    started_at: float
    withheld: bool = False
    """True if its text contains something that the user had forgotten since."""


@dataclass(frozen=True)
class ClaimedConversation:
    """A conversation held by a turn, until the lease runs out or `finish` releases it."""

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
    """The time before this turn, in seconds since the epoch."""
    abandoned: tuple[NewTurn, ...]
    """Turns of processes that died; their user messages are not yet in `agent_messages`."""


@dataclass(frozen=True)
class Reading:
    """Progress of memory extraction in a conversation."""

    read_to: int
    """`seq` of the last message that was read (the watermark)."""
    last_seq: int
    due_at: float
    attempts: int
    """Failed attempts since the last success."""
    running: float
    """Expiry of the lease, in seconds since the epoch."""


@dataclass(frozen=True)
class Conversations:
    database: AsyncDatabase[Document]

    async def create(
        self, user_id: str, conversation_id: str, turn: NewTurn, design: str
    ) -> ClaimedConversation | None:
        """Insert a conversation claimed by this turn; None if it exists already."""
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

    async def claim(self, user_id: str, conversation_id: str, turn: NewTurn) -> ClaimedConversation:
        """Raises `ConversationBusy` while another turn holds it, `NotFound` if this user has no conversation of that
        id."""
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
        """Extend the lease; False if it was lost: the turn must end and record nothing."""
        renewed = await self.database[CONVERSATIONS].update_one(
            _held(user_id, conversation_id, run_id), {"$set": {"lease_until": now + LEASE_SECONDS}}
        )
        return renewed.matched_count == 1

    async def abandon(self, claim: ClaimedConversation) -> None:
        """Release the lease before an answer began. The user's message stays in the conversation for `recover`."""
        await self.database[CONVERSATIONS].update_one(
            _held(claim.user_id, claim.conversation_id, claim.turn.run_id), {"$set": {"lease_until": 0}}
        )

    async def recover(self, claim: ClaimedConversation) -> int:
        """Insert the user messages of turns whose process died; return the new last `seq`."""
        seq = await self._last_seq(claim.user_id, claim.conversation_id)
        for turn in claim.abandoned:
            known = await self.exchange(claim.user_id, claim.conversation_id, turn.message_id)
            if turn.text is None or (known and known[0].content == turn.text):
                continue  # it has no new message, or died after recording
            seq += 1
            await self.database[MESSAGES].insert_one(_document(claim, user_message(turn, seq, "interrupted")))
        await self.database[CONVERSATIONS].update_one(
            _held(claim.user_id, claim.conversation_id, claim.turn.run_id),
            {"$set": {"last_seq": seq}, "$unset": {f"turns.{turn.run_id}": "" for turn in claim.abandoned}},
        )
        return seq

    async def finish(
        self,
        claim: ClaimedConversation,
        messages: list[Message],
        *,
        replaced_run: str | None,
        changes: Document,
        now: float,
        cost_usd: float = 0.0,
    ) -> bool:
        """Record a turn and release the lease; False, with no answer recorded, if the lease was lost.

        `changes` are fields of the conversation. The messages of `replaced_run` are deleted.
        """
        # Renew first: a turn without the lease would insert messages with the `seq`s of the turn that has it.
        if messages and not await self.renew(claim.user_id, claim.conversation_id, claim.turn.run_id, now):
            return False
        if messages and not await self._insert(claim, messages):
            await self._delete_inserted(claim, replaced_run)
            return False
        if now + RETENTION_SECONDS > claim.messages_expire_at:
            changes = {**changes, "messages_expire_at": await self._postpone_expiry(claim, now)}
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
            await self._delete_inserted(claim, replaced_run)
            return False
        if replaced_run:
            await self._delete_run(claim, replaced_run)
        return True

    async def withdraw(self, claim: ClaimedConversation) -> None:
        """Undo the claim; delete the conversation if this turn created it."""
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
        """Ids of the runs that hold a conversation of this user now."""
        query = {"user_id": user_id, "lease_until": {"$gt": now}}
        return {each["holder"] async for each in self.database[CONVERSATIONS].find(query, {"holder": 1})}

    async def braked(self, user_id: str, run_ids: Collection[str]) -> set[str]:
        """Those of these runs that the brake stopped."""
        query = {"user_id": user_id, "run_id": {"$in": list(run_ids)}, "role": "assistant"}
        found = self.database[MESSAGES].find(query, {"run_id": 1, "error": 1})
        return {each["run_id"] async for each in found if (each.get("error") or {}).get("code") == "braked"}

    async def give_feedback(self, user_id: str, message_id: str, feedback: Feedback | None) -> None:
        """Set the feedback on an answer; None removes it. Raises `NotFound`."""
        # An answer's id and its document's `_id` are both derived from the run's id.
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
        """The user's message with this id and its answer; empty if it was never posted."""
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
        """Conversations by last use, the newest first; only those used before `before` (seconds since the epoch)."""
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
        """Id of the run that holds the conversation, or None. Raises `NotFound`."""
        conversation = await self.get(user_id, conversation_id)
        return conversation["holder"] if is_running(conversation, now) else None

    async def delete(self, user_id: str, conversation_id: str) -> None:
        """Delete the conversation and its messages; a turn that runs can no longer record anything. Raises
        `NotFound`."""
        deleted = await self.database[CONVERSATIONS].delete_one(_of(user_id, conversation_id))
        await self.database[MESSAGES].delete_many({"user_id": user_id, "conversation_id": conversation_id})
        if not deleted.deleted_count:
            raise NotFound("There is no such conversation.")

    async def recover_abandoned(self, user_id: str, conversation_id: str, reader_id: str, now: float) -> None:
        """`recover` for memory extraction, which has no turn of its own: claim as `reader_id`, recover, release. Raises
        `NotFound`."""
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

    # --- memory extraction --------------------------------------------------------------------------------------------

    async def due_now(self, user_id: str, conversation_id: str, now: float) -> None:
        """Schedule extraction now, as the conversation is over. Raises `NotFound`."""
        changed = await self.database[CONVERSATIONS].update_one(
            _of(user_id, conversation_id), {"$set": {"extract_at": now}}
        )
        if not changed.matched_count:
            raise NotFound("There is no such conversation.")

    async def due_later(self, user_id: str, conversation_id: str, due_at: float) -> None:
        """Schedule extraction at `due_at`, unless it is due earlier."""
        query = {**_of(user_id, conversation_id), "extract_at": {"$in": [None, 0, 0.0]}}
        await self.database[CONVERSATIONS].update_one(query, {"$set": {"extract_at": due_at}})

    async def may_ask_again(self, user_id: str, conversation_id: str, batch_id: str) -> bool:
        """True unless an earlier batch asked about something near to a tombstone."""
        query = {**_of(user_id, conversation_id), "asked_again_by": {"$nin": [None, batch_id]}}
        return await self.database[CONVERSATIONS].find_one(query, {"_id": 1}) is None

    async def note_asked_again(self, user_id: str, conversation_id: str, batch_id: str) -> None:
        """Record that this batch asks about something near to a tombstone: one such question per conversation."""
        changes = {"$set": {"asked_again_by": batch_id}}
        await self.database[CONVERSATIONS].update_one(_of(user_id, conversation_id), changes)

    async def pick(self, user_id: str, conversation_id: str, now: float, until: float) -> bool:
        """Reserve the conversation for one extraction `until` that time; False if it is not due."""
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
        """Advance the watermark (idempotent); unschedule the conversation if it is fully read and idle."""
        here = _of(user_id, conversation_id)
        # Not `$or`: with an `_id` beside it, the laptop's database updates the wrong document.
        start: Document = {"extracted_seq": read_from or {"$in": [None, 0]}}
        moved = {"$set": {"extracted_seq": read_to, "extract_attempts": 0}, "$unset": {"extract_set_aside": ""}}
        await self.database[CONVERSATIONS].update_one({**here, **start}, moved)
        query = {"extracted_seq": {"$gte": read_to}, "last_seq": {"$lte": read_to}, "lease_until": {"$lte": now}}
        left = await self.database[CONVERSATIONS].update_one({**here, **query}, {"$set": {"extract_at": 0.0}})
        if not left.matched_count:
            more = {**here, "extracted_seq": {"$gte": read_to}, "last_seq": {"$gt": read_to}}
            await self.database[CONVERSATIONS].update_one(more, {"$set": {"extract_at": now}})

    async def retry_later(
        self, user_id: str, conversation_id: str, due_at: float, attempts: int, quarantined: Document | None = None
    ) -> None:
        """Retry at `due_at` (0: not before `read_again`), after so many failures. `quarantined` is the reason."""
        changes: Document = {"extract_at": due_at, "extract_attempts": attempts}
        if quarantined:
            changes["extract_set_aside"] = quarantined
        await self.database[CONVERSATIONS].update_one(_of(user_id, conversation_id), {"$set": changes})

    async def read_again(self, user_id: str, conversation_id: str, now: float) -> None:
        """Schedule a quarantined conversation now and reset its attempts. Raises `NotFound`."""
        changed = await self.database[CONVERSATIONS].update_one(
            _of(user_id, conversation_id),
            {"$set": {"extract_at": now, "extract_attempts": 0}, "$unset": {"extract_set_aside": ""}},
        )
        if not changed.matched_count:
            raise NotFound("There is no such conversation.")

    async def exclude_from_prompts(
        self, user_id: str, message_ids: Collection[str], ids: Collection[str], tells: Callable[[str], bool]
    ) -> None:
        """Exclude from all later prompts: messages with these ids or with a text that `tells`, their answers, the
        agent's later answers in the same conversations, and answers whose `saw` has one of `ids`. `tells` is called on
        text and on JSON."""
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
        # Texts of turns that run, or died, become messages later.
        async for conversation in self.database[CONVERSATIONS].find(mine, {"turns": 1}):
            for turn in unfinished_turns(conversation):
                if turn.message_id in message_ids or tells(turn.text or ""):
                    held = {**mine, "_id": conversation["_id"], f"turns.{turn.run_id}.message_id": turn.message_id}
                    changes = {f"turns.{turn.run_id}.withheld": True}
                    await self.database[CONVERSATIONS].update_one(held, {"$set": changes})

    async def drop_contexts(self, user_id: str) -> None:
        """Drop the stored contexts; each conversation's next turn makes a new one."""
        await self.database[CONVERSATIONS].update_many({"user_id": user_id}, {"$unset": {"context": ""}})

    async def exclude_run_from_prompts(self, user_id: str, run_id: str) -> None:
        query: Document = {"user_id": user_id, "run_id": run_id}
        await self.database[MESSAGES].update_many(query, {"$set": {"withheld": True, "note": ""}})
        answer = {**query, "role": "assistant"}
        await self.database[MESSAGES].update_many(answer, {"$set": {"model_messages": "[]"}})

    async def _insert(self, claim: ClaimedConversation, messages: list[Message]) -> bool:
        try:
            await self.database[MESSAGES].insert_many([_document(claim, message) for message in messages])
        except (BulkWriteError, DuplicateKeyError):
            return False  # another turn used these `seq`s, so it has the lease
        return True

    async def _delete_inserted(self, claim: ClaimedConversation, replaced_run: str | None) -> None:
        """Delete what a turn that lost its lease inserted; keep a new user message if the conversation still exists."""
        there = await self.exists(claim.user_id, claim.conversation_id)
        only_answer = {"role": "assistant"} if there and not replaced_run else {}
        await self._delete_run(claim, claim.turn.run_id, **only_answer)

    async def _postpone_expiry(self, claim: ClaimedConversation, now: float) -> float:
        until = now + RETENTION_SECONDS + RETENTION_SLACK_SECONDS
        await self.database[MESSAGES].update_many(
            {"user_id": claim.user_id, "conversation_id": claim.conversation_id},
            {"$set": {"expires_at": to_datetime(until)}},
        )
        return until

    async def _delete_run(self, claim: ClaimedConversation, run_id: str, **more: str) -> None:
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
    """Parse the documents and skip invalid ones: one bad document must not make the conversation unusable."""
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
    """Turns not yet recorded, oldest first: the one that runs, and those whose process died."""
    kept = conversation.get("turns", {}).items()
    turns = [
        NewTurn(run_id, turn["message_id"], turn["text"], turn["started_at"], turn.get("withheld", False))
        for run_id, turn in kept
    ]
    return sorted(turns, key=lambda turn: turn.started_at)


def is_running(conversation: Document, now: float) -> bool:
    return conversation.get("lease_until", 0) > now


def title_of(text: str) -> str:
    """The beginning of the first message, cut at a word."""
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
        # Set at the start, for a turn whose process dies: the user's message is in the conversation.
        "extract_at": turn.started_at + SILENCE_SECONDS,
        "expires_at": to_datetime(turn.started_at + RETENTION_SECONDS),
    }


def _kept(turn: NewTurn) -> Document:
    return {"message_id": turn.message_id, "text": turn.text, "started_at": turn.started_at}


def _claim(document: Document, turn: NewTurn) -> ClaimedConversation:
    return ClaimedConversation(
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


def _document(claim: ClaimedConversation, message: Message) -> Document:
    return {
        **message.model_dump(),
        "_id": f"{message.run_id}:{message.role}",
        "user_id": claim.user_id,
        "conversation_id": claim.conversation_id,
        "expires_at": to_datetime(claim.messages_expire_at),
    }
