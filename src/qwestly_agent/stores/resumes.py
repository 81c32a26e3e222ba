"""`agent_resumes`: each uploaded résumé with its text, the parsed fields, and its status. `agent_resume_uploads`: the
uploaded file, kept for an hour."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from bson import Binary
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.activity import of_deleted
from qwestly_agent.domain.approval import Status
from qwestly_agent.domain.resume import UNDER_WAY, ResumeRecord
from qwestly_agent.platform.collection import Document, Expires, MongoCollection, Store, index
from qwestly_agent.platform.work import Stage, Work
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


class Resumes(Work[ResumeRecord]):
    collection, model, missing = COLLECTION, ResumeRecord, "There is no such résumé."
    nested = ("contacts", "found", "read", "left_out")
    subject, role, under_way = "resume", "resumes", UNDER_WAY
    stages: ClassVar[Mapping[str, Stage]] = {
        "reading": Stage("Reading your résumé"),
        "proposed": Stage("Your résumé was read: changes of your profile wait for you"),
        "done": Stage("Your résumé was read"),
        "failed": Stage("Your résumé could not be read", "warning"),
        "stopped": Stage("Stopped when you paused: reading your résumé", "warning"),
    }
    try_again = "It could not be finished. Please upload it again."
    waits_as = "proposed"
    closed_by: ClassVar[Mapping[Status, tuple[str, str]]] = {
        "done": ("done", "Read. What you approved is in your profile."),
        "rejected": ("done", "Read. You declined, so your profile stayed as it is."),
        "expired": ("done", "Read. This wasn’t decided in time, so your profile stayed as it is."),
        "changed": ("done", "Read. Your profile stayed as it is."),
        "failed": ("done", "Read. Your profile couldn’t be changed."),
    }

    async def contacts(self, user_id: str) -> list[Contact]:
        """Return the contact details in all of the user's résumés, newest résumé first."""
        cursor = self.database[COLLECTION].find({"user_id": user_id}, {"contacts": 1}).sort("created_at", -1)
        kept = [json.loads(each.get("contacts") or "{}") async for each in cursor]
        every = (contact for each in kept for kind, found in each.items() for contact in ((kind, w) for w in found))
        return [Contact(0, len(words), kind, words, is_block=True) for kind, words in every]

    async def count_since(self, user_id: str, moment: float) -> int:
        return await self.database[COLLECTION].count_documents({"user_id": user_id, "created_at": {"$gte": moment}})

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
