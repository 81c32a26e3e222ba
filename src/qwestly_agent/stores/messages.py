"""`agent_messages`: one document per message. Tool calls and results are part of the answer that made them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta

from pymongo import UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.stores.collection import ALL_ACTIONS, Expires, MongoCollection, index
from qwestly_agent.stores.message import Feedback, Message, messages_of
from qwestly_agent.stores.ranks import to_binary
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.store import Store
from qwestly_agent.stores.turns import ClaimedConversation

RETENTION_SECONDS = 365 * 86_400
"""A conversation and its messages expire this long after its last use."""
RETENTION_SLACK_SECONDS = 30 * 86_400
"""Messages are kept this much longer, so that only one turn a month has to postpone the expiry of all of them."""
COLLECTION = MongoCollection(
    "agent_messages",
    Expires(
        timedelta(seconds=RETENTION_SECONDS + RETENTION_SLACK_SECONDS),
        since="at most after the last use of its conversation",
    ),
    # Unique: if two turns both believe that they hold a conversation, only one can record its messages.
    index("order", "user_id", "conversation_id", "seq", unique=True),
    index("message_id", "user_id", "conversation_id", "id"),
    index("user_created_at", "user_id", "-created_at"),
    # All users' answers, of which a sample is judged at night.
    index("answers", "created_at", partialFilterExpression={"role": "assistant"}),
    holds="messages and answers, their vectors, thumbs",
    reader=ALL_ACTIONS,
)
"""`_id` (`run:role`), `user_id`, `conversation_id`, `id`, `run_id`, `seq`, `role`, `content`, `created_at`, `status`
(`complete`, `stopped`, `failed`, `interrupted`), `error` (`code`, `message`), `steps`, `model_messages`, `receipt`,
`feedback` (`thumb`, `words`, `at`), `note`, `continues`, `replaces` (runs), `remembered_before` (ids), `saw` (ids),
`withheld`, `in_trouble`, `vector` (of what was typed), `expires_at`."""
VECTOR = "vector"
"""Vector of the text that the user typed, in the format of `to_binary`: six kilobytes that only a search reads."""
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
        """True if another answer replaced this run's answer."""
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
        """Exclude messages from all later prompts: those with these ids or whose text `contains_forgotten` matches, their
        answers, the agent's later answers in the same conversations, and answers whose `saw` has one of `ids`.
        `contains_forgotten` is called with text and with JSON."""
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
        unseen = {"withheld": True, "model_messages": "[]"}
        await messages.update_many({**mine, "_id": {"$in": [each["_id"] for each in answers]}}, {"$set": unseen})
        for each in answers:
            if steps := [{**step, "arguments": "{}", "problem": None, "sources": []} for step in each.get("steps", ())]:
                await messages.update_one({**mine, "_id": each["_id"]}, {"$set": {"steps": steps}})

    async def exclude_run_from_prompts(self, user_id: str, run_id: str) -> None:
        query: Document = {"user_id": user_id, "run_id": run_id}
        change = {"$set": {"withheld": True, "note": ""}, "$unset": {VECTOR: ""}}
        await self.database[COLLECTION].update_many(query, change)
        answer = {**query, "role": "assistant"}
        await self.database[COLLECTION].update_many(answer, {"$set": {"model_messages": "[]"}})

    async def set_vectors(self, user_id: str, vectors: Mapping[str, Sequence[float]]) -> None:
        """Set vectors of the user's messages by id, unless they were forgotten meanwhile."""
        mine = {"user_id": user_id, "role": "user", "withheld": False}
        changes = [
            UpdateOne({**mine, "id": message_id}, {"$set": {VECTOR: to_binary(vector)}})
            for message_id, vector in vectors.items()
        ]
        if changes:
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
