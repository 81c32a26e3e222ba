"""Collections owned by the candidate app: profiles, documents, and pages on how Qwestly works."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.domain.candidate import (
    CANDIDATES,
    CARDS,
    EMAIL,
    EMPLOYMENT,
    LINKEDIN,
    LINKEDIN_SUGGESTIONS,
    LINKEDIN_SUMMARIES,
    PREFERENCES,
    PROFILE_CACHE,
    READ_FIELDS,
    Fields,
    positions_of,
    projection,
    query,
    to_our_fields,
)
from qwestly_agent.platform.collection import Document, MongoCollection, Permanent, Store
from qwestly_agent.stores.search import Searchable, to_binary
from qwestly_agent.text.contacts import Contact, contacts_in, without_contacts

# --- profiles ---------------------------------------------------------------------------------------------------------
# Tier 1: the candidate app's data about a user, read through an allow-list of fields.
#
# The candidate app owns the collections (`domain/candidate.py`). `qwestly-agent mongo check` lists missing fields.


STINTS_LIMIT = 30
POSITIONS_LIMIT = 61
"""More positions than can be written, so that a change that would lose one is rejected."""
CARDS_LIMIT = 20


@dataclass(frozen=True)
class MailRecipient:
    address: str
    """Empty if the candidate app has no address."""
    name: str


class Profiles(Store):
    async def get_summary(self, user_id: str) -> Fields:
        """Return the profile's fields that can be changed, with `positions` if there are any; empty for an unknown
        user."""
        candidate, employment = await asyncio.gather(
            self._one(CANDIDATES, user_id), self._employment(user_id, POSITIONS_LIMIT)
        )
        return {**candidate, **({"positions": positions_of(employment)} if employment else {})}

    async def get_career(self, user_id: str) -> Fields:
        """Return the profile with employment (latest first) and preferences; missing parts are left out."""
        candidate, employment, preferences = await asyncio.gather(
            self._one(CANDIDATES, user_id), self._employment(user_id), self._one(PREFERENCES, user_id)
        )
        career = dict(candidate)
        if employment:
            career["employment"] = employment
        if preferences:
            career["preferences"] = preferences
        return career

    async def get_full(self, user_id: str, career: Fields | None = None) -> Fields:
        """Return the career, LinkedIn, the summaries of both, and finally the published cards with their texts.
        `career` is the career if it was read before; None to read it."""
        if career is None:
            career, more = await asyncio.gather(self.get_career(user_id), self._more(user_id))
        else:
            more = await self._more(user_id)
        return career | more

    async def _more(self, user_id: str) -> Fields:
        linkedin, of_linkedin, of_profile, cards = await asyncio.gather(
            self._one(LINKEDIN, user_id),
            self._one(LINKEDIN_SUMMARIES, user_id),
            self._one(PROFILE_CACHE, user_id),
            self._cards(user_id),
        )
        more = {"linkedin": linkedin, "linkedin_summary": of_linkedin, "profile_summary": of_profile, "cards": cards}
        return {name: part for name, part in more.items() if part}

    async def preferences(self, user_id: str) -> Fields:
        return await self._one(PREFERENCES, user_id)

    async def linkedin(self, user_id: str) -> Fields:
        return await self._one(LINKEDIN, user_id)

    async def linkedin_suggestion(self, user_id: str, draft_id: str) -> Fields:
        """Return the suggestion stored for the user's LinkedIn profile under this draft id; empty if there is none."""
        return await self._one(LINKEDIN_SUGGESTIONS, user_id, draft_id=draft_id)

    async def card(self, user_id: str, card_id: str) -> Fields:
        """Return a published card; empty if there is none."""
        return await self._one(CARDS, user_id, card_id=card_id)

    async def card_shown_first(self, user_id: str) -> str | None:
        """Return the id of the published card that other people see first; None if there is none."""
        return (await self._one(CARDS, user_id, active=True)).get("card_id")

    async def get_mail_recipient(self, user_id: str) -> MailRecipient:
        """Return the user's mail address and name. Only for mails, approval pages and previews; never for prompts."""
        name = READ_FIELDS[CANDIDATES]["name"]
        found = await self.database[CANDIDATES].find_one(query(CANDIDATES, user_id), {EMAIL: 1, name: 1}) or {}
        return MailRecipient(found.get(EMAIL) or "", found[name] if isinstance(found.get(name), str) else "")

    async def _one(self, collection: str, user_id: str, **fields: Any) -> Fields:
        found = await self.database[collection].find_one(query(collection, user_id, **fields), projection(collection))
        return _readable_fields(collection, found)

    async def _employment(self, user_id: str, limit: int = STINTS_LIMIT) -> list[Fields]:
        found = self.database[EMPLOYMENT].find(query(EMPLOYMENT, user_id), projection(EMPLOYMENT))
        latest = found.sort(READ_FIELDS[EMPLOYMENT]["start_date"], -1).limit(limit)
        return [_readable_fields(EMPLOYMENT, stint) async for stint in latest]

    async def _cards(self, user_id: str) -> list[Fields]:
        found = self.database[CARDS].find(query(CARDS, user_id), projection(CARDS)).limit(CARDS_LIMIT)
        return [_readable_fields(CARDS, card) async for card in found]


def _readable_fields(collection: str, document: Document | None) -> Fields:
    found = to_our_fields(collection, document)
    for name, value in found.items():
        if not isinstance(value, str):
            found[name] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    """Convert BSON types to text, since prompts contain JSON. Keys that begin with `_` are dropped."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items() if not str(name).startswith("_")}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | datetime) else str(value)


# --- knowledge --------------------------------------------------------------------------------------------------------
# Tier 3: chunks of the user's own documents. The candidate app owns the collection and its index.


KNOWLEDGE = "knowledge_chunk"
MOST_CHUNKS = 2_000
"""Maximum number of a user's chunks that are searched for contact details."""


@dataclass(frozen=True)
class Passage:
    """A chunk of a document, with its source, after removing contact details."""

    id: str
    title: str
    kind: str
    """The candidate app's value: `resume`, `transcript`, `document`."""
    text: str


@dataclass(frozen=True)
class Knowledge:
    searchable: Searchable

    @classmethod
    def of(cls, database: AsyncDatabase[Document]) -> "Knowledge":
        return cls(Searchable(database[KNOWLEDGE], "knowledge_chunk_vector_index", "embedding", "text"))

    async def search(self, user_id: str, words: str, vector: Sequence[float] | None, limit: int) -> list[Passage]:
        found = await self.searchable.find_nearest({"user_id": user_id}, words, vector, limit)
        return [
            Passage(
                str(document["_id"]),
                without_contacts(document.get("title", ""))[0],
                document.get("source_type", ""),
                without_contacts(document["text"])[0],
            )
            for document in (match.document for match in found)
            if document.get("text")
        ]

    async def contacts(self, user_id: str) -> list[Contact]:
        """Return the contact details in all of the user's chunks."""
        cursor = self.searchable.collection.find({"user_id": user_id}, {"text": 1}).limit(MOST_CHUNKS)
        return [contact async for each in cursor for contact in contacts_in(each.get("text") or "")]


# --- docs -------------------------------------------------------------------------------------------------------------
# `qwestly_docs`: pages on how Qwestly works. They contain no user data, so these methods take no user id.


DOCS = MongoCollection(
    "qwestly_docs", Permanent("Replaced by each ingestion."), no_user_reason="Our own documentation."
)


@dataclass(frozen=True)
class DocSection:
    """A section of a page. `id` is derived from path, position and content."""

    id: str
    path: str
    title: str
    text: str


@dataclass(frozen=True)
class Docs(Store):
    searchable: Searchable

    @classmethod
    def of(cls, database: AsyncDatabase[Document]) -> Self:
        searchable = Searchable(
            database[DOCS],
            "qwestly_docs_vector_index",
            "embedding",
            "text",
            words_index="qwestly_docs_search_index",
        )
        return cls(database, searchable)

    async def search(self, words: str, vector: Sequence[float] | None, limit: int) -> list[DocSection]:
        found = await self.searchable.find_nearest({}, words, vector, limit)
        documents = [match.document for match in found]
        return [DocSection(str(d["_id"]), d["path"], d["title"], d["text"]) for d in documents]

    async def ids(self) -> set[str]:
        return {str(document["_id"]) async for document in self.database[DOCS].find({}, {"_id": 1})}

    async def add(self, sections: Sequence[DocSection], vectors: Sequence[Sequence[float]]) -> None:
        """Insert the sections, replacing those with the same ids."""
        await self.remove([section.id for section in sections])
        await self.database[DOCS].insert_many(
            [
                {"_id": s.id, "path": s.path, "title": s.title, "text": s.text, "embedding": to_binary(vector)}
                for s, vector in zip(sections, vectors, strict=True)
            ]
        )

    async def remove(self, ids: Sequence[str]) -> None:
        if ids:
            await self.database[DOCS].delete_many({"_id": {"$in": list(ids)}})
