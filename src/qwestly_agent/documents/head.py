"""The head of a document: name, place and contact details, added by code at download. No model sees it."""

import asyncio
from collections.abc import Mapping
from typing import Literal, TypeAlias

from qwestly_agent.stores.profiles import Profiles
from qwestly_agent.stores.resumes import Resumes

HeadField: TypeAlias = Literal["name", "location", "email", "phone", "links"]
Head: TypeAlias = Mapping[HeadField, str]
USUAL: tuple[HeadField, ...] = ("name", "location")
"""Fields that are shown if the person chose none."""
MOST_LINKS = 4


async def head_of(profiles: Profiles, resumes: Resumes, user_id: str) -> Head:
    """Return the available fields, from the profile, the account and the newest résumé that has them."""
    profile, account, found = await asyncio.gather(
        profiles.get_career(user_id), profiles.get_mail_recipient(user_id), resumes.contacts(user_id)
    )
    words = {kind: [each.words for each in found if each.kind == kind] for kind in ("email", "phone", "url")}
    there: dict[HeadField, str] = {
        "name": str(profile.get("name", "")),
        "location": str(profile.get("location", "")),
        "email": next(iter(words["email"]), account.address),
        "phone": next(iter(words["phone"]), ""),
        "links": " · ".join(list(dict.fromkeys(words["url"]))[:MOST_LINKS]),
    }
    return {name: value for name, value in there.items() if value}
