"""Stores of conversations: lease, summary, and the watermark for memory extraction."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import ConversationBusy, NotFound
from qwestly_agent.domain.conversation import Summary
from qwestly_agent.domain.rollout import Assignment
from qwestly_agent.platform.collection import (
    ALL_ACTIONS,
    Document,
    Expires,
    MongoCollection,
    Schedule,
    Store,
    across_users,
    index,
)
from qwestly_agent.stores.measures import VariantCounts
from qwestly_agent.stores.messages import (
    RETENTION_SECONDS,
    RETENTION_SLACK_SECONDS,
    ClaimedConversation,
    Message,
    Messages,
    NewTurn,
    PartialAnswer,
    claim_of,
    messages_to_recover,
    partial_answer_of,
    summary_of,
    unfinished_turns,
)

# --- conversations ----------------------------------------------------------------------------------------------------
# `agent_conversations`: each conversation with its lease.
#
# A turn begins with one conditional write that claims the conversation for a few seconds (the *lease*, renewed while
# the turn runs) and stores the user's message in the conversation, so that even a killed process loses nothing. It ends
# by inserting its messages and then, in one conditional write, releasing the lease. In between, the turn's text so far
# is stored in the conversation, too.


LEASE_SECONDS = 6.0
"""Duration of the lease after each renewal, and thus the longest time for which a dead turn blocks the next one."""
SILENCE_SECONDS = 600.0
"""After this many seconds of silence, a conversation is read for memories."""
COLLECTION = MongoCollection(
    "agent_conversations",
    Expires(timedelta(seconds=RETENTION_SECONDS), since="after the last use"),
    # A turn claims its conversation by `_id`, which combines user and conversation.
    index("user_last_used", "user_id", "-last_used"),
    # For the running turns of one user, and of all users.
    index("user_lease", "user_id", "lease_until"),
    index("lease", "lease_until"),
    # For conversations that are due to be read for memories.
    index("extract_at", "extract_at"),
    index("set_aside", "extract_set_aside.at", sparse=True),
    # For conversations that use a variant.
    index("assignment", "assignment.variant", sparse=True),
    holds="title, summary, the running turn, an interview's draft",
    events=("interview.ended", "interview.drafted", "conversation.deleted"),
    reader=ALL_ACTIONS,
)
"""`_id` (`user:id`), `user_id`, `id`, `title`, `title_chosen` (by the user), `design`, `created_at`, `last_used`,
`last_seq`, `window_from`, `context`, `told_under_way` (ids), `assignment` (its variant), `cost_usd`; `holder`,
`lease_until`, `turns` (by run id: `message_id`, `text`, `started_at`); `extract_at`, `extracted_seq`,
`extract_attempts`, `extract_set_aside` (`cause`, `at`, `attempts`); `messages_expire_at`, `expires_at`."""
TITLE_CHARACTERS = 80
SUMMARY = dict.fromkeys(("id", "title", "design", "role", "created_at", "last_used", "lease_until", "cost_usd"), 1)
"""Fields of a conversation in a list."""
WITHOUT_LAST_ANSWER = {"last_answer": 0}


class Conversations(Store):
    @property
    def messages(self) -> Messages:
        return Messages(self.database)

    async def create(
        self, user_id: str, conversation_id: str, turn: NewTurn, design: str, role: str = "chat"
    ) -> ClaimedConversation | None:
        """Insert a conversation and claim it for this turn. Returns None if it already exists."""
        document = {
            "_id": _key(user_id, conversation_id),
            "user_id": user_id,
            "id": conversation_id,
            "title": make_title(turn.text or ""),
            "design": design,
            "role": role,
            "created_at": to_datetime(turn.started_at),
            "last_seq": 0,
            "window_from": 0,
            "messages_expire_at": turn.started_at + RETENTION_SECONDS + RETENTION_SLACK_SECONDS,
            **_lease(turn),
            "turns": {turn.run_id: _turn_document(turn)},
        }
        try:
            await self.database[COLLECTION].insert_one(document)
        except DuplicateKeyError:
            return None
        return claim_of(document, turn)

    async def claim(self, user_id: str, conversation_id: str, turn: NewTurn) -> ClaimedConversation:
        """Claim a conversation for this turn. Raises `NotFound`, and `ConversationBusy` while another turn holds it."""
        document = await self.database[COLLECTION].find_one_and_update(
            {**key_query(user_id, conversation_id), "lease_until": {"$lte": turn.started_at}},
            {"$set": {**_lease(turn), f"turns.{turn.run_id}": _turn_document(turn)}},
            projection=WITHOUT_LAST_ANSWER,
            return_document=ReturnDocument.BEFORE,
        )
        if document is not None:
            return claim_of(document, turn)
        held = await self.database[COLLECTION].find_one(key_query(user_id, conversation_id), {"lease_until": 1})
        if held is None:
            raise NotFound("There is no such conversation.")
        raise ConversationBusy(retry_after=max(1, math.ceil(held["lease_until"] - turn.started_at)))

    async def renew(self, user_id: str, conversation_id: str, run_id: str, now: float) -> bool:
        """Extend the lease. Returns False if the lease was lost; the turn must then end without recording anything."""
        renewed = await self.database[COLLECTION].update_one(
            held_by_query(user_id, conversation_id, run_id), {"$set": {"lease_until": now + LEASE_SECONDS}}
        )
        return renewed.matched_count == 1

    async def abandon(self, claim: ClaimedConversation) -> None:
        """Release the lease of a turn whose answer has not begun. The user's message is kept for `recover`."""
        await self.database[COLLECTION].update_one(
            held_by_query(claim.user_id, claim.conversation_id, claim.turn.run_id), {"$set": {"lease_until": 0}}
        )

    async def recover(self, claim: ClaimedConversation) -> int:
        """Insert the stored messages of turns whose process died. Returns the new last `seq`."""
        seq = await self.messages.last_seq(claim.user_id, claim.conversation_id)
        await VariantCounts(self.database).add_dead_turns(claim)
        for turn in claim.abandoned:
            found = messages_to_recover(turn, seq + 1, "interrupted")
            if not found:
                continue
            known = await self.messages.get_exchange(claim.user_id, claim.conversation_id, found[0].id)
            if known and (known[0].run_id == turn.run_id or (len(found) == 1 and known[0].content == turn.text)):
                continue  # its process died after recording it, or it has nothing new
            if not await self.messages.insert(claim, found):
                raise ConversationBusy(retry_after=1)
            seq = found[-1].seq
            if turn.partial and turn.partial.replaced_run and len(found) > 1:
                await self.messages.delete_run(claim, turn.partial.replaced_run)
        kept = await self.database[COLLECTION].update_one(
            held_by_query(claim.user_id, claim.conversation_id, claim.turn.run_id),
            {"$set": {"last_seq": seq}, "$unset": {f"turns.{turn.run_id}": "" for turn in claim.abandoned}},
        )
        if not kept.matched_count and not await self.is_there(claim):
            for turn in claim.abandoned:
                await self.messages.delete_run(claim, turn.run_id)
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
        """Record a turn and release the lease. Returns False, without recording an answer, if the lease was lost.

        `changes` are fields of the conversation. The messages of `replaced_run` are deleted.
        """
        # Renew first: a turn without the lease would insert messages with the same `seq` as the turn that holds it.
        if messages and not await self.renew(claim.user_id, claim.conversation_id, claim.turn.run_id, now):
            return False
        if messages and not await self.messages.insert(claim, messages):
            await self._delete_inserted(claim, replaced_run)
            return False
        if now + RETENTION_SECONDS > claim.messages_expire_at:
            until = now + RETENTION_SECONDS + RETENTION_SLACK_SECONDS
            await self.messages.postpone_expiry(claim, until)
            changes = {**changes, "messages_expire_at": until}
        if messages:
            changes = {**changes, "last_seq": messages[-1].seq}
        discard = await self.database[COLLECTION].update_one(
            held_by_query(claim.user_id, claim.conversation_id, claim.turn.run_id),
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
            await self.messages.delete_run(claim, replaced_run)
        return True

    async def withdraw(self, claim: ClaimedConversation) -> None:
        """Undo the claim. Deletes the conversation if this turn created it."""
        held = held_by_query(claim.user_id, claim.conversation_id, claim.turn.run_id)
        if not claim.last_seq and not claim.abandoned:
            await self.database[COLLECTION].delete_one(held)
            return
        await self.database[COLLECTION].update_one(
            held,
            {
                "$set": {"lease_until": 0, "last_used": claim.last_used},
                "$unset": {f"turns.{claim.turn.run_id}": "", "holder": ""},
            },
        )

    async def list_running_runs(self, user_id: str, now: float) -> set[str]:
        """Return the ids of the runs that hold one of this user's conversations now."""
        query = {"user_id": user_id, "lease_until": {"$gt": now}}
        return {each["holder"] async for each in self.database[COLLECTION].find(query, {"holder": 1})}

    async def list_recent(self, user_id: str, limit: int, before: float | None = None) -> list[Document]:
        """List conversations by last use, newest first, limited to those used before `before` (seconds since the
        epoch)."""
        query: Document = {"user_id": user_id}
        if before is not None:
            query["last_used"] = {"$lt": before}
        return await self.database[COLLECTION].find(query, SUMMARY).sort("last_used", -1).limit(limit).to_list()

    async def exists(self, user_id: str, conversation_id: str) -> bool:
        return await self.database[COLLECTION].find_one(key_query(user_id, conversation_id), {"_id": 1}) is not None

    async def is_there(self, claim: ClaimedConversation) -> bool:
        """True unless the conversation was deleted since, even if another one now has the same id."""
        query = {**key_query(claim.user_id, claim.conversation_id), "created_at": claim.created_at}
        return await self.database[COLLECTION].find_one(query, {"_id": 1}) is not None

    async def has_turn(self, user_id: str, conversation_id: str, run_id: str) -> bool:
        """True while the turn is unfinished: neither recorded nor recovered by a later turn, and its conversation not
        deleted, even if another one now has the same id."""
        query = {**key_query(user_id, conversation_id), f"turns.{run_id}": {"$exists": True}}
        return await self.database[COLLECTION].find_one(query, {"_id": 1}) is not None

    async def get(self, user_id: str, conversation_id: str) -> Document:
        """Get a conversation. Raises `NotFound`."""
        document = await self.database[COLLECTION].find_one(key_query(user_id, conversation_id), WITHOUT_LAST_ANSWER)
        if document is None:
            raise NotFound("There is no such conversation.")
        return document

    async def find_running_run(self, user_id: str, conversation_id: str, now: float) -> str | None:
        """Return the id of the run that holds the conversation, or None. Raises `NotFound`."""
        conversation = await self.get(user_id, conversation_id)
        return conversation["holder"] if is_running(conversation, now) else None

    async def delete(self, user_id: str, conversation_id: str) -> None:
        """Delete the conversation and its messages. A running turn can then no longer record anything. Raises
        `NotFound`."""
        deleted = await self.database[COLLECTION].delete_one(key_query(user_id, conversation_id))
        await self.messages.delete_all(user_id, conversation_id)
        if not deleted.deleted_count:
            raise NotFound("There is no such conversation.")

    async def recover_abandoned(self, user_id: str, conversation_id: str, reader_id: str, now: float) -> None:
        """Recover the turns of dead processes for memory extraction, which has no turn of its own: claim the
        conversation as `reader_id`, recover, and release it. Raises `NotFound`."""
        document = await self.get(user_id, conversation_id)
        if is_running(document, now) or not unfinished_turns(document):
            return
        held = await self.database[COLLECTION].find_one_and_update(
            {**key_query(user_id, conversation_id), "lease_until": {"$lte": now}},
            {"$set": {"lease_until": now + LEASE_SECONDS, "holder": reader_id}},
            return_document=ReturnDocument.BEFORE,
        )
        if held is None:
            return
        await self.recover(claim_of(held, NewTurn(reader_id, "", None, now)))
        await self.database[COLLECTION].update_one(
            held_by_query(user_id, conversation_id, reader_id), {"$set": {"lease_until": 0}, "$unset": {"holder": ""}}
        )

    @across_users
    async def count_by_variant(self) -> dict[str, int]:
        """Return the number of conversations with each variant, excluding those that fell back to the baseline."""
        query = {"assignment.variant": {"$gt": ""}, "assignment.given_up": False}
        pipeline = [{"$match": query}, {"$group": {"_id": "$assignment.variant", "count": {"$sum": 1}}}]
        found = await self.database[COLLECTION].aggregate(pipeline)
        return {each["_id"]: each["count"] async for each in found}

    async def drop_contexts(self, user_id: str) -> None:
        """Drop stored contexts and summaries, the last answer kept for late readers, and the list of reported work. The
        next turn of each conversation creates them again."""
        fields = ("context", "told_under_way", "summary", "summary_due", "last_answer")
        nothing = {"$unset": dict.fromkeys(fields, "")}
        await self.database[COLLECTION].update_many({"user_id": user_id}, nothing)

    async def exclude_unfinished_turns(
        self, user_id: str, message_ids: Collection[str], contains_forgotten: Callable[[str], bool]
    ) -> None:
        """Exclude the texts of running and interrupted turns from all later prompts, since they will become
        messages."""
        mine: Document = {"user_id": user_id}
        async for conversation in self.database[COLLECTION].find(mine, {"turns": 1}):
            for turn in unfinished_turns(conversation):
                said = (turn.text or "", turn.partial.answer.content if turn.partial else "")
                if turn.message_id in message_ids or any(map(contains_forgotten, said)):
                    held = {**mine, "_id": conversation["_id"], f"turns.{turn.run_id}.message_id": turn.message_id}
                    changes = {f"turns.{turn.run_id}.withheld": True}
                    await self.database[COLLECTION].update_one(held, {"$set": changes})

    async def _delete_inserted(self, claim: ClaimedConversation, replaced_run: str | None) -> None:
        """Delete messages that a turn inserted after losing its lease. A new user message is kept if the conversation
        still exists."""
        only_answer = {"role": "assistant"} if await self.is_there(claim) and not replaced_run else {}
        await self.messages.delete_run(claim, claim.turn.run_id, **only_answer)


def is_running(conversation: Document, now: float) -> bool:
    return conversation.get("lease_until", 0) > now


def make_title(text: str) -> str:
    """Return the beginning of the first message, cut at the end of a word."""
    line = " ".join(text.split())
    if len(line) <= TITLE_CHARACTERS:
        return line
    return line[:TITLE_CHARACTERS].rsplit(" ", 1)[0] + "…"


def _key(user_id: str, conversation_id: str) -> str:
    return f"{user_id}:{conversation_id}"


def key_query(user_id: str, conversation_id: str) -> Document:
    return {"_id": _key(user_id, conversation_id), "user_id": user_id}


def held_by_query(user_id: str, conversation_id: str, run_id: str) -> Document:
    return {**key_query(user_id, conversation_id), "holder": run_id}


def _lease(turn: NewTurn) -> Document:
    return {
        "lease_until": turn.started_at + LEASE_SECONDS,
        "holder": turn.run_id,
        "last_used": turn.started_at,
        # Set at the start in case the process dies, as the user's message is then already in the conversation.
        "extract_at": turn.started_at + SILENCE_SECONDS,
        "expires_at": to_datetime(turn.started_at + RETENTION_SECONDS),
    }


def _turn_document(turn: NewTurn) -> Document:
    return {"message_id": turn.message_id, "text": turn.text, "started_at": turn.started_at}


# --- the answer under way ---------------------------------------------------------------------------------------------
# Each running answer's text so far is stored in its conversation, at most every 0.5 s (`KEEP_SECONDS` in
# `chat/services.py`).


@dataclass(frozen=True)
class FollowedAnswer:
    """The state of an answer, as read by another process."""

    partial: PartialAnswer | None
    """None until part of the answer has been stored."""
    state: Literal["running", "ended", "interrupted", "gone"]
    """`interrupted`: the turn's process died. `gone`: a later turn has replaced this one."""


class PartialAnswers(Store):
    async def save(self, claim: ClaimedConversation, partial: PartialAnswer) -> None:
        """Store the turn's text so far. Does nothing if the turn no longer holds the conversation."""
        entry = f"turns.{claim.turn.run_id}"
        await self.database[COLLECTION].update_one(
            {**held_by_query(claim.user_id, claim.conversation_id, claim.turn.run_id), entry: {"$exists": True}},
            {"$set": {f"{entry}.partial": partial.document}},
        )

    async def save_assignment(self, claim: ClaimedConversation, assignment: Assignment) -> None:
        """Store the variant of a new conversation, so that its first turn is counted even if the process dies."""
        await self.database[COLLECTION].update_one(
            held_by_query(claim.user_id, claim.conversation_id, claim.turn.run_id),
            {"$set": {"assignment": assignment.model_dump()}},
        )

    async def follow(self, user_id: str, conversation_id: str, run_id: str, now: float) -> FollowedAnswer:
        """Read the state of a turn's answer. Raises `NotFound` if the conversation was deleted."""
        fields = dict.fromkeys(("holder", "lease_until", "turns", "last_answer"), 1)
        found = await self.database[COLLECTION].find_one(key_query(user_id, conversation_id), fields)
        if found is None:
            raise NotFound("There is no such conversation.")
        last = found.get("last_answer") or {}
        if last.get("run_id") == run_id:
            return FollowedAnswer(partial_answer_of(last), "ended")
        turn = found.get("turns", {}).get(run_id)
        if turn is None:
            return FollowedAnswer(None, "gone")
        is_held = found.get("holder") == run_id and is_running(found, now)
        return FollowedAnswer(partial_answer_of(turn.get("partial")), "running" if is_held else "interrupted")


def last_answer_fields(run_id: str, partial: PartialAnswer) -> Document:
    """Return the fields from which readers of a turn learn how it ended."""
    return {"last_answer": {"run_id": run_id, **partial.document}}


# --- summaries --------------------------------------------------------------------------------------------------------
# The summary of each conversation, in fields of `agent_conversations`.
#
# `summary_due` is the cut of the window for which a summary was begun. Forgetting removes both fields.


class Summaries(Store):
    async def get_due(self, user_id: str, conversation_id: str) -> tuple[int, Summary | None]:
        """Return the cut for which a summary was begun (0 if none is due), and the current summary. Raises
        `NotFound`."""
        fields = {"summary": 1, "summary_due": 1}
        document = await self.database[COLLECTION].find_one(key_query(user_id, conversation_id), fields)
        if document is None:
            raise NotFound("There is no such conversation.")
        return document.get("summary_due", 0), summary_of(document)

    async def save(self, user_id: str, conversation_id: str, summary: Summary) -> bool:
        """Store the summary. Returns False if the window was cut again since, or if something was forgotten."""
        here = {**key_query(user_id, conversation_id), "summary_due": summary.to}
        kept = await self.database[COLLECTION].update_one(here, {"$set": {"summary": summary.model_dump(mode="json")}})
        return kept.matched_count == 1


# --- watermarks -------------------------------------------------------------------------------------------------------
# How far memory extraction has read each conversation (the *watermark*), and when the conversation is due, in fields of
# `agent_conversations`.


@dataclass(frozen=True)
class ExtractionProgress:
    """Progress of memory extraction in a conversation."""

    read_to: int
    """`seq` of the last message that was read (the watermark)."""
    last_seq: int
    due_at: float
    attempts: int
    """Failed attempts since the last success."""
    running: float
    """Expiry of the lease, in seconds since the epoch."""


class Watermarks(Schedule):
    collection, id_field, due_field = COLLECTION, "id", "extract_at"

    def _due(self, after: float, until: float) -> Document:
        """Exclude conversations with a running turn. A reserved conversation only becomes due again later."""
        return {**super()._due(after, until), "lease_until": {"$lte": until}}

    @across_users
    async def list_quarantined(self, limit: int) -> list[tuple[str, str, dict[str, Any]]]:
        """List `(user_id, conversation_id, reason)` of quarantined conversations; the reason includes the time."""
        query = {"extract_set_aside.at": {"$gt": 0}}
        found = self.database[COLLECTION].find(query, {"user_id": 1, "id": 1, "extract_set_aside": 1})
        return [(each["user_id"], each["id"], each["extract_set_aside"]) async for each in found.limit(limit)]

    async def schedule_now(self, user_id: str, conversation_id: str, now: float) -> None:
        """Schedule extraction now, because the conversation is over. Raises `NotFound`."""
        changed = await self.database[COLLECTION].update_one(
            key_query(user_id, conversation_id), {"$set": {"extract_at": now}}
        )
        if not changed.matched_count:
            raise NotFound("There is no such conversation.")

    async def schedule_at(self, user_id: str, conversation_id: str, due_at: float) -> None:
        """Schedule extraction at `due_at`, unless it is already scheduled."""
        query = {**key_query(user_id, conversation_id), "extract_at": {"$in": [None, 0, 0.0]}}
        await self.database[COLLECTION].update_one(query, {"$set": {"extract_at": due_at}})

    async def reserve(self, user_id: str, conversation_id: str, now: float, until: float) -> bool:
        """Reserve the conversation for one extraction until the time `until`. Returns False if it is not due."""
        query = {
            **key_query(user_id, conversation_id),
            "extract_at": {"$gt": 0, "$lte": now},
            "lease_until": {"$lte": now},
        }
        picked = await self.database[COLLECTION].update_one(query, {"$set": {"extract_at": until}})
        return picked.matched_count == 1

    async def get(self, user_id: str, conversation_id: str) -> ExtractionProgress:
        """Return the progress of memory extraction. Raises `NotFound`."""
        document = await self.database[COLLECTION].find_one(key_query(user_id, conversation_id))
        if document is None:
            raise NotFound("There is no such conversation.")
        return ExtractionProgress(
            read_to=document.get("extracted_seq", 0),
            last_seq=document.get("last_seq", 0),
            due_at=document.get("extract_at", 0.0),
            attempts=document.get("extract_attempts", 0),
            running=document.get("lease_until", 0.0),
        )

    async def advance(self, user_id: str, conversation_id: str, read_from: int, read_to: int, now: float) -> None:
        """Advance the watermark (idempotent). The conversation is unscheduled if it is fully read and idle."""
        here = key_query(user_id, conversation_id)
        # `$or` cannot be used: combined with an `_id`, the local database updates the wrong document.
        start: Document = {"extracted_seq": read_from or {"$in": [None, 0]}}
        moved = {"$set": {"extracted_seq": read_to, "extract_attempts": 0}, "$unset": {"extract_set_aside": ""}}
        await self.database[COLLECTION].update_one({**here, **start}, moved)
        query = {"extracted_seq": {"$gte": read_to}, "last_seq": {"$lte": read_to}, "lease_until": {"$lte": now}}
        left = await self.database[COLLECTION].update_one({**here, **query}, {"$set": {"extract_at": 0.0}})
        if not left.matched_count:
            more = {**here, "extracted_seq": {"$gte": read_to}, "last_seq": {"$gt": read_to}}
            await self.database[COLLECTION].update_one(more, {"$set": {"extract_at": now}})

    async def retry_later(
        self, user_id: str, conversation_id: str, due_at: float, attempts: int, quarantined: Document | None = None
    ) -> None:
        """Retry at `due_at` (0: not until `read_again`) after `attempts` failures. `quarantined` is the reason, if
        any."""
        changes: Document = {"extract_at": due_at, "extract_attempts": attempts}
        if quarantined:
            changes["extract_set_aside"] = quarantined
        await self.database[COLLECTION].update_one(key_query(user_id, conversation_id), {"$set": changes})

    async def read_again(self, user_id: str, conversation_id: str, now: float) -> None:
        """Schedule a quarantined conversation now and reset its attempts. Raises `NotFound`."""
        changed = await self.database[COLLECTION].update_one(
            key_query(user_id, conversation_id),
            {"$set": {"extract_at": now, "extract_attempts": 0}, "$unset": {"extract_set_aside": ""}},
        )
        if not changed.matched_count:
            raise NotFound("There is no such conversation.")

    async def leave_out(self, user_id: str, conversation_id: str, message_ids: Sequence[str]) -> None:
        """Record that the user asked not to have these messages remembered."""
        change = {"$addToSet": {"not_to_be_remembered": {"$each": list(message_ids)}}}
        await self.database[COLLECTION].update_one(key_query(user_id, conversation_id), change)

    async def get_left_out(self, user_id: str, conversation_id: str) -> frozenset[str]:
        """Return the ids of the messages that the user asked not to have remembered."""
        fields = {"not_to_be_remembered": 1}
        document = await self.database[COLLECTION].find_one(key_query(user_id, conversation_id), fields)
        return frozenset((document or {}).get("not_to_be_remembered", ()))

    async def may_ask_again(self, user_id: str, conversation_id: str, batch_id: str) -> bool:
        """True unless an earlier batch of this conversation asked about something similar to a tombstone."""
        query = {**key_query(user_id, conversation_id), "asked_again_by": {"$nin": [None, batch_id]}}
        return await self.database[COLLECTION].find_one(query, {"_id": 1}) is None

    async def mark_asked_again(self, user_id: str, conversation_id: str, batch_id: str) -> None:
        """Record that this batch asks about something similar to a tombstone; only one such question is allowed per
        conversation."""
        changes = {"$set": {"asked_again_by": batch_id}}
        await self.database[COLLECTION].update_one(key_query(user_id, conversation_id), changes)
