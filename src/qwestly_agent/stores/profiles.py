"""Tier 1: the candidate app's data about a user, read through an allow-list of fields.

The candidate app owns the collections; `qwestly-agent mongo check` lists the fields that are missing in them.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.stores.search import Document

Fields: TypeAlias = dict[str, Any]

CANDIDATES = "candidates_enhanced"
EMPLOYMENT = "employment_stints_enhanced"
PREFERENCES = "preferences_enhanced"
LINKEDIN = "linkedin_profiles"
LINKEDIN_SUGGESTIONS = "linkedin_profile_suggestions"
LINKEDIN_SUMMARIES = "linkedin_summaries"
PROFILE_CACHE = "CandidateProfileCache"
CARDS = "qc_sections"

READ_FIELDS: dict[str, tuple[str, ...]] = {
    CANDIDATES: ("name", "headline", "location", "summary", "skills", "education", "languages", "years_of_experience"),
    EMPLOYMENT: ("company", "title", "location", "start_date", "end_date", "is_current", "description"),
    PREFERENCES: ("roles", "locations", "work_mode", "industries", "company_sizes", "availability"),
    LINKEDIN: ("url", "headline", "about"),
    LINKEDIN_SUGGESTIONS: ("draft_id", "section", "text"),
    LINKEDIN_SUMMARIES: ("summary",),
    PROFILE_CACHE: ("summary", "strengths"),
    CARDS: ("card_id", "style", "headline", "sections", "active"),
}
"""The allow-list. Other fields never reach a prompt: pay, contact details, fields added later."""
STINTS_LIMIT = 30
CARDS_LIMIT = 20
SECTION_FIELDS = ("heading", "claims")


@dataclass(frozen=True)
class Contact:
    address: str
    """Empty if the candidate app knows none."""
    name: str


@dataclass(frozen=True)
class Profiles:
    database: AsyncDatabase[Document]

    async def summary(self, user_id: str) -> Fields:
        """The user's basic profile fields; empty for an unknown user."""
        return await self._one(CANDIDATES, user_id)

    async def career(self, user_id: str) -> Fields:
        """The profile with employment (latest first) and preferences; absent parts are left out."""
        candidate, employment, preferences = await asyncio.gather(
            self._one(CANDIDATES, user_id), self._employment(user_id), self._one(PREFERENCES, user_id)
        )
        return {**candidate, **_allowed({"employment": employment, "preferences": preferences})}

    async def full(self, user_id: str) -> Fields:
        """The career with LinkedIn, what was summarized of both, and the published cards with their texts, last."""
        career, linkedin, of_linkedin, of_profile, cards = await asyncio.gather(
            self.career(user_id),
            self._one(LINKEDIN, user_id),
            self._one(LINKEDIN_SUMMARIES, user_id),
            self._one(PROFILE_CACHE, user_id),
            self._cards(user_id),
        )
        more = {"linkedin": linkedin, "linkedin_summary": of_linkedin, "profile_summary": of_profile, "cards": cards}
        return {**career, **_allowed(more)}

    async def preferences(self, user_id: str) -> Fields:
        return await self._one(PREFERENCES, user_id)

    async def linkedin(self, user_id: str) -> Fields:
        return await self._one(LINKEDIN, user_id)

    async def linkedin_suggestion(self, user_id: str, draft_id: str) -> Fields:
        """The suggestion stored for the user's LinkedIn profile under this draft; empty if there is none."""
        query = {"user_id": user_id, "draft_id": draft_id}
        return _allowed(await self.database[LINKEDIN_SUGGESTIONS].find_one(query, _projection(LINKEDIN_SUGGESTIONS)))

    async def card(self, user_id: str, card_id: str) -> Fields:
        """A published card; empty if there is none."""
        found = await self.database[CARDS].find_one({"user_id": user_id, "card_id": card_id}, _projection(CARDS))
        return _allowed(found)

    async def card_shown_first(self, user_id: str) -> str | None:
        """Id of the published card that others see first; None if there is none."""
        found = await self.database[CARDS].find_one({"user_id": user_id, "active": True}, {"card_id": 1})
        return found["card_id"] if found else None

    async def contact(self, user_id: str) -> Contact:
        """Return how to write to the user; used for mails and approval pages only, and reaches no prompt."""
        found = await self.database[CANDIDATES].find_one({"user_id": user_id}, {"email": 1, "name": 1}) or {}
        name = found.get("name")
        return Contact(found.get("email") or "", name if isinstance(name, str) else "")

    async def _one(self, collection: str, user_id: str) -> Fields:
        return _allowed(await self.database[collection].find_one({"user_id": user_id}, _projection(collection)))

    async def _employment(self, user_id: str) -> list[Fields]:
        found = self.database[EMPLOYMENT].find({"user_id": user_id}, _projection(EMPLOYMENT))
        return [_allowed(stint) async for stint in found.sort("start_date", -1).limit(STINTS_LIMIT)]

    async def _cards(self, user_id: str) -> list[Fields]:
        found = self.database[CARDS].find({"user_id": user_id}, _projection(CARDS)).limit(CARDS_LIMIT)
        return [_with_text(_allowed(card)) async for card in found]


def _with_text(card: Fields) -> Fields:
    """Leave of a card's sections what others see."""
    sections = [each for each in card.get("sections", ()) if isinstance(each, dict)]
    shown = [{name: each[name] for name in SECTION_FIELDS if name in each} for each in sections]
    return {**{name: value for name, value in card.items() if name != "sections"}, **_allowed({"sections": shown})}


def _projection(collection: str) -> dict[str, int]:
    return {"_id": 0, **dict.fromkeys(READ_FIELDS[collection], 1)}


def _allowed(document: Document | None) -> Fields:
    return {name: _plain(value) for name, value in (document or {}).items() if value not in (None, "", [], {})}


def _plain(value: Any) -> Any:
    """Convert BSON types to text, as prompts hold JSON; drop keys that begin with `_`."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items() if not str(name).startswith("_")}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | datetime) else str(value)
