"""The head of a document: name, place and contact details, added by code at download and when an application is sent.
No model sees it."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from qwestly_agent.base.errors import Invalid
from qwestly_agent.domain.job import HeadField
from qwestly_agent.resumes.person_name import person_name
from qwestly_agent.services import Services

Head: TypeAlias = Mapping[HeadField, str]
USUAL: tuple[HeadField, ...] = ("name", "location")
"""Fields that are shown if the person chose none."""
MOST_LINKS, MOST_RESUMES = 4, 5
NO_NAME = (
    "I don't know your name yet, and nobody should read a document without one. Add it under Jobs → Documents, in "
    "“At the top of your documents”, or drop a résumé that begins with it."
)
NOT_CHOSEN = (
    "How can the employer reach you? Choose once under Jobs → Documents, in “At the top of your documents”, and it "
    "stands on all of them."
)


async def chosen_head(services: Services, user_id: str, fields: Sequence[str] | None = None) -> Head:
    """Return the name and these fields, or those that the person chose, or the usual ones. Raises `Invalid` if no name
    is known."""
    there, settings = await asyncio.gather(head_of(services, user_id), services.user_settings.get(user_id))
    return _with_name(there, next(each for each in (fields, settings.document_head, USUAL) if each is not None))


async def head_to_send(services: Services, user_id: str) -> Head:
    """Return the name and the fields that the person chose. Raises `Invalid` if they never chose, because an employer
    must be able to answer, and if no name is known."""
    there, settings = await asyncio.gather(head_of(services, user_id), services.user_settings.get(user_id))
    if settings.document_head is None:
        raise Invalid(NOT_CHOSEN)
    return _with_name(there, settings.document_head)


def _with_name(there: Head, fields: Sequence[str]) -> Head:
    if "name" not in there:
        raise Invalid(NO_NAME)
    return {name: value for name, value in there.items() if name in {"name", *fields}}


async def head_of(services: Services, user_id: str) -> Head:
    """Return the available fields: what the person set, else from the profile, the account and the newest résumé that
    has them."""
    profile, account, found, kept, settings = await asyncio.gather(
        services.profiles.get_career(user_id),
        services.profiles.get_mail_recipient(user_id),
        services.resumes.contacts(user_id),
        services.resumes.newest(user_id, MOST_RESUMES),
        services.user_settings.get(user_id),
    )
    in_resume = next(filter(None, map(person_name, kept)), "")
    words = {kind: [each.words for each in found if each.kind == kind] for kind in ("email", "phone", "url")}
    there: dict[HeadField, str] = {
        "name": settings.document_name or str(profile.get("name") or "") or in_resume,
        "location": str(profile.get("location", "")),
        "email": next(iter(words["email"]), account.address),
        "phone": next(iter(words["phone"]), ""),
        "links": " · ".join(list(dict.fromkeys(words["url"]))[:MOST_LINKS]),
    }
    return {name: value for name, value in there.items() if value}
