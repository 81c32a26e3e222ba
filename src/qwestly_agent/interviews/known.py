"""Collect what is known about a person before an onboarding: from the profile and the résumé.

Memories need a model to interpret them; the first draft does that.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from qwestly_agent.domain.approval import ShownQuote
from qwestly_agent.domain.resume import UNDER_WAY
from qwestly_agent.interviews.draft_state import own_words
from qwestly_agent.profile import ChangedField, read_fields
from qwestly_agent.resumes.profile_changes import profile_changes
from qwestly_agent.services import Services

MOST_QUOTES = 6
"""Maximum number of quotes shown for a field."""


@dataclass(frozen=True)
class KnownField:
    field: ChangedField
    value: Any
    quotes: tuple[ShownQuote, ...]


@dataclass(frozen=True)
class Known:
    profile: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The profile with preferences and job wishes."""
    resume: Mapping[ChangedField, KnownField] = field(default_factory=dict[ChangedField, KnownField])
    """Values from the newest résumé for fields that the profile lacks."""
    resume_id: str = ""
    has_memories: bool = False


async def known_of(services: Services, user_id: str) -> Known:
    profile, resumes, memories = await asyncio.gather(
        read_fields(services.profiles, services.job_searches, user_id),
        services.resumes.newest(user_id, 1),
        own_words(services.memories, user_id),
    )
    has_memories = bool(memories)
    newest = next(iter(resumes), None)
    if newest is None or newest.status in UNDER_WAY or not (changes := profile_changes(newest, profile)):
        return Known(profile, has_memories=has_memories)
    quotes = {name: tuple(map(ShownQuote.model_validate, each)) for name, each in changes["quotes"].items()}
    read = [
        KnownField(each["field"], each["value"], quotes[each["field"]][:MOST_QUOTES]) for each in changes["changes"]
    ]
    return Known(profile, {each.field: each for each in read if not profile.get(each.field)}, newest.id, has_memories)
