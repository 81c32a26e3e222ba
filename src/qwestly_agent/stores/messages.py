"""Messages of conversations, the turns that write them, and the audit log of their tool calls."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pymongo import UpdateMany, UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.conversation import Source, Summary
from qwestly_agent.domain.rollout import Assignment
from qwestly_agent.platform.collection import ALL_ACTIONS, Document, Expires, MongoCollection, Store, index
from qwestly_agent.stores.search import to_int8
from qwestly_agent.text.user_text import holds_others_words

Status = Literal["complete", "stopped", "failed", "interrupted", "running"]
"""`running` marks an answer in progress; it is never stored."""


USAGE = ("input_tokens", "cached_tokens", "output_tokens", "cost_usd")
"""Fields of an answer's receipt that clients receive."""


class Step(BaseModel):
    """A tool call, as shown to the user."""

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    label: str
    effect: str | None = None
    """read, draft, write, outward or destructive; None for a tool that does not exist."""
    outside: bool = False
    """True if other people may have written the result."""
    users_own: bool = False
    """True if the result contains only what the user typed."""
    arguments: str = "{}"
    """The beginning of the arguments' JSON."""
    ok: bool | None = None
    """None while the call runs, or if the turn ended first."""
    problem: str | None = None
    """Why the call failed or was refused."""
    ms: int | None = None
    sources: tuple[Source, ...] = ()
    """The records in the result that the answer used."""


WITHOUT_TEXTS: Mapping[str, Any] = {"arguments": "{}", "problem": None, "sources": ()}
"""The fields of a step that may contain something forgotten, emptied."""
UNSEEN: Mapping[str, Any] = {"withheld": True, "model_messages": "[]"}
"""The fields of an answer that is excluded from prompts."""


class Problem(BaseModel):
    """An error, as shown to the user."""

    model_config = ConfigDict(frozen=True)

    code: str
    message: str


class Feedback(BaseModel):
    """The user's feedback on an answer."""

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
    replaces: tuple[str, ...] = ()
    """Ids of the runs that this answer replaced; their effects remain, and are shown with it."""
    remembered_before: tuple[str, ...] = ()
    """Ids of memories that those runs stored."""
    note: str = ""
    """Text put before the user's message in the prompt: outcomes of approvals."""
    asks_about: str | None = None
    """Id of the approval about which code asks in the answer's last words, so that a typed yes or no may decide it."""
    continues: str | None = None
    """Id of the previous answer, if the client continues to build it."""
    saw: tuple[str, ...] = ()
    """Ids of everything in an answer's prompts: the context's memories, tool results, and the `saw` of earlier answers
    in the window."""
    withheld: bool = False
    """True if it contains something forgotten: it is kept in the transcript, but excluded from prompts."""
    in_trouble: bool = False
    """True for a message of a person in trouble that was answered in fixed words; no memory is extracted from it."""

    def excluded(self) -> "Message":
        """Return it as it is stored once it contains something forgotten."""
        steps = tuple(each.model_copy(update=WITHOUT_TEXTS) for each in self.steps)
        return self.model_copy(update={**UNSEEN, "steps": steps})


def sources_of(steps: Iterable[Step]) -> list[Source]:
    """Return the sources of these steps, without duplicates."""
    return list({source.id: source for step in steps for source in step.sources}.values())


def has_untrusted_text(messages: Iterable[Message]) -> bool:
    """True if anyone other than the user wrote part of these messages, or part of the tool results behind them."""
    messages = list(messages)
    said = (message.content for message in messages if message.role == "user")
    steps = (step for message in messages for step in message.steps)
    return any(map(holds_others_words, said)) or any(step.outside and not step.users_own for step in steps)


def messages_of(documents: Iterable[Document]) -> list[Message]:
    """Parse the documents, skipping invalid ones, because one bad document must not make the conversation unusable."""
    read = []
    for document in documents:
        with suppress(ValidationError):
            read.append(Message.model_validate(document))
    return read


# --- turns ------------------------------------------------------------------------------------------------------------
# The turn that holds a conversation, and earlier turns whose process died while they held it.


@dataclass(frozen=True)
class PartialAnswer:
    """The messages that a turn would record if it ended now, and its events so far."""

    question: Message
    """The user's message."""
    answer: Message
    events: Sequence[str]
    """JSON of the turn's events, in order. The last one may still grow."""
    replaced_run: str | None = None
    """The run whose messages are replaced."""

    @property
    def document(self) -> Document:
        return {
            "asked": self.question.model_dump_json(),
            "answer": self.answer.model_dump_json(),
            "told": list(self.events),
            "replaced_run": self.replaced_run,
        }


def partial_answer_of(document: Document | None) -> PartialAnswer | None:
    """Parse a partial answer; None if there is none or if another version wrote it."""
    with suppress(ValidationError):
        if document:
            return PartialAnswer(
                Message.model_validate_json(document["asked"]),
                Message.model_validate_json(document["answer"]),
                document["told"],
                document["replaced_run"],
            )
    return None


@dataclass(frozen=True)
class NewTurn:
    """A turn that claims a conversation. `text` is None if the turn answers an earlier message again, or if the user
    only decided on an approval."""

    run_id: str
    message_id: str
    text: str | None
    started_at: float
    withheld: bool = False
    """True if the message may contain something that the user has forgotten since."""
    partial: PartialAnswer | None = None
    """The answer so far, as last stored."""


@dataclass(frozen=True)
class ClaimedConversation:
    """A conversation held by a turn, until the lease expires or `finish` releases it."""

    user_id: str
    conversation_id: str
    turn: NewTurn
    design: str
    role: str
    last_seq: int
    window_from: int
    """The `seq` at which the prompt's history begins."""
    context: Document | None
    messages_expire_at: float
    last_used: float
    """Time of the last use before this turn, in seconds since the epoch."""
    created_at: datetime | None
    """None for conversations created before this field existed."""
    abandoned: tuple[NewTurn, ...]
    """Turns whose process died and whose user messages are not yet in `agent_messages`."""
    reported_work: tuple[str, ...] = ()
    """Ids of the pending and running work that the model was last informed about."""
    summary: Summary | None = None
    """Summary of the messages before the window."""
    interview: Document | None = None
    """State of the interview; None in other conversations."""
    learning: Document | None = None
    """State of learning; None in other conversations."""
    assignment: Assignment | None = None
    """The conversation's variant; None outside of rollouts."""
    summary_due: int = 0
    """The cut of the window for which a summary was begun."""


def claim_of(document: Document, turn: NewTurn) -> ClaimedConversation:
    return ClaimedConversation(
        user_id=document["user_id"],
        conversation_id=document["id"],
        turn=turn,
        design=document["design"],
        role=role_of(document),
        last_seq=document.get("last_seq", 0),
        window_from=document.get("window_from", 0),
        context=document.get("context"),
        reported_work=tuple(document.get("told_under_way", ())),
        summary=summary_of(document),
        interview=document.get("interview"),
        learning=document.get("learning"),
        assignment=assignment_of(document),
        summary_due=document.get("summary_due", 0),
        messages_expire_at=document.get("messages_expire_at", 0),
        last_used=document["last_used"],
        created_at=document.get("created_at"),
        abandoned=tuple(other for other in unfinished_turns(document) if other.run_id != turn.run_id),
    )


def summary_of(conversation: Document) -> Summary | None:
    """Parse the conversation's summary; None if there is none or if another version wrote it."""
    with suppress(ValidationError):
        return Summary.model_validate(conversation.get("summary"))
    return None


def assignment_of(conversation: Document) -> Assignment | None:
    with suppress(ValidationError):
        return Assignment.model_validate(conversation.get("assignment"))
    return None


def role_of(conversation: Document) -> str:
    """Return the conversation's role; conversations created before roles existed are chats."""
    return conversation.get("role", "chat")


def unfinished_turns(conversation: Document) -> list[NewTurn]:
    """List unrecorded turns, oldest first: the running one, and those whose process died."""
    kept = conversation.get("turns", {}).items()
    turns = [
        NewTurn(
            run_id,
            turn["message_id"],
            turn["text"],
            turn["started_at"],
            turn.get("withheld", False),
            partial_answer_of(turn.get("partial")),
        )
        for run_id, turn in kept
    ]
    return sorted(turns, key=lambda turn: turn.started_at)


def messages_to_recover(turn: NewTurn, seq: int, status: Status) -> list[Message]:
    """Return the stored messages of a running or interrupted turn; empty if it has no text."""
    if turn.partial and turn.partial.answer.content.strip():
        asked = turn.partial.question.model_copy(update={"seq": seq})
        answer = turn.partial.answer.model_copy(update={"seq": seq + 1, "status": status})
        return [each.excluded() if turn.withheld else each for each in (asked, answer)]
    return [] if turn.text is None else [user_message(turn, seq, status)]


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


# --- `agent_messages` -------------------------------------------------------------------------------------------------
#
# One document per message; tool calls and results are part of the answer that made them.


RETENTION_SECONDS = 365 * 86_400
"""A conversation and its messages expire this long after its last use."""
RETENTION_SLACK_SECONDS = 30 * 86_400
"""Messages are kept this much longer, so that the expiry of all of them must be postponed only once a month."""
COLLECTION = MongoCollection(
    "agent_messages",
    Expires(
        timedelta(seconds=RETENTION_SECONDS + RETENTION_SLACK_SECONDS),
        since="at most after the last use of its conversation",
    ),
    # Unique, so that if two turns both believe that they hold a conversation, only one can record its messages.
    index("order", "user_id", "conversation_id", "seq", unique=True),
    index("message_id", "user_id", "conversation_id", "id"),
    index("user_created_at", "user_id", "-created_at"),
    # All users' answers; a sample is judged every night.
    index("answers", "created_at", partialFilterExpression={"role": "assistant"}),
    holds="messages and answers, their vectors, thumbs",
    reader=ALL_ACTIONS,
)
"""`_id` (`run:role`), `user_id`, `conversation_id`, `id`, `run_id`, `seq`, `role`, `content`, `created_at`, `status`
(`complete`, `stopped`, `failed`, `interrupted`), `error` (`code`, `message`), `steps`, `model_messages`, `receipt`,
`feedback` (`thumb`, `words`, `at`), `note`, `continues`, `replaces` (runs), `remembered_before` (ids), `saw` (ids),
`withheld`, `in_trouble`, `vector` (of what was typed), `expires_at`."""
VECTOR = "vector"
"""Vector of the text that the user typed, encoded by `to_int8`: 1.5 kilobytes, read only by searches."""
VECTOR_KEPT_SECONDS = 120 * 86_400
"""Older messages are still found by words, and through the memories extracted from them. Vectors of a whole year would
exceed the memory that a cluster has for its index (docs/capacity.md)."""
_SHOWN: Document = {"_id": 0, VECTOR: 0}


class Messages(Store):
    async def list_recent(
        self, user_id: str, conversation_id: str, limit: int, before: int | None = None
    ) -> list[Message]:
        """List the newest messages (with a `seq` below `before`), oldest first."""
        query: Document = {"user_id": user_id, "conversation_id": conversation_id}
        if before is not None:
            query["seq"] = {"$lt": before}
        found = await self.database[COLLECTION].find(query, _SHOWN).sort("seq", -1).limit(limit).to_list()
        return messages_of(reversed(found))

    async def get_exchange(self, user_id: str, conversation_id: str, message_id: str) -> list[Message]:
        """Return the user's message with this id and its answer; empty if there is no such message."""
        query = {"user_id": user_id, "conversation_id": conversation_id}
        posted = (
            self.database[COLLECTION].find({**query, "id": message_id, "role": "user"}, {"run_id": 1}).sort("seq", -1)
        )
        asked = await posted.limit(1).to_list()
        if not asked:
            return []
        found = self.database[COLLECTION].find({**query, "run_id": asked[0]["run_id"]}, _SHOWN).sort("seq", 1)
        return messages_of(await found.to_list())

    async def find_question_of_run(self, user_id: str, run_id: str) -> Message | None:
        """Return the user's message that this run answered."""
        found = await self.database[COLLECTION].find_one({"_id": f"{run_id}:user", "user_id": user_id}, _SHOWN)
        return next(iter(messages_of([found])), None) if found else None

    async def is_replaced(self, user_id: str, conversation_id: str, run_id: str) -> bool:
        """True if this run's answer was replaced by another one."""
        query = {"user_id": user_id, "conversation_id": conversation_id, "replaces": run_id}
        return await self.database[COLLECTION].find_one(query, {"_id": 1}) is not None

    async def list_since(self, user_id: str, conversation_id: str, seq: int, limit: int) -> list[Message]:
        """List messages from `seq` on, oldest first."""
        query = {"user_id": user_id, "conversation_id": conversation_id, "seq": {"$gte": seq}}
        found = await self.database[COLLECTION].find(query, _SHOWN).sort("seq", 1).limit(limit).to_list()
        return messages_of(found)

    async def set_feedback(self, user_id: str, message_id: str, feedback: Feedback | None) -> None:
        """Set the feedback on an answer; None removes it. Raises `NotFound`."""
        # An answer's id and its document's `_id` are both derived from the run's id.
        answer = {"_id": f"{message_id.removeprefix('msg_')}:assistant", "user_id": user_id, "id": message_id}
        change = {"$set": {"feedback": feedback.model_dump()}} if feedback else {"$unset": {"feedback": ""}}
        if not (await self.database[COLLECTION].update_one(answer, change)).matched_count:
            raise NotFound("There is no such answer.")

    async def exclude_from_prompts(
        self,
        user_id: str,
        message_ids: Collection[str],
        ids: Collection[str],
        contains_forgotten: Callable[[str], bool],
    ) -> None:
        """Exclude messages from all later prompts: those with these message ids or with text that `contains_forgotten`
        matches, their answers, the agent's later answers in the same conversations, and answers whose `saw` contains
        one of `ids`. `contains_forgotten` is called with text and with JSON."""
        said: dict[str, int] = {}
        gone = set(ids)
        runs, answers, notes = set[str](), list[Document](), list[str]()
        found = self.database[COLLECTION].find({"user_id": user_id}, _TELLING)
        async for each in found.sort([("conversation_id", 1), ("seq", 1)]):
            conversation_id = each["conversation_id"]
            if each["role"] == "user":
                if contains_forgotten(each.get("note", "")):
                    notes.append(each["_id"])
                if each["id"] in message_ids or contains_forgotten(each["content"]):
                    runs.add(each["run_id"])
                    said.setdefault(conversation_id, each["seq"])
            elif (
                each["seq"] > said.get(conversation_id, each["seq"])
                or each["run_id"] in runs
                or gone.intersection(each.get("saw", ()))
                or contains_forgotten(each["content"])
                or contains_forgotten(each.get("model_messages", ""))
            ):
                answers.append(each)
        mine: Document = {"user_id": user_id}
        messages = self.database[COLLECTION]
        await messages.update_many({**mine, "_id": {"$in": notes}}, {"$set": {"note": ""}})
        asked = {**mine, "run_id": {"$in": list(runs)}, "role": "user"}
        await messages.update_many(asked, {"$set": {"withheld": True, "note": ""}, "$unset": {VECTOR: ""}})
        await self._exclude_answers(user_id, answers)

    async def exclude_run_from_prompts(self, user_id: str, run_id: str) -> None:
        """Exclude a turn's message and its answer from all later prompts."""
        query: Document = {"user_id": user_id, "run_id": run_id}
        change = {"$set": {"withheld": True, "note": ""}, "$unset": {VECTOR: ""}}
        await self.database[COLLECTION].update_many(query, change)
        answers = self.database[COLLECTION].find({**query, "role": "assistant"}, {"steps": 1})
        await self._exclude_answers(user_id, await answers.to_list())

    async def _exclude_answers(self, user_id: str, answers: Sequence[Document]) -> None:
        mine, messages = {"user_id": user_id}, self.database[COLLECTION]
        await messages.update_many({**mine, "_id": {"$in": [each["_id"] for each in answers]}}, {"$set": UNSEEN})
        for each in answers:
            if steps := [{**step, **WITHOUT_TEXTS} for step in each.get("steps", ())]:
                await messages.update_one({**mine, "_id": each["_id"]}, {"$set": {"steps": steps}})

    async def set_vectors(self, user_id: str, vectors: Mapping[str, Sequence[float]], now: float) -> None:
        """Set vectors of the user's messages, by message id, unless the messages were forgotten meanwhile. Remove
        vectors older than `VECTOR_KEPT_SECONDS`."""
        mine = {"user_id": user_id, "role": "user", "withheld": False}
        since = to_datetime(now - VECTOR_KEPT_SECONDS)
        old = {"user_id": user_id, "created_at": {"$lt": since}, VECTOR: {"$exists": True}}
        changes: list[UpdateOne | UpdateMany] = [
            UpdateOne({**mine, "id": message_id}, {"$set": {VECTOR: to_int8(vector)}})
            for message_id, vector in vectors.items()
        ]
        if changes:
            changes.append(UpdateMany(old, {"$unset": {VECTOR: ""}}))
            await self.database[COLLECTION].bulk_write(changes, ordered=False)

    # --- for the turn that holds the conversation ---------------------------------------------------------------------

    async def insert(self, claim: ClaimedConversation, messages: Sequence[Message]) -> bool:
        """Insert a turn's messages. Returns False if another turn has used these `seq`s."""
        try:
            await self.database[COLLECTION].insert_many([_document(claim, message) for message in messages])
        except (BulkWriteError, DuplicateKeyError):
            return False
        return True

    async def delete_run(self, claim: ClaimedConversation, run_id: str, **more: str) -> None:
        await self.database[COLLECTION].delete_many(
            {"user_id": claim.user_id, "conversation_id": claim.conversation_id, "run_id": run_id, **more}
        )

    async def postpone_expiry(self, claim: ClaimedConversation, until: float) -> None:
        await self.database[COLLECTION].update_many(
            {"user_id": claim.user_id, "conversation_id": claim.conversation_id},
            {"$set": {"expires_at": to_datetime(until)}},
        )

    async def last_seq(self, user_id: str, conversation_id: str) -> int:
        query = {"user_id": user_id, "conversation_id": conversation_id}
        newest = await self.database[COLLECTION].find(query, {"seq": 1}).sort("seq", -1).limit(1).to_list()
        return newest[0]["seq"] if newest else 0

    async def delete_all(self, user_id: str, conversation_id: str) -> None:
        await self.database[COLLECTION].delete_many({"user_id": user_id, "conversation_id": conversation_id})


_TELLING = dict.fromkeys(
    ("id", "run_id", "conversation_id", "seq", "role", "content", "note", "saw", "model_messages", "steps"), 1
)


def _document(claim: ClaimedConversation, message: Message) -> Document:
    return {
        **message.model_dump(),
        "_id": f"{message.run_id}:{message.role}",
        "user_id": claim.user_id,
        "conversation_id": claim.conversation_id,
        "expires_at": to_datetime(claim.messages_expire_at),
    }


# --- `agent_tool_calls` -----------------------------------------------------------------------------------------------
# Audit log of tool calls and their results. Entries are written once, for operators to read.


RETENTION = timedelta(days=30)
TOOL_CALLS = MongoCollection(
    "agent_tool_calls",
    Expires(RETENTION),
    index("user_at", "user_id", "-at"),
    index("tool_outcome", "tool", "outcome", "-at"),
    holds="arguments and results of tools; e-mail addresses and secrets are masked (no sent query has any)",
)
"""`_id` (`run:number`), `user_id`, `conversation_id`, `run_id`, `number`, `call_id`, `tool`, `effect`, `outcome`
(`succeeded`, `failed`, `refused`, `waiting`, `cancelled`, `running`), `arguments`, `result`, `error`, `ms`, `at`,
`expires_at`."""
_TEXTS = ("arguments", "result", "error")


class ToolCallEntry(BaseModel):
    """An entry of the audit log. The caller masks and truncates `arguments`, `result` and `error`."""

    model_config = ConfigDict(frozen=True)

    call_id: str
    number: int
    """Position in the run, from 1."""
    tool: str
    effect: str | None
    """None for a tool that does not exist."""
    outcome: str
    arguments: str
    result: str | None
    error: str | None
    ms: int | None
    at: float
    """Seconds since the epoch."""


class ToolCalls(Store):
    async def forget(self, user_id: str, conversation_id: str, **more: str) -> None:
        await self.database[TOOL_CALLS].delete_many({"user_id": user_id, "conversation_id": conversation_id, **more})

    async def clear_texts(
        self, user_id: str, ids: Collection[str], contains_forgotten: Callable[[str], bool], run_id: str | None = None
    ) -> None:
        """Clear arguments, result and error of entries that contain one of `ids` or that `contains_forgotten` matches,
        and of all entries of `run_id`."""
        found = self.database[TOOL_CALLS].find({"user_id": user_id}, {"run_id": 1, **dict.fromkeys(_TEXTS, 1)})
        entries = [
            each["_id"]
            async for each in found
            for text in (" ".join(each.get(name) or "" for name in _TEXTS),)
            if each["run_id"] == run_id or any(each_id in text for each_id in ids) or contains_forgotten(text)
        ]
        query = {"user_id": user_id, "_id": {"$in": entries}}
        nothing = {"arguments": "", "result": None, "error": None}
        await self.database[TOOL_CALLS].update_many(query, {"$set": nothing})

    async def add(self, user_id: str, conversation_id: str, run_id: str, entries: Sequence[ToolCallEntry]) -> None:
        if not entries:
            return
        await self.database[TOOL_CALLS].insert_many(
            [
                {
                    **entry.model_dump(),
                    "_id": f"{run_id}:{entry.number}",
                    "user_id": user_id,
                    "conversation_id": conversation_id,
                    "run_id": run_id,
                    "expires_at": to_datetime(entry.at) + RETENTION,
                }
                for entry in entries
            ]
        )
