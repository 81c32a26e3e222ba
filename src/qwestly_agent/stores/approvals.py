"""`agent_approvals`: pending and decided approvals. A record changes only by compare-and-set on its revision, so the
rules of its transitions are in the domain and not in queries."""

import json
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any

from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import of_approval
from qwestly_agent.domain.approval import SENT, Approval, Preview
from qwestly_agent.platform.collection import Expires, MongoCollection, index
from qwestly_agent.platform.outbox import copy_after_write, outbox_fields, with_events
from qwestly_agent.platform.store import Document, Store

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
    # Approvals that were proposed by a variant.
    index("variant", "variant", partialFilterExpression={"variant": {"$type": "string"}}),
    holds="proposals, decisions and outcomes, with evidence",
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

_WAITING = ("pending", "approved", "executing", *SENT)

COUNTED_FIELDS = ("status", "decided_by", "preview")
"""The fields that `counts_of` reads."""
_BY_A_PERSON = ("chat", "words", "queue", "link")


def counts_of(document: Document) -> dict[str, int]:
    """Return a proposal's counts: decided by a person, denied, claims, and claims left out."""
    decided = int(document.get("decided_by") in _BY_A_PERSON)
    preview = Preview.model_validate_json(document["preview"])
    said = sum(len(each.claims) for each in preview.sections)
    return {
        "decided": decided,
        "denied": decided * int(document["status"] in ("rejected", "revised")),
        "claims": said + len(preview.left_out) if preview.sections else 0,
        "left_out": len(preview.left_out) if preview.sections else 0,
    }


class Approvals(Store):
    async def add(self, approval: Approval) -> bool:
        """Insert an approval. Returns False if it exists already."""
        kept_until = to_datetime(approval.created_at) + RETENTION
        # The TTL index uses `kept_until`; `expires_at` is the deadline of the decision.
        new = {**_document(approval), "kept_until": kept_until, **outbox_fields(of_approval(approval))}
        try:
            await self.database[COLLECTION].insert_one(new)
        except DuplicateKeyError:
            return False
        await copy_after_write(self.database, COLLECTION, approval.user_id, approval.id)
        return True

    async def get(self, user_id: str, approval_id: str) -> Approval:
        """Get an approval. Raises `NotFound`."""
        found = await self.database[COLLECTION].find_one({"_id": approval_id, "user_id": user_id})
        if found is None:
            raise NotFound("There is no such approval.")
        return _approval(found)

    async def change(self, seen: Approval, change: Callable[[Approval], Approval | None]) -> tuple[Approval, bool]:
        """Change the current record by compare-and-set. Returns the record, and True if this call changed it.

        `change` receives the record (`seen` first; after a conflict, the current one) and returns the new one, or None
        to keep it. If it raises, nothing is changed.
        """
        while after := change(seen):
            if changed := await self._put(seen, after):
                return changed, True
            seen = await self.get(seen.user_id, seen.id)
        return seen, False

    async def _put(self, before: Approval, after: Approval) -> Approval | None:
        """Replace `before` with `after`. Returns it with its new revision, or None if `before` is no longer current."""
        after = after.model_copy(update={"revision": before.revision + 1})
        old, new = _document(before), _document(after)
        changes = {name: value for name, value in new.items() if value != old.get(name)}
        events = [of_approval(after)] if after.status != before.status else []
        changed = await self.database[COLLECTION].update_one(
            {"_id": before.id, "user_id": before.user_id, "revision": before.revision},
            with_events({"$set": changes}, *events),
        )
        if changed.matched_count == 0:
            return None
        if events:
            await copy_after_write(self.database, COLLECTION, after.user_id, after.id)
        return after

    async def list_open(self, user_id: str, limit: int, after: float | None = None) -> list[Approval]:
        """List pending approvals and those being executed, created before `after`, newest first."""
        return await self._find({"user_id": user_id, "status": {"$in": list(_WAITING)}}, limit, after)

    async def list_all(self, user_id: str, limit: int, after: float | None = None) -> list[Approval]:
        """List all approvals created before `after`, newest first."""
        return await self._find({"user_id": user_id}, limit, after)

    async def list_of_conversation(self, user_id: str, conversation_id: str, limit: int) -> list[Approval]:
        """List the conversation's approvals, newest first; a `limit` of 0 means all."""
        return await self._find({"user_id": user_id, "conversation_id": conversation_id}, limit, None)

    async def get_many(self, user_id: str, ids: Collection[str]) -> list[Approval]:
        """List the approvals with these ids, newest first."""
        return await self._find({"user_id": user_id, "_id": {"$in": list(ids)}}, 0, None) if ids else []

    async def list_decided(self, user_id: str, tool: str, subject: str, since: float, limit: int) -> list[Approval]:
        """List approvals of this tool and subject that were decided since then, newest first."""
        query = {"user_id": user_id, "tool": tool, "subject": subject, "decided_at": {"$gte": since}}
        return await self._find(query, limit, None)

    async def count_without_approval(self, user_id: str, tool: str, since: float, limit: int) -> int:
        """Count the actions that ran without approval since then, up to `limit`."""
        query = {"user_id": user_id, "tool": tool, "decided_by": "level", "decided_at": {"$gte": since}}
        return len(await self._find(query, limit, None))

    async def find_active(self, user_id: str, tool: str, subject: str, now: float) -> Approval | None:
        """Return the newest approval of this tool and subject that is pending, executing or done."""
        undecided = {"status": "pending", "expires_at": {"$gt": now}}
        stands = {"status": {"$in": ["approved", "executing", *SENT, "done"]}}
        query = {"user_id": user_id, "tool": tool, "subject": subject, "$or": [undecided, stands]}
        found = await self._find(query, 1, None)
        return found[0] if found else None

    async def find_latest(self, user_id: str, tool: str, subject: str) -> Approval | None:
        found = await self._find({"user_id": user_id, "tool": tool, "subject": subject}, 1, None)
        return found[0] if found else None

    async def list_unreported(self, user_id: str, conversation_id: str) -> list[Approval]:
        """List outcomes in this conversation that were not reported to the model, oldest first."""
        query = {"user_id": user_id, "conversation_id": conversation_id, "news": True}
        return [_approval(each) async for each in self.database[COLLECTION].find(query).sort("updated_at", 1)]

    async def mark_reported(self, approval: Approval) -> None:
        """Record that the model knows the approval's current state; later changes will be reported."""
        if approval.news:
            await self._put(approval, approval.model_told())

    async def forget_conversation(self, user_id: str, conversation_id: str) -> None:
        """Detach decided approvals from the conversation; they are kept for the audit."""
        await self.database[COLLECTION].update_many(
            {"user_id": user_id, "conversation_id": conversation_id},
            {"$set": {"conversation_id": None}, "$inc": {"revision": 1}},
        )

    async def scrub_memories(self, user_id: str, memory_ids: Collection[str]) -> None:
        """Remove the texts of these memories from all approvals, whatever their status."""
        for found in await self._find({"user_id": user_id, "kind": "memory"}, 0, None):
            await self.change(found, lambda record: _without(record, memory_ids))

    async def _find(self, query: Document, limit: int, after: float | None) -> list[Approval]:
        if after is not None:
            query = {**query, "created_at": {"$lt": after}}
        found = self.database[COLLECTION].find(query).sort("created_at", -1).limit(limit)
        return [_approval(each) async for each in found]


def _without(approval: Approval, memory_ids: Collection[str]) -> Approval | None:
    """Return the approval without these memories, or None if it shows none of them. The preview has one change per
    memory, in the same order."""
    if not approval.shown.keys() & set(memory_ids):
        return None
    both = zip(approval.shown.items(), approval.preview.changes, strict=True)
    left = [each for each in both if each[0][0] not in memory_ids]
    preview = approval.preview.model_copy(update={"changes": tuple(change for _, change in left)})
    return approval.shows(preview, dict(shown for shown, _ in left))


def _document(approval: Approval) -> dict[str, Any]:
    # Nested data is stored as text: it is never queried, and MongoDB must not interpret its keys.
    flat = approval.model_dump(mode="json", exclude={"id", "preview", "shown", "result"})
    nested = {
        "preview": approval.preview.model_dump_json(),
        "shown": _json(dict(approval.shown)),
        "result": _json(dict(approval.result)),
    }
    return {**flat, **nested, "_id": approval.id, "due_at": approval.due_at}


def _json(value: dict[str, str]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _approval(document: Document) -> Approval:
    fields = {name: value for name, value in document.items() if name in Approval.model_fields}
    return Approval.model_validate(
        {
            **fields,
            "id": document["_id"],
            "preview": Preview.model_validate_json(document["preview"]),
            "shown": json.loads(document["shown"]),
            "result": json.loads(document["result"]),
        }
    )
