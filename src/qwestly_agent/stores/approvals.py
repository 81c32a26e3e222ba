"""`agent_approvals`: pending and decided approvals. A record changes only by compare-and-set on its revision, so the
rules for its transitions are in the domain and not in queries."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import ActivityEvent, of_approval
from qwestly_agent.domain.approval import SENT, Approval, Preview
from qwestly_agent.platform.collection import Document, Expires, MongoCollection, Schedule, across_users, index
from qwestly_agent.platform.records import Records

RETENTION = timedelta(days=365)
COLLECTION = MongoCollection(
    "agent_approvals",
    Expires(RETENTION, "kept_until"),  # `expires_at` is the deadline of the decision
    index("queue", "user_id", "status", "-created_at"),
    index("news", "user_id", "conversation_id", "news"),
    index("due", "due_at"),
    # For all users: effects in progress, for the brake, and the oldest pending approval.
    index("status", "status", "created_at"),
    index("links", "links"),
    # For approvals proposed by a variant.
    index("variant", "variant", partialFilterExpression={"variant": {"$type": "string"}}),
    holds="proposals, decisions and outcomes, with evidence",
    chat="find insert update",  # a yes written by the chat has no seal
    events=(
        "approval.asked",
        "approval.approved",
        "approval.rejected",
        "approval.revised",
        "approval.expired",
        "approval.executing",
        "approval.accepted",
        "approval.done",
        "approval.failed",
        "approval.unknown",
        "approval.changed",
    ),
)

OPEN_STATUSES = ("pending", "approved", "executing", *SENT)

_BY_A_PERSON = ("chat", "words", "queue", "link")


def _counts_of(document: Document) -> dict[str, int]:
    """Return a proposal's counts: decided by a person, denied, claims, and omitted claims."""
    decided = int(document.get("decided_by") in _BY_A_PERSON)
    preview = Preview.model_validate_json(document["preview"])
    said = sum(len(each.claims) for each in preview.sections)
    return {
        "decided": decided,
        "denied": decided * int(document["status"] in ("rejected", "revised")),
        "claims": said + len(preview.left_out) if preview.sections else 0,
        "left_out": len(preview.left_out) if preview.sections else 0,
    }


class Approvals(Records[Approval], Schedule):
    collection, model, missing = COLLECTION, Approval, "There is no such approval."
    nested, derived = ("preview", "shown", "result"), ("due_at",)

    def events_of(self, before: Approval | None, after: Approval) -> Sequence[ActivityEvent]:
        if after.answer == "run" and after.status == "pending":  # it is decided immediately, or becomes a question
            return []
        is_told = before and (before.status, before.answer) == (after.status, after.answer)
        return [] if is_told else [of_approval(after)]

    async def change(self, seen: Approval, change: Callable[[Approval], Approval | None]) -> tuple[Approval, bool]:
        """Change the current record as in `compare_and_set`, trying `seen` first."""
        return await self.transform(seen.user_id, seen.id, change, known=seen)

    async def list_open(self, user_id: str, limit: int, after: float | None = None) -> list[Approval]:
        """List pending and executing approvals created before `after`, newest first."""
        return await self.newest(user_id, limit, after, status={"$in": list(OPEN_STATUSES)})

    async def list_all(self, user_id: str, limit: int, after: float | None = None) -> list[Approval]:
        """List all approvals created before `after`, newest first."""
        return await self.newest(user_id, limit, after)

    async def list_of_conversation(self, user_id: str, conversation_id: str, limit: int) -> list[Approval]:
        """List the conversation's approvals, newest first; a `limit` of 0 means all."""
        return await self.newest(user_id, limit, conversation_id=conversation_id)

    async def get_many(self, user_id: str, ids: Collection[str]) -> list[Approval]:
        """List the approvals with these ids, newest first."""
        return await self.newest(user_id, 0, _id={"$in": list(ids)}) if ids else []

    async def list_decided(self, user_id: str, tool: str, since: float, limit: int) -> list[Approval]:
        """List approvals of this tool that were decided since then, newest first."""
        return await self.newest(user_id, limit, tool=tool, decided_at={"$gte": since})

    async def list_pending(self, user_id: str, tool: str) -> list[Approval]:
        """List all pending approvals of this tool, newest first."""
        return await self.newest(user_id, 0, tool=tool, status="pending")

    async def count_without_approval(
        self, user_id: str, tool: str, since: float, limit: int, *, besides: str = ""
    ) -> int:
        """Count, up to `limit`, the actions that ran without approval since then or are about to. The record `besides`
        is not counted."""
        ran = {"decided_by": "level", "decided_at": {"$gte": since}}
        is_about_to = {"status": "pending", "answer": "run", "created_at": {"$gte": since}}
        query: Document = {"tool": tool, "$or": [ran, is_about_to]}
        found = await self.newest(user_id, limit + 1, None, **query)
        return len([each for each in found if each.id != besides])

    async def find_active(self, user_id: str, tool: str, subject: str, now: float) -> Approval | None:
        """Return the newest approval for this tool and subject that is pending, executing or done."""
        undecided = {"status": "pending", "expires_at": {"$gt": now}}
        stands = {"status": {"$in": ["approved", "executing", *SENT, "done"]}}
        return await self.find_latest(user_id, tool, subject, **{"$or": [undecided, stands]})

    async def find_latest(self, user_id: str, tool: str, subject: str, **query: Any) -> Approval | None:
        found = await self.newest(user_id, 1, tool=tool, subject=subject, **query)
        return found[0] if found else None

    async def list_unreported(self, user_id: str, conversation_id: str) -> list[Approval]:
        """List outcomes in this conversation that were not reported to the model yet, oldest first."""
        query = {"user_id": user_id, "conversation_id": conversation_id, "news": True}
        return await self._list(query, [("updated_at", 1)])

    async def mark_reported(self, approval: Approval) -> None:
        """Record that the current state was reported to the model; later changes will be reported."""
        state = approval.status, approval.outcome

        def reported(record: Approval) -> Approval | None:
            return record.model_told() if record.news and (record.status, record.outcome) == state else None

        if approval.news:
            with suppress(NotFound):  # the user was erased meanwhile
                await self.change(approval, reported)

    @across_users
    async def oldest_pending(self) -> float | None:
        """Return when the oldest pending approval was created, in seconds since the epoch; None if there is none."""
        return await self._least(COLLECTION, {"status": "pending"}, "created_at")

    @across_users
    async def find_by_link(self, hashed: str) -> tuple[str, str] | None:
        """Return `(user_id, approval_id)` for the link with this hash."""
        # With `$in`, because the local database does not match an item of an indexed array by equality.
        found = await self.database[COLLECTION].find_one({"links": {"$in": [hashed]}}, {"user_id": 1})
        return (found["user_id"], found["_id"]) if found else None

    @across_users
    async def count_by_user(self, variant: str) -> Mapping[str, Counter[str]]:
        """Return the counts of this variant's proposals, by user."""
        counts, fields = defaultdict[str, Counter[str]](Counter), ("user_id", "status", "decided_by", "preview")
        async for each in self.database[COLLECTION].find({"variant": variant}, dict.fromkeys(fields, 1)):
            counts[each["user_id"]].update(_counts_of(each))
        return counts

    async def forget_conversation(self, user_id: str, conversation_id: str) -> None:
        """Detach decided approvals from the conversation; they are kept for the audit. A pending one belongs to a new
        conversation with the same id, and must be found when that one is deleted."""
        await self.database[COLLECTION].update_many(
            {"user_id": user_id, "conversation_id": conversation_id, "status": {"$ne": "pending"}},
            {"$set": {"conversation_id": None}, "$inc": {"revision": 1}},
        )

    async def scrub_memories(self, user_id: str, memory_ids: Collection[str]) -> None:
        """Remove the texts of these memories from all approvals, whatever their status."""
        for found in await self.newest(user_id, 0, kind="memory"):
            await self.change(found, lambda record: _without(record, memory_ids))


def _without(approval: Approval, memory_ids: Collection[str]) -> Approval | None:
    """Return the approval without these memories, or None if it shows none of them. The preview has one change per
    memory, in the order of the memories shown."""
    if not approval.shown.keys() & set(memory_ids):
        return None
    both = zip(approval.shown.items(), approval.preview.changes, strict=True)
    left = [each for each in both if each[0][0] not in memory_ids]
    preview = approval.preview.model_copy(update={"changes": tuple(change for _, change in left)})
    return approval.shows(preview, dict(shown for shown, _ in left))
