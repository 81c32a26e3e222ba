"""`agent_resumes`: each uploaded résumé with its text, the parsed fields, and its status. `agent_resume_uploads`: the
uploaded file, kept for an hour."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from bson import Binary
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import ActivityEvent, Severity, of_deleted
from qwestly_agent.domain.resume import ResumeRecord, ResumeStatus
from qwestly_agent.platform.collection import Expires, MongoCollection, index
from qwestly_agent.platform.records import Records
from qwestly_agent.platform.store import Document, Store
from qwestly_agent.text.contacts import Contact

RETENTION, FILE_RETENTION = timedelta(days=90), timedelta(hours=1)
COLLECTION = MongoCollection(
    "agent_resumes",
    Expires(RETENTION),
    index("user_created", "user_id", "-created_at"),
    holds="the content of a résumé; contact details in a separate field",
    events=("resume.begun", "resume.proposed", "resume.done", "resume.failed", "resume.stopped", "resume.deleted"),
    reader="find update",
)
FILES = MongoCollection(
    "agent_resume_uploads", Expires(FILE_RETENTION), holds="the uploaded file", reader="find", opener="find update"
)
"""`_id` (of the résumé), `user_id`, `content` (the file), `text` or `why` (there is none), `expires_at`."""

_SEVERITY: Mapping[ResumeStatus, Severity] = {"failed": "warning", "stopped": "warning"}
_TITLES: Mapping[ResumeStatus, str] = {
    "reading": "Reading your résumé",
    "proposed": "Your résumé was read: changes of your profile wait for you",
    "done": "Your résumé was read",
    "failed": "Your résumé could not be read",
    "stopped": "Stopped when you paused: reading your résumé",
}
"""Titles of the events, for the statuses that have one."""


class Resumes(Records[ResumeRecord]):
    collection, model, missing = COLLECTION, ResumeRecord, "There is no such résumé."
    nested = ("contacts", "found", "read", "left_out")

    def events_of(self, before: ResumeRecord | None, after: ResumeRecord) -> Sequence[ActivityEvent]:
        is_news = after.status in _TITLES and (before is None or before.status != after.status)
        return [_event(after)] if is_news else []

    async def contacts(self, user_id: str) -> list[Contact]:
        """Return the contact details in all of the user's résumés, newest résumé first."""
        cursor = self.database[COLLECTION].find({"user_id": user_id}, {"contacts": 1}).sort("created_at", -1)
        kept = [json.loads(each.get("contacts") or "{}") async for each in cursor]
        every = (contact for each in kept for kind, found in each.items() for contact in ((kind, w) for w in found))
        return [Contact(0, len(words), kind, words, is_block=True) for kind, words in every]

    async def count_since(self, user_id: str, moment: float) -> int:
        return await self.database[COLLECTION].count_documents({"user_id": user_id, "created_at": {"$gte": moment}})

    async def set_status(self, user_id: str, resume_id: str, now: float, status: ResumeStatus, label: str) -> None:
        """Set status and label. The end of the processing gets an event, once. Raises `NotFound`."""
        before, changes = await self.get(user_id, resume_id), {"status": status, "label": label, "updated_at": now}
        await self.write(before, before.model_copy(update=changes), status=before.status)

    async def close(self, user_id: str, approval_id: str, label: str, now: float) -> None:
        """Mark the résumé as done whose changes this approval decided (idempotent)."""
        query = {"user_id": user_id, "approval_id": approval_id, "status": "proposed"}
        change = {"$set": {"status": "done", "label": label, "updated_at": now}}
        await self.database[COLLECTION].update_one(query, change)

    async def move_approval(self, user_id: str, approval_id: str, new_id: str) -> None:
        """Let another approval decide the changes."""
        query = {"user_id": user_id, "approval_id": approval_id}
        await self.database[COLLECTION].update_one(query, {"$set": {"approval_id": new_id}})

    async def delete(self, user_id: str, resume_id: str, now: float) -> bool:
        """Delete a résumé and its file, with an event. Returns False if there is no such résumé."""
        await self.database[FILES].delete_many({"_id": resume_id, "user_id": user_id})
        return await self.remove(user_id, resume_id, of_deleted("resume", user_id, resume_id, now))


@dataclass(frozen=True)
class OpenedFile:
    text: str
    why: str
    """Why there is no text; empty otherwise."""


class ResumeFiles(Store):
    async def add(self, user_id: str, resume_id: str, content: bytes, now: float) -> None:
        """Store a file (idempotent)."""
        file = {"_id": resume_id, "user_id": user_id, "content": Binary(content)}
        file |= {"text": "", "why": "", "expires_at": to_datetime(now) + FILE_RETENTION}
        try:
            await self.database[FILES].insert_one(file)
        except DuplicateKeyError:
            return

    async def get_content(self, user_id: str, resume_id: str) -> bytes:
        """Return the file's content. Raises `NotFound`."""
        return bytes((await self._get(user_id, resume_id))["content"])

    async def get_opened(self, user_id: str, resume_id: str) -> OpenedFile:
        """Return the text extracted from the file. Raises `NotFound`."""
        found = await self._get(user_id, resume_id)
        return OpenedFile(found["text"], found["why"])

    async def save_opened(self, user_id: str, resume_id: str, opened: OpenedFile) -> None:
        here = {"_id": resume_id, "user_id": user_id}
        await self.database[FILES].update_one(here, {"$set": {"text": opened.text, "why": opened.why}})

    async def _get(self, user_id: str, resume_id: str) -> Document:
        found = await self.database[FILES].find_one({"_id": resume_id, "user_id": user_id})
        if found is None:
            raise NotFound("The file is gone: it is kept for an hour.")
        return found


def _event(record: ResumeRecord) -> ActivityEvent:
    data = {"resume_id": record.id, **({"approval_id": record.approval_id} if record.approval_id else {})}
    return ActivityEvent(
        id=f"{record.id}:{record.status}",
        user_id=record.user_id,
        at=record.updated_at,
        type=f"resume.{'begun' if record.status == 'reading' else record.status}",
        role="resumes",
        severity=_SEVERITY.get(record.status, "info"),
        title=_TITLES[record.status],
        run_id=record.run_id,
        data=data,
    )
