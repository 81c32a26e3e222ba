"""Tier 1: the candidate app's data about a user, read through an allow-list of fields.

The candidate app owns the collections (`domain/candidate.py`). `qwestly-agent mongo check` lists missing fields.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any

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
    projection,
    query,
    to_our_fields,
)
from qwestly_agent.platform.collection import Document, Store

STINTS_LIMIT = 30
CARDS_LIMIT = 20


@dataclass(frozen=True)
class MailRecipient:
    address: str
    """Empty if the candidate app knows none."""
    name: str


class Profiles(Store):
    async def get_summary(self, user_id: str) -> Fields:
        """Return the user's basic profile fields; empty for an unknown user."""
        return await self._one(CANDIDATES, user_id)

    async def get_career(self, user_id: str) -> Fields:
        """Return the profile with employment (latest first) and preferences; absent parts are left out."""
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
        """Return the career with LinkedIn, the summaries of both, and last the published cards with their texts.
        `career`: as it was read before; None to read it."""
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
        """Return the suggestion stored for the user's LinkedIn profile under this draft; empty if there is none."""
        return await self._one(LINKEDIN_SUGGESTIONS, user_id, draft_id=draft_id)

    async def card(self, user_id: str, card_id: str) -> Fields:
        """Return a published card; empty if there is none."""
        return await self._one(CARDS, user_id, card_id=card_id)

    async def card_shown_first(self, user_id: str) -> str | None:
        """Return the id of the published card that others see first; None if there is none."""
        return (await self._one(CARDS, user_id, active=True)).get("card_id")

    async def get_mail_recipient(self, user_id: str) -> MailRecipient:
        """Return the user's mail address and name. For mails, approval pages and previews only; never for prompts."""
        name = READ_FIELDS[CANDIDATES]["name"]
        found = await self.database[CANDIDATES].find_one(query(CANDIDATES, user_id), {EMAIL: 1, name: 1}) or {}
        return MailRecipient(found.get(EMAIL) or "", found[name] if isinstance(found.get(name), str) else "")

    async def _one(self, collection: str, user_id: str, **fields: Any) -> Fields:
        found = await self.database[collection].find_one(query(collection, user_id, **fields), projection(collection))
        return _told(collection, found)

    async def _employment(self, user_id: str) -> list[Fields]:
        found = self.database[EMPLOYMENT].find(query(EMPLOYMENT, user_id), projection(EMPLOYMENT))
        latest = found.sort(READ_FIELDS[EMPLOYMENT]["start_date"], -1).limit(STINTS_LIMIT)
        return [_told(EMPLOYMENT, stint) async for stint in latest]

    async def _cards(self, user_id: str) -> list[Fields]:
        found = self.database[CARDS].find(query(CARDS, user_id), projection(CARDS)).limit(CARDS_LIMIT)
        return [_told(CARDS, card) async for card in found]


def _told(collection: str, document: Document | None) -> Fields:
    found = to_our_fields(collection, document)
    for name, value in found.items():
        if not isinstance(value, str):
            found[name] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    """Convert BSON types to text, since prompts hold JSON. Keys that begin with `_` are dropped."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items() if not str(name).startswith("_")}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | datetime) else str(value)
